/* The only file that asks the point-to-point layer to move data for a collective. */
#include "execute.h"
#include "report.h"

/* Starts a message of an operation, or a part of one. */
static int post_part(struct coll_pccl_execution *execution, uint32_t index, char *address, size_t units,
                     mca_pml_base_send_mode_t mode)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    ompi_request_t *request = NULL;
    int status = operation->kind == PCCL_OP_SEND
                     ? MCA_PML_CALL(isend(address, units, execution->datatype, (int)operation->peer, execution->tag,
                                          mode, execution->comm, &request))
                     : MCA_PML_CALL(irecv(address, units, execution->datatype, (int)operation->peer, execution->tag,
                                          execution->comm, &request));
    if (request == &ompi_request_empty) {
        /* gone already: the usual end of a small message */
    } else if (status == OMPI_SUCCESS && REQUEST_COMPLETE(request)) {
        status = coll_pccl_transport_finish(request);
    } else if (status == OMPI_SUCCESS) {
        execution->requests[execution->num_requests++] = (struct coll_pccl_part){request, index};
        execution->messages[index].pending++;
    }
    return status;
}

/* The next part of a message, from message->posted on. A sender whose parts are gone at once must not run far ahead of
 * its receiver, who would have to store them: of every COLL_PCCL_PARTS one is over only when it is being received. */
static int post_next(struct coll_pccl_execution *execution, uint32_t index)
{
    struct coll_pccl_message *message = &execution->messages[index];
    size_t left = message->units - message->posted, units = left < message->part_units ? left : message->part_units;
    char *address = message->address + (ptrdiff_t)message->posted * execution->extent;
    bool is_last_of_some = message->posted / message->part_units % COLL_PCCL_PARTS == COLL_PCCL_PARTS - 1;
    message->posted += units;
    return post_part(execution, index, address, units,
                     is_last_of_some ? MCA_PML_BASE_SEND_SYNCHRONOUS : execution->send_mode);
}

int coll_pccl_transport_continue(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct coll_pccl_message *message = &execution->messages[index];
    int status = OMPI_SUCCESS;
    while (status == OMPI_SUCCESS && message->posted < message->units && message->pending < COLL_PCCL_PARTS) {
        status = post_next(execution, index);
    }
    return status;
}

int coll_pccl_transport_post(struct coll_pccl_execution *execution, uint32_t index)
{
    if (coll_pccl_parameters.verbose >= 9) {
        coll_pccl_report_message(execution, index);
    }
    struct coll_pccl_message *message = &execution->messages[index];
    if (message->units <= message->part_units) { /* the messages of a barrier are empty, and sent */
        message->posted = message->units;
        return post_part(execution, index, message->address, message->units, execution->send_mode);
    }
    message->posted = 0;
    return coll_pccl_transport_continue(execution, index);
}

int coll_pccl_transport_send(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct coll_pccl_message *message = &execution->messages[index];
    if (coll_pccl_parameters.verbose >= 9) {
        coll_pccl_report_message(execution, index);
    }
    return MCA_PML_CALL(send(message->address, message->units, execution->datatype,
                             (int)execution->plan->program->operations[index].peer, execution->tag,
                             execution->send_mode, execution->comm));
}

int coll_pccl_transport_receive(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct coll_pccl_message *message = &execution->messages[index];
    if (coll_pccl_parameters.verbose >= 9) {
        coll_pccl_report_message(execution, index);
    }
    return MCA_PML_CALL(recv(message->address, message->units, execution->datatype,
                             (int)execution->plan->program->operations[index].peer, execution->tag, execution->comm,
                             MPI_STATUS_IGNORE));
}

int coll_pccl_transport_wait(struct coll_pccl_execution *execution)
{
    while (execution->num_requests > 0) {
        struct coll_pccl_part *last = &execution->requests[execution->num_requests - 1];
        ompi_request_t *request = last->request;
        ompi_request_wait_completion(request);
        execution->messages[last->operation].pending--;
        execution->num_requests--;
        int status = coll_pccl_transport_finish(request);
        if (status != OMPI_SUCCESS) {
            return status;
        }
    }
    return OMPI_SUCCESS;
}

int coll_pccl_transport_finish(ompi_request_t *request)
{
    int status = request->req_status.MPI_ERROR;
    ompi_request_free(&request);
    return status;
}

bool coll_pccl_transport_abandon(struct coll_pccl_execution *execution)
{
    bool touched = false;
    for (uint32_t i = 0; i < execution->num_requests; i++) {
        ompi_request_t *request = execution->requests[i].request;
        uint32_t kind = execution->plan->program->operations[execution->requests[i].operation].kind;
        if (kind == PCCL_OP_RECEIVE && !REQUEST_COMPLETE(request)) {
            ompi_request_cancel(request);
        }
        touched |= !REQUEST_COMPLETE(request);
        ompi_request_free(&request); /* one that is not complete is freed by the transport when it is */
    }
    execution->num_requests = 0;
    return touched;
}
