/* Recursive doubling where the number of ranks is no power of two: the first ranks fold in pairs, so that a power of
 * two of them (each standing for one rank or two neighbours) goes through the rounds. Members stand for intervals of
 * ranks in rising order, so this serves operators that do not commute. */
#include <stdlib.h>

#include "algorithms/exchange.h"
#include "base/array.h"
#include "base/bitset.h"
#include "base/error.h"

/* Positions 2i and 2i+1 of the first 2 * num_pairs fold into 2i; the others stand alone. */
struct fold {
    enum pccl__pattern pattern;
    uint32_t num_ranks, num_pairs, num_members;
    uint32_t *order;   /* ranks by position */
    uint32_t *members; /* [num_members] ranks that go through the rounds */
    uint32_t *chunks;  /* all of them, rising */
};

static int make_fold(struct fold *fold, const struct pccl__problem *problem, uint32_t num_chunks,
                     struct pccl_error *error)
{
    uint32_t n = problem->num_ranks;
    *fold = (struct fold){.num_ranks = n, .num_members = 1};
    fold->pattern = (enum pccl__pattern)PCCL__VARIANT_KIND(problem->variant);
    while (fold->num_members <= n / 2) {
        fold->num_members *= 2;
    }
    fold->num_pairs = n - fold->num_members;
    fold->order = pccl__array_new(2 * (size_t)n + num_chunks, sizeof *fold->order);
    if (fold->order == NULL) {
        return pccl__fail_memory(error);
    }
    fold->members = fold->order + n;
    fold->chunks = fold->members + n;
    int status = pccl__order_make(problem, PCCL__VARIANT_ORDER(problem->variant), fold->order, error);
    for (uint32_t i = 0; i < fold->num_members; i++) {
        fold->members[i] = fold->order[i < fold->num_pairs ? 2 * i : i + fold->num_pairs];
    }
    for (uint32_t i = 0; i < num_chunks; i++) {
        fold->chunks[i] = i;
    }
    return status;
}

/* What a pair's members hold goes from the odd one to the even one, or back. */
static void write_pairs(struct pccl__writer *writer, const struct fold *fold, bool back, uint32_t num_chunks)
{
    for (uint32_t i = 0; i < fold->num_pairs; i++) {
        uint32_t even = fold->order[2 * i], odd = fold->order[2 * i + 1];
        if (back) {
            pccl__writer_send(writer, 0, even, odd, fold->chunks, num_chunks);
        } else {
            pccl__writer_reduce(writer, 0, odd, even, fold->chunks, num_chunks);
        }
    }
}

/* The blocks of the odd ones reach them from the even ones. */
static void write_odd_blocks(struct pccl__writer *writer, const struct fold *fold)
{
    for (uint32_t i = 0; i < fold->num_pairs; i++) {
        uint32_t even = fold->order[2 * i], odd = fold->order[2 * i + 1];
        pccl__writer_send(writer, 0, even, odd, fold->chunks + (size_t)odd * writer->pieces, writer->pieces);
    }
}

/* The all-gather among the members, each with its own blocks and those of the one it stands for. */
static void write_rounds(struct pccl__writer *writer, const struct fold *fold)
{
    size_t words = pccl__bitset_words(fold->num_ranks);
    uint64_t *holds = pccl__array_new(fold->num_members * words, sizeof *holds);
    if (holds == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < fold->num_members; i++) {
        pccl__bitset_set(holds + i * words, fold->members[i]);
        if (i < fold->num_pairs) {
            pccl__bitset_set(holds + i * words, fold->order[2 * i + 1]);
        }
    }
    pccl__exchange_write(writer, fold->pattern, fold->members, fold->num_members, holds);
    free(holds);
}

int pccl__fold_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error)
{
    bool allreduce = problem->collective == PCCL_ALLREDUCE;
    uint32_t n = problem->num_ranks, num_chunks = n * pieces;
    struct fold fold;
    int status = make_fold(&fold, problem, num_chunks, error);
    if (status == 0 && fold.num_pairs == 0) {
        status = pccl__reject(error, "a power of two of ranks needs no folding");
    }
    if (status == 0) {
        struct pccl__writer writer;
        pccl__writer_open(&writer, problem, pieces, allreduce ? num_chunks : pieces, error);
        write_pairs(&writer, &fold, false, num_chunks);
        pccl__writer_phase(&writer, PCCL__MIRRORED_REDUCE);
        write_rounds(&writer, &fold);
        pccl__writer_phase(&writer, PCCL__FORWARD);
        if (allreduce) {
            write_rounds(&writer, &fold);
            pccl__writer_phase(&writer, PCCL__FORWARD);
            write_pairs(&writer, &fold, true, num_chunks);
        } else {
            write_odd_blocks(&writer, &fold);
        }
        status = pccl__writer_close(&writer, schedule);
    }
    free(fold.order);
    return status;
}

/* All-reduce of the whole vector in every round: fewest rounds, most bytes. Smallest distance first, so that the
 * operands of a member are an interval of ranks. */
int pccl__vector_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                           struct pccl_error *error)
{
    struct fold fold;
    int status = make_fold(&fold, problem, pieces, error);
    if (status == 0) {
        struct pccl__writer writer;
        pccl__writer_open(&writer, problem, pieces, pieces, error);
        write_pairs(&writer, &fold, false, pieces);
        pccl__writer_phase(&writer, PCCL__FORWARD);
        uint32_t rounds = pccl__pattern_rounds(fold.num_members);
        for (uint32_t k = 0; k < rounds; k++) {
            for (uint32_t v = 0; v < fold.num_members; v++) {
                uint32_t peer = pccl__pattern_peer(fold.pattern, fold.num_members, v, k);
                pccl__writer_reduce(&writer, k, fold.members[peer], fold.members[v], fold.chunks, pieces);
            }
        }
        pccl__writer_phase(&writer, PCCL__FORWARD);
        write_pairs(&writer, &fold, true, pieces);
        status = pccl__writer_close(&writer, schedule);
    }
    free(fold.order);
    return status;
}
