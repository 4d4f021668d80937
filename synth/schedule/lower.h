/* Lowering: from the messages of a schedule that concern one rank to its program. */
#ifndef PCCL__LOWER_H
#define PCCL__LOWER_H

#include "schedule/operations.h"
#include "schedule/scratch.h"

/* What one rank knows of a chunk while its program is written. */
struct pccl__local_chunk {
    uint32_t owner;        /* rank that the record is about, plus 1: a record of another rank is stale */
    pccl_slot location;    /* where its current state is, or PCCL_NONE */
    pccl_slot copied;      /* output slot that holds a copy of the own contribution, or PCCL_NONE */
    uint32_t lowest;       /* lowest contributor to the current state; reductions only */
    uint32_t arriving;     /* last step in which a message brought it, plus 1 */
    bool needed, replaced; /* going backwards: later messages use the state; a later message replaces it */
    bool arrives;          /* some message brings it */
};

/* One slot of a reduction (left op right -> target) or of a copy (left -> target). */
struct pccl__local_step {
    pccl_slot left, right, target;
    uint32_t chunk;
};

/* The tools that lowering uses for one rank after the other, and what is known of all ranks. */
struct pccl__lowering {
    const struct pccl_schedule *schedule;
    struct pccl_error *error;
    uint32_t *path_source, *path_target;  /* [num_paths] rank at the end, PCCL_NONE if it is outside the group */
    uint32_t *first_send, *first_receive; /* [num_ranks + 1] into the next two: messages of each rank, ascending */
    uint32_t *sends, *receives;
    uint32_t *first_lowest; /* reductions, else NULL: [num_messages] where a message's chunks are in the next */
    uint32_t *lowest;       /* lowest contributor to each chunk that a message carries, see own_number */
    uint32_t own_number;    /* what the rank at hand counts as among contributors: its rank, or any other number, as long
                               as every rank numbers them alike */
    struct pccl__local_chunk *chunks;    /* [num_chunks] */
    uint8_t *send_flags, *receive_flags; /* for each chunk of each message of the rank, see lower.c */
    uint32_t send_flag_room, receive_flag_room;
    struct pccl__local_step *copies, *reductions; /* of the message at hand */
    uint32_t copy_room, reduction_room;
    uint32_t *frontier; /* barrier: operations that every later send waits for */
    uint32_t frontier_room;
    struct pccl__operations operations;
    struct pccl__scratch scratch;
};

/* The program of `rank`; its messages must have been put into sends[] and receives[]. */
int pccl__lower(struct pccl__lowering *lowering, uint32_t rank, struct pccl_program **program);
/* Frees all arrays. */
void pccl__lowering_close(struct pccl__lowering *lowering);

#endif
