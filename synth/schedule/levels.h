/* A schedule in levels, for groups whose ranks share nodes: one schedule between the nodes, and for every shape of node
 * one that brings data together there (up) and one that spreads it (down). The messages of the whole follow from these;
 * they are listed for one rank, in the time that its own take, or for all. See doc/hierarchy.md. */
#ifndef PCCL__LEVELS_H
#define PCCL__LEVELS_H

#include "pccl/program.h"
#include "topology/nodes.h"

/* A schedule of one level, and what its messages mean there. Ranks of the level are nodes, or positions in a node. */
struct pccl__level {
    struct pccl_schedule *schedule;   /* NULL: nothing is done; owned, as the arrays */
    uint32_t *source, *target;        /* [num_paths] ranks of the level */
    uint32_t *first_lowest, *lowest;  /* reductions: see pccl__lowest_find */
    uint32_t num_steps;
};

/* Which data a block of a level inside a node stands for. */
enum pccl__content {
    PCCL__RAILS_TOGETHER, /* the only block: all that goes over the only rail */
    PCCL__RAIL_BY_GATE,   /* block p: what goes over the rail whose gate is position p; empty if it is no gate */
    PCCL__MEMBER_BLOCKS   /* each block: those of the application's blocks that are of the one position at its end */
};

enum pccl__way { PCCL__UP, PCCL__DOWN, PCCL__NUM_WAYS };

struct pccl__inside {
    struct pccl__level level;
    enum pccl__content content;
    uint32_t pitch; /* steps of the whole from one step of the level to the next, >= 1 */
};

/* How data flows. The collective is done `slices` times, for a slice of every block each, one behind the other. Of each
 * slice, a share travels over each of `rails`: rail j joins the members that are gate j of their nodes, and each rail
 * follows the schedule between nodes. That schedule's steps are grouped by `window`: what a node has got in one group
 * is spread there in one go afterwards, and what it will send in a group is brought together in one go before. */
struct pccl__levels {
    const struct pccl__nodes *nodes;
    struct pccl_demand demand; /* of the whole; of the arrays it has none, since the standard collectives need none */
    uint32_t rails;            /* 1 up to the size of the smallest node */
    uint32_t slices, window;   /* >= 1 */
    struct pccl__level between;
    struct pccl__inside (*inside)[PCCL__NUM_WAYS]; /* [num_shapes], owned */
    /* Steps of the whole are numbered in the order in which things happen, by forecast. */
    uint32_t *between_at;  /* [steps between nodes] rising; owned. Going up for a step ends before it. */
    uint32_t *spread_at;   /* [the same] where going down after a step begins: after it; in the same memory */
    uint32_t slice_pitch;  /* from one slice to the next */
};

/* Takes over the schedule, also if it fails. */
int pccl__level_open(struct pccl__level *level, struct pccl_schedule *schedule, struct pccl_error *error);
void pccl__level_close(struct pccl__level *level);
/* Frees what the levels own (the nodes are the caller's); all of it, or what is inside nodes only. */
void pccl__levels_close(struct pccl__levels *levels);
void pccl__levels_close_inside(struct pccl__levels *levels);

/* Position in its node of the member that is the gate of a rail: the root, where it is among the positions that the
 * rail serves, else the first of these. */
uint32_t pccl__levels_gate(const struct pccl__levels *levels, uint32_t node, uint32_t rail);

/* --- what happens in one node ------------------------------------------------------------------------------------- */

/* The chunks of the schedule between nodes that one node brings together or spreads, in batches: one batch for each
 * group of steps that has any. */
struct pccl__batches {
    uint32_t count;
    uint32_t *step;   /* [count] between nodes: before it they must be together, or after it they are spread */
    uint32_t *first;  /* [count + 1] into chunks */
    uint32_t *chunks; /* ascending in each batch */
};
int pccl__batches_find(struct pccl__batches *batches, const struct pccl__levels *levels, uint32_t node,
                       enum pccl__way way);
void pccl__batches_free(struct pccl__batches *batches);

/* --- the messages of the whole ------------------------------------------------------------------------------------ */

/* A message of the whole. `lowest` are the lowest contributors to each chunk, a rank counting as its place in the order
 * of nodes and positions. Called in an order in which those of one step and one pair of ranks come as in the program of
 * either; steps are not in order. */
struct pccl__levels_message {
    uint32_t step, from, to;
    bool reduce;
    const uint32_t *chunks, *lowest; /* [count], ascending by chunk */
    uint32_t count;
};
typedef int pccl__levels_receiver(void *context, const struct pccl__levels_message *message);

/* Lists those of one rank, or all (PCCL_NONE). `bare`: a barrier's messages with one chunk only, which is enough for a
 * program. Stops at the first failure of the receiver and returns it. */
int pccl__levels_list(const struct pccl__levels *levels, uint32_t rank, bool bare, pccl__levels_receiver *receiver,
                      void *context);

/* The program of one rank. */
int pccl__levels_program(const struct pccl__levels *levels, uint32_t rank, struct pccl_program **program,
                         struct pccl_error *error);

/* The program of one rank in an all-to-all in which every block goes straight to its target: node by node, the next one
 * first, so that at any time a node sends to one other and receives from one other. */
int pccl__alltoall_program(const struct pccl__nodes *nodes, const struct pccl_demand *demand, uint32_t rank,
                           struct pccl_program **program, struct pccl_error *error);

#endif
