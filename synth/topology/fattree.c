#include "topology/generators.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"

/* A ratio of bandwidth below a switch to bandwidth above it. */
struct taper {
    int64_t numerator, denominator;
};

/* One layer of switches that joins `down` links below to `up` switches above. */
struct layer {
    uint32_t down, up;
    struct pccl__cost below, above; /* costs of the links */
};

/* Reads "T" or "T1,T2" into tapers[num_layers]. */
static int read_tapers(struct pccl__spec *spec, const char *text, uint32_t num_layers, struct taper *tapers,
                       struct pccl_error *error)
{
    for (uint32_t i = 0; i < num_layers; i++) {
        char part[32];
        size_t length = strcspn(text, ",");
        if (length >= sizeof part || (text[length] == ',' && i + 1 == num_layers)) {
            return pccl__fail(error, PCCL_ERR_FORMAT,
                              "taper of \"%.100s\" has too many values; expected at most %" PRIu32, spec->text,
                              num_layers);
        }
        memcpy(part, text, length);
        part[length] = '\0';
        int status = pccl__quantity_ratio(part, "taper", &tapers[i].numerator, &tapers[i].denominator, error);
        if (status != 0) {
            return status;
        }
        text += text[length] == ',' ? length + 1 : 0; /* the last value serves the layers after it too */
    }
    return 0;
}

/* Reads "S" or "A,C", numbers of switches above each switch of a layer. */
static int read_spines(struct pccl__spec *spec, const char *text, uint32_t num_layers, struct layer *layers,
                       struct pccl_error *error)
{
    for (uint32_t i = 0; i < num_layers; i++) {
        char part[16];
        size_t length = strcspn(text, ",");
        if (length >= sizeof part || (text[length] == ',') != (i + 1 < num_layers)) {
            return pccl__fail(error, PCCL_ERR_FORMAT, "spines of \"%.100s\" must have %" PRIu32 " value%s", spec->text,
                              num_layers, num_layers > 1 ? "s" : "");
        }
        memcpy(part, text, length);
        part[length] = '\0';
        int64_t number;
        int status = pccl__quantity_integer(part, "spines", 1, 1 << 16, &number, error);
        if (status != 0) {
            return status;
        }
        layers[i].up = (uint32_t)number;
        text += length + 1;
    }
    return 0;
}

/* The number of switches above, if it is not given, is the smallest that needs no link faster than those below; the
 * links above get the speed at which they carry 1/taper of what the links below carry. */
static int apply_taper(const struct pccl__spec *spec, const struct taper *taper, bool has_spines, struct layer *layer,
                       struct pccl_error *error)
{
    __int128 scaled = (__int128)layer->down * taper->denominator;
    if (!has_spines) {
        layer->up = (uint32_t)((scaled + taper->numerator - 1) / taper->numerator);
        if (layer->up > 1 << 16) {
            return pccl__fail(error, PCCL_ERR_OVERFLOW, "\"%.100s\" needs more than %d switches above one switch",
                              spec->text, 1 << 16);
        }
    }
    __int128 time = ((__int128)layer->below.ps_per_mib * layer->up * taper->numerator + scaled - 1) / scaled;
    if (time > PCCL__MAX_PS_PER_MIB) {
        return pccl__fail(error, PCCL_ERR_OVERFLOW, "the taper of \"%.100s\" makes links slower than 1 byte per second",
                          spec->text);
    }
    layer->above.ps_per_mib = (int64_t)time;
    return 0;
}

/* Reads costs, spines and taper into the layers; layer i's links above are layer i+1's links below. */
static int read_layers(struct pccl__spec *spec, uint32_t num_layers, struct layer *layers, struct pccl_error *error)
{
    struct pccl__cost costs[3];
    struct taper tapers[2] = {{1, 1}, {1, 1}};
    int status = pccl__spec_costs(spec, num_layers + 1, costs, error);
    const char *spines = pccl__spec_option(spec, "spines"), *taper = pccl__spec_option(spec, "taper");
    const char *bandwidth = pccl__spec_option(spec, "bandwidth"), *ps_per_mib = pccl__spec_option(spec, "ps_per_mib");
    bool by_layer = (bandwidth != NULL && strchr(bandwidth, ',')) || (ps_per_mib != NULL && strchr(ps_per_mib, ','));
    if (status == 0 && taper != NULL && by_layer) {
        return pccl__fail(error, PCCL_ERR_FORMAT,
                          "\"%.100s\" gives both a taper and a bandwidth of each layer; expected one", spec->text);
    }
    if (status == 0 && spines != NULL) {
        status = read_spines(spec, spines, num_layers, layers, error);
    }
    if (status == 0 && taper != NULL) {
        status = read_tapers(spec, taper, num_layers, tapers, error);
    }
    for (uint32_t i = 0; i < num_layers && status == 0; i++) {
        layers[i].below = i > 0 && !by_layer ? layers[i - 1].above : costs[i];
        layers[i].below.latency_ps = costs[i].latency_ps;
        layers[i].above = costs[i + 1];
        if (taper != NULL || spines == NULL) {
            int64_t declared_ps_per_mib = layers[i].above.ps_per_mib;
            status = apply_taper(spec, &tapers[i], spines != NULL, &layers[i], error);
            if (by_layer) {
                layers[i].above.ps_per_mib = declared_ps_per_mib;
            }
        }
    }
    return status;
}

static void add_cable(struct pccl_topology_builder *builder, uint32_t a, uint32_t b, const struct pccl__cost *cost)
{
    pccl__topology_add_cable(builder, a, b, cost->latency_ps, cost->ps_per_mib);
}

/* Hosts, then leaves, then each pod's aggregation switches, then cores. With one layer there is one pod, and its
 * aggregation switches are the spines. */
static void build(const struct pccl__spec *spec, struct pccl_topology_builder *builder, uint32_t num_pods,
                  uint32_t leaves_per_pod, uint32_t hosts_per_leaf, const struct layer *layers, uint32_t num_layers)
{
    const uint32_t num_leaves = num_pods * leaves_per_pod;
    pccl__spec_add_devices(spec, builder, num_leaves * hosts_per_leaf);
    uint32_t first_leaf = PCCL_NONE, first_middle = PCCL_NONE, first_core = PCCL_NONE;
    for (uint32_t i = num_leaves; i > 0; i--) {
        uint32_t id = pccl__spec_add_switch(spec, builder, "leaf", num_leaves - i);
        first_leaf = i == num_leaves ? id : first_leaf;
    }
    const char *middle_name = num_layers == 1 ? "spine" : "aggregation";
    for (uint32_t i = 0; i < num_pods * layers[0].up; i++) {
        uint32_t id = pccl__spec_add_switch(spec, builder, middle_name, i);
        first_middle = i == 0 ? id : first_middle;
    }
    for (uint32_t i = 0; num_layers == 2 && i < layers[0].up * layers[1].up; i++) {
        uint32_t id = pccl__spec_add_switch(spec, builder, "core", i);
        first_core = i == 0 ? id : first_core;
    }
    for (uint32_t leaf = 0; leaf < num_leaves; leaf++) {
        for (uint32_t h = 0; h < hosts_per_leaf; h++) {
            add_cable(builder, leaf * hosts_per_leaf + h, first_leaf + leaf, &layers[0].below);
        }
        for (uint32_t m = 0; m < layers[0].up; m++) {
            uint32_t middle = leaf / leaves_per_pod * layers[0].up + m;
            add_cable(builder, first_leaf + leaf, first_middle + middle, &layers[0].above);
        }
    }
    for (uint32_t middle = 0; num_layers == 2 && middle < num_pods * layers[0].up; middle++) {
        for (uint32_t c = 0; c < layers[1].up; c++) {
            uint32_t core = middle % layers[0].up * layers[1].up + c;
            add_cable(builder, first_middle + middle, first_core + core, &layers[1].above);
        }
    }
}

int pccl__generate_fattree(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error)
{
    const uint32_t num_layers = spec->num_extents - 1;
    const uint32_t num_pods = num_layers == 2 ? spec->extents[0] : 1;
    const uint32_t leaves_per_pod = spec->extents[num_layers - 1], hosts_per_leaf = spec->extents[num_layers];
    const uint64_t num_leaves = (uint64_t)num_pods * leaves_per_pod;
    struct layer layers[2] = {{.down = hosts_per_leaf}, {.down = leaves_per_pod}};
    int status = read_layers(spec, num_layers, layers, error);
    if (status != 0) {
        return status;
    }
    uint64_t middles = (uint64_t)num_pods * layers[0].up,
             cores = num_layers == 2 ? (uint64_t)layers[0].up * layers[1].up : 0;
    uint64_t num_vertices = num_leaves * hosts_per_leaf + num_leaves + middles + cores;
    uint64_t cables = num_leaves * hosts_per_leaf + num_leaves * layers[0].up +
                      (num_layers == 2 ? middles * layers[1].up : 0);
    status = pccl__spec_finish(spec, num_vertices, 2 * cables, error);
    if (status == 0) {
        *builder = pccl__spec_builder(spec);
        build(spec, *builder, num_pods, leaves_per_pod, hosts_per_leaf, layers, num_layers);
    }
    return status;
}
