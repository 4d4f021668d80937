/* Memory that elements of a datatype occupy. */
#ifndef COLL_PCCL_SPAN_H
#define COLL_PCCL_SPAN_H

#include "compat.h"

/* Bytes from the first to the last that `count` elements touch; *gap: from the address of element 0 to that first byte
 * (negative with a negative lower bound or extent). */
static inline ptrdiff_t coll_pccl_span(const struct ompi_datatype_t *type, size_t count, ptrdiff_t *gap)
{
    const opal_datatype_t *layout = &type->super;
    *gap = 0;
    if (count == 0 || layout->size == 0) {
        return 0;
    }
    ptrdiff_t last = (layout->ub - layout->lb) * (ptrdiff_t)(count - 1);
    *gap = layout->true_lb + (last < 0 ? last : 0);
    return layout->true_ub - layout->true_lb + (last < 0 ? -last : last);
}

/* Memory for a private array of elements: bytes to allocate, and where element 0 goes in it so that it is aligned as
 * the allocation is. */
#define COLL_PCCL_ALIGNMENT 64

static inline size_t coll_pccl_align(size_t bytes)
{
    return (bytes + COLL_PCCL_ALIGNMENT - 1) & ~(size_t)(COLL_PCCL_ALIGNMENT - 1);
}

struct coll_pccl_room {
    size_t bytes;
    ptrdiff_t first; /* from the start of the allocation to the address of element 0 */
};

static inline struct coll_pccl_room coll_pccl_room(const struct ompi_datatype_t *type, size_t count)
{
    ptrdiff_t gap;
    size_t span = (size_t)coll_pccl_span(type, count, &gap);
    ptrdiff_t first = (-gap + COLL_PCCL_ALIGNMENT - 1) & -(ptrdiff_t)COLL_PCCL_ALIGNMENT; /* at least -gap */
    return (struct coll_pccl_room){span + (size_t)(first + gap), first};
}

#endif
