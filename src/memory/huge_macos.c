/* Huge pages on macOS: the system has no such request for ordinary memory. */
#include "memory/system.h"

void eg__huge_pages_advise(void *memory, size_t size) { (void)memory, (void)size; }

/* MADV_FREE may keep what was there. */
bool eg__pages_renew(void *memory, size_t size) {
    (void)memory, (void)size;
    return false;
}
