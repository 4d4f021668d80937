/* Random programs: each makes communicators out of communicators, calls every collective in every form on them, with
 * datatypes and operators that it makes for one call and frees right after it, keeps operations and messages pending
 * meanwhile, and completes them in any order. What must come out is known by arithmetic.
 *
 * programs [--number N] [--seed S] [--steps N] [--plain]
 * The program with seed S alone: --number 1 --seed S. --plain leaves out what plain Open MPI 4.1.4 gets wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "defects.h"
#include "program.h"

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, when everything must still work. */
static int call_at_the_end(MPI_Comm comm, int key, void *value, void *state)
{
    int one = 1, sum = 0, size;
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (sum != size) {
        fprintf(stderr, "WRONG sum %d of %d ranks in MPI_Finalize\n", sum, size);
        _exit(1);
    }
    return MPI_SUCCESS;
}

struct options {
    uint64_t seed;
    int number, num_steps; /* num_steps 0: each program has its own */
};

static struct options read_options(int argc, char **argv)
{
    struct options options = {.seed = 20240601, .number = 10};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--plain") == 0) {
            defects_avoid(true);
        } else if (strcmp(argv[i], "--number") == 0) {
            options.number = atoi(value);
        } else if (strcmp(argv[i], "--steps") == 0) {
            options.num_steps = atoi(value);
        } else if (strcmp(argv[i], "--seed") == 0) {
            options.seed = strtoull(value, NULL, 0);
        }
    }
    return options;
}

int main(int argc, char **argv)
{
    int rank, size, key;
    struct options options;
    check_init(&argc, &argv, "programs");
    options = read_options(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MAX_SIZE) {
        fprintf(stderr, "programs: at most %d ranks\n", MAX_SIZE);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
        printf("programs: %d from seed %llu; one alone: %s --number 1 --seed SEED\n", options.number,
               (unsigned long long)options.seed, argv[0]);
        fflush(stdout);
    }
    reductions_make();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    for (int i = 0; i < options.number; i++) {
        program_run(options.seed + (uint64_t)i, options.num_steps);
    }
    reductions_free();
    return check_finalize();
}
