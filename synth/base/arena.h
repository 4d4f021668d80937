/* Bump allocator: many small blocks that die together. */
#ifndef PCCL__ARENA_H
#define PCCL__ARENA_H

#include <stddef.h>

struct pccl__arena_block;

/* All zero is an empty arena. */
struct pccl__arena {
    struct pccl__arena_block *newest;
    size_t used_bytes; /* in the newest block */
};

/* `count` zeroed elements, aligned for any type; NULL when out of memory or when the size overflows. */
void *pccl__arena_new(struct pccl__arena *arena, size_t count, size_t element_bytes);
/* A copy of a string. */
char *pccl__arena_text(struct pccl__arena *arena, const char *text);
/* Frees everything; the arena is empty again. */
void pccl__arena_free(struct pccl__arena *arena);

#endif
