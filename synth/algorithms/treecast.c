/* Algorithms on trees: broadcast and scatter go down; reduce and gather are their mirrors; the rest goes up and
 * down. */
#include <stdlib.h>

#include "algorithms/portfolio.h"
#include "algorithms/tree.h"
#include "base/array.h"
#include "base/error.h"

/* Serves one rank: each group to all children, then the next group. got[g] is the first step at which it has group
 * g. */
static void serve_children(struct pccl__writer *writer, const struct pccl__tree *tree, uint32_t rank, uint32_t *got,
                           const uint32_t *chunks, uint32_t num_chunks, uint32_t group)
{
    uint32_t groups = (num_chunks + group - 1) / group, step = 0;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t count = g + 1 < groups ? group : num_chunks - g * group;
        uint32_t ready = got[(size_t)rank * groups + g];
        step = step > ready ? step : ready;
        for (uint32_t c = tree->first_child[rank]; c < tree->first_child[rank + 1]; c++) {
            pccl__writer_send(writer, step, rank, tree->children[c], chunks + (size_t)g * group, count);
            got[(size_t)tree->children[c] * groups + g] = ++step;
        }
    }
}

void pccl__tree_broadcast(struct pccl__writer *writer, const struct pccl__tree *tree, const uint32_t *chunks,
                          uint32_t num_chunks, uint32_t group)
{
    uint32_t groups = (num_chunks + group - 1) / group;
    uint32_t *got = pccl__array_new((size_t)tree->num_ranks * groups, sizeof *got);
    if (got == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < tree->num_ranks; i++) {
        serve_children(writer, tree, tree->preorder[i], got, chunks, num_chunks, group);
    }
    free(got);
}

void pccl__tree_scatter(struct pccl__writer *writer, const struct pccl__tree *tree, const uint32_t *chunks,
                        const uint32_t *first)
{
    uint32_t n = tree->num_ranks, total = first[n];
    uint32_t *got = pccl__array_new(3 * (size_t)n + 1 + total, sizeof *got);
    if (got == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    /* parcel: the chunks in preorder of their ranks; those of r's subtree begin at begin[at[r]], end before
     * begin[at[r] + size[r]]. */
    uint32_t *at = got + n, *begin = at + n, *parcel = begin + n + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = tree->preorder[i];
        at[rank] = i;
        begin[i + 1] = begin[i];
        for (uint32_t c = first[rank]; c < first[rank + 1]; c++) {
            parcel[begin[i + 1]++] = chunks[c];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = tree->preorder[i], step = got[rank];
        for (uint32_t c = tree->first_child[rank]; c < tree->first_child[rank + 1]; c++) {
            uint32_t child = tree->children[c], from = begin[at[child]];
            uint32_t count = begin[at[child] + tree->size[child]] - from;
            pccl__writer_send(writer, step, rank, child, parcel + from, count);
            got[child] = ++step;
        }
    }
    free(got);
}

void pccl__tree_scatter_blocks(struct pccl__writer *writer, const struct pccl__tree *tree)
{
    uint32_t n = tree->num_ranks, pieces = writer->pieces;
    uint32_t *chunks = pccl__array_new((size_t)n * pieces + n + 1, sizeof *chunks);
    if (chunks == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    uint32_t *first = chunks + (size_t)n * pieces;
    for (uint32_t rank = 0; rank <= n; rank++) {
        first[rank] = rank * pieces;
    }
    for (uint32_t chunk = 0; chunk < n * pieces; chunk++) {
        chunks[chunk] = chunk;
    }
    pccl__tree_scatter(writer, tree, chunks, first);
    free(chunks);
}

/* All-to-all: everything to the root and from there to where it belongs. Only for groups where nothing better
 * exists. */
static void exchange_over_root(struct pccl__writer *writer, const struct pccl__tree *tree)
{
    uint32_t n = tree->num_ranks, pieces = writer->pieces;
    size_t total = (size_t)n * n * pieces;
    uint32_t *chunks = total <= UINT32_MAX / 4 ? pccl__array_new(total + n + 1, sizeof *chunks) : NULL;
    if (chunks == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        return;
    }
    uint32_t *first = chunks + total;
    for (uint32_t rank = 0; rank <= n; rank++) {
        first[rank] = rank * n * pieces;
    }
    for (uint32_t chunk = 0; chunk < total; chunk++) {
        chunks[chunk] = chunk;
    }
    pccl__writer_phase(writer, PCCL__MIRRORED_COPY);
    pccl__tree_scatter(writer, tree, chunks, first);
    for (uint32_t to = 0, i = 0; to < n; to++) {
        for (uint32_t from = 0; from < n; from++) {
            for (uint32_t piece = 0; piece < pieces; piece++) {
                chunks[i++] = (from * n + to) * pieces + piece;
            }
        }
    }
    pccl__writer_phase(writer, PCCL__FORWARD);
    pccl__tree_scatter(writer, tree, chunks, first);
    free(chunks);
}

/* The trees of one algorithm: one, or two that take the pieces in turn. */
struct trees {
    uint32_t count;
    struct pccl__tree tree[2];
    uint32_t *chunks; /* [ranks * pieces] room for a list of chunks */
};

/* In a mirrored phase what is written last is done first, so that it begins with the last piece: what is done with
 * the pieces afterwards begins with the first one. */
static void broadcast_pieces(struct pccl__writer *writer, struct trees *trees)
{
    for (uint32_t piece = 0; piece < writer->pieces; piece++) {
        trees->chunks[piece] = writer->phase == PCCL__FORWARD ? piece : writer->pieces - 1 - piece;
    }
    if (trees->count == 2) {
        pccl__twins_broadcast(writer, trees->tree);
    } else {
        pccl__tree_broadcast(writer, trees->tree, trees->chunks, writer->pieces, 1);
    }
}

/* All blocks in one message. */
static void broadcast_blocks(struct pccl__writer *writer, struct trees *trees)
{
    uint32_t count = trees->tree->num_ranks * writer->pieces;
    for (uint32_t chunk = 0; chunk < count; chunk++) {
        trees->chunks[chunk] = chunk;
    }
    pccl__tree_broadcast(writer, trees->tree, trees->chunks, count, count);
}

static void write_collective(struct pccl__writer *writer, struct trees *trees)
{
    enum pccl_collective collective = writer->problem->collective;
    switch (collective) {
    case PCCL_ALLREDUCE:
    case PCCL_REDUCE:
        pccl__writer_phase(writer, PCCL__MIRRORED_REDUCE);
        broadcast_pieces(writer, trees);
        if (collective == PCCL_ALLREDUCE) {
            pccl__writer_phase(writer, PCCL__FORWARD);
            broadcast_pieces(writer, trees);
        }
        break;
    case PCCL_BROADCAST:
        broadcast_pieces(writer, trees);
        break;
    case PCCL_SCATTER:
        pccl__tree_scatter_blocks(writer, trees->tree);
        break;
    case PCCL_REDUCE_SCATTER:
        pccl__writer_phase(writer, PCCL__MIRRORED_REDUCE);
        broadcast_blocks(writer, trees);
        pccl__writer_phase(writer, PCCL__FORWARD);
        pccl__tree_scatter_blocks(writer, trees->tree);
        break;
    case PCCL_GATHER:
    case PCCL_ALLGATHER:
    case PCCL_BARRIER:
        pccl__writer_phase(writer, PCCL__MIRRORED_COPY);
        pccl__tree_scatter_blocks(writer, trees->tree);
        if (collective != PCCL_GATHER) {
            pccl__writer_phase(writer, PCCL__FORWARD);
            broadcast_blocks(writer, trees);
        }
        break;
    case PCCL_ALLTOALL:
        exchange_over_root(writer, trees->tree);
        break;
    default:
        pccl__writer_fail(writer, PCCL_ERR_UNSUPPORTED, "no tree serves this collective");
    }
}

static int make_trees(struct trees *trees, const struct pccl__problem *problem, uint32_t pieces,
                      struct pccl_error *error)
{
    uint32_t n = problem->num_ranks;
    enum pccl__shape shape = (enum pccl__shape)PCCL__VARIANT_KIND(problem->variant);
    uint32_t *order = pccl__array_new(n, sizeof *order);
    trees->count = shape == PCCL__TWINS ? 2 : 1;
    trees->chunks = pccl__array_new((size_t)n * pieces, sizeof *trees->chunks);
    int status = order != NULL && trees->chunks != NULL ? 0 : pccl__fail_memory(error);
    if (status == 0) {
        status = pccl__order_make(problem, PCCL__VARIANT_ORDER(problem->variant), order, error);
    }
    if (status == 0) {
        status = pccl__tree_make(&trees->tree[0], problem, shape, problem->root, order, error);
    }
    if (status == 0 && trees->count == 2) {
        status = pccl__tree_make(&trees->tree[1], problem, PCCL__SECOND_TWIN, problem->root, order, error);
    }
    free(order);
    return status;
}

int pccl__tree_algorithm(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error)
{
    struct trees trees = {0};
    int status = make_trees(&trees, problem, pieces, error);
    if (status == 0) {
        struct pccl__writer writer;
        pccl__writer_open(&writer, problem, pieces, pieces, error);
        write_collective(&writer, &trees);
        status = pccl__writer_close(&writer, schedule);
    }
    pccl__tree_free(&trees.tree[1]);
    pccl__tree_free(&trees.tree[0]);
    free(trees.chunks);
    return status;
}
