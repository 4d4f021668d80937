/* Non-blocking collectives: many under way, in any order, mixed with blocking ones; communicators, datatypes and
 * operators freed meanwhile; progress from calls on something else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "operations.h"

#define NUM_OPERATIONS 60

static int rank, size;

/* Random operations, the same on all ranks, some of them empty, some of them large. */
static void make_random(struct operation *operation, struct random *random, MPI_Comm comm)
{
    static const int counts[] = {0, 1, 3, 40, 700, 9000};
    enum kind kind = (enum kind)random_below(random, NUM_KINDS);
    int count = counts[random_below(random, 6)];
    int root = (int)random_below(random, (uint32_t)size);
    operation_make(operation, kind, comm, root, count, random_below(random, 3) == 0);
    operation_fill(operation, (int)random_below(random, 100));
}

/* Completes what is under way: all at once, one by one from the end, any, or some. */
static void complete(MPI_Request *requests, int number, uint32_t how)
{
    int index, done = 0, flag, indices[NUM_OPERATIONS];
    switch (how) {
    case 0: MPI_Waitall(number, requests, MPI_STATUSES_IGNORE); break;
    case 1:
        for (int i = number - 1; i >= 0; i--) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
        break;
    case 2:
        for (int i = 0; i < number; i++) {
            MPI_Waitany(number, requests, &index, MPI_STATUS_IGNORE);
        }
        break;
    case 3:
        while (done != MPI_UNDEFINED) {
            MPI_Testsome(number, requests, &done, indices, MPI_STATUSES_IGNORE);
        }
        break;
    default:
        for (flag = 0; !flag;) {
            MPI_Testall(number, requests, &flag, MPI_STATUSES_IGNORE);
        }
    }
}

/* Non-blocking and blocking calls in a random order, finished in an order of this rank's own. */
static void test_mixed(uint64_t seed)
{
    struct operation *operations = calloc(NUM_OPERATIONS, sizeof *operations);
    MPI_Request requests[NUM_OPERATIONS];
    struct random random = {seed}, own = {seed + 1 + (uint64_t)rank};
    check_case("%d operations, seed %llu", NUM_OPERATIONS, (unsigned long long)seed);
    for (int i = 0; i < NUM_OPERATIONS; i++) {
        bool blocks = random_below(&random, 4) == 0;
        make_random(&operations[i], &random, MPI_COMM_WORLD);
        operation_call(&operations[i], blocks ? BLOCKING : NONBLOCKING);
        operation_forget_arrays(&operations[i]);
        requests[i] = operations[i].request;
        if (random_below(&own, 8) == 0) {
            int index, flag;
            MPI_Testany(i + 1, requests, &index, &flag, MPI_STATUS_IGNORE);
        }
    }
    complete(requests, NUM_OPERATIONS, random_below(&own, 5));
    for (int i = 0; i < NUM_OPERATIONS; i++) {
        check_that(requests[i] == MPI_REQUEST_NULL, "request %d is not null", i);
        operation_check(&operations[i]);
        operation_free(&operations[i]);
    }
    free(operations);
}

/* The communicator, the datatype and the operator are freed right after the call; the others come late on purpose. */
static void test_freed(enum kind kind, int count, int late)
{
    struct operation operation;
    MPI_Comm comm;
    check_case("%s of %d elements, everything freed while it is pending, rank %d late", kind_names[kind], count, late);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == late) {
        usleep(1000);
    }
    operation_make(&operation, kind, comm, size - 1, count, true);
    operation_fill(&operation, count);
    operation_call(&operation, NONBLOCKING);
    MPI_Comm_free(&comm);
    operation_free_objects(&operation);
    MPI_Wait(&operation.request, MPI_STATUS_IGNORE);
    operation_check(&operation);
    operation_free(&operation);
}

/* Many at once on communicators that are gone. */
static void test_all_freed(void)
{
    struct operation operations[NUM_KINDS];
    MPI_Comm comm;
    check_case("all collectives at once on communicators that are gone");
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, kind % 2 ? rank : -rank, &comm);
        operation_make(&operations[kind], (enum kind)kind, comm, 0, 20, kind % 2);
        operation_fill(&operations[kind], kind);
        operation_call(&operations[kind], NONBLOCKING);
        MPI_Comm_free(&comm);
        operation_free_objects(&operations[kind]);
    }
    for (int kind = NUM_KINDS - 1; kind >= 0; kind--) {
        MPI_Wait(&operations[kind].request, MPI_STATUS_IGNORE);
        operation_check(&operations[kind]);
        operation_free(&operations[kind]);
    }
}

/* An allreduce that ends while this rank only tests, or probes for, a message that is not sent before. */
static void test_progress(bool probes)
{
    int mine = rank + 1, sum = 0, word = 0, flag = 0;
    MPI_Request request, message;
    check_case("progress by %s", probes ? "probing" : "testing a message");
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Irecv(&word, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &message);
    while (sum != size * (size + 1) / 2) {
        if (probes) {
            MPI_Iprobe(rank, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        } else {
            MPI_Test(&message, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Send(&mine, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
    MPI_Wait(&message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_that(word == mine, "received %d", word);
}

/* The exchange with unknown senders: synchronous sends, receives as they come, a barrier that says that all are in. */
static void test_exchange(int rounds)
{
    long received = 0, total = 0;
    check_case("%d rounds of an exchange with unknown senders", rounds);
    for (int round = 0; round < rounds; round++) {
        MPI_Request sends[2], barrier = MPI_REQUEST_NULL;
        int words[2] = {rank, round}, done = 0, sent, there, word;
        bool in_barrier = false;
        for (int i = 0; i < 2; i++) {
            MPI_Issend(&words[i], 1, MPI_INT, (rank + round + i) % size, round % 100, MPI_COMM_WORLD, &sends[i]);
        }
        while (!done) {
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, round % 100, MPI_COMM_WORLD, &there, &status);
            if (there) {
                MPI_Recv(&word, 1, MPI_INT, status.MPI_SOURCE, round % 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                received++;
            }
            if (in_barrier) {
                MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
            } else {
                MPI_Testall(2, sends, &sent, MPI_STATUSES_IGNORE);
                if (sent) {
                    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
                    in_barrier = true;
                }
            }
        }
    }
    MPI_Allreduce(&received, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check_that(total == 2L * rounds * size, "%ld messages", total);
}

/* Duplicates made without waiting, with collectives under way on the communicator that is duplicated. */
static void test_duplicates(void)
{
    enum { NUMBER = 6 };
    MPI_Comm comms[NUMBER];
    MPI_Request requests[2 * NUMBER];
    int mine[NUMBER], sums[NUMBER];
    check_case("%d duplicates at once", NUMBER);
    for (int i = 0; i < NUMBER; i++) {
        mine[i] = rank + i;
        MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[2 * i]);
        MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * NUMBER, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < NUMBER; i++) {
        int total = 0;
        check_that(sums[i] == size * (size - 1) / 2 + i * size, "sum %d", sums[i]);
        MPI_Iallreduce(&mine[i], &total, 1, MPI_INT, MPI_SUM, comms[i], &requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        check_that(total == sums[i], "sum %d on the duplicate", total);
        MPI_Comm_free(&comms[i]);
    }
}

/* What the standard forbids is refused, and the request stays usable. */
static void test_refused(void)
{
    MPI_Request request, copy;
    MPI_Comm comm;
    MPI_Status status;
    int cancelled = 1;
    check_case("cancelling and freeing a request that is pending");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank == 0) { /* the others cannot finish before rank 0 has joined */
        MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Ibarrier(comm, &request);
    if (rank == 1) {
        copy = request;
        check_that(MPI_Cancel(&copy) != MPI_SUCCESS, "a collective was cancelled");
        copy = request;
        check_that(MPI_Request_free(&copy) != MPI_SUCCESS, "a pending collective was freed");
        MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    check_that(!cancelled, "it counts as cancelled");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int rounds;
    check_init(&argc, &argv, "nonblocking");
    rounds = argc > 1 ? atoi(argv[1]) : 12;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int seed = 1; seed <= rounds; seed++) {
        test_mixed((uint64_t)seed);
    }
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        test_freed((enum kind)kind, 1, kind % size);
        test_freed((enum kind)kind, 5000, (kind + 1) % size);
    }
    test_all_freed();
    test_progress(true);
    test_progress(false);
    test_exchange(rounds * 40);
    test_duplicates();
    test_refused();
    return check_finalize();
}
