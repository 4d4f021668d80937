#include "topology/search.h"

#include <stdlib.h>

#include "base/array.h"

struct pccl__view pccl__view_of(const struct pccl__topology *topology)
{
    const struct pccl_topology *base = &topology->base;
    struct pccl__view view = {
        .links = base->links,
        .reversed = topology->reversed,
        .num_vertices = base->num_vertices,
        .first_forwarder = base->routing == PCCL_ROUTING_SHORTEST ? 0 : base->num_devices,
        .first_out = topology->reversed ? base->first_in : base->first_out,
        .out_links = topology->reversed ? base->in_links : base->out_links,
        .first_in = topology->reversed ? base->first_out : base->first_in,
        .in_links = topology->reversed ? base->out_links : base->in_links,
    };
    return view;
}

int pccl__heights_find(const struct pccl__view *view, uint32_t num_devices, uint32_t **heights)
{
    uint32_t *queue = pccl__array_new(view->num_vertices, sizeof *queue), tail = num_devices;
    *heights = pccl__array_new(view->num_vertices, sizeof **heights);
    if (queue == NULL || *heights == NULL) {
        free(queue);
        free(*heights);
        *heights = NULL;
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t d = 0; d < num_devices; d++) {
        queue[d] = d;
    }
    for (uint32_t head = 0; head < tail; head++) {
        for (uint32_t i = view->first_in[queue[head]]; i < view->first_in[queue[head] + 1]; i++) {
            uint32_t from = pccl__view_source(view, view->in_links[i]);
            if (from >= num_devices && (*heights)[from] == 0) {
                (*heights)[from] = (*heights)[queue[head]] + 1;
                queue[tail++] = from;
            }
        }
    }
    free(queue);
    return 0;
}

/* Vertices of the greatest height first, those of one height in order of number. */
static int order_by_height(const struct pccl__view *view, uint32_t **descending)
{
    uint32_t *begin = pccl__array_new((size_t)view->num_vertices + 2, sizeof *begin);
    *descending = pccl__array_new(view->num_vertices, sizeof **descending);
    if (begin == NULL || *descending == NULL) {
        free(begin);
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t v = 0; v < view->num_vertices; v++) {
        begin[view->num_vertices - view->heights[v] + 1]++;
    }
    for (uint32_t h = 1; h < view->num_vertices + 2; h++) {
        begin[h] += begin[h - 1];
    }
    for (uint32_t v = 0; v < view->num_vertices; v++) {
        (*descending)[begin[view->num_vertices - view->heights[v]]++] = v;
    }
    free(begin);
    return 0;
}

int pccl__search_init(const struct pccl__view *view, struct pccl__search *search)
{
    search->hops = pccl__array_new(view->num_vertices, sizeof *search->hops);
    search->latency_ps = pccl__array_new(view->num_vertices, sizeof *search->latency_ps);
    search->queue = pccl__array_new(view->num_vertices, sizeof *search->queue);
    bool complete = search->hops != NULL && search->latency_ps != NULL && search->queue != NULL;
    if (view->heights != NULL) {
        search->goes_down = pccl__array_new(view->num_vertices, sizeof *search->goes_down);
        complete = complete && search->goes_down != NULL && order_by_height(view, &search->descending) == 0;
    }
    if (!complete) {
        pccl__search_free(search);
        return PCCL_ERR_MEMORY;
    }
    return 0;
}

void pccl__search_free(struct pccl__search *search)
{
    free(search->goes_down);
    free(search->descending);
    free(search->queue);
    free(search->latency_ps);
    free(search->hops);
    *search = (struct pccl__search){0};
}

/* A link into a vertex that is so many links from the target. */
static void reach(const struct pccl__view *view, struct pccl__search *search, uint32_t link, uint32_t *tail)
{
    uint32_t to = pccl__view_target(view, link), from = pccl__view_source(view, link);
    int64_t latency = search->latency_ps[to] + view->links[link].latency_ps;
    if (search->hops[from] == PCCL_NONE) {
        search->hops[from] = search->hops[to] + 1;
        search->latency_ps[from] = latency;
        search->queue[(*tail)++] = from;
    } else if (search->hops[from] == search->hops[to] + 1 && latency < search->latency_ps[from]) {
        search->latency_ps[from] = latency;
    }
}

/* From a vertex that has to go up first. Everything above it is known. */
static void go_up(const struct pccl__view *view, struct pccl__search *search, uint32_t from)
{
    for (uint32_t i = view->first_out[from]; i < view->first_out[from + 1]; i++) {
        uint32_t link = view->out_links[i], to = pccl__view_target(view, link);
        if (to < view->first_forwarder || search->hops[to] == PCCL_NONE || !pccl__view_is_up(view, from, to)) {
            continue;
        }
        int64_t latency = search->latency_ps[to] + view->links[link].latency_ps;
        if (search->hops[to] + 1 < search->hops[from] ||
            (search->hops[to] + 1 == search->hops[from] && latency < search->latency_ps[from])) {
            search->hops[from] = search->hops[to] + 1;
            search->latency_ps[from] = latency;
        }
    }
    if (search->hops[from] != PCCL_NONE && search->hops[from] > search->farthest) {
        search->farthest = search->hops[from];
    }
}

/* Backwards from the target, all vertices of one number of hops before those of the next: by the time a vertex is taken
 * from the queue its latency is final. Vertices that do not forward get a distance but lead no further. */
void pccl__search_run(const struct pccl__view *view, struct pccl__search *search, uint32_t target)
{
    for (uint32_t v = 0; v < view->num_vertices; v++) {
        search->hops[v] = PCCL_NONE;
        search->latency_ps[v] = 0;
    }
    uint32_t head = 0, tail = 0;
    search->hops[target] = 0;
    search->queue[tail++] = target;
    while (head < tail) {
        uint32_t to = search->queue[head++];
        search->farthest = search->hops[to];
        if (to < view->first_forwarder && to != target) {
            continue;
        }
        for (uint32_t i = view->first_in[to]; i < view->first_in[to + 1]; i++) {
            uint32_t link = view->in_links[i];
            if (view->heights == NULL || !pccl__view_is_up(view, pccl__view_source(view, link), to)) {
                reach(view, search, link, &tail);
            }
        }
    }
    for (uint32_t v = 0; v < view->num_vertices && view->heights != NULL; v++) {
        search->goes_down[v] = search->hops[v] != PCCL_NONE;
    }
    for (uint32_t i = 0; i < view->num_vertices && view->heights != NULL; i++) {
        if (!search->goes_down[search->descending[i]]) {
            go_up(view, search, search->descending[i]);
        }
    }
}
