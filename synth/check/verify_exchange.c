/* The program of one rank against its edges: each is served once, by one operation, in the order of its pair. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "pccl/verify.h"

/* The edges of one direction, by peer; those of a peer stay in order. */
struct queue {
    const struct pccl_edge *edges;
    uint32_t count;
    uint32_t *sorted; /* [count] */
    uint32_t *taken;  /* [count] at the first of a peer: how many of the peer's are done */
    uint32_t *last;   /* [count] at the first of a peer: its last operation so far, plus 1 */
};

struct check {
    uint32_t rank;
    const struct pccl_program *program;
    struct pccl_error *error;
    struct queue sends, receives;
};

static int fail_at(const struct check *check, uint32_t number, const char *what)
{
    return pccl__fail(check->error, PCCL_ERR_VERIFY, "rank %" PRIu32 ", operation %" PRIu32 " %s", check->rank, number,
                      what);
}

/* Merge sort: stable, and qsort takes no context. */
static void sort_by_peer(const struct pccl_edge *edges, uint32_t *list, uint32_t *room, uint32_t count)
{
    uint32_t half = count / 2, left = 0, right = half;
    if (count < 2) {
        return;
    }
    sort_by_peer(edges, list, room, half);
    sort_by_peer(edges, list + half, room, count - half);
    for (uint32_t i = 0; i < count; i++) {
        bool from_left = right == count || (left < half && edges[list[left]].peer <= edges[list[right]].peer);
        room[i] = list[from_left ? left++ : right++];
    }
    memcpy(list, room, count * sizeof *list);
}

static int open_queue(struct queue *queue, const struct pccl_edge *edges, uint32_t count)
{
    *queue = (struct queue){.edges = edges, .count = count};
    queue->sorted = pccl__array_new(count, sizeof *queue->sorted);
    queue->taken = pccl__array_new(count, sizeof *queue->taken);
    queue->last = pccl__array_new(count, sizeof *queue->last);
    if (queue->sorted == NULL || queue->taken == NULL || queue->last == NULL) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        queue->sorted[i] = i;
    }
    sort_by_peer(edges, queue->sorted, queue->taken, count);
    memset(queue->taken, 0, count * sizeof *queue->taken);
    return 0;
}

static void close_queue(struct queue *queue)
{
    free(queue->sorted);
    free(queue->taken);
    free(queue->last);
}

/* Position in sorted[] of the peer's first edge, count if it has none. */
static uint32_t find_peer(const struct queue *queue, uint32_t peer)
{
    uint32_t low = 0, high = queue->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (queue->edges[queue->sorted[middle]].peer < peer) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < queue->count && queue->edges[queue->sorted[low]].peer == peer ? low : queue->count;
}

/* The block of the peer's next edge, which then is done; PCCL_NONE if there is none left. */
static uint32_t take(struct queue *queue, uint32_t peer)
{
    uint32_t first = find_peer(queue, peer);
    if (first == queue->count || first + queue->taken[first] >= queue->count) {
        return PCCL_NONE;
    }
    const struct pccl_edge *edge = &queue->edges[queue->sorted[first + queue->taken[first]]];
    if (edge->peer != peer) {
        return PCCL_NONE;
    }
    queue->taken[first]++;
    return edge->block;
}

static int check_message(struct check *check, uint32_t number)
{
    const struct pccl_operation *operation = &check->program->operations[number];
    bool sends = operation->kind == PCCL_OP_SEND;
    struct queue *queue = sends ? &check->sends : &check->receives;
    uint32_t block = operation->peer != check->rank ? take(queue, operation->peer) : PCCL_NONE;
    if (block == PCCL_NONE) {
        return fail_at(check, number, "exchanges more with its peer than the edges ask for");
    }
    if (check->program->slots[operation->first_slot] != PCCL_SLOT(sends ? PCCL_INPUT : PCCL_OUTPUT, block)) {
        return fail_at(check, number, "moves another block than the next edge with its peer");
    }
    uint32_t *last = &queue->last[find_peer(queue, operation->peer)];
    if (*last > 0 ? check->program->operations[*last - 1].next_in_lane != number : operation->num_waits != 0) {
        return fail_at(check, number, "is not released by the message before with its peer");
    }
    if (operation->num_waits != (*last > 0)) {
        return fail_at(check, number, "waits for something else than the message before with its peer");
    }
    *last = number + 1;
    return 0;
}

static int check_copy(struct check *check, uint32_t number)
{
    const struct pccl_operation *operation = &check->program->operations[number];
    const pccl_slot *slots = check->program->slots + operation->first_slot;
    uint32_t from = take(&check->sends, check->rank), to = take(&check->receives, check->rank);
    if (operation->num_waits != 0 || operation->next_in_lane != PCCL_NONE || from == PCCL_NONE || to == PCCL_NONE ||
        slots[0] != PCCL_SLOT(PCCL_INPUT, from) || slots[1] != PCCL_SLOT(PCCL_OUTPUT, to)) {
        return fail_at(check, number, "does not copy the next block that stays");
    }
    return 0;
}

static int check_operations(struct check *check)
{
    const struct pccl_program *program = check->program;
    uint32_t num_slots = 0;
    int status = 0;
    for (uint32_t i = 0; i < program->num_operations && status == 0; i++) {
        const struct pccl_operation *operation = &program->operations[i];
        uint32_t operands = operation->kind == PCCL_OP_COPY ? 2 : 1;
        if (operation->kind > PCCL_OP_COPY || operation->num_slots != 1 || operation->first_slot != num_slots ||
            num_slots + operands > program->num_slots || operation->num_successors != 0) {
            return fail_at(check, i, "is no single message or copy");
        }
        num_slots += operands;
        status = operation->kind == PCCL_OP_COPY ? check_copy(check, i) : check_message(check, i);
    }
    return status;
}

/* All edges are done, and no lane leads to what does not exist. */
static int check_ends(const struct check *check)
{
    uint32_t sends = 0, receives = 0, releases = 0, waits = 0;
    for (uint32_t i = 0; i < check->program->num_operations; i++) {
        const struct pccl_operation *operation = &check->program->operations[i];
        sends += operation->kind != PCCL_OP_RECEIVE;
        receives += operation->kind != PCCL_OP_SEND;
        releases += operation->next_in_lane != PCCL_NONE;
        waits += operation->num_waits;
    }
    if (sends != check->sends.count || receives != check->receives.count || releases != waits) {
        return pccl__fail(check->error, PCCL_ERR_VERIFY,
                          "rank %" PRIu32 " serves %" PRIu32 " of %" PRIu32 " edges out and %" PRIu32 " of %" PRIu32
                          " in",
                          check->rank, sends, check->sends.count, receives, check->receives.count);
    }
    return 0;
}

int pccl_verify_exchange(const struct pccl_program *program, const struct pccl_edge *sends, uint32_t num_sends,
                         const struct pccl_edge *receives, uint32_t num_receives, struct pccl_error *error)
{
    struct check check = {.rank = program->rank, .program = program, .error = error};
    int status = open_queue(&check.sends, sends, num_sends);
    if (status == 0) {
        status = open_queue(&check.receives, receives, num_receives);
    }
    if (status != 0) {
        pccl__fail_memory(error);
    } else {
        status = check_operations(&check);
    }
    if (status == 0) {
        status = check_ends(&check);
    }
    close_queue(&check.sends);
    close_queue(&check.receives);
    return status;
}
