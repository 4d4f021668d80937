/* What a reduction works on: an operator, a datatype, operands. */
#ifndef PROGRAMS_OPERATORS_H
#define PROGRAMS_OPERATORS_H

#include "../tables.h"
#include "datatypes.h"

struct operands {
    MPI_Op op;
    MPI_Datatype type;
    MPI_Aint extent;
    const char *name;
    const struct reduction *row; /* of the table; NULL: type and operator were made for this call */
    struct typemap map;          /* of a type made for this call */
    MPI_User_function *function; /* of an operator made for this call */
    int total;                   /* elements that every rank gives */
    int first, count;            /* of the elements that this rank gets */
    int counts[MAX_RANKS];       /* for reduce_scatter */
    struct buffer send, receive, send_expected, receive_expected;
};

/* Some row of the table, or a type with gaps and an operator, both new. */
void operands_choose(struct operands *operands, struct random *shared);
/* Writes the operand `element` of a rank, whose numbers come from `seed`. */
void operand_write(const struct operands *operands, void *address, uint64_t seed, int element);
/* right = left op right for `count` elements; works after the release as well. */
void operands_combine(const struct operands *operands, void *left, void *right, int count);
/* The user may free them while operations are pending. */
void operands_release(struct operands *operands);
void operands_free(struct operands *operands);

#endif
