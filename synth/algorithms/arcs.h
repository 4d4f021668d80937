/* Arcs: the ways in which a chunk can go from one device to the next in one message, for methods that let devices pass
 * chunks on. On an accelerator fabric (or with relays) an arc is a link or a way through switches; where the network
 * routes by itself it is the network's route between two members with no other member on it. */
#ifndef PCCL__ARCS_H
#define PCCL__ARCS_H

#include "algorithms/algorithm.h"

/* What an arc occupies: a capacity, or the CPU of a sender or receiver, from offset_ps after the start of the
 * message. */
struct pccl__use {
    uint32_t resource;  /* capacities first, then senders' CPUs by device, then receivers' CPUs by device */
    int64_t offset_ps;
    int64_t ps_per_mib; /* PCCL__FIXED: fixed_ps instead */
    int64_t fixed_ps;
};

#define PCCL__FIXED INT64_C(-1)

struct pccl__arc {
    uint32_t source, target; /* devices */
    uint32_t first_link, num_links;
    uint32_t first_use, num_uses;
    int64_t latency_ps;        /* all latencies and overheads: what an empty message takes */
    int64_t slowest_ps_per_mib;
};

struct pccl__arcs {
    uint32_t num_arcs;
    struct pccl__arc *arcs; /* by source, then in a fixed order */
    uint32_t *first_out;    /* [num_devices + 1] */
    uint32_t *links;
    uint32_t num_links;
    struct pccl__use *uses;
    uint32_t num_uses;
    uint32_t num_resources;
};

/* The arcs for a problem, between members or (everyone) all devices; on a network that routes by itself only
 * members, unless the request allows relays. PCCL_ERR_UNSUPPORTED if there would be more than max_arcs. Freed with
 * pccl__arcs_free, also after an error. */
int pccl__arcs_create(const struct pccl__problem *problem, uint32_t max_arcs, bool everyone, struct pccl__arcs *arcs,
                      struct pccl_error *error);
void pccl__arcs_free(struct pccl__arcs *arcs);

/* Time from the start of a message of `bytes` over an arc to its arrival. */
int64_t pccl__arc_ps(const struct pccl__arc *arc, int64_t bytes);

#endif
