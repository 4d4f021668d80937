/* The communicators of a program: made out of one another in every way, some with a topology. */
#ifndef PROGRAMS_COMMUNICATORS_H
#define PROGRAMS_COMMUNICATORS_H

#include "../check.h"

#define MAX_SIZE 16                   /* ranks of a program */
#define MAX_NEIGHBOURS (2 * MAX_SIZE) /* of a rank */

/* An edge of a topology as the rank at one of its ends sees it. Edges between the same two ranks differ in `label`, for
 * which both ends have the same number. */
struct edge {
    int peer; /* MPI_PROC_NULL: beyond the border of a grid */
    int label;
};

struct communicator {
    MPI_Comm comm; /* MPI_COMM_NULL where this rank is no member */
    int rank, size;
    char name[60];
    bool has_topology, wraps; /* wraps: a grid with a periodic dimension of one or two ranks */
    int num_sources, num_targets;
    struct edge sources[MAX_NEIGHBOURS], targets[MAX_NEIGHBOURS];
};

/* Makes one out of the parent by the numbers of `shared`, which are the same at all ranks of the program. Collective
 * over the parent; at ranks outside the parent it only takes the numbers. */
void communicator_derive(struct communicator *made, const struct communicator *parent, struct random *shared);
/* From any handle. */
void communicator_wrap(struct communicator *communicator, MPI_Comm comm, const char *name);
void communicator_free(struct communicator *communicator);

/* --- topologies --------------------------------------------------------------------------------------------------- */

/* MPI_COMM_NULL at ranks that are left over. */
MPI_Comm grid_make(MPI_Comm parent, int size, struct random *random);
MPI_Comm graph_make(MPI_Comm parent, int size, struct random *random);
MPI_Comm distributed_graph_make(MPI_Comm parent, int rank, int size, struct random *random);
/* Fills in what the communicator says about its neighbours. */
void neighbours_read(struct communicator *communicator);

#endif
