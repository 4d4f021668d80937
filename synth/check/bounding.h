/* What the files that compute lower bounds share. Every bound here is an inequality that holds for each schedule in the
 * model of simulate.h, evaluated in integers and rounded down where it is not exact. */
#ifndef PCCL__BOUNDING_H
#define PCCL__BOUNDING_H

#include <stddef.h>

#include "pccl/bound.h"

#define PCCL__BOUND_MAX_PS (INT64_MAX / 4)

/* A request as the bounds see it, and the best bound so far. */
struct pccl__bounding {
    const struct pccl_topology *topology;
    const struct pccl_request *request;
    uint32_t *rank_of;         /* [num_devices] rank of a device, PCCL_NONE outside the group */
    bool *usable;              /* [num_links] a message of the group may cross the link */
    bool devices_forward;      /* the network passes messages through devices */
    uint32_t *first_of_capacity; /* [num_capacities + 1] in capacity_links */
    uint32_t *capacity_links;    /* usable links, by capacity */
    int64_t min_send_ps, min_receive_ps; /* least overheads of any device that may send */
    bool multicasts;                     /* some switch may copy */
    int64_t bound_ps;
    const char *argument;
};

/* Keeps the larger bound. Ties keep the earlier argument. */
void pccl__bound_raise(struct pccl__bounding *bounding, int64_t bound_ps, const char *argument);

/* Bytes that rank `rank` contributes (allgather, gather) or is to get (scatter, reduce_scatter). */
int64_t pccl__bound_block_bytes(const struct pccl_request *request, uint32_t rank);
/* Bytes of the alltoall block between two different ranks. */
int64_t pccl__bound_pair_bytes(const struct pccl_request *request, uint32_t source, uint32_t target);

/* Custom: whether the way from the rank to a target counts: it alone holds the chunk, or it contributes to it. */
bool pccl__bound_is_source(const struct pccl_demand *custom, const struct pccl_chunk *chunk, uint32_t rank);

/* --- capacity of a set of links (bound_cut.c) -------------------------------------------------------------------- */

/* How many bytes a set of capacities carries per time: exact while all are equally fast, else never too small. */
struct pccl__rate {
    uint64_t count;
    int64_t ps_per_mib; /* of the first; PCCL_NONE-like -1 before it */
    bool mixed, infinite;
    unsigned __int128 sum; /* of ceil(2^60 / ps_per_mib) */
    int64_t min_latency_ps;
};

#define PCCL__RATE_NONE ((struct pccl__rate){.ps_per_mib = -1, .min_latency_ps = INT64_MAX})

void pccl__rate_add(struct pccl__rate *rate, int64_t ps_per_mib);
/* Adds a set of other capacities. */
void pccl__rate_join(struct pccl__rate *rate, const struct pccl__rate *other);
/* Least time in which the set carries `amount` bytes (or byte-links); PCCL__BOUND_MAX_PS if it never does. */
int64_t pccl__rate_time(const struct pccl__rate *rate, unsigned __int128 amount);

/* One side of a cut: the members on it and their blocks. */
struct pccl__side {
    uint64_t num_members;
    int64_t bytes;               /* blocks of its members (not all-to-all) */
    unsigned __int128 out_bytes; /* all-to-all with unequal blocks, custom: bytes that must leave the side */
    unsigned __int128 in_bytes;
    bool has_root;
    uint32_t lowest, highest; /* of its members; set by pccl__bound_partition only */
};

/* Bounds from the bytes that must leave and enter a side, over the links that do; total: of all blocks. */
void pccl__bound_side(struct pccl__bounding *bounding, const struct pccl__side *side, unsigned __int128 total,
                      const struct pccl__rate *out, const struct pccl__rate *in, const char *argument);
/* Sum of all blocks; 0 for all-to-all. */
unsigned __int128 pccl__bound_total(const struct pccl_request *request);

/* Bounds from the bytes that must leave and enter each part of a partition: part_of[vertex] < num_parts, or PCCL_NONE
 * for vertices in no part. `whole`: every device is in some part. */
int pccl__bound_partition(struct pccl__bounding *bounding, const uint32_t *part_of, uint32_t num_parts, bool whole,
                          const char *argument);
/* The partitions worth trying: single devices, devices at one switch, blocks of consecutive devices. */
int pccl__bound_cuts(struct pccl__bounding *bounding);

/* --- grids (bound_grid.c) ---------------------------------------------------------------------------------------- */

/* Cuts across each dimension. *is_grid: they were made, as the topology is a grid without other links. */
int pccl__bound_grid(struct pccl__bounding *bounding, bool *is_grid);

/* --- latency (bound_latency.c) ----------------------------------------------------------------------------------- */

/* Latency of the farthest pair, tree bounds of LogP. Fails with PCCL_ERR_UNREACHABLE. */
int pccl__bound_latency(struct pccl__bounding *bounding, struct pccl_error *error);

/* --- prices (bound_price.c) -------------------------------------------------------------------------------------- */

/* All-to-all and custom: sum of bytes times distance over the sum of capacities, for several lengths of links. */
int pccl__bound_price(struct pccl__bounding *bounding);

/* --- flows (bound_flow.c) ---------------------------------------------------------------------------------------- */

/* The tightest cut, found by maximum flows; only where that is cheap. */
int pccl__bound_flow(struct pccl__bounding *bounding);

#endif
