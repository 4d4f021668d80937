/* Second pass over programs: the k-th send of a rank to another meets the k-th receive there. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "check/programs.h"

/* One end of a message. */
struct end {
    uint32_t source, target; /* ranks of sender and receiver */
    uint32_t rank, operation;
};

/* All operations of a kind, by sender, then receiver, then program order. */
struct ends {
    struct end *list;
    uint32_t count;
};

static uint32_t count_ends(const struct pccl__programs *programs, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < programs->demand->num_ranks; rank++) {
        const struct pccl_program *program = programs->programs[rank];
        for (uint32_t i = 0; i < program->num_operations; i++) {
            count += program->operations[i].kind == kind;
        }
    }
    return count;
}

/* Stable counting sort by one of the two ranks. first: [num_ranks + 1] of room. */
static void sort_ends(const struct end *from, struct end *to, uint32_t count, bool by_source, uint32_t *first,
                      uint32_t num_ranks)
{
    for (uint32_t i = 0; i <= num_ranks; i++) {
        first[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        first[(by_source ? from[i].source : from[i].target) + 1]++;
    }
    for (uint32_t i = 0; i < num_ranks; i++) {
        first[i + 1] += first[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        to[first[by_source ? from[i].source : from[i].target]++] = from[i];
    }
}

static int list_ends(const struct pccl__programs *programs, uint32_t kind, struct ends *ends)
{
    uint32_t num_ranks = programs->demand->num_ranks, used = 0;
    ends->count = count_ends(programs, kind);
    ends->list = pccl__array_new(ends->count, sizeof *ends->list);
    struct end *other = pccl__array_new(ends->count, sizeof *other);
    uint32_t *first = pccl__array_new((size_t)num_ranks + 1, sizeof *first);
    if (ends->list == NULL || other == NULL || first == NULL) {
        free(other);
        free(first);
        return pccl__fail_memory(programs->error);
    }
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        const struct pccl_program *program = programs->programs[rank];
        for (uint32_t i = 0; i < program->num_operations; i++) {
            const struct pccl_operation *operation = &program->operations[i];
            if (operation->kind == kind) {
                bool sends = kind == PCCL_OP_SEND;
                ends->list[used++] =
                    (struct end){sends ? rank : operation->peer, sends ? operation->peer : rank, rank, i};
            }
        }
    }
    sort_ends(ends->list, other, used, false, first, num_ranks);
    sort_ends(other, ends->list, used, true, first, num_ranks);
    free(other);
    free(first);
    return 0;
}

static int match_pair(struct pccl__programs *programs, const struct end *send, const struct end *receive)
{
    const struct pccl_program *from = programs->programs[send->rank], *to = programs->programs[receive->rank];
    const struct pccl_operation *out = &from->operations[send->operation], *in = &to->operations[receive->operation];
    if (out->num_slots != in->num_slots) {
        return pccl__fail(programs->error, PCCL_ERR_VERIFY,
                          "rank %u sends %u chunks (operation %u), rank %u receives %u (operation %u)",
                          send->rank, out->num_slots, send->operation, receive->rank, in->num_slots,
                          receive->operation);
    }
    for (uint32_t i = 0; i < out->num_slots; i++) {
        uint32_t sent = from->slot_chunk[out->first_slot + i], received = to->slot_chunk[in->first_slot + i];
        if (sent != received) {
            return pccl__fail(programs->error, PCCL_ERR_VERIFY,
                              "rank %u sends chunk %u (operation %u), rank %u receives chunk %u (operation %u)",
                              send->rank, sent, send->operation, receive->rank, received, receive->operation);
        }
    }
    uint32_t a = programs->first_operation[send->rank] + send->operation;
    uint32_t b = programs->first_operation[receive->rank] + receive->operation;
    programs->partner[a] = b;
    programs->partner[b] = a;
    return 0;
}

static int match_ends(struct pccl__programs *programs, const struct ends *sends, const struct ends *receives)
{
    for (uint32_t i = 0; i < sends->count || i < receives->count; i++) {
        const struct end *send = i < sends->count ? &sends->list[i] : NULL;
        const struct end *receive = i < receives->count ? &receives->list[i] : NULL;
        bool agree =
            send != NULL && receive != NULL && send->source == receive->source && send->target == receive->target;
        if (!agree) {
            bool send_alone = receive == NULL ||
                              (send != NULL && (send->source < receive->source ||
                                                (send->source == receive->source && send->target < receive->target)));
            const struct end *alone = send_alone ? send : receive;
            return pccl__fail(programs->error, PCCL_ERR_VERIFY,
                              "rank %u, operation %u: a message from rank %u to rank %u is %s", alone->rank,
                              alone->operation, alone->source, alone->target,
                              send_alone ? "sent but never received" : "received but never sent");
        }
        int status = match_pair(programs, send, receive);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

int pccl__programs_match(struct pccl__programs *programs)
{
    uint32_t total = programs->first_operation[programs->demand->num_ranks];
    struct ends sends = {0}, receives = {0};
    programs->partner = pccl__array_new(total, sizeof *programs->partner);
    int status = programs->partner != NULL ? 0 : pccl__fail_memory(programs->error);
    for (uint32_t i = 0; i < total && status == 0; i++) {
        programs->partner[i] = PCCL_NONE;
    }
    if (status == 0) {
        status = list_ends(programs, PCCL_OP_SEND, &sends);
    }
    if (status == 0) {
        status = list_ends(programs, PCCL_OP_RECEIVE, &receives);
    }
    if (status == 0) {
        status = match_ends(programs, &sends, &receives);
    }
    free(sends.list);
    free(receives.list);
    return status;
}
