/* Matching: see matching.h. At every real event time (an arrival, a capacity that falls idle) each arc that may
 * have become useful is looked at once: if everything it occupies is idle and its sender has chunks that its
 * receiver neither has nor is about to get, it takes one, the rarest among the first few found. */
#include "algorithms/matching.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/arcs.h"
#include "algorithms/clusters.h"
#include "algorithms/events.h"
#include "algorithms/mirror.h"
#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"

#define MAX_ARCS (1u << 18)
#define FEW 16 /* candidates compared for rarity */

/* Details of an event; smaller numbers are chunks: arrival at the target of the arc. */
#define DETAIL_IDLE (PCCL_NONE - 1)  /* the subject is a resource */
#define DETAIL_RETRY (PCCL_NONE - 2) /* the subject is an arc */

struct matcher {
    const struct pccl__problem *problem;
    struct pccl_schedule *schedule;
    const struct pccl_demand *demand;
    struct pccl__arcs arcs;
    struct pccl__clusters clusters;
    struct pccl__events events;
    size_t words;             /* of a set of chunks */
    uint64_t *have;           /* [num_devices * words] */
    uint64_t *owned;          /* the same: have or on the way */
    uint32_t *holders;        /* [num_chunks] devices that own it */
    uint64_t missing;         /* chunks that members do not own, over all members */
    int64_t *busy_ps;         /* [num_resources] end of the last use */
    int64_t *idle_event_ps;   /* [num_resources] the idle event that will or did follow it */
    uint32_t *first_user;     /* [num_resources + 1] into users */
    uint32_t *users;          /* arcs that occupy a resource */
    uint64_t *dirty;          /* arcs to be looked at now */
    uint32_t *paths;          /* [num_arcs] in the schedule, PCCL_NONE until first used */
    int64_t now_ps;
    uint32_t step;
    bool clustered;
    bool filling;             /* arcs into a cluster that find nothing new for it take what its device lacks */
    uint32_t *lacking;        /* [num_devices] chunks that the device does not own */
    int64_t *quickest_ps;     /* [num_devices] shortest time in which an arc brings it a chunk */
    uint32_t root;            /* of a broadcast, see find_root */
    uint32_t unsent;          /* chunks that only the root owns */
    uint32_t *num_sent;       /* [num_devices] messages */
    uint32_t *senders;        /* [num_devices] in the order of num_sent */
};

/* --- choosing a chunk for an arc ---------------------------------------------------------------------------------- */

/* The rarest of the first few chunks in have & ~owned & ~barred, from a word on that differs from sender to sender
 * and from time to time, lest all choose alike. */
static uint32_t pick_chunk(const struct matcher *matcher, const struct pccl__arc *arc, const uint64_t *barred)
{
    const uint64_t *have = matcher->have + arc->source * matcher->words;
    const uint64_t *owned = matcher->owned + arc->target * matcher->words;
    size_t words = matcher->words, w = (arc->source + matcher->step) % words;
    uint32_t best = PCCL_NONE, fewest = UINT32_MAX, seen = 0;
    for (size_t k = 0; k < words; k++) {
        uint64_t rest = have[w] & ~owned[w];
        if (barred != NULL) {
            rest &= ~barred[w];
        }
        for (; rest != 0; rest &= rest - 1) {
            uint32_t chunk = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(rest);
            if (matcher->holders[chunk] < fewest) {
                fewest = matcher->holders[chunk];
                best = chunk;
            }
            if (++seen == FEW) {
                return best;
            }
        }
        w = w + 1 < words ? w + 1 : 0;
    }
    return best;
}

static int start_message(struct matcher *matcher, uint32_t number, uint32_t chunk)
{
    const struct pccl__arc *arc = &matcher->arcs.arcs[number];
    int64_t bytes = matcher->demand->chunks[chunk].bytes;
    if (matcher->paths[number] == PCCL_NONE) {
        matcher->paths[number] = pccl_schedule_path(matcher->schedule, matcher->problem->topology,
                                                    matcher->arcs.links + arc->first_link, arc->num_links);
        if (matcher->paths[number] == PCCL_NONE) {
            return PCCL_ERR_MEMORY;
        }
    }
    int64_t longest_ps = 0;
    int status = 0;
    for (uint32_t i = 0; i < arc->num_uses && status == 0; i++) {
        const struct pccl__use *use = &matcher->arcs.uses[arc->first_use + i];
        int64_t hold_ps = use->fixed_ps;
        if (use->ps_per_mib != PCCL__FIXED) {
            hold_ps = pccl_transfer_ps(bytes, use->ps_per_mib);
            longest_ps = hold_ps > longest_ps ? hold_ps : longest_ps;
        }
        matcher->busy_ps[use->resource] = matcher->now_ps + use->offset_ps + hold_ps;
        matcher->idle_event_ps[use->resource] = matcher->now_ps + hold_ps;
        status = pccl__events_push(&matcher->events, matcher->now_ps + hold_ps, use->resource, DETAIL_IDLE);
    }
    if (status == 0) {
        status = pccl__events_push(&matcher->events, matcher->now_ps + arc->latency_ps + longest_ps, number, chunk);
    }
    pccl__bitset_set(matcher->owned + arc->target * matcher->words, chunk);
    pccl__clusters_own(&matcher->clusters, arc->target, chunk);
    matcher->num_sent[arc->source]++;
    matcher->unsent -= arc->source == matcher->root && matcher->holders[chunk] == 1;
    matcher->holders[chunk]++;
    matcher->lacking[arc->target]--;
    matcher->missing--;
    return status != 0 ? status
                       : pccl_schedule_add(matcher->schedule, matcher->step, matcher->paths[number], false, &chunk, 1);
}

/* Whether a chunk over this arc arrives before the target's quickest arc could have brought it all that it lacks. */
static bool pays(const struct matcher *matcher, const struct pccl__arc *arc)
{
    int64_t lacking = matcher->lacking[arc->target];
    return pccl__arc_ps(arc, matcher->problem->block_bytes / matcher->demand->pieces) <
           lacking * matcher->quickest_ps[arc->target];
}

/* Starts a message on the arc if that is possible and useful now; if an occupied resource will be idle for this arc
 * at a time that no idle event announces, plans a retry. */
static int try_arc(struct matcher *matcher, uint32_t number)
{
    const struct pccl__arc *arc = &matcher->arcs.arcs[number];
    int64_t possible_ps = matcher->now_ps;
    /* A look at few chunks is quicker than one at all resources; what arrives later has the arc looked at again. */
    bool useless = matcher->words == 1 && (matcher->have[arc->source] & ~matcher->owned[arc->target]) == 0;
    if (useless || (matcher->clustered && pccl__clusters_avoid(&matcher->clusters, number))) {
        return 0;
    }
    for (uint32_t i = 0; i < arc->num_uses; i++) {
        const struct pccl__use *use = &matcher->arcs.uses[arc->first_use + i];
        int64_t idle_ps = matcher->busy_ps[use->resource] - use->offset_ps;
        if (idle_ps > matcher->now_ps && matcher->idle_event_ps[use->resource] > matcher->now_ps) {
            return 0; /* announced */
        }
        possible_ps = idle_ps > possible_ps ? idle_ps : possible_ps;
    }
    if (possible_ps > matcher->now_ps) {
        return pccl__events_push(&matcher->events, possible_ps, number, DETAIL_RETRY);
    }
    const uint64_t *barred = matcher->clustered ? pccl__clusters_barred(&matcher->clusters, number) : NULL;
    uint32_t chunk = pick_chunk(matcher, arc, barred);
    if (chunk == PCCL_NONE && barred != NULL && matcher->filling && pays(matcher, arc)) {
        chunk = pick_chunk(matcher, arc, NULL);
    }
    return chunk != PCCL_NONE ? start_message(matcher, number, chunk) : 0;
}

/* --- the loop over event times ------------------------------------------------------------------------------------ */

static void look_at_sender(struct matcher *matcher, uint32_t device)
{
    for (uint32_t a = matcher->arcs.first_out[device]; a < matcher->arcs.first_out[device + 1]; a++) {
        pccl__bitset_set(matcher->dirty, a);
    }
}

static void take_event(struct matcher *matcher, const struct pccl__event *event)
{
    if (event->detail == DETAIL_RETRY) {
        pccl__bitset_set(matcher->dirty, event->subject);
    } else if (event->detail == DETAIL_IDLE) {
        for (uint32_t i = matcher->first_user[event->subject]; i < matcher->first_user[event->subject + 1]; i++) {
            pccl__bitset_set(matcher->dirty, matcher->users[i]);
        }
    } else {
        uint32_t target = matcher->arcs.arcs[event->subject].target;
        pccl__bitset_set(matcher->have + target * matcher->words, event->detail);
        look_at_sender(matcher, target);
    }
}

static int try_arcs(struct matcher *matcher, uint32_t first, uint32_t end)
{
    int status = 0;
    for (size_t w = first / 64; w * 64 < end && status == 0; w++) {
        uint64_t rest = matcher->dirty[w];
        rest &= w == first / 64 ? UINT64_MAX << first % 64 : UINT64_MAX;
        rest &= end - w * 64 < 64 ? ~(UINT64_MAX << (end - w * 64)) : UINT64_MAX;
        matcher->dirty[w] &= ~rest;
        for (; rest != 0 && status == 0; rest &= rest - 1) {
            status = try_arc(matcher, (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(rest));
        }
    }
    return status;
}

/* Senders with few messages so far before those with many. */
static void sort_senders(struct matcher *matcher)
{
    for (uint32_t i = 1; i < matcher->problem->topology->num_devices; i++) {
        uint32_t device = matcher->senders[i], at = i;
        for (; at > 0 && matcher->num_sent[matcher->senders[at - 1]] > matcher->num_sent[device]; at--) {
            matcher->senders[at] = matcher->senders[at - 1];
        }
        matcher->senders[at] = device;
    }
}

/* When the root of a broadcast has nothing left that it alone has, not all links are needed any more. Where a device has
 * one link only, whoever has sent least comes first, lest some links carry more than they have to. (Where it has
 * several, that would spare none and cost a percent.) */
static int try_dirty(struct matcher *matcher)
{
    const uint32_t *first_out = matcher->arcs.first_out;
    if (matcher->root == PCCL_NONE || matcher->unsent > 0) {
        return try_arcs(matcher, 0, matcher->arcs.num_arcs);
    }
    int status = 0;
    sort_senders(matcher);
    for (uint32_t i = 0; i < matcher->problem->topology->num_devices && status == 0; i++) {
        uint32_t device = matcher->senders[i];
        status = try_arcs(matcher, first_out[device], first_out[device + 1]);
    }
    return status;
}

static int match_all(struct matcher *matcher)
{
    bool restart = true; /* every arc is to be looked at */
    while (matcher->missing > 0) {
        uint32_t first = restart ? PCCL_NONE : pccl__events_take(&matcher->events, &matcher->now_ps);
        if (restart) {
            memset(matcher->dirty, 0xff, matcher->arcs.num_arcs / 64 * sizeof *matcher->dirty);
            for (uint32_t a = matcher->arcs.num_arcs / 64 * 64; a < matcher->arcs.num_arcs; a++) {
                pccl__bitset_set(matcher->dirty, a);
            }
            restart = false;
        } else if (first == PCCL_NONE) {
            if (!matcher->clustered) {
                return PCCL_ERR_UNREACHABLE;
            }
            matcher->clustered = false; /* a cluster could not spread what entered it: now every arc may help */
            restart = true;
            continue;
        }
        for (uint32_t e = first; e != PCCL_NONE; e = matcher->events.events[e].next) {
            take_event(matcher, &matcher->events.events[e]);
        }
        if (first != PCCL_NONE) {
            pccl__events_release(&matcher->events, first);
        }
        matcher->step++;
        int status = try_dirty(matcher);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

/* Marks the sources and counts what is missing. Returns false unless every member needs every chunk. */
static bool mark_holders(struct matcher *matcher)
{
    const struct pccl_demand *demand = matcher->demand;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        const struct pccl_chunk *chunk = &demand->chunks[c];
        uint32_t num_missing = 0;
        for (uint32_t i = 0; i < chunk->num_sources; i++) {
            uint32_t device = demand->devices[demand->holders[chunk->first_source + i]];
            pccl__bitset_set(matcher->have + device * matcher->words, c);
            pccl__bitset_set(matcher->owned + device * matcher->words, c);
            pccl__clusters_own(&matcher->clusters, device, c);
        }
        for (uint32_t i = 0; i < chunk->num_targets; i++) {
            uint32_t device = demand->devices[demand->holders[chunk->first_target + i]];
            if (!pccl__bitset_test(matcher->have + device * matcher->words, c)) {
                num_missing++;
                matcher->lacking[device]++;
            }
        }
        if (num_missing + chunk->num_sources != demand->num_ranks) {
            return false;
        }
        matcher->holders[c] = chunk->num_sources;
        matcher->missing += num_missing;
    }
    return true;
}

static int list_users(struct matcher *matcher)
{
    const struct pccl__arcs *arcs = &matcher->arcs;
    matcher->first_user = pccl__array_new((size_t)arcs->num_resources + 1, sizeof *matcher->first_user);
    matcher->users = pccl__array_new(arcs->num_uses, sizeof *matcher->users);
    if (matcher->first_user == NULL || matcher->users == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < arcs->num_uses; i++) {
        matcher->first_user[arcs->uses[i].resource]++;
    }
    for (uint32_t r = 1; r <= arcs->num_resources; r++) {
        matcher->first_user[r] += matcher->first_user[r - 1];
    }
    for (uint32_t a = arcs->num_arcs; a > 0; a--) {
        for (uint32_t i = 0; i < arcs->arcs[a - 1].num_uses; i++) {
            uint32_t resource = arcs->uses[arcs->arcs[a - 1].first_use + i].resource;
            matcher->users[--matcher->first_user[resource]] = a - 1;
        }
    }
    return 0;
}

/* The device that has all chunks, if all its messages share one link; else PCCL_NONE. */
static uint32_t find_root(const struct pccl_topology *topology, const struct pccl_demand *demand)
{
    uint32_t root = PCCL_NONE;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        const struct pccl_chunk *chunk = &demand->chunks[c];
        uint32_t source = demand->devices[demand->holders[chunk->first_source]];
        if (chunk->num_sources != 1 || (root != PCCL_NONE && source != root)) {
            return PCCL_NONE;
        }
        root = source;
    }
    bool has_one_link = root != PCCL_NONE && topology->first_out[root + 1] - topology->first_out[root] == 1;
    return has_one_link ? root : PCCL_NONE;
}

static int open_matcher(struct matcher *matcher, struct pccl_error *error)
{
    const struct pccl_topology *topology = matcher->problem->topology;
    const struct pccl__arcs *arcs = &matcher->arcs;
    uint32_t num_chunks = matcher->demand->num_chunks;
    matcher->unsent = num_chunks;
    matcher->root = find_root(topology, matcher->demand);
    matcher->words = pccl__bitset_words(num_chunks);
    matcher->have = pccl__array_new(topology->num_devices * matcher->words, sizeof *matcher->have);
    matcher->owned = pccl__array_new(topology->num_devices * matcher->words, sizeof *matcher->owned);
    matcher->holders = pccl__array_new(num_chunks, sizeof *matcher->holders);
    matcher->busy_ps = pccl__array_new(arcs->num_resources, sizeof *matcher->busy_ps);
    matcher->idle_event_ps = pccl__array_new(arcs->num_resources, sizeof *matcher->idle_event_ps);
    matcher->lacking = pccl__array_new(topology->num_devices, sizeof *matcher->lacking);
    matcher->quickest_ps = pccl__array_new(topology->num_devices, sizeof *matcher->quickest_ps);
    matcher->num_sent = pccl__array_new(topology->num_devices, sizeof *matcher->num_sent);
    matcher->senders = pccl__array_new(topology->num_devices, sizeof *matcher->senders);
    matcher->dirty = pccl__array_new(pccl__bitset_words(arcs->num_arcs), sizeof *matcher->dirty);
    matcher->paths = pccl__array_new(arcs->num_arcs, sizeof *matcher->paths);
    if (matcher->have == NULL || matcher->owned == NULL || matcher->holders == NULL || matcher->busy_ps == NULL ||
        matcher->idle_event_ps == NULL || matcher->dirty == NULL || matcher->paths == NULL ||
        matcher->lacking == NULL || matcher->quickest_ps == NULL || matcher->num_sent == NULL ||
        matcher->senders == NULL || list_users(matcher) != 0) {
        return pccl__fail_memory(error);
    }
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        matcher->senders[d] = d;
    }
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        int64_t ps = pccl__arc_ps(&arcs->arcs[a], matcher->problem->block_bytes / matcher->demand->pieces);
        int64_t *quickest = &matcher->quickest_ps[arcs->arcs[a].target];
        *quickest = *quickest == 0 || ps < *quickest ? ps : *quickest;
    }
    memset(matcher->paths, 0xff, arcs->num_arcs * sizeof *matcher->paths);
    return mark_holders(matcher) ? 0 : pccl__reject(error, "only for chunks that all members need");
}

static void close_matcher(struct matcher *matcher)
{
    free(matcher->have);
    free(matcher->owned);
    free(matcher->holders);
    free(matcher->busy_ps);
    free(matcher->idle_event_ps);
    free(matcher->first_user);
    free(matcher->users);
    free(matcher->dirty);
    free(matcher->lacking);
    free(matcher->quickest_ps);
    free(matcher->num_sent);
    free(matcher->senders);
    free(matcher->paths);
    pccl__events_free(&matcher->events);
    pccl__clusters_free(&matcher->clusters);
    pccl__arcs_free(&matcher->arcs);
}

/* Whether the longest conceivable schedule (one message after the other) stays within the integers. */
static bool times_fit(const struct matcher *matcher)
{
    int64_t longest_ps = 0, all_ps;
    for (uint32_t a = 0; a < matcher->arcs.num_arcs; a++) {
        int64_t ps = pccl__arc_ps(&matcher->arcs.arcs[a], matcher->problem->block_bytes);
        longest_ps = ps > longest_ps ? ps : longest_ps;
    }
    uint64_t messages = (uint64_t)matcher->demand->num_chunks * matcher->demand->num_ranks;
    return messages <= INT64_MAX && !__builtin_mul_overflow(longest_ps, (int64_t)messages, &all_ps);
}

static int match(const struct pccl__problem *problem, uint32_t pieces, enum pccl__matching variant,
                 struct pccl_schedule **schedule, struct pccl_error *error)
{
    struct matcher matcher = {.problem = problem,
                              .clustered = variant != PCCL__EAGER,
                              .filling = variant == PCCL__FILLING};
    int status = pccl__schedule_begin(problem, pieces, &matcher.schedule, error);
    if (status != 0) {
        return status;
    }
    matcher.demand = matcher.schedule->demand;
    status = pccl__arcs_create(problem, MAX_ARCS, false, &matcher.arcs, error);
    if (status == 0) {
        int64_t bytes = problem->block_bytes / pieces;
        status = pccl__clusters_create(problem->topology, &matcher.arcs, bytes, matcher.demand->num_chunks,
                                       &matcher.clusters);
    }
    if (status == 0 && matcher.clusters.num_classes < 2 && variant != PCCL__CLUSTERED) {
        status = pccl__reject(error, "the same as without clusters: all arcs cost alike");
    }
    if (status == 0 && !times_fit(&matcher)) {
        status = pccl__reject(error, "times would not fit 64 bits");
    }
    if (status == 0) {
        status = open_matcher(&matcher, error);
    }
    if (status == 0) {
        status = match_all(&matcher);
    }
    if (status == 0) {
        status = pccl_schedule_seal(matcher.schedule);
    }
    if (status == PCCL_ERR_UNREACHABLE) {
        status = pccl__reject(error, "members cannot reach each other through members only");
    } else if (status == PCCL_ERR_MEMORY) {
        pccl__fail_memory(error);
    }
    close_matcher(&matcher);
    if (status != 0) {
        pccl_schedule_free(matcher.schedule);
        return status;
    }
    *schedule = matcher.schedule;
    return 0;
}

static int match_clustered(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    return match(problem, pieces, PCCL__CLUSTERED, schedule, error);
}

static int match_filling(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error)
{
    return match(problem, pieces, PCCL__FILLING, schedule, error);
}

static int match_eager(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                       struct pccl_error *error)
{
    return match(problem, pieces, PCCL__EAGER, schedule, error);
}

int pccl__matching_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                             struct pccl_error *error)
{
    pccl__algorithm *variants[] = {match_clustered, match_filling, match_eager};
    return pccl__mirror_serve(problem, pieces, variants[problem->variant], schedule, error);
}
