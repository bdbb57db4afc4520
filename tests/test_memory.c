/* Every byte is counted, every block comes back, and what cannot be had is said. */
#include "test.h"

#include <unistd.h>

AREA(memory, "exact figures per tag, alignment, overflow, every failure, 8 threads at once")

static eg__memory *create(const eg__memory_options *options) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, options, &error), error);
    if (!memory) exit(1);
    return memory;
}

static void *take(eg__memory *memory, eg_tag tag, size_t size) {
    eg_error error = {0};
    void *block = eg__memory_take(memory, tag, size, &error);
    CHECK(block, "%zu bytes: %s", size, error.message);
    if (!block) exit(1);
    return block;
}

/* ---- figures */

static eg_memory_figures figures(const eg__memory *memory, eg_tag tag) {
    eg_memory_figures out;
    eg__memory_figures_get(memory, tag, &out);
    return out;
}

/* A script: take `size` bytes into slot `slot`, or (size -1) give the slot back, or (slot -1) reset
 * the peaks; then these must be the figures of the weights tag and of all tags. */
typedef struct step {
    int slot, size;
    eg_tag tag;
    eg_memory_figures weights, all;
} step;

static void check_figures(int at, const eg__memory *memory, eg_tag tag, eg_memory_figures want,
                          eg_memory_figures base) {
    eg_memory_figures got = figures(memory, tag);
    want.current += base.current, want.peak += base.current;
    want.total_allocated += base.total_allocated, want.allocations += base.allocations;
    CHECK(memcmp(&got, &want, sizeof got) == 0,
          "step %d, %s: current %llu peak %llu allocated %llu freed %llu in %llu", at,
          eg_tag_name(tag), (unsigned long long)got.current, (unsigned long long)got.peak,
          (unsigned long long)got.total_allocated, (unsigned long long)got.total_freed,
          (unsigned long long)got.allocations);
}

TEST(memory, figures_are_exact) {
    static const step steps[] = {
        /* slot, size, tag               current peak allocated freed allocations */
        {0, 100, EG_TAG_WEIGHTS, {100, 100, 100, 0, 1}, {100, 100, 100, 0, 1}},
        {1, 1, EG_TAG_WEIGHTS, {101, 101, 101, 0, 2}, {101, 101, 101, 0, 2}},
        {2, 5000, EG_TAG_FILE, {101, 101, 101, 0, 2}, {5101, 5101, 5101, 0, 3}},
        {3, 0, EG_TAG_WEIGHTS, {101, 101, 101, 0, 3}, {5101, 5101, 5101, 0, 4}},
        {0, -1, EG_TAG_WEIGHTS, {1, 101, 101, 100, 3}, {5001, 5101, 5101, 100, 4}},
        {0, 90, EG_TAG_WEIGHTS, {91, 101, 191, 100, 4}, {5091, 5101, 5191, 100, 5}}, /* cached */
        {2, -1, EG_TAG_FILE, {91, 101, 191, 100, 4}, {91, 5101, 5191, 5100, 5}},
        {-1, 0, EG_TAG_FILE, {91, 91, 191, 100, 4}, {91, 91, 5191, 5100, 5}},
        {2, 9, EG_TAG_GRAPH, {91, 91, 191, 100, 4}, {100, 100, 5200, 5100, 6}},
        {0, -1, EG_TAG_WEIGHTS, {1, 91, 191, 190, 4}, {10, 100, 5200, 5190, 6}},
        {1, -1, EG_TAG_WEIGHTS, {0, 91, 191, 191, 4}, {9, 100, 5200, 5191, 6}},
        {3, -1, EG_TAG_WEIGHTS, {0, 91, 191, 191, 4}, {9, 100, 5200, 5191, 6}},
        {2, -1, EG_TAG_GRAPH, {0, 91, 191, 191, 4}, {0, 100, 5200, 5200, 6}},
    };
    eg__memory *memory = create(NULL);
    eg_memory_figures none = {0}, base = figures(memory, EG_TAG_COUNT);
    CHECK(base.current > 0 && base.allocations == 1, "the object itself");
    CHECK(figures(memory, EG_TAG_CONTEXT).current == base.current, "and its tag");
    void *slots[4] = {0};
    for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
        const step *s = &steps[i];
        if (s->slot < 0) eg__memory_peak_reset(memory);
        else if (s->size < 0) eg__memory_give(memory, slots[s->slot]);
        else slots[s->slot] = take(memory, s->tag, (size_t)s->size);
        check_figures(i, memory, EG_TAG_WEIGHTS, s->weights, none);
        check_figures(i, memory, EG_TAG_COUNT, s->all, base);
    }
    eg__memory_give(memory, NULL);
    eg__memory_destroy(memory);
    eg__memory_destroy(NULL);
}

TEST(memory, tags_have_names) {
    CHECK(strcmp(eg_tag_name(EG_TAG_WEIGHTS), "weights") == 0, "weights");
    CHECK(strcmp(eg_tag_name(EG_TAG_MEASURE), "measure") == 0, "the last");
    CHECK(strcmp(eg_tag_name(EG_TAG_COUNT), "all") == 0, "all");
    CHECK(strcmp(eg_tag_name((eg_tag)1000), "unknown") == 0, "unknown");
}

/* ---- what is taken */

static void check_block(eg__memory *memory, size_t size) {
    unsigned char *block = take(memory, EG_TAG_TENSOR, size);
    CHECK((uintptr_t)block % 64 == 0, "%zu bytes at %p", size, (void *)block);
    memset(block, 0xa5, size);
    eg__memory_give(memory, block);
    block = eg__memory_take_zeroed(memory, EG_TAG_TENSOR, size, NULL);
    for (size_t i = 0; i < size; i++)
        if (block[i]) {
            CHECK(false, "%zu bytes: byte %zu is %d", size, i, block[i]);
            break;
        }
    eg__memory_give(memory, block);
}

TEST(memory, every_size_is_aligned_and_zeroed) {
    for (int no_cache = 0; no_cache < 2; no_cache++) {
        eg__memory *memory = create(&(eg__memory_options){.no_cache = no_cache});
        for (size_t size = 0; size <= 5000; size++) check_block(memory, size);
        static const size_t large[] = {65471,   65472,   65535,          65536,           65537,
                                       2097087, 2097152, (2u << 20) + 1, (8u << 20) + 77, 20000001};
        for (size_t i = 0; i < sizeof large / sizeof *large; i++) check_block(memory, large[i]);
        eg__memory_destroy(memory);
    }
}

TEST(memory, texts) {
    eg__memory *memory = create(NULL);
    char *text = eg__memory_take_text(memory, EG_TAG_FILE, "liquid", 3, NULL);
    CHECK(strcmp(text, "liq") == 0, "'%s'", text);
    CHECK(figures(memory, EG_TAG_FILE).current == 4, "bytes");
    char *empty = eg__memory_take_text(memory, EG_TAG_FILE, NULL, 0, NULL);
    CHECK(!empty[0], "empty");
    eg__memory_give(memory, empty);
    eg__memory_give(memory, text);
    eg__memory_destroy(memory);
}

/* ---- what cannot be had */

static eg_status try_take(eg__memory *memory, size_t size, eg_error *error) {
    void *block = eg__memory_take(memory, EG_TAG_WEIGHTS, size, error);
    if (!block) return error->status;
    eg__memory_give(memory, block);
    return EG_OK;
}
static eg_status try_array(eg__memory *memory, size_t count, size_t size, eg_error *error) {
    void *block = eg__memory_take_array(memory, EG_TAG_GRAPH, count, size, error);
    eg__memory_give(memory, block);
    return block ? EG_OK : error->status;
}
static eg_status try_text(eg__memory *memory, size_t length, eg_error *error) {
    return eg__memory_take_text(memory, EG_TAG_FILE, "", length, error) ? EG_OK : error->status;
}

TEST(memory, sizes_near_the_limit) {
    eg__memory *memory = create(NULL);
    eg_memory_figures before = figures(memory, EG_TAG_COUNT);
    eg_error error;
    static const size_t sizes[] = {SIZE_MAX,          SIZE_MAX - 1,       SIZE_MAX - 63,
                                   SIZE_MAX - 64,     SIZE_MAX - 65,      SIZE_MAX - 127,
                                   SIZE_MAX - 128,    SIZE_MAX - 129,     SIZE_MAX / 2 + 1,
                                   SIZE_MAX / 2,      SIZE_MAX / 2 - 62,  SIZE_MAX / 2 - 63,
                                   SIZE_MAX / 2 - 64, SIZE_MAX / 2 - 127, SIZE_MAX / 2 - 4096,
                                   SIZE_MAX - 65536,  SIZE_MAX / 4 * 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char number[32];
        snprintf(number, sizeof number, "'%zu' bytes (weights)", sizes[i]);
        CHECK_FAILS(try_take(memory, sizes[i], &error), error, EG_ERR_MEMORY, number);
        CHECK(!eg__memory_take(memory, EG_TAG_FILE, sizes[i], NULL), "without an error object");
    }
    CHECK_FAILS(try_array(memory, SIZE_MAX, 1, &error), error, EG_ERR_MEMORY, "graph");
    CHECK_FAILS(try_array(memory, SIZE_MAX, 2, &error), error, EG_ERR_OVERFLOW, "' times '2'");
    CHECK_FAILS(try_array(memory, SIZE_MAX / 8 + 1, 8, &error), error, EG_ERR_OVERFLOW, "graph");
    CHECK_FAILS(try_text(memory, SIZE_MAX, &error), error, EG_ERR_OVERFLOW, "text");
    CHECK_FAILS(try_text(memory, SIZE_MAX - 1, &error), error, EG_ERR_MEMORY, "file");
    eg_memory_figures after = figures(memory, EG_TAG_COUNT);
    CHECK(memcmp(&before, &after, sizeof after) == 0, "a refused request was counted");
    CHECK(try_array(memory, 0, SIZE_MAX, &error) == EG_OK, "nothing times much");
    eg__memory_destroy(memory);
}

static eg_status attempt_blocks(void *user, const eg_allocator *allocator, eg_error *error) {
    (void)user;
    eg__memory *memory;
    eg__memory_options options = {.allocator = *allocator};
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) {
        CHECK(!memory, "memory after a failure");
        return status;
    }
    /* The second finds something cached, of another class: that must not hide the failure. */
    for (size_t size = 100; !status && size < 2000; size *= 4)
        status = try_take(memory, size, error);
    eg_memory_figures all = figures(memory, EG_TAG_COUNT);
    CHECK(all.current == figures(memory, EG_TAG_CONTEXT).current, "held after the failure");
    eg__memory_destroy(memory);
    return status;
}

TEST(memory, every_failure_is_reported) {
    int failed = test_every_allocation(attempt_blocks, NULL);
    CHECK(failed == 4, "%d allocations", failed);
}

/* ---- a user's allocator */

enum { LIVE_MAX = 64 };
typedef struct counting {
    void *blocks[LIVE_MAX];
    size_t sizes[LIVE_MAX];
    size_t calls, live, largest;
    size_t offset; /* 8: a broken promise of alignment */
} counting;

static void *counting_allocate(void *user, size_t size, size_t alignment) {
    counting *c = user;
    c->calls++;
    CHECK(alignment >= 64 && !(alignment & (alignment - 1)), "alignment %zu", alignment);
    void *block = NULL;
    if (c->live == LIVE_MAX || posix_memalign(&block, alignment, size + c->offset)) return NULL;
    if (size > c->largest) c->largest = size;
    c->blocks[c->live] = block;
    c->sizes[c->live++] = size;
    return (char *)block + c->offset;
}

static void counting_release(void *user, void *memory, size_t size) {
    counting *c = user;
    void *block = (char *)memory - c->offset;
    size_t i = 0;
    while (i < c->live && c->blocks[i] != block) i++;
    CHECK(i < c->live, "a block that was never allocated");
    if (i == c->live) return;
    CHECK(c->sizes[i] == size, "allocated %zu, released %zu", c->sizes[i], size);
    c->blocks[i] = c->blocks[--c->live];
    c->sizes[i] = c->sizes[c->live];
    free(block);
}

TEST(memory, a_users_allocator_gets_everything_back) {
    static const size_t sizes[] = {0, 1, 64, 65, 1000, 4096, 70000, 3000000, 1000, 64};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    counting c = {0};
    eg__memory_options options = {.allocator = {&c, counting_allocate, counting_release}};
    eg__memory *memory = create(&options);
    void *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        c.largest = 0;
        blocks[i] = take(memory, EG_TAG_OTHER, sizes[i]);
        size_t least = sizes[i] + 64, most = sizes[i] + sizes[i] / 8 + 128;
        CHECK(c.largest >= least && c.largest <= most, "%zu bytes for %zu", c.largest, sizes[i]);
    }
    CHECK(c.live == COUNT + 1, "%zu live", c.live);
    for (size_t i = 0; i < COUNT; i++) eg__memory_give(memory, blocks[i]);
    CHECK(c.live == COUNT + 1, "%zu live with a cache", c.live);
    eg__memory_destroy(memory);
    CHECK(c.live == 0, "%zu live at the end", c.live);
}

TEST(memory, bad_allocators) {
    counting c = {.offset = 8};
    eg__memory *memory;
    eg_error error;
    eg__memory_options options = {.allocator = {&c, counting_allocate, counting_release}};
    CHECK_FAILS(eg__memory_create(&memory, &options, &error), error, EG_ERR_MEMORY, "context");
    CHECK(c.calls == 1 && c.live == 0 && !memory, "misaligned memory");
    options.allocator.release = NULL;
    CHECK_FAILS(eg__memory_create(&memory, &options, &error), error, EG_ERR_ARGUMENT, "release");
    options.allocator = (eg_allocator){&c, NULL, counting_release};
    CHECK_FAILS(eg__memory_create(&memory, &options, &error), error, EG_ERR_ARGUMENT, "allocate");
}

/* ---- space: counted while it is used, zero when it is used again */
TEST(memory, space) {
    enum { SIZE = 4 << 20, PART = 1 << 20 };
    const eg__memory_options small = {.budget = 3 << 20};
    eg__memory *memory = create(&small);
    const uint64_t before = figures(memory, EG_TAG_WEIGHTS).current;
    eg__space space;
    eg_error error;
    CHECK_OK(eg__space_open(memory, EG_TAG_WEIGHTS, SIZE, &space, &error), error);
    CHECK(figures(memory, EG_TAG_WEIGHTS).current == before, "counted before it is used");
    CHECK_OK(eg__space_use(memory, &space, 100, PART, &error), error);
    CHECK(figures(memory, EG_TAG_WEIGHTS).current == before + PART, "what is used is not counted");
    CHECK_FAILS(eg__space_use(memory, &space, 2 * PART, 2 * PART, &error), error, EG_ERR_BUDGET,
                "budget");
    memset((char *)space.data + 100, 1, PART);
    eg__space_drop(memory, &space, 100, PART);
    CHECK(figures(memory, EG_TAG_WEIGHTS).current == before, "what was dropped is counted");
    size_t rest = 0;
    for (size_t i = 0; i < SIZE; i++) rest += ((char *)space.data)[i] != 0;
    CHECK(rest < 2 * 65536, "%zu bytes are there after they were dropped", rest);
    CHECK_OK(eg__space_use(memory, &space, 0, 2 * PART, &error), error);
    eg__space_close(memory, &space);
    eg__space_close(memory, &space); /* once more is fine */
    const eg_memory_figures end = figures(memory, EG_TAG_WEIGHTS);
    CHECK(end.current == before && end.total_allocated - end.total_freed == before, "not closed");
    eg__memory_destroy(memory);
}

/* Whole pages, whatever the allocator. */
TEST(memory, space_of_pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    eg__memory *memory = create(NULL);
    for (size_t size = 1; size < 4 * page; size += page / 2 + 1) {
        eg__space space;
        eg_error error;
        CHECK_OK(eg__space_take(memory, EG_TAG_ARENA, size, &space, &error), error);
        CHECK((uintptr_t)space.data % page == 0, "%zu bytes at %p", size, space.data);
        CHECK(((char *)space.data)[size - 1] == 0, "%zu bytes are not zeros", size);
        memset(space.data, 7, eg__round_up(size, page)); /* the rest of its pages is its own */
        eg__space_close(memory, &space);
    }
    CHECK(figures(memory, EG_TAG_ARENA).current == 0, "not closed");
    eg__memory_destroy(memory);
}

/* A small one, and one of an allocator that is not the system's, are blocks like any others. */
TEST(memory, space_of_blocks) {
    eg__failing_allocator requests = {.fail_at = 0};
    const eg__memory_options own = {.allocator = eg__failing_allocator_use(&requests)};
    for (int i = 0; i < 2; i++) {
        eg__memory *memory = create(i ? &own : NULL);
        const size_t size = i ? 4 << 20 : 1000;
        eg__space space;
        eg_error error;
        CHECK_OK(eg__space_open(memory, EG_TAG_WEIGHTS, size, &space, &error), error);
        CHECK(figures(memory, EG_TAG_WEIGHTS).current == size, "not counted as a block");
        CHECK_OK(eg__space_use(memory, &space, 0, size, &error), error);
        memset(space.data, 7, size);
        eg__space_drop(memory, &space, 0, size);
        CHECK(figures(memory, EG_TAG_WEIGHTS).current == size, "a part of a block was given back");
        eg__space_close(memory, &space);
        CHECK(figures(memory, EG_TAG_WEIGHTS).current == 0, "not closed");
        eg__memory_destroy(memory);
    }
    CHECK(requests.live == 0, "%lld blocks left", (long long)requests.live);
}
