#include "topology/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"

#define UNIT_PS_PER_MIB (1 << 20) /* 1 ps per byte */

static int parse_extents(char *field, struct pccl__spec *spec, struct pccl_error *error)
{
    uint64_t product = 1;
    for (char *next = field; next != NULL;) {
        char *number = next;
        next = strchr(number, 'x');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (spec->num_extents == PCCL_MAX_DIMENSIONS) {
            return pccl__fail(error, PCCL_ERR_FORMAT, "\"%.100s\" has more than %d extents", spec->text,
                              PCCL_MAX_DIMENSIONS);
        }
        char what[160];
        snprintf(what, sizeof what, "extent %" PRIu32 " of \"%.100s\"", spec->num_extents + 1, spec->text);
        int64_t extent;
        int status = pccl__quantity_integer(number, what, 1, PCCL__MAX_VERTICES, &extent, error);
        if (status != 0) {
            return status;
        }
        product *= (uint64_t)extent;
        if (product > PCCL__MAX_VERTICES) {
            return pccl__fail(error, PCCL_ERR_OVERFLOW, "\"%.100s\" has more than %u devices", spec->text,
                              PCCL__MAX_VERTICES);
        }
        spec->extents[spec->num_extents++] = (uint32_t)extent;
    }
    return 0;
}

static int parse_option(char *field, struct pccl__spec *spec, struct pccl_error *error)
{
    char *value = strchr(field, '=');
    if (value != NULL) {
        *value++ = '\0';
    }
    for (uint32_t i = 0; i < spec->num_options; i++) {
        if (strcmp(spec->options[i].key, field) == 0) {
            return pccl__fail(error, PCCL_ERR_FORMAT, "\"%.100s\" gives the option \"%.40s\" twice", spec->text, field);
        }
    }
    if (spec->num_options == PCCL__MAX_SPEC_OPTIONS) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "\"%.100s\" has more than %d options", spec->text,
                          PCCL__MAX_SPEC_OPTIONS);
    }
    spec->options[spec->num_options++] = (struct pccl__spec_option){field, value != NULL ? value : "", false};
    return 0;
}

static int parse_common(struct pccl__spec *spec, struct pccl_error *error)
{
    const char *unit = pccl__spec_option(spec, "unit"), *multicast = pccl__spec_option(spec, "multicast");
    if ((unit != NULL && *unit != '\0') || (multicast != NULL && *multicast != '\0')) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "option \"%s\" of \"%.100s\" takes no value",
                          unit != NULL && *unit != '\0' ? "unit" : "multicast", spec->text);
    }
    spec->multicast = multicast != NULL;
    spec->overhead_ps = unit != NULL ? 0 : PCCL__DEFAULT_OVERHEAD_PS;
    const char *overhead = pccl__spec_option(spec, "overhead");
    spec->declared = overhead != NULL || unit != NULL;
    return overhead != NULL ? pccl__quantity_time(overhead, "overhead", &spec->overhead_ps, error) : 0;
}

int pccl__spec_parse(const char *text, struct pccl__spec *spec, struct pccl_error *error)
{
    *spec = (struct pccl__spec){.text = text};
    if (strlen(text) >= sizeof spec->copy) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "the topology \"%.60s...\" is longer than %d characters", text,
                          PCCL__MAX_SPEC_BYTES - 1);
    }
    strcpy(spec->copy, text);
    spec->name = spec->copy;
    char *next = strchr(spec->copy, ':');
    for (uint32_t i = 0; next != NULL; i++) {
        *next++ = '\0';
        char *field = next;
        next = strchr(field, ':');
        if (next != NULL) {
            *next = '\0';
        }
        int status = i == 0 ? parse_extents(field, spec, error) : parse_option(field, spec, error);
        if (status != 0) {
            return status;
        }
    }
    return parse_common(spec, error);
}

const char *pccl__spec_option(struct pccl__spec *spec, const char *key)
{
    if (strstr(spec->asked, key) == NULL) { /* no key is part of another */
        size_t length = strlen(spec->asked);
        snprintf(spec->asked + length, sizeof spec->asked - length, "%s%s", length > 0 ? ", " : "", key);
    }
    for (uint32_t i = 0; i < spec->num_options; i++) {
        if (strcmp(spec->options[i].key, key) == 0) {
            spec->options[i].used = true;
            return spec->options[i].value;
        }
    }
    return NULL;
}

int pccl__spec_integer(struct pccl__spec *spec, const char *key, uint32_t minimum, uint32_t maximum, uint32_t *value,
                       struct pccl_error *error)
{
    const char *text = pccl__spec_option(spec, key);
    if (text == NULL) {
        return 0;
    }
    int64_t number;
    int status = pccl__quantity_integer(text, key, minimum, maximum, &number, error);
    if (status == 0) {
        *value = (uint32_t)number;
    }
    return status;
}

typedef int quantity_reader(const char *text, const char *what, int64_t *value, struct pccl_error *error);

static int read_ps_per_mib(const char *text, const char *what, int64_t *value, struct pccl_error *error)
{
    return pccl__quantity_integer(text, what, 0, PCCL__MAX_PS_PER_MIB, value, error);
}

/* One value, used `count` times, or `count` values separated by commas. */
static int read_list(const struct pccl__spec *spec, const char *key, const char *text, uint32_t count,
                     quantity_reader *read, int64_t *values, struct pccl_error *error)
{
    uint32_t num_values = 0;
    for (bool more = true; more; num_values++) {
        size_t length = strcspn(text, ",");
        char part[64];
        if (num_values == count || length >= sizeof part) {
            return pccl__fail(error, PCCL_ERR_FORMAT,
                              "option \"%s\" of \"%.100s\" has too many or too long values; expected at "
                              "most %" PRIu32,
                              key, spec->text, count);
        }
        memcpy(part, text, length);
        part[length] = '\0';
        int status = read(part, key, &values[num_values], error);
        if (status != 0) {
            return status;
        }
        more = text[length] == ',';
        text += length + more;
    }
    if (num_values != 1 && num_values != count) {
        return pccl__fail(error, PCCL_ERR_FORMAT,
                          "option \"%s\" of \"%.100s\" has %" PRIu32 " values; expected 1 or %" PRIu32, key, spec->text,
                          num_values, count);
    }
    for (; num_values < count; num_values++) {
        values[num_values] = values[0];
    }
    return 0;
}

int pccl__spec_costs(struct pccl__spec *spec, uint32_t num_classes, struct pccl__cost *costs, struct pccl_error *error)
{
    bool unit = pccl__spec_option(spec, "unit") != NULL;
    const char *latency = pccl__spec_option(spec, "latency"), *bandwidth = pccl__spec_option(spec, "bandwidth"),
               *ps_per_mib = pccl__spec_option(spec, "ps_per_mib");
    int64_t latencies_ps[PCCL_MAX_DIMENSIONS], times_ps[PCCL_MAX_DIMENSIONS];
    int status = 0;
    if (bandwidth != NULL && ps_per_mib != NULL) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "\"%.100s\" gives both bandwidth and ps_per_mib; expected one",
                          spec->text);
    }
    for (uint32_t i = 0; i < num_classes; i++) {
        latencies_ps[i] = unit ? 0 : PCCL__DEFAULT_LATENCY_PS;
        times_ps[i] = unit ? UNIT_PS_PER_MIB : PCCL__DEFAULT_PS_PER_MIB;
    }
    if (latency != NULL) {
        status = read_list(spec, "latency", latency, num_classes, pccl__quantity_time, latencies_ps, error);
    }
    if (status == 0 && bandwidth != NULL) {
        status = read_list(spec, "bandwidth", bandwidth, num_classes, pccl__quantity_rate, times_ps, error);
    }
    if (status == 0 && ps_per_mib != NULL) {
        status = read_list(spec, "ps_per_mib", ps_per_mib, num_classes, read_ps_per_mib, times_ps, error);
    }
    for (uint32_t i = 0; i < num_classes && status == 0; i++) {
        costs[i] = (struct pccl__cost){latencies_ps[i], times_ps[i]};
    }
    spec->declared = spec->declared || latency != NULL || bandwidth != NULL || ps_per_mib != NULL;
    return status;
}

int pccl__spec_routing(struct pccl__spec *spec, bool grid, enum pccl_routing *routing, struct pccl_error *error)
{
    const char *text = pccl__spec_option(spec, "routing");
    if (text == NULL) {
        return 0;
    }
    if (strcmp(text, "none") == 0) {
        *routing = PCCL_ROUTING_NONE;
    } else if (strcmp(text, "shortest") == 0) {
        *routing = PCCL_ROUTING_SHORTEST;
    } else if (grid && strcmp(text, "dimension-order") == 0) {
        *routing = PCCL_ROUTING_DIMENSION_ORDER;
    } else {
        return pccl__fail(error, PCCL_ERR_FORMAT, "routing of \"%.100s\" is \"%.40s\"; expected none%s", spec->text,
                          text, grid ? ", shortest or dimension-order" : " or shortest");
    }
    return 0;
}

int pccl__spec_finish(struct pccl__spec *spec, uint64_t num_vertices, uint64_t num_links, struct pccl_error *error)
{
    for (uint32_t i = 0; i < spec->num_options; i++) {
        if (!spec->options[i].used) {
            return pccl__fail(error, PCCL_ERR_FORMAT, "unknown option \"%.40s\" of \"%.100s\"; %s understands %s",
                              spec->options[i].key, spec->text, spec->name, spec->asked);
        }
    }
    if (num_vertices > PCCL__MAX_VERTICES || num_links > PCCL__MAX_LINKS) {
        return pccl__fail(error, PCCL_ERR_OVERFLOW,
                          "\"%.100s\" has %" PRIu64 " devices and switches and %" PRIu64
                          " links; at most %u each are supported",
                          spec->text, num_vertices, num_links, PCCL__MAX_LINKS);
    }
    return 0;
}

struct pccl_topology_builder *pccl__spec_builder(const struct pccl__spec *spec)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new(spec->text);
    enum pccl_origin origin = spec->declared ? PCCL_ORIGIN_DECLARED : PCCL_ORIGIN_DEFAULT;
    pccl_topology_set_origins(builder, origin, origin);
    return builder;
}

void pccl__spec_add_device(const struct pccl__spec *spec, struct pccl_topology_builder *builder, const char *name)
{
    uint32_t device = pccl_topology_add_device(builder, name);
    pccl_topology_set_overheads(builder, device, spec->overhead_ps, spec->overhead_ps);
}

void pccl__spec_add_devices(const struct pccl__spec *spec, struct pccl_topology_builder *builder, uint32_t count)
{
    for (uint32_t d = 0; d < count; d++) {
        char name[16];
        snprintf(name, sizeof name, "d%" PRIu32, d);
        pccl__spec_add_device(spec, builder, name);
    }
}

uint32_t pccl__spec_add_switch(const struct pccl__spec *spec, struct pccl_topology_builder *builder, const char *prefix,
                               uint32_t number)
{
    char name[40];
    snprintf(name, sizeof name, "%s%" PRIu32, prefix, number);
    return pccl_topology_add_switch(builder, name, spec->multicast);
}
