/* The monotonic clock, and what a reading of it costs. */
#include "base/base.h"

#include <time.h>

/* The raw clock is not slewed by NTP, so differences are true elapsed times. */
#ifdef CLOCK_MONOTONIC_RAW
#define CLOCK      CLOCK_MONOTONIC_RAW
#define CLOCK_NAME "CLOCK_MONOTONIC_RAW"
#else
#define CLOCK      CLOCK_MONOTONIC
#define CLOCK_NAME "CLOCK_MONOTONIC"
#endif

uint64_t eg_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

eg_clock_quality eg_clock_measure(void) {
    enum { BURSTS = 64, READINGS = 256 };
    uint64_t best = UINT64_MAX, step = UINT64_MAX;
    for (int burst = 0; burst < BURSTS; burst++) {
        uint64_t start = eg_clock_ns(), last = start, now = start;
        for (int i = 0; i < READINGS; i++) {
            now = eg_clock_ns();
            if (now > last && now - last < step) step = now - last;
            last = now;
        }
        if (now - start < best) best = now - start;
    }
    eg_clock_quality quality = {(double)best / READINGS, (double)step, CLOCK_NAME};
    return quality;
}
