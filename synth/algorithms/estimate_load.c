/* Forecasts of methods that are limited by what all their messages together put on links and CPUs, and the least
 * time that any method needs. */
#include <stddef.h>

#include "algorithms/lines.h"
#include "algorithms/matching.h"
#include "algorithms/meter.h"
#include "algorithms/multicast.h"
#include "algorithms/portfolio.h"

#define UNHURRIED_RANKS 32
#define FIRST_USE_RANKS 17
#define UNMADE_RANKS 64 /* in larger groups few candidates are made */
#define FIRST_USE_WORK 65536 /* arcs or links times chunks */
#define MOST_NEAR_WORK (UINT64_C(1) << 22) /* the same in large groups where all pairs are arcs, with any effort */
#define CAST_WORK 32 /* chunks whose work one chunk makes that starts at a single device */
#define MOST_HOPS (UINT64_C(1) << 28) /* messages that fit into memory */

/* First use, and free to choose another method. */
static bool is_hurried(const struct pccl__problem *problem)
{
    return problem->options.effort != PCCL_EFFORT_THOROUGH && problem->options.method == NULL;
}

static bool take_sample(struct pccl__meter *meter, struct pccl__sample *sample)
{
    int64_t n = meter->problem->num_ranks, count = 0, links = 0;
    struct pccl__volley all = {0};
    for (uint32_t distance = 1; distance < n; distance *= 2, count++) {
        struct pccl__volley volley;
        if (!pccl__meter_shift(meter, distance, &volley)) {
            return false;
        }
        sample->rounds_ps_per_mib = pccl__add_ps(sample->rounds_ps_per_mib, volley.load_ps_per_mib);
        sample->fixed_ps = volley.fixed_ps > sample->fixed_ps ? volley.fixed_ps : sample->fixed_ps;
    }
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        for (uint32_t v = 0; v < n; v++) {
            uint32_t from = meter->order[(v + distance) % n], to = meter->order[v];
            links += pccl__route(meter->problem, from, to)->num_links;
            pccl__meter_message(meter, &all, from, to);
        }
    }
    pccl__meter_end(meter);
    sample->rounds_ps_per_mib = pccl__times_ps(sample->rounds_ps_per_mib, n - 1) / count;
    sample->total_ps_per_mib = pccl__times_ps(all.load_ps_per_mib, n - 1) / count;
    sample->meets = all.meets;
    sample->links = links * (n - 1) / (n * count);
    return true;
}

/* NULL when out of memory, or if a pair has no route. */
static const struct pccl__sample *find_sample(const struct pccl__problem *problem)
{
    struct pccl__sample *sample =
        &pccl__problem_memo(problem)->samples[PCCL__VARIANT_ORDER(problem->variant)];
    if (!sample->taken) {
        struct pccl__meter meter;
        *sample = (struct pccl__sample){.taken = true};
        sample->complete = pccl__meter_open(&meter, problem) && take_sample(&meter, sample);
        pccl__meter_close(&meter);
    }
    return sample->complete ? sample : NULL;
}

/* What the busiest link has to carry, as sampled; in an all-to-all on a mesh at least what crosses the middle. */
static int64_t find_transfer_ps(const struct pccl__problem *problem, int64_t ps_per_mib)
{
    int64_t transfer = pccl_transfer_ps(pccl__meter_block(problem), ps_per_mib);
    int64_t middle = problem->collective == PCCL_ALLTOALL ? pccl__lines_load_ps(problem) : 0;
    return middle > transfer ? middle : transfer;
}

/* Rounds overlap, so what counts is the busiest resource over all of them. */
int64_t pccl__estimate_spread(const struct pccl__problem *problem, uint32_t pieces)
{
    const struct pccl__sample *sample = find_sample(problem);
    if (sample == NULL || (uint64_t)sample->links * problem->num_ranks > MOST_HOPS) { /* the routes of all pairs */
        return -1;
    }
    int64_t transfer = find_transfer_ps(problem, sample->rounds_ps_per_mib);
    int64_t busy = pccl__overheads_ps(problem) * (problem->num_ranks - 1) * pieces;
    bool gathers = problem->collective != PCCL_ALLTOALL; /* there, senders change whatever is done */
    transfer = pccl__add_ps(transfer, pccl__handover_ps(gathers && sample->meets, transfer));
    return pccl__meter_gather(problem, pccl__add_ps(sample->fixed_ps, transfer > busy ? transfer : busy));
}

/* Picoseconds that a MiB takes over all links of one direction at a device together; links that share one capacity
 * count once. */
static int64_t device_ps_per_mib(const struct pccl_topology *topology, uint32_t device, bool out)
{
    const uint32_t *first = out ? topology->first_out : topology->first_in;
    const uint32_t *links = out ? topology->out_links : topology->in_links;
    int64_t rate = 0; /* in units of MiB per 2^50 ps, so that links of all speeds add up */
    for (uint32_t i = first[device]; i < first[device + 1]; i++) {
        const struct pccl_link *link = &topology->links[links[i]];
        bool shared = false;
        for (uint32_t j = first[device]; j < i && !shared; j++) {
            shared = topology->links[links[j]].capacity == link->capacity;
        }
        if (link->ps_per_mib == 0) {
            return 0;
        }
        rate += shared ? 0 : (INT64_C(1) << 50) / link->ps_per_mib;
    }
    return rate > 0 ? (INT64_C(1) << 50) / rate : 0;
}

/* Pairs of devices joined by a link or through one switch; through several, all pairs count. */
static uint64_t count_arcs(const struct pccl_topology *topology)
{
    uint64_t arcs = 0;
    for (uint32_t i = 0; i < topology->num_links; i++) {
        const struct pccl_link *link = &topology->links[i];
        bool from_device = link->source < topology->num_devices, to_device = link->target < topology->num_devices;
        if (!from_device && !to_device) {
            return (uint64_t)topology->num_devices * topology->num_devices;
        }
        /* A switch is counted once for each device that sends into it. */
        uint32_t enters = link->target;
        arcs += to_device ? from_device : topology->first_out[enters + 1] - topology->first_out[enters];
    }
    return arcs;
}

/* Bandwidth of the narrowest device, and the way across in hops of a link each. At first use only where arcs are
 * few. */
static bool has_mixed_links(const struct pccl_topology *topology)
{
    for (uint32_t l = 1; l < topology->num_links; l++) {
        if (topology->links[l].ps_per_mib != topology->links[0].ps_per_mib) {
            return true;
        }
    }
    return false;
}

/* What a variant of the matching loses where links differ: the plain ones an eighth or so, since fast links wait for
 * slow ones; the filling one in whole blocks more, but in pieces hardly anything. Only in large groups, where not all
 * of them are made. */
static int64_t matching_loss_ps(const struct pccl__problem *problem, uint32_t pieces, int64_t transfer_ps)
{
    if (problem->num_ranks <= UNMADE_RANKS || !has_mixed_links(problem->topology)) {
        return 0;
    }
    return problem->variant == PCCL__FILLING ? transfer_ps / 4 / pieces / pieces : transfer_ps / 8;
}

int64_t pccl__estimate_matching(const struct pccl__problem *problem, uint32_t pieces)
{
    const struct pccl_topology *topology = problem->topology;
    bool cast = problem->collective == PCCL_BROADCAST || problem->collective == PCCL_REDUCE;
    uint32_t n = problem->num_ranks;
    uint64_t arcs = count_arcs(topology), work = arcs * (cast ? 1 : n) * pieces;
    const struct pccl__route *across = pccl__route(problem, 0, n - 1);
    bool all_are_near = n > FIRST_USE_RANKS && arcs > (uint64_t)n * n / 2;
    if (is_hurried(problem) && (all_are_near || work > FIRST_USE_WORK)) {
        return -1;
    }
    /* Where everybody is everybody's neighbour, simpler methods do as well in a hundredth of the time. */
    uint64_t near_work = arcs * (cast ? CAST_WORK : n) * pieces;
    if (problem->options.method == NULL && n > UNMADE_RANKS && all_are_near && near_work > MOST_NEAR_WORK) {
        return -1;
    }
    int64_t slowest = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        int64_t in = device_ps_per_mib(topology, problem->request->devices[rank], false);
        slowest = in > slowest ? in : slowest;
    }
    int64_t block = cast ? problem->block_bytes : pccl__meter_block(problem);
    int64_t messages = cast ? pieces : (n - 1) * (int64_t)pieces;
    int64_t busy = messages * pccl__overheads_ps(problem);
    int64_t transfer = pccl__times_ps(pccl_transfer_ps(block, slowest), cast ? 1 : n - 1);
    bool meets = !cast && topology->num_vertices > topology->num_devices;
    transfer = pccl__add_ps(transfer, pccl__handover_ps(meets, transfer));
    int64_t one_way = transfer > busy ? transfer : busy;
    one_way = pccl__add_ps(one_way, matching_loss_ps(problem, pieces, transfer));
    if (across != NULL) {
        int64_t piece_ps = pccl_transfer_ps(block / pieces, across->ps_per_mib);
        int64_t way_ps = pccl__times_ps(pccl__add_ps(pccl__overheads_ps(problem), piece_ps), across->num_links);
        way_ps = pccl__add_ps(across->latency_ps, way_ps);
        one_way = cast ? pccl__add_ps(one_way, way_ps) : way_ps > one_way ? way_ps : one_way;
    }
    return problem->collective == PCCL_ALLREDUCE ? pccl__times_ps(one_way, 2) : one_way;
}

/* Made where hardly anything else serves, if asked for, and where time is no concern: there it is as good as the
 * matching, or better if messages are few. */
int64_t pccl__estimate_multicast(const struct pccl__problem *problem, uint32_t pieces)
{
    bool chooses = problem->collective == PCCL_CUSTOM || problem->request->relays;
    bool hurried = problem->options.effort != PCCL_EFFORT_THOROUGH && problem->options.method == NULL;
    if (problem->variant == PCCL__PRICED && (hurried || !chooses)) {
        return -1; /* it takes time, and gains where links have to be chosen */
    }
    if (chooses || problem->options.method != NULL) {
        return 0;
    }
    bool unhurried = problem->options.effort == PCCL_EFFORT_THOROUGH && problem->num_ranks <= UNHURRIED_RANKS;
    return unhurried ? pccl__estimate_matching(problem, pieces) : -1;
}

/* All-to-all as if loads were spread perfectly; where devices relay, every hop costs their CPUs. *hops: sends of all
 * ranks together. Ranks without routes to each other are worth a try through relays: 0. */
static int64_t estimate_exchange_of_all(const struct pccl__problem *problem, uint64_t *hops)
{
    const struct pccl__sample *sample = find_sample(problem);
    *hops = 0;
    if (sample == NULL) {
        return 0;
    }
    bool relays = problem->topology->num_vertices == problem->topology->num_devices;
    int64_t sends = relays ? sample->links : problem->num_ranks - 1;
    int64_t transfer = find_transfer_ps(problem, sample->total_ps_per_mib);
    int64_t busy = pccl__overheads_ps(problem) * sends;
    *hops = (uint64_t)sends * problem->num_ranks;
    return pccl__add_ps(sample->fixed_ps, transfer > busy ? transfer : busy);
}

/* The root's own bandwidth and CPU. */
static int64_t estimate_rooted(const struct pccl__problem *problem, uint32_t pieces)
{
    uint32_t device = problem->request->devices[problem->root], chunks = (problem->num_ranks - 1) * pieces;
    int64_t rate = device_ps_per_mib(problem->topology, device, problem->collective == PCCL_SCATTER);
    int64_t transfer = pccl__times_ps(pccl_transfer_ps(problem->block_bytes, rate), problem->num_ranks - 1);
    int64_t busy = chunks * pccl__overheads_ps(problem);
    return transfer > busy ? transfer : busy;
}

int64_t pccl__estimate_unicast(const struct pccl__problem *problem, uint32_t pieces)
{
    if (problem->collective == PCCL_CUSTOM) {
        return 0;
    }
    if (problem->collective != PCCL_ALLTOALL) {
        return estimate_rooted(problem, pieces);
    }
    uint64_t hops;
    int64_t total = estimate_exchange_of_all(problem, &hops);
    return hops > (is_hurried(problem) ? FIRST_USE_WORK : MOST_HOPS) ? -1 : total;
}

/* Every dimension of two. */
static bool is_cube(const struct pccl_topology *topology)
{
    for (uint32_t d = 0; d < topology->num_dimensions; d++) {
        if (topology->dimensions[d] > 2) {
            return false;
        }
    }
    return true;
}

/* A message for each dimension; on meshes nothing is better but for short messages. On a cube symmetry is. */
int64_t pccl__estimate_lines(const struct pccl__problem *problem, uint32_t pieces)
{
    uint64_t n = problem->num_ranks, messages = n * n * problem->topology->num_dimensions;
    int64_t load = pccl__lines_load_ps(problem);
    (void)pieces;
    bool late = is_hurried(problem) && (messages > FIRST_USE_WORK || is_cube(problem->topology));
    if (load < 0 || late) {
        return -1;
    }
    int64_t busy = pccl__times_ps(pccl__overheads_ps(problem), (int64_t)(messages / n));
    return load > busy ? load : busy;
}

/* The same as unicast; planned for one rank only, so it costs little even where messages are many. */
int64_t pccl__estimate_symmetry(const struct pccl__problem *problem, uint32_t pieces)
{
    uint64_t hops;
    (void)pieces;
    int64_t total = estimate_exchange_of_all(problem, &hops);
    return is_hurried(problem) && hops / 8 > FIRST_USE_WORK ? -1 : total;
}

/* Whole ways collide more than single links, which is how ways look where devices are joined directly. */
int64_t pccl__estimate_circuits(const struct pccl__problem *problem, uint32_t pieces)
{
    uint64_t hops, n = problem->num_ranks;
    if (problem->collective != PCCL_ALLTOALL) {
        return pccl__estimate_unicast(problem, pieces);
    }
    int64_t total = estimate_exchange_of_all(problem, &hops);
    bool collide = problem->topology->num_vertices == problem->topology->num_devices;
    if (is_hurried(problem) && n * n > FIRST_USE_WORK) {
        return -1;
    }
    return collide ? pccl__add_ps(total, total / 4) : total;
}

/* As Bruck, whose rounds it finds where nothing is better; in large groups it takes long to find anything. */
int64_t pccl__estimate_greedy(const struct pccl__problem *problem, uint32_t pieces)
{
    uint64_t n = problem->num_ranks;
    return is_hurried(problem) && 48 * n * n > FIRST_USE_WORK ? -1 : pccl__estimate_exchange(problem, pieces);
}

/* The least time in which the links of one device can take in or give out what they must. */
static int64_t device_floor_ps(const struct pccl__problem *problem, uint32_t rank, int64_t blocks, bool out)
{
    const struct pccl_topology *topology = problem->topology;
    uint32_t device = problem->request->devices[rank];
    const uint32_t *first = out ? topology->first_out : topology->first_in;
    const uint32_t *links = out ? topology->out_links : topology->in_links;
    int64_t fastest = INT64_MAX / 4, count = first[device + 1] - first[device];
    for (uint32_t i = first[device]; i < first[device + 1]; i++) {
        int64_t ps_per_mib = topology->links[links[i]].ps_per_mib;
        fastest = ps_per_mib < fastest ? ps_per_mib : fastest;
    }
    return count > 0 ? pccl__times_ps(pccl_transfer_ps(problem->block_bytes, fastest) / count, blocks) : 0;
}

int64_t pccl__problem_floor_ps(const struct pccl__problem *problem)
{
    int64_t blocks = problem->num_ranks - 1, floor_ps = 0;
    bool rooted = problem->collective == PCCL_GATHER || problem->collective == PCCL_SCATTER;
    if (problem->collective == PCCL_CUSTOM || problem->request->block_bytes != NULL || problem->request->relays) {
        return 0;
    }
    if (problem->collective == PCCL_BROADCAST || problem->collective == PCCL_REDUCE ||
        problem->collective == PCCL_ALLREDUCE || pccl_collective_is_prefix(problem->collective)) {
        blocks = 1;
    }
    bool has_first = pccl_collective_is_rooted(problem->collective) || pccl_collective_is_prefix(problem->collective);
    for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
        if (rooted && rank != problem->root) {
            continue;
        }
        bool out = problem->collective == PCCL_SCATTER || problem->collective == PCCL_REDUCE_SCATTER ||
                   problem->collective == PCCL_REDUCE;
        bool exempt = !rooted && rank == problem->root && has_first;
        int64_t device_ps = exempt ? 0 : device_floor_ps(problem, rank, blocks, out);
        floor_ps = device_ps > floor_ps ? device_ps : floor_ps;
    }
    return floor_ps;
}
