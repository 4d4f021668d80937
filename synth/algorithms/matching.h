/* Matching of links and chunks in the time-expanded network, time first (after TACOS, Won et al., arXiv 2304.05301), for
 * chunks that all members need: all-gather, broadcast, barrier; their mirror images by reversal. */
#ifndef PCCL__MATCHING_H
#define PCCL__MATCHING_H

#include "algorithms/algorithm.h"

/* Chunks enter a cluster of devices joined by cheaper arcs only once ("matching"). */
pccl__algorithm pccl__matching;
/* Every idle arc takes what its receiver lacks ("matching:eager"): shorter where bandwidth is no concern. Unsupported
 * where it would be the same. */
pccl__algorithm pccl__matching_eager;

#endif
