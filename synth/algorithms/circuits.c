/* Circuits: see circuits.h. First fit over slots of model time, then improvement of what ends last. */
#include "algorithms/circuits.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/random.h"

/* --- slots of a way ----------------------------------------------------------------------------------------------- */

/* The first slot >= from in which all links are free, for messages of one slot. */
static uint32_t first_common_slot(const struct pccl__circuits *all, const uint32_t *links, uint32_t count)
{
    const struct pccl__slots *slots = &all->slots;
    uint32_t from = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t free = slots->first_free[all->topology->links[links[i]].capacity];
        from = free > from ? free : from;
    }
    uint64_t before = (UINT64_C(1) << (from % 64)) - 1;
    for (size_t w = from / 64; w < slots->stride; w++, before = 0) {
        uint64_t taken = before;
        for (uint32_t i = 0; i < count && taken != UINT64_MAX; i++) {
            taken |= slots->words[all->topology->links[links[i]].capacity * slots->stride + w];
        }
        if (taken != UINT64_MAX) {
            return (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(~taken);
        }
    }
    return (uint32_t)(slots->stride * 64 > from ? slots->stride * 64 : from);
}

/* Resources of a message besides its links. */
struct cpu {
    uint32_t resource, slots;
};

/* To the nearest: an overhead that is short beside a slot is no bottleneck. */
static uint32_t overhead_slots(const struct pccl__circuits *all, int64_t overhead_ps)
{
    return (uint32_t)((overhead_ps + all->slot_ps / 2) / all->slot_ps);
}

static struct cpu sender_cpu(const struct pccl__circuits *all, uint32_t link)
{
    uint32_t device = all->topology->links[link].source;
    return (struct cpu){all->topology->num_capacities + device,
                        overhead_slots(all, all->topology->vertices[device].send_overhead_ps)};
}

static struct cpu receiver_cpu(const struct pccl__circuits *all, uint32_t link)
{
    uint32_t device = all->topology->links[link].target;
    return (struct cpu){all->topology->num_capacities + all->topology->num_devices + device,
                        overhead_slots(all, all->topology->vertices[device].receive_overhead_ps)};
}

/* The first slot from which everything is free as long as it is held. Latencies are left out: they delay all alike. */
static uint32_t first_fitting_slot(const struct pccl__circuits *all, const uint32_t *links, uint32_t count)
{
    struct cpu sender = sender_cpu(all, links[0]), receiver = receiver_cpu(all, links[count - 1]);
    uint32_t from = 0, agreed = 0;
    for (uint32_t i = 0; agreed < count + 2; i = i < count + 1 ? i + 1 : 0) {
        uint32_t at;
        if (i < count) {
            at = pccl__slots_find(&all->slots, all->topology->links[links[i]].capacity, from,
                                  all->hold_slots[all->link_speed[links[i]]]);
        } else {
            const struct cpu *cpu = i == count ? &sender : &receiver;
            at = pccl__slots_find(&all->slots, cpu->resource, from, cpu->slots);
        }
        agreed = at == from ? agreed + 1 : 1;
        from = at;
    }
    return from;
}

/* Takes what a circuit needs from its slot on. */
static int take_slots(struct pccl__circuits *all, const struct pccl__circuit *circuit)
{
    const uint32_t *links = all->pool + circuit->first;
    int status = 0;
    all->num_slots = circuit->slot >= all->num_slots ? circuit->slot + 1 : all->num_slots;
    for (uint32_t i = 0; i < circuit->count && status == 0; i++) {
        status = pccl__slots_take(&all->slots, all->topology->links[links[i]].capacity, circuit->slot,
                                  all->hold_slots[all->link_speed[links[i]]]);
    }
    if (!all->unit && status == 0) {
        struct cpu sender = sender_cpu(all, links[0]), receiver = receiver_cpu(all, links[circuit->count - 1]);
        status = pccl__slots_take(&all->slots, sender.resource, circuit->slot, sender.slots);
        if (status == 0) {
            status = pccl__slots_take(&all->slots, receiver.resource, circuit->slot, receiver.slots);
        }
    }
    return status;
}

void pccl__circuits_set_bytes(struct pccl__circuits *all, int64_t bytes)
{
    for (uint32_t i = 0; i < all->num_speeds && bytes != all->bytes; i++) {
        all->hold_slots[i] = pccl__slots_count(pccl_transfer_ps(bytes, all->speeds[i]), all->slot_ps);
    }
    all->bytes = bytes;
}

/* Finds the ways of a circuit's chunk. */
int pccl__circuits_find_ways(struct pccl__circuits *all, uint32_t chunk)
{
    const uint32_t *devices = all->demand->devices;
    int status = pccl__ways_find(&all->ways, devices[pccl__circuit_source(all, chunk)],
                                 devices[pccl__circuit_target(all, chunk)]);
    return status != 0 ? status : all->ways.num_ways == 0 ? PCCL_ERR_UNREACHABLE : 0;
}

void pccl__circuits_set_way(struct pccl__circuits *all, struct pccl__circuit *circuit, uint32_t number)
{
    circuit->count = all->ways.counts[number];
    memcpy(all->pool + circuit->first, pccl__way(&all->ways, number), circuit->count * sizeof *all->pool);
}

/* --- first fit ---------------------------------------------------------------------------------------------------- */

static uint32_t first_slot(const struct pccl__circuits *all, const uint32_t *links, uint32_t count)
{
    return all->unit ? first_common_slot(all, links, count) : first_fitting_slot(all, links, count);
}

static int choose_slot(struct pccl__circuits *all, struct pccl__circuit *circuit)
{
    pccl__circuits_set_bytes(all, all->demand->chunks[circuit->chunk].bytes);
    circuit->slot = UINT32_MAX;
    if (all->settled || all->ways.routed) {
        circuit->slot = first_slot(all, all->pool + circuit->first, circuit->count);
    } else {
        int status = pccl__circuits_find_ways(all, circuit->chunk);
        if (status != 0) {
            return status;
        }
        uint32_t num_ways = all->ways.num_ways, best = 0;
        uint32_t start =
            (pccl__circuit_source(all, circuit->chunk) + pccl__circuit_target(all, circuit->chunk)) % num_ways;
        for (uint32_t k = 0; k < num_ways; k++) {
            uint32_t number = (start + k) % num_ways;
            uint32_t slot = first_slot(all, pccl__way(&all->ways, number), all->ways.counts[number]);
            best = slot < circuit->slot ? number : best;
            circuit->slot = slot < circuit->slot ? slot : circuit->slot;
        }
        pccl__circuits_set_way(all, circuit, best);
    }
    return take_slots(all, circuit);
}

static int choose_all(struct pccl__circuits *all)
{
    bool folded = all->problem->variant == PCCL__CIRCUITS_FOLDED;
    int status = folded ? pccl__circuits_fold(all) : pccl__circuits_settle(all);
    for (int choosing = !folded; choosing < 2; choosing++) {
        for (uint32_t i = 0; i < all->num_circuits && status == 0; i++) {
            struct pccl__circuit *circuit = &all->circuits[i];
            bool open = !folded || circuit->slot == UINT32_MAX;
            if (choosing && open) {
                status = choose_slot(all, circuit);
            } else if (!choosing && !open) {
                status = take_slots(all, circuit);
            }
        }
    }
    return status;
}

/* --- the order in which chunks choose ----------------------------------------------------------------------------- */

struct turn {
    uint32_t major, minor, chunk;
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    if (left->major != right->major) {
        return left->major < right->major ? -1 : 1;
    }
    if (left->minor != right->minor) {
        return left->minor < right->minor ? -1 : 1;
    }
    return left->chunk < right->chunk ? -1 : left->chunk > right->chunk;
}

static int order_circuits(struct pccl__circuits *all)
{
    struct turn *turns = pccl__array_new(all->num_circuits, sizeof *turns);
    struct pccl__random random = {all->problem->options.seed};
    uint32_t n = all->problem->num_ranks;
    int status = turns != NULL ? 0 : PCCL_ERR_MEMORY;
    for (uint32_t i = 0; i < all->num_circuits && status == 0; i++) {
        uint32_t chunk = all->circuits[i].chunk;
        uint32_t source = pccl__circuit_source(all, chunk), target = pccl__circuit_target(all, chunk);
        turns[i] = (struct turn){(target + n - source) % n, source, chunk};
        if (all->problem->variant == PCCL__CIRCUITS_LONGEST) {
            status = pccl__circuits_find_ways(all, chunk);
            turns[i].major = UINT32_MAX - all->ways.counts[0];
            turns[i].minor = (uint32_t)pccl__random_next(&random);
        }
    }
    if (status == 0) {
        qsort(turns, all->num_circuits, sizeof *turns, compare_turns);
        for (uint32_t i = 0; i < all->num_circuits; i++) {
            all->circuits[i].chunk = turns[i].chunk;
        }
    }
    free(turns);
    return status;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

/* Lists the chunks that are not at their target. Returns false if a chunk has several sources or targets. */
static bool list_circuits(struct pccl__circuits *all)
{
    const struct pccl_demand *demand = all->demand;
    int64_t smallest_bytes = INT64_MAX;
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        if (demand->chunks[c].num_sources != 1 || demand->chunks[c].num_targets > 1) {
            return false;
        }
        if (demand->chunks[c].num_targets == 0 || pccl__circuit_source(all, c) == pccl__circuit_target(all, c)) {
            continue;
        }
        int64_t bytes = demand->chunks[c].bytes;
        smallest_bytes = bytes < smallest_bytes ? bytes : smallest_bytes;
        all->largest_bytes = bytes > all->largest_bytes ? bytes : all->largest_bytes;
        all->circuits[all->num_circuits++].chunk = c;
    }
    all->equal = smallest_bytes >= all->largest_bytes - 1;
    return true;
}

static void measure_links(struct pccl__circuits *all)
{
    const struct pccl_topology *topology = all->topology;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        uint32_t i = 0;
        while (i < all->num_speeds && all->speeds[i] != topology->links[l].ps_per_mib) {
            i++;
        }
        all->speeds[i] = topology->links[l].ps_per_mib;
        all->num_speeds = i == all->num_speeds ? i + 1 : all->num_speeds;
        all->link_speed[l] = i;
    }
    int64_t overhead_ps = 0;
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        const struct pccl_vertex *device = &topology->vertices[d];
        overhead_ps = device->send_overhead_ps > overhead_ps ? device->send_overhead_ps : overhead_ps;
        overhead_ps = device->receive_overhead_ps > overhead_ps ? device->receive_overhead_ps : overhead_ps;
    }
    all->slot_ps = pccl__slots_length(all->speeds, all->num_speeds, overhead_ps, all->largest_bytes, all->equal);
    pccl__circuits_set_bytes(all, all->largest_bytes);
    all->unit = all->equal;
    for (uint32_t i = 0; i < all->num_speeds; i++) {
        all->unit = all->unit && all->hold_slots[i] == 1;
    }
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        const struct pccl_vertex *device = &topology->vertices[d];
        all->unit = all->unit && overhead_slots(all, device->send_overhead_ps) == 0 &&
                    overhead_slots(all, device->receive_overhead_ps) == 0;
    }
}

static int open_circuits(struct pccl__circuits *all, struct pccl_error *error)
{
    const struct pccl_topology *topology = all->topology;
    all->bytes = -1;
    all->circuits = pccl__array_new(all->demand->num_chunks, sizeof *all->circuits);
    all->speeds = pccl__array_new((size_t)topology->num_links + 1, sizeof *all->speeds);
    all->link_speed = pccl__array_new(topology->num_links, sizeof *all->link_speed);
    all->load = pccl__array_new(topology->num_links, sizeof *all->load);
    all->price = pccl__array_new(topology->num_links, sizeof *all->price);
    all->hold_slots = pccl__array_new((size_t)topology->num_links + 1, sizeof *all->hold_slots);
    if (all->circuits == NULL || all->speeds == NULL || all->link_speed == NULL || all->hold_slots == NULL ||
        all->load == NULL || all->price == NULL) {
        return pccl__fail_memory(error);
    }
    if (!list_circuits(all)) {
        return pccl__reject(error, "only for chunks with one source and one target");
    }
    measure_links(all);
    bool routed = topology->routing != PCCL_ROUTING_NONE && !all->problem->request->relays;
    uint32_t num_resources = topology->num_capacities + 2 * topology->num_devices;
    if (pccl__ways_create(topology, routed, &all->ways) != 0 ||
        pccl__slots_create(&all->slots, num_resources, all->problem->num_ranks) != 0) {
        return pccl__fail_memory(error);
    }
    return 0;
}

static void close_circuits(struct pccl__circuits *all)
{
    pccl__ways_free(&all->ways);
    pccl__slots_free(&all->slots);
    free(all->circuits);
    free(all->pool);
    free(all->speeds);
    free(all->link_speed);
    free(all->hold_slots);
    free(all->load);
    free(all->price);
}

/* Messages in order of their slots; within one, in the order in which they chose. */
static int write_messages(struct pccl__circuits *all)
{
    int status = 0;
    for (uint32_t i = 0; i < all->num_circuits && status == 0; i++) {
        const struct pccl__circuit *circuit = &all->circuits[i];
        uint32_t path = pccl_schedule_path(all->schedule, all->topology, all->pool + circuit->first, circuit->count);
        status = path == PCCL_NONE ? PCCL_ERR_MEMORY
                                   : pccl_schedule_add(all->schedule, circuit->slot, path, false, &circuit->chunk, 1);
    }
    return status == 0 ? pccl_schedule_seal(all->schedule) : status;
}

int pccl__circuits_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                             struct pccl_error *error)
{
    struct pccl__circuits all = {.problem = problem, .topology = problem->topology};
    bool switched = problem->topology->num_vertices > problem->topology->num_devices;
    if (problem->variant == PCCL__CIRCUITS_FOLDED && !switched) {
        return pccl__reject(error, "only for devices at switches");
    }
    int status = pccl__schedule_begin(problem, pieces, &all.schedule, error);
    if (status != 0) {
        return status;
    }
    all.demand = all.schedule->demand;
    status = open_circuits(&all, error);
    if (status == 0) {
        status = order_circuits(&all);
        status = status == 0 ? choose_all(&all) : status;
        status = status == 0 && all.unit ? pccl__circuits_improve(&all) : status;
        status = status == 0 ? write_messages(&all) : status;
        if (status == PCCL_ERR_UNREACHABLE) {
            status = pccl__reject(error, "some chunk cannot reach its target in one message");
        } else if (status == PCCL_ERR_OVERFLOW) {
            status = pccl__reject(error, "sizes of chunks differ too much");
        } else if (status == PCCL_ERR_UNSUPPORTED) {
            pccl__reject(error, "only between all devices, as many at each switch, where switches look alike");
        } else if (status == PCCL_ERR_MEMORY) {
            pccl__fail_memory(error);
        }
    }
    close_circuits(&all);
    if (status != 0) {
        pccl_schedule_free(all.schedule);
        return status;
    }
    *schedule = all.schedule;
    return 0;
}
