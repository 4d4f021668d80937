#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

struct range {
    uintptr_t low, high;
};

struct heap heap;

static struct range component, c_library;
static void *first_stack[24];
static int first_depth;

static bool holds(const struct range *range, const void *address)
{
    return (uintptr_t)address >= range->low && (uintptr_t)address < range->high;
}

static int note_range(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    struct range *range = NULL;
    (void)info_bytes;
    (void)context;
    if (strstr(info->dlpi_name, "mca_coll_pccl") != NULL) {
        range = &component;
    } else if (strstr(info->dlpi_name, "libc.so") != NULL) {
        range = &c_library;
    }
    for (int i = 0; range != NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD) {
            uintptr_t low = info->dlpi_addr + header->p_vaddr, high = low + header->p_memsz;
            range->low = range->low == 0 || low < range->low ? low : range->low;
            range->high = high > range->high ? high : range->high;
        }
    }
    return 0;
}

/* Counts an allocation; true if it must fail. */
static bool fails(void)
{
    void *stack[24];
    bool is_own = false;
    if (!heap.watched) {
        return false;
    }
    heap.watched = false; /* backtrace may allocate */
    if (component.high == 0) {
        dl_iterate_phdr(note_range, NULL);
    }
    heap.all++;
    int depth = backtrace(stack, 24), caller = 2; /* 0 is this function, 1 the replacement */
    while (caller < depth && holds(&c_library, stack[caller])) {
        caller++;
    }
    is_own = caller < depth && holds(&component, stack[caller]);
    if (is_own && heap.own++ == 0) {
        memcpy(first_stack, stack, sizeof(stack));
        first_depth = depth;
    }
    heap.watched = true;
    return is_own && heap.fail_at > 0 && (heap.own == heap.fail_at || (heap.fail_for_good && heap.own > heap.fail_at));
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(memory, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = fails() ? NULL : __libc_memalign(alignment, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

bool heap_prepare(void)
{
    void *stack[2];
    backtrace(stack, 2); /* loads what it needs now */
    dl_iterate_phdr(note_range, NULL);
    return component.high != 0;
}

void heap_print_first(void)
{
    backtrace_symbols_fd(first_stack, first_depth, 2);
}
