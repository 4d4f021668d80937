/* Scratch slots of one rank while its program is written: runs of neighbouring slots, reused first fit. */
#ifndef PCCL__SCRATCH_H
#define PCCL__SCRATCH_H

#include <stdint.h>

struct pccl__scratch_freed {
    uint32_t slot, step;
};

/* All zero is an empty one. */
struct pccl__scratch {
    uint64_t *busy; /* bitset of slots */
    uint32_t num_words, word_room;
    uint32_t first_gap;                /* no slot below 64 * first_gap is free */
    uint32_t num_slots;                /* highest slot ever used, plus 1 */
    struct pccl__scratch_freed *freed; /* not yet free for reuse: a queue in order of steps */
    uint32_t first_freed, num_freed, freed_room;
};

/* Forgets all slots; keeps the memory. */
void pccl__scratch_reset(struct pccl__scratch *scratch);
void pccl__scratch_free(struct pccl__scratch *scratch);

/* The first of `count` >= 1 neighbouring slots, now busy; PCCL_NONE when out of memory. */
uint32_t pccl__scratch_take(struct pccl__scratch *scratch, uint32_t count);
/* The slot's value is last used in `step`. It is not given out again in this step or the next: a receive into it would
 * wait for the send of the old value, and a little slack keeps that wait short. Returns 0 or PCCL_ERR_MEMORY. */
int pccl__scratch_give(struct pccl__scratch *scratch, uint32_t slot, uint32_t step);
/* Called when `step` begins: slots whose time has come are free again. */
void pccl__scratch_advance(struct pccl__scratch *scratch, uint32_t step);

#endif
