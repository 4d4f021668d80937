/* Putting a topology together, piece by piece. */
#include "topology/builder.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

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

void pccl__topology_set_processor(struct pccl_topology_builder *builder, uint32_t device, uint32_t processor)
{
    if (builder != NULL && builder->status == 0) {
        builder->vertices[device].processor = processor;
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
