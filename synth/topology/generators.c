#include "topology/generators.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

/* --- the simple ones --------------------------------------------------------------------------------------------- */

static int make_star(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    const uint32_t num_devices = spec->extents[0];
    struct pccl__cost cost;
    int status = pccl__spec_costs(spec, 1, &cost, error);
    if (status != 0 || (status = pccl__spec_finish(spec, num_devices + 1, 2 * (uint64_t)num_devices, error)) != 0) {
        return status;
    }
    *builder = pccl__spec_builder(spec);
    pccl__spec_add_devices(spec, *builder, num_devices);
    uint32_t middle = pccl__spec_add_switch(spec, *builder, "switch", 0);
    for (uint32_t d = 0; d < num_devices; d++) {
        pccl__topology_add_cable(*builder, d, middle, cost.latency_ps, cost.ps_per_mib);
    }
    return 0;
}

static int make_full(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    const uint32_t num_devices = spec->extents[0];
    struct pccl__cost cost;
    int status = pccl__spec_costs(spec, 1, &cost, error);
    if (status != 0 ||
        (status = pccl__spec_finish(spec, num_devices, (uint64_t)num_devices * (num_devices - 1), error)) != 0) {
        return status;
    }
    *builder = pccl__spec_builder(spec);
    pccl__spec_add_devices(spec, *builder, num_devices);
    for (uint32_t a = 0; a < num_devices; a++) {
        for (uint32_t b = a + 1; b < num_devices; b++) {
            pccl__topology_add_cable(*builder, a, b, cost.latency_ps, cost.ps_per_mib);
        }
    }
    return 0;
}

/* --- by name ----------------------------------------------------------------------------------------------------- */

struct generator {
    const char *name;
    uint32_t min_extents, max_extents;
    const char *example;
    int (*make)(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error);
};

static const struct generator generators[] = {
    {"boxes", 2, 2, "boxes:64x8:bandwidth=200GB/s,50GB/s", pccl__generate_boxes},
    {"dragonfly", 3, 3, "dragonfly:9x4x2", pccl__generate_dragonfly},
    {"fattree", 2, 3, "fattree:4x8:taper=2", pccl__generate_fattree},
    {"full", 1, 1, "full:8", make_full},
    {"hypercube", 1, 1, "hypercube:6", pccl__generate_hypercube},
    {"mesh", 1, PCCL_MAX_DIMENSIONS, "mesh:8x4", pccl__generate_mesh},
    {"ring", 1, 1, "ring:12", pccl__generate_torus},
    {"star", 1, 1, "star:16", make_star},
    {"torus", 1, PCCL_MAX_DIMENSIONS, "torus:8x8x8", pccl__generate_torus},
};

static const struct generator *find_generator(const char *text)
{
    const size_t length = strcspn(text, ":");
    for (size_t i = 0; i < sizeof generators / sizeof generators[0]; i++) {
        if (strlen(generators[i].name) == length && memcmp(generators[i].name, text, length) == 0) {
            return &generators[i];
        }
    }
    return NULL;
}

bool pccl__topology_is_generator(const char *text)
{
    return find_generator(text) != NULL && strchr(text, ':') != NULL;
}

int pccl__topology_generate(const char *text, struct pccl_topology **topology, struct pccl_error *error)
{
    const struct generator *generator = find_generator(text);
    if (generator == NULL) {
        return pccl__fail(
            error, PCCL_ERR_FORMAT,
            "unknown topology \"%.100s\"; expected boxes, dragonfly, fattree, full, "
            "hypercube, mesh, ring, star or torus with a size, such as torus:8x8, or the path of a JSON file",
            text);
    }
    struct pccl__spec spec;
    int status = pccl__spec_parse(text, &spec, error);
    if (status != 0) {
        return status;
    }
    if (spec.num_extents < generator->min_extents || spec.num_extents > generator->max_extents) {
        return pccl__fail(error, PCCL_ERR_FORMAT,
                          "\"%.100s\" has %" PRIu32 " extents; expected %" PRIu32 "%s, as in %s", text,
                          spec.num_extents, generator->min_extents,
                          generator->max_extents == PCCL_MAX_DIMENSIONS     ? " to 16"
                          : generator->max_extents > generator->min_extents ? " or more"
                                                                            : "",
                          generator->example);
    }
    struct pccl_topology_builder *builder = NULL;
    status = generator->make(&spec, &builder, error);
    return status != 0 ? status : pccl_topology_finish(builder, topology, error);
}
