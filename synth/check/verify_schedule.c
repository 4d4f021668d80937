/* Replays a schedule block by block of chunks: chunks do not influence each other, so a pass over the messages that
 * carry some of a block needs no more than a value per vertex and chunk of the block, however many chunks there are. */
#include "pccl/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/fixed_tree.h"
#include "check/structure.h"
#include "schedule/chunks.h"

#define MOST_HOLDINGS (1u << 14) /* of a block that has several chunks: few enough to stay in the processor's cache */

/* What a vertex holds of a chunk. Plain chunks: HELD; reductions: an expression. */
#define HELD 0

struct holding {
    uint32_t stamp; /* of the block that value is about: those of other blocks need not be cleared */
    uint32_t value;
};

struct replay {
    const struct pccl_topology *topology;
    const struct pccl_schedule *schedule;
    struct pccl_error *error;
    uint32_t *rank;            /* [num_vertices] rank of a device, PCCL_NONE outside the group */
    uint32_t block_log;        /* a block has 2^block_log chunks */
    uint32_t num_blocks;
    uint32_t first_chunk;      /* of the block at hand */
    uint32_t stamp;            /* its number, plus 1 */
    struct holding *holdings;  /* [num_vertices << block_log] */
    uint32_t *first_entry;     /* [num_blocks + 2] into entries; NULL if there is one block, of all messages */
    uint32_t *entries;         /* numbers of the messages that carry chunks of a block, ascending */
    uint32_t *carried;         /* values that the messages of one step carry */
    uint32_t num_carried, carried_room;
    struct pccl__expressions expressions;
    uint32_t num_leaves; /* its first so many nodes are contributions, which are the same for every chunk */
    uint32_t held, brought, combined; /* what was combined last: the chunks of a message are mostly alike */
    struct pccl__fixed_tree tree; /* of a reproducible demand */
};

/* --- messages by block -------------------------------------------------------------------------------------------- */

static void choose_blocks(struct replay *replay)
{
    uint32_t num_chunks = replay->schedule->demand->num_chunks;
    while (num_chunks > 1 && (num_chunks - 1) >> replay->block_log != 0 &&
           (uint64_t)replay->topology->num_vertices << (replay->block_log + 1) <= MOST_HOLDINGS) {
        replay->block_log++;
    }
    replay->num_blocks = (uint32_t)(((uint64_t)num_chunks + (1u << replay->block_log) - 1) >> replay->block_log);
}

/* Counts the blocks of a message's chunks in next[block], or puts the message there if entries are given. */
static void enter_message(const struct replay *replay, uint32_t number, uint32_t *next, uint32_t *entries)
{
    uint32_t count, previous = PCCL_NONE;
    const uint32_t *chunks = pccl__message_chunks(replay->schedule, &replay->schedule->messages[number], &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = chunks[i] >> replay->block_log;
        if (block != previous && entries != NULL) {
            entries[next[block]] = number;
        }
        next[block] += block != previous;
        previous = block;
    }
}

static int sort_by_block(struct replay *replay)
{
    const struct pccl_schedule *schedule = replay->schedule;
    uint64_t total = 0;
    if (replay->num_blocks <= 1) {
        return 0;
    }
    uint32_t *first = replay->first_entry = pccl__array_new((size_t)replay->num_blocks + 2, sizeof *first);
    if (first == NULL) {
        return pccl__fail_memory(replay->error);
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        enter_message(replay, i, first + 2, NULL);
    }
    for (uint32_t i = 0; i < replay->num_blocks; i++) {
        total += first[i + 2];
        first[i + 2] = (uint32_t)total;
    }
    if (total >= UINT32_MAX) {
        return pccl__fail(replay->error, PCCL_ERR_OVERFLOW,
                          "the schedule carries chunks %llu times; at most 2^32-1 can be verified",
                          (unsigned long long)total);
    }
    replay->entries = pccl__array_new((size_t)total, sizeof *replay->entries);
    if (replay->entries == NULL) {
        return pccl__fail_memory(replay->error);
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        enter_message(replay, i, first + 1, replay->entries);
    }
    return 0;
}

/* Number i among the messages of the block at hand. */
static uint32_t message_at(const struct replay *replay, uint32_t i)
{
    return replay->entries != NULL ? replay->entries[i] : i;
}

/* The chunks of the block at hand that a message carries. */
static const uint32_t *find_section(const struct replay *replay, uint32_t number, uint32_t *count)
{
    uint32_t begin = 0, end;
    const uint32_t *chunks = pccl__message_chunks(replay->schedule, &replay->schedule->messages[number], &end);
    if (replay->entries != NULL && end > 1) {
        uint32_t high = end, block = replay->first_chunk >> replay->block_log;
        while (begin < high) {
            uint32_t middle = begin + (high - begin) / 2;
            if (chunks[middle] < replay->first_chunk) {
                begin = middle + 1;
            } else {
                high = middle;
            }
        }
        for (high = begin; high < end && chunks[high] >> replay->block_log == block;) {
            high++;
        }
        end = high;
    }
    *count = end - begin;
    return chunks + begin;
}

/* --- replay ------------------------------------------------------------------------------------------------------- */

/* What a vertex holds of the chunks of the block, the first one's first. */
static struct holding *holdings_of(const struct replay *replay, uint32_t vertex)
{
    return replay->holdings + ((size_t)vertex << replay->block_log);
}

static uint32_t value_at(const struct replay *replay, uint32_t chunk, uint32_t vertex)
{
    struct holding holding = holdings_of(replay, vertex)[chunk - replay->first_chunk];
    return holding.stamp == replay->stamp ? holding.value : PCCL_NONE;
}

static int start_chunk(struct replay *replay, uint32_t number)
{
    const struct pccl_demand *demand = replay->schedule->demand;
    const struct pccl_chunk *chunk = &demand->chunks[number];
    for (; demand->reduces && replay->num_leaves < chunk->num_sources; replay->num_leaves++) {
        if (pccl__expressions_leaf(&replay->expressions, number, replay->num_leaves) == PCCL_NONE) {
            return pccl__fail_memory(replay->error);
        }
    }
    for (uint32_t i = 0; i < chunk->num_sources && demand->collective != PCCL_EXSCAN; i++) {
        uint32_t device = demand->devices[demand->holders[chunk->first_source + i]];
        holdings_of(replay, device)[number - replay->first_chunk] =
            (struct holding){replay->stamp, demand->reduces ? i : HELD};
    }
    return 0;
}

/* Combines what a message brings with what its receiver has, or what its sender has with its own contribution: in
 * replay->combined. */
static int combine(struct replay *replay, uint32_t message, uint32_t chunk, uint32_t vertex, uint32_t held,
                   uint32_t brought)
{
    struct pccl__expressions *expressions = &replay->expressions;
    const struct pccl_demand *demand = replay->schedule->demand;
    uint32_t common = pccl__expressions_overlap(expressions, held, brought);
    if (common != PCCL_NONE) {
        return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                          "message %u brings the contribution of rank %u to chunk %u to vertex %u a second time",
                          message, demand->holders[demand->chunks[chunk].first_source + common], chunk, vertex);
    }
    bool held_first = expressions->nodes[held].low < expressions->nodes[brought].low;
    uint32_t left = held_first ? held : brought, right = held_first ? brought : held;
    if (demand->ordered && expressions->nodes[left].high + 1 != expressions->nodes[right].low) {
        return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                          "message %u combines operands of chunk %u at vertex %u that are not neighbours in rank order",
                          message, chunk, vertex);
    }
    replay->combined = pccl__expressions_combine(expressions, left, right);
    replay->held = held;
    replay->brought = brought;
    return replay->combined != PCCL_NONE ? 0 : pccl__fail_memory(replay->error);
}

/* What a message of an exscan carries: its sender's state together with the sender's contribution, which is the leaf at
 * its rank. */
static int add_own(struct replay *replay, uint32_t message, uint32_t chunk, uint32_t vertex, uint32_t *value)
{
    uint32_t own = vertex < replay->topology->num_devices ? replay->rank[vertex] : PCCL_NONE;
    if (own >= replay->schedule->demand->chunks[chunk].num_sources) {
        return 0;
    }
    if (*value == PCCL_NONE) {
        *value = own;
        return 0;
    }
    int status = combine(replay, message, chunk, vertex, *value, own);
    *value = replay->combined;
    return status;
}

/* Adds what a message carries to the values carried, one for each of its chunks of the block. */
static int read_message(struct replay *replay, uint32_t number)
{
    const struct pccl_schedule *schedule = replay->schedule;
    uint32_t count, source = schedule->paths[schedule->messages[number].path].source;
    uint32_t stamp = replay->stamp, first = replay->first_chunk;
    const uint32_t *chunks = find_section(replay, number, &count);
    const struct holding *holdings = holdings_of(replay, source);
    bool exclusive = schedule->demand->collective == PCCL_EXSCAN;
    uint32_t *carried = pccl__array_grow(replay->carried, &replay->carried_room,
                                         (uint64_t)replay->num_carried + count, sizeof *carried);
    if (carried == NULL) {
        return pccl__fail_memory(replay->error);
    }
    replay->carried = carried;
    carried += replay->num_carried;
    replay->num_carried += count;
    for (uint32_t i = 0; i < count; i++) {
        struct holding holding = holdings[chunks[i] - first];
        uint32_t value = holding.stamp == stamp ? holding.value : PCCL_NONE;
        int status = exclusive ? add_own(replay, number, chunks[i], source, &value) : 0;
        if (status != 0) {
            return status;
        }
        if (value == PCCL_NONE) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                              "message %u (step %u) carries chunk %u, which its sender, vertex %u (%s), does not have",
                              number, schedule->messages[number].step, chunks[i], source,
                              replay->topology->vertices[source].name);
        }
        carried[i] = value;
    }
    return 0;
}

/* What arrives replaces what the receiver has, or combines with it. */
static int deliver_message(struct replay *replay, uint32_t number, uint32_t *num_delivered)
{
    const struct pccl_message *message = &replay->schedule->messages[number];
    uint32_t count, target = replay->schedule->paths[message->path].target;
    uint32_t stamp = replay->stamp, first = replay->first_chunk;
    const uint32_t *chunks = find_section(replay, number, &count), *carried = replay->carried + *num_delivered;
    struct holding *holdings = holdings_of(replay, target);
    *num_delivered += count;
    for (uint32_t i = 0; i < count; i++) {
        struct holding *holding = &holdings[chunks[i] - first];
        uint32_t value = carried[i];
        if (message->reduce && holding->stamp == stamp) {
            bool again = holding->value == replay->held && value == replay->brought;
            int status = again ? 0 : combine(replay, number, chunks[i], target, holding->value, value);
            if (status != 0) {
                return status;
            }
            value = replay->combined;
        }
        *holding = (struct holding){stamp, value};
    }
    return 0;
}

/* Messages first .. end-1 of the block, which are of one step: all are read before any is delivered. */
static int replay_step(struct replay *replay, uint32_t first, uint32_t end)
{
    uint32_t num_delivered = 0;
    int status = 0;
    replay->num_carried = 0;
    for (uint32_t i = first; i < end && status == 0; i++) {
        status = read_message(replay, message_at(replay, i));
    }
    for (uint32_t i = first; i < end && status == 0; i++) {
        status = deliver_message(replay, message_at(replay, i), &num_delivered);
    }
    return status;
}

/* A target's value: there, made of all that it should be, and of nothing else. */
static int check_target(const struct replay *replay, uint32_t number, uint32_t rank, uint32_t value)
{
    const struct pccl_demand *demand = replay->schedule->demand;
    uint32_t wanted = pccl_demand_num_operands(demand, number, rank);
    if (value == PCCL_NONE) {
        return pccl__fail(replay->error, PCCL_ERR_VERIFY, "rank %u never gets chunk %u", rank, number);
    }
    if (demand->reduces && !pccl__expressions_is_prefix(&replay->expressions, value, wanted)) {
        return pccl__fail(replay->error, PCCL_ERR_VERIFY, "rank %u ends with %u of %u contributions to chunk %u", rank,
                          replay->expressions.nodes[value].count, wanted, number);
    }
    return 0;
}

/* Outside scans all targets must end with one value, so that it need be looked at only once. */
static int check_targets(const struct replay *replay, uint32_t number)
{
    const struct pccl_demand *demand = replay->schedule->demand;
    const struct pccl_chunk *chunk = &demand->chunks[number];
    const uint32_t *targets = demand->holders + chunk->first_target;
    bool differ = pccl_collective_is_prefix(demand->collective);
    uint32_t first = PCCL_NONE;
    for (uint32_t i = 0; i < chunk->num_targets; i++) {
        uint32_t value = value_at(replay, number, demand->devices[targets[i]]);
        if (value == first && value != PCCL_NONE && !differ) {
            continue;
        }
        int status = check_target(replay, number, targets[i], value);
        if (status != 0) {
            return status;
        }
        if (i > 0 && !differ) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY, "ranks %u and %u combine chunk %u in different orders",
                              targets[0], targets[i], number);
        }
        first = value;
    }
    return 0;
}

static int check_tree(struct replay *replay, uint32_t number)
{
    const struct pccl_demand *demand = replay->schedule->demand;
    const struct pccl_chunk *chunk = &demand->chunks[number];
    if (!pccl__fixed_tree_grow(&replay->tree, &replay->expressions, demand, number, 0)) {
        return pccl__fail_memory(replay->error);
    }
    for (uint32_t i = 0; i < chunk->num_targets; i++) {
        uint32_t rank = demand->holders[chunk->first_target + i];
        if (value_at(replay, number, demand->devices[rank]) != pccl__fixed_tree_value(&replay->tree, demand, rank)) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                              "rank %u combines chunk %u in another order than by the fixed tree of ranks",
                              rank, number);
        }
    }
    return 0;
}

static int replay_block(struct replay *replay, uint32_t block)
{
    const struct pccl_schedule *schedule = replay->schedule;
    const struct pccl_demand *demand = schedule->demand;
    uint32_t begin = replay->entries != NULL ? replay->first_entry[block] : 0;
    uint32_t last = replay->entries != NULL ? replay->first_entry[block + 1] : schedule->num_messages;
    uint32_t rest = demand->num_chunks - (block << replay->block_log), size = 1u << replay->block_log;
    uint32_t first = replay->first_chunk = block << replay->block_log, end = first + (rest < size ? rest : size);
    int status = 0;
    replay->stamp = block + 1;
    replay->held = replay->brought = PCCL_NONE;
    pccl__expressions_reset(&replay->expressions, replay->num_leaves);
    for (uint32_t chunk = first; chunk < end && status == 0; chunk++) {
        status = start_chunk(replay, chunk);
    }
    while (begin < last && status == 0) {
        uint32_t next = begin + 1, step = schedule->messages[message_at(replay, begin)].step;
        while (next < last && schedule->messages[message_at(replay, next)].step == step) {
            next++;
        }
        status = replay_step(replay, begin, next);
        begin = next;
    }
    for (uint32_t chunk = first; chunk < end && status == 0; chunk++) {
        status = check_targets(replay, chunk);
        status = status == 0 && demand->reproducible ? check_tree(replay, chunk) : status;
    }
    return status;
}

/* --- all together ------------------------------------------------------------------------------------------------- */

static int open_replay(struct replay *replay)
{
    const struct pccl_topology *topology = replay->topology;
    const struct pccl_demand *demand = replay->schedule->demand;
    if (replay->schedule->topology_digest != topology->digest) {
        return pccl__fail(replay->error, PCCL_ERR_VERIFY, "the schedule was made for another topology than \"%s\"",
                          topology->name);
    }
    replay->rank = pccl__array_new(topology->num_vertices, sizeof *replay->rank);
    choose_blocks(replay);
    replay->holdings = pccl__array_new((size_t)topology->num_vertices << replay->block_log, sizeof *replay->holdings);
    if (replay->rank == NULL || replay->holdings == NULL) {
        return pccl__fail_memory(replay->error);
    }
    memset(replay->rank, 0xff, topology->num_vertices * sizeof *replay->rank);
    for (uint32_t i = 0; i < demand->num_ranks; i++) {
        if (demand->devices[i] >= topology->num_devices) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY, "rank %u is on device %u; the topology has %u", i,
                              demand->devices[i], topology->num_devices);
        }
        replay->rank[demand->devices[i]] = i;
    }
    bool complete = !demand->reproducible || pccl__fixed_tree_open(&replay->tree, demand);
    return complete ? 0 : pccl__fail_memory(replay->error);
}

int pccl_verify_schedule(const struct pccl_topology *topology, const struct pccl_schedule *schedule, bool relays,
                         struct pccl_error *error)
{
    struct replay replay = {.topology = topology, .schedule = schedule, .error = error};
    int status = open_replay(&replay);
    if (status == 0) {
        status = pccl__structure_check(&(struct pccl__structure){topology, schedule, replay.rank, relays, error});
    }
    if (status == 0) {
        status = sort_by_block(&replay);
    }
    for (uint32_t block = 0; block < replay.num_blocks && status == 0; block++) {
        status = replay_block(&replay, block);
    }
    free(replay.rank);
    free(replay.first_entry);
    free(replay.entries);
    free(replay.holdings);
    free(replay.carried);
    pccl__fixed_tree_close(&replay.tree);
    pccl__expressions_free(&replay.expressions);
    return status;
}
