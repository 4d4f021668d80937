/* The functions of MPI that pccl takes over. Each collective has one function that describes a call: which buffers,
 * sizes, operator and root it has. ENTRIES makes of it what Open MPI calls, and the table at the end says where Open
 * MPI keeps it: a new collective needs a description, an ENTRIES line and a row. */
#include "select.h"

/* --- signatures that several collectives share ---------------------------------------------------------------- */

/* Equal blocks on both sides. */
#define BLOCKS_PARAMETERS                                                                                  \
    const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive, int receive_count, \
        struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm
#define BLOCKS_ARGUMENTS send, send_count, send_type, receive, receive_count, receive_type, comm

/* The same with a root. */
#define ROOTED_BLOCKS_PARAMETERS                                                                           \
    const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive, int receive_count, \
        struct ompi_datatype_t *receive_type, int root, struct ompi_communicator_t *comm
#define ROOTED_BLOCKS_ARGUMENTS send, send_count, send_type, receive, receive_count, receive_type, root, comm

/* One block is sent, blocks of their own sizes are received. */
#define TO_VECTOR_PARAMETERS                                                                                       \
    const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive, const int *receive_counts, \
        const int *receive_displs, struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm
#define TO_VECTOR_ARGUMENTS send, send_count, send_type, receive, receive_counts, receive_displs, receive_type, comm

/* Blocks of their own sizes on both sides. */
#define VECTORS_PARAMETERS                                                                               \
    const void *send, const int *send_counts, const int *send_displs, struct ompi_datatype_t *send_type, \
        void *receive, const int *receive_counts, const int *receive_displs,                             \
        struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm
#define VECTORS_ARGUMENTS \
    send, send_counts, send_displs, send_type, receive, receive_counts, receive_displs, receive_type, comm

/* One block is received, blocks of their own sizes are sent by the root; and the other way round. */
#define FROM_ROOT_VECTOR_PARAMETERS                                                                      \
    const void *send, const int *send_counts, const int *send_displs, struct ompi_datatype_t *send_type, \
        void *receive, int receive_count, struct ompi_datatype_t *receive_type, int root,                \
        struct ompi_communicator_t *comm
#define FROM_ROOT_VECTOR_ARGUMENTS \
    send, send_counts, send_displs, send_type, receive, receive_count, receive_type, root, comm

#define TO_ROOT_VECTOR_PARAMETERS                                                                                  \
    const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive, const int *receive_counts, \
        const int *receive_displs, struct ompi_datatype_t *receive_type, int root, struct ompi_communicator_t *comm
#define TO_ROOT_VECTOR_ARGUMENTS \
    send, send_count, send_type, receive, receive_counts, receive_displs, receive_type, root, comm

/* Blocks of their own sizes and datatypes on both sides, displacements in bytes. */
#define TYPED_VECTORS_PARAMETERS                                                           \
    const void *send, const int *send_counts, const int *send_displs,                      \
        struct ompi_datatype_t *const *send_types, void *receive, const int *receive_counts, \
        const int *receive_displs, struct ompi_datatype_t *const *receive_types, struct ompi_communicator_t *comm
#define TYPED_VECTORS_ARGUMENTS \
    send, send_counts, send_displs, send_types, receive, receive_counts, receive_displs, receive_types, comm

/* The same with displacements as addresses have them. */
#define PLACED_VECTORS_PARAMETERS                                                            \
    const void *send, const int *send_counts, const MPI_Aint *send_places,                   \
        struct ompi_datatype_t *const *send_types, void *receive, const int *receive_counts, \
        const MPI_Aint *receive_places, struct ompi_datatype_t *const *receive_types, struct ompi_communicator_t *comm
#define PLACED_VECTORS_ARGUMENTS \
    send, send_counts, send_places, send_types, receive, receive_counts, receive_places, receive_types, comm

#define BARRIER_PARAMETERS struct ompi_communicator_t *comm
#define BARRIER_ARGUMENTS comm

#define BCAST_PARAMETERS \
    void *buffer, int count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm
#define BCAST_ARGUMENTS buffer, count, type, root, comm

/* Vectors of one length that are reduced. */
#define REDUCTION_PARAMETERS                                                                        \
    const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op, \
        struct ompi_communicator_t *comm
#define REDUCTION_ARGUMENTS send, receive, count, type, op, comm

#define ROOTED_REDUCTION_PARAMETERS                                                                           \
    const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op, int root, \
        struct ompi_communicator_t *comm
#define ROOTED_REDUCTION_ARGUMENTS send, receive, count, type, op, root, comm

#define VECTOR_REDUCTION_PARAMETERS                                                                         \
    const void *send, void *receive, const int *counts, struct ompi_datatype_t *type, struct ompi_op_t *op, \
        struct ompi_communicator_t *comm
#define VECTOR_REDUCTION_ARGUMENTS send, receive, counts, type, op, comm

/* --- descriptions ---------------------------------------------------------------------------------------------- */

/* Every field is set by name: it is faster than clearing the structure first. */
static inline struct coll_pccl_call new_call(enum coll_pccl_kind kind, const void *send, int send_count,
                                             struct ompi_datatype_t *send_type, void *receive, int receive_count,
                                             struct ompi_datatype_t *receive_type, struct ompi_op_t *op, int root)
{
    return (struct coll_pccl_call){
        .kind = kind,
        .send = send,
        .send_count = (size_t)send_count,
        .send_counts = NULL,
        .send_displs = NULL,
        .send_type = send_type,
        .send_places = NULL,
        .send_types = NULL,
        .receive = receive,
        .receive_count = (size_t)receive_count,
        .receive_counts = NULL,
        .receive_displs = NULL,
        .receive_type = receive_type,
        .receive_places = NULL,
        .receive_types = NULL,
        .op = op,
        .root = root,
        .block_bytes = 0,
        .empty = false,
    };
}

static inline size_t bytes_of(size_t count, const struct ompi_datatype_t *type)
{
    return count * type->super.size;
}

/* Sum of the counts of all ranks, and their mean in bytes as the size that the plan is chosen by. */
static void set_mean(struct coll_pccl_call *call, const int *counts, struct ompi_communicator_t *comm)
{
    size_t num_ranks = (size_t)ompi_comm_size(comm), total = 0;
    for (size_t i = 0; i < num_ranks; i++) {
        total += (size_t)counts[i];
    }
    total = bytes_of(total, call->receive_type);
    call->block_bytes = total / num_ranks;
    call->empty = total == 0;
}

static inline void set_size(struct coll_pccl_call *call, size_t count, const struct ompi_datatype_t *type)
{
    call->block_bytes = bytes_of(count, type);
    call->empty = call->block_bytes == 0;
}

/* A block of the receive buffer on all ranks. */
static inline struct coll_pccl_call describe_blocks(enum coll_pccl_kind kind, const void *send, int send_count,
                                                    struct ompi_datatype_t *send_type, void *receive,
                                                    int receive_count, struct ompi_datatype_t *receive_type)
{
    struct coll_pccl_call call =
        new_call(kind, send, send_count, send_type, receive, receive_count, receive_type, NULL, 0);
    set_size(&call, call.receive_count, receive_type);
    return call;
}

static inline struct coll_pccl_call describe_reduction(enum coll_pccl_kind kind, const void *send, void *receive,
                                                       int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                                                       int root)
{
    struct coll_pccl_call call = new_call(kind, send, count, type, receive, count, type, op, root);
    set_size(&call, call.receive_count, type);
    return call;
}

static inline struct coll_pccl_call describe_allgather(BLOCKS_PARAMETERS)
{
    (void)comm;
    return describe_blocks(COLL_PCCL_ALLGATHER, send, send_count, send_type, receive, receive_count, receive_type);
}

static inline struct coll_pccl_call describe_allgatherv(TO_VECTOR_PARAMETERS)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_ALLGATHERV, send, send_count, send_type, receive, 0, receive_type, NULL, 0);
    call.receive_counts = receive_counts;
    call.receive_displs = receive_displs;
    set_mean(&call, receive_counts, comm);
    return call;
}

static inline struct coll_pccl_call describe_allreduce(REDUCTION_PARAMETERS)
{
    (void)comm;
    return describe_reduction(COLL_PCCL_ALLREDUCE, send, receive, count, type, op, 0);
}

static inline struct coll_pccl_call describe_alltoall(BLOCKS_PARAMETERS)
{
    (void)comm;
    return describe_blocks(COLL_PCCL_ALLTOALL, send, send_count, send_type, receive, receive_count, receive_type);
}

static inline struct coll_pccl_call describe_alltoallv(VECTORS_PARAMETERS)
{
    (void)comm;
    struct coll_pccl_call call = new_call(COLL_PCCL_ALLTOALLV, send, 0, send_type, receive, 0, receive_type, NULL, 0);
    call.send_counts = send_counts;
    call.send_displs = send_displs;
    call.receive_counts = receive_counts;
    call.receive_displs = receive_displs;
    return call;
}

static inline struct coll_pccl_call describe_alltoallw(TYPED_VECTORS_PARAMETERS)
{
    struct coll_pccl_call call = describe_alltoallv(send, send_counts, send_displs, NULL, receive, receive_counts,
                                                    receive_displs, NULL, comm);
    call.kind = COLL_PCCL_ALLTOALLW;
    call.send_types = send_types;
    call.receive_types = receive_types;
    return call;
}

static inline struct coll_pccl_call describe_barrier(BARRIER_PARAMETERS)
{
    (void)comm;
    return new_call(COLL_PCCL_BARRIER, NULL, 0, NULL, NULL, 0, NULL, NULL, 0);
}

static inline struct coll_pccl_call describe_bcast(BCAST_PARAMETERS)
{
    (void)comm;
    struct coll_pccl_call call = new_call(COLL_PCCL_BCAST, NULL, 0, NULL, buffer, count, type, NULL, root);
    set_size(&call, call.receive_count, type);
    return call;
}

static inline struct coll_pccl_call describe_exscan(REDUCTION_PARAMETERS)
{
    (void)comm;
    return describe_reduction(COLL_PCCL_EXSCAN, send, receive, count, type, op, 0);
}

static inline struct coll_pccl_call describe_gather(ROOTED_BLOCKS_PARAMETERS)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_GATHER, send, send_count, send_type, receive, receive_count, receive_type, NULL, root);
    if (root == ompi_comm_rank(comm)) {
        set_size(&call, call.receive_count, receive_type);
    } else {
        set_size(&call, call.send_count, send_type);
    }
    return call;
}

/* Only the root knows all counts, and only its arguments that concern them may be looked at. */
static inline struct coll_pccl_call describe_gatherv(TO_ROOT_VECTOR_PARAMETERS)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_GATHERV, send, send_count, send_type, receive, 0, receive_type, NULL, root);
    if (root == ompi_comm_rank(comm)) {
        call.receive_counts = receive_counts;
        call.receive_displs = receive_displs;
    }
    return call;
}

static inline struct coll_pccl_call describe_reduce(ROOTED_REDUCTION_PARAMETERS)
{
    (void)comm;
    return describe_reduction(COLL_PCCL_REDUCE, send, receive, count, type, op, root);
}

static inline struct coll_pccl_call describe_reduce_scatter(VECTOR_REDUCTION_PARAMETERS)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_REDUCE_SCATTER, send, 0, type, receive, counts[ompi_comm_rank(comm)], type, op, 0);
    call.send_counts = counts;
    set_mean(&call, counts, comm);
    return call;
}

static inline struct coll_pccl_call describe_reduce_scatter_block(REDUCTION_PARAMETERS)
{
    (void)comm;
    return describe_reduction(COLL_PCCL_REDUCE_SCATTER_BLOCK, send, receive, count, type, op, 0);
}

static inline struct coll_pccl_call describe_scan(REDUCTION_PARAMETERS)
{
    (void)comm;
    return describe_reduction(COLL_PCCL_SCAN, send, receive, count, type, op, 0);
}

static inline struct coll_pccl_call describe_scatter(ROOTED_BLOCKS_PARAMETERS)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_SCATTER, send, send_count, send_type, receive, receive_count, receive_type, NULL, root);
    if (root == ompi_comm_rank(comm)) {
        set_size(&call, call.send_count, send_type);
    } else {
        set_size(&call, call.receive_count, receive_type);
    }
    return call;
}

static inline struct coll_pccl_call describe_scatterv(FROM_ROOT_VECTOR_PARAMETERS)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_SCATTERV, send, 0, send_type, receive, receive_count, receive_type, NULL, root);
    if (root == ompi_comm_rank(comm)) {
        call.send_counts = send_counts;
        call.send_displs = send_displs;
    }
    return call;
}

/* Among neighbours only the two ends of an edge need to know its size, and a rank may have no edge at all. */
static inline struct coll_pccl_call describe_neighbor_allgather(BLOCKS_PARAMETERS)
{
    (void)comm;
    return new_call(COLL_PCCL_NEIGHBOR_ALLGATHER, send, send_count, send_type, receive, receive_count, receive_type,
                    NULL, 0);
}

static inline struct coll_pccl_call describe_neighbor_allgatherv(TO_VECTOR_PARAMETERS)
{
    (void)comm;
    struct coll_pccl_call call =
        new_call(COLL_PCCL_NEIGHBOR_ALLGATHERV, send, send_count, send_type, receive, 0, receive_type, NULL, 0);
    call.receive_counts = receive_counts;
    call.receive_displs = receive_displs;
    return call;
}

static inline struct coll_pccl_call describe_neighbor_alltoall(BLOCKS_PARAMETERS)
{
    (void)comm;
    return new_call(COLL_PCCL_NEIGHBOR_ALLTOALL, send, send_count, send_type, receive, receive_count, receive_type,
                    NULL, 0);
}

static inline struct coll_pccl_call describe_neighbor_alltoallv(VECTORS_PARAMETERS)
{
    struct coll_pccl_call call = describe_alltoallv(VECTORS_ARGUMENTS);
    call.kind = COLL_PCCL_NEIGHBOR_ALLTOALLV;
    return call;
}

static inline struct coll_pccl_call describe_neighbor_alltoallw(PLACED_VECTORS_PARAMETERS)
{
    struct coll_pccl_call call =
        describe_alltoallw(send, send_counts, NULL, send_types, receive, receive_counts, NULL, receive_types, comm);
    call.kind = COLL_PCCL_NEIGHBOR_ALLTOALLW;
    call.send_places = send_places;
    call.receive_places = receive_places;
    return call;
}

/* --- entries --------------------------------------------------------------------------------------------------- */

#define OWN(base) ((struct coll_pccl_module *)(base))

/* Calls the function of the component that served NAME before. */
#define PREVIOUS(base, NAME, ...) \
    OWN(base)->previous.coll_##NAME(__VA_ARGS__, OWN(base)->previous.coll_##NAME##_module)

static int guard(int status, ompi_request_t **request, const struct coll_pccl_call *call,
                 struct ompi_communicator_t *comm)
{
    if (status == OMPI_SUCCESS) {
        coll_pccl_request_guard(*request, call, comm);
    }
    return status;
}

/* What Open MPI calls for the three forms of the collective NAME, whose signature is SIGNATURE. What pccl declines goes
 * to the component that served it before; a blocking call that has been left to it for good takes the shortest way,
 * without a description in memory. */
#define ENTRIES(NAME, SIGNATURE)                                                                                     \
    static __attribute__((noinline)) int choose_##NAME(SIGNATURE##_PARAMETERS, mca_coll_base_module_t *base)         \
    {                                                                                                                \
        struct coll_pccl_call call = describe_##NAME(SIGNATURE##_ARGUMENTS);                                         \
        struct coll_pccl_trial *trial;                                                                               \
        int status = coll_pccl_serve(&call, comm, OWN(base), &trial);                                                \
        status = status == COLL_PCCL_DECLINED ? PREVIOUS(base, NAME, SIGNATURE##_ARGUMENTS) : status;                \
        return trial ? coll_pccl_select_end(OWN(base), comm, trial, status) : status;                                \
    }                                                                                                                \
    static int coll_pccl_##NAME(SIGNATURE##_PARAMETERS, mca_coll_base_module_t *base)                                \
    {                                                                                                                \
        const struct coll_pccl_call call = describe_##NAME(SIGNATURE##_ARGUMENTS);                                   \
        return coll_pccl_select_skips(OWN(base), &call) ? PREVIOUS(base, NAME, SIGNATURE##_ARGUMENTS)                \
                                                        : choose_##NAME(SIGNATURE##_ARGUMENTS, base);                \
    }                                                                                                                \
    static int coll_pccl_i##NAME(SIGNATURE##_PARAMETERS, ompi_request_t **request, mca_coll_base_module_t *base)     \
    {                                                                                                                \
        struct coll_pccl_call call = describe_##NAME(SIGNATURE##_ARGUMENTS);                                         \
        int status = coll_pccl_serve_nonblocking(&call, comm, OWN(base), request);                                   \
        return status != COLL_PCCL_DECLINED                                                                          \
                   ? status                                                                                          \
                   : guard(PREVIOUS(base, i##NAME, SIGNATURE##_ARGUMENTS, request), request, &call, comm);           \
    }                                                                                                                \
    static int coll_pccl_##NAME##_init(SIGNATURE##_PARAMETERS, struct ompi_info_t *info, ompi_request_t **request,   \
                                       mca_coll_base_module_t *base)                                                 \
    {                                                                                                                \
        struct coll_pccl_call call = describe_##NAME(SIGNATURE##_ARGUMENTS);                                         \
        int status = coll_pccl_serve_persistent(&call, comm, OWN(base), request);                                    \
        return status != COLL_PCCL_DECLINED                                                                          \
                   ? status                                                                                          \
                   : guard(PREVIOUS(base, NAME##_init, SIGNATURE##_ARGUMENTS, info, request), request, &call, comm); \
    }

ENTRIES(allgather, BLOCKS)
ENTRIES(allgatherv, TO_VECTOR)
ENTRIES(allreduce, REDUCTION)
ENTRIES(alltoall, BLOCKS)
ENTRIES(alltoallv, VECTORS)
ENTRIES(alltoallw, TYPED_VECTORS)
ENTRIES(barrier, BARRIER)
ENTRIES(bcast, BCAST)
ENTRIES(exscan, REDUCTION)
ENTRIES(gather, ROOTED_BLOCKS)
ENTRIES(gatherv, TO_ROOT_VECTOR)
ENTRIES(reduce, ROOTED_REDUCTION)
ENTRIES(reduce_scatter, VECTOR_REDUCTION)
ENTRIES(reduce_scatter_block, REDUCTION)
ENTRIES(scan, REDUCTION)
ENTRIES(scatter, ROOTED_BLOCKS)
ENTRIES(scatterv, FROM_ROOT_VECTOR)
ENTRIES(neighbor_allgather, BLOCKS)
ENTRIES(neighbor_allgatherv, TO_VECTOR)
ENTRIES(neighbor_alltoall, BLOCKS)
ENTRIES(neighbor_alltoallv, VECTORS)
ENTRIES(neighbor_alltoallw, PLACED_VECTORS)

/* --- the table ------------------------------------------------------------------------------------------------- */

/* What follows the prefix coll_ in Open MPI's structures is the name of the function. */
#define FUNCTION(NAME)                                                              \
    {                                                                               \
        .name = #NAME,                                                              \
        .entry = (void (*)(void))coll_pccl_##NAME,                                  \
        .place = offsetof(mca_coll_base_module_t, coll_##NAME),                     \
        .active_function = offsetof(mca_coll_base_comm_coll_t, coll_##NAME),        \
        .active_module = offsetof(mca_coll_base_comm_coll_t, coll_##NAME##_module), \
    }
#define ROW(NAME, planned_as, tag, sizes_private, one_way)               \
    {#NAME, planned_as, MCA_COLL_BASE_TAG_##tag, sizes_private, one_way, \
     {FUNCTION(NAME), FUNCTION(i##NAME), FUNCTION(NAME##_init)}}

const struct coll_pccl_collective coll_pccl_collectives[COLL_PCCL_NUM_KINDS] = {
    /* name, planned as, tag, sizes private, one way */
    [COLL_PCCL_ALLGATHER] = ROW(allgather, PCCL_ALLGATHER, ALLGATHER, false, false),
    [COLL_PCCL_ALLGATHERV] = ROW(allgatherv, PCCL_ALLGATHER, ALLGATHERV, false, true),
    [COLL_PCCL_ALLREDUCE] = ROW(allreduce, PCCL_ALLREDUCE, ALLREDUCE, false, false),
    [COLL_PCCL_ALLTOALL] = ROW(alltoall, PCCL_ALLTOALL, ALLTOALL, false, false),
    [COLL_PCCL_ALLTOALLV] = ROW(alltoallv, PCCL_ALLTOALL, ALLTOALLV, true, true),
    [COLL_PCCL_ALLTOALLW] = ROW(alltoallw, PCCL_ALLTOALL, ALLTOALLW, true, true),
    [COLL_PCCL_BARRIER] = ROW(barrier, PCCL_BARRIER, BARRIER, false, false),
    [COLL_PCCL_BCAST] = ROW(bcast, PCCL_BROADCAST, BCAST, false, true),
    [COLL_PCCL_EXSCAN] = ROW(exscan, PCCL_EXSCAN, EXSCAN, false, true),
    [COLL_PCCL_GATHER] = ROW(gather, PCCL_GATHER, GATHER, false, true),
    [COLL_PCCL_GATHERV] = ROW(gatherv, PCCL_GATHER, GATHERV, true, true),
    [COLL_PCCL_REDUCE] = ROW(reduce, PCCL_REDUCE, REDUCE, false, true),
    [COLL_PCCL_REDUCE_SCATTER] = ROW(reduce_scatter, PCCL_REDUCE_SCATTER, REDUCE_SCATTER, false, true),
    [COLL_PCCL_REDUCE_SCATTER_BLOCK] =
        ROW(reduce_scatter_block, PCCL_REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, false, false),
    [COLL_PCCL_SCAN] = ROW(scan, PCCL_SCAN, SCAN, false, true),
    [COLL_PCCL_SCATTER] = ROW(scatter, PCCL_SCATTER, SCATTER, false, true),
    [COLL_PCCL_SCATTERV] = ROW(scatterv, PCCL_SCATTER, SCATTERV, true, true),
    /* Open MPI's own tags for these do not fit the 24 bits of pml/ucx: those of their namesakes do as well. */
    [COLL_PCCL_NEIGHBOR_ALLGATHER] = ROW(neighbor_allgather, PCCL_CUSTOM, ALLGATHER, true, true),
    [COLL_PCCL_NEIGHBOR_ALLGATHERV] = ROW(neighbor_allgatherv, PCCL_CUSTOM, ALLGATHERV, true, true),
    [COLL_PCCL_NEIGHBOR_ALLTOALL] = ROW(neighbor_alltoall, PCCL_CUSTOM, ALLTOALL, true, true),
    [COLL_PCCL_NEIGHBOR_ALLTOALLV] = ROW(neighbor_alltoallv, PCCL_CUSTOM, ALLTOALLV, true, true),
    [COLL_PCCL_NEIGHBOR_ALLTOALLW] = ROW(neighbor_alltoallw, PCCL_CUSTOM, ALLTOALLW, true, true),
};
