/* Simulator: the time a schedule takes on a topology, in the LogGP-like model of doc/cost-model.md. Model time, not a
 * measurement. Messages are replayed in order of step; each starts as early as its data, its sender's CPU and every
 * capacity on its path allow, holds each link of the path for bytes * G (cut-through: link k's holding begins after the
 * latencies of the links before it) and arrives after the sum of latencies plus the longest holding; sender and
 * receiver pay their overheads one message at a time. */
#ifndef PCCL_SIMULATE_H
#define PCCL_SIMULATE_H

#include "pccl/schedule.h"

#pragma GCC visibility push(default) /* what the shared library shows */

/* Request arrays by pointing at them; NULL = not wanted. */
struct pccl_simulation {
    bool unlimited_processors; /* in: a processor handles any number of messages at once; overheads delay each of them,
                                  copying costs nothing */
    int64_t makespan_ps; /* out: when the last receiver has finished */
    int64_t shared_ps;   /* out: what all messages cost the processors that devices share, together */
    int64_t *start_ps;   /* optional [num_messages]: when the first link begins to be held */
    int64_t *finish_ps;  /* optional [num_messages]: when the receiver has it */
    int64_t *link_bytes; /* optional [num_links]: bytes that crossed each link */
};

int pccl_simulate(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                  struct pccl_simulation *simulation, struct pccl_error *error);

#pragma GCC visibility pop

#endif
