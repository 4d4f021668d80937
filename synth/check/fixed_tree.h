/* The fixed tree of reproducible reductions (demand.h), as a symbolic value. */
#ifndef PCCL__FIXED_TREE_H
#define PCCL__FIXED_TREE_H

#include "check/expressions.h"
#include "pccl/demand.h"

struct pccl__fixed_tree {
    uint32_t *values; /* [num_ranks] of the intervals of one level that hold a contribution; scans: of the ranks */
    uint32_t *places; /* [num_ranks] which intervals these are */
};

/* false when out of memory; close it in any case. */
bool pccl__fixed_tree_open(struct pccl__fixed_tree *tree, const struct pccl_demand *demand);
void pccl__fixed_tree_close(struct pccl__fixed_tree *tree);

/* The tree of a chunk, whose contributions are the expressions first_leaf, first_leaf + 1 ... in order of the sources;
 * false when out of memory. */
bool pccl__fixed_tree_grow(struct pccl__fixed_tree *tree, struct pccl__expressions *expressions,
                           const struct pccl_demand *demand, uint32_t chunk, uint32_t first_leaf);
/* The expression that `rank`, a target of the chunk, must end with. */
uint32_t pccl__fixed_tree_value(const struct pccl__fixed_tree *tree, const struct pccl_demand *demand, uint32_t rank);

#endif
