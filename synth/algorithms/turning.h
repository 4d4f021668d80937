/* Turning the numbers of all devices round by a whole number of switches: where that maps a topology onto itself, what
 * is planned for the first switches serves all. */
#ifndef PCCL__TURNING_H
#define PCCL__TURNING_H

#include <stdbool.h>

#include "pccl/topology.h"

/* The far end of a link out of some vertex. */
struct pccl__end {
    uint32_t vertex, link;
};

struct pccl__turning {
    const struct pccl_topology *topology;
    uint32_t width;       /* devices at a switch, their numbers without a gap */
    uint32_t num_leaves;  /* such switches, the first devices' first */
    uint32_t *switches;   /* [num_leaves] vertices */
    uint32_t *leaf;       /* [num_vertices] of a device or its switch; PCCL_NONE for other switches */
    uint32_t shift;       /* turning goes by so many leaves */
    uint32_t num_turns;   /* different ones: num_leaves / shift */
    uint32_t *image;      /* [num_links] the link turned once */
    uint32_t *class;      /* [num_links] equal for links that are images of each other */
    uint32_t *class_size; /* [num_links] by class */
    struct pccl__end *ends[2]; /* [num_links] */
};

/* Finds the leaves. 0, PCCL_ERR_MEMORY, or PCCL_ERR_UNSUPPORTED unless each device has one switch and all such switches
 * have equally many devices. Freed with pccl__turning_free, also after an error. */
int pccl__turning_create(const struct pccl_topology *topology, struct pccl__turning *turning);
void pccl__turning_free(struct pccl__turning *turning);

/* Tries a shift, which must divide num_leaves. Returns whether every link has an image; fills image and classes.
 * Costs of links are not compared. */
bool pccl__turning_turn(struct pccl__turning *turning, uint32_t shift);

#endif
