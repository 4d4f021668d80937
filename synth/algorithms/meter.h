/* What forecasts share: the loads that sets of messages put on links. They see distances and the busiest link of a
 * round, not how rounds overlap; so they rank candidates, and the simulator decides. All sums stop at INT64_MAX / 4. */
#ifndef PCCL__METER_H
#define PCCL__METER_H

#include "algorithms/portfolio.h"

/* All loads are zero between sets of messages. */
struct pccl__meter {
    const struct pccl__problem *problem;
    uint32_t *order;   /* [num_ranks] by position, as the row's variant asks */
    int64_t *load;     /* [num_capacities] ps per MiB */
    uint32_t *touched; /* capacities with a load */
    uint32_t num_touched;
};

/* A set of messages at once: time without bytes, and what a MiB in each costs the busiest link. Messages of more than
 * eager_bytes take rendezvous_ps more, if that is not zero. */
struct pccl__volley {
    int64_t fixed_ps;
    int64_t load_ps_per_mib;
    int64_t eager_bytes, rendezvous_ps;
    bool meets; /* some message crosses several links, and may meet those of other senders on the later ones */
};

/* A tree's messages one way: the longest way down, and what its busiest link, and its busiest CPU, have to do. */
struct pccl__descent {
    int64_t fixed_ps, transfer_ps; /* along the way that takes longest */
    int64_t load_ps_per_mib;
    uint32_t fan_out;
};

/* Everyone to everyone, sampled at distances 1, 2, 4 ... round the ranks. */
struct pccl__sample {
    int64_t fixed_ps;          /* of the farthest */
    int64_t rounds_ps_per_mib; /* what all rounds cost their busiest links, one round after the other */
    int64_t total_ps_per_mib;  /* what all rounds together cost the busiest link */
    int64_t links;             /* of all messages of one rank together */
    bool meets;                /* see struct pccl__volley */
    bool taken, complete;      /* complete: all pairs have a route */
};

/* What need not be measured again: the last tree, for other numbers of pieces; everyone to everyone, for other methods
 * that lay the ranks in the same order. */
struct pccl__memo {
    uint32_t variant; /* of the tree, plus 1; 0: none yet */
    struct pccl__descent down, parcels;
    struct pccl__sample samples[2]; /* by enum pccl__order */
};
struct pccl__memo *pccl__problem_memo(const struct pccl__problem *problem);

/* For times and sizes, which are not negative. */
static inline int64_t pccl__add_ps(int64_t a, int64_t b)
{
    return a > INT64_MAX / 4 - b ? INT64_MAX / 4 : a + b;
}

static inline int64_t pccl__times_ps(int64_t a, int64_t times)
{
    return times > 0 && a > INT64_MAX / 4 / times ? INT64_MAX / 4 : a * times;
}

/* false when out of memory; close it in any case. */
bool pccl__meter_open(struct pccl__meter *meter, const struct pccl__problem *problem);
void pccl__meter_close(struct pccl__meter *meter);

/* Adds one message to a set; false if it has no route. */
bool pccl__meter_message(struct pccl__meter *meter, struct pccl__volley *volley, uint32_t from, uint32_t to);
void pccl__meter_end(struct pccl__meter *meter);
int64_t pccl__volley_ps(const struct pccl__volley *volley, int64_t bytes);
/* What is lost where links pass from one sender to the next. The model serves their messages one after the other, but
 * nobody tells the next sender when: real links then share their time between both, or stand still for a while. So of
 * methods that take the same time in the model those are tried first in which every link has one sender. */
static inline int64_t pccl__handover_ps(bool meets, int64_t transfer_ps)
{
    return meets ? transfer_ps / 4 : 0;
}

/* Whole sets: round k of a pattern among the first `count` positions; every position hears from the one `distance`
 * further round the ring. false if a message has no route, or there is no such round. */
bool pccl__meter_round(struct pccl__meter *meter, enum pccl__pattern pattern, uint32_t count, uint32_t k,
                       struct pccl__volley *volley);
bool pccl__meter_shift(struct pccl__meter *meter, uint32_t distance, struct pccl__volley *volley);

/* Bytes of one block where the collective has num_ranks of them (a share of the vector where it has one). */
int64_t pccl__meter_block(const struct pccl__problem *problem);
/* What the collective takes if its all-gather takes gather_ps (see pccl__gatherer_serve); -1 stays -1. */
int64_t pccl__meter_gather(const struct pccl__problem *problem, int64_t gather_ps);
/* CPU time of one message at both ends together. */
int64_t pccl__overheads_ps(const struct pccl__problem *problem);

#endif
