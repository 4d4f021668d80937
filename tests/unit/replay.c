#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIME 1000003u

struct operand {
    uint64_t entry[4]; /* a matrix, row by row */
    uint32_t lowest;   /* contributing rank; PCCL_NONE: no operand at all */
};

static char report[160];

static struct operand initial_operand(uint32_t rank, uint32_t chunk)
{
    struct operand operand = {.lowest = rank};
    for (uint32_t i = 0; i < 4; i++) {
        operand.entry[i] = (UINT64_C(2654435761) * (rank * 4 + i + 1) + UINT64_C(40503) * chunk) % PRIME;
    }
    return operand;
}

static struct operand combine(struct operand a, struct operand b, const struct pccl_demand *demand)
{
    if (b.lowest < a.lowest) {
        struct operand swapped = a;
        a = b;
        b = swapped;
    }
    struct operand result = {.lowest = a.lowest};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t row = i / 2 * 2, column = i % 2;
        result.entry[i] =
            demand->reproducible ? (a.entry[i] * a.entry[i] + 3 * b.entry[i] + 1) % PRIME
            : demand->ordered    ? (a.entry[row] * b.entry[column] + a.entry[row + 1] * b.entry[column + 2]) % PRIME
                                 : (a.entry[i] + b.entry[i]) % PRIME;
    }
    return result;
}

/* Rank `rank` alone, if it is a source of the chunk. */
static struct operand leaf(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank)
{
    const struct pccl_chunk *about = &demand->chunks[chunk];
    for (uint32_t i = 0; i < about->num_sources; i++) {
        if (demand->holders[about->first_source + i] == rank) {
            return initial_operand(rank, chunk);
        }
    }
    return (struct operand){.lowest = PCCL_NONE};
}

static struct operand join(const struct pccl_demand *demand, struct operand left, struct operand right)
{
    return left.lowest == PCCL_NONE ? right : right.lowest == PCCL_NONE ? left : combine(left, right, demand);
}

/* The fixed tree below 2^height leaves from `first` on, the leaves below num_pairs being two ranks each. */
static struct operand fixed_tree(const struct pccl_demand *demand, uint32_t chunk, uint32_t first, uint32_t height,
                                 uint32_t num_pairs)
{
    if (height > 0) {
        return join(demand, fixed_tree(demand, chunk, first, height - 1, num_pairs),
                    fixed_tree(demand, chunk, first + (1u << (height - 1)), height - 1, num_pairs));
    }
    if (first >= num_pairs) {
        return leaf(demand, chunk, first + num_pairs);
    }
    return join(demand, leaf(demand, chunk, 2 * first), leaf(demand, chunk, 2 * first + 1));
}

/* What a rank has after so many rounds of a reproducible scan or exscan. */
static struct operand fixed_prefix(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank, uint32_t rounds)
{
    bool exclusive = demand->collective == PCCL_EXSCAN;
    if (rounds == 0) {
        return exclusive ? (struct operand){.lowest = PCCL_NONE} : leaf(demand, chunk, rank);
    }
    struct operand own = fixed_prefix(demand, chunk, rank, rounds - 1);
    if (rank < 1u << (rounds - 1)) {
        return own;
    }
    uint32_t below = rank - (1u << (rounds - 1));
    struct operand brought = fixed_prefix(demand, chunk, below, rounds - 1);
    return join(demand, exclusive ? join(demand, brought, leaf(demand, chunk, below)) : brought, own);
}

static struct operand reproducible_operand(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank)
{
    uint32_t height = 0;
    while (2u << height <= demand->num_ranks) {
        height++;
    }
    if (demand->collective == PCCL_SCAN || demand->collective == PCCL_EXSCAN) {
        return fixed_prefix(demand, chunk, rank, height + 1);
    }
    return fixed_tree(demand, chunk, 0, height, demand->num_ranks - (1u << height));
}

/* What a target of a chunk must hold: its source's operand, or all combined, by the fixed tree or one after the other
 * in rank order; in a scan those up to the target's own, in an exscan those before it. */
static struct operand expected_operand(const struct pccl_demand *demand, uint32_t chunk, uint32_t rank)
{
    const struct pccl_chunk *about = &demand->chunks[chunk];
    struct operand result = initial_operand(demand->holders[about->first_source], chunk);
    uint32_t count = demand->collective == PCCL_SCAN     ? rank + 1
                     : demand->collective == PCCL_EXSCAN ? rank
                                                         : about->num_sources;
    if (demand->reproducible) {
        return reproducible_operand(demand, chunk, rank);
    }
    for (uint32_t i = 1; demand->reduces && i < count; i++) {
        result = combine(result, initial_operand(demand->holders[about->first_source + i], chunk), demand);
    }
    return result;
}

static const char *check_targets(const struct pccl_demand *demand, const struct operand *state)
{
    for (uint32_t chunk = 0; chunk < demand->num_chunks; chunk++) {
        const struct pccl_chunk *about = &demand->chunks[chunk];
        bool alike = demand->collective != PCCL_SCAN && demand->collective != PCCL_EXSCAN;
        struct operand expected = {.lowest = PCCL_NONE};
        for (uint32_t i = 0; i < about->num_targets; i++) {
            uint32_t rank = demand->holders[about->first_target + i];
            expected = alike && i > 0 ? expected : expected_operand(demand, chunk, rank);
            const struct operand *held = &state[(size_t)rank * demand->num_chunks + chunk];
            if (held->lowest == PCCL_NONE || memcmp(held->entry, expected.entry, sizeof expected.entry) != 0) {
                snprintf(report, sizeof report, "rank %u ends with a wrong chunk %u", rank, chunk);
                return report;
            }
        }
    }
    return NULL;
}

/* Messages of one step read `before`. */
static const char *run_step(const struct pccl_schedule *schedule, uint32_t first, uint32_t end, const uint32_t *rank_on,
                            const struct operand *before, struct operand *state)
{
    const struct pccl_demand *demand = schedule->demand;
    for (uint32_t i = first; i < end; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        const struct pccl_path *path = &schedule->paths[message->path];
        uint32_t from = rank_on[path->source], to = rank_on[path->target], count;
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        for (uint32_t k = 0; k < count; k++) {
            struct operand sent = before[(size_t)from * demand->num_chunks + chunks[k]];
            struct operand *held = &state[(size_t)to * demand->num_chunks + chunks[k]];
            bool apart = demand->collective == PCCL_EXSCAN; /* the own operand is no part of the state */
            if (apart) {
                struct operand own = initial_operand(from, chunks[k]);
                sent = sent.lowest == PCCL_NONE ? own : combine(sent, own, demand);
            }
            if (sent.lowest == PCCL_NONE || (message->reduce && held->lowest == PCCL_NONE && !apart)) {
                snprintf(report, sizeof report, "step %u: rank %u sends chunk %u to %u before both have it",
                         message->step, from, chunks[k], to);
                return report;
            }
            *held = message->reduce && held->lowest != PCCL_NONE ? combine(*held, sent, demand) : sent;
        }
    }
    return NULL;
}

const char *replay(const struct pccl_schedule *schedule, uint32_t num_devices)
{
    const struct pccl_demand *demand = schedule->demand;
    size_t cells = (size_t)demand->num_ranks * demand->num_chunks;
    struct operand *state = calloc(cells, sizeof *state), *before = calloc(cells, sizeof *before);
    uint32_t *rank_on = calloc(num_devices, sizeof *rank_on);
    for (uint32_t rank = 0; rank < demand->num_ranks; rank++) {
        rank_on[demand->devices[rank]] = rank;
    }
    for (size_t i = 0; i < cells; i++) {
        state[i].lowest = PCCL_NONE;
    }
    for (uint32_t chunk = 0; chunk < demand->num_chunks; chunk++) {
        const struct pccl_chunk *about = &demand->chunks[chunk];
        for (uint32_t i = 0; i < about->num_sources && demand->collective != PCCL_EXSCAN; i++) {
            uint32_t rank = demand->holders[about->first_source + i];
            state[(size_t)rank * demand->num_chunks + chunk] = initial_operand(rank, chunk);
        }
    }
    const char *wrong = NULL;
    for (uint32_t first = 0, end; first < schedule->num_messages && wrong == NULL; first = end) {
        for (end = first; end < schedule->num_messages; end++) {
            if (schedule->messages[end].step != schedule->messages[first].step) {
                break;
            }
        }
        memcpy(before, state, cells * sizeof *state);
        wrong = run_step(schedule, first, end, rank_on, before, state);
    }
    if (wrong == NULL) {
        wrong = check_targets(demand, state);
    }
    free(rank_on);
    free(before);
    free(state);
    return wrong;
}
