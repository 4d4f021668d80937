/* Operators with operands for which every order of combining that MPI allows gives the same bits: small whole numbers,
 * powers of two, and, for user-defined operators, integer arithmetic. */
#include <complex.h>
#include <string.h>

#include "tables.h"

struct reduction reductions[MAX_REDUCTIONS];
int num_reductions, first_user_reduction;

static MPI_Datatype matrix_type, wide_type, low_type, interval_type;
static MPI_Op modular_sum, wide_sum, low_sum, matrix_product, low_product, interval_join;

/* --- user-defined operators --------------------------------------------------------------------------------------- */

static void sum_modular(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const int *left = in;
    int *right = inout;
    (void)type;
    for (int i = 0; i < *count; i++) {
        right[i] = (left[i] + right[i]) % 1000003;
    }
}

/* 2x2 matrices modulo a prime: associative, not commutative. */
static void multiply_matrix(const int *left, int *right)
{
    int product[4];
    for (int row = 0; row < 2; row++) {
        for (int column = 0; column < 2; column++) {
            product[2 * row + column] = (left[2 * row] * right[column] + left[2 * row + 1] * right[2 + column]) % 10007;
        }
    }
    memcpy(right, product, sizeof(product));
}

static void multiply_matrices(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        multiply_matrix((int *)in + 4 * i, (int *)inout + 4 * i);
    }
}

/* On derived types an operator must step by the extent and touch nothing but the data. */
struct wide { /* vector(2, 1, 3, int): ints at 0 and 12, extent 16 */
    int first, gap[2], second;
};

static void sum_wide(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct wide *left = in;
    struct wide *right = inout;
    (void)type;
    for (int i = 0; i < *count; i++) {
        right[i].first += left[i].first;
        right[i].second ^= left[i].second;
    }
}

/* Four ints that begin 24 bytes before the address, extent 40, lower bound -24. */
static void sum_low(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        const int *left = (const int *)((char *)in + 40 * (ptrdiff_t)i - 24);
        int *right = (int *)((char *)inout + 40 * (ptrdiff_t)i - 24);
        for (int j = 0; j < 4; j++) {
            right[j] += left[j];
        }
    }
}

static void multiply_low(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        multiply_matrix((const int *)((char *)in + 40 * (ptrdiff_t)i - 24),
                        (int *)((char *)inout + 40 * (ptrdiff_t)i - 24));
    }
}

/* Intervals that remember a hash of everything joined, in order: left * 31^length(right) + right. */
struct interval {
    uint32_t hash, power;
};

static void join_intervals(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct interval *left = in;
    struct interval *right = inout;
    (void)type;
    for (int i = 0; i < *count; i++) {
        right[i].hash = left[i].hash * right[i].power + right[i].hash;
        right[i].power = left[i].power * right[i].power;
    }
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

#define FILL(name, ctype, value)                                                                                       \
    static void fill_##name(void *element, uint64_t noise)                                                             \
    {                                                                                                                  \
        ctype number = (ctype)(value);                                                                                 \
        memcpy(element, &number, sizeof(number));                                                                      \
    }

FILL(int, int, noise % 1000)
FILL(int_factor, int, 1 + noise % 2)
FILL(int_logical, int, noise % 4 == 0 ? 0 : noise % 7)
FILL(bits, unsigned, noise)
FILL(byte, unsigned char, noise)
FILL(schar, signed char, noise)
FILL(short, short, noise)
FILL(long, long, noise)
FILL(uint64, uint64_t, noise)
FILL(float, float, noise % 512)
FILL(double, double, (double)(noise % 4096) - 2048)
FILL(double_factor, double, noise % 2 == 0 ? 0.5 : 2)
FILL(long_double, long double, noise % 4096)
FILL(complex, double _Complex, (double)(noise % 64) + (double)(noise / 64 % 64) * I)
FILL(bool, _Bool, noise % 3 == 0)

#define FILL_PAIR(name, ctype)                                                                                         \
    static void fill_##name(void *element, uint64_t noise)                                                             \
    {                                                                                                                  \
        struct {                                                                                                       \
            ctype value;                                                                                               \
            int index;                                                                                                 \
        } pair;                                                                                                        \
        memset(&pair, 0, sizeof(pair));                                                                                \
        pair.value = (ctype)(noise % 5);                                                                               \
        pair.index = (int)(noise >> 40 & 0xffff);                                                                      \
        memcpy(element, &pair.value, sizeof(pair.value));                                                              \
        memcpy((char *)element + ((char *)&pair.index - (char *)&pair), &pair.index, sizeof(pair.index));              \
    }

FILL_PAIR(float_int, float)
FILL_PAIR(double_int, double)
FILL_PAIR(long_int, long)
FILL_PAIR(short_int, short)
FILL_PAIR(two_int, int)
FILL_PAIR(long_double_int, long double)

static void fill_matrix(void *element, uint64_t noise)
{
    const int numbers[4] = {(int)(noise % 10007), (int)(noise >> 16 & 0xfff), (int)(noise >> 32 & 0xfff),
                            1 + (int)(noise >> 48 & 0xff)};
    memcpy(element, numbers, sizeof(numbers));
}

static void fill_wide(void *element, uint64_t noise)
{
    struct wide *wide = element;
    wide->first = (int)(noise & 0xffff);
    wide->second = (int)(noise >> 32);
}

static void fill_low(void *element, uint64_t noise)
{
    fill_matrix((char *)element - 24, noise);
}

static void fill_interval(void *element, uint64_t noise)
{
    const struct interval interval = {(uint32_t)noise, 31};
    memcpy(element, &interval, sizeof(interval));
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static struct reduction *add(const char *name, MPI_Op op, MPI_Datatype type, void (*fill)(void *, uint64_t))
{
    struct reduction *reduction = &reductions[num_reductions++];
    memset(reduction, 0, sizeof(*reduction));
    reduction->name = name;
    reduction->op = op;
    reduction->type = type;
    reduction->fill = fill;
    return reduction;
}

static void pad(struct reduction *reduction, int offset, int bytes, int offset2, int bytes2)
{
    reduction->pad_offset = offset;
    reduction->pad_bytes = bytes;
    reduction->pad2_offset = offset2;
    reduction->pad2_bytes = bytes2;
}

static void add_predefined(void)
{
    add("sum int", MPI_SUM, MPI_INT, fill_int);
    add("prod int", MPI_PROD, MPI_INT, fill_int_factor);
    add("max short", MPI_MAX, MPI_SHORT, fill_short);
    add("max signed char", MPI_MAX, MPI_SIGNED_CHAR, fill_schar);
    add("min long", MPI_MIN, MPI_LONG, fill_long);
    add("min float", MPI_MIN, MPI_FLOAT, fill_float);
    add("sum float", MPI_SUM, MPI_FLOAT, fill_float);
    add("sum double", MPI_SUM, MPI_DOUBLE, fill_double);
    add("prod double", MPI_PROD, MPI_DOUBLE, fill_double_factor);
    pad(add("sum long double", MPI_SUM, MPI_LONG_DOUBLE, fill_long_double), 10, 6, 0, 0);
    add("sum complex", MPI_SUM, MPI_C_DOUBLE_COMPLEX, fill_complex);
    add("sum uint64", MPI_SUM, MPI_UINT64_T, fill_uint64);
    add("band unsigned", MPI_BAND, MPI_UNSIGNED, fill_bits);
    add("bor unsigned char", MPI_BOR, MPI_UNSIGNED_CHAR, fill_byte);
    add("bxor byte", MPI_BXOR, MPI_BYTE, fill_byte);
    add("land int", MPI_LAND, MPI_INT, fill_int_logical);
    add("lor C bool", MPI_LOR, MPI_C_BOOL, fill_bool);
    add("lxor int", MPI_LXOR, MPI_INT, fill_int_logical);
    add("maxloc float", MPI_MAXLOC, MPI_FLOAT_INT, fill_float_int);
    pad(add("minloc double", MPI_MINLOC, MPI_DOUBLE_INT, fill_double_int), 12, 4, 0, 0);
    pad(add("maxloc long", MPI_MAXLOC, MPI_LONG_INT, fill_long_int), 12, 4, 0, 0);
    pad(add("maxloc short", MPI_MAXLOC, MPI_SHORT_INT, fill_short_int), 2, 2, 0, 0);
    add("minloc 2int", MPI_MINLOC, MPI_2INT, fill_two_int);
    pad(add("maxloc long double", MPI_MAXLOC, MPI_LONG_DOUBLE_INT, fill_long_double_int), 10, 6, 20, 12);
}

static void make_types(void)
{
    MPI_Datatype inner;
    const MPI_Aint offset = -24;
    const int length = 4;
    MPI_Type_contiguous(4, MPI_INT, &matrix_type);
    MPI_Type_vector(2, 1, 3, MPI_INT, &wide_type);
    MPI_Type_create_hindexed(1, &length, &offset, MPI_INT, &inner);
    MPI_Type_create_resized(inner, -24, 40, &low_type);
    MPI_Type_contiguous(2, MPI_UINT32_T, &interval_type);
    MPI_Type_free(&inner);
    MPI_Type_commit(&matrix_type);
    MPI_Type_commit(&wide_type);
    MPI_Type_commit(&low_type);
    MPI_Type_commit(&interval_type);
}

void reductions_make(void)
{
    num_reductions = 0;
    add_predefined();
    first_user_reduction = num_reductions;
    make_types();
    MPI_Op_create(sum_modular, 1, &modular_sum);
    MPI_Op_create(sum_wide, 1, &wide_sum);
    MPI_Op_create(sum_low, 1, &low_sum);
    MPI_Op_create(multiply_matrices, 0, &matrix_product);
    MPI_Op_create(multiply_low, 0, &low_product);
    MPI_Op_create(join_intervals, 0, &interval_join);
    add("user sum", modular_sum, MPI_INT, fill_int);
    add("user sum, gapped type", wide_sum, wide_type, fill_wide);
    add("user sum, negative lower bound", low_sum, low_type, fill_low);
    add("matrix product (ordered)", matrix_product, matrix_type, fill_matrix);
    add("matrix product (ordered), negative lower bound", low_product, low_type, fill_low);
    add("interval join (ordered)", interval_join, interval_type, fill_interval);
}

void reductions_free(void)
{
    MPI_Op *ops[] = {&modular_sum, &wide_sum, &low_sum, &matrix_product, &low_product, &interval_join};
    MPI_Datatype *types[] = {&matrix_type, &wide_type, &low_type, &interval_type};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        MPI_Op_free(ops[i]);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        MPI_Type_free(types[i]);
    }
}
