/* MPI_THREAD_MULTIPLE: every thread uses its own communicator, all at once. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

#define NUM_THREADS 4
#define NUM_ROUNDS 100

struct worker {
    MPI_Comm comm;
    int rank, size, number;
    int wrong; /* failures, counted apart because check_that is not for several threads */
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    const int size = worker->size;
    int *block = malloc((size_t)size * 300 * sizeof(int)), mine[300];
    for (int round = 0; round < NUM_ROUNDS; round++) {
        int value = worker->rank + round + worker->number, sum, root = round % size, number = round;
        const int count = round % 10 == 0 ? 300 : 1;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, worker->comm);
        worker->wrong += sum != size * (size - 1) / 2 + size * (round + worker->number);
        number = worker->rank == root ? 1000 * worker->number + round : -1;
        MPI_Bcast(&number, 1, MPI_INT, root, worker->comm);
        worker->wrong += number != 1000 * worker->number + round;
        for (int i = 0; i < count; i++) {
            mine[i] = worker->rank * 1000 + i + worker->number;
        }
        MPI_Allgather(mine, count, MPI_INT, block, count, MPI_INT, worker->comm);
        for (int i = 0; i < size * count; i++) {
            worker->wrong += block[i] != i / count * 1000 + i % count + worker->number;
        }
        MPI_Barrier(worker->comm);
    }
    free(block);
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[NUM_THREADS];
    pthread_t threads[NUM_THREADS];
    int provided, status;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_start("threads");
    check_case("%d threads", NUM_THREADS);
    check_that(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE is not provided");
    for (int i = 0; i < NUM_THREADS; i++) {
        struct worker *worker = &workers[i];
        MPI_Comm_dup(MPI_COMM_WORLD, &worker->comm);
        MPI_Comm_rank(worker->comm, &worker->rank);
        MPI_Comm_size(worker->comm, &worker->size);
        worker->number = i;
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
