/* Timelines cut into equal slots of model time: which are taken is one bit each. */
#ifndef PCCL__SLOTS_H
#define PCCL__SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pccl__slots {
    uint64_t *words;      /* [num_timelines * stride], a set bit is a taken slot; beyond the stride all is free */
    uint32_t *first_free; /* [num_timelines] every slot before it is taken */
    uint32_t *num_taken;  /* [num_timelines] by pccl__slots_take */
    size_t stride;
    uint32_t num_timelines;
};

/* A good length of a slot for chunks of `bytes` on links of the speeds given in ps per MiB: the shortest time a link is
 * held if the others are multiples of it, else a fraction of it; finer if chunks are not (nearly) equal; but never so
 * short that holdings and latencies become very many slots. */
int64_t pccl__slots_length(const int64_t *speeds, uint32_t num_speeds, int64_t latency_ps, int64_t bytes, bool equal);

/* Slots that a time takes, rounded up. */
uint32_t pccl__slots_count(int64_t time_ps, int64_t slot_ps);

/* Room for about num_slots slots to begin with. 0 or PCCL_ERR_MEMORY. Freed with pccl__slots_free, also after an
 * error. */
int pccl__slots_create(struct pccl__slots *slots, uint32_t num_timelines, uint64_t num_slots);
void pccl__slots_free(struct pccl__slots *slots);

/* Takes slots at .. at + length - 1. 0, PCCL_ERR_MEMORY, or PCCL_ERR_OVERFLOW if the slot is absurdly late. */
int pccl__slots_take(struct pccl__slots *slots, uint32_t timeline, uint32_t at, uint32_t length);

/* Gives one slot back. */
static inline void pccl__slots_release(struct pccl__slots *slots, uint32_t timeline, uint32_t at)
{
    slots->words[timeline * slots->stride + at / 64] &= ~(UINT64_C(1) << (at % 64));
    if (at < slots->first_free[timeline]) {
        slots->first_free[timeline] = at;
    }
}

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
static inline uint32_t pccl__slots_find(const struct pccl__slots *slots, uint32_t timeline, uint32_t from,
                                        uint32_t length)
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
