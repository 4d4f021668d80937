/* The executor: runs the operations of a program as their dependencies allow.
 *
 * An operation is ready when its count of waits is zero. Ready copies and reductions run at once, but copies that
 * nothing waits for run when no message is under way: meanwhile the transport would stand still. Ready messages are
 * posted in program order as far as the window of their direction reaches. Posting (all parts of a message) releases
 * the next message with the same peer in the same direction, completing releases the successors. */
#include <stdlib.h>
#include <string.h>

#include "execute.h"

/* --- life ---------------------------------------------------------------------------------------------------- */

static size_t words_for(uint32_t bits)
{
    return ((size_t)bits + 63) / 64;
}

static struct coll_pccl_execution *create(struct coll_pccl_plan *plan)
{
    struct coll_pccl_execution *execution = calloc(1, sizeof *execution);
    if (!execution) {
        return NULL;
    }
    execution->plan = plan;
    /* Ranks that plan for themselves have agreed on no order of messages: all must be able to be under way. */
    execution->window_size = plan->key.neighborhood ? UINT32_MAX : (uint32_t)coll_pccl_parameters.window;
    size_t num_operations = plan->program->num_operations;
    bool complete = true;
    for (int kind = PCCL_OP_SEND; kind <= PCCL_OP_RECEIVE; kind++) {
        struct coll_pccl_window *window = &execution->windows[kind];
        window->ready = calloc(2 * words_for(plan->sequence[kind].count) + 1, sizeof(uint64_t));
        complete &= window->ready != NULL;
        if (window->ready) {
            window->done = window->ready + words_for(plan->sequence[kind].count);
        }
    }
    execution->waits = malloc((num_operations + 1) * sizeof(uint32_t));
    execution->local_ready = malloc((plan->num_local + 1) * sizeof(uint32_t));
    execution->messages = calloc(num_operations + 1, sizeof *execution->messages);
    if (!complete || !execution->waits || !execution->local_ready || !execution->messages) {
        coll_pccl_execution_free(execution);
        return NULL;
    }
    return execution;
}

void coll_pccl_execution_free(struct coll_pccl_execution *execution)
{
    for (int i = 0; i < 2; i++) {
        free(execution->block_units[i]);
        free(execution->block_displs[i]);
        free(execution->windows[i].ready);
    }
    coll_pccl_buffer_free(&execution->buffer);
    coll_pccl_buffer_free(&execution->staging);
    coll_pccl_buffer_free(&execution->operand);
    free(execution->arrays);
    free(execution->requests);
    free(execution->messages);
    free(execution->local_ready);
    free(execution->waits);
    free(execution);
}

struct coll_pccl_execution *coll_pccl_execution_create(struct coll_pccl_plan *plan)
{
    struct coll_pccl_execution *execution = create(plan);
    if (!execution) {
        coll_pccl_plan_release(plan, NULL);
    }
    return execution;
}

void coll_pccl_execution_tidy(struct coll_pccl_execution *execution)
{
    if (execution->buffer.bytes > 0 || execution->staging.bytes > 0) {
        bool trimmed = coll_pccl_buffer_trim(&execution->buffer);
        trimmed |= coll_pccl_buffer_trim(&execution->staging);
        execution->repeatable &= !trimmed;
    }
    coll_pccl_buffer_trim(&execution->operand);
    if (execution->keeps) {
        coll_pccl_let_go(execution);
    }
}

int coll_pccl_execution_fail(struct coll_pccl_execution *execution, int status)
{
    if (execution->keeps) {
        coll_pccl_let_go(execution);
    }
    execution->repeatable = false;
    bool is_touched = coll_pccl_transport_abandon(execution);
    /* Memory that the transport may still touch is left to it for ever: an error has no better end. */
    coll_pccl_plan_release(execution->plan, is_touched ? NULL : execution);
    return status;
}

/* --- ready, posted, finished --------------------------------------------------------------------------------- */

static void make_ready(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    uint32_t kind = operation->kind;
    if (kind == PCCL_OP_COPY && operation->num_successors == 0) {
        execution->local_ready[execution->plan->num_local - ++execution->num_local_last] = index;
        return;
    }
    if (kind > PCCL_OP_RECEIVE) {
        execution->local_ready[execution->num_local_ready++] = index;
        return;
    }
    struct coll_pccl_window *window = &execution->windows[kind];
    uint32_t position = execution->plan->position[index];
    window->ready[position / 64] |= UINT64_C(1) << position % 64;
    window->num_ready++;
}

static void release(struct coll_pccl_execution *execution, uint32_t index)
{
    if (--execution->waits[index] == 0) {
        make_ready(execution, index);
    }
}

/* Moves the window past finished messages. */
static void close_position(struct coll_pccl_window *window, uint32_t position, uint32_t count)
{
    window->done[position / 64] |= UINT64_C(1) << position % 64;
    while (window->first_open < count && window->done[window->first_open / 64] >> window->first_open % 64 & 1) {
        window->first_open++;
    }
}

static void complete(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct coll_pccl_plan *plan = execution->plan;
    const struct pccl_operation *operation = &plan->program->operations[index];
    execution->remaining--;
    if (operation->kind <= PCCL_OP_RECEIVE) {
        close_position(&execution->windows[operation->kind], plan->position[index],
                       plan->sequence[operation->kind].count);
    }
    const uint32_t *successors = plan->program->successors + operation->first_successor;
    for (uint32_t i = 0; i < operation->num_successors; i++) {
        release(execution, successors[i]);
    }
}

/* A message is done: what was received goes where it belongs. */
static void arrive(struct coll_pccl_execution *execution, uint32_t index)
{
    bool is_receive = execution->plan->program->operations[index].kind == PCCL_OP_RECEIVE;
    if (is_receive && execution->messages[index].staged) {
        execution->error = coll_pccl_scatter_staged(execution, index);
    }
    if (!execution->error) {
        complete(execution, index);
    }
}

/* Both ends know the size of a message: one without bytes is not sent, unless being received is all that it is for. */
static bool is_skipped(const struct pccl_operation *operation, const struct coll_pccl_message *message)
{
    return message->units == 0 && operation->num_slots > 0;
}

/* After parts of a message have been posted: once that is all of it, the next one with the same peer may follow. */
static void note_posted(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct coll_pccl_message *message = &execution->messages[index];
    uint32_t next = execution->plan->program->operations[index].next_in_lane;
    if (message->posted == message->units && next != PCCL_NONE) {
        release(execution, next);
    }
    if (message->pending == 0) {
        arrive(execution, index);
    }
}

/* A request of a message has completed: further parts of it take its place. */
static void advance(struct coll_pccl_execution *execution, uint32_t index)
{
    struct coll_pccl_message *message = &execution->messages[index];
    message->pending--;
    if (message->posted < message->units) {
        execution->error = coll_pccl_transport_continue(execution, index);
        if (!execution->error) {
            note_posted(execution, index);
        }
    } else if (message->pending == 0) {
        arrive(execution, index);
    }
}

static void post(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    struct coll_pccl_message *message = &execution->messages[index];
    if (!is_skipped(operation, message)) {
        int status = OMPI_SUCCESS;
        if (message->staged && operation->kind == PCCL_OP_SEND) {
            status = coll_pccl_gather_staged(execution, index);
        }
        if (status == OMPI_SUCCESS) {
            status = coll_pccl_transport_post(execution, index);
        }
        if (status != OMPI_SUCCESS) {
            execution->error = status;
            return;
        }
    } else {
        message->posted = message->units;
    }
    note_posted(execution, index);
}

/* First ready position in [window->first_open, limit), or limit. */
static uint32_t next_ready(const struct coll_pccl_window *window, uint32_t limit)
{
    uint32_t word = window->first_open / 64;
    uint64_t bits = window->ready[word] & ~UINT64_C(0) << window->first_open % 64;
    while (!bits) {
        if (++word * 64 >= limit) {
            return limit;
        }
        bits = window->ready[word];
    }
    uint32_t position = word * 64 + (uint32_t)__builtin_ctzll(bits);
    return position < limit ? position : limit;
}

static void post_ready(struct coll_pccl_execution *execution, uint32_t kind)
{
    struct coll_pccl_window *window = &execution->windows[kind];
    const struct coll_pccl_sequence *sequence = &execution->plan->sequence[kind];
    while (window->num_ready > 0 && !execution->error) {
        uint32_t limit = sequence->count - window->first_open <= execution->window_size
                             ? sequence->count
                             : window->first_open + execution->window_size;
        uint32_t position = next_ready(window, limit);
        if (position == limit) {
            return;
        }
        window->ready[position / 64] &= ~(UINT64_C(1) << position % 64);
        window->num_ready--;
        post(execution, sequence->operations[position]);
    }
}

static void run_local(struct coll_pccl_execution *execution, uint32_t index)
{
    int status = coll_pccl_local_run(execution, index);
    if (status != OMPI_SUCCESS) {
        execution->error = status;
        return;
    }
    complete(execution, index);
}

/* Takes in what has completed; true if anything has. */
static bool collect(struct coll_pccl_execution *execution)
{
    bool any = false;
    for (uint32_t i = 0; i < execution->num_requests && !execution->error;) {
        struct coll_pccl_part *entry = &execution->requests[i];
        if (!REQUEST_COMPLETE(entry->request)) {
            i++;
            continue;
        }
        opal_atomic_rmb(); /* another thread may have completed it */
        uint32_t index = entry->operation;
        int status = coll_pccl_transport_finish(entry->request);
        *entry = execution->requests[--execution->num_requests];
        any = true;
        if (status != OMPI_SUCCESS) {
            execution->error = status;
        } else {
            advance(execution, index);
        }
    }
    return any;
}

/* --- the state machine --------------------------------------------------------------------------------------- */

/* Starts behind the first `done` operations of the program, which have been posted or run in program order. */
static void start_behind(struct coll_pccl_execution *execution, uint32_t done)
{
    const struct coll_pccl_plan *plan = execution->plan;
    const struct pccl_operation *operations = plan->program->operations;
    for (int kind = PCCL_OP_SEND; kind <= PCCL_OP_RECEIVE; kind++) {
        struct coll_pccl_window *window = &execution->windows[kind];
        memset(window->ready, 0, 2 * words_for(plan->sequence[kind].count) * sizeof(uint64_t));
        window->first_open = window->num_ready = 0;
    }
    execution->num_local_ready = execution->num_local_last = 0;
    execution->remaining = plan->program->num_operations;
    for (uint32_t i = 0; i < plan->program->num_operations; i++) {
        execution->waits[i] =
            i < done ? UINT32_MAX : operations[i].num_waits; /* the first ones never get ready again */
        if (execution->waits[i] == 0) {
            make_ready(execution, i);
        }
    }
    for (uint32_t i = 0; i < done; i++) {
        if (operations[i].next_in_lane != PCCL_NONE) {
            release(execution, operations[i].next_in_lane);
        }
        if (execution->messages[i].pending == 0) {
            complete(execution, i);
        }
    }
}

static bool progress_by_dependencies(struct coll_pccl_execution *execution)
{
    do {
        post_ready(execution, PCCL_OP_RECEIVE);
        post_ready(execution, PCCL_OP_SEND);
        while (execution->num_local_ready > 0 && !execution->error) {
            run_local(execution, execution->local_ready[--execution->num_local_ready]);
            post_ready(execution, PCCL_OP_SEND);
        }
    } while (collect(execution));
    while (execution->num_requests == 0 && execution->num_local_last > 0 && !execution->error) {
        run_local(execution, execution->local_ready[execution->plan->num_local - execution->num_local_last--]);
    }
    return execution->remaining == 0 || execution->error;
}

/* --- in program order ------------------------------------------------------------------------------------------
 *
 * The operations one after the other. Sends do not wait, so a rank waits only in a receive; of all messages not
 * received the first in (step, index) has been sent, since what its sender does before needs only messages of earlier
 * steps, and its receiver waits for it: there is no deadlock. Sends of this size are over at once, unless the transport
 * is short of something; then operations that wait for their end need the state machine, which goes on from there. */

static int finish_receive(struct coll_pccl_execution *execution, uint32_t index)
{
    return execution->messages[index].staged ? coll_pccl_scatter_staged(execution, index) : OMPI_SUCCESS;
}

/* One operation; a message may stay under way, the last one and a receive only if it may not wait. */
static int run_one(struct coll_pccl_execution *execution, uint32_t index, bool may_wait)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    const struct coll_pccl_message *message = &execution->messages[index];
    if (operation->kind > PCCL_OP_RECEIVE) {
        return coll_pccl_local_run(execution, index);
    }
    if (is_skipped(operation, message)) {
        return OMPI_SUCCESS;
    }
    int status = OMPI_SUCCESS;
    if (operation->kind == PCCL_OP_SEND) {
        status = message->staged ? coll_pccl_gather_staged(execution, index) : OMPI_SUCCESS;
        if (status != OMPI_SUCCESS) {
            return status;
        }
        /* Nobody waits for what this rank does after its last message. */
        return may_wait && index == execution->plan->last_message ? coll_pccl_transport_send(execution, index)
                                                                  : coll_pccl_transport_post(execution, index);
    }
    status = may_wait ? coll_pccl_transport_receive(execution, index) : coll_pccl_transport_post(execution, index);
    return status == OMPI_SUCCESS && message->pending == 0 ? finish_receive(execution, index) : status;
}

/* Deals with operations until the end, an error, a send that others wait for (then the state machine takes over) or, if
 * it may not wait, a receive under way. */
static void run_in_order(struct coll_pccl_execution *execution, bool may_wait)
{
    const struct pccl_program *program = execution->plan->program;
    while (execution->num_done < program->num_operations && !execution->error) {
        uint32_t index = execution->num_done++;
        execution->error = run_one(execution, index, may_wait);
        if (execution->messages[index].pending == 0) {
            continue;
        }
        if (program->operations[index].kind == PCCL_OP_RECEIVE) {
            execution->is_receiving = true;
            return;
        }
        if (program->operations[index].num_successors > 0 && !execution->error) {
            execution->runs_in_order = false;
            start_behind(execution, execution->num_done);
            return;
        }
    }
}

/* Takes in the receive that the run stands at; false if it is still under way. */
static bool take_receive(struct coll_pccl_execution *execution)
{
    struct coll_pccl_part *last = &execution->requests[execution->num_requests - 1];
    if (!REQUEST_COMPLETE(last->request)) {
        return false;
    }
    opal_atomic_rmb();
    execution->num_requests--;
    execution->messages[last->operation].pending--;
    execution->is_receiving = false;
    int status = coll_pccl_transport_finish(last->request);
    execution->error = status == OMPI_SUCCESS ? finish_receive(execution, last->operation) : status;
    return true;
}

/* Takes in sends that nothing waits for; true if none is under way. */
static bool take_sends(struct coll_pccl_execution *execution)
{
    while (execution->num_requests > 0 && !execution->error) {
        struct coll_pccl_part *last = &execution->requests[execution->num_requests - 1];
        if (!REQUEST_COMPLETE(last->request)) {
            return false;
        }
        opal_atomic_rmb();
        execution->num_requests--;
        execution->messages[last->operation].pending--;
        execution->error = coll_pccl_transport_finish(last->request);
    }
    return true;
}

static bool progress_in_order(struct coll_pccl_execution *execution)
{
    if (execution->is_receiving && !take_receive(execution)) {
        return false;
    }
    run_in_order(execution, false);
    if (!execution->runs_in_order) {
        return progress_by_dependencies(execution);
    }
    return execution->error || (!execution->is_receiving && take_sends(execution));
}

/* --- a run ----------------------------------------------------------------------------------------------------- */

void coll_pccl_execution_start(struct coll_pccl_execution *execution)
{
    execution->runs_in_order = execution->in_order;
    execution->is_receiving = false;
    execution->num_done = 0;
    if (!execution->in_order) {
        start_behind(execution, 0);
    }
}

bool coll_pccl_execution_progress(struct coll_pccl_execution *execution)
{
    return execution->runs_in_order ? progress_in_order(execution) : progress_by_dependencies(execution);
}

void coll_pccl_execution_run(struct coll_pccl_execution *execution)
{
    coll_pccl_execution_start(execution);
    if (execution->runs_in_order) {
        run_in_order(execution, true);
    }
    if (!execution->runs_in_order) {
        while (!coll_pccl_execution_progress(execution)) {
            opal_progress();
        }
    } else if (execution->num_requests > 0 && !execution->error) {
        execution->error = coll_pccl_transport_wait(execution);
    }
}
