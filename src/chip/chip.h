/* What the library's own files use of src/chip. */
#ifndef EG__CHIP_H
#define EG__CHIP_H

#include "base/base.h"
#include "elegans/chip.h"

/* Detection with a log of the library; eg_chip_detect is this. */
eg_status eg__chip_detect(const char *system_root, const eg__log *log, eg_chip *out,
                          eg_error *error);

/* Bytes of memory available to this process now (container limits included); 0 = unknown. */
uint64_t eg__memory_available(const char *system_root);

/* Binds the calling thread to the `index`-th of the cores it may run on, fastest kind first; false
 * where there are not so many or the system does not allow it (macOS, a restricted container). A
 * thread that is bound already has just that one core, and so have threads that it starts. */
bool eg__chip_bind_thread(unsigned index);
/* Whether the calling thread may run on one core alone; false = the system does not tell. */
bool eg__chip_thread_bound(bool *bound);

#endif
