/* Ranks that only send are held back when the one that receives is late: the messages that wait for it stay few.
 * Argument: how many calls a rank may run ahead of its neighbour, of blocking ones only; without: 128, in all forms. */
#include <stdlib.h>
#include <time.h>

#include "operations.h"

#define NUM_CALLS 5000
#define LATE_SECONDS 0.2

static int rank, size, may_be_ahead = 128;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run(struct operation *operation, enum form form)
{
    if (form == PERSISTENT) {
        MPI_Start(&operation->request);
    } else {
        operation_call(operation, form);
    }
    if (form != BLOCKING) {
        MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
    }
}

/* Before its first call, rank `late` does other things in MPI, which takes in what comes for it. How many calls have the
 * others made meanwhile? */
static void test_late(enum kind kind, enum form form, int late)
{
    static const char *const names[] = {"blocking", "non-blocking", "persistent"};
    struct operation operation;
    int ahead = 0, there;
    double start;
    check_case("%s %s, rank %d is late", names[form], kind_names[kind], late);
    operation_make(&operation, kind, MPI_COMM_WORLD, 0, 2, false);
    operation_fill(&operation, 1);
    if (form == PERSISTENT) {
        operation_call(&operation, PERSISTENT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = now();
    while (rank == late && now() - start < LATE_SECONDS) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < NUM_CALLS; i++) {
        run(&operation, form);
        ahead += rank != late && now() - start < LATE_SECONDS * 0.9;
    }
    check_that(ahead <= may_be_ahead * size, "%d calls made while a rank was away", ahead);
    operation_check(&operation);
    if (form == PERSISTENT) {
        MPI_Request_free(&operation.request);
    }
    operation_free(&operation);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, "flow");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    may_be_ahead = argc > 1 ? atoi(argv[1]) : may_be_ahead;
    for (enum form form = BLOCKING; form <= (argc > 1 ? BLOCKING : PERSISTENT); form++) {
        test_late(BCAST, form, size - 1);
        test_late(REDUCE, form, 0);
        test_late(SCATTERV, form, size - 1);
        test_late(SCAN, form, size - 1);
    }
    return check_finalize();
}
