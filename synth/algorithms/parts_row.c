/* Plans the parts of a pattern one by one and lets them run at once. */
#include <stdlib.h>

#include "algorithms/meter.h"
#include "algorithms/parts.h"
#include "base/array.h"
#include "base/error.h"

#define MOST_PIECES 4096
#define MOST_CARRIED (UINT64_C(1) << 26) /* chunks in all messages */

/* The schedules of all parts, and the one that they become. */
struct union_plan {
    const struct pccl__problem *problem;
    struct pccl__parts parts;
    struct pccl_result **results; /* [num_parts] */
    uint32_t pieces;              /* of a chunk of the pattern */
    struct turn *turns;           /* the steps of all parts, in order of their time */
    uint32_t num_turns;
    struct pccl_schedule *schedule;
    struct pccl_error *error;
};

/* A step of a part. */
struct turn {
    int64_t start_ps; /* of its first message, or that of an earlier step if it is later */
    uint32_t step, part;
    uint32_t first, end; /* its messages */
};

static uint32_t find_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Members only; with others' help where they cannot do without. */
static int plan_part(struct union_plan *plan, uint32_t number)
{
    struct pccl__part *part = &plan->parts.parts[number];
    struct pccl_options options = {.effort = plan->problem->options.effort};
    int status = pccl__part_recognise(plan->problem, part, plan->error);
    if (status != 0) {
        return status;
    }
    status = pccl_synthesize(plan->problem->topology, &part->request, &options, &plan->results[number], plan->error);
    if (status == PCCL_ERR_UNSUPPORTED && plan->problem->request->relays) {
        part->request.relays = true;
        status =
            pccl_synthesize(plan->problem->topology, &part->request, &options, &plan->results[number], plan->error);
    }
    if (status != 0) {
        return status;
    }
    /* As few pieces as all parts can be written in. */
    uint32_t pieces = plan->results[number]->schedule->demand->pieces;
    pieces /= find_divisor(pieces, part->cut);
    uint64_t common = (uint64_t)plan->pieces / find_divisor(plan->pieces, pieces) * pieces;
    if (common > MOST_PIECES) {
        return pccl__reject(plan->error, "its parts are cut in too different ways");
    }
    plan->pieces = (uint32_t)common;
    return 0;
}

/* Pieces of a chunk of the pattern that a piece of the part's is. */
static uint32_t count_fragments(const struct union_plan *plan, uint32_t part)
{
    return plan->parts.parts[part].cut * plan->pieces / plan->results[part]->schedule->demand->pieces;
}

/* --- in which order ----------------------------------------------------------------------------------------------- */

static int add_turns(struct union_plan *plan, uint32_t part, uint32_t *room, uint64_t *num_carried)
{
    const struct pccl_schedule *schedule = plan->results[part]->schedule;
    struct pccl_simulation simulation = {0};
    simulation.start_ps = pccl__array_new(schedule->num_messages, sizeof *simulation.start_ps);
    int status = simulation.start_ps == NULL
                     ? pccl__fail_memory(plan->error)
                     : pccl_simulate(plan->problem->topology, schedule, &simulation, plan->error);
    int64_t latest_ps = 0;
    for (uint32_t m = 0, end = 0; m < schedule->num_messages && status == 0; m = end) {
        int64_t start_ps = INT64_MAX;
        struct turn *turns = pccl__array_grow(plan->turns, room, (uint64_t)plan->num_turns + 1, sizeof *turns);
        if (turns == NULL) {
            status = pccl__fail_memory(plan->error);
            break;
        }
        plan->turns = turns;
        for (; end < schedule->num_messages && schedule->messages[end].step == schedule->messages[m].step; end++) {
            uint32_t count;
            pccl_message_chunks(schedule, &schedule->messages[end], &count);
            *num_carried += (uint64_t)count * count_fragments(plan, part);
            start_ps = simulation.start_ps[end] < start_ps ? simulation.start_ps[end] : start_ps;
        }
        latest_ps = start_ps > latest_ps ? start_ps : latest_ps;
        turns[plan->num_turns++] = (struct turn){latest_ps, schedule->messages[m].step, part, m, end};
    }
    free(simulation.start_ps);
    return status;
}

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps ? -1 : 1;
    }
    if (a->step != b->step) {
        return a->step < b->step ? -1 : 1;
    }
    return a->part < b->part ? -1 : a->part > b->part;
}

static int list_turns(struct union_plan *plan)
{
    uint32_t room = 0;
    uint64_t num_carried = 0;
    int status = 0;
    for (uint32_t part = 0; part < plan->parts.num_parts && status == 0; part++) {
        status = add_turns(plan, part, &room, &num_carried);
    }
    if (status == 0 && num_carried > MOST_CARRIED) {
        return pccl__reject(plan->error, "its parts are cut in too different ways");
    }
    if (status == 0) {
        qsort(plan->turns, plan->num_turns, sizeof *plan->turns, compare_turns);
    }
    return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* The chunks of the whole that a chunk of a part is: of them, those that travel at all. */
static uint32_t translate_chunk(const struct union_plan *plan, uint32_t number, uint32_t chunk, uint32_t *names)
{
    const struct pccl__part *part = &plan->parts.parts[number];
    uint32_t pieces = plan->results[number]->schedule->demand->pieces, fragments = count_fragments(plan, number);
    uint32_t block = chunk / pieces, first = chunk % pieces * fragments, count = 0;
    for (uint32_t i = first; i < first + fragments; i++) {
        uint32_t name = part->chunk_of[(size_t)block * part->cut + i / plan->pieces];
        if (name != PCCL_NONE) {
            names[count++] = name * plan->pieces + i % plan->pieces;
        }
    }
    return count;
}

static int write_message(struct union_plan *plan, uint32_t part, uint32_t number, uint32_t step, uint32_t **names,
                         uint32_t *room)
{
    const struct pccl_schedule *own = plan->results[part]->schedule;
    const struct pccl_message *message = &own->messages[number];
    const struct pccl_path *path = &own->paths[message->path];
    uint32_t count, num_names = 0;
    const uint32_t *chunks = pccl_message_chunks(own, message, &count);
    uint32_t *grown =
        pccl__array_grow(*names, room, (uint64_t)count * count_fragments(plan, part), sizeof *grown);
    uint32_t joint = pccl_schedule_path(plan->schedule, plan->problem->topology, own->path_links + path->first_link,
                                        path->num_links);
    if (grown == NULL || joint == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    *names = grown;
    for (uint32_t i = 0; i < count; i++) {
        num_names += translate_chunk(plan, part, chunks[i], grown + num_names);
    }
    return num_names > 0 ? pccl_schedule_add(plan->schedule, step, joint, message->reduce, grown, num_names) : 0;
}

static int write_all(struct union_plan *plan)
{
    uint32_t *names = NULL, room = 0, step = 0;
    int status = pccl__schedule_begin(plan->problem, plan->pieces, &plan->schedule, plan->error);
    if (status != 0) {
        return status;
    }
    for (uint32_t t = 0; t < plan->num_turns && status == 0; t++) {
        const struct turn *turn = &plan->turns[t];
        step += t > 0 && (turn->start_ps != turn[-1].start_ps || turn->step != turn[-1].step);
        for (uint32_t m = turn->first; m < turn->end && status == 0; m++) {
            status = write_message(plan, turn->part, m, step, &names, &room);
        }
    }
    free(names);
    status = status == 0 ? pccl_schedule_seal(plan->schedule) : status;
    return status == PCCL_ERR_MEMORY ? pccl__fail_memory(plan->error) : status;
}

static int plan_parts(struct union_plan *plan)
{
    if (pccl__parts_find(plan->problem->request->custom, &plan->parts) != 0) {
        return pccl__fail_memory(plan->error);
    }
    if (plan->parts.num_parts < 2) {
        return pccl__reject(plan->error, "the pattern is all of one piece");
    }
    plan->results = pccl__array_new(plan->parts.num_parts, sizeof(struct pccl_result *));
    int status = plan->results == NULL ? pccl__fail_memory(plan->error) : 0;
    for (uint32_t part = 0; part < plan->parts.num_parts && status == 0; part++) {
        status = plan_part(plan, part);
    }
    status = status == 0 ? list_turns(plan) : status;
    return status == 0 ? write_all(plan) : status;
}

int pccl__parts_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                          struct pccl_error *error)
{
    struct union_plan plan = {.problem = problem, .pieces = 1, .error = error};
    (void)pieces; /* the parts decide */
    int status = plan_parts(&plan);
    if (status == 0) {
        *schedule = plan.schedule;
    } else {
        pccl_schedule_free(plan.schedule);
    }
    for (uint32_t part = 0; plan.results != NULL && part < plan.parts.num_parts; part++) {
        pccl_result_free(plan.results[part]);
    }
    free(plan.results);
    free(plan.turns);
    pccl__parts_free(&plan.parts);
    return status;
}

/* Nothing is known of patterns before they are planned. Inside a plan that is made of others they are none that fall
 * into parts. */
int64_t pccl__estimate_parts(const struct pccl__problem *problem, uint32_t pieces)
{
    (void)pieces;
    return problem->options.effort == PCCL_EFFORT_PART ? -1 : 0;
}
