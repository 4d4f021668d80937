/* A binary heap of moments, each with a list of events. Many events share few times: a push first looks whether one of
 * the last moments made has its time. */
#include "algorithms/events.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "pccl/topology.h"

static bool precedes(const struct pccl__moment *a, const struct pccl__moment *b)
{
    return a->time_ps != b->time_ps ? a->time_ps < b->time_ps : a->number < b->number;
}

static void sift_up(struct pccl__moment *heap, uint32_t at)
{
    struct pccl__moment moving = heap[at];
    while (at > 0 && precedes(&moving, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moving;
}

static void sift_down(struct pccl__moment *heap, uint32_t count, uint32_t at)
{
    struct pccl__moment moving = heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && precedes(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!precedes(&heap[child], &moving)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static uint32_t new_event(struct pccl__events *events, uint32_t subject, uint32_t detail)
{
    uint32_t number;
    if (events->unused != 0) {
        number = events->unused - 1;
        uint32_t next = events->events[number].next;
        events->unused = next == PCCL_NONE ? 0 : next + 1;
    } else {
        struct pccl__event *grown = pccl__array_grow(events->events, &events->events_capacity,
                                                     (uint64_t)events->num_events + 1, sizeof *grown);
        if (grown == NULL) {
            return PCCL_NONE;
        }
        events->events = grown;
        number = events->num_events++;
    }
    events->events[number] = (struct pccl__event){PCCL_NONE, subject, detail};
    return number;
}

/* The moment of this time among the leaves at the heap's end, where new moments mostly stay; else NULL. */
static struct pccl__moment *find_recent(struct pccl__events *events, int64_t time_ps)
{
    for (uint32_t back = 1; back <= 4 && back <= events->num_moments; back++) {
        struct pccl__moment *moment = &events->heap[events->num_moments - back];
        if (moment->time_ps == time_ps) {
            return moment;
        }
    }
    return events->num_moments > 0 && events->heap[0].time_ps == time_ps ? &events->heap[0] : NULL;
}

int pccl__events_push(struct pccl__events *events, int64_t time_ps, uint32_t subject, uint32_t detail)
{
    uint32_t event = new_event(events, subject, detail);
    if (event == PCCL_NONE) {
        return PCCL_ERR_MEMORY;
    }
    struct pccl__moment *moment = find_recent(events, time_ps);
    if (moment != NULL) {
        events->events[moment->last].next = event;
        moment->last = event;
        return 0;
    }
    struct pccl__moment *grown = pccl__array_grow(events->heap, &events->moments_capacity,
                                                  (uint64_t)events->num_moments + 1, sizeof *grown);
    if (grown == NULL) {
        return PCCL_ERR_MEMORY;
    }
    events->heap = grown;
    grown[events->num_moments] = (struct pccl__moment){time_ps, events->next_number++, event, event};
    sift_up(grown, events->num_moments++);
    return 0;
}

uint32_t pccl__events_take(struct pccl__events *events, int64_t *time_ps)
{
    uint32_t first = PCCL_NONE, last = PCCL_NONE;
    while (events->num_moments > 0 && (first == PCCL_NONE || events->heap[0].time_ps == *time_ps)) {
        struct pccl__moment moment = events->heap[0];
        events->heap[0] = events->heap[--events->num_moments];
        if (events->num_moments > 0) {
            sift_down(events->heap, events->num_moments, 0);
        }
        *time_ps = moment.time_ps;
        if (first == PCCL_NONE) {
            first = moment.first;
        } else {
            events->events[last].next = moment.first;
        }
        last = moment.last;
    }
    return first;
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
    free(events->heap);
    *events = (struct pccl__events){0};
}
