/* The portfolio: every algorithm that can serve a request is made, verified and simulated, the best is kept. What is there
 * stands in one table; the rest of this file walks over it. */
#include "algorithms/portfolio.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/matching.h"
#include "algorithms/tree.h"
#include "base/array.h"
#include "base/error.h"

#define AG (1u << PCCL_ALLGATHER)
#define AR (1u << PCCL_ALLREDUCE)
#define A2A (1u << PCCL_ALLTOALL)
#define BAR (1u << PCCL_BARRIER)
#define BC (1u << PCCL_BROADCAST)
#define GA (1u << PCCL_GATHER)
#define RED (1u << PCCL_REDUCE)
#define RS (1u << PCCL_REDUCE_SCATTER)
#define SC (1u << PCCL_SCATTER)
#define CUS (1u << PCCL_CUSTOM)

enum cut {
    WHOLE,    /* one piece a block */
    HALVES,   /* two */
    PIPELINED /* as many as pay */
};

/* What a row may be asked for beyond its collectives. */
#define ORDERED 1u   /* combines in rank order where the operator needs it */
#define DIRECT 2u    /* every chunk goes from its source to its target in one message */
#define SMALL 4u     /* few rounds, bytes sent more than once: only where latency counts */
#define LARGE 8u     /* many rounds: only where bandwidth counts */
#define FALLBACK 16u /* only if nothing else serves */

struct row {
    const char *method;
    uint32_t collectives; /* bit per enum pccl_collective */
    uint32_t flags;
    enum cut cut;
    pccl__algorithm *run;
    uint32_t variant;
};

#define KIND(kind) PCCL__VARIANT(kind, PCCL__BY_RANK)
#define PLACED(kind) PCCL__VARIANT(kind, PCCL__BY_PLACE)

/* Ties go to the row above. */
static const struct row rows[] = {
    {"spread", AG | A2A | BAR | RS | AR, DIRECT, WHOLE, pccl__spread_algorithm, KIND(PCCL__ROTATED)},
    {"spread:outward", RS | AR, DIRECT | ORDERED, WHOLE, pccl__spread_algorithm, KIND(PCCL__OUTWARD)},
    {"flat", BC | RED | GA | SC, DIRECT | ORDERED, WHOLE, pccl__tree_algorithm, KIND(PCCL__FLAT)},
    {"pairwise", AG | A2A | RS | AR, DIRECT, WHOLE, pccl__spread_algorithm, KIND(PCCL__XOR)},
    {"doubling:vector", AR, ORDERED | SMALL, WHOLE, pccl__vector_algorithm, KIND(PCCL__DOUBLING)},
    {"doubling", AG | BAR | RS | AR | BC | RED, ORDERED, WHOLE, pccl__exchange_algorithm, KIND(PCCL__DOUBLING)},
    {"doubling:folded", RS | AR, ORDERED, WHOLE, pccl__fold_algorithm, KIND(PCCL__DOUBLING)},
    {"bruck", AG | BAR | RS | AR | BC | RED, 0, WHOLE, pccl__exchange_algorithm, KIND(PCCL__BRUCK)},
    {"bruck:place", AG | BAR | RS | AR, 0, WHOLE, pccl__exchange_algorithm, PLACED(PCCL__BRUCK)},
    {"bruck:alltoall", A2A, SMALL, WHOLE, pccl__transpose_algorithm, KIND(PCCL__BRUCK)},
    {"doubling:alltoall", A2A, SMALL, WHOLE, pccl__transpose_algorithm, KIND(PCCL__DOUBLING)},
    {"swing", AG | BAR | RS | AR, 0, WHOLE, pccl__exchange_algorithm, KIND(PCCL__SWING)},
    {"swing:place", AG | BAR | RS | AR, 0, WHOLE, pccl__exchange_algorithm, PLACED(PCCL__SWING)},
    {"swing:vector", AR, SMALL, WHOLE, pccl__vector_algorithm, PLACED(PCCL__SWING)},
    {"binomial", BC | RED | GA | SC | AR | RS | BAR, ORDERED | SMALL, WHOLE, pccl__tree_algorithm, KIND(PCCL__BINOMIAL)},
    {"binomial:place", BC | RED | GA | SC | AR, SMALL, WHOLE, pccl__tree_algorithm, PLACED(PCCL__BINOMIAL)},
    {"bine", BC | RED | GA | SC | AR, SMALL, WHOLE, pccl__tree_algorithm, KIND(PCCL__BINE)},
    {"bine:place", BC | RED | GA | SC | AR, SMALL, WHOLE, pccl__tree_algorithm, PLACED(PCCL__BINE)},
    {"greedy", AG | BAR | RS | AR, 0, WHOLE, pccl__greedy_algorithm, 0},
    {"greedy:tree", BC | RED | AR, SMALL, WHOLE, pccl__greedy_tree_algorithm, 0},
    {"ring:rank", AG | RS | AR | BC | RED, LARGE, PIPELINED, pccl__ring_algorithm, KIND(PCCL__ONE_WAY)},
    {"ring:place", AG | RS | AR | BC | RED, LARGE, PIPELINED, pccl__ring_algorithm, PLACED(PCCL__ONE_WAY)},
    {"ring:both-ways", AG | RS | AR | BC | RED, LARGE, HALVES, pccl__ring_algorithm, PLACED(PCCL__BOTH_WAYS)},
    {"chain:rank", BC | RED | AR, ORDERED | LARGE, PIPELINED, pccl__tree_algorithm, KIND(PCCL__CHAIN)},
    {"chain:place", BC | RED | AR, LARGE, PIPELINED, pccl__tree_algorithm, PLACED(PCCL__CHAIN)},
    {"binary", BC | RED | AR, ORDERED | LARGE, PIPELINED, pccl__tree_algorithm, KIND(PCCL__BINARY)},
    {"binary:place", BC | RED | AR, LARGE, PIPELINED, pccl__tree_algorithm, PLACED(PCCL__BINARY)},
    {"matching", AG | BAR | BC | RED | RS | AR, 0, PIPELINED, pccl__matching_algorithm, PCCL__CLUSTERED},
    {"matching:eager", AG | BAR | BC | RED | RS | AR, 0, PIPELINED, pccl__matching_algorithm, PCCL__EAGER},
    {"spanning", AG | A2A | BAR | BC | RED | GA | SC | RS | AR, FALLBACK, WHOLE, pccl__tree_algorithm,
     KIND(PCCL__SPANNING)},
};

#define NUM_ROWS (sizeof rows / sizeof rows[0])

uint32_t pccl__portfolio_size(void)
{
    return NUM_ROWS;
}

int pccl__portfolio_make(struct pccl__problem *problem, uint32_t row, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error)
{
    problem->method = rows[row].method;
    problem->variant = rows[row].variant;
    *schedule = NULL;
    if ((rows[row].collectives >> problem->collective & 1) == 0) {
        return pccl__reject(error, "serves other collectives");
    }
    if (problem->ordered && (rows[row].flags & ORDERED) == 0) {
        return pccl__reject(error, "does not combine in rank order, as the operator needs");
    }
    if (problem->request->direct && (rows[row].flags & DIRECT) == 0) {
        return pccl__reject(error, "passes chunks on, and only direct messages are allowed");
    }
    return rows[row].run(problem, pieces, schedule, error);
}

/* --- walking over it -------------------------------------------------------------------------------------------------- */

/* A synthesis under way. */
struct search {
    struct pccl__problem problem;
    struct pccl_result *result;
    uint32_t candidates_capacity;
    uint32_t winner; /* index of its candidate */
    struct pccl_error *error;
};

static bool is_asked_for(const struct row *row, const struct pccl__problem *problem)
{
    const char *method = problem->options.method;
    return (row->collectives >> problem->collective & 1) != 0 &&
           (method == NULL || strncmp(row->method, method, strlen(method)) == 0);
}

static struct pccl_candidate *add_candidate(struct search *search, const struct row *row, uint32_t pieces)
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
    strncpy(candidate->method, row->method, sizeof candidate->method - 1);
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

/* Keeps the schedule if it is the best so far and right; frees it otherwise. */
static int judge(struct search *search, struct pccl_candidate *candidate, struct pccl_schedule *schedule)
{
    const struct pccl__problem *problem = &search->problem;
    struct pccl_result *result = search->result;
    struct pccl_simulation simulation = {0};
    int status = pccl_simulate(problem->topology, schedule, &simulation, search->error);
    if (status == 0 && (result->schedule == NULL || simulation.makespan_ps < result->makespan_ps)) {
        status = pccl_verify_schedule(problem->topology, schedule, problem->request->relays, search->error);
        if (status == 0) {
            if (result->schedule != NULL) {
                note(&result->candidates[search->winner], "slower in the model");
                pccl_schedule_free(result->schedule);
            }
            result->schedule = schedule;
            result->makespan_ps = simulation.makespan_ps;
            search->winner = (uint32_t)(candidate - result->candidates);
            candidate->makespan_ps = simulation.makespan_ps;
            return 0;
        }
    } else if (status == 0) {
        candidate->makespan_ps = simulation.makespan_ps;
        note(candidate, "slower in the model");
    }
    pccl_schedule_free(schedule);
    return status;
}

static int try_row(struct search *search, uint32_t row, uint32_t pieces)
{
    struct pccl_candidate *candidate = add_candidate(search, &rows[row], pieces);
    if (candidate == NULL) {
        return pccl__fail_memory(search->error);
    }
    struct pccl_error error = {{0}};
    struct pccl_schedule *schedule;
    int status = pccl__portfolio_make(&search->problem, row, pieces, &schedule, &error);
    if (status == PCCL_ERR_UNSUPPORTED) {
        note(candidate, error.message);
        return 0;
    }
    if (status != 0) {
        return pccl__fail(search->error, status, "%s: %s", rows[row].method, error.message);
    }
    return judge(search, candidate, schedule);
}

/* The numbers of pieces worth trying: bit k means 2^k. */
static uint32_t choose_pieces(const struct row *row, const struct pccl__problem *problem)
{
    if (row->cut == WHOLE || problem->collective == PCCL_BARRIER) {
        return 1;
    }
    if (row->cut == HALVES) {
        return 2;
    }
    uint32_t bits = 0;
    for (uint32_t k = 0; k <= 4; k++) {
        if (k == 0 || problem->block_bytes >> k >= 1024) {
            bits |= 1u << k;
        }
    }
    return bits;
}

static int try_all(struct search *search, bool fallback)
{
    for (uint32_t i = 0; i < NUM_ROWS; i++) {
        if (((rows[i].flags & FALLBACK) != 0) != fallback || !is_asked_for(&rows[i], &search->problem)) {
            continue;
        }
        uint32_t bits = choose_pieces(&rows[i], &search->problem);
        for (uint32_t k = 0; bits >> k != 0; k++) {
            int status = (bits >> k & 1) != 0 ? try_row(search, i, 1u << k) : 0;
            if (status != 0) {
                return status;
            }
        }
    }
    return 0;
}

static int search_best(struct search *search)
{
    int status = try_all(search, false);
    if (status == 0 && search->result->schedule == NULL) {
        status = try_all(search, true);
    }
    if (status == 0 && search->result->schedule == NULL) {
        const struct pccl_result *result = search->result;
        status = pccl__fail(search->error, PCCL_ERR_UNSUPPORTED, "no method serves %s here%s%s",
                            pccl_collective_name(search->problem.collective), result->num_candidates > 0 ? ": " : "",
                            result->num_candidates > 0 ? result->candidates[result->num_candidates - 1].rejection : "");
    }
    return status;
}

int pccl_synthesize(const struct pccl_topology *topology, const struct pccl_request *request, const struct pccl_options *options,
                    struct pccl_result **result, struct pccl_error *error)
{
    *result = NULL;
    struct search search = {.error = error};
    int status = pccl__problem_open(&search.problem, topology, request, options, error);
    if (status == 0) {
        search.result = pccl__array_new(1, sizeof *search.result);
        status = search.result != NULL ? search_best(&search) : pccl__fail_memory(error);
    }
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
