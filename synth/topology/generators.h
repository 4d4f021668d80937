/* Generators of topologies: each reads its options from the spec, refuses what it cannot make, then fills a builder. */
#ifndef PCCL__GENERATORS_H
#define PCCL__GENERATORS_H

#include "topology/spec.h"

/* Whether the text begins with the name of a generator and a colon. */
bool pccl__topology_is_generator(const char *text);
int pccl__topology_generate(const char *text, struct pccl_topology **topology, struct pccl_error *error);

int pccl__generate_boxes(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error);
int pccl__generate_dragonfly(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error);
int pccl__generate_fattree(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error);
int pccl__generate_hypercube(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error);
int pccl__generate_mesh(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error);
int pccl__generate_torus(struct pccl__spec *spec, struct pccl_topology_builder **builder, struct pccl_error *error);

#endif
