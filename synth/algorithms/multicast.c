/* Multicast: see multicast.h. The trees are those of PCCL (Won et al., arXiv 2606.07019) for conditions with several
 * receivers, grown by repeated search for the earliest arrival (Takahashi and Matsuyama's heuristic for Steiner trees, with
 * time as the distance). */
#include "algorithms/multicast.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/mirror.h"
#include "algorithms/pricing.h"
#include "algorithms/wayfinder.h"
#include "base/array.h"
#include "base/error.h"
#include "base/random.h"

#define MAX_WORK (UINT64_C(1) << 27) /* arcs looked at in all searches together */
#define MAX_PRICED_WORK (UINT64_C(1) << 21) /* the same for one round of priced trees */
#define NUM_ROUNDS 6 /* in which priced trees grow */

/* Arcs in an order in which each begins where an earlier one ends, or at a source. */
struct tree {
    uint32_t *arcs;
    uint32_t num_arcs, room;
};

struct multicast {
    const struct pccl__problem *problem;
    const struct pccl_demand *demand;
    struct pccl_schedule *schedule;
    struct pccl__network network;
    struct pccl__wayfinder finder;
    struct pccl__holders holders; /* of the chunk that is being placed */
    bool *wanted;                 /* [num_devices] targets not yet reached */
    uint32_t *order;              /* [num_chunks] */
    bool priced;
    struct pccl__pricing pricing;
    struct tree *trees;           /* [num_chunks] priced ones */
    uint32_t *way;                /* [num_devices] arcs */
    uint32_t *paths;              /* [num_arcs] path in the schedule, PCCL_NONE until first used */
};

static void hold(struct multicast *multicast, uint32_t device, uint32_t since)
{
    struct pccl__holders *holders = &multicast->holders;
    if (holders->since[device] == PCCL_NONE) {
        holders->devices[holders->num_devices++] = device;
        holders->since[device] = since;
    }
}

/* Marks sources and targets. Returns the number of targets that lack the chunk. */
static uint32_t begin_chunk(struct multicast *multicast, const struct pccl_chunk *chunk)
{
    const struct pccl_demand *demand = multicast->demand;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < chunk->num_sources; i++) {
        hold(multicast, demand->devices[demand->holders[chunk->first_source + i]], 0);
    }
    for (uint32_t i = 0; i < chunk->num_targets; i++) {
        uint32_t device = demand->devices[demand->holders[chunk->first_target + i]];
        multicast->wanted[device] = multicast->holders.since[device] == PCCL_NONE;
        missing += multicast->wanted[device];
    }
    return missing;
}

static void end_chunk(struct multicast *multicast)
{
    struct pccl__holders *holders = &multicast->holders;
    for (uint32_t i = 0; i < holders->num_devices; i++) {
        holders->since[holders->devices[i]] = PCCL_NONE;
    }
    holders->num_devices = 0;
}

static int add_hop(struct multicast *multicast, uint32_t chunk, const struct pccl__hop *hop)
{
    const struct pccl__arc *arc = &multicast->network.arcs.arcs[hop->arc];
    uint32_t *path = &multicast->paths[hop->arc];
    if (*path == PCCL_NONE) {
        *path = pccl_schedule_path(multicast->schedule, multicast->problem->topology,
                                   multicast->network.arcs.links + arc->first_link, arc->num_links);
    }
    return *path == PCCL_NONE ? PCCL_ERR_MEMORY
                              : pccl_schedule_add(multicast->schedule, hop->start, *path, false, &chunk, 1);
}

/* Grows the tree of a chunk by the way to its next target. *missing falls by the targets on that way. */
static int grow(struct multicast *multicast, uint32_t chunk, uint32_t *missing)
{
    struct pccl__wayfinder *finder = &multicast->finder;
    int status = pccl__wayfinder_search_nearest(finder, &multicast->holders, multicast->wanted);
    if (status == 0) {
        status = pccl__wayfinder_take(finder);
    }
    for (uint32_t i = 0; status == 0 && i < finder->num_hops; i++) {
        uint32_t device = multicast->network.arc_target[finder->hops[i].arc];
        hold(multicast, device, finder->hops[i].start + pccl__network_delay(&multicast->network, finder->hops[i].arc));
        *missing -= multicast->wanted[device];
        multicast->wanted[device] = false;
        status = add_hop(multicast, chunk, &finder->hops[i]);
    }
    return status;
}

static int place_chunk(struct multicast *multicast, uint32_t chunk)
{
    uint32_t missing = begin_chunk(multicast, &multicast->demand->chunks[chunk]);
    int status = 0;
    pccl__network_set_bytes(&multicast->network, multicast->demand->chunks[chunk].bytes);
    while (missing > 0 && status == 0) {
        status = grow(multicast, chunk, &missing);
    }
    end_chunk(multicast);
    return status;
}

static int place_chunks(struct multicast *multicast)
{
    int status = 0;
    for (uint32_t i = 0; i < multicast->demand->num_chunks && status == 0; i++) {
        status = place_chunk(multicast, multicast->order[i]);
    }
    return status;
}

/* --- priced trees ------------------------------------------------------------------------------------------------- */

static int grow_priced(struct multicast *multicast, struct tree *tree, uint32_t *missing)
{
    uint32_t count = pccl__pricing_search(&multicast->pricing, &multicast->holders, multicast->wanted, multicast->way);
    if (count == 0) {
        return PCCL_ERR_UNREACHABLE;
    }
    uint32_t *arcs = pccl__array_grow(tree->arcs, &tree->room, (uint64_t)tree->num_arcs + count, sizeof *arcs);
    if (arcs == NULL) {
        return PCCL_ERR_MEMORY;
    }
    tree->arcs = arcs;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t device = multicast->network.arc_target[multicast->way[i]];
        hold(multicast, device, 0);
        *missing -= multicast->wanted[device];
        multicast->wanted[device] = false;
        arcs[tree->num_arcs++] = multicast->way[i];
    }
    return 0;
}

/* Takes the tree of a chunk back and grows it anew, at the prices that the others make. */
static int price_chunk(struct multicast *multicast, uint32_t chunk)
{
    struct tree *tree = &multicast->trees[chunk];
    uint32_t missing = begin_chunk(multicast, &multicast->demand->chunks[chunk]);
    int status = 0;
    pccl__network_set_bytes(&multicast->network, multicast->demand->chunks[chunk].bytes);
    for (uint32_t i = 0; i < tree->num_arcs; i++) {
        pccl__pricing_remove(&multicast->pricing, tree->arcs[i]);
    }
    tree->num_arcs = 0;
    while (missing > 0 && status == 0) {
        status = grow_priced(multicast, tree, &missing);
    }
    for (uint32_t i = 0; i < tree->num_arcs; i++) {
        pccl__pricing_add(&multicast->pricing, tree->arcs[i]);
    }
    end_chunk(multicast);
    return status;
}

/* Sends a chunk along its tree, each hop as soon as it can. */
static int place_tree(struct multicast *multicast, uint32_t chunk)
{
    const struct tree *tree = &multicast->trees[chunk];
    int status = 0;
    begin_chunk(multicast, &multicast->demand->chunks[chunk]);
    pccl__network_set_bytes(&multicast->network, multicast->demand->chunks[chunk].bytes);
    for (uint32_t i = 0; i < tree->num_arcs && status == 0; i++) {
        struct pccl__hop hop = {.arc = tree->arcs[i]};
        uint32_t from = multicast->network.arcs.arcs[hop.arc].source, to = multicast->network.arc_target[hop.arc];
        status = pccl__wayfinder_take_arc(&multicast->finder, hop.arc, multicast->holders.since[from], &hop.start);
        hold(multicast, to, hop.start + pccl__network_delay(&multicast->network, hop.arc));
        multicast->wanted[to] = false;
        status = status == 0 ? add_hop(multicast, chunk, &hop) : status;
    }
    end_chunk(multicast);
    return status;
}

/* The first pieces of all blocks go first. */
static int place_trees(struct multicast *multicast)
{
    uint32_t pieces = multicast->demand->pieces, num_blocks = multicast->demand->num_chunks / pieces;
    int status = 0;
    for (uint32_t round = 0; round < NUM_ROUNDS && status == 0; round++) {
        for (uint32_t i = 0; i < multicast->demand->num_chunks && status == 0; i++) {
            status = price_chunk(multicast, multicast->order[i]);
        }
    }
    for (uint32_t piece = 0; piece < pieces; piece++) {
        for (uint32_t block = 0; block < num_blocks && status == 0; block++) {
            status = place_tree(multicast, block * pieces + piece);
        }
    }
    return status;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

/* Whether the searches stay within reason: one for each target of each chunk, each over all arcs at most. */
static bool is_affordable(const struct multicast *multicast)
{
    const struct pccl_demand *demand = multicast->demand;
    uint64_t searches = 0;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        searches += demand->chunks[c].num_targets;
    }
    uint64_t most = multicast->priced ? MAX_PRICED_WORK : MAX_WORK;
    return searches <= most / ((uint64_t)multicast->network.arcs.num_arcs + 1);
}

static void measure_chunks(const struct pccl_demand *demand, int64_t *largest_bytes, bool *equal)
{
    int64_t smallest_bytes = INT64_MAX;
    *largest_bytes = 0;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        int64_t bytes = demand->chunks[c].bytes;
        smallest_bytes = bytes < smallest_bytes ? bytes : smallest_bytes;
        *largest_bytes = bytes > *largest_bytes ? bytes : *largest_bytes;
    }
    *equal = smallest_bytes >= *largest_bytes - 1;
}

static int open_multicast(struct multicast *multicast, struct pccl_error *error)
{
    const struct pccl_demand *demand = multicast->demand;
    uint32_t num_devices = multicast->problem->topology->num_devices;
    struct pccl__random random = {multicast->problem->options.seed};
    int64_t largest_bytes;
    bool equal;
    measure_chunks(demand, &largest_bytes, &equal);
    int status = pccl__network_create(multicast->problem, largest_bytes, equal, &multicast->network, error);
    if (status != 0) {
        return status;
    }
    if (!is_affordable(multicast)) {
        return pccl__reject(error, "a search for each target of each chunk would take too long");
    }
    uint32_t num_arcs = multicast->network.arcs.num_arcs;
    multicast->paths = pccl__array_new(num_arcs, sizeof *multicast->paths);
    multicast->wanted = pccl__array_new(num_devices, sizeof *multicast->wanted);
    multicast->order = pccl__array_new(demand->num_chunks, sizeof *multicast->order);
    multicast->holders.devices = pccl__array_new(num_devices, sizeof *multicast->holders.devices);
    multicast->holders.since = pccl__array_new(num_devices, sizeof *multicast->holders.since);
    if (multicast->paths == NULL || multicast->wanted == NULL || multicast->order == NULL ||
        multicast->holders.devices == NULL || multicast->holders.since == NULL ||
        pccl__wayfinder_create(&multicast->finder, &multicast->network, 256) != 0) {
        return pccl__fail_memory(error);
    }
    if (multicast->priced) {
        multicast->trees = pccl__array_new(demand->num_chunks, sizeof *multicast->trees);
        multicast->way = pccl__array_new(num_devices, sizeof *multicast->way);
        if (multicast->trees == NULL || multicast->way == NULL ||
            pccl__pricing_create(&multicast->pricing, &multicast->network) != 0) {
            return pccl__fail_memory(error);
        }
    }
    memset(multicast->paths, 0xff, num_arcs * sizeof *multicast->paths);
    memset(multicast->holders.since, 0xff, num_devices * sizeof *multicast->holders.since);
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        multicast->order[c] = c;
    }
    pccl__random_shuffle(&random, multicast->order, demand->num_chunks);
    return 0;
}

static void close_multicast(struct multicast *multicast)
{
    for (uint32_t c = 0; multicast->trees != NULL && c < multicast->demand->num_chunks; c++) {
        free(multicast->trees[c].arcs);
    }
    free(multicast->trees);
    free(multicast->way);
    pccl__pricing_free(&multicast->pricing);
    pccl__wayfinder_free(&multicast->finder);
    pccl__network_free(&multicast->network);
    free(multicast->holders.since);
    free(multicast->holders.devices);
    free(multicast->order);
    free(multicast->wanted);
    free(multicast->paths);
}

static int spread(const struct pccl__problem *problem, uint32_t pieces, bool priced, struct pccl_schedule **schedule,
                  struct pccl_error *error)
{
    struct multicast multicast = {.problem = problem, .priced = priced};
    int status = pccl__schedule_begin(problem, pieces, &multicast.schedule, error);
    if (status != 0) {
        return status;
    }
    multicast.demand = multicast.schedule->demand;
    status = open_multicast(&multicast, error);
    if (status == 0) {
        status = priced ? place_trees(&multicast) : place_chunks(&multicast);
        if (status == 0) {
            status = pccl_schedule_seal(multicast.schedule);
        }
        if (status == PCCL_ERR_UNREACHABLE) {
            status = pccl__reject(error, "members cannot reach each other over the links allowed");
        } else if (status == PCCL_ERR_MEMORY) {
            pccl__fail_memory(error);
        } else if (status == PCCL_ERR_OVERFLOW) {
            status = pccl__reject(error, "sizes of chunks differ too much");
        }
    }
    close_multicast(&multicast);
    if (status != 0) {
        pccl_schedule_free(multicast.schedule);
        return status;
    }
    *schedule = multicast.schedule;
    return 0;
}

static int spread_earliest(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    return spread(problem, pieces, false, schedule, error);
}

static int spread_priced(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error)
{
    return spread(problem, pieces, true, schedule, error);
}

int pccl__multicast_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                              struct pccl_error *error)
{
    bool priced = problem->variant == PCCL__PRICED;
    if (priced && problem->collective != PCCL_CUSTOM && !problem->request->relays) {
        return pccl__reject(error, "for several groups at once, patterns and relays");
    }
    return pccl__mirror_serve(problem, pieces, priced ? spread_priced : spread_earliest, schedule, error);
}
