/* Operations that are pending, and the ways to wait for them. */
#ifndef PROGRAMS_REQUESTS_H
#define PROGRAMS_REQUESTS_H

#include "call.h"

#define MAX_PENDING 40
#define MAX_PERSISTENT 6

/* A message of its own, in both directions of a ring. */
struct message;

struct operation {
    MPI_Request request;
    struct call *call;       /* NULL: a message */
    struct message *message; /* NULL: a collective */
    bool active;
};

/* What a rank has under way. */
struct requests {
    int num_pending;
    struct operation pending[MAX_PENDING];
    struct operation persistent[MAX_PERSISTENT]; /* call is NULL where there is none */
    const char *program;                         /* for messages: which one runs */
};

/* Another pending operation; completes some others first if there are too many. */
void requests_add(struct requests *requests, struct operation operation, struct random *own);
/* Completes some pending operations, in a random way and order, and checks them. */
void requests_complete_some(struct requests *requests, struct random *own);
void requests_complete_all(struct requests *requests, struct random *own);
/* Completes what is pending on a communicator, and frees the persistent operations on it. */
void requests_end_on(struct requests *requests, MPI_Comm comm, struct random *own);

/* Keeps a new persistent operation in an empty slot. */
void persistent_keep(struct requests *requests, int slot, struct call *call, MPI_Request request);
/* Starts those of the slots in the bit mask that this rank has, in an order of its own; completes them before if they
 * are still active. `data` is the same at all ranks. */
void persistent_start(struct requests *requests, unsigned slots, uint64_t data, struct random *own);
/* Completes it first if it is active. Nothing if the slot is empty. */
void persistent_free(struct requests *requests, int slot, struct random *own);

/* Sends to the rank `distance` behind this one and receives from the one before, both pending. */
void message_exchange(struct requests *requests, const struct communicator *communicator, uint64_t seed,
                      struct random *own);
void message_check(const struct message *message);
void message_free(struct message *message);

#endif
