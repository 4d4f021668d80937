/* Rings: every rank hears from its neighbour on a closed tour, n-1 rounds; in pieces, so that the next piece of a block
 * follows while the first is passed on. Patarasuk and Yuan, 2009. */
#include <stdlib.h>

#include "algorithms/portfolio.h"
#include "base/array.h"
#include "base/error.h"

struct ring {
    enum pccl__ring kind;
    uint32_t *order;
};

/* In round s position v hears the block of position v-1-s from v-1; backward: of v+1+s from v+1. */
static void write_round(struct pccl__writer *writer, const struct ring *ring, uint32_t s, uint32_t piece, bool backward)
{
    uint32_t n = writer->problem->num_ranks;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t from = backward ? (v + 1) % n : (v + n - 1) % n;
        uint32_t owner = backward ? (v + 1 + s) % n : (v + n - 1 - s) % n;
        uint32_t chunk = ring->order[owner] * writer->pieces + piece;
        pccl__writer_send(writer, s * writer->pieces + piece, ring->order[from], ring->order[v], &chunk, 1);
    }
}

static void gather(struct pccl__writer *writer, void *context)
{
    const struct ring *ring = context;
    for (uint32_t s = 0; s + 1 < writer->problem->num_ranks; s++) {
        for (uint32_t piece = 0; piece < writer->pieces; piece++) {
            write_round(writer, ring, s, piece, ring->kind == PCCL__BOTH_WAYS && piece % 2 != 0);
        }
    }
}

int pccl__ring_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error)
{
    struct ring ring = {.kind = (enum pccl__ring)PCCL__VARIANT_KIND(problem->variant)};
    if (ring.kind == PCCL__BOTH_WAYS && (pieces % 2 != 0 || problem->num_ranks < 3)) {
        return pccl__reject(error, "needs an even number of pieces and three ranks");
    }
    ring.order = pccl__array_new(problem->num_ranks, sizeof *ring.order);
    int status = ring.order != NULL ? 0 : pccl__fail_memory(error);
    if (status == 0) {
        status = pccl__order_make(problem, PCCL__VARIANT_ORDER(problem->variant), ring.order, error);
    }
    if (status == 0) {
        status = pccl__gatherer_serve(problem, pieces, gather, &ring, schedule, error);
    }
    free(ring.order);
    return status;
}
