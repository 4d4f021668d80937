/* Choosing between pccl's plans and the component below, so that pccl is never slower than what was there before.
 *
 * With coll_pccl_select measure, the first blocking calls of a collective in an octave of sizes on a communicator
 * alternate between both, and a frugal plan for small ones (contest.h); then the fastest serves. Whatever is decided
 * follows from the order of the calls on this communicator and from numbers that its ranks have exchanged, through the
 * allreduce of the component below, inside such calls: so all ranks decide the same. What was measured on one
 * communicator serves another with ranks in the same places only if all its ranks know of it, which they ask each other
 * at its first call: threads may call on several communicators in another order on every rank. */
#ifndef COLL_PCCL_SELECT_H
#define COLL_PCCL_SELECT_H

#include "component.h"
#include "contest.h"
#include "plan.h"

/* A contest on a communicator that is not decided yet. */
struct coll_pccl_trial;

/* What has been chosen for a collective on a communicator. Masks have a bit per band, and an entry per order: the
 * operator commutes, or not. */
struct coll_pccl_choice {
    uint64_t skipped[2]; /* bands left to the component below, where a call alone tells its band: the fast way out */
    uint64_t left[2];    /* bands left to the component below */
    uint64_t served[2];  /* bands served by pccl */
    uint64_t frugal[2];  /* those of them served by the frugal plan */
    uint32_t grace;      /* where ranks do not know each other's sizes: so many calls more are left without asking */
    uint32_t calls;      /* the same: calls until the ranks exchange their sizes */
    uint32_t octave;     /* of the largest size at any rank when they last did */
    uint64_t exchanged_ns, exchange_ns; /* when that was, 0 = never, and how long it took */
    uint32_t interval;                  /* calls from that to the next */
};

/* Of all collectives of a communicator; made by its first blocking call. */
struct coll_pccl_choices {
    struct coll_pccl_choice of[COLL_PCCL_NUM_KINDS];
    struct coll_pccl_trial *trials;
};

/* After so many blocking calls left to the component below in which some ranks only send, the ranks meet, so that
 * nobody fills another's memory. (Where ranks do not know each other's sizes, they meet to exchange these anyway.) */
#define COLL_PCCL_LEFT_CALLS 512

/* Whether a call left to the component below is one of those; same on all ranks. */
static inline bool coll_pccl_may_flood(enum coll_pccl_kind kind)
{
    return coll_pccl_collectives[kind].one_way && !coll_pccl_collectives[kind].sizes_private;
}

/* Open MPI lets these calls not through at ranks that have nothing to send, so the others have nobody to confer with.
 */
static inline bool coll_pccl_is_partly_heard(enum coll_pccl_kind kind)
{
    return kind == COLL_PCCL_NEIGHBOR_ALLGATHER || kind == COLL_PCCL_NEIGHBOR_ALLTOALL;
}

/* Open MPI's gatherv and scatterv go by counts alone, so that one element of an empty type at one end and none at the
 * other leave one of them waiting: they are never left to it while there is a plan. */
static inline bool coll_pccl_is_never_left(enum coll_pccl_kind kind)
{
    return kind == COLL_PCCL_GATHERV || kind == COLL_PCCL_SCATTERV;
}

/* Whether a blocking call has been left to the component below: for the steady state, as fast as can be. If not,
 * coll_pccl_select_begin finds out more. */
static inline bool coll_pccl_select_skips(const struct coll_pccl_module *module, const struct coll_pccl_call *call)
{
    if (coll_pccl_is_never_left(call->kind) || !module->choices || call->empty) {
        return false;
    }
    struct coll_pccl_choice *choice = &module->choices->of[call->kind];
    if (choice->grace > 0) {
        choice->grace--;
        return true;
    }
    bool is_left = choice->skipped[coll_pccl_is_ordered(call)] >> coll_pccl_octave_band(call->block_bytes) & 1;
    if (!is_left || !coll_pccl_may_flood(call->kind)) {
        return is_left;
    }
    return module->group->left_calls < COLL_PCCL_LEFT_CALLS && ++module->group->left_calls;
}

/* Whether pccl serves a blocking call like the last one that it has served without asking: not where it is time to
 * exchange sizes. The call is then counted by coll_pccl_select_count. */
static inline bool coll_pccl_select_stays(const struct coll_pccl_module *module, enum coll_pccl_kind kind)
{
    const struct coll_pccl_choices *choices = module->choices;
    return !choices || choices->of[kind].exchanged_ns == 0 || choices->of[kind].calls > 0;
}

static inline void coll_pccl_select_count(struct coll_pccl_module *module, enum coll_pccl_kind kind)
{
    if (module->choices && module->choices->of[kind].exchanged_ns > 0) {
        module->choices->of[kind].calls--;
    }
}

/* Who serves a blocking call: OMPI_SUCCESS: pccl, as call->frugal says then; COLL_PCCL_DECLINED: the component below;
 * or an MPI error code. All ranks of the communicator come to the same. *trial: what the call is measured for, or NULL;
 * if it is set, coll_pccl_select_end must follow the call, however that ends. */
int coll_pccl_select_begin(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                           struct coll_pccl_call *call, struct coll_pccl_trial **trial);
/* Takes down how long the call has taken; at shared counts of calls the ranks confer. status: of the call, returned
 * unless conferring fails; COLL_PCCL_DECLINED: there is no plan, so the trial is over. */
int coll_pccl_select_end(struct coll_pccl_module *module, struct ompi_communicator_t *comm,
                         struct coll_pccl_trial *trial, int status);
/* Whether the blocking calls like this one are served by the frugal plan. For calls that must not wait. */
bool coll_pccl_select_is_frugal(const struct coll_pccl_module *module, const struct coll_pccl_call *call);
/* Whether the blocking calls like this one have been left to the component below. For calls that must not wait. Never
 * among neighbours: Open MPI 4.1's non-blocking functions mix up blocks where a dimension is closed and narrow. */
bool coll_pccl_select_leaves(const struct coll_pccl_module *module, const struct coll_pccl_call *call);

/* Whether the component below, that of Open MPI 4.1, would fail in such a call although it is legal. All ranks come to
 * the same. */
bool coll_pccl_select_must_plan(const struct coll_pccl_call *call, const struct ompi_communicator_t *comm);

/* Whether the ranks can confer at all: same on all. */
bool coll_pccl_can_confer(const struct coll_pccl_module *module, const struct ompi_communicator_t *comm);
/* Each value becomes the largest over all ranks of the communicator. Only inside blocking calls. */
int coll_pccl_confer(struct coll_pccl_module *module, struct ompi_communicator_t *comm, uint64_t *values, size_t count);
void coll_pccl_choices_free(struct coll_pccl_choices *choices);

#endif
