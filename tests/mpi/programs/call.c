#include "call.h"
#include "defects.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const names[NUM_COLLECTIVES] = {"allgather",
                                                   "allgatherv",
                                                   "alltoall",
                                                   "alltoallv",
                                                   "alltoallw",
                                                   "bcast",
                                                   "gather",
                                                   "gatherv",
                                                   "scatter",
                                                   "scatterv",
                                                   "neighbor_allgather",
                                                   "neighbor_allgatherv",
                                                   "neighbor_alltoall",
                                                   "neighbor_alltoallv",
                                                   "neighbor_alltoallw",
                                                   "barrier",
                                                   "allreduce",
                                                   "reduce",
                                                   "reduce_scatter",
                                                   "reduce_scatter_block",
                                                   "scan",
                                                   "exscan"};

const char *collective_name(enum collective collective)
{
    return names[collective];
}

bool collective_is_neighbourhood(enum collective collective)
{
    return collective >= NEIGHBOR_ALLGATHER && collective <= NEIGHBOR_ALLTOALLW;
}

bool collective_is_reduction(enum collective collective)
{
    return collective > BARRIER;
}

static bool is_rooted(enum collective collective)
{
    switch (collective) {
    case BCAST:
    case GATHER:
    case GATHERV:
    case SCATTER:
    case SCATTERV:
    case REDUCE: return true;
    default: return false;
    }
}

/* MPI lets every rank of a scan decide for itself; elsewhere it is the root, or all ranks alike. */
static bool choose_in_place(struct call *call)
{
    const bool wanted = random_below(&call->shared, 3) == 0;
    const enum collective collective = call->collective;
    if (collective == BCAST || collective == BARRIER || collective_is_neighbourhood(collective)) {
        return false;
    }
    if (collective == SCAN || collective == EXSCAN) {
        return random_below(&call->own, 3) == 0;
    }
    return wanted && !defect_in_place(collective, call->form) && (!is_rooted(collective) || call->rank == call->root);
}

static void describe(struct call *call, const char *communicator)
{
    static const char *const starts[NUM_FORMS] = {"", "i", ""}, *const ends[NUM_FORMS] = {"", "", "_init"};
    int length = snprintf(call->text, sizeof(call->text), "%s%s%s on %d ranks of %s", starts[call->form],
                          names[call->collective], ends[call->form], call->size, communicator);
    if (is_rooted(call->collective)) {
        length += snprintf(call->text + length, sizeof(call->text) - (size_t)length, ", root %d", call->root);
    }
    snprintf(call->text + length, sizeof(call->text) - (size_t)length, "%s", call->in_place ? ", in place" : "");
}

struct call *call_make(const struct communicator *communicator, enum collective collective, enum form form,
                       uint64_t seed)
{
    struct call *call = calloc(1, sizeof(*call));
    call->collective = collective;
    call->form = form;
    call->comm = communicator->comm;
    call->rank = communicator->rank;
    call->size = communicator->size;
    call->seed = seed;
    call->shared.state = seed;
    call->own.state = random_mix(seed, (uint64_t)call->rank + 1);
    call->root = (int)random_below(&call->shared, (uint32_t)call->size);
    call->in_place = choose_in_place(call);
    describe(call, communicator->name);
    if (collective_is_reduction(collective)) {
        reduction_make(call);
    } else if (collective != BARRIER) {
        movement_make(call, communicator);
    }
    return call;
}

void call_fill(struct call *call, uint64_t data)
{
    call->data = data;
    if (collective_is_reduction(call->collective)) {
        reduction_fill(call);
    } else if (call->collective != BARRIER) {
        movement_fill(call);
    }
}

void call_release(struct call *call)
{
    if (collective_is_reduction(call->collective)) {
        reduction_release(call);
    } else if (call->collective != BARRIER) {
        movement_release(call);
    }
}

void call_check(const struct call *call)
{
    if (collective_is_reduction(call->collective)) {
        reduction_check(call);
    } else if (call->collective != BARRIER) {
        movement_check(call);
    }
}

void call_free(struct call *call)
{
    call_release(call);
    if (collective_is_reduction(call->collective)) {
        reduction_free(call);
    } else if (call->collective != BARRIER) {
        movement_free(call);
    }
    free(call);
}
