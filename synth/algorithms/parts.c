/* Takes a pattern apart and tells which collectives its parts are. */
#include "algorithms/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* --- finding the parts -------------------------------------------------------------------------------------------- */

static uint32_t find_head(uint32_t *head, uint32_t rank)
{
    while (head[rank] != rank) {
        rank = head[rank] = head[head[rank]];
    }
    return rank;
}

/* The holder that stands for a chunk's part. */
static uint32_t first_holder(const struct pccl_demand *pattern, const struct pccl_chunk *chunk)
{
    return pattern->holders[chunk->num_sources > 0 ? chunk->first_source : chunk->first_target];
}

/* The smallest rank of a part becomes its head. */
static void join_holders(const struct pccl_demand *pattern, uint32_t *head)
{
    for (uint32_t c = 0; c < pattern->num_chunks; c++) {
        const struct pccl_chunk *chunk = &pattern->chunks[c];
        for (uint32_t i = 0; i < chunk->num_sources + chunk->num_targets; i++) {
            bool is_source = i < chunk->num_sources;
            uint32_t at = is_source ? chunk->first_source + i : chunk->first_target + i - chunk->num_sources;
            uint32_t a = find_head(head, first_holder(pattern, chunk)), b = find_head(head, pattern->holders[at]);
            head[a > b ? a : b] = a < b ? a : b;
        }
    }
}

/* Numbers the parts in number[], by their heads, and counts; ranks without a chunk are in no part. */
static int count_parts(const struct pccl_demand *pattern, uint32_t *head, uint32_t *number, struct pccl__parts *parts)
{
    memset(number, 0xff, pattern->num_ranks * sizeof *number);
    for (uint32_t c = 0; c < pattern->num_chunks; c++) {
        uint32_t at = find_head(head, first_holder(pattern, &pattern->chunks[c]));
        number[at] = number[at] == PCCL_NONE ? parts->num_parts++ : number[at];
    }
    parts->parts = pccl__array_new(parts->num_parts, sizeof *parts->parts);
    parts->pool = pccl__array_new((size_t)pattern->num_ranks + pattern->num_chunks, sizeof *parts->pool);
    if (parts->parts == NULL || parts->pool == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < pattern->num_ranks; rank++) {
        uint32_t part = number[find_head(head, rank)];
        if (part != PCCL_NONE) {
            parts->parts[part].num_ranks++;
        }
    }
    for (uint32_t c = 0; c < pattern->num_chunks; c++) {
        parts->parts[number[find_head(head, first_holder(pattern, &pattern->chunks[c]))]].num_chunks++;
    }
    return 0;
}

static void fill_parts(const struct pccl_demand *pattern, uint32_t *head, const uint32_t *number,
                       struct pccl__parts *parts)
{
    uint32_t *next = parts->pool;
    for (uint32_t p = 0; p < parts->num_parts; p++) {
        struct pccl__part *part = &parts->parts[p];
        part->ranks = next;
        part->chunks = next + part->num_ranks;
        next = part->chunks + part->num_chunks;
        part->num_ranks = part->num_chunks = 0;
    }
    for (uint32_t rank = 0; rank < pattern->num_ranks; rank++) {
        uint32_t p = number[find_head(head, rank)];
        if (p != PCCL_NONE) {
            parts->parts[p].ranks[parts->parts[p].num_ranks++] = rank;
        }
    }
    for (uint32_t c = 0; c < pattern->num_chunks; c++) {
        struct pccl__part *part = &parts->parts[number[find_head(head, first_holder(pattern, &pattern->chunks[c]))]];
        part->chunks[part->num_chunks++] = c;
    }
}

int pccl__parts_find(const struct pccl_demand *pattern, struct pccl__parts *parts)
{
    *parts = (struct pccl__parts){0};
    uint32_t n = pattern->num_ranks, *head = pccl__array_new(2 * (size_t)n, sizeof *head);
    if (head == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        head[rank] = rank;
    }
    join_holders(pattern, head);
    int status = count_parts(pattern, head, head + n, parts);
    if (status == 0) {
        fill_parts(pattern, head, head + n, parts);
    }
    free(head);
    return status;
}

void pccl__parts_free(struct pccl__parts *parts)
{
    for (uint32_t p = 0; parts->parts != NULL && p < parts->num_parts; p++) {
        free(parts->parts[p].devices);
        free(parts->parts[p].block_bytes);
        free(parts->parts[p].chunk_of);
    }
    free(parts->parts);
    free(parts->pool);
    *parts = (struct pccl__parts){0};
}

/* --- recognising one ---------------------------------------------------------------------------------------------- */

/* What all chunks of a part have in common. */
struct traits {
    bool from_all, from_one; /* sources of every chunk */
    bool to_all, to_one;     /* targets, apart from the source itself */
    bool same_source, same_target;
    bool equal, nearly_equal; /* sizes */
};

static uint32_t source_of(const struct pccl_demand *pattern, uint32_t chunk)
{
    return pattern->holders[pattern->chunks[chunk].first_source];
}

static uint32_t target_of(const struct pccl_demand *pattern, uint32_t chunk)
{
    return pattern->holders[pattern->chunks[chunk].first_target];
}

/* All other ranks of the part are targets of a chunk that has one source. */
static bool reaches_all(const struct pccl_demand *pattern, const struct pccl_chunk *chunk, uint32_t num_ranks)
{
    bool to_itself = false;
    for (uint32_t i = 0; i < chunk->num_targets; i++) {
        to_itself = to_itself || pattern->holders[chunk->first_target + i] == pattern->holders[chunk->first_source];
    }
    return chunk->num_targets + !to_itself == num_ranks;
}

static struct traits find_traits(const struct pccl_demand *pattern, const struct pccl__part *part)
{
    struct traits traits = {true, true, true, true, true, true, true, true};
    int64_t least = INT64_MAX, most = 0;
    for (uint32_t i = 0; i < part->num_chunks; i++) {
        const struct pccl_chunk *chunk = &pattern->chunks[part->chunks[i]];
        bool one = chunk->num_sources == 1, all = chunk->num_targets == part->num_ranks;
        traits.from_one = traits.from_one && one;
        traits.from_all = traits.from_all && chunk->num_sources == part->num_ranks;
        traits.to_one = traits.to_one && chunk->num_targets == 1;
        traits.to_all = traits.to_all && (all || (one && reaches_all(pattern, chunk, part->num_ranks)));
        traits.same_source = traits.same_source && one &&
                             source_of(pattern, part->chunks[i]) == source_of(pattern, part->chunks[0]);
        traits.same_target = traits.same_target && chunk->num_targets == 1 &&
                             target_of(pattern, part->chunks[i]) == target_of(pattern, part->chunks[0]);
        least = chunk->bytes < least ? chunk->bytes : least;
        most = chunk->bytes > most ? chunk->bytes : most;
    }
    traits.equal = least == most;
    traits.nearly_equal = most - least <= 1;
    return traits;
}

/* PCCL_CUSTOM: none. */
static enum pccl_collective name_collective(const struct pccl_demand *pattern, const struct pccl__part *part)
{
    struct traits traits = find_traits(pattern, part);
    if (pattern->reduces) {
        return !traits.from_all                           ? PCCL_CUSTOM
               : traits.to_all && traits.nearly_equal      ? PCCL_ALLREDUCE
               : traits.same_target && traits.nearly_equal ? PCCL_REDUCE
               : traits.to_one                             ? PCCL_REDUCE_SCATTER
                                                           : PCCL_CUSTOM;
    }
    if (!traits.from_one) {
        return PCCL_CUSTOM;
    }
    bool pair = part->num_ranks == 2; /* one target is all others */
    if (traits.to_all && !(pair && traits.same_source && part->num_chunks > 1)) {
        return traits.same_source && traits.nearly_equal ? PCCL_BROADCAST : PCCL_ALLGATHER;
    }
    return !traits.to_one        ? PCCL_CUSTOM
           : traits.same_source ? PCCL_SCATTER
           : traits.same_target ? PCCL_GATHER
                                : PCCL_ALLTOALL;
}

static uint32_t place_in(const struct pccl__part *part, uint32_t rank)
{
    uint32_t low = 0, high = part->num_ranks - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (part->ranks[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Which block of the request chunk number i of the part is. */
static uint32_t block_of(const struct pccl_demand *pattern, const struct pccl__part *part, uint32_t i)
{
    uint32_t chunk = part->chunks[i];
    switch (part->request.collective) {
    case PCCL_ALLGATHER:
    case PCCL_GATHER:
        return place_in(part, source_of(pattern, chunk));
    case PCCL_SCATTER:
    case PCCL_REDUCE_SCATTER:
        return place_in(part, target_of(pattern, chunk));
    case PCCL_ALLTOALL:
        return place_in(part, source_of(pattern, chunk)) * part->num_ranks +
               place_in(part, target_of(pattern, chunk));
    default: /* one block, cut into the part's chunks */
        return i;
    }
}

static uint32_t count_blocks(const struct pccl__part *part)
{
    enum pccl_collective collective = part->request.collective;
    bool one = collective == PCCL_ALLREDUCE || collective == PCCL_REDUCE || collective == PCCL_BROADCAST;
    return one                           ? 1
           : collective == PCCL_ALLTOALL ? part->num_ranks * part->num_ranks
                                         : part->num_ranks;
}

/* How many blocks stay at home, at most. */
static uint32_t count_at_home(const struct pccl__part *part)
{
    enum pccl_collective collective = part->request.collective;
    return collective == PCCL_ALLTOALL                              ? part->num_ranks
           : collective == PCCL_GATHER || collective == PCCL_SCATTER ? 1
                                                                     : 0;
}

/* Gives each block its chunk; false unless every block that travels has exactly one. */
static bool assign_blocks(const struct pccl_demand *pattern, struct pccl__part *part, uint32_t num_blocks)
{
    memset(part->chunk_of, 0xff, (size_t)num_blocks * part->cut * sizeof *part->chunk_of);
    for (uint32_t i = 0; i < part->num_chunks; i++) {
        uint32_t block = block_of(pattern, part, i);
        int64_t bytes = pattern->chunks[part->chunks[i]].bytes;
        if (part->chunk_of[block] != PCCL_NONE) {
            return false;
        }
        part->chunk_of[block] = part->chunks[i];
        part->block_bytes[block / part->cut] += bytes;
    }
    return part->num_chunks + count_at_home(part) >= num_blocks * part->cut;
}

int pccl__part_recognise(const struct pccl__problem *problem, struct pccl__part *part, struct pccl_error *error)
{
    const struct pccl_demand *pattern = problem->request->custom;
    enum pccl_collective collective = part->num_ranks >= 2 ? name_collective(pattern, part) : PCCL_CUSTOM;
    part->request = (struct pccl_request){.collective = collective,
                                          .num_ranks = part->num_ranks,
                                          .ordered = problem->ordered,
                                          .direct = problem->request->direct};
    if (collective == PCCL_CUSTOM) {
        return pccl__reject(error, "a part of the pattern is no standard collective");
    }
    uint32_t num_blocks = count_blocks(part);
    part->cut = num_blocks == 1 ? part->num_chunks : 1;
    part->devices = pccl__array_new(part->num_ranks, sizeof *part->devices);
    part->block_bytes = pccl__array_new(num_blocks, sizeof *part->block_bytes);
    part->chunk_of = pccl__array_new((size_t)num_blocks * part->cut, sizeof *part->chunk_of);
    if (part->devices == NULL || part->block_bytes == NULL || part->chunk_of == NULL) {
        return pccl__fail_memory(error);
    }
    for (uint32_t i = 0; i < part->num_ranks; i++) {
        part->devices[i] = problem->request->devices[part->ranks[i]];
    }
    if (!assign_blocks(pattern, part, num_blocks)) {
        return pccl__reject(error, "a part of the pattern is no standard collective");
    }
    bool to_root = collective == PCCL_REDUCE || collective == PCCL_GATHER;
    part->request.root = !pccl_collective_is_rooted(collective) ? 0
                         : place_in(part, to_root ? target_of(pattern, part->chunks[0])
                                                  : source_of(pattern, part->chunks[0]));
    part->request.devices = part->devices;
    part->request.bytes = num_blocks == 1 ? part->block_bytes[0] : pattern->chunks[part->chunks[0]].bytes;
    bool equal = num_blocks == 1 || find_traits(pattern, part).equal;
    part->request.block_bytes = equal ? NULL : part->block_bytes;
    return 0;
}
