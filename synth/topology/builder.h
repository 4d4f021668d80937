/* What a topology is made from, while it is put together (builder.c) and when it is finished (finish.c). */
#ifndef PCCL_TOPOLOGY_BUILDER_H
#define PCCL_TOPOLOGY_BUILDER_H

#include "topology/private.h"
#include "topology/routes.h"

struct pccl_topology_builder {
    struct pccl__topology *topology; /* its arena holds the names */
    struct pccl_vertex *vertices;    /* in order of adding */
    struct pccl_link *links;         /* ends and capacities as the caller numbers them */
    uint32_t num_vertices, vertex_capacity;
    uint32_t num_links, link_capacity;
    struct pccl_class *classes;
    uint32_t num_classes, class_capacity;
    enum pccl_origin latency_origin, bandwidth_origin;
    struct pccl__table_entry *entries; /* of the routing table, in order of adding */
    uint32_t num_entries, entry_capacity;
    int status; /* of the first failed call */
    struct pccl_error error;
};

#endif
