/* The cheapest clock there is: a counter of the processor at a constant rate. Its rate is found by comparing
 * it with the monotonic clock over the time that is measured. */
#ifndef EG__TICKS_H
#define EG__TICKS_H

#include "base/base.h"

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t eg__ticks(void) { return __rdtsc(); }
#elif defined(__aarch64__)
static inline uint64_t eg__ticks(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
#else
static inline uint64_t eg__ticks(void) { return eg_clock_ns(); }
#endif

#endif
