/* Joining two schedules: all-reduce from reduce-scatter and all-gather. No barrier: a chunk starts on its second
 * way as soon as it has ended its first. Where the phases can overlap, the messages are put in the order in which
 * they start. */
#include <stdlib.h>

#include "algorithms/algorithm.h"
#include "base/array.h"
#include "base/error.h"

/* A chunk and when a phase is done with it, or begins with it. */
struct use_order {
    uint32_t block, message, chunk;
};

static int compare_orders(const void *a, const void *b)
{
    const struct use_order *left = a, *right = b;
    if (left->block != right->block) {
        return left->block < right->block ? -1 : 1;
    }
    if (left->message != right->message) {
        return left->message < right->message ? -1 : 1;
    }
    return left->chunk < right->chunk ? -1 : left->chunk > right->chunk;
}

/* Chunks by block and, within one, by their first or last message. */
static void order_chunks(const struct pccl_schedule *part, uint32_t pieces, bool last, struct use_order *order)
{
    for (uint32_t c = 0; c < part->demand->num_chunks; c++) {
        order[c] = (struct use_order){c / pieces, last ? 0 : part->num_messages, c};
    }
    for (uint32_t k = 0; k < part->num_messages; k++) {
        uint32_t count, m = last ? k : part->num_messages - 1 - k;
        const uint32_t *chunks = pccl_message_chunks(part, &part->messages[m], &count);
        for (uint32_t i = 0; i < count; i++) {
            order[chunks[i]].message = m;
        }
    }
    qsort(order, part->demand->num_chunks, sizeof *order, compare_orders);
}

/* The pieces of a block are alike, so the second phase may call them as it likes: it begins with those that the
 * first has done first. names: [num_chunks] of the second's chunks in the joined schedule. */
static int name_chunks(const struct pccl_schedule *first, const struct pccl_schedule *second, uint32_t *names)
{
    uint32_t n = second->demand->num_chunks, pieces = second->demand->pieces;
    struct use_order *done = pccl__array_new(n, sizeof *done), *begun = pccl__array_new(n, sizeof *begun);
    int status = done == NULL || begun == NULL ? PCCL_ERR_MEMORY : 0;
    if (status == 0 && first->demand->num_chunks == n) {
        order_chunks(first, pieces, true, done);
        order_chunks(second, pieces, false, begun);
        for (uint32_t i = 0; i < n; i++) {
            names[begun[i].chunk] = done[i].chunk;
        }
    }
    free(done);
    free(begun);
    return status;
}

/* names: what the part's chunks are called in the joined schedule. */
static int append(struct pccl_schedule *joined, const struct pccl_topology *topology, const struct pccl_schedule *part,
                  uint32_t first_step, const uint32_t *names)
{
    uint32_t *renamed = pccl__array_new(part->demand->num_chunks, sizeof *renamed);
    uint32_t *paths = pccl__array_new(part->num_paths, sizeof *paths);
    int status = paths == NULL || renamed == NULL ? PCCL_ERR_MEMORY : 0;
    for (uint32_t i = 0; i < part->num_paths && status == 0; i++) {
        const struct pccl_path *path = &part->paths[i];
        paths[i] = pccl_schedule_path(joined, topology, part->path_links + path->first_link, path->num_links);
        status = paths[i] == PCCL_NONE ? PCCL_ERR_MEMORY : 0;
    }
    for (uint32_t i = 0; i < part->num_messages && status == 0; i++) {
        const struct pccl_message *message = &part->messages[i];
        uint32_t count;
        const uint32_t *chunks = pccl_message_chunks(part, message, &count);
        for (uint32_t k = 0; k < count; k++) {
            renamed[k] = names[chunks[k]];
        }
        status = pccl_schedule_add(joined, first_step + message->step, paths[message->path], message->reduce, renamed,
                                   count);
    }
    free(renamed);
    free(paths);
    return status;
}

static uint32_t count_steps(const struct pccl_schedule *schedule)
{
    return schedule->num_messages > 0 ? schedule->messages[schedule->num_messages - 1].step + 1 : 0;
}

/* --- putting messages in order of their start --------------------------------------------------------------------- */

/* When the messages met so far used a device's state of a chunk: a later write must not overtake either, a later read
 * must not overtake a write. */
struct use {
    int64_t written_ps, read_ps;
    uint32_t written_step, read_step; /* plus 1; 0: never */
};

struct ticket {
    int64_t start_ps;
    uint32_t step, message;
};

static int compare_tickets(const void *a, const void *b)
{
    const struct ticket *left = a, *right = b;
    if (left->start_ps != right->start_ps) {
        return left->start_ps < right->start_ps ? -1 : 1;
    }
    return left->message < right->message ? -1 : left->message > right->message;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Delays start_ps of each message until those that it must follow have started. Returns false if two messages of one
 * step exchange values (as in recursive doubling), which an order of one after the other cannot express. */
static bool follow_uses(const struct pccl_schedule *schedule, struct use *uses, int64_t *start_ps)
{
    size_t num_chunks = schedule->demand->num_chunks;
    for (uint32_t m = 0; m < schedule->num_messages; m++) {
        const struct pccl_path *path = &schedule->paths[schedule->messages[m].path];
        struct use *source = uses + path->source * num_chunks, *target = uses + path->target * num_chunks;
        uint32_t count, step = schedule->messages[m].step + 1;
        const uint32_t *chunks = pccl_message_chunks(schedule, &schedule->messages[m], &count);
        int64_t start = start_ps[m];
        for (uint32_t i = 0; i < count; i++) {
            const struct use *from = &source[chunks[i]], *to = &target[chunks[i]];
            if (from->written_step == step || to->read_step == step) {
                return false;
            }
            start = later(start, later(from->written_ps, later(to->written_ps, to->read_ps)));
        }
        start_ps[m] = start;
        for (uint32_t i = 0; i < count; i++) {
            struct use *from = &source[chunks[i]], *to = &target[chunks[i]];
            from->read_ps = later(from->read_ps, start);
            from->read_step = step;
            to->written_ps = start;
            to->written_step = step;
        }
    }
    return true;
}

static void renumber(struct pccl_schedule *schedule, const struct ticket *tickets, struct pccl_message *sorted)
{
    uint32_t step = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        if (i > 0 && (tickets[i].start_ps != tickets[i - 1].start_ps || tickets[i].step != tickets[i - 1].step)) {
            step++;
        }
        sorted[i] = schedule->messages[tickets[i].message];
        sorted[i].step = step;
    }
    free(schedule->messages);
    schedule->messages = sorted;
}

static int sort_by_start(struct pccl_schedule *schedule, const struct pccl_topology *topology, int64_t *start_ps)
{
    uint32_t n = schedule->num_messages;
    struct use *uses =
        pccl__array_new((size_t)schedule->demand->num_chunks * topology->num_vertices, sizeof *uses);
    struct ticket *tickets = pccl__array_new(n, sizeof *tickets);
    struct pccl_message *sorted = pccl__array_new(n, sizeof *sorted);
    int status = uses == NULL || tickets == NULL || sorted == NULL ? PCCL_ERR_MEMORY : 0;
    if (status == 0 && follow_uses(schedule, uses, start_ps)) {
        for (uint32_t m = 0; m < n; m++) {
            tickets[m] = (struct ticket){start_ps[m], schedule->messages[m].step, m};
        }
        qsort(tickets, n, sizeof *tickets, compare_tickets);
        renumber(schedule, tickets, sorted);
        sorted = NULL;
    }
    free(sorted);
    free(tickets);
    free(uses);
    return status;
}

/* Keeps the order of first-then-second if the second phase starts only after the first has ended. */
static int overlap(struct pccl_schedule *joined, const struct pccl_topology *topology, uint32_t num_first,
                   struct pccl_error *error)
{
    uint32_t n = joined->num_messages;
    struct pccl_simulation simulation = {0};
    simulation.start_ps = pccl__array_new(n, sizeof *simulation.start_ps);
    int status =
        simulation.start_ps == NULL ? pccl__fail_memory(error) : pccl_simulate(topology, joined, &simulation, error);
    if (status == 0) {
        int64_t first_ends = 0, second_begins = INT64_MAX;
        for (uint32_t m = 0; m < n; m++) {
            int64_t start = simulation.start_ps[m];
            first_ends = m < num_first ? later(first_ends, start) : first_ends;
            second_begins = m >= num_first && start < second_begins ? start : second_begins;
        }
        if (second_begins < first_ends) {
            status = sort_by_start(joined, topology, simulation.start_ps);
        }
    }
    free(simulation.start_ps);
    return status;
}

int pccl__schedule_join(const struct pccl__problem *problem, const struct pccl_schedule *first,
                        const struct pccl_schedule *second, struct pccl_demand *demand, const char *method,
                        struct pccl_schedule **joined, struct pccl_error *error)
{
    struct pccl_schedule *both = NULL;
    int status = pccl_schedule_create(demand, problem->topology, method, &both, error);
    if (status != 0) {
        return status;
    }
    uint32_t *names = pccl__array_new(both->demand->num_chunks, sizeof *names);
    status = names == NULL ? PCCL_ERR_MEMORY : 0;
    for (uint32_t c = 0; c < both->demand->num_chunks && status == 0; c++) {
        names[c] = c;
    }
    if (status == 0) {
        status = append(both, problem->topology, first, 0, names);
    }
    if (status == 0) {
        status = name_chunks(first, second, names);
    }
    if (status == 0) {
        status = append(both, problem->topology, second, count_steps(first), names);
    }
    free(names);
    if (status == 0) {
        status = pccl_schedule_seal(both);
    }
    if (status == PCCL_ERR_MEMORY) {
        pccl__fail_memory(error);
    }
    if (status == 0) {
        status = overlap(both, problem->topology, first->num_messages, error);
    }
    if (status != 0) {
        pccl_schedule_free(both);
        return status;
    }
    *joined = both;
    return 0;
}
