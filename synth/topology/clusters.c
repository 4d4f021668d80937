#include "topology/generators.h"

#include <inttypes.h>

/* Dragonfly (Kim, Dally, Scott, Abts 2008): groups of routers, all joined within a group; every two groups are joined
 * by `links` cables, spread over the routers in turn. */
struct dragonfly {
    uint32_t groups, routers, hosts;
    uint32_t links;        /* cables between each two groups */
    uint32_t first_router; /* builder id */
    struct pccl__cost costs[3]; /* host, within a group, between groups */
};

/* The router at the group's end of global cable `port`, ports being numbered 0 .. links * (groups - 1) - 1. */
static uint32_t port_router(const struct dragonfly *shape, uint32_t group, uint64_t port)
{
    uint64_t num_ports = (uint64_t)shape->links * (shape->groups - 1);
    return shape->first_router + group * shape->routers + (uint32_t)(port * shape->routers / num_ports);
}

static void build_dragonfly(struct pccl_topology_builder *builder, const struct dragonfly *shape)
{
    const uint32_t num_routers = shape->groups * shape->routers;
    for (uint32_t d = 0; d < num_routers * shape->hosts; d++) {
        pccl__topology_add_cable(builder, d, shape->first_router + d / shape->hosts, shape->costs[0].latency_ps,
                                 shape->costs[0].ps_per_mib);
    }
    for (uint32_t a = 0; a < num_routers; a++) {
        for (uint32_t b = a + 1; b % shape->routers != 0; b++) {
            pccl__topology_add_cable(builder, shape->first_router + a, shape->first_router + b,
                                     shape->costs[1].latency_ps, shape->costs[1].ps_per_mib);
        }
    }
    /* Port k * (groups - 1) + i of a group leads to the i+1-th group after it. */
    const uint32_t others = shape->groups - 1;
    for (uint32_t a = 0; a < shape->groups; a++) {
        for (uint32_t b = a + 1; b < shape->groups; b++) {
            for (uint32_t k = 0; k < shape->links; k++) {
                uint32_t from = port_router(shape, a, (uint64_t)k * others + (b - a - 1));
                uint32_t to = port_router(shape, b, (uint64_t)k * others + (a + shape->groups - b - 1));
                pccl__topology_add_cable(builder, from, to, shape->costs[2].latency_ps, shape->costs[2].ps_per_mib);
            }
        }
    }
}

int pccl__generate_dragonfly(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    struct dragonfly shape = {spec->extents[0], spec->extents[1], spec->extents[2], .links = 1};
    int status = pccl__spec_costs(spec, 3, shape.costs, error);
    if (status != 0 || (status = pccl__spec_integer(spec, "links", 1, 1 << 16, &shape.links, error)) != 0) {
        return status;
    }
    uint64_t routers = (uint64_t)shape.groups * shape.routers, hosts = routers * shape.hosts;
    uint64_t cables = (uint64_t)shape.groups * (shape.groups - 1) / 2;
    cables = cables > PCCL__MAX_LINKS ? cables : cables * shape.links;
    cables += hosts + routers * (shape.routers - 1) / 2;
    status = pccl__spec_finish(spec, hosts + routers, 2 * cables, error);
    if (status != 0) {
        return status;
    }
    *builder = pccl__spec_builder(spec);
    pccl__spec_add_devices(spec, *builder, (uint32_t)hosts);
    shape.first_router = (uint32_t)hosts;
    for (uint32_t r = 0; r < routers; r++) {
        pccl__spec_add_switch(spec, *builder, "router", r);
    }
    build_dragonfly(*builder, &shape);
    return 0;
}

/* Boxes: a switch inside each box, and outside one rail switch for each position in a box, which joins the devices at
 * that position of all boxes. */
int pccl__generate_boxes(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    const uint32_t num_boxes = spec->extents[0], width = spec->extents[1], num_devices = num_boxes * width;
    struct pccl__cost costs[2]; /* inside, outside */
    int status = pccl__spec_costs(spec, 2, costs, error);
    if (status == 0) {
        status = pccl__spec_finish(spec, (uint64_t)num_devices + num_boxes + width, 4 * (uint64_t)num_devices, error);
    }
    if (status != 0) {
        return status;
    }
    *builder = pccl__spec_builder(spec);
    pccl__spec_add_devices(spec, *builder, num_devices);
    for (uint32_t b = 0; b < num_boxes; b++) {
        pccl__spec_add_switch(spec, *builder, "box", b);
    }
    for (uint32_t r = 0; r < width; r++) {
        pccl__spec_add_switch(spec, *builder, "rail", r);
    }
    for (uint32_t d = 0; d < num_devices; d++) {
        pccl__topology_add_cable(*builder, d, num_devices + d / width, costs[0].latency_ps, costs[0].ps_per_mib);
        pccl__topology_add_cable(*builder, d, num_devices + num_boxes + d % width, costs[1].latency_ps,
                                 costs[1].ps_per_mib);
    }
    return 0;
}
