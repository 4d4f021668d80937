#include "base/digest.h"
#include "base/error.h"
#include "topology/private.h"
#include "topology/routes.h"

#include <stdlib.h>
#include <string.h>

int64_t pccl_transfer_ps(int64_t bytes, int64_t ps_per_mib)
{
    unsigned __int128 product = (unsigned __int128)(uint64_t)bytes * (uint64_t)ps_per_mib;
    unsigned __int128 time = (product + ((1u << 20) - 1)) >> 20;
    return time > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)time;
}

static uint64_t hash_name(const char *name)
{
    return pccl__digest_bytes(PCCL__DIGEST_START, name, strlen(name));
}

uint32_t pccl_topology_find(const struct pccl_topology *topology, const char *name)
{
    const struct pccl__topology *own = pccl__topology_of(topology);
    const uint32_t mask = own->num_name_slots - 1;
    for (uint32_t slot = (uint32_t)hash_name(name) & mask;; slot = (slot + 1) & mask) {
        uint32_t vertex = own->names[slot];
        if (vertex == PCCL_NONE || strcmp(topology->vertices[vertex].name, name) == 0) {
            return vertex;
        }
    }
}

/* Stores the first of two vertices with one name; find then returns a vertex other than the second. */
static int index_names(struct pccl__topology *topology)
{
    uint32_t num_slots = 4;
    while (num_slots < 2 * topology->base.num_vertices) {
        num_slots *= 2;
    }
    topology->names = pccl__arena_new(&topology->arena, num_slots, sizeof *topology->names);
    if (topology->names == NULL) {
        return PCCL_ERR_MEMORY;
    }
    topology->num_name_slots = num_slots;
    memset(topology->names, 0xff, num_slots * sizeof *topology->names);
    for (uint32_t v = 0; v < topology->base.num_vertices; v++) {
        const char *name = topology->base.vertices[v].name;
        if (pccl_topology_find(&topology->base, name) != PCCL_NONE) {
            continue;
        }
        uint32_t slot = (uint32_t)hash_name(name) & (num_slots - 1);
        while (topology->names[slot] != PCCL_NONE) {
            slot = (slot + 1) & (num_slots - 1);
        }
        topology->names[slot] = v;
    }
    return 0;
}

/* Lists the links by the vertex at one end, ascending by number at each vertex. */
static int index_links(struct pccl__topology *topology, bool by_source, const uint32_t **first, const uint32_t **links)
{
    const struct pccl_topology *base = &topology->base;
    uint32_t *start = pccl__arena_new(&topology->arena, (size_t)base->num_vertices + 2, sizeof *start);
    uint32_t *list = pccl__arena_new(&topology->arena, base->num_links, sizeof *list);
    if (start == NULL || list == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t l = 0; l < base->num_links; l++) {
        start[(by_source ? base->links[l].source : base->links[l].target) + 2]++;
    }
    for (uint32_t v = 1; v < base->num_vertices + 2; v++) {
        start[v] += start[v - 1];
    }
    for (uint32_t l = 0; l < base->num_links; l++) {
        list[start[(by_source ? base->links[l].source : base->links[l].target) + 1]++] = l;
    }
    *first = start;
    *links = list;
    return 0;
}

static uint64_t digest_class(uint64_t digest, const struct pccl_class *costs)
{
    digest = pccl__digest_bytes(digest, costs->name, strlen(costs->name) + 1);
    digest = pccl__digest_u64(digest, (uint64_t)costs->latency_ps);
    digest = pccl__digest_u64(digest, (uint64_t)costs->ps_per_mib);
    digest = pccl__digest_u64(digest, (uint64_t)costs->send_overhead_ps);
    digest = pccl__digest_u64(digest, (uint64_t)costs->receive_overhead_ps);
    digest = pccl__digest_u64(digest, (uint64_t)costs->eager_bytes);
    digest = pccl__digest_u64(digest, (uint64_t)costs->rendezvous_ps);
    return pccl__digest_u32(digest, (uint32_t)costs->latency_origin << 24 | (uint32_t)costs->bandwidth_origin << 16 |
                                        (uint32_t)costs->overhead_origin << 8 | (uint32_t)costs->eager_origin);
}

void pccl__topology_digest(struct pccl__topology *topology)
{
    const struct pccl_topology *base = &topology->base;
    uint64_t digest = pccl__digest_bytes(PCCL__DIGEST_START, base->name, strlen(base->name) + 1);
    digest = pccl__digest_u32(digest, base->num_devices);
    digest = pccl__digest_u32(digest, base->num_vertices);
    digest = pccl__digest_u32(digest, base->num_links);
    for (uint32_t v = 0; v < base->num_vertices; v++) {
        const struct pccl_vertex *vertex = &base->vertices[v];
        digest = pccl__digest_bytes(digest, vertex->name, strlen(vertex->name) + 1);
        digest = pccl__digest_u32(digest, vertex->multicast);
        digest = pccl__digest_u64(digest, (uint64_t)vertex->send_overhead_ps);
        digest = pccl__digest_u64(digest, (uint64_t)vertex->receive_overhead_ps);
        if (vertex->processor != 0) {
            digest = pccl__digest_u32(digest, vertex->processor);
        }
    }
    for (uint32_t l = 0; l < base->num_links; l++) {
        const struct pccl_link *link = &base->links[l];
        digest = pccl__digest_u32(digest, link->source);
        digest = pccl__digest_u32(digest, link->target);
        digest = pccl__digest_u64(digest, (uint64_t)link->latency_ps);
        digest = pccl__digest_u64(digest, (uint64_t)link->ps_per_mib);
        digest = pccl__digest_u32(digest, link->capacity);
        digest = pccl__digest_u32(digest, link->link_class);
        digest = pccl__digest_u32(digest, (uint32_t)link->latency_origin << 8 | link->bandwidth_origin);
    }
    digest = pccl__digest_u32(digest, base->num_classes);
    for (uint32_t c = 0; c < base->num_classes; c++) {
        digest = digest_class(digest, &base->classes[c]);
    }
    for (uint32_t level = 0; level < PCCL_NUM_LEVELS; level++) {
        digest = digest_class(digest, &base->inside[level]);
    }
    digest = pccl__digest_u32(digest, base->routing);
    digest = pccl__digest_u32(digest, base->num_dimensions);
    for (uint32_t i = 0; i < base->num_dimensions; i++) {
        digest = pccl__digest_u32(digest, base->dimensions[i]);
        digest = pccl__digest_u32(digest, base->wraps[i]);
    }
    digest = pccl__digest_u32(digest, topology->reversed);
    topology->base.digest = pccl__digest_u64(digest, pccl__routes_digest(topology->routes));
}

int pccl__topology_index(struct pccl__topology *topology)
{
    int status = index_names(topology);
    if (status == 0) {
        status = index_links(topology, true, &topology->base.first_out, &topology->base.out_links);
    }
    if (status == 0) {
        status = index_links(topology, false, &topology->base.first_in, &topology->base.in_links);
    }
    return status;
}

void pccl_topology_free(struct pccl_topology *topology)
{
    if (topology == NULL) {
        return;
    }
    struct pccl__topology *own = (struct pccl__topology *)(void *)topology;
    pccl__routes_release(own->routes);
    pccl__arena_free(&own->arena);
    free(own);
}

static struct pccl_class copy_class(const struct pccl_class *costs, bool turn)
{
    struct pccl_class copy = *costs;
    copy.send_overhead_ps = turn ? costs->receive_overhead_ps : costs->send_overhead_ps;
    copy.receive_overhead_ps = turn ? costs->send_overhead_ps : costs->receive_overhead_ps;
    return copy;
}

static int copy_classes(struct pccl__topology *own, bool turn)
{
    struct pccl_class *classes = pccl__arena_new(&own->arena, own->base.num_classes, sizeof *classes);
    if (classes == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t c = 0; c < own->base.num_classes; c++) {
        classes[c] = copy_class(&own->base.classes[c], turn);
        if ((classes[c].name = pccl__arena_text(&own->arena, classes[c].name)) == NULL) {
            return PCCL_ERR_MEMORY;
        }
    }
    own->base.classes = classes;
    for (uint32_t level = 0; level < PCCL_NUM_LEVELS; level++) {
        own->base.inside[level] = copy_class(&own->base.inside[level], turn);
    }
    return 0;
}

/* A copy, turned round if `turn`. */
static int copy_topology(const struct pccl_topology *topology, bool turn, struct pccl_topology **copy)
{
    const struct pccl__topology *original = pccl__topology_of(topology);
    struct pccl__topology *own = calloc(1, sizeof *own);
    if (own == NULL) {
        return PCCL_ERR_MEMORY;
    }
    own->base = *topology;
    own->reversed = original->reversed != turn;
    own->routes = pccl__routes_share(original->routes);
    struct pccl_vertex *vertices = pccl__arena_new(&own->arena, topology->num_vertices, sizeof *vertices);
    struct pccl_link *links = pccl__arena_new(&own->arena, topology->num_links, sizeof *links);
    if (vertices == NULL || links == NULL || (own->base.name = pccl__arena_text(&own->arena, topology->name)) == NULL) {
        goto no_memory;
    }
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        const struct pccl_vertex *vertex = &topology->vertices[v];
        vertices[v] = *vertex;
        vertices[v].send_overhead_ps = turn ? vertex->receive_overhead_ps : vertex->send_overhead_ps;
        vertices[v].receive_overhead_ps = turn ? vertex->send_overhead_ps : vertex->receive_overhead_ps;
        if ((vertices[v].name = pccl__arena_text(&own->arena, vertex->name)) == NULL) {
            goto no_memory;
        }
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        links[l] = *link;
        links[l].source = turn ? link->target : link->source;
        links[l].target = turn ? link->source : link->target;
    }
    own->base.vertices = vertices;
    own->base.links = links;
    if (copy_classes(own, turn) != 0 || pccl__topology_index(own) != 0) {
        goto no_memory;
    }
    pccl__topology_digest(own);
    *copy = &own->base;
    return 0;

no_memory:
    pccl_topology_free(&own->base);
    return PCCL_ERR_MEMORY;
}

int pccl__topology_copy(const struct pccl_topology *topology, struct pccl_topology **copy)
{
    return copy_topology(topology, false, copy);
}

int pccl_topology_reverse(const struct pccl_topology *topology, struct pccl_topology **reversed,
                          struct pccl_error *error)
{
    int status = copy_topology(topology, true, reversed);
    return status != 0 ? pccl__fail_memory(error) : 0;
}
