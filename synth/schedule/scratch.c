#include "schedule/scratch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"
#include "pccl/program.h"

#define SLACK_STEPS 2 /* a slot last used in step s is given out again from step s + 2 on */

void pccl__scratch_reset(struct pccl__scratch *scratch)
{
    if (scratch->num_words > 0) {
        memset(scratch->busy, 0, scratch->num_words * sizeof *scratch->busy);
    }
    scratch->first_gap = scratch->num_slots = 0;
    scratch->first_freed = scratch->num_freed = 0;
}

void pccl__scratch_free(struct pccl__scratch *scratch)
{
    free(scratch->busy);
    free(scratch->freed);
}

/* Makes slots below `needed` exist. */
static int reserve(struct pccl__scratch *scratch, uint64_t needed)
{
    if (needed > PCCL_SLOT_INDEX(PCCL_NONE)) {
        return PCCL_ERR_MEMORY;
    }
    uint32_t words = (uint32_t)pccl__bitset_words(needed);
    if (words > scratch->num_words) {
        uint64_t *busy = pccl__array_grow(scratch->busy, &scratch->word_room, words, sizeof *busy);
        if (busy == NULL) {
            return PCCL_ERR_MEMORY;
        }
        memset(busy + scratch->num_words, 0, (words - scratch->num_words) * sizeof *busy);
        scratch->busy = busy;
        scratch->num_words = words;
    }
    if (needed > scratch->num_slots) {
        scratch->num_slots = (uint32_t)needed;
    }
    return 0;
}

/* The first slot of the lowest free run of `count`; slots that do not exist yet count as free. */
static uint32_t find_run(const struct pccl__scratch *scratch, uint32_t count)
{
    uint32_t run = 0, slot = scratch->first_gap * 64;
    for (; slot < scratch->num_words * 64; slot++) {
        run = pccl__bitset_test(scratch->busy, slot) ? 0 : run + 1;
        if (run == count) {
            return slot + 1 - count;
        }
    }
    return slot - run;
}

uint32_t pccl__scratch_take(struct pccl__scratch *scratch, uint32_t count)
{
    while (scratch->first_gap < scratch->num_words && scratch->busy[scratch->first_gap] == UINT64_MAX) {
        scratch->first_gap++;
    }
    uint32_t first;
    if (count == 1 && scratch->first_gap < scratch->num_words) {
        first = scratch->first_gap * 64 + (uint32_t)__builtin_ctzll(~scratch->busy[scratch->first_gap]);
    } else {
        first = find_run(scratch, count);
    }
    if (reserve(scratch, (uint64_t)first + count) != 0) {
        return PCCL_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        pccl__bitset_set(scratch->busy, first + i);
    }
    return first;
}

int pccl__scratch_give(struct pccl__scratch *scratch, uint32_t slot, uint32_t step)
{
    struct pccl__scratch_freed *freed =
        pccl__array_grow(scratch->freed, &scratch->freed_room, (uint64_t)scratch->num_freed + 1, sizeof *freed);
    if (freed == NULL) {
        return PCCL_ERR_MEMORY;
    }
    scratch->freed = freed;
    freed[scratch->num_freed++] = (struct pccl__scratch_freed){slot, step};
    return 0;
}

void pccl__scratch_advance(struct pccl__scratch *scratch, uint32_t step)
{
    while (scratch->first_freed < scratch->num_freed) {
        struct pccl__scratch_freed oldest = scratch->freed[scratch->first_freed];
        if (step - oldest.step < SLACK_STEPS) {
            return;
        }
        pccl__bitset_clear(scratch->busy, oldest.slot);
        if (oldest.slot / 64 < scratch->first_gap) {
            scratch->first_gap = oldest.slot / 64;
        }
        scratch->first_freed++;
    }
    scratch->first_freed = scratch->num_freed = 0;
}
