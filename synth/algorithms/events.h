/* Queue of events in model time: equal times are taken out together, so that a loop sees real event times only. */
#ifndef PCCL__EVENTS_H
#define PCCL__EVENTS_H

#include <stdint.h>

struct pccl__event {
    uint32_t next; /* of the same time, PCCL_NONE at the end */
    uint32_t subject, detail; /* whatever the user says */
};

struct pccl__moment {
    int64_t time_ps;
    uint32_t number; /* order of creation: breaks ties */
    uint32_t first, last;
};

/* All zero is an empty queue. */
struct pccl__events {
    struct pccl__event *events;
    uint32_t num_events, events_capacity;
    uint32_t unused; /* released events, chained, plus 1; 0: none */
    struct pccl__moment *heap;
    uint32_t num_moments, moments_capacity, next_number;
};

/* 0 or PCCL_ERR_MEMORY. */
int pccl__events_push(struct pccl__events *events, int64_t time_ps, uint32_t subject, uint32_t detail);
/* Takes out all events of the earliest time, in order of pushing: returns the first one's number (follow `next`,
 * then give it back with pccl__events_release), PCCL_NONE if the queue is empty. */
uint32_t pccl__events_take(struct pccl__events *events, int64_t *time_ps);
void pccl__events_release(struct pccl__events *events, uint32_t first);
void pccl__events_free(struct pccl__events *events);

#endif
