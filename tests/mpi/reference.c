/* The reference: what each collective means, said with MPI_Isend, MPI_Irecv and MPI_Reduce_local alone. Uses the
 * communicator under test with user tags, so it also shows that collectives keep out of them. */
#include <stdlib.h>
#include <string.h>

#include "call.h"

#define REFERENCE_TAG 77

static void *block_address(const struct side *side, const struct buffer *buffer, int block)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(side->type, &lower, &extent);
    return (char *)buffer->address + side->displacements[block] * extent;
}

/* The block of the send side that goes to `peer`, or -1. */
static int outgoing_block(const struct call *call, int peer)
{
    switch (call->recipe->collective) {
    case ALLGATHER:
    case ALLGATHERV: return 0;
    case ALLTOALL:
    case ALLTOALLV: return peer;
    case GATHER:
    case GATHERV: return peer == call->root ? 0 : -1;
    case SCATTER:
    case SCATTERV: return call->rank == call->root ? peer : -1;
    case BCAST: return call->rank == call->root ? 0 : -1;
    default: return -1;
    }
}

/* The block of the receive side that comes from `peer`, or -1. */
static int incoming_block(const struct call *call, int peer)
{
    switch (call->recipe->collective) {
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV: return peer;
    case GATHER:
    case GATHERV: return call->rank == call->root ? peer : -1;
    case SCATTER:
    case SCATTERV:
    case BCAST: return peer == call->root ? 0 : -1;
    default: return -1;
    }
}

/* Where outgoing data lies: in the receive buffer as it was, when the call is in place (and always for broadcast). */
static void send_block(const struct call *call, const struct buffer *before, int peer, int block, MPI_Request *request)
{
    const enum kind collective = call->recipe->collective;
    const bool gathers = collective == ALLGATHER || collective == ALLGATHERV;
    const bool all_to_all = collective == ALLTOALL || collective == ALLTOALLV;
    const struct side *side = &call->send;
    const struct buffer *buffer = &call->send.buffer;
    if (collective == BCAST || (call->in_place && (gathers || all_to_all))) {
        side = &call->receive;
        buffer = before;
        block = gathers ? call->rank : block;
    }
    MPI_Isend(block_address(side, buffer, block), side->counts[block], side->type, peer, REFERENCE_TAG, call->comm,
              request);
}

void reference_movement(const struct call *call, const struct buffer *before, struct buffer *expected)
{
    const enum kind collective = call->recipe->collective;
    const bool skip_self = call->in_place || collective == BCAST;
    MPI_Request requests[2 * MAX_RANKS];
    int num_requests = 0;
    for (int peer = 0; peer < call->size; peer++) {
        int block = incoming_block(call, peer);
        if (block >= 0 && !(peer == call->rank && skip_self)) {
            MPI_Irecv(block_address(&call->receive, expected, block), call->receive.counts[block], call->receive.type,
                      peer, REFERENCE_TAG, call->comm, &requests[num_requests++]);
        }
    }
    for (int i = 1; i <= call->size; i++) {
        int peer = (call->rank + i) % call->size;
        int block = outgoing_block(call, peer);
        if (block >= 0 && !(peer == call->rank && skip_self)) {
            send_block(call, before, peer, block, &requests[num_requests++]);
        }
    }
    MPI_Waitall(num_requests, requests, MPI_STATUSES_IGNORE);
}

/* --- reductions --------------------------------------------------------------------------------------------------- */

/* Sends this rank's operands to all that need them (the root, or everyone) and receives those of all ranks. */
static void exchange_operands(const struct call *call, const struct buffer *mine, int count, struct buffer *operands)
{
    const bool to_root = call->recipe->collective == REDUCE;
    const MPI_Datatype type = call->reduction->type;
    MPI_Request requests[2 * MAX_RANKS];
    int num_requests = 0;
    for (int peer = 0; peer < call->size; peer++) {
        if (!to_root || call->rank == call->root) {
            MPI_Irecv(operands[peer].address, count, type, peer, REFERENCE_TAG, call->comm, &requests[num_requests++]);
        }
        if (!to_root || peer == call->root) {
            MPI_Isend(mine->address, count, type, peer, REFERENCE_TAG, call->comm, &requests[num_requests++]);
        }
    }
    MPI_Waitall(num_requests, requests, MPI_STATUSES_IGNORE);
}

void reference_reduction(const struct call *call, const struct buffer *before, struct buffer *expected)
{
    const struct buffer *mine = call->in_place ? before : &call->send.buffer;
    const bool scans = call->recipe->collective == SCAN || call->recipe->collective == EXSCAN;
    const int total = call->send.counts[0], zero = 0;
    const int last = scans ? call->rank - (call->recipe->collective == EXSCAN) : call->size - 1;
    const MPI_Datatype type = call->reduction->type;
    struct random random = {call->recipe->seed};
    struct buffer operands[MAX_RANKS];
    MPI_Aint lower, extent;
    int first = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    for (int peer = 0; peer < call->size; peer++) {
        buffer_make(&operands[peer], type, 1, &total, &zero, &random);
    }
    exchange_operands(call, mine, total, operands);
    if (call->receive.num_blocks > 0 && last >= 0) { /* an exscan leaves the first rank's buffer alone */
        for (int peer = 1; peer <= last; peer++) {
            MPI_Reduce_local(operands[peer - 1].address, operands[peer].address, total, type, call->reduction->op);
        }
        if (call->recipe->collective == REDUCE_SCATTER || call->recipe->collective == REDUCE_SCATTER_BLOCK) {
            for (int peer = 0; peer < call->rank; peer++) {
                first += call->recipe->collective == REDUCE_SCATTER_BLOCK
                             ? call->recipe->units
                             : call->recipe->units * block_weight(call->recipe->weights, peer);
            }
        }
        MPI_Sendrecv((char *)operands[last].address + first * extent, call->receive.counts[0], type,
                     call->rank, REFERENCE_TAG, expected->address, call->receive.counts[0], type, call->rank,
                     REFERENCE_TAG, call->comm, MPI_STATUS_IGNORE);
    }
    for (int peer = 0; peer < call->size; peer++) {
        buffer_free(&operands[peer]);
    }
}
