/* Executions: one collective call under way on this rank. A state machine without waiting inside: bind, start, progress
 * until it says finished, finish. A blocking call drives it in a loop over opal_progress, a request (request.h) from
 * inside opal_progress.
 *
 * Tags. A blocking call uses the tag that Open MPI's own blocking algorithms use for the collective. All messages of
 * one call are received in that call, and both ends of a pair post in program order, so consecutive calls cannot be
 * mixed up: a communicator has one blocking collective at a time, and messages of a pair do not overtake. Other calls
 * may be under way together, so each has a tag of Open MPI's counter for them. For blocking ones that would do too, but
 * on pml/ucx (24 bits of tag) it meets the users' tags after eight million calls, which they reach within minutes. */
#ifndef COLL_PCCL_EXECUTE_H
#define COLL_PCCL_EXECUTE_H

#include "plan.h"
#include "span.h"
#include "view.h"

/* After so many rooted or otherwise one-way calls on a communicator, the sends of one call are synchronous. It keeps a
 * rank that only sends from filling the memory of a slow one that only receives. */
#define COLL_PCCL_FLOW_CALLS 128

/* Requests of one message that is split (coll_pccl_message_limit, coll_pccl_network_message) that may be under way. All
 * requests under way are looked at when one completes, so without a bound a message of many parts would cost the square
 * of their number. */
#define COLL_PCCL_PARTS 16

/* Input or output of a call in units: bytes of the packed stream, or elements if the collective reduces. */
struct coll_pccl_area {
    char *base;                /* unit 0 of block 0 */
    ptrdiff_t stride;          /* bytes from block to block */
    const ptrdiff_t *displs;   /* instead of stride: bytes from base to each block */
    size_t units;              /* per block */
    const size_t *block_units; /* instead of units: of each block */
    bool present;
};

/* What an operation of the program sends or receives, or copies if that is one slot. */
struct coll_pccl_message {
    char *address;
    char *target; /* of a copy */
    size_t units;
    bool staged;         /* address is in the staging area: the slots are not neighbours in memory */
    ptrdiff_t staged_at; /* where there */
    size_t part_units;   /* more are sent as several messages */
    size_t posted;       /* units handed to the transport */
    uint32_t pending;    /* requests under way for it */
};

struct coll_pccl_part {
    ompi_request_t *request;
    uint32_t operation;
};

/* Messages of one direction that may be under way: positions first_open .. first_open + window - 1 of the sequence. The
 * lowest unfinished one is always among them: that is what doc/design.md needs to exclude deadlock. */
struct coll_pccl_window {
    uint32_t first_open; /* everything before is finished */
    uint32_t num_ready;
    uint64_t *ready; /* bit per position: may be posted, is not yet */
    uint64_t *done;  /* bit per position: finished */
};

/* A buffer that grows and is kept for the next call. */
struct coll_pccl_buffer {
    char *memory; /* aligned to COLL_PCCL_ALIGNMENT */
    size_t bytes;
};

/* What a small call reads comes first and lies together: between an application's calls all of it leaves the caches. */
struct coll_pccl_execution {
    struct coll_pccl_plan *plan; /* with a reference while it is not idle */
    struct ompi_communicator_t *comm;
    int tag;
    mca_pml_base_send_mode_t send_mode;
    uint32_t num_done; /* in program order: so many operations have been dealt with */
    uint32_t num_requests;
    int error; /* first one met, an MPI or Open MPI code */
    bool repeatable;    /* the binding holds for every equal call: nothing may change behind a pointer; of arrays the
                           view has copies */
    bool has_arrays;    /* the bound call has arrays of counts, displacements or datatypes */
    bool in_order;      /* messages are so small that running in program order is fastest */
    bool runs_in_order; /* this run is */
    bool is_receiving;  /* in program order: the last one is a receive under way */
    bool take_input;    /* areas[PCCL_INPUT] is private: fill it at the start */
    bool take_block;    /* areas[PCCL_OUTPUT] is private and holds the input: fill that at the start */
    bool bring_output;  /* areas[PCCL_OUTPUT] is private: bring it to the user's buffer at the end */
    bool keeps;         /* datatypes and operator of the call: it returns before its end */
    bool elements;      /* units are elements of datatype, else bytes */
    bool dense;         /* units follow one another without gaps: memory can be copied as it is */
    struct ompi_datatype_t *datatype;   /* of a unit */
    struct coll_pccl_message *messages; /* [num_operations] */
    struct coll_pccl_part *requests;    /* [max_requests] */
    struct coll_pccl_execution *next_idle;
    struct coll_pccl_buffer buffer, staging, operand; /* kept from call to call; operand: of a reduction of large
                                                         elements */
    struct coll_pccl_call bound;                      /* the call */

    /* The rest of what bind sets. */
    struct coll_pccl_view view;
    struct ompi_op_t *op;
    ptrdiff_t extent;               /* bytes from unit to unit */
    size_t unit_bytes;              /* of data in a unit */
    struct coll_pccl_area areas[2]; /* PCCL_INPUT, PCCL_OUTPUT */
    char *scratch;
    ptrdiff_t scratch_stride;
    size_t chunk_units;                  /* per block, of chunks in scratch */
    const size_t *chunk_block_units;     /* instead: of each block */
    size_t message_units, network_units; /* of the largest messages, to ranks of any and of other hosts */
    size_t most_units;                   /* of the largest message of the plan, before it is split */

    /* State of a run that is not in program order. */
    uint32_t window_size;
    struct coll_pccl_window windows[2]; /* PCCL_OP_SEND, PCCL_OP_RECEIVE */
    uint32_t *waits;                    /* [num_operations] still to come */
    uint32_t *local_ready; /* copies and reductions that may run: a stack from the start, and one from the end of copies
                              that nothing waits for */
    uint32_t num_local_ready, num_local_last;
    uint32_t remaining; /* operations not finished */
    uint32_t max_requests;

    /* Kept from call to call. */
    size_t *block_units[2]; /* [num_ranks] each, for v-calls */
    ptrdiff_t *block_displs[2];
    char *arrays; /* copies of the call's arrays of counts, displacements and datatypes */
    size_t arrays_bytes;
};

/* Whether an operation is a copy that bind resolves. */
static inline bool coll_pccl_is_single_copy(const struct pccl_operation *operation)
{
    return operation->kind == PCCL_OP_COPY && operation->num_slots == 1;
}

/* bind.c */

/* Ties the execution to the buffers and sizes of a call. An MPI error code on failure. Does nothing if it is tied to an
 * equal call already. */
int coll_pccl_bind(struct coll_pccl_execution *execution, const struct coll_pccl_call *call);
/* Fills the private input, of which there is one. */
int coll_pccl_load_private(struct coll_pccl_execution *execution);
/* Brings the private output, of which there is one, where the application wants it. */
int coll_pccl_unload_private(struct coll_pccl_execution *execution);

/* At the start of each run: packs what must be packed. */
static inline int coll_pccl_load(struct coll_pccl_execution *execution)
{
    return execution->take_input || execution->take_block ? coll_pccl_load_private(execution) : OMPI_SUCCESS;
}

/* At the end of each run: brings the results where the application wants them. */
static inline int coll_pccl_unload(struct coll_pccl_execution *execution)
{
    return execution->bring_output ? coll_pccl_unload_private(execution) : OMPI_SUCCESS;
}

/* Where an operand lies and how many units it has. */
char *coll_pccl_operand(const struct coll_pccl_execution *execution, uint32_t slot, size_t *units);

/* message.c */

/* Where all messages and copies of the execution lie, whose areas are set, and room for what they need. An MPI error
 * code on failure. */
int coll_pccl_set_messages(struct coll_pccl_execution *execution);
/* Between a staged message and the slots of its operation. */
int coll_pccl_gather_staged(struct coll_pccl_execution *execution, uint32_t operation);
int coll_pccl_scatter_staged(struct coll_pccl_execution *execution, uint32_t operation);

/* keep.c */

/* Makes the bound execution independent of arrays of the application: its view has copies. Once for each binding.
 * MPI_ERR_NO_MEM: all is as it was. */
int coll_pccl_keep_arrays(struct coll_pccl_execution *execution);
/* For a call that returns before its end: does the same, and holds datatypes and operator. */
int coll_pccl_keep(struct coll_pccl_execution *execution);
/* Lets datatypes and operator go. */
void coll_pccl_let_go(struct coll_pccl_execution *execution);

/* execute.c */

/* An execution of the plan, taking over the reference to it. NULL when out of memory; then the reference has been given
 * back. */
struct coll_pccl_execution *coll_pccl_execution_create(struct coll_pccl_plan *plan);

/* The same, ready to be bound: `idle` or, if that is NULL, a new one. What comes with each call is inline: in small
 * calls it is what takes the time. */
static inline struct coll_pccl_execution *coll_pccl_execution_acquire(struct coll_pccl_plan *plan,
                                                                      struct coll_pccl_execution *idle,
                                                                      struct ompi_communicator_t *comm, int tag)
{
    struct coll_pccl_execution *execution = idle ? idle : coll_pccl_execution_create(plan);
    if (execution) {
        execution->comm = comm;
        execution->tag = tag;
        execution->error = OMPI_SUCCESS;
    }
    return execution;
}

/* Starts a run that is continued by coll_pccl_execution_progress. */
void coll_pccl_execution_start(struct coll_pccl_execution *execution);
/* Does what can be done now; true when the execution is finished, well or not. */
bool coll_pccl_execution_progress(struct coll_pccl_execution *execution);
/* The whole run of a blocking call, from start to finished. */
void coll_pccl_execution_run(struct coll_pccl_execution *execution);
/* Lets go what an execution that is not under way need not keep until it is used again. */
void coll_pccl_execution_tidy(struct coll_pccl_execution *execution);
/* The end of an execution that has failed. Returns status. */
int coll_pccl_execution_fail(struct coll_pccl_execution *execution, int status);
void coll_pccl_execution_free(struct coll_pccl_execution *execution);

/* Gives back an execution that is not under way. */
static inline void coll_pccl_execution_return(struct coll_pccl_execution *execution)
{
    if (execution->buffer.bytes > 0 || execution->staging.bytes > 0 || execution->operand.bytes > 0 ||
        execution->keeps) {
        coll_pccl_execution_tidy(execution);
    }
    coll_pccl_plan_release(execution->plan, execution);
}

/* The end of a finished (or never started) execution: results in place, the execution given back. */
static inline int coll_pccl_execution_finish(struct coll_pccl_execution *execution, int status)
{
    status = status == OMPI_SUCCESS ? execution->error : status;
    status = status == OMPI_SUCCESS ? coll_pccl_unload(execution) : status;
    if (status != OMPI_SUCCESS) {
        return coll_pccl_execution_fail(execution, status);
    }
    coll_pccl_execution_return(execution);
    return OMPI_SUCCESS;
}

/* serve.c: what comes before each run of a bound execution: counts, flow control, packing. An MPI error code on
 * failure. */
int coll_pccl_begin(struct coll_pccl_execution *execution, struct coll_pccl_module *module);

/* local.c: copies and reductions. */
int coll_pccl_local_run(struct coll_pccl_execution *execution, uint32_t operation);
/* Copies units; addresses may be equal, else they do not overlap. */
int coll_pccl_local_copy(const struct coll_pccl_execution *execution, char *target, const char *source, size_t units);

/* transport.c */

/* Starts the message of an operation; requests that do not complete at once are added to the execution. Of a message
 * in many parts the first COLL_PCCL_PARTS. */
int coll_pccl_transport_post(struct coll_pccl_execution *execution, uint32_t operation);
/* Posts further parts of a message that is not posted in full, as far as COLL_PCCL_PARTS allows. */
int coll_pccl_transport_continue(struct coll_pccl_execution *execution, uint32_t operation);
/* Receives the message of an operation, which must fit one request, waiting for it. */
int coll_pccl_transport_receive(struct coll_pccl_execution *execution, uint32_t operation);
/* Sends the message of an operation, which must fit one request, waiting until its buffer may be used again. */
int coll_pccl_transport_send(struct coll_pccl_execution *execution, uint32_t operation);
/* Waits for all requests of the execution. */
int coll_pccl_transport_wait(struct coll_pccl_execution *execution);
/* Takes a request that has completed back from the transport and tells how it ended. */
int coll_pccl_transport_finish(ompi_request_t *request);
/* Gives up what is under way; true if the transport may still touch the buffers. */
bool coll_pccl_transport_abandon(struct coll_pccl_execution *execution);

/* buffer.c */

/* Makes the buffer at least so large; the contents are lost. False when out of memory. */
bool coll_pccl_buffer_reserve(struct coll_pccl_buffer *buffer, size_t bytes);
/* After a call: frees the buffer if the process keeps more than coll_pccl_keep_mib. True if it did. */
bool coll_pccl_buffer_trim(struct coll_pccl_buffer *buffer);
void coll_pccl_buffer_free(struct coll_pccl_buffer *buffer);

#endif
