/* One exchange among neighbours: arguments, call in its form, reference. */
#include "neighbors.h"

#include <mpi-ext.h> /* after mpi.h, which it does not include */
#include <stdlib.h>
#include <string.h>

#define REFERENCE_TAG 100
#define OUTSTANDING 3 /* non-blocking calls at once, and starts of a persistent one */

static const char *const names[NUM_EXCHANGES] = {
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
    "alltoallw",
};

/* --- edges -------------------------------------------------------------------------------------------------------- */

/* The how-manieth edge with its peer each one is. */
static void count_repetitions(struct edges *edges)
{
    for (int i = 0; i < edges->count; i++) {
        edges->tags[i] = 0;
        for (int j = 0; j < i; j++) {
            edges->tags[i] += edges->peers[j] == edges->peers[i];
        }
    }
}

/* What leaves in negative direction of a dimension arrives from the positive one: tag 2d; the other way 2d + 1. */
static void find_cartesian(MPI_Comm comm, struct edges *out, struct edges *in)
{
    int num_dimensions;
    MPI_Cartdim_get(comm, &num_dimensions);
    out->count = in->count = 2 * num_dimensions;
    for (int d = 0; d < num_dimensions; d++) {
        MPI_Cart_shift(comm, d, 1, &out->peers[2 * d], &out->peers[2 * d + 1]);
        in->peers[2 * d] = out->peers[2 * d];
        in->peers[2 * d + 1] = out->peers[2 * d + 1];
        out->tags[2 * d] = in->tags[2 * d + 1] = 2 * d;
        out->tags[2 * d + 1] = in->tags[2 * d] = 2 * d + 1;
    }
}

void edges_find(MPI_Comm comm, enum exchange exchange, struct edges *out, struct edges *in)
{
    int kind, rank, weighted;
    MPI_Topo_test(comm, &kind);
    MPI_Comm_rank(comm, &rank);
    if (exchange == ALLTOALLW) {
        MPI_Comm_size(comm, &out->count);
        for (int i = 0; i < out->count; i++) {
            out->peers[i] = i;
            out->tags[i] = 0;
        }
        *in = *out;
    } else if (kind == MPI_CART) {
        find_cartesian(comm, out, in);
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, rank, &out->count);
        MPI_Graph_neighbors(comm, rank, MAX_EDGES, out->peers);
        count_repetitions(out);
        *in = *out;
    } else {
        int in_weights[MAX_EDGES], out_weights[MAX_EDGES];
        MPI_Dist_graph_neighbors_count(comm, &in->count, &out->count, &weighted);
        MPI_Dist_graph_neighbors(comm, in->count, in->peers, in_weights, out->count, out->peers, out_weights);
        count_repetitions(in);
        count_repetitions(out);
    }
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static bool has_sizes(enum exchange exchange)
{
    return exchange != NEIGHBOR_ALLGATHER && exchange != NEIGHBOR_ALLTOALL;
}

/* Units that an edge carries: both ends compute the same. An allgather's depend on the source alone, and in place what
 * comes must be as large as what goes. */
static int units_of(const struct exchange_case *c, int source, int target, int tag)
{
    if (!has_sizes(c->exchange)) {
        return c->units;
    }
    if (c->exchange == NEIGHBOR_ALLGATHERV) {
        return c->units * (int)(random_mix(c->seed, (uint64_t)source) % 3);
    }
    int low = source < target ? source : target, high = source < target ? target : source;
    uint64_t pair = (uint64_t)low * MAX_RANKS + (uint64_t)high + ((uint64_t)(c->in_place ? 0 : tag) << 20);
    return c->units * (int)(random_mix(c->seed, pair) % 3);
}

static bool has_types(enum exchange exchange)
{
    return exchange == NEIGHBOR_ALLTOALLW || exchange == ALLTOALLW;
}

static const struct variant *pick_variant(const struct exchange_case *c, int rank, int edge, bool out)
{
    const struct family *family = &families[c->family];
    uint64_t salt = (uint64_t)rank * 2 + out + ((uint64_t)(has_types(c->exchange) ? edge : 0) << 32);
    const struct variant *variant = &family->variants[random_mix(c->seed + 5, salt) % (uint64_t)family->num_variants];
    return c->units % variant->units == 0 ? variant : &family->variants[0];
}

/* Blocks one after the other, holes between them where displacements are given; and a buffer around them. */
static void lay_out(const struct exchange_case *c, struct blocks *blocks, struct random *random)
{
    MPI_Aint next = 0, low = 0, high = 0;
    for (int i = 0; i < blocks->count; i++) {
        MPI_Aint lower, extent, true_lower, true_extent;
        if (blocks->types[i] == MPI_DATATYPE_NULL) {
            continue;
        }
        MPI_Type_get_extent(blocks->types[i], &lower, &extent);
        MPI_Type_get_true_extent(blocks->types[i], &true_lower, &true_extent);
        MPI_Aint hole = !has_sizes(c->exchange) ? 0 : has_types(c->exchange) ? 64 : 1;
        next += has_types(c->exchange) ? (16 - next % 16) % 16 - (true_lower < 0 ? true_lower - 16 : 0) : 0;
        next += has_types(c->exchange) ? (16 - next % 16) % 16 : 0;
        blocks->displacements[i] = (int)next;
        blocks->places[i] = has_types(c->exchange) ? next : next * extent;
        if (blocks->counts[i] > 0) {
            MPI_Aint last = blocks->places[i] + extent * (blocks->counts[i] - 1);
            MPI_Aint first = last < blocks->places[i] ? last : blocks->places[i];
            last = last < blocks->places[i] ? blocks->places[i] : last;
            low = first + true_lower < low ? first + true_lower : low;
            high = last + true_lower + true_extent > high ? last + true_lower + true_extent : high;
        }
        MPI_Aint span = extent * blocks->counts[i];
        next += hole + (has_types(c->exchange) ? (span < 0 ? -span : span) + true_extent : blocks->counts[i]);
    }
    const int first = (int)low, length = (int)(high - low);
    buffer_make(&blocks->buffer, MPI_BYTE, 1, &length, &first, random);
}

static void make_blocks(const struct exchange_case *c, const struct edges *edges, bool out, struct blocks *blocks)
{
    int rank;
    MPI_Comm_rank(c->comm, &rank);
    const bool one_block = out && c->exchange <= NEIGHBOR_ALLGATHERV;
    struct random random = {random_mix(c->seed, (uint64_t)rank * 2 + out)};
    blocks->count = one_block ? edges->count > 0 : edges->count;
    /* What all blocks share is said even where there is none: it must be the same on all ranks. */
    for (int i = 0; i < (blocks->count > 0 ? blocks->count : 1); i++) {
        const struct variant *variant = pick_variant(c, rank, i, out);
        int peer = i < edges->count ? edges->peers[i] : MPI_PROC_NULL, units;
        if (one_block || peer == MPI_PROC_NULL) {
            units = units_of(c, rank, rank, 0);
        } else {
            units = units_of(c, out ? rank : peer, out ? peer : rank, edges->tags[i]);
        }
        blocks->types[i] = variant->type;
        blocks->counts[i] = units / variant->units;
        if (has_types(c->exchange) && c->null_types && peer == MPI_PROC_NULL) {
            blocks->types[i] = MPI_DATATYPE_NULL;
        }
    }
    lay_out(c, blocks, &random);
}

/* --- the reference ------------------------------------------------------------------------------------------------ */

static void find_reference(const struct exchange_case *c, const struct edges *out, const struct edges *in,
                           const struct blocks *send, const struct buffer *sent, const struct blocks *receive,
                           struct buffer *expected)
{
    MPI_Request requests[2 * MAX_EDGES];
    int num_requests = 0;
    for (int i = 0; i < in->count; i++) {
        if (in->peers[i] != MPI_PROC_NULL) {
            MPI_Irecv((char *)expected->address + receive->places[i], receive->counts[i], receive->types[i],
                      in->peers[i], REFERENCE_TAG + in->tags[i], c->comm, &requests[num_requests++]);
        }
    }
    for (int i = 0; i < out->count; i++) {
        int block = send->count < out->count ? 0 : i;
        if (out->peers[i] != MPI_PROC_NULL) {
            MPI_Isend((char *)sent->address + send->places[block], send->counts[block], send->types[block],
                      out->peers[i], REFERENCE_TAG + out->tags[i], c->comm, &requests[num_requests++]);
        }
    }
    MPI_Waitall(num_requests, requests, MPI_STATUSES_IGNORE);
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

/* The arguments of one exchange in the order of MPI, for the three forms of its function. */
#define EXCHANGE(FUNCTION, SEND, RECEIVE)                                                                   \
    (c->form == BLOCKING      ? MPI_##FUNCTION(SEND, RECEIVE, c->comm)                                      \
     : c->form == NONBLOCKING ? MPI_I##FUNCTION(SEND, RECEIVE, c->comm, request)                            \
                              : MPIX_##FUNCTION##_init(SEND, RECEIVE, c->comm, MPI_INFO_NULL, request))

/* MPI_INeighbor... does not exist: the letter after MPI_I is a small one. */
#define MPI_INeighbor_allgather MPI_Ineighbor_allgather
#define MPI_INeighbor_allgatherv MPI_Ineighbor_allgatherv
#define MPI_INeighbor_alltoall MPI_Ineighbor_alltoall
#define MPI_INeighbor_alltoallv MPI_Ineighbor_alltoallv
#define MPI_INeighbor_alltoallw MPI_Ineighbor_alltoallw
#define MPI_IAlltoallw MPI_Ialltoallw

#define ONE(blocks, address) address, (blocks)->counts[0], (blocks)->types[0]
#define MANY(blocks, address) address, (blocks)->counts, (blocks)->displacements, (blocks)->types[0]
#define PLACED(blocks, address) address, (blocks)->counts, (blocks)->places, (blocks)->types
#define TYPED(blocks, address) address, (blocks)->counts, (blocks)->displacements, (blocks)->types

static int invoke(const struct exchange_case *c, const struct blocks *send, const struct blocks *receive,
                  const struct buffer *target, MPI_Request *request)
{
    const void *from = c->in_place ? MPI_IN_PLACE : send->buffer.address;
    void *to = target->address;
    switch (c->exchange) {
    case NEIGHBOR_ALLGATHER: return EXCHANGE(Neighbor_allgather, ONE(send, from), ONE(receive, to));
    case NEIGHBOR_ALLGATHERV: return EXCHANGE(Neighbor_allgatherv, ONE(send, from), MANY(receive, to));
    case NEIGHBOR_ALLTOALL: return EXCHANGE(Neighbor_alltoall, ONE(send, from), ONE(receive, to));
    case NEIGHBOR_ALLTOALLV: return EXCHANGE(Neighbor_alltoallv, MANY(send, from), MANY(receive, to));
    case NEIGHBOR_ALLTOALLW: return EXCHANGE(Neighbor_alltoallw, PLACED(send, from), PLACED(receive, to));
    default: return EXCHANGE(Alltoallw, TYPED(send, from), TYPED(receive, to));
    }
}

/* Runs the call on `times` targets: at once if the form allows that, a persistent one again and again on the first. */
static void call_all(const struct exchange_case *c, const struct blocks *send, const struct blocks *receive,
                     struct buffer *targets, const struct buffer *fresh)
{
    MPI_Request requests[OUTSTANDING];
    int num_requests = c->form == NONBLOCKING ? OUTSTANDING : 1;
    for (int i = 0; i < num_requests; i++) {
        int status = invoke(c, send, receive, &targets[i], &requests[i]);
        check_that(status == MPI_SUCCESS, "returned error %d", status);
    }
    if (c->form == NONBLOCKING) {
        for (int i = num_requests; i-- > 0;) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; c->form == PERSISTENT && i < OUTSTANDING; i++) {
        memcpy(targets[0].memory, fresh->memory, fresh->bytes);
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    if (c->form == PERSISTENT) {
        MPI_Request_free(&requests[0]);
    }
}

void exchange_run(const struct exchange_case *c)
{
    static struct edges out, in;
    static struct blocks send, receive;
    struct buffer targets[OUTSTANDING], expected, before, sent;
    static const char *const form_names[NUM_FORMS] = {"blocking", "nonblocking", "persistent"};
    check_case("%s, %s, on %s, family %s, units %d%s, seed %#llx", names[c->exchange], form_names[c->form],
               c->comm_name, families[c->family].name, c->units, c->in_place ? ", in place" : "",
               (unsigned long long)c->seed);
    edges_find(c->comm, c->exchange, &out, &in);
    make_blocks(c, &out, true, &send);
    make_blocks(c, &in, false, &receive);
    for (int i = 0; i < OUTSTANDING; i++) {
        buffer_copy(&targets[i], &receive.buffer);
    }
    buffer_copy(&expected, &receive.buffer);
    buffer_copy(&before, &receive.buffer);
    buffer_copy(&sent, &send.buffer);
    if (c->in_place) {
        find_reference(c, &out, &in, &receive, &before, &receive, &expected);
    } else {
        find_reference(c, &out, &in, &send, &sent, &receive, &expected);
    }
    call_all(c, &send, &receive, targets, &before);
    for (int i = 0; i < (c->form == NONBLOCKING ? OUTSTANDING : 1); i++) {
        buffer_equal(&targets[i], &expected, "receive buffer");
    }
    buffer_equal(&send.buffer, &sent, "send buffer");
    for (int i = 0; i < OUTSTANDING; i++) {
        buffer_free(&targets[i]);
    }
    buffer_free(&expected);
    buffer_free(&before);
    buffer_free(&sent);
    buffer_free(&send.buffer);
    buffer_free(&receive.buffer);
}
