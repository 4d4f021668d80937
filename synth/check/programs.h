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

/* Where a rank's slots lie in its memory, whose places are numbered: input slots, then output slots, then scratch. Where
 * input and output share memory the places of the input count for both. */
struct pccl__layout {
    uint32_t first[3];                             /* by area: place of slot 0 */
    uint32_t first_alias, num_aliases, alias_base; /* so many places from first_alias on are those from alias_base on */
};

/* in_place: as MPI_IN_PLACE lays it out; a broadcast's root has input and output in the same memory anyway. */
struct pccl__layout pccl__layout_find(const struct pccl_demand *demand, uint32_t rank, bool in_place);

static inline uint32_t pccl__slot_place(const struct pccl__layout *layout, pccl_slot slot)
{
    uint32_t place = layout->first[slot >> 30] + PCCL_SLOT_INDEX(slot), alias = place - layout->first_alias;
    return alias < layout->num_aliases ? layout->alias_base + alias : place;
}

/* 1. Every index is within its array, slots fit the demand, waits and lanes are consistent. */
int pccl__programs_check_structure(struct pccl__programs *programs);
/* 2. Every send has its receive; fills partner. */
int pccl__programs_match(struct pccl__programs *programs);
/* 3. Accesses of a rank to one slot are ordered by dependencies, in place and not. */
int pccl__programs_check_races(const struct pccl__programs *programs);
/* The same for one program; of the others only the demand and where errors go are used. */
int pccl__program_check_races(const struct pccl__programs *programs, const struct pccl_program *program);
/* 4. Runs them: no deadlock, right values at the end. */
int pccl__programs_run(const struct pccl__programs *programs);

#endif
