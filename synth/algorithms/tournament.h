/* Reductions by the fixed tree of demand.h, which prescribes what combines with what, but not where: of the two ranks
 * that hold the results of two neighbouring intervals either may win the other's. Whoever wins the last game of a chunk
 * has its result. Winners are chosen for short ways and even loads. */
#ifndef PCCL__TOURNAMENT_H
#define PCCL__TOURNAMENT_H

#include "algorithms/portfolio.h"

enum pccl__tournament {
    PCCL__WHOLE_BLOCKS,
    PCCL__SCATTERED /* a reduce: every rank combines a share, which the root gathers */
};

/* Writes the reduce-scatter by the fixed tree: rank i ends with block i, that is chunks i * writer->pieces and on.
 * (The writer is in a forward phase.) */
void pccl__tournament_write(struct pccl__writer *writer);

pccl__algorithm pccl__tournament_algorithm;
pccl__estimate pccl__estimate_tournament;

#endif
