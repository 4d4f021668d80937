/* Unicast: see unicast.h. The slots chosen give the order of the messages; the simulator and the executor then
 * start each as early as it can in that order. */
#include "algorithms/unicast.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/wayfinder.h"
#include "base/array.h"
#include "base/error.h"
#include "base/random.h"

#define MOST_WORK (UINT64_C(1) << 29) /* arcs looked at over all chunks, if detours are */
#define MOST_ORDERS 8
#define FEW_WORK (UINT64_C(1) << 22) /* the same over all orders that are tried */

struct unicast {
    const struct pccl__problem *problem;
    const struct pccl_demand *demand;
    struct pccl_schedule *schedule;
    struct pccl__network network;
    struct pccl__wayfinder finder;
    uint32_t *order;     /* chunks that must move */
    uint32_t num_moving;
    uint32_t *paths;     /* [num_arcs] path in the schedule, PCCL_NONE until first used */
    int64_t largest_bytes;
    bool equal;          /* all chunks have nearly the same size */
    uint32_t last_slot;  /* in which a message begins */
    uint64_t work;       /* arcs that searches may look at, one search for each chunk */
};

static uint32_t source_of(const struct unicast *unicast, uint32_t chunk)
{
    const struct pccl_demand *demand = unicast->demand;
    return demand->devices[demand->holders[demand->chunks[chunk].first_source]];
}

static uint32_t target_of(const struct unicast *unicast, uint32_t chunk)
{
    const struct pccl_demand *demand = unicast->demand;
    return demand->devices[demand->holders[demand->chunks[chunk].first_target]];
}

/* Lists the chunks that are not at their target. Returns false if a chunk has several sources or targets. */
static bool list_moving(struct unicast *unicast)
{
    const struct pccl_demand *demand = unicast->demand;
    int64_t smallest_bytes = INT64_MAX;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        if (demand->chunks[c].num_sources != 1 || demand->chunks[c].num_targets > 1) {
            return false;
        }
        if (demand->chunks[c].num_targets == 0 || source_of(unicast, c) == target_of(unicast, c)) {
            continue;
        }
        int64_t bytes = demand->chunks[c].bytes;
        smallest_bytes = bytes < smallest_bytes ? bytes : smallest_bytes;
        unicast->largest_bytes = bytes > unicast->largest_bytes ? bytes : unicast->largest_bytes;
        unicast->order[unicast->num_moving++] = c;
    }
    unicast->equal = smallest_bytes >= unicast->largest_bytes - 1;
    return true;
}

/* --- the order of the chunks -------------------------------------------------------------------------------------- */

/* Stable sort by distance, the farthest first. */
static int sort_farthest(struct unicast *unicast)
{
    uint32_t count = unicast->num_moving;
    uint32_t *sorted = pccl__array_new(count, sizeof *sorted);
    uint32_t *next = pccl__array_new((size_t)PCCL__NO_WAY + 2, sizeof *next);
    if (sorted == NULL || next == NULL) {
        free(sorted);
        free(next);
        return PCCL_ERR_MEMORY;
    }
    for (int placing = 0; placing < 2; placing++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t chunk = unicast->order[i];
            uint32_t near = PCCL__NO_WAY - pccl__network_distance(&unicast->network, source_of(unicast, chunk),
                                                                  target_of(unicast, chunk));
            if (placing) {
                sorted[next[near]++] = chunk;
            } else {
                next[near + 1]++;
            }
        }
        for (uint32_t d = 0; !placing && d < PCCL__NO_WAY; d++) {
            next[d + 1] += next[d];
        }
    }
    free(next);
    free(unicast->order);
    unicast->order = sorted;
    return 0;
}

/* --- making messages ---------------------------------------------------------------------------------------------- */

static int place_chunk(struct unicast *unicast, uint32_t chunk, bool detours)
{
    struct pccl__network *network = &unicast->network;
    struct pccl__wayfinder *finder = &unicast->finder;
    pccl__network_set_bytes(network, unicast->demand->chunks[chunk].bytes);
    int status = pccl__wayfinder_search(finder, source_of(unicast, chunk), target_of(unicast, chunk), detours);
    if (status == 0) {
        status = pccl__wayfinder_take(finder);
    }
    for (uint32_t i = 0; i < finder->num_hops && status == 0; i++) {
        uint32_t *path = &unicast->paths[finder->hops[i].arc];
        if (*path == PCCL_NONE) {
            const struct pccl__arc *arc = &network->arcs.arcs[finder->hops[i].arc];
            *path = pccl_schedule_path(unicast->schedule, unicast->problem->topology,
                                       network->arcs.links + arc->first_link, arc->num_links);
            status = *path == PCCL_NONE ? PCCL_ERR_MEMORY : 0;
        }
        if (status == 0) {
            uint32_t slot = finder->hops[i].start;
            unicast->last_slot = slot > unicast->last_slot ? slot : unicast->last_slot;
            status = pccl_schedule_add(unicast->schedule, slot, *path, false, &chunk, 1);
        }
    }
    return status;
}

/* Sorts by step in place (each message goes straight to the bucket of its step): the largest schedules leave no
 * room for anything beside them. The order within a step does not matter, as its messages share nothing. */
static int sort_messages(struct pccl_schedule *schedule)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        last = schedule->messages[i].step > last ? schedule->messages[i].step : last;
    }
    uint32_t *next = pccl__array_new((size_t)last + 2, sizeof *next);
    uint32_t *end = pccl__array_new((size_t)last + 1, sizeof *end);
    if (next == NULL || end == NULL) {
        free(next);
        free(end);
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        next[schedule->messages[i].step + 1]++;
    }
    for (uint32_t s = 0; s <= last; s++) {
        next[s + 1] += next[s];
        end[s] = next[s + 1];
    }
    for (uint32_t s = 0; s <= last; s++) {
        while (next[s] < end[s]) {
            struct pccl_message *here = &schedule->messages[next[s]];
            if (here->step == s) {
                next[s]++;
                continue;
            }
            struct pccl_message *there = &schedule->messages[next[here->step]++];
            struct pccl_message moved = *here;
            *here = *there;
            *there = moved;
        }
    }
    free(next);
    free(end);
    return 0;
}

static bool wants_detours(const struct pccl__problem *problem)
{
    return problem->variant == PCCL__FARTHEST_DETOURS || problem->variant == PCCL__SHUFFLED_DETOURS;
}

static int place_all(struct unicast *unicast, uint64_t seed)
{
    bool detours = wants_detours(unicast->problem);
    bool shuffled = unicast->problem->variant == PCCL__SHUFFLED || unicast->problem->variant == PCCL__SHUFFLED_DETOURS;
    struct pccl__random random = {seed};
    int status = 0;
    pccl__random_shuffle(&random, unicast->order, unicast->num_moving);
    if (!shuffled) {
        status = sort_farthest(unicast);
    }
    for (uint32_t i = 0; i < unicast->num_moving && status == 0; i++) {
        status = place_chunk(unicast, unicast->order[i], detours);
    }
    return status == 0 ? sort_messages(unicast->schedule) : status;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

static int open_unicast(struct unicast *unicast, struct pccl_error *error)
{
    unicast->order = pccl__array_new(unicast->demand->num_chunks, sizeof *unicast->order);
    if (unicast->order == NULL) {
        return pccl__fail_memory(error);
    }
    if (!list_moving(unicast)) {
        return pccl__reject(error, "only for chunks with one source and one target");
    }
    int status =
        pccl__network_create(unicast->problem, unicast->largest_bytes, unicast->equal, &unicast->network, error);
    if (status != 0) {
        return status;
    }
    uint32_t num_arcs = unicast->network.arcs.num_arcs;
    unicast->work = (uint64_t)num_arcs * unicast->num_moving;
    if (wants_detours(unicast->problem) && unicast->work > MOST_WORK) {
        return pccl__reject(error, "too many ways to look at detours");
    }
    unicast->paths = pccl__array_new(num_arcs, sizeof *unicast->paths);
    if (unicast->paths == NULL || pccl__wayfinder_create(&unicast->finder, &unicast->network, 256) != 0) {
        return pccl__fail_memory(error);
    }
    memset(unicast->paths, 0xff, num_arcs * sizeof *unicast->paths);
    return 0;
}

/* A schedule and how good it is. */
struct attempt {
    struct pccl_schedule *schedule;
    uint32_t last_slot; /* as in struct unicast, as is the next */
    uint64_t work;
};

static int try_order(const struct pccl__problem *problem, uint32_t pieces, uint64_t seed, struct attempt *attempt,
                     struct pccl_error *error)
{
    struct unicast unicast = {.problem = problem};
    int status = pccl__schedule_begin(problem, pieces, &unicast.schedule, error);
    if (status != 0) {
        return status;
    }
    unicast.demand = unicast.schedule->demand;
    status = open_unicast(&unicast, error);
    if (status == 0) {
        status = place_all(&unicast, seed);
        if (status == 0) {
            status = pccl_schedule_seal(unicast.schedule);
        }
        if (status == PCCL_ERR_UNREACHABLE) {
            status = pccl__reject(error, "members cannot reach each other over the links allowed");
        } else if (status == PCCL_ERR_MEMORY) {
            pccl__fail_memory(error);
        } else if (status == PCCL_ERR_OVERFLOW) {
            status = pccl__reject(error, "sizes of chunks differ too much");
        }
    }
    pccl__wayfinder_free(&unicast.finder);
    pccl__network_free(&unicast.network);
    free(unicast.order);
    free(unicast.paths);
    if (status != 0) {
        pccl_schedule_free(unicast.schedule);
        return status;
    }
    *attempt = (struct attempt){unicast.schedule, unicast.last_slot, unicast.work};
    return 0;
}

/* Where detours lead through devices outside the group and chunks are few, luck decides: the shortest of several
 * schedules is kept. */
int pccl__unicast_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                            struct pccl_error *error)
{
    struct attempt best, next;
    int status = try_order(problem, pieces, problem->options.seed, &best, error);
    if (status != 0) {
        return status;
    }
    bool relays = problem->request->relays && problem->num_ranks < problem->topology->num_devices;
    bool again = relays && problem->options.effort == PCCL_EFFORT_THOROUGH && wants_detours(problem);
    for (uint64_t i = 1; again && i < MOST_ORDERS && (i + 1) * best.work <= FEW_WORK; i++) {
        status = try_order(problem, pieces, problem->options.seed + i, &next, error);
        if (status != 0) {
            pccl_schedule_free(best.schedule);
            return status;
        }
        bool better = next.last_slot < best.last_slot;
        pccl_schedule_free(better ? best.schedule : next.schedule);
        best = better ? next : best;
    }
    *schedule = best.schedule;
    return 0;
}
