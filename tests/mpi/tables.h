/* The tables that the tests draw from: datatypes, communicators, reductions. */
#ifndef TEST_TABLES_H
#define TEST_TABLES_H

#include "check.h"

/* --- datatypes: each family holds types whose signatures are multiples of one unit -------------------------------- */

#define MAX_VARIANTS 6

struct variant {
    const char *name;
    int units; /* units of the family in one element */
    MPI_Datatype type;
};

struct family {
    const char *name;
    int num_variants; /* variant 0 has one unit */
    struct variant variants[MAX_VARIANTS];
};

enum { FAMILY_INT, FAMILY_CHAR, FAMILY_DOUBLE, FAMILY_RECORD, FAMILY_PAIR, FAMILY_EMPTY, NUM_FAMILIES };
extern struct family families[NUM_FAMILIES];

void families_make(void);
void families_free(void);

/* --- communicators ------------------------------------------------------------------------------------------------ */

#define MAX_COMMS 16

struct named_comm {
    const char *name;
    MPI_Comm comm; /* MPI_COMM_NULL on ranks outside */
};
extern struct named_comm comms[MAX_COMMS];
extern int num_comms; /* the first is MPI_COMM_WORLD */

void comms_make(void);
void comms_free(void);

/* --- reductions: an operator with a datatype and operands for which the result does not depend on rounding -------- */

struct reduction {
    const char *name;
    MPI_Op op;
    MPI_Datatype type;
    void (*fill)(void *element, uint64_t noise);        /* writes one operand at an element's address */
    int pad_offset, pad_bytes, pad2_offset, pad2_bytes; /* bytes of an element that C leaves undefined */
};

#define MAX_REDUCTIONS 48
extern struct reduction reductions[MAX_REDUCTIONS];
extern int num_reductions;
/* The reductions from this one on use user-defined operators. */
extern int first_user_reduction;

void reductions_make(void);
void reductions_free(void);

#endif
