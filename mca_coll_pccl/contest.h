/* A contest between pccl's plan, its frugal plan if there is one, and the component below, for one collective and size
 * on one communicator: whose turn it is, when the ranks must confer, who wins. Pure logic without MPI: all that it
 * decides follows from the number of calls and from times that all ranks have agreed upon, so it decides the same on
 * every rank.
 *
 * The first call of each side does not count (a plan is made, connections are opened). Then the sides take turns. After
 * 2, 4, 8, 16 and 32 calls of each side the ranks confer: the time of a call is that of its slowest rank. */
#ifndef COLL_PCCL_CONTEST_H
#define COLL_PCCL_CONTEST_H

#include <stdbool.h>
#include <stdint.h>

enum coll_pccl_server {
    COLL_PCCL_PLANNED,
    COLL_PCCL_FRUGAL,   /* pccl too, with as few messages as can be */
    COLL_PCCL_PREVIOUS, /* the component below */
    COLL_PCCL_NUM_SERVERS,
    COLL_PCCL_UNDECIDED
};

#define COLL_PCCL_CONTEST_FIRST_MEETING 2 /* calls of each side */
#define COLL_PCCL_CONTEST_LAST_MEETING 32
#define COLL_PCCL_CONTEST_SAMPLES (COLL_PCCL_CONTEST_LAST_MEETING * COLL_PCCL_NUM_SERVERS)

/* What is known of a call: of this rank at first, the largest over all ranks when they have conferred. */
struct coll_pccl_sample {
    uint64_t time_ns;
    uint64_t octave; /* of its size in bytes */
};

struct coll_pccl_contest {
    enum coll_pccl_server sides[COLL_PCCL_NUM_SERVERS]; /* [num_sides] that are still in it, in order of their turns */
    uint32_t num_sides;
    uint32_t warm_ups;  /* calls that do not count */
    uint32_t calls;     /* so far, warm-ups included */
    uint32_t conferred; /* samples that all ranks have agreed upon: the first ones */
    uint32_t meeting;   /* samples after which the ranks confer next */
    uint32_t per_side;  /* samples of each side that is left, by then */
    uint32_t octave;    /* of the sizes that it is about; other calls count only if there are too few of these */
    struct coll_pccl_sample samples[COLL_PCCL_CONTEST_SAMPLES]; /* of the calls after the warm-ups, in their order */
    uint8_t server[COLL_PCCL_CONTEST_SAMPLES];                  /* enum coll_pccl_server, of each sample */
};

/* Between the plan and the component below. */
void coll_pccl_contest_begin(struct coll_pccl_contest *contest, uint32_t octave);
/* Takes the frugal plan in too; after the first call, when the plan is there to be compared. */
void coll_pccl_contest_admit(struct coll_pccl_contest *contest);
/* Who serves the next call. */
enum coll_pccl_server coll_pccl_contest_turn(const struct coll_pccl_contest *contest);
/* Whether the next call counts. */
bool coll_pccl_contest_counts(const struct coll_pccl_contest *contest);
/* Takes down a call. True if the ranks must confer now: each of contest->samples[conferred .. num_samples - 1]
 * becomes its maximum over all ranks, then the contest can be judged. */
bool coll_pccl_contest_note(struct coll_pccl_contest *contest, uint64_t time_ns, uint32_t octave);
uint32_t coll_pccl_contest_num_samples(const struct coll_pccl_contest *contest);
/* After the ranks have conferred: who serves from now on, or that the contest goes on, maybe with fewer sides.
 * medians_ns: of each side; 0: was not in it. */
enum coll_pccl_server coll_pccl_contest_judge(struct coll_pccl_contest *contest,
                                              uint64_t medians_ns[COLL_PCCL_NUM_SERVERS]);

#endif
