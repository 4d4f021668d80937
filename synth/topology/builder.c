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
    struct pccl_class *classes;
    uint32_t num_classes, class_capacity;
    enum pccl_origin latency_origin, bandwidth_origin;
    struct pccl__table_entry *entries; /* of the routing table, in order of adding */
    uint32_t num_entries, entry_capacity;
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
    builder->latency_origin = builder->bandwidth_origin = PCCL_ORIGIN_DECLARED;
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
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        builder->topology->base.inside[level] = pccl__inside_default((enum pccl_level)level);
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

/* Refuses a link whose numbers are out of range. */
static void check_link(struct pccl_topology_builder *builder, const struct pccl_link *link)
{
    if (link->source >= builder->num_vertices || link->target >= builder->num_vertices) {
        REFUSE(builder, PCCL_ERR_INVALID, "link %" PRIu32 " joins vertices %" PRIu32 " and %" PRIu32 " of %" PRIu32,
               builder->num_links, link->source, link->target, builder->num_vertices);
        return;
    }
    const char *from = builder->vertices[link->source].name, *to = builder->vertices[link->target].name;
    if (link->source == link->target) {
        REFUSE(builder, PCCL_ERR_INVALID, "link %" PRIu32 " joins %s to itself", builder->num_links, from);
    } else if (link->latency_ps < 0 || link->latency_ps > PCCL__MAX_LATENCY_PS) {
        REFUSE(builder, PCCL_ERR_INVALID, "latency of the link from %s to %s is %" PRId64 " ps; expected 0 to %" PRId64,
               from, to, link->latency_ps, PCCL__MAX_LATENCY_PS);
    } else if (link->ps_per_mib < 0 || link->ps_per_mib > PCCL__MAX_PS_PER_MIB) {
        REFUSE(builder, PCCL_ERR_INVALID,
               "time per MiB of the link from %s to %s is %" PRId64 " ps; expected 0 to %" PRId64, from, to,
               link->ps_per_mib, PCCL__MAX_PS_PER_MIB);
    } else if (builder->num_links >= PCCL__MAX_LINKS) {
        REFUSE(builder, PCCL_ERR_OVERFLOW, "more than %u links", PCCL__MAX_LINKS);
    }
}

void pccl__topology_add(struct pccl_topology_builder *builder, const struct pccl_link *link)
{
    if (builder == NULL || builder->status != 0) {
        return;
    }
    check_link(builder, link);
    struct pccl_link *grown = pccl__array_grow(builder->links, &builder->link_capacity,
                                               (uint64_t)builder->num_links + 1, sizeof *grown);
    if (grown == NULL) {
        REFUSE(builder, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    builder->links = grown;
    if (builder->status == 0) {
        grown[builder->num_links++] = *link;
    }
}

void pccl_topology_add_link(struct pccl_topology_builder *builder, uint32_t source, uint32_t target, int64_t latency_ps,
                            int64_t ps_per_mib, uint32_t capacity)
{
    if (builder != NULL) {
        pccl__topology_add(builder, &(struct pccl_link){source, target, latency_ps, ps_per_mib, capacity, PCCL_NO_CLASS,
                                                        (uint8_t)builder->latency_origin,
                                                        (uint8_t)builder->bandwidth_origin});
    }
}

void pccl_topology_add_class_link(struct pccl_topology_builder *builder, uint32_t source, uint32_t target,
                                  uint32_t link_class, uint32_t capacity)
{
    if (builder == NULL || builder->status != 0) {
        return;
    }
    if (link_class >= builder->num_classes) {
        REFUSE(builder, PCCL_ERR_INVALID, "link %" PRIu32 " is of class %" PRIu32 " of %" PRIu32, builder->num_links,
               link_class, builder->num_classes);
        return;
    }
    const struct pccl_class *costs = &builder->classes[link_class];
    pccl__topology_add(builder, &(struct pccl_link){source, target, costs->latency_ps, costs->ps_per_mib, capacity,
                                                    (uint16_t)link_class, (uint8_t)costs->latency_origin,
                                                    (uint8_t)costs->bandwidth_origin});
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
    if ((unsigned)routing > PCCL_ROUTING_TABLE) {
        REFUSE(builder, PCCL_ERR_INVALID, "routing rule %d; expected 0 to %d", (int)routing, (int)PCCL_ROUTING_TABLE);
        return;
    }
    builder->topology->base.routing = routing;
}

void pccl_topology_set_origins(struct pccl_topology_builder *builder, enum pccl_origin latency,
                               enum pccl_origin bandwidth)
{
    if (builder != NULL) {
        builder->latency_origin = latency;
        builder->bandwidth_origin = bandwidth;
    }
}

/* Refuses costs that are out of range; `what` names them. */
static void check_costs(struct pccl_topology_builder *builder, const char *what, const struct pccl_class *costs)
{
    if (costs->latency_ps < 0 || costs->latency_ps > PCCL__MAX_LATENCY_PS || costs->ps_per_mib < 0 ||
        costs->ps_per_mib > PCCL__MAX_PS_PER_MIB) {
        REFUSE(builder, PCCL_ERR_INVALID,
               "class %.100s has latency %" PRId64 " ps and %" PRId64 " ps per MiB; expected 0 to %" PRId64
               " and 0 to %" PRId64, what, costs->latency_ps, costs->ps_per_mib, PCCL__MAX_LATENCY_PS,
               PCCL__MAX_PS_PER_MIB);
    }
    const int64_t others[] = {costs->send_overhead_ps, costs->receive_overhead_ps, costs->rendezvous_ps};
    for (int i = 0; i < 3; i++) {
        if (others[i] < (i < 2 ? -1 : 0) || others[i] > PCCL__MAX_LATENCY_PS) {
            REFUSE(builder, PCCL_ERR_INVALID,
                   "class %.100s has an overhead or rendezvous of %" PRId64 " ps; expected 0 to %" PRId64, what,
                   others[i], PCCL__MAX_LATENCY_PS);
        }
    }
    if (costs->eager_bytes < -1) {
        REFUSE(builder, PCCL_ERR_INVALID, "class %.100s sends up to %" PRId64 " bytes eagerly; expected 0 or more",
               what, costs->eager_bytes);
    }
}

uint32_t pccl_topology_add_class(struct pccl_topology_builder *builder, const struct pccl_class *costs)
{
    if (builder == NULL || builder->status != 0) {
        return PCCL_NONE;
    }
    check_costs(builder, costs->name, costs);
    if (builder->num_classes >= PCCL_NO_CLASS) {
        REFUSE(builder, PCCL_ERR_OVERFLOW, "more than %d classes of links", PCCL_NO_CLASS);
    }
    struct pccl_class *grown = pccl__array_grow(builder->classes, &builder->class_capacity,
                                                (uint64_t)builder->num_classes + 1, sizeof *grown);
    char *name = pccl__arena_text(&builder->topology->arena, costs->name);
    if (grown != NULL) {
        builder->classes = grown;
    }
    if (grown == NULL || name == NULL) {
        REFUSE(builder, PCCL_ERR_MEMORY, "out of memory");
    }
    if (builder->status != 0) {
        return PCCL_NONE;
    }
    grown[builder->num_classes] = *costs;
    grown[builder->num_classes].name = name;
    return builder->num_classes++;
}

void pccl_topology_set_inside(struct pccl_topology_builder *builder, enum pccl_level level,
                              const struct pccl_class *costs)
{
    if (builder == NULL || builder->status != 0) {
        return;
    }
    if ((unsigned)level >= PCCL_NUM_LEVELS) {
        REFUSE(builder, PCCL_ERR_INVALID, "level %d inside hosts; expected 0 to %d", (int)level, PCCL_NUM_LEVELS - 1);
        return;
    }
    check_costs(builder, pccl_level_name(level), costs);
    builder->topology->base.inside[level] = *costs;
    builder->topology->base.inside[level].name = pccl_level_name(level);
}

void pccl_topology_add_route(struct pccl_topology_builder *builder, uint32_t vertex, uint32_t target, uint32_t link)
{
    if (builder == NULL || builder->status != 0) {
        return;
    }
    struct pccl__table_entry *grown = pccl__array_grow(builder->entries, &builder->entry_capacity,
                                                       (uint64_t)builder->num_entries + 1, sizeof *grown);
    if (grown == NULL || builder->num_entries >= PCCL__MAX_TABLE) {
        REFUSE(builder, grown == NULL ? PCCL_ERR_MEMORY : PCCL_ERR_OVERFLOW,
               "no memory for a routing table of more than %" PRIu32 " entries", builder->num_entries);
        builder->entries = grown != NULL ? grown : builder->entries;
        return;
    }
    builder->entries = grown;
    grown[builder->num_entries++] = (struct pccl__table_entry){vertex, target, link};
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

/* Classes as they were added; no two may have one name, but those of a placement. */
static int number_classes(struct pccl_topology_builder *builder, bool placed, struct pccl_error *error)
{
    struct pccl_topology *base = &builder->topology->base;
    struct pccl_class *classes = pccl__arena_new(&builder->topology->arena, builder->num_classes, sizeof *classes);
    if (builder->num_classes > PCCL_MAX_CLASSES && !placed) {
        return pccl__fail(error, PCCL_ERR_OVERFLOW, "%" PRIu32 " classes of links; at most %d are supported",
                          builder->num_classes, PCCL_MAX_CLASSES);
    }
    if (classes == NULL) {
        return pccl__fail_memory(error);
    }
    for (uint32_t c = 0; c < builder->num_classes; c++) {
        for (uint32_t before = 0; before < c && !placed; before++) {
            if (strcmp(builder->classes[before].name, builder->classes[c].name) == 0) {
                return pccl__fail(error, PCCL_ERR_INVALID, "two classes of links are named \"%.100s\"",
                                  builder->classes[c].name);
            }
        }
        classes[c] = builder->classes[c];
    }
    base->num_classes = builder->num_classes;
    base->classes = classes;
    return 0;
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

/* Takes over the placement in every case. */
static int make_routes(struct pccl_topology_builder *builder, const uint32_t *final, struct pccl__placement *placement,
                       struct pccl_error *error)
{
    struct pccl__topology *own = builder->topology;
    int status;
    if (placement != NULL) {
        own->base.routing = PCCL_ROUTING_TABLE;
        status = pccl__routes_create_placed(placement, &own->routes);
    } else if (own->base.routing == PCCL_ROUTING_TABLE) {
        for (uint32_t i = 0; i < builder->num_entries; i++) {
            struct pccl__table_entry *entry = &builder->entries[i];
            entry->vertex = entry->vertex < builder->num_vertices ? final[entry->vertex] : PCCL_NONE;
            entry->target = entry->target < builder->num_vertices ? final[entry->target] : PCCL_NONE;
        }
        return pccl__routes_create_table(own, builder->entries, builder->num_entries, &own->routes, error);
    } else if (builder->num_entries > 0) {
        return pccl__fail(error, PCCL_ERR_INVALID, "a routing table is given, but the routing rule is another");
    } else {
        status = pccl__routes_create(own, &own->routes);
    }
    return status != 0 ? pccl__fail_memory(error) : 0;
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
    if ((status = number_classes(builder, placement != NULL, error)) != 0) {
        goto out;
    }
    pccl__topology_set_floors(own);
    if ((status = make_routes(builder, final, placement, error)) != 0) {
        placement = NULL;
        goto out;
    }
    placement = NULL;
    pccl__topology_digest(own);
    *topology = &own->base;
    own = NULL;

out:
    pccl__placement_free(placement);
    if (own != NULL) {
        pccl_topology_free(&own->base);
    }
    free(final);
    free(builder->entries);
    free(builder->classes);
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
