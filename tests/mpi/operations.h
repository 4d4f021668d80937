/* One collective operation with its own buffers, in any of the three forms, with data that can be checked by a formula:
 * for tests of requests, where many operations are under way at once. */
#ifndef TEST_OPERATIONS_H
#define TEST_OPERATIONS_H

#include "check.h"
#include "kinds.h"

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

extern const char *const kind_names[NUM_KINDS];

struct operation {
    enum kind kind;
    MPI_Comm comm;
    int rank, size, root;
    int count;         /* elements of a block */
    bool gapped;       /* elements have a gap after them, and reductions use an operator of the program */
    MPI_Datatype type; /* made for this operation if gapped */
    MPI_Op op;
    int stride; /* ints from element to element */
    int seed;   /* of the data */
    int *send, *receive;
    int counts[MAX_RANKS], displs[MAX_RANKS], byte_displs[MAX_RANKS];
    MPI_Datatype types[MAX_RANKS];
    MPI_Request request;
    int status; /* of the last call, where errors return */
};

/* Makes buffers and, if gapped, a datatype and an operator. All ranks of comm give the same arguments. */
void operation_make(struct operation *operation, enum kind kind, MPI_Comm comm, int root, int count, bool gapped);
/* New data to send, and nothing received. */
void operation_fill(struct operation *operation, int seed);
/* The call. Blocking: done; non-blocking: under way in ->request; persistent: initialised in ->request. */
void operation_call(struct operation *operation, enum form form);
/* Overwrites the arrays of counts, displacements and types, as a binding does that has made them for the call only. */
void operation_forget_arrays(struct operation *operation);
/* Frees the datatype and the operator: legal as soon as the call has returned. */
void operation_free_objects(struct operation *operation);
/* Compares what has been received, gaps included. */
void operation_check(const struct operation *operation);
void operation_free(struct operation *operation);

#endif
