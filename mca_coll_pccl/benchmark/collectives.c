#include "bench.h"

#include <stdlib.h>
#include <string.h>

static int call_allgather(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Allgather(c->input, c->count, c->type, c->output, c->count, c->type, comm);
}

static int call_allgatherv(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Allgatherv(c->input, c->count, c->type, c->output, c->counts, c->displacements, c->type, comm);
}

static int call_allreduce(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Allreduce(c->input, c->output, c->count, c->type, MPI_SUM, comm);
}

static int call_alltoall(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Alltoall(c->input, c->count, c->type, c->output, c->count, c->type, comm);
}

static int call_alltoallv(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Alltoallv(c->input, c->counts, c->displacements, c->type, c->output, c->counts, c->displacements,
                         c->type, comm);
}

static int call_barrier(const struct bench_case *c, MPI_Comm comm)
{
    (void)c;
    return MPI_Barrier(comm);
}

static int call_bcast(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Bcast(c->rank == c->root ? c->input : c->output, c->count, c->type, c->root, comm);
}

static int call_gather(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Gather(c->input, c->count, c->type, c->output, c->count, c->type, c->root, comm);
}

static int call_reduce(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Reduce(c->input, c->output, c->count, c->type, MPI_SUM, c->root, comm);
}

static int call_reduce_scatter(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Reduce_scatter(c->input, c->output, c->counts, c->type, MPI_SUM, comm);
}

static int call_reduce_scatter_block(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Reduce_scatter_block(c->input, c->output, c->count, c->type, MPI_SUM, comm);
}

static int call_scatter(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Scatter(c->input, c->count, c->type, c->output, c->count, c->type, c->root, comm);
}

static int call_alltoallw(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Alltoallw(c->input, c->counts, c->places, c->types, c->output, c->counts, c->places, c->types, comm);
}

static int call_gatherv(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Gatherv(c->input, c->count, c->type, c->output, c->counts, c->displacements, c->type, c->root, comm);
}

static int call_scatterv(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Scatterv(c->input, c->counts, c->displacements, c->type, c->output, c->count, c->type, c->root, comm);
}

static int call_scan(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Scan(c->input, c->output, c->count, c->type, MPI_SUM, comm);
}

static int call_exscan(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Exscan(c->input, c->output, c->count, c->type, MPI_SUM, comm);
}

static int call_neighbor_allgather(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Neighbor_allgather(c->input, c->count, c->type, c->output, c->count, c->type, comm);
}

static int call_neighbor_allgatherv(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Neighbor_allgatherv(c->input, c->count, c->type, c->output, c->counts, c->displacements, c->type, comm);
}

static int call_neighbor_alltoall(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Neighbor_alltoall(c->input, c->count, c->type, c->output, c->count, c->type, comm);
}

static int call_neighbor_alltoallv(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Neighbor_alltoallv(c->input, c->counts, c->displacements, c->type, c->output, c->counts,
                                  c->displacements, c->type, comm);
}

static int call_neighbor_alltoallw(const struct bench_case *c, MPI_Comm comm)
{
    return MPI_Neighbor_alltoallw(c->input, c->counts, c->addresses, c->types, c->output, c->counts, c->addresses,
                                  c->types, comm);
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

size_t bench_case_memory(const struct bench_collective *collective, size_t bytes, int num_ranks)
{
    size_t blocks = num_blocks(collective->blocks_in, num_ranks) + num_blocks(collective->blocks_out, num_ranks);

    return bench_collective_bytes(collective, bytes) * blocks;
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

static unsigned char *allocate(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
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
        c->output = allocate(c->output_bytes);
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

int bench_case_create(struct bench_case *c, const struct bench_collective *collective, size_t bytes, int root,
                      MPI_Comm comm)
{
    size_t unit = element_bytes(collective);

    *c = (struct bench_case){.collective = collective, .bytes = bench_collective_bytes(collective, bytes), .root = root};
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->num_ranks);
    c->count = (int)(c->bytes / unit);
    c->type = bench_collective_reduces(collective) ? MPI_INT32_T : MPI_BYTE;
    if (allocate_buffers(c))
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

void bench_case_free(struct bench_case *c)
{
    free(c->types);
    free(c->addresses);
    free(c->places);
    free(c->displacements);
    free(c->counts);
    free(c->output);
    free(c->input);
}

size_t bench_case_check(struct bench_case *c, MPI_Comm comm)
{
    size_t unit = element_bytes(c->collective), wrong = 0;

    if (c->output_bytes)
        memset(c->output, 0xff, c->output_bytes); /* no input and no sum looks so */
    c->collective->call(c, comm);
    for (size_t i = 0; i < c->output_bytes / unit; i++)
        wrong += read_value(c, c->output, i) != expected_value(c, i);
    return wrong;
}
