/* Chunks that any number of devices need, one after the other: each spreads along a tree that grows, in the time-expanded
 * network, to the target that it can reach soonest. Serves groups whose chunks pass through devices outside, several groups
 * at once, and any pattern; reductions as mirror images. */
#ifndef PCCL__MULTICAST_H
#define PCCL__MULTICAST_H

#include "algorithms/algorithm.h"

/* How a tree grows. */
enum pccl__multicast {
    PCCL__EARLIEST, /* to the target that it can reach soonest */
    PCCL__PRICED    /* to the target that is cheapest to reach (pricing.h): takes longer, but wastes no links */
};

pccl__algorithm pccl__multicast_algorithm; /* variant: enum pccl__multicast */

#endif
