/* Sets of small integers in 64-bit words. The caller owns the words (pccl__bitset_words(size) of them, zeroed). */
#ifndef PCCL__BITSET_H
#define PCCL__BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t pccl__bitset_words(size_t size)
{
    return (size + 63) / 64;
}

static inline void pccl__bitset_set(uint64_t *words, uint32_t bit)
{
    words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void pccl__bitset_clear(uint64_t *words, uint32_t bit)
{
    words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

static inline bool pccl__bitset_test(const uint64_t *words, uint32_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

static inline uint32_t pccl__bitset_count(const uint64_t *words, size_t num_words)
{
    uint32_t count = 0;
    for (size_t i = 0; i < num_words; i++) {
        count += (uint32_t)__builtin_popcountll(words[i]);
    }
    return count;
}

/* The smallest member >= from, or UINT32_MAX. */
static inline uint32_t pccl__bitset_next(const uint64_t *words, size_t num_words, uint32_t from)
{
    size_t word = from / 64;
    if (word >= num_words) {
        return UINT32_MAX;
    }
    uint64_t rest = words[word] >> (from % 64) << (from % 64);
    while (rest == 0) {
        if (++word == num_words) {
            return UINT32_MAX;
        }
        rest = words[word];
    }
    return (uint32_t)(word * 64 + (size_t)__builtin_ctzll(rest));
}

#endif
