#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/error.h"
#include "topology/forwarding.h"

/* Largest table, in vertices and links looked at while it is made: about 10 ms and 16 MiB. Above it every call
 * searches. */
#define MAX_TABLE_WORK (UINT64_C(1) << 22)

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

uint32_t pccl__routes_lower_bound(const struct pccl__view *view, const struct pccl__routes *routes, uint32_t source,
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

uint32_t pccl__routes_direct(const struct pccl__view *view, const struct pccl__routes *routes, uint32_t source,
                             uint32_t target)
{
    uint32_t best = PCCL_NONE;
    for (uint32_t i = pccl__routes_lower_bound(view, routes, source, target); i < view->first_out[source + 1]; i++) {
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
            neighbour[0] = low_edge && !wraps ? PCCL_NONE
                                              : pccl__routes_direct(view, routes, v,
                                                                    low_edge ? v + (extent - 1) * stride : v - stride);
            neighbour[1] =
                high_edge && !wraps
                    ? PCCL_NONE
                    : pccl__routes_direct(view, routes, v, high_edge ? v - (extent - 1) * stride : v + stride);
        }
    }
    return 0;
}

static void free_table(struct pccl__forwarding *table)
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
        bool is_target =
            devices_forward ? v < num_devices : v >= num_devices && is_next_to_device(view, v, num_devices);
        target_index[v] = is_target ? num_targets++ : PCCL_NONE;
    }
    return num_targets;
}

/* Appends the best first links from every forwarder towards one target, whose distances `search` holds. */
static int fill_row(const struct pccl__view *view, const struct pccl__search *search, struct pccl__forwarding *table,
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
    struct pccl__forwarding *table = routes->table;
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
    struct pccl__forwarding *table = calloc(1, sizeof *table);
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
    if (status == 0 && topology->base.routing == PCCL_ROUTING_UP_DOWN) {
        status = pccl__heights_find(&view, topology->base.num_devices, &made->heights);
        view.heights = made->heights;
    }
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
        free(routes->next);
        free(routes->heights);
        free(routes->neighbours);
        free(routes->by_target);
        free(routes);
    }
}

uint64_t pccl__routes_digest(const struct pccl__routes *routes)
{
    return routes->placement != NULL ? routes->placement->fabric->digest : routes->table_digest;
}

const struct pccl__placement *pccl__topology_placement(const struct pccl_topology *topology)
{
    return pccl__topology_of(topology)->routes->placement;
}
