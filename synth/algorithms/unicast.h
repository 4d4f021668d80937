/* Chunks with one source and one target each (all-to-all, scatter, gather, any such pattern), one after the other,
 * each by the way on which it arrives soonest. */
#ifndef PCCL__UNICAST_H
#define PCCL__UNICAST_H

#include "algorithms/algorithm.h"

/* Variants: order of the chunks, and whether ways that are not shortest are looked at. */
enum pccl__unicast {
    PCCL__FARTHEST,         /* long ways first */
    PCCL__SHUFFLED,         /* in random order, seeded */
    PCCL__FARTHEST_DETOURS,
    PCCL__SHUFFLED_DETOURS
};

pccl__algorithm pccl__unicast_algorithm;

#endif
