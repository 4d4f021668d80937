/* Replays a schedule chunk by chunk: chunks do not influence each other, so a pass over the messages of one chunk needs
 * no more than one value per vertex, however many chunks there are. */
#include "pccl/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check/fixed_tree.h"

/* A value: what a vertex holds of the chunk at hand. Plain chunks: HELD; reductions: an expression. */
#define HELD 0

struct replay {
    const struct pccl_topology *topology;
    const struct pccl_schedule *schedule;
    struct pccl_error *error;
    uint32_t *rank;        /* [num_vertices] rank of a device, PCCL_NONE outside the group */
    uint32_t *first_entry; /* [num_chunks + 2] into entries */
    uint32_t *entries;     /* message numbers by chunk, ascending */
    uint32_t *value;       /* [num_vertices] */
    uint32_t *owner;       /* [num_vertices] chunk that value is about, plus 1 */
    uint32_t *carried;     /* values that the messages of one step carry */
    uint32_t carried_room;
    struct pccl__expressions expressions;
    uint32_t num_leaves; /* its first so many nodes are contributions, which are the same for every chunk */
    struct pccl__fixed_tree tree; /* of a reproducible demand */
};

/* --- structure ---------------------------------------------------------------------------------------------------- */

static int check_end(const struct replay *replay, uint32_t path, uint32_t vertex, bool relays)
{
    const struct pccl_topology *topology = replay->topology;
    if (vertex < topology->num_devices) {
        if (replay->rank[vertex] != PCCL_NONE || relays) {
            return 0;
        }
        return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                          "path %u ends at device %u (%s), which is outside the process group; relays are not allowed",
                          path, vertex, topology->vertices[vertex].name);
    }
    if (topology->vertices[vertex].multicast) {
        return 0;
    }
    return pccl__fail(replay->error, PCCL_ERR_VERIFY, "path %u ends at switch %u (%s), which can only forward", path,
                      vertex, topology->vertices[vertex].name);
}

static int check_path(const struct replay *replay, uint32_t number, bool relays)
{
    const struct pccl_topology *topology = replay->topology;
    const struct pccl_schedule *schedule = replay->schedule;
    const struct pccl_path *path = &schedule->paths[number];
    if (path->num_links == 0 || (uint64_t)path->first_link + path->num_links > schedule->num_path_links) {
        return pccl__fail(replay->error, PCCL_ERR_VERIFY, "path %u has %u links from entry %u of a list of %u", number,
                          path->num_links, path->first_link, schedule->num_path_links);
    }
    uint32_t vertex = path->source;
    for (uint32_t i = 0; i < path->num_links; i++) {
        uint32_t link = schedule->path_links[path->first_link + i];
        if (link >= topology->num_links) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY, "path %u uses link %u; the topology has %u links", number,
                              link, topology->num_links);
        }
        if (topology->links[link].source != vertex) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY, "path %u is broken: link %u leaves vertex %u, not %u",
                              number, link, topology->links[link].source, vertex);
        }
        if (i > 0 && vertex < topology->num_devices && !pccl_topology_devices_forward(topology)) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                              "path %u runs through device %u (%s), which does not forward", number, vertex,
                              topology->vertices[vertex].name);
        }
        vertex = topology->links[link].target;
    }
    if (vertex != path->target || path->source == path->target) {
        return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                          "path %u should lead from vertex %u to another, %u, but ends at %u", number, path->source,
                          path->target, vertex);
    }
    int status = check_end(replay, number, path->source, relays);
    return status != 0 ? status : check_end(replay, number, path->target, relays);
}

static bool list_exists(const struct pccl_schedule *schedule, uint32_t number)
{
    return number < schedule->num_lists && schedule->lists[number].count > 0 &&
           (uint64_t)schedule->lists[number].first + schedule->lists[number].count <= schedule->num_list_chunks;
}

static int check_message(const struct replay *replay, uint32_t number)
{
    const struct pccl_schedule *schedule = replay->schedule;
    const struct pccl_message *message = &schedule->messages[number];
    struct pccl_error *error = replay->error;
    if (number > 0 && message->step < schedule->messages[number - 1].step) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u has step %u after step %u; messages are sorted by step",
                          number, message->step, schedule->messages[number - 1].step);
    }
    if (message->path >= schedule->num_paths) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u uses path %u of %u", number, message->path,
                          schedule->num_paths);
    }
    if (message->reduce && !schedule->demand->reduces) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u combines, but nothing is to be reduced", number);
    }
    if (message->reduce && schedule->paths[message->path].target >= replay->topology->num_devices) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u combines at a switch", number);
    }
    if (message->list && !list_exists(schedule, message->payload)) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u has chunk list %u, which does not exist or is empty",
                          number, message->payload);
    }
    uint32_t count;
    const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (chunks[i] >= schedule->demand->num_chunks || (i > 0 && chunks[i] <= chunks[i - 1])) {
            return pccl__fail(error, PCCL_ERR_VERIFY,
                              "message %u carries chunk %u at position %u; different chunks below %u in "
                              "ascending order are expected",
                              number, chunks[i], i, schedule->demand->num_chunks);
        }
    }
    return 0;
}

/* Everything that later passes rely on to stay within their arrays. */
static int check_structure(const struct replay *replay, bool relays)
{
    const struct pccl_schedule *schedule = replay->schedule;
    int status = 0;
    for (uint32_t i = 0; i < schedule->num_paths && status == 0; i++) {
        status = check_path(replay, i, relays);
    }
    for (uint32_t i = 0; i < schedule->num_messages && status == 0; i++) {
        status = check_message(replay, i);
    }
    return status;
}

/* --- messages by chunk -------------------------------------------------------------------------------------------- */

static int sort_by_chunk(struct replay *replay)
{
    const struct pccl_schedule *schedule = replay->schedule;
    uint32_t num_chunks = schedule->demand->num_chunks, count;
    uint32_t *first = replay->first_entry = pccl__array_new((size_t)num_chunks + 2, sizeof *first);
    if (first == NULL) {
        return pccl__fail_memory(replay->error);
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        const uint32_t *chunks = pccl_message_chunks(schedule, &schedule->messages[i], &count);
        for (uint32_t j = 0; j < count; j++) {
            first[chunks[j] + 2]++;
        }
        total += count;
    }
    if (total >= UINT32_MAX) {
        return pccl__fail(replay->error, PCCL_ERR_OVERFLOW,
                          "the schedule carries chunks %llu times; at most 2^32-1 can be verified",
                          (unsigned long long)total);
    }
    for (uint32_t i = 0; i <= num_chunks; i++) {
        first[i + 1] += first[i];
    }
    replay->entries = pccl__array_new((size_t)total, sizeof *replay->entries);
    if (replay->entries == NULL) {
        return pccl__fail_memory(replay->error);
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        const uint32_t *chunks = pccl_message_chunks(schedule, &schedule->messages[i], &count);
        for (uint32_t j = 0; j < count; j++) {
            replay->entries[first[chunks[j] + 1]++] = i;
        }
    }
    return 0;
}

/* --- replay ------------------------------------------------------------------------------------------------------- */

static uint32_t value_at(const struct replay *replay, uint32_t chunk, uint32_t vertex)
{
    return replay->owner[vertex] == chunk + 1 ? replay->value[vertex] : PCCL_NONE;
}

static void set_value(struct replay *replay, uint32_t chunk, uint32_t vertex, uint32_t value)
{
    replay->owner[vertex] = chunk + 1;
    replay->value[vertex] = value;
}

static int start_chunk(struct replay *replay, uint32_t number)
{
    const struct pccl_demand *demand = replay->schedule->demand;
    const struct pccl_chunk *chunk = &demand->chunks[number];
    uint32_t kept = replay->num_leaves < chunk->num_sources ? replay->num_leaves : chunk->num_sources;
    if (demand->reduces) {
        pccl__expressions_reset(&replay->expressions, kept);
        replay->num_leaves = chunk->num_sources;
    }
    for (uint32_t i = 0; i < chunk->num_sources; i++) {
        uint32_t value = !demand->reduces ? HELD
                         : i < kept       ? i
                                          : pccl__expressions_leaf(&replay->expressions, number, i);
        if (value == PCCL_NONE) {
            return pccl__fail_memory(replay->error);
        }
        if (demand->collective != PCCL_EXSCAN) {
            set_value(replay, number, demand->devices[demand->holders[chunk->first_source + i]], value);
        }
    }
    return 0;
}

/* Combines what a message brings with what its receiver has, or what its sender has with its own contribution. */
static int combine(struct replay *replay, uint32_t message, uint32_t chunk, uint32_t vertex, uint32_t held,
                   uint32_t brought, uint32_t *value)
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
    *value = pccl__expressions_combine(expressions, left, right);
    return *value != PCCL_NONE ? 0 : pccl__fail_memory(replay->error);
}

/* What a message carries of the chunk: its sender's state; in an exscan together with the sender's contribution, which
 * is the leaf at its rank. */
static int carry(struct replay *replay, uint32_t message, uint32_t chunk, uint32_t vertex, uint32_t *value)
{
    const struct pccl_demand *demand = replay->schedule->demand;
    uint32_t own = demand->collective == PCCL_EXSCAN && vertex < replay->topology->num_devices ? replay->rank[vertex]
                                                                                               : PCCL_NONE;
    *value = value_at(replay, chunk, vertex);
    if (own >= demand->chunks[chunk].num_sources) {
        return 0;
    }
    if (*value == PCCL_NONE) {
        *value = own;
        return 0;
    }
    return combine(replay, message, chunk, vertex, *value, own, value);
}

/* The chunk's messages of one step: all are read before any is delivered. */
static int replay_step(struct replay *replay, uint32_t chunk, const uint32_t *numbers, uint32_t count)
{
    const struct pccl_schedule *schedule = replay->schedule;
    uint32_t *carried = pccl__array_grow(replay->carried, &replay->carried_room, count, sizeof *carried);
    if (carried == NULL) {
        return pccl__fail_memory(replay->error);
    }
    replay->carried = carried;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t source = schedule->paths[schedule->messages[numbers[i]].path].source;
        int status = carry(replay, numbers[i], chunk, source, &carried[i]);
        if (status != 0) {
            return status;
        }
        if (carried[i] == PCCL_NONE) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY,
                              "message %u (step %u) carries chunk %u, which its sender, vertex %u (%s), does not have",
                              numbers[i], schedule->messages[numbers[i]].step, chunk, source,
                              replay->topology->vertices[source].name);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct pccl_message *message = &schedule->messages[numbers[i]];
        uint32_t target = schedule->paths[message->path].target, held = value_at(replay, chunk, target);
        uint32_t value = carried[i];
        if (message->reduce && held != PCCL_NONE) {
            int status = combine(replay, numbers[i], chunk, target, held, carried[i], &value);
            if (status != 0) {
                return status;
            }
        }
        set_value(replay, chunk, target, value);
    }
    return 0;
}

static int check_targets(const struct replay *replay, uint32_t number)
{
    const struct pccl_demand *demand = replay->schedule->demand;
    const struct pccl_chunk *chunk = &demand->chunks[number];
    const uint32_t *targets = demand->holders + chunk->first_target;
    uint32_t first = value_at(replay, number, demand->devices[targets[0]]);
    for (uint32_t i = 0; i < chunk->num_targets; i++) {
        uint32_t value = value_at(replay, number, demand->devices[targets[i]]);
        if (value == PCCL_NONE) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY, "rank %u never gets chunk %u", targets[i], number);
        }
        uint32_t wanted = pccl_demand_num_operands(demand, number, targets[i]);
        if (demand->reduces && !pccl__expressions_is_prefix(&replay->expressions, value, wanted)) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY, "rank %u ends with %u of %u contributions to chunk %u",
                              targets[i], replay->expressions.nodes[value].count, wanted, number);
        }
        if (value != first && !pccl_collective_is_prefix(demand->collective)) {
            return pccl__fail(replay->error, PCCL_ERR_VERIFY, "ranks %u and %u combine chunk %u in different orders",
                              targets[0], targets[i], number);
        }
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

static int replay_chunk(struct replay *replay, uint32_t chunk)
{
    const struct pccl_message *messages = replay->schedule->messages;
    uint32_t begin = replay->first_entry[chunk], last = replay->first_entry[chunk + 1];
    int status = start_chunk(replay, chunk);
    while (begin < last && status == 0) {
        uint32_t end = begin + 1;
        while (end < last && messages[replay->entries[end]].step == messages[replay->entries[begin]].step) {
            end++;
        }
        status = replay_step(replay, chunk, replay->entries + begin, end - begin);
        begin = end;
    }
    status = status == 0 ? check_targets(replay, chunk) : status;
    return status == 0 && replay->schedule->demand->reproducible ? check_tree(replay, chunk) : status;
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
    replay->value = pccl__array_new(topology->num_vertices, sizeof *replay->value);
    replay->owner = pccl__array_new(topology->num_vertices, sizeof *replay->owner);
    if (replay->rank == NULL || replay->value == NULL || replay->owner == NULL) {
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
        status = check_structure(&replay, relays);
    }
    if (status == 0) {
        status = sort_by_chunk(&replay);
    }
    for (uint32_t chunk = 0; chunk < schedule->demand->num_chunks && status == 0; chunk++) {
        status = replay_chunk(&replay, chunk);
    }
    free(replay.rank);
    free(replay.first_entry);
    free(replay.entries);
    free(replay.value);
    free(replay.owner);
    free(replay.carried);
    pccl__fixed_tree_close(&replay.tree);
    pccl__expressions_free(&replay.expressions);
    return status;
}
