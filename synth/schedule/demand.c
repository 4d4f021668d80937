/* From a request to a demand: of the standard collectives and of custom patterns. */
#include "pccl/demand.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* --- checking a request ------------------------------------------------------------------------------------------- */

static int compare_u32(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int check_devices(const struct pccl_request *request, struct pccl_error *error)
{
    if (request->num_ranks < 2) {
        return pccl__fail(error, PCCL_ERR_INVALID, "a process group of %u ranks was asked for; at least 2 are needed",
                          request->num_ranks);
    }
    if (request->devices == NULL) {
        return pccl__fail(error, PCCL_ERR_INVALID, "the request names no devices for its %u ranks", request->num_ranks);
    }
    uint32_t *sorted = pccl__array_new(request->num_ranks, sizeof *sorted);
    if (sorted == NULL) {
        return pccl__fail_memory(error);
    }
    memcpy(sorted, request->devices, request->num_ranks * sizeof *sorted);
    qsort(sorted, request->num_ranks, sizeof *sorted, compare_u32);
    int status = 0;
    for (uint32_t i = 1; i < request->num_ranks && status == 0; i++) {
        if (sorted[i] == sorted[i - 1]) {
            status = pccl__fail(error, PCCL_ERR_INVALID, "device %u is in the process group twice; all must differ",
                                sorted[i]);
        }
    }
    free(sorted);
    return status;
}

/* Number of blocks, each of which is cut into pieces. */
static uint64_t count_blocks(const struct pccl_request *request)
{
    switch (request->collective) {
    case PCCL_ALLTOALL:
        return (uint64_t)request->num_ranks * request->num_ranks;
    case PCCL_BROADCAST:
    case PCCL_REDUCE:
    case PCCL_ALLREDUCE:
    case PCCL_SCAN:
    case PCCL_EXSCAN:
        return 1;
    case PCCL_CUSTOM:
        return request->custom->num_chunks;
    default:
        return request->num_ranks;
    }
}

static int64_t block_size(const struct pccl_request *request, uint32_t block)
{
    switch (request->collective) {
    case PCCL_BARRIER:
        return 0;
    case PCCL_CUSTOM:
        return request->custom->chunks[block].bytes;
    default:
        return request->block_bytes != NULL ? request->block_bytes[block] : request->bytes;
    }
}

static int check_sizes(const struct pccl_request *request, uint32_t num_blocks, struct pccl_error *error)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < num_blocks; i++) {
        int64_t bytes = block_size(request, i);
        if (bytes < 0) {
            return pccl__fail(error, PCCL_ERR_INVALID, "block %u has %lld bytes; 0 or more are expected", i,
                              (long long)bytes);
        }
        if (__builtin_add_overflow(total, bytes, &total)) {
            return pccl__fail(error, PCCL_ERR_OVERFLOW, "all %u blocks together hold more than 2^63-1 bytes",
                              num_blocks);
        }
    }
    return 0;
}

static int check_holders(const struct pccl_demand *pattern, uint32_t chunk, bool sources, struct pccl_error *error)
{
    const struct pccl_chunk *held = &pattern->chunks[chunk];
    uint32_t first = sources ? held->first_source : held->first_target;
    uint32_t count = sources ? held->num_sources : held->num_targets;
    const char *what = sources ? "source" : "target";
    if (count == 0 || first > pattern->num_holders || count > pattern->num_holders - first) {
        return pccl__fail(error, PCCL_ERR_INVALID,
                          "chunk %u has %u %ss from entry %u of a list of %u; at least one within the list is expected",
                          chunk, count, what, first, pattern->num_holders);
    }
    for (uint32_t i = first; i < first + count; i++) {
        if (pattern->holders[i] >= pattern->num_ranks ||
            (i > first && pattern->holders[i] <= pattern->holders[i - 1])) {
            return pccl__fail(error, PCCL_ERR_INVALID,
                              "%s %u of chunk %u is rank %u; ascending ranks below %u are expected", what, i - first,
                              chunk, pattern->holders[i], pattern->num_ranks);
        }
    }
    return 0;
}

static int check_pattern(const struct pccl_request *request, struct pccl_error *error)
{
    const struct pccl_demand *pattern = request->custom;
    if (pattern == NULL || pattern->num_chunks == 0 || pattern->num_ranks != request->num_ranks) {
        return pccl__fail(error, PCCL_ERR_INVALID,
                          "a custom collective needs a pattern of at least one chunk for the same %u ranks",
                          request->num_ranks);
    }
    for (uint32_t i = 0; i < pattern->num_chunks; i++) {
        int status = check_holders(pattern, i, true, error);
        if (status == 0) {
            status = check_holders(pattern, i, false, error);
        }
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int check_request(const struct pccl_request *request, uint32_t pieces, struct pccl_error *error)
{
    if ((unsigned)request->collective >= PCCL_NUM_COLLECTIVES) {
        return pccl__fail(error, PCCL_ERR_INVALID, "collective number %u does not exist",
                          (unsigned)request->collective);
    }
    int status = check_devices(request, error);
    if (status != 0) {
        return status;
    }
    if (pccl_collective_is_rooted(request->collective) && request->root >= request->num_ranks) {
        return pccl__fail(error, PCCL_ERR_INVALID, "root %u is not below the number of ranks, %u", request->root,
                          request->num_ranks);
    }
    if (pieces == 0) {
        return pccl__fail(error, PCCL_ERR_INVALID, "a block cannot be cut into 0 pieces");
    }
    if (request->collective == PCCL_CUSTOM) {
        return check_pattern(request, error);
    }
    if (request->block_bytes != NULL && count_blocks(request) == 1) {
        return pccl__fail(error, PCCL_ERR_INVALID, "unequal blocks make no sense for %s",
                          pccl_collective_name(request->collective));
    }
    return 0;
}

/* --- building ----------------------------------------------------------------------------------------------------- */

/* floor(index * bytes / pieces) without leaving 64 bits. */
static int64_t piece_offset(int64_t bytes, uint32_t pieces, uint32_t index)
{
    return bytes / pieces * index + (int64_t)((uint64_t)(bytes % pieces) * index / pieces);
}

/* Holders of a block: positions in the pool, which is 0, 1 .. num_ranks-1 for every standard collective. */
static struct pccl_chunk standard_block(const struct pccl_request *request, uint32_t block)
{
    uint32_t n = request->num_ranks;
    struct pccl_chunk chunk = {.first_source = 0, .num_sources = n, .first_target = 0, .num_targets = n};
    switch (request->collective) {
    case PCCL_ALLGATHER:
    case PCCL_BARRIER:
        chunk.first_source = block;
        chunk.num_sources = 1;
        break;
    case PCCL_BROADCAST:
        chunk.first_source = request->root;
        chunk.num_sources = 1;
        break;
    case PCCL_ALLTOALL:
        chunk.first_source = block / n;
        chunk.first_target = block % n;
        chunk.num_sources = chunk.num_targets = 1;
        break;
    case PCCL_GATHER:
        chunk.first_source = block;
        chunk.first_target = request->root;
        chunk.num_sources = chunk.num_targets = 1;
        break;
    case PCCL_SCATTER:
        chunk.first_source = request->root;
        chunk.first_target = block;
        chunk.num_sources = chunk.num_targets = 1;
        break;
    case PCCL_REDUCE:
        chunk.first_target = request->root;
        chunk.num_targets = 1;
        break;
    case PCCL_REDUCE_SCATTER:
        chunk.first_target = block;
        chunk.num_targets = 1;
        break;
    case PCCL_EXSCAN:
        chunk.first_target = 1;
        chunk.num_sources = chunk.num_targets = n - 1;
        break;
    default:
        break;
    }
    return chunk;
}

/* Everything in one allocation, so that a demand is one block of memory to own and to free. */
static struct pccl_demand *allocate(const struct pccl_request *request, uint32_t num_chunks, uint64_t num_holders)
{
    bool custom = request->collective == PCCL_CUSTOM;
    uint64_t words = num_holders + request->num_ranks + (custom ? num_holders + 2 * (uint64_t)request->num_ranks : 0);
    uint64_t bytes = sizeof(struct pccl_demand) + num_chunks * (uint64_t)sizeof(struct pccl_chunk) + words * 4;
    struct pccl_demand *demand = (size_t)bytes == bytes ? calloc(1, (size_t)bytes) : NULL;
    if (demand == NULL) {
        return NULL;
    }
    struct pccl_chunk *chunks = (struct pccl_chunk *)(void *)(demand + 1);
    uint32_t *holders = (uint32_t *)(void *)(chunks + num_chunks);
    uint32_t *devices = holders + num_holders;
    memcpy(devices, request->devices, request->num_ranks * sizeof *devices);
    *demand = (struct pccl_demand){.collective = request->collective,
                                   .num_ranks = request->num_ranks,
                                   .num_chunks = num_chunks,
                                   .chunks = chunks,
                                   .num_holders = (uint32_t)num_holders,
                                   .holders = holders,
                                   .devices = devices};
    if (custom) {
        demand->holder_slots = devices + request->num_ranks;
        demand->num_blocks = demand->holder_slots + num_holders;
    }
    return demand;
}

/* Copies the holders of a custom pattern, unshared, and gives each its slot. */
static void copy_pattern(const struct pccl_demand *pattern, struct pccl_demand *demand, struct pccl_chunk *blocks)
{
    uint32_t *holders = (uint32_t *)(uintptr_t)demand->holders;
    uint32_t *slots = (uint32_t *)(uintptr_t)demand->holder_slots;
    uint32_t *counts = (uint32_t *)(uintptr_t)demand->num_blocks;
    uint32_t used = 0;
    for (uint32_t i = 0; i < pattern->num_chunks; i++) {
        struct pccl_chunk chunk = pattern->chunks[i];
        blocks[i].first_source = used;
        for (uint32_t j = 0; j < chunk.num_sources; j++, used++) {
            holders[used] = pattern->holders[chunk.first_source + j];
            slots[used] = counts[holders[used]]++;
        }
        blocks[i].first_target = used;
        for (uint32_t j = 0; j < chunk.num_targets; j++, used++) {
            holders[used] = pattern->holders[chunk.first_target + j];
            slots[used] = counts[demand->num_ranks + holders[used]]++;
        }
        blocks[i].num_sources = chunk.num_sources;
        blocks[i].num_targets = chunk.num_targets;
    }
}

/* Turns blocks, which lie at the front of `chunks`, into pieces, from the back so that none is overwritten unread. */
static void cut_blocks(const struct pccl_request *request, struct pccl_chunk *chunks, uint32_t num_blocks,
                       uint32_t pieces)
{
    for (uint32_t block = num_blocks; block-- > 0;) {
        struct pccl_chunk whole = chunks[block];
        int64_t bytes = block_size(request, block);
        for (uint32_t p = pieces; p-- > 0;) {
            struct pccl_chunk *chunk = &chunks[block * pieces + p];
            *chunk = whole;
            chunk->bytes = piece_offset(bytes, pieces, p + 1) - piece_offset(bytes, pieces, p);
        }
    }
}

static uint64_t count_holders(const struct pccl_request *request)
{
    if (request->collective != PCCL_CUSTOM) {
        return request->num_ranks;
    }
    uint64_t count = 0;
    for (uint32_t i = 0; i < request->custom->num_chunks; i++) {
        count += (uint64_t)request->custom->chunks[i].num_sources + request->custom->chunks[i].num_targets;
    }
    return count;
}

int pccl_demand_create(const struct pccl_request *request, uint32_t pieces, struct pccl_demand **demand,
                       struct pccl_error *error)
{
    *demand = NULL;
    int status = check_request(request, pieces, error);
    if (status != 0) {
        return status;
    }
    if (request->collective == PCCL_BARRIER) {
        pieces = 1;
    }
    uint64_t num_blocks = count_blocks(request), num_holders = count_holders(request);
    if (num_blocks > PCCL_MAX_CHUNKS / pieces || num_holders > PCCL_MAX_CHUNKS) {
        return pccl__fail(error, PCCL_ERR_OVERFLOW, "%llu blocks of %u pieces are more than %u chunks",
                          (unsigned long long)num_blocks, pieces, PCCL_MAX_CHUNKS);
    }
    status = check_sizes(request, (uint32_t)num_blocks, error);
    if (status != 0) {
        return status;
    }
    struct pccl_demand *made = allocate(request, (uint32_t)num_blocks * pieces, num_holders);
    if (made == NULL) {
        return pccl__fail_memory(error);
    }
    bool custom = request->collective == PCCL_CUSTOM;
    made->root = pccl_collective_is_rooted(request->collective) ? request->root : 0;
    made->pieces = pieces;
    made->reduces = custom ? request->custom->reduces : pccl_collective_is_reduction(request->collective);
    made->ordered = made->reduces && (request->ordered || (custom && request->custom->ordered));
    made->reproducible = made->reduces && (request->reproducible || (custom && request->custom->reproducible));
    struct pccl_chunk *chunks = (struct pccl_chunk *)(uintptr_t)made->chunks;
    if (custom) {
        copy_pattern(request->custom, made, chunks);
    } else {
        uint32_t *holders = (uint32_t *)(uintptr_t)made->holders;
        for (uint32_t i = 0; i < made->num_holders; i++) {
            holders[i] = i;
        }
        for (uint32_t i = 0; i < (uint32_t)num_blocks; i++) {
            chunks[i] = standard_block(request, i);
        }
    }
    cut_blocks(request, chunks, (uint32_t)num_blocks, pieces);
    *demand = made;
    return 0;
}

void pccl_demand_free(struct pccl_demand *demand)
{
    free(demand);
}
