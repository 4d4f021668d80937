#include "pccl/io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "io/graph_reading.h"
#include "topology/placement.h"
#include "topology/private.h"
#include "topology/routes.h"

static void put_integer(FILE *stream, const char *key, int64_t value)
{
    fprintf(stream, ", \"%s\": ", key);
    pccl__json_put_integer(stream, value);
}

static void put_vertices(FILE *stream, const struct pccl_topology *topology)
{
    fprintf(stream, " \"devices\": [");
    for (uint32_t v = 0; v < topology->num_devices; v++) {
        const struct pccl_vertex *vertex = &topology->vertices[v];
        fprintf(stream, "%s\n  {\"name\": ", v > 0 ? "," : "");
        pccl__json_put_text(stream, vertex->name);
        put_integer(stream, "send_overhead_ps", vertex->send_overhead_ps);
        put_integer(stream, "receive_overhead_ps", vertex->receive_overhead_ps);
        fputc('}', stream);
    }
    fprintf(stream, "\n ],\n \"switches\": [");
    for (uint32_t v = topology->num_devices; v < topology->num_vertices; v++) {
        fprintf(stream, "%s\n  {\"name\": ", v > topology->num_devices ? "," : "");
        pccl__json_put_text(stream, topology->vertices[v].name);
        fprintf(stream, ", \"multicast\": %s}", topology->vertices[v].multicast ? "true" : "false");
    }
    fprintf(stream, "\n ],\n");
}

/* One word where all come from the same source. */
static void put_origins(FILE *stream, const enum pccl_origin *origins, uint32_t count)
{
    static const char *const parts[] = {"latency", "bandwidth", "overhead", "eager"};
    bool same = true;
    for (uint32_t i = 1; i < count; i++) {
        same = same && origins[i] == origins[0];
    }
    fprintf(stream, ", \"origin\": ");
    for (uint32_t i = 0; i < count && !same; i++) {
        fprintf(stream, "%s\"%s\": \"%s\"", i > 0 ? ", " : "{", parts[i], pccl__graph_origins_known[origins[i]]);
    }
    if (same) {
        fprintf(stream, "\"%s\"", pccl__graph_origins_known[origins[0]]);
    } else {
        fputc('}', stream);
    }
}

/* What a class or a level inside hosts costs, all but the brace that begins it. */
static void put_costs(FILE *stream, const struct pccl_class *costs)
{
    const enum pccl_origin origins[] = {costs->latency_origin, costs->bandwidth_origin, costs->overhead_origin,
                                        costs->eager_origin};
    fprintf(stream, "\"latency_ps\": ");
    pccl__json_put_integer(stream, costs->latency_ps);
    put_integer(stream, "ps_per_mib", costs->ps_per_mib);
    if (costs->send_overhead_ps >= 0) {
        put_integer(stream, "send_overhead_ps", costs->send_overhead_ps);
    }
    if (costs->receive_overhead_ps >= 0) {
        put_integer(stream, "receive_overhead_ps", costs->receive_overhead_ps);
    }
    if (costs->eager_bytes >= 0) {
        put_integer(stream, "eager_bytes", costs->eager_bytes);
        put_integer(stream, "rendezvous_ps", costs->rendezvous_ps);
    }
    put_origins(stream, origins, 4);
    fputc('}', stream);
}

static void put_classes(FILE *stream, const struct pccl_topology *topology)
{
    for (uint32_t c = 0; c < topology->num_classes; c++) {
        fprintf(stream, c > 0 ? ",\n  " : " \"classes\": {\n  ");
        pccl__json_put_text(stream, topology->classes[c].name);
        fprintf(stream, ": {");
        put_costs(stream, &topology->classes[c]);
    }
    fprintf(stream, topology->num_classes > 0 ? "\n },\n" : "");
}

static bool same_costs(const struct pccl_class *a, const struct pccl_class *b)
{
    return a->latency_ps == b->latency_ps && a->ps_per_mib == b->ps_per_mib &&
           a->send_overhead_ps == b->send_overhead_ps && a->receive_overhead_ps == b->receive_overhead_ps &&
           a->eager_bytes == b->eager_bytes && a->rendezvous_ps == b->rendezvous_ps &&
           a->latency_origin == b->latency_origin && a->bandwidth_origin == b->bandwidth_origin &&
           a->overhead_origin == b->overhead_origin && a->eager_origin == b->eager_origin;
}

/* Only levels that do not cost what they cost without a word. */
static void put_inside(FILE *stream, const struct pccl_topology *topology)
{
    uint32_t count = 0;
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        const struct pccl_class *costs = &topology->inside[level], usual = pccl__inside_default((enum pccl_level)level);
        if (same_costs(costs, &usual)) {
            continue;
        }
        fprintf(stream, "%s\"%s\": {", count++ > 0 ? ",\n  " : " \"inside\": {\n  ",
                pccl_level_name((enum pccl_level)level));
        if (level == PCCL_LEVEL_RANK) {
            fprintf(stream, "\"ps_per_mib\": ");
            pccl__json_put_integer(stream, costs->ps_per_mib);
            fprintf(stream, ", \"origin\": {\"bandwidth\": \"%s\"}}",
                    pccl__graph_origins_known[costs->bandwidth_origin]);
        } else {
            put_costs(stream, costs);
        }
    }
    fprintf(stream, count > 0 ? "\n },\n" : "");
}

static int put_links(FILE *stream, const struct pccl_topology *topology)
{
    uint32_t *users = pccl__array_new(topology->num_capacities, sizeof *users);
    if (users == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        users[topology->links[l].capacity]++;
    }
    fprintf(stream, " \"links\": [");
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        fprintf(stream, "%s\n  {\"source\": ", l > 0 ? "," : "");
        pccl__json_put_text(stream, topology->vertices[link->source].name);
        fprintf(stream, ", \"target\": ");
        pccl__json_put_text(stream, topology->vertices[link->target].name);
        if (users[link->capacity] > 1) {
            fprintf(stream, ", \"capacity\": \"c%" PRIu32 "\"", link->capacity);
        }
        if (link->link_class != PCCL_NO_CLASS) {
            fprintf(stream, ", \"class\": ");
            pccl__json_put_text(stream, topology->classes[link->link_class].name);
        } else {
            const enum pccl_origin origins[] = {link->latency_origin, link->bandwidth_origin};
            put_integer(stream, "latency_ps", link->latency_ps);
            put_integer(stream, "ps_per_mib", link->ps_per_mib);
            put_origins(stream, origins, 2);
        }
        fputc('}', stream);
    }
    fprintf(stream, "\n ],\n");
    free(users);
    return 0;
}

/* The devices for which a vertex uses a link, as numbers and ranges. */
static void put_targets(FILE *stream, const struct pccl_topology *topology, uint32_t vertex, uint32_t link)
{
    const char *separator = "";
    for (uint32_t first = 0, end; first < topology->num_devices; first = end) {
        for (end = first; end < topology->num_devices && pccl__routes_next(topology, vertex, end) == link; end++) {
        }
        if (end > first) {
            fprintf(stream, "%s%" PRIu32, separator, first);
            separator = ",";
        }
        if (end > first + 1) {
            fprintf(stream, "-%" PRIu32, end - 1);
        }
        end += end == first;
    }
}

static void put_routes(FILE *stream, const struct pccl_topology *topology)
{
    const char *next_vertex = "\n  ";
    fprintf(stream, ",\n \"routes\": {");
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        const char *next_link = "";
        for (uint32_t i = topology->first_out[v]; i < topology->first_out[v + 1]; i++) {
            uint32_t link = topology->out_links[i], target = 0;
            while (target < topology->num_devices && pccl__routes_next(topology, v, target) != link) {
                target++;
            }
            if (target == topology->num_devices) {
                continue;
            }
            if (*next_link == '\0') {
                fprintf(stream, "%s", next_vertex);
                pccl__json_put_text(stream, topology->vertices[v].name);
                fprintf(stream, ": {");
            }
            fprintf(stream, "%s\"#%" PRIu32 "\": \"", next_link, link);
            put_targets(stream, topology, v, link);
            fputc('"', stream);
            next_link = ", ";
            next_vertex = ",\n  ";
        }
        fprintf(stream, *next_link != '\0' ? "}" : "");
    }
    fprintf(stream, "\n }");
}

static void put_routing(FILE *stream, const struct pccl_topology *topology)
{
    if (topology->num_dimensions > 0) {
        fprintf(stream, " \"dimensions\": [");
        for (uint32_t i = 0; i < topology->num_dimensions; i++) {
            fprintf(stream, "%s%" PRIu32, i > 0 ? ", " : "", topology->dimensions[i]);
        }
        fprintf(stream, "],\n \"wraps\": [");
        for (uint32_t i = 0; i < topology->num_dimensions; i++) {
            fprintf(stream, "%s%s", i > 0 ? ", " : "", topology->wraps[i] ? "true" : "false");
        }
        fprintf(stream, "],\n");
    }
    fprintf(stream, " \"routing\": \"%s\"", pccl__graph_rules[topology->routing]);
    if (topology->routing == PCCL_ROUTING_TABLE) {
        put_routes(stream, topology);
    }
    fputc('\n', stream);
}

static int put_graph(FILE *stream, const struct pccl_topology *topology)
{
    fprintf(stream, "{\n \"format\": \"pccl-topology\",\n \"version\": 1,\n \"name\": ");
    pccl__json_put_text(stream, topology->name);
    fprintf(stream, ",\n");
    put_vertices(stream, topology);
    put_classes(stream, topology);
    put_inside(stream, topology);
    int status = put_links(stream, topology);
    put_routing(stream, topology);
    fprintf(stream, "}");
    return status;
}

/* Only what the places tell beyond the fabric: reading places the ranks again. */
static int put_placed(FILE *stream, const struct pccl__placement *placement, uint32_t num_ranks)
{
    fprintf(stream, "{\n \"format\": \"pccl-topology\",\n \"version\": 1,\n \"fabric\": ");
    int status = put_graph(stream, placement->fabric);
    fprintf(stream, ",\n \"places\": [");
    for (uint32_t r = 0; r < num_ranks; r++) {
        const struct pccl_place *place = &placement->places[r];
        fprintf(stream, "%s\n  {\"host\": ", r > 0 ? "," : "");
        pccl__json_put_text(stream, placement->fabric->vertices[place->host].name);
        put_integer(stream, "package", place->package);
        put_integer(stream, "numa", place->numa);
        put_integer(stream, "l3", place->l3);
        put_integer(stream, "core", place->core);
        if (place->processor != 0) {
            put_integer(stream, "processor", place->processor);
        }
        fputc('}', stream);
    }
    fprintf(stream, "\n ]\n}");
    return status;
}

static int put_topology(FILE *stream, const struct pccl_topology *topology)
{
    const struct pccl__placement *placement = pccl__topology_placement(topology);
    return placement != NULL ? put_placed(stream, placement, topology->num_devices) : put_graph(stream, topology);
}

/* A reversed topology is written as what it was made from. */
static int put_reversed(FILE *stream, const struct pccl_topology *topology)
{
    struct pccl_topology *original;
    if (pccl_topology_reverse(topology, &original, NULL) != 0) {
        return PCCL_ERR_MEMORY;
    }
    fprintf(stream, "{\n \"format\": \"pccl-topology\",\n \"version\": 1,\n \"reverse_of\": ");
    int status = put_topology(stream, original);
    fprintf(stream, "\n}");
    pccl_topology_free(original);
    return status;
}

int pccl_topology_write(const struct pccl_topology *topology, const char *path, struct pccl_error *error)
{
    struct pccl__json_file file;
    int status = pccl__json_open(&file, path, error);
    if (status != 0) {
        return status;
    }
    status = pccl__topology_of(topology)->reversed ? put_reversed(file.stream, topology)
                                                   : put_topology(file.stream, topology);
    if (status != 0) {
        pccl__fail_memory(error);
    }
    fputc('\n', file.stream);
    return pccl__json_close(&file, status, error);
}
