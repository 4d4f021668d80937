/* Schedule: which messages make a collective happen, over which links and in which order. Global (all ranks) and free
 * of addresses, counts and data types. The synthesizer makes it; verifier, simulator, plots and files use it;
 * program.h derives from it what one rank executes.
 *
 * Meaning. Messages are sorted by step. A message carries the state its sender has after every message of a smaller step
 * has been delivered, so two messages of one step exchange old values (recursive doubling). On arrival the receiver's
 * state of each chunk carried is replaced (reduce = 0) or combined with what arrives (reduce = 1; operands in order of
 * their lowest contributing rank, so that all ranks compute the same expression; a receiver without a state takes what
 * arrives). A rank's first state of a chunk is its own contribution if it is a source. (An exscan keeps the two apart:
 * ranks begin without a state, and a message carries its sender's state, if any, followed by its sender's
 * contribution.) Messages between one pair of devices are received in the order (step, index). */
#ifndef PCCL_SCHEDULE_H
#define PCCL_SCHEDULE_H

#include <stdint.h>

#include "pccl/demand.h"

#pragma GCC visibility push(default) /* what the shared library shows */

struct pccl_path {
    uint32_t source, target;        /* devices (or multicast switches) at the two ends */
    uint32_t first_link, num_links; /* in path_links */
};

struct pccl_message {
    uint32_t step;
    uint32_t path : 30;
    uint32_t reduce : 1;
    uint32_t list : 1;
    uint32_t payload; /* a chunk, or, if list = 1, an index into lists */
};

struct pccl_chunk_list {
    uint32_t first, count; /* in list_chunks; ascending, which is the order in which they lie in the message */
};

struct pccl_schedule {
    struct pccl_demand *demand; /* owned */
    char method[48];            /* which algorithm made it, with its variant: "ring:physical", "matching" ... */
    uint64_t topology_digest;
    /* Not 0: a message of step s is also held back until its sender has received the messages of step s - pace. It keeps
     * ranks in step that would otherwise all send at once. */
    uint32_t pace;
    uint32_t num_paths;
    struct pccl_path *paths; /* all arrays: malloc, owned */
    uint32_t num_path_links;
    uint32_t *path_links;
    uint32_t num_messages;
    struct pccl_message *messages;
    uint32_t num_lists;
    struct pccl_chunk_list *lists;
    uint32_t num_list_chunks;
    uint32_t *list_chunks;
};

/* An empty schedule that takes over the demand (freed with it, and at once if this fails). */
int pccl_schedule_create(struct pccl_demand *demand, const struct pccl_topology *topology, const char *method,
                         struct pccl_schedule **schedule, struct pccl_error *error);
void pccl_schedule_free(struct pccl_schedule *schedule);

/* Growing it. Paths are interned: equal links give the same number; returns PCCL_NONE when out of memory or if there is
 * no link or one that the topology does not have. */
uint32_t pccl_schedule_path(struct pccl_schedule *schedule, const struct pccl_topology *topology, const uint32_t *links,
                            uint32_t num_links);
/* Any order of chunks; PCCL_ERR_INVALID for a path or a chunk that does not exist, or no chunk at all. */
int pccl_schedule_add(struct pccl_schedule *schedule, uint32_t step, uint32_t path, bool reduce, const uint32_t *chunks,
                      uint32_t num_chunks);
/* Sorts by (step, order of adding) and trims the arrays: call once, after the last add. */
int pccl_schedule_seal(struct pccl_schedule *schedule);

/* The chunks of a message: *count of them, at the returned address (valid until the schedule changes). */
const uint32_t *pccl_message_chunks(const struct pccl_schedule *schedule, const struct pccl_message *message,
                                    uint32_t *count);

/* FNV-1a over demand, paths and messages in a fixed byte order: equal on every machine for equal schedules. */
uint64_t pccl_schedule_digest(const struct pccl_schedule *schedule);

#pragma GCC visibility pop

#endif
