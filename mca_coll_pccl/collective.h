/* The collectives that pccl serves: one row each. */
#ifndef COLL_PCCL_COLLECTIVE_H
#define COLL_PCCL_COLLECTIVE_H

#include "compat.h"

#include "pccl/demand.h"

enum coll_pccl_kind {
    COLL_PCCL_ALLGATHER,
    COLL_PCCL_ALLGATHERV,
    COLL_PCCL_ALLREDUCE,
    COLL_PCCL_ALLTOALL,
    COLL_PCCL_ALLTOALLV,
    COLL_PCCL_BARRIER,
    COLL_PCCL_BCAST,
    COLL_PCCL_GATHER,
    COLL_PCCL_REDUCE,
    COLL_PCCL_REDUCE_SCATTER,
    COLL_PCCL_REDUCE_SCATTER_BLOCK,
    COLL_PCCL_SCATTER,
    COLL_PCCL_NUM_KINDS
};

struct coll_pccl_collective {
    const char *name; /* as in MPI, lower case */
    enum pccl_collective planned_as;
    int tag;                /* of its messages: see execute.h */
    bool sizes_private;     /* only the two ends of a pair know how much they exchange: direct plans only */
    bool one_way;           /* some ranks only send: nothing stops them from running ahead of the others */
    void (*entry)(void);    /* the function to install, cast back by its place in the module */
    size_t function;        /* offset of its pointer in mca_coll_base_module_t */
    size_t active_function; /* offset of function and of module in mca_coll_base_comm_coll_t */
    size_t active_module;
};

extern const struct coll_pccl_collective coll_pccl_collectives[COLL_PCCL_NUM_KINDS];

/* One call as the application made it, arguments that the standard calls insignificant included. */
struct coll_pccl_call {
    enum coll_pccl_kind kind;
    const void *send;
    size_t send_count;      /* elements of a block; unused where send_counts is set */
    const int *send_counts; /* elements per block; v-calls */
    const int *send_displs; /* elements; NULL: blocks follow one another */
    struct ompi_datatype_t *send_type;
    void *receive;
    size_t receive_count;
    const int *receive_counts;
    const int *receive_displs;
    struct ompi_datatype_t *receive_type;
    struct ompi_op_t *op;
    int root;
    size_t block_bytes; /* what choosing the plan rests on, equal on all ranks: size of a (mean) block as demand.h
                           counts it */
    bool empty;         /* there is nothing to move, and every rank knows it */
};

/* entry.c: the functions installed in modules. */
int coll_pccl_allgather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                        int receive_count, struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm,
                        mca_coll_base_module_t *module);
int coll_pccl_allgatherv(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                         const int *receive_counts, const int *displs, struct ompi_datatype_t *receive_type,
                         struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_pccl_allreduce(const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                        struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_pccl_alltoall(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                       int receive_count, struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm,
                       mca_coll_base_module_t *module);
int coll_pccl_alltoallv(const void *send, const int *send_counts, const int *send_displs,
                        struct ompi_datatype_t *send_type, void *receive, const int *receive_counts,
                        const int *receive_displs, struct ompi_datatype_t *receive_type,
                        struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_pccl_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_pccl_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                    mca_coll_base_module_t *module);
int coll_pccl_gather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                     int receive_count, struct ompi_datatype_t *receive_type, int root,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_pccl_reduce(const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                     int root, struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_pccl_reduce_scatter(const void *send, void *receive, const int *counts, struct ompi_datatype_t *type,
                             struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_pccl_reduce_scatter_block(const void *send, void *receive, int count, struct ompi_datatype_t *type,
                                   struct ompi_op_t *op, struct ompi_communicator_t *comm,
                                   mca_coll_base_module_t *module);
int coll_pccl_scatter(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                      int receive_count, struct ompi_datatype_t *receive_type, int root,
                      struct ompi_communicator_t *comm, mca_coll_base_module_t *module);

#endif
