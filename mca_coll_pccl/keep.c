/* What a call that returns before its end needs of the application later: the datatypes and the operator, which the
 * application may free meanwhile, and the arrays of counts and displacements, which not every language's bindings leave
 * in place. The view of the call says which arguments count at this rank; others may be anything. */
#include <stdlib.h>
#include <string.h>

#include "execute.h"

static size_t array_length(const struct coll_pccl_side *side)
{
    return side->blocks * (size_t)((side->counts != NULL) + (side->displs != NULL));
}

/* Copies an array of a side to *next and moves on behind it. */
static const int *copy_array(const int *array, uint32_t count, int **next)
{
    if (!array) {
        return NULL;
    }
    int *copy = *next;
    memcpy(copy, array, count * sizeof *copy);
    *next += count;
    return copy;
}

static int copy_arrays(struct coll_pccl_execution *execution)
{
    struct coll_pccl_side *sides[2] = {&execution->view.input, &execution->view.output};
    size_t needed = array_length(sides[0]) + array_length(sides[1]);
    if (needed > execution->max_arrays) {
        int *arrays = realloc(execution->arrays, needed * sizeof *arrays);
        if (!arrays) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        execution->arrays = arrays;
        execution->max_arrays = needed;
    }
    int *next = execution->arrays;
    for (int i = 0; i < 2; i++) {
        sides[i]->counts = copy_array(sides[i]->counts, sides[i]->blocks, &next);
        sides[i]->displs = copy_array(sides[i]->displs, sides[i]->blocks, &next);
    }
    return OMPI_SUCCESS;
}

static bool can_be_freed(const struct coll_pccl_side *side)
{
    return side->blocks > 0 && !ompi_datatype_is_predefined(side->type);
}

int coll_pccl_keep(struct coll_pccl_execution *execution)
{
    int status = copy_arrays(execution);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    execution->keeps = true;
    if (can_be_freed(&execution->view.input)) {
        OBJ_RETAIN(execution->view.input.type);
    }
    if (can_be_freed(&execution->view.output)) {
        OBJ_RETAIN(execution->view.output.type);
    }
    if (execution->op && !ompi_op_is_intrinsic(execution->op)) {
        OBJ_RETAIN(execution->op);
    }
    return OMPI_SUCCESS;
}

void coll_pccl_let_go(struct coll_pccl_execution *execution)
{
    execution->keeps = false;
    if (can_be_freed(&execution->view.input)) {
        OBJ_RELEASE_NO_NULLIFY(execution->view.input.type);
    }
    if (can_be_freed(&execution->view.output)) {
        OBJ_RELEASE_NO_NULLIFY(execution->view.output.type);
    }
    if (execution->op && !ompi_op_is_intrinsic(execution->op)) {
        OBJ_RELEASE_NO_NULLIFY(execution->op);
    }
}
