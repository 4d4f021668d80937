/* The same graph with other costs, or with classes for all links. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "topology/private.h"
#include "topology/routes.h"
#include "topology/search.h"

static int check_original(const struct pccl_topology *topology, struct pccl_error *error)
{
    bool reversed = pccl__topology_of(topology)->reversed;
    if (reversed || pccl__topology_placement(topology) != NULL) {
        return pccl__fail(error, PCCL_ERR_UNSUPPORTED, "costs of a %s topology cannot be changed; change the fabric's",
                          reversed ? "reversed" : "placed");
    }
    return 0;
}

static void copy_vertices(const struct pccl_topology *topology, struct pccl_topology_builder *builder)
{
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        const struct pccl_vertex *vertex = &topology->vertices[v];
        if (vertex->kind == PCCL_SWITCH) {
            pccl_topology_add_switch(builder, vertex->name, vertex->multicast);
        } else {
            pccl_topology_add_device(builder, vertex->name);
            pccl_topology_set_overheads(builder, v, vertex->send_overhead_ps, vertex->receive_overhead_ps);
        }
    }
}

static void copy_routing(const struct pccl_topology *topology, struct pccl_topology_builder *builder)
{
    pccl_topology_set_routing(builder, topology->routing);
    if (topology->num_dimensions > 0) {
        pccl_topology_set_grid(builder, topology->num_dimensions, topology->dimensions, topology->wraps);
    }
    for (uint32_t v = 0; v < topology->num_vertices && topology->routing == PCCL_ROUTING_TABLE; v++) {
        for (uint32_t target = 0; target < topology->num_devices; target++) {
            uint32_t link = pccl__routes_next(topology, v, target);
            if (link != PCCL_NONE) {
                pccl_topology_add_route(builder, v, target, link);
            }
        }
    }
}

/* Everything but classes and links. */
static struct pccl_topology_builder *begin_copy(const struct pccl_topology *topology, const struct pccl_class *inside)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new(topology->name);
    copy_vertices(topology, builder);
    copy_routing(topology, builder);
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        pccl_topology_set_inside(builder, (enum pccl_level)level,
                                 inside != NULL ? &inside[level] : &topology->inside[level]);
    }
    return builder;
}

int pccl_topology_set_costs(const struct pccl_topology *topology, const struct pccl_class *classes,
                            const struct pccl_class *inside, struct pccl_topology **changed, struct pccl_error *error)
{
    int status = check_original(topology, error);
    if (status != 0) {
        return status;
    }
    for (uint32_t c = 0; c < topology->num_classes && classes != NULL; c++) {
        if (strcmp(classes[c].name, topology->classes[c].name) != 0) {
            return pccl__fail(error, PCCL_ERR_INVALID, "class %" PRIu32 " is named %.100s; expected %.100s", c,
                              classes[c].name, topology->classes[c].name);
        }
    }
    struct pccl_topology_builder *builder = begin_copy(topology, inside);
    for (uint32_t c = 0; c < topology->num_classes; c++) {
        pccl_topology_add_class(builder, classes != NULL ? &classes[c] : &topology->classes[c]);
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        if (link->link_class == PCCL_NO_CLASS) {
            pccl__topology_add(builder, link);
        } else {
            pccl_topology_add_class_link(builder, link->source, link->target, link->link_class, link->capacity);
        }
    }
    return pccl_topology_finish(builder, changed, error);
}

/* --- classes for links that have none ----------------------------------------------------------------------------- */

/* What links of one new class have in common. */
struct kind {
    uint32_t near, far; /* links from the nearest device to the nearer end and to the farther; in grids: a dimension */
    int64_t latency_ps, ps_per_mib;
    uint32_t origins;
    uint32_t link;
};

static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    const int64_t left[] = {x->near, x->far, x->latency_ps, x->ps_per_mib, x->origins, x->link};
    const int64_t right[] = {y->near, y->far, y->latency_ps, y->ps_per_mib, y->origins, y->link};
    for (int i = 0; i < 6; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

static bool same_kind(const struct kind *a, const struct kind *b)
{
    struct kind copy = *b;
    copy.link = a->link;
    return compare_kinds(a, &copy) == 0;
}

/* The dimension in which two devices of a grid differ; the number of dimensions if in several. */
static uint32_t find_dimension(const struct pccl_topology *topology, uint32_t a, uint32_t b)
{
    uint32_t stride = topology->num_devices, found = topology->num_dimensions;
    for (uint32_t i = 0; i < topology->num_dimensions; i++) {
        stride /= topology->dimensions[i];
        if (a / stride % topology->dimensions[i] != b / stride % topology->dimensions[i]) {
            if (found != topology->num_dimensions) {
                return topology->num_dimensions;
            }
            found = i;
        }
    }
    return found;
}

static struct kind describe(const struct pccl_topology *topology, const uint32_t *distances, uint32_t number)
{
    const struct pccl_link *link = &topology->links[number];
    uint32_t from = distances[link->source], to = distances[link->target];
    struct kind kind = {from < to ? from : to,
                        from < to ? to : from,
                        link->latency_ps,
                        link->ps_per_mib,
                        (uint32_t)link->latency_origin << 8 | link->bandwidth_origin,
                        number};
    if (topology->num_dimensions > 0 && kind.far == 0) {
        kind.far = find_dimension(topology, link->source, link->target);
    }
    return kind;
}

/* A name that the class of the kind gets if it is not taken: what the links join. */
static void name_kind(const struct pccl_topology *topology, const struct kind *kind, uint32_t number, char *name,
                      size_t bytes)
{
    bool between_devices = topology->links[kind->link].source < topology->num_devices &&
                           topology->links[kind->link].target < topology->num_devices;
    if (between_devices) {
        snprintf(name, bytes, topology->num_dimensions > 0 ? "dimension %" PRIu32 : "direct", kind->far);
    } else if (kind->near == 0) {
        snprintf(name, bytes, "hosts");
    } else {
        snprintf(name, bytes, "level %" PRIu32 " to %" PRIu32, kind->near, kind->far);
    }
    if (number > 1) {
        size_t length = strlen(name);
        snprintf(name + length, bytes - length, " (%" PRIu32 ")", number);
    }
}

/* Adds the class of a kind under a name that nothing else has. */
static uint32_t add_kind(const struct pccl_topology *topology, struct pccl_topology_builder *builder,
                         const struct kind *kind, uint32_t *number)
{
    const struct pccl_link *link = &topology->links[kind->link];
    char name[64];
    do {
        name_kind(topology, kind, ++*number, name, sizeof name);
    } while (pccl_topology_find_class(topology, name) != PCCL_NONE);
    return pccl_topology_add_class(builder, &(struct pccl_class){.name = name,
                                                                 .latency_ps = link->latency_ps,
                                                                 .ps_per_mib = link->ps_per_mib,
                                                                 .send_overhead_ps = -1,
                                                                 .receive_overhead_ps = -1,
                                                                 .eager_bytes = -1,
                                                                 .latency_origin = link->latency_origin,
                                                                 .bandwidth_origin = link->bandwidth_origin});
}

/* class_of: [num_links] */
static void add_kinds(const struct pccl_topology *topology, struct pccl_topology_builder *builder,
                      const struct kind *kinds, uint32_t num_kinds, uint32_t *class_of)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < num_kinds; i++) {
        bool alike = i > 0 && kinds[i].near == kinds[i - 1].near && kinds[i].far == kinds[i - 1].far;
        number = alike ? number : 0;
        class_of[kinds[i].link] = alike && same_kind(&kinds[i - 1], &kinds[i])
                                      ? class_of[kinds[i - 1].link]
                                      : add_kind(topology, builder, &kinds[i], &number);
    }
}

int pccl_topology_classify(const struct pccl_topology *topology, struct pccl_topology **classified,
                           struct pccl_error *error)
{
    int status = check_original(topology, error);
    if (status != 0) {
        return status;
    }
    const struct pccl__view view = pccl__view_of(pccl__topology_of(topology));
    uint32_t *distances = NULL, num_kinds = 0;
    struct kind *kinds = pccl__array_new(topology->num_links, sizeof *kinds);
    uint32_t *class_of = pccl__array_new(topology->num_links, sizeof *class_of);
    if (kinds == NULL || class_of == NULL || pccl__heights_find(&view, topology->num_devices, &distances) != 0) {
        status = pccl__fail_memory(error);
        goto out;
    }
    struct pccl_topology_builder *builder = begin_copy(topology, NULL);
    for (uint32_t c = 0; c < topology->num_classes; c++) {
        pccl_topology_add_class(builder, &topology->classes[c]);
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        class_of[l] = topology->links[l].link_class;
        if (topology->links[l].link_class == PCCL_NO_CLASS) {
            kinds[num_kinds++] = describe(topology, distances, l);
        }
    }
    qsort(kinds, num_kinds, sizeof *kinds, compare_kinds);
    add_kinds(topology, builder, kinds, num_kinds, class_of);
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        pccl_topology_add_class_link(builder, link->source, link->target, class_of[l], link->capacity);
    }
    status = pccl_topology_finish(builder, classified, error);

out:
    free(distances);
    free(class_of);
    free(kinds);
    return status;
}
