/* macOS decides itself where a thread runs: nothing to list, nothing to bind. */
#include "chip/detect.h"

bool eg__cores_usable(unsigned *cores, unsigned *threads) {
    (void)cores, (void)threads;
    return false;
}

bool eg__chip_bind_thread(unsigned index) {
    (void)index;
    return false;
}

bool eg__chip_thread_bound(bool *bound) {
    (void)bound;
    return false;
}
