#include "topology/generators.h"

#include <stdio.h>

#include "base/error.h"

/* The number of links of a grid, both directions: a ring of two has one cable, not two. */
static uint64_t count_links(uint32_t num_dimensions, const uint32_t *extents, const bool *wraps)
{
    uint64_t num_devices = 1, num_links = 0;
    for (uint32_t i = 0; i < num_dimensions; i++) {
        num_devices *= extents[i];
    }
    for (uint32_t i = 0; i < num_dimensions; i++) {
        uint64_t cables = wraps[i] && extents[i] > 2 ? extents[i] : extents[i] - 1;
        num_links += 2 * (num_devices / extents[i]) * cables;
    }
    return num_links;
}

static void add_grid_devices(const struct pccl__spec *spec, struct pccl_topology_builder *builder,
                             uint32_t num_dimensions, const uint32_t *extents, uint32_t num_devices)
{
    for (uint32_t v = 0; v < num_devices; v++) {
        char name[PCCL_MAX_DIMENSIONS * 9 + 2];
        int length = snprintf(name, sizeof name, "d");
        uint32_t stride = num_devices;
        for (uint32_t i = 0; i < num_dimensions; i++) {
            stride /= extents[i];
            length += snprintf(name + length, sizeof name - (size_t)length, i > 0 ? ".%u" : "%u",
                               v / stride % extents[i]);
        }
        pccl__spec_add_device(spec, builder, name);
    }
}

static void add_grid_links(struct pccl_topology_builder *builder, uint32_t num_dimensions, const uint32_t *extents,
                           const bool *wraps, const struct pccl__cost *costs, uint32_t num_devices)
{
    for (uint32_t v = 0; v < num_devices; v++) {
        uint32_t stride = num_devices;
        for (uint32_t i = 0; i < num_dimensions; i++) {
            stride /= extents[i];
            uint32_t coordinate = v / stride % extents[i];
            if (coordinate + 1 < extents[i]) {
                pccl__topology_add_cable(builder, v, v + stride, costs[i].latency_ps, costs[i].ps_per_mib);
            } else if (wraps[i] && extents[i] > 2) {
                pccl__topology_add_cable(builder, v, v - (extents[i] - 1) * stride, costs[i].latency_ps,
                                         costs[i].ps_per_mib);
            }
        }
    }
}

static int make_grid(struct pccl__spec *spec, uint32_t num_dimensions, const uint32_t *extents, const bool *wraps,
                     struct pccl_topology_builder **builder, struct pccl_error *error)
{
    struct pccl__cost costs[PCCL_MAX_DIMENSIONS];
    enum pccl_routing routing = PCCL_ROUTING_DIMENSION_ORDER;
    uint32_t num_devices = 1;
    for (uint32_t i = 0; i < num_dimensions; i++) {
        num_devices *= extents[i];
    }
    int status = pccl__spec_costs(spec, num_dimensions, costs, error);
    if (status == 0) {
        status = pccl__spec_routing(spec, true, &routing, error);
    }
    if (status == 0) {
        status = pccl__spec_finish(spec, num_devices, count_links(num_dimensions, extents, wraps), error);
    }
    if (status != 0) {
        return status;
    }
    *builder = pccl__spec_builder(spec);
    add_grid_devices(spec, *builder, num_dimensions, extents, num_devices);
    add_grid_links(*builder, num_dimensions, extents, wraps, costs, num_devices);
    pccl_topology_set_grid(*builder, num_dimensions, extents, wraps);
    pccl_topology_set_routing(*builder, routing);
    return 0;
}

int pccl__generate_mesh(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    const bool wraps[PCCL_MAX_DIMENSIONS] = {false};
    return make_grid(spec, spec->num_extents, spec->extents, wraps, builder, error);
}

int pccl__generate_torus(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    bool wraps[PCCL_MAX_DIMENSIONS];
    for (uint32_t i = 0; i < PCCL_MAX_DIMENSIONS; i++) {
        wraps[i] = true;
    }
    return make_grid(spec, spec->num_extents, spec->extents, wraps, builder, error);
}

int pccl__generate_hypercube(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    const bool wraps[PCCL_MAX_DIMENSIONS] = {false};
    uint32_t extents[PCCL_MAX_DIMENSIONS];
    if (spec->extents[0] > PCCL_MAX_DIMENSIONS) {
        return pccl__fail(error, PCCL_ERR_FORMAT, "\"%.100s\" has %u dimensions; expected 1 to %d", spec->text,
                          spec->extents[0], PCCL_MAX_DIMENSIONS);
    }
    for (uint32_t i = 0; i < spec->extents[0]; i++) {
        extents[i] = 2;
    }
    return make_grid(spec, spec->extents[0], extents, wraps, builder, error);
}
