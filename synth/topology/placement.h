/* What a topology made by pccl_topology_place remembers of how it came about: routes go up a host's tree, along the
 * fabric's own route, and down again. The links of the fabric keep their numbers. */
#ifndef PCCL__PLACEMENT_H
#define PCCL__PLACEMENT_H

#include "pccl/place.h"

struct pccl__placement {
    struct pccl_topology *fabric; /* owned */
    struct pccl_place *places;    /* [ranks], as given */
    uint32_t *up_link;            /* [vertices] towards the host; PCCL_NONE at the vertices of the fabric */
    uint32_t *down_link;          /* [vertices] from the host */
    uint32_t depth;               /* links between a rank and its host, at most */
};

void pccl__placement_free(struct pccl__placement *placement);

/* The placement of a topology, NULL if it has none. */
const struct pccl__placement *pccl__topology_placement(const struct pccl_topology *topology);

/* The topology of `ranks` devices that share hosts. Takes over the placement in every case. */
int pccl__topology_finish_placed(struct pccl_topology_builder *builder, struct pccl__placement *placement,
                                 struct pccl_topology **topology, struct pccl_error *error);

#define PCCL__MAX_PLACE_DEPTH 4 /* rank, L3, NUMA node, package */

/* Writes the route like pccl_topology_route; `reversed` says whether `links`, those of the placed topology,
 * are turned round; the route never is. */
int pccl__placement_route(const struct pccl__placement *placement, const struct pccl_link *links, bool reversed,
                          uint32_t source, uint32_t target, uint32_t *route, uint32_t max_links);

#endif
