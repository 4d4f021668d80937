/* Buffers: in place, gaps, insignificant arguments, memory that may only be read. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reports.h"

#define UNTOUCHED 0x5a5a5a5a

/* o PR2805: the place of a block follows from the displacements, not from the sum of the counts. */
static void allgatherv_in_place_with_holes(void)
{
    enum { STRIDE = 40 };
    for (int order = 0; order < 2; order++) {
        int numbers[MAX_RANKS * STRIDE], counts[MAX_RANKS], displacements[MAX_RANKS];
        check_case("allgatherv in place, %s displacements with holes", order == 0 ? "ascending" : "descending");
        for (int i = 0; i < world_size * STRIDE; i++) {
            numbers[i] = UNTOUCHED;
        }
        for (int i = 0; i < world_size; i++) {
            counts[i] = (i * 7 + 3) % 31;
            displacements[i] = (order == 0 ? i : world_size - 1 - i) * STRIDE + 2;
        }
        for (int i = 0; i < counts[world_rank]; i++) {
            numbers[displacements[world_rank] + i] = world_rank * 100 + i;
        }
        MPI_Allgatherv(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, numbers, counts, displacements, MPI_INT, MPI_COMM_WORLD);
        for (int rank = 0; rank < world_size; rank++) {
            for (int i = -2; i < STRIDE - 2; i++) {
                int expected = i >= 0 && i < counts[rank] ? rank * 100 + i : UNTOUCHED;
                check_that(numbers[displacements[rank] + i] == expected, "block %d, element %d is %d", rank, i,
                           numbers[displacements[rank] + i]);
            }
        }
    }
}

/* o PR11548, PR12415, PR12439: gather and scatter in place at the root, with a type that has a gap. */
static void rooted_in_place_with_gaps(void)
{
    struct {
        int value, gap;
    } mine, all[MAX_RANKS];
    MPI_Datatype gapped;
    MPI_Type_create_resized(MPI_INT, 0, sizeof(mine), &gapped);
    MPI_Type_commit(&gapped);
    for (int root = 0; root < world_size; root++) {
        check_case("gather in place at %d, type with a gap", root);
        memset(all, 0x5a, sizeof(all));
        mine.value = all[world_rank].value = world_rank + 9;
        mine.gap = UNTOUCHED;
        MPI_Gather(world_rank == root ? MPI_IN_PLACE : &mine, 1, gapped, world_rank == root ? all : NULL, 1, gapped,
                   root, MPI_COMM_WORLD);
        for (int i = 0; world_rank == root && i < world_size; i++) {
            check_that(all[i].value == i + 9 && all[i].gap == UNTOUCHED, "block %d is %d, %d", i, all[i].value,
                       all[i].gap);
        }
        check_case("scatter in place at %d, type with a gap", root);
        for (int i = 0; i < world_size; i++) {
            all[i].value = world_rank == root ? 70 + i : -1;
        }
        MPI_Scatter(world_rank == root ? all : NULL, 1, gapped, world_rank == root ? MPI_IN_PLACE : &mine, 1, gapped,
                    root, MPI_COMM_WORLD);
        check_that(world_rank == root || (mine.value == 70 + world_rank && mine.gap == UNTOUCHED), "block is %d, %d",
                   mine.value, mine.gap);
        check_that(world_rank != root || (all[root].value == 70 + root && all[root].gap == UNTOUCHED),
                   "own block is %d, %d", all[root].value, all[root].gap);
    }
    MPI_Type_free(&gapped);
}

/* o#9385, o#13736, o#9329, p#6404: in place and small. */
static void small_in_place(void)
{
    double pair[2] = {world_rank, 2.0 * world_rank};
    int counts[MAX_RANKS], displacements[MAX_RANKS], numbers[MAX_RANKS * MAX_RANKS];
    const double sum = world_size * (world_size - 1) / 2.0;
    check_case("allreduce of 2 doubles in place");
    MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check_that(pair[0] == sum && pair[1] == 2 * sum, "%g, %g", pair[0], pair[1]);
    check_case("alltoallv in place, triangular counts");
    for (int i = 0, next = 0; i < world_size; i++) {
        counts[i] = i > world_rank ? i - world_rank : world_rank - i;
        displacements[i] = next;
        for (int j = 0; j < counts[i]; j++) {
            numbers[next++] = world_rank * 1000 + i * 20 + j;
        }
    }
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, numbers, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < world_size; i++) {
        for (int j = 0; j < counts[i]; j++) {
            check_that(numbers[displacements[i] + j] == i * 1000 + world_rank * 20 + j, "block %d, element %d is %d", i,
                       j, numbers[displacements[i] + j]);
        }
    }
}

/* o#10759 and kin: what a rank does not need may be anything. */
static void rubbish_where_insignificant(void)
{
    void *const junk = (void *)3;
    for (int root = 0; root < world_size; root++) {
        const bool at_root = world_rank == root;
        int mine = world_rank, result = -1, all[MAX_RANKS];
        check_case("reduce to %d, rubbish as receive buffer elsewhere", root);
        MPI_Reduce(&mine, at_root ? &result : junk, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        check_that(!at_root || result == world_size * (world_size - 1) / 2, "sum %d", result);
        check_case("gather to %d, rubbish elsewhere", root);
        MPI_Gather(&mine, 1, MPI_INT, at_root ? all : junk, at_root ? 1 : -9, at_root ? MPI_INT : MPI_DATATYPE_NULL,
                   root, MPI_COMM_WORLD);
        for (int i = 0; at_root && i < world_size; i++) {
            check_that(all[i] == i, "block %d is %d", i, all[i]);
        }
        check_case("scatter from %d, rubbish elsewhere", root);
        MPI_Scatter(at_root ? all : junk, at_root ? 1 : -9, at_root ? MPI_INT : MPI_DATATYPE_NULL, &result, 1, MPI_INT,
                    root, MPI_COMM_WORLD);
        check_that(result == world_rank, "got %d", result);
    }
    check_case("null buffers with count 0");
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
}

/* The send buffer is constant: writing it, even for a moment, ends the program here. Many calls may also read it at
 * once. */
static void send_buffer_in_read_only_memory(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 16 * page;
    const int count = (int)(bytes / sizeof(int)), block = count / world_size;
    int *constant = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int *result = malloc(bytes * (size_t)world_size), counts[MAX_RANKS];
    for (int i = 0; i < count; i++) {
        constant[i] = world_rank + i;
    }
    mprotect(constant, bytes, PROT_READ);
    for (int i = 0; i < world_size; i++) {
        counts[i] = block;
    }
    check_case("reductions from read-only memory");
    MPI_Allreduce(constant, result, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    check_that(result[count - 1] == world_size - 1 + count - 1, "last maximum is %d", result[count - 1]);
    MPI_Reduce(constant, result, count, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(constant, result, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(constant, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_that(result[0] == world_size * (world_size - 1) / 2 + world_size * world_rank * block, "sum %d", result[0]);
    check_case("movements from read-only memory");
    MPI_Allgather(constant, count, MPI_INT, result, count, MPI_INT, MPI_COMM_WORLD);
    check_that(result[count * world_size - 1] == world_size - 1 + count - 1, "last is %d",
               result[count * world_size - 1]);
    MPI_Alltoall(constant, block, MPI_INT, result, block, MPI_INT, MPI_COMM_WORLD);
    MPI_Gather(constant, count, MPI_INT, result, count, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(constant, block, MPI_INT, result, block, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(world_rank == 0 ? constant : result, count, MPI_INT, 0, MPI_COMM_WORLD);
    check_that(world_rank == 0 || result[5] == 5, "bcast: %d", result[5]);
    munmap(constant, bytes);
    free(result);
}

/* Counts and displacements that change behind the same pointers, total and mean staying as they are: what is remembered
 * of a call must not stand for the next one. Block of `from` for `to`: as many as they are apart, moved by the round. */
static int apart(int from, int to, int round)
{
    return (to - from + round + 2 * world_size) % world_size;
}

static int value(int from, int to, int index, int round)
{
    return ((from * 64 + to) * 64 + index) * 8 + round;
}

static void lay_out(int *counts, int *displs, bool sends, int round)
{
    int next = 0;
    for (int i = 0; i < world_size; i++) {
        const int peer = round % 2 ? world_size - 1 - i : i; /* the order in memory changes too */
        counts[peer] = sends ? apart(world_rank, peer, round) : apart(peer, world_rank, round);
        displs[peer] = next;
        next += counts[peer];
    }
}

/* The same of datatypes: two ints or two shorts between a pair of ranks, counts and displacements as they were. */
static void types_that_change(void)
{
    static int counts[MAX_RANKS], displs[MAX_RANKS], sent[MAX_RANKS][2], received[MAX_RANKS][2];
    static MPI_Datatype types[MAX_RANKS];
    for (int call = 0; call < 12; call++) {
        int wrong = 0;
        for (int i = 0; i < world_size; i++) {
            types[i] = (world_rank + i + call / 3) % 2 ? MPI_INT : MPI_SHORT;
            counts[i] = 2;
            displs[i] = i * (int)sizeof sent[0];
            sent[i][0] = value(world_rank, i, 0, call % 8);
            sent[i][1] = value(world_rank, i, 1, call % 8);
            received[i][0] = received[i][1] = -1;
        }
        check_case("call %d with the same array of types", call);
        MPI_Alltoallw(sent, counts, displs, types, received, counts, displs, types, MPI_COMM_WORLD);
        for (int i = 0; i < world_size; i++) {
            const bool ints = types[i] == MPI_INT;
            wrong += received[i][0] != value(i, world_rank, 0, call % 8);
            wrong += received[i][1] != (ints ? value(i, world_rank, 1, call % 8) : -1);
        }
        check_that(wrong == 0, "alltoallw: %d wrong", wrong);
    }
}

static void arrays_that_change(void)
{
    static int send[MAX_RANKS * MAX_RANKS], receive[MAX_RANKS * MAX_RANKS];
    static int send_counts[MAX_RANKS], send_displs[MAX_RANKS], receive_counts[MAX_RANKS], receive_displs[MAX_RANKS];
    for (int call = 0; call < 12; call++) {
        const int round = call / 3; /* each three times, so that something can be remembered */
        int wrong = 0;
        lay_out(send_counts, send_displs, true, round);
        lay_out(receive_counts, receive_displs, false, round);
        for (int to = 0; to < world_size; to++) {
            for (int i = 0; i < send_counts[to]; i++) {
                send[send_displs[to] + i] = value(world_rank, to, i, round);
            }
        }
        check_case("call %d with the same arrays", call);
        MPI_Alltoallv(send, send_counts, send_displs, MPI_INT, receive, receive_counts, receive_displs, MPI_INT,
                      MPI_COMM_WORLD);
        for (int from = 0; from < world_size; from++) {
            for (int i = 0; i < receive_counts[from]; i++) {
                wrong += receive[receive_displs[from] + i] != value(from, world_rank, i, round);
            }
        }
        check_that(wrong == 0, "alltoallv: %d wrong", wrong);
        MPI_Scatterv(send, send_counts, send_displs, MPI_INT, receive, apart(0, world_rank, round), MPI_INT, 0,
                     MPI_COMM_WORLD);
        wrong = 0;
        for (int i = 0; i < apart(0, world_rank, round); i++) {
            wrong += receive[i] != value(0, world_rank, i, round);
        }
        check_that(wrong == 0, "scatterv: %d wrong", wrong);
    }
}

const struct report buffer_reports[] = {
    {"allgatherv in place with holes", allgatherv_in_place_with_holes, false},
    {"rooted in place with gaps", rooted_in_place_with_gaps, false},
    {"small in place", small_in_place, false},
    {"rubbish where insignificant", rubbish_where_insignificant, false},
    {"send buffer in read-only memory", send_buffer_in_read_only_memory, false},
    {"arrays that change", arrays_that_change, false},
    {"types that change", types_that_change, false},
    {NULL, NULL, false},
};
