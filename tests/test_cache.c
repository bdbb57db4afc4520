/* The cache in software: patterns whose hits can be counted by hand, and the caches of chips. */
#include "test.h"

#include "elegans/elegans.h"
#include "engine/context.h"
#include "profile/cache/cache.h"

#include <math.h>

AREA(cache, "hits and misses as counted by hand; sampled sets; caches of all chips of the table")

typedef struct fixture {
    eg_context *context;
    eg__cache cache;
    eg__cache_counts counts;
} fixture;

static void open_cache(fixture *f, const eg_cache_geometry *geometry, unsigned sampling) {
    eg_error error;
    memset(f, 0, sizeof *f);
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &f->context, &error), error);
    CHECK_OK(
        eg__cache_create(&f->cache, eg__context_memory(f->context), geometry, sampling, &error),
        error);
    f->cache.counts = &f->counts;
}

static void close_cache(fixture *f) {
    eg__cache_destroy(&f->cache);
    eg_context_destroy(f->context);
}

static void sweep(fixture *f, uint64_t from, uint64_t bytes, unsigned step, bool write) {
    for (uint64_t at = from; at < from + bytes; at += step)
        eg__cache_access(&f->cache, at, step, write);
}

/* What was counted since the last call. */
static eg__cache_counts taken(fixture *f) {
    const eg__cache_counts counts = f->counts;
    memset(&f->counts, 0, sizeof f->counts);
    return counts;
}
#define CHECK_COUNTS(f, accesses, first, last)                                           \
    do {                                                                                 \
        const eg__cache_counts c_ = taken(f);                                            \
        CHECK(c_.all == (accesses) && c_.misses[0] == (first) && c_.misses[1] == (last), \
              "%llu accesses, %llu and %llu misses", (unsigned long long)c_.all,         \
              (unsigned long long)c_.misses[0], (unsigned long long)c_.misses[1]);       \
    } while (0)

static const eg_cache_geometry small = {.levels = 2,
                                        .level = {{"L1d", 4096, 4, 64}, {"L2", 32768, 8, 64}}};

TEST(cache, streams_and_blocks) {
    fixture f;
    open_cache(&f, &small, 1);
    sweep(&f, 1 << 20, 1 << 20, 32, false); /* every second access finds its line */
    CHECK_COUNTS(&f, 32768, 16384, 16384);
    sweep(&f, 1 << 20, 1 << 20, 4, false); /* the last 32 KiB of it are there, but not in the order
                                              that would find them */
    CHECK_COUNTS(&f, 262144, 16384, 16384);
    sweep(&f, 4096, 4096, 16, false); /* fits the first */
    CHECK_COUNTS(&f, 256, 64, 64);
    sweep(&f, 4096, 4096, 16, true);
    CHECK_COUNTS(&f, 256, 0, 0);
    sweep(&f, 65536, 16384, 64, false); /* fits the second */
    CHECK_COUNTS(&f, 256, 256, 256);
    sweep(&f, 65536, 16384, 64, false);
    CHECK_COUNTS(&f, 256, 256, 0);
    close_cache(&f);
}

/* Lines a multiple of sets * line apart fight for the same ways. */
TEST(cache, conflicts) {
    fixture f;
    open_cache(&f, &small, 1);
    for (int turn = 0; turn < 10; turn++)
        for (uint64_t i = 0; i < 4; i++) eg__cache_access(&f.cache, i * 1024, 4, false);
    CHECK_COUNTS(&f, 40, 4, 4);
    for (int turn = 0; turn < 10; turn++) /* one more than there are ways: none is ever found */
        for (uint64_t i = 0; i < 5; i++) eg__cache_access(&f.cache, i * 1024, 4, false);
    CHECK_COUNTS(&f, 50, 46, 1); /* but for the four that were there */
    close_cache(&f);
}

TEST(cache, least_recently_used_goes) {
    fixture f;
    enum { A = 0, B = 1024, C = 2048 };
    open_cache(&f, &(eg_cache_geometry){1, {{"L1d", 2048, 2, 64}}}, 1);
    static const struct {
        uint64_t at;
        bool found;
    } turns[] = {{A, 0}, {B, 0}, {A, 1}, {C, 0}, {A, 1}, {B, 0}, {C, 0}, {B, 1}, {A, 0}, {C, 0}};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        eg__cache_access(&f.cache, turns[i].at, 4, false);
        const bool found = !taken(&f).misses[0];
        CHECK(found == turns[i].found, "access %zu", i);
    }
    close_cache(&f);
}

TEST(cache, two_lines_are_one_access) {
    fixture f;
    open_cache(&f, &small, 1);
    eg__cache_access(&f.cache, 64 - 16, 32, false);
    CHECK(f.counts.fetched == 2, "%llu lines", (unsigned long long)f.counts.fetched);
    CHECK_COUNTS(&f, 1, 1, 1);
    eg__cache_access(&f.cache, 64 - 16, 32, false);
    eg__cache_access(&f.cache, 64, 32, false);
    CHECK_COUNTS(&f, 2, 0, 0);
    eg__cache_access(&f.cache, 128 - 16, 32, false); /* only the second is missing */
    CHECK_COUNTS(&f, 1, 1, 1);
    close_cache(&f);
}

/* Lines that were written to go back to memory when the last cache has no place for them any more. */
TEST(cache, written_lines_go_back) {
    fixture f;
    open_cache(&f, &small, 1);
    sweep(&f, 1 << 20, 65536, 32, true);
    eg__cache_counts c = taken(&f);
    CHECK(c.fetched == 1024 && c.written == 1024 - 512, "%llu fetched, %llu written",
          (unsigned long long)c.fetched, (unsigned long long)c.written);
    sweep(&f, 1 << 22, 65536, 32, false);
    c = taken(&f);
    CHECK(c.fetched == 1024 && c.written == 512, "%llu fetched, %llu written",
          (unsigned long long)c.fetched, (unsigned long long)c.written);
    sweep(&f, 1 << 23, 65536, 32, false);
    CHECK(taken(&f).written == 0, "lines that nobody wrote to");
    close_cache(&f);
}

TEST(cache, other_geometries) {
    static const eg_cache_geometry wider = {.levels = 2,
                                            .level = {{"L1d", 4096, 4, 64}, {"L2", 65536, 8, 128}}};
    static const eg_cache_geometry odd = {1, {{"L1d", 3 * 4 * 64, 4, 64}}};
    static const eg_cache_geometry whole = {1, {{"L1d", 1024, 16, 64}}};
    fixture f;
    open_cache(&f, &wider, 1);
    sweep(&f, 0, 16384, 32, false); /* a line of the second brings two of the first */
    CHECK_COUNTS(&f, 512, 256, 128);
    close_cache(&f);
    for (int i = 0; i < 2; i++) { /* a number of sets that is no power of two; a single set */
        const uint64_t lines = i ? 16 : 12;
        open_cache(&f, i ? &whole : &odd, 64);
        sweep(&f, 0, lines * 64, 64, false);
        sweep(&f, 0, lines * 64, 64, false);
        CHECK_COUNTS(&f, 2 * lines, lines, 0);
        sweep(&f, 0, 4 * lines * 64, 64, false);
        sweep(&f, 0, 4 * lines * 64, 64, false);
        CHECK_COUNTS(&f, 8 * lines, 7 * lines, 0);
        close_cache(&f);
    }
}

/* Of a pattern that uses all sets alike, any part of the sets tells the same. */
TEST(cache, sampled_sets) {
    static const eg_cache_geometry usual = {
        .levels = 3,
        .level = {{"L1d", 32768, 8, 64}, {"L2", 524288, 8, 64}, {"L3", 3145728, 12, 64}}};
    eg_cache_result exact = {0};
    for (unsigned sampling = 1; sampling <= 16; sampling *= 2) {
        fixture f;
        eg_cache_result result = {0};
        uint64_t random = 1;
        open_cache(&f, &usual, sampling);
        for (int turn = 0; turn < 2; turn++) {
            sweep(&f, 12345 * 64, 1 << 20, 32, turn);
            sweep(&f, 1 << 24, 20000, 16, true);
            for (int i = 0; i < 200000; i++)
                eg__cache_access(&f.cache, (uint64_t)((test_random(&random) + 1) * 262144) * 8, 8,
                                 false);
        }
        eg__cache_figures_add(&f.cache, &f.counts, &result);
        eg__cache_figures_end(&f.cache, &result);
        if (sampling == 1) exact = result;
        CHECK(result.levels == 3 && result.level[0].hit_rate.provenance == EG_SIMULATED, "figures");
        CHECK(result.level[0].accesses == exact.level[0].accesses && result.bytes == exact.bytes,
              "accesses are exact");
        for (unsigned i = 0; i < 3; i++) {
            const double misses = result.level[i].misses / exact.level[0].accesses;
            const double distance = misses - exact.level[i].misses / exact.level[0].accesses;
            CHECK(fabs(distance) <= 0.005, "1/%u, level %u: %g away", sampling, i, distance);
        }
        close_cache(&f);
    }
}

TEST(cache, bad_geometries) {
    static const struct {
        eg_cache_geometry geometry;
        unsigned sampling;
        const char *message;
    } cases[] = {
        {{.levels = 0}, 1, "0 levels"},
        {{.levels = 5}, 1, "5 levels"},
        {{1, {{"L1d", 32768, 8, 64}}}, 0, "one of 0 sets"},
        {{1, {{"L1d", 32768, 8, 64}}}, 3, "one of 3 sets"},
        {{1, {{"L1d", 32768, 8, 48}}}, 1, "'L1d': lines of 48"},
        {{1, {{"L1d", 32768, 8, 32}}}, 1, "'L1d': lines of 32"},
        {{1, {{"L1d", 32768, 0, 64}}}, 1, "cache 'L1d': 32768 bytes are not whole sets of 0 ways"},
        {{1, {{"L1d", 32768, 7, 64}}}, 1, "cache 'L1d': 32768 bytes are not whole sets of 7 ways"},
        {{1, {{"L1d", 0, 8, 64}}}, 1, "0 bytes"},
        {{1, {{"L1d", (uint64_t)1 << 40, 8, 64}}}, 1, "bytes"},
        {{2, {{"L1d", 32768, 8, 128}, {"L2", 65536, 8, 64}}}, 1, "'L2': lines of 64"},
    };
    eg_context *context;
    eg_error error;
    eg__cache cache;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_FAILS(eg__cache_create(&cache, eg__context_memory(context), &cases[i].geometry,
                                     cases[i].sampling, &error),
                    error, EG_ERR_ARGUMENT, cases[i].message);
    eg_context_destroy(context);
}

static void check_usable(const eg_cache_geometry *geometry, const char *name) {
    fixture f;
    open_cache(&f, geometry, 8);
    CHECK(f.cache.levels == geometry->levels, "%s", name);
    for (unsigned i = 0; i < f.cache.levels; i++)
        CHECK(f.cache.level[i].mask, "%s: %s has %llu sets", name, geometry->level[i].name,
              (unsigned long long)f.cache.level[i].sets);
    close_cache(&f);
}

TEST(cache, chips) {
    eg_chip_row row;
    eg_cache_geometry g;
    eg_error error;
    for (size_t i = 0; i < eg_chip_table_size(); i++) {
        CHECK_OK(eg_chip_table_get(i, &row, &error), error);
        CHECK_OK(eg_cache_geometry_of_row(&row, &g, &error), error);
        CHECK(g.levels == (row.slc_mb > 0 ? 3 : 2), "%s: %u levels", row.name, g.levels);
        check_usable(&g, row.name);
    }
    CHECK_OK(eg_chip_table_find("M1", &row, &error), error);
    CHECK_OK(eg_cache_geometry_of_row(&row, &g, &error), error);
    CHECK(g.level[0].bytes == 131072 && g.level[0].ways == 8 && g.level[0].line == 128 &&
              g.level[1].bytes == 12582912 && g.level[1].ways == 12 &&
              g.level[2].bytes == 8388608 && strcmp(g.level[2].name, "SLC") == 0,
          "M1: %llu/%u %llu/%u %s", (unsigned long long)g.level[0].bytes, g.level[0].ways,
          (unsigned long long)g.level[1].bytes, g.level[1].ways, g.level[2].name);
    row.fast_l1d_kb = NAN;
    CHECK_FAILS(eg_cache_geometry_of_row(&row, &g, &error), error, EG_ERR_UNSUPPORTED,
                "the first-level cache of 'M1' is unknown");
    CHECK_FAILS(eg_cache_geometry_of_row(NULL, &g, &error), error, EG_ERR_ARGUMENT, "no chip");
    eg_chip chip = {.name = "some chip", .vendor = "AMD", .kind_count = 1, .l3_bytes = 32 << 20};
    CHECK_FAILS(eg_cache_geometry_of_chip(&chip, &g, &error), error, EG_ERR_UNSUPPORTED,
                "'some chip'");
    chip.kinds[0].l1d_bytes = 49152;
    chip.kinds[0].l2_bytes = 1 << 20;
    CHECK_OK(eg_cache_geometry_of_chip(&chip, &g, &error), error);
    CHECK(g.levels == 3 && g.level[0].ways == 12 && g.level[0].line == 64 && g.level[1].ways == 8 &&
              g.level[2].ways == 16 && strcmp(g.level[2].name, "L3") == 0,
          "%u levels, %u ways", g.levels, g.level[0].ways);
    check_usable(&g, chip.name);
    CHECK_FAILS(eg_cache_geometry_of_chip(NULL, &g, &error), error, EG_ERR_ARGUMENT, "no chip");
}
