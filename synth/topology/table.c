/* Routing tables that are given with a topology, entry by entry. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/error.h"
#include "topology/forwarding.h"

static int refuse(struct pccl_error *error, const struct pccl_topology *topology, const struct pccl__table_entry *entry,
                  const char *why)
{
    bool known = entry->vertex < topology->num_vertices && entry->target < topology->num_vertices;
    return pccl__fail(error, PCCL_ERR_INVALID,
                      "the routing table sends from %.100s to %.100s over link %" PRIu32 ", %s",
                      known ? topology->vertices[entry->vertex].name : "a vertex",
                      known ? topology->vertices[entry->target].name : "another", entry->link, why);
}

static int enter(const struct pccl_topology *topology, const struct pccl__table_entry *entry, uint32_t *next,
                 struct pccl_error *error)
{
    if (entry->vertex >= topology->num_vertices || entry->target >= topology->num_devices) {
        return refuse(error, topology, entry, "but one does not exist or the target is no device");
    }
    if (entry->link >= topology->num_links || topology->links[entry->link].source != entry->vertex) {
        return refuse(error, topology, entry, "which does not leave it");
    }
    uint32_t to = topology->links[entry->link].target;
    if (to < topology->num_devices && to != entry->target) {
        return refuse(error, topology, entry, "through another device, and devices do not forward");
    }
    uint32_t *cell = &next[(size_t)entry->vertex * topology->num_devices + entry->target];
    if (entry->vertex == entry->target || *cell != PCCL_NONE) {
        return refuse(error, topology, entry, *cell != PCCL_NONE ? "but there is an entry for that already" : "itself");
    }
    *cell = entry->link;
    return 0;
}

/* Follows the table from every vertex to one target: hops[v] is the length of the way, or PCCL_NONE where there is none
 * or it is not known yet. */
static int follow(const struct pccl_topology *topology, const uint32_t *next, uint32_t target, uint32_t *hops,
                  uint32_t *limit, struct pccl_error *error)
{
    const uint32_t n = topology->num_devices;
    memset(hops, 0xff, topology->num_vertices * sizeof *hops);
    hops[target] = 0;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        uint32_t length = 0, at = v;
        while (hops[at] == PCCL_NONE && next[(size_t)at * n + target] != PCCL_NONE) {
            at = topology->links[next[(size_t)at * n + target]].target;
            if (++length > topology->num_vertices) {
                return pccl__fail(error, PCCL_ERR_INVALID, "the routing table leads in a circle from %.100s to %.100s",
                                  topology->vertices[v].name, topology->vertices[target].name);
            }
        }
        if (hops[at] == PCCL_NONE) {
            continue; /* the way ends before the target: cannot be reached */
        }
        *limit = length + hops[at] > *limit ? length + hops[at] : *limit;
        for (uint32_t left = length + hops[at], w = v; w != at; left--) {
            hops[w] = left;
            w = topology->links[next[(size_t)w * n + target]].target;
        }
    }
    return 0;
}

static int check_ways(const struct pccl_topology *topology, struct pccl__routes *routes, struct pccl_error *error)
{
    uint32_t *hops = pccl__array_new(topology->num_vertices, sizeof *hops);
    int status = hops != NULL ? 0 : pccl__fail_memory(error);
    for (uint32_t target = 0; target < topology->num_devices && status == 0; target++) {
        status = follow(topology, routes->next, target, hops, &routes->limit, error);
    }
    free(hops);
    return status;
}

int pccl__routes_create_table(const struct pccl__topology *topology, const struct pccl__table_entry *entries,
                              uint32_t num_entries, struct pccl__routes **routes, struct pccl_error *error)
{
    const struct pccl_topology *base = &topology->base;
    const uint64_t num_cells = (uint64_t)base->num_vertices * base->num_devices;
    if (num_cells > PCCL__MAX_TABLE) {
        return pccl__fail(error, PCCL_ERR_OVERFLOW,
                          "a routing table of %" PRIu32 " vertices and %" PRIu32
                          " devices; at most %u entries are supported",
                          base->num_vertices, base->num_devices, PCCL__MAX_TABLE);
    }
    struct pccl__routes *made = calloc(1, sizeof *made);
    if (made == NULL || (made->next = pccl__array_new((size_t)num_cells, sizeof *made->next)) == NULL) {
        free(made);
        return pccl__fail_memory(error);
    }
    atomic_init(&made->holders, 1);
    made->limit = 1;
    memset(made->next, 0xff, (size_t)num_cells * sizeof *made->next);
    int status = 0;
    for (uint32_t i = 0; i < num_entries && status == 0; i++) {
        status = enter(base, &entries[i], made->next, error);
    }
    if (status == 0) {
        status = check_ways(base, made, error);
    }
    if (status != 0) {
        pccl__routes_release(made);
        return status;
    }
    made->table_digest = PCCL__DIGEST_START;
    for (uint64_t i = 0; i < num_cells; i++) {
        made->table_digest = pccl__digest_u32(made->table_digest, made->next[i]);
    }
    *routes = made;
    return 0;
}

uint32_t pccl__routes_next(const struct pccl_topology *topology, uint32_t vertex, uint32_t target)
{
    return pccl__topology_of(topology)->routes->next[(size_t)vertex * topology->num_devices + target];
}
