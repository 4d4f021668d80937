#include "check/timeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "pccl/error.h"

#define KEPT_GAPS 16 /* at least so many of the latest gaps stay usable: older ones are hardly ever asked for */

/* Makes one gap into none, one or two: all but what is taken. */
static int take_from_gap(struct pccl__timeline *timeline, uint32_t number, int64_t begin_ps, int64_t end_ps)
{
    struct pccl__gap *gap = &timeline->gaps[number], after = {end_ps, gap->end_ps};
    bool before_stays = gap->begin_ps < begin_ps, after_stays = after.begin_ps < after.end_ps;
    if (before_stays && after_stays) {
        struct pccl__gap *gaps =
            pccl__array_grow(timeline->gaps, &timeline->gap_room, (uint64_t)timeline->num_gaps + 1, sizeof *gaps);
        if (gaps == NULL) {
            return PCCL_ERR_MEMORY;
        }
        timeline->gaps = gaps;
        memmove(gaps + number + 1, gaps + number, (timeline->num_gaps++ - number) * sizeof *gaps);
        gaps[number].end_ps = begin_ps;
        gaps[number + 1] = after;
    } else if (before_stays) {
        gap->end_ps = begin_ps;
    } else if (after_stays) {
        *gap = after;
    } else {
        memmove(gap, gap + 1, (--timeline->num_gaps - number) * sizeof *gap);
    }
    return 0;
}

static int take_at_end(struct pccl__timeline *timeline, int64_t begin_ps, int64_t cost_ps)
{
    if (begin_ps > timeline->free_ps) {
        struct pccl__gap *gaps =
            pccl__array_grow(timeline->gaps, &timeline->gap_room, (uint64_t)timeline->num_gaps + 1, sizeof *gaps);
        if (gaps == NULL) {
            return PCCL_ERR_MEMORY;
        }
        timeline->gaps = gaps;
        gaps[timeline->num_gaps++] = (struct pccl__gap){timeline->free_ps, begin_ps};
    }
    timeline->free_ps = begin_ps + cost_ps;
    return 0;
}

/* The first gap that ends at `time_ps` or later. */
static uint32_t find_gap(const struct pccl__timeline *timeline, int64_t time_ps)
{
    uint32_t low = 0, high = timeline->num_gaps;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (timeline->gaps[middle].end_ps < time_ps) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int pccl__timeline_take(struct pccl__timeline *timeline, int64_t ready_ps, int64_t cost_ps, int64_t *begin_ps)
{
    uint32_t number = timeline->num_gaps;
    *begin_ps = ready_ps;
    if (cost_ps == 0) {
        return 0;
    }
    if (number >= 2 * KEPT_GAPS) {
        memmove(timeline->gaps, timeline->gaps + number - KEPT_GAPS, KEPT_GAPS * sizeof *timeline->gaps);
        number = timeline->num_gaps = KEPT_GAPS;
    }
    if (ready_ps + cost_ps <= timeline->free_ps) {
        number = find_gap(timeline, ready_ps + cost_ps);
    }
    for (; number < timeline->num_gaps; number++) {
        const struct pccl__gap *gap = &timeline->gaps[number];
        *begin_ps = gap->begin_ps > ready_ps ? gap->begin_ps : ready_ps;
        if (*begin_ps + cost_ps <= gap->end_ps) {
            return take_from_gap(timeline, number, *begin_ps, *begin_ps + cost_ps);
        }
    }
    *begin_ps = timeline->free_ps > ready_ps ? timeline->free_ps : ready_ps;
    return take_at_end(timeline, *begin_ps, cost_ps);
}

void pccl__timeline_free(struct pccl__timeline *timeline)
{
    free(timeline->gaps);
    *timeline = (struct pccl__timeline){0};
}
