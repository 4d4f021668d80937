/* Packing: items into as few slots as possible, where in any slot a resource serves only so many of them. */
#ifndef PCCL__PACKING_H
#define PCCL__PACKING_H

#include <stdint.h>

struct pccl__packing {
    uint32_t num_resources;
    uint32_t *capacity;  /* [num_resources] items that it serves in one slot, >= 1; the caller fills it */
    uint32_t num_items, num_uses;
    uint32_t *first_use; /* [num_items + 1] */
    uint32_t *uses;      /* different resources, for each item */
    uint32_t item_room, use_room;
    uint32_t num_slots;  /* found by pccl__packing_solve, as is the next */
    uint32_t *slot;      /* [num_items], PCCL_NONE for an item without uses */
};

/* Freed with pccl__packing_free, also after an error. */
int pccl__packing_create(struct pccl__packing *packing, uint32_t num_resources);
void pccl__packing_free(struct pccl__packing *packing);

/* 0 or PCCL_ERR_MEMORY. No uses: the item is there only to be counted. */
int pccl__packing_add_item(struct pccl__packing *packing, const uint32_t *uses, uint32_t num_uses);

/* work: about how many words may be looked at. 0, PCCL_ERR_MEMORY or PCCL_ERR_UNSUPPORTED if no packing was found. */
int pccl__packing_solve(struct pccl__packing *packing, uint64_t seed, uint64_t work);

#endif
