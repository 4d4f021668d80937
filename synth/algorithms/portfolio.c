/* The portfolio: whatever in rows.c can serve a request is forecast; the promising candidates are made, simulated and
 * verified, the best is kept. */
#include "algorithms/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "topology/processors.h"

#define MAX_PIECES_LOG 8
#define FIRST_USE_RANKS 17      /* up to here nearly everything is made */
#define FIRST_USE_MESSAGES 4000 /* simulated in all at a first use, the first candidate apart */
#define FIRST_USE_LARGEST 6000  /* messages of one candidate, as far as it depends on the number of pieces */
#define FIRST_USE_FEW 3500      /* messages after which only a good forecast counts */
#define FIRST_USE_SMALL 1024    /* messages of a candidate that costs next to nothing */
#define LARGE_GROUP 64          /* ranks; above, forecasts are trusted more and near the bound is near enough */
#define LARGE_GROUP_MESSAGES 4000000
#define MOST_MESSAGES 1000000   /* of any candidate with a choice of pieces */
#define REFINED_MESSAGES 16384  /* the same where pieces only even out loads */
#define FIRST_USE_PIECE 1024    /* smallest piece in bytes; smaller ones are half headers, unseen by the model */
#define SMALLEST_PIECE 128

/* A row with a number of pieces, before it is made. */
struct prospect {
    int64_t estimate_ps; /* -1: cannot serve */
    uint32_t row, pieces;
    int64_t grade; /* the estimate; at first use in 64ths of the best one: what differs less is decided by the pieces */
};

/* A synthesis under way. */
struct search {
    struct pccl__problem problem;
    struct pccl_result *result;
    uint32_t candidates_capacity;
    uint32_t winner;     /* index of its candidate */
    uint32_t winner_row; /* breaks ties */
    int64_t winner_ps;   /* its makespan and what it may lose, see judge */
    uint64_t num_messages; /* simulated so far, without the first candidate's */
    uint64_t num_first_messages;
    int64_t floor_ps;      /* no schedule is faster */
    uint32_t num_processors; /* of the group if some ranks share one, else 0 */
    uint32_t crowded_device; /* the last that shares one */
    bool has_bound;        /* floor_ps is the certified bound */
    struct prospect *prospects;
    uint32_t num_prospects, num_made; /* made: those before num_made were looked at */
    struct pccl_error *error;
};

static bool is_first_use(const struct search *search)
{
    return search->problem.options.effort != PCCL_EFFORT_THOROUGH;
}

/* A first use by a group that does not get nearly every candidate. */
static bool is_hurried(const struct search *search)
{
    return search->problem.options.effort == PCCL_EFFORT_PART ||
           (is_first_use(search) && search->problem.num_ranks > FIRST_USE_RANKS);
}

/* --- prospects ---------------------------------------------------------------------------------------------------- */

static bool is_asked_for(const struct search *search, uint32_t row)
{
    const char *method = search->problem.options.method;
    return (pccl__rows[row].collectives >> search->problem.collective & 1) != 0 &&
           (method == NULL || strncmp(pccl__rows[row].method, method, strlen(method)) == 0);
}

static void add_prospect(struct search *search, uint32_t row, uint32_t pieces, int64_t estimate_ps)
{
    search->prospects[search->num_prospects++] = (struct prospect){estimate_ps, row, pieces, estimate_ps};
}

/* Roughly, with 2^k pieces. */
static uint64_t count_messages(const struct search *search, uint32_t row, uint32_t k)
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
static int64_t add_work(const struct search *search, uint32_t row, uint32_t k, int64_t estimate_ps)
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
static int64_t weigh_forecast(const struct search *search, const struct prospect *prospect)
{
    enum pccl_collective collective = search->problem.collective;
    bool cast = collective == PCCL_BROADCAST || collective == PCCL_REDUCE;
    bool few = count_messages(search, prospect->row, log_pieces(prospect->pieces)) <= FIRST_USE_SMALL;
    bool planned = (pccl__rows[prospect->row].flags & PCCL__PLANNED) != 0 && !(cast && few);
    bool paced = (pccl__rows[prospect->row].flags & PCCL__PACED) != 0;
    return prospect->estimate_ps + (planned && is_hurried(search) ? prospect->estimate_ps / 4 : 0) -
           (paced && is_first_use(search) ? prospect->estimate_ps / 8 : 0);
}

/* What a row cuts into pieces: blocks, or, as a first use counts them, the shares of a vector that it treats as the
 * blocks of an all-gather. */
static int64_t uncut_bytes(const struct search *search, uint32_t row)
{
    uint32_t flags = pccl__rows[row].flags;
    bool whole = pccl_collective_is_rooted(search->problem.collective) && (flags & PCCL__DENSE_UNROOTED) != 0;
    bool shares = is_first_use(search) && (flags & PCCL__GATHERS_APART) != 0 && !whole;
    return shares ? pccl__meter_block(&search->problem) : search->problem.block_bytes;
}

/* The largest power of two of pieces worth a look, as its exponent: none too small, not too many messages. */
static uint32_t most_pieces_log(const struct search *search, uint32_t row)
{
    bool first_use = is_first_use(search), refined = pccl__rows[row].cut == PCCL__REFINED;
    int64_t smallest = first_use ? FIRST_USE_PIECE : SMALLEST_PIECE;
    uint64_t most = first_use ? FIRST_USE_LARGEST : refined ? REFINED_MESSAGES : MOST_MESSAGES;
    uint32_t k = 0;
    if (pccl__rows[row].cut == PCCL__WHOLE || (refined && first_use) || search->problem.collective == PCCL_BARRIER) {
        return 0;
    }
    while (k < MAX_PIECES_LOG && uncut_bytes(search, row) >> (k + 1) >= smallest &&
           count_messages(search, row, k + 1) <= most) {
        k++;
    }
    return k;
}

/* All numbers of pieces; at first use the one that the forecast likes best, in small groups all that make few
 * messages. */
static void add_prospects(struct search *search, uint32_t row)
{
    struct pccl__problem *problem = &search->problem;
    uint32_t first = pccl__rows[row].cut == PCCL__HALVES ? 1 : 0, last = most_pieces_log(search, row), best = first;
    if (pccl__row_refusal(problem, row) != NULL) {
        add_prospect(search, row, 1, -1);
        return;
    }
    last = last > first ? last : first;
    bool first_use = is_first_use(search), small = problem->num_ranks <= FIRST_USE_RANKS && !is_hurried(search);
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
static void grade_prospects(struct search *search)
{
    int64_t best_ps = INT64_MAX;
    for (uint32_t i = 0; i < search->num_prospects; i++) {
        struct prospect *prospect = &search->prospects[i];
        prospect->grade = weigh_forecast(search, prospect);
        best_ps = prospect->estimate_ps >= 0 && prospect->grade < best_ps ? prospect->grade : best_ps;
    }
    for (uint32_t i = 0; i < search->num_prospects; i++) {
        search->prospects[i].grade = (search->prospects[i].grade - best_ps) / (best_ps / 64 + 1);
    }
}

/* Best forecast first, then in the order of the table (where grades are coarse, by the pieces first); those that cannot
 * serve last. A total order. */
static int compare_prospects(const void *left, const void *right)
{
    const struct prospect *a = left, *b = right;
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

static void list_prospects(struct search *search, bool fallback)
{
    search->num_prospects = 0;
    for (uint32_t row = 0; row < pccl__num_rows; row++) {
        if (is_asked_for(search, row) && ((pccl__rows[row].flags & PCCL__FALLBACK) != 0) == fallback) {
            add_prospects(search, row);
        }
    }
    if (is_first_use(search)) {
        grade_prospects(search);
    }
    qsort(search->prospects, search->num_prospects, sizeof *search->prospects, compare_prospects);
}

/* --- candidates --------------------------------------------------------------------------------------------------- */

static struct pccl_candidate *add_candidate(struct search *search, uint32_t row, uint32_t pieces)
{
    struct pccl_result *result = search->result;
    struct pccl_candidate *grown = pccl__array_grow(result->candidates, &search->candidates_capacity,
                                                    (uint64_t)result->num_candidates + 1, sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    result->candidates = grown;
    struct pccl_candidate *candidate = &grown[result->num_candidates++];
    *candidate = (struct pccl_candidate){.pieces = pieces, .makespan_ps = -1};
    strncpy(candidate->method, pccl__rows[row].method, sizeof candidate->method - 1);
    return candidate;
}

static void note(struct pccl_candidate *candidate, const char *why)
{
    size_t length = strlen(why);
    if (length >= sizeof candidate->rejection) {
        length = sizeof candidate->rejection - 1;
    }
    memcpy(candidate->rejection, why, length);
    candidate->rejection[length] = '\0';
}

/* At first use, what the model does not know: links do not pass from sender to sender without a loss. Where every rank
 * has something of its own for every other, they do so whatever the schedule; but half of the loss is spared if ranks
 * keep one another in step. */
static int add_losses(const struct search *search, const struct pccl_schedule *schedule, int64_t *time_ps)
{
    int64_t lost_ps = 0;
    enum pccl_collective collective = search->problem.collective;
    bool gathers = !pccl_collective_is_rooted(collective) && collective != PCCL_ALLTOALL && collective != PCCL_CUSTOM;
    if (!is_first_use(search) || !(gathers || schedule->pace > 0)) {
        return 0;
    }
    int status = pccl__schedule_handovers(search->problem.topology, schedule, &lost_ps, search->error);
    *time_ps += status != 0 ? 0 : gathers ? lost_ps : -lost_ps / 2;
    return status;
}

/* On which processor a rank runs is the system's affair, and changes: a quarter of what each of the group's processors
 * has to do counts beside the time that it takes if ranks stay where the model has them. */
static int64_t weigh_work(const struct search *search, int64_t shared_ps)
{
    return search->num_processors > 0 ? shared_ps / search->num_processors / 4 : 0;
}

/* Keeps the schedule if it is the best so far; frees it otherwise. At first use a 64th of the time is worth
 * less than fewer pieces: what a message costs the application's processor is more than the model knows. */
static int judge(struct search *search, const struct prospect *prospect, struct pccl_candidate *candidate,
                 struct pccl_schedule *schedule)
{
    const struct pccl__problem *problem = &search->problem;
    struct pccl_result *result = search->result;
    struct pccl_simulation simulation = {0};
    int status = pccl_simulate(problem->topology, schedule, &simulation, search->error);
    int64_t time_ps = candidate->makespan_ps = simulation.makespan_ps;
    status = status == 0 ? add_losses(search, schedule, &time_ps) : status;
    time_ps = pccl__add_ps(time_ps, weigh_work(search, simulation.shared_ps));
    *(result->schedule != NULL ? &search->num_messages : &search->num_first_messages) += schedule->num_messages;
    uint32_t pieces = result->schedule == NULL ? 0 : result->schedule->demand->pieces;
    int64_t grain_ps = is_first_use(search) ? search->winner_ps / 64 : 0;
    int64_t slack_ps = prospect->pieces < pieces ? grain_ps : prospect->pieces > pieces ? -grain_ps : 0;
    bool better = result->schedule == NULL || time_ps < search->winner_ps + slack_ps ||
                  (time_ps == search->winner_ps && prospect->row < search->winner_row);
    if (status != 0 || !better) {
        note(candidate, "slower in the model");
        pccl_schedule_free(schedule);
        return status;
    }
    if (result->schedule != NULL) {
        note(&result->candidates[search->winner], "slower in the model");
        pccl_schedule_free(result->schedule);
    }
    result->schedule = schedule;
    result->makespan_ps = simulation.makespan_ps;
    search->winner_ps = time_ps;
    search->winner = (uint32_t)(candidate - result->candidates);
    search->winner_row = prospect->row;
    return 0;
}

/* In a large group an all-reduce is good enough if it is near twice the floor of an all-gather. (No certified bound:
 * one device alone need not take in more than the vector once.) */
static int64_t find_aim_ps(const struct search *search)
{
    struct pccl__problem half = search->problem;
    if (half.collective != PCCL_ALLREDUCE || half.num_ranks <= LARGE_GROUP) {
        return search->floor_ps;
    }
    half.collective = PCCL_ALLGATHER;
    half.block_bytes /= half.num_ranks;
    return 2 * pccl__problem_floor_ps(&half);
}

/* Whether the best so far is as good as it can be: at the bound itself, or in large groups and at first use within a
 * percent or so of what is aimed for. The certified bound costs time and is asked for only if the cheap one does not
 * tell. */
static bool is_done(struct search *search)
{
    int64_t best_ps = search->winner_ps;
    bool large = search->problem.num_ranks > LARGE_GROUP;
    if (is_first_use(search) || large) {
        int64_t aim_ps = find_aim_ps(search);
        if (best_ps <= aim_ps + aim_ps / (is_first_use(search) ? 64 : 100)) {
            return true;
        }
    }
    if (!search->has_bound && !is_first_use(search)) {
        struct pccl_bound bound = {0};
        search->has_bound = true;
        if (pccl_bound_compute(search->problem.topology, search->problem.request, &bound, NULL) == 0 &&
            bound.bound_ps > search->floor_ps) {
            search->floor_ps = bound.bound_ps;
        }
    }
    return best_ps <= search->floor_ps + (large ? search->floor_ps / 100 : 0);
}

/* Another row of the same method, with the same pieces, that promised the same. */
static bool is_repetition(const struct search *search, const struct prospect *prospect)
{
    for (uint32_t i = 0; i < search->num_made; i++) {
        const struct prospect *made = &search->prospects[i];
        if (pccl__rows[made->row].run == pccl__rows[prospect->row].run && made->pieces == prospect->pieces &&
            made->estimate_ps == prospect->estimate_ps) {
            return true;
        }
    }
    return false;
}

/* Why a prospect is not worth making, or NULL. Counted in messages and forecasts, never in time. */
static const char *too_poor(struct search *search, const struct prospect *prospect, char *text, size_t size)
{
    int64_t best_ps = search->winner_ps, forecast_ps = weigh_forecast(search, prospect);
    bool large = search->problem.num_ranks > LARGE_GROUP, first_use = is_first_use(search);
    if (search->result->schedule == NULL) {
        return NULL;
    }
    bool simpler = first_use && prospect->pieces < search->result->schedule->demand->pieces &&
                   forecast_ps <= best_ps + best_ps / 64;
    if (!simpler && is_done(search)) {
        return "not made: the best so far cannot be improved on";
    }
    bool hurried = is_hurried(search);
    uint64_t expected = count_messages(search, prospect->row, log_pieces(prospect->pieces));
    if (hurried && search->num_first_messages + search->num_messages + expected > FIRST_USE_FEW
                                           ? forecast_ps > best_ps
        : first_use                        ? forecast_ps / 2 > best_ps
        : large                            ? forecast_ps / 5 > best_ps / 4
                                           : forecast_ps / 4 > best_ps) {
        snprintf(text, size, "not made: forecast %" PRId64 " ns, best so far %" PRId64 " ns", forecast_ps / 1000,
                 best_ps / 1000);
        return text;
    }
    if (hurried && is_repetition(search, prospect)) {
        return "not made: the same forecast as a variant of its method";
    }
    uint64_t most = first_use ? FIRST_USE_MESSAGES : large ? LARGE_GROUP_MESSAGES : UINT64_MAX;
    if (search->num_messages + expected <= most) {
        return NULL;
    }
    /* What came first was forecast badly: one more try. */
    if (search->num_messages <= most && forecast_ps < best_ps / 4 * 3) {
        search->num_messages = most + 1;
        return NULL;
    }
    return "not made: enough work";
}

/* Why a prospect without a forecast cannot serve. In a small group, where no work is spared, its algorithm itself says
 * why, if it is not one that searches before it gives up. */
static const char *ask_refusal(struct search *search, const struct prospect *prospect, char *text, size_t size)
{
    struct pccl_error error = {{0}};
    struct pccl_schedule *schedule = NULL;
    bool slow = search->problem.num_ranks > FIRST_USE_RANKS || is_hurried(search) ||
                (pccl__rows[prospect->row].flags & PCCL__PLANNED) != 0;
    int status =
        slow ? PCCL_SUCCESS
             : pccl__row_make(&search->problem, prospect->row, prospect->pieces, &schedule, &error);
    if (status == PCCL_SUCCESS) {
        pccl_schedule_free(schedule);
        return "does not fit this number of ranks, these routes, or the work allowed at first use";
    }
    snprintf(text, size, "%.*s", (int)size - 1, error.message);
    return text;
}

static int try_prospect(struct search *search, const struct prospect *prospect)
{
    struct pccl_candidate *candidate = add_candidate(search, prospect->row, prospect->pieces);
    if (candidate == NULL) {
        return pccl__fail_memory(search->error);
    }
    char text[sizeof candidate->rejection];
    const char *why = pccl__row_refusal(&search->problem, prospect->row);
    if (why == NULL && prospect->estimate_ps < 0) {
        why = ask_refusal(search, prospect, text, sizeof text);
    }
    if (why == NULL) {
        why = too_poor(search, prospect, text, sizeof text);
    }
    if (why != NULL) {
        note(candidate, why);
        return 0;
    }
    struct pccl_error error = {{0}};
    struct pccl_schedule *schedule;
    int status = pccl__row_make(&search->problem, prospect->row, prospect->pieces, &schedule, &error);
    if (status == PCCL_ERR_UNSUPPORTED) {
        note(candidate, error.message);
        return 0;
    }
    if (status != 0) {
        return pccl__fail(search->error, status, "%s: %s", candidate->method, error.message);
    }
    return judge(search, prospect, candidate, schedule);
}

/* --- the search --------------------------------------------------------------------------------------------------- */

static int try_all(struct search *search, bool fallback)
{
    int status = 0;
    list_prospects(search, fallback);
    for (uint32_t i = 0; i < search->num_prospects && status == 0; i++) {
        search->num_made = i;
        status = try_prospect(search, &search->prospects[i]);
        if (status == 0 && pccl__problem_is_starved(&search->problem)) {
            status = pccl__fail_memory(search->error);
        }
        if (search->problem.options.progress != NULL) {
            search->problem.options.progress(search->problem.options.progress_context, "candidates", i + 1,
                                             search->num_prospects);
        }
    }
    return status;
}

/* How many processors the group has, if ranks of it share some. */
static int count_processors(struct search *search)
{
    const struct pccl__problem *problem = &search->problem;
    bool *taken = pccl__array_new(problem->topology->num_devices, sizeof *taken);
    if (taken == NULL) {
        return pccl__fail_memory(search->error);
    }
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
        uint32_t device = problem->request->devices[rank], processor = pccl__processor_of(problem->topology, device);
        search->crowded_device = taken[processor] ? device : search->crowded_device;
        count += !taken[processor];
        taken[processor] = true;
    }
    search->num_processors = count < problem->num_ranks ? count : 0;
    free(taken);
    return 0;
}

static int search_best(struct search *search)
{
    search->floor_ps = pccl__problem_floor_ps(&search->problem);
    search->prospects = pccl__array_new((size_t)pccl__num_rows * (MAX_PIECES_LOG + 2), sizeof *search->prospects);
    if (search->prospects == NULL) {
        return pccl__fail_memory(search->error);
    }
    int status = count_processors(search);
    status = status == 0 ? try_all(search, false) : status;
    /* Even the forecast of a fallback may take memory for the routes of all pairs. */
    if (status == 0 && (search->result->schedule == NULL ||
                        (!is_first_use(search) && (search->problem.num_ranks <= LARGE_GROUP || !is_done(search))))) {
        status = try_all(search, true);
    }
    if (status == 0 && search->result->schedule == NULL) {
        const struct pccl_result *result = search->result;
        return pccl__fail(search->error, PCCL_ERR_UNSUPPORTED, "no method serves %s here%s%s",
                            pccl_collective_name(search->problem.collective), result->num_candidates > 0 ? ": " : "",
                            result->num_candidates > 0 ? result->candidates[result->num_candidates - 1].rejection : "");
    }
    return status != 0 ? status
                       : pccl_verify_schedule(search->problem.topology, search->result->schedule,
                                              search->problem.request->relays, search->error);
}

int pccl_synthesize(const struct pccl_topology *topology, const struct pccl_request *request,
                    const struct pccl_options *options, struct pccl_result **result, struct pccl_error *error)
{
    *result = NULL;
    struct search search = {.error = error};
    int status = pccl__problem_open(&search.problem, topology, request, options, error);
    if (status == 0) {
        search.result = pccl__array_new(1, sizeof *search.result);
        status = search.result != NULL ? search_best(&search) : pccl__fail_memory(error);
    }
    free(search.prospects);
    pccl__problem_close(&search.problem);
    if (status != 0) {
        pccl_result_free(search.result);
        return status;
    }
    *result = search.result;
    return 0;
}

void pccl_result_free(struct pccl_result *result)
{
    if (result == NULL) {
        return;
    }
    pccl_schedule_free(result->schedule);
    free(result->candidates);
    free(result);
}
