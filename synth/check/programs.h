/* The programs of all ranks while they are verified: four passes, each relying on those before it. */
#ifndef PCCL__PROGRAMS_H
#define PCCL__PROGRAMS_H

#include "pccl/verify.h"

struct pccl__programs {
    const struct pccl_demand *demand;
    const struct pccl_program *const *programs; /* [num_ranks] */
    struct pccl_error *error;
    uint32_t *first_operation; /* [num_ranks + 1] operations of all ranks are numbered through */
    uint32_t *partner;         /* [all operations] the other end of a send or receive, PCCL_NONE for local operations */
};

/* How many operand lists an operation of a kind has in slots[]: 1, 2 or 3. */
static inline uint32_t pccl__operand_lists(uint32_t kind)
{
    return kind == PCCL_OP_REDUCE ? 3 : kind == PCCL_OP_COPY ? 2 : 1;
}

/* Whether operand list `list` of an operation is written (the last one, except of a send). */
static inline bool pccl__operand_written(uint32_t kind, uint32_t list)
{
    return kind != PCCL_OP_SEND && list == pccl__operand_lists(kind) - 1;
}

/* Number of the memory that a slot is, within its rank: input slots, then output slots, then scratch; an output slot
 * that lies over an input slot has that one's number. */
static inline uint32_t pccl__slot_place(const struct pccl_demand *demand, uint32_t rank, pccl_slot slot, bool in_place)
{
    uint32_t index = PCCL_SLOT_INDEX(slot);
    if (PCCL_SLOT_AREA(slot) == PCCL_INPUT) {
        return index;
    }
    uint32_t num_inputs = pccl_demand_num_input_slots(demand, rank);
    if (PCCL_SLOT_AREA(slot) == PCCL_SCRATCH) {
        return num_inputs + pccl_demand_num_output_slots(demand, rank) + index;
    }
    uint32_t aliased = in_place || demand->collective == PCCL_BROADCAST
                           ? pccl_demand_aliased_input_slot(demand, index, rank)
                           : PCCL_NONE;
    return aliased != PCCL_NONE ? aliased : num_inputs + index;
}

/* 1. Every index is within its array, slots fit the demand, waits and lanes are consistent. */
int pccl__programs_check_structure(struct pccl__programs *programs);
/* 2. Every send has its receive; fills partner. */
int pccl__programs_match(struct pccl__programs *programs);
/* 3. Accesses of a rank to one slot are ordered by dependencies, in place and not. */
int pccl__programs_check_races(const struct pccl__programs *programs);
/* 4. Runs them: no deadlock, right values at the end. */
int pccl__programs_run(const struct pccl__programs *programs);

#endif
