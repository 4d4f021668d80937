/* What the portfolio may make for a request: every method with the numbers of pieces worth a look, and its forecast. */
#include "algorithms/prospects.h"

#include <stdlib.h>
#include <string.h>

#include "topology/processors.h"

#define FIRST_USE_LARGEST 6000 /* messages of one candidate, as far as it depends on the number of pieces */
#define FIRST_USE_SMALL 1024   /* messages of a candidate that costs next to nothing */
#define MOST_MESSAGES 1000000  /* of any candidate with a choice of pieces */
#define REFINED_MESSAGES 16384 /* the same where pieces only even out loads or keep ranks in step */
#define FIRST_USE_PIECE 4096   /* smallest piece in bytes; smaller ones cost more in headers than the model knows */
#define FIRST_USE_ROOTED 1024  /* the same where one rank has all: pieces fill the way to the last ones sooner */
#define SMALLEST_PIECE 128

static bool is_asked_for(const struct pccl__search *search, uint32_t row)
{
    const char *method = search->problem.options.method;
    return (pccl__rows[row].collectives >> search->problem.collective & 1) != 0 &&
           (method == NULL || strncmp(pccl__rows[row].method, method, strlen(method)) == 0);
}

static void add_prospect(struct pccl__search *search, uint32_t row, uint32_t pieces, int64_t estimate_ps)
{
    search->prospects[search->num_prospects++] = (struct pccl__prospect){estimate_ps, row, pieces, estimate_ps};
}

/* Roughly, with 2^k pieces. */
static uint64_t count_messages(const struct pccl__search *search, uint32_t row, uint32_t k)
{
    uint64_t n = search->problem.num_ranks;
    bool rooted = pccl_collective_is_rooted(search->problem.collective);
    uint32_t dense = rooted ? PCCL__DENSE : PCCL__DENSE | PCCL__DENSE_UNROOTED;
    return ((pccl__rows[row].flags & dense) != 0 ? n * (n - 1) : n - 1) << k;
}

static uint32_t log_pieces(uint32_t pieces)
{
    uint32_t k = 0;
    while (pieces >> (k + 1) != 0) {
        k++;
    }
    return k;
}

uint64_t pccl__search_count(const struct pccl__search *search, const struct pccl__prospect *prospect)
{
    return count_messages(search, prospect->row, log_pieces(prospect->pieces));
}

/* Bytes that some rank has to take in, whatever the method. */
static int64_t count_bytes(const struct pccl__problem *problem)
{
    int64_t others = pccl__times_ps(problem->block_bytes, problem->num_ranks - 1);
    switch (problem->collective) {
    case PCCL_BARRIER:
    case PCCL_CUSTOM:
        return 0;
    case PCCL_ALLREDUCE:
        return pccl__times_ps(others, 2);
    case PCCL_ALLGATHER:
    case PCCL_ALLTOALL:
    case PCCL_REDUCE_SCATTER:
        return pccl__times_ps(others, problem->num_ranks);
    default:
        return others;
    }
}

/* What forecasts do not know: where ranks share processors, these are never idle, and what copying and all messages
 * cost them adds up, however well it overlaps. */
static int64_t add_work(const struct pccl__search *search, uint32_t row, uint32_t k, int64_t estimate_ps)
{
    const struct pccl__problem *problem = &search->problem;
    if (search->num_processors == 0 || estimate_ps < 0) {
        return estimate_ps;
    }
    int64_t rate = pccl__processor_copies(problem->topology, search->crowded_device);
    int64_t copying_ps = pccl_transfer_ps(count_bytes(problem), rate) / search->num_processors;
    int64_t messages_ps = pccl__times_ps(pccl__overheads_ps(problem), (int64_t)count_messages(search, row, k));
    estimate_ps = copying_ps > estimate_ps ? copying_ps : estimate_ps;
    return pccl__add_ps(estimate_ps, messages_ps / search->num_processors);
}

/* The forecast, and a quarter more in a hurry for what is planned message by message: planning takes longer than it
 * may gain. (Not where a tree with few messages is planned.) An eighth less for what keeps ranks in step, see
 * add_losses. */
int64_t pccl__search_weigh(const struct pccl__search *search, const struct pccl__prospect *prospect)
{
    enum pccl_collective collective = search->problem.collective;
    bool cast = collective == PCCL_BROADCAST || collective == PCCL_REDUCE;
    bool few = pccl__search_count(search, prospect) <= FIRST_USE_SMALL;
    bool planned = (pccl__rows[prospect->row].flags & PCCL__PLANNED) != 0 && !(cast && few);
    bool paced = (pccl__rows[prospect->row].flags & PCCL__PACED) != 0;
    return prospect->estimate_ps + (planned && pccl__search_is_hurried(search) ? prospect->estimate_ps / 4 : 0) -
           (paced && pccl__search_is_first_use(search) ? prospect->estimate_ps / 8 : 0);
}

/* What a row cuts into pieces: blocks, or, as a first use counts them, the shares of a vector that it treats as the
 * blocks of an all-gather. */
static int64_t uncut_bytes(const struct pccl__search *search, uint32_t row)
{
    uint32_t flags = pccl__rows[row].flags;
    bool whole = pccl_collective_is_rooted(search->problem.collective) && (flags & PCCL__DENSE_UNROOTED) != 0;
    bool shares = pccl__search_is_first_use(search) && (flags & PCCL__GATHERS_APART) != 0 && !whole;
    return shares ? pccl__meter_block(&search->problem) : search->problem.block_bytes;
}

/* The smallest power of two of pieces, as its exponent. */
static uint32_t fewest_pieces_log(const struct pccl__search *search, uint32_t row)
{
    enum pccl__cut cut = pccl__rows[row].cut;
    uint32_t k = cut == PCCL__HALVES ? 1 : 0;
    if (cut == PCCL__SLICED && !search->problem.options.frugal) {
        k = pccl__rounds_slices_log(&search->problem);
        while (k > PCCL__MAX_PIECES_LOG || (k > 0 && count_messages(search, row, k) > REFINED_MESSAGES)) {
            k--;
        }
    }
    return k;
}

/* The largest power of two of pieces worth a look, as its exponent: none too small, not too many messages. */
static uint32_t most_pieces_log(const struct pccl__search *search, uint32_t row)
{
    bool first_use = pccl__search_is_first_use(search), refined = pccl__rows[row].cut == PCCL__REFINED;
    bool rooted = pccl_collective_is_rooted(search->problem.collective);
    int64_t smallest = !first_use ? SMALLEST_PIECE : rooted ? FIRST_USE_ROOTED : FIRST_USE_PIECE;
    uint64_t most = first_use ? FIRST_USE_LARGEST : refined ? REFINED_MESSAGES : MOST_MESSAGES;
    uint32_t k = 0;
    if (pccl__rows[row].cut == PCCL__WHOLE || (refined && first_use) || search->problem.collective == PCCL_BARRIER ||
        search->problem.options.frugal) {
        return 0;
    }
    while (k < PCCL__MAX_PIECES_LOG && uncut_bytes(search, row) >> (k + 1) >= smallest &&
           count_messages(search, row, k + 1) <= most) {
        k++;
    }
    return k;
}

/* All numbers of pieces; at first use the one that the forecast likes best, in small groups all that make few
 * messages. */
static void add_prospects(struct pccl__search *search, uint32_t row)
{
    struct pccl__problem *problem = &search->problem;
    uint32_t first, best, last = most_pieces_log(search, row);
    if (pccl__row_refusal(problem, row) != NULL) {
        add_prospect(search, row, 1, -1);
        return;
    }
    best = first = fewest_pieces_log(search, row);
    last = pccl__rows[row].cut == PCCL__SLICED && last > first ? first + 1 : last;
    last = last > first ? last : first;
    bool first_use = pccl__search_is_first_use(search);
    bool small = problem->num_ranks <= PCCL__FIRST_USE_RANKS && !pccl__search_is_hurried(search);
    int64_t best_ps = -1;
    for (uint32_t k = first; k <= last; k++) {
        int64_t estimate_ps = add_work(search, row, k, pccl__row_estimate(problem, row, 1u << k));
        if (estimate_ps < 0) {
            add_prospect(search, row, 1u << k, -1);
            break;
        }
        if (!first_use || (small && count_messages(search, row, k) <= FIRST_USE_SMALL)) {
            add_prospect(search, row, 1u << k, estimate_ps);
        } else if (best_ps < 0 || estimate_ps < best_ps) {
            best = k;
            best_ps = estimate_ps;
        } else {
            break;
        }
    }
    if (best_ps >= 0) {
        add_prospect(search, row, 1u << best, best_ps);
    }
}

/* A pair of forecasts closer than the model is true is no reason to send more messages inside an application. */
static void grade_prospects(struct pccl__search *search)
{
    int64_t best_ps = INT64_MAX;
    for (uint32_t i = 0; i < search->num_prospects; i++) {
        struct pccl__prospect *prospect = &search->prospects[i];
        prospect->grade = pccl__search_weigh(search, prospect);
        best_ps = prospect->estimate_ps >= 0 && prospect->grade < best_ps ? prospect->grade : best_ps;
    }
    for (uint32_t i = 0; i < search->num_prospects; i++) {
        search->prospects[i].grade = (search->prospects[i].grade - best_ps) / (best_ps / 64 + 1);
    }
}

/* Of as many messages, what is planned one by one comes behind what is not: it may not be needed. */
static void grade_by_messages(struct pccl__search *search)
{
    for (uint32_t i = 0; i < search->num_prospects; i++) {
        struct pccl__prospect *prospect = &search->prospects[i];
        bool is_planned = (pccl__rows[prospect->row].flags & PCCL__PLANNED) != 0;
        prospect->grade = 2 * (int64_t)pccl__search_count(search, prospect) + is_planned;
    }
}

/* Best forecast first, then in the order of the table (where grades are coarse, by the pieces first); those that cannot
 * serve last. A total order. */
static int compare_prospects(const void *left, const void *right)
{
    const struct pccl__prospect *a = left, *b = right;
    if ((a->estimate_ps < 0) != (b->estimate_ps < 0)) {
        return a->estimate_ps < 0 ? 1 : -1;
    }
    if (a->grade != b->grade) {
        return a->grade < b->grade ? -1 : 1;
    }
    if (a->grade != a->estimate_ps && a->pieces != b->pieces) {
        return a->pieces < b->pieces ? -1 : 1;
    }
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return a->pieces < b->pieces ? -1 : a->pieces > b->pieces;
}

void pccl__search_list(struct pccl__search *search, bool fallback)
{
    search->num_prospects = 0;
    for (uint32_t row = 0; row < pccl__num_rows; row++) {
        if (is_asked_for(search, row) && ((pccl__rows[row].flags & PCCL__FALLBACK) != 0) == fallback) {
            add_prospects(search, row);
        }
    }
    if (search->problem.options.frugal) {
        grade_by_messages(search);
    } else if (pccl__search_is_first_use(search)) {
        grade_prospects(search);
    }
    qsort(search->prospects, search->num_prospects, sizeof *search->prospects, compare_prospects);
}
