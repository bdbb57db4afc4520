/* Scoped temporaries: a scope gives back what was taken in it, whatever ends it. */
#include "test.h"
#include "elegans/elegans.h"

#include <pthread.h>

AREA(scope, "nested scopes, stale ones, loops without allocation, budgets, threads, every failure")

static uint64_t held(eg_context *context) {
    eg_memory_figures figures;
    eg_memory_query(context, EG_TAG_TENSOR, &figures, NULL);
    return figures.current;
}
static uint64_t allocations(eg_context *context) {
    eg_memory_figures figures;
    eg_memory_query(context, EG_TAG_COUNT, &figures, NULL);
    return figures.allocations;
}

static eg_context *create(uint64_t budget) {
    const eg_context_options options = {
        .size = sizeof options, .threads = 1, .memory_budget = budget};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static unsigned char *take(eg_temporaries *t, size_t size, int sign) {
    void *out;
    eg_error error;
    CHECK_OK(eg_scope_take(t, size, &out, &error), error);
    CHECK((uintptr_t)out % 64 == 0, "%zu bytes at %p", size, out);
    memset(out, sign, size);
    return out;
}

static bool is_all(const unsigned char *block, size_t size, int sign) {
    for (size_t i = 0; i < size; i++)
        if (block[i] != sign) return false;
    return true;
}

/* ---- nesting: what is outside stays, what is inside comes back */
TEST(scope, inner_scopes_leave_the_outer_alone) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4000, 65000, 70000, 1 << 20};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    eg_context *context = create(0);
    eg_temporaries *t;
    eg_temporaries_figures before, after;
    eg_error error;
    eg_scope outer, inner;
    CHECK_OK(eg_temporaries_create(context, &t, &error), error);
    for (size_t i = 0; i < SIZES; i++) {
        CHECK_OK(eg_scope_begin(t, &outer, &error), error);
        const unsigned char *mine = take(t, sizes[i], 17);
        eg_temporaries_query(t, &before);
        for (size_t k = 0; k < SIZES; k++) {
            CHECK_OK(eg_scope_begin(t, &inner, &error), error);
            take(t, sizes[k], 99);
            take(t, sizes[(k + 3) % SIZES], 98);
            CHECK_OK(eg_scope_end(t, inner, &error), error);
        }
        eg_temporaries_query(t, &after);
        CHECK(after.taken == before.taken && after.scopes == 1 && after.most > before.most,
              "%zu bytes outside: %llu taken, %llu scopes", sizes[i],
              (unsigned long long)after.taken, (unsigned long long)after.scopes);
        CHECK(is_all(mine, sizes[i], 17), "%zu bytes outside were overwritten", sizes[i]);
        CHECK_OK(eg_scope_end(t, outer, &error), error);
        eg_temporaries_query(t, &after);
        CHECK(!after.taken && !after.scopes, "something is left");
        before.most = after.most = 0;
        eg_temporaries_destroy(t); /* `most` begins anew */
        CHECK_OK(eg_temporaries_create(context, &t, &error), error);
    }
    eg_temporaries_destroy(t);
    CHECK(held(context) == 0, "%llu bytes stayed", (unsigned long long)held(context));
    eg_context_destroy(context);
}

TEST(scope, what_is_not_open_cannot_end) {
    eg_context *context = create(0);
    eg_temporaries *t, *other;
    eg_temporaries_figures figures;
    eg_error error;
    eg_scope a, b, c, again;
    void *out;
    CHECK_OK(eg_temporaries_create(context, &t, &error), error);
    CHECK_OK(eg_temporaries_create(context, &other, &error), error);
    CHECK_FAILS(eg_scope_take(t, 8, &out, &error), error, EG_ERR_ARGUMENT, "no scope is open");
    CHECK(!out, "memory without a scope");
    CHECK_FAILS(eg_scope_end(t, 0, &error), error, EG_ERR_ARGUMENT, "'0' is not open");
    CHECK_OK(eg_scope_begin(t, &a, &error), error);
    CHECK_OK(eg_scope_begin(t, &b, &error), error);
    CHECK_OK(eg_scope_begin(t, &c, &error), error);
    take(t, 100, 1);
    take(t, 0, 1);
    eg_temporaries_query(t, &figures);
    CHECK(figures.taken == 128 + 64 && figures.scopes == 3, "%llu bytes in whole lines of a cache",
          (unsigned long long)figures.taken);
    /* the outer one takes those inside along; these have ended then */
    CHECK_OK(eg_scope_end(t, b, &error), error);
    CHECK_FAILS(eg_scope_end(t, c, &error), error, EG_ERR_ARGUMENT, "is not open");
    CHECK_FAILS(eg_scope_end(t, b, &error), error, EG_ERR_ARGUMENT, "is not open");
    eg_temporaries_query(t, &figures);
    CHECK(figures.scopes == 1 && figures.taken == 0, "%llu scopes",
          (unsigned long long)figures.scopes);
    /* one that lies where the old one lay is another */
    CHECK_OK(eg_scope_begin(t, &again, &error), error);
    CHECK(again != b && again != c, "a scope came back");
    CHECK_FAILS(eg_scope_end(t, b, &error), error, EG_ERR_ARGUMENT, "is not open");
    CHECK_OK(eg_scope_end(t, a, &error), error);
    CHECK_FAILS(eg_scope_end(other, again, &error), error, EG_ERR_ARGUMENT, "is not open");
    CHECK_FAILS(eg_scope_begin(NULL, &a, &error), error, EG_ERR_ARGUMENT, "no temporaries");
    CHECK_OK(eg_scope_begin(t, &a, &error), error); /* open scopes are destroyed as well */
    take(t, 1 << 20, 1);
    eg_temporaries_destroy(t);
    eg_temporaries_destroy(other);
    eg_temporaries_destroy(NULL);
    CHECK(held(context) == 0, "%llu bytes stayed", (unsigned long long)held(context));
    eg_context_destroy(context);
}

TEST(scope, a_loop_takes_memory_once) {
    eg_context *context = create(0);
    eg_temporaries *t;
    eg_error error;
    uint64_t first = 0;
    CHECK_OK(eg_temporaries_create(context, &t, &error), error);
    for (int turn = 0; turn < 20; turn++) {
        eg_scope scope;
        eg_tensor tensor;
        const uint64_t shape[] = {300, 70};
        CHECK_OK(eg_scope_begin(t, &scope, &error), error);
        take(t, 1000, 1);
        CHECK_OK(eg_scope_tensor(t, EG_F32, 2, shape, &tensor, &error), error);
        const float *values = tensor.data;
        for (int i = 0; i < 300 * 70; i++)
            if (values[i] != 0) {
                CHECK(false, "turn %d: element %d is %g", turn, i, values[i]);
                break;
            }
        memset(tensor.data, 7, 300 * 70 * sizeof(float));
        CHECK_OK(eg_scope_end(t, scope, &error), error);
        if (!turn) first = allocations(context);
        CHECK(allocations(context) == first, "turn %d takes memory", turn);
    }
    eg_temporaries_destroy(t);
    eg_context_destroy(context);
}

TEST(scope, a_budget_refuses_and_nothing_changes) {
    eg_context *context = create(UINT64_C(4) << 20);
    eg_temporaries *t;
    eg_error error;
    eg_scope scope;
    eg_tensor tensor;
    void *out;
    CHECK_OK(eg_temporaries_create(context, &t, &error), error);
    CHECK_OK(eg_scope_begin(t, &scope, &error), error);
    const unsigned char *mine = take(t, 5000, 42);
    const uint64_t huge[] = {UINT64_MAX / 8, 4}, large[] = {1 << 20, 4};
    CHECK_FAILS(eg_scope_take(t, 16 << 20, &out, &error), error, EG_ERR_BUDGET, "budget");
    CHECK(!out, "memory beyond the budget");
    CHECK_FAILS(eg_scope_take(t, SIZE_MAX, &out, &error), error, EG_ERR_OVERFLOW, "cannot hold");
    CHECK_FAILS(eg_scope_tensor(t, EG_F32, 2, large, &tensor, &error), error, EG_ERR_BUDGET,
                "budget");
    CHECK_FAILS(eg_scope_tensor(t, EG_F32, 2, huge, &tensor, &error), error, EG_ERR_OVERFLOW, "");
    CHECK(!tensor.data, "a tensor of nothing");
    CHECK(is_all(mine, 5000, 42), "what was taken before has changed");
    take(t, 6000, 43);
    CHECK(is_all(mine, 5000, 42), "what was taken before has changed");
    CHECK_OK(eg_scope_end(t, scope, &error), error);
    eg_temporaries_destroy(t);
    eg_context_destroy(context);
}

/* ---- threads: each its own, all on one context */
typedef struct worker {
    eg_context *context;
    int sign, wrong;
} worker;

static void *work(void *user) {
    worker *w = user;
    eg_temporaries *t;
    if (eg_temporaries_create(w->context, &t, NULL)) return NULL;
    for (int turn = 0; turn < 200; turn++) {
        eg_scope scopes[3];
        unsigned char *blocks[3];
        for (int i = 0; i < 3; i++) {
            const size_t size = (size_t)(turn * 977 + i * 30011) % 90000 + 1;
            if (eg_scope_begin(t, &scopes[i], NULL) ||
                eg_scope_take(t, size, (void **)&blocks[i], NULL)) {
                w->wrong++;
                break;
            }
            memset(blocks[i], w->sign + i, size);
        }
        for (int i = 0; i < 3; i++)
            w->wrong += !is_all(blocks[i], (size_t)(turn * 977 + i * 30011) % 90000 + 1,
                                (unsigned char)(w->sign + i));
        for (int i = 2; i >= 0; i--) w->wrong += eg_scope_end(t, scopes[i], NULL) != EG_OK;
    }
    eg_temporaries_destroy(t);
    return NULL;
}

TEST(scope, threads_have_their_own) {
    enum { WORKERS = 4 };
    eg_context *context = create(0);
    pthread_t threads[WORKERS];
    worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){context, 16 * i, 0};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "no thread");
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!workers[i].wrong, "thread %d: %d blocks of others", i, workers[i].wrong);
    }
    CHECK(held(context) == 0, "%llu bytes stayed", (unsigned long long)held(context));
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_temporaries *t = NULL;
    eg_scope outer, inner;
    void *out;
    eg_tensor tensor;
    const uint64_t shape[] = {100, 1000};
    (void)user;
    eg_status status = eg_temporaries_create(context, &t, error);
    if (!status) status = eg_scope_begin(t, &outer, error);
    if (!status) status = eg_scope_take(t, 100, &out, error);
    if (!status) status = eg_scope_begin(t, &inner, error);
    if (!status) status = eg_scope_tensor(t, EG_F32, 2, shape, &tensor, error);
    if (!status) status = eg_scope_end(t, outer, error);
    eg_temporaries_destroy(t);
    return status;
}

TEST(scope, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed >= 4, "only %d allocations", failed);
}
