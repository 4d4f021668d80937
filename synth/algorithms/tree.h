/* Rooted trees over the ranks of a group: shapes only, no messages. */
#ifndef PCCL__TREE_H
#define PCCL__TREE_H

#include "algorithms/algorithm.h"

/* Shapes are laid over the ranks by position: position 0 is the root. Where the operator does not commute, every
 * subtree is an interval of ranks next to its parent's, and children are combined nearest first. */
enum pccl__shape {
    PCCL__FLAT,     /* everyone is a child of the root */
    PCCL__BINOMIAL, /* log2(n) rounds */
    PCCL__BINARY,   /* two children each, for pipelining with several pieces */
    PCCL__CHAIN,    /* one child each */
    PCCL__SPANNING, /* breadth first over pairs of ranks that are nearest: any connected group has one */
    PCCL__TWINS,    /* the first of two binary trees below the root, half of the pieces each; who has children in one
                       is a leaf in the other (Sanders, Speck, Traeff, 2009) */
    PCCL__SECOND_TWIN,
    PCCL__BINE      /* binomial with signed distances, shorter on rings and tori (De Sensi et al., 2025) */
};

struct pccl__tree {
    uint32_t num_ranks, root;
    uint32_t *parent;      /* [num_ranks]; PCCL_NONE for the root */
    uint32_t *first_child; /* [num_ranks + 1], into children */
    uint32_t *children;    /* in the order in which a broadcast serves them */
    uint32_t *preorder;    /* [num_ranks]: parents before children, each subtree in one piece */
    uint32_t *size;        /* [num_ranks]: ranks in the subtree, its root included */
};

/* order: ranks by position for the shapes that may be laid in any order (NULL: by rank from the root up, round the
 * end); ignored if the problem is ordered. Free it also after an error. */
int pccl__tree_make(struct pccl__tree *tree, const struct pccl__problem *problem, enum pccl__shape shape, uint32_t root,
                    const uint32_t *order, struct pccl_error *error);
void pccl__tree_free(struct pccl__tree *tree);

/* Sends chunks from the root to all, `group` of them a message, one group after the other (pipelined where there are
 * several). */
void pccl__tree_broadcast(struct pccl__writer *writer, const struct pccl__tree *tree, const uint32_t *chunks,
                          uint32_t num_chunks, uint32_t group);
/* Sends the pieces of one block over trees[0] (of shape PCCL__TWINS) and trees[1] (PCCL__SECOND_TWIN) in turn. */
void pccl__twins_broadcast(struct pccl__writer *writer, const struct pccl__tree *trees);
/* Sends every rank its chunks from the root, a subtree's together: those of rank r are chunks[first[r] ..
 * first[r+1]-1]. */
void pccl__tree_scatter(struct pccl__writer *writer, const struct pccl__tree *tree, const uint32_t *chunks,
                        const uint32_t *first);
/* The same where rank r gets block r, chunks r * writer->pieces and on. */
void pccl__tree_scatter_blocks(struct pccl__writer *writer, const struct pccl__tree *tree);

#endif
