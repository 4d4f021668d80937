/* Counts memory allocations made by the component: none is allowed once a call has been made a few times. This program
 * replaces malloc and its kin; an allocation counts for the component if the first function above it that is not in the
 * C library lies in mca_coll_pccl.so (so strdup and the like count too). */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"

#define WARM_UP_CALLS 5
#define COUNTED_CALLS 100

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

struct range {
    uintptr_t low, high;
};

static struct range component, c_library;
static volatile bool counting;
static long own_allocations, all_allocations;
static void *first_stack[24];
static int first_depth;

static bool holds(const struct range *range, const void *address)
{
    return (uintptr_t)address >= range->low && (uintptr_t)address < range->high;
}

static void count_allocation(void)
{
    void *stack[24];
    int depth;
    if (!counting) {
        return;
    }
    counting = false; /* backtrace may allocate */
    all_allocations++;
    depth = backtrace(stack, 24);
    for (int i = 2; i < depth; i++) { /* 0 is this function, 1 the replacement */
        if (holds(&component, stack[i])) {
            if (own_allocations++ == 0) {
                memcpy(first_stack, stack, sizeof(stack));
                first_depth = depth;
            }
        }
        if (!holds(&c_library, stack[i])) {
            break;
        }
    }
    counting = true;
}

void *malloc(size_t bytes)
{
    count_allocation();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    count_allocation();
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    count_allocation();
    return __libc_realloc(memory, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    count_allocation();
    *memory = __libc_memalign(alignment, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    count_allocation();
    return __libc_memalign(alignment, bytes);
}

static int note_range(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    struct range *range = NULL;
    (void)info_bytes;
    (void)context;
    if (strstr(info->dlpi_name, "mca_coll_pccl") != NULL) {
        range = &component;
    } else if (strstr(info->dlpi_name, "libc.so") != NULL) {
        range = &c_library;
    }
    for (int i = 0; range != NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD) {
            uintptr_t low = info->dlpi_addr + header->p_vaddr, high = low + header->p_memsz;
            range->low = range->low == 0 || low < range->low ? low : range->low;
            range->high = high > range->high ? high : range->high;
        }
    }
    return 0;
}

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
    own_allocations = all_allocations = 0;
    for (int i = 0; i < COUNTED_CALLS; i++) {
        counting = true;
        call_one(which, count, comm);
        counting = false;
    }
    if (!check_that(own_allocations == 0, "%ld allocations in %d calls", own_allocations, COUNTED_CALLS) && rank == 0) {
        backtrace_symbols_fd(first_stack, first_depth, 2);
    }
    if (rank == 0 && all_allocations > 0) {
        printf("%s, %d ints: %ld allocations by Open MPI in %d calls\n", names[which], count, all_allocations,
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
    own_allocations = all_allocations = 0;
    for (int i = 0; i < WARM_UP_CALLS + COUNTED_CALLS; i++) {
        counting = i >= WARM_UP_CALLS;
        if (form == PERSISTENT) {
            MPI_Start(&operation.request);
        } else {
            operation_call(&operation, form);
        }
        MPI_Wait(&operation.request, MPI_STATUS_IGNORE);
        counting = false;
    }
    if (!check_that(own_allocations == 0, "%ld allocations in %d runs", own_allocations, COUNTED_CALLS) && rank == 0) {
        backtrace_symbols_fd(first_stack, first_depth, 2);
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
    own_allocations = all_allocations = 0;
    counting = true;
    for (int i = 0; i < COUNTED_CALLS; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    }
    counting = false;
    check_that(own_allocations <= COUNTED_CALLS, "%ld allocations for %d communicators", own_allocations,
               COUNTED_CALLS);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 500, 40000};
    MPI_Comm dup;
    void *stack[2];
    check_init(&argc, &argv, "allocations");
    backtrace(stack, 2); /* loads what it needs now */
    dl_iterate_phdr(note_range, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_that(component.high != 0, "mca_coll_pccl is not loaded");
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
