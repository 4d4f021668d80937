#include "algorithms/pricing.h"

#include <stdlib.h>

#include "base/array.h"

#define IDLE_PRICE 2 /* of a slot of a resource that nothing occupies */
#define FULL 1024     /* what the price of the busiest resource is above that */

int pccl__pricing_create(struct pccl__pricing *pricing, const struct pccl__network *network)
{
    uint32_t num_resources = network->arcs.num_resources, n = network->num_devices;
    *pricing = (struct pccl__pricing){.network = network};
    pricing->load = pccl__array_new(num_resources, sizeof *pricing->load);
    pricing->price = pccl__array_new(num_resources, sizeof *pricing->price);
    pricing->cost = pccl__array_new(n, sizeof *pricing->cost);
    pricing->via = pccl__array_new(n, sizeof *pricing->via);
    pricing->settled = pccl__array_new(n, sizeof *pricing->settled);
    pricing->heap = pccl__array_new((size_t)network->arcs.num_arcs + n, sizeof *pricing->heap);
    if (pricing->load == NULL || pricing->price == NULL || pricing->cost == NULL || pricing->via == NULL ||
        pricing->settled == NULL || pricing->heap == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t r = 0; r < num_resources; r++) {
        pricing->price[r] = IDLE_PRICE;
    }
    return 0;
}

void pccl__pricing_free(struct pccl__pricing *pricing)
{
    free(pricing->load);
    free(pricing->price);
    free(pricing->cost);
    free(pricing->via);
    free(pricing->settled);
    free(pricing->heap);
    *pricing = (struct pccl__pricing){0};
}

/* The fourth power of the load: flat where there is room, steep near the busiest. */
static void set_price(struct pccl__pricing *pricing, uint32_t resource)
{
    uint64_t share = pricing->most > 0 ? pricing->load[resource] * FULL / pricing->most : 0;
    uint64_t square = share * share / FULL;
    pricing->price[resource] = IDLE_PRICE + square * square / FULL;
}

void pccl__pricing_add(struct pccl__pricing *pricing, uint32_t arc)
{
    const struct pccl__arc *about = &pricing->network->arcs.arcs[arc];
    for (uint32_t u = about->first_use; u < about->first_use + about->num_uses; u++) {
        uint32_t resource = pricing->network->arcs.uses[u].resource;
        pricing->load[resource] += pccl__network_hold(pricing->network, u);
        pricing->most = pricing->load[resource] > pricing->most ? pricing->load[resource] : pricing->most;
        set_price(pricing, resource);
    }
}

void pccl__pricing_remove(struct pccl__pricing *pricing, uint32_t arc)
{
    const struct pccl__arc *about = &pricing->network->arcs.arcs[arc];
    for (uint32_t u = about->first_use; u < about->first_use + about->num_uses; u++) {
        uint32_t resource = pricing->network->arcs.uses[u].resource;
        pricing->load[resource] -= pccl__network_hold(pricing->network, u);
        set_price(pricing, resource);
    }
}

/* --- the search --------------------------------------------------------------------------------------------------- */

static bool precedes(const struct pccl__way_end *a, const struct pccl__way_end *b)
{
    return a->cost != b->cost ? a->cost < b->cost : a->device < b->device;
}

static void push(struct pccl__pricing *pricing, uint64_t cost, uint32_t device)
{
    struct pccl__way_end *heap = pricing->heap, moving = {cost, device};
    uint32_t at = pricing->heap_size++;
    while (at > 0 && precedes(&moving, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moving;
}

static struct pccl__way_end pop(struct pccl__pricing *pricing)
{
    struct pccl__way_end *heap = pricing->heap, top = heap[0], moving = heap[--pricing->heap_size];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < pricing->heap_size) {
        child += child + 1 < pricing->heap_size && precedes(&heap[child + 1], &heap[child]);
        if (!precedes(&heap[child], &moving)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
    return top;
}

static uint64_t arc_price(const struct pccl__pricing *pricing, uint32_t arc)
{
    const struct pccl__arc *about = &pricing->network->arcs.arcs[arc];
    uint64_t price = 1; /* even an arc that occupies nothing takes a message */
    for (uint32_t u = about->first_use; u < about->first_use + about->num_uses; u++) {
        price += pricing->price[pricing->network->arcs.uses[u].resource] * pccl__network_hold(pricing->network, u);
    }
    return price;
}

/* Follows the arcs back to a holder and turns them round. */
static uint32_t trace(const struct pccl__pricing *pricing, const struct pccl__holders *holders, uint32_t target,
                      uint32_t *arcs)
{
    uint32_t count = 0;
    for (uint32_t at = target; holders->since[at] == PCCL_NONE;
         at = pricing->network->arcs.arcs[pricing->via[at]].source) {
        arcs[count++] = pricing->via[at];
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t swapped = arcs[i];
        arcs[i] = arcs[count - 1 - i];
        arcs[count - 1 - i] = swapped;
    }
    return count;
}

uint32_t pccl__pricing_search(struct pccl__pricing *pricing, const struct pccl__holders *holders, const bool *wanted,
                              uint32_t *arcs)
{
    const struct pccl__network *network = pricing->network;
    pricing->heap_size = 0;
    pricing->search += 2; /* settled: the search itself; reached: one less */
    for (uint32_t i = 0; i < holders->num_devices; i++) {
        pricing->cost[holders->devices[i]] = 0;
        pricing->settled[holders->devices[i]] = pricing->search - 1;
        push(pricing, 0, holders->devices[i]);
    }
    while (pricing->heap_size > 0) {
        struct pccl__way_end end = pop(pricing);
        if (wanted[end.device]) {
            return trace(pricing, holders, end.device, arcs);
        }
        if (pricing->settled[end.device] == pricing->search) {
            continue;
        }
        pricing->settled[end.device] = pricing->search;
        for (uint32_t a = network->arcs.first_out[end.device]; a < network->arcs.first_out[end.device + 1]; a++) {
            uint32_t next = network->arc_target[a];
            uint64_t cost = end.cost + arc_price(pricing, a);
            bool reached = pricing->settled[next] + 1 >= pricing->search;
            if (!reached || (pricing->settled[next] != pricing->search && cost < pricing->cost[next])) {
                pricing->settled[next] = pricing->search - 1;
                pricing->cost[next] = cost;
                pricing->via[next] = a;
                push(pricing, cost, next);
            }
        }
    }
    return 0;
}
