#include "typemap.h"

#include <string.h>

#define NUM_BASICS 6

static MPI_Datatype basic(int index)
{
    const MPI_Datatype basics[NUM_BASICS] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_INT64_T, MPI_BYTE};
    return basics[index];
}

void signature_random(struct signature *signature, int count, struct random *random)
{
    signature->count = count;
    for (int i = 0; i < count; i++) {
        signature->basics[i] = (int)random_below(random, NUM_BASICS);
    }
}

enum order { ORDER_STREAM, ORDER_REVERSED, ORDER_SHUFFLED, NUM_ORDERS };

/* place[k]: the field that comes k-th in memory. */
static void order_fields(int *place, int count, enum order order, struct random *random)
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

/* Sets sizes and offsets of all fields; *low, *high: the bytes they span. */
static void lay_out(struct typemap *map, const struct signature *signature, struct random *random, MPI_Aint *low,
                    MPI_Aint *high)
{
    int place[MAX_FIELDS];
    const bool gaps = random_below(random, 2) == 0;
    MPI_Aint next = random_below(random, 2) == 0 ? 0 : (MPI_Aint)random_below(random, 100) - 60;
    order_fields(place, map->count, (enum order)random_below(random, NUM_ORDERS), random);
    for (int k = 0; k < map->count; k++) {
        const int field = place[k];
        MPI_Type_size(basic(signature->basics[field % signature->count]), &map->sizes[field]);
        next += gaps ? (MPI_Aint)random_below(random, 13) : 0;
        *low = k == 0 ? next : *low;
        map->offsets[field] = next;
        next += map->sizes[field];
    }
    *high = next;
}

/* Replaces the type by one with other bounds. */
static void set_bounds(struct typemap *map, MPI_Aint lower, MPI_Aint extent)
{
    MPI_Datatype resized;
    MPI_Type_create_resized(map->type, lower, extent, &resized);
    MPI_Type_free(&map->type);
    map->type = resized;
}

/* Two elements become one. */
static void nest(struct typemap *map, int stride)
{
    MPI_Aint lower, extent;
    MPI_Datatype nested;
    MPI_Type_get_extent(map->type, &lower, &extent);
    MPI_Type_vector(2, 1, stride, map->type, &nested);
    MPI_Type_free(&map->type);
    map->type = nested;
    for (int i = 0; i < map->count; i++) {
        map->sizes[map->count + i] = map->sizes[i];
        map->offsets[map->count + i] = map->offsets[i] + stride * extent;
    }
    map->count *= 2;
    map->copies *= 2;
}

void typemap_random(struct typemap *map, const struct signature *signature, int copies, struct random *random)
{
    MPI_Datatype types[MAX_FIELDS];
    MPI_Aint low = 0, high = 0, lower;
    int lengths[MAX_FIELDS];
    map->copies = copies;
    map->count = signature->count * copies;
    lay_out(map, signature, random, &low, &high);
    for (int i = 0; i < map->count; i++) {
        types[i] = basic(signature->basics[i % signature->count]);
        lengths[i] = 1;
    }
    MPI_Type_create_struct(map->count, lengths, map->offsets, types, &map->type);
    switch (random_below(random, 3)) {
    case 0: /* exactly what the fields span */
        set_bounds(map, low, high - low);
        break;
    case 1: /* any lower bound, and more than they span */
        set_bounds(map, (MPI_Aint)random_below(random, 60) - 30, high - low + (MPI_Aint)random_below(random, 20));
        break;
    default: /* as the library made it, with alignment */
        break;
    }
    if (map->count * 2 <= MAX_FIELDS && random_below(random, 2) == 0) {
        nest(map, 1 + (int)random_below(random, 3));
    }
    MPI_Type_get_extent(map->type, &lower, &map->extent);
    MPI_Type_commit(&map->type);
}

void typemap_set_origin(struct typemap *map, const void *address)
{
    const int one = 1;
    MPI_Aint origin, lower, extent;
    MPI_Datatype moved;
    MPI_Get_address(address, &origin);
    MPI_Type_get_extent(map->type, &lower, &extent);
    MPI_Type_create_hindexed(1, &one, &origin, map->type, &moved);
    MPI_Type_free(&map->type);
    map->type = moved;
    set_bounds(map, origin + lower, extent);
    MPI_Type_commit(&map->type);
}

void typemap_free(struct typemap *map)
{
    MPI_Type_free(&map->type);
}

void *typemap_field(const struct typemap *map, const struct buffer *buffer, int element, int field)
{
    return (char *)buffer->address + element * map->extent + map->offsets[field];
}

void typemap_fill(const struct typemap *map, const struct buffer *buffer, int first, int count, uint64_t seed)
{
    for (int i = 0; i < count; i++) {
        for (int field = 0; field < map->count; field++) {
            uint64_t value = random_mix(seed, (uint64_t)i * (uint64_t)map->count + (uint64_t)field);
            memcpy(typemap_field(map, buffer, first + i, field), &value, (size_t)map->sizes[field]);
        }
    }
}
