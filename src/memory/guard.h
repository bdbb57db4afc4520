/* Poisons unused memory for the address sanitizer, which cannot know that a pool or an arena hands
 * out parts of a larger block. */
#ifndef EG__GUARD_H
#define EG__GUARD_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EG__GUARDED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define EG__GUARDED 1
#endif

#ifdef EG__GUARDED
#include <sanitizer/asan_interface.h>
#define eg__guard_close(memory, size) __asan_poison_memory_region(memory, size)
#define eg__guard_open(memory, size)  __asan_unpoison_memory_region(memory, size)
#else
#define eg__guard_close(memory, size) ((void)(memory), (void)(size))
#define eg__guard_open(memory, size)  ((void)(memory), (void)(size))
#endif

#endif
