/* Plan: one rank's part in a collective of a large group, made without the schedule of all ranks. Ranks that share hosts
 * are planned in levels, between nodes and inside; see doc/hierarchy.md. All ranks get plans that fit together, because
 * each makes the same choices from the same request. */
#ifndef PCCL_PLAN_H
#define PCCL_PLAN_H

#include "pccl/program.h"

#pragma GCC visibility push(default) /* what the shared library shows */

struct pccl_plan {
    struct pccl_program *program; /* owned */
    uint32_t pieces;              /* per block; the program's chunks are numbered accordingly (demand.h) */
    int64_t makespan_ps;          /* forecast, equal on all ranks; -1: none */
    char method[48];
};

/* The plan of `rank`. The caller frees it with pccl_plan_free. The request: a standard collective without unequal
 * blocks and without relays; `direct` for all-to-all, gather and scatter only. PCCL_ERR_UNSUPPORTED, on all ranks alike, for others and where
 * nothing serves. */
int pccl_plan_create(const struct pccl_topology *topology, const struct pccl_request *request, uint32_t rank,
                     struct pccl_plan **plan, struct pccl_error *error);
void pccl_plan_free(struct pccl_plan *plan);

#pragma GCC visibility pop

#endif
