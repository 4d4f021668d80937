#include "datatypes.h"

#include <string.h>

/* Only types that every operator of a call may meet in a buffer without rules of its own. */
struct item {
    MPI_Datatype whole;
    int num_parts;
    MPI_Datatype parts[2];
    int sizes[2], second_offset;
};

#define NUM_ITEMS 10

static struct item item(int index)
{
    const struct item items[NUM_ITEMS] = {
        {MPI_CHAR, 1, {MPI_CHAR}, {1}, 0},
        {MPI_SHORT, 1, {MPI_SHORT}, {2}, 0},
        {MPI_INT, 1, {MPI_INT}, {4}, 0},
        {MPI_DOUBLE, 1, {MPI_DOUBLE}, {8}, 0},
        {MPI_INT64_T, 1, {MPI_INT64_T}, {8}, 0},
        {MPI_BYTE, 1, {MPI_BYTE}, {1}, 0},
        {MPI_DOUBLE_INT, 2, {MPI_DOUBLE, MPI_INT}, {sizeof(double), sizeof(int)}, sizeof(double)},
        {MPI_LONG_INT, 2, {MPI_LONG, MPI_INT}, {sizeof(long), sizeof(int)}, sizeof(long)},
        {MPI_SHORT_INT, 2, {MPI_SHORT, MPI_INT}, {sizeof(short), sizeof(int)}, sizeof(int)},
        {MPI_2INT, 2, {MPI_INT, MPI_INT}, {sizeof(int), sizeof(int)}, sizeof(int)}};
    return items[index];
}

void signature_random(struct signature *signature, struct random *random)
{
    signature->num_items = 1 + (int)random_below(random, MAX_ITEMS);
    signature->bytes = 0;
    for (int i = 0; i < signature->num_items; i++) {
        struct item it;
        signature->items[i] = (int)random_below(random, NUM_ITEMS);
        it = item(signature->items[i]);
        signature->bytes += it.sizes[0] + it.sizes[1];
    }
}

/* What is laid out as a whole: a basic type, or a pair type with its two fields. */
struct piece {
    MPI_Datatype type;
    int field; /* the first of its fields */
    bool pair;
    int second_offset, span;
};

/* The pieces in the order of the stream; sets the sizes of the fields. */
static int cut_pieces(struct typemap *map, const struct signature *signature, struct piece *pieces,
                      struct random *random)
{
    int num_pieces = 0;
    map->count = 0;
    for (int i = 0; i < signature->num_items * map->copies; i++) {
        const struct item it = item(signature->items[i % signature->num_items]);
        const bool whole = it.num_parts == 1 || random_below(random, 2) == 0;
        for (int part = 0; part < it.num_parts; part++) {
            if (part == 0 || !whole) {
                pieces[num_pieces].type = whole ? it.whole : it.parts[part];
                pieces[num_pieces].field = map->count;
                pieces[num_pieces].pair = whole && it.num_parts == 2;
                pieces[num_pieces].second_offset = it.second_offset;
                pieces[num_pieces].span = it.sizes[part];
                num_pieces++;
            } else {
                pieces[num_pieces - 1].span = it.second_offset + it.sizes[1];
            }
            map->sizes[map->count++] = it.sizes[part];
        }
    }
    return num_pieces;
}

enum order { ORDER_STREAM, ORDER_REVERSED, ORDER_SHUFFLED, NUM_ORDERS };

/* place[k]: the piece that comes k-th in memory. */
static void order_pieces(int *place, int count, enum order order, struct random *random)
{
    for (int i = 0; i < count; i++) {
        place[i] = order == ORDER_REVERSED ? count - 1 - i : i;
    }
    for (int i = count - 1; i > 0 && order == ORDER_SHUFFLED; i--) {
        int other = (int)random_below(random, (uint32_t)i + 1), kept = place[i];
        place[i] = place[other];
        place[other] = kept;
    }
}

/* The places of an element's pieces. */
struct layout {
    MPI_Aint low, high; /* bytes that they span */
    MPI_Aint offsets[MAX_FIELDS];
};

/* Each piece behind the one before, with gaps or without, from any byte on. */
static void lay_out_loosely(struct layout *layout, const struct piece *pieces, int count, struct random *random)
{
    int place[MAX_FIELDS];
    const bool gaps = random_below(random, 2) == 0;
    MPI_Aint next = random_below(random, 2) == 0 ? 0 : (MPI_Aint)random_below(random, 100) - 60;
    order_pieces(place, count, (enum order)random_below(random, NUM_ORDERS), random);
    for (int k = 0; k < count; k++) {
        next += gaps ? (MPI_Aint)random_below(random, 13) : 0;
        layout->low = k == 0 ? next : layout->low;
        layout->offsets[place[k]] = next;
        next += pieces[place[k]].span;
    }
    layout->high = next;
}

static void lay_out_densely(struct layout *layout, const struct piece *pieces, int count)
{
    MPI_Aint next = 0;
    for (int k = 0; k < count; k++) {
        layout->offsets[k] = next;
        next += pieces[k].span;
    }
    layout->low = 0;
    layout->high = next;
}

/* As the columns of a matrix are: an element's pieces lie `room` slots apart, the next element's one slot further.
 * Returns the bytes of a slot. */
static MPI_Aint lay_out_interleaved(struct layout *layout, const struct piece *pieces, int count, int room,
                                    struct random *random)
{
    int place[MAX_FIELDS];
    MPI_Aint slot = 0;
    order_pieces(place, count, (enum order)random_below(random, NUM_ORDERS), random);
    for (int k = 0; k < count; k++) {
        slot = pieces[k].span > slot ? pieces[k].span : slot;
    }
    for (int k = 0; k < count; k++) {
        layout->offsets[place[k]] = k * room * slot;
    }
    return slot;
}

static void replace_type(struct typemap *map, MPI_Datatype type)
{
    if (!map->predefined) {
        MPI_Type_free(&map->type);
    }
    map->predefined = false;
    map->type = type;
}

static void set_bounds(struct typemap *map, MPI_Aint lower, MPI_Aint extent)
{
    MPI_Datatype resized;
    MPI_Type_create_resized(map->type, lower, extent, &resized);
    replace_type(map, resized);
}

/* Two elements become one. */
static void nest(struct typemap *map, int stride, bool in_bytes)
{
    MPI_Aint lower, extent;
    MPI_Datatype nested;
    MPI_Type_get_extent(map->type, &lower, &extent);
    if (in_bytes) {
        MPI_Type_create_hvector(2, 1, stride * extent, map->type, &nested);
    } else {
        MPI_Type_vector(2, 1, stride, map->type, &nested);
    }
    replace_type(map, nested);
    for (int i = 0; i < map->count; i++) {
        map->sizes[map->count + i] = map->sizes[i];
        map->offsets[map->count + i] = map->offsets[i] + stride * extent;
    }
    map->count *= 2;
    map->copies *= 2;
}

static void shift(struct typemap *map, MPI_Aint bytes)
{
    MPI_Datatype shifted;
    MPI_Type_create_hindexed_block(1, 1, &bytes, map->type, &shifted);
    replace_type(map, shifted);
    for (int i = 0; i < map->count; i++) {
        map->offsets[i] += bytes;
    }
}

/* The type as a member of a structure, beside one that is empty and one that is there zero times. */
static void join_with_nothing(struct typemap *map)
{
    const int lengths[3] = {2, 1, 0};
    const MPI_Aint offsets[3] = {0, 0, 0};
    MPI_Datatype empty, joined, types[3] = {MPI_DATATYPE_NULL, map->type, MPI_INT};
    MPI_Type_contiguous(0, MPI_INT, &empty);
    types[0] = empty;
    MPI_Type_create_struct(3, lengths, offsets, types, &joined);
    MPI_Type_free(&empty);
    replace_type(map, joined);
}

/* Says the same in other words. */
static void disguise(struct typemap *map, struct random *random)
{
    MPI_Datatype other;
    switch (random_below(random, 8)) {
    case 0:
        MPI_Type_dup(map->type, &other);
        replace_type(map, other);
        break;
    case 1:
        MPI_Type_contiguous(1, map->type, &other);
        replace_type(map, other);
        break;
    case 2: shift(map, (MPI_Aint)random_below(random, 50) - 30); break;
    case 3: join_with_nothing(map); break;
    default: break;
    }
}

static void finish(struct typemap *map)
{
    MPI_Aint lower;
    MPI_Type_get_extent(map->type, &lower, &map->extent);
    if (!map->predefined) {
        MPI_Type_commit(&map->type);
    }
}

static void make_struct(struct typemap *map, const struct layout *layout, const struct piece *pieces, int num_pieces)
{
    MPI_Datatype types[MAX_FIELDS];
    int lengths[MAX_FIELDS];
    for (int k = 0; k < num_pieces; k++) {
        types[k] = pieces[k].type;
        lengths[k] = 1;
        map->offsets[pieces[k].field] = layout->offsets[k];
        if (pieces[k].pair) {
            map->offsets[pieces[k].field + 1] = layout->offsets[k] + pieces[k].second_offset;
        }
    }
    map->predefined = num_pieces == 1 && layout->offsets[0] == 0;
    if (map->predefined) {
        map->type = types[0];
    } else {
        MPI_Type_create_struct(num_pieces, lengths, layout->offsets, types, &map->type);
    }
}

#define MAX_INTERLEAVED_BYTES 20000

void typemap_random(struct typemap *map, const struct signature *signature, int copies, bool may_double, int room,
                    struct random *random)
{
    struct piece pieces[MAX_FIELDS];
    struct layout layout;
    const uint32_t shape = random_below(random, 6);
    int num_pieces;
    map->copies = copies;
    num_pieces = cut_pieces(map, signature, pieces, random);
    if (shape == 0) {
        lay_out_densely(&layout, pieces, num_pieces);
        make_struct(map, &layout, pieces, num_pieces);
        if (!map->predefined) {
            set_bounds(map, layout.low, layout.high - layout.low);
        }
    } else if (shape == 1 && room > 0 && room * num_pieces * 12 < MAX_INTERLEAVED_BYTES) {
        const MPI_Aint slot = lay_out_interleaved(&layout, pieces, num_pieces, room, random);
        make_struct(map, &layout, pieces, num_pieces);
        set_bounds(map, 0, slot);
    } else {
        lay_out_loosely(&layout, pieces, num_pieces, random);
        make_struct(map, &layout, pieces, num_pieces);
        if (shape == 2) { /* exactly what the fields span */
            set_bounds(map, layout.low, layout.high - layout.low);
        } else if (shape == 3) { /* any lower bound, and more than they span */
            set_bounds(map, (MPI_Aint)random_below(random, 60) - 30,
                       layout.high - layout.low + (MPI_Aint)random_below(random, 20));
        } /* else as the library made it, with alignment */
        if (may_double && map->count * 2 <= MAX_FIELDS) {
            nest(map, 1 + (int)random_below(random, 3), random_below(random, 2) == 0);
        }
    }
    disguise(map, random);
    finish(map);
}

void typemap_empty(struct typemap *map, struct random *random)
{
    map->copies = map->count = 0;
    map->predefined = false;
    if (random_below(random, 2) == 0) {
        MPI_Type_contiguous(0, MPI_DOUBLE, &map->type);
    } else {
        MPI_Type_create_struct(0, NULL, NULL, NULL, &map->type);
    }
    if (random_below(random, 2) == 0) {
        set_bounds(map, -8, 24);
    }
    finish(map);
}

void typemap_set_origin(struct typemap *map, const void *address)
{
    const int one = 1;
    MPI_Aint origin, lower, extent;
    MPI_Datatype moved;
    MPI_Get_address(address, &origin);
    MPI_Type_get_extent(map->type, &lower, &extent);
    MPI_Type_create_hindexed(1, &one, &origin, map->type, &moved);
    replace_type(map, moved);
    set_bounds(map, origin + lower, extent);
    MPI_Type_commit(&map->type);
}

void typemap_free(struct typemap *map)
{
    if (!map->predefined && map->type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&map->type);
    }
}

void typemap_fill(const struct typemap *map, void *base, int count, uint64_t seed)
{
    for (int i = 0; i < count; i++) {
        for (int field = 0; field < map->count; field++) {
            uint64_t value = random_mix(seed, (uint64_t)i * (uint64_t)map->count + (uint64_t)field);
            memcpy((char *)base + i * map->extent + map->offsets[field], &value, (size_t)map->sizes[field]);
        }
    }
}

void typemap_span(const struct typemap *map, int count, ptrdiff_t *low, ptrdiff_t *high)
{
    *low = *high = 0;
    for (int field = 0; field < map->count && count > 0; field++) {
        const ptrdiff_t first = map->offsets[field], end = first + (count - 1) * map->extent + map->sizes[field];
        *low = field == 0 || first < *low ? first : *low;
        *high = field == 0 || end > *high ? end : *high;
    }
}
