/* The arcs of a problem with their costs in slots of model time, and distances over them. */
#ifndef PCCL__NETWORK_H
#define PCCL__NETWORK_H

#include <stddef.h>

#include "algorithms/arcs.h"

#define PCCL__NO_WAY UINT16_MAX

struct pccl__network {
    struct pccl__arcs arcs;
    uint32_t num_devices;
    int64_t slot_ps;       /* length of a slot */
    bool uniform;          /* all arcs cost the same, so that a shortest way has fewest hops */
    int64_t bytes;         /* size of the chunk for which hold_slots is right now */
    uint32_t num_speeds;
    int64_t *speeds;       /* distinct ps_per_mib */
    uint32_t *hold_slots;  /* [num_speeds] how long a chunk of `bytes` holds a link of that speed */
    uint32_t *use_speed;   /* [num_uses], PCCL_NONE where the time is fixed */
    uint32_t *use_offset;  /* [num_uses] in slots */
    uint32_t *use_fixed;   /* [num_uses] in slots (to the nearest), where the time is fixed */
    uint32_t *arc_target;  /* [num_arcs] */
    uint32_t *arc_only;    /* [num_arcs] the capacity it occupies if that is all, from its start; else PCCL_NONE */
    uint32_t *arc_speed;   /* [num_arcs] of the slowest link */
    uint32_t *arc_latency; /* [num_arcs] in slots */
    uint32_t *arc_cost;    /* [num_arcs] what distances add up: 1 if uniform, else slots for a typical chunk */
    uint16_t *distance;    /* [num_devices * num_devices], target-major: to the target from any device, or PCCL__NO_WAY */
};

/* bytes: of a typical chunk; equal: all chunks are (nearly) of that size. Freed with pccl__network_free, also after an
 * error. */
int pccl__network_create(const struct pccl__problem *problem, int64_t bytes, bool equal, struct pccl__network *network,
                         struct pccl_error *error);
void pccl__network_free(struct pccl__network *network);

/* Makes hold_slots right for a chunk. */
void pccl__network_set_bytes(struct pccl__network *network, int64_t bytes);

static inline uint16_t pccl__network_distance(const struct pccl__network *network, uint32_t from, uint32_t target)
{
    return network->distance[(size_t)target * network->num_devices + from];
}

static inline uint32_t pccl__network_hold(const struct pccl__network *network, uint32_t use)
{
    uint32_t speed = network->use_speed[use];
    return speed == PCCL_NONE ? network->use_fixed[use] : network->hold_slots[speed];
}

/* Slots from the start of a message over the arc to its arrival, at least 1 so that hops have an order. */
static inline uint32_t pccl__network_delay(const struct pccl__network *network, uint32_t arc)
{
    uint32_t slots = network->arc_latency[arc] + network->hold_slots[network->arc_speed[arc]];
    return slots > 0 ? slots : 1;
}

#endif
