/* The work of a message at ends that share their processor with other ranks; elsewhere it goes on beside what the
 * simulator counts. See doc/cost-model.md. */
#ifndef PCCL__COPYING_H
#define PCCL__COPYING_H

#include "pccl/schedule.h"
#include "pccl/topology.h"

#define PCCL__LATEST_PS (INT64_MAX / 4) /* no time may be later: sums of a few still fit */

static inline int64_t pccl__add_limited(int64_t a, int64_t b)
{
    return a > PCCL__LATEST_PS - b ? PCCL__LATEST_PS : a + b;
}

/* What the receiver of a message does with its bytes. */
struct pccl__copying {
    int64_t arriving_ps; /* while they come */
    int64_t in_all_ps;
};

/* The number of chunks of a message if they do not lie together at its ends, else 0. */
uint32_t pccl__count_scattered(const struct pccl_schedule *schedule, const struct pccl_message *message);
/* What its sender spends on putting that many scattered chunks together. source_copy: time per byte of copying there,
 * in ps per MiB; 0: a processor of its own. */
int64_t pccl__count_gathering(const struct pccl_endpoints *endpoints, int64_t source_copy, uint32_t scattered,
                              int64_t bytes);
/* What its receiver spends beyond its overhead; target_copy: as above. */
struct pccl__copying pccl__count_copying(const struct pccl_schedule *schedule, const struct pccl_message *message,
                                         const struct pccl_endpoints *endpoints, int64_t target_copy,
                                         uint32_t scattered, int64_t bytes);

#endif
