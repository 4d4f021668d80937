/* All-gathers in ceil(log2 n) rounds. Bruck et al., 1997; recursive doubling: Thakur et al., 2005; Swing: De Sensi et
 * al., 2024. A barrier made so is Hensgen's dissemination barrier; the mirror of recursive doubling is recursive
 * halving, and both together are Rabenseifner's all-reduce. */
#include "algorithms/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"

int64_t pccl__signed_distance(uint32_t k)
{
    int64_t sum = 0, term = 1;
    for (uint32_t i = 0; i <= k; i++) {
        sum += term;
        term *= -2;
    }
    return sum;
}

uint32_t pccl__pattern_rounds(uint32_t count)
{
    uint32_t rounds = 0;
    while (rounds < 32 && (UINT64_C(1) << rounds) < count) {
        rounds++;
    }
    return rounds;
}

uint32_t pccl__pattern_peer(enum pccl__pattern pattern, uint32_t count, uint32_t v, uint32_t k)
{
    if (pattern == PCCL__BRUCK) {
        return (uint32_t)((v + (UINT64_C(1) << k)) % count);
    }
    if (pattern == PCCL__DOUBLING) {
        uint64_t peer = v ^ (UINT64_C(1) << k);
        return peer < count ? (uint32_t)peer : PCCL_NONE;
    }
    int64_t distance = pccl__signed_distance(k), n = count;
    int64_t peer = ((int64_t)v + (v % 2 == 0 ? distance : -distance)) % n;
    return count % 2 == 0 ? (uint32_t)((peer + n) % n) : PCCL_NONE;
}

/* One message with the blocks of `have` that `lacks` does not contain; adds them to `gains`. */
static void send_missing(struct pccl__writer *writer, uint32_t step, uint32_t from, uint32_t to, const uint64_t *have,
                         const uint64_t *lacks, uint64_t *gains, uint32_t *chunks)
{
    uint32_t count = 0;
    for (size_t w = 0; w < pccl__bitset_words(writer->problem->num_ranks); w++) {
        uint64_t missing = have[w] & ~lacks[w];
        gains[w] |= missing;
        for (; missing != 0; missing &= missing - 1) {
            uint32_t block = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(missing);
            for (uint32_t piece = 0; piece < writer->pieces; piece++) {
                chunks[count++] = block * writer->pieces + piece;
            }
        }
    }
    pccl__writer_send(writer, step, from, to, chunks, count);
}

static bool all_hold_all(const uint64_t *holds, uint32_t count, uint32_t num_blocks)
{
    size_t words = pccl__bitset_words(num_blocks);
    for (uint32_t v = 0; v < count; v++) {
        if (pccl__bitset_count(holds + v * words, words) != num_blocks) {
            return false;
        }
    }
    return true;
}

void pccl__exchange_write(struct pccl__writer *writer, enum pccl__pattern pattern, const uint32_t *members,
                          uint32_t count, uint64_t *holds)
{
    uint32_t n = writer->problem->num_ranks, rounds = pccl__pattern_rounds(count);
    size_t words = pccl__bitset_words(n), bytes = count * words * sizeof *holds;
    uint64_t *before = pccl__array_new(count * words, sizeof *before);
    uint32_t *chunks = pccl__array_new((size_t)n * writer->pieces, sizeof *chunks);
    if (before == NULL || chunks == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        goto out;
    }
    for (uint32_t step = 0; step < rounds && writer->status == 0; step++) {
        memcpy(before, holds, bytes);
        for (uint32_t v = 0; v < count; v++) {
            uint32_t peer = pccl__pattern_peer(pattern, count, v, rounds - 1 - step);
            if (peer != PCCL_NONE && peer != v) {
                send_missing(writer, step, members[peer], members[v], before + peer * words, before + v * words,
                             holds + v * words, chunks);
            }
        }
    }
    if (!all_hold_all(holds, count, n)) {
        pccl__writer_fail(writer, PCCL_ERR_UNSUPPORTED, "its rounds do not reach every rank of a group this large");
    }
out:
    free(chunks);
    free(before);
}

struct exchange {
    enum pccl__pattern pattern;
    uint32_t *order;
};

static void gather(struct pccl__writer *writer, void *context)
{
    const struct exchange *exchange = context;
    uint32_t n = writer->problem->num_ranks;
    size_t words = pccl__bitset_words(n);
    uint64_t *holds = pccl__array_new(n * words, sizeof *holds);
    if (holds == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    for (uint32_t v = 0; v < n; v++) {
        pccl__bitset_set(holds + v * words, exchange->order[v]);
    }
    pccl__exchange_write(writer, exchange->pattern, exchange->order, n, holds);
    free(holds);
}

int pccl__exchange_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                             struct pccl_error *error)
{
    struct exchange exchange = {.pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant)};
    uint32_t n = problem->num_ranks;
    if (exchange.pattern == PCCL__DOUBLING && (n & (n - 1)) != 0) {
        return pccl__reject(error, "needs a power of two of ranks");
    }
    if (exchange.pattern == PCCL__SWING && n % 2 != 0) {
        return pccl__reject(error, "needs an even number of ranks");
    }
    exchange.order = pccl__array_new(n, sizeof *exchange.order);
    int status = exchange.order != NULL ? 0 : pccl__fail_memory(error);
    if (status == 0) {
        status = pccl__order_make(problem, PCCL__VARIANT_ORDER(problem->variant), exchange.order, error);
    }
    if (status == 0) {
        status = pccl__gatherer_serve(problem, pieces, gather, &exchange, schedule, error);
    }
    free(exchange.order);
    return status;
}
