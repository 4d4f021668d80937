/* The common path of all collectives: from a described call to its end. */
#include "execute.h"

/* Now and then a call sends synchronously; which calls need not be the same on all ranks. */
static mca_pml_base_send_mode_t send_mode(struct coll_pccl_group *group, enum coll_pccl_kind kind)
{
    if (coll_pccl_collectives[kind].one_way && ++group->calls == COLL_PCCL_FLOW_CALLS) {
        group->calls = 0;
        return MCA_PML_BASE_SEND_SYNCHRONOUS;
    }
    return MCA_PML_BASE_SEND_STANDARD;
}

int coll_pccl_serve(const struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                    struct coll_pccl_module *module)
{
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
    status = status == OMPI_SUCCESS ? coll_pccl_load(execution) : status;
    if (status == OMPI_SUCCESS) {
        coll_pccl_execution_run(execution);
    }
    return coll_pccl_execution_finish(execution, status);
}
