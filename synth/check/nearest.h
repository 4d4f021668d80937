/* Shortest ways from one vertex over links of any lengths, for bounds. */
#ifndef PCCL__NEAREST_H
#define PCCL__NEAREST_H

#include "check/bounding.h"

#define PCCL__FAR INT64_MAX                      /* distance of what cannot be reached */
#define PCCL__MAX_LENGTH (INT64_C(1) << 38)      /* of one link: 2^24 of them add up */

struct pccl__heap_entry {
    int64_t key;
    uint32_t value;
};

/* Smallest key first. The caller owns the entries and sees to it that they suffice. */
struct pccl__heap {
    struct pccl__heap_entry *entries;
    uint32_t size;
};

void pccl__heap_push(struct pccl__heap *heap, int64_t key, uint32_t value);
struct pccl__heap_entry pccl__heap_pop(struct pccl__heap *heap);

struct pccl__nearest {
    const struct pccl__bounding *bounding;
    const int64_t *length;  /* [num_links] 0 .. PCCL__MAX_LENGTH; only usable links count */
    bool equal;             /* all usable links have the same length: no heap needed */
    bool backwards;         /* ways to the vertex; set it before a run */
    int64_t *distance;      /* [num_vertices] PCCL__FAR if there is no way */
    uint32_t *last_link;    /* [num_vertices] of a shortest way, at the vertex's end */
    uint32_t *order;        /* [num_reached] vertices by distance, the start first */
    uint32_t num_reached;
    struct pccl__heap heap;
};

/* The lengths may change between runs if `equal` is then seen to. To be freed even after a failure. */
int pccl__nearest_init(struct pccl__nearest *ways, const struct pccl__bounding *bounding, const int64_t *length);
void pccl__nearest_free(struct pccl__nearest *ways);
void pccl__nearest_run(struct pccl__nearest *ways, uint32_t start);

#endif
