/* Frame of the MPI tests: says what is being tested, compares, counts failures, and prints where every rank stands when
 * the time is over. Ordinary MPI programs; nothing here knows pccl. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#define MAX_RANKS 64

/* --- frame -------------------------------------------------------------------------------------------------------- */

/* The environment variable TEST_SECONDS (default 60) limits the whole program: then every rank prints its current case
 * and exits, so that a hang names its cause. */
void check_start(const char *program);
void check_init(int *argc, char ***argv, const char *program); /* MPI_Init, then check_start */

/* Names what runs now; printed with failures and on a time-out, and at once if TEST_VERBOSE is in the environment. */
void check_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Counts a failure and prints it (the first ten of a rank) if `holds` is false. Returns `holds`. */
bool check_that(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds up the failures of all ranks by point-to-point, prints "program: cases, failures" at rank 0; exit status. */
int check_result(void);
int check_finalize(void); /* check_result, then MPI_Finalize */

/* --- deterministic numbers ---------------------------------------------------------------------------------------- */

struct random {
    uint64_t state;
};
uint64_t random_next(struct random *random);
uint32_t random_below(struct random *random, uint32_t limit); /* 0 .. limit-1 */
uint64_t random_mix(uint64_t a, uint64_t b);                  /* a hash of two numbers */
void random_fill(struct random *random, void *memory, size_t bytes);

/* --- buffers with canaries ---------------------------------------------------------------------------------------- */

/* A buffer for blocks of a datatype, with 64 bytes or more before and after it. Everything (canaries, gaps, data)
 * starts as noise, so that any byte written without right shows up in the comparison. */
struct buffer {
    unsigned char *memory;
    size_t bytes;
    ptrdiff_t low, high; /* the data lies within [low, high) relative to `address` */
    void *address;       /* what an MPI call gets */
};

/* Room for [low, high) and the canaries. */
void buffer_make_span(struct buffer *buffer, ptrdiff_t low, ptrdiff_t high, struct random *random);
/* Displacements and counts in elements, as in MPI_Alltoallv. */
void buffer_make(struct buffer *buffer, MPI_Datatype type, int num_blocks, const int *counts, const int *displacements,
                 struct random *random);
void buffer_copy(struct buffer *copy, const struct buffer *original);
void buffer_free(struct buffer *buffer);
/* Compares every byte; names the first difference and whether it is a canary. */
bool buffer_equal(const struct buffer *buffer, const struct buffer *expected, const char *what);

#endif
