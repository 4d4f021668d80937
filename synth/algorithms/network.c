/* Building a network: see network.h. */
#include "algorithms/network.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define MAX_ARCS (1u << 16)
#define MAX_DEVICES 8192
#define MAX_SLOTS_HELD 256 /* by a typical chunk on the slowest link, and by the longest latency */

static int64_t divide_up(int64_t value, int64_t divisor)
{
    return value / divisor + (value % divisor != 0);
}

static uint32_t to_slots(const struct pccl__network *network, int64_t time_ps)
{
    int64_t slots = divide_up(time_ps, network->slot_ps);
    return slots > UINT32_MAX / 8 ? UINT32_MAX / 8 : (uint32_t)slots;
}

void pccl__network_set_bytes(struct pccl__network *network, int64_t bytes)
{
    if (bytes == network->bytes) {
        return;
    }
    network->bytes = bytes;
    for (uint32_t i = 0; i < network->num_speeds; i++) {
        network->hold_slots[i] = to_slots(network, pccl_transfer_ps(bytes, network->speeds[i]));
    }
}

/* --- the length of a slot ------------------------------------------------------------------------------------------- */

/* Whether rounding up to slots lengthens no holding by more than 1 in 50. */
static bool fits(const struct pccl__network *network, int64_t bytes, int64_t slot_ps)
{
    for (uint32_t i = 0; i < network->num_speeds; i++) {
        int64_t hold_ps = pccl_transfer_ps(bytes, network->speeds[i]);
        int64_t rounded_ps = divide_up(hold_ps, slot_ps) * slot_ps;
        if (rounded_ps - hold_ps > hold_ps / 50) {
            return false;
        }
    }
    return true;
}

/* The shortest holding if the others are multiples of it, else a fraction of it; finer for chunks of unequal sizes; but
 * never so short that holdings and latencies become very many slots. */
static int64_t choose_slot(const struct pccl__network *network, int64_t bytes, bool equal)
{
    int64_t shortest_ps = INT64_MAX, longest_ps = 0, latency_ps = 0;
    for (uint32_t i = 0; i < network->num_speeds; i++) {
        int64_t hold_ps = pccl_transfer_ps(bytes, network->speeds[i]);
        shortest_ps = hold_ps > 0 && hold_ps < shortest_ps ? hold_ps : shortest_ps;
        longest_ps = hold_ps > longest_ps ? hold_ps : longest_ps;
    }
    for (uint32_t a = 0; a < network->arcs.num_arcs; a++) {
        int64_t ps = network->arcs.arcs[a].latency_ps;
        latency_ps = ps > latency_ps ? ps : latency_ps;
    }
    int64_t slot_ps = longest_ps / MAX_SLOTS_HELD;
    if (longest_ps > 0) {
        int64_t k = equal ? 1 : 16;
        while (k < 8 && !fits(network, bytes, divide_up(shortest_ps, k))) {
            k++;
        }
        int64_t fraction_ps = divide_up(shortest_ps, k);
        slot_ps = slot_ps > fraction_ps ? slot_ps : fraction_ps;
    }
    slot_ps = slot_ps > latency_ps / MAX_SLOTS_HELD ? slot_ps : latency_ps / MAX_SLOTS_HELD;
    return slot_ps > 0 ? slot_ps : 1;
}

/* --- costs ---------------------------------------------------------------------------------------------------------- */

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
        network->arc_only[a] = arc->num_uses == 1 ? arcs->uses[arc->first_use].resource : PCCL_NONE;
        network->arc_speed[a] = find_speed(network, arc->slowest_ps_per_mib);
    }
}

static void set_costs(struct pccl__network *network)
{
    const struct pccl__arcs *arcs = &network->arcs;
    for (uint32_t i = 0; i < arcs->num_uses; i++) {
        int64_t offset_ps = arcs->uses[i].offset_ps + network->slot_ps / 2;
        network->use_offset[i] = (uint32_t)(offset_ps / network->slot_ps);
        network->use_fixed[i] = to_slots(network, arcs->uses[i].fixed_ps);
    }
    network->uniform = true;
    for (uint32_t a = 0; a < arcs->num_arcs; a++) {
        network->arc_latency[a] = to_slots(network, arcs->arcs[a].latency_ps);
        network->arc_cost[a] = pccl__network_delay(network, a);
        network->uniform = network->uniform && network->arc_cost[a] == network->arc_cost[0];
    }
    for (uint32_t a = 0; a < arcs->num_arcs && network->uniform; a++) {
        network->arc_cost[a] = 1;
    }
}

/* --- distances ------------------------------------------------------------------------------------------------------ */

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

/* Label correcting with a queue; with equal costs every device enters it once. Returns false if a distance is too long. */
static bool measure(const struct pccl__network *network, const struct incoming *incoming, uint32_t target, uint32_t *queue,
                    uint8_t *queued)
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
    if (incoming.first == NULL || incoming.arcs == NULL || queue == NULL || queued == NULL || network->distance == NULL) {
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

/* --- all of it ------------------------------------------------------------------------------------------------------- */

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
        network->arc_only == NULL || network->arc_speed == NULL || network->arc_latency == NULL || network->arc_cost == NULL) {
        return pccl__fail_memory(error);
    }
    list_speeds(network);
    network->slot_ps = choose_slot(network, bytes, equal);
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
