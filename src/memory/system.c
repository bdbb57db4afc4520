/* The system allocator: the only place of the library that calls it. */
#include "memory/system.h"

#include <stdlib.h>
#include <string.h>

/* Fresh pages are zero, and calloc knows when it has such: the rest is not written. A huge page is
 * one only where it starts at a multiple of its size; calloc's own pointer is kept before it. */
static void *allocate_zeroed(size_t size, size_t alignment) {
    size_t whole;
    alignment = eg__max(alignment, EG__HUGE_PAGE);
    if (!eg__size_add(size, alignment + sizeof(char *), &whole)) return NULL;
    char *start = calloc(1, whole);
    if (!start) return NULL;
    char *memory = start + sizeof start;
    memory += -(uintptr_t)memory % alignment;
    memcpy(memory - sizeof start, &start, sizeof start);
    eg__huge_pages_advise(memory, size);
    return memory;
}

static void *allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    if (size >= EG__SYSTEM_ZEROED) return allocate_zeroed(size, alignment);
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size) ? NULL : memory;
}

static void release(void *user, void *memory, size_t size) {
    (void)user;
    if (memory && size >= EG__SYSTEM_ZEROED)
        memcpy(&memory, (char *)memory - sizeof memory, sizeof memory);
    free(memory);
}

eg_allocator eg__system_allocator(void) { return (eg_allocator){NULL, allocate, release}; }
