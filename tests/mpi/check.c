#include "check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANARY_BYTES 64
#define MAX_PRINTED 10

static const char *program_name = "test";
static char current_case[512] = "start";
static long num_cases, num_failures;
static int world_rank = -1;
static bool verbose;

static void on_alarm(int signal_number)
{
    char text[700];
    int length = snprintf(text, sizeof(text), "TIMEOUT rank %d of %s is in: %s (case %ld)\n", world_rank, program_name,
                          current_case, num_cases);
    (void)signal_number;
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) {
        _exit(97);
    }
    sleep(1); /* mpirun ends the other ranks as soon as one exits: let them print first */
    _exit(98);
}

void check_start(const char *program)
{
    const char *seconds = getenv("TEST_SECONDS");
    program_name = program;
    verbose = getenv("TEST_VERBOSE") != NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    signal(SIGALRM, on_alarm);
    alarm(seconds != NULL ? (unsigned)atoi(seconds) : 60);
}

void check_init(int *argc, char ***argv, const char *program)
{
    MPI_Init(argc, argv);
    check_start(program);
}

void check_case(const char *format, ...)
{
    va_list arguments;
    num_cases++;
    va_start(arguments, format);
    vsnprintf(current_case, sizeof(current_case), format, arguments);
    va_end(arguments);
    if (verbose) {
        fprintf(stderr, "rank %d: %s\n", world_rank, current_case);
    }
}

bool check_that(bool holds, const char *format, ...)
{
    char text[400];
    va_list arguments;
    if (holds) {
        return true;
    }
    num_failures++;
    if (num_failures > MAX_PRINTED) {
        return false;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "WRONG rank %d: %s: %s\n", world_rank, current_case, text);
    return false;
}

int check_result(void)
{
    int size;
    long total = num_failures;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (world_rank != 0) {
        MPI_Send(&num_failures, 1, MPI_LONG, 0, 999, MPI_COMM_WORLD);
    }
    for (int peer = 1; world_rank == 0 && peer < size; peer++) {
        long failures;
        MPI_Recv(&failures, 1, MPI_LONG, peer, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        total += failures;
    }
    if (world_rank == 0) {
        printf("%s: %d ranks, %ld cases, %ld failures\n", program_name, size, num_cases, total);
        fflush(stdout);
    }
    return total == 0 ? 0 : 1;
}

int check_finalize(void)
{
    int status = check_result();
    snprintf(current_case, sizeof(current_case), "MPI_Finalize");
    MPI_Finalize();
    return status;
}

uint64_t random_next(struct random *random)
{
    /* splitmix64 */
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t random_below(struct random *random, uint32_t limit)
{
    return (uint32_t)((random_next(random) >> 32) * limit >> 32);
}

uint64_t random_mix(uint64_t a, uint64_t b)
{
    struct random random = {a * 0x2545f4914f6cdd1du + b};
    return random_next(&random);
}

void random_fill(struct random *random, void *memory, size_t bytes)
{
    unsigned char *byte = memory;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t noise = random_next(random);
        memcpy(byte + i, &noise, bytes - i < sizeof(noise) ? bytes - i : sizeof(noise));
    }
}

void buffer_make_span(struct buffer *buffer, ptrdiff_t low, ptrdiff_t high, struct random *random)
{
    const size_t lead = ((size_t)(CANARY_BYTES - low) + 63) / 64 * 64;
    buffer->low = low;
    buffer->high = high;
    buffer->bytes = lead + (size_t)high + CANARY_BYTES;
    buffer->memory = malloc(buffer->bytes);
    if (buffer->memory == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", world_rank, buffer->bytes);
        MPI_Abort(MPI_COMM_WORLD, 96);
    }
    buffer->address = buffer->memory + lead;
    random_fill(random, buffer->memory, buffer->bytes);
}

void buffer_make(struct buffer *buffer, MPI_Datatype type, int num_blocks, const int *counts, const int *displacements,
                 struct random *random)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    ptrdiff_t low = 0, high = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    for (int i = 0; i < num_blocks; i++) {
        ptrdiff_t first = (ptrdiff_t)displacements[i] * extent + true_lower;
        ptrdiff_t end = first + (ptrdiff_t)(counts[i] - 1) * extent + true_extent;
        if (counts[i] > 0 && first < low) {
            low = first;
        }
        if (counts[i] > 0 && end > high) {
            high = end;
        }
    }
    buffer_make_span(buffer, low, high, random);
}

void buffer_copy(struct buffer *copy, const struct buffer *original)
{
    *copy = *original;
    copy->memory = malloc(original->bytes);
    if (copy->memory == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", world_rank, original->bytes);
        MPI_Abort(MPI_COMM_WORLD, 96);
    }
    memcpy(copy->memory, original->memory, original->bytes);
    copy->address = copy->memory + ((unsigned char *)original->address - original->memory);
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->memory);
    memset(buffer, 0, sizeof(*buffer));
}

bool buffer_equal(const struct buffer *buffer, const struct buffer *expected, const char *what)
{
    size_t i = 0, wrong = 0, first = 0;
    ptrdiff_t offset;
    if (memcmp(buffer->memory, expected->memory, buffer->bytes) == 0) {
        return true;
    }
    for (i = buffer->bytes; i-- > 0;) {
        if (buffer->memory[i] != expected->memory[i]) {
            wrong++;
            first = i;
        }
    }
    offset = buffer->memory + first - (unsigned char *)buffer->address;
    return check_that(false, "%s: %zu wrong bytes of %zu, first at offset %td (%s): %02x, expected %02x", what, wrong,
                      buffer->bytes, offset,
                      offset < buffer->low     ? "before the data"
                      : offset >= buffer->high ? "after the data"
                                               : "inside",
                      buffer->memory[first], expected->memory[first]);
}
