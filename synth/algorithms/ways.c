/* Listing ways: see ways.h. */
#include "algorithms/ways.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool is_switch(const struct pccl__ways *ways, uint32_t vertex)
{
    return vertex >= ways->topology->num_devices;
}

/* Hops of all switches to one, through switches only. */
static void measure(struct pccl__ways *ways, uint32_t target)
{
    const struct pccl_topology *topology = ways->topology;
    uint16_t *hops = ways->hops + (size_t)target * ways->num_switches;
    uint32_t head = 0, tail = 0;
    hops[target] = 0;
    ways->queue[tail++] = target;
    while (head < tail) {
        uint32_t at = ways->queue[head++], vertex = at + topology->num_devices;
        for (uint32_t i = topology->first_in[vertex]; i < topology->first_in[vertex + 1]; i++) {
            uint32_t from = topology->links[topology->in_links[i]].source;
            if (is_switch(ways, from) && hops[from - topology->num_devices] == UINT16_MAX &&
                hops[at] + 1 < UINT16_MAX) {
                hops[from - topology->num_devices] = hops[at] + 1;
                ways->queue[tail++] = from - topology->num_devices;
            }
        }
    }
}

int pccl__ways_create(const struct pccl_topology *topology, bool routed, struct pccl__ways *ways)
{
    *ways = (struct pccl__ways){.topology = topology, .routed = routed};
    ways->num_switches = routed ? 0 : topology->num_vertices - topology->num_devices;
    ways->max_links = routed ? pccl_topology_route_limit(topology) : PCCL__MAX_WAY_LINKS;
    size_t table = (size_t)ways->num_switches * ways->num_switches;
    ways->hops = pccl__array_new(table, sizeof *ways->hops);
    ways->links = pccl__array_new(PCCL__MAX_WAYS * (size_t)ways->max_links, sizeof *ways->links);
    ways->queue = pccl__array_new(ways->num_switches, sizeof *ways->queue);
    ways->inner = pccl__array_new(table, sizeof *ways->inner);
    if (ways->hops == NULL || ways->inner == NULL || ways->links == NULL || ways->queue == NULL) {
        return PCCL_ERR_MEMORY;
    }
    memset(ways->hops, 0xff, table * sizeof *ways->hops);
    for (uint32_t s = 0; s < ways->num_switches; s++) {
        measure(ways, s);
    }
    for (size_t i = 0; i < table; i++) {
        ways->longest = ways->hops[i] != UINT16_MAX && ways->hops[i] > ways->longest ? ways->hops[i] : ways->longest;
    }
    return 0;
}

void pccl__ways_free(struct pccl__ways *ways)
{
    free(ways->hops);
    free(ways->links);
    free(ways->queue);
    free(ways->inner);
    free(ways->pool);
    *ways = (struct pccl__ways){0};
}

void pccl__ways_allow(struct pccl__ways *ways, uint32_t most_hops)
{
    ways->most_hops = most_hops;
    ways->pool_size = 0;
    memset(ways->inner, 0, (size_t)ways->num_switches * ways->num_switches * sizeof *ways->inner);
}

/* --- between switches: listed once for each pair ------------------------------------------------------------------ */

static uint32_t hops_between(const struct pccl__ways *ways, uint32_t from, uint32_t to)
{
    uint32_t num_devices = ways->topology->num_devices;
    return ways->hops[(size_t)(to - num_devices) * ways->num_switches + from - num_devices];
}

/* Whether the trail from `first` comes by the vertex. */
static bool passes(const struct pccl__ways *ways, const uint32_t *trail, uint32_t depth, uint32_t vertex)
{
    for (uint32_t i = 0; i < depth; i++) {
        if (ways->topology->links[trail[i]].source == vertex) {
            return true;
        }
    }
    return false;
}

/* Depth first over ways of exactly `left` more links to switch `to`; trail holds the links so far. Appends complete
 * ways to the pool and counts them at pool[head]. */
static int extend(struct pccl__ways *ways, uint32_t at, uint32_t to, uint32_t *trail, uint32_t depth, uint32_t left,
                  uint32_t head)
{
    const struct pccl_topology *topology = ways->topology;
    if (left == 0) {
        uint32_t *grown =
            pccl__array_grow(ways->pool, &ways->pool_room, (uint64_t)ways->pool_size + depth + 1, sizeof *grown);
        if (grown == NULL) {
            return PCCL_ERR_MEMORY;
        }
        ways->pool = grown;
        grown[ways->pool_size] = depth;
        memcpy(grown + ways->pool_size + 1, trail, depth * sizeof *trail);
        ways->pool_size += depth + 1;
        grown[head]++;
        return 0;
    }
    int status = 0;
    for (uint32_t i = topology->first_out[at]; i < topology->first_out[at + 1] && status == 0; i++) {
        uint32_t link = topology->out_links[i], next = topology->links[link].target;
        if (is_switch(ways, next) && hops_between(ways, next, to) <= left - 1 && (next != to || left == 1) &&
            ways->pool[head] < PCCL__MAX_WAYS && !passes(ways, trail, depth, next)) {
            trail[depth] = link;
            status = extend(ways, next, to, trail, depth + 1, left - 1, head);
        }
    }
    return status;
}

/* Where the ways between two switches stand in the pool, or PCCL_NONE when out of memory. */
static uint32_t list_inner(struct pccl__ways *ways, uint32_t from, uint32_t to)
{
    uint32_t num_devices = ways->topology->num_devices, trail[PCCL__MAX_WAY_LINKS];
    uint32_t *known = &ways->inner[(size_t)(to - num_devices) * ways->num_switches + from - num_devices];
    if (*known == 0) {
        uint32_t head = ways->pool_size;
        uint32_t *grown = pccl__array_grow(ways->pool, &ways->pool_room, (uint64_t)head + 1, sizeof *grown);
        if (grown == NULL) {
            return PCCL_NONE;
        }
        ways->pool = grown;
        ways->pool[ways->pool_size++] = 0;
        uint32_t shortest = hops_between(ways, from, to);
        uint32_t most = shortest > 0 && ways->most_hops > shortest ? ways->most_hops : shortest;
        for (uint32_t hops = shortest; hops <= most; hops++) {
            if (extend(ways, from, to, trail, 0, hops, head) != 0) {
                return PCCL_NONE;
            }
        }
        *known = head + 1;
    }
    return *known - 1;
}

/* --- between devices ---------------------------------------------------------------------------------------------- */

/* Links of the shortest way that begins with `first` and ends with `last`, UINT32_MAX if there is none. */
static uint32_t count_links(const struct pccl__ways *ways, uint32_t first, uint32_t last)
{
    uint32_t from = ways->topology->links[first].target, to = ways->topology->links[last].source;
    if (first == last) {
        return 1;
    }
    if (!is_switch(ways, from) || !is_switch(ways, to) || hops_between(ways, from, to) == UINT16_MAX) {
        return UINT32_MAX;
    }
    return hops_between(ways, from, to) + 2;
}

static int append_ways(struct pccl__ways *ways, uint32_t first, uint32_t last)
{
    uint32_t head = list_inner(ways, ways->topology->links[first].target, ways->topology->links[last].source);
    if (head == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    const uint32_t *inner = ways->pool + head + 1;
    for (uint32_t k = 0; k < ways->pool[head] && ways->num_ways < PCCL__MAX_WAYS; k++) {
        uint32_t *way = pccl__way(ways, ways->num_ways);
        way[0] = first;
        memcpy(way + 1, inner + 1, inner[0] * sizeof *way);
        way[inner[0] + 1] = last;
        ways->counts[ways->num_ways++] = inner[0] + 2;
        inner += inner[0] + 1;
    }
    return 0;
}

int pccl__ways_find(struct pccl__ways *ways, uint32_t source, uint32_t target)
{
    const struct pccl_topology *topology = ways->topology;
    ways->num_ways = 0;
    if (ways->routed) {
        int count = pccl_topology_route(topology, source, target, ways->links, ways->max_links);
        ways->counts[0] = count > 0 ? (uint32_t)count : 0;
        ways->num_ways = count > 0;
        return 0;
    }
    uint32_t shortest = UINT32_MAX;
    for (int listing = 0; listing < 2 && (!listing || shortest <= PCCL__MAX_WAY_LINKS); listing++) {
        for (uint32_t i = topology->first_out[source]; i < topology->first_out[source + 1]; i++) {
            for (uint32_t j = topology->first_in[target]; j < topology->first_in[target + 1]; j++) {
                uint32_t first = topology->out_links[i], last = topology->in_links[j];
                uint32_t count = count_links(ways, first, last);
                if (!listing) {
                    shortest = count < shortest ? count : shortest;
                } else if (count == shortest && count == 1 && ways->num_ways < PCCL__MAX_WAYS) {
                    pccl__way(ways, ways->num_ways)[0] = first;
                    ways->counts[ways->num_ways++] = 1;
                } else if (count == shortest && count > 1 && append_ways(ways, first, last) != 0) {
                    return PCCL_ERR_MEMORY;
                }
            }
        }
    }
    return 0;
}
