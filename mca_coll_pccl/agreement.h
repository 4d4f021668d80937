/* Agreement: in MPI_Init all ranks find out together whether pccl can be used, and learn where everybody is. */
#ifndef COLL_PCCL_AGREEMENT_H
#define COLL_PCCL_AGREEMENT_H

#include "world.h"

/* Collective over the ranks of MPI_COMM_WORLD in which pccl is on, called while its module is enabled. installed: a
 * digest of the functions that have something to fall back to here. True on all ranks or on none; then coll_pccl_world
 * is set up. */
bool coll_pccl_agreement_reach(struct ompi_communicator_t *world, uint64_t installed);

#endif
