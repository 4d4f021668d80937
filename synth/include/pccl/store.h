/* Store: a directory in which schedules, and what was measured about them, outlive the process. Any number of processes
 * may read and write it at the same time: a file is named after its key and appears whole or not at all. Nothing in it
 * is trusted: what another program or version has written, for another key or topology, what is damaged, or does not
 * answer the request, is refused with a reason. Whether a schedule does what its demand says is for pccl_verify_programs
 * to find out. */
#ifndef PCCL_STORE_H
#define PCCL_STORE_H

#include "pccl/schedule.h"

#pragma GCC visibility push(default) /* what the shared library shows */

struct pccl_store {
    const char *directory; /* must exist */
    const char *maker;     /* program and version that reads and writes, 1 to 200 bytes */
};

/* Keys are text of 1 to 500 bytes that names everything a schedule or an outcome depends on, but the maker. */

/* The schedule kept under a key, for this request on this topology; *schedule = NULL if there is none. The caller frees
 * it. PCCL_ERR_FORMAT: the file is not what it should be; PCCL_ERR_IO: it cannot be read. */
int pccl_store_load_schedule(const struct pccl_store *store, const char *key, const struct pccl_topology *topology,
                             const struct pccl_request *request, struct pccl_schedule **schedule,
                             struct pccl_error *error);
/* Replaces what was there. */
int pccl_store_save_schedule(const struct pccl_store *store, const char *key, const struct pccl_topology *topology,
                             const struct pccl_schedule *schedule, struct pccl_error *error);

/* Keeps the topology of schedules that are kept, as topology-DIGEST.json, so that whoever looks at them later has it. Does
 * nothing if the file is there. */
int pccl_store_save_topology(const struct pccl_store *store, const struct pccl_topology *topology,
                             struct pccl_error *error);

/* The ways to do the same of which one was measured to be the fastest. */
enum pccl_way {
    PCCL_WAY_PLAN,   /* the schedule */
    PCCL_WAY_FRUGAL, /* the schedule with the fewest messages */
    PCCL_WAY_OTHER,  /* none of ours */
    PCCL_NUM_WAYS
};

struct pccl_outcome {
    enum pccl_way fastest;
    int64_t time_ps[PCCL_NUM_WAYS]; /* of a call in each way, >= 0; -1: was not tried */
};

/* The outcome kept under a key; *found = false if there is none. Errors as above. */
int pccl_store_load_outcome(const struct pccl_store *store, const char *key, bool *found, struct pccl_outcome *outcome,
                            struct pccl_error *error);
int pccl_store_save_outcome(const struct pccl_store *store, const char *key, const struct pccl_outcome *outcome,
                            struct pccl_error *error);

#pragma GCC visibility pop

#endif
