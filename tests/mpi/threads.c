/* MPI_THREAD_MULTIPLE: every thread uses its own communicator, all at once, in all three forms.
 * threads [ROUNDS]: default 100. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define ALLREDUCE_INIT MPIX_Allreduce_init
#else
#define ALLREDUCE_INIT MPI_Allreduce_init
#endif

#define NUM_THREADS 4
#define NUM_PENDING 8

struct worker {
    MPI_Comm comm;
    int rank, size, number, rounds;
    int wrong; /* failures, counted apart because check_that is not for several threads */
};

static int sum_of(const struct worker *worker, int offset)
{
    return worker->size * (worker->size - 1) / 2 + worker->size * (offset + worker->number);
}

static void work_blocking(struct worker *worker, int round)
{
    const int count = round % 10 == 0 ? 300 : 1;
    int *block = malloc((size_t)worker->size * (size_t)count * sizeof(int)), mine[300];
    int value = worker->rank + round + worker->number, sum = 0, root = round % worker->size, number = -1;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, worker->comm);
    worker->wrong += sum != sum_of(worker, round);
    if (worker->rank == root) {
        number = 1000 * worker->number + round;
    }
    MPI_Bcast(&number, 1, MPI_INT, root, worker->comm);
    worker->wrong += number != 1000 * worker->number + round;
    for (int i = 0; i < count; i++) {
        mine[i] = worker->rank * 1000 + i + worker->number;
    }
    MPI_Allgather(mine, count, MPI_INT, block, count, MPI_INT, worker->comm);
    for (int i = 0; i < worker->size * count; i++) {
        worker->wrong += block[i] != i / count * 1000 + i % count + worker->number;
    }
    MPI_Barrier(worker->comm);
    free(block);
}

/* Some operations at once, completed one by one or together; every other one is large. */
static void work_nonblocking(struct worker *worker, int round)
{
    MPI_Request requests[NUM_PENDING];
    int *values[NUM_PENDING], *sums[NUM_PENDING];
    for (int i = 0; i < NUM_PENDING; i++) {
        const int count = i % 2 ? 3000 : 2;
        values[i] = malloc((size_t)count * sizeof(int));
        sums[i] = malloc((size_t)count * sizeof(int));
        for (int j = 0; j < count; j++) {
            values[i][j] = worker->rank + round + i + worker->number;
        }
        if (i % 4 == 3) {
            MPI_Ibarrier(worker->comm, &requests[i]);
        } else {
            MPI_Iallreduce(values[i], sums[i], count, MPI_INT, MPI_SUM, worker->comm, &requests[i]);
        }
    }
    if (round % 2) {
        MPI_Waitall(NUM_PENDING, requests, MPI_STATUSES_IGNORE);
    } else {
        for (int i = NUM_PENDING - 1; i >= 0; i--) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < NUM_PENDING; i++) {
        const int count = i % 2 ? 3000 : 2;
        for (int j = 0; j < count && i % 4 != 3; j++) {
            worker->wrong += sums[i][j] != sum_of(worker, round + i);
        }
        free(values[i]);
        free(sums[i]);
    }
}

static void work_persistent(struct worker *worker, int round)
{
    int value = 0, sum = 0;
    MPI_Request request;
    ALLREDUCE_INIT(&value, &sum, 1, MPI_INT, MPI_SUM, worker->comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 5; i++) {
        value = worker->rank + round + i + worker->number;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        worker->wrong += sum != sum_of(worker, round + i);
    }
    MPI_Request_free(&request);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 0; round < worker->rounds; round++) {
        work_blocking(worker, round);
        work_nonblocking(worker, round);
        work_persistent(worker, round);
    }
    return NULL;
}

/* Keeps a plug-in of Open MPI loaded: ThreadSanitizer ends the program when one is unloaded whose calls it has been told
 * to leave alone. */
static int pin(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    (void)info_bytes;
    (void)context;
    dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
}

int main(int argc, char **argv)
{
    struct worker workers[NUM_THREADS];
    pthread_t threads[NUM_THREADS];
    int provided, status;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    dl_iterate_phdr(pin, NULL);
    check_start("threads");
    check_case("%d threads", NUM_THREADS);
    check_that(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE is not provided");
    for (int i = 0; i < NUM_THREADS; i++) {
        struct worker *worker = &workers[i];
        MPI_Comm_dup(MPI_COMM_WORLD, &worker->comm);
        MPI_Comm_rank(worker->comm, &worker->rank);
        MPI_Comm_size(worker->comm, &worker->size);
        worker->number = i;
        worker->rounds = argc > 1 ? atoi(argv[1]) : 100;
        worker->wrong = 0;
    }
    for (int i = 0; i < NUM_THREADS; i++) {
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < NUM_THREADS; i++) {
        pthread_join(threads[i], NULL);
        check_that(workers[i].wrong == 0, "thread %d: %d wrong values", i, workers[i].wrong);
        MPI_Comm_free(&workers[i].comm);
    }
    status = check_finalize();
    return status;
}
