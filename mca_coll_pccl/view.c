/* Views: the only place that knows MPI_IN_PLACE, and which arguments count at which rank. */
#include "view.h"

static struct coll_pccl_side send_side(const struct coll_pccl_call *call, uint32_t blocks)
{
    return (struct coll_pccl_side){
        .buffer = (char *)call->send,
        .type = call->send_type,
        .blocks = blocks,
        .count = call->send_count,
        .counts = call->send_counts,
        .displs = call->send_displs,
        .places = call->send_places,
        .types = call->send_types,
    };
}

static struct coll_pccl_side receive_side(const struct coll_pccl_call *call, uint32_t blocks)
{
    return (struct coll_pccl_side){
        .buffer = call->receive,
        .type = call->receive_type,
        .blocks = blocks,
        .count = call->receive_count,
        .counts = call->receive_counts,
        .displs = call->receive_displs,
        .places = call->receive_places,
        .types = call->receive_types,
    };
}

/* Sends `send_blocks`, ends with `receive_blocks`; in place, the input is block `own` of the output. */
static void view_all(const struct coll_pccl_call *call, uint32_t send_blocks, uint32_t receive_blocks, uint32_t own,
                     struct coll_pccl_view *view)
{
    view->output = receive_side(call, receive_blocks);
    if (call->send == MPI_IN_PLACE) {
        view->relation = COLL_PCCL_INPUT_IN_OUTPUT;
        view->block = own;
    } else {
        view->input = send_side(call, send_blocks);
    }
}

/* Every rank has a block for every other; in place, results replace what is sent. */
static void view_alltoall(const struct coll_pccl_call *call, uint32_t num_ranks, struct coll_pccl_view *view)
{
    view->output = receive_side(call, num_ranks);
    if (call->send == MPI_IN_PLACE) {
        view->input = view->output;
        view->relation = COLL_PCCL_SAME_MEMORY;
    } else {
        view->input = send_side(call, num_ranks);
    }
}

/* Here send_* describes the whole input vector, receive_* this rank's block of results. */
static void view_reduce_scatter(const struct coll_pccl_call *call, uint32_t num_ranks, struct coll_pccl_view *view)
{
    view->output = receive_side(call, 1);
    view->input = send_side(call, num_ranks);
    if (call->send == MPI_IN_PLACE) {
        view->input.buffer = call->receive;
        view->relation = COLL_PCCL_SAME_MEMORY;
    }
}

/* The first rank gets nothing, the last gives nothing; in place, the result overwrites the operand. */
static void view_exscan(const struct coll_pccl_call *call, uint32_t rank, uint32_t num_ranks,
                        struct coll_pccl_view *view)
{
    bool in_place = call->send == MPI_IN_PLACE;
    if (rank + 1 < num_ranks) {
        view->input = in_place ? receive_side(call, 1) : send_side(call, 1);
    }
    if (rank > 0) {
        view->output = receive_side(call, 1);
    }
    if (in_place && rank > 0 && rank + 1 < num_ranks) {
        view->relation = COLL_PCCL_SAME_MEMORY;
    }
}

static void view_scatter(const struct coll_pccl_call *call, bool is_root, uint32_t rank, uint32_t num_ranks,
                         struct coll_pccl_view *view)
{
    if (is_root) {
        view->input = send_side(call, num_ranks);
    }
    if (is_root && call->receive == MPI_IN_PLACE) {
        view->relation = COLL_PCCL_OUTPUT_IN_INPUT;
        view->block = rank;
    } else {
        view->output = receive_side(call, 1);
    }
}

/* A block for every edge, or one for all edges out; a side without edges does not count. */
static void view_neighbors(const struct coll_pccl_call *call, const struct coll_pccl_neighborhood *neighborhood,
                           struct coll_pccl_view *view)
{
    bool one_block = coll_pccl_has_one_block(call->kind) && neighborhood->num_out > 0;
    view->input = send_side(call, one_block ? 1 : neighborhood->num_out);
    view->input.peers = one_block ? NULL : coll_pccl_neighbors_out(neighborhood);
    view->output = receive_side(call, neighborhood->num_in);
    view->output.peers = coll_pccl_neighbors_in(neighborhood);
}

void coll_pccl_view_make(const struct coll_pccl_call *call, uint32_t rank, uint32_t num_ranks,
                         const struct coll_pccl_neighborhood *neighborhood, struct coll_pccl_view *view)
{
    bool is_root = (uint32_t)call->root == rank;
    *view = (struct coll_pccl_view){.relation = COLL_PCCL_APART};
    switch (coll_pccl_collectives[call->kind].planned_as) {
    case PCCL_ALLGATHER:
        view_all(call, 1, num_ranks, rank, view);
        break;
    case PCCL_ALLREDUCE:
    case PCCL_SCAN:
        view_all(call, 1, 1, 0, view);
        break;
    case PCCL_CUSTOM:
        view_neighbors(call, neighborhood, view);
        break;
    case PCCL_EXSCAN:
        view_exscan(call, rank, num_ranks, view);
        break;
    case PCCL_ALLTOALL:
        view_alltoall(call, num_ranks, view);
        break;
    case PCCL_BROADCAST: /* at the root, one buffer is both */
        view->output = receive_side(call, 1);
        if (is_root) {
            view->relation = COLL_PCCL_INPUT_IN_OUTPUT;
        }
        break;
    case PCCL_GATHER:
        if (is_root) {
            view_all(call, 1, num_ranks, rank, view);
        } else {
            view->input = send_side(call, 1);
        }
        break;
    case PCCL_REDUCE:
        if (is_root) {
            view_all(call, 1, 1, 0, view);
        } else {
            view->input = send_side(call, 1);
        }
        break;
    case PCCL_REDUCE_SCATTER:
        view_reduce_scatter(call, num_ranks, view);
        break;
    case PCCL_SCATTER:
        view_scatter(call, is_root, rank, num_ranks, view);
        break;
    default: /* a barrier has no buffers */
        break;
    }
}
