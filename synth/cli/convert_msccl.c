/* MSCCL XML. The runtime gives every thread block at most one peer to send to and one to receive from, runs its steps
 * in order, and lets a step wait for one step of another block; more waits need empty steps ("nop") before it. A step
 * moves a run of neighbouring chunks, so a message whose chunks are scattered becomes several steps, cut alike at both
 * ends. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "pccl/program.h"

struct block {
    uint32_t kind; /* PCCL_OP_SEND, PCCL_OP_RECEIVE; anything else: local */
    uint32_t peer;
    uint32_t num_steps;
};

/* One rank's program laid out on thread blocks. */
struct layout {
    const struct pccl_program *program;
    uint32_t *block;      /* [num_operations] thread block of each operation */
    uint32_t *last_step;  /* [num_operations] its last step there */
    uint32_t *first_wait; /* [num_operations + 1] */
    uint32_t *waits;      /* operations that must complete before: those of operation i at waits[first_wait[i]] */
    uint32_t *match;      /* [num_operations] sends and receives: the operation at the other end */
    bool *awaited;        /* [num_operations] an operation of another block waits for it */
    struct block *blocks;
    uint32_t num_blocks;
};

struct converter {
    const struct pccl_demand *demand;
    struct layout *layouts; /* [num_ranks] */
    FILE *stream;
};

static int refuse(struct pccl_error *error, const char *why)
{
    snprintf(error->message, sizeof(error->message), "MSCCL cannot express this schedule: %s", why);
    return PCCL_ERR_UNSUPPORTED;
}

static int check_demand(const struct pccl_demand *demand, struct pccl_error *error)
{
    if (demand->collective == PCCL_BARRIER) {
        return refuse(error, "a barrier moves no data");
    }
    if (pccl_collective_is_prefix(demand->collective)) {
        return refuse(error, "it has no scans");
    }
    if (demand->ordered || demand->reproducible) {
        return refuse(error, "its reductions do not keep the order of the operands");
    }
    for (uint32_t c = 1; c < demand->num_chunks; c++) {
        if (demand->chunks[c].bytes != demand->chunks[0].bytes) {
            return refuse(error, "all chunks must be equally large; choose a size that the number of pieces divides");
        }
    }
    return PCCL_SUCCESS;
}

/* --- layout ---------------------------------------------------------------------------------------------- */

static uint32_t find_block(struct layout *layout, const struct pccl_operation *operation)
{
    bool local = operation->kind != PCCL_OP_SEND && operation->kind != PCCL_OP_RECEIVE;
    uint32_t kind = local ? PCCL_OP_COPY : operation->kind, peer = local ? PCCL_NONE : operation->peer;
    for (uint32_t b = 0; b < layout->num_blocks; b++) {
        if (layout->blocks[b].kind == kind && layout->blocks[b].peer == peer) {
            return b;
        }
    }
    layout->blocks[layout->num_blocks] = (struct block){.kind = kind, .peer = peer};
    return layout->num_blocks++;
}

/* Turns successors round: who waits for whom. first_wait holds the ends of the ranges, then, filled downwards, the
 * starts. */
static void invert_successors(struct layout *layout)
{
    const struct pccl_program *program = layout->program;
    uint32_t *range = layout->first_wait;
    for (uint32_t i = 0; i < program->num_successors; i++) {
        range[program->successors[i]]++;
    }
    for (uint32_t i = 0; i < program->num_operations; i++) {
        range[i + 1] += range[i];
    }
    for (uint32_t i = program->num_operations; i-- > 0;) {
        const struct pccl_operation *operation = &program->operations[i];
        for (uint32_t j = 0; j < operation->num_successors; j++) {
            layout->waits[--range[program->successors[operation->first_successor + j]]] = i;
        }
    }
}

static int create_layout(struct layout *layout, const struct pccl_program *program, uint32_t num_ranks)
{
    uint32_t count = program->num_operations;
    layout->program = program;
    layout->block = calloc((size_t)count + 1, sizeof(*layout->block));
    layout->last_step = calloc((size_t)count + 1, sizeof(*layout->last_step));
    layout->first_wait = calloc((size_t)count + 1, sizeof(*layout->first_wait));
    layout->waits = calloc((size_t)program->num_successors + 1, sizeof(*layout->waits));
    layout->match = calloc((size_t)count + 1, sizeof(*layout->match));
    layout->awaited = calloc((size_t)count + 1, sizeof(*layout->awaited));
    layout->blocks = calloc((size_t)num_ranks * 2 + 1, sizeof(*layout->blocks));
    if (!layout->block || !layout->last_step || !layout->first_wait || !layout->waits || !layout->match ||
        !layout->awaited || !layout->blocks) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        layout->block[i] = find_block(layout, &program->operations[i]);
    }
    invert_successors(layout);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = layout->first_wait[i]; j < layout->first_wait[i + 1]; j++) {
            if (layout->block[layout->waits[j]] != layout->block[i]) {
                layout->awaited[layout->waits[j]] = true;
            }
        }
    }
    return PCCL_SUCCESS;
}

static void free_layout(struct layout *layout)
{
    free(layout->blocks);
    free(layout->awaited);
    free(layout->match);
    free(layout->waits);
    free(layout->first_wait);
    free(layout->last_step);
    free(layout->block);
}

/* The first operation from `from` on of that kind with that peer, in program order; num_operations if none. */
static uint32_t next_operation(const struct pccl_program *program, uint32_t from, uint32_t kind, uint32_t peer)
{
    while (from < program->num_operations &&
           (program->operations[from].kind != kind || program->operations[from].peer != peer)) {
        from++;
    }
    return from;
}

/* The k-th send from a to b meets the k-th receive at b from a. */
static int match_messages(const struct converter *converter, struct pccl_error *error)
{
    for (uint32_t a = 0; a < converter->demand->num_ranks; a++) {
        for (uint32_t k = 0; k < converter->layouts[a].num_blocks; k++) {
            if (converter->layouts[a].blocks[k].kind != PCCL_OP_SEND) {
                continue;
            }
            uint32_t b = converter->layouts[a].blocks[k].peer;
            const struct pccl_program *sender = converter->layouts[a].program,
                                      *receiver = converter->layouts[b].program;
            uint32_t receive = 0;
            for (uint32_t send = 0; (send = next_operation(sender, send, PCCL_OP_SEND, b)) < sender->num_operations;
                 send++) {
                receive = next_operation(receiver, receive, PCCL_OP_RECEIVE, a);
                if (receive == receiver->num_operations ||
                    receiver->operations[receive].num_slots != sender->operations[send].num_slots) {
                    return refuse(error, "sends and receives do not match");
                }
                converter->layouts[a].match[send] = receive;
                converter->layouts[b].match[receive++] = send;
            }
        }
    }
    return PCCL_SUCCESS;
}

/* --- runs of neighbouring slots -------------------------------------------------------------------------- */

static uint32_t count_followers(const pccl_slot *slots, uint32_t from, uint32_t count)
{
    uint32_t i = from + 1;
    while (i < count && slots[i] == slots[i - 1] + 1) {
        i++;
    }
    return i - from;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Chunks from place `from` on that are neighbours in every operand of the operation, at both ends of a message. */
static uint32_t run_length(const struct converter *converter, const struct layout *layout, uint32_t index,
                           uint32_t from)
{
    const struct pccl_operation *operation = &layout->program->operations[index];
    const pccl_slot *slots = layout->program->slots + operation->first_slot;
    uint32_t count = operation->num_slots, length = count_followers(slots, from, count);
    if (operation->kind == PCCL_OP_COPY || operation->kind == PCCL_OP_REDUCE) {
        length = smaller(length, count_followers(slots + count, from, count));
    }
    if (operation->kind == PCCL_OP_REDUCE) {
        length = smaller(length, count_followers(slots + 2 * count, from, count));
    }
    if (operation->kind == PCCL_OP_SEND || operation->kind == PCCL_OP_RECEIVE) {
        const struct pccl_program *other = converter->layouts[operation->peer].program;
        const struct pccl_operation *twin = &other->operations[layout->match[index]];
        length = smaller(length, count_followers(other->slots + twin->first_slot, from, count));
    }
    return length;
}

/* --- steps ----------------------------------------------------------------------------------------------- */

struct step {
    const char *type;
    pccl_slot source, target;
    uint32_t count;
};

/* Steps in the making for one thread block of one rank. A null stream counts only. */
struct steps {
    const struct converter *converter;
    struct layout *layout;
    uint32_t block;
    uint32_t next;
    FILE *stream;
};

static char area_letter(pccl_slot slot)
{
    return "ios"[PCCL_SLOT_AREA(slot) > PCCL_SCRATCH ? PCCL_SCRATCH : PCCL_SLOT_AREA(slot)];
}

static void put_step(struct steps *steps, struct step step, uint32_t wait, bool awaited)
{
    uint32_t number = steps->next++;
    if (!steps->stream) {
        return;
    }
    fprintf(steps->stream,
            "      <step s=\"%u\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%u\" dstbuf=\"%c\" dstoff=\"%u\" cnt=\"%u\"",
            number, step.type, area_letter(step.source), PCCL_SLOT_INDEX(step.source), area_letter(step.target),
            PCCL_SLOT_INDEX(step.target), step.count);
    if (wait == PCCL_NONE) {
        fprintf(steps->stream, " depid=\"-1\" deps=\"-1\"");
    } else {
        fprintf(steps->stream, " depid=\"%u\" deps=\"%u\"", steps->layout->block[wait], steps->layout->last_step[wait]);
    }
    fprintf(steps->stream, " hasdep=\"%d\"/>\n", awaited);
}

/* Empty steps for all waits but one, which is returned: PCCL_NONE if there is none. Only the last step per block
 * counts. */
static uint32_t put_waits(struct steps *steps, uint32_t index)
{
    const struct layout *layout = steps->layout;
    uint32_t kept = PCCL_NONE;
    for (uint32_t i = layout->first_wait[index]; i < layout->first_wait[index + 1]; i++) {
        uint32_t wait = layout->waits[i];
        bool needed = layout->block[wait] != steps->block;
        for (uint32_t j = i + 1; j < layout->first_wait[index + 1]; j++) {
            needed = needed && layout->block[layout->waits[j]] != layout->block[wait];
        }
        if (!needed) {
            continue;
        }
        if (kept != PCCL_NONE) {
            put_step(steps, (struct step){"nop", PCCL_SLOT(PCCL_INPUT, 0), PCCL_SLOT(PCCL_OUTPUT, 0), 0}, kept, false);
        }
        kept = wait;
    }
    return kept;
}

static void put_run(struct steps *steps, const struct pccl_operation *operation, const pccl_slot *slots, uint32_t count,
                    uint32_t wait, bool awaited)
{
    const pccl_slot *second = slots + operation->num_slots, *third = second + operation->num_slots;
    switch ((enum pccl_operation_kind)operation->kind) {
    case PCCL_OP_SEND:
        put_step(steps, (struct step){"s", slots[0], slots[0], count}, wait, awaited);
        break;
    case PCCL_OP_RECEIVE:
        put_step(steps, (struct step){"r", slots[0], slots[0], count}, wait, awaited);
        break;
    case PCCL_OP_COPY:
        put_step(steps, (struct step){"cpy", slots[0], second[0], count}, wait, awaited);
        break;
    case PCCL_OP_REDUCE:
        if (third[0] != slots[0] && third[0] != second[0]) {
            put_step(steps, (struct step){"cpy", slots[0], third[0], count}, wait, false);
            wait = PCCL_NONE;
        }
        put_step(steps, (struct step){"re", third[0] == second[0] ? slots[0] : second[0], third[0], count}, wait,
                 awaited);
        break;
    }
}

static void put_operation(struct steps *steps, uint32_t index)
{
    const struct pccl_operation *operation = &steps->layout->program->operations[index];
    const pccl_slot *slots = steps->layout->program->slots + operation->first_slot;
    uint32_t wait = put_waits(steps, index);
    for (uint32_t from = 0; from < operation->num_slots;) {
        uint32_t count = run_length(steps->converter, steps->layout, index, from);
        bool last = from + count == operation->num_slots;
        put_run(steps, operation, slots + from, count, wait, last && steps->layout->awaited[index]);
        wait = PCCL_NONE;
        from += count;
    }
    steps->layout->last_step[index] = steps->next - 1;
}

static void put_block(const struct converter *converter, struct layout *layout, uint32_t block, FILE *stream)
{
    struct steps steps = {.converter = converter, .layout = layout, .block = block, .stream = stream};
    for (uint32_t i = 0; i < layout->program->num_operations; i++) {
        if (layout->block[i] == block) {
            put_operation(&steps, i);
        }
    }
}

static void put_rank(const struct converter *converter, uint32_t rank)
{
    struct layout *layout = &converter->layouts[rank];
    fprintf(converter->stream, "  <gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"%u\">\n", rank,
            pccl_demand_num_input_slots(converter->demand, rank), pccl_demand_num_output_slots(converter->demand, rank),
            layout->program->num_scratch_slots);
    for (uint32_t b = 0; b < layout->num_blocks; b++) {
        put_block(converter, layout, b, NULL); /* numbers the steps, which waits of earlier blocks refer to */
    }
    for (uint32_t b = 0; b < layout->num_blocks; b++) {
        const struct block *block = &layout->blocks[b];
        fprintf(converter->stream, "    <tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"0\">\n", b,
                block->kind == PCCL_OP_SEND ? (int)block->peer : -1,
                block->kind == PCCL_OP_RECEIVE ? (int)block->peer : -1);
        put_block(converter, layout, b, converter->stream);
        fprintf(converter->stream, "    </tb>\n");
    }
    fprintf(converter->stream, "  </gpu>\n");
}

/* --- file ------------------------------------------------------------------------------------------------ */

static void put_text(FILE *stream, const char *text)
{
    for (; *text; text++) {
        if (strchr("<>&\"", *text)) {
            fprintf(stream, "&#%d;", *text);
        } else {
            fputc(*text, stream);
        }
    }
}

static void put_file(const struct converter *converter, const char *method)
{
    const struct pccl_demand *demand = converter->demand;
    uint32_t per_loop = 1;
    bool known = demand->collective == PCCL_ALLGATHER || demand->collective == PCCL_ALLREDUCE ||
                 demand->collective == PCCL_ALLTOALL || demand->collective == PCCL_BROADCAST ||
                 demand->collective == PCCL_REDUCE || demand->collective == PCCL_REDUCE_SCATTER;
    for (uint32_t rank = 0; rank < demand->num_ranks; rank++) {
        uint32_t input = pccl_demand_num_input_slots(demand, rank), output = pccl_demand_num_output_slots(demand, rank);
        per_loop = per_loop > input ? per_loop : input;
        per_loop = per_loop > output ? per_loop : output;
    }
    fprintf(converter->stream, "<algo name=\"pccl ");
    put_text(converter->stream, method);
    fprintf(converter->stream,
            "\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"%u\" ngpus=\"%u\" coll=\"%s\" "
            "inplace=\"0\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"1099511627776\">\n",
            per_loop, demand->num_ranks, known ? pccl_collective_name(demand->collective) : "custom");
    for (uint32_t rank = 0; rank < demand->num_ranks; rank++) {
        put_rank(converter, rank);
    }
    fprintf(converter->stream, "</algo>\n");
}

int convert_msccl(const struct pccl_schedule *schedule, FILE *stream, struct pccl_error *error)
{
    const struct pccl_demand *demand = schedule->demand;
    struct converter converter = {.demand = demand, .stream = stream};
    struct pccl_program **programs = calloc(demand->num_ranks, sizeof(*programs));
    converter.layouts = calloc(demand->num_ranks, sizeof(*converter.layouts));
    int status = programs && converter.layouts ? check_demand(demand, error) : PCCL_ERR_MEMORY;
    for (uint32_t rank = 0; !status && rank < demand->num_ranks; rank++) {
        status = pccl_program_create(schedule, rank, &programs[rank], error);
        if (!status) {
            status = create_layout(&converter.layouts[rank], programs[rank], demand->num_ranks);
        }
    }
    if (!status) {
        status = match_messages(&converter, error);
    }
    if (!status) {
        put_file(&converter, schedule->method);
    }
    for (uint32_t rank = 0; programs && converter.layouts && rank < demand->num_ranks; rank++) {
        free_layout(&converter.layouts[rank]);
        pccl_program_free(programs[rank]);
    }
    free(converter.layouts);
    free(programs);
    return status;
}
