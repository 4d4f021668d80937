/* The collectives that pccl serves: one row each, with a function for each form of it. */
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
    COLL_PCCL_ALLTOALLW,
    COLL_PCCL_BARRIER,
    COLL_PCCL_BCAST,
    COLL_PCCL_EXSCAN,
    COLL_PCCL_GATHER,
    COLL_PCCL_GATHERV,
    COLL_PCCL_REDUCE,
    COLL_PCCL_REDUCE_SCATTER,
    COLL_PCCL_REDUCE_SCATTER_BLOCK,
    COLL_PCCL_SCAN,
    COLL_PCCL_SCATTER,
    COLL_PCCL_SCATTERV,
    COLL_PCCL_NEIGHBOR_ALLGATHER, /* from here on: among neighbours */
    COLL_PCCL_NEIGHBOR_ALLGATHERV,
    COLL_PCCL_NEIGHBOR_ALLTOALL,
    COLL_PCCL_NEIGHBOR_ALLTOALLV,
    COLL_PCCL_NEIGHBOR_ALLTOALLW,
    COLL_PCCL_NUM_KINDS
};

/* The collectives among neighbours, a bit per enum coll_pccl_kind. */
#define COLL_PCCL_NEIGHBOR_KINDS \
    (((UINT32_C(1) << COLL_PCCL_NUM_KINDS) - 1) & ~((UINT32_C(1) << COLL_PCCL_NEIGHBOR_ALLGATHER) - 1))

static inline bool coll_pccl_is_among_neighbors(enum coll_pccl_kind kind)
{
    return kind >= COLL_PCCL_NEIGHBOR_ALLGATHER;
}

/* Every neighbour gets the same block. */
static inline bool coll_pccl_has_one_block(enum coll_pccl_kind kind)
{
    return kind == COLL_PCCL_NEIGHBOR_ALLGATHER || kind == COLL_PCCL_NEIGHBOR_ALLGATHERV;
}

enum coll_pccl_form {
    COLL_PCCL_BLOCKING,
    COLL_PCCL_NONBLOCKING,
    COLL_PCCL_PERSISTENT,
    COLL_PCCL_NUM_FORMS
};

/* A function of MPI that pccl takes over: what is installed, and where Open MPI keeps such a function. */
struct coll_pccl_function {
    const char *name;       /* as in MPI, lower case */
    void (*entry)(void);    /* ours, cast back by its place in the module */
    size_t place;           /* offset of its pointer in mca_coll_base_module_t */
    size_t active_function; /* offset of function and of module in mca_coll_base_comm_coll_t */
    size_t active_module;
};

struct coll_pccl_collective {
    const char *name; /* as in MPI, lower case; names all forms in coll_pccl_collectives */
    enum pccl_collective planned_as;
    int tag;            /* of the messages of a blocking call: see execute.h */
    bool sizes_private; /* only the two ends of a pair know how much they exchange: direct plans only */
    bool one_way;       /* some ranks only send: nothing stops them from running ahead of the others */
    struct coll_pccl_function functions[COLL_PCCL_NUM_FORMS];
};

/* entry.c */
extern const struct coll_pccl_collective coll_pccl_collectives[COLL_PCCL_NUM_KINDS];

/* One call as the application made it, arguments that the standard calls insignificant included. */
struct coll_pccl_call {
    enum coll_pccl_kind kind;
    const void *send;
    size_t send_count;      /* elements of a block; unused where send_counts is set */
    const int *send_counts; /* elements per block; v-calls */
    const int *send_displs; /* elements, with send_types bytes; NULL: blocks follow one another */
    struct ompi_datatype_t *send_type;
    const MPI_Aint *send_places;               /* instead of send_displs: bytes */
    struct ompi_datatype_t *const *send_types; /* of each block, w-calls; send_type is then not set */
    void *receive;
    size_t receive_count;
    const int *receive_counts;
    const int *receive_displs;
    struct ompi_datatype_t *receive_type;
    const MPI_Aint *receive_places;
    struct ompi_datatype_t *const *receive_types;
    struct ompi_op_t *op;
    int root;
    size_t block_bytes; /* what choosing the plan rests on, equal on all ranks: size of a (mean) block as demand.h
                           counts it */
    bool empty;         /* there is nothing to move, and every rank knows it */
    bool frugal;        /* it is to be served by the frugal plan; set by select.c, the same on all ranks */
};

struct coll_pccl_module;
struct coll_pccl_trial;

/* serve.c: the common path of the functions of each form. COLL_PCCL_DECLINED: the previous component has to serve the
 * call, on all ranks; else how it ended. *trial: NULL, or the call is measured and coll_pccl_select_end must follow. */
int coll_pccl_serve(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                    struct coll_pccl_module *module, struct coll_pccl_trial **trial);
/* *request is complete, or completes in the course of opal_progress. */
int coll_pccl_serve_nonblocking(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                                struct coll_pccl_module *module, ompi_request_t **request);
/* *request is inactive. */
int coll_pccl_serve_persistent(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                               struct coll_pccl_module *module, ompi_request_t **request);

/* request.c: makes a request that the previous component has given out for a call hold what the application may free
 * meanwhile. Open MPI crashes if that is the communicator or, of a persistent request, a datatype or operator. */
void coll_pccl_request_guard(ompi_request_t *request, const struct coll_pccl_call *call,
                             struct ompi_communicator_t *comm);

#endif
