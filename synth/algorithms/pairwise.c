/* Every rank to every other directly (spread, pairwise exchange), and Bruck's all-to-all in log2(n) rounds. */
#include <stdlib.h>

#include "algorithms/exchange.h"
#include "base/array.h"
#include "base/error.h"

/* Whom position v serves in round s (1 .. n-1), or PCCL_NONE. Outward: n-1 .. 1 away, rising side and falling side. */
static uint32_t spread_target(enum pccl__spread spread, uint32_t n, uint32_t v, uint32_t s)
{
    if (spread == PCCL__XOR) {
        return v ^ s;
    }
    return v + s < n ? v + s : v + s - n;
}

/* One block of `from` (or for `to`) in all its pieces, each a message. */
static void send_pieces(struct pccl__writer *writer, uint32_t round, uint32_t from, uint32_t to, uint32_t block)
{
    for (uint32_t piece = 0; piece < writer->pieces; piece++) {
        uint32_t chunk = block * writer->pieces + piece;
        pccl__writer_send(writer, round * writer->pieces + piece, from, to, &chunk, 1);
    }
}

static void gather_spread(struct pccl__writer *writer, void *context)
{
    enum pccl__spread spread = *(const enum pccl__spread *)context;
    uint32_t n = writer->problem->num_ranks;
    for (uint32_t s = 1; s < n; s++) {
        for (uint32_t v = 0; v < n; v++) {
            uint32_t to = spread_target(spread, n, v, s);
            send_pieces(writer, s - 1, v, to, v);
        }
    }
}

/* Distance n-s in round s, to the rank above and to that below. */
static void gather_outward(struct pccl__writer *writer, void *context)
{
    (void)context;
    uint32_t n = writer->problem->num_ranks;
    for (uint32_t s = 1; s < n; s++) {
        for (uint32_t v = 0; v + n - s < n; v++) {
            send_pieces(writer, s - 1, v, v + n - s, v);
            send_pieces(writer, s - 1, v + n - s, v, v + n - s);
        }
    }
}

static void write_alltoall(struct pccl__writer *writer, enum pccl__spread spread, const uint32_t *order)
{
    uint32_t n = writer->problem->num_ranks;
    for (uint32_t s = 1; s < n; s++) {
        for (uint32_t v = 0; v < n; v++) {
            uint32_t from = order[v], to = order[spread_target(spread, n, v, s)];
            send_pieces(writer, s - 1, from, to, from * n + to);
        }
    }
}

/* Lets the algorithm below own an order of the ranks while it writes. */
static int with_order(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                      struct pccl_error *error, void (*write)(struct pccl__writer *, uint32_t, const uint32_t *))
{
    uint32_t *order = pccl__array_new(problem->num_ranks, sizeof *order);
    if (order == NULL) {
        return pccl__fail_memory(error);
    }
    int status = pccl__order_make(problem, PCCL__VARIANT_ORDER(problem->variant), order, error);
    if (status == 0) {
        struct pccl__writer writer;
        pccl__writer_open(&writer, problem, pieces, pieces, error);
        write(&writer, PCCL__VARIANT_KIND(problem->variant), order);
        status = pccl__writer_close(&writer, schedule);
    }
    free(order);
    return status;
}

static void write_spread(struct pccl__writer *writer, uint32_t kind, const uint32_t *order)
{
    write_alltoall(writer, (enum pccl__spread)kind, order);
}

int pccl__spread_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    enum pccl__spread spread = (enum pccl__spread)PCCL__VARIANT_KIND(problem->variant);
    if (spread == PCCL__XOR && (problem->num_ranks & (problem->num_ranks - 1)) != 0) {
        return pccl__reject(error, "needs a power of two of ranks");
    }
    if (problem->collective == PCCL_ALLTOALL) {
        return with_order(problem, pieces, schedule, error, write_spread);
    }
    return pccl__gatherer_serve(problem, pieces, spread == PCCL__OUTWARD ? gather_outward : gather_spread, &spread,
                                schedule, error);
}

/* Blocks that position v passes on in round k: those whose way (from source to target: the difference of positions, or
 * their exclusive or) has bit k; the lower bits are behind them. */
static uint32_t collect_blocks(const struct pccl__writer *writer, enum pccl__pattern pattern, const uint32_t *order,
                               uint32_t v, uint32_t k, uint32_t *chunks)
{
    uint32_t n = writer->problem->num_ranks, count = 0;
    for (uint32_t way = 1; way < n; way++) {
        if ((way >> k & 1) == 0) {
            continue;
        }
        uint32_t behind = way & ((UINT32_C(1) << k) - 1);
        bool exclusive = pattern == PCCL__DOUBLING;
        uint32_t source = exclusive ? v ^ behind : (v + n - behind) % n;
        uint32_t target = exclusive ? source ^ way : (source + way) % n;
        for (uint32_t piece = 0; piece < writer->pieces; piece++) {
            chunks[count++] = (order[source] * n + order[target]) * writer->pieces + piece;
        }
    }
    return count;
}

static void write_transpose(struct pccl__writer *writer, uint32_t kind, const uint32_t *order)
{
    enum pccl__pattern pattern = (enum pccl__pattern)kind;
    uint32_t n = writer->problem->num_ranks;
    uint32_t *chunks = pccl__array_new((size_t)n * writer->pieces, sizeof *chunks);
    if (chunks == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    for (uint32_t k = 0; k < pccl__pattern_rounds(n); k++) {
        for (uint32_t v = 0; v < n; v++) {
            uint32_t distance = UINT32_C(1) << k;
            uint32_t peer = pattern == PCCL__DOUBLING ? v ^ distance : (v + distance) % n;
            uint32_t count = collect_blocks(writer, pattern, order, v, k, chunks);
            pccl__writer_send(writer, k, order[v], order[peer], chunks, count);
        }
    }
    free(chunks);
}

int pccl__transpose_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                              struct pccl_error *error)
{
    uint32_t n = problem->num_ranks;
    if (PCCL__VARIANT_KIND(problem->variant) == PCCL__DOUBLING && (n & (n - 1)) != 0) {
        return pccl__reject(error, "needs a power of two of ranks");
    }
    return with_order(problem, pieces, schedule, error, write_transpose);
}
