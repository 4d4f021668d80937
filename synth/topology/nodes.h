/* The members of a group by node: who shares a host, in which order, and small topologies of what is between the nodes
 * and inside one of them. */
#ifndef PCCL__NODES_H
#define PCCL__NODES_H

#include "pccl/topology.h"

/* Arrays are owned. Ranks are those of the group. */
struct pccl__nodes {
    uint32_t num_ranks, num_nodes;
    uint32_t *first;    /* [num_nodes + 1] into members */
    uint32_t *members;  /* [num_ranks] ranks, node by node, in each by position */
    uint32_t *node;     /* [num_ranks] the node of a rank */
    uint32_t *position; /* [num_ranks] where in its node it sits: neighbours share caches */
    uint32_t *shape;    /* [num_nodes] nodes with one number look alike, position by position */
    uint32_t num_shapes;
    uint32_t *example; /* [num_shapes] a node of that shape */
    bool shared;       /* some node has several members */
};

static inline uint32_t pccl__node_size(const struct pccl__nodes *nodes, uint32_t node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* Sorts a group by the hosts below which pccl_topology_place has put its devices; where there is one host only, or
 * none, every rank is a node. Nodes come in order of hosts and positions in order of places, whatever the ranks' numbers are,
 * so that equal groups give equal nodes in whichever order their ranks were placed. in_rank_order: a node is a run of
 * consecutive ranks on a host instead, so that neighbouring nodes hold neighbouring ranks.
 * apart: a rank whose node is to have a shape of its own, or PCCL_NONE. Returns 0 or PCCL_ERR_MEMORY. */
int pccl__nodes_find(struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                     uint32_t num_ranks, bool in_rank_order, uint32_t apart);
void pccl__nodes_free(struct pccl__nodes *nodes);

/* The fabric with a device for each node, joined to it as fast as `rails` of its members together are, which are spread
 * evenly over its positions. rails: 1 up to the size of the smallest node. */
int pccl__nodes_between(const struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                        uint32_t rails, struct pccl_topology **between, struct pccl_error *error);

/* A node of several members: the tree below its host, in which those below one cache share a host again; device p is
 * the member at position p. */
int pccl__nodes_inside(const struct pccl__nodes *nodes, const struct pccl_topology *topology, const uint32_t *devices,
                       uint32_t node, struct pccl_topology **inside, struct pccl_error *error);

/* The first position that belongs to a rail: those of a node are split evenly among the rails. */
static inline uint32_t pccl__rail_start(uint32_t rail, uint32_t rails, uint32_t size)
{
    return (uint32_t)((uint64_t)rail * size / rails);
}

#endif
