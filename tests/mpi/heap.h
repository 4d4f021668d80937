/* The memory that the component asks for. A program linked with heap.c replaces malloc and its kin; an allocation is the
 * component's if the first function above it that is not in the C library lies in mca_coll_pccl.so (so strdup and the
 * like count too). */
#ifndef TEST_HEAP_H
#define TEST_HEAP_H

#include <stdbool.h>

struct heap {
    volatile bool watched; /* allocations count, and fail, only meanwhile */
    long own, all;         /* allocations: the component's, everybody's */
    long fail_at;          /* of the component's, the one that fails; 0: none */
    bool fail_for_good;    /* all later ones fail as well */
};
extern struct heap heap;

/* Before memory is watched. False if the component is not loaded yet, which MPI_Init does. */
bool heap_prepare(void);
/* Prints where the first allocation of the component since own = 0 came from. */
void heap_print_first(void);

#endif
