#include "topology/placement.h"

#include <stdlib.h>

#include "topology/private.h"

void pccl__placement_free(struct pccl__placement *placement)
{
    if (placement != NULL) {
        free(placement->down_link);
        free(placement->up_link);
        free(placement->places);
        pccl_topology_free(placement->fabric);
        free(placement);
    }
}

/* The end of a link on the host's side. */
static uint32_t parent(const struct pccl__placement *placement, const struct pccl_link *links, bool reversed,
                       uint32_t vertex)
{
    const struct pccl_link *up = &links[placement->up_link[vertex]];
    return reversed ? up->source : up->target;
}

/* Lists the vertices from `vertex` up to, but without, its host. */
static uint32_t climb(const struct pccl__placement *placement, const struct pccl_link *links, bool reversed,
                      uint32_t vertex, uint32_t *way)
{
    uint32_t length = 0;
    for (; placement->up_link[vertex] != PCCL_NONE; vertex = parent(placement, links, reversed, vertex)) {
        way[length++] = vertex;
    }
    return length;
}

int pccl__placement_route(const struct pccl__placement *placement, const struct pccl_link *links, bool reversed,
                          uint32_t source, uint32_t target, uint32_t *route, uint32_t max_links)
{
    uint32_t up[PCCL__MAX_PLACE_DEPTH], down[PCCL__MAX_PLACE_DEPTH];
    uint32_t num_up = climb(placement, links, reversed, source, up),
             num_down = climb(placement, links, reversed, target, down);
    const uint32_t from = placement->places[source].host, to = placement->places[target].host;
    while (num_up > 0 && num_down > 0 && up[num_up - 1] == down[num_down - 1]) {
        num_up--;
        num_down--;
    }
    if (num_up + num_down > max_links) {
        return PCCL_ERR_OVERFLOW;
    }
    uint32_t length = 0;
    for (uint32_t i = 0; i < num_up; i++) {
        route[length++] = placement->up_link[up[i]];
    }
    if (from != to) {
        int between = pccl_topology_route(placement->fabric, from, to, route + length, max_links - num_up - num_down);
        if (between < 0) {
            return between;
        }
        length += (uint32_t)between;
    }
    for (uint32_t i = num_down; i > 0; i--) {
        route[length++] = placement->down_link[down[i - 1]];
    }
    return (int)length;
}
