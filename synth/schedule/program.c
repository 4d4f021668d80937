/* Programs from a schedule: sorts the messages by rank and lowers rank by rank. */
#include "pccl/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "schedule/ends.h"
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

/* --- all together ------------------------------------------------------------------------------------------------- */

static int open_lowering(struct pccl__lowering *lowering, const struct pccl_schedule *schedule, uint32_t only,
                         struct pccl_error *error)
{
    *lowering = (struct pccl__lowering){.schedule = schedule, .error = error};
    int status = pccl__ends_find(schedule, &lowering->path_source, &lowering->path_target, error);
    if (status == 0) {
        status = sort_by_rank(lowering, only);
    }
    if (status == 0 && schedule->demand->reduces) {
        status = pccl__lowest_find(schedule, lowering->path_source, lowering->path_target, &lowering->first_lowest,
                                   &lowering->lowest, error);
    }
    if (status == 0 && schedule->demand->collective != PCCL_BARRIER) {
        lowering->chunks = pccl__array_new(schedule->demand->num_chunks, sizeof *lowering->chunks);
        status = lowering->chunks != NULL ? 0 : pccl__fail_memory(error);
    }
    return status;
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
        lowering.own_number = rank;
        status = pccl__lower(&lowering, rank, program);
    }
    pccl__lowering_close(&lowering);
    return status;
}

int pccl_programs_create(const struct pccl_schedule *schedule, struct pccl_program **programs, struct pccl_error *error)
{
    uint32_t num_ranks = schedule->demand->num_ranks;
    memset(programs, 0, num_ranks * sizeof(struct pccl_program *));
    struct pccl__lowering lowering;
    int status = open_lowering(&lowering, schedule, PCCL_NONE, error);
    for (uint32_t rank = 0; rank < num_ranks && status == 0; rank++) {
        lowering.own_number = rank;
        status = pccl__lower(&lowering, rank, &programs[rank]);
    }
    for (uint32_t rank = 0; rank < num_ranks && status != 0; rank++) {
        pccl_program_free(programs[rank]);
        programs[rank] = NULL;
    }
    pccl__lowering_close(&lowering);
    return status;
}
