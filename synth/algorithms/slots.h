/* Timelines cut into equal slots of model time: which are taken is one bit each. */
#ifndef PCCL__SLOTS_H
#define PCCL__SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct pccl__slots {
    uint64_t *words;      /* [num_timelines * stride], a set bit is a taken slot; beyond the stride all is free */
    uint32_t *first_free; /* [num_timelines] every slot before it is taken */
    size_t stride;
    uint32_t num_timelines;
};

/* Room for about num_slots slots to begin with. 0 or PCCL_ERR_MEMORY. Freed with pccl__slots_free, also after an error. */
int pccl__slots_create(struct pccl__slots *slots, uint32_t num_timelines, uint64_t num_slots);
void pccl__slots_free(struct pccl__slots *slots);

/* Takes slots at .. at + length - 1. 0, PCCL_ERR_MEMORY, or PCCL_ERR_OVERFLOW if the slot is absurdly late. */
int pccl__slots_take(struct pccl__slots *slots, uint32_t timeline, uint32_t at, uint32_t length);

/* The first free slot >= from. */
static inline uint32_t pccl__slots_next(const struct pccl__slots *slots, uint32_t timeline, uint32_t from)
{
    if (from < slots->first_free[timeline]) {
        return slots->first_free[timeline];
    }
    const uint64_t *words = slots->words + timeline * slots->stride;
    size_t w = from / 64;
    if (w >= slots->stride) {
        return from;
    }
    uint64_t free = ~words[w] >> (from % 64);
    if (free != 0) {
        return from + (uint32_t)__builtin_ctzll(free);
    }
    while (++w < slots->stride) {
        if (~words[w] != 0) {
            return (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(~words[w]);
        }
    }
    return (uint32_t)(w * 64);
}

/* The first run of `length` free slots that begins at or after `from`. */
static inline uint32_t pccl__slots_find(const struct pccl__slots *slots, uint32_t timeline, uint32_t from, uint32_t length)
{
    if (length == 0) {
        return from;
    }
    uint32_t begin = pccl__slots_next(slots, timeline, from);
    for (uint32_t have = 1; have < length; have++) {
        uint32_t next = pccl__slots_next(slots, timeline, begin + have);
        if (next != begin + have) {
            begin = next;
            have = 0;
        }
    }
    return begin;
}

#endif
