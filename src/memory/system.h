/* The system's memory as an allocator. */
#ifndef EG__SYSTEM_H
#define EG__SYSTEM_H

#include "memory/memory.h"

enum { EG__HUGE_PAGE = 2 << 20 };
enum { EG__SYSTEM_ZEROED = EG__HUGE_PAGE }; /* allocations of this size and more are zeroed */

eg_allocator eg__system_allocator(void);
/* Asks for huge pages where `size` fills at least one and the system has them: fewer misses in the
 * address translation of large tensors. A hint; nothing depends on it. */
void eg__huge_pages_advise(void *memory, size_t size);
/* Gives the pages of the system allocator's memory back, so that they are zero when they are next
 * touched. False, and nothing changed, where the system cannot. `memory` and `size` are whole
 * huge pages. */
bool eg__pages_renew(void *memory, size_t size);

#endif
