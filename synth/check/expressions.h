/* Symbolic values of reductions: which contributions were combined, and in which order. Equal expressions have equal
 * numbers, so comparing results is comparing numbers. Contributions of a chunk are numbered by position among its
 * sources. */
#ifndef PCCL__EXPRESSIONS_H
#define PCCL__EXPRESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "pccl/topology.h"

struct pccl__expression {
    uint32_t chunk;
    uint32_t left, right; /* operands; PCCL_NONE in a single contribution */
    uint32_t low, high;   /* lowest and highest position combined */
    uint32_t count;       /* contributions combined */
    uint32_t set;         /* their bitset in words[] from word low / 64 on; PCCL_NONE if they are all of low .. high, or
                             lie in one word */
    uint64_t bits;        /* the set, if low and high are in one word */
};

/* All zero is an empty one. */
struct pccl__expressions {
    struct pccl__expression *nodes;
    uint32_t num_nodes, node_room;
    uint64_t *words;
    uint32_t num_words, word_room;
    uint32_t *table; /* combined nodes by operands, open addressing */
    uint32_t table_size, num_combined;
};

void pccl__expressions_free(struct pccl__expressions *expressions);
/* Forgets all nodes but the first `kept`, which must be contributions; keeps the memory. */
void pccl__expressions_reset(struct pccl__expressions *expressions, uint32_t kept);

/* A new node for a contribution (made once each); PCCL_NONE when out of memory. */
uint32_t pccl__expressions_leaf(struct pccl__expressions *expressions, uint32_t chunk, uint32_t position);

uint32_t pccl__expressions_overlap_sets(const struct pccl__expressions *expressions, uint32_t a, uint32_t b);
/* The lowest position that two expressions have in common, or PCCL_NONE. */
static inline uint32_t pccl__expressions_overlap(const struct pccl__expressions *expressions, uint32_t a, uint32_t b)
{
    const struct pccl__expression *x = &expressions->nodes[a], *y = &expressions->nodes[b];
    bool apart = x->high < y->low || y->high < x->low;
    return apart ? PCCL_NONE : pccl__expressions_overlap_sets(expressions, a, b);
}

/* Whether it combines the first `count` positions and no others. */
bool pccl__expressions_is_prefix(const struct pccl__expressions *expressions, uint32_t number, uint32_t count);

/* left op right, which do not overlap; PCCL_NONE when out of memory. */
uint32_t pccl__expressions_combine(struct pccl__expressions *expressions, uint32_t left, uint32_t right);

#endif
