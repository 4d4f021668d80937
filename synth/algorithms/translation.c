/* Discovering translations: see symmetry.h. */
#include "algorithms/symmetry.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINKS_OUT 64

uint32_t pccl__translation_add(const struct pccl__translation *translation, uint32_t a, uint32_t b)
{
    uint32_t sum = 0, stride = 1;
    for (uint32_t i = translation->num_factors; i-- > 0;) {
        uint32_t extent = translation->extents[i];
        sum += (a % extent + b % extent) % extent * stride;
        stride *= extent;
        a /= extent;
        b /= extent;
    }
    return sum;
}

uint32_t pccl__translation_subtract(const struct pccl__translation *translation, uint32_t a, uint32_t b)
{
    uint32_t difference = 0, stride = 1;
    for (uint32_t i = translation->num_factors; i-- > 0;) {
        uint32_t extent = translation->extents[i];
        difference += (a % extent + extent - b % extent) % extent * stride;
        stride *= extent;
        a /= extent;
        b /= extent;
    }
    return difference;
}

/* A link as it looks from its source. */
struct outlook {
    uint32_t offset;
    int64_t latency_ps, ps_per_mib;
};

static int compare_outlooks(const void *a, const void *b)
{
    const struct outlook *left = a, *right = b;
    if (left->offset != right->offset) {
        return left->offset < right->offset ? -1 : 1;
    }
    if (left->latency_ps != right->latency_ps) {
        return left->latency_ps < right->latency_ps ? -1 : 1;
    }
    return left->ps_per_mib < right->ps_per_mib ? -1 : left->ps_per_mib > right->ps_per_mib;
}

static uint32_t look_out(const struct pccl_topology *topology, const struct pccl__translation *translation,
                         uint32_t device, struct outlook *outlooks)
{
    uint32_t count = 0;
    for (uint32_t i = topology->first_out[device]; i < topology->first_out[device + 1]; i++) {
        const struct pccl_link *link = &topology->links[topology->out_links[i]];
        outlooks[count++] = (struct outlook){pccl__translation_subtract(translation, link->target, device),
                                             link->latency_ps, link->ps_per_mib};
    }
    qsort(outlooks, count, sizeof *outlooks, compare_outlooks);
    return count;
}

/* Whether every device sees links like those of device 0. */
static bool is_symmetric(const struct pccl_topology *topology, const struct pccl__translation *translation)
{
    struct outlook first[MAX_LINKS_OUT], here[MAX_LINKS_OUT];
    uint32_t degree = topology->first_out[1] - topology->first_out[0];
    look_out(topology, translation, 0, first);
    for (uint32_t device = 1; device < topology->num_devices; device++) {
        look_out(topology, translation, device, here);
        for (uint32_t i = 0; i < degree; i++) {
            if (compare_outlooks(&first[i], &here[i]) != 0) {
                return false;
            }
        }
    }
    return true;
}

/* What every guess needs: devices alike, as many links from each, none shared. */
static bool is_regular(const struct pccl_topology *topology)
{
    uint32_t degree = topology->first_out[1] - topology->first_out[0];
    if (topology->num_vertices != topology->num_devices || topology->num_capacities != topology->num_links ||
        degree > MAX_LINKS_OUT || degree == 0) {
        return false;
    }
    for (uint32_t device = 0; device < topology->num_devices; device++) {
        const struct pccl_vertex *vertex = &topology->vertices[device];
        if (topology->first_out[device + 1] - topology->first_out[device] != degree ||
            vertex->send_overhead_ps != topology->vertices[0].send_overhead_ps ||
            vertex->receive_overhead_ps != topology->vertices[0].receive_overhead_ps) {
            return false;
        }
    }
    return true;
}

static bool guess_declared(const struct pccl_topology *topology, struct pccl__translation *translation)
{
    translation->num_factors = topology->num_dimensions;
    for (uint32_t i = 0; i < topology->num_dimensions; i++) {
        translation->extents[i] = topology->dimensions[i];
    }
    return topology->num_dimensions > 0 && is_symmetric(topology, translation);
}

static bool guess_twos(const struct pccl_topology *topology, struct pccl__translation *translation)
{
    uint32_t n = topology->num_devices;
    if ((n & (n - 1)) != 0) {
        return false;
    }
    translation->num_factors = 0;
    for (; n > 1; n /= 2) {
        translation->extents[translation->num_factors++] = 2;
    }
    return is_symmetric(topology, translation);
}

/* Extents of 1 stand for fewer dimensions; they come first, so that a ring is tried before a grid. */
static bool guess_grids(const struct pccl_topology *topology, struct pccl__translation *translation)
{
    uint32_t n = topology->num_devices;
    for (uint32_t a = 1; a <= n; a++) {
        for (uint32_t b = 1; n % a == 0 && b <= n / a; b++) {
            if (n / a % b != 0) {
                continue;
            }
            *translation = (struct pccl__translation){3, {a, b, n / a / b}};
            if (is_symmetric(topology, translation)) {
                return true;
            }
        }
    }
    return false;
}

bool pccl__translation_find(const struct pccl_topology *topology, struct pccl__translation *translation)
{
    return is_regular(topology) && (guess_declared(topology, translation) || guess_twos(topology, translation) ||
                                    guess_grids(topology, translation));
}
