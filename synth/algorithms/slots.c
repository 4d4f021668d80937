#include "algorithms/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "pccl/topology.h"

#define MAX_SLOTS_HELD 256 /* by a typical chunk on the slowest link, and by the longest latency */

static int64_t divide_up(int64_t value, int64_t divisor)
{
    return value / divisor + (value % divisor != 0);
}

uint32_t pccl__slots_count(int64_t time_ps, int64_t slot_ps)
{
    int64_t slots = divide_up(time_ps, slot_ps);
    return slots > UINT32_MAX / 8 ? UINT32_MAX / 8 : (uint32_t)slots;
}

/* Whether rounding up to slots lengthens no holding by more than 1 in 50. */
static bool fits(const int64_t *speeds, uint32_t num_speeds, int64_t bytes, int64_t slot_ps)
{
    for (uint32_t i = 0; i < num_speeds; i++) {
        int64_t hold_ps = pccl_transfer_ps(bytes, speeds[i]);
        if (divide_up(hold_ps, slot_ps) * slot_ps - hold_ps > hold_ps / 50) {
            return false;
        }
    }
    return true;
}

int64_t pccl__slots_length(const int64_t *speeds, uint32_t num_speeds, int64_t latency_ps, int64_t bytes, bool equal)
{
    int64_t shortest_ps = INT64_MAX, longest_ps = 0;
    for (uint32_t i = 0; i < num_speeds; i++) {
        int64_t hold_ps = pccl_transfer_ps(bytes, speeds[i]);
        shortest_ps = hold_ps > 0 && hold_ps < shortest_ps ? hold_ps : shortest_ps;
        longest_ps = hold_ps > longest_ps ? hold_ps : longest_ps;
    }
    int64_t slot_ps = longest_ps / MAX_SLOTS_HELD;
    if (longest_ps > 0) {
        int64_t k = equal ? 1 : 16;
        while (k < 8 && !fits(speeds, num_speeds, bytes, divide_up(shortest_ps, k))) {
            k++;
        }
        int64_t fraction_ps = divide_up(shortest_ps, k);
        slot_ps = slot_ps > fraction_ps ? slot_ps : fraction_ps;
    }
    slot_ps = slot_ps > latency_ps / MAX_SLOTS_HELD ? slot_ps : latency_ps / MAX_SLOTS_HELD;
    return slot_ps > 0 ? slot_ps : 1;
}

int pccl__slots_create(struct pccl__slots *slots, uint32_t num_timelines, uint64_t num_slots)
{
    *slots = (struct pccl__slots){.stride = (size_t)(num_slots / 64) + 2, .num_timelines = num_timelines};
    slots->words = pccl__array_new(num_timelines * slots->stride, sizeof *slots->words);
    slots->first_free = pccl__array_new(num_timelines, sizeof *slots->first_free);
    slots->num_taken = pccl__array_new(num_timelines, sizeof *slots->num_taken);
    return slots->words != NULL && slots->first_free != NULL && slots->num_taken != NULL ? 0 : PCCL_ERR_MEMORY;
}

void pccl__slots_free(struct pccl__slots *slots)
{
    free(slots->words);
    free(slots->first_free);
    free(slots->num_taken);
    *slots = (struct pccl__slots){0};
}

static int widen(struct pccl__slots *slots, size_t needed)
{
    size_t stride = slots->stride + slots->stride / 2;
    stride = stride < needed ? needed : stride;
    uint64_t *wider = pccl__array_new(slots->num_timelines * stride, sizeof *wider);
    if (wider == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (size_t t = 0; t < slots->num_timelines; t++) {
        memcpy(wider + t * stride, slots->words + t * slots->stride, slots->stride * sizeof *wider);
    }
    free(slots->words);
    slots->words = wider;
    slots->stride = stride;
    return 0;
}

int pccl__slots_take(struct pccl__slots *slots, uint32_t timeline, uint32_t at, uint32_t length)
{
    if (length == 0) {
        return 0;
    }
    uint64_t last = (uint64_t)at + length - 1;
    if (last > UINT32_MAX / 2) {
        return PCCL_ERR_OVERFLOW;
    }
    if (last / 64 >= slots->stride && widen(slots, (size_t)(last / 64) + 1) != 0) {
        return PCCL_ERR_MEMORY;
    }
    slots->num_taken[timeline] += length;
    uint64_t *words = slots->words + timeline * slots->stride;
    for (uint32_t s = at; s <= last; s++) {
        words[s / 64] |= UINT64_C(1) << (s % 64);
    }
    if (slots->first_free[timeline] == at) {
        slots->first_free[timeline] = at + 1;
        slots->first_free[timeline] = pccl__slots_next(slots, timeline, at + 1);
    }
    return 0;
}
