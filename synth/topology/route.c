/* pccl_topology_route: following the network's rule from one device to another. */
#include <stdlib.h>

#include "topology/forwarding.h"

/* Where the links of a route go; counts on when there is no room left. */
struct walk {
    uint32_t *links;
    uint32_t max_links, num_links;
    uint32_t spread; /* picks among equal ways; starts as the target and is used up digit by digit */
};

static void append(struct walk *walk, uint32_t link)
{
    if (walk->num_links < walk->max_links) {
        walk->links[walk->num_links] = link;
    }
    walk->num_links++;
}

/* Which of `count` equal ways to take. Successive choices on one route use successive digits of the target's number, so
 * that every level of a fat tree spreads its load evenly. */
static uint32_t choose(struct walk *walk, uint32_t count)
{
    uint32_t choice = walk->spread % count;
    walk->spread /= count;
    return choice;
}

static int walk_dimensions(const struct pccl__view *view, const struct pccl_topology *topology,
                           const struct pccl__routes *routes, uint32_t source, uint32_t target, struct walk *walk)
{
    uint32_t stride = topology->num_devices, at = source;
    /* source and target become what is left of them after each dimension. */
    for (uint32_t i = 0; i < topology->num_dimensions && source != target; i++) {
        const uint32_t extent = topology->dimensions[i];
        stride /= extent;
        const uint32_t from = source / stride, to = target / stride;
        source -= from * stride;
        target -= to * stride;
        const uint32_t steps_up = to >= from ? to - from : to + extent - from;
        const bool up = topology->wraps[i] ? steps_up <= extent - steps_up : to > from;
        const uint32_t steps = up || steps_up == 0 ? steps_up : extent - steps_up;
        for (uint32_t s = 0; s < steps; s++) {
            uint32_t link = routes->neighbours[((size_t)at * topology->num_dimensions + i) * 2 + up];
            if (link == PCCL_NONE) {
                return PCCL_ERR_UNREACHABLE;
            }
            append(walk, link);
            at = pccl__view_target(view, link);
        }
    }
    return 0;
}

/* From a forwarder to a target of the table. */
static void walk_table(const struct pccl__view *view, const struct pccl__forwarding *table, uint32_t at,
                       uint32_t target, struct walk *walk)
{
    const size_t row = (size_t)table->target_index[target] * (view->num_vertices - view->first_forwarder);
    while (at != target) {
        size_t pair = row + at - view->first_forwarder;
        uint32_t first = table->first_choice[pair], count = table->first_choice[pair + 1] - first;
        uint32_t link = table->choices[first + (count > 1 ? choose(walk, count) : 0)];
        append(walk, link);
        at = pccl__view_target(view, link);
    }
}

/* By the table given with the topology, which leads in no circle. */
static int walk_given(const struct pccl__view *view, const struct pccl_topology *topology,
                      const struct pccl__routes *routes, uint32_t source, uint32_t target, struct walk *walk)
{
    while (source != target) {
        uint32_t link = routes->next[(size_t)source * topology->num_devices + target];
        if (link == PCCL_NONE) {
            return PCCL_ERR_UNREACHABLE;
        }
        append(walk, link);
        source = pccl__view_target(view, link);
    }
    return 0;
}

/* A way through switches: a link into the first, a link out of the last. */
struct passage {
    uint32_t enter, leave, hops; /* hops between the switches */
    int64_t latency_ps;
};

/* Compares all passages that begin with `enter` to *best. With `skip` = PCCL_NONE keeps the first of the best and
 * counts them; else stops at the best one that follows `*skip` others. */
static bool try_passages(const struct pccl__view *view, const struct pccl__forwarding *table, uint32_t enter,
                         uint32_t target, struct passage *best, uint32_t *count, uint32_t wanted)
{
    const uint32_t num_forwarders = view->num_vertices - view->first_forwarder;
    uint32_t from = pccl__view_target(view, enter) - view->first_forwarder;
    for (uint32_t i = view->first_in[target]; i < view->first_in[target + 1]; i++) {
        uint32_t leave = view->in_links[i], last = pccl__view_source(view, leave);
        if (last < view->first_forwarder) {
            continue;
        }
        size_t pair = (size_t)table->target_index[last] * num_forwarders + from;
        if (table->hops[pair] == PCCL_NONE) {
            continue;
        }
        int64_t latency = view->links[enter].latency_ps + table->latency_ps[pair] + view->links[leave].latency_ps;
        bool equal = best->enter != PCCL_NONE && table->hops[pair] == best->hops && latency == best->latency_ps;
        bool better = best->enter == PCCL_NONE || table->hops[pair] < best->hops ||
                      (table->hops[pair] == best->hops && latency < best->latency_ps);
        if (better) {
            *count = 0;
        }
        if (better || equal) {
            if (better || *count == wanted) {
                *best = (struct passage){enter, leave, table->hops[pair], latency};
            }
            if ((*count)++ == wanted) {
                return true;
            }
        }
    }
    return false;
}

static int walk_switches(const struct pccl__view *view, const struct pccl__routes *routes, uint32_t source,
                         uint32_t target, struct walk *walk)
{
    struct passage best = {.enter = PCCL_NONE};
    const uint32_t first = pccl__routes_lower_bound(view, routes, source, view->first_forwarder);
    const uint32_t end = view->first_out[source + 1];
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++) {
        try_passages(view, routes->table, routes->by_target[i], target, &best, &count, PCCL_NONE);
    }
    if (count == 0) {
        return PCCL_ERR_UNREACHABLE;
    }
    if (count > 1) {
        uint32_t wanted = choose(walk, count), seen = 0;
        bool found = false;
        for (uint32_t i = first; i < end && !found; i++) {
            found = try_passages(view, routes->table, routes->by_target[i], target, &best, &seen, wanted);
        }
    }
    append(walk, best.enter);
    walk_table(view, routes->table, pccl__view_target(view, best.enter), pccl__view_source(view, best.leave), walk);
    append(walk, best.leave);
    return 0;
}

/* Without a table: a search for this call alone, then the same choices. */
static int walk_search(const struct pccl__view *view, uint32_t source, uint32_t target, struct walk *walk)
{
    struct pccl__search search = {0};
    int status = pccl__search_init(view, &search);
    if (status != 0) {
        return status;
    }
    pccl__search_run(view, &search, target);
    if (search.hops[source] == PCCL_NONE) {
        status = PCCL_ERR_UNREACHABLE;
    }
    for (uint32_t at = source; status == 0 && at != target;) {
        uint32_t count = 0, chosen = PCCL_NONE;
        for (uint32_t i = view->first_out[at]; i < view->first_out[at + 1]; i++) {
            count += pccl__search_is_best(view, &search, view->out_links[i]);
        }
        uint32_t skip = count > 1 ? choose(walk, count) : 0;
        for (uint32_t i = view->first_out[at]; chosen == PCCL_NONE; i++) {
            if (pccl__search_is_best(view, &search, view->out_links[i]) && skip-- == 0) {
                chosen = view->out_links[i];
            }
        }
        append(walk, chosen);
        at = pccl__view_target(view, chosen);
    }
    pccl__search_free(&search);
    return status;
}

static int walk_forward(const struct pccl__view *view, const struct pccl_topology *topology,
                        const struct pccl__routes *routes, uint32_t source, uint32_t target, struct walk *walk)
{
    if (routes->next != NULL) {
        return walk_given(view, topology, routes, source, target, walk);
    }
    if (routes->neighbours != NULL) {
        return walk_dimensions(view, topology, routes, source, target, walk);
    }
    uint32_t direct = pccl__routes_direct(view, routes, source, target);
    if (direct != PCCL_NONE) {
        append(walk, direct);
        return 0;
    }
    if (view->first_forwarder == view->num_vertices) {
        return PCCL_ERR_UNREACHABLE;
    }
    if (routes->table == NULL) {
        return walk_search(view, source, target, walk);
    }
    if (view->first_forwarder > 0) {
        return walk_switches(view, routes, source, target, walk);
    }
    if (routes->table->hops[(size_t)routes->table->target_index[target] * view->num_vertices + source] == PCCL_NONE) {
        return PCCL_ERR_UNREACHABLE;
    }
    walk_table(view, routes->table, source, target, walk);
    return 0;
}

/* The route on the topology as it was made. */
static int route_forward(const struct pccl__topology *topology, uint32_t source, uint32_t target, uint32_t *links,
                         uint32_t max_links)
{
    const struct pccl__routes *routes = topology->routes;
    if (routes->placement != NULL) {
        return pccl__placement_route(routes->placement, topology->base.links, topology->reversed, source, target, links,
                                     max_links);
    }
    struct pccl__view view = pccl__view_of(topology);
    view.heights = routes->heights;
    struct walk walk = {.links = links, .max_links = max_links, .spread = target};
    int status = walk_forward(&view, &topology->base, routes, source, target, &walk);
    if (status != 0) {
        return status;
    }
    return walk.num_links > max_links || walk.num_links > INT32_MAX ? PCCL_ERR_OVERFLOW : (int)walk.num_links;
}

int pccl_topology_route(const struct pccl_topology *topology, uint32_t source, uint32_t target, uint32_t *links,
                        uint32_t max_links)
{
    const struct pccl__topology *own = pccl__topology_of(topology);
    if (source == target || source >= topology->num_devices || target >= topology->num_devices) {
        return PCCL_ERR_INVALID;
    }
    if (!own->reversed) {
        return route_forward(own, source, target, links, max_links);
    }
    int num_links = route_forward(own, target, source, links, max_links);
    for (int i = 0, j = num_links - 1; i < j; i++, j--) {
        uint32_t kept = links[i];
        links[i] = links[j];
        links[j] = kept;
    }
    return num_links;
}

uint32_t pccl_topology_route_limit(const struct pccl_topology *topology)
{
    return pccl__topology_of(topology)->routes->limit;
}

bool pccl_topology_devices_forward(const struct pccl_topology *topology)
{
    return topology->routing == PCCL_ROUTING_SHORTEST || topology->routing == PCCL_ROUTING_DIMENSION_ORDER;
}
