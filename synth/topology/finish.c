/* Finishing a topology: what was added gets its final numbers, is checked as a whole, and gets its routes. */
#include "topology/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

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
