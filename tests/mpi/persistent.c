/* Persistent collectives: started many times, in any order, with other ones under way; inactive requests; objects freed
 * after the request has been made. */
#include <stdlib.h>

#include "operations.h"

static int rank, size;

/* The same request again and again, with other data each time. */
static void test_repeated(enum kind kind, int count, bool gapped, int starts)
{
    struct operation operation;
    check_case("%s of %d elements%s, started %d times", kind_names[kind], count, gapped ? " with gaps" : "", starts);
    operation_make(&operation, kind, MPI_COMM_WORLD, size - 1, count, gapped);
    operation_call(&operation, PERSISTENT);
    for (int i = 0; i < starts; i++) {
        operation_fill(&operation, i);
        MPI_Start(&operation.request);
        if (i % 3 == 0) {
            int done = 0;
            while (!done) {
                MPI_Test(&operation.request, &done, MPI_STATUS_IGNORE);
            }
        } else {
            MPI_Wait(&operation.request, MPI_STATUS_IGNORE);
        }
        operation_check(&operation);
    }
    check_that(operation.request != MPI_REQUEST_NULL, "the request is gone");
    MPI_Request_free(&operation.request);
    check_that(operation.request == MPI_REQUEST_NULL, "the request is not null");
    operation_free(&operation);
}

/* Waiting for, testing, and freeing what is not active. */
static void test_inactive(int count)
{
    struct operation operation;
    MPI_Status status;
    int done = 0, index = 0, elements = -1;
    check_case("an inactive request of %d elements", count);
    operation_make(&operation, ALLREDUCE, MPI_COMM_WORLD, 0, count, false);
    operation_call(&operation, PERSISTENT);
    for (int i = 0; i < 2; i++) {
        MPI_Wait(&operation.request, &status);
        MPI_Get_count(&status, MPI_INT, &elements);
        check_that(elements == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE, "the status is not empty");
        MPI_Test(&operation.request, &done, MPI_STATUS_IGNORE);
        check_that(done, "not done");
        MPI_Waitany(1, &operation.request, &index, MPI_STATUS_IGNORE);
        check_that(index == MPI_UNDEFINED, "index %d", index);
        operation_fill(&operation, i);
        MPI_Start(&operation.request);
        MPI_Waitall(1, &operation.request, MPI_STATUSES_IGNORE);
        operation_check(&operation);
    }
    MPI_Request_free(&operation.request);
    operation_call(&operation, PERSISTENT);
    MPI_Request_free(&operation.request); /* never started */
    operation_free(&operation);
}

/* All kinds at once by MPI_Startall, then each rank starts them in an order of its own, with blocking and non-blocking
 * calls between them. */
static void test_together(int rounds)
{
    struct operation operations[NUM_KINDS], between;
    MPI_Request requests[NUM_KINDS];
    struct random own = {(uint64_t)rank + 1};
    int order[NUM_KINDS];
    check_case("all kinds at once, %d times", rounds);
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        operation_make(&operations[kind], (enum kind)kind, MPI_COMM_WORLD, kind % size, 1 + 300 * (kind % 3), kind % 2);
        operation_call(&operations[kind], PERSISTENT);
        requests[kind] = operations[kind].request;
        order[kind] = kind;
    }
    operation_make(&between, ALLREDUCE, MPI_COMM_WORLD, 0, 5, false);
    for (int round = 0; round < rounds; round++) {
        for (int kind = 0; kind < NUM_KINDS; kind++) {
            operation_fill(&operations[kind], round + kind);
        }
        operation_fill(&between, round);
        if (round % 2 == 0) {
            MPI_Startall(NUM_KINDS, requests);
            operation_call(&between, BLOCKING);
        } else {
            for (int i = NUM_KINDS - 1; i > 0; i--) {
                int other = (int)random_below(&own, (uint32_t)i + 1), kind = order[i];
                order[i] = order[other];
                order[other] = kind;
            }
            for (int i = 0; i < NUM_KINDS; i++) {
                MPI_Start(&requests[order[i]]);
            }
            operation_call(&between, NONBLOCKING);
            MPI_Wait(&between.request, MPI_STATUS_IGNORE);
        }
        MPI_Waitall(NUM_KINDS, requests, MPI_STATUSES_IGNORE);
        operation_check(&between);
        for (int kind = 0; kind < NUM_KINDS; kind++) {
            operation_check(&operations[kind]);
        }
    }
    operation_free(&between);
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        MPI_Request_free(&requests[kind]);
        operation_free(&operations[kind]);
    }
}

/* Communicator, datatype and operator are freed, and the arrays overwritten, before the first start. */
static void test_freed(enum kind kind, int count)
{
    struct operation operation;
    MPI_Comm comm;
    check_case("%s of %d elements, everything freed before it starts", kind_names[kind], count);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    operation_make(&operation, kind, comm, 0, count, true);
    operation_call(&operation, PERSISTENT);
    MPI_Comm_free(&comm);
    operation_free_objects(&operation);
    for (int i = 0; i < 3; i++) {
        operation_fill(&operation, i);
        operation_forget_arrays(&operation);
        MPI_Start(&operation.request);
        MPI_Wait(&operation.request, MPI_STATUS_IGNORE);
        operation_check(&operation);
    }
    MPI_Request_free(&operation.request);
    operation_free(&operation);
}

int main(int argc, char **argv)
{
    int starts;
    bool declined; /* the default serves the calls */
    check_init(&argc, &argv, "persistent");
    starts = argc > 1 ? atoi(argv[1]) : 1000;
    declined = argc > 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        test_repeated((enum kind)kind, 0, false, 3);
        test_repeated((enum kind)kind, 1, false, starts);
        test_repeated((enum kind)kind, 700, true, starts / 20);
        test_repeated((enum kind)kind, 20000, kind % 2, starts / 100);
        if (kind != ALLTOALLW || !declined) { /* nobody holds its datatypes in Open MPI 4.1 */
            test_freed((enum kind)kind, 3);
            test_freed((enum kind)kind, 4000);
        }
    }
    test_inactive(0);
    test_inactive(1);
    test_inactive(20000);
    test_together(20);
    return check_finalize();
}
