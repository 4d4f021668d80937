/* Searching and taking: see wayfinder.h. */
#include "algorithms/wayfinder.h"

#include <stdlib.h>

#include "base/array.h"

int pccl__wayfinder_create(struct pccl__wayfinder *finder, struct pccl__network *network, uint64_t num_slots)
{
    uint32_t n = network->num_devices;
    *finder = (struct pccl__wayfinder){.network = network};
    finder->arrival = pccl__array_new(n, sizeof *finder->arrival);
    finder->via = pccl__array_new(n, sizeof *finder->via);
    finder->start = pccl__array_new(n, sizeof *finder->start);
    finder->stamp = pccl__array_new(n, sizeof *finder->stamp);
    finder->closed = pccl__array_new(n, sizeof *finder->closed);
    finder->layer = pccl__array_new(n, sizeof *finder->layer);
    finder->next_layer = pccl__array_new(n, sizeof *finder->next_layer);
    finder->heap = pccl__array_new((size_t)network->arcs.num_arcs + n + 1, sizeof *finder->heap);
    finder->hops = pccl__array_new(n, sizeof *finder->hops);
    if (finder->arrival == NULL || finder->via == NULL || finder->start == NULL || finder->stamp == NULL ||
        finder->closed == NULL || finder->layer == NULL || finder->next_layer == NULL || finder->heap == NULL ||
        finder->hops == NULL) {
        return PCCL_ERR_MEMORY;
    }
    return pccl__slots_create(&finder->slots, network->arcs.num_resources, num_slots);
}

void pccl__wayfinder_free(struct pccl__wayfinder *finder)
{
    free(finder->arrival);
    free(finder->via);
    free(finder->start);
    free(finder->stamp);
    free(finder->closed);
    free(finder->layer);
    free(finder->next_layer);
    free(finder->heap);
    free(finder->hops);
    pccl__slots_free(&finder->slots);
    *finder = (struct pccl__wayfinder){0};
}

/* The first slot >= from at which everything that the arc occupies is free long enough. */
static uint32_t find_common_start(const struct pccl__wayfinder *finder, uint32_t number, uint32_t from)
{
    const struct pccl__network *network = finder->network;
    const struct pccl__arc *arc = &network->arcs.arcs[number];
    const struct pccl__use *uses = network->arcs.uses + arc->first_use;
    uint32_t agreed = 0; /* uses in a row that accept `from` */
    for (uint32_t i = 0; agreed < arc->num_uses; i = i + 1 < arc->num_uses ? i + 1 : 0) {
        uint32_t offset = network->use_offset[arc->first_use + i];
        uint32_t at = pccl__slots_find(&finder->slots, uses[i].resource, from + offset,
                                       pccl__network_hold(network, arc->first_use + i));
        agreed = at == from + offset ? agreed + 1 : 1;
        from = at - offset;
    }
    return from;
}

static inline uint32_t find_start(const struct pccl__wayfinder *finder, uint32_t arc, uint32_t from)
{
    const struct pccl__network *network = finder->network;
    uint32_t resource = network->arc_only[arc];
    if (resource == PCCL_NONE) {
        return find_common_start(finder, arc, from);
    }
    return pccl__slots_find(&finder->slots, resource, from, network->hold_slots[network->arc_speed[arc]]);
}

/* How crowded an arc is. */
static uint32_t crowd(const struct pccl__wayfinder *finder, uint32_t arc)
{
    const struct pccl__arcs *arcs = &finder->network->arcs;
    uint32_t only = finder->network->arc_only[arc];
    return finder->slots.num_taken[only != PCCL_NONE ? only : arcs->uses[arcs->arcs[arc].first_use].resource];
}

/* Returns whether the arc improves the arrival at its target. Of equal arrivals the first serves or, if asked for, the
 * less crowded arc. */
static bool relax(struct pccl__wayfinder *finder, uint32_t arc, uint32_t from, uint32_t target, bool uncrowded)
{
    uint32_t start = find_start(finder, arc, from);
    uint32_t arrival = start + pccl__network_delay(finder->network, arc);
    bool improves = true;
    if (finder->stamp[target] == finder->search) {
        if (finder->arrival[target] < arrival) {
            return false;
        }
        improves = finder->arrival[target] > arrival;
        if (!improves && (!uncrowded || crowd(finder, finder->via[target]) <= crowd(finder, arc))) {
            return false;
        }
    }
    finder->stamp[target] = finder->search;
    finder->arrival[target] = arrival;
    finder->via[target] = arc;
    finder->start[target] = start;
    return improves;
}

static void begin(struct pccl__wayfinder *finder, uint32_t source)
{
    finder->search++;
    finder->stamp[source] = finder->search;
    finder->arrival[source] = 0;
}

/* --- shortest ways of equal hops: layer by layer ------------------------------------------------------------------ */

static void search_layers(struct pccl__wayfinder *finder, uint32_t source, uint32_t target)
{
    const struct pccl__network *network = finder->network;
    const struct pccl__arcs *arcs = &network->arcs;
    const uint16_t *distance = network->distance + (size_t)target * network->num_devices;
    uint32_t count = 1;
    begin(finder, source);
    finder->layer[0] = source;
    for (uint32_t left = distance[source]; left > 0; left--) {
        uint32_t num_next = 0;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t at = finder->layer[k], from = finder->arrival[at];
            for (uint32_t a = arcs->first_out[at]; a < arcs->first_out[at + 1]; a++) {
                uint32_t next = network->arc_target[a];
                if (distance[next] != left - 1) {
                    continue;
                }
                if (finder->stamp[next] != finder->search) {
                    finder->next_layer[num_next++] = next;
                }
                relax(finder, a, from, next, true);
            }
        }
        uint32_t *swapped = finder->layer;
        finder->layer = finder->next_layer;
        finder->next_layer = swapped;
        count = num_next;
    }
}

/* --- any ways: best first, by arrival plus what is still to go ---------------------------------------------------- */

static void push(struct pccl__wayfinder *finder, uint64_t key)
{
    uint32_t at = finder->heap_size++;
    while (at > 0 && key < finder->heap[(at - 1) / 2]) {
        finder->heap[at] = finder->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    finder->heap[at] = key;
}

static uint64_t pop(struct pccl__wayfinder *finder)
{
    uint64_t top = finder->heap[0], moving = finder->heap[--finder->heap_size];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= finder->heap_size) {
            break;
        }
        if (child + 1 < finder->heap_size && finder->heap[child + 1] < finder->heap[child]) {
            child++;
        }
        if (finder->heap[child] >= moving) {
            break;
        }
        finder->heap[at] = finder->heap[child];
        at = child;
    }
    finder->heap[at] = moving;
    return top;
}

/* Least arrival + distance first; of equal ones, the nearer to the target. */
static uint64_t make_key(const struct pccl__wayfinder *finder, uint32_t device, uint32_t distance)
{
    const struct pccl__network *network = finder->network;
    uint64_t to_go = (uint64_t)distance * (network->uniform ? pccl__network_delay(network, 0) : 1);
    return (finder->arrival[device] + to_go) << 32 | (uint64_t)distance << 16 | device;
}

/* A device is expanded once, so no more keys are pushed than there are arcs. */
static void search_best(struct pccl__wayfinder *finder, uint32_t source, uint32_t target, bool detours)
{
    const struct pccl__network *network = finder->network;
    const struct pccl__arcs *arcs = &network->arcs;
    const uint16_t *distance = network->distance + (size_t)target * network->num_devices;
    begin(finder, source);
    finder->heap_size = 0;
    push(finder, make_key(finder, source, distance[source]));
    while (finder->heap_size > 0) {
        uint32_t at = (uint32_t)(pop(finder) & 0xffff);
        if (at == target) {
            break;
        }
        if (finder->closed[at] == finder->search) {
            continue;
        }
        finder->closed[at] = finder->search;
        for (uint32_t a = arcs->first_out[at]; a < arcs->first_out[at + 1]; a++) {
            uint32_t next = network->arc_target[a];
            if (distance[next] == PCCL__NO_WAY || finder->closed[next] == finder->search ||
                (!detours && distance[next] + network->arc_cost[a] != distance[at])) {
                continue;
            }
            if (relax(finder, a, finder->arrival[at], next, false)) {
                push(finder, make_key(finder, next, distance[next]));
            }
        }
    }
}

/* --- from many to the first of many: by arrival alone ------------------------------------------------------------- */

/* Returns the device reached or PCCL_NONE. */
static uint32_t search_nearest(struct pccl__wayfinder *finder, const struct pccl__holders *holders, const bool *wanted)
{
    const struct pccl__network *network = finder->network;
    const struct pccl__arcs *arcs = &network->arcs;
    finder->search++;
    finder->heap_size = 0;
    for (uint32_t i = 0; i < holders->num_devices; i++) {
        uint32_t device = holders->devices[i];
        finder->stamp[device] = finder->search;
        finder->arrival[device] = holders->since[device];
        push(finder, make_key(finder, device, 0));
    }
    while (finder->heap_size > 0) {
        uint32_t at = (uint32_t)(pop(finder) & 0xffff);
        if (wanted[at]) {
            return at;
        }
        if (finder->closed[at] == finder->search) {
            continue;
        }
        finder->closed[at] = finder->search;
        for (uint32_t a = arcs->first_out[at]; a < arcs->first_out[at + 1]; a++) {
            uint32_t next = network->arc_target[a];
            if (holders->since[next] == PCCL_NONE && finder->closed[next] != finder->search &&
                relax(finder, a, finder->arrival[at], next, true)) {
                push(finder, make_key(finder, next, 0));
            }
        }
    }
    return PCCL_NONE;
}

/* --- the way itself ----------------------------------------------------------------------------------------------- */

/* Writes down the hops by which `target` was reached, from the source or, if since is given, from a holder on. */
static void trace(struct pccl__wayfinder *finder, uint32_t target, const uint32_t *since, uint32_t source)
{
    uint32_t count = 0;
    for (uint32_t at = target; since != NULL ? since[at] == PCCL_NONE : at != source;
         at = finder->network->arcs.arcs[finder->via[at]].source) {
        finder->hops[count++] = (struct pccl__hop){finder->via[at], finder->start[at]};
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        struct pccl__hop swapped = finder->hops[i];
        finder->hops[i] = finder->hops[count - 1 - i];
        finder->hops[count - 1 - i] = swapped;
    }
    finder->num_hops = count;
}

int pccl__wayfinder_search(struct pccl__wayfinder *finder, uint32_t source, uint32_t target, bool detours)
{
    if (pccl__network_distance(finder->network, source, target) == PCCL__NO_WAY) {
        return PCCL_ERR_UNREACHABLE;
    }
    if (finder->network->uniform && !detours) {
        search_layers(finder, source, target);
    } else {
        search_best(finder, source, target, detours);
    }
    trace(finder, target, NULL, source);
    return 0;
}

int pccl__wayfinder_search_nearest(struct pccl__wayfinder *finder, const struct pccl__holders *holders,
                                   const bool *wanted)
{
    uint32_t target = search_nearest(finder, holders, wanted);
    if (target == PCCL_NONE) {
        return PCCL_ERR_UNREACHABLE;
    }
    trace(finder, target, holders->since, PCCL_NONE);
    return 0;
}

static int take_hop(struct pccl__wayfinder *finder, const struct pccl__hop *hop)
{
    const struct pccl__network *network = finder->network;
    const struct pccl__arc *arc = &network->arcs.arcs[hop->arc];
    int status = 0;
    for (uint32_t u = arc->first_use; u < arc->first_use + arc->num_uses && status == 0; u++) {
        status = pccl__slots_take(&finder->slots, network->arcs.uses[u].resource, hop->start + network->use_offset[u],
                                  pccl__network_hold(network, u));
    }
    return status;
}

int pccl__wayfinder_take_arc(struct pccl__wayfinder *finder, uint32_t arc, uint32_t from, uint32_t *start)
{
    *start = find_start(finder, arc, from);
    return take_hop(finder, &(struct pccl__hop){arc, *start});
}

int pccl__wayfinder_take(struct pccl__wayfinder *finder)
{
    int status = 0;
    for (uint32_t i = 0; i < finder->num_hops && status == 0; i++) {
        status = take_hop(finder, &finder->hops[i]);
    }
    return status;
}
