/* Datatypes: equal signatures in different clothes, empty types, overlapping extents, absolute addresses. */
#include <stdlib.h>
#include <string.h>

#include "reports.h"

/* Three ways to say "long long" in pairs: chosen by rank. */
static MPI_Datatype pair_types[3];
static const int elements_of_pair[3] = {2, 1, 2};

static void make_pair_types(void)
{
    MPI_Type_dup(MPI_LONG_LONG, &pair_types[0]);
    MPI_Type_contiguous(2, MPI_LONG_LONG, &pair_types[1]);
    MPI_Type_create_resized(MPI_LONG_LONG, 0, 24, &pair_types[2]);
    for (int i = 0; i < 3; i++) {
        MPI_Type_commit(&pair_types[i]);
    }
}

static void free_pair_types(void)
{
    for (int i = 0; i < 3; i++) {
        MPI_Type_free(&pair_types[i]);
    }
}

/* Position in a buffer of the i-th long long of a type, in long longs. */
static int place(int type, int i)
{
    return type == 2 ? 3 * i : i;
}

/* o#2256, o#1907: allgather and allgatherv decided by local type, not by bytes, and mixed up blocks. */
static void mixed_signatures(void)
{
    const int send_type = world_rank % 3, receive_type = (world_rank + 1) % 3;
    int counts[MAX_RANKS], displacements[MAX_RANKS];
    make_pair_types();
    for (int pairs = 1; pairs < 3000; pairs *= 13) {
        const int send_count = pairs * elements_of_pair[send_type];
        const int receive_count = pairs * elements_of_pair[receive_type];
        long long *mine = calloc((size_t)pairs * 2 * 3, sizeof(long long));
        long long *all = calloc((size_t)pairs * 2 * 3 * (size_t)world_size, sizeof(long long));
        for (int i = 0; i < 2 * pairs; i++) {
            mine[place(send_type, i)] = world_rank * 100000 + i;
        }
        for (int i = 0; i < world_size; i++) {
            counts[i] = receive_count;
            displacements[i] = i * receive_count;
        }
        for (int vector = 0; vector < 2; vector++) {
            check_case("allgather%s of %d pairs, another type on each rank", vector ? "v" : "", pairs);
            memset(all, 0, (size_t)pairs * 2 * 3 * (size_t)world_size * sizeof(long long));
            if (vector) {
                MPI_Allgatherv(mine, send_count, pair_types[send_type], all, counts, displacements,
                               pair_types[receive_type], MPI_COMM_WORLD);
            } else {
                MPI_Allgather(mine, send_count, pair_types[send_type], all, receive_count, pair_types[receive_type],
                              MPI_COMM_WORLD);
            }
            for (int i = 0; i < 2 * pairs * world_size; i++) {
                long long found = all[place(receive_type, i)];
                if (!check_that(found == i / (2 * pairs) * 100000 + i % (2 * pairs), "number %d is %lld", i, found)) {
                    break;
                }
            }
        }
        free(mine);
        free(all);
    }
    free_pair_types();
}

/* Bcast: the root says n elements, others one element that holds n (o tuned: segments by element count differ). */
static void one_against_many(void)
{
    for (int count = 1; count < 200000; count *= 7) {
        int *numbers = malloc((size_t)count * sizeof(int));
        MPI_Datatype whole;
        MPI_Type_contiguous(count, MPI_INT, &whole);
        MPI_Type_commit(&whole);
        for (int root = 0; root < world_size; root += 1 + world_size / 3) {
            check_case("bcast of %d ints as one element from %d", count, root);
            for (int i = 0; i < count; i++) {
                numbers[i] = world_rank == root ? i * 3 + root : -1;
            }
            MPI_Bcast(numbers, world_rank % 2 == 0 ? 1 : count, world_rank % 2 == 0 ? whole : MPI_INT, root,
                      MPI_COMM_WORLD);
            for (int i = 0; i < count; i++) {
                if (!check_that(numbers[i] == i * 3 + root, "number %d is %d", i, numbers[i])) {
                    break;
                }
            }
        }
        MPI_Type_free(&whole);
        free(numbers);
    }
}

/* p#872: an element of an empty type here, no element there. Both are nothing. */
static void empty_types(void)
{
    MPI_Datatype empty, types[2];
    int counts[MAX_RANKS], zeros[MAX_RANKS] = {0}, number = 4711;
    const int odd = world_rank % 2, count = odd ? 0 : 1;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    types[0] = empty;
    types[1] = MPI_INT;
    for (int i = 0; i < world_size; i++) {
        counts[i] = count;
    }
    check_case("nothing, as one element of an empty type and as no element");
    MPI_Bcast(&number, count, types[odd], 0, MPI_COMM_WORLD);
    MPI_Gather(&number, count, types[odd], &number, count, types[odd], world_size - 1, MPI_COMM_WORLD);
    MPI_Scatter(&number, count, types[odd], &number, count, types[odd], 0, MPI_COMM_WORLD);
    MPI_Allgather(&number, count, types[odd], &number, count, types[odd], MPI_COMM_WORLD);
    MPI_Allgatherv(&number, count, types[odd], &number, counts, zeros, types[odd], MPI_COMM_WORLD);
    MPI_Alltoall(&number, count, types[odd], &number, count, types[odd], MPI_COMM_WORLD);
    MPI_Alltoallv(&number, counts, zeros, types[odd], &number, counts, zeros, types[odd], MPI_COMM_WORLD);
    check_that(number == 4711, "number became %d", number);
    MPI_Type_free(&empty);
}

/* Columns of a matrix: an extent of one element, so that blocks interleave. Transposes, and gathers columns. */
static void interleaved_columns(void)
{
    const int n = world_size;
    int *matrix = malloc((size_t)n * (size_t)n * sizeof(int)), *mine = malloc((size_t)n * sizeof(int));
    MPI_Datatype vector, column;
    MPI_Type_vector(n, 1, n, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < n; i++) {
        mine[i] = world_rank * 1000 + i;
    }
    check_case("allgather into columns");
    MPI_Allgather(mine, n, MPI_INT, matrix, 1, column, MPI_COMM_WORLD);
    for (int i = 0; i < n * n; i++) {
        check_that(matrix[i] == i % n * 1000 + i / n, "element %d is %d", i, matrix[i]);
    }
    check_case("scatter of columns");
    MPI_Scatter(matrix, 1, column, mine, n, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        check_that(mine[i] == world_rank * 1000 + i, "element %d is %d", i, mine[i]);
    }
    check_case("alltoall of columns into columns");
    int *other = malloc((size_t)n * (size_t)n * sizeof(int));
    for (int i = 0; i < n * n; i++) {
        matrix[i] = world_rank * 10000 + i;
    }
    MPI_Alltoall(matrix, 1, column, other, 1, column, MPI_COMM_WORLD);
    for (int i = 0; i < n * n; i++) {
        int source = i % n, row = i / n;
        check_that(other[i] == source * 10000 + row * n + world_rank, "element %d is %d", i, other[i]);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&vector);
    free(other);
    free(matrix);
    free(mine);
}

static MPI_Datatype absolute_type(void *address, int count)
{
    MPI_Aint place;
    MPI_Datatype type;
    MPI_Get_address(address, &place);
    MPI_Type_create_hindexed(1, &count, &place, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* MPI_BOTTOM: the buffer is a null pointer and the type holds addresses. */
static void absolute_addresses(void)
{
    int *mine = calloc(3, sizeof(int)), *all = calloc(3 * (size_t)world_size, sizeof(int));
    MPI_Datatype mine_type = absolute_type(mine, 3), all_type = absolute_type(all, 3 * world_size);
    int one = 1, zero = 0, ones[MAX_RANKS], places[MAX_RANKS];
    check_case("bcast from MPI_BOTTOM");
    for (int i = 0; i < 3; i++) {
        mine[i] = world_rank == 1 ? 40 + i : -1;
    }
    MPI_Bcast(MPI_BOTTOM, 1, mine_type, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        check_that(mine[i] == 40 + i, "element %d is %d", i, mine[i]);
        mine[i] = world_rank * 3 + i;
    }
    check_case("allgather and allgatherv from MPI_BOTTOM");
    MPI_Allgather(MPI_BOTTOM, 1, mine_type, all, 3, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 3 * world_size; i++) {
        check_that(all[i] == i, "element %d is %d", i, all[i]);
        all[i] = -1;
        ones[i % world_size] = 3;
        places[i % world_size] = i % world_size * 3;
    }
    MPI_Allgatherv(MPI_BOTTOM, one, mine_type, all, ones, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 3 * world_size; i++) {
        check_that(all[i] == i, "element %d is %d", i, all[i]);
    }
    check_case("scatter to and gather from MPI_BOTTOM");
    MPI_Scatter(all, 3, MPI_INT, MPI_BOTTOM, 1, mine_type, 0, MPI_COMM_WORLD);
    MPI_Gather(MPI_BOTTOM, 1, mine_type, all, 3, MPI_INT, zero, MPI_COMM_WORLD);
    for (int i = 0; i < 3 * world_size; i++) {
        check_that(all[i] == i, "element %d is %d", i, all[i]);
    }
    MPI_Type_free(&mine_type);
    MPI_Type_free(&all_type);
    free(mine);
    free(all);
}

const struct report type_reports[] = {
    {"mixed signatures", mixed_signatures, true},
    {"one against many", one_against_many, false},
    {"empty types", empty_types, true},
    {"interleaved columns", interleaved_columns, false},
    {"absolute addresses", absolute_addresses, false},
    {NULL, NULL, false},
};
