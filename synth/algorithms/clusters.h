/* Clusters: devices joined by cheaper arcs than a given one, found for each class of arc cost. A chunk should cross
 * into a cluster once and spread inside it; which arc takes it across is left to the matching. */
#ifndef PCCL__CLUSTERS_H
#define PCCL__CLUSTERS_H

#include <stddef.h>

#include "algorithms/arcs.h"

#define PCCL__MAX_CLASSES 6
#define PCCL__REDUNDANT 255 /* class of an arc inside a cluster that shares something with arcs that cross */

struct pccl__clusters {
    uint32_t num_classes;                    /* of arc cost; class 0 (the cheapest) crosses nothing */
    size_t words;                            /* of a set of chunks */
    uint32_t *cluster[PCCL__MAX_CLASSES];    /* [num_devices] at a class: by arcs of lower classes */
    uint64_t *owned[PCCL__MAX_CLASSES];      /* [clusters * words] chunks that some device of the cluster owns */
    uint8_t *arc_class;                      /* [num_arcs], 0 where both ends are in one cluster, or redundant */
    const struct pccl__arcs *arcs;
};

/* bytes: of a typical chunk. Freed with pccl__clusters_free, also after an error. */
int pccl__clusters_create(const struct pccl_topology *topology, const struct pccl__arcs *arcs, int64_t bytes,
                          uint32_t num_chunks, struct pccl__clusters *clusters);
void pccl__clusters_free(struct pccl__clusters *clusters);

static inline void pccl__clusters_own(struct pccl__clusters *clusters, uint32_t device, uint32_t chunk)
{
    for (uint32_t i = 1; i < clusters->num_classes; i++) {
        uint64_t *owned = clusters->owned[i] + clusters->cluster[i][device] * clusters->words;
        owned[chunk / 64] |= UINT64_C(1) << (chunk % 64);
    }
}

/* Whether an arc had better be left alone: there are cheaper ways, and others need what it occupies. */
static inline bool pccl__clusters_avoid(const struct pccl__clusters *clusters, uint32_t arc)
{
    return clusters->arc_class[arc] == PCCL__REDUNDANT;
}

/* Chunks that an arc should not carry because its target's cluster owns them; NULL if it crosses nothing. */
static inline const uint64_t *pccl__clusters_barred(const struct pccl__clusters *clusters, uint32_t arc)
{
    uint32_t i = clusters->arc_class[arc];
    if (i == 0 || i == PCCL__REDUNDANT) {
        return NULL;
    }
    return clusters->owned[i] + clusters->cluster[i][clusters->arcs->arcs[arc].target] * clusters->words;
}

#endif
