/* Earliest arrival in the time-expanded network: the way by which a chunk gets from one device to another soonest,
 * given what earlier chunks have taken. Devices store and forward; an arc through switches is held from end to end. */
#ifndef PCCL__WAYFINDER_H
#define PCCL__WAYFINDER_H

#include "algorithms/network.h"
#include "algorithms/slots.h"

struct pccl__hop {
    uint32_t arc, start; /* slot */
};

struct pccl__wayfinder {
    struct pccl__network *network;
    struct pccl__slots slots; /* a timeline for each resource */
    uint32_t *arrival;        /* [num_devices] slot, of the search under way; as the next three */
    uint32_t *via;            /* arc by which it arrives */
    uint32_t *start;          /* when that arc starts */
    uint32_t *stamp;          /* search that wrote them */
    uint32_t *closed;         /* search that expanded the device */
    uint32_t search;
    uint32_t *layer, *next_layer; /* [num_devices] */
    uint64_t *heap;               /* [num_arcs + 1] key and device */
    uint32_t heap_size;
    struct pccl__hop *hops;       /* [num_devices] the way found, first hop first */
    uint32_t num_hops;
};

/* num_slots: about how many will be needed. Freed with pccl__wayfinder_free, also after an error. */
int pccl__wayfinder_create(struct pccl__wayfinder *finder, struct pccl__network *network, uint64_t num_slots);
void pccl__wayfinder_free(struct pccl__wayfinder *finder);

/* Finds hops for a chunk of the network's current size over shortest ways only, or (detours) over any. Takes nothing.
 * 0 or PCCL_ERR_UNREACHABLE. */
int pccl__wayfinder_search(struct pccl__wayfinder *finder, uint32_t source, uint32_t target, bool detours);

/* Devices that have a chunk or are about to get it. */
struct pccl__holders {
    uint32_t num_devices;
    uint32_t *devices; /* [num_devices of the network] */
    uint32_t *since;   /* the same, by device: slot from which on it has the chunk, PCCL_NONE: never */
};

/* Finds hops from whichever holder serves best to whichever of the wanted devices (none of them a holder) is reached
 * first, over any ways. Takes nothing. 0 or PCCL_ERR_UNREACHABLE. */
int pccl__wayfinder_search_nearest(struct pccl__wayfinder *finder, const struct pccl__holders *holders,
                                   const bool *wanted);

/* Takes the first slots on an arc that are free from `from` on. */
int pccl__wayfinder_take_arc(struct pccl__wayfinder *finder, uint32_t arc, uint32_t from, uint32_t *start);
/* Takes the slots of the hops found. */
int pccl__wayfinder_take(struct pccl__wayfinder *finder);

#endif
