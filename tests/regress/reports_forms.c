/* The same kinds of reports for the collectives and forms that users hit less often: non-blocking, persistent, with
 * counts, with datatypes for each block, among neighbours, prefixes. */
#include "reports.h"

#include <mpi-ext.h> /* after mpi.h, which it does not include */
#include <stdlib.h>
#include <string.h>

enum form { BLOCKING, NONBLOCKING, PERSISTENT, NUM_FORMS };
static const char *const form_names[NUM_FORMS] = {"blocking", "non-blocking", "persistent"};

/* A persistent call runs twice; what it overwrites must be set between by the test if that matters. */
static void finish(enum form form, MPI_Request *request)
{
    if (form == NONBLOCKING) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    } else if (form == PERSISTENT) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        MPI_Request_free(request);
    }
}

/* One call in any form, to its end: RUN(form, Allreduce, Iallreduce, arguments up to the communicator). */
#define RUN(form, NAME, I_NAME, ...)                                                    \
    do {                                                                                \
        MPI_Request request_;                                                           \
        if ((form) == BLOCKING) {                                                       \
            MPI_##NAME(__VA_ARGS__);                                                    \
        } else if ((form) == NONBLOCKING) {                                             \
            MPI_##I_NAME(__VA_ARGS__, &request_);                                       \
        } else {                                                                        \
            MPIX_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request_);                  \
        }                                                                               \
        finish(form, &request_);                                                        \
    } while (0)

/* p#872: one element of an empty type at one end, no element of another at the other: nobody sends, nobody waits. */
static void empty_types_with_counts(void)
{
    MPI_Datatype empty, types[MAX_RANKS];
    int counts[MAX_RANKS], zeros[MAX_RANKS] = {0}, number = 4711;
    const int odd = world_rank % 2, count = odd ? 0 : 1;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    for (int i = 0; i < world_size; i++) {
        counts[i] = count;
        types[i] = odd ? MPI_INT : empty;
    }
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        for (int root = 0; root < world_size; root += 1 + world_size / 2) {
            check_case("nothing from and to %d, as an element of an empty type and as none, %s", root,
                       form_names[form]);
            RUN(form, Scatterv, Iscatterv, &number, counts, zeros, types[0], &number, count, types[0], root,
                MPI_COMM_WORLD);
            RUN(form, Gatherv, Igatherv, &number, count, types[0], &number, counts, zeros, types[0], root,
                MPI_COMM_WORLD);
            /* The receiver names an element of nothing, the root none at all. */
            RUN(form, Scatterv, Iscatterv, &number, zeros, zeros, MPI_INT, &number, 1, empty, root, MPI_COMM_WORLD);
        }
        check_case("alltoallw and alltoallv of nothing, %s", form_names[form]);
        RUN(form, Alltoallw, Ialltoallw, &number, counts, zeros, types, &number, counts, zeros, types, MPI_COMM_WORLD);
        RUN(form, Alltoallv, Ialltoallv, &number, counts, zeros, types[0], &number, counts, zeros, types[0],
            MPI_COMM_WORLD);
        check_that(number == 4711, "number became %d", number);
    }
    MPI_Type_free(&empty);
}

/* o#9329, p#6404: in place, with as many ints between two ranks as their numbers add up to. */
static void triangular_in_place(void)
{
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        for (int with_types = 0; with_types < 2; with_types++) {
            int counts[MAX_RANKS], places[MAX_RANKS], next = 0;
            int *numbers = calloc(MAX_RANKS * MAX_RANKS * 2, sizeof(int));
            MPI_Datatype types[MAX_RANKS];
            check_case("alltoall%c in place, %s", with_types ? 'w' : 'v', form_names[form]);
            for (int i = 0; i < world_size; i++) {
                counts[i] = world_rank + i;
                places[i] = next * (with_types ? (int)sizeof(int) : 1);
                types[i] = MPI_INT;
                for (int j = 0; j < counts[i]; j++, next++) {
                    numbers[next] = world_rank * 1000 + i * 100 + j;
                }
            }
            if (with_types) {
                RUN(form, Alltoallw, Ialltoallw, MPI_IN_PLACE, NULL, NULL, NULL, numbers, counts, places, types,
                    MPI_COMM_WORLD);
            } else {
                RUN(form, Alltoallv, Ialltoallv, MPI_IN_PLACE, NULL, NULL, MPI_INT, numbers, counts, places, MPI_INT,
                    MPI_COMM_WORLD);
            }
            next = 0;
            for (int i = 0; i < world_size; i++) {
                for (int j = 0; j < counts[i]; j++, next++) {
                    check_that(numbers[next] == i * 1000 + world_rank * 100 + j, "number %d from %d is %d", j, i,
                               numbers[next]);
                }
            }
            free(numbers);
        }
    }
}

struct long_pair {
    long double value;
    int index;
};

static void fill_pairs(struct long_pair *pairs, int count)
{
    memset(pairs, 0, (size_t)count * sizeof *pairs);
    for (int i = 0; i < count; i++) {
        pairs[i].value = (world_rank * 5 + i) % world_size;
        pairs[i].index = world_rank;
    }
}

/* Compares with the largest values of ranks 0 .. last. */
static void check_pairs(const struct long_pair *pairs, int count, int last)
{
    for (int i = 0; i < count; i++) {
        struct long_pair best = {-1, -1};
        for (int rank = 0; rank <= last; rank++) {
            if ((rank * 5 + i) % world_size > best.value) {
                best.value = (rank * 5 + i) % world_size;
                best.index = rank;
            }
        }
        check_that(pairs[i].value == best.value && pairs[i].index == best.index, "pair %d is %Lg at %d", i,
                   pairs[i].value, pairs[i].index);
    }
}

/* o#1754, o#966, o#2034: pair types in place, in all reductions and forms. */
static void pairs_in_place_everywhere(void)
{
    enum { COUNT = 3 };
    struct long_pair pairs[COUNT];
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        for (int root = 0; root < world_size; root++) {
            const bool at_root = world_rank == root;
            check_case("reduce of LONG_DOUBLE_INT in place at %d, %s", root, form_names[form]);
            fill_pairs(pairs, COUNT);
            RUN(form, Reduce, Ireduce, at_root ? MPI_IN_PLACE : pairs, at_root ? pairs : NULL, COUNT,
                MPI_LONG_DOUBLE_INT, MPI_MAXLOC, root, MPI_COMM_WORLD);
            check_pairs(pairs, at_root ? COUNT : 0, world_size - 1);
        }
        check_case("allreduce of LONG_DOUBLE_INT in place, %s", form_names[form]);
        fill_pairs(pairs, COUNT);
        RUN(form, Allreduce, Iallreduce, MPI_IN_PLACE, pairs, COUNT, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
        check_pairs(pairs, COUNT, world_size - 1);
        check_case("scan of LONG_DOUBLE_INT in place, %s", form_names[form]);
        fill_pairs(pairs, COUNT);
        RUN(form, Scan, Iscan, MPI_IN_PLACE, pairs, COUNT, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
        check_pairs(pairs, COUNT, world_rank);
        check_case("exscan of LONG_DOUBLE_INT in place, %s", form_names[form]);
        fill_pairs(pairs, COUNT);
        RUN(form, Exscan, Iexscan, MPI_IN_PLACE, pairs, COUNT, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
        check_pairs(pairs, COUNT, world_rank > 0 ? world_rank - 1 : 0); /* the first keeps what it had */
    }
}

/* Function of the program that must not be given its operands in another order: joins digits. */
static void join_digits(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        long long *left = (long long *)in + 2 * i, *right = (long long *)inout + 2 * i;
        right[0] += left[0] * right[1];
        right[1] *= left[1];
    }
}

/* Prefixes in rank order, the first one's receive buffer of an exscan untouched. */
static void ordered_prefixes(void)
{
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_LONG_LONG, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(join_digits, 0, &op);
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        for (int count = 1; count < 30000; count *= 29) {
            long long *mine = malloc((size_t)count * 2 * sizeof *mine);
            long long *result = malloc((size_t)count * 2 * sizeof *result);
            for (int exclusive = 0; exclusive < 2; exclusive++) {
                long long expected = 0;
                check_case("%s of %d pairs in order, %s", exclusive ? "exscan" : "scan", count, form_names[form]);
                for (int i = 0; i < 2 * count; i++) {
                    mine[i] = i % 2 == 0 ? world_rank % 7 + 1 : 3;
                    result[i] = -5;
                }
                if (exclusive) {
                    RUN(form, Exscan, Iexscan, mine, result, count, pair, op, MPI_COMM_WORLD);
                } else {
                    RUN(form, Scan, Iscan, mine, result, count, pair, op, MPI_COMM_WORLD);
                }
                for (int rank = 0; rank < world_rank + !exclusive; rank++) {
                    expected = expected * 3 + rank % 7 + 1;
                }
                expected = exclusive && world_rank == 0 ? -5 : expected;
                check_that(result[0] == expected && result[2 * count - 2] == expected, "%lld and %lld, expected %lld",
                           result[0], result[2 * count - 2], expected);
            }
            free(mine);
            free(result);
        }
    }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

/* o#218, p#2319: a communicator of one rank, in place or not. */
static void alone_in_forms(void)
{
    int mine = 5, result, counts[1] = {1}, zeros[1] = {0}, bytes[1] = {(int)sizeof(int)}, two[2];
    MPI_Datatype types[1] = {MPI_INT};
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        check_case("all collectives alone, %s", form_names[form]);
        result = 0;
        RUN(form, Allreduce, Iallreduce, &mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        RUN(form, Reduce_scatter, Ireduce_scatter, MPI_IN_PLACE, &result, counts, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        RUN(form, Reduce_scatter_block, Ireduce_scatter_block, MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM,
            MPI_COMM_SELF);
        RUN(form, Reduce, Ireduce, MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF);
        RUN(form, Scan, Iscan, MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        RUN(form, Exscan, Iexscan, MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        check_that(result == 5, "reductions in place: %d", result);
        result = 0;
        RUN(form, Reduce_scatter, Ireduce_scatter, &mine, &result, counts, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        check_that(result == 5, "reduce_scatter %d", result);
        result = 0;
        RUN(form, Gatherv, Igatherv, &mine, 1, MPI_INT, &result, counts, zeros, MPI_INT, 0, MPI_COMM_SELF);
        RUN(form, Scatterv, Iscatterv, &mine, counts, zeros, MPI_INT, &result, 1, MPI_INT, 0, MPI_COMM_SELF);
        check_that(result == 5, "with counts: %d", result);
        two[0] = two[1] = 0;
        RUN(form, Alltoallw, Ialltoallw, &mine, counts, zeros, types, two, counts, bytes, types, MPI_COMM_SELF);
        check_that(two[0] == 0 && two[1] == 5, "alltoallw put %d and %d", two[0], two[1]);
    }
}

/* Closed dimensions: of one rank both neighbours are oneself, of two ranks both are the other. What is sent in negative
 * direction arrives from the positive one. */
static void closed_dimensions(void)
{
    for (int extent = 1; extent <= 2 && extent <= world_size; extent++) {
        int extents[1] = {extent}, closed[1] = {1};
        MPI_Comm ring;
        MPI_Cart_create(MPI_COMM_WORLD, 1, extents, closed, 0, &ring);
        for (enum form form = BLOCKING; form < NUM_FORMS && ring != MPI_COMM_NULL; form++) {
            int other = extent == 1 ? world_rank : 1 - world_rank, counts[2] = {1, 1}, displs[2] = {1, 0};
            int mine[2] = {world_rank * 10, world_rank * 10 + 1}, got[2] = {-1, -1};
            check_case("neighbours in a ring of %d, %s", extent, form_names[form]);
            RUN(form, Neighbor_alltoall, Ineighbor_alltoall, mine, 1, MPI_INT, got, 1, MPI_INT, ring);
            check_that(got[0] == other * 10 + 1 && got[1] == other * 10, "got %d and %d", got[0], got[1]);
            RUN(form, Neighbor_alltoallv, Ineighbor_alltoallv, mine, counts, displs, MPI_INT, got, counts, displs,
                MPI_INT, ring);
            check_that(got[1] == other * 10 && got[0] == other * 10 + 1, "got %d and %d by counts", got[1], got[0]);
            RUN(form, Neighbor_allgather, Ineighbor_allgather, mine, 1, MPI_INT, got, 1, MPI_INT, ring);
            check_that(got[0] == other * 10 && got[1] == other * 10, "gathered %d and %d", got[0], got[1]);
        }
        if (ring != MPI_COMM_NULL) {
            MPI_Comm_free(&ring);
        }
    }
}

/* o#13790: open grids, where edges lead nowhere: their blocks are neither read nor written. */
static void open_grid(void)
{
    int extents[3] = {0, 0, 1}, open[3] = {0, 0, 0}, neighbours[6], counts[6];
    MPI_Aint places[6];
    MPI_Datatype types[6];
    MPI_Comm grid;
    MPI_Dims_create(world_size, 3, extents);
    MPI_Cart_create(MPI_COMM_WORLD, 3, extents, open, 0, &grid);
    for (int d = 0; d < 3; d++) {
        MPI_Cart_shift(grid, d, 1, &neighbours[2 * d], &neighbours[2 * d + 1]);
    }
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        int mine[6], got[6];
        check_case("neighbor_alltoallw on an open grid, %s", form_names[form]);
        for (int i = 0; i < 6; i++) {
            counts[i] = 1;
            places[i] = neighbours[i] == MPI_PROC_NULL ? (MPI_Aint)1 << 40 : i * (MPI_Aint)sizeof(int);
            types[i] = MPI_INT;
            mine[i] = world_rank * 10 + i;
            got[i] = -1;
        }
        RUN(form, Neighbor_alltoallw, Ineighbor_alltoallw, mine, counts, places, types, got, counts, places, types,
            grid);
        for (int i = 0; i < 6; i++) {
            int expected = neighbours[i] == MPI_PROC_NULL ? -1 : neighbours[i] * 10 + (i ^ 1);
            check_that(got[i] == expected, "block %d is %d, expected %d", i, got[i], expected);
        }
    }
    MPI_Comm_free(&grid);
}

/* alltoallw on a grid that has more neighbours than ranks: behind the datatypes of the ranks there is nothing. */
static void typed_on_grid(void)
{
    enum { BLOCK = 32768 };
    int extents[3] = {world_size, 1, 1}, closed[3] = {1, 1, 1}, counts[MAX_RANKS], places[MAX_RANKS];
    size_t elements = (size_t)world_size * BLOCK;
    int *mine = malloc(elements * sizeof(int)), *got = calloc(elements, sizeof(int));
    MPI_Datatype *types = malloc((MAX_RANKS + 6) * sizeof *types), pairs;
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 3, extents, closed, 0, &grid);
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        check_case("alltoallw on a closed grid of one row, %s", form_names[form]);
        MPI_Type_contiguous(2, MPI_INT, &pairs);
        MPI_Type_commit(&pairs);
        memset(types, 0x55, (MAX_RANKS + 6) * sizeof *types); /* addresses of nothing */
        for (int i = 0; i < world_size; i++) {
            counts[i] = BLOCK / 2;
            places[i] = i * BLOCK * (int)sizeof(int);
            types[i] = pairs;
            for (int j = 0; j < BLOCK; j++) {
                mine[i * BLOCK + j] = world_rank * 1000 + i + form;
            }
        }
        RUN(form, Alltoallw, Ialltoallw, mine, counts, places, types, got, counts, places, types, grid);
        MPI_Type_free(&pairs);
        for (int i = 0; i < world_size; i++) {
            int expected = i * 1000 + world_rank + (int)form, last = got[(i + 1) * BLOCK - 1];
            check_that(last == expected, "block %d ends with %d, expected %d", i, last, expected);
        }
    }
    MPI_Comm_free(&grid);
    free(types);
    free(mine);
    free(got);
}

/* Several neighbour exchanges under way, completed in another order, their communicator freed meanwhile. */
static void freed_while_pending(void)
{
    enum { NUMBER = 5 };
    int extents[1] = {world_size}, closed[1] = {1}, mine = world_rank, got[NUMBER][2];
    int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size;
    for (int round = 0; round < 10; round++) {
        MPI_Comm ring;
        MPI_Request requests[NUMBER];
        MPI_Datatype type;
        check_case("ring freed with %d exchanges pending, round %d", NUMBER, round);
        MPI_Cart_create(MPI_COMM_WORLD, 1, extents, closed, 0, &ring);
        MPI_Type_contiguous(1, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < NUMBER; i++) {
            MPI_Ineighbor_allgather(&mine, 1, type, got[i], 1, type, ring, &requests[i]);
        }
        MPI_Type_free(&type);
        MPI_Comm_free(&ring);
        for (int i = NUMBER; i-- > 0;) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            check_that(got[i][0] == left && got[i][1] == right, "exchange %d got %d and %d", i, got[i][0], got[i][1]);
        }
    }
}

/* Rubbish in what only the root needs, in the calls with counts. */
static void rubbish_with_counts(void)
{
    void *const junk = (void *)3;
    int counts[MAX_RANKS], displs[MAX_RANKS], all[2 * MAX_RANKS], result;
    for (int i = 0; i < world_size; i++) {
        counts[i] = i % 2;
        displs[i] = 2 * i;
    }
    for (enum form form = BLOCKING; form < NUM_FORMS; form++) {
        for (int root = 0; root < world_size; root++) {
            const bool at_root = world_rank == root;
            check_case("gatherv and scatterv at %d, rubbish elsewhere, %s", root, form_names[form]);
            memset(all, 0xff, sizeof all);
            RUN(form, Gatherv, Igatherv, &world_rank, world_rank % 2, MPI_INT, at_root ? all : junk,
                at_root ? counts : junk, at_root ? displs : junk, at_root ? MPI_INT : MPI_DATATYPE_NULL, root,
                MPI_COMM_WORLD);
            for (int i = 0; at_root && i < 2 * world_size; i++) {
                check_that(all[i] == (i % 4 == 2 ? i / 2 : -1), "place %d has %d", i, all[i]);
            }
            result = -1;
            RUN(form, Scatterv, Iscatterv, at_root ? all : junk, at_root ? counts : junk, at_root ? displs : junk,
                at_root ? MPI_INT : MPI_DATATYPE_NULL, &result, world_rank % 2, MPI_INT, root, MPI_COMM_WORLD);
            check_that(result == (world_rank % 2 ? world_rank : -1), "got %d", result);
        }
    }
}

/* p#6423: persistent calls many times, with new data each time, and a wait for one that is not active. */
static void persistent_again_and_again(void)
{
    int extents[1] = {world_size}, closed[1] = {1}, mine = 0, sum = 0, got[2];
    MPI_Request requests[3];
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, extents, closed, 0, &ring);
    MPIX_Scan_init(&mine, &sum, 1, MPI_INT, MPI_SUM, ring, MPI_INFO_NULL, &requests[0]);
    MPIX_Neighbor_allgather_init(&mine, 1, MPI_INT, got, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[1]);
    MPIX_Barrier_init(ring, MPI_INFO_NULL, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int round = 0; round < 300; round++) {
        int rank, size;
        MPI_Comm_rank(ring, &rank);
        MPI_Comm_size(ring, &size);
        check_case("persistent calls, round %d", round);
        mine = rank + round;
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        check_that(sum == rank * (rank + 1) / 2 + (rank + 1) * round, "sum %d", sum);
        check_that(got[0] == (rank + size - 1) % size + round && got[1] == (rank + 1) % size + round, "got %d and %d",
                   got[0], got[1]);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Request_free(&requests[i]);
    }
    MPI_Comm_free(&ring);
}

const struct report form_reports[] = {
    {"empty types with counts", empty_types_with_counts, true},
    {"triangular in place", triangular_in_place, false},
    {"pairs in place everywhere", pairs_in_place_everywhere, false},
    {"ordered prefixes", ordered_prefixes, false},
    {"alone in forms", alone_in_forms, true},
    {"closed dimensions", closed_dimensions, true},
    {"open grid", open_grid, false},
    {"typed on a grid", typed_on_grid, true},
    {"freed while pending", freed_while_pending, true},
    {"rubbish with counts", rubbish_with_counts, false},
    {"persistent again and again", persistent_again_and_again, false},
    {NULL, NULL, false},
};
