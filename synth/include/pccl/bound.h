/* Certified lower bounds on the makespan of any schedule for a request, in exact integer arithmetic. */
#ifndef PCCL_BOUND_H
#define PCCL_BOUND_H

#include "pccl/demand.h"

#pragma GCC visibility push(default) /* what the shared library shows */

struct pccl_bound {
    int64_t bound_ps;      /* no schedule in the model of simulate.h ends earlier */
    const char *argument;  /* which bound is the largest: "node bandwidth", "latency", "cut", "distance sum" ... (static) */
};

int pccl_bound_compute(const struct pccl_topology *topology, const struct pccl_request *request, struct pccl_bound *bound,
                       struct pccl_error *error);

#pragma GCC visibility pop

#endif
