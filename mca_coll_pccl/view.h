/* Views: the buffers of a call as this rank has them, with in-place and insignificant arguments out of the way. */
#ifndef COLL_PCCL_VIEW_H
#define COLL_PCCL_VIEW_H

#include "collective.h"
#include "neighborhood.h"

/* Blocks in memory of the application. */
struct coll_pccl_side {
    char *buffer;
    struct ompi_datatype_t *type;
    uint32_t blocks;   /* 0: this rank has no such buffer */
    size_t count;      /* elements per block */
    const int *counts; /* instead of count: elements of each block */
    const int *displs; /* elements, with types bytes; NULL: blocks follow one another */
    const MPI_Aint *places; /* instead of displs: bytes */
    struct ompi_datatype_t *const *types; /* instead of type: of each block; then with counts, and displs or places */
    const int *peers; /* NULL, or the rank at the other end of each block; of MPI_PROC_NULL nothing else may be read */
};

/* How input and output lie to each other. */
enum coll_pccl_relation {
    COLL_PCCL_APART,
    COLL_PCCL_INPUT_IN_OUTPUT, /* the input is one block of the output */
    COLL_PCCL_OUTPUT_IN_INPUT, /* the output is one block of the input */
    COLL_PCCL_SAME_MEMORY      /* the output overwrites the input: one of them must be private */
};

struct coll_pccl_view {
    struct coll_pccl_side input, output; /* the one that lies in the other has blocks = 0 */
    enum coll_pccl_relation relation;
    uint32_t block; /* of the other one */
};

/* neighborhood: of a collective among neighbours, whose lists of ranks the view refers to; else NULL. */
void coll_pccl_view_make(const struct coll_pccl_call *call, uint32_t rank, uint32_t num_ranks,
                         const struct coll_pccl_neighborhood *neighborhood, struct coll_pccl_view *view);

#endif
