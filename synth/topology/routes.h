/* What pccl_topology_route looks up. Shared by a topology and its reverse, immutable once made. */
#ifndef PCCL__ROUTES_H
#define PCCL__ROUTES_H

#include "topology/placement.h"
#include "topology/private.h"

/* For a topology that is complete but for this and its digest. Fails only for want of memory. */
int pccl__routes_create(const struct pccl__topology *topology, struct pccl__routes **routes);
/* At `vertex`, what is for the device `target` leaves over `link`. */
struct pccl__table_entry {
    uint32_t vertex, target, link;
};
/* The same for PCCL_ROUTING_TABLE; entries that do not fit the topology or lead in a circle are PCCL_ERR_INVALID. */
int pccl__routes_create_table(const struct pccl__topology *topology, const struct pccl__table_entry *entries,
                              uint32_t num_entries, struct pccl__routes **routes, struct pccl_error *error);
/* The link of the table, PCCL_NONE if it says nothing; of a topology with a table of its own. */
uint32_t pccl__routes_next(const struct pccl_topology *topology, uint32_t vertex, uint32_t target);
/* The same by way of a placement, which is taken over in every case. */
int pccl__routes_create_placed(struct pccl__placement *placement, struct pccl__routes **routes);
struct pccl__routes *pccl__routes_share(struct pccl__routes *routes);
/* Freed with the last holder; NULL is allowed. */
void pccl__routes_release(struct pccl__routes *routes);
/* Of what the rule knows beyond the public fields. */
uint64_t pccl__routes_digest(const struct pccl__routes *routes);

#endif
