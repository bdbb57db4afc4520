/* Records of several words that are read whole, or not at all. */
#include "publish/page.h"

#include <assert.h>
#include <sched.h>
#include <string.h>

void eg__block_begin(eg__word *sequence) { eg__word_set(sequence, eg__word_get(sequence) + 1); }

/* With release order no word is seen before the odd number that was stored first. */
void eg__block_put(eg__word *block, size_t offset, const void *bytes, size_t size) {
    assert(offset % 8 == 0 && size % 8 == 0);
    for (size_t i = 0; i < size / 8; i++) {
        uint64_t value;
        memcpy(&value, (const char *)bytes + 8 * i, sizeof value);
        atomic_store_explicit(&block[offset / 8 + i], value, memory_order_release);
    }
}

void eg__block_end(eg__word *sequence) {
    atomic_store_explicit(sequence, eg__word_get(sequence) + 1, memory_order_release);
}

bool eg__block_get(const eg__word *sequence, const eg__word *block, size_t words, void *out) {
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = atomic_load_explicit(sequence, memory_order_acquire);
        if (before % 2 == 0) {
            for (size_t k = 0; k < words; k++) {
                const uint64_t value = atomic_load_explicit(&block[k], memory_order_acquire);
                memcpy((char *)out + 8 * k, &value, sizeof value);
            }
            if (eg__word_get(sequence) == before) return true;
        }
        sched_yield(); /* on one core the writer needs it */
    }
    return false;
}
