/* Turning: see turning.h. */
#include "algorithms/turning.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* --- leaves ------------------------------------------------------------------------------------------------------- */

/* The switch that is a device's only neighbour, or PCCL_NONE. */
static uint32_t only_neighbour(const struct pccl_topology *topology, uint32_t device)
{
    uint32_t out = topology->first_out[device], in = topology->first_in[device];
    if (topology->first_out[device + 1] - out != 1 || topology->first_in[device + 1] - in != 1) {
        return PCCL_NONE;
    }
    uint32_t next = topology->links[topology->out_links[out]].target;
    return next >= topology->num_devices && topology->links[topology->in_links[in]].source == next ? next : PCCL_NONE;
}

/* Returns whether all switches with devices have equally many, numbered without a gap. */
static bool find_leaves(struct pccl__turning *turning)
{
    const struct pccl_topology *topology = turning->topology;
    uint32_t n = topology->num_devices, first = only_neighbour(topology, 0);
    memset(turning->leaf, 0xff, topology->num_vertices * sizeof *turning->leaf);
    while (turning->width < n && only_neighbour(topology, turning->width) == first) {
        turning->width++;
    }
    if (first == PCCL_NONE || n % turning->width != 0) {
        return false;
    }
    turning->num_leaves = n / turning->width;
    for (uint32_t d = 0; d < n; d++) {
        uint32_t next = only_neighbour(topology, d), leaf = d / turning->width;
        if (next == PCCL_NONE || (turning->leaf[next] != PCCL_NONE && turning->leaf[next] != leaf) ||
            (d % turning->width > 0 && turning->switches[leaf] != next)) {
            return false;
        }
        turning->switches[leaf] = next;
        turning->leaf[next] = leaf;
        turning->leaf[d] = leaf;
    }
    return true;
}

/* --- turning ------------------------------------------------------------------------------------------------------ */

static int compare_ends(const void *a, const void *b)
{
    const struct pccl__end *left = a, *right = b;
    if (left->vertex != right->vertex) {
        return left->vertex < right->vertex ? -1 : 1;
    }
    return left->link < right->link ? -1 : left->link > right->link;
}

/* A switch without devices stays where it is. */
static uint32_t turn_vertex(const struct pccl__turning *turning, uint32_t vertex)
{
    const struct pccl_topology *topology = turning->topology;
    if (vertex < topology->num_devices) {
        return (vertex + turning->shift * turning->width) % topology->num_devices;
    }
    uint32_t leaf = turning->leaf[vertex];
    return leaf == PCCL_NONE ? vertex : turning->switches[(leaf + turning->shift) % turning->num_leaves];
}

/* Fills image; returns whether the links out of the vertex are like those out of its image. */
static bool turn_links(struct pccl__turning *turning, uint32_t vertex)
{
    const struct pccl_topology *topology = turning->topology;
    uint32_t image = turn_vertex(turning, vertex);
    uint32_t first = topology->first_out[vertex], other = topology->first_out[image];
    uint32_t count = topology->first_out[vertex + 1] - first;
    if (topology->first_out[image + 1] - other != count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t here = topology->out_links[first + i], there = topology->out_links[other + i];
        turning->ends[0][i] = (struct pccl__end){turn_vertex(turning, topology->links[here].target), here};
        turning->ends[1][i] = (struct pccl__end){topology->links[there].target, there};
    }
    qsort(turning->ends[0], count, sizeof *turning->ends[0], compare_ends);
    qsort(turning->ends[1], count, sizeof *turning->ends[1], compare_ends);
    for (uint32_t i = 0; i < count; i++) {
        if (turning->ends[0][i].vertex != turning->ends[1][i].vertex) {
            return false;
        }
        turning->image[turning->ends[0][i].link] = turning->ends[1][i].link;
    }
    return true;
}

static void classify_links(struct pccl__turning *turning)
{
    uint32_t num_links = turning->topology->num_links, count = 0;
    memset(turning->class, 0xff, num_links * sizeof *turning->class);
    for (uint32_t l = 0; l < num_links; l++) {
        if (turning->class[l] == PCCL_NONE) {
            turning->class_size[count] = 0;
            for (uint32_t at = l; turning->class[at] == PCCL_NONE; at = turning->image[at]) {
                turning->class[at] = count;
                turning->class_size[count]++;
            }
            count++;
        }
    }
}

bool pccl__turning_turn(struct pccl__turning *turning, uint32_t shift)
{
    turning->shift = shift;
    turning->num_turns = turning->num_leaves / shift;
    for (uint32_t v = 0; v < turning->topology->num_vertices; v++) {
        if (!turn_links(turning, v)) {
            return false;
        }
    }
    classify_links(turning);
    return true;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

int pccl__turning_create(const struct pccl_topology *topology, struct pccl__turning *turning)
{
    uint32_t num_links = topology->num_links;
    *turning = (struct pccl__turning){.topology = topology};
    turning->switches = pccl__array_new(topology->num_devices, sizeof *turning->switches);
    turning->leaf = pccl__array_new(topology->num_vertices, sizeof *turning->leaf);
    turning->image = pccl__array_new(num_links, sizeof *turning->image);
    turning->class = pccl__array_new(num_links, sizeof *turning->class);
    turning->class_size = pccl__array_new(num_links, sizeof *turning->class_size);
    turning->ends[0] = pccl__array_new(num_links, sizeof *turning->ends[0]);
    turning->ends[1] = pccl__array_new(num_links, sizeof *turning->ends[1]);
    if (turning->switches == NULL || turning->leaf == NULL || turning->image == NULL || turning->class == NULL ||
        turning->class_size == NULL || turning->ends[0] == NULL || turning->ends[1] == NULL) {
        return PCCL_ERR_MEMORY;
    }
    return find_leaves(turning) ? 0 : PCCL_ERR_UNSUPPORTED;
}

void pccl__turning_free(struct pccl__turning *turning)
{
    free(turning->switches);
    free(turning->leaf);
    free(turning->image);
    free(turning->class);
    free(turning->class_size);
    free(turning->ends[0]);
    free(turning->ends[1]);
    *turning = (struct pccl__turning){0};
}
