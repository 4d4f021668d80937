/* Matching of links and chunks in the time-expanded network, time first (after TACOS, Won et al., arXiv 2304.05301), for
 * chunks that all members need: all-gather, broadcast, barrier; reductions as their mirror images. */
#ifndef PCCL__MATCHING_H
#define PCCL__MATCHING_H

#include "algorithms/algorithm.h"

/* Variants. */
enum pccl__matching {
    PCCL__CLUSTERED, /* chunks enter a cluster of devices joined by cheaper arcs only once */
    PCCL__EAGER      /* every idle arc takes what its receiver lacks: shorter where bandwidth is no concern; unsupported
                        where it would be the same */
};

pccl__algorithm pccl__matching_algorithm;

#endif
