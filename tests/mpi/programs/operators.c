/* Operators on types that are made for one call. MPI hands a user's function the datatype but nothing else, so the
 * layouts of the types are kept in a list. */
#include "defects.h"

#include <string.h>

#define MAX_LAYOUTS 256

static const struct typemap *layouts[MAX_LAYOUTS];

static const struct typemap *find_layout(MPI_Datatype type)
{
    for (int i = 0; i < MAX_LAYOUTS; i++) {
        if (layouts[i] != NULL && layouts[i]->type == type) {
            return layouts[i];
        }
    }
    check_that(false, "the operator was called with another datatype than the call was");
    return NULL;
}

static void keep_layout(const struct typemap *map)
{
    int place = 0;
    for (int i = 0; i < MAX_LAYOUTS; i++) {
        if (layouts[i] != NULL && layouts[i]->type == map->type) {
            layouts[i] = NULL; /* of an operation that is over, so that MPI could use the handle again */
        }
        place = layouts[i] == NULL ? i : place;
    }
    layouts[place] = map;
}

static void forget_layout(const struct typemap *map)
{
    for (int i = 0; i < MAX_LAYOUTS; i++) {
        if (layouts[i] == map) {
            layouts[i] = NULL;
        }
    }
}

static uint32_t get(const struct typemap *map, const char *element, int field)
{
    uint32_t value;
    memcpy(&value, element + map->offsets[field], sizeof(value));
    return value;
}

static void set(const struct typemap *map, char *element, int field, uint32_t value)
{
    memcpy(element + map->offsets[field], &value, sizeof(value));
}

/* x -> a x + b first, then x -> c x + d, modulo 2^32: associative, not commutative. */
static void chain_all(void *in, void *in_out, int *count, MPI_Datatype *type)
{
    const struct typemap *map = find_layout(*type);
    for (int i = 0; map != NULL && i < *count; i++) {
        char *left = (char *)in + i * map->extent, *right = (char *)in_out + i * map->extent;
        const uint32_t a = get(map, left, 0), b = get(map, left, 1), c = get(map, right, 0), d = get(map, right, 1);
        set(map, right, 0, a * c);
        set(map, right, 1, b * c + d);
    }
}

static void add_all(void *in, void *in_out, int *count, MPI_Datatype *type)
{
    const struct typemap *map = find_layout(*type);
    for (int i = 0; map != NULL && i < *count; i++) {
        char *left = (char *)in + i * map->extent, *right = (char *)in_out + i * map->extent;
        set(map, right, 0, get(map, left, 0) + get(map, right, 0));
        set(map, right, 1, get(map, left, 1) ^ get(map, right, 1));
    }
}

static void make_new(struct operands *operands, struct random *shared)
{
    const bool commutes = random_below(shared, 2) == 0;
    const struct signature two_ints = {.num_items = 2, .items = {2, 2}, .bytes = 8};
    typemap_random(&operands->map, &two_ints, 1, false, 0, shared);
    operands->function = commutes ? add_all : chain_all;
    MPI_Op_create(operands->function, commutes, &operands->op);
    keep_layout(&operands->map);
    operands->type = operands->map.type;
    operands->extent = operands->map.extent;
    operands->name = commutes ? "new operator that commutes" : "new operator that does not commute";
}

void operands_choose(struct operands *operands, struct random *shared)
{
    MPI_Aint lower;
    const uint32_t num_rows = (uint32_t)num_reductions, num_new = defect_operand_bounds() ? 0 : num_rows / 3;
    const uint32_t row = random_below(shared, num_rows + num_new);
    if (row >= num_rows) {
        make_new(operands, shared);
        return;
    }
    MPI_Type_get_true_extent(reductions[row].type, &lower, &operands->extent);
    operands->row = &reductions[lower != 0 && defect_operand_bounds() ? 0 : row];
    operands->op = operands->row->op;
    operands->type = operands->row->type;
    operands->name = operands->row->name;
    MPI_Type_get_extent(operands->type, &lower, &operands->extent);
}

void operand_write(const struct operands *operands, void *address, uint64_t seed, int element)
{
    if (operands->row != NULL) {
        operands->row->fill(address, random_mix(seed, (uint64_t)element));
    } else {
        typemap_fill(&operands->map, address, 1, random_mix(seed, (uint64_t)element));
    }
}

void operands_combine(const struct operands *operands, void *left, void *right, int count)
{
    if (operands->row != NULL) {
        MPI_Reduce_local(left, right, count, operands->type, operands->op);
    } else if (count > 0) {
        MPI_Datatype type = operands->map.type;
        operands->function(left, right, &count, &type);
    }
}

void operands_release(struct operands *operands)
{
    if (operands->row == NULL && operands->op != MPI_OP_NULL) {
        MPI_Datatype type = operands->map.type; /* the handle in the list stays */
        MPI_Type_free(&type);
        MPI_Op_free(&operands->op);
        operands->type = MPI_DATATYPE_NULL;
    }
}

void operands_free(struct operands *operands)
{
    if (operands->row == NULL) {
        forget_layout(&operands->map);
    }
}
