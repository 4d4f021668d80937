/* Requests: what a demand, or the schedule that meets it, was asked for. */
#include <stdlib.h>

#include "cli.h"

/* Bytes of each block: its pieces together. */
static void sum_blocks(const struct pccl_demand *demand, int64_t *block_bytes)
{
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        block_bytes[c / demand->pieces] += demand->chunks[c].bytes;
    }
}

/* All pieces of a block have the sources and targets of the first. */
static int join_pieces(const struct pccl_demand *demand, uint32_t num_blocks, struct cli_request *recovered)
{
    struct pccl_chunk *chunks = malloc((size_t)num_blocks * sizeof(*chunks) + 1);
    if (!chunks) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t b = 0; b < num_blocks; b++) {
        chunks[b] = demand->chunks[(size_t)b * demand->pieces];
        chunks[b].bytes = recovered->block_bytes[b];
    }
    recovered->pattern = *demand;
    recovered->pattern.pieces = 1;
    recovered->pattern.num_chunks = num_blocks;
    recovered->pattern.chunks = chunks;
    recovered->request.custom = &recovered->pattern;
    return PCCL_SUCCESS;
}

/* Blocks of one size need no list. */
static void tell_sizes(uint32_t num_blocks, struct cli_request *recovered)
{
    bool equal = true;
    for (uint32_t b = 1; b < num_blocks; b++) {
        equal = equal && recovered->block_bytes[b] == recovered->block_bytes[0];
    }
    if (equal) {
        recovered->request.bytes = recovered->block_bytes[0];
    } else {
        recovered->request.block_bytes = recovered->block_bytes;
    }
}

int cli_request_of_demand(const struct pccl_demand *demand, struct cli_request *recovered)
{
    uint32_t num_blocks = demand->num_chunks / demand->pieces;
    *recovered = (struct cli_request){.request = {.collective = demand->collective,
                                                  .num_ranks = demand->num_ranks,
                                                  .devices = demand->devices,
                                                  .root = demand->root,
                                                  .ordered = demand->ordered,
                                                  .reproducible = demand->reproducible}};
    recovered->block_bytes = calloc((size_t)num_blocks + 1, sizeof(*recovered->block_bytes));
    if (!recovered->block_bytes) {
        return PCCL_ERR_MEMORY;
    }
    sum_blocks(demand, recovered->block_bytes);
    if (demand->collective == PCCL_CUSTOM) {
        return join_pieces(demand, num_blocks, recovered);
    }
    tell_sizes(num_blocks, recovered);
    return PCCL_SUCCESS;
}

int cli_request_recover(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                        struct cli_request *recovered)
{
    uint32_t relays;
    int status = cli_request_of_demand(schedule->demand, recovered);
    if (!status) {
        status = cli_relays_count(topology, schedule, &relays);
    }
    recovered->request.relays = !status && relays > 0;
    return status;
}

void cli_request_free(struct cli_request *recovered)
{
    free((void *)(uintptr_t)recovered->pattern.chunks);
    free(recovered->block_bytes);
    *recovered = (struct cli_request){0};
}
