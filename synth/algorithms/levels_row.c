/* A plan in levels as a row of the portfolio, with all its messages written down. */
#include "algorithms/hierarchy.h"
#include "algorithms/portfolio.h"

#include "base/error.h"

#define SMALLEST_PART 16 /* ranks: smaller parts of larger plans are not split further */

static bool is_served(const struct pccl__problem *problem)
{
    return problem->collective != PCCL_ALLTOALL && !problem->request->relays;
}

/* Plans the levels; close the hierarchy in any case. */
static int plan(struct pccl__hierarchy *hierarchy, const struct pccl__problem *problem, struct pccl_error *error)
{
    int status = pccl__hierarchy_open(hierarchy, problem->topology, problem->request, error);
    if (status == 0 && !hierarchy->nodes.shared) {
        return pccl__reject(error, "needs several hosts, one of them with several ranks");
    }
    return status == 0 ? pccl__hierarchy_plan(hierarchy, false) : status;
}

static int write_message(void *context, const struct pccl__levels_message *message)
{
    struct pccl__writer *writer = context;
    if (message->reduce) {
        pccl__writer_reduce(writer, message->step, message->from, message->to, message->chunks, message->count);
    } else {
        pccl__writer_send(writer, message->step, message->from, message->to, message->chunks, message->count);
    }
    return writer->status;
}

int pccl__levels_write(const struct pccl__levels *levels, const struct pccl__problem *problem,
                       struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct pccl__writer writer;
    pccl__writer_open(&writer, problem, levels->demand.pieces, levels->demand.pieces, error);
    int status = writer.status;
    if (status == 0) {
        status = pccl__levels_list(levels, PCCL_NONE, false, write_message, &writer);
    }
    if (status != 0 && writer.status == 0) {
        pccl__writer_fail(&writer, status, pccl_status_text(status));
    }
    return pccl__writer_close(&writer, schedule);
}

int pccl__levels_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    struct pccl__hierarchy hierarchy;
    (void)pieces;
    if (!is_served(problem)) {
        return pccl__reject(error, "serves neither all-to-all nor relays");
    }
    int status = plan(&hierarchy, problem, error);
    status = status == 0 ? pccl__levels_write(&hierarchy.levels, problem, schedule, error) : status;
    pccl__hierarchy_close(&hierarchy);
    return status;
}

int64_t pccl__estimate_levels(const struct pccl__problem *problem, uint32_t pieces)
{
    struct pccl__hierarchy hierarchy;
    struct pccl_error error;
    (void)pieces;
    if (!is_served(problem) ||
        (problem->options.effort == PCCL_EFFORT_PART && problem->num_ranks < SMALLEST_PART)) {
        return -1;
    }
    int64_t makespan_ps = plan(&hierarchy, problem, &error) == 0 ? hierarchy.makespan_ps : -1;
    pccl__hierarchy_close(&hierarchy);
    return makespan_ps;
}
