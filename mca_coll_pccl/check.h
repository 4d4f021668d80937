/* coll_pccl_check: before each blocking call the ranks of the communicator compare what they are about to do. A program
 * whose ranks disagree gets an error and a line that names two ranks and what they have, where it would hang or get
 * wrong data. */
#ifndef COLL_PCCL_CHECK_H
#define COLL_PCCL_CHECK_H

#include "component.h"

/* All ranks return the same: OMPI_SUCCESS, or the MPI error code for what differs, after rank 0 of the communicator has
 * printed it; MPI_ERR_NO_MEM is the only code that a rank can return alone. Talks through the component
 * below, so it works whatever serves the call. */
int coll_pccl_check(const struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                    struct coll_pccl_module *module);

#endif
