/* Chunks with one source and one target each, every chunk in one message without a stop, over the network's own
 * route or a way through switches: when each is sent, and which way it takes, is chosen so that ways do not
 * collide. */
#ifndef PCCL__CIRCUITS_H
#define PCCL__CIRCUITS_H

#include "algorithms/algorithm.h"
#include "algorithms/slots.h"
#include "algorithms/ways.h"

/* Variants: order in which chunks choose. */
enum pccl__circuits_order {
    PCCL__CIRCUITS_ROTATED, /* by distance in rank order: those to the next rank, those to the one after ... */
    PCCL__CIRCUITS_LONGEST, /* long ways first */
    PCCL__CIRCUITS_FOLDED   /* most by symmetry, the others by distance in rank order */
};

pccl__algorithm pccl__circuits_algorithm;

/* --- shared by the files of the method ---------------------------------------------------------------------------- */

/* A chunk on its way. */
struct pccl__circuit {
    uint32_t chunk;
    uint32_t slot;
    uint32_t first, count; /* of what it occupies, in the pool: resources, the links of its way first */
};

struct pccl__circuits {
    const struct pccl__problem *problem;
    const struct pccl_topology *topology;
    const struct pccl_demand *demand;
    struct pccl_schedule *schedule;
    struct pccl__ways ways;
    struct pccl__slots slots; /* a timeline for each capacity, sender's CPU, receiver's CPU */
    struct pccl__circuit *circuits; /* in the order in which they choose */
    uint32_t num_circuits;
    uint32_t *pool;           /* links of the ways chosen */
    uint32_t pool_size, pool_room;
    int64_t *speeds;          /* distinct ps_per_mib of links */
    uint32_t *link_speed;     /* [num_links] */
    uint32_t *hold_slots;     /* [num_speeds] for chunks of `bytes` */
    uint32_t num_speeds;
    int64_t slot_ps, bytes, largest_bytes;
    bool equal;               /* all chunks have nearly the same size */
    bool unit;                /* every chunk holds every link for one slot, and nothing else */
    uint32_t num_slots;       /* one more than the last slot that a message begins in */
    uint64_t *load;           /* [num_links] slots that chunks hold it */
    uint64_t *price;          /* [num_links] what a further chunk should pay for it */
    uint64_t par;             /* load of the busiest link at a device: the price of such a link is 1 */
    bool settled;             /* chunks have got their ways by balancing loads; they only choose slots */
};

static inline uint32_t pccl__circuit_source(const struct pccl__circuits *all, uint32_t chunk)
{
    return all->demand->holders[all->demand->chunks[chunk].first_source];
}

static inline uint32_t pccl__circuit_target(const struct pccl__circuits *all, uint32_t chunk)
{
    return all->demand->holders[all->demand->chunks[chunk].first_target];
}

/* Makes hold_slots right for a chunk. */
void pccl__circuits_set_bytes(struct pccl__circuits *all, int64_t bytes);
/* Finds the ways of a chunk; PCCL_ERR_UNREACHABLE if there are none. */
int pccl__circuits_find_ways(struct pccl__circuits *all, uint32_t chunk);
/* Makes the way with this number the circuit's; its place in the pool must have room. */
void pccl__circuits_set_way(struct pccl__circuits *all, struct pccl__circuit *circuit, uint32_t number);

/* Gives every circuit a place in the pool; where shortest ways would overload links within the network, also a way,
 * found by balancing loads (balance.c). */
int pccl__circuits_settle(struct pccl__circuits *all);
/* Gives most circuits a way and a slot, by planning for few devices what all do; to the others UINT32_MAX as slot and a
 * place in the pool (fold.c). PCCL_ERR_UNSUPPORTED if the topology does not look alike from all devices. */
int pccl__circuits_fold(struct pccl__circuits *all);
/* Moves the messages that begin last forward by ejection chains (ejection.c). For unit holdings only. */
int pccl__circuits_improve(struct pccl__circuits *all);

#endif
