#include "io/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/quantity.h"
#include "topology/private.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

/* A name and what stands for it: the builder's id of a vertex, or the link that a capacity belongs to. */
struct named {
    const char *name;
    uint32_t number;
};

/* A topology on its way from JSON to a builder. */
struct reading {
    const char *path;
    struct pccl_topology_builder *builder;
    int64_t overhead_ps;      /* of devices that do not say */
    uint32_t num_vertices;
    struct named *vertices;   /* sorted by name once all are added; names live in the JSON or in own_names */
    char *own_names;          /* [num_own_names][16] */
    uint32_t *capacities;     /* [links of the file] number of the shared capacity or PCCL_NONE */
};

static int compare_names(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

/* A quantity as text with its unit under `key`, or as an integer under `exact_key`; not both. */
typedef int quantity_reader(const char *text, const char *what, int64_t *value, struct pccl_error *error);

static int read_quantity(const struct pccl__json_place *place, const cJSON *object, const char *key,
                         const char *exact_key, quantity_reader *read, int64_t maximum, int64_t *value,
                         struct pccl_error *error)
{
    const char *text = NULL;
    struct pccl_error inner;
    int status = pccl__json_text(place, object, key, &text, error);
    if (status != 0 || text == NULL) {
        return status != 0 ? status : pccl__json_integer(place, object, exact_key, 0, maximum, value, error);
    }
    if (cJSON_GetObjectItemCaseSensitive(object, exact_key) != NULL) {
        return pccl__json_fail(place, key, error, "given together with %s; expected one of them", exact_key);
    }
    if (read(text, key, value, &inner) != 0) {
        return pccl__json_fail(place, NULL, error, "%s", inner.message);
    }
    if (*value > maximum) {
        return pccl__json_fail(place, key, error, "is \"%s\"; expected at most %" PRId64 " ps", text, maximum);
    }
    return 0;
}

static int read_overheads(const struct pccl__json_place *place, const cJSON *object, int64_t *send_ps,
                          int64_t *receive_ps, struct pccl_error *error)
{
    int status = read_quantity(place, object, "overhead", "overhead_ps", pccl__quantity_time, PCCL__MAX_LATENCY_PS,
                               send_ps, error);
    *receive_ps = *send_ps;
    if (status == 0) {
        status = read_quantity(place, object, "send_overhead", "send_overhead_ps", pccl__quantity_time,
                               PCCL__MAX_LATENCY_PS, send_ps, error);
    }
    if (status == 0) {
        status = read_quantity(place, object, "receive_overhead", "receive_overhead_ps", pccl__quantity_time,
                               PCCL__MAX_LATENCY_PS, receive_ps, error);
    }
    return status;
}

/* --- vertices ---------------------------------------------------------------------------------------------------- */

static void add_vertex(struct reading *reading, const char *name, bool is_switch, bool multicast, int64_t send_ps,
                       int64_t receive_ps)
{
    uint32_t id = is_switch ? pccl_topology_add_switch(reading->builder, name, multicast)
                            : pccl_topology_add_device(reading->builder, name);
    if (!is_switch) {
        pccl_topology_set_overheads(reading->builder, id, send_ps, receive_ps);
    }
    reading->vertices[reading->num_vertices] = (struct named){name, reading->num_vertices};
    reading->num_vertices++;
}

/* One element of devices or switches: a name or an object. */
static int read_vertex(struct reading *reading, const struct pccl__json_place *place, const cJSON *item, bool is_switch,
                       struct pccl_error *error)
{
    static const char *const device_keys[] = {"name", "overhead", "overhead_ps", "send_overhead", "send_overhead_ps",
                                              "receive_overhead", "receive_overhead_ps"};
    static const char *const switch_keys[] = {"name", "multicast"};
    const char *name = NULL;
    bool multicast = false;
    int64_t send_ps = reading->overhead_ps, receive_ps = reading->overhead_ps;
    int status = 0;
    if (cJSON_IsString(item)) {
        name = item->valuestring;
        if (*name == '\0' || strlen(name) > PCCL__JSON_MAX_NAME) {
            status = pccl__json_fail(place, NULL, error, "is \"%.40s\"; expected a name of 1 to %d bytes", name,
                                     PCCL__JSON_MAX_NAME);
        }
    } else {
        status = is_switch ? pccl__json_object(place, item, switch_keys, COUNT(switch_keys), error)
                           : pccl__json_object(place, item, device_keys, COUNT(device_keys), error);
        if (status == 0) {
            status = pccl__json_text(place, item, "name", &name, error);
        }
        if (status == 0 && name == NULL) {
            status = pccl__json_fail(place, "name", error, "missing");
        }
        if (status == 0 && is_switch) {
            status = pccl__json_bool(place, item, "multicast", &multicast, error);
        } else if (status == 0) {
            status = read_overheads(place, item, &send_ps, &receive_ps, error);
        }
    }
    if (status == 0) {
        add_vertex(reading, name, is_switch, multicast, send_ps, receive_ps);
    }
    return status;
}

/* "devices" or "switches": how many there are, or a list. *list is NULL for a number. */
static int count_vertices(const struct pccl__json_place *top, const cJSON *root, const char *key, const cJSON **list,
                          int64_t *count, struct pccl_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    *list = NULL;
    *count = 0;
    if (item != NULL && cJSON_IsNumber(item)) {
        return pccl__json_integer(top, root, key, 0, PCCL__MAX_VERTICES, count, error);
    }
    if (item != NULL && !cJSON_IsArray(item)) {
        return pccl__json_fail(top, key, error, "expected a number or an array");
    }
    *list = item;
    *count = item != NULL ? cJSON_GetArraySize(item) : 0;
    return 0;
}

static int read_vertex_list(struct reading *reading, const char *key, const cJSON *list, int64_t count, char *own_names,
                            struct pccl_error *error)
{
    const bool is_switch = strcmp(key, "switches") == 0;
    for (int64_t i = 0; i < count && list == NULL; i++) {
        char *name = own_names + 16 * i;
        snprintf(name, 16, "%c%" PRIu32, is_switch ? 's' : 'd', (uint32_t)i);
        add_vertex(reading, name, is_switch, false, reading->overhead_ps, reading->overhead_ps);
    }
    struct pccl__json_place place = {reading->path, key, 0};
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        int status = read_vertex(reading, &place, item, is_switch, error);
        if (status != 0) {
            return status;
        }
        place.index++;
    }
    return 0;
}

static int read_vertices(struct reading *reading, const struct pccl__json_place *top, const cJSON *root,
                         struct pccl_error *error)
{
    const cJSON *devices, *switches;
    int64_t num_devices, num_switches;
    int status = count_vertices(top, root, "devices", &devices, &num_devices, error);
    if (status == 0) {
        status = count_vertices(top, root, "switches", &switches, &num_switches, error);
    }
    if (status != 0) {
        return status;
    }
    int64_t num_own = (devices == NULL ? num_devices : 0) + (switches == NULL ? num_switches : 0);
    reading->vertices = pccl__array_new((size_t)(num_devices + num_switches), sizeof *reading->vertices);
    reading->own_names = pccl__array_new((size_t)num_own, 16);
    if (reading->vertices == NULL || reading->own_names == NULL) {
        return pccl__fail_memory(error);
    }
    status = read_vertex_list(reading, "devices", devices, num_devices, reading->own_names, error);
    if (status == 0) {
        status = read_vertex_list(reading, "switches", switches, num_switches,
                                  reading->own_names + (devices == NULL ? 16 * num_devices : 0), error);
    }
    qsort(reading->vertices, reading->num_vertices, sizeof *reading->vertices, compare_names);
    return status;
}

/* --- links ------------------------------------------------------------------------------------------------------- */

/* Links whose capacity has the same name get the same number: that of the first of them by name. */
static int number_capacities(struct reading *reading, const cJSON *links, uint32_t num_links, struct pccl_error *error)
{
    struct pccl__json_place place = {reading->path, "links", 0};
    struct named *named = pccl__array_new(num_links, sizeof *named);
    uint32_t num_named = 0;
    int status = 0;
    reading->capacities = pccl__array_new(num_links, sizeof *reading->capacities);
    if (named == NULL || reading->capacities == NULL) {
        status = pccl__fail_memory(error);
        goto out;
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, links) {
        const char *name = NULL;
        reading->capacities[place.index] = PCCL_NONE;
        status = cJSON_IsObject(item) ? pccl__json_text(&place, item, "capacity", &name, error) : 0;
        if (status != 0) {
            goto out;
        }
        if (name != NULL) {
            named[num_named++] = (struct named){name, place.index};
        }
        place.index++;
    }
    qsort(named, num_named, sizeof *named, compare_names);
    for (uint32_t i = 0; i < num_named; i++) {
        bool same = i > 0 && strcmp(named[i].name, named[i - 1].name) == 0;
        reading->capacities[named[i].number] = same ? reading->capacities[named[i - 1].number] : named[i].number;
    }

out:
    free(named);
    return status;
}

static int read_end(const struct reading *reading, const struct pccl__json_place *place, const cJSON *object,
                    const char *key, uint32_t *vertex, struct pccl_error *error)
{
    struct named wanted = {NULL, 0};
    int status = pccl__json_text(place, object, key, &wanted.name, error);
    if (status != 0) {
        return status;
    }
    if (wanted.name == NULL) {
        return pccl__json_fail(place, key, error, "missing");
    }
    uint32_t low = 0, high = reading->num_vertices;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(reading->vertices[middle].name, wanted.name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == reading->num_vertices || strcmp(reading->vertices[low].name, wanted.name) != 0) {
        return pccl__json_fail(place, key, error, "is \"%s\", which is neither a device nor a switch", wanted.name);
    }
    *vertex = reading->vertices[low].number;
    return 0;
}

static int read_origin(const struct pccl__json_place *place, const cJSON *object, bool has_costs,
                       enum pccl_origin *origin, struct pccl_error *error)
{
    const char *text = NULL;
    int status = pccl__json_text(place, object, "origin", &text, error);
    if (status != 0) {
        return status;
    }
    *origin = has_costs ? PCCL_ORIGIN_DECLARED : PCCL_ORIGIN_DEFAULT;
    if (text == NULL) {
        return 0;
    }
    if (strcmp(text, "measured") == 0) {
        *origin = PCCL_ORIGIN_MEASURED;
    } else if (strcmp(text, "declared") == 0) {
        *origin = PCCL_ORIGIN_DECLARED;
    } else if (strcmp(text, "default") == 0) {
        *origin = PCCL_ORIGIN_DEFAULT;
    } else {
        return pccl__json_fail(place, "origin", error, "is \"%.40s\"; expected measured, declared or default", text);
    }
    return 0;
}

static int read_link(struct reading *reading, const struct pccl__json_place *place, const cJSON *item,
                     struct pccl_error *error)
{
    static const char *const keys[] = {"source", "target", "latency", "latency_ps", "bandwidth", "ps_per_mib", "duplex",
                                       "capacity", "origin"};
    uint32_t source = PCCL_NONE, target = PCCL_NONE;
    int64_t latency_ps = -1, ps_per_mib = -1;
    bool duplex = false;
    enum pccl_origin origin = PCCL_ORIGIN_DECLARED;
    int status = pccl__json_object(place, item, keys, COUNT(keys), error);
    if (status == 0) {
        status = read_end(reading, place, item, "source", &source, error);
    }
    if (status == 0) {
        status = read_end(reading, place, item, "target", &target, error);
    }
    if (status == 0) {
        status = read_quantity(place, item, "latency", "latency_ps", pccl__quantity_time, PCCL__MAX_LATENCY_PS,
                               &latency_ps, error);
    }
    if (status == 0) {
        status = read_quantity(place, item, "bandwidth", "ps_per_mib", pccl__quantity_rate, PCCL__MAX_PS_PER_MIB,
                               &ps_per_mib, error);
    }
    if (status == 0) {
        status = pccl__json_bool(place, item, "duplex", &duplex, error);
    }
    if (status == 0) {
        status = read_origin(place, item, latency_ps >= 0 || ps_per_mib >= 0, &origin, error);
    }
    if (status == 0 && source == target) {
        status = pccl__json_fail(place, "target", error, "is the source itself");
    }
    if (status != 0) {
        return status;
    }
    latency_ps = latency_ps < 0 ? PCCL__DEFAULT_LATENCY_PS : latency_ps;
    ps_per_mib = ps_per_mib < 0 ? PCCL__DEFAULT_PS_PER_MIB : ps_per_mib;
    pccl_topology_set_origin(reading->builder, origin);
    pccl_topology_add_link(reading->builder, source, target, latency_ps, ps_per_mib, reading->capacities[place->index]);
    if (duplex) {
        pccl_topology_add_link(reading->builder, target, source, latency_ps, ps_per_mib,
                               reading->capacities[place->index]);
    }
    return 0;
}

static int read_links(struct reading *reading, const struct pccl__json_place *top, const cJSON *root,
                      struct pccl_error *error)
{
    const cJSON *links;
    uint32_t num_links;
    int status = pccl__json_array(top, root, "links", &links, &num_links, error);
    if (status == 0) {
        status = number_capacities(reading, links, num_links, error);
    }
    struct pccl__json_place place = {reading->path, "links", 0};
    const cJSON *item;
    cJSON_ArrayForEach(item, links) {
        if (status != 0) {
            break;
        }
        status = read_link(reading, &place, item, error);
        place.index++;
    }
    return status;
}

/* --- routing and grid -------------------------------------------------------------------------------------------- */

static int read_wraps(const struct pccl__json_place *top, const cJSON *root, uint32_t num_dimensions, bool *wraps,
                      struct pccl_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "wraps");
    bool all = false;
    if (!cJSON_IsArray(list)) {
        int status = pccl__json_bool(top, root, "wraps", &all, error);
        for (uint32_t i = 0; i < num_dimensions; i++) {
            wraps[i] = all;
        }
        return status;
    }
    uint32_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (i == num_dimensions || !cJSON_IsBool(item)) {
            break;
        }
        wraps[i++] = cJSON_IsTrue(item);
    }
    if (i != num_dimensions || item != NULL) {
        return pccl__json_fail(top, "wraps", error,
                               "expected true, false or %" PRIu32 " of them, one for each dimension", num_dimensions);
    }
    return 0;
}

static int read_grid(struct reading *reading, const struct pccl__json_place *top, const cJSON *root,
                     struct pccl_error *error)
{
    const cJSON *list;
    uint32_t num_dimensions, extents[PCCL_MAX_DIMENSIONS], i = 0;
    bool wraps[PCCL_MAX_DIMENSIONS];
    int status = pccl__json_array(top, root, "dimensions", &list, &num_dimensions, error);
    if (status != 0) {
        return status;
    }
    if (list == NULL) {
        return cJSON_GetObjectItemCaseSensitive(root, "wraps") == NULL
                   ? 0
                   : pccl__json_fail(top, "wraps", error, "given without dimensions");
    }
    if (num_dimensions < 1 || num_dimensions > PCCL_MAX_DIMENSIONS) {
        return pccl__json_fail(top, "dimensions", error, "has %" PRIu32 " elements; expected 1 to %d", num_dimensions,
                               PCCL_MAX_DIMENSIONS);
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > PCCL__MAX_VERTICES ||
            item->valuedouble != (double)(uint32_t)item->valuedouble) {
            return pccl__json_fail(top, "dimensions", error, "element %" PRIu32 " is no whole number from 1 to %u", i,
                                   PCCL__MAX_VERTICES);
        }
        extents[i++] = (uint32_t)item->valuedouble;
    }
    status = read_wraps(top, root, num_dimensions, wraps, error);
    if (status == 0) {
        pccl_topology_set_grid(reading->builder, num_dimensions, extents, wraps);
    }
    return status;
}

static int read_routing(struct reading *reading, const struct pccl__json_place *top, const cJSON *root,
                        struct pccl_error *error)
{
    const char *text = NULL;
    int status = pccl__json_text(top, root, "routing", &text, error);
    if (status != 0 || text == NULL) {
        return status;
    }
    if (strcmp(text, "none") == 0) {
        pccl_topology_set_routing(reading->builder, PCCL_ROUTING_NONE);
    } else if (strcmp(text, "shortest") == 0) {
        pccl_topology_set_routing(reading->builder, PCCL_ROUTING_SHORTEST);
    } else if (strcmp(text, "dimension-order") == 0) {
        pccl_topology_set_routing(reading->builder, PCCL_ROUTING_DIMENSION_ORDER);
    } else {
        return pccl__json_fail(top, "routing", error, "is \"%.40s\"; expected none, shortest or dimension-order", text);
    }
    return 0;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

int pccl__graph_check_format(const struct pccl__json_place *top, const cJSON *root, struct pccl_error *error)
{
    const char *format = "pccl-topology";
    int64_t version = 1;
    int status = pccl__json_text(top, root, "format", &format, error);
    if (status == 0 && strcmp(format, "pccl-topology") != 0) {
        status = pccl__json_fail(top, "format", error, "is \"%.40s\"; expected pccl-topology", format);
    }
    return status != 0 ? status : pccl__json_integer(top, root, "version", 1, 1, &version, error);
}

int pccl__graph_read(const char *path, const cJSON *root, struct pccl_topology **topology, struct pccl_error *error)
{
    static const char *const keys[] = {"format",      "version", "name",    "devices",    "switches", "overhead",
                                       "overhead_ps", "links",   "routing", "dimensions", "wraps"};
    const struct pccl__json_place top = {path, NULL, 0};
    struct reading reading = {.path = path, .overhead_ps = PCCL__DEFAULT_OVERHEAD_PS};
    const char *name = "unnamed";
    struct pccl_error inner;
    int status = pccl__json_object(&top, root, keys, COUNT(keys), error);
    if (status == 0) {
        status = pccl__graph_check_format(&top, root, error);
    }
    if (status == 0) {
        status = pccl__json_text(&top, root, "name", &name, error);
    }
    if (status == 0) {
        status = read_quantity(&top, root, "overhead", "overhead_ps", pccl__quantity_time, PCCL__MAX_LATENCY_PS,
                               &reading.overhead_ps, error);
    }
    if (status != 0) {
        return status;
    }
    reading.builder = pccl_topology_builder_new(name);
    status = read_vertices(&reading, &top, root, error);
    if (status == 0) {
        status = read_links(&reading, &top, root, error);
    }
    if (status == 0) {
        status = read_grid(&reading, &top, root, error);
    }
    if (status == 0) {
        status = read_routing(&reading, &top, root, error);
    }
    struct pccl_topology *made = NULL;
    int finished = pccl_topology_finish(reading.builder, &made, &inner); /* frees the builder in every case */
    if (status == 0 && finished != 0) {
        status = pccl__fail(error, finished, "%.120s: %s", path, inner.message);
    }
    if (status == 0) {
        *topology = made;
    } else {
        pccl_topology_free(made);
    }
    free(reading.capacities);
    free(reading.own_names);
    free(reading.vertices);
    return status;
}
