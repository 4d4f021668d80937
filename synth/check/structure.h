/* What a schedule must be for its messages to be replayed: paths are chains of links, ends may hold chunks, messages
 * are in order and name what exists. */
#ifndef PCCL__STRUCTURE_H
#define PCCL__STRUCTURE_H

#include "pccl/schedule.h"

struct pccl__structure {
    const struct pccl_topology *topology;
    const struct pccl_schedule *schedule;
    const uint32_t *rank; /* [num_vertices] rank of a device, PCCL_NONE outside the group */
    bool relays;          /* devices outside the group may hold chunks */
    struct pccl_error *error;
};

/* 0, or PCCL_ERR_VERIFY and what is wrong. */
int pccl__structure_check(const struct pccl__structure *structure);

#endif
