/* Lists the messages of a schedule in levels: each message of a level, for each batch, slice and rail it stands for. */
#include "schedule/levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "schedule/ends.h"

/* --- levels ------------------------------------------------------------------------------------------------------- */

int pccl__level_open(struct pccl__level *level, struct pccl_schedule *schedule, struct pccl_error *error)
{
    *level = (struct pccl__level){.schedule = schedule};
    if (schedule->num_messages > 0) {
        level->num_steps = schedule->messages[schedule->num_messages - 1].step + 1;
    }
    int status = pccl__ends_find(schedule, &level->source, &level->target, error);
    if (status == 0 && schedule->demand->reduces) {
        status = pccl__lowest_find(schedule, level->source, level->target, &level->first_lowest, &level->lowest, error);
    }
    return status;
}

void pccl__level_close(struct pccl__level *level)
{
    pccl_schedule_free(level->schedule);
    free(level->source);
    free(level->target);
    free(level->first_lowest);
    free(level->lowest);
    *level = (struct pccl__level){0};
}

void pccl__levels_close_inside(struct pccl__levels *levels)
{
    for (uint32_t s = 0; levels->inside != NULL && s < levels->nodes->num_shapes; s++) {
        pccl__level_close(&levels->inside[s][PCCL__UP].level);
        pccl__level_close(&levels->inside[s][PCCL__DOWN].level);
    }
    free(levels->inside);
    free(levels->between_at);
    levels->inside = NULL;
    levels->between_at = levels->spread_at = NULL;
}

void pccl__levels_close(struct pccl__levels *levels)
{
    pccl__level_close(&levels->between);
    pccl__levels_close_inside(levels);
}

uint32_t pccl__levels_gate(const struct pccl__levels *levels, uint32_t node, uint32_t rail)
{
    const struct pccl__nodes *nodes = levels->nodes;
    uint32_t size = pccl__node_size(nodes, node), root = levels->demand.root;
    uint32_t first = pccl__rail_start(rail, levels->rails, size), end = pccl__rail_start(rail + 1, levels->rails, size);
    bool has_root = pccl_collective_is_rooted(levels->demand.collective) && nodes->node[root] == node &&
                    first <= nodes->position[root] && nodes->position[root] < end;
    return has_root ? nodes->position[root] : first;
}

/* The rail that a position is served by. */
static uint32_t rail_of(const struct pccl__levels *levels, uint32_t node, uint32_t position)
{
    uint64_t size = pccl__node_size(levels->nodes, node);
    return (uint32_t)((((uint64_t)position + 1) * levels->rails - 1) / size);
}

/* --- chunks of the whole ------------------------------------------------------------------------------------------ */

/* A chunk on its way, with its lowest contributor. */
struct item {
    uint32_t chunk, lowest;
};

struct listing {
    const struct pccl__levels *levels;
    bool bare;
    pccl__levels_receiver *receiver;
    void *context;
    struct item *items; /* of the message at hand */
    uint32_t num_items, item_room;
    uint32_t *flat; /* the same as the receiver gets it: chunks, then lowest contributors */
    uint32_t flat_room;
    uint32_t *parts; /* of a batch: the chunks of each block inside a node, one block after the other */
    uint32_t num_parts, part_room;
    uint32_t *first_part; /* [blocks + 1] */
    uint32_t first_part_room;
};

static bool has_blocks(const struct pccl__levels *levels)
{
    const struct pccl_demand *demand = &levels->demand;
    return demand->num_chunks > demand->pieces;
}

static int append(uint32_t **array, uint32_t *count, uint32_t *room, uint32_t value)
{
    uint32_t *grown = pccl__array_grow(*array, room, (uint64_t)*count + 1, sizeof *grown);
    if (grown == NULL) {
        return PCCL_ERR_MEMORY;
    }
    *array = grown;
    grown[(*count)++] = value;
    return 0;
}

/* The piece of each of the application's blocks that a chunk between nodes is in a slice. */
static uint32_t piece_of(const struct pccl__levels *levels, uint32_t slice, uint32_t chunk)
{
    uint32_t pieces = levels->between.schedule->demand->pieces;
    return slice * pieces + chunk % pieces;
}

/* Appends what a chunk between nodes stands for on a rail: a part of the vector, or the blocks of those members of the
 * node it is about that the rail serves. */
static int append_rail(struct listing *listing, uint32_t rail, uint32_t slice, uint32_t chunk)
{
    const struct pccl__levels *levels = listing->levels;
    const struct pccl__nodes *nodes = levels->nodes;
    uint32_t pieces = levels->between.schedule->demand->pieces, piece = piece_of(levels, slice, chunk);
    if (!has_blocks(levels)) {
        return append(&listing->parts, &listing->num_parts, &listing->part_room,
                      rail * levels->slices * pieces + piece);
    }
    uint32_t node = chunk / pieces, size = pccl__node_size(nodes, node);
    int status = 0;
    for (uint32_t p = pccl__rail_start(rail, levels->rails, size);
         p < pccl__rail_start(rail + 1, levels->rails, size) && status == 0; p++) {
        status = append(&listing->parts, &listing->num_parts, &listing->part_room,
                        nodes->members[nodes->first[node] + p] * levels->demand.pieces + piece);
    }
    return status;
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    return (a->chunk > b->chunk) - (a->chunk < b->chunk);
}

/* Chunks between nodes come in order of nodes, which need not be that of ranks. */
static void sort_items(struct item *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (items[i].chunk < items[i - 1].chunk) {
            qsort(items, count, sizeof *items, compare_items);
            return;
        }
    }
}

/* Takes the parts from `first` on into the message at hand. */
static int take_parts(struct listing *listing, uint32_t first, uint32_t end, uint32_t lowest)
{
    struct item *items = pccl__array_grow(listing->items, &listing->item_room,
                                          (uint64_t)listing->num_items + (end - first) + 1, sizeof *items);
    if (items == NULL) {
        return PCCL_ERR_MEMORY;
    }
    listing->items = items;
    for (uint32_t i = first; i < end; i++) {
        items[listing->num_items++] = (struct item){listing->parts[i], lowest};
    }
    return 0;
}

/* Hands the message at hand to the receiver. Blocks that do not exist are not sent. */
static int hand_over(struct listing *listing, struct pccl__levels_message message)
{
    uint32_t count = listing->bare && listing->num_items > 0 ? 1 : listing->num_items;
    if (count == 0) {
        return 0;
    }
    uint32_t *flat = pccl__array_grow(listing->flat, &listing->flat_room, 2 * (uint64_t)count, sizeof *flat);
    if (flat == NULL) {
        return PCCL_ERR_MEMORY;
    }
    listing->flat = flat;
    sort_items(listing->items, count);
    for (uint32_t i = 0; i < count; i++) {
        flat[i] = listing->items[i].chunk;
        flat[count + i] = listing->items[i].lowest;
    }
    message.chunks = flat;
    message.lowest = flat + count;
    message.count = count;
    listing->num_items = 0;
    return listing->receiver(listing->context, &message);
}

/* --- between nodes ------------------------------------------------------------------------------------------------ */

static uint32_t member_at(const struct pccl__nodes *nodes, uint32_t node, uint32_t position)
{
    return nodes->members[nodes->first[node] + position];
}

static int list_between_message(struct listing *listing, uint32_t number, uint32_t slice, uint32_t rail)
{
    const struct pccl__levels *levels = listing->levels;
    const struct pccl__level *between = &levels->between;
    const struct pccl_message *message = &between->schedule->messages[number];
    uint32_t from = between->source[message->path], to = between->target[message->path], count;
    const uint32_t *chunks = pccl_message_chunks(between->schedule, message, &count);
    count = listing->bare ? 1 : count;
    int status = 0;
    listing->num_items = 0;
    for (uint32_t i = 0; i < count && status == 0; i++) {
        uint32_t lowest =
            between->lowest != NULL ? levels->nodes->first[between->lowest[between->first_lowest[number] + i]] : 0;
        listing->num_parts = 0;
        status = append_rail(listing, rail, slice, chunks[i]);
        status = status == 0 ? take_parts(listing, 0, listing->num_parts, lowest) : status;
    }
    struct pccl__levels_message whole = {
        .step = levels->between_at[message->step] + slice * levels->slice_pitch,
        .from = member_at(levels->nodes, from, pccl__levels_gate(levels, from, rail)),
        .to = member_at(levels->nodes, to, pccl__levels_gate(levels, to, rail)),
        .reduce = message->reduce,
    };
    return status == 0 ? hand_over(listing, whole) : status;
}

/* All rails, or the one whose gate the rank is. */
static int list_between(struct listing *listing, uint32_t rank)
{
    const struct pccl__levels *levels = listing->levels;
    const struct pccl__level *between = &levels->between;
    uint32_t first_rail = 0, end_rail = levels->rails, node = PCCL_NONE;
    if (rank != PCCL_NONE) {
        node = levels->nodes->node[rank];
        first_rail = rail_of(levels, node, levels->nodes->position[rank]);
        end_rail = first_rail + (pccl__levels_gate(levels, node, first_rail) == levels->nodes->position[rank]);
    }
    int status = 0;
    for (uint32_t slice = 0; slice < levels->slices; slice++) {
        for (uint32_t rail = first_rail; rail < end_rail; rail++) {
            for (uint32_t i = 0; i < between->schedule->num_messages && status == 0; i++) {
                uint32_t path = between->schedule->messages[i].path;
                if (rank == PCCL_NONE || between->source[path] == node || between->target[path] == node) {
                    status = list_between_message(listing, i, slice, rail);
                }
            }
        }
    }
    return status;
}

/* --- inside a node ------------------------------------------------------------------------------------------------ */

/* One of the two ways of a node, while its messages are listed. */
struct passage {
    const struct pccl__inside *inside;
    enum pccl__way way;
    uint32_t node;
    struct pccl__batches batches;
    uint32_t *messages; /* of the level, those to list */
    uint32_t num_messages;
};

/* The position at the one end of a block that is about a member. */
static uint32_t block_position(const struct passage *passage, uint32_t block)
{
    const struct pccl_demand *demand = passage->inside->level.schedule->demand;
    const struct pccl_chunk *chunk = &demand->chunks[block * demand->pieces];
    return demand->holders[passage->way == PCCL__UP ? chunk->first_source : chunk->first_target];
}

static uint32_t count_blocks(const struct passage *passage)
{
    const struct pccl_demand *demand = passage->inside->level.schedule->demand;
    return demand->num_chunks / demand->pieces;
}

/* Appends what a block of the level stands for in a batch. */
static int append_block(struct listing *listing, const struct passage *passage, uint32_t block, uint32_t batch,
                        uint32_t slice)
{
    const struct pccl__levels *levels = listing->levels;
    bool together = passage->inside->content == PCCL__RAILS_TOGETHER;
    bool is_member = passage->inside->content == PCCL__MEMBER_BLOCKS;
    uint32_t rail = is_member || together ? 0 : rail_of(levels, passage->node, block);
    if (!is_member && !together && pccl__levels_gate(levels, passage->node, rail) != block) {
        return 0;
    }
    uint32_t member = is_member ? member_at(levels->nodes, passage->node, block_position(passage, block)) : 0;
    int status = 0;
    for (uint32_t i = passage->batches.first[batch]; i < passage->batches.first[batch + 1] && status == 0; i++) {
        uint32_t chunk = passage->batches.chunks[i];
        status = is_member ? append(&listing->parts, &listing->num_parts, &listing->part_room,
                                    member * levels->demand.pieces + piece_of(levels, slice, chunk))
                           : append_rail(listing, rail, slice, chunk);
    }
    return status;
}

/* What each block of the level stands for in a batch. */
static int open_batch(struct listing *listing, const struct passage *passage, uint32_t batch, uint32_t slice)
{
    uint32_t num_blocks = count_blocks(passage);
    uint32_t *first = pccl__array_grow(listing->first_part, &listing->first_part_room, (uint64_t)num_blocks + 1,
                                       sizeof *first);
    if (first == NULL) {
        return PCCL_ERR_MEMORY;
    }
    listing->first_part = first;
    listing->num_parts = 0;
    int status = 0;
    for (uint32_t block = 0; block < num_blocks && status == 0; block++) {
        first[block] = listing->num_parts;
        status = append_block(listing, passage, block, batch, slice);
    }
    first[num_blocks] = listing->num_parts;
    return status;
}

/* Takes a chunk of the level: a piece of the list that its block stands for. */
static int take_chunk(struct listing *listing, const struct passage *passage, uint32_t chunk, uint32_t lowest)
{
    uint32_t pieces = passage->inside->level.schedule->demand->pieces;
    uint32_t block = chunk / pieces, piece = chunk % pieces;
    uint32_t first = listing->first_part[block];
    uint64_t count = listing->first_part[block + 1] - first;
    uint32_t begin = first + (uint32_t)(count * piece / pieces);
    return take_parts(listing, begin, first + (uint32_t)(count * (piece + 1) / pieces), lowest);
}

/* The root of a broadcast has everything: what its node spreads goes past it. */
static bool is_superfluous(const struct pccl__levels *levels, uint32_t to)
{
    return levels->demand.collective == PCCL_BROADCAST && to == levels->demand.root;
}

static int list_inside_message(struct listing *listing, const struct passage *passage, uint32_t number, uint32_t slice,
                               uint32_t batch)
{
    const struct pccl__levels *levels = listing->levels;
    const struct pccl__level *level = &passage->inside->level;
    const struct pccl_message *message = &level->schedule->messages[number];
    uint32_t from = member_at(levels->nodes, passage->node, level->source[message->path]), count;
    uint32_t to = member_at(levels->nodes, passage->node, level->target[message->path]);
    const uint32_t *chunks = pccl_message_chunks(level->schedule, message, &count);
    int status = 0;
    if (is_superfluous(levels, to)) {
        return 0;
    }
    listing->num_items = 0;
    for (uint32_t i = 0; i < count && status == 0; i++) {
        uint32_t lowest = level->lowest != NULL ? levels->nodes->first[passage->node] +
                                                      level->lowest[level->first_lowest[number] + i]
                                                : 0;
        status = take_chunk(listing, passage, chunks[i], lowest);
    }
    uint32_t base = passage->way == PCCL__UP ? levels->between_at[passage->batches.step[batch]] -
                                                   level->num_steps * passage->inside->pitch
                                             : levels->spread_at[passage->batches.step[batch]];
    uint32_t step = base + message->step * passage->inside->pitch + slice * levels->slice_pitch;
    struct pccl__levels_message whole = {.step = step, .from = from, .to = to, .reduce = message->reduce};
    return status == 0 ? hand_over(listing, whole) : status;
}

/* The messages of the level that a position takes part in, or all. */
static int select_messages(struct passage *passage, uint32_t position)
{
    const struct pccl__level *level = &passage->inside->level;
    passage->messages = pccl__array_new(level->schedule->num_messages, sizeof *passage->messages);
    if (passage->messages == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < level->schedule->num_messages; i++) {
        uint32_t path = level->schedule->messages[i].path;
        if (position == PCCL_NONE || level->source[path] == position || level->target[path] == position) {
            passage->messages[passage->num_messages++] = i;
        }
    }
    return 0;
}

static int list_batches(struct listing *listing, const struct passage *passage)
{
    int status = 0;
    for (uint32_t slice = 0; slice < listing->levels->slices; slice++) {
        for (uint32_t batch = 0; batch < passage->batches.count && status == 0; batch++) {
            status = open_batch(listing, passage, batch, slice);
            for (uint32_t i = 0; i < passage->num_messages && status == 0; i++) {
                status = list_inside_message(listing, passage, passage->messages[i], slice, batch);
            }
        }
    }
    return status;
}

/* One way of one node; of one member, or of all (PCCL_NONE). */
static int list_inside(struct listing *listing, uint32_t node, uint32_t position, enum pccl__way way)
{
    const struct pccl__levels *levels = listing->levels;
    struct passage passage = {
        .inside = &levels->inside[levels->nodes->shape[node]][way],
        .way = way,
        .node = node,
    };
    if (passage.inside->level.schedule == NULL) {
        return 0;
    }
    int status = select_messages(&passage, position);
    if (status == 0 && passage.num_messages > 0) {
        status = pccl__batches_find(&passage.batches, levels, node, way);
        status = status == 0 ? list_batches(listing, &passage) : status;
        pccl__batches_free(&passage.batches);
    }
    free(passage.messages);
    return status;
}

static int list_way(struct listing *listing, uint32_t rank, enum pccl__way way)
{
    const struct pccl__nodes *nodes = listing->levels->nodes;
    if (rank != PCCL_NONE) {
        return list_inside(listing, nodes->node[rank], nodes->position[rank], way);
    }
    int status = 0;
    for (uint32_t node = 0; node < nodes->num_nodes && status == 0; node++) {
        status = list_inside(listing, node, PCCL_NONE, way);
    }
    return status;
}

int pccl__levels_list(const struct pccl__levels *levels, uint32_t rank, bool bare, pccl__levels_receiver *receiver,
                      void *context)
{
    struct listing listing = {.levels = levels, .bare = bare, .receiver = receiver, .context = context};
    int status = list_way(&listing, rank, PCCL__UP);
    status = status == 0 ? list_between(&listing, rank) : status;
    status = status == 0 ? list_way(&listing, rank, PCCL__DOWN) : status;
    free(listing.items);
    free(listing.flat);
    free(listing.parts);
    free(listing.first_part);
    return status;
}
