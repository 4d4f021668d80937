/* Finding the arcs of a problem: see arcs.h. */
#include "algorithms/arcs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define MAX_ROUTED_GROUP 64 /* larger groups use only the nearest members and a ring: arcs grow with the square */
#define NEAREST_MEMBERS 8

struct finder {
    const struct pccl_topology *topology;
    const struct pccl__problem *problem;
    struct pccl__arcs *arcs;
    uint32_t max_arcs, arcs_capacity, links_capacity, uses_capacity;
    uint32_t *rank;  /* [num_devices] rank of a member, PCCL_NONE of others */
    uint32_t *depth; /* [num_vertices] of switches, from the device being expanded */
    uint32_t *queue; /* [num_vertices] */
    uint32_t *route; /* [route_limit] */
    uint32_t route_limit;
    bool everyone;   /* all devices may hold chunks, not only members */
};

/* --- an arc and what it occupies ---------------------------------------------------------------------------------- */

static int grow(struct finder *finder, uint32_t num_links)
{
    struct pccl__arcs *arcs = finder->arcs;
    struct pccl__arc *more_arcs =
        pccl__array_grow(arcs->arcs, &finder->arcs_capacity, (uint64_t)arcs->num_arcs + 1, sizeof *arcs->arcs);
    arcs->arcs = more_arcs != NULL ? more_arcs : arcs->arcs;
    uint32_t *more_links = pccl__array_grow(arcs->links, &finder->links_capacity, (uint64_t)arcs->num_links + num_links,
                                            sizeof *arcs->links);
    arcs->links = more_links != NULL ? more_links : arcs->links;
    struct pccl__use *more_uses = pccl__array_grow(arcs->uses, &finder->uses_capacity,
                                                   (uint64_t)arcs->num_uses + num_links + 2, sizeof *arcs->uses);
    arcs->uses = more_uses != NULL ? more_uses : arcs->uses;
    return more_arcs != NULL && more_links != NULL && more_uses != NULL ? 0 : PCCL_ERR_MEMORY;
}

static void use_cpu(struct pccl__arcs *arcs, struct pccl__arc *arc, uint32_t resource, int64_t overhead_ps)
{
    if (overhead_ps > 0) {
        arcs->uses[arcs->num_uses++] = (struct pccl__use){resource, arc->latency_ps, PCCL__FIXED, overhead_ps};
        arc->latency_ps += overhead_ps;
        arc->num_uses++;
    }
}

static int add_arc(struct finder *finder, const uint32_t *links, uint32_t num_links)
{
    const struct pccl_topology *topology = finder->topology;
    struct pccl__arcs *arcs = finder->arcs;
    if (arcs->num_arcs >= finder->max_arcs) {
        return PCCL_ERR_UNSUPPORTED;
    }
    if (grow(finder, num_links) != 0) {
        return PCCL_ERR_MEMORY;
    }
    struct pccl__arc *arc = &arcs->arcs[arcs->num_arcs++];
    *arc = (struct pccl__arc){.source = topology->links[links[0]].source,
                              .target = topology->links[links[num_links - 1]].target,
                              .first_link = arcs->num_links,
                              .num_links = num_links,
                              .first_use = arcs->num_uses};
    use_cpu(arcs, arc, topology->num_capacities + arc->source, topology->vertices[arc->source].send_overhead_ps);
    for (uint32_t i = 0; i < num_links; i++) {
        const struct pccl_link *link = &topology->links[links[i]];
        arcs->links[arcs->num_links++] = links[i];
        arcs->uses[arcs->num_uses++] = (struct pccl__use){link->capacity, arc->latency_ps, link->ps_per_mib, 0};
        arc->num_uses++;
        arc->latency_ps += link->latency_ps;
        if (link->ps_per_mib > arc->slowest_ps_per_mib) {
            arc->slowest_ps_per_mib = link->ps_per_mib;
        }
    }
    use_cpu(arcs, arc, topology->num_capacities + topology->num_devices + arc->target,
            topology->vertices[arc->target].receive_overhead_ps);
    return 0;
}

int64_t pccl__arc_ps(const struct pccl__arc *arc, int64_t bytes)
{
    return arc->latency_ps + pccl_transfer_ps(bytes, arc->slowest_ps_per_mib);
}

/* --- devices that pass on in software: links, and ways through switches ------------------------------------------- */

static bool may_hold(const struct finder *finder, uint32_t device)
{
    return finder->everyone || finder->rank[device] != PCCL_NONE;
}

static bool is_switch(const struct finder *finder, uint32_t vertex)
{
    return vertex >= finder->topology->num_devices;
}

/* Depth of every switch that can be reached from `first` through switches only. Returns how many are in queue. */
static uint32_t flood_switches(struct finder *finder, uint32_t first)
{
    const struct pccl_topology *topology = finder->topology;
    memset(finder->depth, 0xff, topology->num_vertices * sizeof *finder->depth);
    uint32_t head = 0, tail = 0;
    finder->depth[first] = 0;
    finder->queue[tail++] = first;
    while (head < tail) {
        uint32_t at = finder->queue[head++];
        for (uint32_t i = topology->first_out[at]; i < topology->first_out[at + 1]; i++) {
            uint32_t next = topology->links[topology->out_links[i]].target;
            if (is_switch(finder, next) && finder->depth[next] == PCCL_NONE) {
                finder->depth[next] = finder->depth[at] + 1;
                finder->queue[tail++] = next;
            }
        }
    }
    return tail;
}

/* Writes the way from the flooded switch to the end of `last`, a link that leaves a switch; of several equally short
 * ways, number `spread` in turn. */
static int trace_back(struct finder *finder, uint32_t first_link, uint32_t last, uint32_t spread)
{
    const struct pccl_topology *topology = finder->topology;
    uint32_t at = topology->links[last].source;
    uint32_t n = finder->depth[at] + 2;
    if (n > finder->route_limit) {
        return 0;
    }
    finder->route[0] = first_link;
    finder->route[n - 1] = last;
    for (uint32_t k = n - 2; k > 0; k--) {
        uint32_t num_ways = 0, chosen = PCCL_NONE;
        for (int counted = 0; counted < 2; counted++) {
            uint32_t wanted = num_ways > 0 ? spread % num_ways : 0;
            num_ways = 0;
            for (uint32_t i = topology->first_in[at]; i < topology->first_in[at + 1]; i++) {
                uint32_t from = topology->links[topology->in_links[i]].source;
                if (!is_switch(finder, from) || finder->depth[from] + 1 != finder->depth[at]) {
                    continue;
                }
                if (num_ways++ == wanted) {
                    chosen = topology->in_links[i];
                }
            }
        }
        finder->route[k] = chosen;
        at = topology->links[chosen].source;
    }
    return (int)n;
}

static int add_switched(struct finder *finder, uint32_t device, uint32_t first_link)
{
    const struct pccl_topology *topology = finder->topology;
    uint32_t num_switches = flood_switches(finder, topology->links[first_link].target);
    for (uint32_t s = 0; s < num_switches; s++) {
        uint32_t at = finder->queue[s];
        for (uint32_t i = topology->first_out[at]; i < topology->first_out[at + 1]; i++) {
            uint32_t last = topology->out_links[i], target = topology->links[last].target;
            if (is_switch(finder, target) || target == device || !may_hold(finder, target)) {
                continue;
            }
            int n = trace_back(finder, first_link, last, device + target);
            int status = n > 0 ? add_arc(finder, finder->route, (uint32_t)n) : 0;
            if (status != 0) {
                return status;
            }
        }
    }
    return 0;
}

/* Through a switch a device reaches many: the next in the order of numbers comes first, so that devices which all take
 * their first choice form a ring instead of all turning to the same one. */
static int compare_arcs(const void *a, const void *b)
{
    const struct pccl__arc *left = a, *right = b;
    uint32_t left_turn = left->target - left->source, right_turn = right->target - right->source;
    if ((left->target < left->source) != (right->target < right->source)) {
        return left->target < left->source ? 1 : -1;
    }
    if (left_turn != right_turn) {
        return left_turn < right_turn ? -1 : 1;
    }
    return left->first_link < right->first_link ? -1 : left->first_link > right->first_link;
}

static int expand_links(struct finder *finder, uint32_t device)
{
    const struct pccl_topology *topology = finder->topology;
    bool switched = false;
    int status = 0;
    for (uint32_t i = topology->first_out[device]; i < topology->first_out[device + 1] && status == 0; i++) {
        uint32_t link = topology->out_links[i], target = topology->links[link].target;
        if (is_switch(finder, target)) {
            switched = true;
            status = add_switched(finder, device, link);
        } else if (may_hold(finder, target)) {
            status = add_arc(finder, &link, 1);
        }
    }
    if (switched && status == 0 && finder->arcs->num_arcs > 0) {
        uint32_t first = finder->arcs->first_out[device];
        qsort(finder->arcs->arcs + first, finder->arcs->num_arcs - first, sizeof *finder->arcs->arcs, compare_arcs);
    }
    return status;
}

/* --- members of a network that routes by itself ------------------------------------------------------------------- */

struct neighbour {
    int64_t cost_ps;
    uint32_t turn; /* rank offset: ties spread over the group */
};

static int compare_neighbours(const void *a, const void *b)
{
    const struct neighbour *left = a, *right = b;
    if (left->cost_ps != right->cost_ps) {
        return left->cost_ps < right->cost_ps ? -1 : 1;
    }
    return left->turn < right->turn ? -1 : left->turn > right->turn;
}

static bool passes_member(const struct finder *finder, const uint32_t *links, uint32_t num_links)
{
    for (uint32_t i = 0; i + 1 < num_links; i++) {
        uint32_t between = finder->topology->links[links[i]].target;
        if (!is_switch(finder, between) && finder->rank[between] != PCCL_NONE) {
            return true;
        }
    }
    return false;
}

/* Whether every member has links to devices only, all of them members: then its links are its arcs. */
static bool is_plain(const struct finder *finder, uint32_t device)
{
    const struct pccl_topology *topology = finder->topology;
    for (uint32_t i = topology->first_out[device]; i < topology->first_out[device + 1]; i++) {
        uint32_t target = topology->links[topology->out_links[i]].target;
        if (is_switch(finder, target) || finder->rank[target] == PCCL_NONE) {
            return false;
        }
    }
    return true;
}

static int expand_routes(struct finder *finder, uint32_t device, struct neighbour *found)
{
    const struct pccl_topology *topology = finder->topology;
    uint32_t n = finder->problem->num_ranks, self = finder->rank[device], num_found = 0;
    for (uint32_t turn = 1; turn < n; turn++) {
        uint32_t target = finder->problem->request->devices[(self + turn) % n];
        int count = pccl_topology_route(topology, device, target, finder->route, finder->route_limit);
        bool ring = n > MAX_ROUTED_GROUP && (turn == 1 || turn == n - 1);
        if (count <= 0 || (!ring && passes_member(finder, finder->route, (uint32_t)count))) {
            continue;
        }
        int64_t cost = ring ? -1 : 0;
        for (int i = 0; i < count && !ring; i++) {
            const struct pccl_link *link = &topology->links[finder->route[i]];
            cost += link->latency_ps + pccl_transfer_ps(finder->problem->block_bytes, link->ps_per_mib);
        }
        found[num_found++] = (struct neighbour){cost, turn};
    }
    qsort(found, num_found, sizeof *found, compare_neighbours);
    if (n > MAX_ROUTED_GROUP && num_found > NEAREST_MEMBERS) {
        num_found = NEAREST_MEMBERS;
    }
    int status = 0;
    for (uint32_t i = 0; i < num_found && status == 0; i++) {
        uint32_t target = finder->problem->request->devices[(self + found[i].turn) % n];
        int count = pccl_topology_route(topology, device, target, finder->route, finder->route_limit);
        status = add_arc(finder, finder->route, (uint32_t)count);
    }
    return status;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int find_all(struct finder *finder, struct neighbour *found)
{
    bool routed = finder->topology->routing != PCCL_ROUTING_NONE && !finder->problem->request->relays;
    int status = 0;
    for (uint32_t device = 0; device < finder->topology->num_devices && status == 0; device++) {
        finder->arcs->first_out[device] = finder->arcs->num_arcs;
        if (!may_hold(finder, device)) {
            continue;
        }
        if (routed && !is_plain(finder, device)) {
            status = expand_routes(finder, device, found);
        } else {
            status = expand_links(finder, device);
        }
    }
    finder->arcs->first_out[finder->topology->num_devices] = finder->arcs->num_arcs;
    return status;
}

int pccl__arcs_create(const struct pccl__problem *problem, uint32_t max_arcs, bool everyone, struct pccl__arcs *arcs,
                      struct pccl_error *error)
{
    const struct pccl_topology *topology = problem->topology;
    *arcs = (struct pccl__arcs){.num_resources = topology->num_capacities + 2 * topology->num_devices};
    struct finder finder = {.topology = topology, .problem = problem, .arcs = arcs, .max_arcs = max_arcs};
    finder.everyone = everyone;
    finder.route_limit = pccl_topology_route_limit(topology);
    arcs->first_out = pccl__array_new((size_t)topology->num_devices + 1, sizeof *arcs->first_out);
    finder.rank = pccl__array_new(topology->num_devices, sizeof *finder.rank);
    finder.depth = pccl__array_new(topology->num_vertices, sizeof *finder.depth);
    finder.queue = pccl__array_new(topology->num_vertices, sizeof *finder.queue);
    finder.route = pccl__array_new(finder.route_limit, sizeof *finder.route);
    struct neighbour *found = pccl__array_new(problem->num_ranks, sizeof *found);
    int status = PCCL_ERR_MEMORY;
    if (arcs->first_out != NULL && finder.rank != NULL && finder.depth != NULL && finder.queue != NULL &&
        finder.route != NULL && found != NULL) {
        memset(finder.rank, 0xff, topology->num_devices * sizeof *finder.rank);
        for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
            finder.rank[problem->request->devices[rank]] = rank;
        }
        status = find_all(&finder, found);
    }
    free(found);
    free(finder.route);
    free(finder.queue);
    free(finder.depth);
    free(finder.rank);
    if (status == PCCL_ERR_UNSUPPORTED) {
        return pccl__reject(error, "too many ways between devices");
    }
    return status == 0 ? 0 : pccl__fail_memory(error);
}

void pccl__arcs_free(struct pccl__arcs *arcs)
{
    free(arcs->arcs);
    free(arcs->first_out);
    free(arcs->links);
    free(arcs->uses);
    *arcs = (struct pccl__arcs){0};
}
