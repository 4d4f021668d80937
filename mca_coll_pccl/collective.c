/* The table of collectives. */
#include "collective.h"

#define PLACES(name)                                                                              \
    (void (*)(void))coll_pccl_##name, offsetof(mca_coll_base_module_t, coll_##name),              \
        offsetof(mca_coll_base_comm_coll_t, coll_##name), offsetof(mca_coll_base_comm_coll_t, coll_##name##_module)

const struct coll_pccl_collective coll_pccl_collectives[COLL_PCCL_NUM_KINDS] = {
    /* name, planned as, tag, sizes private, one way */
    [COLL_PCCL_ALLGATHER] =
        {"allgather", PCCL_ALLGATHER, MCA_COLL_BASE_TAG_ALLGATHER, false, false, PLACES(allgather)},
    [COLL_PCCL_ALLGATHERV] =
        {"allgatherv", PCCL_ALLGATHER, MCA_COLL_BASE_TAG_ALLGATHERV, false, true, PLACES(allgatherv)},
    [COLL_PCCL_ALLREDUCE] =
        {"allreduce", PCCL_ALLREDUCE, MCA_COLL_BASE_TAG_ALLREDUCE, false, false, PLACES(allreduce)},
    [COLL_PCCL_ALLTOALL] = {"alltoall", PCCL_ALLTOALL, MCA_COLL_BASE_TAG_ALLTOALL, false, false, PLACES(alltoall)},
    [COLL_PCCL_ALLTOALLV] = {"alltoallv", PCCL_ALLTOALL, MCA_COLL_BASE_TAG_ALLTOALLV, true, true, PLACES(alltoallv)},
    [COLL_PCCL_BARRIER] = {"barrier", PCCL_BARRIER, MCA_COLL_BASE_TAG_BARRIER, false, false, PLACES(barrier)},
    [COLL_PCCL_BCAST] = {"bcast", PCCL_BROADCAST, MCA_COLL_BASE_TAG_BCAST, false, true, PLACES(bcast)},
    [COLL_PCCL_GATHER] = {"gather", PCCL_GATHER, MCA_COLL_BASE_TAG_GATHER, false, true, PLACES(gather)},
    [COLL_PCCL_REDUCE] = {"reduce", PCCL_REDUCE, MCA_COLL_BASE_TAG_REDUCE, false, true, PLACES(reduce)},
    [COLL_PCCL_REDUCE_SCATTER] =
        {"reduce_scatter", PCCL_REDUCE_SCATTER, MCA_COLL_BASE_TAG_REDUCE_SCATTER, false, true, PLACES(reduce_scatter)},
    [COLL_PCCL_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", PCCL_REDUCE_SCATTER,
                                        MCA_COLL_BASE_TAG_REDUCE_SCATTER_BLOCK, false, false,
                                        PLACES(reduce_scatter_block)},
    [COLL_PCCL_SCATTER] = {"scatter", PCCL_SCATTER, MCA_COLL_BASE_TAG_SCATTER, false, true, PLACES(scatter)},
};
