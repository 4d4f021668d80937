/* Time against correctness: calls back to back while ranks are late in turn, floods of small broadcasts, two groups in
 * turns, barriers that must hold, and user messages and other collectives pending all the while. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void be_late_in_turn(int round, int every)
{
    if (round % every == 0 && round / every % size == rank) {
        usleep(1000);
    }
}

static void test_flood(void)
{
    int number;
    for (int i = 0; i < 4000; i++) {
        int root = (int)(random_mix(1, (uint64_t)i) % (uint64_t)size);
        check_case("flood of broadcasts, number %d from %d", i, root);
        number = rank == root ? i : -1;
        be_late_in_turn(i, 50);
        MPI_Bcast(&number, 1, MPI_INT, root, MPI_COMM_WORLD);
        check_that(number == i, "got %d", number);
    }
    for (int i = 0; i < 4000; i++) { /* all from one root: it may run far ahead of the slow ones */
        check_case("flood of broadcasts from 0, number %d", i);
        number = rank == 0 ? i : -1;
        if (rank == size - 1 && i % 100 == 0) {
            usleep(1000);
        }
        MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
        check_that(number == i, "got %d", number);
    }
}

static void one_of_each(MPI_Comm comm, int round, int members)
{
    int numbers[MAX_RANKS], others[MAX_RANKS], mine, sum = 0, me, root = round % members;
    MPI_Comm_rank(comm, &me);
    mine = me + round;
    MPI_Allgather(&mine, 1, MPI_INT, numbers, 1, MPI_INT, comm);
    for (int i = 0; i < members; i++) {
        check_that(numbers[i] == i + round, "allgather: block %d is %d", i, numbers[i]);
        numbers[i] = me * 100 + i;
    }
    MPI_Alltoall(numbers, 1, MPI_INT, others, 1, MPI_INT, comm);
    for (int i = 0; i < members; i++) {
        check_that(others[i] == i * 100 + me, "alltoall: block %d is %d", i, others[i]);
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    check_that(sum == members * (members - 1) / 2 + members * round, "allreduce: %d", sum);
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_MAX, root, comm);
    check_that(me != root || sum == members - 1 + round, "reduce: %d", sum);
    MPI_Scatter(others, 1, MPI_INT, &mine, 1, MPI_INT, root, comm);
    check_that(mine == me * 100 + root, "scatter: %d", mine);
    MPI_Gather(&mine, 1, MPI_INT, numbers, 1, MPI_INT, root, comm);
    for (int i = 0; me == root && i < members; i++) {
        check_that(numbers[i] == i * 100 + root, "gather: block %d is %d", i, numbers[i]);
    }
    for (int i = 0; i < members; i++) {
        numbers[i] = i;
    }
    MPI_Reduce_scatter_block(numbers, &mine, 1, MPI_INT, MPI_SUM, comm);
    check_that(mine == me * members, "reduce_scatter_block: %d", mine);
}

static void test_back_to_back(void)
{
    for (int i = 0; i < 150; i++) {
        check_case("back to back, round %d", i);
        be_late_in_turn(i, 3);
        one_of_each(MPI_COMM_WORLD, i, size);
    }
}

/* Rows and columns of a grid in turns: neighbours are in different rows, so no order holds over the whole world. */
static void test_two_groups(void)
{
    int extents[2] = {0, 0}, periods[2] = {0, 0}, members[2];
    MPI_Comm grid, row, column, parts[2];
    MPI_Dims_create(size, 2, extents);
    MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &grid);
    MPI_Cart_sub(grid, (int[]){0, 1}, &row);
    MPI_Cart_sub(grid, (int[]){1, 0}, &column);
    parts[0] = row;
    parts[1] = column;
    for (int i = 0; i < 2; i++) {
        MPI_Comm_size(parts[i], &members[i]);
    }
    for (int i = 0; i < 150; i++) {
        check_case("rows and columns, round %d", i);
        be_late_in_turn(i, 3);
        one_of_each(parts[i % 2], i, members[i % 2]);
        one_of_each(parts[1 - i % 2], i, members[1 - i % 2]);
    }
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Comm_free(&grid);
}

/* No rank leaves a barrier before the last has entered: all clocks are one. */
static void test_barrier(void)
{
    enum { ROUNDS = 200 };
    double times[2][ROUNDS], *all = malloc(sizeof(times) * (size_t)size);
    for (int i = 0; i < ROUNDS; i++) {
        check_case("barrier, round %d", i);
        be_late_in_turn(i, 2);
        times[0][i] = now();
        MPI_Barrier(MPI_COMM_WORLD);
        times[1][i] = now();
    }
    if (rank != 0) {
        MPI_Send(times, 2 * ROUNDS, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
        free(all);
        return;
    }
    memcpy(all, times, sizeof(times));
    for (int peer = 1; peer < size; peer++) {
        MPI_Recv(all + 2 * ROUNDS * peer, 2 * ROUNDS, MPI_DOUBLE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < ROUNDS; i++) {
        double last_in = 0, first_out = 1e300;
        for (int peer = 0; peer < size; peer++) {
            double in = all[2 * ROUNDS * peer + i], out = all[2 * ROUNDS * peer + ROUNDS + i];
            last_in = in > last_in ? in : last_in;
            first_out = out < first_out ? out : first_out;
        }
        check_case("barrier, round %d of %d", i, ROUNDS);
        check_that(first_out >= last_in, "a rank left %g us before the last entered", 1e6 * (last_in - first_out));
    }
    free(all);
}

/* A receive from anyone with any tag must not catch a collective's message. */
static void test_pending_receive(void)
{
    int number = -1, round;
    MPI_Request request;
    MPI_Status status;
    for (round = 0; round < 50; round++) {
        check_case("collectives under a pending receive, round %d", round);
        MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        one_of_each(MPI_COMM_WORLD, round, size);
        MPI_Send(&round, 1, MPI_INT, (rank + 1) % size, 12345, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        check_that(number == round && status.MPI_TAG == 12345, "got %d with tag %d", number, status.MPI_TAG);
    }
}

/* Non-blocking collectives belong to another component: they stay pending while pccl's run on the same communicator. */
static void test_pending_collectives(void)
{
    for (int round = 0; round < 50; round++) {
        int mine = rank, sum = -1, number = rank == 0 ? round : -1, all[MAX_RANKS];
        MPI_Request requests[4];
        check_case("collectives while others are pending, round %d", round);
        be_late_in_turn(round, 2);
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        one_of_each(MPI_COMM_WORLD, round, size);
        MPI_Ibcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);
        one_of_each(MPI_COMM_WORLD, round, size);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        check_that(sum == size * (size - 1) / 2 && number == round, "sum %d, number %d", sum, number);
        for (int i = 0; i < size; i++) {
            check_that(all[i] == i, "block %d of iallgather is %d", i, all[i]);
        }
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, "stress");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    test_flood();
    test_back_to_back();
    test_two_groups();
    test_barrier();
    test_pending_receive();
    test_pending_collectives();
    return check_finalize();
}
