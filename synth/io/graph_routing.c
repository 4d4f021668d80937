/* "dimensions", "routing" and "routes": how a network in JSON forwards. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "io/graph_reading.h"
#include "topology/private.h"

const char *const pccl__graph_rules[] = {"none", "shortest", "dimension-order", "min-hop", "up-down", "table"};

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
    cJSON_ArrayForEach(item, list)
    {
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

static int read_grid(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
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
    cJSON_ArrayForEach(item, list)
    {
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

/* --- routing table ----------------------------------------------------------------------------------------------- */

/* One entry of the table: at `vertex`, what is for `target` goes on over `link`. */
static int add_target(struct pccl__graph_reading *reading, const struct pccl__json_place *place, const char *key,
                      uint32_t vertex, uint32_t link, int64_t target, struct pccl_error *error)
{
    if (target >= reading->num_devices) {
        return pccl__json_fail(place, key, error, "names device %" PRId64 "; there are %" PRIu32, target,
                               reading->num_devices);
    }
    if (reading->num_routes++ >= PCCL__MAX_TABLE) {
        return pccl__json_fail(place, key, error, "is beyond %u entries", PCCL__MAX_TABLE);
    }
    pccl_topology_add_route(reading->builder, vertex, (uint32_t)target, link);
    return 0;
}

/* A number of at most nine digits; the text after it, or NULL if there is none. */
static const char *parse_number(const char *text, int64_t *number)
{
    const char *end = text;
    for (*number = 0; *end >= '0' && *end <= '9' && end - text < 9; end++) {
        *number = 10 * *number + (*end - '0');
    }
    return end != text && !(*end >= '0' && *end <= '9') ? end : NULL;
}

/* Device numbers and ranges with commas between: "0-3,7". */
static int add_ranges(struct pccl__graph_reading *reading, const struct pccl__json_place *place, const char *key,
                      uint32_t vertex, uint32_t link, const char *text, struct pccl_error *error)
{
    int status = 0;
    for (const char *next = text; status == 0;) {
        int64_t first, last;
        next = parse_number(next, &first);
        last = first;
        if (next != NULL && *next == '-') {
            next = parse_number(next + 1, &last);
        }
        if (next == NULL || last < first || (*next != ',' && *next != '\0')) {
            return pccl__json_fail(place, key, error, "is \"%.60s\"; expected device numbers such as \"0-3,7\"", text);
        }
        for (int64_t target = first; target <= last && status == 0; target++) {
            status = add_target(reading, place, key, vertex, link, target, error);
        }
        if (*next == '\0') {
            break;
        }
        next++;
    }
    return status;
}

/* A list of devices, each by name or by number. */
static int add_names(struct pccl__graph_reading *reading, const struct pccl__json_place *place, const char *key,
                     uint32_t vertex, uint32_t link, const cJSON *list, struct pccl_error *error)
{
    const cJSON *item;
    int status = 0;
    cJSON_ArrayForEach(item, list)
    {
        int64_t target = PCCL_NONE;
        if (cJSON_IsString(item)) {
            target = pccl__named_find(reading->vertices, reading->num_vertices, item->valuestring);
            target = target < reading->num_vertices ? target : PCCL_NONE;
        } else {
            status = pccl__json_element(place, item, key, 0, PCCL__MAX_VERTICES, &target, error);
        }
        if (status == 0 && target >= reading->num_devices) {
            status = pccl__json_fail(place, key, error, "\"%.60s\" is no device",
                                     cJSON_IsString(item) ? item->valuestring : "a number");
        }
        if (status == 0) {
            status = add_target(reading, place, key, vertex, link, target, error);
        }
        if (status != 0) {
            return status;
        }
    }
    return status;
}

/* The link from a vertex that a key of its part of the table means: the next vertex, or '#' and the link's number. */
static int find_link(const struct pccl__graph_reading *reading, const struct pccl__json_place *place, const char *key,
                     uint32_t vertex, uint32_t *link, struct pccl_error *error)
{
    int64_t number = PCCL_NONE;
    if (key[0] == '#') {
        const char *end = parse_number(key + 1, &number);
        bool leaves =
            end != NULL && *end == '\0' && number < reading->num_links && reading->ends[number].source == vertex;
        *link = (uint32_t)number;
        return leaves ? 0 : pccl__json_fail(place, key, error, "is no link that leaves it");
    }
    const uint32_t *out = reading->out_links + reading->first_out[vertex];
    const uint32_t count = reading->first_out[vertex + 1] - reading->first_out[vertex];
    uint32_t to = pccl__named_find(reading->vertices, reading->num_vertices, key);
    *link = PCCL_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (reading->ends[out[i]].target == to && *link != PCCL_NONE) {
            return pccl__json_fail(place, key, error, "is joined to it by several links; expected \"#\" and a number");
        }
        *link = reading->ends[out[i]].target == to ? out[i] : *link;
    }
    return *link != PCCL_NONE ? 0 : pccl__json_fail(place, key, error, "is no vertex that a link from it leads to");
}

/* Lists links by the vertex they leave. */
static int index_links(struct pccl__graph_reading *reading, struct pccl_error *error)
{
    reading->first_out = pccl__array_new((size_t)reading->num_vertices + 2, sizeof *reading->first_out);
    reading->out_links = pccl__array_new(reading->num_links, sizeof *reading->out_links);
    if (reading->first_out == NULL || reading->out_links == NULL) {
        return pccl__fail_memory(error);
    }
    for (uint32_t l = 0; l < reading->num_links; l++) {
        reading->first_out[reading->ends[l].source + 2]++;
    }
    for (uint32_t v = 2; v < reading->num_vertices + 2; v++) {
        reading->first_out[v] += reading->first_out[v - 1];
    }
    for (uint32_t l = 0; l < reading->num_links; l++) {
        reading->out_links[reading->first_out[reading->ends[l].source + 1]++] = l;
    }
    return 0;
}

/* What one vertex does with everything that comes to it. */
static int read_routes_at(struct pccl__graph_reading *reading, const cJSON *object, uint32_t vertex,
                          struct pccl_error *error)
{
    const struct pccl__json_place place = {reading->path, "routes", 0, object->string};
    const cJSON *item;
    if (!cJSON_IsObject(object)) {
        return pccl__json_fail(&place, NULL, error, "expected an object { ... }");
    }
    cJSON_ArrayForEach(item, object)
    {
        uint32_t link;
        int status = find_link(reading, &place, item->string, vertex, &link, error);
        if (status == 0 && cJSON_IsString(item)) {
            status = add_ranges(reading, &place, item->string, vertex, link, item->valuestring, error);
        } else if (status == 0 && cJSON_IsArray(item)) {
            status = add_names(reading, &place, item->string, vertex, link, item, error);
        } else if (status == 0) {
            status = pccl__json_fail(&place, item->string, error, "expected a string or an array");
        }
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int read_routes(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
                       bool is_table, struct pccl_error *error)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "routes"), *item;
    if (object == NULL || !is_table) {
        return object == NULL && !is_table ? 0
                                           : pccl__json_fail(top, "routes", error,
                                                             is_table ? "missing; \"routing\" is \"table\""
                                                                      : "given, but \"routing\" is no table");
    }
    if (!cJSON_IsObject(object)) {
        return pccl__json_fail(top, "routes", error, "expected an object { ... }");
    }
    int status = index_links(reading, error);
    cJSON_ArrayForEach(item, object)
    {
        uint32_t vertex = pccl__named_find(reading->vertices, reading->num_vertices, item->string);
        if (status == 0 && vertex == PCCL_NONE) {
            status = pccl__json_fail(top, "routes", error, "has \"%.100s\", which is neither a device nor a switch",
                                     item->string);
        }
        if (status == 0) {
            status = read_routes_at(reading, item, vertex, error);
        }
        if (status != 0) {
            break;
        }
    }
    return status;
}

static int read_rule(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
                     enum pccl_routing *routing, struct pccl_error *error)
{
    const char *text = NULL;
    int status = pccl__json_text(top, root, "routing", &text, error);
    if (status != 0 || text == NULL) {
        return status;
    }
    for (int rule = 0; rule <= (int)PCCL_ROUTING_TABLE; rule++) {
        if (strcmp(text, pccl__graph_rules[rule]) == 0) {
            *routing = (enum pccl_routing)rule;
            pccl_topology_set_routing(reading->builder, *routing);
            return 0;
        }
    }
    return pccl__json_fail(top, "routing", error,
                           "is \"%.40s\"; expected none, shortest, dimension-order, min-hop, up-down or table", text);
}

int pccl__graph_read_routing(struct pccl__graph_reading *reading, const struct pccl__json_place *top, const cJSON *root,
                             struct pccl_error *error)
{
    enum pccl_routing routing = PCCL_ROUTING_NONE;
    int status = read_grid(reading, top, root, error);
    if (status == 0) {
        status = read_rule(reading, top, root, &routing, error);
    }
    return status != 0 ? status : read_routes(reading, top, root, routing == PCCL_ROUTING_TABLE, error);
}
