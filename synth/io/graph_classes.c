/* "classes" and "inside": what links and the insides of hosts cost, in JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/quantity.h"
#include "io/graph_reading.h"
#include "topology/private.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

const char *const pccl__graph_origins_known[] = {"default", "declared", "measured"};

static const char *const parts[] = {"latency", "bandwidth", "overhead", "eager"};

int pccl__graph_costs(const struct pccl__json_place *place, const cJSON *object, int64_t *latency_ps,
                      int64_t *ps_per_mib, struct pccl_error *error)
{
    int status = pccl__graph_quantity(place, object, "latency", "latency_ps", pccl__quantity_time, PCCL__MAX_LATENCY_PS,
                                      latency_ps, error);
    return status != 0 ? status
                       : pccl__graph_quantity(place, object, "bandwidth", "ps_per_mib", pccl__quantity_rate,
                                              PCCL__MAX_PS_PER_MIB, ps_per_mib, error);
}

static int read_origin(const struct pccl__json_place *place, const char *key, const cJSON *item,
                       enum pccl_origin *origin, struct pccl_error *error)
{
    for (int i = 0; i <= (int)PCCL_ORIGIN_MEASURED && cJSON_IsString(item); i++) {
        if (strcmp(item->valuestring, pccl__graph_origins_known[i]) == 0) {
            *origin = (enum pccl_origin)i;
            return 0;
        }
    }
    return pccl__json_fail(place, key, error, "is \"%.40s\"; expected measured, declared or default",
                           cJSON_IsString(item) ? item->valuestring : "no string");
}

int pccl__graph_origins(const struct pccl__json_place *place, const cJSON *object, const char *const *keys,
                        uint32_t num_keys, enum pccl_origin *origins, struct pccl_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "origin"), *child;
    int status = 0;
    if (item == NULL) {
        return 0;
    }
    if (!cJSON_IsObject(item)) {
        for (uint32_t i = 0; i < num_keys && status == 0; i++) {
            status = read_origin(place, "origin", item, &origins[i], error);
        }
        return status;
    }
    status = pccl__json_object(place, item, keys, num_keys, error);
    for (uint32_t i = 0; i < num_keys && status == 0; i++) {
        if ((child = cJSON_GetObjectItemCaseSensitive(item, keys[i])) != NULL) {
            status = read_origin(place, "origin", child, &origins[i], error);
        }
    }
    return status;
}

/* Both of eager_bytes and rendezvous, or neither. */
static int read_eager(const struct pccl__json_place *place, const cJSON *object, struct pccl_class *costs,
                      struct pccl_error *error)
{
    int64_t eager_bytes = -1, rendezvous_ps = -1;
    int status = pccl__json_integer(place, object, "eager_bytes", 0, INT64_MAX, &eager_bytes, error);
    if (status == 0) {
        status = pccl__graph_quantity(place, object, "rendezvous", "rendezvous_ps", pccl__quantity_time,
                                      PCCL__MAX_LATENCY_PS, &rendezvous_ps, error);
    }
    if (status == 0 && (eager_bytes >= 0) != (rendezvous_ps >= 0)) {
        status = pccl__json_fail(place, eager_bytes >= 0 ? "rendezvous" : "eager_bytes", error,
                                 "missing; it belongs to %s", eager_bytes >= 0 ? "eager_bytes" : "rendezvous");
    }
    if (status == 0 && eager_bytes >= 0) {
        costs->eager_bytes = eager_bytes;
        costs->rendezvous_ps = rendezvous_ps;
        costs->eager_origin = PCCL_ORIGIN_DECLARED;
    }
    return status;
}

/* What the object gives replaces what *costs has. */
static int read_costs(const struct pccl__json_place *place, const cJSON *object, struct pccl_class *costs,
                      struct pccl_error *error)
{
    static const char *const keys[] = {"latency",          "latency_ps",
                                       "bandwidth",        "ps_per_mib",
                                       "overhead",         "overhead_ps",
                                       "send_overhead",    "send_overhead_ps",
                                       "receive_overhead", "receive_overhead_ps",
                                       "eager_bytes",      "rendezvous",
                                       "rendezvous_ps",    "origin"};
    int64_t latency_ps = -1, ps_per_mib = -1, send_ps = -1, receive_ps = -1;
    int status = pccl__json_object(place, object, keys, COUNT(keys), error);
    if (status == 0) {
        status = pccl__graph_costs(place, object, &latency_ps, &ps_per_mib, error);
    }
    if (status == 0) {
        status = pccl__graph_overheads(place, object, &send_ps, &receive_ps, error);
    }
    if (status == 0) {
        status = read_eager(place, object, costs, error);
    }
    if (status != 0) {
        return status;
    }
    enum pccl_origin origins[] = {costs->latency_origin, costs->bandwidth_origin, costs->overhead_origin,
                                  costs->eager_origin};
    if (latency_ps >= 0) {
        costs->latency_ps = latency_ps;
        origins[0] = PCCL_ORIGIN_DECLARED;
    }
    if (ps_per_mib >= 0) {
        costs->ps_per_mib = ps_per_mib;
        origins[1] = PCCL_ORIGIN_DECLARED;
    }
    if (send_ps >= 0 || receive_ps >= 0) {
        costs->send_overhead_ps = send_ps;
        costs->receive_overhead_ps = receive_ps;
        origins[2] = PCCL_ORIGIN_DECLARED;
    }
    status = pccl__graph_origins(place, object, parts, COUNT(parts), origins, error);
    costs->latency_origin = origins[0];
    costs->bandwidth_origin = origins[1];
    costs->overhead_origin = origins[2];
    costs->eager_origin = origins[3];
    return status;
}

/* A member of the outermost object that is an object itself; NULL if absent. */
static int find_object(const char *path, const cJSON *root, const char *key, const cJSON **object,
                       struct pccl_error *error)
{
    const struct pccl__json_place top = {path, NULL, 0, NULL};
    *object = cJSON_GetObjectItemCaseSensitive(root, key);
    return *object == NULL || cJSON_IsObject(*object) ? 0
                                                      : pccl__json_fail(&top, key, error, "expected an object { ... }");
}

static int read_classes(struct pccl__graph_reading *reading, const cJSON *object, struct pccl_error *error)
{
    const cJSON *item;
    reading->classes = pccl__array_new((size_t)cJSON_GetArraySize(object), sizeof *reading->classes);
    if (reading->classes == NULL) {
        return pccl__fail_memory(error);
    }
    cJSON_ArrayForEach(item, object)
    {
        const struct pccl__json_place place = {reading->path, "classes", 0, item->string};
        struct pccl_class costs = {.name = item->string,
                                   .latency_ps = PCCL__DEFAULT_LATENCY_PS,
                                   .ps_per_mib = PCCL__DEFAULT_PS_PER_MIB,
                                   .send_overhead_ps = -1,
                                   .receive_overhead_ps = -1,
                                   .eager_bytes = -1};
        if (item->string[0] == '\0' || strlen(item->string) > PCCL__JSON_MAX_NAME) {
            return pccl__json_fail(&place, NULL, error, "expected a name of 1 to %d bytes", PCCL__JSON_MAX_NAME);
        }
        int status = read_costs(&place, item, &costs, error);
        if (status != 0) {
            return status;
        }
        reading->classes[reading->num_classes] = (struct pccl__named){item->string, reading->num_classes};
        reading->num_classes++;
        pccl_topology_add_class(reading->builder, &costs);
    }
    qsort(reading->classes, reading->num_classes, sizeof *reading->classes, pccl__named_compare);
    return 0;
}

static int read_inside(struct pccl__graph_reading *reading, const cJSON *object, struct pccl_error *error)
{
    static const char *const levels[] = {"host", "package", "numa", "l3", "rank"};
    static const char *const rank_keys[] = {"bandwidth", "ps_per_mib", "origin"};
    const struct pccl__json_place inside = {reading->path, "inside", 0, ""};
    int status = object != NULL ? pccl__json_object(&inside, object, levels, COUNT(levels), error) : 0;
    for (int level = 0; level < PCCL_NUM_LEVELS && status == 0; level++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, levels[level]);
        const struct pccl__json_place place = {reading->path, "inside", 0, levels[level]};
        struct pccl_class costs = pccl__inside_default((enum pccl_level)level);
        if (item != NULL && level == PCCL_LEVEL_RANK) {
            status = pccl__json_object(&place, item, rank_keys, COUNT(rank_keys), error);
        }
        if (item != NULL && status == 0) {
            status = read_costs(&place, item, &costs, error);
            pccl_topology_set_inside(reading->builder, (enum pccl_level)level, &costs);
        }
    }
    return status;
}

int pccl__graph_read_classes(struct pccl__graph_reading *reading, const cJSON *root, struct pccl_error *error)
{
    const cJSON *classes, *inside;
    int status = find_object(reading->path, root, "classes", &classes, error);
    if (status == 0 && classes != NULL) {
        status = read_classes(reading, classes, error);
    }
    if (status == 0) {
        status = find_object(reading->path, root, "inside", &inside, error);
    }
    return status != 0 ? status : read_inside(reading, inside, error);
}
