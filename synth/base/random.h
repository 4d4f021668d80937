/* Seeded generator of integers (splitmix64; Steele, Lea, Flood 2014): equal seeds give equal sequences everywhere. */
#ifndef PCCL__RANDOM_H
#define PCCL__RANDOM_H

#include <stdint.h>

/* Set state to the seed; any value is a good one. */
struct pccl__random {
    uint64_t state;
};

uint64_t pccl__random_next(struct pccl__random *random);
/* 0 .. limit-1; limit >= 1. */
uint32_t pccl__random_below(struct pccl__random *random, uint32_t limit);
void pccl__random_shuffle(struct pccl__random *random, uint32_t *values, uint32_t count);

#endif
