/* Messages: what each message of a bound execution is made of: where it lies, or is put together, and in how many parts
 * it travels. */
#include <stdlib.h>

#include "execute.h"
#include "world.h"

/* Messages up to this size travel at once, without waiting for the receiver to be ready: nothing is gained by having
 * many receives open. */
#define IN_ORDER_BYTES 4096

/* The same at both ends. */
static bool is_on_other_host(const struct coll_pccl_execution *execution, uint32_t peer)
{
    return !OPAL_PROC_ON_LOCAL_NODE(ompi_comm_peer_lookup(execution->comm, (int)peer)->super.proc_flags);
}

/* Address and length of one message. *staged_bytes grows by the room it needs in the staging area, if it does. */
static void set_message(struct coll_pccl_execution *execution, uint32_t index, size_t *staged_bytes)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    struct coll_pccl_message *message = &execution->messages[index];
    *message = (struct coll_pccl_message){.address = NULL};
    char *next = NULL;
    for (uint32_t i = 0; i < operation->num_slots; i++) {
        size_t units;
        char *address = coll_pccl_operand(execution, operation->first_slot + i, &units);
        if (units == 0) {
            continue;
        }
        if (message->units == 0) {
            message->address = address;
        } else if (address != next) {
            message->staged = true;
        }
        message->units += units;
        next = address + (ptrdiff_t)units * execution->extent;
    }
    bool is_split = message->units > execution->network_units && is_on_other_host(execution, operation->peer);
    message->part_units = is_split ? execution->network_units : execution->message_units;
    if (message->staged) {
        struct coll_pccl_room room = coll_pccl_room(execution->datatype, message->units);
        message->staged_at = (ptrdiff_t)*staged_bytes + room.first;
        *staged_bytes += coll_pccl_align(room.bytes);
    }
}

/* Requests that may be under way for a message. */
static size_t num_parts(const struct coll_pccl_message *message)
{
    if (message->units <= message->part_units) {
        return 1;
    }
    size_t parts = (message->units + message->part_units - 1) / message->part_units;
    return parts < COLL_PCCL_PARTS ? parts : COLL_PCCL_PARTS;
}

/* Requests that may be under way at once: the whole of both windows; in order, all sends. */
static int reserve_requests(struct coll_pccl_execution *execution, size_t parts)
{
    size_t needed = 0;
    for (int kind = PCCL_OP_SEND; kind <= PCCL_OP_RECEIVE; kind++) {
        uint32_t count = execution->plan->sequence[kind].count;
        bool all = kind == PCCL_OP_SEND && execution->in_order;
        needed += (all || count < execution->window_size ? count : execution->window_size) * parts;
    }
    if (needed <= execution->max_requests) {
        return OMPI_SUCCESS;
    }
    struct coll_pccl_part *requests =
        needed <= UINT32_MAX ? realloc(execution->requests, needed * sizeof *requests) : NULL;
    if (!requests) {
        return MPI_ERR_NO_MEM;
    }
    execution->requests = requests;
    execution->max_requests = (uint32_t)needed;
    return OMPI_SUCCESS;
}

/* Copies are resolved here, not in each run: in small calls they are half of the work. */
static void set_copies(struct coll_pccl_execution *execution)
{
    const struct pccl_program *program = execution->plan->program;
    for (uint32_t i = 0; i < program->num_operations && execution->plan->num_local > 0; i++) {
        const struct pccl_operation *operation = &program->operations[i];
        if (coll_pccl_is_single_copy(operation)) {
            struct coll_pccl_message *copy = &execution->messages[i];
            copy->address = coll_pccl_operand(execution, operation->first_slot, &copy->units);
            copy->target = coll_pccl_operand(execution, operation->first_slot + 1, &copy->units);
        }
    }
}

int coll_pccl_set_messages(struct coll_pccl_execution *execution)
{
    const struct coll_pccl_plan *plan = execution->plan;
    size_t staged_bytes = 0, most_parts = 1, most_units = 0;
    for (int kind = PCCL_OP_SEND; kind <= PCCL_OP_RECEIVE; kind++) {
        for (uint32_t i = 0; i < plan->sequence[kind].count; i++) {
            uint32_t index = plan->sequence[kind].operations[i];
            set_message(execution, index, &staged_bytes);
            size_t parts = num_parts(&execution->messages[index]);
            most_parts = parts > most_parts ? parts : most_parts;
            most_units = execution->messages[index].units > most_units ? execution->messages[index].units : most_units;
        }
    }
    set_copies(execution);
    execution->most_units = most_units;
    execution->in_order = !plan->sends_early && most_parts == 1 && most_units * execution->unit_bytes <= IN_ORDER_BYTES;
    int status = reserve_requests(execution, most_parts);
    if (status != OMPI_SUCCESS || staged_bytes == 0) {
        return status;
    }
    if (!coll_pccl_buffer_reserve(&execution->staging, staged_bytes)) {
        return MPI_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < plan->program->num_operations; i++) {
        struct coll_pccl_message *message = &execution->messages[i];
        if (message->staged) {
            message->address = execution->staging.memory + message->staged_at;
        }
    }
    return OMPI_SUCCESS;
}

/* --- staged messages ----------------------------------------------------------------------------------------- */

static int move_staged(struct coll_pccl_execution *execution, uint32_t index, bool gather)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    char *staged = execution->messages[index].address;
    int status = OMPI_SUCCESS;
    for (uint32_t i = 0; i < operation->num_slots && status == OMPI_SUCCESS; i++) {
        size_t units;
        char *address = coll_pccl_operand(execution, operation->first_slot + i, &units);
        status = gather ? coll_pccl_local_copy(execution, staged, address, units)
                        : coll_pccl_local_copy(execution, address, staged, units);
        staged += (ptrdiff_t)units * execution->extent;
    }
    return status;
}

int coll_pccl_gather_staged(struct coll_pccl_execution *execution, uint32_t operation)
{
    return move_staged(execution, operation, true);
}

int coll_pccl_scatter_staged(struct coll_pccl_execution *execution, uint32_t operation)
{
    return move_staged(execution, operation, false);
}
