#include "base/array.h"

#include <stdlib.h>

void *pccl__array_new(size_t count, size_t element_bytes)
{
    if (count > SIZE_MAX / element_bytes) {
        return NULL;
    }
    return calloc(count > 0 ? count : 1, element_bytes);
}

void *pccl__array_move(void *array, uint32_t *capacity, uint64_t needed, size_t element_bytes)
{
    uint64_t wanted = (uint64_t)*capacity + *capacity / 2 + 8;
    if (wanted < needed) {
        wanted = needed;
    }
    if (wanted > UINT32_MAX) {
        wanted = UINT32_MAX;
    }
    if (wanted < needed || wanted > SIZE_MAX / element_bytes) {
        return NULL;
    }
    void *grown = realloc(array, (size_t)wanted * element_bytes);
    if (grown != NULL) {
        *capacity = (uint32_t)wanted;
    }
    return grown;
}
