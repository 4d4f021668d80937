/* What a topology's routes are looked up in. */
#ifndef PCCL__FORWARDING_H
#define PCCL__FORWARDING_H

#include <stdatomic.h>

#include "topology/routes.h"
#include "topology/search.h"

/* Forwarding tables towards a set of target vertices. A pair has the index target * num_forwarders + forwarder. */
struct pccl__forwarding {
    uint32_t num_targets;
    uint32_t *target_index; /* [num_vertices] PCCL_NONE where the vertex is no target */
    uint32_t *first_choice; /* [pairs + 1] in choices */
    uint32_t *choices;      /* links that begin a best way, ascending */
    uint32_t *hops;         /* [pairs] links of a best way, PCCL_NONE if there is none */
    int64_t *latency_ps;    /* [pairs] */
};

struct pccl__routes {
    atomic_uint holders;
    uint32_t limit;                 /* no route has more links */
    uint32_t *by_target;            /* links that leave each vertex (first_out ranges), by target, then number */
    uint32_t *neighbours;           /* dimension order: [vertex][dimension][down, up] link or PCCL_NONE; else NULL */
    struct pccl__forwarding *table; /* NULL: none is needed, or it would be too large */
    uint32_t *heights;              /* up-down: see pccl__view; else NULL */
    uint32_t *next;        /* [vertex][device] link of a table given with the topology, or PCCL_NONE; else NULL */
    uint64_t table_digest; /* of next; 0 if there is none */
    struct pccl__placement *placement; /* of a placed topology only */
};

/* First place in by_target, among the links that leave `source`, whose link does not enter a vertex below `target`. */
uint32_t pccl__routes_lower_bound(const struct pccl__view *view, const struct pccl__routes *routes, uint32_t source,
                                  uint32_t target);
/* The link with the lowest latency, then number, between two vertices; PCCL_NONE if there is none. */
uint32_t pccl__routes_direct(const struct pccl__view *view, const struct pccl__routes *routes, uint32_t source,
                             uint32_t target);

#endif
