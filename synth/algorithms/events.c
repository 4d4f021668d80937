/* A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990): since time only moves forward, an event needs to be looked at
 * only when its time comes near, and each look halves the range of times with which it shares a list. Events of equal
 * time are always in one list, in order of pushing. */
#include "algorithms/events.h"

#include <stdlib.h>

#include "base/array.h"
#include "pccl/topology.h"

static uint32_t new_event(struct pccl__events *events)
{
    if (events->unused != 0) {
        uint32_t number = events->unused - 1, next = events->events[number].next;
        events->unused = next == PCCL_NONE ? 0 : next + 1;
        return number;
    }
    struct pccl__event *grown = pccl__array_grow(events->events, &events->events_capacity,
                                                 (uint64_t)events->num_events + 1, sizeof *grown);
    if (grown == NULL) {
        return PCCL_NONE;
    }
    events->events = grown;
    return events->num_events++;
}

/* Puts an event at the end of its list. */
static void append(struct pccl__events *events, uint32_t number)
{
    uint64_t differs = (uint64_t)(events->events[number].time_ps ^ events->now_ps);
    uint32_t list = differs == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(differs);
    if (events->lists[list].first == 0) {
        events->lists[list].first = number + 1;
        events->occupied |= UINT64_C(1) << list;
    } else {
        events->events[events->lists[list].last - 1].next = number;
    }
    events->lists[list].last = number + 1;
    events->events[number].next = PCCL_NONE;
}

/* Empties a list; returns its first event. */
static uint32_t detach(struct pccl__events *events, uint32_t list)
{
    uint32_t first = events->lists[list].first - 1;
    events->lists[list].first = events->lists[list].last = 0;
    events->occupied &= ~(UINT64_C(1) << list);
    return first;
}

int pccl__events_push(struct pccl__events *events, int64_t time_ps, uint32_t subject, uint32_t detail)
{
    uint32_t number = new_event(events);
    if (number == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    events->events[number] = (struct pccl__event){time_ps, PCCL_NONE, subject, detail};
    append(events, number);
    return 0;
}

/* Moves on to the earliest time, at which the first list that is not empty begins: its events spread over those before
 * it. */
static void move_on(struct pccl__events *events)
{
    uint32_t first = detach(events, (uint32_t)__builtin_ctzll(events->occupied));
    int64_t earliest_ps = events->events[first].time_ps;
    for (uint32_t e = first; e != PCCL_NONE; e = events->events[e].next) {
        earliest_ps = events->events[e].time_ps < earliest_ps ? events->events[e].time_ps : earliest_ps;
    }
    events->now_ps = earliest_ps;
    for (uint32_t e = first, next; e != PCCL_NONE; e = next) {
        next = events->events[e].next;
        append(events, e);
    }
}

uint32_t pccl__events_take(struct pccl__events *events, int64_t *time_ps)
{
    if (events->occupied == 0) {
        return PCCL_NONE;
    }
    if (events->lists[0].first == 0) {
        move_on(events);
    }
    *time_ps = events->now_ps;
    return detach(events, 0);
}

void pccl__events_release(struct pccl__events *events, uint32_t first)
{
    uint32_t last = first;
    while (events->events[last].next != PCCL_NONE) {
        last = events->events[last].next;
    }
    events->events[last].next = events->unused == 0 ? PCCL_NONE : events->unused - 1;
    events->unused = first + 1;
}

void pccl__events_free(struct pccl__events *events)
{
    free(events->events);
    *events = (struct pccl__events){0};
}
