/* Ways: the sequences of links by which one message can go from one device to another without a stop: the network's
 * own route where it routes by itself, else every shortest way through switches, and longer ones where these are
 * allowed: in a dragonfly a detour over another router can be better than the shortest way. */
#ifndef PCCL__WAYS_H
#define PCCL__WAYS_H

#include <stddef.h>

#include "algorithms/algorithm.h"

#define PCCL__MAX_WAYS 64
#define PCCL__MAX_WAY_LINKS 64 /* of a way through switches; longer ones are not looked for */

struct pccl__ways {
    const struct pccl_topology *topology;
    bool routed;         /* one way a pair: pccl_topology_route */
    uint32_t num_switches;
    uint32_t most_hops;  /* between switches, of ways that are longer than the shortest of their pair */
    uint16_t *hops;      /* [num_switches * num_switches] between switches, target-major; UINT16_MAX: none */
    uint32_t *inner;     /* the same numbering: where in `pool` the ways between two switches begin, plus 1; 0: not yet listed */
    uint32_t *pool;      /* for each pair of switches listed: the number of ways, then of each the number of links and
                            the links */
    uint32_t pool_size, pool_room;
    uint32_t longest;    /* most hops between two switches */
    uint32_t num_ways;   /* of the last pair */
    uint32_t counts[PCCL__MAX_WAYS]; /* links of each of its ways */
    uint32_t *links;     /* [PCCL__MAX_WAYS * max_links] of its ways, max_links apart */
    uint32_t max_links;
    uint32_t *queue;     /* [num_switches] */
};

/* Shortest ways only, to begin with. Freed with pccl__ways_free, also after an error. */
int pccl__ways_create(const struct pccl_topology *topology, bool routed, struct pccl__ways *ways);
void pccl__ways_free(struct pccl__ways *ways);

/* From now on also ways of up to that many hops between switches; a pair's shorter ways come before longer ones. */
void pccl__ways_allow(struct pccl__ways *ways, uint32_t most_hops);

/* Fills num_ways, counts and links for a pair; no ways if it has none. 0 or PCCL_ERR_MEMORY. */
int pccl__ways_find(struct pccl__ways *ways, uint32_t source, uint32_t target);

static inline uint32_t *pccl__way(const struct pccl__ways *ways, uint32_t number)
{
    return ways->links + (size_t)number * ways->max_links;
}

#endif
