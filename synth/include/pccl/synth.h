/* Synthesis: a portfolio of algorithms is tried on a request, every candidate is verified and simulated, the best is kept.
 * Deterministic: equal inputs give byte-equal schedules on every machine and build. */
#ifndef PCCL_SYNTH_H
#define PCCL_SYNTH_H

#include "pccl/bound.h"
#include "pccl/program.h"
#include "pccl/simulate.h"
#include "pccl/verify.h"

#pragma GCC visibility push(default) /* what the shared library shows */

/* How much work the portfolio may do. Counted in candidates and restarts, never in time. */
enum pccl_effort {
    PCCL_EFFORT_FIRST_USE, /* inside an MPI call: milliseconds at 64 ranks */
    PCCL_EFFORT_PART,      /* of a larger plan that is made of many: as at first use, but small groups too get only what
                              promises most */
    PCCL_EFFORT_THOROUGH   /* command line: everything that can win */
};

struct pccl_options {
    enum pccl_effort effort;
    const char *method; /* NULL: the whole portfolio; else only candidates whose method begins so ("ring", "matching") */
    bool frugal;        /* the fewest messages, uncut, count before the time: for where processors are what is scarce */
    uint64_t seed;      /* of the restarts; 0 is a fine seed */
    void (*progress)(void *context, const char *stage, uint64_t done, uint64_t total); /* optional */
    void *progress_context;
};

struct pccl_candidate {
    char method[48];
    uint32_t pieces;
    int64_t makespan_ps; /* simulated, of a frugal one as if processors were never busy; -1 if it was not made */
    char rejection[96];  /* why it was not made or not kept; empty for the winner */
};

struct pccl_result {
    struct pccl_schedule *schedule; /* the winner */
    int64_t makespan_ps;
    struct pccl_candidate *candidates; /* every candidate considered, winner included, in the order tried */
    uint32_t num_candidates;
};

/* The caller frees the result with pccl_result_free. options may be NULL. */
int pccl_synthesize(const struct pccl_topology *topology, const struct pccl_request *request, const struct pccl_options *options,
                    struct pccl_result **result, struct pccl_error *error);
void pccl_result_free(struct pccl_result *result);

#pragma GCC visibility pop

#endif
