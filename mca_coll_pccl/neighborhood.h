/* Neighbourhoods: whom this rank exchanges with in the neighbourhood collectives of a communicator. */
#ifndef COLL_PCCL_NEIGHBORHOOD_H
#define COLL_PCCL_NEIGHBORHOOD_H

#include "compat.h"

#include "pccl/program.h"

/* One allocation, which ends with the ranks. */
struct coll_pccl_neighborhood {
    uint32_t num_out, num_in; /* edges, those to and from nowhere included: blocks of the buffers */
    uint64_t digest;
    bool cartesian; /* edges 2d and 2d+1 are the two directions of dimension d, and what leaves in one direction arrives
                       from the other */
    int ranks[];    /* [num_out + num_in] at the other end of each edge out, then of each edge in; or MPI_PROC_NULL */
};

static inline const int *coll_pccl_neighbors_out(const struct coll_pccl_neighborhood *neighborhood)
{
    return neighborhood->ranks;
}

static inline const int *coll_pccl_neighbors_in(const struct coll_pccl_neighborhood *neighborhood)
{
    return neighborhood->ranks + neighborhood->num_out;
}

/* Of a communicator with a topology (Cartesian, graph, distributed graph). NULL when out of memory. Freed with free. */
struct coll_pccl_neighborhood *coll_pccl_neighborhood_create(struct ompi_communicator_t *comm);
/* Of a communicator of one rank, which is its own and only neighbour: for its alltoallw. */
extern const struct coll_pccl_neighborhood coll_pccl_neighborhood_of_one;
struct coll_pccl_neighborhood *coll_pccl_neighborhood_copy(const struct coll_pccl_neighborhood *neighborhood);
bool coll_pccl_neighborhood_equal(const struct coll_pccl_neighborhood *a, const struct coll_pccl_neighborhood *b);

/* The program that exchanges the blocks of all edges, verified. one_block: every edge out carries block 0. Errors as of
 * pccl_program_exchange. */
int coll_pccl_neighborhood_plan(const struct coll_pccl_neighborhood *neighborhood, uint32_t rank, bool one_block,
                                struct pccl_program **program, struct pccl_error *error);

#endif
