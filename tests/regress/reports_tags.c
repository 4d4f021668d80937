/* Tags of operations that are pending: each rank counts them for itself, so all must count alike; and Open MPI uses some
 * of them for other things. Found by random programs (tests/mpi/programs). */
#include "reports.h"

/* A broadcast and an all-reduction of nothing, which Open MPI ends at ranks whose count is 0 before any component sees
 * them; then one of something. */
static void empty_at_some(void)
{
    MPI_Datatype empty;
    MPI_Request requests[3];
    MPI_Comm copy;
    const int mine = world_rank;
    int nothing = -1, sum = -1;
    check_case("nothing by a count of 0 here and by an empty type there, then a sum");
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int round = 0; round < 4; round++) {
        const int count = (world_rank + round) % 2;
        MPI_Ibcast(&nothing, count, empty, 0, copy, &requests[0]);
        MPI_Ibcast(&nothing, 1 - count, empty, round % world_size, copy, &requests[1]);
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, copy, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        check_that(nothing == -1 && sum == world_size * (world_size - 1) / 2, "sum %d", sum);
        sum = -1;
    }
    MPI_Comm_free(&copy);
    MPI_Type_free(&empty);
}

/* Each rank names an edge of another rank, so that Open MPI sends its edges to their ends. */
static void make_ring(MPI_Comm comm)
{
    const int degree = 1, source = (world_rank + 1) % world_size, target = (world_rank + 2) % world_size;
    int sources[2] = {-1, -1}, targets[2] = {-1, -1}, weights[2][2];
    MPI_Comm ring;
    MPI_Dist_graph_create(comm, 1, &source, &degree, &target, &degree, MPI_INFO_NULL, 0, &ring);
    MPI_Dist_graph_neighbors(ring, 1, sources, weights[0], 1, targets, weights[1]);
    check_that(sources[0] == (world_rank + world_size - 1) % world_size, "the edge comes from %d", sources[0]);
    check_that(targets[0] == (world_rank + 1) % world_size, "the edge leads to %d", targets[0]);
    MPI_Comm_free(&ring);
}

/* MPI_Dist_graph_create receives from any source by tags that Open MPI counts through for non-blocking collectives. The
 * sums are large, so that they are still under way while it does. */
static void edges_of_graphs(void)
{
    enum { COUNT = 100000 };
    static int mine[COUNT], sums[2][COUNT];
    for (int i = 0; i < COUNT; i++) {
        mine[i] = world_rank + i;
    }
    for (int before = 16; before < 26; before++) {
        MPI_Request requests[2];
        MPI_Comm copy;
        int wrong = 0;
        check_case("a graph is made while sums are pending, after %d of them", before);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        for (int i = 0; i < before; i++) {
            MPI_Iallreduce(mine, sums[0], 1, MPI_INT, MPI_SUM, copy, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        MPI_Iallreduce(mine, sums[0], COUNT, MPI_INT, MPI_SUM, copy, &requests[0]);
        MPI_Iallreduce(mine, sums[1], COUNT, MPI_INT, MPI_SUM, copy, &requests[1]);
        make_ring(copy);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < COUNT; i++) {
            const int sum = world_size * (world_size - 1) / 2 + world_size * i;
            wrong += (sums[0][i] != sum) + (sums[1][i] != sum);
        }
        check_that(wrong == 0, "%d sums are wrong", wrong);
        MPI_Comm_free(&copy);
    }
}

const struct report tag_reports[] = {
    {"empty at some", empty_at_some, true},
    {"edges of graphs", edges_of_graphs, true},
    {NULL, NULL, false},
};
