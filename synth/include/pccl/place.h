/* Placement: where the ranks of a job sit inside their hosts, and the topology that follows from it. */
#ifndef PCCL_PLACE_H
#define PCCL_PLACE_H

#include <stdint.h>

#include <hwloc.h>

#include "pccl/topology.h"

#pragma GCC visibility push(default) /* what the shared library shows */

/* The smallest objects of its host that hold all processors a rank may run on. An index is hwloc's logical index, -1
 * where the rank spans several objects of the level or the level does not exist (both are normal). */
struct pccl_place {
    uint32_t host; /* device of the fabric topology that the rank's host is */
    int32_t package, numa, l3, core;
    /* From 1: ranks of a host with the same number take turns on one processor, as there are more ranks than
     * processors. 0: not known, or it has one of its own. */
    uint32_t processor;
};

/* Fills package, numa, l3 and core (not host and processor) for a process bound to `cpuset` (NULL or empty: unbound).
 * Never fails on an odd topology: what cannot be told becomes -1. */
void pccl_place_find(hwloc_topology_t topology, hwloc_const_cpuset_t cpuset, struct pccl_place *place);

/* Joins a fabric (its devices are hosts) with the places of num_ranks ranks. In the result device i is rank i if some
 * host holds several ranks: hosts become vertices that forward, and below each hangs a tree of the package, NUMA, L3
 * levels that its ranks occupy, with the declared default costs of doc/topologies.md. If no host holds two ranks,
 * the result has the fabric's own devices and *rank_device maps each rank to its host (ranks need not fill the fabric).
 * Where ranks share a processor, messages have what doc/cost-model.md says that costs.
 * rank_device: [num_ranks], allocated with malloc, freed by the caller. */
int pccl_topology_place(const struct pccl_topology *fabric, const struct pccl_place *places, uint32_t num_ranks,
                        struct pccl_topology **topology, uint32_t **rank_device, struct pccl_error *error);

#pragma GCC visibility pop

#endif
