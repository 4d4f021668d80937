#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"

#define TAG 1
#define MAX_MESSAGES 256 /* of a stream, under way at once */

enum task { TASK_STOP, TASK_PING, TASK_STREAM };

/* What rank 0 tells all ranks before each measurement. */
struct order {
    enum task task;
    size_t bytes;
    int count, num_pairs;
    struct calibrate_pair pairs[CALIBRATE_MAX_PAIRS];
};

struct times {
    double send, whole; /* -1 on ranks that do not begin a pair */
};

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the values. */
static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (!memory) {
        fputs("pccl-calibrate: out of memory\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    return memory;
}

/* There and back, order->count times; the first, which may set up a connection, does not count. */
static double ping(const struct order *order, int peer, bool first, char *buffer)
{
    double *times = allocate((size_t)order->count * sizeof *times);
    int bytes = (int)order->bytes;
    for (int i = -1; i < order->count; i++) {
        double start = MPI_Wtime();
        if (first) {
            MPI_Send(buffer, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        }
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first) {
            MPI_Send(buffer, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        }
        if (i >= 0) {
            times[i] = (MPI_Wtime() - start) / 2;
        }
    }
    double middle = median(times, order->count);
    free(times);
    return middle;
}

/* The receiver has posted everything before it lets the sender begin, and answers when all is there. */
static struct times stream(const struct order *order, int peer, bool first, char *buffer)
{
    MPI_Request requests[MAX_MESSAGES];
    int bytes = (int)order->bytes, count = order->count;
    struct times times = {-1, -1};
    if (!first) {
        for (int i = 0; i < count; i++) {
            MPI_Irecv(buffer + (size_t)i * order->bytes, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        return times;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        MPI_Isend(buffer, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    times.send = MPI_Wtime() - start;
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times.whole = MPI_Wtime() - start;
    return times;
}

/* This rank's part in a measurement; gathered: [ranks], on rank 0. */
static void take_part(const struct order *order, struct times *gathered)
{
    int rank;
    struct times own = {-1, -1};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < order->num_pairs; i++) {
        bool first = order->pairs[i].first == rank;
        if (!first && order->pairs[i].second != rank) {
            continue;
        }
        int peer = first ? order->pairs[i].second : order->pairs[i].first;
        char *buffer = allocate(order->bytes * (order->task == TASK_STREAM ? (size_t)order->count : 1));
        if (order->task == TASK_PING) {
            double half = ping(order, peer, first, buffer);
            own.whole = first ? half : -1;
        } else {
            own = stream(order, peer, first, buffer);
        }
        free(buffer);
    }
    MPI_Gather(&own, 2, MPI_DOUBLE, gathered, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static struct order give_order(enum task task, const struct calibrate_probe *probe)
{
    struct order order = {.task = task};
    if (probe) {
        order.bytes = probe->bytes;
        order.count = probe->count < MAX_MESSAGES ? probe->count : MAX_MESSAGES;
        order.num_pairs = probe->num_pairs;
        for (int i = 0; i < probe->num_pairs; i++) {
            order.pairs[i] = probe->pairs[i];
        }
    }
    MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, MPI_COMM_WORLD);
    return order;
}

/* Rank 0's way through a measurement. Returns what each pair took, [num_pairs]; the caller frees it. */
static struct times *run(enum task task, const struct calibrate_probe *probe)
{
    int num_ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    struct times *gathered = allocate((size_t)num_ranks * sizeof *gathered);
    struct times *of_pairs = allocate((size_t)probe->num_pairs * sizeof *of_pairs);
    struct order order = give_order(task, probe);
    take_part(&order, gathered);
    for (int i = 0; i < probe->num_pairs; i++) {
        of_pairs[i] = gathered[probe->pairs[i].first];
    }
    free(gathered);
    return of_pairs;
}

double calibrate_ping(const struct calibrate_probe *probe)
{
    struct times *times = run(TASK_PING, probe);
    double values[CALIBRATE_MAX_PAIRS];
    for (int i = 0; i < probe->num_pairs; i++) {
        values[i] = times[i].whole;
    }
    free(times);
    return median(values, probe->num_pairs);
}

void calibrate_stream(const struct calibrate_probe *probe, double *send, double *gap, double *slowest)
{
    struct times *times = run(TASK_STREAM, probe);
    double sends[CALIBRATE_MAX_PAIRS], wholes[CALIBRATE_MAX_PAIRS];
    int count = probe->count < MAX_MESSAGES ? probe->count : MAX_MESSAGES;
    for (int i = 0; i < probe->num_pairs; i++) {
        sends[i] = times[i].send / count;
        wholes[i] = times[i].whole / count;
    }
    free(times);
    *send = median(sends, probe->num_pairs);
    *gap = median(wholes, probe->num_pairs);
    *slowest = wholes[probe->num_pairs - 1];
}

void calibrate_serve(void)
{
    struct order order = {.task = TASK_PING};
    while (order.task != TASK_STOP) {
        MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (order.task != TASK_STOP) {
            take_part(&order, NULL);
        }
    }
}

void calibrate_stop(void)
{
    give_order(TASK_STOP, NULL);
}
