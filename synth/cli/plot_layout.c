/* Places: grids as grids, rings and cliques on a circle, trees in tiers above their devices. */
#include <math.h>
#include <stdlib.h>

#include "plot.h"

#define BLOCK_GAP 0.8 /* more room between the blocks that outer dimensions make */
#define DEPTH_X 0.66  /* of a cell, filled by the third dimension */
#define DEPTH_Y 0.52
#define TURN 6.283185307179586

static void place_on_circle(struct plot_layout *layout, uint32_t vertex, double turns, double radius)
{
    layout->x[vertex] = 1 + radius * sin(TURN * turns);
    layout->y[vertex] = 1 - radius * cos(TURN * turns);
}

static void finish_circle(struct plot_layout *layout, uint32_t count, double radius)
{
    layout->shape = PLOT_CIRCLE;
    layout->width = layout->height = 2;
    layout->spacing = count > 1 ? 2 * radius * sin(TURN / 2 / count) : 1;
}

/* Step along dimension `i` counted from the innermost: x, y, then backwards into the picture as in a drawn cube, then
 * blocks of all that beside and below each other. `extent` is the size of what the dimensions before it cover. */
static void grid_step(uint32_t i, uint32_t size, const double extent[2], double step[2])
{
    step[0] = step[1] = 0;
    if (i < 2) {
        step[i] = 1;
    } else if (i == 2) {
        step[0] = DEPTH_X / size;
        step[1] = -DEPTH_Y / size;
    } else {
        step[(i - 3) % 2] = extent[(i - 3) % 2] + 1 + BLOCK_GAP * ((i - 3) / 2);
    }
}

static void lay_grid(const struct pccl_topology *topology, struct plot_layout *layout)
{
    double extent[2] = {0, 0}, step[2];
    uint32_t stride = 1;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        layout->x[v] = layout->y[v] = 0;
    }
    layout->spacing = 1;
    for (uint32_t i = 0; i < topology->num_dimensions; i++) {
        uint32_t size = topology->dimensions[topology->num_dimensions - 1 - i];
        grid_step(i, size, extent, step);
        for (uint32_t d = 0; d < topology->num_devices; d++) {
            uint32_t coordinate = d / stride % size;
            layout->x[d] += coordinate * step[0];
            layout->y[d] += (step[1] < 0 ? size - 1 - coordinate : coordinate) * fabs(step[1]);
        }
        extent[0] += (size - 1) * step[0];
        extent[1] += (size - 1) * fabs(step[1]);
        if (size > 1) {
            layout->spacing = fmin(layout->spacing, sqrt(step[0] * step[0] + step[1] * step[1]));
        }
        stride *= size;
    }
    layout->shape = PLOT_GRID;
    layout->width = extent[0];
    layout->height = extent[1];
}

/* Devices on the rim; a single switch at the hub. */
static void lay_circle(const struct pccl_topology *topology, struct plot_layout *layout)
{
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        place_on_circle(layout, d, (double)d / topology->num_devices, 1);
    }
    for (uint32_t v = topology->num_devices; v < topology->num_vertices; v++) {
        layout->x[v] = layout->y[v] = 1;
    }
    finish_circle(layout, topology->num_devices, 1);
}

/* First switch that a device sends to, PCCL_NONE if none. */
static uint32_t find_switch(const struct pccl_topology *topology, uint32_t device)
{
    for (uint32_t i = topology->first_out[device]; i < topology->first_out[device + 1]; i++) {
        uint32_t next = topology->links[topology->out_links[i]].target;
        if (next >= topology->num_devices) {
            return next;
        }
    }
    return PCCL_NONE;
}

/* Switches on an inner circle, devices outside, spread within the sector of their switch. */
static void lay_sectors(const struct pccl_topology *topology, struct plot_layout *layout, uint32_t *next)
{
    uint32_t num_switches = topology->num_vertices - topology->num_devices, most = 1;
    uint32_t *count = next + num_switches;
    for (uint32_t s = 0; s < 2 * num_switches; s++) {
        next[s] = 0;
    }
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        uint32_t hub = find_switch(topology, d);
        if (hub != PCCL_NONE && ++count[hub - topology->num_devices] > most) {
            most = count[hub - topology->num_devices];
        }
    }
    for (uint32_t s = 0; s < num_switches; s++) {
        place_on_circle(layout, topology->num_devices + s, (double)s / num_switches, 0.72);
    }
    for (uint32_t d = 0; d < topology->num_devices; d++) {
        uint32_t hub = find_switch(topology, d);
        uint32_t s = hub == PCCL_NONE ? 0 : hub - topology->num_devices;
        double within = (next[s]++ + 0.5) / (count[s] ? count[s] : 1) - 0.5;
        place_on_circle(layout, d, (s + within * 0.9) / num_switches, 1);
    }
    finish_circle(layout, num_switches * most, 1);
    layout->shape = PLOT_CIRCLE;
}

/* Tier of each vertex: devices 0, a switch one above its nearest device. The highest; 0: one is cut off. */
static uint32_t find_tiers(const struct pccl_topology *topology, uint32_t *tier)
{
    uint32_t highest = 0, reached = topology->num_devices;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        tier[v] = v < topology->num_devices ? 0 : PCCL_NONE;
    }
    for (uint32_t level = 0; reached < topology->num_vertices && level == highest; level++) {
        for (uint32_t l = 0; l < topology->num_links; l++) {
            const struct pccl_link *link = &topology->links[l];
            if (tier[link->source] != level || tier[link->target] != PCCL_NONE) {
                continue;
            }
            tier[link->target] = level + 1;
            highest = level + 1;
            reached++;
        }
    }
    return reached == topology->num_vertices ? highest : 0;
}

static bool has_level_links(const struct pccl_topology *topology, const uint32_t *tier)
{
    for (uint32_t l = 0; l < topology->num_links; l++) {
        const struct pccl_link *link = &topology->links[l];
        if (tier[link->source] == tier[link->target] && tier[link->source] > 0) {
            return true;
        }
    }
    return false;
}

struct place {
    double mean;
    uint32_t vertex;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    if (left->mean < right->mean - 1e-9 || left->mean > right->mean + 1e-9) {
        return left->mean < right->mean ? -1 : 1;
    }
    return left->vertex < right->vertex ? -1 : left->vertex > right->vertex;
}

/* Mean place of the vertices one tier below. */
static double mean_below(const struct pccl_topology *topology, const struct plot_layout *layout, const uint32_t *tier,
                         uint32_t vertex)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = topology->first_out[vertex]; i < topology->first_out[vertex + 1]; i++) {
        uint32_t next = topology->links[topology->out_links[i]].target;
        if (tier[next] + 1 == tier[vertex]) {
            sum += layout->x[next];
            count++;
        }
    }
    return count ? sum / count : 0;
}

/* Whether the devices of a switch of the first tier lie scattered: a rail through many boxes rather than a box. */
static bool is_rail(const struct pccl_topology *topology, const uint32_t *tier, uint32_t vertex)
{
    uint32_t lowest = UINT32_MAX, highest = 0, count = 0;
    for (uint32_t i = topology->first_out[vertex]; i < topology->first_out[vertex + 1]; i++) {
        uint32_t next = topology->links[topology->out_links[i]].target;
        if (next >= topology->num_devices) {
            continue;
        }
        lowest = next < lowest ? next : lowest;
        highest = next > highest ? next : highest;
        count++;
    }
    return tier[vertex] == 1 && count > 0 && highest - lowest >= 2 * count;
}

/* Puts `count` switches on one line, over or under the middle of what they serve, evenly spread. */
static void place_line(struct plot_layout *layout, struct place *places, uint32_t count, double width, double y)
{
    qsort(places, count, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < count; i++) {
        layout->x[places[i].vertex] = width * (i + 0.5) / count;
        layout->y[places[i].vertex] = y;
    }
}

/* Tiers of switches above the devices; rails, where there are boxes too, on a line below them. */
static void lay_tiers(const struct pccl_topology *topology, struct plot_layout *layout, const uint32_t *tier,
                      uint32_t highest, struct place *places)
{
    double width = topology->num_devices, rise = fmax(width / 5, 1.5);
    uint32_t first = topology->num_devices, num_rails = 0, num_boxes = 0, count = 0;
    for (uint32_t v = first; v < topology->num_vertices; v++) {
        num_rails += is_rail(topology, tier, v);
        num_boxes += tier[v] == 1 && !is_rail(topology, tier, v);
    }
    bool below = num_rails > 0 && num_boxes > 0;
    for (uint32_t d = 0; d < first; d++) {
        layout->x[d] = d + 0.5;
        layout->y[d] = rise * highest;
    }
    for (uint32_t level = 1; level <= highest; level++, count = 0) {
        for (uint32_t v = first; v < topology->num_vertices; v++) {
            if (tier[v] == level && !(below && is_rail(topology, tier, v))) {
                places[count++] = (struct place){mean_below(topology, layout, tier, v), v};
            }
        }
        place_line(layout, places, count, width, rise * (highest - level));
    }
    for (uint32_t v = first; below && v < topology->num_vertices; v++) {
        if (is_rail(topology, tier, v)) {
            places[count++] = (struct place){mean_below(topology, layout, tier, v), v};
        }
    }
    place_line(layout, places, count, width, rise * (highest + 1));
    layout->shape = PLOT_TIERS;
    layout->width = width;
    layout->height = rise * (highest + below);
    layout->spacing = 1;
}

static int lay_switched(const struct pccl_topology *topology, struct plot_layout *layout)
{
    uint32_t num_switches = topology->num_vertices - topology->num_devices;
    uint32_t *tier = malloc((size_t)topology->num_vertices * sizeof(*tier));
    uint32_t *counts = malloc((size_t)num_switches * 2 * sizeof(*counts));
    struct place *places = malloc((size_t)num_switches * sizeof(*places));
    int status = tier && counts && places ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (!status) {
        uint32_t highest = find_tiers(topology, tier);
        if (highest == 0 || has_level_links(topology, tier)) {
            lay_sectors(topology, layout, counts);
        } else {
            lay_tiers(topology, layout, tier, highest, places);
        }
    }
    free(places);
    free(counts);
    free(tier);
    return status;
}

int plot_layout_create(const struct pccl_topology *topology, struct plot_layout *layout)
{
    uint32_t num_switches = topology->num_vertices - topology->num_devices;
    *layout = (struct plot_layout){0};
    layout->x = calloc(topology->num_vertices, sizeof(*layout->x));
    layout->y = calloc(topology->num_vertices, sizeof(*layout->y));
    int status = layout->x && layout->y ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (status) {
        plot_layout_free(layout);
    } else if (topology->num_dimensions > 1 || (topology->num_dimensions == 1 && !topology->wraps[0])) {
        lay_grid(topology, layout);
    } else if (num_switches <= 1) {
        lay_circle(topology, layout);
    } else {
        status = lay_switched(topology, layout);
    }
    return status;
}

void plot_layout_free(struct plot_layout *layout)
{
    free(layout->y);
    free(layout->x);
}

/* Neighbours along one of the three innermost dimensions see each other; all others have something in between. */
static bool are_neighbours(const struct pccl_topology *topology, uint32_t a, uint32_t b)
{
    uint32_t distance = a > b ? a - b : b - a, stride = 1;
    for (uint32_t i = 0; i < topology->num_dimensions && i < 3; i++) {
        uint32_t size = topology->dimensions[topology->num_dimensions - 1 - i];
        uint32_t from = a / stride % size, to = b / stride % size;
        if (distance == stride && (from > to ? from - to : to - from) == 1) {
            return true;
        }
        stride *= size;
    }
    return false;
}

double plot_layout_bow(const struct plot_layout *layout, const struct pccl_topology *topology, uint32_t a, uint32_t b)
{
    double dx = layout->x[b] - layout->x[a], dy = layout->y[b] - layout->y[a], length = sqrt(dx * dx + dy * dy) + 1e-9;
    if (layout->shape == PLOT_GRID) {
        return are_neighbours(topology, a, b) ? 0 : length < 1 ? 0.3 : fmin(0.16, 0.7 / length);
    }
    if (layout->shape == PLOT_TIERS) {
        return fabs(dy) < 1e-9 && fabs(dx) > 1.01 ? 0.25 : 0;
    }
    return a >= topology->num_devices && b >= topology->num_devices ? 0.05 : 0;
}
