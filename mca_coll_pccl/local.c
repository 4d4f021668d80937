/* Copies and reductions inside one rank.
 *
 * Bitwise equal results need more than one order of operands: Open MPI's two-operand and three-operand kernels differ
 * in which zero or NaN they keep, and their vector loops differ from their scalar remainders. So every rank reduces a
 * chunk by the two-operand kernel, whole or in blocks that leave the same remainder. Where results must not depend on
 * how chunks are cut either, there are no remainders. */
#include <string.h>

#include "execute.h"
#include "span.h"

/* Long vectors are worked on in blocks that stay in the cache between a copy and the reduction that follows. Their
 * number of elements is a multiple of every vector length. */
#define BLOCK_STEP_ELEMENTS 1024
#define BLOCK_BYTES 16384

/* Elements that fill vectors of any length, and the size of the largest predefined one. */
#define FULL_ELEMENTS 64
#define LARGEST_ELEMENT sizeof(long double _Complex)

/* Copies units; addresses may be equal, else they do not overlap. */
static inline int copy(const struct coll_pccl_execution *execution, char *target, const char *source, size_t units)
{
    if (target == source || units == 0) {
        return OMPI_SUCCESS;
    }
    if (execution->dense) {
        ptrdiff_t lower_bound = execution->datatype->super.true_lb;
        memcpy(target + lower_bound, source + lower_bound, units * execution->unit_bytes);
        return OMPI_SUCCESS;
    }
    return ompi_datatype_copy_content_same_ddt(execution->datatype, units, target, (char *)source) ? OMPI_ERROR
                                                                                                   : OMPI_SUCCESS;
}

int coll_pccl_local_copy(const struct coll_pccl_execution *execution, char *target, const char *source, size_t units)
{
    return copy(execution, target, source, units);
}

static size_t block_elements(const struct coll_pccl_execution *execution, size_t units)
{
    size_t steps = BLOCK_BYTES / BLOCK_STEP_ELEMENTS / (execution->unit_bytes ? execution->unit_bytes : 1);
    size_t elements = (steps ? steps : 1) * BLOCK_STEP_ELEMENTS;
    return units < elements ? units : elements;
}

/* The last elements of a chunk among copies of one of them, so that the kernel's vector loop meets them too. */
static void reduce_remainder(const struct coll_pccl_execution *execution, char *left, char *right, size_t units)
{
    char operand[FULL_ELEMENTS * LARGEST_ELEMENT] __attribute__((aligned(COLL_PCCL_ALIGNMENT)));
    char result[FULL_ELEMENTS * LARGEST_ELEMENT] __attribute__((aligned(COLL_PCCL_ALIGNMENT)));
    size_t bytes = execution->unit_bytes;
    memcpy(operand, left, units * bytes);
    memcpy(result, right, units * bytes);
    for (size_t i = units; i < FULL_ELEMENTS; i++) {
        memcpy(operand + i * bytes, operand, bytes);
        memcpy(result + i * bytes, result, bytes);
    }
    ompi_op_reduce(execution->op, operand, result, FULL_ELEMENTS, execution->datatype);
    memcpy(right, result, units * bytes);
}

/* right = left op right. The operators of MPI itself have vector loops for elements without gaps only. */
static void run_kernel(const struct coll_pccl_execution *execution, char *left, char *right, size_t units)
{
    bool exact = coll_pccl_parameters.reproducible && ompi_op_is_intrinsic(execution->op) && execution->dense &&
                 execution->unit_bytes <= LARGEST_ELEMENT;
    size_t remainder = exact ? units % FULL_ELEMENTS : 0, full = units - remainder;
    if (full > 0) {
        ompi_op_reduce(execution->op, left, right, full, execution->datatype);
    }
    if (remainder > 0) {
        size_t offset = full * execution->unit_bytes;
        reduce_remainder(execution, left + offset, right + offset, remainder);
    }
}

/* left = left op right, with right kept. */
static int reduce_into_left(struct coll_pccl_execution *execution, char *left, const char *right, size_t units)
{
    char on_stack[BLOCK_BYTES + COLL_PCCL_ALIGNMENT] __attribute__((aligned(COLL_PCCL_ALIGNMENT)));
    size_t at_once = block_elements(execution, units);
    struct coll_pccl_room room = coll_pccl_room(execution->datatype, at_once);
    bool is_large = room.bytes > sizeof on_stack;
    if (is_large && !coll_pccl_buffer_reserve(&execution->operand, room.bytes)) {
        return MPI_ERR_NO_MEM;
    }
    char *block = (is_large ? execution->operand.memory : on_stack) + room.first;
    int status = OMPI_SUCCESS;
    for (size_t done = 0; done < units && status == OMPI_SUCCESS; done += at_once) {
        size_t now = units - done < at_once ? units - done : at_once;
        ptrdiff_t offset = (ptrdiff_t)done * execution->extent;
        status = coll_pccl_local_copy(execution, block, right + offset, now);
        if (status == OMPI_SUCCESS) {
            run_kernel(execution, left + offset, block, now);
            status = coll_pccl_local_copy(execution, left + offset, block, now);
        }
    }
    return status;
}

/* target = left op right, where target is elsewhere. */
static int reduce_apart(const struct coll_pccl_execution *execution, char *target, char *left, const char *right,
                        size_t units)
{
    size_t at_once = block_elements(execution, units);
    int status = OMPI_SUCCESS;
    for (size_t done = 0; done < units && status == OMPI_SUCCESS; done += at_once) {
        size_t now = units - done < at_once ? units - done : at_once;
        ptrdiff_t offset = (ptrdiff_t)done * execution->extent;
        status = coll_pccl_local_copy(execution, target + offset, right + offset, now);
        if (status == OMPI_SUCCESS) {
            run_kernel(execution, left + offset, target + offset, now);
        }
    }
    return status;
}

static int reduce(struct coll_pccl_execution *execution, char *target, char *left, char *right, size_t units)
{
    if (units == 0) {
        return OMPI_SUCCESS;
    }
    if (target == left) {
        return reduce_into_left(execution, left, right, units);
    }
    if (target != right) {
        return reduce_apart(execution, target, left, right, units);
    }
    run_kernel(execution, left, right, units);
    return OMPI_SUCCESS;
}

/* Any number of copies or reductions. */
static __attribute__((noinline)) int run_slots(struct coll_pccl_execution *execution,
                                               const struct pccl_operation *operation)
{
    uint32_t n = operation->num_slots;
    int status = OMPI_SUCCESS;
    for (uint32_t i = 0; i < n && status == OMPI_SUCCESS; i++) {
        size_t units;
        uint32_t slot = operation->first_slot + i;
        char *first = coll_pccl_operand(execution, slot, &units);
        char *second = coll_pccl_operand(execution, slot + n, &units);
        if (operation->kind == PCCL_OP_COPY) {
            status = copy(execution, second, first, units);
        } else {
            char *target = coll_pccl_operand(execution, slot + 2 * n, &units);
            status = reduce(execution, target, first, second, units);
        }
    }
    return status;
}

int coll_pccl_local_run(struct coll_pccl_execution *execution, uint32_t index)
{
    const struct pccl_operation *operation = &execution->plan->program->operations[index];
    const struct coll_pccl_message *message = &execution->messages[index];
    return coll_pccl_is_single_copy(operation)
               ? copy(execution, message->target, message->address, message->units)
               : run_slots(execution, operation);
}
