#include "base/array.h"
#include "base/error.h"
#include "topology/private.h"
#include "topology/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pccl_topology_builder {
    struct pccl__topology *topology; /* its arena holds the names */
    struct pccl_vertex *vertices;    /* in order of adding */
    struct pccl_link *links;         /* ends and capacities as the caller numbers them */
    uint32_t num_vertices, vertex_capacity;
    uint32_t num_links, link_capacity;
    enum pccl_origin origin;
    int status; /* of the first failed call */
    struct pccl_error error;
};

/* Remembers the first failure. */
#define REFUSE(builder, code, ...)                                                   \
    do {                                                                             \
        if ((builder)->status == 0) {                                                \
            (builder)->status = pccl__fail(&(builder)->error, code, __VA_ARGS__);    \
        }                                                                            \
    } while (0)

struct pccl_topology_builder *pccl_topology_builder_new(const char *name)
{
    struct pccl_topology_builder *builder = calloc(1, sizeof *builder);
    if (builder == NULL) {
        return NULL;
    }
    builder->origin = PCCL_ORIGIN_DECLARED;
    builder->topology = calloc(1, sizeof *builder->topology);
    if (builder->topology == NULL) {
        free(builder);
        return NULL;
    }
    builder->topology->base.name = pccl__arena_text(&builder->topology->arena, name);
    if (builder->topology->base.name == NULL) {
        free(builder->topology);
        free(builder);
        return NULL;
    }
    return builder;
}

static uint32_t add_vertex(struct pccl_topology_builder *builder, const char *name, enum pccl_vertex_kind kind,
                           bool multicast)
{
    if (builder == NULL || builder->status != 0) {
        return PCCL_NONE;
    }
    if (builder->num_vertices >= PCCL__MAX_VERTICES) {
        REFUSE(builder, PCCL_ERR_OVERFLOW, "more than %u devices and switches", PCCL__MAX_VERTICES);
        return PCCL_NONE;
    }
    if (name[0] == '\0') {
        REFUSE(builder, PCCL_ERR_INVALID, "device or switch number %" PRIu32 " has an empty name",
               builder->num_vertices);
        return PCCL_NONE;
    }
    char *copy = pccl__arena_text(&builder->topology->arena, name);
    struct pccl_vertex *grown = pccl__array_grow(builder->vertices, &builder->vertex_capacity,
                                                 (uint64_t)builder->num_vertices + 1, sizeof *grown);
    if (grown != NULL) {
        builder->vertices = grown;
    }
    if (copy == NULL || grown == NULL) {
        REFUSE(builder, PCCL_ERR_MEMORY, "out of memory");
        return PCCL_NONE;
    }
    grown[builder->num_vertices] = (struct pccl_vertex){.name = copy, .kind = kind, .multicast = multicast};
    return builder->num_vertices++;
}

uint32_t pccl_topology_add_device(struct pccl_topology_builder *builder, const char *name)
{
    return add_vertex(builder, name, PCCL_DEVICE, false);
}

uint32_t pccl_topology_add_switch(struct pccl_topology_builder *builder, const char *name, bool multicast)
{
    return add_vertex(builder, name, PCCL_SWITCH, multicast);
}

void pccl_topology_set_overheads(struct pccl_topology_builder *builder, uint32_t device, int64_t send_ps,
                                 int64_t receive_ps)
{
    if (builder == NULL || builder->status != 0) {
        return;
    }
    if (device >= builder->num_vertices || builder->vertices[device].kind != PCCL_DEVICE) {
        REFUSE(builder, PCCL_ERR_INVALID, "overheads for vertex %" PRIu32 ", which is no device", device);
    } else if (send_ps < 0 || receive_ps < 0 || send_ps > PCCL__MAX_LATENCY_PS || receive_ps > PCCL__MAX_LATENCY_PS) {
        REFUSE(builder, PCCL_ERR_INVALID, "overheads of %s are %" PRId64 " and %" PRId64 " ps; expected 0 to %" PRId64,
               builder->vertices[device].name, send_ps, receive_ps, PCCL__MAX_LATENCY_PS);
    } else {
        builder->vertices[device].send_overhead_ps = send_ps;
        builder->vertices[device].receive_overhead_ps = receive_ps;
    }
}

void pccl_topology_add_link(struct pccl_topology_builder *builder, uint32_t source, uint32_t target, int64_t latency_ps,
                            int64_t ps_per_mib, uint32_t capacity)
{
    if (builder == NULL || builder->status != 0) {
        return;
    }
    if (source >= builder->num_vertices || target >= builder->num_vertices) {
        REFUSE(builder, PCCL_ERR_INVALID, "link %" PRIu32 " joins vertices %" PRIu32 " and %" PRIu32 " of %" PRIu32,
               builder->num_links, source, target, builder->num_vertices);
        return;
    }
    const char *from = builder->vertices[source].name, *to = builder->vertices[target].name;
    if (source == target) {
        REFUSE(builder, PCCL_ERR_INVALID, "link %" PRIu32 " joins %s to itself", builder->num_links, from);
    } else if (latency_ps < 0 || latency_ps > PCCL__MAX_LATENCY_PS) {
        REFUSE(builder, PCCL_ERR_INVALID, "latency of the link from %s to %s is %" PRId64 " ps; expected 0 to %" PRId64,
               from, to, latency_ps, PCCL__MAX_LATENCY_PS);
    } else if (ps_per_mib < 0 || ps_per_mib > PCCL__MAX_PS_PER_MIB) {
        REFUSE(builder, PCCL_ERR_INVALID,
               "time per MiB of the link from %s to %s is %" PRId64 " ps; expected 0 to %" PRId64, from, to, ps_per_mib,
               PCCL__MAX_PS_PER_MIB);
    } else if (builder->num_links >= PCCL__MAX_LINKS) {
        REFUSE(builder, PCCL_ERR_OVERFLOW, "more than %u links", PCCL__MAX_LINKS);
    }
    struct pccl_link *grown = pccl__array_grow(builder->links, &builder->link_capacity,
                                               (uint64_t)builder->num_links + 1, sizeof *grown);
    if (grown == NULL) {
        REFUSE(builder, PCCL_ERR_MEMORY, "out of memory");
    }
    if (builder->status == 0) {
        builder->links = grown;
        grown[builder->num_links++] = (struct pccl_link){source,     target,   latency_ps,
                                                         ps_per_mib, capacity, builder->origin};
    } else if (grown != NULL) {
        builder->links = grown;
    }
}

void pccl__topology_add_cable(struct pccl_topology_builder *builder, uint32_t a, uint32_t b, int64_t latency_ps,
                              int64_t ps_per_mib)
{
    pccl_topology_add_link(builder, a, b, latency_ps, ps_per_mib, PCCL_NONE);
    pccl_topology_add_link(builder, b, a, latency_ps, ps_per_mib, PCCL_NONE);
}

void pccl_topology_set_routing(struct pccl_topology_builder *builder, enum pccl_routing routing)
{
    if (builder == NULL) {
        return;
    }
    if (routing != PCCL_ROUTING_NONE && routing != PCCL_ROUTING_SHORTEST && routing != PCCL_ROUTING_DIMENSION_ORDER) {
        REFUSE(builder, PCCL_ERR_INVALID, "routing rule %d cannot be set by hand", (int)routing);
        return;
    }
    builder->topology->base.routing = routing;
}

void pccl_topology_set_origin(struct pccl_topology_builder *builder, enum pccl_origin origin)
{
    if (builder != NULL) {
        builder->origin = origin;
    }
}

void pccl_topology_set_grid(struct pccl_topology_builder *builder, uint32_t num_dimensions, const uint32_t *extents,
                            const bool *wraps)
{
    if (builder == NULL) {
        return;
    }
    if (num_dimensions < 1 || num_dimensions > PCCL_MAX_DIMENSIONS) {
        REFUSE(builder, PCCL_ERR_INVALID, "a grid of %" PRIu32 " dimensions; expected 1 to %d", num_dimensions,
               PCCL_MAX_DIMENSIONS);
        return;
    }
    builder->topology->base.num_dimensions = num_dimensions;
    for (uint32_t i = 0; i < num_dimensions; i++) {
        builder->topology->base.dimensions[i] = extents[i];
        builder->topology->base.wraps[i] = wraps[i];
    }
}

/* Final numbers: devices first. Afterwards final[id] is the vertex that the caller knows as id. */
static int number_vertices(struct pccl_topology_builder *builder, uint32_t *final)
{
    struct pccl_topology *base = &builder->topology->base;
    struct pccl_vertex *vertices = pccl__arena_new(&builder->topology->arena, builder->num_vertices, sizeof *vertices);
    if (vertices == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t id = 0; id < builder->num_vertices; id++) {
        if (builder->vertices[id].kind == PCCL_DEVICE) {
            final[id] = base->num_devices++;
        }
    }
    base->num_vertices = base->num_devices;
    for (uint32_t id = 0; id < builder->num_vertices; id++) {
        if (builder->vertices[id].kind == PCCL_SWITCH) {
            final[id] = base->num_vertices++;
        }
        vertices[final[id]] = builder->vertices[id];
    }
    base->vertices = vertices;
    return 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Capacities get the numbers 0, 1, ... in the order of their first links. */
static int number_capacities(struct pccl_link *links, uint32_t num_links, uint32_t *num_capacities)
{
    uint64_t *shared = pccl__array_new(num_links, sizeof *shared); /* (the caller's number, link) */
    if (shared == NULL) {
        return PCCL_ERR_MEMORY;
    }
    uint32_t num_shared = 0;
    for (uint32_t l = 0; l < num_links; l++) {
        if (links[l].capacity != PCCL_NONE) {
            shared[num_shared++] = (uint64_t)links[l].capacity << 32 | l;
        }
        links[l].capacity = l;
    }
    qsort(shared, num_shared, sizeof *shared, compare_numbers);
    for (uint32_t i = 1; i < num_shared; i++) {
        if (shared[i] >> 32 == shared[i - 1] >> 32) {
            links[(uint32_t)shared[i]].capacity = links[(uint32_t)shared[i - 1]].capacity;
        }
    }
    free(shared);
    *num_capacities = 0;
    for (uint32_t l = 0; l < num_links; l++) {
        /* Here the number is that of the first link which shares; that link has its final number already. */
        links[l].capacity = links[l].capacity == l ? (*num_capacities)++ : links[links[l].capacity].capacity;
    }
    return 0;
}

static int number_links(struct pccl_topology_builder *builder, const uint32_t *final)
{
    struct pccl_topology *base = &builder->topology->base;
    struct pccl_link *links = pccl__arena_new(&builder->topology->arena, builder->num_links, sizeof *links);
    if (links == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t l = 0; l < builder->num_links; l++) {
        links[l] = builder->links[l];
        links[l].source = final[links[l].source];
        links[l].target = final[links[l].target];
    }
    base->num_links = builder->num_links;
    base->links = links;
    return number_capacities(links, base->num_links, &base->num_capacities);
}

static int check_names(const struct pccl_topology *base, struct pccl_error *error)
{
    for (uint32_t v = 0; v < base->num_vertices; v++) {
        uint32_t first = pccl_topology_find(base, base->vertices[v].name);
        if (first != v) {
            return pccl__fail(error, PCCL_ERR_INVALID,
                              "two vertices are named \"%.100s\" (%s and %s); names must differ",
                              base->vertices[v].name, first < base->num_devices ? "a device" : "a switch",
                              v < base->num_devices ? "a device" : "a switch");
        }
    }
    return 0;
}

static int check_grid(const struct pccl_topology *base, struct pccl_error *error)
{
    if (base->num_dimensions == 0) {
        return base->routing != PCCL_ROUTING_DIMENSION_ORDER
                   ? 0
                   : pccl__fail(error, PCCL_ERR_INVALID, "dimension-order routing needs the dimensions of a grid");
    }
    uint64_t product = 1;
    for (uint32_t i = 0; i < base->num_dimensions; i++) {
        if (base->dimensions[i] < 1 || base->dimensions[i] > PCCL__MAX_VERTICES) {
            return pccl__fail(error, PCCL_ERR_INVALID, "dimension %" PRIu32 " has extent %" PRIu32 "; expected 1 to %u",
                              i, base->dimensions[i], PCCL__MAX_VERTICES);
        }
        product *= base->dimensions[i];
        if (product > base->num_devices) {
            break;
        }
    }
    if (product != base->num_devices) {
        return pccl__fail(error, PCCL_ERR_INVALID,
                          "the dimensions make a grid of %s%" PRIu64 " devices, but there are %" PRIu32,
                          product > base->num_devices ? "at least " : "", product, base->num_devices);
    }
    return 0;
}

int pccl__topology_finish_placed(struct pccl_topology_builder *builder, struct pccl__placement *placement,
                                 struct pccl_topology **topology, struct pccl_error *error)
{
    if (builder == NULL) {
        pccl__placement_free(placement);
        return pccl__fail_memory(error);
    }
    struct pccl__topology *own = builder->topology;
    int status = builder->status;
    uint32_t *final = NULL;
    if (status != 0) {
        status = pccl__fail(error, status, "%s", builder->error.message);
        goto out;
    }
    final = pccl__array_new(builder->num_vertices, sizeof *final);
    if (final == NULL || number_vertices(builder, final) != 0 || number_links(builder, final) != 0 ||
        pccl__topology_index(own) != 0) {
        status = pccl__fail_memory(error);
        goto out;
    }
    if (own->base.num_devices == 0) {
        status = pccl__fail(error, PCCL_ERR_INVALID, "the topology has no devices");
        goto out;
    }
    if ((status = check_names(&own->base, error)) != 0 || (status = check_grid(&own->base, error)) != 0) {
        goto out;
    }
    if (placement != NULL) {
        own->base.routing = PCCL_ROUTING_TABLE;
        status = pccl__routes_create_placed(placement, &own->routes);
        placement = NULL;
    } else {
        status = pccl__routes_create(own, &own->routes);
    }
    if (status != 0) {
        pccl__fail_memory(error);
        goto out;
    }
    pccl__topology_digest(own);
    *topology = &own->base;
    own = NULL;

out:
    pccl__placement_free(placement);
    if (own != NULL) {
        pccl_topology_free(&own->base);
    }
    free(final);
    free(builder->links);
    free(builder->vertices);
    free(builder);
    return status;
}

int pccl_topology_finish(struct pccl_topology_builder *builder, struct pccl_topology **topology,
                         struct pccl_error *error)
{
    return pccl__topology_finish_placed(builder, NULL, topology, error);
}
