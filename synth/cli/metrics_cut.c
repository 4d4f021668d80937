/* Bisection of a topology by a few natural cuts. */
#include "metrics_cut.h"

#include <stdlib.h>

#define MAX_ROUNDS 16 /* of moving switches between the halves */

struct cut {
    const struct pccl_topology *topology;
    uint64_t *key; /* [num_devices] devices with small keys go left */
    uint8_t *side; /* [num_vertices] 0: left */
    bool *counted; /* [num_capacities] */
    struct metrics *metrics;
};

static double rate_of(const struct pccl_link *link)
{
    return link->ps_per_mib ? 1048576.0 * 1e12 / (double)link->ps_per_mib : 1e300;
}

/* Places every switch where fewer bytes per second cross, until nothing changes. */
static void place_switches(struct cut *cut)
{
    const struct pccl_topology *topology = cut->topology;
    bool changed = true;
    for (uint32_t round = 0; changed && round < MAX_ROUNDS; round++) {
        changed = false;
        for (uint32_t v = topology->num_devices; v < topology->num_vertices; v++) {
            double weight[2] = {0, 0};
            for (uint32_t i = topology->first_out[v]; i < topology->first_out[v + 1]; i++) {
                const struct pccl_link *link = &topology->links[topology->out_links[i]];
                weight[cut->side[link->target]] += rate_of(link);
            }
            uint8_t side = weight[1] > weight[0] ? 1 : weight[0] > weight[1] ? 0 : cut->side[v];
            changed = changed || side != cut->side[v];
            cut->side[v] = side;
        }
    }
}

/* Bytes per second from left to right; links with one capacity count once. */
static double measure_cut(struct cut *cut)
{
    double rate = 0;
    for (uint32_t c = 0; c < cut->topology->num_capacities; c++) {
        cut->counted[c] = false;
    }
    for (uint32_t l = 0; l < cut->topology->num_links; l++) {
        const struct pccl_link *link = &cut->topology->links[l];
        if (cut->side[link->source] != 0 || cut->side[link->target] != 1 || cut->counted[link->capacity]) {
            continue;
        }
        cut->counted[link->capacity] = true;
        rate += rate_of(link);
    }
    return rate;
}

struct keyed {
    uint64_t key;
    uint32_t device;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *left = a, *right = b;
    if (left->key != right->key) {
        return left->key < right->key ? -1 : 1;
    }
    return left->device < right->device ? -1 : left->device > right->device;
}

static int try_cut(struct cut *cut, const char *name)
{
    const struct pccl_topology *topology = cut->topology;
    struct keyed *order = malloc((size_t)topology->num_devices * sizeof(*order));
    if (!order) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        order[d] = (struct keyed){cut->key[d], d};
    }
    qsort(order, topology->num_devices, sizeof(*order), compare_keyed);
    for (uint32_t i = 0; i < topology->num_devices; i++) {
        cut->side[order[i].device] = i >= topology->num_devices / 2;
    }
    free(order);
    for (uint32_t v = topology->num_devices; v < topology->num_vertices; v++) {
        cut->side[v] = (v - topology->num_devices) * 2 >= topology->num_vertices - topology->num_devices;
    }
    place_switches(cut);
    double rate = measure_cut(cut);
    if (!cut->metrics->bisection_cut || rate < cut->metrics->bisection_bytes_per_second) {
        cut->metrics->bisection_bytes_per_second = rate;
        cut->metrics->bisection_cut = name;
    }
    return PCCL_SUCCESS;
}

static int cut_dimensions(struct cut *cut)
{
    const struct pccl_topology *topology = cut->topology;
    uint32_t stride = 1;
    int status = PCCL_SUCCESS;
    for (uint32_t i = topology->num_dimensions; !status && i-- > 0;) {
        for (uint32_t d = 0; d < topology->num_devices; d++) {
            cut->key[d] = d / stride % topology->dimensions[i];
        }
        status = try_cut(cut, "across one dimension of the grid");
        stride *= topology->dimensions[i];
    }
    return status;
}

/* Keys by distance from a device, so that the half next to it is cut off. */
static void key_by_distance(struct cut *cut, uint32_t source, uint32_t *queue, uint64_t *hops)
{
    const struct pccl_topology *topology = cut->topology;
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        hops[v] = UINT64_MAX;
    }
    hops[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t i = topology->first_out[v]; i < topology->first_out[v + 1]; i++) {
            uint32_t next = topology->links[topology->out_links[i]].target;
            if (hops[next] == UINT64_MAX) {
                hops[next] = hops[v] + 1;
                queue[tail++] = next;
            }
        }
    }
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        cut->key[d] = hops[d];
    }
}

static int cut_by_distance(struct cut *cut)
{
    const struct pccl_topology *topology = cut->topology;
    uint32_t *queue = malloc((size_t)topology->num_vertices * sizeof(*queue));
    uint64_t *hops = malloc((size_t)topology->num_vertices * sizeof(*hops));
    int status = queue && hops ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    for (uint32_t i = 0; !status && i < 4; i++) {
        key_by_distance(cut, (uint32_t)((uint64_t)i * topology->num_devices / 4), queue, hops);
        status = try_cut(cut, "half of the devices around one device");
    }
    free(hops);
    free(queue);
    return status;
}

int metrics_bisect(const struct pccl_topology *topology, struct metrics *metrics)
{
    struct cut cut = {.topology = topology, .metrics = metrics};
    cut.key = malloc((size_t)topology->num_devices * sizeof(*cut.key));
    cut.side = malloc(topology->num_vertices);
    cut.counted = malloc(((size_t)topology->num_capacities + 1) * sizeof(*cut.counted));
    int status = cut.key && cut.side && cut.counted ? cut_dimensions(&cut) : PCCL_ERR_MEMORY;
    if (!status) {
        for (uint32_t d = 0; d < topology->num_devices; d++) {
            cut.key[d] = d;
        }
        status = try_cut(&cut, "first half of the device numbers");
    }
    if (!status) {
        status = cut_by_distance(&cut);
    }
    if (metrics->bisection_bytes_per_second >= 1e299) {
        metrics->bisection_bytes_per_second = -1;
    }
    free(cut.counted);
    free(cut.side);
    free(cut.key);
    return status;
}
