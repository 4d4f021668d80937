/* The set of devices whose cut is the tightest: for all-gather the one that maximises bytes inside / capacity out,
 * found like the throughput bound of ForestColl (Zhao et al. 2024) by Dinkelbach's method on maximum flows. The flows
 * run on rounded numbers and only propose sets; pccl__bound_partition then proves what each is worth. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "check/bounding.h"

#define MAX_FLOW_WORK (UINT64_C(1) << 17) /* targets times links: some ten milliseconds */
#define LARGEST_RATE (1 << 16)            /* of a link, in the rounded numbers */
#define LARGEST_BLOCK (1 << 10)           /* of a rank */
#define ENDLESS (INT64_MAX / 2)

struct edge {
    uint32_t to;
    int64_t room; /* left */
};

/* A flow network: the vertices of the topology and one source. Edge e and e^1 are a pair, there and back. */
struct network {
    uint32_t num_vertices, num_edges, source;
    struct edge *edges;
    uint32_t *first, *next; /* [num_vertices + 1] lists of edges by vertex */
    uint32_t *level, *queue, *at;
};

static void free_network(struct network *network)
{
    free(network->at);
    free(network->queue);
    free(network->level);
    free(network->next);
    free(network->first);
    free(network->edges);
}

static int new_network(struct network *network, uint32_t num_vertices, uint32_t max_edges)
{
    *network = (struct network){.num_vertices = num_vertices + 1, .source = num_vertices};
    network->edges = pccl__array_new(2 * (size_t)max_edges, sizeof *network->edges);
    network->next = pccl__array_new(2 * (size_t)max_edges, sizeof *network->next);
    network->first = pccl__array_new((size_t)num_vertices + 1, sizeof *network->first);
    network->level = pccl__array_new((size_t)num_vertices + 1, sizeof *network->level);
    network->queue = pccl__array_new((size_t)num_vertices + 1, sizeof *network->queue);
    network->at = pccl__array_new((size_t)num_vertices + 1, sizeof *network->at);
    return network->edges == NULL || network->next == NULL || network->first == NULL || network->level == NULL ||
                   network->queue == NULL || network->at == NULL
               ? PCCL_ERR_MEMORY
               : 0;
}

static void clear_network(struct network *network)
{
    network->num_edges = 0;
    memset(network->first, 0xff, network->num_vertices * sizeof *network->first);
}

static void add_edge(struct network *network, uint32_t from, uint32_t to, int64_t room)
{
    const uint32_t ends[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        uint32_t e = network->num_edges++;
        network->edges[e] = (struct edge){ends[1 - i], i == 0 ? room : 0};
        network->next[e] = network->first[ends[i]];
        network->first[ends[i]] = e;
    }
}

/* Distances from the source over edges with room; false if the target is out of reach. */
static bool find_levels(struct network *network, uint32_t target)
{
    memset(network->level, 0xff, network->num_vertices * sizeof *network->level);
    uint32_t head = 0, tail = 0;
    network->level[network->source] = 0;
    network->queue[tail++] = network->source;
    while (head < tail) {
        uint32_t v = network->queue[head++];
        for (uint32_t e = network->first[v]; e != PCCL_NONE; e = network->next[e]) {
            uint32_t to = network->edges[e].to;
            if (network->edges[e].room > 0 && network->level[to] == PCCL_NONE) {
                network->level[to] = network->level[v] + 1;
                network->queue[tail++] = to;
            }
        }
    }
    return network->level[target] != PCCL_NONE;
}

/* One augmenting way along the levels; the queue holds its edges. Returns what it carries, 0 if there is none. */
static int64_t augment(struct network *network, uint32_t target)
{
    uint32_t length = 0, v = network->source;
    while (v != target) {
        uint32_t e = network->at[v];
        while (e != PCCL_NONE &&
               (network->edges[e].room == 0 || network->level[network->edges[e].to] != network->level[v] + 1)) {
            e = network->next[e];
        }
        network->at[v] = e;
        if (e != PCCL_NONE) {
            network->queue[length++] = e;
            v = network->edges[e].to;
        } else if (length == 0) {
            return 0;
        } else { /* a dead end: go back and try the next edge there */
            uint32_t back = network->queue[--length];
            v = network->edges[back ^ 1].to;
            network->at[v] = network->next[back];
        }
    }
    int64_t least = ENDLESS;
    for (uint32_t i = 0; i < length; i++) {
        least = network->edges[network->queue[i]].room < least ? network->edges[network->queue[i]].room : least;
    }
    for (uint32_t i = 0; i < length; i++) {
        network->edges[network->queue[i]].room -= least;
        network->edges[network->queue[i] ^ 1].room += least;
    }
    return least;
}

/* Dinic's maximum flow; afterwards level[] tells the source's side of a least cut. */
static void maximise(struct network *network, uint32_t target)
{
    while (find_levels(network, target)) {
        memcpy(network->at, network->first, network->num_vertices * sizeof *network->at);
        while (augment(network, target) > 0) {
        }
    }
}

/* What the proposals are made from. */
struct proposing {
    struct pccl__bounding *bounding;
    struct network network;
    bool backwards;       /* cuts of bytes that enter the set */
    int64_t *rate;        /* [num_links] rounded, 0 = not usable */
    int64_t *block;       /* [num_vertices] rounded, of members */
    uint32_t *part_of;    /* [num_vertices] 0 in the set */
    int64_t bytes, capacity; /* of the best set so far: the next must have a larger bytes / capacity */
};

static void round_numbers(struct proposing *proposing)
{
    const struct pccl__bounding *bounding = proposing->bounding;
    const struct pccl_topology *topology = bounding->topology;
    int64_t fastest = INT64_MAX, largest = 1;
    for (uint32_t l = 0; l < topology->num_links; l++) {
        int64_t ps_per_mib = topology->links[l].ps_per_mib;
        fastest = bounding->usable[l] && ps_per_mib > 0 && ps_per_mib < fastest ? ps_per_mib : fastest;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        __int128 ps_per_mib = topology->links[l].ps_per_mib;
        __int128 rate = ps_per_mib > 0 ? (__int128)fastest * LARGEST_RATE / ps_per_mib : LARGEST_RATE * (__int128)64;
        proposing->rate[l] = bounding->usable[l] ? (int64_t)(rate > 0 ? rate : 1) : 0;
    }
    for (uint32_t r = 0; r < bounding->request->num_ranks; r++) {
        int64_t bytes = pccl__bound_block_bytes(bounding->request, r);
        largest = bytes > largest ? bytes : largest;
    }
    for (uint32_t r = 0; r < bounding->request->num_ranks; r++) {
        __int128 bytes = pccl__bound_block_bytes(bounding->request, r);
        proposing->block[bounding->request->devices[r]] = (int64_t)(bytes * LARGEST_BLOCK / largest);
    }
}

/* Proves the set on the source's side, and remembers its ratio if it is better. */
static int try_set(struct proposing *proposing, bool *better)
{
    const struct pccl_topology *topology = proposing->bounding->topology;
    int64_t bytes = 0, capacity = 0;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        bool inside = proposing->network.level[v] != PCCL_NONE;
        proposing->part_of[v] = inside ? 0 : PCCL_NONE;
        bytes += inside ? proposing->block[v] : 0;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        uint32_t from = proposing->backwards ? link->target : link->source,
                 to = proposing->backwards ? link->source : link->target;
        capacity += proposing->part_of[from] == 0 && proposing->part_of[to] != 0 ? proposing->rate[l] : 0;
    }
    *better = bytes > 0 && capacity > 0 && (proposing->capacity == 0 || (__int128)bytes * proposing->capacity >
                                                                            (__int128)proposing->bytes * capacity);
    if (!*better) {
        return 0;
    }
    proposing->bytes = bytes;
    proposing->capacity = capacity;
    return pccl__bound_partition(proposing->bounding, proposing->part_of, 1, false, "cut by maximum flow");
}

static void add_links(struct proposing *proposing, int64_t factor)
{
    const struct pccl_topology *topology = proposing->bounding->topology;
    clear_network(&proposing->network);
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        if (proposing->rate[l] > 0) {
            add_edge(&proposing->network, proposing->backwards ? link->target : link->source,
                     proposing->backwards ? link->source : link->target, proposing->rate[l] * factor);
        }
    }
}

/* Sets without `target` that hold much and let little out: Dinkelbach's steps until no set is better. */
static int propose_gather(struct proposing *proposing, uint32_t target)
{
    const struct pccl_request *request = proposing->bounding->request;
    bool better = true;
    int status = 0;
    while (better && status == 0) {
        /* Before the first set: a ratio that is so small that all of what can be gathered will be. */
        int64_t bytes = proposing->capacity > 0 ? proposing->bytes : 1,
                capacity = proposing->capacity > 0 ? proposing->capacity : 1 << 30;
        add_links(proposing, bytes);
        for (uint32_t r = 0; r < request->num_ranks; r++) {
            uint32_t device = request->devices[r];
            if (device != target && proposing->block[device] > 0) {
                add_edge(&proposing->network, proposing->network.source, device, proposing->block[device] * capacity);
            }
        }
        maximise(&proposing->network, target);
        status = try_set(proposing, &better);
    }
    return status;
}

/* Sets with `source` and without `target` that let little out. */
static int propose_separation(struct proposing *proposing, uint32_t source, uint32_t target)
{
    bool better;
    add_links(proposing, 1);
    add_edge(&proposing->network, proposing->network.source, source, ENDLESS);
    maximise(&proposing->network, target);
    return try_set(proposing, &better);
}

static int propose(struct proposing *proposing)
{
    const struct pccl_request *request = proposing->bounding->request;
    const enum pccl_collective collective = request->collective;
    const bool separates = collective == PCCL_BROADCAST || collective == PCCL_REDUCE || collective == PCCL_ALLREDUCE ||
                           pccl_collective_is_prefix(collective);
    const uint32_t pivot = request->devices[pccl_collective_is_rooted(collective) ? request->root : 0];
    const bool one_target = collective == PCCL_GATHER || collective == PCCL_SCATTER;
    uint64_t count = MAX_FLOW_WORK / (proposing->bounding->topology->num_links + 1);
    count = count < request->num_ranks ? count : request->num_ranks;
    int status = 0;
    if (one_target) {
        return count > 0 ? propose_gather(proposing, pivot) : 0;
    }
    if (separates) { /* what is inside does not matter, only that it is not nothing */
        memset(proposing->block, 0, proposing->bounding->topology->num_vertices * sizeof *proposing->block);
        proposing->block[pivot] = 1;
    }
    for (uint64_t i = 0; i < count && status == 0; i++) {
        uint32_t target = request->devices[i * request->num_ranks / count];
        if (!separates) {
            status = propose_gather(proposing, target);
        } else if (target != pivot) {
            status = propose_separation(proposing, pivot, target);
        }
    }
    return status;
}

int pccl__bound_flow(struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    const enum pccl_collective collective = bounding->request->collective;
    struct proposing proposing = {.bounding = bounding};
    int status = PCCL_ERR_MEMORY;
    if (collective == PCCL_ALLTOALL || collective == PCCL_CUSTOM || pccl__bound_total(bounding->request) == 0) {
        return 0;
    }
    proposing.rate = pccl__array_new(topology->num_links, sizeof *proposing.rate);
    proposing.block = pccl__array_new(topology->num_vertices, sizeof *proposing.block);
    proposing.part_of = pccl__array_new(topology->num_vertices, sizeof *proposing.part_of);
    if (proposing.rate != NULL && proposing.block != NULL && proposing.part_of != NULL &&
        new_network(&proposing.network, topology->num_vertices, topology->num_links + bounding->request->num_ranks) ==
            0) {
        round_numbers(&proposing);
        proposing.backwards =
            collective == PCCL_REDUCE || collective == PCCL_REDUCE_SCATTER || collective == PCCL_SCATTER;
        status = propose(&proposing);
        if (status == 0 && collective == PCCL_ALLREDUCE) {
            proposing.backwards = true;
            proposing.bytes = proposing.capacity = 0;
            status = propose(&proposing);
        }
    }
    free_network(&proposing.network);
    free(proposing.part_of);
    free(proposing.block);
    free(proposing.rate);
    return status;
}
