/* Counts memory allocations made by the component (heap.h): none is allowed once a call has been made a few times. */
#include <stdio.h>
#include <stdlib.h>

#include "heap.h"
#include "operations.h"

#define WARM_UP_CALLS 5
#define COUNTED_CALLS 100

static int rank, size;
static char *send_area, *receive_area;
static MPI_Datatype gapped;

static void call_one(int which, int count, MPI_Comm comm)
{
    static int ones[MAX_RANKS], places[MAX_RANKS];
    for (int i = 0; i < size; i++) {
        ones[i] = count;
        places[i] = i * count;
    }
    switch (which) {
    case 0: MPI_Allgather(send_area, count, MPI_INT, receive_area, count, MPI_INT, comm); break;
    case 1: MPI_Allgatherv(send_area, count, MPI_INT, receive_area, ones, places, MPI_INT, comm); break;
    case 2: MPI_Allreduce(send_area, receive_area, count, MPI_INT, MPI_SUM, comm); break;
    case 3: MPI_Alltoall(send_area, count, MPI_INT, receive_area, count, MPI_INT, comm); break;
    case 4: MPI_Alltoallv(send_area, ones, places, MPI_INT, receive_area, ones, places, MPI_INT, comm); break;
    case 5: MPI_Barrier(comm); break;
    case 6: MPI_Bcast(receive_area, count, MPI_INT, 1, comm); break;
    case 7: MPI_Gather(send_area, count, MPI_INT, receive_area, count, MPI_INT, 1, comm); break;
    case 8: MPI_Reduce(send_area, receive_area, count, MPI_INT, MPI_SUM, 1, comm); break;
    case 9: MPI_Reduce_scatter(send_area, receive_area, ones, MPI_INT, MPI_SUM, comm); break;
    case 10: MPI_Reduce_scatter_block(send_area, receive_area, count, MPI_INT, MPI_SUM, comm); break;
    case 11: MPI_Scatter(send_area, count, MPI_INT, receive_area, count, MPI_INT, 1, comm); break;
    case 12: MPI_Allreduce(MPI_IN_PLACE, receive_area, count, MPI_INT, MPI_SUM, comm); break;
    case 13: MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, receive_area, count, MPI_INT, comm); break;
    case 14: MPI_Allgather(send_area, count, gapped, receive_area, count, gapped, comm); break;
    case 15: MPI_Bcast(receive_area, count, gapped, 0, comm); break;
    default: MPI_Reduce_scatter_block(MPI_IN_PLACE, receive_area, count, MPI_INT, MPI_SUM, comm);
    }
}

static const char *const names[] = {
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather", "reduce",
    "reduce_scatter", "reduce_scatter_block", "scatter", "allreduce in place", "alltoall in place",
    "allgather, gaps", "bcast, gaps", "reduce_scatter_block in place",
};

static void count_calls(int which, int count, MPI_Comm comm)
{
    check_case("%s, %d ints", names[which], count);
    for (int i = 0; i < WARM_UP_CALLS; i++) {
        call_one(which, count, comm);
    }
    heap.own = heap.all = 0;
    for (int i = 0; i < COUNTED_CALLS; i++) {
        heap.watched = true;
        call_one(which, count, comm);
        heap.watched = false;
    }
    if (!check_that(heap.own == 0, "%ld allocations in %d calls", heap.own, COUNTED_CALLS) && rank == 0) {
        heap_print_first();
    }
    if (rank == 0 && heap.all > 0) {
        printf("%s, %d ints: %ld allocations by Open MPI in %d calls\n", names[which], count, heap.all,
               COUNTED_CALLS);
    }
}

/* Non-blocking calls, or starts of a persistent one. */
static void count_form(enum kind kind, int count, bool has_gaps, enum form form)
{
    struct operation operation;
    check_case("%s %s of %d elements", form == PERSISTENT ? "persistent" : "non-blocking", kind_names[kind], count);
    operation_make(&operation, kind, MPI_COMM_WORLD, 0, count, has_gaps);
    if (form == PERSISTENT) {
        operation_call(&operation, PERSISTENT);
    }
    heap.own = heap.all = 0;
    for (int i = 0; i < WARM_UP_CALLS + COUNTED_CALLS; i++) {
        heap.watched = i >= WARM_UP_CALLS;
        if (form == PERSISTENT) {
            MPI_Start(&operation.request);
        } else {
            operation_call(&operation, form);
        }
        MPI_Wait(&operation.request, MPI_STATUS_IGNORE);
        heap.watched = false;
    }
    if (!check_that(heap.own == 0, "%ld allocations in %d runs", heap.own, COUNTED_CALLS) && rank == 0) {
        heap_print_first();
    }
    if (form == PERSISTENT) {
        MPI_Request_free(&operation.request);
    }
    operation_free(&operation);
}

/* A communicator that is not used costs its module and nothing else. */
static void count_unused(void)
{
    check_case("communicators that are not used");
    heap.own = heap.all = 0;
    heap.watched = true;
    for (int i = 0; i < COUNTED_CALLS; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    }
    heap.watched = false;
    check_that(heap.own <= COUNTED_CALLS, "%ld allocations for %d communicators", heap.own,
               COUNTED_CALLS);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 500, 40000};
    MPI_Comm dup;
    check_init(&argc, &argv, "allocations");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_that(heap_prepare(), "mca_coll_pccl is not loaded");
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Type_vector(1, 1, 2, MPI_INT, &gapped);
    MPI_Type_commit(&gapped);
    send_area = calloc((size_t)size * 40000, 2 * sizeof(int));
    receive_area = calloc((size_t)size * 40000, 2 * sizeof(int));
    for (int which = 0; which < (int)(sizeof(names) / sizeof(*names)); which++) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
            count_calls(which, counts[i], MPI_COMM_WORLD);
        }
        count_calls(which, counts[0], dup);
    }
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        for (enum form form = NONBLOCKING; form <= PERSISTENT; form++) {
            count_form((enum kind)kind, 1, false, form);
            count_form((enum kind)kind, 3000, kind % 2, form);
        }
    }
    count_unused();
    free(send_area);
    free(receive_area);
    MPI_Type_free(&gapped);
    MPI_Comm_free(&dup);
    return check_finalize();
}
