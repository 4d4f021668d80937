/* What a plan costs the process that runs it, beyond the network: its operations and their operands. Counted for a gate
 * of a node of each shape. */
#include <stddef.h>

#include "algorithms/hierarchy.h"

/* Messages of one rank of a level, and the chunks in them; what is combined counts three more operands. */
struct count {
    uint64_t messages, chunks;
};

static struct count count_level(const struct pccl__level *level, uint32_t rank)
{
    struct count count = {0, 0};
    for (uint32_t i = 0; i < level->schedule->num_messages; i++) {
        const struct pccl_message *message = &level->schedule->messages[i];
        bool receives = level->target[message->path] == rank, combines = receives && message->reduce;
        if (!receives && level->source[message->path] != rank) {
            continue;
        }
        uint32_t chunks;
        pccl_message_chunks(level->schedule, message, &chunks);
        count.messages += combines ? 2 : 1;
        count.chunks += combines ? 4 * (uint64_t)chunks : chunks;
    }
    return count;
}

static bool has_blocks(const struct pccl__levels *levels)
{
    return levels->demand.num_chunks > levels->demand.pieces;
}

/* Steps between nodes in groups: as many batches, at most, as the level inside is run. */
static uint64_t count_batches(const struct pccl__levels *levels)
{
    return (levels->between.num_steps + levels->window - 1) / levels->window;
}

/* Chunks of the whole that a block inside stands for in one slice, all batches together. */
static uint64_t block_parts(const struct pccl__levels *levels, const struct pccl__inside *inside)
{
    const struct pccl_demand *between = levels->between.schedule->demand;
    if (inside->content == PCCL__MEMBER_BLOCKS) {
        return between->pieces;
    }
    if (!has_blocks(levels)) {
        return between->num_chunks;
    }
    uint64_t parts = (uint64_t)between->num_chunks * levels->nodes->num_ranks / between->num_ranks;
    return inside->content == PCCL__RAIL_BY_GATE ? parts / levels->rails : parts;
}

/* A gate's part in one way of its node. Of blocks by gate, only as many as there are rails are not empty. */
static void add_inside(const struct pccl__levels *levels, const struct pccl__inside *inside, uint32_t size,
                       uint32_t gate, struct pccl__work *work)
{
    if (inside->level.schedule == NULL) {
        return;
    }
    struct count count = count_level(&inside->level, gate);
    uint64_t filled = inside->content == PCCL__RAIL_BY_GATE ? levels->rails : size;
    uint64_t batches = inside->content == PCCL__MEMBER_BLOCKS ? 1 : count_batches(levels);
    work->operations += count.messages * batches * levels->slices;
    work->slots += count.chunks * block_parts(levels, inside) * levels->slices * filled / size /
                   inside->level.schedule->demand->pieces;
}

void pccl__hierarchy_work(const struct pccl__hierarchy *hierarchy, const struct pccl__levels *levels,
                          struct pccl__work *work)
{
    const struct pccl__nodes *nodes = &hierarchy->nodes;
    *work = (struct pccl__work){0, 0};
    for (uint32_t s = 0; s < nodes->num_shapes; s++) {
        uint32_t node = nodes->example[s], size = pccl__node_size(nodes, node);
        uint32_t gate = pccl__levels_gate(levels, node, 0);
        struct count count = count_level(&levels->between, node);
        uint64_t members = has_blocks(levels) ? size / levels->rails : 1;
        struct pccl__work node_work = {count.messages * levels->slices, count.chunks * members * levels->slices};
        add_inside(levels, &levels->inside[s][PCCL__UP], size, gate, &node_work);
        add_inside(levels, &levels->inside[s][PCCL__DOWN], size, gate, &node_work);
        work->operations = node_work.operations > work->operations ? node_work.operations : work->operations;
        work->slots = node_work.slots > work->slots ? node_work.slots : work->slots;
    }
}
