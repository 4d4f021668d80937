/* The rows of the portfolio: each algorithm by the name under which rows.c lists it. See doc/algorithms.md. */
#ifndef PCCL__PORTFOLIO_H
#define PCCL__PORTFOLIO_H

#include "algorithms/algorithm.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Forecast of the makespan for a row with problem->variant, or -1 if it cannot serve. Cheap: the portfolio makes no
 * candidate whose forecast is too far behind. */
typedef int64_t pccl__estimate(const struct pccl__problem *problem, uint32_t pieces);

enum pccl__cut {
    PCCL__WHOLE,    /* one piece a block */
    PCCL__HALVES,   /* an even number */
    PCCL__REFINED,  /* one piece a block at first use, else as many as pay while messages are few */
    PCCL__SLICED,   /* as pccl__rounds_slices_log says, or twice as many */
    PCCL__PIPELINED /* as many as pay */
};

/* What a row may be asked for beyond its collectives, and when. */
#define PCCL__SERVES_ORDERED 1u /* combines in rank order where the operator needs it */
#define PCCL__SERVES_DIRECT 2u  /* every chunk goes from its source to its target in one message */
#define PCCL__DENSE 8u          /* n * (n - 1) messages for each piece of a block */
#define PCCL__DENSE_UNROOTED 16u /* the same, but n - 1 for rooted collectives */
#define PCCL__PLANNED 32u       /* searches message by message: slow to make */
#define PCCL__FALLBACK 4u       /* at first use tried only if nothing else serves */
#define PCCL__KEEPS_TREE 64u    /* combines by the fixed tree where that is asked for */
#define PCCL__PACED 256u        /* makes schedules that keep ranks in step, see struct pccl_schedule */
#define PCCL__GATHERS_APART 128u /* an all-gather, which a reduce-scatter by the fixed tree makes an all-reduce */

struct pccl__row {
    const char *method;
    uint32_t collectives; /* bit per enum pccl_collective */
    uint32_t flags;
    enum pccl__cut cut;
    pccl__algorithm *run;
    pccl__estimate *estimate;
    uint32_t variant; /* what the row asks of run and estimate */
};

extern const struct pccl__row pccl__rows[];
extern const uint32_t pccl__num_rows;

/* One row: its schedule, or PCCL_ERR_UNSUPPORTED with the reason. */
int pccl__row_make(struct pccl__problem *problem, uint32_t row, uint32_t pieces, struct pccl_schedule **schedule,
                   struct pccl_error *error);
int64_t pccl__row_estimate(struct pccl__problem *problem, uint32_t row, uint32_t pieces);
/* Why the row is not for this request, or NULL. Without asking the algorithm. */
const char *pccl__row_refusal(const struct pccl__problem *problem, uint32_t row);

/* A time that no schedule beats, from the links of single devices only: much cheaper than pccl_bound_compute, and
 * enough where these are what counts. 0 if nothing is known. */
int64_t pccl__problem_floor_ps(const struct pccl__problem *problem);

/* What the busiest link stands to lose where it passes from one sender to the next (see pccl__handover_ps in meter.h). */
int pccl__schedule_handovers(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                             int64_t *lost_ps, struct pccl_error *error);

/* --- classical algorithms ----------------------------------------------------------------------------------------- */

/* What a row's variant says to them: a kind of theirs and how the ranks are laid along it. */
#define PCCL__VARIANT(kind, order) ((uint32_t)(kind) * 2 + (uint32_t)(order))
#define PCCL__VARIANT_KIND(variant) ((variant) / 2)
#define PCCL__VARIANT_ORDER(variant) ((enum pccl__order)((variant) % 2))

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

enum pccl__dimensions {
    PCCL__TOGETHER, /* whole blocks, one dimension after the other */
    PCCL__SPLIT     /* a part of each block for every dimension, which begins with it */
};

enum pccl__prefix {
    PCCL__PREFIX_DOUBLING, /* in round k from the rank 2^k below */
    PCCL__PREFIX_CHAIN,    /* from rank to rank */
    PCCL__PREFIX_SPREAD    /* from every rank to all above */
};

pccl__algorithm pccl__tree_algorithm;      /* treecast.c; kind: enum pccl__shape */
pccl__algorithm pccl__exchange_algorithm;  /* exchange.c; kind: enum pccl__pattern */
pccl__algorithm pccl__fold_algorithm;      /* doubling.c; kind: enum pccl__pattern */
pccl__algorithm pccl__vector_algorithm;    /* doubling.c; kind: enum pccl__pattern */
pccl__algorithm pccl__spread_algorithm;    /* pairwise.c; kind: enum pccl__spread */
pccl__algorithm pccl__rounds_algorithm;    /* rounds.c */
pccl__algorithm pccl__transpose_algorithm; /* pairwise.c; kind: enum pccl__pattern */
pccl__algorithm pccl__ring_algorithm;      /* ring.c; kind: enum pccl__ring */
pccl__algorithm pccl__dimensions_algorithm; /* dimensions.c; variant: enum pccl__dimensions */
pccl__algorithm pccl__prefix_algorithm;    /* prefix.c; variant: enum pccl__prefix */
pccl__algorithm pccl__greedy_algorithm;    /* greedy.c, as is the next */
pccl__algorithm pccl__greedy_tree_algorithm;
pccl__algorithm pccl__levels_algorithm; /* levels_row.c */

pccl__estimate pccl__estimate_tree; /* estimate.c, as all */
pccl__estimate pccl__estimate_exchange;
pccl__estimate pccl__estimate_fold;
pccl__estimate pccl__estimate_vector;
pccl__estimate pccl__estimate_spread;
pccl__estimate pccl__estimate_transpose;
pccl__estimate pccl__estimate_ring;
pccl__estimate pccl__estimate_matching;
pccl__estimate pccl__estimate_multicast;
pccl__estimate pccl__estimate_unicast;
pccl__estimate pccl__estimate_symmetry;
pccl__estimate pccl__estimate_dimensions; /* dimensions.c */
pccl__estimate pccl__estimate_prefix;     /* prefix.c */
pccl__estimate pccl__estimate_greedy;
pccl__estimate pccl__estimate_circuits;
pccl__estimate pccl__estimate_levels; /* levels_row.c */
pccl__estimate pccl__estimate_parts;  /* parts_row.c */
pccl__estimate pccl__estimate_rounds; /* rounds.c */
/* Into 2^k slices blocks are to be cut so that ranks stay in step: k. */
uint32_t pccl__rounds_slices_log(const struct pccl__problem *problem);

#endif
