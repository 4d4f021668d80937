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

int pccl__search_init(const struct pccl__view *view, struct pccl__search *search)
{
    search->hops = pccl__array_new(view->num_vertices, sizeof *search->hops);
    search->latency_ps = pccl__array_new(view->num_vertices, sizeof *search->latency_ps);
    search->queue = pccl__array_new(view->num_vertices, sizeof *search->queue);
    if (search->hops == NULL || search->latency_ps == NULL || search->queue == NULL) {
        pccl__search_free(search);
        return PCCL_ERR_MEMORY;
    }
    return 0;
}

void pccl__search_free(struct pccl__search *search)
{
    free(search->queue);
    free(search->latency_ps);
    free(search->hops);
    *search = (struct pccl__search){0};
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
            uint32_t link = view->in_links[i], from = pccl__view_source(view, link);
            int64_t latency = search->latency_ps[to] + view->links[link].latency_ps;
            if (search->hops[from] == PCCL_NONE) {
                search->hops[from] = search->hops[to] + 1;
                search->latency_ps[from] = latency;
                search->queue[tail++] = from;
            } else if (search->hops[from] == search->hops[to] + 1 && latency < search->latency_ps[from]) {
                search->latency_ps[from] = latency;
            }
        }
    }
}
