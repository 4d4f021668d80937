/* A synthesis under way, as the portfolio and the list of its prospects share it. */
#ifndef PCCL__PROSPECTS_H
#define PCCL__PROSPECTS_H

#include "algorithms/meter.h"
#include "pccl/synth.h"

#define PCCL__MAX_PIECES_LOG 8
#define PCCL__FIRST_USE_RANKS 17 /* up to here nearly everything is made */

/* A row with a number of pieces, before it is made. */
struct pccl__prospect {
    int64_t estimate_ps; /* -1: cannot serve */
    uint32_t row, pieces;
    int64_t grade; /* the estimate; at first use in 64ths of the best one: what differs less is decided by the pieces;
                      where messages are what counts, about how many there are */
};

/* A synthesis under way. */
struct pccl__search {
    struct pccl__problem problem;
    struct pccl_result *result;
    uint32_t candidates_capacity;
    uint32_t winner;     /* index of its candidate */
    uint32_t winner_row; /* breaks ties */
    int64_t winner_ps;   /* its makespan and what it may lose, see judge */
    uint64_t num_messages; /* simulated so far, without the first candidate's */
    uint64_t num_first_messages;
    int64_t floor_ps;      /* no schedule is faster */
    uint32_t num_processors; /* of the group if some ranks share one, else 0 */
    uint32_t crowded_device; /* the last that shares one */
    bool has_bound;        /* floor_ps is the certified bound */
    struct pccl__prospect *prospects;
    uint32_t num_prospects, num_made; /* made: those before num_made were looked at */
    struct pccl_error *error;
};

static inline bool pccl__search_is_first_use(const struct pccl__search *search)
{
    return search->problem.options.effort != PCCL_EFFORT_THOROUGH;
}

/* A first use by a group that does not get nearly every candidate. */
static inline bool pccl__search_is_hurried(const struct pccl__search *search)
{
    return search->problem.options.effort == PCCL_EFFORT_PART ||
           (pccl__search_is_first_use(search) && search->problem.num_ranks > PCCL__FIRST_USE_RANKS);
}

/* Fills search->prospects: best first, those that cannot serve last. fallback: only methods for where no other serves,
 * else all others. */
void pccl__search_list(struct pccl__search *search, bool fallback);
/* Messages of a prospect, roughly; not more than there are, patterns of one's own (PCCL_CUSTOM) apart. */
uint64_t pccl__search_count(const struct pccl__search *search, const struct pccl__prospect *prospect);
/* Its forecast, as far as it is trusted. */
int64_t pccl__search_weigh(const struct pccl__search *search, const struct pccl__prospect *prospect);

#endif
