/* Threads that take and give at once find their own bytes, and the figures add up. */
#include "test.h"

#include <pthread.h>

static eg__memory *create(const eg__memory_options *options) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, options, &error), error);
    if (!memory) exit(1);
    return memory;
}

static eg_memory_figures figures(const eg__memory *memory) {
    eg_memory_figures out;
    eg__memory_figures_get(memory, EG_TAG_COUNT, &out);
    return out;
}

enum { THREADS = 8, ROUNDS = 3000, SLOTS = 16 };
typedef struct hammer {
    eg__memory *memory;
    unsigned thread;
    uint64_t allocations, bytes;
    bool damaged;
} hammer;

static void *hammer_run(void *argument) {
    hammer *h = argument;
    uint64_t random = h->thread;
    unsigned char *blocks[SLOTS] = {0};
    size_t sizes[SLOTS] = {0};
    for (int round = 0; round < ROUNDS + SLOTS; round++) {
        unsigned slot = (unsigned)round % SLOTS;
        unsigned char sign = (unsigned char)(h->thread * SLOTS + slot);
        for (size_t i = 0; blocks[slot] && i < sizes[slot]; i += 61)
            h->damaged |= blocks[slot][i] != sign;
        eg__memory_give(h->memory, blocks[slot]);
        blocks[slot] = NULL;
        if (round >= ROUNDS) continue;
        sizes[slot] = (size_t)(2000 + 2000 * test_random(&random));
        blocks[slot] = eg__memory_take(h->memory, (eg_tag)(h->thread % 3), sizes[slot], NULL);
        if (!blocks[slot]) continue; /* over the budget */
        memset(blocks[slot], sign, sizes[slot]);
        h->allocations++;
        h->bytes += sizes[slot];
        if (round % 500 == 0) eg__memory_cache_empty(h->memory);
    }
    return NULL;
}

static void hammer_with(const eg__memory_options *options) {
    eg__memory *memory = create(options);
    eg_memory_figures before = figures(memory);
    hammer hammers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        hammers[t] = (hammer){memory, t, 0, 0, false};
        if (pthread_create(&threads[t], NULL, hammer_run, &hammers[t])) exit(1);
    }
    uint64_t allocations = before.allocations, bytes = before.total_allocated;
    for (unsigned t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        CHECK(!hammers[t].damaged, "thread %u found another's bytes in its block", t);
        allocations += hammers[t].allocations;
        bytes += hammers[t].bytes;
    }
    eg_memory_figures all = figures(memory);
    eg_memory_pool_figures pool;
    eg__memory_pool_figures_get(memory, &pool);
    CHECK(all.current == before.current && all.allocations == allocations, "held or count");
    CHECK(all.total_allocated == bytes && all.total_freed == bytes - before.current, "bytes");
    CHECK(pool.hits + pool.misses == allocations, "hits and misses");
    CHECK(pool.refusals == (uint64_t)THREADS * ROUNDS + before.allocations - allocations,
          "refusals");
    CHECK(!pool.budget || all.peak <= pool.budget, "over the budget");
    CHECK(!pool.budget || pool.refusals > 0, "the budget was never met");
    eg__memory_destroy(memory);
}

TEST(memory, eight_threads_at_once) {
    hammer_with(&(eg__memory_options){0});
    hammer_with(&(eg__memory_options){.no_cache = true});
    hammer_with(&(eg__memory_options){.budget = 30000});
}
