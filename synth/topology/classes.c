/* What messages cost by the classes of the links they cross, and inside hosts. */
#include "base/error.h"
#include "topology/private.h"
#include "topology/routes.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_EAGER_BYTES 4032 /* of Open MPI's shared memory transport: 4096 with its header */
#define DEFAULT_RENDEZVOUS_PS 1000000

const char *pccl_level_name(enum pccl_level level)
{
    static const char *const names[PCCL_NUM_LEVELS] = {"host", "package", "numa", "l3", "rank"};
    return names[level];
}

struct pccl_class pccl__inside_default(enum pccl_level level)
{
    static const struct {
        int64_t latency_ps, ps_per_mib;
    } costs[PCCL_NUM_LEVELS] = {
        [PCCL_LEVEL_HOST] = {500000, 26214400},    /* 40 GB/s */
        [PCCL_LEVEL_PACKAGE] = {300000, 20971520}, /* 50 GB/s */
        [PCCL_LEVEL_NUMA] = {200000, 20971520},    /* 50 GB/s */
        [PCCL_LEVEL_L3] = {100000, 20971520},      /* 50 GB/s */
        [PCCL_LEVEL_RANK] = {0, 52428800},         /* 20 GB/s */
    };
    bool meets = level != PCCL_LEVEL_RANK;
    return (struct pccl_class){.name = pccl_level_name(level),
                               .latency_ps = costs[level].latency_ps,
                               .ps_per_mib = costs[level].ps_per_mib,
                               .send_overhead_ps = -1,
                               .receive_overhead_ps = -1,
                               .eager_bytes = meets ? DEFAULT_EAGER_BYTES : -1,
                               .rendezvous_ps = meets ? DEFAULT_RENDEZVOUS_PS : 0};
}

uint32_t pccl_topology_find_class(const struct pccl_topology *topology, const char *name)
{
    for (uint32_t c = 0; c < topology->num_classes; c++) {
        if (strcmp(topology->classes[c].name, name) == 0) {
            return c;
        }
    }
    return PCCL_NONE;
}

/* Takes the dearer of what is known and what a class says. */
static void add_class(struct pccl_endpoints *endpoints, const struct pccl_class *costs)
{
    if (costs->send_overhead_ps > endpoints->send_overhead_ps) {
        endpoints->send_overhead_ps = costs->send_overhead_ps;
    }
    if (costs->receive_overhead_ps > endpoints->receive_overhead_ps) {
        endpoints->receive_overhead_ps = costs->receive_overhead_ps;
    }
    if (costs->eager_bytes >= 0 && costs->eager_bytes < endpoints->eager_bytes) {
        endpoints->eager_bytes = costs->eager_bytes;
    }
    if (costs->rendezvous_ps > endpoints->rendezvous_ps) {
        endpoints->rendezvous_ps = costs->rendezvous_ps;
    }
}

void pccl_topology_endpoints(const struct pccl_topology *topology, const uint32_t *links, uint32_t num_links,
                             struct pccl_endpoints *endpoints)
{
    const struct pccl_vertex *source = &topology->vertices[topology->links[links[0]].source],
                             *target = &topology->vertices[topology->links[links[num_links - 1]].target];
    *endpoints = (struct pccl_endpoints){source->send_overhead_ps, target->receive_overhead_ps, INT64_MAX, 0};
    if (topology->num_classes == 0) {
        return;
    }
    const struct pccl__placement *placement = pccl__topology_placement(topology);
    if (placement == NULL) {
        for (uint32_t i = 0; i < num_links; i++) {
            uint16_t number = topology->links[links[i]].link_class;
            if (number != PCCL_NO_CLASS) {
                add_class(endpoints, &topology->classes[number]);
            }
        }
        return;
    }
    /* Within a host the level at which the ranks meet counts; between hosts what the fabric says. */
    uint16_t meeting = PCCL_NO_CLASS;
    bool leaves = false;
    for (uint32_t i = 0; i < num_links; i++) {
        uint16_t number = topology->links[links[i]].link_class;
        bool inside = links[i] >= placement->fabric->num_links;
        leaves = leaves || !inside;
        if (inside) {
            meeting = number < meeting ? number : meeting;
        } else if (number != PCCL_NO_CLASS) {
            add_class(endpoints, &topology->classes[number]);
        }
    }
    if (!leaves && meeting != PCCL_NO_CLASS) {
        add_class(endpoints, &topology->classes[meeting]);
    }
}

/* The least overhead that the classes of these links say, -1 if one of them says none or there is no link. */
static int64_t find_floor(const struct pccl_topology *topology, const uint32_t *links, uint32_t num_links, bool sends)
{
    int64_t floor_ps = -1;
    for (uint32_t i = 0; i < num_links; i++) {
        uint16_t number = topology->links[links[i]].link_class;
        const struct pccl_class *costs = number != PCCL_NO_CLASS ? &topology->classes[number] : NULL;
        int64_t overhead_ps = costs == NULL ? -1 : sends ? costs->send_overhead_ps : costs->receive_overhead_ps;
        if (overhead_ps < 0) {
            return -1;
        }
        floor_ps = floor_ps < 0 || overhead_ps < floor_ps ? overhead_ps : floor_ps;
    }
    return floor_ps;
}

void pccl__topology_set_floors(struct pccl__topology *topology)
{
    struct pccl_topology *base = &topology->base;
    struct pccl_vertex *vertices = (struct pccl_vertex *)(void *)base->vertices; /* still being made */
    for (uint32_t d = 0; d < base->num_devices && base->num_classes > 0; d++) {
        int64_t send_ps =
            find_floor(base, base->out_links + base->first_out[d], base->first_out[d + 1] - base->first_out[d], true);
        int64_t receive_ps =
            find_floor(base, base->in_links + base->first_in[d], base->first_in[d + 1] - base->first_in[d], false);
        vertices[d].send_overhead_ps = send_ps >= 0 ? send_ps : vertices[d].send_overhead_ps;
        vertices[d].receive_overhead_ps = receive_ps >= 0 ? receive_ps : vertices[d].receive_overhead_ps;
    }
}
