/* Cheapest trees at prices that rise where trees crowd: what a resource costs grows with the time for which all trees
 * together occupy it. Trees that are taken back and grown anew, a few times over, spread evenly. */
#ifndef PCCL__PRICING_H
#define PCCL__PRICING_H

#include "algorithms/wayfinder.h"

struct pccl__pricing {
    const struct pccl__network *network;
    uint64_t *load;    /* [num_resources] slots */
    uint64_t *price;   /* [num_resources] of a slot */
    uint64_t most;     /* the largest load that there was */
    uint64_t *cost;    /* [num_devices] of the search under way, as the next two */
    uint32_t *via;     /* arc by which the device is reached */
    uint32_t *settled; /* search that is done with the device */
    uint32_t search;
    struct pccl__way_end {
        uint64_t cost;
        uint32_t device;
    } *heap; /* [num_arcs + num_devices] */
    uint32_t heap_size;
};

/* Freed with pccl__pricing_free, also after an error. */
int pccl__pricing_create(struct pccl__pricing *pricing, const struct pccl__network *network);
void pccl__pricing_free(struct pccl__pricing *pricing);

/* The cheapest way from any holder to whichever wanted device is cheapest to reach: its arcs, first one first, in
 * arcs[], which has room for num_devices. Returns how many; 0 if none is within reach. */
uint32_t pccl__pricing_search(struct pccl__pricing *pricing, const struct pccl__holders *holders, const bool *wanted,
                              uint32_t *arcs);
/* Prices of the resources that an arc occupies rise by a chunk of the network's current size, or fall back. */
void pccl__pricing_add(struct pccl__pricing *pricing, uint32_t arc);
void pccl__pricing_remove(struct pccl__pricing *pricing, uint32_t arc);

#endif
