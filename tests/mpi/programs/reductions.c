/* Calls that reduce: which elements a rank gets, out of whose operands. */
#include <stdio.h>
#include <string.h>

#include "call.h"

static bool scatters(const struct call *call)
{
    return call->collective == REDUCE_SCATTER || call->collective == REDUCE_SCATTER_BLOCK;
}

/* The operands of ranks [0, n) make the result of this rank. */
static int num_operands(const struct call *call)
{
    switch (call->collective) {
    case SCAN: return call->rank + 1;
    case EXSCAN: return call->rank;
    case REDUCE: return call->rank == call->root ? call->size : 0;
    default: return call->size;
    }
}

static void choose_counts(struct call *call)
{
    struct operands *operands = &call->operands;
    struct random *shared = &call->shared;
    const int base = random_below(shared, 10) == 0  ? 0
                     : random_below(shared, 3) == 0 ? 1
                     : random_below(shared, 8) == 0 ? (int)random_below(shared, 3000)
                                                    : 1 + (int)random_below(shared, 40);
    operands->total = operands->count = base;
    if (scatters(call)) {
        operands->total = 0;
        for (int i = 0; i < call->size; i++) {
            const bool equal = call->collective == REDUCE_SCATTER_BLOCK;
            operands->counts[i] = equal ? base : base * (int)(random_mix(call->seed, (uint64_t)i) % 3);
            operands->first += i < call->rank ? operands->counts[i] : 0;
            operands->total += operands->counts[i];
        }
        operands->count = operands->counts[call->rank];
    }
}

/* As large as MPI says it must be. */
static void make_buffer(struct call *call, struct buffer *buffer, struct buffer *expected, bool significant, int count)
{
    const int none = 0;
    buffer_make(buffer, call->operands.type, significant ? 1 : 0, &count, &none, &call->own);
    buffer_copy(expected, buffer);
}

static bool receives(const struct call *call)
{
    return call->collective != REDUCE || call->rank == call->root;
}

void reduction_make(struct call *call)
{
    struct operands *operands = &call->operands;
    operands_choose(operands, &call->shared);
    choose_counts(call);
    snprintf(call->text + strlen(call->text), sizeof(call->text) - strlen(call->text), ", %s, count %d", operands->name,
             operands->count);
    make_buffer(call, &operands->send, &operands->send_expected, !call->in_place, operands->total);
    make_buffer(call, &operands->receive, &operands->receive_expected, receives(call),
                call->in_place ? operands->total : operands->count);
}

/* Elements [first, first + count) of the operand of a rank. */
static void write_operand(const struct call *call, void *address, int rank, int first, int count)
{
    const struct operands *operands = &call->operands;
    const uint64_t seed = random_mix(call->data, (uint64_t)rank);
    for (int i = 0; i < count; i++) {
        operand_write(operands, (char *)address + i * operands->extent, seed, first + i);
    }
}

/* The result, made in rank order in buffers like the expected one. */
static void write_result(const struct call *call, struct buffer *expected)
{
    const struct operands *operands = &call->operands;
    struct buffer left;
    buffer_copy(&left, expected);
    for (int rank = 0; rank < num_operands(call); rank++) {
        write_operand(call, expected->address, rank, operands->first, operands->count);
        if (rank > 0) {
            operands_combine(operands, left.address, expected->address, operands->count);
        }
        memcpy(left.memory, expected->memory, left.bytes);
    }
    buffer_free(&left);
}

void reduction_fill(struct call *call)
{
    struct operands *operands = &call->operands;
    write_operand(call, call->in_place ? operands->receive.address : operands->send.address, call->rank, 0,
                  operands->total);
    memcpy(operands->send_expected.memory, operands->send.memory, operands->send.bytes);
    memcpy(operands->receive_expected.memory, operands->receive.memory, operands->receive.bytes);
    write_result(call, &operands->receive_expected);
}

/* --- what MPI leaves open ----------------------------------------------------------------------------------------- */

static void accept(const struct operands *operands, ptrdiff_t offset, ptrdiff_t bytes)
{
    memcpy((char *)operands->receive_expected.address + offset, (char *)operands->receive.address + offset,
           (size_t)bytes);
}

/* Bytes inside the elements of a predefined pair type that C leaves undefined. */
static void accept_pads(const struct operands *operands, int count)
{
    const struct reduction *row = operands->row;
    for (int i = 0; row != NULL && i < count; i++) {
        accept(operands, i * operands->extent + row->pad_offset, row->pad_bytes);
        accept(operands, i * operands->extent + row->pad2_offset, row->pad2_bytes);
    }
}

/* Whole elements: an in-place reduce-scatter leaves anything behind its result, an exclusive scan at rank 0. */
static void accept_elements(const struct operands *operands, int first, int end)
{
    for (int i = first; i < end; i++) {
        if (operands->row != NULL) {
            ptrdiff_t low = operands->receive.low < 0 ? operands->receive.low : 0;
            accept(operands, i * operands->extent + low, operands->extent);
        }
        for (int field = 0; operands->row == NULL && field < operands->map.count; field++) {
            accept(operands, i * operands->extent + operands->map.offsets[field], operands->map.sizes[field]);
        }
    }
}

void reduction_check(const struct call *call)
{
    const struct operands *operands = &call->operands;
    if (receives(call)) {
        accept_pads(operands, call->in_place ? operands->total : operands->count);
    }
    if (call->in_place && scatters(call)) {
        accept_elements(operands, operands->count, operands->total);
    }
    if (call->in_place && call->collective == EXSCAN && call->rank == 0) {
        accept_elements(operands, 0, operands->count);
    }
    buffer_equal(&operands->send, &operands->send_expected, "send buffer");
    buffer_equal(&operands->receive, &operands->receive_expected, "receive buffer");
}

/* --- end ---------------------------------------------------------------------------------------------------------- */

void reduction_release(struct call *call)
{
    operands_release(&call->operands);
}

void reduction_free(struct call *call)
{
    struct operands *operands = &call->operands;
    operands_free(operands);
    buffer_free(&operands->send);
    buffer_free(&operands->receive);
    buffer_free(&operands->send_expected);
    buffer_free(&operands->receive_expected);
}
