/* A context: defaults, wrong options, every failing allocation, memory questions, conversion. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(context, "options, budget, tensors, conversions, every failing allocation")

static eg_context *create(const eg_context_options *options) {
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(options, &context, &error), error);
    return context;
}

TEST(context, defaults) {
    eg_context *context = create(NULL);
    const eg_chip *chip = eg_context_chip(context);
    CHECK(eg_context_threads(context) >= 1, "threads %u", eg_context_threads(context));
    CHECK(eg_context_threads(context) == chip->kinds[0].cores || !chip->kinds[0].cores,
          "%u threads for %u fast cores", eg_context_threads(context), chip->kinds[0].cores);
    CHECK(eg_context_isa(context)[0], "isa");
    eg_memory_pool_figures pool;
    eg_error error;
    CHECK_OK(eg_memory_pool_query(context, &pool, &error), error);
    if (chip->memory_available)
        CHECK(fabs((double)pool.budget / (double)chip->memory_available - 0.8) < 0.01,
              "budget %llu of %llu", (unsigned long long)pool.budget,
              (unsigned long long)chip->memory_available);
    eg_context_destroy(context);
    eg_context_destroy(NULL);
}

TEST(context, wrong_options) {
    static const struct {
        eg_context_options options;
        eg_status status;
        const char *part;
    } rows[] = {
        {{.threads = 257}, EG_ERR_ARGUMENT, "257"},
        {{.memory_fraction = 1.5}, EG_ERR_ARGUMENT, "1.5"},
        {{.memory_fraction = -0.1}, EG_ERR_ARGUMENT, "-0.1"},
        {{.isa = "altivec"}, EG_ERR_UNSUPPORTED, "altivec"},
        {{.system_root = "/does/not/exist"}, EG_ERR_NOT_FOUND, "/does/not/exist"},
        {{.memory_budget = 1}, EG_ERR_BUDGET, "budget"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_context *context = (eg_context *)1;
        eg_error error = {0};
        CHECK_FAILS(eg_context_create(&rows[i].options, &context, &error), error, rows[i].status,
                    rows[i].part);
        CHECK(!context, "row %zu left a context", i);
    }
    eg_error error;
    CHECK_FAILS(eg_context_create(NULL, NULL, &error), error, EG_ERR_ARGUMENT, "no output pointer");
}

TEST(context, options_of_other_versions) {
    struct {
        eg_context_options options;
        int later_field;
    } newer = {{.size = sizeof newer, .threads = 1}, 0};
    eg_context_destroy(create(&newer.options));
    newer.later_field = 1;
    eg_context *context;
    eg_error error;
    CHECK_FAILS(eg_context_create(&newer.options, &context, &error), error, EG_ERR_UNSUPPORTED,
                "field");
    const eg_context_options none = {.size = offsetof(eg_context_options, isa), .threads = 1};
    CHECK_FAILS(eg_context_create(&none, &context, &error), error, EG_ERR_ARGUMENT,
                "the first version has");
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    (void)user;
    eg_context_options options = {.allocator = *allocator, .threads = 3};
    eg_context *context;
    eg_status status = eg_context_create(&options, &context, error);
    if (status) return status;
    eg_tensor tensor = {0};
    uint64_t shape[] = {3, 5};
    status = eg_tensor_create(context, EG_F32, 2, shape, &tensor, error);
    eg_tensor_release(context, &tensor);
    eg_context_destroy(context);
    return status;
}

TEST(context, every_allocation_can_fail) {
    int failed = test_every_allocation(attempt, NULL);
    CHECK(failed >= 3, "only %d allocations", failed);
}

TEST(context, ref_kernels_on_request) {
    eg_context_options options = {.isa = "ref", .threads = 1};
    eg_context *context = create(&options);
    CHECK(strcmp(eg_context_isa(context), "ref") == 0, "isa '%s'", eg_context_isa(context));
    for (size_t i = 0; i < eg_kernel_count(); i++) {
        eg_kernel_info info = {.size = sizeof info};
        eg_error error;
        CHECK_OK(eg_kernel_list(context, i, &info, &error), error);
        CHECK(info.selected == (strcmp(info.isa, "ref") == 0), "%s %s selected %d", info.operation,
              info.isa, info.selected);
    }
    eg_kernel_info info = {.size = sizeof info};
    eg_error error;
    CHECK_FAILS(eg_kernel_list(context, 100000, &info, &error), error, EG_ERR_ARGUMENT, "100000");
    eg_context_destroy(context);
}

TEST(context, memory_questions) {
    eg_context_options options = {.threads = 1, .memory_budget = 1 << 20};
    eg_context *context = create(&options);
    eg_error error = {0};
    eg_memory_mark mark;
    CHECK_OK(eg_memory_mark_take(context, &mark, &error), error);
    eg_tensor tensor;
    uint64_t shape[] = {100, 1000};
    CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &tensor, &error), error);
    CHECK((uintptr_t)tensor.data % 64 == 0, "alignment");
    eg_memory_figures figures;
    CHECK_OK(eg_memory_query(context, EG_TAG_TENSOR, &figures, &error), error);
    CHECK(figures.current == 400000 && figures.allocations == 1, "current %llu",
          (unsigned long long)figures.current);
    eg_memory_growth growth;
    CHECK_OK(eg_memory_growth_check(context, &mark, 1000, &growth, &error), error);
    CHECK(growth.leaked && growth.by_tag[EG_TAG_TENSOR] == 400000, "growth %lld",
          (long long)growth.total);
    eg_tensor big;
    shape[0] = 1000;
    CHECK_FAILS(eg_tensor_create(context, EG_F32, 2, shape, &big, &error), error, EG_ERR_BUDGET,
                "4000000");
    CHECK(!big.data, "a failed tensor has memory");
    eg_tensor_release(context, &tensor);
    CHECK(!tensor.data, "released");
    CHECK_OK(eg_memory_growth_check(context, &mark, 1000, &growth, &error), error);
    CHECK(!growth.leaked, "growth %lld", (long long)growth.total);
    CHECK(eg_memory_empty_cache(context) >= 400000, "nothing was cached");
    eg_memory_reset_peak(context);
    CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &figures, &error), error);
    CHECK(figures.peak == figures.current, "peak %llu", (unsigned long long)figures.peak);
    CHECK_FAILS(eg_memory_query(context, (eg_tag)99, &figures, &error), error, EG_ERR_ARGUMENT,
                "99");
    eg_context_destroy(context);
}

TEST(context, wrong_tensors) {
    eg_context_options options = {.threads = 1};
    eg_context *context = create(&options);
    eg_error error = {0};
    eg_tensor tensor;
    uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40}, seven[7] = {1, 1, 1, 1, 1, 1, 1};
    CHECK_FAILS(eg_tensor_create(context, EG_F32, 2, huge, &tensor, &error), error, EG_ERR_OVERFLOW,
                "");
    CHECK_FAILS(eg_tensor_create(context, EG_F32, 7, seven, &tensor, &error), error,
                EG_ERR_ARGUMENT, "7");
    CHECK_FAILS(eg_tensor_create(context, (eg_type)77, 1, seven, &tensor, &error), error,
                EG_ERR_ARGUMENT, "77");
    eg_tensor other;
    uint64_t shape[] = {2, 3}, flipped[] = {3, 2};
    CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &tensor, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F16, 2, flipped, &other, &error), error);
    CHECK_FAILS(eg_tensor_convert(context, &tensor, &other, &error), error, EG_ERR_ARGUMENT,
                "shapes");
    other.shape[0] = 2, other.shape[1] = 3, other.type = EG_I8;
    CHECK_FAILS(eg_tensor_convert(context, &tensor, &other, &error), error, EG_ERR_UNSUPPORTED,
                "'i8'");
    eg_tensor_release(context, &tensor);
    eg_tensor_release(context, &other);
    eg_context_destroy(context);
}

TEST(context, conversions_and_files) {
    eg_context_options options = {.threads = 1};
    eg_context *context = create(&options);
    eg_error error = {0};
    uint64_t shape[] = {7, 11};
    eg_tensor from, half, back;
    CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &from, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F16, 2, shape, &half, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &back, &error), error);
    for (int i = 0; i < 77; i++) ((float *)from.data)[i] = (float)(i - 38) / 4;
    for (int type = EG_F16; type <= EG_BF16; type++) {
        half.type = (eg_type)type;
        CHECK_OK(eg_tensor_convert(context, &from, &half, &error), error);
        CHECK_OK(eg_tensor_convert(context, &half, &back, &error), error);
        CHECK(memcmp(from.data, back.data, 77 * sizeof(float)) == 0, "%s lost quarters",
              eg_type_name(half.type));
    }
    char path[300];
    snprintf(path, sizeof path, "%s/x.npy", test_folder());
    eg_tensor read;
    CHECK_OK(eg_npy_write(path, &from, &error), error);
    CHECK_OK(eg_npy_read(context, path, &read, &error), error);
    CHECK(memcmp(from.data, read.data, 77 * sizeof(float)) == 0, "the file changed values");
    eg_tensor_release(context, &read);
    snprintf(path, sizeof path, "%s/x.npz", test_folder());
    const char *names[] = {"weights"};
    eg_npz *archive;
    CHECK_OK(eg_npz_write(context, path, 1, names, &from, &error), error);
    CHECK_OK(eg_npz_open(context, path, &archive, &error), error);
    CHECK(eg_npz_count(archive) == 1 && strcmp(eg_npz_name(archive, 0), "weights") == 0, "names");
    CHECK_OK(eg_npz_read(archive, "weights", &read, &error), error);
    CHECK(memcmp(from.data, read.data, 77 * sizeof(float)) == 0, "the archive changed values");
    eg_tensor_release(context, &half);
    CHECK_FAILS(eg_npz_read(archive, "bias", &half, &error), error, EG_ERR_NOT_FOUND, "bias");
    eg_npz_close(archive);
    eg_tensor_release(context, &read);
    eg_tensor_release(context, &from);
    eg_tensor_release(context, &back);
    eg_context_destroy(context);
}

/* A child has no threads of its parent's context: destroying it there waits for nobody. */
TEST(context, destroyed_after_a_fork) {
    if (test_emulated() || test_watches_threads()) {
        test_skip("neither qemu nor a thread sanitizer can fork a process that has threads");
        return;
    }
    const eg_context_options options = {.size = sizeof options, .threads = 4};
    eg_context *context = create(&options);
    usleep(
        200000); /* threads have started: none holds the lock of a sanitizer's allocator any more */
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); /* instead of for ever */
        eg_context_destroy(context);
        eg_context *own = NULL;
        if (eg_context_create(&options, &own, NULL)) _exit(2);
        const unsigned threads = eg_context_threads(own);
        eg_context_destroy(own);
        _exit(threads == 4 ? 0 : 3);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0,
          "the child ended with %d", status);
    eg_context_destroy(context);
}
