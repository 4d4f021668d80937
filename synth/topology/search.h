/* Best ways through the vertices that forward: fewest links first, then least latency; with heights only ways that
 * never lead up after down, and down wherever that reaches the target. */
#ifndef PCCL__SEARCH_H
#define PCCL__SEARCH_H

#include "topology/private.h"

/* A topology the way messages travel, whether or not it is stored turned round. */
struct pccl__view {
    const struct pccl_link *links;
    bool reversed;
    uint32_t num_vertices;
    uint32_t first_forwarder; /* vertices from this one on forward messages */
    const uint32_t *first_out, *out_links, *first_in, *in_links;
    /* Up-down: [num_vertices], see pccl__heights_find; NULL if links may follow in any order. */
    const uint32_t *heights;
};

/* Without heights. */
struct pccl__view pccl__view_of(const struct pccl__topology *topology);

/* How far up each vertex is: links from the nearest device, or 0 if none is near. *heights: allocated with malloc. */
int pccl__heights_find(const struct pccl__view *view, uint32_t num_devices, uint32_t **heights);

/* Whether a link leads away from the devices; vertices at one height are in order of number, the first highest. */
static inline bool pccl__view_is_up(const struct pccl__view *view, uint32_t from, uint32_t to)
{
    return view->heights[to] > view->heights[from] || (view->heights[to] == view->heights[from] && to < from);
}

static inline uint32_t pccl__view_source(const struct pccl__view *view, uint32_t link)
{
    return view->reversed ? view->links[link].target : view->links[link].source;
}

static inline uint32_t pccl__view_target(const struct pccl__view *view, uint32_t link)
{
    return view->reversed ? view->links[link].source : view->links[link].target;
}

/* Distances of all vertices to one target. All zero before pccl__search_init. */
struct pccl__search {
    uint32_t *hops;       /* [num_vertices] links of a best way to the target, PCCL_NONE if there is none */
    int64_t *latency_ps;  /* [num_vertices] of a best way */
    uint32_t *queue;      /* [num_vertices] */
    uint32_t *descending; /* [num_vertices] up-down: vertices from above */
    bool *goes_down;      /* [num_vertices] up-down: links that lead down alone reach the target */
    uint32_t farthest;    /* largest number of hops */
};

int pccl__search_init(const struct pccl__view *view, struct pccl__search *search);
void pccl__search_free(struct pccl__search *search);
void pccl__search_run(const struct pccl__view *view, struct pccl__search *search, uint32_t target);

/* Whether the link begins a best way from its source to the target of the last run. Its end must be able to go on. */
static inline bool pccl__search_is_best(const struct pccl__view *view, const struct pccl__search *search, uint32_t link)
{
    uint32_t from = pccl__view_source(view, link), to = pccl__view_target(view, link);
    if (view->heights != NULL && pccl__view_is_up(view, from, to) == search->goes_down[from]) {
        return false;
    }
    if (view->heights != NULL && search->goes_down[from] && !search->goes_down[to]) {
        return false;
    }
    return search->hops[from] != PCCL_NONE && search->hops[to] != PCCL_NONE &&
           search->hops[to] + 1 == search->hops[from] && (search->hops[to] == 0 || to >= view->first_forwarder) &&
           search->latency_ps[from] == search->latency_ps[to] + view->links[link].latency_ps;
}

#endif
