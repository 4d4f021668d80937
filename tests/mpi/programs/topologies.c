/* Grids, graphs and distributed graphs, and who is whose neighbour in them. */
#include <stdio.h>
#include <string.h>

#include "communicators.h"
#include "defects.h"

#define MAX_DIMENSIONS 3
#define MAX_EDGES (4 * MAX_SIZE * MAX_SIZE)

/* --- grids -------------------------------------------------------------------------------------------------------- */

MPI_Comm grid_make(MPI_Comm parent, int size, struct random *random)
{
    int extents[MAX_DIMENSIONS], periods[MAX_DIMENSIONS], left = size;
    const int num_dimensions = 1 + (int)random_below(random, MAX_DIMENSIONS);
    MPI_Comm made;
    for (int d = 0; d < num_dimensions; d++) {
        extents[d] = 1 + (int)random_below(random, (uint32_t)(d + 1 < num_dimensions && left > 3 ? 3 : left));
        periods[d] = random_below(random, 3) != 0;
        left /= extents[d];
    }
    MPI_Cart_create(parent, num_dimensions, extents, periods, (int)random_below(random, 2), &made);
    return made;
}

/* MPI 4.0, section 8.6: what is sent in one direction arrives as what comes from the opposite one, whoever the
 * neighbours are. */
static void read_grid(struct communicator *communicator)
{
    int num_dimensions, extents[MAX_DIMENSIONS], periods[MAX_DIMENSIONS], place[MAX_DIMENSIONS];
    MPI_Cartdim_get(communicator->comm, &num_dimensions);
    MPI_Cart_get(communicator->comm, num_dimensions, extents, periods, place);
    for (int d = 0; d < num_dimensions; d++) {
        int below, above;
        MPI_Cart_shift(communicator->comm, d, 1, &below, &above);
        communicator->sources[2 * d] = (struct edge){below, 2 * d + 1};
        communicator->sources[2 * d + 1] = (struct edge){above, 2 * d};
        communicator->targets[2 * d] = (struct edge){below, 2 * d};
        communicator->targets[2 * d + 1] = (struct edge){above, 2 * d + 1};
        communicator->wraps |= periods[d] && extents[d] <= 2;
    }
    communicator->num_sources = communicator->num_targets = 2 * num_dimensions;
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

/* How many edges lead from `source` to `target`: about `per_rank` from each, loops and several between the same two
 * included. */
static int multiplicity(uint64_t seed, int source, int target, int size, int per_rank)
{
    const uint64_t noise = random_mix(seed, (uint64_t)(source * MAX_RANKS + target));
    if (noise % (uint64_t)size >= (uint64_t)per_rank) {
        return 0;
    }
    return noise >> 40 & 3 ? 1 : 2;
}

/* Its neighbours are both sources and targets, so the graph is symmetric. */
MPI_Comm graph_make(MPI_Comm parent, int size, struct random *random)
{
    const int num_nodes = size > 2 && random_below(random, 4) == 0 ? size - 1 : size;
    const int per_rank = (int)random_below(random, 3);
    const uint64_t seed = random_next(random);
    int ends[MAX_RANKS], neighbours[MAX_EDGES], num_neighbours = 0;
    MPI_Comm made;
    for (int node = 0; node < num_nodes; node++) {
        for (int other = 0; other < num_nodes; other++) {
            const int low = node < other ? node : other, high = node < other ? other : node;
            for (int i = multiplicity(seed, low, high, num_nodes, per_rank); i > 0; i--) {
                neighbours[num_neighbours++] = other;
            }
        }
        ends[node] = num_neighbours;
    }
    MPI_Graph_create(parent, num_nodes, ends, neighbours, (int)random_below(random, 2), &made);
    return made;
}

/* The neighbours of a rank in an order of its own. */
static int list_neighbours(uint64_t seed, int rank, int size, int per_rank, bool sources, int *neighbours)
{
    int count = 0;
    for (int i = 0; i < size; i++) {
        const int other = (i + (int)(seed >> 50) + rank) % size;
        const int times =
            sources ? multiplicity(seed, other, rank, size, per_rank) : multiplicity(seed, rank, other, size, per_rank);
        for (int k = 0; k < times; k++) {
            neighbours[count++] = other;
        }
    }
    return count;
}

/* Every edge is named by some rank, often none of its ends. */
static MPI_Comm make_from_anywhere(MPI_Comm parent, int rank, int size, uint64_t seed, int per_rank)
{
    int sources[MAX_EDGES], degrees[MAX_EDGES], targets[MAX_EDGES], count = 0;
    MPI_Comm made;
    for (int source = 0; source < size; source++) {
        for (int target = 0; target < size; target++) {
            const int times = multiplicity(seed, source, target, size, per_rank);
            if ((source * 7 + target) % size != rank) {
                continue;
            }
            for (int k = 0; k < times; k++) {
                sources[count] = source;
                degrees[count] = 1;
                targets[count++] = target;
            }
        }
    }
    MPI_Dist_graph_create(parent, count, sources, degrees, targets, degrees, MPI_INFO_NULL, 0, &made);
    MPI_Barrier(parent); /* Open MPI 4.1.4 receives messages of the next such call in this one */
    return made;
}

MPI_Comm distributed_graph_make(MPI_Comm parent, int rank, int size, struct random *random)
{
    const int per_rank = (int)random_below(random, 4);
    const bool from_anywhere = random_below(random, 2) == 0 && !defect_edge_tags();
    const uint64_t seed = random_next(random);
    const int weights[MAX_NEIGHBOURS] = {0};
    int sources[MAX_NEIGHBOURS], targets[MAX_NEIGHBOURS], num_sources, num_targets;
    MPI_Comm made;
    if (from_anywhere) {
        return make_from_anywhere(parent, rank, size, seed, per_rank);
    }
    num_sources = list_neighbours(seed, rank, size, per_rank, true, sources);
    num_targets = list_neighbours(seed, rank, size, per_rank, false, targets);
    MPI_Dist_graph_create_adjacent(parent, num_sources, sources, weights, num_targets, targets, weights,
                                   MPI_INFO_NULL, 0, &made);
    return made;
}

/* The k-th edge to a rank is, for that rank, the k-th from here. */
static void label_edges(const int *peers, int count, struct edge *edges)
{
    for (int i = 0; i < count; i++) {
        edges[i] = (struct edge){peers[i], 0};
        for (int j = 0; j < i; j++) {
            edges[i].label += peers[j] == peers[i];
        }
    }
}

static void read_graph(struct communicator *communicator)
{
    int neighbours[MAX_EDGES], count;
    MPI_Graph_neighbors_count(communicator->comm, communicator->rank, &count);
    MPI_Graph_neighbors(communicator->comm, communicator->rank, count, neighbours);
    label_edges(neighbours, count, communicator->sources);
    label_edges(neighbours, count, communicator->targets);
    communicator->num_sources = communicator->num_targets = count;
}

static void read_distributed_graph(struct communicator *communicator)
{
    int sources[MAX_NEIGHBOURS], targets[MAX_NEIGHBOURS], weights[2][MAX_NEIGHBOURS];
    int num_sources, num_targets, weighted;
    MPI_Dist_graph_neighbors_count(communicator->comm, &num_sources, &num_targets, &weighted);
    MPI_Dist_graph_neighbors(communicator->comm, num_sources, sources, weights[0], num_targets, targets,
                             weights[1]);
    label_edges(sources, num_sources, communicator->sources);
    label_edges(targets, num_targets, communicator->targets);
    communicator->num_sources = num_sources;
    communicator->num_targets = num_targets;
}

void neighbours_read(struct communicator *communicator)
{
    const size_t length = strlen(communicator->name);
    int kind;
    MPI_Topo_test(communicator->comm, &kind);
    communicator->has_topology = kind != MPI_UNDEFINED;
    if (kind == MPI_CART) {
        read_grid(communicator);
    } else if (kind == MPI_GRAPH) {
        read_graph(communicator);
    } else if (kind == MPI_DIST_GRAPH) {
        read_distributed_graph(communicator);
    }
    if (communicator->has_topology) {
        snprintf(communicator->name + length, sizeof(communicator->name) - length, " with %d sources, %d targets%s",
                 communicator->num_sources, communicator->num_targets, communicator->wraps ? ", narrow" : "");
    }
}
