/* Reductions whose result depends on the order of combining: every rank must get the same bits, every call the same
 * bits again, and (by the digest printed, which run.sh compares) every run too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static uint64_t digest;

/* Numbers of very different size: every other order of additions rounds to other bits. */
static void fill(double *numbers, int count, uint64_t seed)
{
    struct random random = {seed};
    for (int i = 0; i < count; i++) {
        double mantissa = (double)random_next(&random) / 9007199254740992.0 - 1024;
        numbers[i] = ldexp(mantissa, (int)random_below(&random, 40));
    }
}

static void compare_with_rank_0(const double *found, double *other, int count, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank > 0) {
        MPI_Recv(other, count, MPI_DOUBLE, rank - 1, 3, comm, MPI_STATUS_IGNORE);
        check_that(memcmp(other, found, (size_t)count * sizeof(double)) == 0, "ranks %d and %d differ", rank - 1, rank);
    }
    if (rank + 1 < size) {
        MPI_Send(found, count, MPI_DOUBLE, rank + 1, 3, comm);
    }
}

static void add_to_digest(const double *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof(bits));
        digest = random_mix(digest, bits);
    }
}

/* The sum up to rounding, so that equal but wrong results do not pass. */
static void compare_with_sum(const double *found, int count, int size, uint64_t seed)
{
    double *operand = malloc((size_t)count * sizeof(double)), *sum = calloc((size_t)count, sizeof(double));
    bool close = true;
    for (int peer = 0; peer < size; peer++) {
        fill(operand, count, random_mix(seed, (uint64_t)peer));
        for (int i = 0; i < count; i++) {
            sum[i] += operand[i];
        }
    }
    for (int i = 0; i < count; i++) {
        close = close && fabs(sum[i] - found[i]) <= ldexp(1, 51 - 40);
    }
    check_that(close, "wrong beyond rounding");
    free(operand);
    free(sum);
}

static void test_allreduce(MPI_Comm comm, const char *name, int count)
{
    int rank, size;
    const uint64_t seed = random_mix(5, (uint64_t)count);
    const size_t bytes = (size_t)count * sizeof(double);
    double *operand = malloc(bytes), *first = malloc(bytes), *again = malloc(bytes);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    check_case("allreduce of %d doubles on %s", count, name);
    fill(operand, count, random_mix(seed, (uint64_t)rank));
    MPI_Allreduce(operand, first, count, MPI_DOUBLE, MPI_SUM, comm);
    compare_with_sum(first, count, size, seed);
    compare_with_rank_0(first, again, count, comm);
    for (int i = 0; i < 3; i++) {
        MPI_Allreduce(operand, again, count, MPI_DOUBLE, MPI_SUM, comm);
        check_that(memcmp(first, again, bytes) == 0, "call %d differs from the first", i + 2);
    }
    memcpy(again, operand, bytes);
    MPI_Allreduce(MPI_IN_PLACE, again, count, MPI_DOUBLE, MPI_SUM, comm);
    check_that(memcmp(first, again, bytes) == 0, "in place differs");
    add_to_digest(first, count);
    free(operand);
    free(first);
    free(again);
}

static void test_reduce(MPI_Comm comm, const char *name, int count)
{
    int rank, size;
    const uint64_t seed = random_mix(6, (uint64_t)count);
    const size_t bytes = (size_t)count * sizeof(double);
    double *operand = malloc(bytes), *first = malloc(bytes), *again = malloc(bytes);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    fill(operand, count, random_mix(seed, (uint64_t)rank));
    for (int root = 0; root < size; root += 1 + size / 3) {
        check_case("reduce of %d doubles to %d on %s", count, root, name);
        MPI_Reduce(operand, first, count, MPI_DOUBLE, MPI_SUM, root, comm);
        MPI_Reduce(operand, again, count, MPI_DOUBLE, MPI_SUM, root, comm);
        if (rank == root) {
            check_that(memcmp(first, again, bytes) == 0, "second call differs");
            compare_with_sum(first, count, size, seed);
            add_to_digest(first, count);
        }
    }
    free(operand);
    free(first);
    free(again);
}

/* Zeros of both signs and NaNs of several payloads: which one an operator keeps depends on the order of its operands,
 * and on whether a vector or a scalar instruction does it. */
static void test_odd_numbers(MPI_Op op, const char *name, int count)
{
    static const uint64_t odd[] = {0,
                                   UINT64_C(1) << 63,
                                   UINT64_C(0x7ff8000000000001),
                                   UINT64_C(0xfff8000000000002),
                                   UINT64_C(0x3ff0000000000000),
                                   UINT64_C(0x7ff0000000000000)};
    struct random random = {.state = (uint64_t)count};
    const size_t bytes = (size_t)count * sizeof(double);
    double *operand = malloc(bytes), *first = malloc(bytes), *again = malloc(bytes);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_case("allreduce, %s of %d zeros, NaNs and infinities", name, count);
    random.state += (uint64_t)rank << 32;
    for (int i = 0; i < count; i++) {
        memcpy(&operand[i], &odd[random_below(&random, 6)], sizeof(double));
    }
    MPI_Allreduce(operand, first, count, MPI_DOUBLE, op, MPI_COMM_WORLD);
    compare_with_rank_0(first, again, count, MPI_COMM_WORLD);
    MPI_Allreduce(operand, again, count, MPI_DOUBLE, op, MPI_COMM_WORLD);
    check_that(memcmp(first, again, bytes) == 0, "second call differs");
    MPI_Allreduce(MPI_IN_PLACE, operand, count, MPI_DOUBLE, op, MPI_COMM_WORLD);
    compare_with_rank_0(operand, again, count, MPI_COMM_WORLD);
    add_to_digest(first, count);
    free(operand);
    free(first);
    free(again);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 7, 100, 1500, 9000, 70001};
    MPI_Comm reversed;
    uint64_t *digests;
    int rank, size;
    check_init(&argc, &argv, "order");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        test_allreduce(MPI_COMM_WORLD, "world", counts[i]);
        test_allreduce(reversed, "reversed", counts[i]);
        test_reduce(MPI_COMM_WORLD, "world", counts[i]);
        test_odd_numbers(MPI_SUM, "sum", counts[i]);
        test_odd_numbers(MPI_MAX, "max", counts[i]);
        test_odd_numbers(MPI_MIN, "min", counts[i]);
        test_odd_numbers(MPI_PROD, "prod", counts[i]);
    }
    MPI_Comm_free(&reversed);
    digests = calloc((size_t)size, sizeof(*digests));
    MPI_Gather(&digest, 1, MPI_UINT64_T, digests, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++) {
        digest = random_mix(digest, digests[i]);
    }
    free(digests);
    if (rank == 0) {
        printf("digest %016llx\n", (unsigned long long)digest);
    }
    return check_finalize();
}
