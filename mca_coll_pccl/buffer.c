/* Buffers that live from call to call, within a bound for the process. */
#include <stdatomic.h>
#include <stdlib.h>

#include "execute.h"

/* Allocating small buffers each time would hurt, so they have a bound of their own, which only a program with very many
 * calls outstanding at once reaches. */
#define SMALL_BYTES 65536
#define KEPT_SMALL_BYTES (INT64_C(16) << 20)

static atomic_int_fast64_t kept_bytes, kept_small_bytes; /* in all large and all small buffers of the process */

static atomic_int_fast64_t *sum_of(size_t bytes)
{
    return bytes <= SMALL_BYTES ? &kept_small_bytes : &kept_bytes;
}

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
    atomic_fetch_add(sum_of(rounded), (int64_t)rounded);
    return true;
}

bool coll_pccl_buffer_trim(struct coll_pccl_buffer *buffer)
{
    int64_t bound = buffer->bytes <= SMALL_BYTES ? KEPT_SMALL_BYTES : (int64_t)coll_pccl_parameters.keep_mib << 20;
    if (*sum_of(buffer->bytes) <= bound) {
        return false;
    }
    coll_pccl_buffer_free(buffer);
    return true;
}

void coll_pccl_buffer_free(struct coll_pccl_buffer *buffer)
{
    if (buffer->memory) {
        atomic_fetch_sub(sum_of(buffer->bytes), (int64_t)buffer->bytes);
        free(buffer->memory);
        buffer->memory = NULL;
        buffer->bytes = 0;
    }
}
