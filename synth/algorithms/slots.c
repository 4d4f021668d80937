#include "algorithms/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "pccl/error.h"

int pccl__slots_create(struct pccl__slots *slots, uint32_t num_timelines, uint64_t num_slots)
{
    *slots = (struct pccl__slots){.stride = (size_t)(num_slots / 64) + 2, .num_timelines = num_timelines};
    slots->words = pccl__array_new(num_timelines * slots->stride, sizeof *slots->words);
    slots->first_free = pccl__array_new(num_timelines, sizeof *slots->first_free);
    return slots->words != NULL && slots->first_free != NULL ? 0 : PCCL_ERR_MEMORY;
}

void pccl__slots_free(struct pccl__slots *slots)
{
    free(slots->words);
    free(slots->first_free);
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
