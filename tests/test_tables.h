/* What the tests of data sets share: tables by hand, a context that knows its leaks, batches as text. */
#ifndef EG__TEST_TABLES_H
#define EG__TEST_TABLES_H

#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

typedef struct data_test {
    eg__failing_allocator state;
    eg_context *context;
    eg_error error;
} data_test;

static inline void data_test_open(data_test *test) {
    memset(test, 0, sizeof *test);
    const eg_context_options options = {.allocator = eg__failing_allocator_use(&test->state),
                                        .threads = 1};
    CHECK_OK(eg_context_create(&options, &test->context, &test->error), test->error);
}

static inline void data_test_close(data_test *test) {
    eg_context_destroy(test->context);
    CHECK(test->state.live == 0, "%lld blocks leaked", (long long)test->state.live);
}

/* A table of numbers; `names` may be NULL. */
static inline eg_table table_of(uint64_t rows, uint64_t columns, const char *const *names,
                                const double *values) {
    return (eg_table){.rows = rows, .columns = columns, .names = names, .values = (double *)values};
}

/* A batch of its own, each array exactly as long as it is said to be. */
typedef struct test_batch {
    eg_train_batch of;
    uint64_t batch, time;
} test_batch;

static inline test_batch test_batch_make(const eg_data *data, uint64_t batch, uint64_t time) {
    eg_data_info info = {.size = sizeof info};
    eg_data_info_get(data, &info);
    const size_t steps = (size_t)(batch * time), rows = info.last ? (size_t)batch : steps;
    test_batch b = {.batch = batch, .time = time};
    b.of.x = test_alloc(steps * (size_t)info.inputs * sizeof(float));
    b.of.target_size = info.targets;
    b.of.target = test_alloc(rows * (size_t)info.targets * sizeof(float));
    b.of.weight = test_alloc(rows * (size_t)info.targets * sizeof(float));
    b.of.timespans = test_alloc(steps * sizeof(float));
    b.of.lengths = test_alloc((size_t)batch * sizeof(float));
    for (size_t i = 0; i < steps * info.inputs; i++) b.of.x[i] = -99;
    for (size_t i = 0; i < rows * info.targets; i++) b.of.target[i] = b.of.weight[i] = -99;
    for (size_t i = 0; i < steps; i++) b.of.timespans[i] = -99;
    for (size_t i = 0; i < batch; i++) b.of.lengths[i] = -99;
    return b;
}

static inline void test_batch_free(test_batch *b) {
    free(b->of.x);
    free(b->of.target);
    free(b->of.weight);
    free(b->of.timespans);
    free(b->of.lengths);
}

static inline void test_append(char *out, size_t size, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%g", used && out[used - 1] != '|' ? " " : "",
                 (double)values[i]);
    }
}

/* One window alone as text: "x ..|spans ..|targets ..|weights .."; a static buffer. */
static inline const char *window_text(const eg_data *data, const eg_scaling *units,
                                      uint64_t window) {
    static char text[2000];
    eg_data_info info = {.size = sizeof info};
    uint64_t first, length;
    eg_data_info_get(data, &info);
    eg_data_window(data, window, &first, &length);
    test_batch b = test_batch_make(data, 1, length);
    eg_data_fill(data, units, window, 1, length, 0, &b.of);
    const size_t rows = info.last ? 1 : (size_t)length;
    const float *const parts[] = {b.of.x, b.of.timespans, b.of.target, b.of.weight};
    const size_t counts[] = {(size_t)(length * info.inputs), (size_t)length,
                             rows * (size_t)info.targets, rows * (size_t)info.targets};
    text[0] = 0;
    for (int i = 0; i < 4; i++) {
        test_append(text, sizeof text, parts[i], counts[i]);
        if (i < 3) strcat(text, "|");
    }
    test_batch_free(&b);
    return text;
}

#define CHECK_TEXT(got, want)                                                  \
    do {                                                                       \
        const char *got_ = (got);                                              \
        CHECK(strcmp(got_, (want)) == 0, "'%s', expected '%s'", got_, (want)); \
    } while (0)

#endif
