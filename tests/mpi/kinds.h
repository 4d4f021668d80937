/* The collectives of MPI that are not about neighbours. */
#ifndef TEST_KINDS_H
#define TEST_KINDS_H

/* KIND(constant, name), in order; the one that has a datatype for each rank is the last. */
#define EACH_KIND(KIND)                                                                                             \
    KIND(ALLGATHER, allgather) KIND(ALLGATHERV, allgatherv) KIND(ALLREDUCE, allreduce) KIND(ALLTOALL, alltoall)     \
    KIND(ALLTOALLV, alltoallv) KIND(BARRIER, barrier) KIND(BCAST, bcast) KIND(EXSCAN, exscan) KIND(GATHER, gather)  \
    KIND(GATHERV, gatherv) KIND(REDUCE, reduce) KIND(REDUCE_SCATTER, reduce_scatter)                                \
    KIND(REDUCE_SCATTER_BLOCK, reduce_scatter_block) KIND(SCAN, scan) KIND(SCATTER, scatter)                        \
    KIND(SCATTERV, scatterv) KIND(ALLTOALLW, alltoallw)

#define KIND_CONSTANT(constant, name) constant,
#define KIND_NAME(constant, name) #name,

enum kind { EACH_KIND(KIND_CONSTANT) NUM_KINDS };

#endif
