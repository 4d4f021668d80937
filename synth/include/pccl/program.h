/* Program: what one rank does in a schedule: sends, receives, copies and reductions on slots of three areas, with
 * explicit dependencies. No addresses, counts or data types: one program serves every buffer, data type and, within a
 * band, size. Operations are stored in a valid sequential order (step order; sends of a step before its receives).
 * A barrier's chunks have no bytes and no slots: its messages have num_slots = 0, and what counts is who waits for whom;
 * a copy of 0 slots stands where many sends wait for many receives. */
#ifndef PCCL_PROGRAM_H
#define PCCL_PROGRAM_H

#include <stdint.h>

#include "pccl/schedule.h"

#pragma GCC visibility push(default) /* what the shared library shows */

enum pccl_area {
    PCCL_INPUT,  /* never written */
    PCCL_OUTPUT, /* may lie over the input where pccl_demand_aliased_input_slot says so */
    PCCL_SCRATCH /* private; slots are as large as the largest chunk */
};

/* A slot of an area in one word. */
typedef uint32_t pccl_slot;
#define PCCL_SLOT(area, index) (((uint32_t)(area) << 30) | (uint32_t)(index))
#define PCCL_SLOT_AREA(slot) ((enum pccl_area)((slot) >> 30))
#define PCCL_SLOT_INDEX(slot) ((slot) & 0x3fffffffu)

enum pccl_operation_kind {
    PCCL_OP_SEND,    /* slots[0..n) in order, as one message to peer */
    PCCL_OP_RECEIVE, /* one message from peer into slots[0..n) */
    PCCL_OP_COPY,    /* slots[i] -> slots[n+i]; nothing to do where both are the same bytes (in place) */
    PCCL_OP_REDUCE   /* slots[i] op slots[n+i] -> slots[2n+i], left operand first; the target may be either operand */
};

struct pccl_operation {
    uint32_t kind;      /* enum pccl_operation_kind */
    uint32_t peer;      /* rank in the group; PCCL_NONE for local operations */
    uint32_t first_slot, num_slots; /* n = num_slots; 1, 2 or 3 times n entries from slots[first_slot], right after
                                       those of the operation before; so do the successors */
    uint32_t num_waits; /* operations that must complete (or be posted, see next_in_lane) before this one starts */
    uint32_t first_successor, num_successors; /* operations released when this one completes, in successors[] */
    uint32_t next_in_lane; /* next operation of the same kind with the same peer, released when this one is *posted*, so
                              that both ends of a pair post in the same order; PCCL_NONE if last or local */
};

struct pccl_program {
    uint32_t rank;
    uint32_t num_operations;
    struct pccl_operation *operations; /* malloc, owned, as the two arrays below */
    uint32_t num_slots;
    pccl_slot *slots; /* operands of all operations */
    uint32_t num_successors;
    uint32_t *successors;
    uint32_t num_scratch_slots;
    uint32_t *slot_chunk; /* [num_slots] the chunk that slots[j] holds when the operation runs: it tells the bytes moved.
                             Where input and output slots lie follows from the demand's numbering; every scratch slot has
                             room for the largest chunk. */
};

/* The program of one rank. Fails with PCCL_ERR_UNSUPPORTED if the schedule relays through devices outside the group. */
int pccl_program_create(const struct pccl_schedule *schedule, uint32_t rank, struct pccl_program **program,
                        struct pccl_error *error);
void pccl_program_free(struct pccl_program *program);
/* One block that a rank exchanges: with which rank, and the number of the block on its side. */
struct pccl_edge {
    uint32_t peer;
    uint32_t block;
};

/* The program of a rank that knows only its own edges of a pattern (a distributed graph). Every block is one slot and
 * goes straight to its peer; input block `block` of sends[i], output block `block` of receives[i]. Messages of a pair
 * are matched in the order of its edges at both ends; so are edges to the rank itself, which become copies. All sends
 * come before all receives; as the ranks have agreed on no order, it must run with a window that holds all of them.
 * Fails with PCCL_ERR_INVALID if the rank has not as many edges from itself as to itself. */
int pccl_program_exchange(uint32_t rank, const struct pccl_edge *sends, uint32_t num_sends,
                          const struct pccl_edge *receives, uint32_t num_receives, struct pccl_program **program,
                          struct pccl_error *error);
/* The programs of all ranks, programs[0 .. num_ranks-1], with the common work done once. After an error all are NULL. */
int pccl_programs_create(const struct pccl_schedule *schedule, struct pccl_program **programs, struct pccl_error *error);

#pragma GCC visibility pop

#endif
