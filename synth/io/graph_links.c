/* "links": the edges of a topology in JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "io/graph_reading.h"
#include "topology/private.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

/* Links whose capacity has the same name get the same number: that of the first of them by name. */
static int number_capacities(struct pccl__graph_reading *reading, const cJSON *links, uint32_t num_links,
                             struct pccl_error *error)
{
    struct pccl__json_place place = {reading->path, "links", 0, NULL};
    struct pccl__named *named = pccl__array_new(num_links, sizeof *named);
    uint32_t num_named = 0;
    int status = 0;
    reading->capacities = pccl__array_new(num_links, sizeof *reading->capacities);
    if (named == NULL || reading->capacities == NULL) {
        status = pccl__fail_memory(error);
        goto out;
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, links)
    {
        const char *name = NULL;
        reading->capacities[place.index] = PCCL_NONE;
        status = cJSON_IsObject(item) ? pccl__json_text(&place, item, "capacity", &name, error) : 0;
        if (status != 0) {
            goto out;
        }
        if (name != NULL) {
            named[num_named++] = (struct pccl__named){name, place.index};
        }
        place.index++;
    }
    qsort(named, num_named, sizeof *named, pccl__named_compare);
    for (uint32_t i = 0; i < num_named; i++) {
        bool same = i > 0 && strcmp(named[i].name, named[i - 1].name) == 0;
        reading->capacities[named[i].number] = same ? reading->capacities[named[i - 1].number] : named[i].number;
    }

out:
    free(named);
    return status;
}

static int read_end(const struct pccl__graph_reading *reading, const struct pccl__json_place *place,
                    const cJSON *object, const char *key, uint32_t *vertex, struct pccl_error *error)
{
    const char *name = NULL;
    int status = pccl__json_text(place, object, key, &name, error);
    if (status != 0) {
        return status;
    }
    if (name == NULL) {
        return pccl__json_fail(place, key, error, "missing");
    }
    *vertex = pccl__named_find(reading->vertices, reading->num_vertices, name);
    if (*vertex == PCCL_NONE) {
        return pccl__json_fail(place, key, error, "is \"%s\", which is neither a device nor a switch", name);
    }
    return 0;
}

/* Remembers where a link that is now added leads, for the routing table. */
static int note_ends(struct pccl__graph_reading *reading, uint32_t source, uint32_t target, struct pccl_error *error)
{
    struct pccl__link_ends *grown =
        pccl__array_grow(reading->ends, &reading->ends_capacity, (uint64_t)reading->num_links + 1, sizeof *grown);
    if (grown == NULL) {
        return pccl__fail_memory(error);
    }
    reading->ends = grown;
    grown[reading->num_links++] = (struct pccl__link_ends){source, target};
    return 0;
}

/* Adds the link under its class or with its own costs. */
static int add_link(struct pccl__graph_reading *reading, const struct pccl__json_place *place, const cJSON *item,
                    uint32_t source, uint32_t target, uint32_t link_class, struct pccl_error *error)
{
    static const char *const parts[] = {"latency", "bandwidth"};
    const uint32_t capacity = reading->capacities[place->index];
    if (link_class != PCCL_NONE) {
        pccl_topology_add_class_link(reading->builder, source, target, link_class, capacity);
        return note_ends(reading, source, target, error);
    }
    int64_t latency_ps = -1, ps_per_mib = -1;
    int status = pccl__graph_costs(place, item, &latency_ps, &ps_per_mib, error);
    enum pccl_origin origins[] = {latency_ps >= 0 ? PCCL_ORIGIN_DECLARED : PCCL_ORIGIN_DEFAULT,
                                  ps_per_mib >= 0 ? PCCL_ORIGIN_DECLARED : PCCL_ORIGIN_DEFAULT};
    if (status == 0) {
        status = pccl__graph_origins(place, item, parts, COUNT(parts), origins, error);
    }
    if (status != 0) {
        return status;
    }
    pccl_topology_set_origins(reading->builder, origins[0], origins[1]);
    pccl_topology_add_link(reading->builder, source, target, latency_ps < 0 ? PCCL__DEFAULT_LATENCY_PS : latency_ps,
                           ps_per_mib < 0 ? PCCL__DEFAULT_PS_PER_MIB : ps_per_mib, capacity);
    return note_ends(reading, source, target, error);
}

/* The class that a link names, PCCL_NONE if it names none. */
static int read_class(const struct pccl__graph_reading *reading, const struct pccl__json_place *place,
                      const cJSON *item, uint32_t *link_class, struct pccl_error *error)
{
    static const char *const own_costs[] = {"latency", "latency_ps", "bandwidth", "ps_per_mib", "origin"};
    const char *name = NULL;
    int status = pccl__json_text(place, item, "class", &name, error);
    *link_class = PCCL_NONE;
    if (status != 0 || name == NULL) {
        return status;
    }
    *link_class = pccl__named_find(reading->classes, reading->num_classes, name);
    if (*link_class == PCCL_NONE) {
        return pccl__json_fail(place, "class", error, "is \"%.100s\", which is not among classes", name);
    }
    for (uint32_t i = 0; i < COUNT(own_costs); i++) {
        if (cJSON_GetObjectItemCaseSensitive(item, own_costs[i]) != NULL) {
            return pccl__json_fail(place, own_costs[i], error, "given together with class; expected one of them");
        }
    }
    return 0;
}

static int read_link(struct pccl__graph_reading *reading, const struct pccl__json_place *place, const cJSON *item,
                     struct pccl_error *error)
{
    static const char *const keys[] = {"source",    "target",     "class",  "latency",  "latency_ps",
                                       "bandwidth", "ps_per_mib", "duplex", "capacity", "origin"};
    uint32_t source = PCCL_NONE, target = PCCL_NONE, link_class = PCCL_NONE;
    bool duplex = false;
    int status = pccl__json_object(place, item, keys, COUNT(keys), error);
    if (status == 0) {
        status = read_end(reading, place, item, "source", &source, error);
    }
    if (status == 0) {
        status = read_end(reading, place, item, "target", &target, error);
    }
    if (status == 0) {
        status = read_class(reading, place, item, &link_class, error);
    }
    if (status == 0) {
        status = pccl__json_bool(place, item, "duplex", &duplex, error);
    }
    if (status == 0 && source == target) {
        status = pccl__json_fail(place, "target", error, "is the source itself");
    }
    if (status == 0) {
        status = add_link(reading, place, item, source, target, link_class, error);
    }
    if (status == 0 && duplex) {
        status = add_link(reading, place, item, target, source, link_class, error);
    }
    return status;
}

int pccl__graph_read_links(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
                           struct pccl_error *error)
{
    const cJSON *links;
    uint32_t num_links;
    int status = pccl__json_array(top, root, "links", &links, &num_links, error);
    if (status == 0) {
        status = number_capacities(reading, links, num_links, error);
    }
    struct pccl__json_place place = {reading->path, "links", 0, NULL};
    const cJSON *item;
    cJSON_ArrayForEach(item, links)
    {
        if (status != 0) {
            break;
        }
        status = read_link(reading, &place, item, error);
        place.index++;
    }
    return status;
}
