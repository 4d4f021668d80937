/* What ranks do to measure: rank 0 gives the orders, all carry them out. */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"

#define TAG 1
#define MAX_MESSAGES 64 /* of a burst or stream, under way at once */
#define BURSTS 9
#define BATCHES 5 /* of exchanges */

enum task { TASK_STOP, TASK_EXCHANGE, TASK_BURST, TASK_STREAM };

/* What rank 0 tells all ranks before each measurement. */
struct order {
    enum task task;
    size_t bytes;
    int count, num_pairs;
    bool spread;
    struct calibrate_pair pairs[CALIBRATE_MAX_PAIRS];
};

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A busy machine only ever makes times longer, so low ones tell most; of the
 * two lowest the second, lest a single odd one decides. Sorts the times, of
 * which there are several. */
static double low(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare_doubles);
    return times[1];
}

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare_doubles);
    return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
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

/* The partners send to each other at once, as neighbours in a collective do;
 * order->count times. One may be a message ahead of the other, so only the mean
 * of several times tells something. The first, which may set up a connection,
 * does not count. */
static double exchange(const struct order *order, int partner)
{
    int bytes = (int)order->bytes, in_batch = order->count / BATCHES;
    char *buffers = allocate(2 * order->bytes);
    double times[BATCHES], start = 0;
    for (int i = -1; i < in_batch * BATCHES; i++) {
        if (i >= 0 && i % in_batch == 0) {
            start = MPI_Wtime();
        }
        MPI_Sendrecv(buffers, bytes, MPI_BYTE, partner, TAG, buffers + bytes, bytes, MPI_BYTE, partner, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i >= 0) {
            times[i / in_batch] = (MPI_Wtime() - start) / (i % in_batch + 1);
        }
    }
    free(buffers);
    return low(times, BATCHES);
}

static int member(const struct order *order, int index)
{
    return index % 2 == 0 ? order->pairs[index / 2].first : order->pairs[index / 2].second;
}

/* Everybody sends order->count messages at once, to the partner or to as many
 * others as there are, and gets as many. All ranks call it: bursts begin
 * together. index: of this rank among the members of pairs, -1 if it is none.
 */
static double burst(const struct order *order, int index)
{
    char sent = 0, received[MAX_MESSAGES];
    MPI_Request requests[2 * MAX_MESSAGES];
    double times[BURSTS];
    int num_members = 2 * order->num_pairs;
    for (int i = -1; i < BURSTS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int j = 0; j < order->count && index >= 0; j++) {
            int distance = order->spread ? 1 + j % (num_members - 1) : 0;
            int from = order->spread ? (index + num_members - distance) % num_members : index ^ 1;
            MPI_Irecv(&received[j], 1, MPI_BYTE, member(order, from), TAG, MPI_COMM_WORLD, &requests[j]);
        }
        for (int j = 0; j < order->count && index >= 0; j++) {
            int distance = order->spread ? 1 + j % (num_members - 1) : 0;
            int to = order->spread ? (index + distance) % num_members : index ^ 1;
            MPI_Isend(&sent, 1, MPI_BYTE, member(order, to), TAG, MPI_COMM_WORLD, &requests[order->count + j]);
        }
        if (index >= 0) {
            MPI_Waitall(2 * order->count, requests, MPI_STATUSES_IGNORE);
        }
        times[i > 0 ? i : 0] = MPI_Wtime() - start;
    }
    return low(times, BURSTS);
}

/* One way: the receiver has posted everything before it lets the sender begin,
 * and answers when all is there. */
static double stream(const struct order *order, int partner, bool sends)
{
    MPI_Request requests[MAX_MESSAGES];
    int bytes = (int)order->bytes;
    char *buffers = allocate(order->bytes * (size_t)order->count);
    double start = MPI_Wtime();
    for (int i = 0; i < order->count && !sends; i++) {
        MPI_Irecv(buffers + (size_t)i * order->bytes, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    if (sends) {
        MPI_Recv(NULL, 0, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, partner, TAG, MPI_COMM_WORLD);
    }
    for (int i = 0; i < order->count && sends; i++) {
        MPI_Isend(buffers, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(order->count, requests, MPI_STATUSES_IGNORE);
    if (sends) {
        MPI_Recv(NULL, 0, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, partner, TAG, MPI_COMM_WORLD);
    }
    free(buffers);
    return sends ? MPI_Wtime() - start : -1;
}

/* This rank's part in a measurement; gathered: [ranks], on rank 0. */
static void take_part(const struct order *order, double *gathered)
{
    int rank, index = -1;
    double own = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2 * order->num_pairs; i++) {
        index = member(order, i) == rank ? i : index;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (order->task == TASK_BURST) {
        own = burst(order, index);
    } else if (index >= 0) {
        int partner = member(order, index ^ 1);
        own = order->task == TASK_EXCHANGE ? exchange(order, partner) : stream(order, partner, index % 2 == 0);
    }
    MPI_Gather(&own, 1, MPI_DOUBLE, gathered, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static struct order give_order(enum task task, const struct calibrate_probe *probe)
{
    struct order order = {.task = task};
    if (probe) {
        order.bytes = probe->bytes;
        order.count = probe->count;
        order.spread = probe->spread;
        order.num_pairs = probe->num_pairs;
        for (int i = 0; i < probe->num_pairs; i++) {
            order.pairs[i] = probe->pairs[i];
        }
    }
    MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, MPI_COMM_WORLD);
    return order;
}

/* Rank 0's way through a measurement. times: [num_pairs], what the first of
 * each pair took. */
static void run(enum task task, const struct calibrate_probe *probe, double *times)
{
    int num_ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    double *gathered = allocate((size_t)num_ranks * sizeof *gathered);
    struct order order = give_order(task, probe);
    take_part(&order, gathered);
    for (int i = 0; i < probe->num_pairs; i++) {
        times[i] = gathered[probe->pairs[i].first];
    }
    free(gathered);
}

double calibrate_exchange(const struct calibrate_probe *probe)
{
    double times[CALIBRATE_MAX_PAIRS];
    run(TASK_EXCHANGE, probe, times);
    return median(times, probe->num_pairs);
}

double calibrate_burst(const struct calibrate_probe *probe)
{
    double times[CALIBRATE_MAX_PAIRS];
    run(TASK_BURST, probe, times);
    return median(times, probe->num_pairs);
}

double calibrate_stream(const struct calibrate_probe *probe)
{
    double times[CALIBRATE_MAX_PAIRS];
    run(TASK_STREAM, probe, times);
    median(times, probe->num_pairs);
    return times[probe->num_pairs - 1];
}

void calibrate_serve(void)
{
    struct order order = {.task = TASK_BURST};
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
