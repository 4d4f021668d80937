/* Families of datatypes. Inside a family any two types match once their counts make equal numbers of units: so every
 * rank may take another one. Gaps, negative lower bounds, descending displacements, unaligned fields, nesting. */
#include "tables.h"

struct family families[NUM_FAMILIES];

static void add(struct family *family, const char *name, int units, MPI_Datatype type)
{
    struct variant *variant = &family->variants[family->num_variants++];
    variant->name = name;
    variant->units = units;
    variant->type = type;
    MPI_Type_commit(&variant->type);
}

static MPI_Datatype copy_of(MPI_Datatype type)
{
    MPI_Datatype copy;
    MPI_Type_dup(type, &copy);
    return copy;
}

static MPI_Datatype contiguous(int count, MPI_Datatype type)
{
    MPI_Datatype made;
    MPI_Type_contiguous(count, type, &made);
    return made;
}

static MPI_Datatype vector(int count, int length, int stride, MPI_Datatype type)
{
    MPI_Datatype made;
    MPI_Type_vector(count, length, stride, type, &made);
    return made;
}

/* Takes over `type`. */
static MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent)
{
    MPI_Datatype made;
    MPI_Type_create_resized(type, lower, extent, &made);
    MPI_Type_free(&type);
    return made;
}

static MPI_Datatype hindexed(int count, const int *lengths, const MPI_Aint *offsets, MPI_Datatype type)
{
    MPI_Datatype made;
    MPI_Type_create_hindexed(count, lengths, offsets, type, &made);
    return made;
}

static MPI_Datatype record(MPI_Aint first, MPI_Aint second, MPI_Aint third)
{
    const int lengths[3] = {1, 1, 1};
    const MPI_Aint offsets[3] = {first, second, third};
    const MPI_Datatype types[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype made;
    MPI_Type_create_struct(3, lengths, offsets, types, &made);
    return made;
}

static MPI_Datatype pair_by_hand(MPI_Aint first, MPI_Aint second)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint offsets[2] = {first, second};
    const MPI_Datatype types[2] = {MPI_LONG_DOUBLE, MPI_INT};
    MPI_Datatype made;
    MPI_Type_create_struct(2, lengths, offsets, types, &made);
    return made;
}

static MPI_Datatype inner_of_matrix(void)
{
    const int sizes[2] = {3, 5}, subsizes[2] = {2, 3}, starts[2] = {1, 1};
    MPI_Datatype made;
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &made);
    return made;
}

static void make_numbers(void)
{
    struct family *family = &families[FAMILY_INT];
    family->name = "int";
    add(family, "int", 1, copy_of(MPI_INT));
    add(family, "int before its address", 1, resized(hindexed(1, (int[]){1}, (MPI_Aint[]){-8}, MPI_INT), -8, 12));
    add(family, "2 ints", 2, contiguous(2, MPI_INT));
    add(family, "vector with gaps", 2, vector(2, 1, 3, MPI_INT));
    add(family, "negative lower bound", 2, resized(hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-12, 4}, MPI_INT), -16, 28));
    add(family, "descending blocks", 3, hindexed(2, (int[]){1, 2}, (MPI_Aint[]){16, 0}, MPI_INT));

    family = &families[FAMILY_CHAR];
    family->name = "char";
    add(family, "char", 1, copy_of(MPI_CHAR));
    add(family, "char in 3 bytes", 1, resized(copy_of(MPI_CHAR), 0, 3));
    add(family, "3 chars", 3, contiguous(3, MPI_CHAR));
    add(family, "vector, negative lower bound", 2, resized(vector(2, 1, 5, MPI_CHAR), -3, 9));

    family = &families[FAMILY_DOUBLE];
    family->name = "double";
    add(family, "double", 1, copy_of(MPI_DOUBLE));
    add(family, "double in 40 bytes", 1, resized(copy_of(MPI_DOUBLE), -24, 40));
    add(family, "vector with gaps", 3, vector(3, 1, 2, MPI_DOUBLE));
    add(family, "inner part of a matrix", 6, inner_of_matrix());
}

static void make_records(void)
{
    struct family *family = &families[FAMILY_RECORD];
    MPI_Datatype inner = record(0, 4, 8), strided = vector(2, 1, 2, inner);
    family->name = "record";
    add(family, "struct", 1, record(0, 4, 8));
    add(family, "packed struct", 1, record(0, 4, 5));
    add(family, "descending struct", 1, resized(record(20, 16, 0), 0, 24));
    add(family, "struct before its address", 1, resized(record(-8, -12, -24), -24, 24));
    add(family, "nested vector of structs", 2, copy_of(strided));
    add(family, "nested twice", 4, contiguous(2, strided));
    MPI_Type_free(&strided);
    MPI_Type_free(&inner);

    family = &families[FAMILY_PAIR];
    family->name = "pair";
    add(family, "LONG_DOUBLE_INT", 1, copy_of(MPI_LONG_DOUBLE_INT));
    add(family, "pair with gaps", 1, resized(pair_by_hand(16, 40), 0, 64));
    add(family, "2 pairs", 2, contiguous(2, MPI_LONG_DOUBLE_INT));

    family = &families[FAMILY_EMPTY];
    family->name = "empty";
    add(family, "0 ints", 1, contiguous(0, MPI_INT));
    add(family, "0 ints in 16 bytes", 1, resized(contiguous(0, MPI_INT), 0, 16));
    add(family, "0 ints, negative lower bound", 1, resized(contiguous(0, MPI_INT), -8, 8));
}

void families_make(void)
{
    make_numbers();
    make_records();
}

void families_free(void)
{
    for (int i = 0; i < NUM_FAMILIES; i++) {
        for (int j = 0; j < families[i].num_variants; j++) {
            MPI_Type_free(&families[i].variants[j].type);
        }
        families[i].num_variants = 0;
    }
}
