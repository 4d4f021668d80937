/* Where the chunks of a demand lie in the input and the output of a rank. */
#include "pccl/demand.h"

uint32_t pccl_demand_num_input_slots(const struct pccl_demand *demand, uint32_t rank)
{
    uint32_t pieces = demand->pieces;
    switch (demand->collective) {
    case PCCL_ALLGATHER:
    case PCCL_GATHER:
    case PCCL_REDUCE:
    case PCCL_ALLREDUCE:
    case PCCL_SCAN:
        return pieces;
    case PCCL_EXSCAN:
        return rank + 1 < demand->num_ranks ? pieces : 0;
    case PCCL_REDUCE_SCATTER:
    case PCCL_ALLTOALL:
        return demand->num_ranks * pieces;
    case PCCL_SCATTER:
        return rank == demand->root ? demand->num_chunks : 0;
    case PCCL_BROADCAST:
        return rank == demand->root ? pieces : 0;
    case PCCL_CUSTOM:
        return demand->num_blocks[rank] * pieces;
    default:
        return 0;
    }
}

uint32_t pccl_demand_num_output_slots(const struct pccl_demand *demand, uint32_t rank)
{
    uint32_t pieces = demand->pieces;
    switch (demand->collective) {
    case PCCL_ALLGATHER:
    case PCCL_ALLTOALL:
        return demand->num_ranks * pieces;
    case PCCL_GATHER:
        return rank == demand->root ? demand->num_chunks : 0;
    case PCCL_REDUCE:
        return rank == demand->root ? pieces : 0;
    case PCCL_SCATTER:
    case PCCL_REDUCE_SCATTER:
    case PCCL_BROADCAST:
    case PCCL_ALLREDUCE:
    case PCCL_SCAN:
        return pieces;
    case PCCL_EXSCAN:
        return rank > 0 ? pieces : 0;
    case PCCL_CUSTOM:
        return demand->num_blocks[demand->num_ranks + rank] * pieces;
    default:
        return 0;
    }
}

/* Slot of a custom chunk at a rank: its place among the rank's own was counted at the start. */
static uint32_t custom_slot(const struct pccl_demand *demand, uint32_t chunk, uint32_t first, uint32_t count,
                            uint32_t rank)
{
    uint32_t low = first, high = first + count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (demand->holders[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == first + count || demand->holders[low] != rank) {
        return PCCL_NONE;
    }
    return demand->holder_slots[low] * demand->pieces + chunk % demand->pieces;
}

uint32_t pccl_demand_input_slot(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank)
{
    uint32_t pieces = demand->pieces, block = chunk / pieces, piece = chunk % pieces;
    switch (demand->collective) {
    case PCCL_ALLGATHER:
    case PCCL_GATHER:
        return block == rank ? piece : PCCL_NONE;
    case PCCL_ALLTOALL:
        return block / demand->num_ranks == rank ? chunk - rank * demand->num_ranks * pieces : PCCL_NONE;
    case PCCL_SCATTER:
    case PCCL_BROADCAST:
        return rank == demand->root ? chunk : PCCL_NONE;
    case PCCL_REDUCE_SCATTER:
    case PCCL_REDUCE:
    case PCCL_ALLREDUCE:
    case PCCL_SCAN:
        return chunk;
    case PCCL_EXSCAN:
        return rank + 1 < demand->num_ranks ? chunk : PCCL_NONE;
    case PCCL_CUSTOM: {
        const struct pccl_chunk *held = &demand->chunks[chunk];
        return custom_slot(demand, chunk, held->first_source, held->num_sources, rank);
    }
    default:
        return PCCL_NONE;
    }
}

uint32_t pccl_demand_output_slot(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank)
{
    uint32_t pieces = demand->pieces, block = chunk / pieces, piece = chunk % pieces;
    switch (demand->collective) {
    case PCCL_ALLGATHER:
    case PCCL_BROADCAST:
    case PCCL_ALLREDUCE:
    case PCCL_SCAN:
        return chunk;
    case PCCL_EXSCAN:
        return rank > 0 ? chunk : PCCL_NONE;
    case PCCL_GATHER:
    case PCCL_REDUCE:
        return rank == demand->root ? chunk : PCCL_NONE;
    case PCCL_SCATTER:
    case PCCL_REDUCE_SCATTER:
        return block == rank ? piece : PCCL_NONE;
    case PCCL_ALLTOALL:
        return block % demand->num_ranks == rank ? block / demand->num_ranks * pieces + piece : PCCL_NONE;
    case PCCL_CUSTOM: {
        const struct pccl_chunk *held = &demand->chunks[chunk];
        return custom_slot(demand, chunk, held->first_target, held->num_targets, rank);
    }
    default:
        return PCCL_NONE;
    }
}

uint32_t pccl_demand_aliased_input_slot(const struct pccl_demand *demand, uint32_t slot, uint32_t rank)
{
    uint32_t pieces = demand->pieces;
    switch (demand->collective) {
    case PCCL_ALLGATHER:
        return slot / pieces == rank ? slot % pieces : PCCL_NONE;
    case PCCL_GATHER:
        return rank == demand->root && slot / pieces == rank ? slot % pieces : PCCL_NONE;
    case PCCL_SCATTER:
        return rank == demand->root ? rank * pieces + slot : PCCL_NONE;
    case PCCL_BROADCAST:
    case PCCL_REDUCE:
        return rank == demand->root ? slot : PCCL_NONE;
    case PCCL_ALLREDUCE:
    case PCCL_SCAN:
        return slot;
    default:
        return PCCL_NONE;
    }
}

uint32_t pccl_demand_num_operands(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank)
{
    switch (demand->collective) {
    case PCCL_SCAN:
        return rank + 1;
    case PCCL_EXSCAN:
        return rank;
    default:
        return demand->chunks[chunk].num_sources;
    }
}
