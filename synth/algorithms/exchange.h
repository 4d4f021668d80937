/* All-gathers in rounds whose distances double: Bruck, recursive doubling, Swing. */
#ifndef PCCL__EXCHANGE_H
#define PCCL__EXCHANGE_H

#include "algorithms/portfolio.h"

/* The position that position v of `count` hears from in round k, or PCCL_NONE. */
uint32_t pccl__pattern_peer(enum pccl__pattern pattern, uint32_t count, uint32_t v, uint32_t k);
/* ceil(log2(count)) */
uint32_t pccl__pattern_rounds(uint32_t count);

/* Positions 0 .. count-1 are ranks members[]; holds[v * words ..] is the set of blocks (bits 0 .. num_ranks-1) that
 * position v begins with, and is brought up to date. In each round, largest distance first, every position hears
 * from its peer all blocks that it lacks. Largest first, because the mirror then combines neighbours first:
 * intervals of ranks, where the pattern is recursive doubling and members rise; and most bytes go the shortest way. */
void pccl__exchange_write(struct pccl__writer *writer, enum pccl__pattern pattern, const uint32_t *members,
                          uint32_t count, uint64_t *holds);

#endif
