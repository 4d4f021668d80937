/* What a call that returns before its end needs of the application later: the datatypes and the operator, which the
 * application may free meanwhile, and the arrays of counts, displacements and datatypes, which not every language's
 * bindings leave in place. The view of the call says which arguments count at this rank; others may be anything. */
#include <stdlib.h>
#include <string.h>

#include "execute.h"

static size_t rounded(size_t bytes)
{
    return (bytes + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
}

/* Copies an array of a side to *next and moves on behind it. */
static const void *copy_array(const void *array, size_t bytes, char **next)
{
    if (!array) {
        return NULL;
    }
    char *copy = *next;
    if (bytes > 0) {
        memcpy(copy, array, bytes);
    }
    *next += rounded(bytes);
    return copy;
}

static size_t arrays_bytes(const struct coll_pccl_side *side)
{
    size_t ints = rounded(side->blocks * sizeof(int));
    return (side->counts ? ints : 0) + (side->displs ? ints : 0) + (side->types ? side->blocks * sizeof(void *) : 0) +
           (side->places ? side->blocks * sizeof(MPI_Aint) : 0);
}

int coll_pccl_keep_arrays(struct coll_pccl_execution *execution)
{
    struct coll_pccl_side *sides[2] = {&execution->view.input, &execution->view.output};
    size_t needed = arrays_bytes(sides[0]) + arrays_bytes(sides[1]);
    if (needed > execution->arrays_bytes) {
        char *arrays = realloc(execution->arrays, needed);
        if (!arrays) {
            return MPI_ERR_NO_MEM;
        }
        execution->arrays = arrays;
        execution->arrays_bytes = needed;
    }
    char *next = execution->arrays;
    for (int i = 0; i < 2; i++) {
        uint32_t blocks = sides[i]->blocks;
        sides[i]->counts = copy_array(sides[i]->counts, blocks * sizeof(int), &next);
        sides[i]->displs = copy_array(sides[i]->displs, blocks * sizeof(int), &next);
        sides[i]->types = copy_array(sides[i]->types, blocks * sizeof(void *), &next);
        sides[i]->places = copy_array(sides[i]->places, blocks * sizeof(MPI_Aint), &next);
    }
    return OMPI_SUCCESS;
}

/* Datatype number i of a side if the application can free it, else NULL. That of a block without elements may be
 * anything. */
static struct ompi_datatype_t *freeable_type(const struct coll_pccl_side *side, uint32_t i)
{
    bool is_empty = side->types && (side->counts[i] == 0 || (side->peers && side->peers[i] == MPI_PROC_NULL));
    struct ompi_datatype_t *type = !side->types ? side->type : is_empty ? NULL : side->types[i];
    return type && !ompi_datatype_is_predefined(type) ? type : NULL;
}

/* How many datatypes a side has. */
static uint32_t num_types(const struct coll_pccl_side *side)
{
    return side->types || side->blocks == 0 ? side->blocks : 1;
}

int coll_pccl_keep(struct coll_pccl_execution *execution)
{
    const struct coll_pccl_side *sides[2] = {&execution->view.input, &execution->view.output};
    int status = execution->repeatable ? OMPI_SUCCESS : coll_pccl_keep_arrays(execution);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    for (int i = 0; i < 2; i++) {
        for (uint32_t j = 0; j < num_types(sides[i]); j++) {
            struct ompi_datatype_t *type = freeable_type(sides[i], j);
            if (type) {
                OBJ_RETAIN(type);
            }
        }
    }
    if (execution->op && !ompi_op_is_intrinsic(execution->op)) {
        OBJ_RETAIN(execution->op);
    }
    execution->keeps = true;
    return OMPI_SUCCESS;
}

void coll_pccl_let_go(struct coll_pccl_execution *execution)
{
    const struct coll_pccl_side *sides[2] = {&execution->view.input, &execution->view.output};
    for (int i = 0; i < 2; i++) {
        for (uint32_t j = 0; j < num_types(sides[i]); j++) {
            struct ompi_datatype_t *type = freeable_type(sides[i], j);
            if (type) {
                OBJ_RELEASE(type);
            }
        }
    }
    if (execution->op && !ompi_op_is_intrinsic(execution->op)) {
        OBJ_RELEASE_NO_NULLIFY(execution->op);
    }
    execution->keeps = false;
}
