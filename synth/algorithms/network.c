/* Building a network: see network.h. */
#include "algorithms/network.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/slots.h"
#include "base/array.h"
#include "base/error.h"

#define MAX_ARCS (1u << 16)
#define MAX_DEVICES 8192

void pccl__network_set_bytes(struct pccl__network *network, int64_t bytes)
{
    if (bytes == network->bytes) {
        return;
    }
    network->bytes = bytes;
    for (uint32_t i = 0; i < network->num_speeds; i++) {
        network->hold_slots[i] = pccl__slots_count(pccl_transfer_ps(bytes, network->speeds[i]), network->slot_ps);
    }
}

/* --- costs -------------------------------------------------------------------------------------------------------- */

static uint32_t find_speed(struct pccl__network *network, int64_t ps_per_mib)
{
    uint32_t i = 0;
    while (i < network->num_speeds && network->speeds[i] != ps_per_mib) {
        i++;
    }
    if (i == network->num_speeds) {
        network->speeds[network->num_speeds++] = ps_per_mib;
    }
    return i;
}

static void list_speeds(struct pccl__network *network)
{
    const struct pccl__arcs *arcs = &network->arcs;
    for (uint32_t i = 0; i < arcs->num_uses; i++) {
        bool fixed = arcs->uses[i].ps_per_mib == PCCL__FIXED;
        network->use_speed[i] = fixed ? PCCL_NONE : find_speed(network, arcs->uses[i].ps_per_mib);
    }
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        const struct pccl__arc *arc = &arcs->arcs[a];
        network->arc_target[a] = arc->target;
        network->arc_speed[a] = find_speed(network, arc->slowest_ps_per_mib);
    }
}

/* The only resource that an arc occupies for any slot, from its start; PCCL_NONE if there are several. */
static uint32_t find_only(const struct pccl__network *network, const struct pccl__arc *arc)
{
    uint32_t only = PCCL_NONE;
    for (uint32_t u = arc->first_use; u < arc->first_use + arc->num_uses; u++) {
        if (network->use_speed[u] == PCCL_NONE && network->use_fixed[u] == 0) {
            continue;
        }
        if (only != PCCL_NONE || network->use_offset[u] != 0 || network->use_speed[u] == PCCL_NONE) {
            return PCCL_NONE;
        }
        only = network->arcs.uses[u].resource;
    }
    return only;
}

static void set_costs(struct pccl__network *network)
{
    const struct pccl__arcs *arcs = &network->arcs;
    for (uint32_t i = 0; i < arcs->num_uses; i++) {
        int64_t offset_ps = arcs->uses[i].offset_ps + network->slot_ps / 2;
        network->use_offset[i] = (uint32_t)(offset_ps / network->slot_ps);
        int64_t fixed_ps = arcs->uses[i].fixed_ps + network->slot_ps / 2;
        network->use_fixed[i] = (uint32_t)(fixed_ps / network->slot_ps);
    }
    network->uniform = true;
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        network->arc_latency[a] = pccl__slots_count(arcs->arcs[a].latency_ps, network->slot_ps);
        network->arc_cost[a] = pccl__network_delay(network, a);
        network->arc_only[a] = find_only(network, &arcs->arcs[a]);
        network->uniform = network->uniform && network->arc_cost[a] == network->arc_cost[0];
    }
    for (uint32_t a = 0; a < arcs->num_arcs && network->uniform; a++) {
        network->arc_cost[a] = 1;
    }
}

/* --- distances ---------------------------------------------------------------------------------------------------- */

/* Arcs by target, as the distances to a target are found backwards. */
struct incoming {
    uint32_t *first, *arcs;
};

static void list_incoming(const struct pccl__network *network, struct incoming *incoming)
{
    const struct pccl__arcs *arcs = &network->arcs;
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        incoming->first[arcs->arcs[a].target + 1]++;
    }
    for (uint32_t d = 0; d < network->num_devices; d++) {
        incoming->first[d + 1] += incoming->first[d];
    }
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        uint32_t target = arcs->arcs[a].target;
        incoming->arcs[incoming->first[target]++] = a;
    }
    for (uint32_t d = network->num_devices; d > 0; d--) {
        incoming->first[d] = incoming->first[d - 1];
    }
    incoming->first[0] = 0;
}

/* Label correcting with a queue; with equal costs every device enters it once. Returns false if a distance is too
 * long. */
static bool measure(const struct pccl__network *network, const struct incoming *incoming, uint32_t target,
                    uint32_t *queue, uint8_t *queued)
{
    uint16_t *distance = network->distance + (size_t)target * network->num_devices;
    uint32_t head = 0, count = 1, room = network->num_devices;
    memset(distance, 0xff, room * sizeof *distance);
    distance[target] = 0;
    queue[0] = target;
    while (count > 0) {
        uint32_t at = queue[head];
        head = head + 1 < room ? head + 1 : 0;
        count--;
        queued[at] = 0;
        for (uint32_t i = incoming->first[at]; i < incoming->first[at + 1]; i++) {
            uint32_t arc = incoming->arcs[i], from = network->arcs.arcs[arc].source;
            uint64_t through = (uint64_t)distance[at] + network->arc_cost[arc];
            if (through >= PCCL__NO_WAY) {
                return false;
            }
            if (through < distance[from]) {
                distance[from] = (uint16_t)through;
                if (!queued[from]) {
                    queued[from] = 1;
                    queue[(head + count++) % room] = from;
                }
            }
        }
    }
    return true;
}

static int measure_all(struct pccl__network *network, const struct pccl__problem *problem, struct pccl_error *error)
{
    struct incoming incoming = {.first = pccl__array_new((size_t)network->num_devices + 1, sizeof *incoming.first),
                                .arcs = pccl__array_new(network->arcs.num_arcs, sizeof *incoming.arcs)};
    uint32_t *queue = pccl__array_new(network->num_devices, sizeof *queue);
    uint8_t *queued = pccl__array_new(network->num_devices, sizeof *queued);
    network->distance = malloc((size_t)network->num_devices * network->num_devices * sizeof *network->distance);
    int status = 0;
    if (incoming.first == NULL || incoming.arcs == NULL || queue == NULL || queued == NULL ||
        network->distance == NULL) {
        status = pccl__fail_memory(error);
    } else {
        list_incoming(network, &incoming);
        for (uint32_t rank = 0; rank < problem->num_ranks && status == 0; rank++) {
            if (!measure(network, &incoming, problem->request->devices[rank], queue, queued)) {
                status = pccl__reject(error, "costs of links differ too much");
            }
        }
    }
    free(queued);
    free(queue);
    free(incoming.arcs);
    free(incoming.first);
    return status;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int pccl__network_create(const struct pccl__problem *problem, int64_t bytes, bool equal, struct pccl__network *network,
                         struct pccl_error *error)
{
    *network = (struct pccl__network){.num_devices = problem->topology->num_devices, .bytes = -1};
    if (network->num_devices > MAX_DEVICES) {
        return pccl__reject(error, "too many devices for a table of distances");
    }
    int status = pccl__arcs_create(problem, MAX_ARCS, problem->request->relays, &network->arcs, error);
    if (status != 0) {
        return status;
    }
    const struct pccl__arcs *arcs = &network->arcs;
    network->speeds = pccl__array_new((size_t)arcs->num_uses + 1, sizeof *network->speeds);
    network->hold_slots = pccl__array_new((size_t)arcs->num_uses + 1, sizeof *network->hold_slots);
    network->use_speed = pccl__array_new(arcs->num_uses, sizeof *network->use_speed);
    network->use_offset = pccl__array_new(arcs->num_uses, sizeof *network->use_offset);
    network->use_fixed = pccl__array_new(arcs->num_uses, sizeof *network->use_fixed);
    network->arc_target = pccl__array_new(arcs->num_arcs, sizeof *network->arc_target);
    network->arc_only = pccl__array_new(arcs->num_arcs, sizeof *network->arc_only);
    network->arc_speed = pccl__array_new(arcs->num_arcs, sizeof *network->arc_speed);
    network->arc_latency = pccl__array_new(arcs->num_arcs, sizeof *network->arc_latency);
    network->arc_cost = pccl__array_new(arcs->num_arcs, sizeof *network->arc_cost);
    if (network->speeds == NULL || network->hold_slots == NULL || network->use_speed == NULL ||
        network->use_offset == NULL || network->use_fixed == NULL || network->arc_target == NULL ||
        network->arc_only == NULL || network->arc_speed == NULL || network->arc_latency == NULL ||
        network->arc_cost == NULL) {
        return pccl__fail_memory(error);
    }
    list_speeds(network);
    int64_t latency_ps = 0;
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        latency_ps = arcs->arcs[a].latency_ps > latency_ps ? arcs->arcs[a].latency_ps : latency_ps;
    }
    network->slot_ps = pccl__slots_length(network->speeds, network->num_speeds, latency_ps, bytes, equal);
    pccl__network_set_bytes(network, bytes);
    set_costs(network);
    return measure_all(network, problem, error);
}

void pccl__network_free(struct pccl__network *network)
{
    free(network->speeds);
    free(network->hold_slots);
    free(network->use_speed);
    free(network->use_offset);
    free(network->use_fixed);
    free(network->arc_target);
    free(network->arc_only);
    free(network->arc_speed);
    free(network->arc_latency);
    free(network->arc_cost);
    free(network->distance);
    pccl__arcs_free(&network->arcs);
    *network = (struct pccl__network){0};
}
