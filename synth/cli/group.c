/* Groups: which devices take part, in the order of their ranks.
 *   groups = group {"+" group} | "each:" ("row" | "column" | "dim" K)
 *   group  = item {"," item}
 *   item   = "all" | device | device "-" device [":" step]
 *          | ("row" | "column" | "dim" K) ":" coordinate ["-" coordinate]
 * A device is its number or its name. Rows, columns and dimensions exist on grids; a row fixes the first coordinate, a
 * column the last one. "each:row" is a group of every row. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define MAX_ITEM 128

struct parser {
    const struct pccl_topology *topology;
    struct cli_group *group;
    bool *taken; /* by device */
    struct pccl_error *error;
};

static int complain(struct parser *parser, const char *item, const char *why)
{
    snprintf(parser->error->message, sizeof(parser->error->message), "group item '%.60s': %s", item, why);
    return PCCL_ERR_INVALID;
}

static int take_device(struct parser *parser, const char *item, uint32_t device)
{
    if (parser->taken[device]) {
        snprintf(parser->error->message, sizeof(parser->error->message),
                 "group item '%.60s': device %u is already in the group; expected each device once", item, device);
        return PCCL_ERR_INVALID;
    }
    parser->taken[device] = true;
    parser->group->devices[parser->group->num_devices++] = device;
    return PCCL_SUCCESS;
}

/* A number or name; PCCL_NONE if there is no such device. */
static uint32_t find_device(const struct pccl_topology *topology, const char *text)
{
    uint64_t number;
    if (cli_number_parse(text, topology->num_devices - 1, &number) == PCCL_SUCCESS) {
        return (uint32_t)number;
    }
    uint32_t vertex = pccl_topology_find(topology, text);
    return vertex < topology->num_devices ? vertex : PCCL_NONE;
}

/* "7" or "3-5": *first and *last. */
static bool split_interval(char *text, uint64_t maximum, uint64_t *first, uint64_t *last)
{
    char *dash = strchr(text, '-');
    if (dash) {
        *dash++ = '\0';
    }
    return cli_number_parse(text, maximum, first) == PCCL_SUCCESS &&
           cli_number_parse(dash ? dash : text, maximum, last) == PCCL_SUCCESS && *first <= *last;
}

static int take_slice(struct parser *parser, const char *item, uint32_t dimension, char *interval)
{
    const struct pccl_topology *topology = parser->topology;
    uint64_t first, last;
    if (dimension >= topology->num_dimensions) {
        return complain(parser, item, "the topology has no such dimension; rows, columns and dims exist on grids only");
    }
    uint32_t extent = topology->dimensions[dimension], stride = 1;
    if (!split_interval(interval, extent - 1, &first, &last)) {
        snprintf(parser->error->message, sizeof(parser->error->message),
                 "group item '%.60s': expected a coordinate or interval within 0-%u", item, extent - 1);
        return PCCL_ERR_INVALID;
    }
    for (uint32_t i = dimension + 1; i < topology->num_dimensions; i++) {
        stride *= topology->dimensions[i];
    }
    for (uint32_t device = 0; device < topology->num_devices; device++) {
        uint32_t coordinate = device / stride % extent;
        int status = coordinate < first || coordinate > last ? PCCL_SUCCESS : take_device(parser, item, device);
        if (status) {
            return status;
        }
    }
    return PCCL_SUCCESS;
}

/* "row:1", "column:2", "dim0:1-3": true if the item has that form, with the dimension and the rest behind the colon. */
static bool is_slice(const struct pccl_topology *topology, char *item, uint32_t *dimension, char **rest)
{
    char *colon = strchr(item, ':');
    uint64_t number;
    if (!colon) {
        return false;
    }
    *colon = '\0';
    *rest = colon + 1;
    *dimension = PCCL_NONE;
    if (strcmp(item, "row") == 0) {
        *dimension = topology->num_dimensions ? 0 : PCCL_NONE;
    } else if (strcmp(item, "column") == 0) {
        *dimension = topology->num_dimensions ? topology->num_dimensions - 1 : PCCL_NONE;
    } else if (strncmp(item, "dim", 3) == 0 &&
               cli_number_parse(item + 3, PCCL_MAX_DIMENSIONS, &number) == PCCL_SUCCESS) {
        *dimension = (uint32_t)number;
    } else {
        *colon = ':';
        return false;
    }
    return true;
}

/* "A-B" or "A-B:STEP". Names may contain dashes, so every dash is tried as the one between. */
static int take_range(struct parser *parser, const char *item, char *text)
{
    uint64_t step = 1;
    char *colon = strchr(text, ':');
    if (colon) {
        *colon = '\0';
        if (cli_number_parse(colon + 1, UINT32_MAX / 2, &step) || step == 0) {
            return complain(parser, item, "expected a step of 1 or more after ':'");
        }
    }
    for (char *dash = strchr(text, '-'); dash; dash = strchr(dash + 1, '-')) {
        *dash = '\0';
        uint32_t first = find_device(parser->topology, text), last = find_device(parser->topology, dash + 1);
        *dash = '-';
        if (first == PCCL_NONE || last == PCCL_NONE) {
            continue;
        }
        if (first > last) {
            return complain(parser, item, "the first device of a range must not come after the last");
        }
        for (uint64_t device = first; device <= last; device += step) {
            int status = take_device(parser, item, (uint32_t)device);
            if (status) {
                return status;
            }
        }
        return PCCL_SUCCESS;
    }
    snprintf(parser->error->message, sizeof(parser->error->message),
             "group item '%.60s': no such device; expected numbers or ranges within 0-%u, device names, row:R, "
             "column:C, "
             "dimK:C or all",
             item, parser->topology->num_devices - 1);
    return PCCL_ERR_INVALID;
}

static int take_item(struct parser *parser, const char *item)
{
    char text[MAX_ITEM];
    char *rest;
    uint32_t dimension, device = find_device(parser->topology, item);
    if (device != PCCL_NONE) {
        return take_device(parser, item, device);
    }
    if (strcmp(item, "all") == 0) {
        snprintf(text, sizeof(text), "0-%u", parser->topology->num_devices - 1);
    } else {
        snprintf(text, sizeof(text), "%s", item);
    }
    if (is_slice(parser->topology, text, &dimension, &rest)) {
        return take_slice(parser, item, dimension, rest);
    }
    return take_range(parser, item, text);
}

/* One group, up to a '+' or the end. */
static int take_group(struct parser *parser, const char *text, size_t length)
{
    char item[MAX_ITEM];
    for (const char *end = text + length;;) {
        size_t size = strcspn(text, ",+");
        if (size >= sizeof(item)) {
            return complain(parser, text, "too long; expected at most 127 characters between commas");
        }
        memcpy(item, text, size);
        item[size] = '\0';
        int status = take_item(parser, item);
        if (status || text + size == end) {
            return status;
        }
        text += size + 1;
    }
}

static void begin_group(struct parser *parser)
{
    parser->group->first[parser->group->num_groups++] = parser->group->num_devices;
}

static int take_groups(struct parser *parser, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, "+");
        if (parser->group->num_groups == parser->topology->num_devices) {
            return complain(parser, text, "more groups than devices");
        }
        begin_group(parser);
        int status = take_group(parser, text, length);
        if (status || text[length] == '\0') {
            return status;
        }
        text += length + 1;
    }
}

/* "each:row": `text` is what follows the colon. */
static int take_each(struct parser *parser, const char *text)
{
    char item[MAX_ITEM], interval[16], *rest;
    uint32_t dimension = PCCL_NONE;
    snprintf(item, sizeof(item), "%.20s:", text);
    if (!is_slice(parser->topology, item, &dimension, &rest) || dimension >= parser->topology->num_dimensions) {
        return complain(parser, text, "expected each:row, each:column or each:dimK, on a grid");
    }
    for (uint32_t i = 0; i < parser->topology->dimensions[dimension]; i++) {
        begin_group(parser);
        snprintf(interval, sizeof(interval), "%u", i);
        int status = take_slice(parser, text, dimension, interval);
        if (status) {
            return status;
        }
    }
    return PCCL_SUCCESS;
}

int cli_group_parse(const struct pccl_topology *topology, const char *text, struct cli_group *group,
                    struct pccl_error *error)
{
    struct parser parser = {.topology = topology, .group = group, .error = error};
    *group = (struct cli_group){0};
    group->devices = malloc((size_t)topology->num_devices * sizeof(*group->devices));
    group->first = malloc(((size_t)topology->num_devices + 1) * sizeof(*group->first));
    parser.taken = calloc(topology->num_devices, sizeof(*parser.taken));
    int status = group->devices && group->first && parser.taken ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (!status) {
        status = text && strncmp(text, "each:", 5) == 0 ? take_each(&parser, text + 5)
                                                        : take_groups(&parser, text ? text : "all");
    }
    free(parser.taken);
    if (status) {
        cli_group_free(group);
    } else {
        group->first[group->num_groups] = group->num_devices;
    }
    return status;
}

void cli_group_free(struct cli_group *group)
{
    free(group->first);
    free(group->devices);
    *group = (struct cli_group){0};
}
