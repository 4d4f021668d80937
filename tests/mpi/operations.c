#include "operations.h"

#include <stdlib.h>
#include <string.h>

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(Name) MPIX_##Name##_init
#else
#define INIT(Name) MPI_##Name##_init
#endif

#define GAP (-77) /* in every int that nobody may write */

const char *const kind_names[NUM_KINDS] = {EACH_KIND(KIND_NAME)};

/* Element `index` of block `block` of what rank `rank` sends. */
static int value(const struct operation *operation, int rank, int block, int index)
{
    return operation->seed * 131 + rank * 1000 + block * 50 + index % 41;
}

/* The sum of the above over the ranks before `end`. */
static int sum_before(const struct operation *operation, int end, int block, int index)
{
    int sum = 0;
    for (int rank = 0; rank < end; rank++) {
        sum += value(operation, rank, block, index);
    }
    return sum;
}

/* A sum for elements with a gap. */
static void add_gapped(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const int *from = in;
    int *to = inout;
    (void)type;
    for (int i = 0; i < *length; i++) {
        to[2 * i] += from[2 * i];
    }
}

void operation_make(struct operation *operation, enum kind kind, MPI_Comm comm, int root, int count, bool gapped)
{
    memset(operation, 0, sizeof *operation);
    operation->kind = kind;
    operation->comm = comm;
    operation->count = count;
    operation->root = root;
    operation->gapped = gapped;
    operation->type = MPI_INT;
    operation->op = MPI_SUM;
    operation->stride = gapped ? 2 : 1;
    operation->request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &operation->rank);
    MPI_Comm_size(comm, &operation->size);
    if (gapped) {
        MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &operation->type);
        MPI_Type_commit(&operation->type);
        MPI_Op_create(add_gapped, 1, &operation->op);
    }
    size_t ints = (size_t)operation->size * (size_t)count * (size_t)operation->stride + 1;
    operation->send = malloc(ints * sizeof(int));
    operation->receive = malloc(ints * sizeof(int));
    operation_fill(operation, 0);
}

static int *element(const struct operation *operation, int *buffer, int block, int index)
{
    return buffer + ((size_t)block * (size_t)operation->count + (size_t)index) * (size_t)operation->stride;
}

void operation_fill(struct operation *operation, int seed)
{
    size_t ints = (size_t)operation->size * (size_t)operation->count * (size_t)operation->stride + 1;
    operation->seed = seed;
    for (size_t i = 0; i < ints; i++) {
        operation->send[i] = operation->receive[i] = GAP;
    }
    for (int block = 0; block < operation->size; block++) {
        operation->counts[block] = operation->count;
        operation->displs[block] = block * operation->count;
        operation->byte_displs[block] = block * operation->count * operation->stride * (int)sizeof(int);
        operation->types[block] = operation->type;
        for (int i = 0; i < operation->count; i++) {
            *element(operation, operation->send, block, i) = value(operation, operation->rank, block, i);
        }
    }
}

/* One call of the collective in the form asked for. */
#define CALL(Name, name, ...)                                                                \
    do {                                                                                     \
        if (form == BLOCKING) {                                                              \
            o->status = MPI_##Name(__VA_ARGS__, o->comm);                                    \
        } else if (form == NONBLOCKING) {                                                    \
            o->status = MPI_I##name(__VA_ARGS__, o->comm, &o->request);                      \
        } else {                                                                             \
            o->status = INIT(Name)(__VA_ARGS__, o->comm, MPI_INFO_NULL, &o->request);        \
        }                                                                                    \
    } while (0)

static void call_barrier(struct operation *o, enum form form)
{
    if (form == BLOCKING) {
        o->status = MPI_Barrier(o->comm);
    } else if (form == NONBLOCKING) {
        o->status = MPI_Ibarrier(o->comm, &o->request);
    } else {
        o->status = INIT(Barrier)(o->comm, MPI_INFO_NULL, &o->request);
    }
}

static void call_reduction(struct operation *o, enum form form)
{
    switch (o->kind) {
    case ALLREDUCE: CALL(Allreduce, allreduce, o->send, o->receive, o->count, o->type, o->op); break;
    case EXSCAN: CALL(Exscan, exscan, o->send, o->receive, o->count, o->type, o->op); break;
    case REDUCE: CALL(Reduce, reduce, o->send, o->receive, o->count, o->type, o->op, o->root); break;
    case REDUCE_SCATTER: CALL(Reduce_scatter, reduce_scatter, o->send, o->receive, o->counts, o->type, o->op); break;
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, o->send, o->receive, o->count, o->type, o->op);
        break;
    default: CALL(Scan, scan, o->send, o->receive, o->count, o->type, o->op);
    }
}

void operation_call(struct operation *o, enum form form)
{
    int n = o->count;
    MPI_Datatype t = o->type;
    switch (o->kind) {
    case ALLGATHER: CALL(Allgather, allgather, o->send, n, t, o->receive, n, t); break;
    case ALLGATHERV: CALL(Allgatherv, allgatherv, o->send, n, t, o->receive, o->counts, o->displs, t); break;
    case ALLTOALL: CALL(Alltoall, alltoall, o->send, n, t, o->receive, n, t); break;
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, o->send, o->counts, o->displs, t, o->receive, o->counts, o->displs, t);
        break;
    case ALLTOALLW:
        CALL(Alltoallw, alltoallw, o->send, o->counts, o->byte_displs, o->types, o->receive, o->counts, o->byte_displs,
             o->types);
        break;
    case BARRIER: call_barrier(o, form); break;
    case BCAST: CALL(Bcast, bcast, o->rank == o->root ? o->send : o->receive, n, t, o->root); break;
    case GATHER: CALL(Gather, gather, o->send, n, t, o->receive, n, t, o->root); break;
    case GATHERV: CALL(Gatherv, gatherv, o->send, n, t, o->receive, o->counts, o->displs, t, o->root); break;
    case SCATTER: CALL(Scatter, scatter, o->send, n, t, o->receive, n, t, o->root); break;
    case SCATTERV: CALL(Scatterv, scatterv, o->send, o->counts, o->displs, t, o->receive, n, t, o->root); break;
    default: call_reduction(o, form);
    }
}

void operation_forget_arrays(struct operation *operation)
{
    for (int i = 0; i < operation->size; i++) {
        operation->counts[i] = operation->displs[i] = 1000000 + i;
    }
}

void operation_free_objects(struct operation *operation)
{
    if (operation->gapped) {
        MPI_Type_free(&operation->type);
        MPI_Op_free(&operation->op);
        operation->gapped = false;
    }
}

/* What element `index` of block `block` of the receive buffer must hold at the end. */
static int expected(const struct operation *o, int block, int index)
{
    bool is_root = o->rank == o->root;
    switch (o->kind) {
    case ALLGATHER:
    case ALLGATHERV: return value(o, block, 0, index);
    case ALLREDUCE: return block == 0 ? sum_before(o, o->size, 0, index) : GAP;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW: return value(o, block, o->rank, index);
    case BCAST: return block == 0 && !is_root ? value(o, o->root, 0, index) : GAP;
    case EXSCAN: return block == 0 && o->rank > 0 ? sum_before(o, o->rank, 0, index) : GAP;
    case GATHER:
    case GATHERV: return is_root ? value(o, block, 0, index) : GAP;
    case REDUCE: return block == 0 && is_root ? sum_before(o, o->size, 0, index) : GAP;
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK: return block == 0 ? sum_before(o, o->size, o->rank, index) : GAP;
    case SCAN: return block == 0 ? sum_before(o, o->rank + 1, 0, index) : GAP;
    case SCATTER:
    case SCATTERV: return block == 0 ? value(o, o->root, o->rank, index) : GAP;
    default: return GAP;
    }
}

void operation_check(const struct operation *operation)
{
    int wrong = 0;
    for (int block = 0; block < operation->size; block++) {
        for (int i = 0; i < operation->count; i++) {
            const int *found = element(operation, operation->receive, block, i);
            wrong += *found != expected(operation, block, i);
            wrong += operation->stride == 2 && found[1] != GAP;
        }
    }
    check_that(wrong == 0, "%s of %d elements, root %d, seed %d: %d values are wrong", kind_names[operation->kind],
               operation->count, operation->root, operation->seed, wrong);
}

void operation_free(struct operation *operation)
{
    operation_free_objects(operation);
    free(operation->send);
    free(operation->receive);
}
