/* The rows of the portfolio: each algorithm by the name under which portfolio.c lists it. See doc/algorithms.md. */
#ifndef PCCL__PORTFOLIO_H
#define PCCL__PORTFOLIO_H

#include "algorithms/algorithm.h"

/* What a row's variant says to the classical algorithms: a kind of theirs and how the ranks are laid along it. */
#define PCCL__VARIANT(kind, order) ((uint32_t)(kind) * 2 + (uint32_t)(order))
#define PCCL__VARIANT_KIND(variant) ((variant) / 2)
#define PCCL__VARIANT_ORDER(variant) ((enum pccl__order)((variant) % 2))

pccl__algorithm pccl__tree_algorithm;     /* treecast.c; kind: enum pccl__shape */
pccl__algorithm pccl__exchange_algorithm; /* exchange.c; kind: enum pccl__pattern */
pccl__algorithm pccl__fold_algorithm;     /* doubling.c; kind: enum pccl__pattern */
pccl__algorithm pccl__vector_algorithm;   /* doubling.c; kind: enum pccl__pattern */
pccl__algorithm pccl__spread_algorithm;   /* pairwise.c; kind: enum pccl__spread */
pccl__algorithm pccl__transpose_algorithm; /* pairwise.c; kind: enum pccl__pattern */
pccl__algorithm pccl__ring_algorithm;     /* ring.c; kind: enum pccl__ring */
pccl__algorithm pccl__greedy_algorithm;   /* greedy.c, as is the next */
pccl__algorithm pccl__greedy_tree_algorithm;

/* Who talks to whom in round k, at distance 2^k or its signed sibling. */
enum pccl__pattern {
    PCCL__BRUCK,    /* from the rank 2^k further, round the end: any number of ranks */
    PCCL__DOUBLING, /* with the rank whose number differs in bit k: powers of two */
    PCCL__SWING     /* with the rank at signed distance 1, -1, 3, -5 ...: powers of two, some other even numbers */
};

enum pccl__spread {
    PCCL__ROTATED, /* round s: to the rank s further, round the end */
    PCCL__XOR,     /* round s: with the rank whose number is xor s; powers of two */
    PCCL__OUTWARD  /* the farthest first, without going round the end: its mirror combines in rank order */
};

enum pccl__ring {
    PCCL__ONE_WAY,
    PCCL__BOTH_WAYS /* half of every block in either direction */
};

/* One row by its number, below pccl__portfolio_size(): its schedule, or PCCL_ERR_UNSUPPORTED with the reason. */
int pccl__portfolio_make(struct pccl__problem *problem, uint32_t row, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error);
uint32_t pccl__portfolio_size(void);

#endif
