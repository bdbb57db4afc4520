/* An allocator that fails on demand, so that tests reach every line that handles it. */
#include "memory/system.h"

/* The pool tries a failed request again once it has given its cache back. That must fail as well,
 * or a test would not see its k-th request fail whenever something happens to be cached. */
static bool must_fail(eg__failing_allocator *state, size_t size) {
    __atomic_store_n(&state->failed_size, 0, __ATOMIC_RELAXED);
    size_t again = __atomic_exchange_n(&state->again_size, 0, __ATOMIC_RELAXED);
    if (again && again == size) return true;
    int64_t number = __atomic_add_fetch(&state->requests, 1, __ATOMIC_RELAXED);
    if (number != state->fail_at) return false;
    __atomic_store_n(&state->failed_size, size, __ATOMIC_RELAXED);
    return true;
}

static void *allocate(void *user, size_t size, size_t alignment) {
    eg__failing_allocator *state = user;
    if (must_fail(state, size)) return NULL;
    void *memory = state->inner.allocate(state->inner.user, size, alignment);
    if (memory) __atomic_add_fetch(&state->live, 1, __ATOMIC_RELAXED);
    return memory;
}

static void release(void *user, void *memory, size_t size) {
    eg__failing_allocator *state = user;
    __atomic_sub_fetch(&state->live, 1, __ATOMIC_RELAXED);
    size_t failed = __atomic_exchange_n(&state->failed_size, 0, __ATOMIC_RELAXED);
    if (failed) __atomic_store_n(&state->again_size, failed, __ATOMIC_RELAXED);
    state->inner.release(state->inner.user, memory, size);
}

eg_allocator eg__failing_allocator_use(eg__failing_allocator *state) {
    if (!state->inner.allocate) state->inner = eg__system_allocator();
    return (eg_allocator){state, allocate, release};
}
