#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES 4096
#define LARGEST_BLOCK_BYTES ((size_t)1 << 20)

struct pccl__arena_block {
    struct pccl__arena_block *older;
    size_t capacity_bytes;
    alignas(max_align_t) unsigned char bytes[];
};

static int add_block(struct pccl__arena *arena, size_t needed_bytes)
{
    size_t capacity = arena->newest == NULL ? FIRST_BLOCK_BYTES : arena->newest->capacity_bytes * 2;
    if (capacity > LARGEST_BLOCK_BYTES) {
        capacity = LARGEST_BLOCK_BYTES;
    }
    if (capacity < needed_bytes) {
        capacity = needed_bytes;
    }
    if (capacity > SIZE_MAX - sizeof(struct pccl__arena_block)) {
        return -1;
    }
    struct pccl__arena_block *block = malloc(sizeof *block + capacity);
    if (block == NULL) {
        return -1;
    }
    block->older = arena->newest;
    block->capacity_bytes = capacity;
    arena->newest = block;
    arena->used_bytes = 0;
    return 0;
}

void *pccl__arena_new(struct pccl__arena *arena, size_t count, size_t element_bytes)
{
    const size_t unit = alignof(max_align_t);
    if (element_bytes != 0 && count > (SIZE_MAX - unit) / element_bytes) {
        return NULL;
    }
    size_t bytes = (count * element_bytes + unit - 1) / unit * unit;
    if (arena->newest == NULL || arena->newest->capacity_bytes - arena->used_bytes < bytes) {
        if (add_block(arena, bytes) != 0) {
            return NULL;
        }
    }
    void *result = arena->newest->bytes + arena->used_bytes;
    arena->used_bytes += bytes;
    return memset(result, 0, bytes);
}

char *pccl__arena_text(struct pccl__arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = pccl__arena_new(arena, bytes, 1);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

void pccl__arena_free(struct pccl__arena *arena)
{
    while (arena->newest != NULL) {
        struct pccl__arena_block *older = arena->newest->older;
        free(arena->newest);
        arena->newest = older;
    }
    arena->used_bytes = 0;
}
