#include "communicators.h"

#include <stdio.h>
#include <string.h>

static MPI_Comm part_of_grid(MPI_Comm parent, int size, bool rows)
{
    int extents[2] = {0, 0}, periods[2] = {1, 0}, remain[2] = {!rows, rows};
    MPI_Comm grid, part;
    MPI_Dims_create(size, 2, extents);
    MPI_Cart_create(parent, 2, extents, periods, 1, &grid);
    MPI_Cart_sub(grid, remain, &part);
    MPI_Comm_free(&grid);
    return part;
}

/* About two thirds of the ranks, last first; made by all, or by the members alone. */
static MPI_Comm part_of_group(MPI_Comm parent, int size, uint64_t seed, bool by_members)
{
    int members[MAX_RANKS], num_members = 0, own;
    MPI_Group whole, part;
    MPI_Comm made = MPI_COMM_NULL;
    for (int rank = size - 1; rank >= 0; rank--) {
        if (random_mix(seed, (uint64_t)rank) % 3 != 0) {
            members[num_members++] = rank;
        }
    }
    MPI_Comm_group(parent, &whole);
    MPI_Group_incl(whole, num_members, members, &part);
    MPI_Group_rank(part, &own);
    if (!by_members) {
        MPI_Comm_create(parent, part, &made);
    } else if (own != MPI_UNDEFINED) {
        MPI_Comm_create_group(parent, part, 3, &made);
    }
    MPI_Group_free(&part);
    MPI_Group_free(&whole);
    return made;
}

static MPI_Comm duplicate_meanwhile(MPI_Comm parent)
{
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(parent, &made, &request);
    MPI_Barrier(parent);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return made;
}

enum way { DUP, IDUP, SPLIT, REVERSE, LEAVE_OUT, ALONE, SUBGRID, CREATE, CREATE_GROUP, CART, GRAPH, DIST_GRAPH };
#define NUM_WAYS 15 /* of which those from DIST_GRAPH on make a distributed graph */

static const char *const way_names[] = {"dup",     "idup",   "split",        "reversed", "split without some", "alone",
                                        "subgrid", "create", "create_group", "cart",     "graph", "dist_graph"};

static MPI_Comm split(MPI_Comm parent, int color, int key)
{
    MPI_Comm made;
    MPI_Comm_split(parent, color, key, &made);
    return made;
}

static MPI_Comm make(const struct communicator *parent, enum way way, struct random *random)
{
    const MPI_Comm comm = parent->comm;
    const int rank = parent->rank, size = parent->size;
    const uint64_t seed = random_next(random), noise = random_mix(seed, (uint64_t)rank);
    MPI_Comm made;
    switch (way) {
    case DUP: MPI_Comm_dup(comm, &made); return made;
    case IDUP: return duplicate_meanwhile(comm);
    case SPLIT: return split(comm, (int)(noise % 2), (int)(noise >> 20 & 0xfff));
    case REVERSE: return split(comm, 0, -rank);
    case LEAVE_OUT: return split(comm, noise % 4 == 0 ? MPI_UNDEFINED : 0, -rank);
    case ALONE: return split(comm, rank, 0);
    case SUBGRID: return part_of_grid(comm, size, seed % 2 == 0);
    case CREATE:
    case CREATE_GROUP: return part_of_group(comm, size, seed, way == CREATE_GROUP);
    case CART: return grid_make(comm, size, random);
    case GRAPH: return graph_make(comm, size, random);
    default: return distributed_graph_make(comm, rank, size, random);
    }
}

static void wrap(struct communicator *communicator, MPI_Comm comm, const char *name, bool may_have_topology)
{
    memset(communicator, 0, sizeof(*communicator));
    snprintf(communicator->name, sizeof(communicator->name), "%s", name);
    communicator->comm = comm;
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &communicator->rank);
        MPI_Comm_size(comm, &communicator->size);
        if (may_have_topology) {
            neighbours_read(communicator);
        }
    }
}

void communicator_wrap(struct communicator *communicator, MPI_Comm comm, const char *name)
{
    wrap(communicator, comm, name, true);
}

void communicator_derive(struct communicator *made, const struct communicator *parent, struct random *shared)
{
    const uint32_t number = random_below(shared, NUM_WAYS);
    const enum way way = number < DIST_GRAPH ? (enum way)number : DIST_GRAPH;
    struct random random = {random_next(shared)};
    /* In Open MPI 4.1.4 a part made by MPI_Comm_create_group claims to have the topology of the whole. */
    const bool may_have_topology = way >= CART || way == SUBGRID || (way <= IDUP && parent->has_topology);
    wrap(made, parent->comm == MPI_COMM_NULL ? MPI_COMM_NULL : make(parent, way, &random), way_names[way],
         may_have_topology);
}

void communicator_free(struct communicator *communicator)
{
    if (communicator->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&communicator->comm);
    }
}
