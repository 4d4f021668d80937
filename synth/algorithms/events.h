/* Queue of events in model time: equal times are taken out together, so that a loop sees real event times only. */
#ifndef PCCL__EVENTS_H
#define PCCL__EVENTS_H

#include <stdint.h>

struct pccl__event {
    int64_t time_ps;
    uint32_t next; /* of the same time, PCCL_NONE at the end */
    uint32_t subject, detail; /* whatever the user says */
};

#define PCCL__EVENT_LISTS 64

/* All zero is an empty queue at time 0. */
struct pccl__events {
    struct pccl__event *events;
    uint32_t num_events, events_capacity;
    uint32_t unused;   /* released events, chained, plus 1; 0: none */
    int64_t now_ps;    /* that of the events taken last */
    uint64_t occupied; /* bit i: lists[i] is not empty */
    struct {
        uint32_t first, last; /* plus 1; 0: none */
    } lists[PCCL__EVENT_LISTS]; /* by the highest bit in which their times differ from now_ps, plus 1 */
};

/* time_ps: not before the events taken last, nor negative. 0 or PCCL_ERR_MEMORY. */
int pccl__events_push(struct pccl__events *events, int64_t time_ps, uint32_t subject, uint32_t detail);
/* Takes out all events of the earliest time, in order of pushing: returns the first one's number (follow `next`,
 * then give it back with pccl__events_release), PCCL_NONE if the queue is empty. */
uint32_t pccl__events_take(struct pccl__events *events, int64_t *time_ps);
void pccl__events_release(struct pccl__events *events, uint32_t first);
void pccl__events_free(struct pccl__events *events);

#endif
