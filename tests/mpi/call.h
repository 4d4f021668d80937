/* One call of a collective: made from a recipe of small numbers (equal on all ranks), run, compared byte by byte with a
 * reference that uses point-to-point messages only. */
#ifndef TEST_CALL_H
#define TEST_CALL_H

#include "kinds.h"
#include "tables.h"

#define NUM_COLLECTIVES ALLTOALLW /* which is not among them: a recipe has one datatype */
const char *collective_name(enum kind collective);
bool collective_is_rooted(enum kind collective);
bool collective_is_reduction(enum kind collective);
bool collective_has_counts(enum kind collective); /* a v-form */

enum weights { WEIGHTS_EQUAL, WEIGHTS_ZEROS, WEIGHTS_TRIANGLE, WEIGHTS_ONE, WEIGHTS_NONE, WEIGHTS_NOISE, NUM_WEIGHTS };
enum layout { LAYOUT_DENSE, LAYOUT_HOLES, LAYOUT_DESCENDING, NUM_LAYOUTS };

#define EACH_ANOTHER (-1) /* as a variant: every rank takes another one */

struct recipe {
    enum kind collective;
    int comm;   /* in the table of communicators */
    int root;   /* modulo the size */
    int family; /* of datatypes; not for reductions */
    int send_variant, receive_variant;
    int units;            /* of a block of weight 1 */
    enum weights weights; /* v-forms */
    enum layout layout;   /* v-forms */
    int reduction;        /* in the table */
    bool in_place, junk;  /* junk: insignificant arguments hold rubbish */
    bool reference_first; /* else after the call: then fast ranks may run ahead */
    uint64_t seed;        /* of the data */
};

/* One side of a call as this rank sees it. */
struct side {
    MPI_Datatype type;
    int num_blocks; /* 0: not significant here */
    int counts[MAX_RANKS], displacements[MAX_RANKS];
    struct buffer buffer;
};

struct call {
    const struct recipe *recipe;
    MPI_Comm comm;
    int rank, size, root;
    bool in_place; /* at this rank */
    struct side send, receive;
    const struct reduction *reduction;
};

/* Set for plain Open MPI 4.1, to keep away from its defects: all ranks name the same type (allgather and allgatherv
 * hang or mix up data otherwise), scatterv has no empty type (it hangs), types with gaps stay out of alltoall (Bruck's
 * algorithm writes outside its memory from 12 ranks), and no reduction has a negative lower bound (neither does the ring all-reduce stay inside). */
extern bool recipe_plain;

/* Names the case, makes the call and compares. Nothing happens on ranks outside the communicator. */
void recipe_run(const struct recipe *recipe);

/* The weight of a block in v-forms; `index` is a rank, or the sum of two. */
int block_weight(enum weights weights, int index);

/* reference.c: writes into `expected` (a copy of the receive buffer as it was before the call) what must be there
 * after. `before` is another such copy. */
void reference_movement(const struct call *call, const struct buffer *before, struct buffer *expected);
void reference_reduction(const struct call *call, const struct buffer *before, struct buffer *expected);

#endif
