/* Forecasts of what the algorithms will take. They see distances and the load that a round puts on its busiest link,
 * not how rounds overlap; so they rank candidates, and the simulator decides. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/exchange.h"
#include "algorithms/tree.h"
#include "base/array.h"

#define UNHURRIED_RANKS 32
#define FIRST_USE_MATCHING_WORK 24576 /* links times chunks */

/* What forecasts need to count loads; all arrays zero between rounds. */
struct meter {
    const struct pccl__problem *problem;
    uint32_t *order;   /* [num_ranks] by position */
    int64_t *load;     /* [num_capacities] ps per MiB */
    uint32_t *touched; /* capacities with a load */
    uint32_t num_touched;
};

/* A set of messages at once: time without bytes, and what a MiB in each costs the busiest link. */
struct volley {
    int64_t fixed_ps;
    int64_t load_ps_per_mib;
};

static bool open_meter(struct meter *meter, const struct pccl__problem *problem)
{
    uint32_t capacities = problem->topology->num_capacities;
    *meter = (struct meter){.problem = problem};
    meter->load = pccl__array_new(capacities, sizeof *meter->load);
    meter->order = pccl__array_new((size_t)problem->num_ranks + capacities, sizeof *meter->order);
    if (meter->load == NULL || meter->order == NULL) {
        return false;
    }
    meter->touched = meter->order + problem->num_ranks;
    return pccl__order_make(problem, PCCL__VARIANT_ORDER(problem->variant), meter->order, NULL) == 0;
}

static void close_meter(struct meter *meter)
{
    free(meter->order);
    free(meter->load);
}

/* Adds one message; false if it has no route. */
static bool meter_message(struct meter *meter, struct volley *volley, uint32_t from, uint32_t to)
{
    const struct pccl__route *route = pccl__route(meter->problem, from, to);
    if (route == NULL) {
        return false;
    }
    const uint32_t *links = pccl__route_links(meter->problem, route);
    for (uint32_t i = 0; i < route->num_links; i++) {
        const struct pccl_link *link = &meter->problem->topology->links[links[i]];
        int64_t *load = &meter->load[link->capacity];
        if (*load == 0) {
            meter->touched[meter->num_touched++] = link->capacity;
        }
        *load += link->ps_per_mib > 0 ? link->ps_per_mib : 1;
        volley->load_ps_per_mib = *load > volley->load_ps_per_mib ? *load : volley->load_ps_per_mib;
    }
    int64_t fixed_ps = pccl__message_ps(meter->problem, from, to, 0);
    volley->fixed_ps = fixed_ps > volley->fixed_ps ? fixed_ps : volley->fixed_ps;
    return true;
}

static void end_volley(struct meter *meter)
{
    while (meter->num_touched > 0) {
        meter->load[meter->touched[--meter->num_touched]] = 0;
    }
}

static int64_t volley_ps(const struct volley *volley, int64_t bytes)
{
    return volley->fixed_ps + pccl_transfer_ps(bytes, volley->load_ps_per_mib);
}

/* Round k of a pattern among the first `count` positions. */
static bool meter_round(struct meter *meter, enum pccl__pattern pattern, uint32_t count, uint32_t k,
                        struct volley *volley)
{
    bool complete = true;
    *volley = (struct volley){0};
    for (uint32_t v = 0; v < count && complete; v++) {
        uint32_t peer = pccl__pattern_peer(pattern, count, v, k);
        complete = peer != PCCL_NONE &&
                   (peer == v || meter_message(meter, volley, meter->order[peer], meter->order[v]));
    }
    end_volley(meter);
    return complete;
}

/* Every position hears from the one `distance` further round the ring. */
static bool meter_shift(struct meter *meter, uint32_t distance, struct volley *volley)
{
    bool complete = true;
    uint32_t n = meter->problem->num_ranks;
    *volley = (struct volley){0};
    for (uint32_t v = 0; v < n && complete; v++) {
        complete = meter_message(meter, volley, meter->order[(v + distance) % n], meter->order[v]);
    }
    end_volley(meter);
    return complete;
}

/* Bytes of one block where the collective has n of them. */
static int64_t block_of(const struct pccl__problem *problem)
{
    bool one_block = problem->collective == PCCL_ALLREDUCE || problem->collective == PCCL_BROADCAST ||
                     problem->collective == PCCL_REDUCE;
    return one_block ? (problem->block_bytes + problem->num_ranks - 1) / problem->num_ranks : problem->block_bytes;
}

/* What is to be done around an all-gather that takes gather_ps (see pccl__gatherer_serve). */
static int64_t around_gather(const struct pccl__problem *problem, int64_t gather_ps)
{
    if (gather_ps < 0 || problem->collective == PCCL_ALLGATHER || problem->collective == PCCL_BARRIER ||
        problem->collective == PCCL_REDUCE_SCATTER) {
        return gather_ps;
    }
    if (problem->collective == PCCL_ALLREDUCE) {
        return 2 * gather_ps;
    }
    uint32_t away = problem->root == 0 ? problem->num_ranks - 1 : 0;
    int64_t far = pccl__message_ps(problem, problem->root, away, 0);
    int64_t whole = pccl__message_ps(problem, problem->root, away, problem->block_bytes);
    return gather_ps + whole + (pccl__pattern_rounds(problem->num_ranks) - 1) * far;
}

/* Rounds among `count` positions of an all-gather; the first round carries `bytes`, every other twice the one
 * before. */
static int64_t sum_rounds(struct meter *meter, enum pccl__pattern pattern, uint32_t count, int64_t bytes,
                          int64_t growth)
{
    int64_t sum = 0;
    for (uint32_t k = pccl__pattern_rounds(count); k-- > 0; bytes *= growth) {
        struct volley volley;
        if (!meter_round(meter, pattern, count, k, &volley)) {
            return -1;
        }
        sum += volley_ps(&volley, bytes);
    }
    return sum;
}

int64_t pccl__estimate_exchange(const struct pccl__problem *problem, uint32_t pieces)
{
    struct meter meter;
    (void)pieces;
    int64_t sum = -1;
    if (open_meter(&meter, problem)) {
        enum pccl__pattern pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant);
        sum = sum_rounds(&meter, pattern, problem->num_ranks, block_of(problem), 2);
    }
    close_meter(&meter);
    return around_gather(problem, sum);
}

static uint32_t power_below(uint32_t n)
{
    uint32_t power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

/* Folding costs a message of the whole vector before, and one of fold_bytes after. */
static int64_t estimate_folded(const struct pccl__problem *problem, int64_t round_bytes, int64_t growth, int64_t times,
                               int64_t vector_bytes, int64_t fold_bytes)
{
    struct meter meter;
    int64_t sum = -1;
    if (open_meter(&meter, problem)) {
        enum pccl__pattern pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant);
        sum = times * sum_rounds(&meter, pattern, power_below(problem->num_ranks), round_bytes, growth);
        if (sum >= 0 && power_below(problem->num_ranks) < problem->num_ranks) {
            sum += pccl__message_ps(problem, meter.order[1], meter.order[0], vector_bytes) +
                   pccl__message_ps(problem, meter.order[0], meter.order[1], fold_bytes);
        }
    }
    close_meter(&meter);
    return sum;
}

int64_t pccl__estimate_fold(const struct pccl__problem *problem, uint32_t pieces)
{
    (void)pieces;
    int64_t block = block_of(problem), vector = block * problem->num_ranks;
    bool allreduce = problem->collective == PCCL_ALLREDUCE;
    return estimate_folded(problem, block, 2, allreduce ? 2 : 1, vector, allreduce ? vector : block);
}

int64_t pccl__estimate_vector(const struct pccl__problem *problem, uint32_t pieces)
{
    (void)pieces;
    return estimate_folded(problem, problem->block_bytes, 1, 1, problem->block_bytes, problem->block_bytes);
}

int64_t pccl__estimate_transpose(const struct pccl__problem *problem, uint32_t pieces)
{
    struct meter meter;
    (void)pieces;
    int64_t sum = -1, half = problem->block_bytes * (problem->num_ranks / 2);
    if (open_meter(&meter, problem)) {
        enum pccl__pattern pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant);
        sum = sum_rounds(&meter, pattern, problem->num_ranks, half, 1);
    }
    close_meter(&meter);
    return sum;
}

/* CPU time of one message at both ends together. */
static int64_t overheads_ps(const struct pccl__problem *problem)
{
    const struct pccl_vertex *vertex = &problem->topology->vertices[problem->request->devices[0]];
    return vertex->send_overhead_ps + vertex->receive_overhead_ps;
}

/* Everyone to everyone, sampled at distances 1, 2, 4 ... round the ranks. */
struct sample {
    int64_t fixed_ps;         /* of the farthest */
    int64_t rounds_ps_per_mib; /* what all rounds cost their busiest links, one round after the other */
    int64_t total_ps_per_mib; /* what all rounds together cost the busiest link */
    int64_t links;            /* of all messages of one rank together */
};

static bool take_sample(struct meter *meter, struct sample *sample)
{
    int64_t n = meter->problem->num_ranks, count = 0, links = 0;
    struct volley all = {0};
    *sample = (struct sample){0};
    for (uint32_t distance = 1; distance < n; distance *= 2, count++) {
        struct volley volley;
        if (!meter_shift(meter, distance, &volley)) {
            return false;
        }
        sample->rounds_ps_per_mib += volley.load_ps_per_mib;
        sample->fixed_ps = volley.fixed_ps > sample->fixed_ps ? volley.fixed_ps : sample->fixed_ps;
    }
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        for (uint32_t v = 0; v < n; v++) {
            uint32_t from = meter->order[(v + distance) % n], to = meter->order[v];
            links += pccl__route(meter->problem, from, to)->num_links;
            meter_message(meter, &all, from, to);
        }
    }
    end_volley(meter);
    sample->rounds_ps_per_mib = sample->rounds_ps_per_mib * (n - 1) / count;
    sample->total_ps_per_mib = all.load_ps_per_mib * (n - 1) / count;
    sample->links = links * (n - 1) / (n * count);
    return true;
}

/* Rounds overlap, so what counts is the busiest resource over all of them. */
int64_t pccl__estimate_spread(const struct pccl__problem *problem, uint32_t pieces)
{
    struct meter meter;
    struct sample sample;
    int64_t total = -1;
    if (open_meter(&meter, problem) && take_sample(&meter, &sample)) {
        int64_t transfer = pccl_transfer_ps(block_of(problem), sample.rounds_ps_per_mib);
        int64_t busy = overheads_ps(problem) * (problem->num_ranks - 1) * pieces;
        total = sample.fixed_ps + (transfer > busy ? transfer : busy);
    }
    close_meter(&meter);
    return around_gather(problem, total);
}

/* Either the chain of hops of one piece, or what a link or CPU has to do in all. */
int64_t pccl__estimate_ring(const struct pccl__problem *problem, uint32_t pieces)
{
    struct meter meter;
    struct volley volley;
    int64_t total = -1, hops = problem->num_ranks - 1;
    bool both = PCCL__VARIANT_KIND(problem->variant) == PCCL__BOTH_WAYS;
    if (both && (pieces % 2 != 0 || hops < 2)) {
        return -1;
    }
    if (open_meter(&meter, problem) && meter_shift(&meter, problem->num_ranks - 1, &volley)) {
        int64_t block = block_of(problem), share = (block + pieces - 1) / pieces;
        int64_t chain = hops * volley_ps(&volley, share);
        int64_t transfer = hops * pccl_transfer_ps(both ? (block + 1) / 2 : block, volley.load_ps_per_mib);
        int64_t busy = hops * pieces * overheads_ps(problem), work = transfer > busy ? transfer : busy;
        work += volley_ps(&volley, share);
        total = chain > work ? chain : work;
    }
    close_meter(&meter);
    return around_gather(problem, total);
}

/* The tree's messages one way: the longest way down, and what its busiest link, and its busiest CPU, have to do. */
struct descent {
    int64_t fixed_ps, transfer_ps; /* along the way that takes longest */
    int64_t load_ps_per_mib;
    uint32_t fan_out;
};

/* bytes: what one message carries; by subtree: that times the ranks below it. */
static bool descend(struct meter *meter, const struct pccl__tree *tree, int64_t bytes, bool by_subtree,
                    struct descent *descent)
{
    uint32_t n = tree->num_ranks;
    int64_t *ready = pccl__array_new(2 * (size_t)n, sizeof *ready), *moved = ready != NULL ? ready + n : NULL;
    bool complete = ready != NULL;
    struct volley volley = {0};
    *descent = (struct descent){0};
    for (uint32_t i = 0; i < n && complete; i++) {
        uint32_t rank = tree->preorder[i], fan_out = tree->first_child[rank + 1] - tree->first_child[rank];
        int64_t at = ready[rank], transfer = moved[rank];
        descent->fan_out = fan_out > descent->fan_out ? fan_out : descent->fan_out;
        for (uint32_t c = tree->first_child[rank]; c < tree->first_child[rank + 1] && complete; c++) {
            uint32_t child = tree->children[c];
            const struct pccl__route *route = pccl__route(meter->problem, rank, child);
            complete = route != NULL && meter_message(meter, &volley, rank, child);
            if (complete) {
                transfer += pccl_transfer_ps(by_subtree ? bytes * tree->size[child] : bytes, route->ps_per_mib);
                ready[child] = at + pccl__message_ps(meter->problem, rank, child, 0);
                moved[child] = transfer;
                at += overheads_ps(meter->problem) / 2;
                if (ready[child] + moved[child] > descent->fixed_ps + descent->transfer_ps) {
                    descent->fixed_ps = ready[child];
                    descent->transfer_ps = moved[child];
                }
            }
        }
    }
    descent->load_ps_per_mib = volley.load_ps_per_mib;
    end_volley(meter);
    free(ready);
    return complete;
}

static int64_t forecast_pipeline(const struct pccl__problem *problem, const struct descent *descent, uint32_t pieces)
{
    int64_t piece = pccl_transfer_ps((problem->block_bytes + pieces - 1) / pieces, descent->load_ps_per_mib);
    int64_t busy = descent->fan_out * overheads_ps(problem);
    int64_t follow = (pieces - 1) * (piece > busy ? piece : busy);
    if (PCCL__VARIANT_KIND(problem->variant) == PCCL__TWINS) {
        follow /= 2;
    }
    return descent->fixed_ps + descent->transfer_ps / pieces + follow;
}

int64_t pccl__estimate_tree(const struct pccl__problem *problem, uint32_t pieces)
{
    struct meter meter;
    struct pccl__tree tree = {0};
    struct descent down, parcels;
    int64_t total = -1, block = problem->block_bytes;
    bool has_blocks = problem->collective == PCCL_REDUCE_SCATTER || problem->collective == PCCL_ALLGATHER;
    if (open_meter(&meter, problem) &&
        pccl__tree_make(&tree, problem, (enum pccl__shape)PCCL__VARIANT_KIND(problem->variant), problem->root,
                        meter.order, NULL) == 0 &&
        descend(&meter, &tree, has_blocks ? block * problem->num_ranks : block, false, &down) &&
        descend(&meter, &tree, block, true, &parcels)) {
        int64_t parcels_ps = parcels.fixed_ps + parcels.transfer_ps;
        int64_t down_ps = forecast_pipeline(problem, &down, pieces);
        switch (problem->collective) {
        case PCCL_GATHER:
        case PCCL_SCATTER:
            total = parcels_ps;
            break;
        case PCCL_ALLREDUCE:
            total = 2 * down_ps;
            break;
        case PCCL_BROADCAST:
        case PCCL_REDUCE:
            total = down_ps;
            break;
        default:
            total = down_ps + parcels_ps;
        }
    }
    pccl__tree_free(&tree);
    close_meter(&meter);
    return total;
}

/* Picoseconds that a MiB takes over all links of one direction at a device together; links that share one capacity
 * count once. */
static int64_t device_ps_per_mib(const struct pccl_topology *topology, uint32_t device, bool out)
{
    const uint32_t *first = out ? topology->first_out : topology->first_in;
    const uint32_t *links = out ? topology->out_links : topology->in_links;
    int64_t slowest = 0, count = 0;
    for (uint32_t i = first[device]; i < first[device + 1]; i++) {
        const struct pccl_link *link = &topology->links[links[i]];
        bool shared = false;
        for (uint32_t j = first[device]; j < i && !shared; j++) {
            shared = topology->links[links[j]].capacity == link->capacity;
        }
        count += !shared;
        slowest = link->ps_per_mib > slowest ? link->ps_per_mib : slowest;
    }
    return count > 0 ? slowest / count : 0;
}

/* Bandwidth of the narrowest device, and the way across in hops of a link each. At first use only where devices are
 * joined directly: through switches there are as many arcs as pairs. */
int64_t pccl__estimate_matching(const struct pccl__problem *problem, uint32_t pieces)
{
    const struct pccl_topology *topology = problem->topology;
    bool cast = problem->collective == PCCL_BROADCAST || problem->collective == PCCL_REDUCE;
    uint32_t n = problem->num_ranks;
    uint64_t work = (uint64_t)topology->num_links * (cast ? 1 : n) * pieces;
    const struct pccl__route *across = pccl__route(problem, 0, n - 1);
    if (problem->options.effort == PCCL_EFFORT_FIRST_USE &&
        (topology->num_vertices > topology->num_devices || work > FIRST_USE_MATCHING_WORK)) {
        return -1;
    }
    int64_t slowest = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        int64_t in = device_ps_per_mib(topology, problem->request->devices[rank], false);
        slowest = in > slowest ? in : slowest;
    }
    int64_t block = cast ? problem->block_bytes : block_of(problem);
    int64_t messages = cast ? pieces : (n - 1) * (int64_t)pieces;
    int64_t busy = messages * overheads_ps(problem), transfer = pccl_transfer_ps(block, slowest) * (cast ? 1 : n - 1);
    int64_t one_way = transfer > busy ? transfer : busy;
    if (across != NULL) {
        int64_t piece_ps = pccl_transfer_ps(block / pieces, across->ps_per_mib);
        int64_t way_ps = across->latency_ps + across->num_links * (overheads_ps(problem) + piece_ps);
        one_way = cast ? one_way + way_ps : way_ps > one_way ? way_ps : one_way;
    }
    return problem->collective == PCCL_ALLREDUCE ? 2 * one_way : one_way;
}

/* Made where hardly anything else serves, if asked for, and where time is no concern: there it is as good as the
 * matching, or better if messages are few. */
int64_t pccl__estimate_multicast(const struct pccl__problem *problem, uint32_t pieces)
{
    if (problem->collective == PCCL_CUSTOM || problem->request->relays || problem->options.method != NULL) {
        return 0;
    }
    bool unhurried = problem->options.effort != PCCL_EFFORT_FIRST_USE && problem->num_ranks <= UNHURRIED_RANKS;
    return unhurried ? pccl__estimate_matching(problem, pieces) : -1;
}

/* All-to-all as if loads were spread perfectly; where devices relay, every hop costs their CPUs. */
static int64_t estimate_exchange_of_all(const struct pccl__problem *problem)
{
    struct meter meter;
    struct sample sample;
    int64_t total = -1;
    if (open_meter(&meter, problem) && take_sample(&meter, &sample)) {
        bool relays = problem->topology->num_vertices == problem->topology->num_devices;
        int64_t transfer = pccl_transfer_ps(problem->block_bytes, sample.total_ps_per_mib);
        int64_t busy = overheads_ps(problem) * (relays ? sample.links : problem->num_ranks - 1);
        total = sample.fixed_ps + (transfer > busy ? transfer : busy);
    }
    close_meter(&meter);
    return total;
}

int64_t pccl__estimate_unicast(const struct pccl__problem *problem, uint32_t pieces)
{
    if (problem->collective == PCCL_CUSTOM || problem->collective == PCCL_ALLTOALL) {
        int64_t total = problem->collective == PCCL_ALLTOALL ? estimate_exchange_of_all(problem) : 0;
        return total >= 0 ? total : 0; /* ranks without routes to each other: worth a try through relays */
    }
    uint32_t device = problem->request->devices[problem->root], chunks = (problem->num_ranks - 1) * pieces;
    int64_t rate = device_ps_per_mib(problem->topology, device, problem->collective == PCCL_SCATTER);
    int64_t transfer = pccl_transfer_ps(problem->block_bytes, rate) * (problem->num_ranks - 1);
    int64_t busy = chunks * overheads_ps(problem);
    return transfer > busy ? transfer : busy;
}

/* Whole ways collide more than single links, which is how ways look where devices are joined directly. */
int64_t pccl__estimate_circuits(const struct pccl__problem *problem, uint32_t pieces)
{
    int64_t spread_ps = pccl__estimate_unicast(problem, pieces);
    bool relays = problem->topology->num_vertices == problem->topology->num_devices;
    return relays && problem->collective == PCCL_ALLTOALL && spread_ps > 0 ? spread_ps + spread_ps / 4 : spread_ps;
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
    return count > 0 ? pccl_transfer_ps(problem->block_bytes, fastest) / count * blocks : 0;
}

int64_t pccl__problem_floor_ps(const struct pccl__problem *problem)
{
    int64_t blocks = problem->num_ranks - 1, floor_ps = 0;
    bool rooted = problem->collective == PCCL_GATHER || problem->collective == PCCL_SCATTER;
    if (problem->collective == PCCL_CUSTOM || problem->request->block_bytes != NULL || problem->request->relays) {
        return 0;
    }
    if (problem->collective == PCCL_BROADCAST || problem->collective == PCCL_REDUCE ||
        problem->collective == PCCL_ALLREDUCE) {
        blocks = 1;
    }
    for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
        if (rooted && rank != problem->root) {
            continue;
        }
        bool out = problem->collective == PCCL_SCATTER || problem->collective == PCCL_REDUCE_SCATTER ||
                   problem->collective == PCCL_REDUCE;
        bool exempt = !rooted && rank == problem->root && pccl_collective_is_rooted(problem->collective);
        int64_t device_ps = exempt ? 0 : device_floor_ps(problem, rank, blocks, out);
        floor_ps = device_ps > floor_ps ? device_ps : floor_ps;
    }
    return floor_ps;
}
