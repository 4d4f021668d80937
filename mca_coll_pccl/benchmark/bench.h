/* pccl-bench: times every collective over pccl and over Open MPI's default, in one launch, call by call in turn. */
#ifndef PCCL_BENCH_H
#define PCCL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#define BENCH_MAX_SIZES 64
#define BENCH_MAX_COLLECTIVES 32

/* --- options.c: what the user asked for -------------------------------------------------------------------- */

enum bench_form { BENCH_BLOCKING, BENCH_NONBLOCKING, BENCH_PERSISTENT, BENCH_NUM_FORMS };
extern const char *const bench_form_names[BENCH_NUM_FORMS];

struct bench_options {
    bool selected[BENCH_MAX_COLLECTIVES]; /* by index in the table of collectives */
    size_t sizes[BENCH_MAX_SIZES];        /* bytes, in the order to run */
    int num_sizes;
    int root;
    int rounds;        /* each gives one time per side; the median of them is printed */
    int calls;         /* per side and round; 0: as many as fit into budget_ms */
    int budget_ms;     /* how long a round should last */
    size_t max_memory; /* bytes of buffers per rank; larger cases are left out */
    enum bench_form form;
    int outstanding; /* operations that are started together and then waited for together; blocking: 1 */
    const char *select; /* coll_pccl_select of pccl's side */
    bool verbose;
    bool help; /* print the usage and stop */
    const char *csv;
};

/* Parses the same arguments on every rank; only rank 0 speaks. Returns 0, or -1 if they are wrong. */
int bench_options_parse(struct bench_options *options, int argc, char **argv, int rank);

/* --- sides.c: the communicators that are compared ---------------------------------------------------------- */

enum { BENCH_DEFAULT, BENCH_PCCL, BENCH_NUM_SIDES };

struct bench_sides {
    MPI_Comm comm[BENCH_NUM_SIDES]; /* members of MPI_COMM_WORLD, of which each has the ranks before and after it as
                                       neighbours; the default's also carries the benchmark's own talk */
    bool has_pccl;
    char notice[400]; /* why there is no pccl side; empty if there is */
    bool counts;      /* this rank can tell how many calls pccl has served */
    MPI_T_pvar_session session;
    MPI_T_pvar_handle served;
};

/* select: a value of coll_pccl_select. */
void bench_sides_create(struct bench_sides *sides, const char *select);
void bench_sides_free(struct bench_sides *sides);
/* How many calls of collectives pccl has served in this process; 0 where that cannot be told. */
unsigned long bench_sides_served(const struct bench_sides *sides);

/* --- collectives.c: what is called, and what must come out ------------------------------------------------- */

struct bench_case {
    const struct bench_collective *collective;
    size_t bytes; /* of one block, see bench_collective */
    int count;    /* elements of one block */
    MPI_Datatype type;
    int rank, num_ranks, root;
    unsigned char *input;  /* NULL where the rank has none */
    unsigned char *output; /* NULL where the rank has none */
    size_t input_bytes, output_bytes; /* of one operation */
    int *counts, *displacements; /* [num_ranks], in elements: equal blocks one behind the other */
    int *places;                 /* the displacements in bytes */
    MPI_Aint *addresses;         /* the same */
    MPI_Datatype *types;         /* [num_ranks] */
    enum bench_form form;
    int outstanding;                        /* operations of a call: all read `input`, each has an output */
    MPI_Request *requests[BENCH_NUM_SIDES]; /* [outstanding]; if persistent, for the whole life of the case */
};

enum bench_pattern {
    BENCH_NOTHING,  /* barrier */
    BENCH_COLLECT,  /* block r of the output comes from rank r */
    BENCH_EXCHANGE, /* block r of the output is block `me` of rank r's input */
    BENCH_COPY,     /* the output is the root's input */
    BENCH_DEAL,     /* the output is block `me` of the root's input */
    BENCH_SUM,      /* the output is the sum of all inputs */
    BENCH_SUM_DEAL, /* the output is block `me` of the sum of all inputs */
    BENCH_SUM_UP_TO, /* the output is the sum of the inputs up to mine */
    BENCH_SUM_BELOW, /* the output is the sum of the inputs before mine; the first rank has none */
    BENCH_NEAR_COLLECT, /* the blocks of the output are the inputs of the rank before and the rank after me */
    BENCH_NEAR_EXCHANGE /* the same, of each the block on my side */
};

/* How many blocks a buffer has. */
enum bench_blocks { BENCH_ONE, BENCH_PER_RANK, BENCH_PER_NEIGHBOR };

/* Sizes are what one rank gives to or gets from another: a contribution, a block, a result block. For allreduce, bcast
 * reduce and the scans they are the whole buffer. */
struct bench_collective {
    const char *name;
    enum bench_pattern pattern;
    enum bench_blocks blocks_in, blocks_out;
    bool rooted_input;  /* only the root has an input */
    bool rooted_output; /* only the root has an output */
    /* One operation in the form of the case: done, under way, or initialised. */
    int (*call)(const struct bench_case *c, unsigned char *output, MPI_Comm comm, MPI_Request *request);
};

extern const struct bench_collective bench_collectives[];
extern const int bench_num_collectives;

bool bench_collective_reduces(const struct bench_collective *collective);
/* The bytes that a size comes to in whole elements. */
size_t bench_collective_bytes(const struct bench_collective *collective, size_t bytes);
/* Buffers that one rank, the busiest, needs for a case. */
size_t bench_case_memory(const struct bench_options *options, const struct bench_collective *collective, size_t bytes,
                         int num_ranks);
/* Returns 0, or -1 if memory is short; bench_case_free is right in both cases. bytes is rounded up to whole
 * elements. */
int bench_case_create(struct bench_case *c, const struct bench_options *options,
                      const struct bench_collective *collective, size_t bytes, MPI_Comm comm);
/* Makes the persistent requests of both sides, if the case has that form. Collective. */
void bench_case_open(struct bench_case *c, const struct bench_sides *sides);
void bench_case_free(struct bench_case *c);
/* What is timed: all operations of the case, to their end. */
void bench_case_call(const struct bench_case *c, const struct bench_sides *sides, int side);
/* Runs the case once and compares the outputs with what the pattern says. Returns the number of wrong elements at this
 * rank. */
size_t bench_case_check(struct bench_case *c, const struct bench_sides *sides, int side);

/* --- measure.c --------------------------------------------------------------------------------------------- */

struct bench_result {
    double time_us[BENCH_NUM_SIDES];    /* median over rounds of the median over calls of the slowest rank's time */
    double ratio, ratio_min, ratio_max; /* pccl / default: median and extremes over rounds */
    int calls;                          /* per side and round */
    long long wrong[BENCH_NUM_SIDES];   /* elements, all ranks */
    bool declined;                      /* pccl left the calls of its side to the default, so both sides are the same */
};

/* Collective over all ranks; the result is complete on rank 0. Returns 0, or -1 on every rank if memory is short. */
int bench_measure(const struct bench_options *options, const struct bench_sides *sides, struct bench_case *c,
                  struct bench_result *result);

/* --- report.c: rank 0 only --------------------------------------------------------------------------------- */

struct bench_report;

/* Opens the CSV file if one is wanted. Returns NULL, and has said why, if that fails. */
struct bench_report *bench_report_open(const struct bench_options *options, const struct bench_sides *sides,
                                       int num_rows);
void bench_report_title(struct bench_report *report, const struct bench_collective *collective);
void bench_report_progress(struct bench_report *report, const struct bench_collective *collective, size_t bytes);
void bench_report_row(struct bench_report *report, const struct bench_case *c, const struct bench_result *result);
void bench_report_skip(struct bench_report *report, size_t bytes, const char *why);
/* Prints the summary and frees the report. Returns 0, or -1 if data were wrong or the CSV file could not be written. */
int bench_report_close(struct bench_report *report);

#endif
