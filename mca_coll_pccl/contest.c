#include "contest.h"

#include <stdlib.h>

/* A contest ends when enough time has gone into it. A few long calls tell as much as many short ones; very long ones
 * must not be made more often than needed. */
#define ENOUGH_NS UINT64_C(20000000)
#define PLENTY_NS UINT64_C(200000000)
#define FEW_SAMPLES 8 /* needed if there is time for more than the first meeting */

/* What was there before stays unless the plan gains more than what measuring cannot tell apart: 2 %, and 100 ns for
 * what caches make of short calls, and for what pccl does before the clock starts. */
#define WINS(planned, previous) ((planned) + (planned) / 49 + 100 < (previous))

struct times {
    uint32_t count;
    uint64_t sorted_ns[COLL_PCCL_CONTEST_SAMPLES];
};

static enum coll_pccl_server server_of(uint32_t sample)
{
    return __builtin_popcount(sample) % 2 == 0 ? COLL_PCCL_PLANNED : COLL_PCCL_PREVIOUS;
}

bool coll_pccl_contest_counts(const struct coll_pccl_contest *contest)
{
    return contest->calls >= COLL_PCCL_CONTEST_WARM_UPS;
}

uint32_t coll_pccl_contest_num_samples(const struct coll_pccl_contest *contest)
{
    return coll_pccl_contest_counts(contest) ? contest->calls - COLL_PCCL_CONTEST_WARM_UPS : 0;
}

enum coll_pccl_server coll_pccl_contest_turn(const struct coll_pccl_contest *contest)
{
    return server_of(coll_pccl_contest_counts(contest) ? coll_pccl_contest_num_samples(contest) : contest->calls);
}

bool coll_pccl_contest_note(struct coll_pccl_contest *contest, uint64_t time_ns, uint32_t octave)
{
    uint32_t sample = coll_pccl_contest_num_samples(contest);
    if (coll_pccl_contest_counts(contest)) {
        contest->samples[sample++] = (struct coll_pccl_sample){time_ns, octave};
    }
    contest->calls++;
    return sample >= COLL_PCCL_CONTEST_FIRST_MEETING && (sample & (sample - 1)) == 0 && sample > contest->conferred;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The times of one side; all: whatever their sizes. */
static void collect(const struct coll_pccl_contest *contest, enum coll_pccl_server server, bool all,
                    struct times *times)
{
    times->count = 0;
    for (uint32_t i = 0; i < contest->conferred; i++) {
        if (server_of(i) == server && (all || contest->samples[i].octave == contest->octave)) {
            times->sorted_ns[times->count++] = contest->samples[i].time_ns;
        }
    }
    qsort(times->sorted_ns, times->count, sizeof times->sorted_ns[0], compare_times);
}

static uint64_t median(const struct times *times)
{
    uint32_t middle = times->count / 2;
    if (times->count == 0) {
        return 0;
    }
    return times->count % 2 ? times->sorted_ns[middle] : (times->sorted_ns[middle - 1] + times->sorted_ns[middle]) / 2;
}

static uint64_t sum(const struct times *times)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < times->count; i++) {
        total += times->sorted_ns[i];
    }
    return total;
}

/* Every call of one side took at least a quarter longer than any of the other's. */
static bool is_clear(const struct times *a, const struct times *b)
{
    uint64_t a_least = a->sorted_ns[0], a_most = a->sorted_ns[a->count - 1];
    uint64_t b_least = b->sorted_ns[0], b_most = b->sorted_ns[b->count - 1];
    return a_most + a_most / 4 < b_least || b_most + b_most / 4 < a_least;
}

static bool is_over(const struct times *planned, const struct times *previous, uint32_t samples)
{
    if (samples == COLL_PCCL_CONTEST_SAMPLES) {
        return true;
    }
    uint32_t counted = planned->count + previous->count;
    uint64_t spent_ns = sum(planned) + sum(previous);
    if (planned->count < 2 || previous->count < 2 || (counted < FEW_SAMPLES && spent_ns < PLENTY_NS)) {
        return false;
    }
    return spent_ns >= ENOUGH_NS || is_clear(planned, previous);
}

enum coll_pccl_server coll_pccl_contest_judge(struct coll_pccl_contest *contest,
                                              uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    struct times planned, previous;
    contest->conferred = coll_pccl_contest_num_samples(contest);
    collect(contest, COLL_PCCL_PLANNED, false, &planned);
    collect(contest, COLL_PCCL_PREVIOUS, false, &previous);
    if (!is_over(&planned, &previous, contest->conferred)) {
        return COLL_PCCL_UNDECIDED;
    }
    if (planned.count < 2 || previous.count < 2) {
        collect(contest, COLL_PCCL_PLANNED, true, &planned);
        collect(contest, COLL_PCCL_PREVIOUS, true, &previous);
    }
    medians_ns[COLL_PCCL_PLANNED] = median(&planned);
    medians_ns[COLL_PCCL_PREVIOUS] = median(&previous);
    return WINS(medians_ns[COLL_PCCL_PLANNED], medians_ns[COLL_PCCL_PREVIOUS]) ? COLL_PCCL_PLANNED : COLL_PCCL_PREVIOUS;
}
