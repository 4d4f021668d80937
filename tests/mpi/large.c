/* More than 2 GiB through int counts. For 2 ranks; needs about 9 GiB of memory. Each case fills 64-bit words with their
 * own number, so that a block in the wrong place is seen. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"

#define MIB ((size_t)1 << 20)

static int rank, size;

static uint64_t *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 96);
    }
    return memory;
}

static void number(uint64_t *words, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++) {
        words[i] = first + i;
    }
}

static void check_numbers(const uint64_t *words, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++) {
        if (words[i] != first + i) {
            check_that(false, "word %zu is %#llx, expected %#llx", i, (unsigned long long)words[i],
                       (unsigned long long)(first + i));
            return;
        }
    }
}

static void test_bcast(bool blocks)
{
    const int count = (1 << 28) + 5; /* 2 GiB and a little, in 8-byte elements */
    uint64_t *words = reserve((size_t)count * 8);
    MPI_Request request = MPI_REQUEST_NULL;
    check_case("%s of %d words", blocks ? "bcast" : "ibcast", count);
    if (rank == 1) {
        number(words, (size_t)count, 7);
    }
    if (blocks) {
        MPI_Bcast(words, count, MPI_UINT64_T, 1, MPI_COMM_WORLD);
    } else {
        MPI_Ibcast(words, count, MPI_UINT64_T, 1, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank != 1) {
        check_numbers(words, (size_t)count, 7);
    }
    munmap(words, (size_t)count * 8);
}

/* The sum is on top of the numbers: in place needs only one buffer. */
static void test_allreduce(void)
{
    const int count = (1 << 28) + 3;
    uint64_t *words = reserve((size_t)count * 8);
    check_case("allreduce of %d words in place", count);
    number(words, (size_t)count, (uint64_t)rank << 40);
    MPI_Allreduce(MPI_IN_PLACE, words, count, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    for (size_t i = 0; i < (size_t)count; i++) {
        uint64_t expected = i ^ (((uint64_t)1 << 40) + i);
        if (words[i] != expected) {
            check_that(false, "word %zu is %#llx", i, (unsigned long long)words[i]);
            break;
        }
    }
    munmap(words, (size_t)count * 8);
}

/* Each block is over 1 GiB, the whole over 2 GiB; elements of 1 MiB, so counts are small and extents large. */
static void test_blocks(MPI_Datatype mebibytes)
{
    const size_t block = 1100 * MIB;
    uint64_t *words = reserve(block * (size_t)size);
    check_case("allgather of 1100 MiB in place");
    number(words + (size_t)rank * block / 8, block / 8, (uint64_t)rank << 40);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, words, 1100, mebibytes, MPI_COMM_WORLD);
    for (int peer = 0; peer < size; peer++) {
        check_numbers(words + (size_t)peer * block / 8, block / 8, (uint64_t)peer << 40);
    }
    check_case("alltoall of 1100 MiB in place");
    for (int peer = 0; peer < size; peer++) {
        number(words + (size_t)peer * block / 8, block / 8, (uint64_t)(rank * 16 + peer) << 40);
    }
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, words, 1100, mebibytes, MPI_COMM_WORLD);
    for (int peer = 0; peer < size; peer++) {
        check_numbers(words + (size_t)peer * block / 8, block / 8, (uint64_t)(peer * 16 + rank) << 40);
    }
    munmap(words, block * (size_t)size);
}

/* Displacements whose bytes need more than 31 bits, with little data. */
static void test_far_displacements(MPI_Datatype mebibytes)
{
    const int displacements[2] = {2500, 0}, counts[2] = {1, 2};
    uint64_t *words = reserve(2503 * MIB), *mine = reserve(2 * MIB);
    check_case("allgatherv to 2500 MiB from its buffer");
    number(mine, (size_t)counts[rank] * MIB / 8, (uint64_t)rank << 40);
    MPI_Allgatherv(mine, counts[rank], mebibytes, words, counts, displacements, mebibytes, MPI_COMM_WORLD);
    check_numbers(words + 2500 * MIB / 8, MIB / 8, 0);
    check_numbers(words, 2 * MIB / 8, (uint64_t)1 << 40);
    check_case("alltoallv from and to 2500 MiB");
    number(words, MIB / 8, (uint64_t)(2 * rank + 1) << 40);
    number(words + 2500 * MIB / 8, MIB / 8, (uint64_t)(2 * rank) << 40);
    MPI_Alltoallv(words, (int[]){1, 1}, displacements, mebibytes, mine, (int[]){1, 1}, (int[]){0, 1}, mebibytes,
                  MPI_COMM_WORLD);
    check_numbers(mine, MIB / 8, (uint64_t)rank << 40);
    check_numbers(mine + MIB / 8, MIB / 8, (uint64_t)(2 + rank) << 40);
    munmap(words, 2503 * MIB);
    munmap(mine, 2 * MIB);
}

/* Blocks before the address of the buffer. */
static void test_negative_displacements(void)
{
    const int counts[2] = {1000, 700}, displacements[2] = {-1000, -1700};
    uint64_t *words = reserve(MIB), *end = words + MIB / 8, *mine = reserve(MIB);
    check_case("allgatherv and scatterv to and from before the buffer");
    number(mine, (size_t)counts[rank], (uint64_t)rank << 40);
    MPI_Allgatherv(mine, counts[rank], MPI_UINT64_T, end, counts, displacements, MPI_UINT64_T, MPI_COMM_WORLD);
    check_numbers(end - 1000, 1000, 0);
    check_numbers(end - 1700, 700, (uint64_t)1 << 40);
    number(end - 1700, 1700, 77);
    MPI_Scatterv(end, counts, displacements, MPI_UINT64_T, mine, counts[rank], MPI_UINT64_T, 1, MPI_COMM_WORLD);
    check_numbers(mine, (size_t)counts[rank], rank == 0 ? 777 : 77);
    munmap(words, MIB);
    munmap(mine, MIB);
}

#define FAR_ELEMENTS 30 /* 64 MiB from each other, the datatype's lower bound 1 MiB before its data */

static uint64_t *far_word(uint64_t *words, int block, int i)
{
    return words + (size_t)(block * FAR_ELEMENTS + i) * 64 * MIB / 8;
}

static void check_far(uint64_t *words, int block, uint64_t first)
{
    for (int i = 0; i < FAR_ELEMENTS; i++) {
        check_that(*far_word(words, block, i) == first + (uint64_t)i, "element %d of block %d", i, block);
    }
}

/* Elements that are few and over 2 GiB apart: only their data may be touched and packed. */
static void test_far_elements(void)
{
    MPI_Datatype far;
    MPI_Type_create_resized(MPI_UINT64_T, -(MPI_Aint)MIB, (MPI_Aint)(64 * MIB), &far);
    MPI_Type_commit(&far);
    size_t bytes = 2 * FAR_ELEMENTS * 64 * MIB + 2 * MIB;
    uint64_t *from = reserve(bytes) + MIB / 8, *to = reserve(bytes) + MIB / 8;
    for (int block = 0; block < 2; block++) {
        for (int i = 0; i < FAR_ELEMENTS; i++) {
            *far_word(from, block, i) = (uint64_t)(rank * 10000 + block * 1000 + i);
        }
    }
    check_case("all-to-all, in place too, allgather and bcast of %d words over %d MiB", FAR_ELEMENTS, FAR_ELEMENTS * 64);
    MPI_Alltoall(from, FAR_ELEMENTS, far, to, FAR_ELEMENTS, far, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, far, from, FAR_ELEMENTS, far, MPI_COMM_WORLD);
    for (int peer = 0; peer < 2; peer++) {
        check_far(to, peer, (uint64_t)(peer * 10000 + rank * 1000));
        check_far(from, peer, (uint64_t)(peer * 10000 + rank * 1000));
    }
    MPI_Allgather(from, FAR_ELEMENTS, far, to, FAR_ELEMENTS, far, MPI_COMM_WORLD);
    check_far(to, 1, 1000);
    MPI_Bcast(to, 2 * FAR_ELEMENTS, far, 1, MPI_COMM_WORLD);
    check_far(to, 0, 0);
    munmap(from - MIB / 8, bytes);
    munmap(to - MIB / 8, bytes);
    MPI_Type_free(&far);
}

int main(int argc, char **argv)
{
    MPI_Datatype mebibytes;
    check_init(&argc, &argv, "large");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!check_that(size == 2, "this test is for 2 ranks")) {
        return check_finalize();
    }
    MPI_Type_contiguous((int)MIB, MPI_BYTE, &mebibytes);
    MPI_Type_commit(&mebibytes);
    test_negative_displacements();
    test_far_elements();
    test_far_displacements(mebibytes);
    test_bcast(true);
    test_bcast(false);
    test_blocks(mebibytes);
    test_allreduce();
    MPI_Type_free(&mebibytes);
    return check_finalize();
}
