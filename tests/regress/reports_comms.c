/* Communicators: one rank, inter-communicators, many at once, pending operations, errors. */
#include <stdlib.h>
#include <unistd.h>

#include "reports.h"

/* o#218, p#2319: a communicator of one rank, in place or not. */
static void alone(void)
{
    int mine = 5, result = 0, counts[1] = {1}, displacements[1] = {0};
    check_case("all collectives alone");
    MPI_Allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    check_that(result == 5, "allreduce %d", result);
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Reduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF);
    MPI_Reduce_scatter(MPI_IN_PLACE, &result, counts, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    check_that(result == 5, "in place %d", result);
    MPI_Allgatherv(&mine, 1, MPI_INT, &result, counts, displacements, MPI_INT, MPI_COMM_SELF);
    MPI_Alltoall(&mine, 1, MPI_INT, &result, 1, MPI_INT, MPI_COMM_SELF);
    MPI_Bcast(&result, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_SELF);
    check_that(result == 5, "movements %d", result);
}

/* p#1601: duplicates under way at once. (No collective between them: Open MPI 4.1 hangs on that by itself.) */
static void pending_duplicates(void)
{
    enum { NUMBER = 6 };
    MPI_Comm copies[NUMBER];
    MPI_Request requests[NUMBER];
    int mine = world_rank, sum;
    check_case("%d MPI_Comm_idup pending", NUMBER);
    for (int i = 0; i < NUMBER; i++) {
        MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]);
    }
    MPI_Waitall(NUMBER, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < NUMBER; i++) {
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, copies[NUMBER - 1 - i]);
        check_that(sum == world_size * (world_size - 1) / 2, "sum %d on copy %d", sum, i);
    }
    for (int i = 0; i < NUMBER; i++) {
        MPI_Comm_free(&copies[i]);
    }
}

/* o#11052: synchronous sends, probes and a non-blocking barrier until all is quiet, with pccl's calls in between. */
static void consensus(void)
{
    for (int round = 0; round < 150; round++) {
        int value = round, target = (int)(random_mix((uint64_t)round, (uint64_t)world_rank) % (uint64_t)world_size);
        int sent = 0, entered = 0, done = 0, received = 0, total = 0;
        MPI_Request send, barrier;
        check_case("consensus, round %d", round);
        MPI_Issend(&value, 1, MPI_INT, target, 8, MPI_COMM_WORLD, &send);
        while (!done) {
            int arrived;
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &arrived, &status);
            if (arrived) {
                MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                received++;
            }
            if (!entered) {
                MPI_Test(&send, &sent, MPI_STATUS_IGNORE);
                if (sent) {
                    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
                    entered = 1;
                }
            } else {
                MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
            }
        }
        MPI_Allreduce(&received, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        check_that(total == world_size, "%d messages of %d", total, world_size);
    }
}

/* n#195: every pair of ranks has a communicator; all run in an order that only works if none holds up another. */
static void communicator_per_pair(void)
{
    MPI_Comm pairs[16][16];
    const int number = world_size < 6 ? world_size : 6;
    for (int i = 0; i < number; i++) {
        for (int j = i + 1; j < number; j++) {
            MPI_Comm_split(MPI_COMM_WORLD, world_rank == i || world_rank == j ? 0 : MPI_UNDEFINED, -world_rank,
                           &pairs[i][j]);
        }
    }
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < number; i++) {
            for (int j = i + 1; j < number; j++) {
                int mine = world_rank, sum;
                if (pairs[i][j] != MPI_COMM_NULL) {
                    check_case("communicator of ranks %d and %d, round %d", i, j, round);
                    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, pairs[i][j]);
                    check_that(sum == i + j, "sum %d", sum);
                }
            }
        }
    }
    for (int i = 0; i < number; i++) {
        for (int j = i + 1; j < number; j++) {
            if (pairs[i][j] != MPI_COMM_NULL) {
                MPI_Comm_free(&pairs[i][j]);
            }
        }
    }
}

/* The parent may be freed before its children, and a communicator right after its last call, while others are late. */
static void freed_early(void)
{
    for (int round = 0; round < 20; round++) {
        MPI_Comm parent, child;
        int number = world_rank == 0 ? round : -1, mine = world_rank, sum;
        check_case("freed early, round %d", round);
        MPI_Comm_dup(MPI_COMM_WORLD, &parent);
        MPI_Bcast(&number, 1, MPI_INT, 0, parent);
        MPI_Comm_split(parent, 0, -world_rank, &child);
        MPI_Comm_free(&parent);
        if (world_rank == round % world_size) {
            usleep(500);
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, child);
        MPI_Bcast(&number, 1, MPI_INT, 0, child);
        MPI_Comm_free(&child);
        check_that(sum == world_size * (world_size - 1) / 2 && number == round, "sum %d, number %d", sum, number);
    }
}

/* Prefixes, and neighbours where there are none at the ends. */
static void neighbours(void)
{
    int mine = world_rank, sum = -1, left_right[2] = {-1, -1}, extents[1] = {world_size}, periods[1] = {0};
    MPI_Comm line;
    check_case("scan and exscan");
    MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_that(sum == world_rank * (world_rank + 1) / 2, "scan %d", sum);
    MPI_Exscan(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_that(world_rank == 0 || sum == world_rank * (world_rank - 1) / 2, "exscan %d", sum);
    check_case("neighbours in a line");
    MPI_Cart_create(MPI_COMM_WORLD, 1, extents, periods, 0, &line);
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, left_right, 1, MPI_INT, line);
    check_that(left_right[0] == world_rank - 1 || world_rank == 0, "left is %d", left_right[0]);
    check_that(left_right[1] == world_rank + 1 || world_rank == world_size - 1, "right is %d", left_right[1]);
    MPI_Comm_free(&line);
}

/* Wrong arguments come back as errors, and the communicator is as good as before. */
static void errors_returned(void)
{
    int number = world_rank, sum;
    MPI_Comm copy;
    check_case("wrong arguments");
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    check_that(MPI_Bcast(&number, 1, MPI_INT, world_size, copy) != MPI_SUCCESS, "root out of range is accepted");
    check_that(MPI_Bcast(&number, -1, MPI_INT, 0, copy) != MPI_SUCCESS, "a negative count is accepted");
    check_that(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_OP_NULL, copy) != MPI_SUCCESS, "no operator is accepted");
    check_that(MPI_Allreduce(&number, &sum, 1, MPI_FLOAT, MPI_BAND, copy) != MPI_SUCCESS, "BAND of floats is accepted");
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, copy);
    check_that(sum == world_size * (world_size - 1) / 2, "sum %d", sum);
    MPI_Comm_free(&copy);
}

const struct report comm_reports[] = {
    {"alone", alone, false},
    {"pending duplicates", pending_duplicates, false},
    {"consensus", consensus, false},
    {"communicator per pair", communicator_per_pair, false},
    {"freed early", freed_early, false},
    {"neighbours", neighbours, false},
    {"errors returned", errors_returned, false},
    {NULL, NULL, false},
};
