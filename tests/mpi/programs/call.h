/* One call of a collective: its arguments, and what must be in its buffers in the end. Every rank knows that by itself:
 * which numbers any rank gives follows from the seed of the call. */
#ifndef PROGRAMS_CALL_H
#define PROGRAMS_CALL_H

#include "communicators.h"
#include "datatypes.h"
#include "operators.h"

enum collective {
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    BARRIER,
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NUM_COLLECTIVES
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT, NUM_FORMS };

#define MAX_BLOCKS (2 * MAX_SIZE)

/* One side of a call that moves data. */
struct side {
    int num_blocks;  /* 0: the side is not significant at this rank, or has no neighbours */
    bool absent;     /* not significant */
    bool typed_apart; /* each block has a type of its own; else all have that of the first */
    struct block {
        int source, target, label; /* say what the block holds */
        bool nobody;               /* the neighbour is MPI_PROC_NULL */
        struct typemap *map;
        ptrdiff_t offset; /* bytes from the buffer's address */
    } blocks[MAX_BLOCKS];
    struct typemap *maps; /* one, or one for each block */
    struct buffer buffer, expected;

    /* As the call gets them. They stay until the operation is over. */
    void *address;
    int counts[MAX_BLOCKS], displacements[MAX_BLOCKS];
    MPI_Aint byte_displacements[MAX_BLOCKS];
    MPI_Datatype types[MAX_BLOCKS];
};

struct call {
    enum collective collective;
    enum form form;
    MPI_Comm comm; /* may be freed while the operation is pending */
    int rank, size, root;
    bool in_place; /* at this rank */
    uint64_t seed; /* the same at all ranks; of the arguments */
    uint64_t data; /* the same at all ranks; of what is in the buffers, another one each time it starts */
    struct random shared, own;
    char text[250]; /* what it is, for messages */

    struct side send, receive;
    struct operands operands;
};

/* Chooses the arguments, makes types and buffers. */
struct call *call_make(const struct communicator *communicator, enum collective collective, enum form form,
                       uint64_t seed);
/* Fills the buffers for the next start. */
void call_fill(struct call *call, uint64_t data);
/* Calls MPI in the form; returns what it returns. */
int call_run(struct call *call, MPI_Request *request);
/* Frees types and operators, as MPI allows as soon as the call is made. */
void call_release(struct call *call);
/* Compares every byte of every buffer. */
void call_check(const struct call *call);
void call_free(struct call *call);

bool collective_is_neighbourhood(enum collective collective);
bool collective_is_reduction(enum collective collective);
/* The text of a collective in a form, like "ibcast". */
const char *collective_name(enum collective collective);

/* --- parts of the above ------------------------------------------------------------------------------------------- */

void movement_make(struct call *call, const struct communicator *communicator);
void movement_fill(struct call *call);
void movement_release(struct call *call);
void movement_check(const struct call *call);
void movement_free(struct call *call);

void reduction_make(struct call *call);
void reduction_fill(struct call *call);
void reduction_release(struct call *call);
void reduction_check(const struct call *call);
void reduction_free(struct call *call);

#endif
