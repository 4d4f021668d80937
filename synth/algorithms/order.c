/* Short closed tours through the ranks of a group, for rings and for laying patterns so that neighbours are near.
 * On a full grid a Hamiltonian cycle or path; where switches carry the traffic, depth first, so that what hangs below a
 * switch stays together; else the nearest rank not yet visited, each time. */
#include <stdlib.h>

#include "algorithms/algorithm.h"
#include "base/array.h"
#include "base/error.h"

/* --- grids -------------------------------------------------------------------------------------------------------- */

/* Device at position `index` of the boustrophedon path through the dimensions other than `skipped`, where that one has
 * coordinate `fixed`. Successive positions are neighbours (reflected Gray code with mixed radices). */
static uint32_t path_device(const struct pccl_topology *topology, uint32_t skipped, uint32_t fixed, uint32_t index)
{
    uint32_t device = 0, stride = topology->num_devices, rest = topology->num_devices;
    uint32_t turn = 0; /* which visit of this dimension it is: odd ones run backward */
    if (skipped != PCCL_NONE) {
        rest /= topology->dimensions[skipped];
    }
    for (uint32_t d = 0; d < topology->num_dimensions; d++) {
        uint32_t extent = topology->dimensions[d], coordinate = fixed;
        stride /= extent;
        if (d != skipped) {
            rest /= extent;
            coordinate = index / rest;
            index %= rest;
            bool backward = turn % 2 != 0;
            turn = turn * extent + coordinate;
            coordinate = backward ? extent - 1 - coordinate : coordinate;
        }
        device += coordinate * stride;
    }
    return device;
}

/* A comb: up the first column, then down in a snake over the others. Needs an even number of rows (extent of `rows`)
 * and two columns (positions of the path through the other dimensions); else it is a mere path. */
static void grid_tour(const struct pccl_topology *topology, uint32_t *device_at)
{
    uint32_t n = topology->num_devices, rows = 0;
    while (rows < topology->num_dimensions && topology->dimensions[rows] % 2 != 0) {
        rows++;
    }
    if (rows == topology->num_dimensions || topology->dimensions[rows] == n) {
        for (uint32_t i = 0; i < n; i++) {
            device_at[i] = path_device(topology, PCCL_NONE, 0, i);
        }
        return;
    }
    uint32_t height = topology->dimensions[rows], width = n / height, i = 0;
    for (uint32_t row = height; row-- > 0;) {
        device_at[i++] = path_device(topology, rows, row, 0);
    }
    for (uint32_t row = 0; row < height; row++) {
        for (uint32_t column = 1; column < width; column++) {
            device_at[i++] = path_device(topology, rows, row, row % 2 == 0 ? column : width - column);
        }
    }
}

/* --- switched networks -------------------------------------------------------------------------------------------- */

/* Depth first from device 0, at every vertex the devices before the switches. */
static void depth_first_tour(const struct pccl_topology *topology, uint32_t *device_at, uint32_t *stack, uint8_t *seen)
{
    uint32_t depth = 0, count = 0;
    for (uint32_t start = 0; start < topology->num_devices; start++) {
        stack[depth++] = start;
        while (depth > 0) {
            uint32_t vertex = stack[--depth];
            if (seen[vertex]) {
                continue;
            }
            seen[vertex] = 1;
            if (vertex < topology->num_devices) {
                device_at[count++] = vertex;
            }
            /* The last pushed goes first: switches, then devices, each in falling order. */
            for (uint32_t pass = 0; pass < 2; pass++) {
                for (uint32_t i = topology->first_out[vertex + 1]; i-- > topology->first_out[vertex];) {
                    uint32_t next = topology->links[topology->out_links[i]].target;
                    if (!seen[next] && (next < topology->num_devices) == (pass == 1)) {
                        stack[depth++] = next;
                    }
                }
            }
        }
    }
}

/* --- devices joined directly -------------------------------------------------------------------------------------- */

/* The member nearest to `from` by links that is not yet seen (ties: fewest unseen neighbours of its own, then the
 * smallest number), so that dead ends are met early. */
static uint32_t nearest_unseen(const struct pccl_topology *topology, const uint32_t *rank_on, const uint8_t *seen,
                               uint32_t from, uint32_t *distance, uint32_t *queue)
{
    uint32_t head = 0, tail = 0, best = PCCL_NONE, best_exits = PCCL_NONE;
    for (uint32_t v = 0; v < topology->num_vertices; v++) {
        distance[v] = PCCL_NONE;
    }
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t vertex = queue[head++];
        if (best != PCCL_NONE && distance[vertex] > distance[best]) {
            break;
        }
        uint32_t exits = 0;
        for (uint32_t i = topology->first_out[vertex]; i < topology->first_out[vertex + 1]; i++) {
            uint32_t next = topology->links[topology->out_links[i]].target;
            exits += next < topology->num_devices && rank_on[next] != PCCL_NONE && !seen[next];
            if (distance[next] == PCCL_NONE) {
                distance[next] = distance[vertex] + 1;
                queue[tail++] = next;
            }
        }
        if (vertex < topology->num_devices && rank_on[vertex] != PCCL_NONE && !seen[vertex] &&
            (best == PCCL_NONE || exits < best_exits || (exits == best_exits && vertex < best))) {
            best = vertex;
            best_exits = exits;
        }
    }
    return best;
}

static void nearest_tour(const struct pccl__problem *problem, const uint32_t *rank_on, uint32_t *device_at,
                         uint32_t *scratch, uint8_t *seen)
{
    const struct pccl_topology *topology = problem->topology;
    uint32_t at = problem->request->devices[0];
    for (uint32_t count = 0; count < problem->num_ranks; count++) {
        seen[at] = 1;
        device_at[count] = at;
        uint32_t next = nearest_unseen(topology, rank_on, seen, at, scratch, scratch + topology->num_vertices);
        for (uint32_t rank = 0; next == PCCL_NONE && rank < problem->num_ranks; rank++) {
            next = seen[problem->request->devices[rank]] ? PCCL_NONE : problem->request->devices[rank];
        }
        at = next;
    }
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

static int tour(const struct pccl__problem *problem, uint32_t *order)
{
    const struct pccl_topology *topology = problem->topology;
    uint32_t v = topology->num_vertices, devices = topology->num_devices, count = devices, filled = 0;
    size_t edges = (size_t)topology->num_links + v + 1;
    uint32_t *rank_on = pccl__array_new(2 * (size_t)devices + 2 * (size_t)v + edges, sizeof *rank_on);
    uint8_t *seen = pccl__array_new(v, sizeof *seen);
    if (rank_on == NULL || seen == NULL) {
        free(seen);
        free(rank_on);
        return PCCL_ERR_MEMORY;
    }
    uint32_t *device_at = rank_on + devices, *scratch = device_at + devices;
    for (uint32_t device = 0; device < devices; device++) {
        rank_on[device] = PCCL_NONE;
    }
    for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
        rank_on[problem->request->devices[rank]] = rank;
    }
    if (topology->num_dimensions > 0 && problem->num_ranks == devices) {
        grid_tour(topology, device_at);
    } else if (v > devices) {
        depth_first_tour(topology, device_at, scratch, seen);
    } else {
        nearest_tour(problem, rank_on, device_at, scratch, seen);
        count = problem->num_ranks;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (rank_on[device_at[i]] != PCCL_NONE) {
            order[filled++] = rank_on[device_at[i]];
        }
    }
    free(seen);
    free(rank_on);
    return 0;
}

int pccl__order_make(const struct pccl__problem *problem, enum pccl__order kind, uint32_t *order,
                     struct pccl_error *error)
{
    uint32_t **place = pccl__problem_place(problem);
    if (kind == PCCL__BY_PLACE && *place == NULL) {
        *place = pccl__array_new(problem->num_ranks, sizeof **place);
        if (*place == NULL || tour(problem, *place) != 0) {
            free(*place);
            *place = NULL;
            return pccl__fail_memory(error);
        }
    }
    for (uint32_t rank = 0; rank < problem->num_ranks; rank++) {
        order[rank] = kind == PCCL__BY_PLACE ? (*place)[rank] : rank;
    }
    return 0;
}
