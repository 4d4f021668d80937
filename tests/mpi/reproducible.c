/* Under coll_pccl_reproducible every reduction has the bits of one tree over the ranks (synth/include/pccl/demand.h),
 * which is computed here apart. What only the processor decides (which of two NaNs or zeros an operation keeps) goes
 * into a digest, which run.sh compares between topologies and placements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* A kind of elements, each made of `width` doubles or floats. */
struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    int width;
    bool is_float, computed; /* computed: compared with the tree's bits, not only with the digest */
};

static uint64_t digest;

/* Matrices of doubles: the product neither commutes nor, since it rounds, associates. */
static void multiply(void *in, void *in_out, int *count, MPI_Datatype *type)
{
    double *left = in, *right = in_out;
    (void)type;
    for (int i = 0; i < *count; i++, left += 4, right += 4) {
        double product[4];
        for (int k = 0; k < 4; k++) {
            product[k] = left[k / 2 * 2] * right[k % 2] + left[k / 2 * 2 + 1] * right[k % 2 + 2];
        }
        memcpy(right, product, sizeof(product));
    }
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

static size_t element_bytes(const struct kind *kind)
{
    return (size_t)kind->width * (kind->is_float ? sizeof(float) : sizeof(double));
}

/* Sums: numbers of very different size. Products: near 1, so that nothing overflows. */
static void fill(const struct kind *kind, void *operand, int count, int rank)
{
    struct random random = {random_mix((uint64_t)count, (uint64_t)rank)};
    for (int i = 0; i < count * kind->width; i++) {
        double fraction = (double)random_next(&random) / 18446744073709551616.0;
        double number = kind->op == MPI_SUM ? ldexp(fraction - 0.5, (int)random_below(&random, 60)) : 0.5 + fraction;
        if (kind->is_float) {
            ((float *)operand)[i] = (float)number;
        } else {
            ((double *)operand)[i] = number;
        }
    }
}

static void fill_odd(const struct kind *kind, void *operand, int count, int rank)
{
    static const uint64_t doubles[] = {0, UINT64_C(1) << 63, UINT64_C(0x7ff8000000000001), UINT64_C(0xfff8000000000002),
                                       UINT64_C(0x3ff0000000000000), UINT64_C(0x7ff0000000000000)};
    static const uint32_t floats[] = {0, UINT32_C(1) << 31, UINT32_C(0x7fc00001), UINT32_C(0xffc00002),
                                      UINT32_C(0x3f800000), UINT32_C(0x7f800000)};
    struct random random = {random_mix((uint64_t)count, (uint64_t)rank)};
    for (int i = 0; i < count; i++) {
        uint32_t which = random_below(&random, 6);
        memcpy((char *)operand + (size_t)i * element_bytes(kind),
               kind->is_float ? (const void *)&floats[which] : &doubles[which], element_bytes(kind));
    }
}

static void *make_operand(const struct kind *kind, int count, int rank)
{
    void *operand = malloc((size_t)count * element_bytes(kind) + 1);
    (kind->computed ? fill : fill_odd)(kind, operand, count, rank);
    return operand;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static void combine(const struct kind *kind, void *left, void *right, int count)
{
    if (kind->op != MPI_SUM && kind->op != MPI_PROD) {
        MPI_Datatype type = kind->type;
        multiply(left, right, &count, &type);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (kind->is_float) {
            float a = ((float *)left)[i], *b = &((float *)right)[i];
            *b = kind->op == MPI_SUM ? a + *b : a * *b;
        } else {
            double a = ((double *)left)[i], *b = &((double *)right)[i];
            *b = kind->op == MPI_SUM ? a + *b : a * *b;
        }
    }
}

/* The result of `leaves` leaves from `first` on, each two ranks below num_pairs, else one. */
static void *tree(const struct kind *kind, int count, int first, int leaves, int num_pairs)
{
    void *left, *right;
    if (leaves > 1) {
        left = tree(kind, count, first, leaves / 2, num_pairs);
        right = tree(kind, count, first + leaves / 2, leaves / 2, num_pairs);
    } else if (first < num_pairs) {
        left = make_operand(kind, count, 2 * first);
        right = make_operand(kind, count, 2 * first + 1);
    } else {
        return make_operand(kind, count, first + num_pairs);
    }
    combine(kind, left, right, count);
    free(left);
    return right;
}

/* What a rank has after so many rounds of a scan, or of an exscan; NULL: nothing yet. Each round joins what the rank
 * 2^(rounds-1) below had before it, in an exscan with the operand of that one. */
static void *prefix(const struct kind *kind, int count, int rank, int rounds, bool exclusive)
{
    if (rounds == 0) {
        return exclusive ? NULL : make_operand(kind, count, rank);
    }
    void *own = prefix(kind, count, rank, rounds - 1, exclusive);
    int below = rank - (1 << (rounds - 1));
    if (below < 0) {
        return own;
    }
    void *brought = prefix(kind, count, below, rounds - 1, exclusive);
    if (exclusive) {
        void *last = make_operand(kind, count, below);
        if (brought != NULL) {
            combine(kind, brought, last, count);
        }
        free(brought);
        brought = last;
    }
    if (own == NULL) {
        return brought;
    }
    combine(kind, brought, own, count);
    free(brought);
    return own;
}

static void *expected_result(const struct kind *kind, int count, int size)
{
    int leaves = 1;
    while (leaves <= size / 2) {
        leaves *= 2;
    }
    return kind->computed ? tree(kind, count, 0, leaves, size - leaves) : NULL;
}

/* --- collectives -------------------------------------------------------------------------------------------------- */

/* Elements first .. first+count-1 of the result. */
static void check_bits(const struct kind *kind, const void *expected, const void *found, int first, int count)
{
    size_t bytes = element_bytes(kind);
    const unsigned char *start = found;
    for (size_t i = 0; i < (size_t)count * bytes; i++) {
        digest = random_mix(digest, start[i]);
    }
    check_that(expected == NULL ||
                   memcmp((const char *)expected + (size_t)first * bytes, found, (size_t)count * bytes) == 0,
               "not the bits of the tree over ranks");
}

static void test_whole_vectors(const struct kind *kind, int count, MPI_Comm comm, const void *operand, void *result,
                               const void *expected)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    check_case("allreduce of %d %s", count, kind->name);
    MPI_Allreduce(operand, result, count, kind->type, kind->op, comm);
    check_bits(kind, expected, result, 0, count);
    memcpy(result, operand, (size_t)count * element_bytes(kind));
    MPI_Allreduce(MPI_IN_PLACE, result, count, kind->type, kind->op, comm);
    check_bits(kind, expected, result, 0, count);
    for (int root = 0; root < size; root += 1 + size / 3) {
        check_case("reduce of %d %s to %d", count, kind->name, root);
        MPI_Reduce(operand, result, count, kind->type, kind->op, root, comm);
        if (rank == root) {
            check_bits(kind, expected, result, 0, count);
        }
    }
}

static void test_scattered(const struct kind *kind, int count, MPI_Comm comm, const void *operand, void *result,
                           const void *expected)
{
    int rank, size, first = 0, counts[MAX_RANKS], block = count;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1 < size ? (count - first) / 3 : count - first;
        block = i == rank ? first : block;
        first += counts[i];
    }
    check_case("reduce_scatter of %d %s", count, kind->name);
    MPI_Reduce_scatter(operand, result, counts, kind->type, kind->op, comm);
    check_bits(kind, expected, result, block, counts[rank]);
    check_case("reduce_scatter_block of %d %s", count / size, kind->name);
    MPI_Reduce_scatter_block(operand, result, count / size, kind->type, kind->op, comm);
    check_bits(kind, expected, result, rank * (count / size), count / size);
}

static void test_prefixes(const struct kind *kind, int count, MPI_Comm comm, const void *operand, void *result)
{
    int rank, size, rounds = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    while (1 << rounds < size) {
        rounds++;
    }
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        void *expected = kind->computed ? prefix(kind, count, rank, rounds, exclusive != 0) : NULL;
        check_case("%s of %d %s", exclusive ? "exscan" : "scan", count, kind->name);
        (exclusive ? MPI_Exscan : MPI_Scan)(operand, result, count, kind->type, kind->op, comm);
        if (!exclusive || rank > 0) {
            check_bits(kind, expected, result, 0, count);
        }
        free(expected);
    }
}

static void test_kind(const struct kind *kind, int count, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    void *operand = make_operand(kind, count, rank), *result = malloc((size_t)count * element_bytes(kind) + 1);
    void *expected = expected_result(kind, count, size);
    test_whole_vectors(kind, count, comm, operand, result, expected);
    test_scattered(kind, count, comm, operand, result, expected);
    test_prefixes(kind, count, comm, operand, result);
    free(operand);
    free(result);
    free(expected);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 3, 130, 1501, 40007};
    MPI_Datatype matrix;
    MPI_Op product;
    MPI_Comm reversed;
    int rank, size;
    check_init(&argc, &argv, "reproducible");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Type_contiguous(4, MPI_DOUBLE, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &product);
    const struct kind kinds[] = {
        {"doubles, sum", MPI_DOUBLE, MPI_SUM, 1, false, true},
        {"floats, sum", MPI_FLOAT, MPI_SUM, 1, true, true},
        {"doubles, product", MPI_DOUBLE, MPI_PROD, 1, false, true},
        {"matrices", matrix, product, 4, false, true},
        {"odd doubles, sum", MPI_DOUBLE, MPI_SUM, 1, false, false},
        {"odd doubles, maximum", MPI_DOUBLE, MPI_MAX, 1, false, false},
        {"odd floats, minimum", MPI_FLOAT, MPI_MIN, 1, true, false},
        {"odd floats, product", MPI_FLOAT, MPI_PROD, 1, true, false},
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
            test_kind(&kinds[k], counts[c], MPI_COMM_WORLD);
            test_kind(&kinds[k], counts[c], reversed);
        }
    }
    uint64_t *digests = calloc((size_t)size, sizeof(*digests));
    MPI_Gather(&digest, 1, MPI_UINT64_T, digests, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++) {
        digest = random_mix(digest, digests[i]);
    }
    if (rank == 0) {
        printf("digest %016llx\n", (unsigned long long)digest);
    }
    free(digests);
    MPI_Op_free(&product);
    MPI_Type_free(&matrix);
    MPI_Comm_free(&reversed);
    return check_finalize();
}
