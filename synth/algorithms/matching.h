/* Matching of links and chunks in the time-expanded network, time first (after TACOS, Won et al., arXiv
 * 2304.05301), for chunks that all members need: all-gather, broadcast, barrier; reductions as their mirror images. */
#ifndef PCCL__MATCHING_H
#define PCCL__MATCHING_H

#include "algorithms/algorithm.h"

/* Variants. */
enum pccl__matching {
    PCCL__CLUSTERED, /* chunks enter a cluster of devices joined by cheaper arcs only once */
    PCCL__FILLING,   /* the same, but arcs into a cluster that would be idle bring a device what its cluster owns already;
                        unsupported, as is the next, where it would be the same */
    PCCL__EAGER      /* every idle arc takes what its receiver lacks: shorter where bandwidth is no concern */
};

pccl__algorithm pccl__matching_algorithm;

#endif
