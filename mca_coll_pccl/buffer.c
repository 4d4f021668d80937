/* Buffers that live from call to call, within a bound for the process. */
#include <stdatomic.h>
#include <stdlib.h>

#include "execute.h"

#define ALWAYS_KEPT_BYTES 65536 /* a buffer of this size does not hurt, and allocating it each time would */

static atomic_int_fast64_t kept_bytes; /* in all buffers of the process */

bool coll_pccl_buffer_reserve(struct coll_pccl_buffer *buffer, size_t bytes)
{
    if (bytes <= buffer->bytes) {
        return true;
    }
    coll_pccl_buffer_free(buffer);
    size_t rounded = (bytes + COLL_PCCL_ALIGNMENT - 1) / COLL_PCCL_ALIGNMENT * COLL_PCCL_ALIGNMENT;
    if (rounded < bytes) {
        return false;
    }
    buffer->memory = aligned_alloc(COLL_PCCL_ALIGNMENT, rounded);
    if (!buffer->memory) {
        return false;
    }
    buffer->bytes = rounded;
    atomic_fetch_add(&kept_bytes, (int64_t)rounded);
    return true;
}

bool coll_pccl_buffer_trim(struct coll_pccl_buffer *buffer)
{
    if (buffer->bytes <= ALWAYS_KEPT_BYTES || kept_bytes <= (int64_t)coll_pccl_parameters.keep_mib << 20) {
        return false;
    }
    coll_pccl_buffer_free(buffer);
    return true;
}

void coll_pccl_buffer_free(struct coll_pccl_buffer *buffer)
{
    if (buffer->memory) {
        atomic_fetch_sub(&kept_bytes, (int64_t)buffer->bytes);
        free(buffer->memory);
        buffer->memory = NULL;
        buffer->bytes = 0;
    }
}
