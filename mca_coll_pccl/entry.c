/* From the MPI functions to the common path: each entry says which buffers, sizes, operator and root its call has. */
#include "execute.h"

#define OWN(module) ((struct coll_pccl_module *)(module))

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
        .receive = receive,
        .receive_count = (size_t)receive_count,
        .receive_counts = NULL,
        .receive_displs = NULL,
        .receive_type = receive_type,
        .op = op,
        .root = root,
        .block_bytes = 0,
        .empty = false,
    };
}

static size_t bytes_of(size_t count, const struct ompi_datatype_t *type)
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

static void set_size(struct coll_pccl_call *call, size_t count, const struct ompi_datatype_t *type)
{
    call->block_bytes = bytes_of(count, type);
    call->empty = call->block_bytes == 0;
}

/* Now and then a call sends synchronously; which calls need not be the same on all ranks. */
static mca_pml_base_send_mode_t send_mode(struct coll_pccl_group *group, enum coll_pccl_kind kind)
{
    if (coll_pccl_collectives[kind].one_way && ++group->calls == COLL_PCCL_FLOW_CALLS) {
        group->calls = 0;
        return MCA_PML_BASE_SEND_SYNCHRONOUS;
    }
    return MCA_PML_BASE_SEND_STANDARD;
}

/* The common path. COLL_PCCL_DECLINED: the previous component has to serve the call, on all ranks. */
static int serve(const struct coll_pccl_call *call, struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    struct coll_pccl_module *module = OWN(base);
    if (call->empty) {
        return OMPI_SUCCESS;
    }
    struct coll_pccl_plan *plan;
    struct coll_pccl_execution *execution;
    int status = coll_pccl_plan_find(module, comm, call, &plan, &execution);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    execution = coll_pccl_execution_acquire(plan, execution, comm);
    if (!execution) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    __atomic_store_n(&coll_pccl_served_calls, coll_pccl_served_calls + 1, __ATOMIC_RELAXED);
    execution->tag = coll_pccl_collectives[call->kind].tag;
    execution->send_mode = send_mode(module->group, call->kind);
    status = coll_pccl_bind(execution, call);
    if (status == OMPI_SUCCESS) {
        coll_pccl_execution_run(execution);
    }
    return coll_pccl_execution_finish(execution, status);
}

/* Calls what the previous component offers for `name`. */
#define PREVIOUS(name, ...) \
    OWN(module)->previous.coll_##name(__VA_ARGS__, comm, OWN(module)->previous.coll_##name##_module)

int coll_pccl_allgather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                        int receive_count, struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm,
                        mca_coll_base_module_t *module)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_ALLGATHER, send, send_count, send_type, receive, receive_count, receive_type, NULL, 0);
    set_size(&call, call.receive_count, receive_type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : PREVIOUS(allgather, send, send_count, send_type, receive, receive_count, receive_type);
}

int coll_pccl_allgatherv(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                         const int *receive_counts, const int *displs, struct ompi_datatype_t *receive_type,
                         struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_ALLGATHERV, send, send_count, send_type, receive, 0, receive_type, NULL, 0);
    call.receive_counts = receive_counts;
    call.receive_displs = displs;
    set_mean(&call, receive_counts, comm);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : PREVIOUS(allgatherv, send, send_count, send_type, receive, receive_counts, displs, receive_type);
}

int coll_pccl_allreduce(const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                        struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = new_call(COLL_PCCL_ALLREDUCE, send, count, type, receive, count, type, op, 0);
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(allreduce, send, receive, count, type, op);
}

int coll_pccl_alltoall(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                       int receive_count, struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm,
                       mca_coll_base_module_t *module)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_ALLTOALL, send, send_count, send_type, receive, receive_count, receive_type, NULL, 0);
    set_size(&call, call.receive_count, receive_type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : PREVIOUS(alltoall, send, send_count, send_type, receive, receive_count, receive_type);
}

int coll_pccl_alltoallv(const void *send, const int *send_counts, const int *send_displs,
                        struct ompi_datatype_t *send_type, void *receive, const int *receive_counts,
                        const int *receive_displs, struct ompi_datatype_t *receive_type,
                        struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = new_call(COLL_PCCL_ALLTOALLV, send, 0, send_type, receive, 0, receive_type, NULL, 0);
    call.send_counts = send_counts;
    call.send_displs = send_displs;
    call.receive_counts = receive_counts;
    call.receive_displs = receive_displs;
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status
                                        : PREVIOUS(alltoallv, send, send_counts, send_displs, send_type, receive,
                                                   receive_counts, receive_displs, receive_type);
}

int coll_pccl_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = new_call(COLL_PCCL_BARRIER, NULL, 0, NULL, NULL, 0, NULL, NULL, 0);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : OWN(module)->previous.coll_barrier(comm, OWN(module)->previous.coll_barrier_module);
}

int coll_pccl_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                    mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = new_call(COLL_PCCL_BCAST, NULL, 0, NULL, buffer, count, type, NULL, root);
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(bcast, buffer, count, type, root);
}

int coll_pccl_gather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                     int receive_count, struct ompi_datatype_t *receive_type, int root,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_GATHER, send, send_count, send_type, receive, receive_count, receive_type, NULL, root);
    if (root == ompi_comm_rank(comm)) {
        set_size(&call, call.receive_count, receive_type);
    } else {
        set_size(&call, call.send_count, send_type);
    }
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : PREVIOUS(gather, send, send_count, send_type, receive, receive_count, receive_type, root);
}

int coll_pccl_reduce(const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                     int root, struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = new_call(COLL_PCCL_REDUCE, send, count, type, receive, count, type, op, root);
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(reduce, send, receive, count, type, op, root);
}

int coll_pccl_reduce_scatter(const void *send, void *receive, const int *counts, struct ompi_datatype_t *type,
                             struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_REDUCE_SCATTER, send, 0, type, receive, counts[ompi_comm_rank(comm)], type, op, 0);
    call.send_counts = counts;
    set_mean(&call, counts, comm);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(reduce_scatter, send, receive, counts, type, op);
}

int coll_pccl_reduce_scatter_block(const void *send, void *receive, int count, struct ompi_datatype_t *type,
                                   struct ompi_op_t *op, struct ompi_communicator_t *comm,
                                   mca_coll_base_module_t *module)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_REDUCE_SCATTER_BLOCK, send, count, type, receive, count, type, op, 0);
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(reduce_scatter_block, send, receive, count, type, op);
}

int coll_pccl_scatter(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                      int receive_count, struct ompi_datatype_t *receive_type, int root,
                      struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call =
        new_call(COLL_PCCL_SCATTER, send, send_count, send_type, receive, receive_count, receive_type, NULL, root);
    if (root == ompi_comm_rank(comm)) {
        set_size(&call, call.send_count, send_type);
    } else {
        set_size(&call, call.receive_count, receive_type);
    }
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : PREVIOUS(scatter, send, send_count, send_type, receive, receive_count, receive_type, root);
}
