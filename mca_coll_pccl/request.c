/* Requests: their list, their progress, their life. */
#include "request.h"

#include <string.h>

static int start_persistent(size_t count, ompi_request_t **requests);
static int free_request(ompi_request_t **request);
static int cancel_request(ompi_request_t *request, int flag);
static int progress(void);

static void construct(coll_pccl_request_t *request)
{
    request->super.super.req_type = OMPI_REQUEST_COLL;
    request->super.super.req_start = start_persistent;
    request->super.super.req_cancel = cancel_request;
}

OBJ_CLASS_INSTANCE(coll_pccl_request_t, ompi_coll_base_nbc_request_t, construct, NULL);

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static struct {
    struct coll_pccl_request *first, *last; /* under way */
    uint32_t num_active;                    /* how many */
    struct coll_pccl_request *idle;
    bool registered;
} requests;

/* --- the list of those under way ------------------------------------------------------------------------------- */

static void append(struct coll_pccl_request *request)
{
    request->busy = false;
    request->next = NULL;
    request->previous = requests.last;
    if (requests.last) {
        requests.last->next = request;
    } else {
        requests.first = request;
    }
    requests.last = request;
    __atomic_store_n(&requests.num_active, requests.num_active + 1, __ATOMIC_RELAXED);
}

static void detach(struct coll_pccl_request *request)
{
    if (request->previous) {
        request->previous->next = request->next;
    } else {
        requests.first = request->next;
    }
    if (request->next) {
        request->next->previous = request->previous;
    } else {
        requests.last = request->previous;
    }
    __atomic_store_n(&requests.num_active, requests.num_active - 1, __ATOMIC_RELAXED);
}

static void activate(struct coll_pccl_request *request)
{
    OPAL_THREAD_LOCK(&lock);
    if (!requests.registered) {
        opal_progress_register(progress);
        requests.registered = true;
    }
    append(request);
    OPAL_THREAD_UNLOCK(&lock);
}

/* Lets go of a request, NULL at the beginning, and takes the next one that no other thread works on; NULL at the end or
 * if none is wanted. */
static struct coll_pccl_request *step(struct coll_pccl_request *from, bool is_over, bool wants_next)
{
    OPAL_THREAD_LOCK(&lock);
    struct coll_pccl_request *next = !wants_next ? NULL : from ? from->next : requests.first;
    while (next && next->busy) {
        next = next->next;
    }
    if (next) {
        next->busy = true;
    }
    if (from && is_over) {
        detach(from);
    } else if (from) {
        from->busy = false;
    }
    OPAL_THREAD_UNLOCK(&lock);
    return next;
}

/* --- a run ----------------------------------------------------------------------------------------------------- */

/* The end of a run that went well so far if status says so. A persistent request keeps its execution for the next run,
 * unless it failed: what an error leaves behind is not used again. */
static int conclude(struct coll_pccl_request *request, int status)
{
    struct coll_pccl_execution *execution = request->execution;
    if (request->super.super.req_persistent && status == OMPI_SUCCESS && execution->error == OMPI_SUCCESS) {
        return coll_pccl_unload(execution);
    }
    request->execution = NULL;
    return coll_pccl_execution_finish(execution, status);
}

bool coll_pccl_request_start(struct coll_pccl_request *request, int *status)
{
    if (!request->execution) {
        *status = OMPI_ERROR;
        return false;
    }
    *status = coll_pccl_begin(request->execution, request->module);
    if (*status == OMPI_SUCCESS) {
        coll_pccl_execution_start(request->execution);
        if (!coll_pccl_execution_progress(request->execution)) {
            activate(request);
            return true;
        }
    }
    *status = conclude(request, *status);
    return false;
}

/* Open MPI 4.1 notes down as many datatypes of an alltoallw as the communicator of the request has neighbours, if it
 * has a topology, which may be more than there are. They are kept anyway (keep.c), so a communicator of
 * one rank stands in: every call has a datatype. */
static struct ompi_communicator_t *noted_comm(const struct coll_pccl_request *request)
{
    bool is_miscounted = !request->super.super.req_persistent && OMPI_COMM_IS_TOPO(request->comm) &&
                         request->execution->bound.kind == COLL_PCCL_ALLTOALLW;
    return is_miscounted ? MPI_COMM_SELF : request->comm;
}

/* Lets the MPI layer give back what it has noted down, after which errors may go to the right communicator. */
static void restore_comm(struct coll_pccl_request *request)
{
    ompi_request_t *own = &request->super.super;
    ompi_request_complete_fn_t give_back = own->req_complete_cb;
    own->req_complete_cb = NULL;
    if (give_back) {
        give_back(own);
    }
    own->req_mpi_object.comm = request->comm;
}

static void complete(struct coll_pccl_request *request, int status)
{
    if (status != OMPI_SUCCESS) {
        restore_comm(request);
    }
    __atomic_store_n(&request->super.super.req_status.MPI_ERROR, status, __ATOMIC_RELEASE); /* see is_complete */
    ompi_request_complete(&request->super.super, true);
}

/* Works on a request; moves on to the next one before it reports that one complete, since it may be gone after that. */
static struct coll_pccl_request *advance(struct coll_pccl_request *request, bool wants_next, int *num_completed)
{
    bool is_over = coll_pccl_execution_progress(request->execution);
    int status = is_over ? conclude(request, OMPI_SUCCESS) : OMPI_SUCCESS;
    struct coll_pccl_request *next = step(request, is_over, wants_next);
    if (is_over) {
        (*num_completed)++;
        complete(request, status);
    }
    return next;
}

/* Called by opal_progress. Goes through the list once, however fast others add to it. */
static int progress(void)
{
    static _Thread_local bool is_inside;
    uint32_t rest = __atomic_load_n(&requests.num_active, __ATOMIC_RELAXED);
    if (rest == 0 || is_inside) {
        return 0;
    }
    is_inside = true;
    int num_completed = 0;
    struct coll_pccl_request *request = step(NULL, false, true);
    while (request) {
        request = advance(request, --rest > 0, &num_completed);
    }
    is_inside = false;
    return num_completed;
}

/* --- life ------------------------------------------------------------------------------------------------------ */

static struct coll_pccl_request *take_idle(void)
{
    OPAL_THREAD_LOCK(&lock);
    struct coll_pccl_request *request = requests.idle;
    if (request) {
        requests.idle = request->next;
    }
    OPAL_THREAD_UNLOCK(&lock);
    return request ? request : OBJ_NEW(coll_pccl_request_t);
}

static void put_idle(struct coll_pccl_request *request)
{
    if (request) {
        OPAL_THREAD_LOCK(&lock);
        request->next = requests.idle;
        requests.idle = request;
        OPAL_THREAD_UNLOCK(&lock);
    }
}

struct coll_pccl_request *coll_pccl_request_create(struct ompi_communicator_t *comm, struct coll_pccl_module *module,
                                                   struct coll_pccl_execution *execution, bool persistent)
{
    struct coll_pccl_request *request = take_idle();
    if (!request || coll_pccl_keep(execution) != OMPI_SUCCESS) {
        put_idle(request);
        return NULL;
    }
    OMPI_REQUEST_INIT(&request->super.super, persistent);
    request->super.super.req_free = free_request; /* the MPI layer may have replaced it */
    request->super.super.req_status = ompi_status_empty;
    if (!persistent) {
        request->super.super.req_state = OMPI_REQUEST_ACTIVE;
    }
    request->comm = comm;
    request->module = module;
    request->execution = execution;
    request->super.super.req_mpi_object.comm = noted_comm(request);
    OBJ_RETAIN(comm);
    return request;
}

void coll_pccl_request_release(struct coll_pccl_request *request)
{
    OMPI_REQUEST_FINI(&request->super.super);
    if (request->execution) {
        coll_pccl_execution_return(request->execution);
    }
    /* After an error the MPI layer frees the request first and then calls the error handler of the communicator. */
    if (request->super.super.req_status.MPI_ERROR == OMPI_SUCCESS) {
        OBJ_RELEASE(request->comm);
    }
    put_idle(request);
}

void coll_pccl_requests_close(void)
{
    if (requests.registered) {
        opal_progress_unregister(progress);
    }
    while (requests.idle) {
        struct coll_pccl_request *request = requests.idle;
        requests.idle = request->next;
        OBJ_RELEASE(request);
    }
    memset(&requests, 0, sizeof requests);
}

/* --- called by the MPI layer ----------------------------------------------------------------------------------- */

/* Whether a request is complete; if so, what the thread that completed it has written can be seen here. */
static bool is_complete(const ompi_request_t *request)
{
    if (__atomic_load_n(&request->req_complete, __ATOMIC_RELAXED) != REQUEST_COMPLETED) {
        return false;
    }
    (void)__atomic_load_n(&request->req_status.MPI_ERROR, __ATOMIC_ACQUIRE);
    return true;
}

static int start_persistent(size_t count, ompi_request_t **started)
{
    for (size_t i = 0; i < count; i++) {
        struct coll_pccl_request *request = (struct coll_pccl_request *)started[i];
        if (!is_complete(started[i])) {
            return MPI_ERR_REQUEST;
        }
        request->super.super.req_state = OMPI_REQUEST_ACTIVE;
        __atomic_store_n(&request->super.super.req_complete, REQUEST_PENDING, __ATOMIC_RELAXED);
        int status;
        if (!coll_pccl_request_start(request, &status)) {
            complete(request, status);
        }
    }
    return OMPI_SUCCESS;
}

/* The standard forbids to free a collective that is under way. */
static int free_request(ompi_request_t **request)
{
    if (!is_complete(*request)) {
        return MPI_ERR_REQUEST;
    }
    coll_pccl_request_release((struct coll_pccl_request *)*request);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

/* The standard forbids to cancel a collective. */
static int cancel_request(ompi_request_t *request, int flag)
{
    (void)request;
    (void)flag;
    return MPI_ERR_REQUEST;
}

/* --- requests of the previous component ------------------------------------------------------------------------
 *
 * Their communicator is held until they are freed, which the MPI layer does by req_free. */

static ompi_request_free_fn_t previous_free; /* req_free of its requests; set once */

/* Frees a request and then lets the communicator go. */
static int free_guarded(ompi_request_t **request)
{
    ompi_request_t *freed = *request;
    struct ompi_communicator_t *comm = freed->req_mpi_object.comm;
    bool has_failed = freed->req_status.MPI_ERROR != OMPI_SUCCESS;
    freed->req_free = __atomic_load_n(&previous_free, __ATOMIC_RELAXED);
    int status = freed->req_free(request);
    if (status != OMPI_SUCCESS) {
        freed->req_free = free_guarded;
    } else if (!has_failed) {
        OBJ_RELEASE(comm);
    }
    return status;
}

/* The MPI layer notes down what a call uses, but in Open MPI 4.1 takes an inactive request for one that is over. */
static void hold_objects(ompi_request_t *request, const struct coll_pccl_call *call, struct ompi_communicator_t *comm)
{
    struct coll_pccl_view view = {.input = {.blocks = 1, .type = call->send_type},
                                  .output = {.blocks = 1, .type = call->receive_type}};
    if (!coll_pccl_is_among_neighbors(call->kind)) { /* there all arguments count */
        coll_pccl_view_make(call, (uint32_t)ompi_comm_rank(comm), (uint32_t)ompi_comm_size(comm), NULL, &view);
    }
    request->req_complete = REQUEST_PENDING;
    if (call->op) {
        ompi_coll_base_retain_op(request, call->op, call->receive_type);
    } else if (!call->receive_types) { /* the MPI layer gives back those of an alltoallw in a wrong order */
        ompi_coll_base_retain_datatypes(request, view.input.blocks > 0 ? view.input.type : NULL,
                                        view.output.blocks > 0 ? view.output.type : NULL);
    }
    request->req_complete = REQUEST_COMPLETED;
}

void coll_pccl_request_guard(ompi_request_t *request, const struct coll_pccl_call *call,
                             struct ompi_communicator_t *comm)
{
    ompi_request_free_fn_t known = NULL, own = request->req_free;
    if (request->req_type != OMPI_REQUEST_COLL || request->req_mpi_object.comm != comm) {
        return;
    }
    __atomic_compare_exchange_n(&previous_free, &known, own, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (known == NULL || known == own) {
        OBJ_RETAIN(comm);
        request->req_free = free_guarded;
    }
    if (request->req_persistent && request->req_state == OMPI_REQUEST_INACTIVE && REQUEST_COMPLETE(request)) {
        hold_objects(request, call, comm);
    }
}
