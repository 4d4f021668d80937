/* Programs from a schedule: sorts the messages by rank, follows who contributed to what, and lowers rank by rank. */
#include "pccl/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "schedule/lower.h"

void pccl_program_free(struct pccl_program *program)
{
    if (program != NULL) {
        free(program->operations);
        free(program->slots);
        free(program->successors);
        free(program->slot_chunk);
        free(program);
    }
}

/* --- ranks at the ends of paths ----------------------------------------------------------------------------------- */

static int find_path_ranks(struct pccl__lowering *lowering)
{
    const struct pccl_schedule *schedule = lowering->schedule;
    const struct pccl_demand *demand = schedule->demand;
    uint32_t last_device = 0;
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        last_device = demand->devices[i] > last_device ? demand->devices[i] : last_device;
    }
    uint32_t *device_rank = pccl__array_new((size_t)last_device + 1, sizeof *device_rank);
    lowering->path_source = pccl__array_new(schedule->num_paths, sizeof *lowering->path_source);
    lowering->path_target = pccl__array_new(schedule->num_paths, sizeof *lowering->path_target);
    if (device_rank == NULL || lowering->path_source == NULL || lowering->path_target == NULL) {
        free(device_rank);
        return pccl__fail_memory(lowering->error);
    }
    memset(device_rank, 0xff, ((size_t)last_device + 1) * sizeof *device_rank);
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        device_rank[demand->devices[i]] = i;
    }
    for (uint32_t i = 0; i < schedule->num_paths; i++) {
        const struct pccl_path *path = &schedule->paths[i];
        lowering->path_source[i] = path->source <= last_device ? device_rank[path->source] : PCCL_NONE;
        lowering->path_target[i] = path->target <= last_device ? device_rank[path->target] : PCCL_NONE;
    }
    free(device_rank);
    return 0;
}

static int check_path(const struct pccl__lowering *lowering, uint32_t number)
{
    uint32_t path = lowering->schedule->messages[number].path;
    if (lowering->path_source[path] == PCCL_NONE || lowering->path_target[path] == PCCL_NONE) {
        bool source = lowering->path_source[path] == PCCL_NONE;
        const struct pccl_path *ends = &lowering->schedule->paths[path];
        return pccl__fail(lowering->error, PCCL_ERR_UNSUPPORTED,
                          "message %u %s vertex %u, which is outside the process group; only members can run a program",
                          number, source ? "comes from" : "goes to", source ? ends->source : ends->target);
    }
    if (lowering->path_source[path] == lowering->path_target[path]) {
        return pccl__fail(lowering->error, PCCL_ERR_INVALID, "message %u goes from rank %u to itself", number,
                          lowering->path_source[path]);
    }
    return 0;
}

/* --- messages by rank --------------------------------------------------------------------------------------------- */

/* Turns counts[rank + 1] into first positions. */
static void accumulate(uint32_t *counts, uint32_t num_ranks)
{
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        counts[rank + 1] += counts[rank];
    }
}

/* Puts the numbers of all messages into the lists of their sender and receiver; of one rank only, or of all
 * (only = PCCL_NONE). */
static int sort_by_rank(struct pccl__lowering *lowering, uint32_t only)
{
    const struct pccl_schedule *schedule = lowering->schedule;
    uint32_t num_ranks = schedule->demand->num_ranks;
    uint32_t *first_send = lowering->first_send = pccl__array_new((size_t)num_ranks + 2, sizeof *first_send);
    uint32_t *first_receive = lowering->first_receive = pccl__array_new((size_t)num_ranks + 2, sizeof *first_receive);
    if (first_send == NULL || first_receive == NULL) {
        return pccl__fail_memory(lowering->error);
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        int status = check_path(lowering, i);
        if (status != 0) {
            return status;
        }
        uint32_t from = lowering->path_source[schedule->messages[i].path];
        uint32_t to = lowering->path_target[schedule->messages[i].path];
        first_send[from + 2] += only == PCCL_NONE || from == only;
        first_receive[to + 2] += only == PCCL_NONE || to == only;
    }
    accumulate(first_send, num_ranks + 1);
    accumulate(first_receive, num_ranks + 1);
    lowering->sends = pccl__array_new(first_send[num_ranks + 1], sizeof *lowering->sends);
    lowering->receives = pccl__array_new(first_receive[num_ranks + 1], sizeof *lowering->receives);
    if (lowering->sends == NULL || lowering->receives == NULL) {
        return pccl__fail_memory(lowering->error);
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        uint32_t from = lowering->path_source[schedule->messages[i].path];
        uint32_t to = lowering->path_target[schedule->messages[i].path];
        if (only == PCCL_NONE || from == only) {
            lowering->sends[first_send[from + 1]++] = i;
        }
        if (only == PCCL_NONE || to == only) {
            lowering->receives[first_receive[to + 1]++] = i;
        }
    }
    return 0;
}

/* --- who contributed ---------------------------------------------------------------------------------------------- */

/* Replays one step on `state`: [num_ranks * num_chunks], the lowest rank that contributed to each rank's state. */
static void replay_step(struct pccl__lowering *lowering, uint32_t *state, uint32_t begin, uint32_t end)
{
    const struct pccl_schedule *schedule = lowering->schedule;
    uint32_t num_chunks = schedule->demand->num_chunks;
    for (uint32_t i = begin; i < end; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        uint32_t count, *lowest = lowering->lowest + lowering->first_lowest[i];
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        uint32_t from = lowering->path_source[message->path];
        const uint32_t *sender = state + (size_t)from * num_chunks;
        bool adds_own = schedule->demand->collective == PCCL_EXSCAN;
        for (uint32_t j = 0; j < count; j++) {
            lowest[j] = adds_own && from < sender[chunks[j]] ? from : sender[chunks[j]];
        }
    }
    for (uint32_t i = begin; i < end; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        uint32_t count, *lowest = lowering->lowest + lowering->first_lowest[i];
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        uint32_t *receiver = state + (size_t)lowering->path_target[message->path] * num_chunks;
        for (uint32_t j = 0; j < count; j++) {
            if (!message->reduce || lowest[j] < receiver[chunks[j]]) {
                receiver[chunks[j]] = lowest[j];
            }
        }
    }
}

/* Makes room for what every message of a reduction carries; false when out of memory. */
static bool place_lowest(struct pccl__lowering *lowering)
{
    const struct pccl_schedule *schedule = lowering->schedule;
    uint64_t total = 0;
    lowering->first_lowest = pccl__array_new(schedule->num_messages, sizeof *lowering->first_lowest);
    if (lowering->first_lowest == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        uint32_t count;
        pccl_message_chunks(schedule, &schedule->messages[i], &count);
        lowering->first_lowest[i] = (uint32_t)total;
        total += count;
    }
    lowering->lowest = total < UINT32_MAX ? pccl__array_new((size_t)total, sizeof *lowering->lowest) : NULL;
    return lowering->lowest != NULL;
}

/* Finds for every message of a reduction the lowest rank that contributed to what it carries. */
static int follow_contributions(struct pccl__lowering *lowering)
{
    const struct pccl_schedule *schedule = lowering->schedule;
    const struct pccl_demand *demand = schedule->demand;
    uint64_t cells = (uint64_t)demand->num_ranks * demand->num_chunks;
    uint32_t *state = cells <= SIZE_MAX / sizeof *state ? malloc((size_t)cells * sizeof *state) : NULL;
    if (state == NULL || !place_lowest(lowering)) {
        free(state);
        return pccl__fail_memory(lowering->error);
    }
    memset(state, 0xff, (size_t)cells * sizeof *state);
    for (uint32_t chunk = 0; chunk < demand->num_chunks && demand->collective != PCCL_EXSCAN; chunk++) {
        const uint32_t *sources = demand->holders + demand->chunks[chunk].first_source;
        for (uint32_t i = 0; i < demand->chunks[chunk].num_sources; i++) {
            state[(size_t)sources[i] * demand->num_chunks + chunk] = sources[i];
        }
    }
    for (uint32_t begin = 0, end = 0; begin < schedule->num_messages; begin = end) {
        while (end < schedule->num_messages && schedule->messages[end].step == schedule->messages[begin].step) {
            end++;
        }
        replay_step(lowering, state, begin, end);
    }
    free(state);
    return 0;
}

/* --- all together ------------------------------------------------------------------------------------------------- */

static int open_lowering(struct pccl__lowering *lowering, const struct pccl_schedule *schedule, uint32_t only,
                         struct pccl_error *error)
{
    *lowering = (struct pccl__lowering){.schedule = schedule, .error = error};
    int status = find_path_ranks(lowering);
    if (status == 0) {
        status = sort_by_rank(lowering, only);
    }
    if (status == 0 && schedule->demand->reduces) {
        status = follow_contributions(lowering);
    }
    if (status == 0 && schedule->demand->collective != PCCL_BARRIER) {
        lowering->chunks = pccl__array_new(schedule->demand->num_chunks, sizeof *lowering->chunks);
        status = lowering->chunks != NULL ? 0 : pccl__fail_memory(error);
    }
    return status;
}

static void close_lowering(struct pccl__lowering *lowering)
{
    free(lowering->path_source);
    free(lowering->path_target);
    free(lowering->first_send);
    free(lowering->first_receive);
    free(lowering->sends);
    free(lowering->receives);
    free(lowering->lowest);
    free(lowering->first_lowest);
    free(lowering->chunks);
    free(lowering->send_flags);
    free(lowering->receive_flags);
    free(lowering->copies);
    free(lowering->reductions);
    free(lowering->frontier);
    pccl__operations_free(&lowering->operations);
    pccl__scratch_free(&lowering->scratch);
}

int pccl_program_create(const struct pccl_schedule *schedule, uint32_t rank, struct pccl_program **program,
                        struct pccl_error *error)
{
    *program = NULL;
    if (rank >= schedule->demand->num_ranks) {
        return pccl__fail(error, PCCL_ERR_INVALID, "rank %u is not below the number of ranks, %u", rank,
                          schedule->demand->num_ranks);
    }
    struct pccl__lowering lowering;
    int status = open_lowering(&lowering, schedule, rank, error);
    if (status == 0) {
        status = pccl__lower(&lowering, rank, program);
    }
    close_lowering(&lowering);
    return status;
}

int pccl_programs_create(const struct pccl_schedule *schedule, struct pccl_program **programs, struct pccl_error *error)
{
    uint32_t num_ranks = schedule->demand->num_ranks;
    memset(programs, 0, num_ranks * sizeof(struct pccl_program *));
    struct pccl__lowering lowering;
    int status = open_lowering(&lowering, schedule, PCCL_NONE, error);
    for (uint32_t rank = 0; rank < num_ranks && status == 0; rank++) {
        status = pccl__lower(&lowering, rank, &programs[rank]);
    }
    for (uint32_t rank = 0; rank < num_ranks && status != 0; rank++) {
        pccl_program_free(programs[rank]);
        programs[rank] = NULL;
    }
    close_lowering(&lowering);
    return status;
}
