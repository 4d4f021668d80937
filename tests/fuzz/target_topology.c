#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pccl/io.h"
#include "targets.h"

/* What a reader accepts must be a topology that the rest of the library can use. */
static void use_topology(const struct pccl_topology *topology)
{
    struct pccl_topology *reversed = NULL;
    uint32_t limit = pccl_topology_route_limit(topology), last = topology->num_devices - 1;
    uint32_t *links = malloc(((size_t)limit + 1) * sizeof(*links));
    for (uint32_t v = 0; links && v < topology->num_vertices; v++) {
        if (pccl_topology_find(topology, topology->vertices[v].name) != v) {
            abort();
        }
        if (v < last && pccl_topology_route(topology, v, last, links, limit) == PCCL_ERR_OVERFLOW) {
            abort();
        }
    }
    free(links);
    if (pccl_topology_reverse(topology, &reversed, NULL) == PCCL_SUCCESS) {
        pccl_topology_free(reversed);
    }
}

/* Written and read back, it is the same. */
static void round_trip(const struct pccl_topology *topology)
{
    struct pccl_topology *again = NULL;
    struct pccl_error error;
    char path[64];
    const char *directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(path, sizeof(path), "%.30s/pccl-fuzz-%d.json", directory, (int)getpid());
    if (pccl_topology_write(topology, path, &error) || pccl_topology_read(path, &again, &error) ||
        again->digest != topology->digest) {
        abort();
    }
    pccl_topology_free(again);
    unlink(path);
}

int fuzz_topology(const uint8_t *data, size_t size)
{
    struct fuzz_file file;
    struct pccl_topology *topology = NULL;
    struct pccl_error error;
    fuzz_file_open(&file, data, size);
    if (pccl_topology_read(file.path, &topology, &error) == PCCL_SUCCESS) {
        use_topology(topology);
        round_trip(topology);
        pccl_topology_free(topology);
    }
    fuzz_file_close(&file);
    return 0;
}
