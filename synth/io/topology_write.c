#include "pccl/io.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "io/json.h"
#include "topology/placement.h"
#include "topology/private.h"

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

static int put_links(FILE *stream, const struct pccl_topology *topology)
{
    static const char *const origins[] = {"default", "declared", "measured"};
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
        put_integer(stream, "latency_ps", link->latency_ps);
        put_integer(stream, "ps_per_mib", link->ps_per_mib);
        if (users[link->capacity] > 1) {
            fprintf(stream, ", \"capacity\": \"c%" PRIu32 "\"", link->capacity);
        }
        fprintf(stream, ", \"origin\": \"%s\"}", origins[link->origin]);
    }
    fprintf(stream, "\n ],\n");
    free(users);
    return 0;
}

static void put_routing(FILE *stream, const struct pccl_topology *topology)
{
    static const char *const rules[] = {"none", "shortest", "dimension-order"};
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
    fprintf(stream, " \"routing\": \"%s\"\n", rules[topology->routing]);
}

static int put_graph(FILE *stream, const struct pccl_topology *topology)
{
    fprintf(stream, "{\n \"format\": \"pccl-topology\",\n \"version\": 1,\n \"name\": ");
    pccl__json_put_text(stream, topology->name);
    fprintf(stream, ",\n");
    put_vertices(stream, topology);
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
        fputc('}', stream);
    }
    fprintf(stream, "\n ]\n}");
    return status;
}

int pccl_topology_write(const struct pccl_topology *topology, const char *path, struct pccl_error *error)
{
    if (pccl__topology_of(topology)->reversed) {
        return pccl__fail(error, PCCL_ERR_UNSUPPORTED, "%.200s: a reversed topology is not written; write the original",
                          path);
    }
    struct pccl__json_file file;
    int status = pccl__json_open(&file, path, error);
    if (status != 0) {
        return status;
    }
    const struct pccl__placement *placement = pccl__topology_placement(topology);
    status = placement != NULL ? put_placed(file.stream, placement, topology->num_devices)
                               : put_graph(file.stream, topology);
    if (status != 0) {
        pccl__fail_memory(error);
    }
    fputc('\n', file.stream);
    return pccl__json_close(&file, status, error);
}
