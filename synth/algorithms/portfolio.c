/* The portfolio: whatever in rows.c can serve a request is forecast; the promising candidates are made, simulated and
 * verified, the best is kept. */
#include "algorithms/prospects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "topology/processors.h"

#define FIRST_USE_MESSAGES 4000 /* simulated in all at a first use, the first candidate apart */
#define FIRST_USE_FEW 3500      /* messages after which only a good forecast counts */
#define LARGE_GROUP 64          /* ranks; above, forecasts are trusted more and near the bound is near enough */
#define LARGE_GROUP_MESSAGES 4000000

/* --- candidates --------------------------------------------------------------------------------------------------- */

static struct pccl_candidate *add_candidate(struct pccl__search *search, uint32_t row, uint32_t pieces)
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
static int add_losses(const struct pccl__search *search, const struct pccl_schedule *schedule, int64_t *time_ps)
{
    int64_t lost_ps = 0;
    enum pccl_collective collective = search->problem.collective;
    bool gathers = !pccl_collective_is_rooted(collective) && collective != PCCL_ALLTOALL && collective != PCCL_CUSTOM;
    if (!pccl__search_is_first_use(search) || !(gathers || schedule->pace > 0)) {
        return 0;
    }
    int status = pccl__schedule_handovers(search->problem.topology, schedule, &lost_ps, search->error);
    *time_ps += status != 0 ? 0 : gathers ? lost_ps : -lost_ps / 2;
    return status;
}

/* On which processor a rank runs is the system's affair, and changes: a quarter of what each of the group's processors
 * has to do counts beside the time that it takes if ranks stay where the model has them. */
static int64_t weigh_work(const struct pccl__search *search, int64_t shared_ps)
{
    return search->num_processors > 0 ? shared_ps / search->num_processors / 4 : 0;
}

/* What a candidate is judged by: its makespan and what else it costs. Where few messages are asked for, as if these kept
 * no processor busy, since they are counted. */
static int weigh_candidate(const struct pccl__search *search, const struct pccl_schedule *schedule,
                           struct pccl_simulation *simulation, int64_t *time_ps)
{
    const struct pccl_topology *topology = search->problem.topology;
    int status = pccl_simulate(topology, schedule, simulation, search->error);
    if (status != 0 || search->problem.options.frugal) {
        struct pccl_simulation unhindered = {.unlimited_processors = true};
        status = status == 0 ? pccl_simulate(topology, schedule, &unhindered, search->error) : status;
        *time_ps = unhindered.makespan_ps;
        return status;
    }
    *time_ps = simulation->makespan_ps;
    status = add_losses(search, schedule, time_ps);
    *time_ps = pccl__add_ps(*time_ps, weigh_work(search, simulation->shared_ps));
    return status;
}

/* Whether a candidate takes the place of the best so far. At first use a 64th of the time is worth less than fewer
 * pieces: what a message costs the application's processor is more than the model knows. */
static bool is_better(const struct pccl__search *search, const struct pccl__prospect *prospect,
                      const struct pccl_schedule *schedule, int64_t time_ps)
{
    const struct pccl_schedule *best = search->result->schedule;
    if (best == NULL) {
        return true;
    }
    if (search->problem.options.frugal && schedule->num_messages != best->num_messages) {
        return schedule->num_messages < best->num_messages;
    }
    uint32_t pieces = best->demand->pieces;
    int64_t grain_ps = pccl__search_is_first_use(search) ? search->winner_ps / 64 : 0;
    int64_t slack_ps = prospect->pieces < pieces ? grain_ps : prospect->pieces > pieces ? -grain_ps : 0;
    return time_ps < search->winner_ps + slack_ps ||
           (time_ps == search->winner_ps && prospect->row < search->winner_row);
}

/* Keeps the schedule if it is the best so far; frees it otherwise. */
static int judge(struct pccl__search *search, const struct pccl__prospect *prospect, struct pccl_candidate *candidate,
                 struct pccl_schedule *schedule)
{
    struct pccl_result *result = search->result;
    struct pccl_simulation simulation = {0};
    uint32_t num_messages = schedule->num_messages, fewest = result->schedule ? result->schedule->num_messages : 0;
    const char *worse = !search->problem.options.frugal ? "slower in the model"
                        : num_messages != fewest        ? "more messages"
                                                        : "as few messages, slower if processors were never busy";
    int64_t time_ps = 0;
    int status = weigh_candidate(search, schedule, &simulation, &time_ps);
    candidate->makespan_ps = search->problem.options.frugal ? time_ps : simulation.makespan_ps;
    *(result->schedule != NULL ? &search->num_messages : &search->num_first_messages) += schedule->num_messages;
    if (status != 0 || !is_better(search, prospect, schedule, time_ps)) {
        note(candidate, worse);
        pccl_schedule_free(schedule);
        return status;
    }
    if (result->schedule != NULL) {
        note(&result->candidates[search->winner], worse);
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
static int64_t find_aim_ps(const struct pccl__search *search)
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
static bool is_done(struct pccl__search *search)
{
    int64_t best_ps = search->winner_ps;
    bool large = search->problem.num_ranks > LARGE_GROUP;
    if (pccl__search_is_first_use(search) || large) {
        int64_t aim_ps = find_aim_ps(search);
        if (best_ps <= aim_ps + aim_ps / (pccl__search_is_first_use(search) ? 64 : 100)) {
            return true;
        }
    }
    if (!search->has_bound && !pccl__search_is_first_use(search)) {
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
static bool is_repetition(const struct pccl__search *search, const struct pccl__prospect *prospect)
{
    for (uint32_t i = 0; i < search->num_made; i++) {
        const struct pccl__prospect *made = &search->prospects[i];
        if (pccl__rows[made->row].run == pccl__rows[prospect->row].run && made->pieces == prospect->pieces &&
            made->estimate_ps == prospect->estimate_ps) {
            return true;
        }
    }
    return false;
}

/* The same where few messages are asked for. What is planned message by message costs a large group seconds, and can at
 * best do with as many. */
static const char *too_lavish(const struct pccl__search *search, const struct pccl__prospect *prospect)
{
    uint64_t expected = pccl__search_count(search, prospect), best = search->result->schedule->num_messages;
    bool is_planned = (pccl__rows[prospect->row].flags & PCCL__PLANNED) != 0;
    if (search->problem.collective == PCCL_CUSTOM) { /* which may need any number of messages */
        return NULL;
    }
    return expected > best                                                        ? "not made: more messages"
           : expected == best && is_planned && pccl__search_is_hurried(search) ? "not made: no fewer messages"
                                                                                   : NULL;
}

/* Why a prospect is not worth making, or NULL. Counted in messages and forecasts, never in time. */
static const char *too_poor(struct pccl__search *search, const struct pccl__prospect *prospect, char *text, size_t size)
{
    int64_t best_ps = search->winner_ps, forecast_ps = pccl__search_weigh(search, prospect);
    uint64_t expected = pccl__search_count(search, prospect);
    bool large = search->problem.num_ranks > LARGE_GROUP, first_use = pccl__search_is_first_use(search);
    if (search->result->schedule == NULL) {
        return NULL;
    }
    if (search->problem.options.frugal) {
        return too_lavish(search, prospect);
    }
    bool simpler = first_use && prospect->pieces < search->result->schedule->demand->pieces &&
                   forecast_ps <= best_ps + best_ps / 64;
    if (!simpler && is_done(search)) {
        return "not made: the best so far cannot be improved on";
    }
    bool hurried = pccl__search_is_hurried(search);
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
static const char *ask_refusal(struct pccl__search *search, const struct pccl__prospect *prospect, char *text,
                               size_t size)
{
    struct pccl_error error = {{0}};
    struct pccl_schedule *schedule = NULL;
    bool slow = search->problem.num_ranks > PCCL__FIRST_USE_RANKS || pccl__search_is_hurried(search) ||
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

static int try_prospect(struct pccl__search *search, const struct pccl__prospect *prospect)
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

static int try_all(struct pccl__search *search, bool fallback)
{
    int status = 0;
    pccl__search_list(search, fallback);
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
static int count_processors(struct pccl__search *search)
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

static bool needs_fallback(struct pccl__search *search)
{
    bool small = search->problem.num_ranks <= LARGE_GROUP;
    return search->result->schedule == NULL || (!pccl__search_is_first_use(search) && (small || !is_done(search)));
}

static int search_best(struct pccl__search *search)
{
    search->floor_ps = pccl__problem_floor_ps(&search->problem);
    search->prospects = pccl__array_new((size_t)pccl__num_rows * (PCCL__MAX_PIECES_LOG + 2), sizeof *search->prospects);
    if (search->prospects == NULL) {
        return pccl__fail_memory(search->error);
    }
    int status = count_processors(search);
    status = status == 0 ? try_all(search, false) : status;
    /* Even the forecast of a fallback may take memory for the routes of all pairs. */
    if (status == 0 && needs_fallback(search)) {
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
    struct pccl__search search = {.error = error};
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
