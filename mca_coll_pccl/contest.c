#include "contest.h"

#include <stdlib.h>

/* A contest ends when enough time has gone into it. A few long calls tell as much as many short ones; very long ones
 * must not be made more often than needed. */
#define ENOUGH_NS UINT64_C(20000000)
#define PLENTY_NS UINT64_C(200000000)
#define FEW_SAMPLES 4 /* of each side; needed if there is time for more than the first meeting */

/* Who is there already stays unless another gains more than what measuring cannot tell apart: 2 %, and 100 ns for what
 * caches make of short calls, and for what pccl does before the clock starts. */
#define WINS(other, present) ((other) + (other) / 49 + 100 < (present))

struct times {
    uint32_t count;
    uint64_t sorted_ns[COLL_PCCL_CONTEST_SAMPLES];
};

/* --- turns ----------------------------------------------------------------------------------------------------- */

void coll_pccl_contest_begin(struct coll_pccl_contest *contest, uint32_t octave)
{
    contest->sides[0] = COLL_PCCL_PLANNED;
    contest->sides[1] = COLL_PCCL_PREVIOUS;
    contest->num_sides = contest->warm_ups = 2;
    contest->calls = contest->conferred = 0;
    contest->per_side = COLL_PCCL_CONTEST_FIRST_MEETING;
    contest->meeting = contest->per_side * contest->num_sides;
    contest->octave = octave;
}

void coll_pccl_contest_admit(struct coll_pccl_contest *contest)
{
    contest->sides[1] = COLL_PCCL_FRUGAL;
    contest->sides[2] = COLL_PCCL_PREVIOUS;
    contest->num_sides = contest->warm_ups = 3;
    contest->meeting = contest->per_side * contest->num_sides;
}

bool coll_pccl_contest_counts(const struct coll_pccl_contest *contest)
{
    return contest->calls >= contest->warm_ups;
}

uint32_t coll_pccl_contest_num_samples(const struct coll_pccl_contest *contest)
{
    return coll_pccl_contest_counts(contest) ? contest->calls - contest->warm_ups : 0;
}

/* Turns of every twelve calls, in which each side is served in every second, third and fourth place of an application's
 * cycle about as often as the others: no side meets a root or a size more often. The next twelve begin with another
 * side. */
static uint32_t turn_of(uint32_t sample, uint32_t num_sides)
{
    static const uint8_t of_two[] = {0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0};
    uint32_t first = sample / 12;
    return (first + (num_sides == 2 ? of_two[sample % 12] : sample)) % num_sides;
}

enum coll_pccl_server coll_pccl_contest_turn(const struct coll_pccl_contest *contest)
{
    if (!coll_pccl_contest_counts(contest)) {
        return contest->sides[contest->calls];
    }
    return contest->sides[turn_of(coll_pccl_contest_num_samples(contest), contest->num_sides)];
}

bool coll_pccl_contest_note(struct coll_pccl_contest *contest, uint64_t time_ns, uint32_t octave)
{
    uint32_t sample = coll_pccl_contest_num_samples(contest);
    if (coll_pccl_contest_counts(contest)) {
        contest->server[sample] = (uint8_t)coll_pccl_contest_turn(contest);
        contest->samples[sample++] = (struct coll_pccl_sample){time_ns, octave};
    }
    contest->calls++;
    return sample == contest->meeting;
}

/* --- judging --------------------------------------------------------------------------------------------------- */

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
        if (contest->server[i] == server && (all || contest->samples[i].octave == contest->octave)) {
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
static bool is_clearly_slower(const struct times *slow, const struct times *fast)
{
    uint64_t most = fast->sorted_ns[fast->count - 1];
    return most + most / 4 < slow->sorted_ns[0];
}

/* Sides with no chance leave. times: by server. */
static void drop_slow(struct coll_pccl_contest *contest, const struct times *times)
{
    uint32_t kept = 0;
    bool slow[COLL_PCCL_NUM_SERVERS] = {false};
    for (uint32_t i = 0; i < contest->num_sides; i++) {
        for (uint32_t j = 0; j < contest->num_sides; j++) {
            slow[i] |= is_clearly_slower(&times[contest->sides[i]], &times[contest->sides[j]]);
        }
    }
    for (uint32_t i = 0; i < contest->num_sides; i++) {
        if (!slow[i]) {
            contest->sides[kept++] = contest->sides[i];
        }
    }
    contest->num_sides = kept;
}

/* Whether enough is known; else how long it goes on, and who stays. */
static bool is_over(struct coll_pccl_contest *contest, const struct times *times)
{
    uint64_t spent_ns = 0;
    uint32_t counted = 0, num_sides = contest->num_sides;
    bool has_all = true;
    for (uint32_t i = 0; i < num_sides; i++) {
        spent_ns += sum(&times[contest->sides[i]]);
        counted += times[contest->sides[i]].count;
        has_all &= times[contest->sides[i]].count >= 2;
    }
    if (contest->per_side == COLL_PCCL_CONTEST_LAST_MEETING) {
        return true;
    }
    bool is_early = counted < FEW_SAMPLES * num_sides && spent_ns < PLENTY_NS;
    if (has_all && !is_early) {
        drop_slow(contest, times);
    }
    if (has_all && !is_early && (spent_ns >= ENOUGH_NS || contest->num_sides == 1)) {
        return true;
    }
    contest->meeting += contest->per_side * contest->num_sides;
    contest->per_side *= 2;
    return false;
}

/* The component below stays unless pccl is faster, and the plan unless the frugal one is. */
static enum coll_pccl_server find_winner(const uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    uint64_t frugal_ns = medians_ns[COLL_PCCL_FRUGAL];
    bool is_frugal = frugal_ns > 0 && WINS(frugal_ns, medians_ns[COLL_PCCL_PLANNED]);
    enum coll_pccl_server own = is_frugal ? COLL_PCCL_FRUGAL : COLL_PCCL_PLANNED;
    return WINS(medians_ns[own], medians_ns[COLL_PCCL_PREVIOUS]) ? own : COLL_PCCL_PREVIOUS;
}

enum coll_pccl_server coll_pccl_contest_judge(struct coll_pccl_contest *contest,
                                              uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    struct times times[COLL_PCCL_NUM_SERVERS];
    contest->conferred = coll_pccl_contest_num_samples(contest);
    for (enum coll_pccl_server server = 0; server < COLL_PCCL_NUM_SERVERS; server++) {
        collect(contest, server, false, &times[server]);
    }
    if (!is_over(contest, times)) {
        return COLL_PCCL_UNDECIDED;
    }
    bool all = times[COLL_PCCL_PLANNED].count < 2 || times[COLL_PCCL_PREVIOUS].count < 2;
    for (enum coll_pccl_server server = 0; server < COLL_PCCL_NUM_SERVERS; server++) {
        collect(contest, server, all, &times[server]);
        medians_ns[server] = median(&times[server]);
    }
    return find_winner(medians_ns);
}
