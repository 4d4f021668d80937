/* Forecasts of what the classical algorithms will take. */
#include <stdlib.h>

#include "algorithms/exchange.h"
#include "algorithms/meter.h"
#include "algorithms/tree.h"
#include "base/array.h"

/* Rounds among `count` positions of an all-gather; the first round carries `bytes`, every other twice the one
 * before. */
static int64_t sum_rounds(struct pccl__meter *meter, enum pccl__pattern pattern, uint32_t count, int64_t bytes,
                          int64_t growth)
{
    int64_t sum = 0;
    for (uint32_t k = pccl__pattern_rounds(count); k-- > 0; bytes = pccl__times_ps(bytes, growth)) {
        struct pccl__volley volley;
        if (!pccl__meter_round(meter, pattern, count, k, &volley)) {
            return -1;
        }
        int64_t transfer_ps = pccl_transfer_ps(bytes, volley.load_ps_per_mib);
        sum = pccl__add_ps(sum, pccl__volley_ps(&volley, bytes));
        sum = pccl__add_ps(sum, pccl__handover_ps(volley.meets, transfer_ps));
    }
    return sum;
}

int64_t pccl__estimate_exchange(const struct pccl__problem *problem, uint32_t pieces)
{
    struct pccl__meter meter;
    (void)pieces;
    int64_t sum = -1;
    if (pccl__meter_open(&meter, problem)) {
        enum pccl__pattern pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant);
        sum = sum_rounds(&meter, pattern, problem->num_ranks, pccl__meter_block(problem), 2);
    }
    pccl__meter_close(&meter);
    return pccl__meter_gather(problem, sum);
}

static uint32_t power_below(uint32_t n)
{
    uint32_t power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

/* Folding costs a message of the whole vector before, and one of fold_bytes after. */
static int64_t estimate_folded(const struct pccl__problem *problem, int64_t round_bytes, int64_t growth, int64_t times,
                               int64_t vector_bytes, int64_t fold_bytes)
{
    struct pccl__meter meter;
    int64_t sum = -1;
    if (pccl__meter_open(&meter, problem)) {
        enum pccl__pattern pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant);
        sum = sum_rounds(&meter, pattern, power_below(problem->num_ranks), round_bytes, growth);
        sum = sum > 0 ? pccl__times_ps(sum, times) : sum;
        if (sum >= 0 && power_below(problem->num_ranks) < problem->num_ranks) {
            sum = pccl__add_ps(sum, pccl__message_ps(problem, meter.order[1], meter.order[0], vector_bytes));
            sum = pccl__add_ps(sum, pccl__message_ps(problem, meter.order[0], meter.order[1], fold_bytes));
        }
    }
    pccl__meter_close(&meter);
    return sum;
}

int64_t pccl__estimate_fold(const struct pccl__problem *problem, uint32_t pieces)
{
    (void)pieces;
    int64_t block = pccl__meter_block(problem), vector = pccl__times_ps(block, problem->num_ranks);
    bool allreduce = problem->collective == PCCL_ALLREDUCE;
    return estimate_folded(problem, block, 2, allreduce ? 2 : 1, vector, allreduce ? vector : block);
}

int64_t pccl__estimate_vector(const struct pccl__problem *problem, uint32_t pieces)
{
    (void)pieces;
    return estimate_folded(problem, problem->block_bytes, 1, 1, problem->block_bytes, problem->block_bytes);
}

int64_t pccl__estimate_transpose(const struct pccl__problem *problem, uint32_t pieces)
{
    struct pccl__meter meter;
    (void)pieces;
    int64_t sum = -1, half = pccl__times_ps(problem->block_bytes, problem->num_ranks / 2);
    if (pccl__meter_open(&meter, problem)) {
        enum pccl__pattern pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant);
        sum = sum_rounds(&meter, pattern, problem->num_ranks, half, 1);
    }
    pccl__meter_close(&meter);
    return sum;
}

/* Either the chain of hops of one piece, or what a link or CPU has to do in all. */
int64_t pccl__estimate_ring(const struct pccl__problem *problem, uint32_t pieces)
{
    struct pccl__meter meter;
    struct pccl__volley volley;
    int64_t total = -1, hops = problem->num_ranks - 1;
    bool both = PCCL__VARIANT_KIND(problem->variant) == PCCL__BOTH_WAYS;
    if (both && (pieces % 2 != 0 || hops < 2)) {
        return -1;
    }
    if (pccl__meter_open(&meter, problem) && pccl__meter_shift(&meter, problem->num_ranks - 1, &volley)) {
        int64_t block = pccl__meter_block(problem), share = block / pieces + 1;
        int64_t chain = pccl__times_ps(pccl__volley_ps(&volley, share), hops);
        int64_t transfer = pccl_transfer_ps(both && !volley.meets ? block / 2 : block, volley.load_ps_per_mib);
        transfer = pccl__times_ps(transfer, hops);
        transfer += pccl__handover_ps(both && volley.meets, transfer); /* neighbours on either side send to a rank */
        int64_t busy = hops * pieces * pccl__overheads_ps(problem), work = transfer > busy ? transfer : busy;
        work = pccl__add_ps(work, pccl__volley_ps(&volley, share));
        total = chain > work ? chain : work;
    }
    pccl__meter_close(&meter);
    return pccl__meter_gather(problem, total);
}

/* bytes: what one message carries; by subtree: that times the ranks below it. */
static bool descend(struct pccl__meter *meter, const struct pccl__tree *tree, int64_t bytes, bool by_subtree,
                    struct pccl__descent *descent)
{
    uint32_t n = tree->num_ranks;
    int64_t *ready = pccl__array_new(2 * (size_t)n, sizeof *ready), *moved = ready != NULL ? ready + n : NULL;
    bool complete = ready != NULL;
    struct pccl__volley volley = {0};
    if (!complete) {
        pccl__problem_starve(meter->problem);
    }
    *descent = (struct pccl__descent){0};
    for (uint32_t i = 0; i < n && complete; i++) {
        uint32_t rank = tree->preorder[i], fan_out = tree->first_child[rank + 1] - tree->first_child[rank];
        int64_t at = ready[rank], transfer = moved[rank];
        descent->fan_out = fan_out > descent->fan_out ? fan_out : descent->fan_out;
        for (uint32_t c = tree->first_child[rank]; c < tree->first_child[rank + 1] && complete; c++) {
            uint32_t child = tree->children[c];
            const struct pccl__route *route = pccl__route(meter->problem, rank, child);
            complete = route != NULL && pccl__meter_message(meter, &volley, rank, child);
            if (complete) {
                int64_t carried = by_subtree ? pccl__times_ps(bytes, tree->size[child]) : bytes;
                transfer = pccl__add_ps(transfer, pccl_transfer_ps(carried, route->ps_per_mib));
                ready[child] = at + pccl__message_ps(meter->problem, rank, child, 0);
                moved[child] = transfer;
                at += pccl__overheads_ps(meter->problem) / 2;
                if (ready[child] + moved[child] > descent->fixed_ps + descent->transfer_ps) {
                    descent->fixed_ps = ready[child];
                    descent->transfer_ps = moved[child];
                }
            }
        }
    }
    descent->load_ps_per_mib = volley.load_ps_per_mib;
    pccl__meter_end(meter);
    free(ready);
    return complete;
}

static int64_t forecast_pipeline(const struct pccl__problem *problem, const struct pccl__descent *descent,
                                 uint32_t pieces)
{
    int64_t piece = pccl_transfer_ps(problem->block_bytes / pieces, descent->load_ps_per_mib);
    int64_t busy = descent->fan_out * pccl__overheads_ps(problem);
    int64_t follow = pccl__times_ps(piece > busy ? piece : busy, pieces - 1);
    if (PCCL__VARIANT_KIND(problem->variant) == PCCL__TWINS) {
        follow /= 2;
    }
    return pccl__add_ps(descent->fixed_ps, pccl__add_ps(descent->transfer_ps / pieces, follow));
}

/* What the variant's tree costs the collective, in whole blocks down the tree and in parcels for every rank. */
static bool measure_tree(const struct pccl__problem *problem, struct pccl__memo *memo)
{
    struct pccl__meter meter;
    struct pccl__tree tree = {0};
    int64_t block = problem->block_bytes;
    bool cast = problem->collective == PCCL_ALLREDUCE || problem->collective == PCCL_BROADCAST ||
                problem->collective == PCCL_REDUCE;
    bool parcels = problem->collective == PCCL_GATHER || problem->collective == PCCL_SCATTER;
    bool has_blocks = problem->collective == PCCL_REDUCE_SCATTER || problem->collective == PCCL_ALLGATHER;
    if (memo->variant == problem->variant + 1) {
        return true;
    }
    bool complete =
        pccl__meter_open(&meter, problem) &&
        pccl__tree_make(&tree, problem, (enum pccl__shape)PCCL__VARIANT_KIND(problem->variant), problem->root,
                        meter.order, NULL) == 0 &&
        (parcels ||
         descend(&meter, &tree, has_blocks ? pccl__times_ps(block, problem->num_ranks) : block, false, &memo->down)) &&
        (cast || descend(&meter, &tree, block, true, &memo->parcels));
    memo->variant = complete ? problem->variant + 1 : 0;
    pccl__tree_free(&tree);
    pccl__meter_close(&meter);
    return complete;
}

int64_t pccl__estimate_tree(const struct pccl__problem *problem, uint32_t pieces)
{
    struct pccl__memo *memo = pccl__problem_memo(problem);
    if (!measure_tree(problem, memo)) {
        return -1;
    }
    int64_t parcels_ps = pccl__add_ps(memo->parcels.fixed_ps, memo->parcels.transfer_ps);
    int64_t down_ps = forecast_pipeline(problem, &memo->down, pieces);
    switch (problem->collective) {
    case PCCL_GATHER:
    case PCCL_SCATTER:
        return parcels_ps;
    case PCCL_ALLREDUCE:
        return pccl__times_ps(down_ps, 2);
    case PCCL_BROADCAST:
    case PCCL_REDUCE:
        return down_ps;
    default:
        return pccl__add_ps(down_ps, parcels_ps);
    }
}
