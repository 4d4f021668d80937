/* Ranks that take turns on processors, since a host has more ranks than processors. */
#ifndef PCCL__PROCESSORS_H
#define PCCL__PROCESSORS_H

#include "pccl/place.h"

struct pccl__processors {
    uint32_t *number;  /* [num_ranks] 1 + the lowest rank on the same processor; 0: no other rank is on it */
    uint32_t *sharers; /* [num_ranks] how many ranks are on it */
    bool shared;       /* some rank shares one */
};

/* Returns 0 or PCCL_ERR_MEMORY; to be freed in either case. */
int pccl__processors_find(struct pccl__processors *processors, const struct pccl_place *places, uint32_t num_ranks);
void pccl__processors_free(struct pccl__processors *processors);

/* The device that stands for a device's processor in arrays of what goes on there: the first one on it. */
static inline uint32_t pccl__processor_of(const struct pccl_topology *topology, uint32_t device)
{
    uint32_t processor = topology->vertices[device].processor;
    return processor != 0 ? processor - 1 : device;
}

/* Time per byte of copying at a device, in ps per MiB: that of its own end. 0 if it has a processor of its own, which
 * copies while the message is on its way. */
static inline int64_t pccl__processor_copies(const struct pccl_topology *topology, uint32_t device)
{
    bool copies = topology->vertices[device].processor != 0;
    return copies ? topology->links[topology->in_links[topology->first_in[device]]].ps_per_mib : 0;
}

#endif
