#include "bench.h"

#include <stdlib.h>
#include <string.h>

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(Name) MPIX_##Name##_init
#else
#define INIT(Name) MPI_##Name##_init
#endif

const char *const bench_form_names[BENCH_NUM_FORMS] = {"blocking", "nonblocking", "persistent"};

/* The parameters and the call of a collective, in the form that the case has. */
#define PARAMETERS const struct bench_case *c, unsigned char *output, MPI_Comm comm, MPI_Request *request
#define CALL(Name, name, ...)                                                 \
    (c->form == BENCH_BLOCKING      ? MPI_##Name(__VA_ARGS__, comm)           \
     : c->form == BENCH_NONBLOCKING ? MPI_I##name(__VA_ARGS__, comm, request) \
                                    : INIT(Name)(__VA_ARGS__, comm, MPI_INFO_NULL, request))

static int call_allgather(PARAMETERS)
{
    return CALL(Allgather, allgather, c->input, c->count, c->type, output, c->count, c->type);
}

static int call_allgatherv(PARAMETERS)
{
    return CALL(Allgatherv, allgatherv, c->input, c->count, c->type, output, c->counts, c->displacements, c->type);
}

static int call_allreduce(PARAMETERS)
{
    return CALL(Allreduce, allreduce, c->input, output, c->count, c->type, MPI_SUM);
}

static int call_alltoall(PARAMETERS)
{
    return CALL(Alltoall, alltoall, c->input, c->count, c->type, output, c->count, c->type);
}

static int call_alltoallv(PARAMETERS)
{
    return CALL(Alltoallv, alltoallv, c->input, c->counts, c->displacements, c->type, output, c->counts,
                c->displacements, c->type);
}

static int call_barrier(PARAMETERS)
{
    (void)output;
    return c->form == BENCH_BLOCKING      ? MPI_Barrier(comm)
           : c->form == BENCH_NONBLOCKING ? MPI_Ibarrier(comm, request)
                                          : INIT(Barrier)(comm, MPI_INFO_NULL, request);
}

static int call_bcast(PARAMETERS)
{
    return CALL(Bcast, bcast, c->rank == c->root ? c->input : output, c->count, c->type, c->root);
}

static int call_gather(PARAMETERS)
{
    return CALL(Gather, gather, c->input, c->count, c->type, output, c->count, c->type, c->root);
}

static int call_reduce(PARAMETERS)
{
    return CALL(Reduce, reduce, c->input, output, c->count, c->type, MPI_SUM, c->root);
}

static int call_reduce_scatter(PARAMETERS)
{
    return CALL(Reduce_scatter, reduce_scatter, c->input, output, c->counts, c->type, MPI_SUM);
}

static int call_reduce_scatter_block(PARAMETERS)
{
    return CALL(Reduce_scatter_block, reduce_scatter_block, c->input, output, c->count, c->type, MPI_SUM);
}

static int call_scatter(PARAMETERS)
{
    return CALL(Scatter, scatter, c->input, c->count, c->type, output, c->count, c->type, c->root);
}

static int call_alltoallw(PARAMETERS)
{
    return CALL(Alltoallw, alltoallw, c->input, c->counts, c->places, c->types, output, c->counts, c->places, c->types);
}

static int call_gatherv(PARAMETERS)
{
    return CALL(Gatherv, gatherv, c->input, c->count, c->type, output, c->counts, c->displacements, c->type, c->root);
}

static int call_scatterv(PARAMETERS)
{
    return CALL(Scatterv, scatterv, c->input, c->counts, c->displacements, c->type, output, c->count, c->type, c->root);
}

static int call_scan(PARAMETERS)
{
    return CALL(Scan, scan, c->input, output, c->count, c->type, MPI_SUM);
}

static int call_exscan(PARAMETERS)
{
    return CALL(Exscan, exscan, c->input, output, c->count, c->type, MPI_SUM);
}

static int call_neighbor_allgather(PARAMETERS)
{
    return CALL(Neighbor_allgather, neighbor_allgather, c->input, c->count, c->type, output, c->count, c->type);
}

static int call_neighbor_allgatherv(PARAMETERS)
{
    return CALL(Neighbor_allgatherv, neighbor_allgatherv, c->input, c->count, c->type, output, c->counts,
                c->displacements, c->type);
}

static int call_neighbor_alltoall(PARAMETERS)
{
    return CALL(Neighbor_alltoall, neighbor_alltoall, c->input, c->count, c->type, output, c->count, c->type);
}

static int call_neighbor_alltoallv(PARAMETERS)
{
    return CALL(Neighbor_alltoallv, neighbor_alltoallv, c->input, c->counts, c->displacements, c->type, output,
                c->counts, c->displacements, c->type);
}

static int call_neighbor_alltoallw(PARAMETERS)
{
    return CALL(Neighbor_alltoallw, neighbor_alltoallw, c->input, c->counts, c->addresses, c->types, output,
                c->counts, c->addresses, c->types);
}

const struct bench_collective bench_collectives[] = {
    /* name, pattern, blocks in, blocks out, only the root has: input, output */
    {"allgather", BENCH_COLLECT, BENCH_ONE, BENCH_PER_RANK, false, false, call_allgather},
    {"allgatherv", BENCH_COLLECT, BENCH_ONE, BENCH_PER_RANK, false, false, call_allgatherv},
    {"allreduce", BENCH_SUM, BENCH_ONE, BENCH_ONE, false, false, call_allreduce},
    {"alltoall", BENCH_EXCHANGE, BENCH_PER_RANK, BENCH_PER_RANK, false, false, call_alltoall},
    {"alltoallv", BENCH_EXCHANGE, BENCH_PER_RANK, BENCH_PER_RANK, false, false, call_alltoallv},
    {"alltoallw", BENCH_EXCHANGE, BENCH_PER_RANK, BENCH_PER_RANK, false, false, call_alltoallw},
    {"barrier", BENCH_NOTHING, BENCH_ONE, BENCH_ONE, false, false, call_barrier},
    {"bcast", BENCH_COPY, BENCH_ONE, BENCH_ONE, true, false, call_bcast},
    {"exscan", BENCH_SUM_BELOW, BENCH_ONE, BENCH_ONE, false, false, call_exscan},
    {"gather", BENCH_COLLECT, BENCH_ONE, BENCH_PER_RANK, false, true, call_gather},
    {"gatherv", BENCH_COLLECT, BENCH_ONE, BENCH_PER_RANK, false, true, call_gatherv},
    {"reduce", BENCH_SUM, BENCH_ONE, BENCH_ONE, false, true, call_reduce},
    {"reduce_scatter", BENCH_SUM_DEAL, BENCH_PER_RANK, BENCH_ONE, false, false, call_reduce_scatter},
    {"reduce_scatter_block", BENCH_SUM_DEAL, BENCH_PER_RANK, BENCH_ONE, false, false, call_reduce_scatter_block},
    {"scan", BENCH_SUM_UP_TO, BENCH_ONE, BENCH_ONE, false, false, call_scan},
    {"scatter", BENCH_DEAL, BENCH_PER_RANK, BENCH_ONE, true, false, call_scatter},
    {"scatterv", BENCH_DEAL, BENCH_PER_RANK, BENCH_ONE, true, false, call_scatterv},
    {"neighbor_allgather", BENCH_NEAR_COLLECT, BENCH_ONE, BENCH_PER_NEIGHBOR, false, false, call_neighbor_allgather},
    {"neighbor_allgatherv", BENCH_NEAR_COLLECT, BENCH_ONE, BENCH_PER_NEIGHBOR, false, false, call_neighbor_allgatherv},
    {"neighbor_alltoall", BENCH_NEAR_EXCHANGE, BENCH_PER_NEIGHBOR, BENCH_PER_NEIGHBOR, false, false,
     call_neighbor_alltoall},
    {"neighbor_alltoallv", BENCH_NEAR_EXCHANGE, BENCH_PER_NEIGHBOR, BENCH_PER_NEIGHBOR, false, false,
     call_neighbor_alltoallv},
    {"neighbor_alltoallw", BENCH_NEAR_EXCHANGE, BENCH_PER_NEIGHBOR, BENCH_PER_NEIGHBOR, false, false,
     call_neighbor_alltoallw},
};
const int bench_num_collectives = sizeof(bench_collectives) / sizeof(bench_collectives[0]);

bool bench_collective_reduces(const struct bench_collective *collective)
{
    return collective->pattern == BENCH_SUM || collective->pattern == BENCH_SUM_DEAL ||
           collective->pattern == BENCH_SUM_UP_TO || collective->pattern == BENCH_SUM_BELOW;
}

/* Reductions add 32-bit integers, everything else moves bytes. */
static size_t element_bytes(const struct bench_collective *collective)
{
    return bench_collective_reduces(collective) ? sizeof(int32_t) : 1;
}

size_t bench_collective_bytes(const struct bench_collective *collective, size_t bytes)
{
    size_t unit = element_bytes(collective);

    return collective->pattern == BENCH_NOTHING ? 0 : (bytes + unit - 1) / unit * unit;
}

static size_t num_blocks(enum bench_blocks blocks, int num_ranks)
{
    return blocks == BENCH_PER_RANK ? (size_t)num_ranks : blocks == BENCH_PER_NEIGHBOR ? 2 : 1;
}

size_t bench_case_memory(const struct bench_options *options, const struct bench_collective *collective, size_t bytes,
                         int num_ranks)
{
    size_t blocks_in = num_blocks(collective->blocks_in, num_ranks);
    size_t blocks_out = num_blocks(collective->blocks_out, num_ranks);

    return bench_collective_bytes(collective, bytes) * (blocks_in + blocks_out * (size_t)options->outstanding);
}

/* The value of element `index` of the input of `rank`: small enough that no sum overflows, and different from element
 * to element and from rank to rank, so that a block in the wrong place shows. */
static int32_t input_value(const struct bench_case *c, int rank, size_t index)
{
    uint32_t mixed = (uint32_t)rank * 131u + (uint32_t)index * 7u + (uint32_t)(index >> 8) * 29u;

    return (int32_t)(bench_collective_reduces(c->collective) ? mixed % 1021u : mixed % 251u);
}

/* Of the first `count` ranks. */
static int32_t sum_of_values(const struct bench_case *c, int count, size_t index)
{
    int32_t sum = 0;

    for (int rank = 0; rank < count; rank++)
        sum += input_value(c, rank, index);
    return sum;
}

static int32_t expected_value(const struct bench_case *c, size_t index)
{
    size_t count = (size_t)c->count;
    size_t mine = (size_t)c->rank * count;
    bool before = index < count; /* of two blocks the first, which comes from the rank before */
    int neighbor = (c->rank + (before ? c->num_ranks - 1 : 1)) % c->num_ranks;

    switch (c->collective->pattern) {
    case BENCH_COLLECT:
        return input_value(c, (int)(index / count), index % count);
    case BENCH_EXCHANGE:
        return input_value(c, (int)(index / count), mine + index % count);
    case BENCH_COPY:
        return input_value(c, c->root, index);
    case BENCH_DEAL:
        return input_value(c, c->root, mine + index);
    case BENCH_SUM:
        return sum_of_values(c, c->num_ranks, index);
    case BENCH_SUM_DEAL:
        return sum_of_values(c, c->num_ranks, mine + index);
    case BENCH_SUM_UP_TO:
        return sum_of_values(c, c->rank + 1, index);
    case BENCH_SUM_BELOW:
        return sum_of_values(c, c->rank, index);
    case BENCH_NEAR_COLLECT:
        return input_value(c, neighbor, index % count);
    case BENCH_NEAR_EXCHANGE:
        return input_value(c, neighbor, index % count + (before ? count : 0));
    case BENCH_NOTHING:
        break;
    }
    return 0;
}

static void write_value(const struct bench_case *c, unsigned char *buffer, size_t index, int32_t value)
{
    if (c->type == MPI_BYTE)
        buffer[index] = (unsigned char)value;
    else
        memcpy(buffer + index * sizeof(value), &value, sizeof(value));
}

static int32_t read_value(const struct bench_case *c, const unsigned char *buffer, size_t index)
{
    int32_t value;

    if (c->type == MPI_BYTE)
        return buffer[index];
    memcpy(&value, buffer + index * sizeof(value), sizeof(value));
    return value;
}

static size_t rounded(size_t bytes)
{
    return (bytes + 64) / 64 * 64;
}

static unsigned char *allocate(size_t bytes)
{
    return aligned_alloc(64, rounded(bytes));
}

/* Of one of the operations of the case. */
static unsigned char *output_of(const struct bench_case *c, int operation)
{
    return c->output ? c->output + (size_t)operation * rounded(c->output_bytes) : NULL;
}

static int allocate_requests(struct bench_case *c)
{
    for (int side = 0; side < BENCH_NUM_SIDES; side++) {
        c->requests[side] = malloc((size_t)c->outstanding * sizeof(MPI_Request));
        if (!c->requests[side])
            return -1;
        for (int i = 0; i < c->outstanding; i++)
            c->requests[side][i] = MPI_REQUEST_NULL;
    }
    return 0;
}

static int allocate_buffers(struct bench_case *c)
{
    const struct bench_collective *collective = c->collective;
    bool is_root = c->rank == c->root;
    bool is_copy = collective->pattern == BENCH_COPY;

    if (is_root || !collective->rooted_input) {
        c->input_bytes = c->bytes * num_blocks(collective->blocks_in, c->num_ranks);
        c->input = allocate(c->input_bytes);
        if (!c->input)
            return -1;
    }
    bool is_without = (is_root && is_copy) || (collective->pattern == BENCH_SUM_BELOW && c->rank == 0);
    if ((is_root || !collective->rooted_output) && !is_without) {
        c->output_bytes = c->bytes * num_blocks(collective->blocks_out, c->num_ranks);
        c->output = allocate(rounded(c->output_bytes) * (size_t)c->outstanding);
        if (!c->output)
            return -1;
    }
    size_t num_entries = c->num_ranks > 2 ? (size_t)c->num_ranks : 2; /* of a rank alone both neighbours are itself */
    c->counts = calloc(num_entries, sizeof(int));
    c->displacements = calloc(num_entries, sizeof(int));
    c->places = calloc(num_entries, sizeof(int));
    c->addresses = calloc(num_entries, sizeof(MPI_Aint));
    c->types = calloc(num_entries, sizeof(MPI_Datatype));
    return c->counts && c->displacements && c->places && c->addresses && c->types ? 0 : -1;
}

int bench_case_create(struct bench_case *c, const struct bench_options *options,
                      const struct bench_collective *collective, size_t bytes, MPI_Comm comm)
{
    size_t unit = element_bytes(collective);

    *c = (struct bench_case){.collective = collective,
                             .bytes = bench_collective_bytes(collective, bytes),
                             .root = options->root,
                             .form = options->form,
                             .outstanding = options->outstanding};
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->num_ranks);
    c->count = (int)(c->bytes / unit);
    c->type = bench_collective_reduces(collective) ? MPI_INT32_T : MPI_BYTE;
    if (allocate_buffers(c) || allocate_requests(c))
        return -1;
    for (int i = 0; i < (c->num_ranks > 2 ? c->num_ranks : 2); i++) {
        c->counts[i] = c->count;
        c->displacements[i] = i * c->count;
        c->places[i] = i * (int)c->bytes;
        c->addresses[i] = (MPI_Aint)i * (MPI_Aint)c->bytes;
        c->types[i] = c->type;
    }
    for (size_t i = 0; i < c->input_bytes / unit; i++)
        write_value(c, c->input, i, input_value(c, c->rank, i));
    return 0;
}

void bench_case_open(struct bench_case *c, const struct bench_sides *sides)
{
    for (int side = 0; side < (sides->has_pccl ? 2 : 1) && c->form == BENCH_PERSISTENT; side++)
        for (int i = 0; i < c->outstanding; i++)
            c->collective->call(c, output_of(c, i), sides->comm[side], &c->requests[side][i]);
}

void bench_case_free(struct bench_case *c)
{
    for (int side = 0; side < BENCH_NUM_SIDES && c->requests[side]; side++) {
        for (int i = 0; i < c->outstanding; i++)
            if (c->requests[side][i] != MPI_REQUEST_NULL)
                MPI_Request_free(&c->requests[side][i]);
        free(c->requests[side]);
    }
    free(c->types);
    free(c->addresses);
    free(c->places);
    free(c->displacements);
    free(c->counts);
    free(c->output);
    free(c->input);
}

void bench_case_call(const struct bench_case *c, const struct bench_sides *sides, int side)
{
    MPI_Request *requests = c->requests[side];

    if (c->form == BENCH_PERSISTENT)
        MPI_Startall(c->outstanding, requests);
    else
        for (int i = 0; i < c->outstanding; i++)
            c->collective->call(c, output_of(c, i), sides->comm[side], &requests[i]);
    if (c->form != BENCH_BLOCKING)
        MPI_Waitall(c->outstanding, requests, MPI_STATUSES_IGNORE);
}

size_t bench_case_check(struct bench_case *c, const struct bench_sides *sides, int side)
{
    size_t unit = element_bytes(c->collective), wrong = 0;

    for (int i = 0; i < c->outstanding && c->output_bytes; i++)
        memset(output_of(c, i), 0xff, c->output_bytes); /* no input and no sum looks so */
    bench_case_call(c, sides, side);
    for (int i = 0; i < c->outstanding; i++)
        for (size_t j = 0; j < c->output_bytes / unit; j++)
            wrong += read_value(c, output_of(c, i), j) != expected_value(c, j);
    return wrong;
}
