/* Binding: where the slots of a plan's program lie in the buffers of one call.
 *
 * A collective that only moves data works on the packed stream of bytes: datatypes without gaps are used where they
 * lie, others are packed before and unpacked after, so ranks with different datatypes of equal signature agree. A
 * reduction works on elements of the datatype, cut at element boundaries. Both are arrays of `units`; only the
 * functions that lay areas over buffers know which it is. */
#include <stdlib.h>
#include <string.h>

#include "execute.h"
#include "pack.h"
#include "world.h"

/* First unit of a piece of a block: floor(piece * units / pieces) without overflow. */
static size_t piece_start(size_t units, uint32_t pieces, uint32_t piece)
{
    return units / pieces * piece + units % pieces * piece / pieces;
}

static size_t block_size(const struct coll_pccl_area *area, uint32_t block)
{
    return area->block_units ? area->block_units[block] : area->units;
}

static char *block_address(const struct coll_pccl_area *area, uint32_t block)
{
    return area->base + (area->displs ? area->displs[block] : (ptrdiff_t)block * area->stride);
}

char *coll_pccl_operand(const struct coll_pccl_execution *execution, uint32_t index, size_t *units)
{
    const struct coll_pccl_slot *slot = &execution->plan->slots[index];
    uint32_t pieces = execution->plan->pieces;
    if (slot->area == PCCL_SCRATCH) {
        size_t total =
            execution->chunk_block_units ? execution->chunk_block_units[slot->block] : execution->chunk_units;
        *units = piece_start(total, pieces, slot->piece + 1) - piece_start(total, pieces, slot->piece);
        return execution->scratch + (ptrdiff_t)slot->index * execution->scratch_stride;
    }
    const struct coll_pccl_area *area = &execution->areas[slot->area];
    size_t total = block_size(area, slot->index);
    if (pieces == 1) {
        *units = total;
        return block_address(area, slot->index);
    }
    size_t start = piece_start(total, pieces, slot->piece);
    *units = piece_start(total, pieces, slot->piece + 1) - start;
    return block_address(area, slot->index) + (ptrdiff_t)start * execution->extent;
}

/* --- areas --------------------------------------------------------------------------------------------------- */

/* Elements of a block; none of one that comes from nowhere. */
static size_t block_count(const struct coll_pccl_side *side, uint32_t block)
{
    if (side->peers && side->peers[block] == MPI_PROC_NULL) {
        return 0;
    }
    return side->counts ? (size_t)side->counts[block] : side->count;
}

/* Datatype of a block that has elements. */
static const struct ompi_datatype_t *block_type(const struct coll_pccl_side *side, uint32_t block)
{
    return side->types ? side->types[block] : side->type;
}

static ptrdiff_t extent_of(const struct ompi_datatype_t *type)
{
    return type->super.ub - type->super.lb;
}

/* Bytes from the side's buffer to a block; next: where it is if blocks follow one another. */
static ptrdiff_t block_offset(const struct coll_pccl_side *side, uint32_t block, ptrdiff_t next)
{
    if (side->places) {
        return side->places[block];
    }
    if (!side->displs) {
        return side->counts ? next : (ptrdiff_t)(block * side->count) * extent_of(side->type);
    }
    return side->types ? side->displs[block] : side->displs[block] * extent_of(side->type);
}

static size_t side_elements(const struct coll_pccl_side *side)
{
    size_t elements = side->counts ? 0 : side->blocks * side->count;
    for (uint32_t i = 0; side->counts && i < side->blocks; i++) {
        elements += block_count(side, i);
    }
    return elements;
}

static size_t side_bytes(const struct coll_pccl_side *side)
{
    size_t bytes = side->counts ? 0 : side->blocks * side->count * side->type->super.size;
    for (uint32_t i = 0; side->counts && i < side->blocks; i++) {
        size_t count = block_count(side, i);
        bytes += count > 0 ? count * block_type(side, i)->super.size : 0;
    }
    return bytes;
}

/* Whether elements are one run of bytes in the order of the packed stream. */
static bool is_run(const struct ompi_datatype_t *type, size_t count)
{
    uint16_t flags = type->super.flags;
    return flags & OPAL_DATATYPE_FLAG_NO_GAPS || type->super.size == 0 ||
           (flags & OPAL_DATATYPE_FLAG_CONTIGUOUS && count <= 1);
}

/* Whether each block is. */
static bool is_contiguous(const struct coll_pccl_side *side)
{
    bool contiguous = side->counts || is_run(side->type, side->count);
    for (uint32_t i = 0; side->counts && i < side->blocks && contiguous; i++) {
        size_t count = block_count(side, i);
        contiguous = count == 0 || is_run(block_type(side, i), count);
    }
    return contiguous;
}

/* Sizes and displacements of unequal blocks, which in private memory follow one another. Where each block has a
 * datatype of its own, so has what lies before its first byte. */
static int set_block_arrays(struct coll_pccl_execution *execution, int which, const struct coll_pccl_side *side,
                            bool private)
{
    if (!execution->block_units[which]) { /* the plan determines how many blocks a side has */
        execution->block_units[which] = malloc((side->blocks + 1) * sizeof(size_t));
    }
    if (!execution->block_displs[which]) {
        execution->block_displs[which] = malloc((side->blocks + 1) * sizeof(ptrdiff_t));
    }
    size_t *block_units = execution->block_units[which];
    ptrdiff_t *block_displs = execution->block_displs[which];
    if (!block_units || !block_displs) {
        return MPI_ERR_NO_MEM;
    }
    ptrdiff_t next = 0;
    for (uint32_t i = 0; i < side->blocks; i++) {
        size_t count = block_count(side, i);
        if (count == 0) {
            block_units[i] = 0;
            block_displs[i] = 0;
            continue;
        }
        const struct ompi_datatype_t *type = block_type(side, i);
        ptrdiff_t step = private && !execution->elements ? (ptrdiff_t)type->super.size : extent_of(type);
        block_units[i] = count * (execution->elements ? 1 : type->super.size);
        block_displs[i] = private ? next : block_offset(side, i, next) + (side->types ? type->super.true_lb : 0);
        next += (ptrdiff_t)count * step;
    }
    execution->areas[which].block_units = block_units;
    execution->areas[which].displs = block_displs;
    return OMPI_SUCCESS;
}

/* Lays an area over a side's memory, or over `private` memory where its blocks lie packed one after another. */
static int set_area(struct coll_pccl_execution *execution, int which, const struct coll_pccl_side *side, char *private)
{
    struct coll_pccl_area *area = &execution->areas[which];
    if (side->types) {
        *area = (struct coll_pccl_area){.base = private ? private : side->buffer, .present = true};
        return set_block_arrays(execution, which, side, private != NULL);
    }
    const opal_datatype_t *layout = &side->type->super;
    size_t units = execution->elements ? 1 : layout->size;
    ptrdiff_t step = private && !execution->elements ? (ptrdiff_t)layout->size : layout->ub - layout->lb;
    *area = (struct coll_pccl_area){
        .base = private ? private : side->buffer + (execution->elements ? 0 : layout->true_lb),
        .stride = (ptrdiff_t)side->count * step,
        .units = side->count * units,
        .present = true,
    };
    return side->counts ? set_block_arrays(execution, which, side, private != NULL) : OMPI_SUCCESS;
}

/* Between the application's elements and a private copy: packed, or as they are in a reduction. */
static int take(const struct coll_pccl_execution *execution, const struct ompi_datatype_t *type, size_t count,
                const char *elements, char *private)
{
    return execution->elements ? coll_pccl_copy_elements(type, count, private, elements)
                               : coll_pccl_pack(type, count, elements, private);
}

static int bring(const struct coll_pccl_execution *execution, const struct ompi_datatype_t *type, size_t count,
                 char *elements, const char *private)
{
    return execution->elements ? coll_pccl_copy_elements(type, count, elements, private)
                               : coll_pccl_unpack(type, count, elements, private);
}

/* Takes blocks [first, first + count) of a side into an area laid over private memory. */
static int take_blocks(const struct coll_pccl_execution *execution, const struct coll_pccl_side *side,
                       const struct coll_pccl_area *area, uint32_t first, uint32_t count)
{
    if (!side->counts && !side->peers) {
        const char *elements = side->buffer + (ptrdiff_t)(first * side->count) * extent_of(side->type);
        return take(execution, side->type, count * side->count, elements, block_address(area, first));
    }
    int status = OMPI_SUCCESS;
    ptrdiff_t next = 0;
    for (uint32_t i = 0; i < first + count && status == OMPI_SUCCESS; i++) {
        size_t elements = block_count(side, i);
        if (elements > 0 && i >= first) {
            status = take(execution, block_type(side, i), elements, side->buffer + block_offset(side, i, next),
                          block_address(area, i));
        }
        next += elements > 0 ? (ptrdiff_t)elements * extent_of(block_type(side, i)) : 0;
    }
    return status;
}

static int bring_blocks(const struct coll_pccl_execution *execution, const struct coll_pccl_side *side,
                        const struct coll_pccl_area *area)
{
    if (!side->counts && !side->peers) {
        return bring(execution, side->type, side->blocks * side->count, side->buffer, area->base);
    }
    int status = OMPI_SUCCESS;
    ptrdiff_t next = 0;
    for (uint32_t i = 0; i < side->blocks && status == OMPI_SUCCESS; i++) {
        size_t elements = block_count(side, i);
        if (elements > 0) {
            status = bring(execution, block_type(side, i), elements, side->buffer + block_offset(side, i, next),
                           block_address(area, i));
            next += (ptrdiff_t)elements * extent_of(block_type(side, i));
        }
    }
    return status;
}

/* --- the parts of a binding ---------------------------------------------------------------------------------- */

static void set_units(struct coll_pccl_execution *execution, const struct coll_pccl_call *call)
{
    execution->elements = call->op != NULL;
    execution->op = call->op;
    execution->datatype = call->op ? call->receive_type : &ompi_mpi_byte.dt;
    const opal_datatype_t *layout = &execution->datatype->super;
    execution->extent = layout->ub - layout->lb;
    execution->unit_bytes = layout->size;
    execution->dense = layout->flags & OPAL_DATATYPE_FLAG_NO_GAPS;
    size_t limit = (size_t)coll_pccl_parameters.message_limit, network = coll_pccl_world.network_message;
    execution->message_units = layout->size < limit ? limit / layout->size : 1;
    network = network < limit ? network : limit;
    execution->network_units = layout->size < network ? network / layout->size : 1;
}

/* Memory of an accelerator is reached by Open MPI's copying only, so it is staged through host memory. That is this
 * rank's own affair: plan and messages stay the same. */
static bool is_on_device(const struct coll_pccl_side *side)
{
    for (uint32_t i = 0; i < side->blocks; i++) {
        if (block_count(side, i) > 0) {
            return coll_pccl_is_on_device(side->buffer + block_offset(side, i, 0) + block_type(side, i)->super.true_lb);
        }
    }
    return false;
}

static bool needs_private_input(const struct coll_pccl_execution *execution)
{
    const struct coll_pccl_view *view = &execution->view;
    if (execution->elements || view->input.blocks == 0) {
        return is_on_device(&view->input);
    }
    return view->relation == COLL_PCCL_SAME_MEMORY || !is_contiguous(&view->input) || is_on_device(&view->input);
}

static bool needs_private_output(const struct coll_pccl_execution *execution)
{
    const struct coll_pccl_view *view = &execution->view;
    if (view->output.blocks == 0) {
        return false;
    }
    return (execution->elements ? view->relation == COLL_PCCL_SAME_MEMORY : !is_contiguous(&view->output)) ||
           is_on_device(&view->output);
}

/* Room for a private copy of a side, in units. */
static struct coll_pccl_room side_room(const struct coll_pccl_execution *execution, const struct coll_pccl_side *side)
{
    return coll_pccl_room(execution->datatype, execution->elements ? side_elements(side) : side_bytes(side));
}

/* Elements: the sizes of the blocks of a side, whichever of the two the demand numbers its chunks by. */
static void set_chunk_units(struct coll_pccl_execution *execution)
{
    const struct coll_pccl_area *input = &execution->areas[PCCL_INPUT], *output = &execution->areas[PCCL_OUTPUT];
    execution->chunk_units = output->present ? output->units : input->units;
    execution->chunk_block_units = input->block_units ? input->block_units : output->block_units;
}

static size_t largest_chunk(const struct coll_pccl_execution *execution)
{
    size_t largest = execution->chunk_units;
    if (execution->chunk_block_units) {
        largest = 0;
        for (uint32_t i = 0; i < execution->plan->key.num_ranks; i++) {
            largest = execution->chunk_block_units[i] > largest ? execution->chunk_block_units[i] : largest;
        }
    }
    uint32_t pieces = execution->plan->pieces;
    return largest / pieces + (largest % pieces != 0);
}

/* Areas over the application's memory; private ones get their base when the memory is there. */
static int set_areas(struct coll_pccl_execution *execution, char *private_input, char *private_output)
{
    const struct coll_pccl_view *view = &execution->view;
    struct coll_pccl_area *areas = execution->areas;
    int status = OMPI_SUCCESS;
    areas[PCCL_INPUT].present = areas[PCCL_OUTPUT].present = false;
    areas[PCCL_INPUT].block_units = areas[PCCL_OUTPUT].block_units = NULL;
    if (view->input.blocks > 0) {
        status = set_area(execution, PCCL_INPUT, &view->input, private_input);
    }
    if (view->output.blocks > 0 && status == OMPI_SUCCESS) {
        status = set_area(execution, PCCL_OUTPUT, &view->output, private_output);
    }
    if (view->relation == COLL_PCCL_INPUT_IN_OUTPUT) {
        areas[PCCL_INPUT] = (struct coll_pccl_area){
            .base = block_address(&areas[PCCL_OUTPUT], view->block),
            .units = block_size(&areas[PCCL_OUTPUT], view->block),
            .present = true,
        };
    } else if (view->relation == COLL_PCCL_OUTPUT_IN_INPUT) {
        areas[PCCL_OUTPUT] = (struct coll_pccl_area){
            .base = block_address(&areas[PCCL_INPUT], view->block),
            .units = block_size(&areas[PCCL_INPUT], view->block),
            .present = true,
        };
    }
    set_chunk_units(execution);
    return status;
}

/* Private input, private output and scratch share one allocation. Scratch slots follow one another without padding, so
 * that neighbours can travel in one message. */
static int set_memory(struct coll_pccl_execution *execution)
{
    const struct coll_pccl_view *view = &execution->view;
    bool private_input = needs_private_input(execution), private_output = needs_private_output(execution);
    uint32_t scratch_slots = execution->plan->program->num_scratch_slots;
    /* The root of a broadcast has nothing to bring: its output is all input. */
    bool is_source = view->relation == COLL_PCCL_INPUT_IN_OUTPUT && view->output.blocks == 1;
    execution->bring_output = private_output && (execution->elements || !is_source);
    execution->take_input = private_input;
    execution->take_block = private_output && view->relation == COLL_PCCL_INPUT_IN_OUTPUT;
    int status = set_areas(execution, NULL, NULL);
    if (status != OMPI_SUCCESS || (!private_input && !private_output && scratch_slots == 0)) {
        return status;
    }
    struct coll_pccl_room none = {0, 0};
    struct coll_pccl_room input = private_input ? side_room(execution, &view->input) : none;
    struct coll_pccl_room output = private_output ? side_room(execution, &view->output) : none;
    size_t chunk = scratch_slots > 0 ? largest_chunk(execution) : 0;
    struct coll_pccl_room scratch = coll_pccl_room(execution->datatype, scratch_slots * chunk);
    size_t output_start = coll_pccl_align(input.bytes), scratch_start = output_start + coll_pccl_align(output.bytes);
    if (!coll_pccl_buffer_reserve(&execution->buffer, scratch_start + scratch.bytes)) {
        return MPI_ERR_NO_MEM;
    }
    char *memory = execution->buffer.memory;
    execution->scratch = memory + scratch_start + scratch.first;
    execution->scratch_stride = (ptrdiff_t)chunk * execution->extent;
    if (private_input || private_output) {
        status = set_areas(execution, private_input ? memory + input.first : NULL,
                           private_output ? memory + output_start + output.first : NULL);
    }
    return status;
}

/* A pointer that is equal stands for equal contents only if it cannot be given a second meaning: predefined types and
 * operators can not. Arrays can: they are compared with copies. */
static bool is_lasting(const struct coll_pccl_side *side)
{
    bool lasting = true;
    if (!side->types && !side->peers) {
        return side->blocks == 0 || ompi_datatype_is_predefined(side->type);
    }
    for (uint32_t i = 0; i < side->blocks && lasting; i++) {
        lasting = block_count(side, i) == 0 || ompi_datatype_is_predefined(block_type(side, i));
    }
    return lasting;
}

/* A plan among neighbours serves any communicator whose ranks have neighbours of the same numbers: there these may be
 * on other hosts, and large messages have other parts. */
static bool has_elusive_parts(const struct coll_pccl_execution *execution)
{
    return execution->plan->key.neighborhood && execution->most_units > execution->network_units &&
           execution->network_units < execution->message_units;
}

static bool is_repeatable(const struct coll_pccl_execution *execution, const struct coll_pccl_call *call)
{
    const struct coll_pccl_side *input = &execution->view.input, *output = &execution->view.output;
    return !has_elusive_parts(execution) && is_lasting(input) && is_lasting(output) &&
           !needs_private_input(execution) && !needs_private_output(execution) &&
           (!call->op || ompi_op_is_intrinsic(call->op));
}

/* Whether the side has copies of these displacements and datatypes, where they may be read: among neighbours not what
 * belongs to MPI_PROC_NULL. */
static __attribute__((noinline)) bool has_blocks(const struct coll_pccl_side *side, const int *counts,
                                                 const int *displs, const MPI_Aint *places,
                                                 struct ompi_datatype_t *const *types)
{
    bool equal = true;
    for (uint32_t i = 0; i < side->blocks && equal; i++) {
        bool is_nowhere = side->peers && side->peers[i] == MPI_PROC_NULL;
        equal = is_nowhere || (side->counts[i] == counts[i] && (!displs || side->displs[i] == displs[i]) &&
                               (!places || side->places[i] == places[i]) && (!types || side->types[i] == types[i]));
    }
    return equal;
}

/* Whether the arrays are those that the side has copies of. Sides of calls of one kind have arrays or have none alike.
 */
static inline bool has_same_arrays(const struct coll_pccl_side *side, const int *counts, const int *displs,
                                   const MPI_Aint *places, struct ompi_datatype_t *const *types)
{
    if (!side->counts) {
        return true;
    }
    if (!side->displs != !displs) {
        return false;
    }
    if (side->peers || types || !displs) {
        return has_blocks(side, counts, displs, places, types);
    }
    unsigned difference = 0; /* few elements as a rule: not worth calling memcmp */
    for (uint32_t i = 0; i < side->blocks; i++) {
        difference |= (unsigned)(side->counts[i] ^ counts[i]) | (unsigned)(side->displs[i] ^ displs[i]);
    }
    return difference == 0;
}

static bool is_bound_to(const struct coll_pccl_execution *execution, const struct coll_pccl_call *call)
{
    const struct coll_pccl_call *bound = &execution->bound;
    return execution->repeatable && bound->send == call->send && bound->receive == call->receive &&
           bound->send_count == call->send_count && bound->receive_count == call->receive_count &&
           bound->send_type == call->send_type && bound->receive_type == call->receive_type && bound->op == call->op &&
           bound->kind == call->kind &&
           (!execution->has_arrays ||
            (has_same_arrays(&execution->view.input, call->send_counts, call->send_displs, call->send_places,
                             call->send_types) &&
             has_same_arrays(&execution->view.output, call->receive_counts, call->receive_displs,
                             call->receive_places, call->receive_types)));
}

/* Not inline: coll_pccl_bind, which seldom comes here, then needs no stack. */
static __attribute__((noinline)) int bind_anew(struct coll_pccl_execution *execution, const struct coll_pccl_call *call)
{
    set_units(execution, call);
    const struct coll_pccl_key *key = &execution->plan->key;
    coll_pccl_view_make(call, key->rank, key->num_ranks, key->neighborhood, &execution->view);
    execution->bound = *call;
    execution->has_arrays = execution->view.input.counts || execution->view.output.counts;
    execution->repeatable = false;
    int status = set_memory(execution);
    if (status == OMPI_SUCCESS) {
        status = coll_pccl_set_messages(execution);
    }
    execution->repeatable = status == OMPI_SUCCESS && is_repeatable(execution, call) &&
                            coll_pccl_keep_arrays(execution) == OMPI_SUCCESS;
    return status;
}

int coll_pccl_bind(struct coll_pccl_execution *execution, const struct coll_pccl_call *call)
{
    return is_bound_to(execution, call) ? OMPI_SUCCESS : bind_anew(execution, call);
}

int coll_pccl_load_private(struct coll_pccl_execution *execution)
{
    const struct coll_pccl_view *view = &execution->view;
    return execution->take_input
               ? take_blocks(execution, &view->input, &execution->areas[PCCL_INPUT], 0, view->input.blocks)
               : take_blocks(execution, &view->output, &execution->areas[PCCL_OUTPUT], view->block, 1);
}

int coll_pccl_unload_private(struct coll_pccl_execution *execution)
{
    return bring_blocks(execution, &execution->view.output, &execution->areas[PCCL_OUTPUT]);
}
