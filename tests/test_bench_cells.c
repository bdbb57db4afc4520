/* Liquid cells and latencies: every case is complete, every step is counted, nothing is kept. */
#include "test.h"
#include "elegans/elegans.h"

AREA(bench_cells, "cells in three modes, latencies with percentiles and buckets that agree")

static eg_context *create(unsigned threads, const eg_allocator *allocator) {
    eg_context_options options = {.threads = threads};
    if (allocator) options.allocator = *allocator;
    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

typedef struct seen {
    int count, stop_at;
    eg_bench_cell last;
} seen;
static int see(void *user, const eg_bench_cell *c) {
    seen *s = user;
    s->last = *c;
    CHECK(c->step.provenance == EG_MEASURED && c->step.value > 0, "%s: %g us", c->name,
          c->step.value);
    CHECK(c->best.value <= c->median.value && c->best.value <= c->step.value, "%s: best %g of %g",
          c->name, c->best.value, c->median.value);
    CHECK(c->flops > 0 && c->bytes > 0 && c->steps > 0, "%s counts nothing", c->name);
    CHECK(c->fraction.provenance == EG_UNAVAILABLE ? c->fraction.source && c->fraction.source[0]
                                                   : c->fraction.value > 0,
          "%s: %g of the peak", c->name, c->fraction.value);
    return ++s->count == s->stop_at;
}

TEST(bench_cells, every_case_in_every_mode) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("a measurement, which an emulator only makes slow");
        return;
    }
    eg_context *context = create(1, NULL);
    eg_error error;
    seen s = {0};
    CHECK_OK(eg_bench_cells(context, NULL, 1, see, &s, &error), error);
    CHECK(s.count == 12, "%d cases", s.count);
    CHECK(s.last.samples == 32 && s.last.steps == 64 && strcmp(s.last.mode, "batch") == 0,
          "%s: %llu samples", s.last.name, (unsigned long long)s.last.samples);
    eg_context_destroy(context);
}

TEST(bench_cells, filters_stops_and_mistakes) {
    eg_context *context = create(1, NULL), *two = create(2, NULL);
    eg_error error;
    seen s = {0};
    CHECK_OK(eg_bench_cells(context, "ltc-ncp-cold", 3, see, &s, &error), error);
    CHECK(s.count == 1 && s.last.steps == 3, "%d cases, %llu steps", s.count,
          (unsigned long long)s.last.steps);
    s = (seen){.stop_at = 2};
    CHECK_OK(eg_bench_cells(context, "hot", 16, see, &s, &error), error);
    CHECK(s.count == 2, "%d cases", s.count);
    CHECK_FAILS(eg_bench_cells(context, "worm", 1, see, &s, &error), error, EG_ERR_NOT_FOUND,
                "'worm'");
    CHECK_FAILS(eg_bench_cells(two, NULL, 1, see, &s, &error), error, EG_ERR_ARGUMENT, "'2'");
    CHECK_FAILS(eg_bench_cells(context, NULL, 1, NULL, &s, &error), error, EG_ERR_ARGUMENT,
                "function");
    eg_context_destroy(two);
    eg_context_destroy(context);
}

/* ---- latency */
static void check_latency(const eg_bench_latency_result *r, uint64_t steps) {
    const double order[] = {r->least.value, r->p50.value,   r->p90.value,
                            r->p99.value,   r->p99_9.value, r->most.value};
    uint64_t sum = 0, below = 0;
    CHECK(r->steps == steps, "%llu steps", (unsigned long long)r->steps);
    for (int i = 1; i < 6; i++)
        CHECK(order[i - 1] <= order[i], "percentile %d: %g after %g", i, order[i], order[i - 1]);
    CHECK(r->mean.value >= r->least.value && r->mean.value <= r->most.value, "mean %g",
          r->mean.value);
    for (size_t i = 0; i < r->buckets; i++) {
        const eg_latency_bucket *b = &r->bucket[i];
        CHECK(b->from < b->to && (!i || b->from == b[-1].to), "bucket %zu begins at %llu", i,
              (unsigned long long)b->from);
        if ((double)b->to * 1e-3 <= r->p50.value) below += b->count;
        sum += b->count;
    }
    CHECK(sum == steps, "%llu steps in the buckets", (unsigned long long)sum);
    CHECK(2 * below <= steps, "%llu steps below the median", (unsigned long long)below);
    CHECK(r->buckets && r->bucket[0].count && r->bucket[r->buckets - 1].count, "empty at an end");
}

TEST(bench_cells, latencies_are_all_counted) {
    eg_context *context = create(1, NULL);
    eg_error error;
    eg_model *model;
    eg_bench_latency_result result;
    CHECK_OK(eg_model_open(context, "cfc:autoncp:12:3,in=4", &model, &error), error);
    CHECK_OK(eg_bench_latency(model, 5000, &result, &error), error);
    check_latency(&result, 5000);
    CHECK_OK(eg_bench_latency(model, 1, &result, &error), error);
    check_latency(&result, 1);
    CHECK(result.p50.value == result.most.value, "one step has one latency");
    CHECK_FAILS(eg_bench_latency(NULL, 1, &result, &error), error, EG_ERR_ARGUMENT, "model");
    eg_model_destroy(model);
    CHECK_OK(eg_model_open(context, "cfc:8,in=4,bidirectional=concat", &model, &error), error);
    CHECK_FAILS(eg_bench_latency(model, 1, &result, &error), error, EG_ERR_UNSUPPORTED,
                "bidirectional");
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- out of memory */
static int ignore(void *user, const eg_bench_cell *c) {
    (void)user, (void)c;
    return 0;
}
static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    eg_context_options options = {.threads = 1, .allocator = *allocator};
    eg_context *context;
    eg_model *model = NULL;
    eg_bench_latency_result result;
    eg_status status = eg_context_create(&options, &context, error);
    if (status) return status;
    if (user) status = eg_bench_cells(context, user, 1, ignore, NULL, error);
    else {
        status = eg_model_open(context, "cfc:4,in=2", &model, error);
        if (!status) status = eg_bench_latency(model, 1, &result, error);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
    return status;
}

TEST(bench_cells, memory_can_fail) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("a measurement, which an emulator only makes slow");
        return;
    }
    test_every_allocation(attempt, NULL);
    test_every_allocation(attempt, "cfc-ncp-cold");
    test_every_allocation(attempt, "cfc-ncp-batch");
}
