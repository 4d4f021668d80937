/* Collectives among neighbours and alltoallw: on Cartesian, graph and distributed-graph communicators of odd shapes, in
 * all forms, with datatypes and sizes of their own on every edge; compared byte by byte with point-to-point messages.
 *
 * neighbors [--seed S] [--null-types] [--forms blocking,nonblocking,persistent]
 * --null-types needs mpi_param_check 0. */
#include "neighbors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 7;
static bool null_types, forms[NUM_FORMS];

/* All exchanges in all forms on a communicator with a topology; alltoallw only where asked. */
static void test_exchanges(const char *name, MPI_Comm comm, bool has_topology)
{
    static const int units[] = {12, 156, 0, 4800};
    for (enum exchange exchange = has_topology ? NEIGHBOR_ALLGATHER : ALLTOALLW; exchange < NUM_EXCHANGES; exchange++) {
        for (int round = 0; round < 12; round++) {
            struct exchange_case one = {
                .comm = comm,
                .comm_name = name,
                .exchange = exchange,
                .form = (enum form)(round % NUM_FORMS),
                .family = round % NUM_FAMILIES,
                .units = units[round / NUM_FORMS],
                .in_place = exchange == ALLTOALLW && round % 2 == 1,
                .null_types = null_types,
                .seed = seed++,
            };
            if (comm != MPI_COMM_NULL && forms[one.form]) { /* the seeds count on where a rank is not in it */
                exchange_run(&one);
            }
        }
    }
}

/* --- Cartesian ---------------------------------------------------------------------------------------------------- */

static void test_cartesian(int num_dimensions, const int *dims, const int *periods, bool reorder)
{
    char name[64] = "cartesian";
    MPI_Comm comm;
    int size, product = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int d = 0; d < num_dimensions; d++) {
        product *= dims[d];
        size_t length = strlen(name);
        snprintf(name + length, sizeof(name) - length, " %d%s", dims[d], periods[d] ? "p" : "");
    }
    if (product > size) {
        return;
    }
    MPI_Cart_create(MPI_COMM_WORLD, num_dimensions, dims, periods, reorder, &comm);
    test_exchanges(name, comm, true);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_free(&comm);
    }
}

/* Closed dimensions of one and two ranks are where edges meet: to oneself, and two to one neighbour. */
static void test_all_cartesian(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int shapes[][3] = {{size, 1, 1}, {1, size, 1}, {2, size / 2, 1}, {size / 2, 2, 1}, {size, 1, 1}, {2, 2, 2},
                             {3, 2, 1},    {1, 1, 1},    {size - 1, 1, 1}};
    const int closed[][3] = {{1, 0, 0}, {1, 1, 1}, {1, 1, 0}, {0, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 1}, {1, 0, 1},
                             {1, 1, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i][0] > 0 && shapes[i][1] > 0) {
            test_cartesian(i < 1 ? 1 : i < 4 ? 2 : 3, shapes[i], closed[i], i % 2 == 1);
        }
    }
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

/* A ring; `extra`: each node is also its own neighbour, twice, and the last but one node has no neighbours at all if
 * there are enough. With two nodes the ring has double edges. */
static void test_graph(bool extra)
{
    int size, *index, *edges, used = 0;
    MPI_Comm comm;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int ring = extra && size > 3 ? size - 2 : size;
    index = malloc((size_t)size * sizeof(int));
    edges = malloc((size_t)size * 4 * sizeof(int));
    for (int i = 0; i < size; i++) {
        if (i < ring && ring > 1) {
            edges[used++] = (i + 1) % ring;
            edges[used++] = (i + ring - 1) % ring;
        }
        if (extra && i != size - 2) {
            edges[used++] = i;
            edges[used++] = i;
        }
        index[i] = used;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    test_exchanges(extra ? "graph with loops" : "graph", comm, true);
    MPI_Comm_free(&comm);
    free(index);
    free(edges);
}

/* --- distributed graphs ------------------------------------------------------------------------------------------- */

/* Edges at random, several between some pairs, loops among them; some ranks have none in, out or at all. */
static void test_distributed(int num_edges, uint64_t graph_seed, bool adjacent)
{
    int size, rank, num_in = 0, num_out = 0, in[MAX_EDGES], out[MAX_EDGES], weights[MAX_EDGES];
    struct random random = {graph_seed};
    MPI_Comm comm;
    char name[64];
    for (int i = 0; i < MAX_EDGES; i++) {
        weights[i] = 1;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < num_edges; i++) {
        int from = (int)random_below(&random, (uint32_t)size), to = (int)random_below(&random, (uint32_t)size);
        if (from == 1 || to == 0 || num_in == MAX_EDGES || num_out == MAX_EDGES) {
            continue; /* nobody hears from rank 1, nobody tells rank 0 */
        }
        if (from == rank) {
            out[num_out++] = to;
        }
        if (to == rank) {
            in[num_in++] = from;
        }
    }
    snprintf(name, sizeof name, "%s of %d edges", adjacent ? "adjacent graph" : "distributed graph", num_edges);
    if (adjacent) {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, num_in, in, weights, num_out, out, weights, MPI_INFO_NULL, 0,
                                       &comm);
    } else {
        MPI_Dist_graph_create(MPI_COMM_WORLD, num_out > 0, &rank, &num_out, out, weights, MPI_INFO_NULL, 0, &comm);
    }
    test_exchanges(name, comm, true);
    MPI_Comm_free(&comm);
}

static void test_all_distributed(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++) {
        test_distributed(i == 0 ? 0 : i == 1 ? 3 * size : 12 * size, seed + (uint64_t)i, true);
        test_distributed(i == 0 ? 1 : i == 1 ? 2 * size : 6 * size, seed + 9 + (uint64_t)i, false);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[NUM_FORMS] = {"blocking", "nonblocking", "persistent"};
    const char *chosen = "blocking,nonblocking,persistent";
    int rank;
    check_init(&argc, &argv, "neighbors");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--forms") == 0 && i + 1 < argc) {
            chosen = argv[++i];
        }
        null_types = null_types || strcmp(argv[i], "--null-types") == 0;
    }
    for (int i = 0; i < NUM_FORMS; i++) {
        forms[i] = strstr(chosen, names[i]) != NULL && (i != BLOCKING || strncmp(chosen, "blocking", 8) == 0);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("neighbors: seed %llu\n", (unsigned long long)seed);
    }
    families_make();
    comms_make();
    for (int i = 0; i < num_comms; i++) {
        test_exchanges(comms[i].name, comms[i].comm, false);
    }
    test_all_cartesian();
    test_graph(false);
    test_graph(true);
    test_all_distributed();
    comms_free();
    families_free();
    return check_finalize();
}
