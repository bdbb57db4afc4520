/* Steps of training: every case is complete, several threads come beside one, nothing is kept. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(bench_train, "steps of training on one thread and on several, with a ratio that agrees")

static eg_context *create(unsigned threads) {
    eg_context_options options = {.threads = threads};
    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

typedef struct seen {
    int count, stop_at, several;
    eg_bench_training last;
} seen;
static int see(void *user, const eg_bench_training *r) {
    seen *s = user;
    CHECK(r->step.provenance == EG_MEASURED && r->step.value > 0, "%s: %g ms", r->name,
          r->step.value);
    CHECK(r->step.value <= r->median.value, "%s: best %g of %g", r->name, r->step.value,
          r->median.value);
    CHECK(fabs(r->rate.value * r->step.value - 1e3) < 1e-6, "%s: %g steps/s", r->name,
          r->rate.value);
    CHECK(r->flops > 0 && r->bytes > 0 && r->steps > 0, "%s counts nothing", r->name);
    /* seven buffers are read or written by Adam, one by the norm */
    CHECK(r->update.value > 0 && r->update.value < r->median.value && r->update_flops > 0 &&
              r->update_bytes > 8 * 4 * 1000.0,
          "%s: an update takes %g ms and %g bytes", r->name, r->update.value, r->update_bytes);
    CHECK(r->fraction.provenance == EG_UNAVAILABLE ? r->fraction.source && r->fraction.source[0]
                                                   : r->fraction.value > 0,
          "%s: %g of the peak", r->name, r->fraction.value);
    if (r->threads == 1)
        CHECK(r->times_one.provenance == EG_UNAVAILABLE, "%s is one thread", r->name);
    else {
        s->several++;
        CHECK(r->threads == 2 && strcmp(r->name, s->last.name) == 0, "%s after %s", r->name,
              s->last.name);
        const double ratio = s->last.step.value / r->step.value;
        CHECK(fabs(r->times_one.value - ratio) < 1e-9, "%s: %g, not %g", r->name,
              r->times_one.value, ratio);
    }
    s->last = *r;
    return ++s->count == s->stop_at;
}

TEST(bench_train, every_case) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("a measurement, which an emulator only makes slow");
        return;
    }
    eg_context *one = create(1), *two = create(2);
    eg_error error;
    seen s = {0};
    eg_bench_train_options options = {.rounds = 2, .steps = 1};
    CHECK_OK(eg_bench_train(one, two, &options, see, &s, &error), error);
    CHECK(s.count == 12 && s.several == 3, "%d cases, %d of several threads", s.count, s.several);
    CHECK(s.last.batch == 128 && s.last.time == 16 && s.last.steps == 2, "%s: %llu steps",
          s.last.name, (unsigned long long)s.last.steps);
    eg_context_destroy(two);
    eg_context_destroy(one);
}

TEST(bench_train, filters_stops_and_mistakes) {
    if (test_emulated()) {
        test_skip("a measurement, which an emulator only makes slow");
        return;
    }
    eg_context *one = create(1), *two = create(2);
    eg_error error;
    seen s = {0};
    const uint64_t steps = test_quick() ? 1 : 3;
    eg_bench_train_options options = {.filter = "cfc-ncp", .rounds = 1, .steps = steps};
    CHECK_OK(eg_bench_train(one, NULL, &options, see, &s, &error), error);
    CHECK(s.count == 3 && s.several == 0 && s.last.steps == steps, "%d cases", s.count);
    s = (seen){.stop_at = 1};
    options.filter = "128x16";
    CHECK_OK(eg_bench_train(one, two, &options, see, &s, &error), error);
    CHECK(s.count == 1, "%d results", s.count);
    options.filter = "worm";
    CHECK_FAILS(eg_bench_train(one, two, &options, see, &s, &error), error, EG_ERR_NOT_FOUND,
                "'worm'");
    options.rounds = 100;
    CHECK_FAILS(eg_bench_train(one, two, &options, see, &s, &error), error, EG_ERR_ARGUMENT,
                "'100'");
    CHECK_FAILS(eg_bench_train(two, one, NULL, see, &s, &error), error, EG_ERR_ARGUMENT, "'2'");
    CHECK_FAILS(eg_bench_train(one, two, NULL, NULL, &s, &error), error, EG_ERR_ARGUMENT,
                "function");
    eg_context_destroy(two);
    eg_context_destroy(one);
}

/* ---- out of memory */
static int ignore(void *user, const eg_bench_training *r) {
    (void)user, (void)r;
    return 0;
}
static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    eg_context_options options = {.threads = 1, .allocator = *allocator};
    const eg_bench_train_options small = {.filter = user, .rounds = 1, .steps = 1};
    eg_context *context;
    eg_status status = eg_context_create(&options, &context, error);
    if (status) return status;
    status = eg_bench_train(context, NULL, &small, ignore, NULL, error);
    eg_context_destroy(context);
    return status;
}

TEST(bench_train, memory_can_fail) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("a measurement, which an emulator only makes slow");
        return;
    }
    test_every_allocation(attempt, "cfc-ncp-32x16");
}
