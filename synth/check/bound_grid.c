#include <stdlib.h>

#include "base/array.h"
#include "check/bounding.h"

#define MAX_EXTENT_OF_PAIRS 512 /* beyond it unequal all-to-all blocks are not summed by coordinate */
#define MAX_POSITIONS 128       /* of either end of the slabs tried along one dimension */
#define MAX_WINDOW_WORK (UINT64_C(1) << 27) /* links and holders looked at for custom patterns along one dimension */

/* One dimension of a grid, its members and links counted by coordinate. */
struct axis {
    uint32_t extent, stride;
    struct pccl__side *sides;    /* [extent + 1] members with a smaller coordinate; has_root unused */
    struct pccl__rate *up, *down; /* [extent] links from coordinate k to k+1 and back; the last go round */
    unsigned __int128 total;     /* bytes of all blocks */
    unsigned __int128 *pairs;    /* unequal all-to-all: [extent + 1]^2 bytes between smaller coordinates, else NULL */
};

static uint32_t stride_of(const struct pccl_topology *topology, uint32_t dimension)
{
    uint32_t stride = 1;
    for (uint32_t i = dimension + 1; i < topology->num_dimensions; i++) {
        stride *= topology->dimensions[i];
    }
    return stride;
}

/* The dimension along which a link joins neighbours, PCCL_NONE if it does not; *up: to the coordinate after. */
static uint32_t link_dimension(const struct pccl_topology *topology, const struct pccl_link *link, bool *up)
{
    uint32_t stride = topology->num_devices;
    for (uint32_t i = 0; i < topology->num_dimensions; i++) {
        const uint32_t extent = topology->dimensions[i];
        stride /= extent;
        uint32_t from = link->source / stride % extent, to = link->target / stride % extent;
        if (from == to) {
            continue;
        }
        bool adjacent_up = from + 1 == to, adjacent_down = to + 1 == from;
        bool round_up = topology->wraps[i] && from == extent - 1 && to == 0;
        bool round_down = topology->wraps[i] && to == extent - 1 && from == 0;
        *up = adjacent_up || (round_up && !adjacent_down);
        uint32_t moved = link->target - link->source, expected = (to - from) * stride;
        return (adjacent_up || adjacent_down || round_up || round_down) && moved == expected ? i : PCCL_NONE;
    }
    return PCCL_NONE;
}

static bool has_only_grid_links(const struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    bool up;
    if (topology->num_dimensions == 0 || topology->num_vertices > topology->num_devices) {
        return false;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        if (bounding->usable[l] && link_dimension(topology, &topology->links[l], &up) == PCCL_NONE) {
            return false;
        }
    }
    return true;
}

static void free_axis(struct axis *axis)
{
    free(axis->pairs);
    free(axis->down);
    free(axis->up);
    free(axis->sides);
}

/* Turns counts at [k + 1] into sums over all coordinates below. */
static void sum_pairs(const struct pccl__bounding *bounding, struct axis *axis)
{
    const struct pccl_request *request = bounding->request;
    const size_t width = (size_t)axis->extent + 1;
    for (uint32_t s = 0; s < request->num_ranks; s++) {
        uint32_t x = request->devices[s] / axis->stride % axis->extent;
        for (uint32_t t = 0; t < request->num_ranks; t++) {
            uint32_t y = request->devices[t] / axis->stride % axis->extent;
            axis->pairs[(x + 1) * width + y + 1] += s != t ? (uint64_t)pccl__bound_pair_bytes(request, s, t) : 0;
        }
    }
    for (size_t x = 1; x < width; x++) {
        for (size_t y = 1; y < width; y++) {
            axis->pairs[x * width + y] += axis->pairs[(x - 1) * width + y] + axis->pairs[x * width + y - 1] -
                                          axis->pairs[(x - 1) * width + y - 1];
        }
    }
}

/* Fills *axis, which is to be freed even after a failure. */
static int count_axis(const struct pccl__bounding *bounding, uint32_t dimension, struct axis *axis)
{
    const struct pccl_topology *topology = bounding->topology;
    const struct pccl_request *request = bounding->request;
    const uint32_t extent = topology->dimensions[dimension];
    const bool by_pair = request->collective == PCCL_ALLTOALL;
    *axis = (struct axis){
        .extent = extent, .stride = stride_of(topology, dimension), .total = pccl__bound_total(request)};
    axis->sides = pccl__array_new((size_t)extent + 1, sizeof *axis->sides);
    axis->up = pccl__array_new(extent, sizeof *axis->up);
    axis->down = pccl__array_new(extent, sizeof *axis->down);
    if (axis->sides == NULL || axis->up == NULL || axis->down == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t k = 0; k < extent; k++) {
        axis->up[k] = axis->down[k] = PCCL__RATE_NONE;
    }
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        bool up;
        if (bounding->usable[l] && link_dimension(topology, link, &up) == dimension) {
            uint32_t k = (up ? link->source : link->target) / axis->stride % extent;
            struct pccl__rate *rate = up ? &axis->up[k] : &axis->down[k];
            pccl__rate_add(rate, link->ps_per_mib);
            rate->min_latency_ps = link->latency_ps < rate->min_latency_ps ? link->latency_ps : rate->min_latency_ps;
        }
    }
    for (uint32_t r = 0; r < request->num_ranks; r++) {
        struct pccl__side *side = &axis->sides[request->devices[r] / axis->stride % extent + 1];
        side->num_members++;
        side->bytes += by_pair ? 0 : pccl__bound_block_bytes(request, r);
    }
    for (uint32_t k = 1; k <= extent; k++) {
        axis->sides[k].num_members += axis->sides[k - 1].num_members;
        axis->sides[k].bytes += axis->sides[k - 1].bytes;
    }
    if (by_pair && request->block_bytes != NULL && extent <= MAX_EXTENT_OF_PAIRS) {
        if ((axis->pairs = pccl__array_new(((size_t)extent + 1) * (extent + 1), sizeof *axis->pairs)) == NULL) {
            return PCCL_ERR_MEMORY;
        }
        sum_pairs(bounding, axis);
    }
    return 0;
}

/* The slab of coordinates first .. end-1 against the rest. */
static void bound_slab(struct pccl__bounding *bounding, const struct axis *axis, uint32_t first, uint32_t end)
{
    const struct pccl_request *request = bounding->request;
    const uint32_t root = request->devices[pccl_collective_is_rooted(request->collective) ? request->root : 0] /
                          axis->stride % axis->extent;
    const uint32_t before = (first + axis->extent - 1) % axis->extent, last = end - 1;
    struct pccl__side side = {
        .num_members = axis->sides[end].num_members - axis->sides[first].num_members,
        .bytes = axis->sides[end].bytes - axis->sides[first].bytes,
        .has_root = root >= first && root < end,
    };
    if (axis->pairs != NULL) {
        const size_t width = (size_t)axis->extent + 1;
        const unsigned __int128 *pairs = axis->pairs;
        unsigned __int128 within = pairs[end * width + end] - pairs[first * width + end] - pairs[end * width + first] +
                                   pairs[first * width + first];
        side.out_bytes = pairs[end * width + axis->extent] - pairs[first * width + axis->extent] - within;
        side.in_bytes = pairs[axis->extent * width + end] - pairs[axis->extent * width + first] - within;
    }
    struct pccl__rate out = axis->up[last], in = axis->down[last];
    pccl__rate_join(&out, &axis->down[before]);
    pccl__rate_join(&in, &axis->up[before]);
    pccl__bound_side(bounding, &side, axis->total, &out, &in, "cut across a dimension");
}

static void bound_axis(struct pccl__bounding *bounding, const struct axis *axis)
{
    const struct pccl_request *request = bounding->request;
    const bool by_pair = request->collective == PCCL_ALLTOALL && request->block_bytes != NULL;
    if (by_pair && axis->pairs == NULL) {
        return;
    }
    const uint32_t step = (axis->extent + MAX_POSITIONS - 1) / MAX_POSITIONS;
    for (uint32_t first = 0; first < axis->extent; first += step) {
        for (uint32_t end = first + step; end <= axis->extent; end += step) {
            if (end - first < axis->extent) {
                bound_slab(bounding, axis, first, end);
            }
        }
    }
}

/* --- custom patterns ---------------------------------------------------------------------------------------------- */

/* Cuts a dimension, from coordinate `begin` on and round its end, into windows of equal width; what is left over is in
 * no window. */
static int bound_windows(struct pccl__bounding *bounding, uint32_t dimension, uint32_t width, uint32_t begin,
                         uint32_t *part_of)
{
    const struct pccl_topology *topology = bounding->topology;
    const uint32_t extent = topology->dimensions[dimension], stride = stride_of(topology, dimension);
    const uint32_t num_windows = extent / width;
    for (uint32_t device = 0; device < topology->num_devices; device++) {
        uint32_t window = (device / stride + extent - begin) % extent / width;
        part_of[device] = window < num_windows ? window : PCCL_NONE;
    }
    return pccl__bound_partition(bounding, part_of, num_windows, num_windows * width == extent,
                                 "cut across a dimension");
}

/* Every slab that is at most half as wide as the grid, narrow ones and halves first, as long as that takes no time
 * worth mentioning. */
static int bound_custom(struct pccl__bounding *bounding, uint32_t dimension, uint32_t *part_of)
{
    const struct pccl_topology *topology = bounding->topology;
    const struct pccl_demand *custom = bounding->request->custom;
    uint64_t work = 0, once = (uint64_t)topology->num_links + topology->num_devices;
    uint32_t half = topology->dimensions[dimension] / 2;
    int status = 0;
    for (uint32_t c = 0; c < custom->num_chunks; c++) {
        once += (uint64_t)custom->chunks[c].num_sources + custom->chunks[c].num_targets;
    }
    for (uint32_t i = 0; i < half && status == 0; i++) {
        uint32_t width = i == 0 ? 1 : i == 1 ? half : i;
        for (uint32_t begin = 0; begin < width && status == 0 && work + once <= MAX_WINDOW_WORK; begin++) {
            status = bound_windows(bounding, dimension, width, begin, part_of);
            work += once;
        }
    }
    return status;
}

static int bound_custom_grid(struct pccl__bounding *bounding)
{
    const struct pccl_topology *topology = bounding->topology;
    uint32_t *part_of = pccl__array_new(topology->num_vertices, sizeof *part_of);
    int status = part_of == NULL ? PCCL_ERR_MEMORY : 0;
    for (uint32_t i = 0; i < topology->num_dimensions && status == 0; i++) {
        status = bound_custom(bounding, i, part_of);
    }
    free(part_of);
    return status;
}

int pccl__bound_grid(struct pccl__bounding *bounding, bool *is_grid)
{
    const enum pccl_collective collective = bounding->request->collective;
    if (collective == PCCL_CUSTOM && has_only_grid_links(bounding)) {
        *is_grid = false; /* what the caller knows of grids is about other collectives */
        return bound_custom_grid(bounding);
    }
    *is_grid = collective != PCCL_CUSTOM && !pccl_collective_is_prefix(collective) && has_only_grid_links(bounding);
    for (uint32_t i = 0; *is_grid && i < bounding->topology->num_dimensions; i++) {
        struct axis axis;
        int status = count_axis(bounding, i, &axis);
        if (status == 0) {
            bound_axis(bounding, &axis);
        }
        free_axis(&axis);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}
