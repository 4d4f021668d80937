/* Operators: pairs, elements that cannot be cut, what a user's function is given, unequal results. */
#include <stdlib.h>
#include <string.h>

#include "reports.h"

struct long_pair {
    long double value;
    int index;
};

/* o#1754, o#966, o#2034: pair types in place at every root. */
static void pairs_in_place(void)
{
    for (int root = 0; root < world_size; root++) {
        struct long_pair pairs[3], result[3];
        const bool at_root = world_rank == root;
        check_case("reduce of LONG_DOUBLE_INT in place at %d", root);
        memset(pairs, 0, sizeof(pairs));
        for (int i = 0; i < 3; i++) {
            pairs[i].value = (world_rank * 5 + i) % world_size;
            pairs[i].index = world_rank;
        }
        MPI_Reduce(at_root ? MPI_IN_PLACE : pairs, at_root ? pairs : NULL, 3, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, root,
                   MPI_COMM_WORLD);
        for (int i = 0; i < 3; i++) {
            result[i].value = -1;
            for (int rank = 0; rank < world_size; rank++) {
                if ((rank * 5 + i) % world_size > result[i].value) {
                    result[i].value = (rank * 5 + i) % world_size;
                    result[i].index = rank;
                }
            }
            check_that(!at_root || (pairs[i].value == result[i].value && pairs[i].index == result[i].index),
                       "pair %d is %Lg at %d, expected %Lg at %d", i, pairs[i].value, pairs[i].index, result[i].value,
                       result[i].index);
        }
    }
}

/* One element of 400 kB: it cannot be cut, whatever the plan would like. */
enum { BIG = 100000 };
static MPI_Datatype big_type;
static int wrong_calls;

static void join_big(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int size;
    MPI_Type_size(*type, &size);
    wrong_calls += size != BIG * (int)sizeof(int) || *count < 1;
    for (int i = 0; i < *count; i++) {
        const int *left = (const int *)in + (size_t)BIG * (size_t)i;
        int *right = (int *)inout + (size_t)BIG * (size_t)i;
        for (int j = 2; j < BIG; j++) {
            right[j] += left[j];
        }
        right[0] = left[0] * right[1] + right[0]; /* hash of what was joined, in order; right[1] is a power */
        right[1] = left[1] * right[1];
    }
}

static void elements_too_big_to_cut(void)
{
    MPI_Op op;
    MPI_Type_contiguous(BIG, MPI_INT, &big_type);
    MPI_Type_commit(&big_type);
    MPI_Op_create(join_big, 0, &op);
    for (int count = 1; count <= 3; count++) {
        int *mine = calloc((size_t)BIG * (size_t)count, sizeof(int)),
            *result = calloc((size_t)BIG * (size_t)count, sizeof(int));
        unsigned expected = 0;
        check_case("allreduce of %d elements of 400 kB", count);
        for (int i = 0; i < count; i++) {
            mine[BIG * i] = world_rank + 1;
            mine[BIG * i + 1] = 3;
        }
        wrong_calls = 0;
        MPI_Allreduce(mine, result, count, big_type, op, MPI_COMM_WORLD);
        for (int rank = 0; rank < world_size; rank++) {
            expected = expected * 3 + (unsigned)rank + 1;
        }
        for (int i = 0; i < count; i++) {
            check_that((unsigned)result[BIG * i] == expected, "element %d is %d, expected %u", i, result[BIG * i],
                       expected);
        }
        check_that(wrong_calls == 0, "the function was called with another type or no element %d times", wrong_calls);
        free(mine);
        free(result);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&big_type);
}

/* The user's function gets the handle that the application passed. */
static MPI_Datatype expected_type;

static void check_handle(void *in, void *inout, int *count, MPI_Datatype *type)
{
    wrong_calls += *type != expected_type;
    for (int i = 0; i < *count; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void handle_of_the_type(void)
{
    MPI_Op op;
    int mine[100], result[100];
    MPI_Op_create(check_handle, 1, &op);
    MPI_Type_contiguous(1, MPI_INT, &expected_type);
    MPI_Type_commit(&expected_type);
    wrong_calls = 0;
    check_case("datatype handle given to a user's function");
    for (int i = 0; i < 100; i++) {
        mine[i] = i;
    }
    MPI_Allreduce(mine, result, 100, expected_type, op, MPI_COMM_WORLD);
    check_that(wrong_calls == 0, "%d calls with another handle", wrong_calls);
    check_that(result[99] == 99 * world_size, "last sum %d", result[99]);
    MPI_Type_free(&expected_type);
    MPI_Op_free(&op);
}

/* An operator freed right after the call, as MPI allows. */
static void operator_freed(void)
{
    for (int round = 0; round < 10; round++) {
        MPI_Op op;
        int mine = world_rank, sum = 0;
        check_case("operator freed after the call, round %d", round);
        expected_type = MPI_INT;
        MPI_Op_create(check_handle, round % 2, &op);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
        check_that(sum == world_size * (world_size - 1) / 2, "sum %d", sum);
    }
}

/* Reduce-scatter where nobody, only the first, or only the last gets something. */
static void unequal_results(void)
{
    for (int owner = -1; owner<world_size; owner += world_size> 4 ? 3 : 1) {
        int counts[MAX_RANKS] = {0}, mine[50], result[50];
        check_case("reduce_scatter with results at %d only", owner);
        for (int i = 0; i < 50; i++) {
            mine[i] = world_rank + i;
            result[i] = -1;
        }
        if (owner >= 0) {
            counts[owner] = 50;
        }
        MPI_Reduce_scatter(mine, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < 50; i++) {
            int expected = world_rank == owner ? world_size * (world_size - 1) / 2 + world_size * i : -1;
            check_that(result[i] == expected, "element %d is %d, expected %d", i, result[i], expected);
        }
    }
}

const struct report operator_reports[] = {
    {"pairs in place", pairs_in_place, false},         {"elements too big to cut", elements_too_big_to_cut, false},
    {"handle of the type", handle_of_the_type, false}, {"operator freed", operator_freed, false},
    {"unequal results", unequal_results, false},       {NULL, NULL, false},
};
