/* Arrays on the heap whose size in bytes cannot overflow unnoticed. */
#ifndef PCCL__ARRAY_H
#define PCCL__ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* `count` zeroed elements (count 0 gives a valid pointer too); NULL when out of memory. Freed with free(). */
void *pccl__array_new(size_t count, size_t element_bytes);

void *pccl__array_move(void *array, uint32_t *capacity, uint64_t needed, size_t element_bytes);
/* Makes room for at least `needed` elements, growing by half so that appending is cheap. Returns the array, perhaps
 * moved, and updates *capacity; NULL when out of memory: the old array and *capacity are then still good. */
static inline void *pccl__array_grow(void *array, uint32_t *capacity, uint64_t needed, size_t element_bytes)
{
    return array != NULL && needed <= *capacity ? array : pccl__array_move(array, capacity, needed, element_bytes);
}

#endif
