#include "check/fixed_tree.h"

#include <stdlib.h>

#include "base/array.h"

bool pccl__fixed_tree_open(struct pccl__fixed_tree *tree, const struct pccl_demand *demand)
{
    tree->values = pccl__array_new(demand->num_ranks, sizeof *tree->values);
    tree->places = pccl__array_new(demand->num_ranks, sizeof *tree->places);
    return tree->values != NULL && tree->places != NULL;
}

void pccl__fixed_tree_close(struct pccl__fixed_tree *tree)
{
    free(tree->values);
    free(tree->places);
}

/* Combines neighbours that are in the same place; returns how many values are left, 0 when out of memory. */
static uint32_t join_equal_places(struct pccl__fixed_tree *tree, struct pccl__expressions *expressions, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || tree->places[kept - 1] != tree->places[i]) {
            tree->places[kept] = tree->places[i];
            tree->values[kept++] = tree->values[i];
            continue;
        }
        tree->values[kept - 1] = pccl__expressions_combine(expressions, tree->values[kept - 1], tree->values[i]);
        if (tree->values[kept - 1] == PCCL_NONE) {
            return 0;
        }
    }
    return kept;
}

static bool grow_tree(struct pccl__fixed_tree *tree, struct pccl__expressions *expressions,
                      const struct pccl_demand *demand, uint32_t chunk, uint32_t first_leaf)
{
    const struct pccl_chunk *about = &demand->chunks[chunk];
    uint32_t power = 1, count = about->num_sources;
    while (power <= demand->num_ranks / 2) {
        power *= 2;
    }
    uint32_t num_pairs = demand->num_ranks - power;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = demand->holders[about->first_source + i];
        tree->values[i] = first_leaf + i;
        tree->places[i] = rank < 2 * num_pairs ? rank / 2 : rank - num_pairs;
    }
    count = join_equal_places(tree, expressions, count);
    for (; power > 1 && count > 0; power /= 2) {
        for (uint32_t i = 0; i < count; i++) {
            tree->places[i] /= 2;
        }
        count = join_equal_places(tree, expressions, count);
    }
    return count > 0;
}

/* Combines two values, either of which may be missing; false when out of memory. */
static bool join(struct pccl__expressions *expressions, uint32_t left, uint32_t right, uint32_t *value)
{
    *value = left == PCCL_NONE    ? right
             : right == PCCL_NONE ? left
                                  : pccl__expressions_combine(expressions, left, right);
    return left == PCCL_NONE || right == PCCL_NONE || *value != PCCL_NONE;
}

static bool grow_prefixes(struct pccl__fixed_tree *tree, struct pccl__expressions *expressions,
                          const struct pccl_demand *demand, uint32_t first_leaf)
{
    bool complete = true, exclusive = demand->collective == PCCL_EXSCAN;
    for (uint32_t rank = 0; rank < demand->num_ranks; rank++) {
        tree->values[rank] = exclusive ? PCCL_NONE : first_leaf + rank;
    }
    for (uint64_t distance = 1; distance < demand->num_ranks; distance *= 2) {
        for (uint32_t rank = demand->num_ranks - 1; rank >= distance && complete; rank--) {
            uint32_t below = rank - (uint32_t)distance, brought = tree->values[below];
            complete = (!exclusive || join(expressions, brought, first_leaf + below, &brought)) &&
                       join(expressions, brought, tree->values[rank], &tree->values[rank]);
        }
    }
    return complete;
}

bool pccl__fixed_tree_grow(struct pccl__fixed_tree *tree, struct pccl__expressions *expressions,
                           const struct pccl_demand *demand, uint32_t chunk, uint32_t first_leaf)
{
    return pccl_collective_is_prefix(demand->collective)
               ? grow_prefixes(tree, expressions, demand, first_leaf)
               : grow_tree(tree, expressions, demand, chunk, first_leaf);
}

uint32_t pccl__fixed_tree_value(const struct pccl__fixed_tree *tree, const struct pccl_demand *demand, uint32_t rank)
{
    return tree->values[pccl_collective_is_prefix(demand->collective) ? rank : 0];
}
