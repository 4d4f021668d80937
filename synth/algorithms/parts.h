/* The independent parts of a pattern: sets of ranks that no chunk joins, such as several groups at once. */
#ifndef PCCL__PARTS_H
#define PCCL__PARTS_H

#include "algorithms/algorithm.h"

/* One part, as the collective that it is. */
struct pccl__part {
    struct pccl_request request; /* devices and block_bytes are the part's own */
    uint32_t num_ranks, num_chunks;
    uint32_t *ranks;    /* [num_ranks] in the pattern, ascending */
    uint32_t *chunks;   /* [num_chunks] of the pattern, ascending */
    uint32_t *devices;  /* [num_ranks] */
    int64_t *block_bytes;
    uint32_t *chunk_of; /* [blocks * cut] the pattern's chunk; PCCL_NONE: the block stays at home */
    uint32_t cut;       /* so many chunks of the pattern are one block of the request */
};

struct pccl__parts {
    struct pccl__part *parts;
    uint32_t num_parts;
    uint32_t *pool; /* what the parts' ranks and chunks lie in */
};

/* Finds the parts, not yet what they are: 0 or PCCL_ERR_MEMORY. Free them in any case. */
int pccl__parts_find(const struct pccl_demand *pattern, struct pccl__parts *parts);
void pccl__parts_free(struct pccl__parts *parts);

/* Fills in the request of a part: PCCL_ERR_UNSUPPORTED if it is no standard collective. */
int pccl__part_recognise(const struct pccl__problem *problem, struct pccl__part *part, struct pccl_error *error);

/* The row: each part planned by itself as that collective, all at once in order of the times at which messages start.
 * Best where parts do not get into each other's way. */
pccl__algorithm pccl__parts_algorithm; /* parts_row.c */

#endif
