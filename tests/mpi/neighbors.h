/* What a collective among neighbours, or an alltoallw, means, as lists of edges: made from a communicator and small
 * numbers that are equal on all ranks. */
#ifndef TEST_NEIGHBORS_H
#define TEST_NEIGHBORS_H

#include "tables.h"

#define MAX_EDGES 160

enum exchange {
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    ALLTOALLW,
    NUM_EXCHANGES
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT, NUM_FORMS };

/* One side of this rank: edges out, or edges in. tags[i] tells the edges of one pair apart and is equal at both ends. */
struct edges {
    int count;
    int peers[MAX_EDGES]; /* or MPI_PROC_NULL */
    int tags[MAX_EDGES];
};

/* The neighbours of this rank in `comm`, asked from MPI; for alltoallw all ranks. */
void edges_find(MPI_Comm comm, enum exchange exchange, struct edges *out, struct edges *in);

/* Blocks of a side: what the arguments of the call say. */
struct blocks {
    int count;
    int counts[MAX_EDGES], displacements[MAX_EDGES]; /* in elements, of alltoallw in bytes */
    MPI_Aint places[MAX_EDGES];                      /* the same in bytes */
    MPI_Datatype types[MAX_EDGES];
    struct buffer buffer;
};

struct exchange_case {
    MPI_Comm comm;
    const char *comm_name;
    enum exchange exchange;
    enum form form;
    int family, units;
    bool in_place; /* alltoallw */
    bool null_types; /* edges to nowhere have no datatype: MPI itself must not check arguments */
    uint64_t seed;
};

/* Makes the call in its form, several outstanding and several times where the form has that, and compares. */
void exchange_run(const struct exchange_case *exchange);

#endif
