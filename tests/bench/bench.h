/* The synthesizer's benchmark: cases with what is required of them, what was measured, how it is shown. */
#ifndef BENCH_H
#define BENCH_H

#include "pccl/synth.h"

#define BENCH_MIB (INT64_C(1) << 20)

/* Values of bench_case.method that are no row of the portfolio. */
#define BENCH_FIRST_USE NULL    /* pccl_synthesize as inside an MPI call */
#define BENCH_THOROUGH ""       /* pccl_synthesize as on the command line */
#define BENCH_ONE_RANK "one rank" /* by symmetry, only what device 0 does; unit tests verify it on smaller ones */

struct bench_case {
    const char *section; /* cases of one section stand together */
    char name[64];
    char topology[64];   /* as pccl_topology_create takes it, or with csv a filter of its rows (may be empty) */
    enum pccl_collective collective;
    uint32_t num_ranks;  /* the first so many devices; 0: all */
    bool relays;
    int64_t bytes;
    const char *method;
    uint32_t pieces;
    /* Required; 0: nothing is. */
    double cpu_seconds; /* at most, as the next two */
    double mib;
    double gap;         /* required of an all-reduce: over twice the bound of the all-gather */
    /* Somebody else's result: a time, or a number of blocks sent one after the other over the first link. */
    double reference_us, reference_slots;
    double ratio;       /* reference / makespan must be at least this */
    double replay_us;   /* the reference replayed, for a reference below the bound; 0: not known */
    char csv[256];      /* list of links; empty: a generator */
    bool multicast;     /* of its switches */
};

struct bench_measure {
    int status;         /* pccl_status */
    char error[256];
    char method[48];
    uint32_t num_devices, num_messages, pieces;
    double cpu_seconds; /* of the synthesis alone, as the next */
    double mib;         /* peak of memory over what the process had before */
    int64_t makespan_ps, bound_ps, reference_ps;
    double gap;         /* makespan over the bound */
    bool twice_gather;  /* the gap is over twice the all-gather's bound instead */
    bool verified;
};

/* Cases as they are listed. */
struct bench_list {
    uint32_t num_cases, room;
    struct bench_case *cases;
};

/* False when out of memory. */
bool bench_add(struct bench_list *list, const struct bench_case *which);
/* The table of doc/algorithms.md and the growth of time and memory (cases.c). */
bool bench_add_table(struct bench_list *list);
/* From the files in a folder (reference.c). On failure false, after a message. */
bool bench_add_references(struct bench_list *list, const char *folder);

/* In a process of its own, so that peaks of memory are its own. */
void bench_run(const struct bench_case *which, struct bench_measure *measure);
/* Whether both ask the same of the synthesizer. */
bool bench_is_same(const struct bench_case *one, const struct bench_case *other);

/* Lines for people; the number of requirements missed is returned. */
void bench_print_heading(const struct bench_case *which);
int bench_print(const struct bench_case *which, const struct bench_measure *measure);
/* Averages and exponents over all cases that were run (measure->num_devices > 0). Requirements missed. */
int bench_print_summary(const struct bench_list *list, const struct bench_measure *measures);
bool bench_write_csv(const char *path, const struct bench_list *list, const struct bench_measure *measures);

#endif
