/* The common path of all collectives: from a described call to its end. */
#include "archive.h"
#include "check.h"
#include "request.h"
#include "select.h"

/* Now and then a call sends synchronously; which calls need not be the same on all ranks. Threads that start persistent
 * requests of one communicator at the same time may lose counts. */
static mca_pml_base_send_mode_t send_mode(struct coll_pccl_group *group, enum coll_pccl_kind kind)
{
    if (!coll_pccl_collectives[kind].one_way) {
        return MCA_PML_BASE_SEND_STANDARD;
    }
    uint32_t calls = __atomic_load_n(&group->calls, __ATOMIC_RELAXED) + 1;
    bool is_due = calls >= COLL_PCCL_FLOW_CALLS;
    __atomic_store_n(&group->calls, is_due ? 0 : calls, __ATOMIC_RELAXED);
    return is_due ? MCA_PML_BASE_SEND_SYNCHRONOUS : MCA_PML_BASE_SEND_STANDARD;
}

static inline int begin(struct coll_pccl_execution *execution, struct coll_pccl_module *module)
{
    unsigned long served = __atomic_load_n(&coll_pccl_served_calls, __ATOMIC_RELAXED);
    __atomic_store_n(&coll_pccl_served_calls, served + 1, __ATOMIC_RELAXED);
    execution->send_mode = send_mode(module->group, execution->bound.kind);
    return coll_pccl_load(execution);
}

int coll_pccl_begin(struct coll_pccl_execution *execution, struct coll_pccl_module *module)
{
    return begin(execution, module);
}

/* An execution of the plan bound to the call: `idle`, or a new one if that is NULL. */
static inline int tie(const struct coll_pccl_call *call, struct ompi_communicator_t *comm, int tag,
                      struct coll_pccl_plan *plan, struct coll_pccl_execution *idle, struct coll_pccl_execution **tied)
{
    struct coll_pccl_execution *execution = coll_pccl_execution_acquire(plan, idle, comm, tag);
    if (!execution) {
        return MPI_ERR_NO_MEM;
    }
    int status = coll_pccl_bind(execution, call);
    *tied = execution;
    return status == OMPI_SUCCESS ? OMPI_SUCCESS : coll_pccl_execution_finish(execution, status);
}

/* Runs a plan for a blocking call. */
static int run(const struct coll_pccl_call *call, struct ompi_communicator_t *comm, struct coll_pccl_module *module,
               struct coll_pccl_plan *plan, struct coll_pccl_execution *idle)
{
    struct coll_pccl_execution *execution;
    int status = tie(call, comm, coll_pccl_collectives[call->kind].tag, plan, idle, &execution);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    status = begin(execution, module);
    if (status == OMPI_SUCCESS) {
        coll_pccl_execution_run(execution);
    }
    return coll_pccl_execution_finish(execution, status);
}

/* Finds the plan of a call, which the ranks may have to agree upon, and runs it. */
static int find_and_run(const struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                        struct coll_pccl_module *module)
{
    struct coll_pccl_plan *plan;
    struct coll_pccl_execution *idle;
    int status = coll_pccl_archive_agree(module, comm, call);
    if (status == OMPI_SUCCESS) {
        status = coll_pccl_plan_find(module, comm, call, &plan, &idle);
    }
    return status == OMPI_SUCCESS ? run(call, comm, module, plan, idle) : status;
}

/* The plan of a blocking call for which all is decided by an earlier one, be it the frugal one, and an idle execution
 * of it; else NULL. What it rests on all ranks share, but for whether the plan is still in the cache, which does not
 * change the outcome. */
static struct coll_pccl_plan *recall(const struct coll_pccl_call *call, struct coll_pccl_module *module,
                                     struct coll_pccl_execution **idle)
{
    const struct coll_pccl_recent *recent = module->group ? &module->group->recent[call->kind] : NULL;
    if (!recent || !recent->settled || (recent->key & ~COLL_PCCL_FRUGAL_NAME) != coll_pccl_plan_name(call) ||
        coll_pccl_parameters.check || !coll_pccl_select_stays(module, call->kind)) {
        return NULL;
    }
    return coll_pccl_cache_recall(recent->place, recent->generation, idle);
}

/* With coll_pccl_check, whether all ranks make the same call. */
static int compare(const struct coll_pccl_call *call, struct ompi_communicator_t *comm, struct coll_pccl_module *module)
{
    if (!coll_pccl_parameters.check || coll_pccl_is_partly_heard(call->kind)) {
        return OMPI_SUCCESS;
    }
    module->conferring = true;
    int status = coll_pccl_check(call, comm, module);
    module->conferring = false;
    return status;
}

/* Before a call that is left to the component below: now and then the ranks meet. */
static int leave(const struct coll_pccl_call *call, struct ompi_communicator_t *comm, struct coll_pccl_module *module)
{
    struct coll_pccl_group *group = module->group;
    if (group->declined || !coll_pccl_may_flood(call->kind) || !coll_pccl_can_confer(module, comm)) {
        return COLL_PCCL_DECLINED;
    }
    if (group->left_calls < COLL_PCCL_LEFT_CALLS) {
        group->left_calls++;
        return COLL_PCCL_DECLINED;
    }
    uint64_t nothing = 0;
    group->left_calls = 0;
    int status = coll_pccl_confer(module, comm, &nothing, 1);
    return status == OMPI_SUCCESS ? COLL_PCCL_DECLINED : status;
}

/* A blocking call for which it is still to be decided who serves it. Not inline: the others need less of the stack. */
static __attribute__((noinline)) int decide(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                                            struct coll_pccl_module *module, struct coll_pccl_trial **trial)
{
    if (module->group) {
        module->group->recent[call->kind].settled = false;
    }
    int status = compare(call, comm, module);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    status = coll_pccl_select_begin(module, comm, call, trial);
    if (status == OMPI_SUCCESS) {
        status = find_and_run(call, comm, module);
        module->group->recent[call->kind].settled = status == OMPI_SUCCESS && !*trial;
        if (status == COLL_PCCL_DECLINED && *trial) {
            coll_pccl_select_end(module, comm, *trial, status);
            *trial = NULL;
        }
    }
    return status == COLL_PCCL_DECLINED && !*trial ? leave(call, comm, module) : status;
}

int coll_pccl_serve(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                    struct coll_pccl_module *module, struct coll_pccl_trial **trial)
{
    *trial = NULL;
    if (module->starved) {
        return MPI_ERR_NO_MEM;
    }
    if (module->conferring) {
        return COLL_PCCL_DECLINED;
    }
    if (call->empty) {
        return OMPI_SUCCESS; /* ranks with a count of 0 do not come here, those with a datatype of nothing do */
    }
    struct coll_pccl_execution *idle;
    struct coll_pccl_plan *plan = recall(call, module, &idle);
    if (plan) {
        coll_pccl_select_count(module, call->kind);
        return run(call, comm, module, plan, idle);
    }
    return decide(call, comm, module, trial);
}

/* A request for a call that is not empty, with all that it needs when the call has returned. */
static int make_request(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                        struct coll_pccl_module *module, int tag, bool persistent, struct coll_pccl_request **request)
{
    struct coll_pccl_plan *plan;
    struct coll_pccl_execution *execution;
    if (coll_pccl_select_leaves(module, call)) {
        return COLL_PCCL_DECLINED;
    }
    call->frugal = coll_pccl_select_is_frugal(module, call);
    int status = coll_pccl_plan_find(module, comm, call, &plan, &execution);
    if (status == OMPI_SUCCESS) {
        status = tie(call, comm, tag, plan, execution, &execution);
    }
    if (status != OMPI_SUCCESS) {
        return status;
    }
    *request = coll_pccl_request_create(comm, module, execution, persistent);
    return *request ? OMPI_SUCCESS : coll_pccl_execution_finish(execution, MPI_ERR_NO_MEM);
}

/* Tags between those that Open MPI counts through for non-blocking collectives, by which it sends on any communicator
 * itself: the edges of MPI_Dist_graph_create, which it takes from any source, and when it makes communicators. */
static bool is_taken(int tag)
{
    return tag == -50 || tag == -51 || tag == OMPI_COMM_ALLGATHER_TAG || tag == OMPI_COMM_BARRIER_TAG ||
           tag == OMPI_COMM_ALLREDUCE_TAG;
}

/* A call that is empty takes no tag: Open MPI does not let it through at ranks whose count is 0, while those whose
 * datatype is empty come here. */
static int reserve_tag(struct ompi_communicator_t *comm)
{
    int tag;
    do {
        tag = ompi_coll_base_nbc_reserve_tags(comm, 1);
    } while (is_taken(tag));
    return tag;
}

int coll_pccl_serve_nonblocking(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                                struct coll_pccl_module *module, ompi_request_t **given)
{
    *given = &ompi_request_empty;
    if (call->empty) {
        return OMPI_SUCCESS;
    }
    struct coll_pccl_request *request;
    int status = make_request(call, comm, module, reserve_tag(comm), false, &request);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    if (coll_pccl_request_start(request, &status)) {
        *given = &request->super.super;
    } else {
        coll_pccl_request_release(request);
    }
    return status;
}

int coll_pccl_serve_persistent(struct coll_pccl_call *call, struct ompi_communicator_t *comm,
                               struct coll_pccl_module *module, ompi_request_t **given)
{
    if (call->empty) {
        return ompi_request_persistent_noop_create(given);
    }
    struct coll_pccl_request *request;
    int status = make_request(call, comm, module, reserve_tag(comm), true, &request);
    if (status == OMPI_SUCCESS) {
        *given = &request->super.super;
    }
    return status;
}
