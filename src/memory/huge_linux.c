/* Huge pages on Linux: most distributions give them only on request (madvise). */
#include "memory/system.h"

#include <sys/mman.h>

void eg__huge_pages_advise(void *memory, size_t size) {
    if (size < EG__HUGE_PAGE) return;
    /* Whole huge pages only: the pages at the ends are shared with other memory. */
    size_t skip = -(uintptr_t)memory % EG__HUGE_PAGE;
    size_t length = (size - skip) / EG__HUGE_PAGE * EG__HUGE_PAGE;
    (void)madvise((char *)memory + skip, length, MADV_HUGEPAGE);
}

bool eg__pages_renew(void *memory, size_t size) {
    return madvise(memory, size, MADV_DONTNEED) == 0;
}
