/* Neighbourhoods, and the programs of a rank in them.
 *
 * A rank of a distributed graph knows its own edges only, and on any topology only the two ends of an edge know how
 * much it carries. So a rank plans for itself: each block goes straight to its neighbour. The standard defines these
 * collectives by such messages, and all of them may be under way at once. */
#include <stdlib.h>
#include <string.h>

#include "neighborhood.h"

#include "pccl/verify.h"

const struct coll_pccl_neighborhood coll_pccl_neighborhood_of_one = {.num_out = 1, .num_in = 1, .ranks = {0, 0}};

static struct coll_pccl_neighborhood *allocate(uint32_t num_out, uint32_t num_in)
{
    size_t edges = (size_t)num_out + num_in;
    struct coll_pccl_neighborhood *neighborhood = calloc(1, sizeof *neighborhood + edges * sizeof(int));
    if (neighborhood) {
        neighborhood->num_out = num_out;
        neighborhood->num_in = num_in;
    }
    return neighborhood;
}

/* FNV-1a. */
static void set_digest(struct coll_pccl_neighborhood *neighborhood)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325) ^ neighborhood->num_out;
    for (size_t i = 0; i < (size_t)neighborhood->num_out + neighborhood->num_in; i++) {
        digest = (digest ^ (uint32_t)neighborhood->ranks[i]) * UINT64_C(0x100000001b3);
    }
    neighborhood->digest = digest;
}

/* In every dimension first the neighbour in negative, then the one in positive direction. */
static struct coll_pccl_neighborhood *create_cartesian(struct ompi_communicator_t *comm)
{
    uint32_t num_dimensions = (uint32_t)comm->c_topo->mtc.cart->ndims, degree = 2 * num_dimensions;
    struct coll_pccl_neighborhood *neighborhood = allocate(degree, degree);
    for (uint32_t d = 0; neighborhood && d < num_dimensions; d++) {
        int *out = &neighborhood->ranks[2 * d];
        comm->c_topo->topo.cart.cart_shift(comm, (int)d, 1, &out[0], &out[1]);
    }
    if (neighborhood) {
        neighborhood->cartesian = true;
        memcpy(neighborhood->ranks + degree, neighborhood->ranks, degree * sizeof(int));
    }
    return neighborhood;
}

static struct coll_pccl_neighborhood *create_graph(struct ompi_communicator_t *comm)
{
    int rank = ompi_comm_rank(comm), degree = 0;
    comm->c_topo->topo.graph.graph_neighbors_count(comm, rank, &degree);
    struct coll_pccl_neighborhood *neighborhood = allocate((uint32_t)degree, (uint32_t)degree);
    if (neighborhood && degree > 0) {
        comm->c_topo->topo.graph.graph_neighbors(comm, rank, degree, neighborhood->ranks);
        memcpy(neighborhood->ranks + degree, neighborhood->ranks, (size_t)degree * sizeof(int));
    }
    return neighborhood;
}

static struct coll_pccl_neighborhood *create_distributed(struct ompi_communicator_t *comm)
{
    const mca_topo_base_comm_dist_graph_t *graph = comm->c_topo->mtc.dist_graph;
    struct coll_pccl_neighborhood *neighborhood = allocate((uint32_t)graph->outdegree, (uint32_t)graph->indegree);
    for (int i = 0; neighborhood && i < graph->outdegree; i++) {
        neighborhood->ranks[i] = graph->out[i];
    }
    for (int i = 0; neighborhood && i < graph->indegree; i++) {
        neighborhood->ranks[graph->outdegree + i] = graph->in[i];
    }
    return neighborhood;
}

struct coll_pccl_neighborhood *coll_pccl_neighborhood_create(struct ompi_communicator_t *comm)
{
    struct coll_pccl_neighborhood *neighborhood = OMPI_COMM_IS_CART(comm)    ? create_cartesian(comm)
                                                  : OMPI_COMM_IS_GRAPH(comm) ? create_graph(comm)
                                                                             : create_distributed(comm);
    if (neighborhood) {
        set_digest(neighborhood);
    }
    return neighborhood;
}

static size_t bytes_of(const struct coll_pccl_neighborhood *neighborhood)
{
    return sizeof *neighborhood + ((size_t)neighborhood->num_out + neighborhood->num_in) * sizeof(int);
}

struct coll_pccl_neighborhood *coll_pccl_neighborhood_copy(const struct coll_pccl_neighborhood *neighborhood)
{
    struct coll_pccl_neighborhood *copy = malloc(bytes_of(neighborhood));
    return copy ? memcpy(copy, neighborhood, bytes_of(neighborhood)) : NULL;
}

bool coll_pccl_neighborhood_equal(const struct coll_pccl_neighborhood *a, const struct coll_pccl_neighborhood *b)
{
    if (!a || !b) {
        return a == b;
    }
    return a->num_out == b->num_out && a->num_in == b->num_in && a->cartesian == b->cartesian &&
           memcmp(a->ranks, b->ranks, ((size_t)a->num_out + a->num_in) * sizeof(int)) == 0;
}

/* Edges that lead somewhere. Cartesian: edges in are taken by pairs the other way round, so that on two edges with one
 * neighbour (a dimension of one or two ranks that closes) what is sent in negative direction arrives from positive. */
static uint32_t list_edges(const int *ranks, uint32_t count, bool swapped, bool one_block, struct pccl_edge *edges)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = swapped ? i ^ 1 : i;
        if (ranks[block] != MPI_PROC_NULL) {
            edges[used++] = (struct pccl_edge){(uint32_t)ranks[block], one_block ? 0 : block};
        }
    }
    return used;
}

int coll_pccl_neighborhood_plan(const struct coll_pccl_neighborhood *neighborhood, uint32_t rank, bool one_block,
                                struct pccl_program **program, struct pccl_error *error)
{
    size_t num_edges = (size_t)neighborhood->num_out + neighborhood->num_in;
    struct pccl_edge *sends = malloc((num_edges + 1) * sizeof *sends), *receives = sends + neighborhood->num_out;
    if (!sends) {
        return PCCL_ERR_MEMORY;
    }
    uint32_t num_sends =
        list_edges(coll_pccl_neighbors_out(neighborhood), neighborhood->num_out, false, one_block, sends);
    uint32_t num_receives = list_edges(coll_pccl_neighbors_in(neighborhood), neighborhood->num_in,
                                       neighborhood->cartesian, false, receives);
    int status = pccl_program_exchange(rank, sends, num_sends, receives, num_receives, program, error);
    if (status == PCCL_SUCCESS) {
        status = pccl_verify_exchange(*program, sends, num_sends, receives, num_receives, error);
    }
    free(sends);
    return status;
}
