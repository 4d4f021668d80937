/* All-to-all where the topology looks the same from every device: one device's blocks are scheduled, all others' by
 * translation. With links of one kind the result is as short as the busiest direction of links allows. */
#ifndef PCCL__SYMMETRY_H
#define PCCL__SYMMETRY_H

#include "algorithms/algorithm.h"

#define PCCL__MAX_FACTORS 24

/* A commutative group that moves any device to any other, as digits of the device number (the last runs fastest)
 * that are added without carry. */
struct pccl__translation {
    uint32_t num_factors;
    uint32_t extents[PCCL__MAX_FACTORS];
};

uint32_t pccl__translation_add(const struct pccl__translation *translation, uint32_t a, uint32_t b);
uint32_t pccl__translation_subtract(const struct pccl__translation *translation, uint32_t a, uint32_t b);

/* Looks for translations that map the topology onto itself, links with their costs: those of a declared grid first,
 * then of any grid of up to three dimensions or all of extent two. Each guess is checked link by link. False if
 * none is. */
bool pccl__translation_find(const struct pccl_topology *topology, struct pccl__translation *translation);

/* A step of a block on its way: over the link of a kind, in a slot. */
struct pccl__symmetric_step {
    uint32_t slot;
    uint32_t kind;   /* links leaving a device are numbered alike at all devices, ascending by where they lead */
    uint32_t offset; /* block: from any device to the one at this offset */
    uint32_t gone;   /* offset of the device that sends, from the block's source */
};

struct pccl__symmetric_plan {
    struct pccl__translation translation;
    uint32_t num_kinds;
    uint32_t *kind_offset; /* [num_kinds] where a link of the kind leads */
    uint32_t num_steps, num_slots;
    struct pccl__symmetric_step *steps; /* by slot, then kind */
};

/* Freed with pccl__symmetric_plan_free, also after an error. PCCL_ERR_UNSUPPORTED without such a symmetry. */
int pccl__symmetric_plan_create(const struct pccl_topology *topology, struct pccl__symmetric_plan *plan,
                                struct pccl_error *error);
void pccl__symmetric_plan_free(struct pccl__symmetric_plan *plan);

/* What one device does for a step of the plan: it sends one block over a link and receives another over another. */
struct pccl__symmetric_operation {
    uint32_t slot;
    uint32_t to, from;                          /* devices */
    uint32_t send_source, send_target;          /* devices of the block sent */
    uint32_t receive_source, receive_target;    /* of the block received */
};

/* All that one device does, without making the schedule of the others. operations: [plan->num_steps]. */
void pccl__symmetric_plan_extract(const struct pccl__symmetric_plan *plan, uint32_t device,
                                  struct pccl__symmetric_operation *operations);

pccl__algorithm pccl__symmetry_algorithm;

#endif
