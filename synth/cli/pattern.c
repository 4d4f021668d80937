/* Pattern: one collective in several groups at once. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

struct merge {
    struct pccl_demand *pattern;
    struct pccl_chunk *chunks;
    uint32_t room;
};

/* Chunks that never leave home need no plan. */
static bool stays(const struct pccl_demand *demand, const struct pccl_chunk *chunk)
{
    return chunk->num_sources == 1 && chunk->num_targets == 1 &&
           demand->holders[chunk->first_source] == demand->holders[chunk->first_target];
}

/* Adds the chunks of a standard demand whose ranks begin at `base`. The holders of a standard chunk are neighbouring
 * ranks, so that one pool 0, 1, 2 ... serves all. */
static int add_demand(struct merge *merge, const struct pccl_demand *demand, uint32_t base)
{
    uint64_t needed = (uint64_t)merge->pattern->num_chunks + demand->num_chunks;
    if (needed > PCCL_MAX_CHUNKS) {
        return PCCL_ERR_OVERFLOW;
    }
    if (needed > merge->room) {
        struct pccl_chunk *grown = realloc(merge->chunks, (size_t)needed * 2 * sizeof(*grown));
        if (!grown) {
            return PCCL_ERR_MEMORY;
        }
        merge->chunks = grown;
        merge->room = (uint32_t)needed * 2;
    }
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        struct pccl_chunk chunk = demand->chunks[c];
        if (stays(demand, &chunk)) {
            continue;
        }
        chunk.first_source = base + demand->holders[chunk.first_source];
        chunk.first_target = base + demand->holders[chunk.first_target];
        merge->chunks[merge->pattern->num_chunks++] = chunk;
    }
    merge->pattern->reduces = demand->reduces;
    merge->pattern->ordered = demand->ordered;
    return PCCL_SUCCESS;
}

static int add_group(struct merge *merge, const struct pccl_request *request, const struct cli_group *group, uint32_t g,
                     struct pccl_error *error)
{
    struct pccl_request own = *request;
    struct pccl_demand *demand = NULL;
    if (pccl_collective_is_prefix(own.collective)) {
        snprintf(error->message, sizeof(error->message),
                 "%s is no pattern of chunks, and several groups at once are planned as one; expected one group",
                 pccl_collective_name(own.collective));
        return PCCL_ERR_UNSUPPORTED;
    }
    own.num_ranks = group->first[g + 1] - group->first[g];
    own.devices = group->devices + group->first[g];
    /* An all-reduce is combined block by block, each at another rank. */
    uint32_t pieces = own.collective == PCCL_ALLREDUCE ? own.num_ranks : 1;
    int status = pccl_demand_create(&own, pieces, &demand, error);
    if (!status) {
        status = add_demand(merge, demand, group->first[g]);
    }
    pccl_demand_free(demand);
    return status;
}

int cli_pattern_create(const struct pccl_request *request, const struct cli_group *group, struct pccl_demand **pattern,
                       struct pccl_error *error)
{
    struct merge merge = {.pattern = calloc(1, sizeof(struct pccl_demand))};
    uint32_t *holders = malloc((size_t)group->num_devices * sizeof(*holders));
    int status = merge.pattern && holders ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    for (uint32_t rank = 0; !status && rank < group->num_devices; rank++) {
        holders[rank] = rank;
    }
    for (uint32_t g = 0; !status && g < group->num_groups; g++) {
        status = add_group(&merge, request, group, g, error);
    }
    if (status) {
        free(merge.chunks);
        free(holders);
        free(merge.pattern);
        return status;
    }
    merge.pattern->collective = PCCL_CUSTOM;
    merge.pattern->num_ranks = group->num_devices;
    merge.pattern->pieces = 1;
    merge.pattern->chunks = merge.chunks;
    merge.pattern->num_holders = group->num_devices;
    merge.pattern->holders = holders;
    *pattern = merge.pattern;
    return PCCL_SUCCESS;
}

void cli_pattern_free(struct pccl_demand *pattern)
{
    if (!pattern) {
        return;
    }
    free((void *)(uintptr_t)pattern->chunks);
    free((void *)(uintptr_t)pattern->holders);
    free(pattern);
}
