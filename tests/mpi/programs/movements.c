/* Calls that move data: what each block holds, where it lies, and what must have arrived. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "defects.h"

/* --- which collective does what ----------------------------------------------------------------------------------- */

static bool is_neighbourhood(const struct call *call)
{
    return collective_is_neighbourhood(call->collective);
}

static bool is_all_to_all(enum collective collective)
{
    return collective == ALLTOALL || collective == ALLTOALLV || collective == ALLTOALLW;
}

/* Another block for each target. */
static bool is_personal(enum collective collective)
{
    switch (collective) {
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
    case SCATTER:
    case SCATTERV:
    case NEIGHBOR_ALLTOALL:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW: return true;
    default: return false;
    }
}

static bool is_typed_apart(enum collective collective)
{
    return collective == ALLTOALLW || collective == NEIGHBOR_ALLTOALLW;
}

/* Sizes that differ from block to block. */
static bool is_uneven(enum collective collective)
{
    switch (collective) {
    case ALLGATHERV:
    case ALLTOALLV:
    case ALLTOALLW:
    case GATHERV:
    case SCATTERV:
    case NEIGHBOR_ALLGATHERV:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW: return true;
    default: return false;
    }
}

/* The side of a collective has counts and displacements of its own for each block. */
static bool has_displacements(const struct call *call, bool receiving)
{
    switch (call->collective) {
    case ALLTOALLV:
    case ALLTOALLW:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW: return true;
    case ALLGATHERV:
    case NEIGHBOR_ALLGATHERV:
    case GATHERV: return receiving;
    case SCATTERV: return !receiving;
    default: return false;
    }
}

/* --- which blocks a side has -------------------------------------------------------------------------------------- */

static void add_block(struct side *side, const struct call *call, int source, int target, int label, bool nobody)
{
    const bool personal = is_personal(call->collective);
    struct block *block = &side->blocks[side->num_blocks++];
    block->source = source;
    block->target = personal ? target : 0;
    block->label = personal ? label : 0;
    block->nobody = nobody;
}

static void set_neighbour_blocks(struct call *call, const struct communicator *communicator)
{
    const bool personal = is_personal(call->collective);
    for (int i = 0; i < (personal ? communicator->num_targets : 1); i++) {
        const struct edge *edge = &communicator->targets[i];
        add_block(&call->send, call, call->rank, edge->peer, edge->label, personal && edge->peer == MPI_PROC_NULL);
    }
    for (int i = 0; i < communicator->num_sources; i++) {
        const struct edge *edge = &communicator->sources[i];
        add_block(&call->receive, call, edge->peer, call->rank, edge->label, edge->peer == MPI_PROC_NULL);
    }
}

static void set_global_blocks(struct call *call)
{
    const enum collective collective = call->collective;
    const bool at_root = call->rank == call->root, personal = is_personal(collective);
    const bool scatters = collective == SCATTER || collective == SCATTERV, broadcasts = collective == BCAST;
    const bool gathers = collective == GATHER || collective == GATHERV;
    call->send.absent = broadcasts || (scatters && !at_root) || (call->in_place && !scatters);
    call->receive.absent = (gathers && !at_root) || (call->in_place && scatters);
    for (int i = 0; !call->send.absent && i < (personal ? call->size : 1); i++) {
        add_block(&call->send, call, call->rank, i, 0, false);
    }
    for (int i = 0; !call->receive.absent && i < (scatters || broadcasts ? 1 : call->size); i++) {
        add_block(&call->receive, call, scatters || broadcasts ? call->root : i, call->rank, 0, false);
    }
}

/* --- how much they hold ------------------------------------------------------------------------------------------- */

/* In signatures. All types divide `grain` signatures. */
struct amounts {
    int grain, base;
    bool uneven, in_place;
    uint64_t seed;
};

static struct amounts choose_amounts(struct call *call, const struct signature *signature)
{
    struct random *shared = &call->shared;
    struct amounts amounts = {.seed = call->seed, .uneven = is_uneven(call->collective)};
    const uint32_t most = random_below(shared, 12) == 0 ? 20000 : 400;
    amounts.in_place = call->in_place && is_all_to_all(call->collective);
    amounts.grain = random_below(shared, 3) == 0 ? 1 : 24;
    amounts.base = 1 + (int)random_below(shared, 1 + most / (uint32_t)(signature->bytes * amounts.grain));
    if (random_below(shared, 10) == 0) {
        amounts.base = 0;
    }
    return amounts;
}

static int amount(const struct amounts *amounts, const struct block *block)
{
    int low = block->source, high = block->target;
    uint64_t edge;
    if (amounts->in_place && low > high) { /* every rank gets from a peer as much as it sends there */
        low = block->target;
        high = block->source;
    }
    edge = (uint64_t)((low * MAX_RANKS + high) * MAX_NEIGHBOURS + block->label);
    return amounts->grain * amounts->base * (amounts->uneven ? (int)(random_mix(amounts->seed, edge) % 4) : 1);
}

static uint64_t block_seed(const struct call *call, const struct block *block)
{
    const int edge = (block->source * MAX_RANKS + block->target) * MAX_NEIGHBOURS + block->label;
    return random_mix(call->data, (uint64_t)edge);
}

/* --- types, places, buffers --------------------------------------------------------------------------------------- */

static void choose_type(struct call *call, struct typemap *map, const struct signature *signature, int grain, int room)
{
    static const int copies[] = {1, 2, 3, 4, 6};
    const bool divides = grain > 1 && !defect_mixed_types(call->collective);
    typemap_random(map, signature, divides ? copies[random_below(&call->own, 5)] : 1,
                   divides && random_below(&call->own, 2) == 0, room, &call->own);
}

/* The most elements that lie in a row: the type is not known yet, so each has one signature. */
static int room_for(const struct side *side, const struct amounts *amounts)
{
    int room = 3;
    for (int i = 0; i < side->num_blocks; i++) {
        room += amount(amounts, &side->blocks[i]) + 3;
    }
    return room;
}

static void choose_types(struct call *call, struct side *side, const struct signature *signature,
                         const struct amounts *amounts)
{
    struct random *own = &call->own;
    const int num_maps = side->typed_apart ? side->num_blocks : 1;
    side->maps = calloc((size_t)num_maps + 1, sizeof(*side->maps));
    if (side->absent) {
        return;
    }
    for (int i = 0; i < num_maps; i++) {
        const bool holds_data = side->typed_apart && side->num_blocks > 0
                                    ? amount(amounts, &side->blocks[i]) > 0
                                    : room_for(side, amounts) > 3 + 3 * side->num_blocks;
        if (!defect_empty_types() && !holds_data && side->num_blocks > 0 && random_below(own, 2) == 0) {
            typemap_empty(&side->maps[i], own);
        } else {
            choose_type(call, &side->maps[i], signature, amounts->grain, room_for(side, amounts));
        }
    }
    for (int i = 0; i < side->num_blocks; i++) {
        side->blocks[i].map = &side->maps[side->typed_apart ? i : 0];
        side->types[i] = side->blocks[i].map->type;
    }
}

/* Any number of elements of an empty type is no data. */
static void set_counts(struct call *call, struct side *side, const struct amounts *amounts, bool freely)
{
    const int none = (int)random_below(&call->own, 3);
    if (side->num_blocks == 0 && !side->absent && !side->typed_apart) { /* what any block would have */
        side->counts[0] = amounts->grain * amounts->base / side->maps[0].copies;
    }
    for (int i = 0; i < side->num_blocks; i++) {
        const struct block *block = &side->blocks[i];
        if (block->map->copies == 0) {
            side->counts[i] = none;
        } else if (block->nobody && freely) {
            side->counts[i] = (int)random_below(&call->own, 3);
        } else {
            side->counts[i] = amount(amounts, block) / block->map->copies;
        }
    }
}

/* In any order with holes between them, if the call has displacements. */
static void place_in_elements(struct call *call, struct side *side, bool freely)
{
    struct random *own = &call->own;
    const bool descending = freely && random_below(own, 2) == 0, holes = freely && random_below(own, 2) == 0;
    int next = holes ? (int)random_below(own, 6) - 3 : 0;
    for (int i = 0; i < side->num_blocks; i++) {
        const int block = descending ? side->num_blocks - 1 - i : i;
        side->displacements[block] = next;
        side->blocks[block].offset = next * side->blocks[block].map->extent;
        next += side->counts[block] + (holes ? (int)random_below(own, 3) : 0);
    }
}

static void place_in_bytes(struct call *call, struct side *side)
{
    struct random *own = &call->own;
    const bool descending = random_below(own, 2) == 0, holes = random_below(own, 2) == 0;
    ptrdiff_t next = holes ? (ptrdiff_t)random_below(own, 60) - 30 : 0;
    for (int i = 0; i < side->num_blocks; i++) {
        const int block = descending ? side->num_blocks - 1 - i : i;
        ptrdiff_t low, high;
        typemap_span(side->blocks[block].map, side->counts[block], &low, &high);
        side->blocks[block].offset = next - low;
        next += high - low + (holes ? (ptrdiff_t)random_below(own, 20) : 0);
    }
}

static void make_buffer(struct call *call, struct side *side)
{
    ptrdiff_t low = 0, high = 0;
    for (int i = 0; i < side->num_blocks; i++) {
        const struct block *block = &side->blocks[i];
        ptrdiff_t first, end;
        typemap_span(block->map, side->counts[i], &first, &end);
        low = first + block->offset < low ? first + block->offset : low;
        high = end + block->offset > high ? end + block->offset : high;
    }
    buffer_make_span(&side->buffer, low, high, &call->own);
    buffer_copy(&side->expected, &side->buffer);
    side->address = side->buffer.address;
}

static void *block_address(const struct buffer *buffer, const struct block *block)
{
    return (char *)buffer->address + block->offset;
}

/* Types that hold the whole address. */
static void move_to_bottom(struct side *side)
{
    char *address = side->buffer.address;
    for (int i = 0; i < (side->typed_apart ? side->num_blocks : 1); i++) {
        typemap_set_origin(&side->maps[i], address + (side->typed_apart ? side->blocks[i].offset : 0));
    }
    for (int i = 0; i < side->num_blocks; i++) {
        side->types[i] = side->blocks[i].map->type;
        if (side->typed_apart) {
            side->byte_displacements[i] = side->displacements[i] = 0;
        }
    }
    side->address = MPI_BOTTOM;
}

/* What is not significant may be anything. */
static void set_junk(const struct call *call, struct side *side)
{
    side->address = call->in_place ? MPI_IN_PLACE : (void *)8;
    side->types[0] = MPI_DATATYPE_NULL;
    side->counts[0] = 77;
}

static void make_side(struct call *call, struct side *side, const struct signature *signature,
                      const struct amounts *amounts)
{
    const bool freely = has_displacements(call, side == &call->receive);
    side->typed_apart = is_typed_apart(call->collective);
    choose_types(call, side, signature, amounts);
    set_counts(call, side, amounts, freely);
    if (side->typed_apart) {
        place_in_bytes(call, side);
        for (int i = 0; i < side->num_blocks; i++) {
            side->byte_displacements[i] = side->blocks[i].offset;
            side->displacements[i] = (int)side->blocks[i].offset;
        }
    } else {
        place_in_elements(call, side, freely);
    }
    make_buffer(call, side);
    if (side->absent) {
        set_junk(call, side);
    } else if (side->num_blocks > 0 && random_below(&call->own, 6) == 0) {
        move_to_bottom(side);
    } else if (side->num_blocks == 0) {
        side->types[0] = side->maps[0].type;
    }
}

void movement_make(struct call *call, const struct communicator *communicator)
{
    struct signature signature;
    struct amounts amounts;
    signature_random(&signature, &call->shared);
    amounts = choose_amounts(call, &signature);
    if (is_neighbourhood(call)) {
        set_neighbour_blocks(call, communicator);
    } else {
        set_global_blocks(call);
    }
    snprintf(call->text + strlen(call->text), sizeof(call->text) - strlen(call->text), ", %d x %d x %d bytes",
             amounts.base, amounts.grain, signature.bytes);
    make_side(call, &call->send, &signature, &amounts);
    make_side(call, &call->receive, &signature, &amounts);
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

static void fill_block(const struct call *call, const struct side *side, int i, const struct buffer *buffer)
{
    const struct block *block = &side->blocks[i];
    typemap_fill(block->map, block_address(buffer, block), side->counts[i], block_seed(call, block));
}

/* What this rank sends from the receive buffer. */
static void fill_in_place(const struct call *call)
{
    const struct side *receive = &call->receive;
    const bool personal = is_personal(call->collective);
    for (int i = 0; i < receive->num_blocks; i++) {
        struct block sent = receive->blocks[i];
        sent.source = call->rank;
        sent.target = personal ? i : 0;
        if (personal || i == call->rank || call->collective == BCAST) {
            typemap_fill(sent.map, block_address(&receive->buffer, &sent), receive->counts[i],
                         block_seed(call, &sent));
        }
    }
}

static void expect(struct side *side)
{
    memcpy(side->expected.memory, side->buffer.memory, side->buffer.bytes);
}

void movement_fill(struct call *call)
{
    for (int i = 0; i < call->send.num_blocks; i++) {
        fill_block(call, &call->send, i, &call->send.buffer);
    }
    if (call->in_place || (call->collective == BCAST && call->rank == call->root)) {
        fill_in_place(call);
    }
    expect(&call->send);
    expect(&call->receive);
    for (int i = 0; i < call->receive.num_blocks; i++) {
        if (!call->receive.blocks[i].nobody) {
            fill_block(call, &call->receive, i, &call->receive.expected);
        }
    }
}

void movement_check(const struct call *call)
{
    buffer_equal(&call->send.buffer, &call->send.expected, "send buffer");
    buffer_equal(&call->receive.buffer, &call->receive.expected, "receive buffer");
}

/* --- end ---------------------------------------------------------------------------------------------------------- */

/* The arrays of handles that MPI got must stay as they are. */
static void release_side(struct side *side)
{
    for (int i = 0; !side->absent && i < (side->typed_apart ? side->num_blocks : 1); i++) {
        typemap_free(&side->maps[i]);
    }
}

void movement_release(struct call *call)
{
    release_side(&call->send);
    release_side(&call->receive);
}

static void free_side(struct side *side)
{
    buffer_free(&side->buffer);
    buffer_free(&side->expected);
    free(side->maps);
}

void movement_free(struct call *call)
{
    free_side(&call->send);
    free_side(&call->receive);
}
