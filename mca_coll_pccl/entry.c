/* From the MPI functions to the common path: each entry says which buffers, sizes, operator and root its call has. */
#include "execute.h"

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
    struct coll_pccl_module *module = (struct coll_pccl_module *)base;
    if (call->empty) {
        return OMPI_SUCCESS;
    }
    struct coll_pccl_plan *plan;
    int status = coll_pccl_plan_find(module, comm, call, &plan);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    struct coll_pccl_execution *execution;
    status = coll_pccl_execution_acquire(plan, comm, &execution);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    execution->tag = coll_pccl_collectives[call->kind].tag;
    execution->send_mode = send_mode(module->group, call->kind);
    status = coll_pccl_bind(execution, call);
    if (status == OMPI_SUCCESS) {
        coll_pccl_execution_start(execution);
        while (!coll_pccl_execution_progress(execution)) {
            opal_progress();
        }
    }
    return coll_pccl_execution_finish(execution, status);
}

/* What the previous component offers for `name`, called with the arguments in parentheses and its module. */
#define PREVIOUS(name, ...)                                                                    \
    (((struct coll_pccl_module *)module)->previous.coll_##name(                                \
        __VA_ARGS__, comm, ((struct coll_pccl_module *)module)->previous.coll_##name##_module))

int coll_pccl_allgather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                        int receive_count, struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm,
                        mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_ALLGATHER,
        .send = send, .send_count = (size_t)send_count, .send_type = send_type,
        .receive = receive, .receive_count = (size_t)receive_count, .receive_type = receive_type,
    };
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
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_ALLGATHERV,
        .send = send, .send_count = (size_t)send_count, .send_type = send_type,
        .receive = receive, .receive_counts = receive_counts, .receive_displs = displs, .receive_type = receive_type,
    };
    set_mean(&call, receive_counts, comm);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : PREVIOUS(allgatherv, send, send_count, send_type, receive, receive_counts, displs, receive_type);
}

int coll_pccl_allreduce(const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                        struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_ALLREDUCE,
        .send = send, .send_count = (size_t)count, .send_type = type,
        .receive = receive, .receive_count = (size_t)count, .receive_type = type,
        .op = op,
    };
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(allreduce, send, receive, count, type, op);
}

int coll_pccl_alltoall(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                       int receive_count, struct ompi_datatype_t *receive_type, struct ompi_communicator_t *comm,
                       mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_ALLTOALL,
        .send = send, .send_count = (size_t)send_count, .send_type = send_type,
        .receive = receive, .receive_count = (size_t)receive_count, .receive_type = receive_type,
    };
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
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_ALLTOALLV,
        .send = send, .send_counts = send_counts, .send_displs = send_displs, .send_type = send_type,
        .receive = receive, .receive_counts = receive_counts, .receive_displs = receive_displs,
        .receive_type = receive_type,
    };
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED
               ? status
               : PREVIOUS(alltoallv, send, send_counts, send_displs, send_type, receive, receive_counts, receive_displs,
                          receive_type);
}

int coll_pccl_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {.kind = COLL_PCCL_BARRIER};
    int status = serve(&call, comm, module);
    struct coll_pccl_module *own = (struct coll_pccl_module *)module;
    return status != COLL_PCCL_DECLINED ? status : own->previous.coll_barrier(comm, own->previous.coll_barrier_module);
}

int coll_pccl_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                    mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_BCAST,
        .receive = buffer, .receive_count = (size_t)count, .receive_type = type,
        .root = root,
    };
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(bcast, buffer, count, type, root);
}

int coll_pccl_gather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                     int receive_count, struct ompi_datatype_t *receive_type, int root,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_GATHER,
        .send = send, .send_count = (size_t)send_count, .send_type = send_type,
        .receive = receive, .receive_count = (size_t)receive_count, .receive_type = receive_type,
        .root = root,
    };
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
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_REDUCE,
        .send = send, .send_count = (size_t)count, .send_type = type,
        .receive = receive, .receive_count = (size_t)count, .receive_type = type,
        .op = op,
        .root = root,
    };
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(reduce, send, receive, count, type, op, root);
}

int coll_pccl_reduce_scatter(const void *send, void *receive, const int *counts, struct ompi_datatype_t *type,
                             struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_REDUCE_SCATTER,
        .send = send, .send_counts = counts, .send_type = type,
        .receive = receive, .receive_count = (size_t)counts[ompi_comm_rank(comm)], .receive_type = type,
        .op = op,
    };
    set_mean(&call, counts, comm);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(reduce_scatter, send, receive, counts, type, op);
}

int coll_pccl_reduce_scatter_block(const void *send, void *receive, int count, struct ompi_datatype_t *type,
                                   struct ompi_op_t *op, struct ompi_communicator_t *comm,
                                   mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_REDUCE_SCATTER_BLOCK,
        .send = send, .send_count = (size_t)count, .send_type = type,
        .receive = receive, .receive_count = (size_t)count, .receive_type = type,
        .op = op,
    };
    set_size(&call, call.receive_count, type);
    int status = serve(&call, comm, module);
    return status != COLL_PCCL_DECLINED ? status : PREVIOUS(reduce_scatter_block, send, receive, count, type, op);
}

int coll_pccl_scatter(const void *send, int send_count, struct ompi_datatype_t *send_type, void *receive,
                      int receive_count, struct ompi_datatype_t *receive_type, int root,
                      struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    struct coll_pccl_call call = {
        .kind = COLL_PCCL_SCATTER,
        .send = send, .send_count = (size_t)send_count, .send_type = send_type,
        .receive = receive, .receive_count = (size_t)receive_count, .receive_type = receive_type,
        .root = root,
    };
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
