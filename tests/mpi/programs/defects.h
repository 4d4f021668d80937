/* What plain Open MPI 4.1.4 gets wrong, so that it can be left out when the programs run without pccl. */
#ifndef PROGRAMS_DEFECTS_H
#define PROGRAMS_DEFECTS_H

#include "call.h"

/* In place. */
bool defect_in_place(enum collective collective, enum form form);
/* Types without data: a rank with none of its elements returns at once, the others wait for it; or, since their size
 * is none, ranks choose other algorithms. */
bool defect_empty_types(void);
/* Types of other sizes at other ranks: each rank goes by its own. */
bool defect_mixed_types(enum collective collective);
/* Grids with a periodic dimension of one or two ranks; MPI_Gather with elements whose data lies outside their bounds;
 * alltoallw on one rank takes its displacements for elements. */
bool defect_call(const struct communicator *communicator, enum collective collective, enum form form);
/* Reducing elements whose data lies outside their bounds: temporary buffers are too small for them. */
bool defect_operand_bounds(void);
/* MPI_Dist_graph_create sends with tags that non-blocking collectives have as well. */
bool defect_edge_tags(void);
/* Freeing a communicator while operations are pending on it, or before a persistent one starts again, crashes. */
bool defect_communicator_free(void);
/* Freeing a datatype or an operator that an inactive persistent operation uses crashes. */
bool defect_type_free(void);

/* Whether to leave these out; each function above says false if not. */
void defects_avoid(bool avoid);

#endif
