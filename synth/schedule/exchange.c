/* Programs of ranks that know only their own part of a pattern: every block in one message between its two ends. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "pccl/program.h"

static uint32_t count_own(uint32_t rank, const struct pccl_edge *edges, uint32_t count)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < count; i++) {
        own += edges[i].peer == rank;
    }
    return own;
}

static void append(struct pccl_program *program, uint32_t kind, uint32_t peer, uint32_t chunk, pccl_slot from,
                   pccl_slot to)
{
    uint32_t first = program->num_slots;
    program->operations[program->num_operations++] = (struct pccl_operation){
        .kind = kind, .peer = peer, .first_slot = first, .num_slots = 1, .next_in_lane = PCCL_NONE};
    if (kind != PCCL_OP_RECEIVE) {
        program->slots[program->num_slots++] = from;
    }
    if (kind != PCCL_OP_SEND) {
        program->slots[program->num_slots++] = to;
    }
    for (uint32_t i = first; i < program->num_slots; i++) {
        program->slot_chunk[i] = chunk;
    }
}

/* Blocks that stay: the first to itself goes where the first from itself is expected, and so on. */
static void append_copies(struct pccl_program *program, const struct pccl_edge *sends, uint32_t num_sends,
                          const struct pccl_edge *receives)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < num_sends; i++) {
        if (sends[i].peer == program->rank) {
            while (receives[next].peer != program->rank) {
                next++;
            }
            append(program, PCCL_OP_COPY, PCCL_NONE, i, PCCL_SLOT(PCCL_INPUT, sends[i].block),
                   PCCL_SLOT(PCCL_OUTPUT, receives[next++].block));
        }
    }
}

struct lane {
    uint32_t kind, peer, operation;
};

static int compare_lanes(const void *left, const void *right)
{
    const struct lane *a = left, *b = right;
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->peer != b->peer) {
        return a->peer < b->peer ? -1 : 1;
    }
    return a->operation < b->operation ? -1 : a->operation > b->operation;
}

/* Messages of one direction with one peer follow one another. */
static int link_lanes(struct pccl_program *program)
{
    uint32_t count = 0;
    struct lane *lanes = pccl__array_new(program->num_operations, sizeof *lanes);
    if (lanes == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < program->num_operations; i++) {
        if (program->operations[i].peer != PCCL_NONE) {
            lanes[count++] = (struct lane){program->operations[i].kind, program->operations[i].peer, i};
        }
    }
    qsort(lanes, count, sizeof *lanes, compare_lanes);
    for (uint32_t i = 1; i < count; i++) {
        if (lanes[i].kind == lanes[i - 1].kind && lanes[i].peer == lanes[i - 1].peer) {
            program->operations[lanes[i - 1].operation].next_in_lane = lanes[i].operation;
            program->operations[lanes[i].operation].num_waits = 1;
        }
    }
    free(lanes);
    return 0;
}

static struct pccl_program *allocate(uint32_t rank, uint32_t num_edges)
{
    struct pccl_program *program = pccl__array_new(1, sizeof *program);
    if (program == NULL) {
        return NULL;
    }
    program->rank = rank;
    program->operations = pccl__array_new(num_edges, sizeof *program->operations);
    program->slots = pccl__array_new(num_edges, sizeof *program->slots);
    program->slot_chunk = pccl__array_new(num_edges, sizeof *program->slot_chunk);
    program->successors = pccl__array_new(0, sizeof *program->successors);
    if (program->operations == NULL || program->slots == NULL || program->slot_chunk == NULL ||
        program->successors == NULL) {
        pccl_program_free(program);
        return NULL;
    }
    return program;
}

int pccl_program_exchange(uint32_t rank, const struct pccl_edge *sends, uint32_t num_sends,
                          const struct pccl_edge *receives, uint32_t num_receives, struct pccl_program **program,
                          struct pccl_error *error)
{
    uint32_t sent = count_own(rank, sends, num_sends), received = count_own(rank, receives, num_receives);
    *program = NULL;
    if (sent != received) {
        return pccl__fail(error, PCCL_ERR_INVALID, "rank %u sends %u blocks to itself, but receives %u from itself", rank,
                          sent, received);
    }
    if (num_sends > PCCL_MAX_CHUNKS - num_receives) {
        return pccl__fail(error, PCCL_ERR_OVERFLOW, "rank %u exchanges more than %u blocks", rank, PCCL_MAX_CHUNKS);
    }
    struct pccl_program *made = allocate(rank, num_sends + num_receives);
    if (made == NULL) {
        return pccl__fail_memory(error);
    }
    for (uint32_t i = 0; i < num_sends; i++) {
        if (sends[i].peer != rank) {
            append(made, PCCL_OP_SEND, sends[i].peer, i, PCCL_SLOT(PCCL_INPUT, sends[i].block), PCCL_NONE);
        }
    }
    for (uint32_t i = 0; i < num_receives; i++) {
        if (receives[i].peer != rank) {
            append(made, PCCL_OP_RECEIVE, receives[i].peer, num_sends + i, PCCL_NONE,
                   PCCL_SLOT(PCCL_OUTPUT, receives[i].block));
        }
    }
    append_copies(made, sends, num_sends, receives);
    if (link_lanes(made) != 0) {
        pccl_program_free(made);
        return pccl__fail_memory(error);
    }
    *program = made;
    return 0;
}
