#include "io/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/quantity.h"
#include "io/graph_reading.h"
#include "topology/private.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

int pccl__named_compare(const void *a, const void *b)
{
    const struct pccl__named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

uint32_t pccl__named_find(const struct pccl__named *list, uint32_t count, const char *name)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(list[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && strcmp(list[low].name, name) == 0 ? list[low].number : PCCL_NONE;
}

int pccl__graph_quantity(const struct pccl__json_place *place, const cJSON *object, const char *key,
                         const char *exact_key, pccl__quantity_reader *read, int64_t maximum, int64_t *value,
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

int pccl__graph_overheads(const struct pccl__json_place *place, const cJSON *object, int64_t *send_ps,
                          int64_t *receive_ps, struct pccl_error *error)
{
    int status = pccl__graph_quantity(place, object, "overhead", "overhead_ps", pccl__quantity_time,
                                      PCCL__MAX_LATENCY_PS, send_ps, error);
    *receive_ps = *send_ps;
    if (status == 0) {
        status = pccl__graph_quantity(place, object, "send_overhead", "send_overhead_ps", pccl__quantity_time,
                                      PCCL__MAX_LATENCY_PS, send_ps, error);
    }
    if (status == 0) {
        status = pccl__graph_quantity(place, object, "receive_overhead", "receive_overhead_ps", pccl__quantity_time,
                                      PCCL__MAX_LATENCY_PS, receive_ps, error);
    }
    return status;
}

/* --- vertices ---------------------------------------------------------------------------------------------------- */

static void add_vertex(struct pccl__graph_reading *reading, const char *name, bool is_switch, bool multicast,
                       int64_t send_ps, int64_t receive_ps)
{
    uint32_t id = is_switch ? pccl_topology_add_switch(reading->builder, name, multicast)
                            : pccl_topology_add_device(reading->builder, name);
    if (!is_switch) {
        pccl_topology_set_overheads(reading->builder, id, send_ps, receive_ps);
    }
    reading->vertices[reading->num_vertices] = (struct pccl__named){name, reading->num_vertices};
    if (!is_switch) {
        reading->device_names[reading->num_devices++] = name;
    }
    reading->num_vertices++;
}

/* One element of devices or switches: a name or an object. */
static int read_vertex(struct pccl__graph_reading *reading, const struct pccl__json_place *place, const cJSON *item,
                       bool is_switch, struct pccl_error *error)
{
    static const char *const device_keys[] = {"name",
                                              "overhead",
                                              "overhead_ps",
                                              "send_overhead",
                                              "send_overhead_ps",
                                              "receive_overhead",
                                              "receive_overhead_ps"};
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
            status = pccl__graph_overheads(place, item, &send_ps, &receive_ps, error);
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

static int read_vertex_list(struct pccl__graph_reading *reading, const char *key, const cJSON *list, int64_t count,
                            char *own_names, struct pccl_error *error)
{
    const bool is_switch = strcmp(key, "switches") == 0;
    for (int64_t i = 0; i < count && list == NULL; i++) {
        char *name = own_names + 16 * i;
        snprintf(name, 16, "%c%" PRIu32, is_switch ? 's' : 'd', (uint32_t)i);
        add_vertex(reading, name, is_switch, false, reading->overhead_ps, reading->overhead_ps);
    }
    struct pccl__json_place place = {reading->path, key, 0, NULL};
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        int status = read_vertex(reading, &place, item, is_switch, error);
        if (status != 0) {
            return status;
        }
        place.index++;
    }
    return 0;
}

static int read_vertices(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
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
    reading->device_names = pccl__array_new((size_t)num_devices, sizeof *reading->device_names);
    reading->own_names = pccl__array_new((size_t)num_own, 16);
    if (reading->vertices == NULL || reading->device_names == NULL || reading->own_names == NULL) {
        return pccl__fail_memory(error);
    }
    status = read_vertex_list(reading, "devices", devices, num_devices, reading->own_names, error);
    if (status == 0) {
        status = read_vertex_list(reading, "switches", switches, num_switches,
                                  reading->own_names + (devices == NULL ? 16 * num_devices : 0), error);
    }
    qsort(reading->vertices, reading->num_vertices, sizeof *reading->vertices, pccl__named_compare);
    return status;
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
    static const char *const keys[] = {"format",   "version",     "name",       "devices", "switches",
                                       "overhead", "overhead_ps", "classes",    "inside",  "links",
                                       "routing",  "routes",      "dimensions", "wraps"};
    const struct pccl__json_place top = {path, NULL, 0, NULL};
    struct pccl__graph_reading reading = {.path = path, .overhead_ps = PCCL__DEFAULT_OVERHEAD_PS};
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
        status = pccl__graph_quantity(&top, root, "overhead", "overhead_ps", pccl__quantity_time, PCCL__MAX_LATENCY_PS,
                                      &reading.overhead_ps, error);
    }
    if (status != 0) {
        return status;
    }
    reading.builder = pccl_topology_builder_new(name);
    status = read_vertices(&reading, &top, root, error);
    if (status == 0) {
        status = pccl__graph_read_classes(&reading, root, error);
    }
    if (status == 0) {
        status = pccl__graph_read_links(&reading, &top, root, error);
    }
    if (status == 0) {
        status = pccl__graph_read_routing(&reading, &top, root, error);
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
    free(reading.out_links);
    free(reading.first_out);
    free(reading.ends);
    free(reading.capacities);
    free(reading.classes);
    free(reading.device_names);
    free(reading.own_names);
    free(reading.vertices);
    return status;
}
