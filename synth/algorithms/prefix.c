/* Scans: rank r ends with the operands of the ranks up to its own, or below it, so data only move up. One text serves
 * both: what a message carries ends with its sender's own contribution, in a scan because that is part of the state, in
 * an exscan by definition (schedule.h). Every message joins neighbouring intervals of ranks, lower ones from below.
 * Doubling: Kogge and Stone 1973, Hillis and Steele 1986. */
#include <stdlib.h>

#include "algorithms/exchange.h"
#include "algorithms/meter.h"
#include "base/array.h"

static uint32_t *all_chunks(uint32_t count)
{
    uint32_t *chunks = pccl__array_new(count, sizeof *chunks);
    for (uint32_t i = 0; i < count && chunks != NULL; i++) {
        chunks[i] = i;
    }
    return chunks;
}

/* In round k from the rank 2^k below: the interval that ends at a rank doubles. Fewest rounds, of the whole vector. */
static void write_doubling(struct pccl__writer *writer, const uint32_t *chunks)
{
    uint32_t n = writer->problem->num_ranks;
    for (uint32_t k = 0; k < pccl__pattern_rounds(n); k++) {
        for (uint32_t rank = UINT32_C(1) << k; rank < n; rank++) {
            pccl__writer_reduce(writer, k, rank - (UINT32_C(1) << k), rank, chunks, writer->pieces);
        }
    }
}

/* From rank to rank, piece after piece: each vector is sent once. */
static void write_chain(struct pccl__writer *writer, const uint32_t *chunks)
{
    for (uint32_t rank = 1; rank < writer->problem->num_ranks; rank++) {
        for (uint32_t piece = 0; piece < writer->pieces; piece++) {
            pccl__writer_reduce(writer, rank - 1 + piece, rank - 1, rank, chunks + piece, 1);
        }
    }
}

/* Each contribution straight to all ranks above, the nearest first. All are of one step: they carry contributions. */
static void write_spread(struct pccl__writer *writer, const uint32_t *chunks)
{
    uint32_t n = writer->problem->num_ranks;
    for (uint32_t distance = 1; distance < n; distance++) {
        for (uint32_t rank = distance; rank < n; rank++) {
            pccl__writer_reduce(writer, 0, rank - distance, rank, chunks, writer->pieces);
        }
    }
}

int pccl__prefix_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    struct pccl__writer writer;
    uint32_t *chunks = all_chunks(pieces);
    pccl__writer_open(&writer, problem, pieces, pieces, error);
    if (chunks == NULL) {
        pccl__writer_fail(&writer, PCCL_ERR_MEMORY, "out of memory");
    } else if (problem->variant == PCCL__PREFIX_DOUBLING) {
        write_doubling(&writer, chunks);
    } else if (problem->variant == PCCL__PREFIX_CHAIN) {
        write_chain(&writer, chunks);
    } else {
        write_spread(&writer, chunks);
    }
    free(chunks);
    return pccl__writer_close(&writer, schedule);
}

/* --- forecasts ---------------------------------------------------------------------------------------------------- */

/* Every rank hears from the one `distance` below it. */
static bool measure_shift(struct pccl__meter *meter, uint32_t distance, struct pccl__volley *volley)
{
    bool complete = true;
    for (uint32_t rank = distance; rank < meter->problem->num_ranks && complete; rank++) {
        complete = pccl__meter_message(meter, volley, rank - distance, rank);
    }
    return complete;
}

static int64_t estimate_doubling(struct pccl__meter *meter)
{
    const struct pccl__problem *problem = meter->problem;
    int64_t sum = 0;
    for (uint32_t k = 0; k < pccl__pattern_rounds(problem->num_ranks) && sum >= 0; k++) {
        struct pccl__volley volley = {0};
        bool complete = measure_shift(meter, UINT32_C(1) << k, &volley);
        pccl__meter_end(meter);
        sum = complete ? pccl__add_ps(sum, pccl__volley_ps(&volley, problem->block_bytes)) : -1;
    }
    return sum;
}

/* The first piece all the way, then the others one after the other. */
static int64_t estimate_chain(struct pccl__meter *meter, uint32_t pieces)
{
    const struct pccl__problem *problem = meter->problem;
    struct pccl__volley volley = {0};
    bool complete = measure_shift(meter, 1, &volley);
    pccl__meter_end(meter);
    int64_t piece_bytes = problem->block_bytes / pieces, way_ps = 0;
    for (uint32_t rank = 1; rank < problem->num_ranks && complete; rank++) {
        way_ps = pccl__add_ps(way_ps, pccl__message_ps(problem, rank - 1, rank, piece_bytes));
    }
    int64_t transfer_ps = pccl_transfer_ps(piece_bytes, volley.load_ps_per_mib), busy_ps = pccl__overheads_ps(problem);
    int64_t follow_ps = pccl__times_ps(transfer_ps > busy_ps ? transfer_ps : busy_ps, pieces - 1);
    return complete ? pccl__add_ps(way_ps, follow_ps) : -1;
}

static int64_t estimate_spread(struct pccl__meter *meter)
{
    const struct pccl__problem *problem = meter->problem;
    struct pccl__volley volley = {0};
    bool complete = true;
    for (uint32_t distance = 1; distance < problem->num_ranks && complete; distance++) {
        complete = measure_shift(meter, distance, &volley);
    }
    pccl__meter_end(meter);
    int64_t busy_ps = pccl__times_ps(pccl__overheads_ps(problem), problem->num_ranks - 1);
    int64_t transfer_ps = pccl_transfer_ps(problem->block_bytes, volley.load_ps_per_mib);
    return complete ? pccl__add_ps(volley.fixed_ps, transfer_ps > busy_ps ? transfer_ps : busy_ps) : -1;
}

int64_t pccl__estimate_prefix(const struct pccl__problem *problem, uint32_t pieces)
{
    struct pccl__meter meter;
    int64_t estimate_ps = -1;
    if (pccl__meter_open(&meter, problem)) {
        estimate_ps = problem->variant == PCCL__PREFIX_DOUBLING ? estimate_doubling(&meter)
                      : problem->variant == PCCL__PREFIX_CHAIN  ? estimate_chain(&meter, pieces)
                                                                : estimate_spread(&meter);
    }
    pccl__meter_close(&meter);
    return estimate_ps;
}
