/* The pool gives freed blocks to the next taker of their size and keeps within the budget. */
#include "test.h"
#include "memory/guard.h"
#include "memory/numa.h"
#include "memory/pool.h"

AREA(pool, "size classes, reuse, budget, eviction, one more try when the system has nothing")

static eg__memory *create(eg__memory_options options) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, &options, &error), error);
    if (!memory) exit(1);
    return memory;
}

static void *take(eg__memory *memory, size_t size) {
    eg_error error = {0};
    void *block = eg__memory_take(memory, EG_TAG_TENSOR, size, &error);
    CHECK(block, "%zu bytes: %s", size, error.message);
    if (!block) exit(1);
    return block;
}

static eg_memory_pool_figures pool_figures(const eg__memory *memory) {
    eg_memory_pool_figures out;
    eg__memory_pool_figures_get(memory, &out);
    return out;
}

static uint64_t held(const eg__memory *memory) {
    eg_memory_figures out;
    eg__memory_figures_get(memory, EG_TAG_COUNT, &out);
    return out.current;
}

/* ---- classes */

static void check_class(size_t size) {
    size_t capacity = eg__pool_capacity(size);
    CHECK(capacity >= size && capacity >= 64 && capacity % 64 == 0, "%zu: %zu", size, capacity);
    CHECK(capacity - eg__max(size, 1) < 64 || capacity - size <= size / 8,
          "%zu: %zu wastes too much", size, capacity);
    CHECK(eg__pool_capacity(capacity) == capacity, "%zu: %zu is in another class", size, capacity);
    CHECK(eg__pool_capacity(capacity + 1) > capacity, "%zu: %zu is not the end", size, capacity);
}

TEST(pool, size_classes_waste_little) {
    for (size_t size = 0; size < 200000; size++) check_class(size);
    for (unsigned bit = 17; bit < 62; bit++)
        for (int around = -65; around <= 65; around++) {
            check_class(((size_t)1 << bit) + (size_t)around);
            check_class(((size_t)11 << (bit - 3)) + (size_t)around);
        }
    CHECK(eg__pool_capacity(PTRDIFF_MAX / 2) > 0, "half of everything");
    CHECK(eg__pool_capacity(PTRDIFF_MAX) == 0 && eg__pool_capacity(SIZE_MAX) == 0, "everything");
}

TEST(pool, the_largest_class_has_a_place) {
    static eg__pool pool;
    static eg__block block;
    size_t size = PTRDIFF_MAX; /* the largest size that has a class at all */
    while (!eg__pool_capacity(size)) size -= size / 64;
    block.capacity = eg__pool_capacity(size);
    eg__pool_put(&pool, &block);
    CHECK(pool.cached == block.capacity, "cached");
    CHECK(eg__pool_get(&pool, block.capacity, 0) == &block && pool.cached == 0, "got it back");
}

/* ---- reuse */

TEST(pool, the_same_class_gets_the_same_block) {
    static const struct {
        size_t first, second;
        bool same;
    } rows[] = {{1000, 1000, true},       {0, 64, true},
                {64, 65, false},          {1000, 1024, true},
                {1024, 1025, false},      {1100, 1025, true},
                {5000000, 4900000, true}, {5000000, 4000000, false},
                {70000, 66000, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__memory *memory = create((eg__memory_options){0});
        void *first = take(memory, rows[i].first);
        eg__memory_give(memory, first);
        CHECK(pool_figures(memory).cached == eg__pool_capacity(rows[i].first), "row %zu", i);
        void *second = take(memory, rows[i].second);
        CHECK((first == second) == rows[i].same, "row %zu: %p, then %p", i, first, second);
        eg_memory_pool_figures pool = pool_figures(memory);
        CHECK(pool.hits == rows[i].same && pool.misses == 3u - rows[i].same, "row %zu: counts", i);
        CHECK(pool.cached == (rows[i].same ? 0 : eg__pool_capacity(rows[i].first)), "row %zu", i);
        eg__memory_give(memory, second);
        eg__memory_destroy(memory);
    }
}

TEST(pool, the_newest_block_goes_first) {
    eg__memory *memory = create((eg__memory_options){0});
    void *blocks[5];
    for (int i = 0; i < 5; i++) blocks[i] = take(memory, 300);
    for (int i = 0; i < 5; i++) eg__memory_give(memory, blocks[i]);
    for (int i = 4; i >= 0; i--) CHECK(take(memory, 300) == blocks[i], "block %d", i);
    CHECK(pool_figures(memory).cached == 0, "cached");
    for (int i = 0; i < 5; i++) eg__memory_give(memory, blocks[i]);
    uint64_t emptied = eg__memory_cache_empty(memory);
    CHECK(emptied == 5 * 320 && pool_figures(memory).cached == 0, "emptied %d", (int)emptied);
    CHECK(eg__memory_cache_empty(memory) == 0, "emptied twice");
    eg__memory_destroy(memory);
}

TEST(pool, without_a_cache) {
    eg__failing_allocator counter = {0};
    eg__memory *memory = create(
        (eg__memory_options){.allocator = eg__failing_allocator_use(&counter), .no_cache = true});
    for (int i = 0; i < 10; i++) eg__memory_give(memory, take(memory, 1000));
    eg_memory_pool_figures pool = pool_figures(memory);
    CHECK(pool.hits == 0 && pool.misses == 11 && pool.cached == 0, "counts");
    CHECK(counter.live == 1 && counter.requests == 11, "%d live", (int)counter.live);
    eg__memory_destroy(memory);
}

/* ---- the budget */

static eg_status try_take(eg__memory *memory, size_t size, eg_error *error) {
    return eg__memory_take(memory, EG_TAG_WEIGHTS, size, error) ? EG_OK : error->status;
}

TEST(pool, a_refusal_changes_nothing) {
    const uint64_t budget = 1000000;
    eg__failing_allocator counter = {0};
    eg__memory *memory = create(
        (eg__memory_options){.allocator = eg__failing_allocator_use(&counter), .budget = budget});
    void *block = take(memory, 600000);
    eg__memory_give(memory, take(memory, 100000));
    eg_memory_figures before[EG_TAG_COUNT + 1], after[EG_TAG_COUNT + 1];
    eg_memory_pool_figures pool = pool_figures(memory);
    CHECK(pool.budget == budget && pool.cached >= 100000, "budget and cache");
    eg__memory_figures_all(memory, before);
    uint64_t room = budget - held(memory);
    const size_t sizes[] = {(size_t)room + 1, 1000000, SIZE_MAX / 4};
    for (size_t i = 0; i < 3; i++) {
        eg_error error;
        char words[120];
        snprintf(words, sizeof words,
                 "'%zu' bytes (weights): '%llu' are held, the budget is '%llu'", sizes[i],
                 (unsigned long long)held(memory), (unsigned long long)budget);
        CHECK_FAILS(try_take(memory, sizes[i], &error), error, EG_ERR_BUDGET, words);
        eg__memory_figures_all(memory, after);
        CHECK(memcmp(before, after, sizeof after) == 0, "figures after refusal %zu", i);
        pool.refusals++;
        eg_memory_pool_figures now = pool_figures(memory);
        CHECK(memcmp(&pool, &now, sizeof now) == 0, "pool after refusal %zu", i);
        CHECK(counter.requests == 3 && counter.live == 3, "allocator after refusal %zu", i);
    }
    void *rest = take(memory, (size_t)room); /* exactly what is left: the cache must go for it */
    CHECK(held(memory) == budget && pool_figures(memory).cached == 0, "to the last byte");
    eg__memory_give(memory, rest);
    eg__memory_give(memory, block);
    eg__memory_destroy(memory);
    CHECK(counter.live == 0, "live");
}

TEST(pool, no_budget_for_the_object_itself) {
    eg__memory *memory;
    eg_error error;
    eg__memory_options options = {.budget = 100};
    CHECK_FAILS(eg__memory_create(&memory, &options, &error), error, EG_ERR_BUDGET, "'100'");
    CHECK(!memory, "memory");
}

TEST(pool, the_cache_leaves_largest_and_oldest_first) {
    eg__memory *memory = create((eg__memory_options){0});
    uint64_t own = held(memory);
    eg__memory_destroy(memory);
    eg__failing_allocator counter = {0};
    memory = create((eg__memory_options){.allocator = eg__failing_allocator_use(&counter),
                                         .budget = own + 10240});
    void *blocks[4]; /* 4096, 2048, 2048, 1024: with the object itself, 1024 bytes are left */
    static const size_t sizes[] = {4096, 2048, 2048, 1024};
    for (int i = 0; i < 4; i++) blocks[i] = take(memory, sizes[i]);
    for (int i = 0; i < 4; i++) eg__memory_give(memory, blocks[i]);
    CHECK(pool_figures(memory).cached == 9216 && counter.live == 5, "all cached");
    void *other = take(memory, 3000);
    CHECK(pool_figures(memory).cached == 5120 && counter.live == 5, "4096 left");
    void *more = take(memory, 3000);
    CHECK(pool_figures(memory).cached == 3072 && counter.live == 5, "a 2048 left");
    CHECK(take(memory, 2048) == blocks[2], "the newer one is still there");
    CHECK(take(memory, 1024) == blocks[3], "the smallest is still there");
    eg__memory_give(memory, blocks[2]);
    eg__memory_give(memory, blocks[3]);
    eg__memory_give(memory, other);
    eg__memory_give(memory, more);
    eg__memory_destroy(memory);
    CHECK(counter.live == 0, "live");
}

TEST(pool, what_is_cached_counts_with_its_class) {
    eg__memory *memory = create((eg__memory_options){0});
    uint64_t own = held(memory);
    eg__memory_destroy(memory);
    memory = create((eg__memory_options){.budget = own + 4097});
    eg__memory_give(memory, take(memory, 4097)); /* fits; its class, 4608 bytes, does not */
    CHECK(pool_figures(memory).cached == 0, "cached beyond the budget");
    eg__memory_give(memory, take(memory, 4096));
    CHECK(pool_figures(memory).cached == 4096, "cached within the budget");
    eg__memory_destroy(memory);
}

/* ---- when the allocator has nothing */

typedef struct limited {
    size_t left; /* bytes it can still hand out */
} limited;

static void *limited_allocate(void *user, size_t size, size_t alignment) {
    limited *l = user;
    void *memory = NULL;
    if (size > l->left || posix_memalign(&memory, alignment, size)) return NULL;
    l->left -= size;
    return memory;
}
static void limited_release(void *user, void *memory, size_t size) {
    ((limited *)user)->left += size;
    free(memory);
}

TEST(pool, an_empty_allocator_gets_the_cache_first) {
    limited l = {100000};
    eg__memory *memory =
        create((eg__memory_options){.allocator = {&l, limited_allocate, limited_release}});
    for (size_t size = 10000; size < 40000; size += 10000)
        eg__memory_give(memory, take(memory, size));
    CHECK(l.left < 40000 && pool_figures(memory).cached > 60000, "cached");
    void *block = take(memory, 80000); /* only possible without the cache */
    eg_memory_pool_figures pool = pool_figures(memory);
    CHECK(pool.cached == 0 && pool.misses == 5 && pool.refusals == 0, "counts");
    eg_error error;
    uint64_t before = held(memory);
    CHECK_FAILS(try_take(memory, 80001, &error), error, EG_ERR_MEMORY, "'80001' bytes (weights)");
    CHECK(held(memory) == before, "held");
    eg__memory_give(memory, block);
    eg__memory_destroy(memory);
    CHECK(l.left == 100000, "left %zu", l.left);
}

/* ---- memory nodes */

static int node_of_test(void *user) { return *(int *)user; }

static void *plain_allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size) ? NULL : memory;
}
static void plain_release(void *user, void *memory, size_t size) {
    (void)user, (void)size;
    free(memory);
}

TEST(pool, large_blocks_stay_on_their_node) {
    int node = 0;
    eg__memory *memory = create((eg__memory_options){
        .allocator = {&node, plain_allocate, plain_release}, .node = node_of_test});
    void *on_0 = take(memory, EG__NUMA_LEAST);
    node = 1;
    void *on_1 = take(memory, EG__NUMA_LEAST), *small = take(memory, 1000);
    node = 0;
    eg__memory_give(memory, on_0);
    eg__memory_give(memory, on_1);
    eg__memory_give(memory, small);
    CHECK(take(memory, EG__NUMA_LEAST) == on_0, "the newer one lies on the other node");
    void *another = take(memory, EG__NUMA_LEAST);
    CHECK(another != on_1, "got the other node's");
    CHECK(take(memory, 1000) == small, "small blocks have no node");
    node = 1;
    CHECK(take(memory, EG__NUMA_LEAST - 10) == on_1, "by class, not by size");
    void *all[] = {on_0, on_1, small, another};
    for (int i = 0; i < 4; i++) eg__memory_give(memory, all[i]);
    eg__memory_destroy(memory);
}

/* ---- the address sanitizer sees into the pool */

#ifdef EG__GUARDED
TEST(pool, the_sanitizer_sees_the_edges) {
    static const size_t sizes[] = {0, 1, 63, 64, 100, 1000, 1025, 5000, 100000};
    eg__memory *memory = create((eg__memory_options){0});
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int again = 0; again < 2; again++) {
            char *block = take(memory, sizes[i]);
            CHECK(!__asan_region_is_poisoned(block, sizes[i]), "%zu: inside", sizes[i]);
            if (sizes[i] % 64)
                CHECK(__asan_address_is_poisoned(block + sizes[i]), "%zu: behind", sizes[i]);
            CHECK(__asan_address_is_poisoned(block - 1), "%zu: before", sizes[i]);
            eg__memory_give(memory, block);
            CHECK(__asan_address_is_poisoned(block), "%zu: given back", sizes[i]);
        }
    eg__memory_destroy(memory);
}
#endif
