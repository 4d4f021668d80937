/* Broadcast over twin trees at full bandwidth: even pieces go down the first, odd ones down the second tree. Edges
 * get one of two colours so that the two that enter a rank differ, and the two that leave it differ; an edge is used
 * in every second step, that of its colour, so no rank ever receives, or sends, two pieces in one step. */
#include <stdlib.h>

#include "algorithms/tree.h"
#include "base/array.h"

#define MAX_LAG 1024

struct colouring {
    const struct pccl__tree *trees; /* [2] */
    uint32_t n;
    uint8_t *colour;  /* [2 * n] of edge t * n + r, that to rank r in tree t: 1 or 2; 0 = not yet */
    uint32_t *stack;  /* [2 * n] edges */
    uint32_t lag;     /* steps from the one in which a rank is sent a piece to the first in which it can pass it on */
    uint32_t *begins; /* [n] first step of the edge to a rank in the tree at hand */
};

/* The edge that leaves the same rank as the edge to `rank` in tree t, or PCCL_NONE. */
static uint32_t sibling_edge(const struct colouring *colouring, uint32_t t, uint32_t rank)
{
    const struct pccl__tree *tree = &colouring->trees[t], *other = &colouring->trees[1 - t];
    uint32_t parent = tree->parent[rank];
    for (uint32_t c = tree->first_child[parent]; c < tree->first_child[parent + 1]; c++) {
        if (tree->children[c] != rank) {
            return t * colouring->n + tree->children[c];
        }
    }
    if (parent != tree->root || other->first_child[parent] == other->first_child[parent + 1]) {
        return PCCL_NONE;
    }
    return (1 - t) * colouring->n + other->children[other->first_child[parent]];
}

/* Every edge has at most one neighbour at either end, and the cycles of these have even length: any start will do. */
static void colour_edges(struct colouring *colouring)
{
    uint32_t n = colouring->n;
    for (uint32_t start = 0; start < 2 * n; start++) {
        uint32_t depth = 0;
        if (colouring->colour[start] == 0 && start % n != colouring->trees->root) {
            colouring->colour[start] = 1;
            colouring->stack[depth++] = start;
        }
        while (depth > 0) {
            uint32_t edge = colouring->stack[--depth], t = edge / n, rank = edge % n;
            uint32_t neighbours[2] = {(1 - t) * n + rank, sibling_edge(colouring, t, rank)};
            for (uint32_t i = 0; i < 2; i++) {
                if (neighbours[i] != PCCL_NONE && colouring->colour[neighbours[i]] == 0) {
                    colouring->colour[neighbours[i]] = 3 - colouring->colour[edge];
                    colouring->stack[depth++] = neighbours[i];
                }
            }
        }
    }
}

/* A step lasts as long as a piece holds a link, or as the CPU takes for two sends and two receives in two steps. A
 * hop takes longer, by latency and overheads. If steps did not allow for that, each rank's messages would wait for
 * each other: links serve them in order of steps. */
static uint32_t find_lag(const struct pccl__writer *writer, const struct pccl__tree *trees)
{
    const struct pccl__problem *problem = writer->problem;
    int64_t bytes = (problem->block_bytes + writer->pieces - 1) / writer->pieces, hop_ps = 0, step_ps = 1;
    for (uint32_t t = 0; t < 2; t++) {
        for (uint32_t rank = 0; rank < trees->num_ranks; rank++) {
            uint32_t parent = trees[t].parent[rank];
            const struct pccl__route *route = parent != PCCL_NONE ? pccl__route(problem, parent, rank) : NULL;
            if (route == NULL) {
                continue;
            }
            int64_t message_ps = pccl__message_ps(problem, parent, rank, bytes);
            int64_t hold_ps = pccl_transfer_ps(bytes, route->ps_per_mib);
            int64_t cpu_ps = message_ps - hold_ps - route->latency_ps;
            hop_ps = message_ps > hop_ps ? message_ps : hop_ps;
            step_ps = hold_ps > step_ps ? hold_ps : step_ps;
            step_ps = cpu_ps > step_ps ? cpu_ps : step_ps;
        }
    }
    int64_t lag = (hop_ps + step_ps - 1) / step_ps;
    return lag < 1 ? 1 : lag > MAX_LAG ? MAX_LAG : (uint32_t)lag;
}

/* Pieces t, t + 2, ... down tree t. */
static void write_tree(struct pccl__writer *writer, const struct colouring *colouring, uint32_t t)
{
    const struct pccl__tree *tree = &colouring->trees[t];
    colouring->begins[tree->root] = 0;
    for (uint32_t i = 1; i < tree->num_ranks; i++) {
        uint32_t rank = tree->preorder[i], parent = tree->parent[rank];
        uint32_t step = parent == tree->root ? 0 : colouring->begins[parent] + colouring->lag;
        step += (step + colouring->colour[t * colouring->n + rank]) % 2;
        colouring->begins[rank] = step;
        for (uint32_t piece = t; piece < writer->pieces; piece += 2, step += 2) {
            pccl__writer_send(writer, step, parent, rank, &piece, 1);
        }
    }
}

void pccl__twins_broadcast(struct pccl__writer *writer, const struct pccl__tree *trees)
{
    uint32_t n = trees->num_ranks;
    struct colouring colouring = {.trees = trees, .n = n};
    colouring.colour = pccl__array_new(2 * (size_t)n, sizeof *colouring.colour);
    colouring.stack = pccl__array_new(3 * (size_t)n, sizeof *colouring.stack);
    if (colouring.colour == NULL || colouring.stack == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
    } else {
        colouring.begins = colouring.stack + 2 * (size_t)n;
        colouring.lag = find_lag(writer, trees);
        colour_edges(&colouring);
        write_tree(writer, &colouring, 0);
        write_tree(writer, &colouring, 1);
    }
    free(colouring.stack);
    free(colouring.colour);
}
