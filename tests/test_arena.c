/* Arenas: scopes end what began in them, and repeating a scope takes no new memory. */
#include "test.h"
#include "memory/guard.h"

AREA(arena, "nested scopes, large requests, reuse without allocation, every failure")

typedef struct fixture {
    eg__failing_allocator allocator;
    eg__memory *memory;
    eg__arena *arena;
} fixture;

static void open_arena(fixture *f, size_t chunk_size) {
    *f = (fixture){0};
    eg_error error = {0};
    eg__memory_options options = {.allocator = eg__failing_allocator_use(&f->allocator)};
    CHECK_OK(eg__memory_create(&f->memory, &options, &error), error);
    CHECK_OK(eg__arena_create(&f->arena, f->memory, EG_TAG_ARENA, chunk_size, &error), error);
    if (!f->arena) exit(1);
}

static void close_arena(fixture *f) {
    eg__arena_destroy(f->arena);
    eg_memory_figures figures;
    eg__memory_figures_get(f->memory, EG_TAG_ARENA, &figures);
    CHECK(figures.current == 0, "%llu bytes stayed", (unsigned long long)figures.current);
    eg__memory_destroy(f->memory);
    CHECK(f->allocator.live == 0, "%d blocks stayed", (int)f->allocator.live);
}

static uint64_t taken(const fixture *f) {
    eg_memory_figures figures;
    eg__memory_figures_get(f->memory, EG_TAG_ARENA, &figures);
    return figures.allocations;
}

static unsigned char *take(fixture *f, size_t size) {
    eg_error error = {0};
    unsigned char *block = eg__arena_take(f->arena, size, &error);
    CHECK(block, "%zu bytes: %s", size, error.message);
    if (!block) exit(1);
    CHECK((uintptr_t)block % 64 == 0, "%zu bytes at %p", size, (void *)block);
    return block;
}

/* Takes blocks of the given sizes, fills each with a sign of its own, then looks at all of them. */
static void fill_and_check(fixture *f, const size_t *sizes, size_t count, unsigned char sign) {
    unsigned char *blocks[64];
    for (size_t i = 0; i < count; i++) {
        blocks[i] = take(f, sizes[i]);
        memset(blocks[i], (int)(sign + i), sizes[i]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (blocks[i][k] != (unsigned char)(sign + i)) {
                CHECK(false, "block %zu, byte %zu: another's", i, k);
                break;
            }
}

static const size_t mixed[] = {0,   1,    64,  65,   900,  960,  961,   1024, 5000, 10,
                               960, 3000, 100, 4000, 2000, 8000, 20000, 1,    0,    960};
enum { MIXED = sizeof mixed / sizeof *mixed };

TEST(arena, blocks_do_not_overlap) {
    static const size_t chunk_sizes[] = {0, 1, 64, 128, 129, 1000, 1024, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof *chunk_sizes; i++) {
        fixture f;
        open_arena(&f, chunk_sizes[i]);
        fill_and_check(&f, mixed, MIXED, 1);
        close_arena(&f);
    }
}

TEST(arena, a_repeated_scope_takes_nothing_new) {
    fixture f;
    open_arena(&f, 1024);
    unsigned char *outer = take(&f, 100), *outer_large = take(&f, 3000);
    memset(outer, 0xee, 100);
    memset(outer_large, 0xdd, 3000);
    uint64_t after_first = 0;
    for (int round = 0; round < 20; round++) {
        eg__arena_scope scope = eg__arena_scope_begin(f.arena);
        fill_and_check(&f, mixed, MIXED, (unsigned char)round);
        eg__arena_scope_end(f.arena, scope);
        if (!round) after_first = taken(&f);
    }
    CHECK(taken(&f) == after_first, "%llu, then %llu", (unsigned long long)after_first,
          (unsigned long long)taken(&f));
    for (int i = 0; i < 100; i++) CHECK(outer[i] == 0xee, "outer byte %d", i);
    for (int i = 0; i < 3000; i++) CHECK(outer_large[i] == 0xdd, "outer large byte %d", i);
    close_arena(&f);
}

TEST(arena, nested_scopes_return_to_where_they_began) {
    fixture f;
    open_arena(&f, 512);
    unsigned char *places[4][2];
    eg__arena_scope scopes[4];
    for (int depth = 0; depth < 4; depth++) {
        scopes[depth] = eg__arena_scope_begin(f.arena);
        places[depth][0] = take(&f, 300);
        places[depth][1] = take(&f, 2000);
        memset(places[depth][0], depth, 300);
        memset(places[depth][1], depth, 2000);
    }
    uint64_t before = taken(&f);
    for (int depth = 3; depth >= 0; depth--) {
        CHECK(places[depth][0][299] == depth && places[depth][1][1999] == depth, "depth %d", depth);
        eg__arena_scope_end(f.arena, scopes[depth]);
        CHECK(take(&f, 200) == places[depth][0], "depth %d: another place", depth);
        CHECK(take(&f, 1999) == places[depth][1], "depth %d: another large place", depth);
        eg__arena_scope_end(f.arena, scopes[depth]);
    }
    CHECK(taken(&f) == before, "took more");
    close_arena(&f);
}

TEST(arena, large_chunks_are_replaced_not_piled_up) {
    fixture f;
    open_arena(&f, 256);
    for (size_t size = 1000; size < 50000; size += 1000) {
        eg__arena_scope scope = eg__arena_scope_begin(f.arena);
        memset(take(&f, size), 1, size);
        memset(take(&f, size / 2 + 300), 2, size / 2 + 300);
        eg__arena_scope_end(f.arena, scope);
    }
    eg_memory_figures figures;
    eg__memory_figures_get(f.memory, EG_TAG_ARENA, &figures);
    CHECK(figures.current < 49000 + 24800 + 1000, "%llu bytes held",
          (unsigned long long)figures.current);
    uint64_t before = taken(&f);
    unsigned char *small = take(&f, 700); /* into a chunk that is far larger: no new one */
    small[699] = 1;
    CHECK(taken(&f) == before, "took more");
    close_arena(&f);
}

TEST(arena, a_large_request_strands_nothing) {
    fixture f;
    open_arena(&f, 0);
    unsigned char *first = take(&f, 64);
    take(&f, 1 << 20);
    CHECK(take(&f, 64) == first + 64, "the small chunk goes on behind the large request");
    CHECK(take(&f, 0) != take(&f, 0), "nothing twice is two places");
    take(&f, 65472 - 4 * 64);
    CHECK(taken(&f) == 3, "one object, one common and one large chunk: %d", (int)taken(&f));
    close_arena(&f);
    eg__arena_destroy(NULL);
}

/* ---- what cannot be had */

static eg_status try_take(eg__arena *arena, size_t size, eg_error *error) {
    return eg__arena_take(arena, size, error) ? EG_OK : error->status;
}

TEST(arena, sizes_near_the_limit) {
    fixture f;
    open_arena(&f, 0);
    eg_error error;
    CHECK_FAILS(try_take(f.arena, SIZE_MAX, &error), error, EG_ERR_OVERFLOW, "arena");
    CHECK_FAILS(try_take(f.arena, SIZE_MAX - 63, &error), error, EG_ERR_OVERFLOW, "arena");
    CHECK_FAILS(try_take(f.arena, SIZE_MAX - 64, &error), error, EG_ERR_MEMORY, "arena");
    CHECK_FAILS(try_take(f.arena, SIZE_MAX / 2, &error), error, EG_ERR_MEMORY, "arena");
    CHECK(!eg__arena_take(f.arena, SIZE_MAX, NULL), "without an error object");
    take(&f, 100);
    eg__arena *other;
    CHECK_FAILS(eg__arena_create(&other, f.memory, EG_TAG_ARENA, SIZE_MAX, &error), error,
                EG_ERR_OVERFLOW, "chunks");
    CHECK(!other, "arena");
    CHECK(eg__arena_create(&other, f.memory, EG_TAG_ARENA, SIZE_MAX / 2, &error) == EG_OK, "lazy");
    CHECK_FAILS(try_take(other, 1, &error), error, EG_ERR_MEMORY, "arena");
    eg__arena_destroy(other);
    close_arena(&f);
}

static eg_status grow(eg__arena *arena, eg_error *error) {
    static const size_t sizes[] = {100, 900, 5000, 64, 100, 7000, 960};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = eg__arena_take(arena, sizes[i], error);
        if (!block) return error->status;
        memset(block, 7, sizes[i]);
    }
    return EG_OK;
}

static eg_status attempt_arena(void *user, const eg_allocator *allocator, eg_error *error) {
    bool *went_on = user;
    eg__memory *memory;
    eg__memory_options options = {.allocator = *allocator};
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg__arena *arena;
    status = eg__arena_create(&arena, memory, EG_TAG_GRAPH, 1024, error);
    if (!status) {
        eg__arena_scope scope = eg__arena_scope_begin(arena);
        status = grow(arena, error);
        eg__arena_scope_end(arena, scope);
        /* an arena that could not grow is still good */
        if (status && grow(arena, &(eg_error){0}) == EG_OK) *went_on = true;
        if (!status) { /* larger than last time: the large chunk is replaced */
            void *block = eg__arena_take(arena, 6000, error);
            if (!block) status = error->status;
        }
    }
    eg__arena_destroy(arena);
    eg__memory_destroy(memory);
    return status;
}

TEST(arena, every_failure_is_reported) {
    bool went_on = false;
    int failed = test_every_allocation(attempt_arena, &went_on);
    CHECK(failed == 9, "%d allocations", failed);
    CHECK(went_on, "no arena was usable after a failure");
}

#ifdef EG__GUARDED
TEST(arena, the_sanitizer_sees_the_edges) {
    fixture f;
    open_arena(&f, 1024);
    unsigned char *outer = take(&f, 100);
    eg__arena_scope scope = eg__arena_scope_begin(f.arena);
    unsigned char *inner = take(&f, 10), *next = take(&f, 900), *large = take(&f, 2001);
    CHECK(__asan_address_is_poisoned(outer + 100), "behind");
    CHECK(!__asan_region_is_poisoned(inner, 10) && __asan_address_is_poisoned(inner + 10), "edge");
    CHECK(!__asan_region_is_poisoned(large, 2001) && __asan_address_is_poisoned(large + 2001),
          "large");
    eg__arena_scope_end(f.arena, scope);
    CHECK(!__asan_region_is_poisoned(outer, 100), "the outer scope goes on");
    CHECK(__asan_address_is_poisoned(inner) && __asan_address_is_poisoned(next) &&
              __asan_address_is_poisoned(large),
          "used after its scope");
    close_arena(&f);
}
#endif
