#include "base/random.h"

uint64_t pccl__random_next(struct pccl__random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t pccl__random_below(struct pccl__random *random, uint32_t limit)
{
    return (uint32_t)((pccl__random_next(random) >> 32) * limit >> 32);
}

void pccl__random_shuffle(struct pccl__random *random, uint32_t *values, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = pccl__random_below(random, i);
        uint32_t kept = values[i - 1];
        values[i - 1] = values[j];
        values[j] = kept;
    }
}
