/* The one place that knows which Open MPI this is. Everything else in the component includes this header and finds the
 * same names whatever the version; a new version of Open MPI is supported by changing this file. */
#ifndef COLL_PCCL_COMPAT_H
#define COLL_PCCL_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/topo/topo.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/class/opal_free_list.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/hwloc/base/base.h"
#include "opal/runtime/opal_progress.h"
#include "opal/sys/atomic.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#include "opal/threads/mutex.h"
#include "opal/threads/thread_usage.h"
#define COLL_PCCL_API_VERSION MCA_COLL_BASE_VERSION_2_0_0
#define COLL_PCCL_COMM_ID(comm) ((unsigned long)(comm)->c_contextid)
#elif OMPI_MAJOR_VERSION == 5
#include "opal/mca/threads/mutex.h"
#include "opal/mca/threads/thread_usage.h"
#define COLL_PCCL_API_VERSION MCA_COLL_BASE_VERSION_2_4_0
#define COLL_PCCL_COMM_ID(comm) ((unsigned long)ompi_comm_get_local_cid(comm))
#else
#error "coll/pccl knows Open MPI 4.1 and 5.0: add this version to compat.h"
#endif

#if OMPI_MAJOR_VERSION == 4 && OPAL_CUDA_SUPPORT
#include "opal/datatype/opal_datatype_cuda.h"
#elif OMPI_MAJOR_VERSION == 5
#include "opal/mca/accelerator/accelerator.h"
#endif

/* Whether memory is an accelerator's, as far as this Open MPI was built to know. */
static inline bool coll_pccl_is_on_device(const void *memory)
{
#if OMPI_MAJOR_VERSION == 4 && OPAL_CUDA_SUPPORT
    return opal_cuda_check_bufs((char *)memory, NULL);
#elif OMPI_MAJOR_VERSION == 5
    int device;
    uint64_t flags;
    return opal_accelerator.check_addr(memory, &device, &flags) > 0;
#else
    (void)memory;
    return false;
#endif
}

/* In 4.1 and 5.0 the framework copies the function pointers of an enabled module itself, while inside enable the
 * communicator still shows the module below. Counts and displacements of the collectives are int. */

/* A tag of the agreement in MPI_COMM_WORLD. Open MPI's own tags start at MCA_COLL_BASE_TAG_ALLGATHER and go down, its
 * counter for non-blocking calls never comes back above its base, users' tags are not negative and MPI_ANY_TAG does not
 * match negative ones: the few numbers between MPI_ANY_TAG and the first collective belong to nobody. */
#define COLL_PCCL_AGREEMENT_TAG (MCA_COLL_BASE_TAG_ALLGATHER + 3)

#endif
