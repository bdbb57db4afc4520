/* The system allocator: the only place of the library that calls it. */
#include "memory/system.h"

#include <stdlib.h>

static void *allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    /* A huge page is one only where it starts at a multiple of its size. */
    if (size >= EG__HUGE_PAGE) alignment = eg__max(alignment, EG__HUGE_PAGE);
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, size)) return NULL;
    eg__huge_pages_advise(memory, size);
    return memory;
}

static void release(void *user, void *memory, size_t size) {
    (void)user, (void)size;
    free(memory);
}

eg_allocator eg__system_allocator(void) { return (eg_allocator){NULL, allocate, release}; }
