/* What `pccl topology` tells about a topology. */
#ifndef PCCL_CLI_METRICS_H
#define PCCL_CLI_METRICS_H

#include "cli.h"

#define METRICS_MAX_CLASSES 8

/* Links that are equal in latency and rate. */
struct metrics_class {
    int64_t latency_ps, ps_per_mib;
    uint64_t count;
};

struct metrics {
    uint32_t min_degree, max_degree; /* links that leave a device */
    uint32_t num_shared;             /* links that share their capacity with another */
    uint32_t num_classes;            /* of links; METRICS_MAX_CLASSES + 1: more than the table holds */
    struct metrics_class classes[METRICS_MAX_CLASSES];
    bool sampled;           /* the distances are from some devices only; the topology is too large for all */
    uint64_t unreachable;   /* ordered pairs of devices without a way */
    uint32_t diameter_hops; /* longest of the shortest ways between devices, in links */
    double mean_hops;
    int64_t diameter_ps;               /* the same in latency */
    double bisection_bytes_per_second; /* of the best cut found into two halves, one direction; < 0: unlimited */
    const char *bisection_cut;         /* how that cut was found (static) */
    uint32_t num_kinds;                /* kinds of device that differ in their surroundings; 1: all look alike */
};

int metrics_compute(const struct pccl_topology *topology, struct metrics *metrics);

#endif
