#include "topology/routes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"
#include "topology/search.h"

/* Largest table, in vertices and links looked at while it is made: about 10 ms and 16 MiB. Above it every call
 * searches. */
#define MAX_TABLE_WORK (UINT64_C(1) << 22)

/* Forwarding tables towards a set of target vertices. A pair has the index target * num_forwarders + forwarder. */
struct table {
    uint32_t num_targets;
    uint32_t *target_index; /* [num_vertices] PCCL_NONE where the vertex is no target */
    uint32_t *first_choice; /* [pairs + 1] in choices */
    uint32_t *choices;      /* links that begin a best way, ascending */
    uint32_t *hops;         /* [pairs] links of a best way, PCCL_NONE if there is none */
    int64_t *latency_ps;    /* [pairs] */
};

struct pccl__routes {
    atomic_uint holders;
    uint32_t limit;          /* no route has more links */
    uint32_t *by_target;     /* links that leave each vertex (first_out ranges), by target, then number */
    uint32_t *neighbours;    /* dimension order: [vertex][dimension][down, up] link or PCCL_NONE; else NULL */
    struct table *table;     /* NULL: none is needed, or it would be too large */
    struct pccl__placement *placement; /* PCCL_ROUTING_TABLE only */
};

/* --- making them ------------------------------------------------------------------------------------------------- */

static int sort_by_target(const struct pccl_topology *topology, struct pccl__routes *routes)
{
    uint32_t *next = pccl__array_new(topology->num_vertices, sizeof *next);
    routes->by_target = pccl__array_new(topology->num_links, sizeof *routes->by_target);
    if (next == NULL || routes->by_target == NULL) {
        free(next);
        return PCCL_ERR_MEMORY;
    }
    memcpy(next, topology->first_out, topology->num_vertices * sizeof *next);
    for (uint32_t i = 0; i < topology->num_links; i++) {
        uint32_t link = topology->in_links[i]; /* these are by target, then number */
        routes->by_target[next[topology->links[link].source]++] = link;
    }
    free(next);
    return 0;
}

/* First place in by_target, among the links that leave `source`, whose link does not enter a vertex below `target`. */
static uint32_t lower_bound(const struct pccl__view *view, const struct pccl__routes *routes, uint32_t source,
                            uint32_t target)
{
    uint32_t low = view->first_out[source], high = view->first_out[source + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pccl__view_target(view, routes->by_target[middle]) < target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The link with the lowest latency, then number, between two vertices; PCCL_NONE if there is none. */
static uint32_t best_direct(const struct pccl__view *view, const struct pccl__routes *routes, uint32_t source,
                            uint32_t target)
{
    uint32_t best = PCCL_NONE;
    for (uint32_t i = lower_bound(view, routes, source, target); i < view->first_out[source + 1]; i++) {
        uint32_t link = routes->by_target[i];
        if (pccl__view_target(view, link) != target) {
            break;
        }
        if (best == PCCL_NONE || view->links[link].latency_ps < view->links[best].latency_ps) {
            best = link;
        }
    }
    return best;
}

static int find_neighbours(const struct pccl__view *view, const struct pccl_topology *topology,
                           struct pccl__routes *routes)
{
    const uint32_t num_dimensions = topology->num_dimensions;
    routes->neighbours = pccl__array_new((size_t)topology->num_devices * num_dimensions, 2 * sizeof(uint32_t));
    if (routes->neighbours == NULL) {
        return PCCL_ERR_MEMORY;
    }
    uint32_t stride = topology->num_devices;
    routes->limit = 1;
    for (uint32_t i = 0; i < num_dimensions; i++) {
        const uint32_t extent = topology->dimensions[i];
        stride /= extent;
        routes->limit += topology->wraps[i] ? extent / 2 : extent - 1;
        for (uint32_t v = 0; v < topology->num_devices; v++) {
            uint32_t *neighbour = &routes->neighbours[((size_t)v * num_dimensions + i) * 2];
            uint32_t coordinate = v / stride % extent;
            bool low_edge = coordinate == 0, high_edge = coordinate == extent - 1;
            bool wraps = topology->wraps[i] && extent > 1;
            neighbour[0] = low_edge && !wraps
                               ? PCCL_NONE
                               : best_direct(view, routes, v, low_edge ? v + (extent - 1) * stride : v - stride);
            neighbour[1] = high_edge && !wraps
                               ? PCCL_NONE
                               : best_direct(view, routes, v, high_edge ? v - (extent - 1) * stride : v + stride);
        }
    }
    return 0;
}

static void free_table(struct table *table)
{
    if (table != NULL) {
        free(table->latency_ps);
        free(table->hops);
        free(table->choices);
        free(table->first_choice);
        free(table->target_index);
        free(table);
    }
}

static bool is_next_to_device(const struct pccl__view *view, uint32_t vertex, uint32_t num_devices)
{
    for (uint32_t i = view->first_out[vertex]; i < view->first_out[vertex + 1]; i++) {
        if (pccl__view_target(view, view->out_links[i]) < num_devices) {
            return true;
        }
    }
    return false;
}

/* Targets of the table: the devices, or, where only switches forward, the switches next to a device. */
static uint32_t find_targets(const struct pccl__view *view, uint32_t num_devices, uint32_t *target_index)
{
    const bool devices_forward = view->first_forwarder == 0;
    uint32_t num_targets = 0;
    for (uint32_t v = 0; v < view->num_vertices; v++) {
        bool is_target = devices_forward ? v < num_devices
                                         : v >= num_devices && is_next_to_device(view, v, num_devices);
        target_index[v] = is_target ? num_targets++ : PCCL_NONE;
    }
    return num_targets;
}

/* Appends the best first links from every forwarder towards one target, whose distances `search` holds. */
static int fill_row(const struct pccl__view *view, const struct pccl__search *search, struct table *table,
                    uint32_t target, uint32_t *num_choices, uint32_t *capacity)
{
    const uint32_t num_forwarders = view->num_vertices - view->first_forwarder;
    for (uint32_t f = 0; f < num_forwarders; f++) {
        size_t pair = (size_t)target * num_forwarders + f;
        uint32_t vertex = view->first_forwarder + f;
        table->hops[pair] = search->hops[vertex];
        table->latency_ps[pair] = search->latency_ps[vertex];
        table->first_choice[pair] = *num_choices;
        for (uint32_t i = view->first_out[vertex]; i < view->first_out[vertex + 1]; i++) {
            if (!pccl__search_is_best(view, search, view->out_links[i])) {
                continue;
            }
            uint32_t *grown = pccl__array_grow(table->choices, capacity, (uint64_t)*num_choices + 1, sizeof *grown);
            if (grown == NULL) {
                return PCCL_ERR_MEMORY;
            }
            table->choices = grown;
            grown[(*num_choices)++] = view->out_links[i];
        }
    }
    table->first_choice[(size_t)(target + 1) * num_forwarders] = *num_choices;
    return 0;
}

static int fill_table(const struct pccl__view *view, struct pccl__routes *routes, struct pccl__search *search)
{
    struct table *table = routes->table;
    uint32_t num_choices = 0, capacity = 0;
    for (uint32_t v = 0; v < view->num_vertices; v++) {
        if (table->target_index[v] == PCCL_NONE) {
            continue;
        }
        pccl__search_run(view, search, v);
        if (fill_row(view, search, table, table->target_index[v], &num_choices, &capacity) != 0) {
            return PCCL_ERR_MEMORY;
        }
        if (search->farthest + 2 > routes->limit) {
            routes->limit = search->farthest + 2; /* and a link at either end */
        }
    }
    return 0;
}

static int make_table(const struct pccl__view *view, const struct pccl_topology *topology, struct pccl__routes *routes)
{
    const size_t num_forwarders = view->num_vertices - view->first_forwarder;
    struct table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return PCCL_ERR_MEMORY;
    }
    struct pccl__search search = {0};
    int status = PCCL_ERR_MEMORY;
    routes->table = table;
    if ((table->target_index = pccl__array_new(topology->num_vertices, sizeof *table->target_index)) == NULL) {
        goto out;
    }
    table->num_targets = find_targets(view, topology->num_devices, table->target_index);
    uint32_t forwarding_links = topology->num_links - view->first_out[view->first_forwarder];
    if (table->num_targets * (num_forwarders + forwarding_links) > MAX_TABLE_WORK) {
        free_table(table);
        routes->table = NULL;
        routes->limit = view->num_vertices;
        return 0;
    }
    size_t pairs = table->num_targets * num_forwarders;
    table->first_choice = pccl__array_new(pairs + 1, sizeof *table->first_choice);
    table->hops = pccl__array_new(pairs, sizeof *table->hops);
    table->latency_ps = pccl__array_new(pairs, sizeof *table->latency_ps);
    if (table->first_choice != NULL && table->hops != NULL && table->latency_ps != NULL &&
        pccl__search_init(view, &search) == 0) {
        status = fill_table(view, routes, &search);
    }

out:
    pccl__search_free(&search);
    return status;
}

int pccl__routes_create(const struct pccl__topology *topology, struct pccl__routes **routes)
{
    struct pccl__view view = pccl__view_of(topology);
    struct pccl__routes *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return PCCL_ERR_MEMORY;
    }
    atomic_init(&made->holders, 1);
    made->limit = 1;
    int status = sort_by_target(&topology->base, made);
    if (status == 0 && topology->base.routing == PCCL_ROUTING_DIMENSION_ORDER) {
        status = find_neighbours(&view, &topology->base, made);
    } else if (status == 0 && view.first_forwarder < view.num_vertices) {
        status = make_table(&view, &topology->base, made);
    }
    if (status != 0) {
        pccl__routes_release(made);
        return status;
    }
    *routes = made;
    return 0;
}

int pccl__routes_create_placed(struct pccl__placement *placement, struct pccl__routes **routes)
{
    struct pccl__routes *made = calloc(1, sizeof *made);
    if (made == NULL) {
        pccl__placement_free(placement);
        return PCCL_ERR_MEMORY;
    }
    atomic_init(&made->holders, 1);
    made->placement = placement;
    made->limit = 2 * placement->depth + pccl_topology_route_limit(placement->fabric);
    *routes = made;
    return 0;
}

struct pccl__routes *pccl__routes_share(struct pccl__routes *routes)
{
    atomic_fetch_add(&routes->holders, 1);
    return routes;
}

void pccl__routes_release(struct pccl__routes *routes)
{
    if (routes != NULL && atomic_fetch_sub(&routes->holders, 1) == 1) {
        pccl__placement_free(routes->placement);
        free_table(routes->table);
        free(routes->neighbours);
        free(routes->by_target);
        free(routes);
    }
}

uint64_t pccl__routes_digest(const struct pccl__routes *routes)
{
    return routes->placement != NULL ? routes->placement->fabric->digest : 0;
}

const struct pccl__placement *pccl__topology_placement(const struct pccl_topology *topology)
{
    return pccl__topology_of(topology)->routes->placement;
}

/* --- asking them ------------------------------------------------------------------------------------------------- */

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
static void walk_table(const struct pccl__view *view, const struct table *table, uint32_t at, uint32_t target,
                       struct walk *walk)
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

/* A way through switches: a link into the first, a link out of the last. */
struct passage {
    uint32_t enter, leave, hops; /* hops between the switches */
    int64_t latency_ps;
};

/* Compares all passages that begin with `enter` to *best. With `skip` = PCCL_NONE keeps the first of the best and
 * counts them; else stops at the best one that follows `*skip` others. */
static bool try_passages(const struct pccl__view *view, const struct table *table, uint32_t enter, uint32_t target,
                         struct passage *best, uint32_t *count, uint32_t wanted)
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
    const uint32_t first = lower_bound(view, routes, source, view->first_forwarder), end = view->first_out[source + 1];
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
    if (routes->neighbours != NULL) {
        return walk_dimensions(view, topology, routes, source, target, walk);
    }
    uint32_t direct = best_direct(view, routes, source, target);
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
