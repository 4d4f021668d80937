#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwloc.h>

#include "calibrate.h"

static void find_own_place(struct calibrate_rank *own)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    own->place.package = own->place.numa = own->place.l3 = own->place.core = -1;
    if (hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_load(topology) == 0) {
            hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS);
            pccl_place_find(topology, bound, &own->place);
            own->processors = hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(topology));
        }
        hwloc_topology_destroy(topology);
    }
    hwloc_bitmap_free(bound);
}

struct calibrate_rank *calibrate_survey(void)
{
    int rank, num_ranks;
    struct calibrate_rank own = {.host = ""}, *all = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    gethostname(own.host, sizeof own.host - 1);
    find_own_place(&own);
    if (rank == 0) {
        all = calloc((size_t)num_ranks, sizeof *all);
    }
    if (rank == 0 && !all) {
        fputs("pccl-calibrate: out of memory\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
    return all;
}

static size_t short_length(const char *name)
{
    return strcspn(name, ".");
}

/* A device that is called so, or one whose name begins so if either is written
 * short. */
static uint32_t find_device(const struct pccl_topology *fabric, const char *host)
{
    uint32_t device = pccl_topology_find(fabric, host);
    if (device != PCCL_NONE) {
        return device < fabric->num_devices ? device : PCCL_NONE;
    }
    for (device = 0; device < fabric->num_devices; device++) {
        const char *name = fabric->vertices[device].name;
        bool is_short = !strchr(name, '.') || !strchr(host, '.');
        if (is_short && short_length(name) == short_length(host) && strncmp(name, host, short_length(host)) == 0) {
            return device;
        }
    }
    return PCCL_NONE;
}

int calibrate_find_hosts(struct calibrate_rank *ranks, int num_ranks, const struct pccl_topology *fabric,
                         struct pccl_error *error)
{
    for (int i = 0; i < num_ranks; i++) {
        ranks[i].place.host = find_device(fabric, ranks[i].host);
        if (ranks[i].place.host == PCCL_NONE) {
            snprintf(error->message, sizeof error->message,
                     "rank %d runs on host %.100s, which is no device of the fabric '%.60s' (%u "
                     "devices, the first is %.60s)",
                     i, ranks[i].host, fabric->name, fabric->num_devices, fabric->vertices[0].name);
            return PCCL_ERR_FORMAT;
        }
    }
    return PCCL_SUCCESS;
}

void calibrate_warn_crowded(const struct calibrate_rank *ranks, int num_ranks)
{
    for (int i = 0; i < num_ranks; i++) {
        int together = 0;
        for (int j = 0; j < num_ranks; j++) {
            together += strcmp(ranks[j].host, ranks[i].host) == 0;
        }
        if (ranks[i].processors > 0 && together > ranks[i].processors) {
            fprintf(stderr,
                    "pccl-calibrate: warning: %d ranks on host %.100s take turns on %d processor%s, so that costs come "
                    "out too high and unsteady. Start no more ranks than processors.\n",
                    together, ranks[i].host, ranks[i].processors, ranks[i].processors == 1 ? "" : "s");
            return;
        }
    }
}

static bool is_first_on_host(const struct calibrate_rank *ranks, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (strcmp(ranks[i].host, ranks[rank].host) == 0) {
            return false;
        }
    }
    return true;
}

int calibrate_make_star(const struct calibrate_rank *ranks, int num_ranks, struct pccl_topology **fabric,
                        struct pccl_error *error)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("hosts on one switch");
    uint32_t hub = pccl_topology_add_switch(builder, "switch", false);
    struct pccl_class costs = {.name = "host-switch",
                               .latency_ps = 500000,
                               .ps_per_mib = 83886080,
                               .eager_bytes = -1,
                               .send_overhead_ps = -1,
                               .receive_overhead_ps = -1};
    uint32_t link_class = pccl_topology_add_class(builder, &costs);
    for (int i = 0; i < num_ranks; i++) {
        if (is_first_on_host(ranks, i)) {
            uint32_t device = pccl_topology_add_device(builder, ranks[i].host);
            pccl_topology_add_class_link(builder, device, hub, link_class, PCCL_NONE);
            pccl_topology_add_class_link(builder, hub, device, link_class, PCCL_NONE);
        }
    }
    return pccl_topology_finish(builder, fabric, error);
}

enum pccl_level calibrate_meeting_level(const struct pccl_place *a, const struct pccl_place *b)
{
    if (a->l3 >= 0 && a->l3 == b->l3) {
        return PCCL_LEVEL_L3;
    }
    if (a->numa >= 0 && a->numa == b->numa) {
        return PCCL_LEVEL_NUMA;
    }
    return a->package >= 0 && a->package == b->package ? PCCL_LEVEL_PACKAGE : PCCL_LEVEL_HOST;
}
