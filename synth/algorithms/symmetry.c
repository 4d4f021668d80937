/* Symmetry: see symmetry.h. A block to offset v needs one step for each link of a shortest way; as the group
 * commutes, the steps may come in any order. A slot serves each kind of link once and each block once: that is to
 * colour the edges of a bipartite multigraph (blocks, kinds of links), and by König's theorem as many colours do as
 * its largest degree. */
#include "algorithms/symmetry.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"

#define NOTHING UINT32_MAX
#define MOST_MESSAGES (UINT32_C(1) << 26) /* in a whole schedule */

/* A plan in the making. */
struct planner {
    const struct pccl_topology *topology;
    struct pccl__symmetric_plan *plan;
    uint32_t num_devices;
    uint32_t *distance;    /* [num_devices] links from device 0 */
    uint32_t *by_distance; /* [num_devices] the nearest first */
    uint32_t *first_step;  /* [num_devices + 1] of the block to each offset */
    uint32_t *load;        /* [num_kinds] steps */
    uint32_t *inverse;     /* [num_kinds] the kind that leads back, NOTHING if there is none */
    uint32_t *at;          /* [num_kinds * num_slots] the step that has the slot */
    uint64_t *taken;       /* [num_kinds * words] the same as a set */
    size_t words;
};

/* --- ways --------------------------------------------------------------------------------------------------------- */

static uint32_t add(const struct planner *planner, uint32_t a, uint32_t b)
{
    return pccl__translation_add(&planner->plan->translation, a, b);
}

static uint32_t subtract(const struct planner *planner, uint32_t a, uint32_t b)
{
    return pccl__translation_subtract(&planner->plan->translation, a, b);
}

static int compare_offsets(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static void list_kinds(struct planner *planner)
{
    const struct pccl_topology *topology = planner->topology;
    struct pccl__symmetric_plan *plan = planner->plan;
    for (uint32_t i = 0; i < plan->num_kinds; i++) {
        plan->kind_offset[i] = topology->links[topology->out_links[topology->first_out[0] + i]].target;
    }
    qsort(plan->kind_offset, plan->num_kinds, sizeof *plan->kind_offset, compare_offsets);
    for (uint32_t i = 0; i < plan->num_kinds; i++) {
        planner->inverse[i] = NOTHING;
        for (uint32_t k = 0; k < plan->num_kinds && planner->inverse[i] == NOTHING; k++) {
            planner->inverse[i] = add(planner, plan->kind_offset[i], plan->kind_offset[k]) == 0 ? k : NOTHING;
        }
    }
}

/* Returns false if some device cannot be reached. */
static bool measure(struct planner *planner)
{
    uint32_t head = 0, tail = 0;
    memset(planner->distance, 0xff, planner->num_devices * sizeof *planner->distance);
    planner->distance[0] = 0;
    planner->by_distance[tail++] = 0;
    while (head < tail) {
        uint32_t here = planner->by_distance[head++];
        for (uint32_t k = 0; k < planner->plan->num_kinds; k++) {
            uint32_t next = add(planner, here, planner->plan->kind_offset[k]);
            if (planner->distance[next] == NOTHING) {
                planner->distance[next] = planner->distance[here] + 1;
                planner->by_distance[tail++] = next;
            }
        }
    }
    return tail == planner->num_devices;
}

static void add_step(struct planner *planner, uint32_t offset, uint32_t number, uint32_t kind)
{
    planner->plan->steps[planner->first_step[offset] + number] =
        (struct pccl__symmetric_step){NOTHING, kind, offset, 0};
    planner->load[kind]++;
}

/* Chooses a shortest way to an offset, over kinds of links that have least load so far; to the opposite offset the
 * opposite way, so that loads stay balanced. */
static void choose_way(struct planner *planner, uint32_t offset, bool opposite)
{
    const struct pccl__symmetric_plan *plan = planner->plan;
    uint32_t left = offset, number = 0;
    while (left != 0) {
        uint32_t best = NOTHING;
        for (uint32_t k = 0; k < plan->num_kinds; k++) {
            if (planner->distance[subtract(planner, left, plan->kind_offset[k])] + 1 == planner->distance[left] &&
                (best == NOTHING || planner->load[k] < planner->load[best])) {
                best = k;
            }
        }
        left = subtract(planner, left, plan->kind_offset[best]);
        add_step(planner, offset, number, best);
        if (opposite) {
            add_step(planner, subtract(planner, 0, offset), number, planner->inverse[best]);
        }
        number++;
    }
}

/* Pairs of opposite offsets first; those that are their own opposites then level what is left. */
static void choose_ways(struct planner *planner)
{
    bool invertible = true;
    for (uint32_t k = 0; k < planner->plan->num_kinds; k++) {
        invertible = invertible && planner->inverse[k] != NOTHING;
    }
    for (int selfish = 0; selfish < 2; selfish++) {
        for (uint32_t i = planner->num_devices; i-- > 1;) {
            uint32_t offset = planner->by_distance[i], opposite = subtract(planner, 0, offset);
            if (selfish ? offset == opposite || !invertible : invertible && offset < opposite) {
                choose_way(planner, offset, !selfish);
            }
        }
    }
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

/* The step of a block in a slot. */
static uint32_t step_in_slot(const struct planner *planner, uint32_t offset, uint32_t slot)
{
    for (uint32_t s = planner->first_step[offset]; s < planner->first_step[offset + 1]; s++) {
        if (planner->plan->steps[s].slot == slot) {
            return s;
        }
    }
    return NOTHING;
}

static void place(struct planner *planner, uint32_t step, uint32_t slot)
{
    uint32_t kind = planner->plan->steps[step].kind;
    planner->plan->steps[step].slot = slot;
    planner->at[(size_t)kind * planner->plan->num_slots + slot] = step;
    pccl__bitset_set(planner->taken + kind * planner->words, slot);
}

static uint32_t next_free(const struct planner *planner, uint32_t kind, uint32_t from)
{
    const uint64_t *taken = planner->taken + kind * planner->words;
    while (from < planner->plan->num_slots && pccl__bitset_test(taken, from)) {
        uint64_t rest = ~taken[from / 64] >> (from % 64);
        from = rest != 0 ? from + (uint32_t)__builtin_ctzll(rest) : (from / 64 + 1) * 64;
    }
    return from;
}

/* Makes slot `wanted`, taken on the kind, free there: its step moves to slot `spare`, what the same block does then
 * moves to `wanted`, and so on along the chain of these two slots. */
static void swap_chain(struct planner *planner, uint32_t kind, uint32_t wanted, uint32_t spare)
{
    const struct pccl__symmetric_plan *plan = planner->plan;
    uint32_t step = planner->at[(size_t)kind * plan->num_slots + wanted], from = wanted, to = spare;
    planner->at[(size_t)kind * plan->num_slots + wanted] = NOTHING;
    planner->taken[kind * planner->words + wanted / 64] &= ~(UINT64_C(1) << (wanted % 64));
    while (step != NOTHING) {
        /* `step` leaves slot `from` for `to`; its kind has nothing in `to`, its block may. */
        uint32_t clash = step_in_slot(planner, plan->steps[step].offset, to);
        place(planner, step, to);
        if (clash == NOTHING) {
            break;
        }
        uint32_t other = plan->steps[clash].kind;
        uint32_t displaced = planner->at[(size_t)other * plan->num_slots + from];
        planner->at[(size_t)other * plan->num_slots + to] = NOTHING;
        pccl__bitset_clear(planner->taken + other * planner->words, to);
        place(planner, clash, from);
        step = displaced;
    }
}

static void choose_slot(struct planner *planner, uint32_t step)
{
    const struct pccl__symmetric_plan *plan = planner->plan;
    uint32_t kind = plan->steps[step].kind, offset = plan->steps[step].offset;
    uint32_t spare = next_free(planner, kind, 0);
    for (uint32_t slot = spare; slot < plan->num_slots; slot = next_free(planner, kind, slot + 1)) {
        if (step_in_slot(planner, offset, slot) == NOTHING) {
            place(planner, step, slot);
            return;
        }
    }
    uint32_t wanted = 0;
    while (step_in_slot(planner, offset, wanted) != NOTHING) {
        wanted++;
    }
    swap_chain(planner, kind, wanted, spare);
    place(planner, step, wanted);
}

/* Steps of each block get their places on its way, then all are sorted by slot and kind. */
static int order_steps(struct planner *planner)
{
    struct pccl__symmetric_plan *plan = planner->plan;
    struct pccl__symmetric_step *sorted = pccl__array_new(plan->num_steps, sizeof *sorted);
    if (sorted == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t offset = 1; offset < planner->num_devices; offset++) {
        uint32_t gone = 0, slot = 0;
        for (uint32_t i = planner->first_step[offset]; i < planner->first_step[offset + 1]; i++) {
            uint32_t next = NOTHING;
            for (uint32_t s = planner->first_step[offset]; s < planner->first_step[offset + 1]; s++) {
                if (plan->steps[s].slot >= slot && (next == NOTHING || plan->steps[s].slot < plan->steps[next].slot)) {
                    next = s;
                }
            }
            plan->steps[next].gone = gone;
            gone = add(planner, gone, plan->kind_offset[plan->steps[next].kind]);
            slot = plan->steps[next].slot + 1;
        }
    }
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < plan->num_slots; slot++) {
        for (uint32_t k = 0; k < plan->num_kinds; k++) {
            uint32_t step = planner->at[(size_t)k * plan->num_slots + slot];
            if (step != NOTHING) {
                sorted[count++] = plan->steps[step];
            }
        }
    }
    free(plan->steps);
    plan->steps = sorted;
    return 0;
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static int make_steps(struct planner *planner)
{
    struct pccl__symmetric_plan *plan = planner->plan;
    for (uint32_t offset = 0; offset < planner->num_devices; offset++) {
        planner->first_step[offset + 1] = planner->first_step[offset] + planner->distance[offset];
    }
    plan->num_steps = planner->first_step[planner->num_devices];
    plan->steps = pccl__array_new(plan->num_steps, sizeof *plan->steps);
    if (plan->steps == NULL) {
        return PCCL_ERR_MEMORY;
    }
    choose_ways(planner);
    plan->num_slots = planner->distance[planner->by_distance[planner->num_devices - 1]];
    for (uint32_t k = 0; k < plan->num_kinds; k++) {
        plan->num_slots = planner->load[k] > plan->num_slots ? planner->load[k] : plan->num_slots;
    }
    planner->words = pccl__bitset_words(plan->num_slots);
    planner->at = pccl__array_new((size_t)plan->num_kinds * plan->num_slots, sizeof *planner->at);
    planner->taken = pccl__array_new(plan->num_kinds * planner->words, sizeof *planner->taken);
    if (planner->at == NULL || planner->taken == NULL) {
        return PCCL_ERR_MEMORY;
    }
    memset(planner->at, 0xff, (size_t)plan->num_kinds * plan->num_slots * sizeof *planner->at);
    for (uint32_t i = planner->num_devices; i-- > 1;) {
        uint32_t offset = planner->by_distance[i];
        for (uint32_t s = planner->first_step[offset]; s < planner->first_step[offset + 1]; s++) {
            choose_slot(planner, s);
        }
    }
    return order_steps(planner);
}

/* All slots are equally long, so all links should be equally fast; measured ones never are to the last digit. */
static bool links_alike(const struct pccl_topology *topology)
{
    int64_t fastest = INT64_MAX, slowest = 0;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        int64_t ps_per_mib = topology->links[l].ps_per_mib;
        fastest = ps_per_mib < fastest ? ps_per_mib : fastest;
        slowest = ps_per_mib > slowest ? ps_per_mib : slowest;
    }
    return slowest - fastest <= fastest / 16;
}

int pccl__symmetric_plan_create(const struct pccl_topology *topology, struct pccl__symmetric_plan *plan,
                                struct pccl_error *error)
{
    *plan = (struct pccl__symmetric_plan){0};
    if (topology->num_vertices != topology->num_devices) {
        return pccl__reject(error, "devices are joined through switches, not by links of their own");
    }
    if (topology->num_links == 0 || !links_alike(topology)) {
        return pccl__reject(error, "links are not all equally fast");
    }
    if (!pccl__translation_find(topology, &plan->translation)) {
        return pccl__reject(error, "no shift of the device numbers maps all links onto each other");
    }
    uint32_t n = topology->num_devices;
    plan->num_kinds = topology->first_out[1] - topology->first_out[0];
    plan->kind_offset = pccl__array_new(plan->num_kinds, sizeof *plan->kind_offset);
    struct planner planner = {.topology = topology, .plan = plan, .num_devices = n};
    planner.distance = pccl__array_new(n, sizeof *planner.distance);
    planner.by_distance = pccl__array_new(n, sizeof *planner.by_distance);
    planner.first_step = pccl__array_new((size_t)n + 1, sizeof *planner.first_step);
    planner.load = pccl__array_new(plan->num_kinds, sizeof *planner.load);
    planner.inverse = pccl__array_new(plan->num_kinds, sizeof *planner.inverse);
    int status = PCCL_ERR_MEMORY;
    if (plan->kind_offset != NULL && planner.distance != NULL && planner.by_distance != NULL &&
        planner.first_step != NULL && planner.load != NULL && planner.inverse != NULL) {
        list_kinds(&planner);
        status = measure(&planner) ? make_steps(&planner) : PCCL_ERR_UNREACHABLE;
    }
    free(planner.distance);
    free(planner.by_distance);
    free(planner.first_step);
    free(planner.load);
    free(planner.inverse);
    free(planner.at);
    free(planner.taken);
    if (status == PCCL_ERR_UNREACHABLE) {
        return pccl__reject(error, "devices cannot all reach each other");
    }
    return status == 0 ? 0 : pccl__fail_memory(error);
}

void pccl__symmetric_plan_free(struct pccl__symmetric_plan *plan)
{
    free(plan->kind_offset);
    free(plan->steps);
    *plan = (struct pccl__symmetric_plan){0};
}

void pccl__symmetric_plan_extract(const struct pccl__symmetric_plan *plan, uint32_t device,
                                  struct pccl__symmetric_operation *operations)
{
    const struct pccl__translation *translation = &plan->translation;
    for (uint32_t i = 0; i < plan->num_steps; i++) {
        const struct pccl__symmetric_step *step = &plan->steps[i];
        struct pccl__symmetric_operation *operation = &operations[i];
        operation->slot = step->slot;
        operation->to = pccl__translation_add(translation, device, plan->kind_offset[step->kind]);
        operation->from = pccl__translation_subtract(translation, device, plan->kind_offset[step->kind]);
        operation->send_source = pccl__translation_subtract(translation, device, step->gone);
        operation->send_target = pccl__translation_add(translation, operation->send_source, step->offset);
        operation->receive_source = pccl__translation_subtract(translation, operation->from, step->gone);
        operation->receive_target = pccl__translation_add(translation, operation->receive_source, step->offset);
    }
}

/* --- a whole schedule --------------------------------------------------------------------------------------------- */

struct way_out {
    uint32_t offset, link;
};

static int compare_ways_out(const void *a, const void *b)
{
    const struct way_out *left = a, *right = b;
    if (left->offset != right->offset) {
        return left->offset < right->offset ? -1 : 1;
    }
    return left->link < right->link ? -1 : left->link > right->link;
}

/* paths: [num_devices * num_kinds] the path of each device's link of each kind. */
static int list_paths(const struct pccl__symmetric_plan *plan, const struct pccl_topology *topology,
                      struct pccl_schedule *schedule, uint32_t *paths)
{
    struct way_out *out = pccl__array_new(plan->num_kinds, sizeof *out);
    int status = out == NULL ? PCCL_ERR_MEMORY : 0;
    for (uint32_t device = 0; device < topology->num_devices && status == 0; device++) {
        for (uint32_t i = 0; i < plan->num_kinds; i++) {
            uint32_t link = topology->out_links[topology->first_out[device] + i];
            out[i] = (struct way_out){
                pccl__translation_subtract(&plan->translation, topology->links[link].target, device), link};
        }
        qsort(out, plan->num_kinds, sizeof *out, compare_ways_out);
        for (uint32_t i = 0; i < plan->num_kinds && status == 0; i++) {
            uint32_t *path = &paths[(size_t)device * plan->num_kinds + i];
            *path = pccl_schedule_path(schedule, topology, &out[i].link, 1);
            status = *path == PCCL_NONE ? PCCL_ERR_MEMORY : 0;
        }
    }
    free(out);
    return status;
}

static int write_messages(const struct pccl__symmetric_plan *plan, const struct pccl__problem *problem,
                          struct pccl_schedule *schedule)
{
    uint32_t n = problem->num_ranks;
    uint32_t *paths = pccl__array_new((size_t)n * plan->num_kinds, sizeof *paths);
    uint32_t *rank = pccl__array_new(n, sizeof *rank);
    int status = paths == NULL || rank == NULL ? PCCL_ERR_MEMORY : list_paths(plan, problem->topology, schedule, paths);
    for (uint32_t r = 0; r < n && status == 0; r++) {
        rank[problem->request->devices[r]] = r;
    }
    for (uint32_t i = 0; i < plan->num_steps && status == 0; i++) {
        const struct pccl__symmetric_step *step = &plan->steps[i];
        for (uint32_t source = 0; source < n && status == 0; source++) {
            uint32_t device = pccl__translation_add(&plan->translation, source, step->gone);
            uint32_t target = pccl__translation_add(&plan->translation, source, step->offset);
            uint32_t chunk = rank[source] * n + rank[target];
            status = pccl_schedule_add(schedule, step->slot, paths[(size_t)device * plan->num_kinds + step->kind],
                                       false, &chunk, 1);
        }
    }
    free(paths);
    free(rank);
    return status == 0 ? pccl_schedule_seal(schedule) : status;
}

int pccl__symmetry_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                             struct pccl_error *error)
{
    if (problem->collective != PCCL_ALLTOALL || problem->num_ranks != problem->topology->num_devices ||
        problem->request->block_bytes != NULL || pieces != 1) {
        return pccl__reject(error, "only for an all-to-all of equal blocks among all devices");
    }
    struct pccl__symmetric_plan plan;
    struct pccl_schedule *made = NULL;
    int status = pccl__symmetric_plan_create(problem->topology, &plan, error);
    if (status == 0 && (uint64_t)plan.num_steps * problem->num_ranks > MOST_MESSAGES) {
        status = pccl__reject(error, "too many messages for a whole schedule");
    }
    if (status == 0) {
        status = pccl__schedule_begin(problem, 1, &made, error);
    }
    if (status == 0) {
        status = write_messages(&plan, problem, made);
        if (status != 0) {
            pccl_schedule_free(made);
            status = status == PCCL_ERR_MEMORY ? pccl__fail_memory(error) : status;
        } else {
            *schedule = made;
        }
    }
    pccl__symmetric_plan_free(&plan);
    return status;
}
