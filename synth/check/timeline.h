/* When a resource that does one thing at a time is busy. The latest gaps that are left open stay usable. */
#ifndef PCCL__TIMELINE_H
#define PCCL__TIMELINE_H

#include <stdint.h>

struct pccl__gap {
    int64_t begin_ps, end_ps; /* begin < end */
};

/* All zero: never busy. */
struct pccl__timeline {
    int64_t free_ps; /* free from here on */
    uint32_t num_gaps, gap_room;
    struct pccl__gap *gaps; /* free stretches before, in order */
};

/* The earliest time from ready_ps on at which the resource is free for cost_ps, which it then is busy for. What costs
 * nothing waits for nothing. Returns 0 or PCCL_ERR_MEMORY. */
int pccl__timeline_take(struct pccl__timeline *timeline, int64_t ready_ps, int64_t cost_ps, int64_t *begin_ps);
void pccl__timeline_free(struct pccl__timeline *timeline);

#endif
