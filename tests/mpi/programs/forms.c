/* Every collective in its three forms, with the arguments of a call. */
#include "call.h"

#include <mpi-ext.h> /* after mpi.h */

/* The same arguments, then what the form needs besides. */
#define IN_FORM(Name, Iname, ...)                                                                                      \
    (call->form == BLOCKING      ? MPI_##Name(__VA_ARGS__)                                                             \
     : call->form == NONBLOCKING ? MPI_##Iname(__VA_ARGS__, request)                                                   \
                                 : MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request))

#define SEND_BLOCK send->address, send->counts[0], send->types[0]
#define SEND_BLOCKS send->address, send->counts, send->displacements, send->types[0]
#define RECEIVE_BLOCK receive->address, receive->counts[0], receive->types[0]
#define RECEIVE_BLOCKS receive->address, receive->counts, receive->displacements, receive->types[0]
#define ALL_TYPES(side) side->address, side->counts, side->displacements, side->types
#define ALL_TYPES_FAR(side) side->address, side->counts, side->byte_displacements, side->types

static int run_neighbourhood(const struct call *call, MPI_Request *request)
{
    const struct side *send = &call->send, *receive = &call->receive;
    const MPI_Comm comm = call->comm;
    switch (call->collective) {
    case NEIGHBOR_ALLGATHER:
        return IN_FORM(Neighbor_allgather, Ineighbor_allgather, SEND_BLOCK, RECEIVE_BLOCK, comm);
    case NEIGHBOR_ALLGATHERV:
        return IN_FORM(Neighbor_allgatherv, Ineighbor_allgatherv, SEND_BLOCK, RECEIVE_BLOCKS, comm);
    case NEIGHBOR_ALLTOALL:
        return IN_FORM(Neighbor_alltoall, Ineighbor_alltoall, SEND_BLOCK, RECEIVE_BLOCK, comm);
    case NEIGHBOR_ALLTOALLV:
        return IN_FORM(Neighbor_alltoallv, Ineighbor_alltoallv, SEND_BLOCKS, RECEIVE_BLOCKS, comm);
    default:
        return IN_FORM(Neighbor_alltoallw, Ineighbor_alltoallw, ALL_TYPES_FAR(send), ALL_TYPES_FAR(receive), comm);
    }
}

static int run_movement(const struct call *call, MPI_Request *request)
{
    const struct side *send = &call->send, *receive = &call->receive;
    const MPI_Comm comm = call->comm;
    const int root = call->root;
    switch (call->collective) {
    case ALLGATHER: return IN_FORM(Allgather, Iallgather, SEND_BLOCK, RECEIVE_BLOCK, comm);
    case ALLGATHERV: return IN_FORM(Allgatherv, Iallgatherv, SEND_BLOCK, RECEIVE_BLOCKS, comm);
    case ALLTOALL: return IN_FORM(Alltoall, Ialltoall, SEND_BLOCK, RECEIVE_BLOCK, comm);
    case ALLTOALLV: return IN_FORM(Alltoallv, Ialltoallv, SEND_BLOCKS, RECEIVE_BLOCKS, comm);
    case ALLTOALLW: return IN_FORM(Alltoallw, Ialltoallw, ALL_TYPES(send), ALL_TYPES(receive), comm);
    case BCAST: return IN_FORM(Bcast, Ibcast, RECEIVE_BLOCK, root, comm);
    case GATHER: return IN_FORM(Gather, Igather, SEND_BLOCK, RECEIVE_BLOCK, root, comm);
    case GATHERV: return IN_FORM(Gatherv, Igatherv, SEND_BLOCK, RECEIVE_BLOCKS, root, comm);
    case SCATTER: return IN_FORM(Scatter, Iscatter, SEND_BLOCK, RECEIVE_BLOCK, root, comm);
    default: return IN_FORM(Scatterv, Iscatterv, SEND_BLOCKS, RECEIVE_BLOCK, root, comm);
    }
}

static int run_reduction(const struct call *call, MPI_Request *request)
{
    const struct operands *operands = &call->operands;
    const void *send = call->in_place ? MPI_IN_PLACE : operands->send.address;
    void *receive = call->collective == REDUCE && call->rank != call->root ? NULL : operands->receive.address;
    const MPI_Datatype type = operands->type;
    const MPI_Op op = operands->op;
    const MPI_Comm comm = call->comm;
    const int total = operands->total, *counts = operands->counts;
    switch (call->collective) {
    case ALLREDUCE: return IN_FORM(Allreduce, Iallreduce, send, receive, total, type, op, comm);
    case REDUCE: return IN_FORM(Reduce, Ireduce, send, receive, total, type, op, call->root, comm);
    case REDUCE_SCATTER: return IN_FORM(Reduce_scatter, Ireduce_scatter, send, receive, counts, type, op, comm);
    case REDUCE_SCATTER_BLOCK:
        return IN_FORM(Reduce_scatter_block, Ireduce_scatter_block, send, receive, counts[0], type, op, comm);
    case SCAN: return IN_FORM(Scan, Iscan, send, receive, total, type, op, comm);
    default: return IN_FORM(Exscan, Iexscan, send, receive, total, type, op, comm);
    }
}

static int run_barrier(const struct call *call, MPI_Request *request)
{
    return IN_FORM(Barrier, Ibarrier, call->comm);
}

int call_run(struct call *call, MPI_Request *request)
{
    if (collective_is_neighbourhood(call->collective)) {
        return run_neighbourhood(call, request);
    }
    if (call->collective == BARRIER) {
        return run_barrier(call, request);
    }
    return collective_is_reduction(call->collective) ? run_reduction(call, request) : run_movement(call, request);
}
