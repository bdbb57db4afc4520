/* Ceilings and benchmarks: plausible, complete, kept, and whole after damage. How fast they are is
 * the benchmark's business. */
#include "test.h"
#include "elegans/elegans.h"
#include "profile/measure/burst.h"
#include "profile/measure/ceilings.h"
#include "engine/gemm_parallel.h"

#include <sys/stat.h>

AREA(measure, "ceilings complete, kept per machine, refused when damaged; bench functions")

static eg_context *create(unsigned threads) {
    eg_context_options options = {.threads = threads};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

/* Every metric is measured and positive, or unavailable with a reason. */
static void check_metrics(const eg_ceilings *c) {
#define ONE(name, unit_text, text)                                                 \
    CHECK(c->name.provenance == EG_UNAVAILABLE                                     \
              ? c->name.source && c->name.source[0]                                \
              : c->name.provenance == EG_MEASURED && c->name.value > 0,            \
          #name ": %g %s", c->name.value, eg_provenance_name(c->name.provenance)); \
    CHECK(c->name.unit &&strcmp(c->name.unit, unit_text) == 0, #name " has no unit");
    EG_CEILING_MAP(ONE)
#undef ONE
}

TEST(measure, ceilings_are_complete_and_kept) {
    eg_context *context = create(2);
    eg_error error;
    eg_ceilings first, second;
    eg_ceilings_options options = {.size = sizeof options,
                                   .cache_folder = test_folder(),
                                   .seconds = test_quick() ? 0.01 : 0.05,
                                   .cached = 1};
    eg_ceilings_options stored = options;
    stored.stored = 1;
    CHECK_FAILS(eg_ceilings_measure(context, &stored, &first, &error), error, EG_ERR_NOT_FOUND,
                "no ceilings of this machine are stored");
    CHECK_OK(eg_ceilings_measure(context, &options, &first, &error), error);
    check_metrics(&first);
    CHECK(first.fma_one.provenance == EG_MEASURED, "no FMA peak: %s", first.fma_one.source);
    CHECK(!first.from_cache, "from a cache that was empty");
    CHECK_OK(eg_ceilings_measure(context, &options, &second, &error), error);
    CHECK(second.from_cache, "not kept");
    CHECK(second.fma_one.value == first.fma_one.value, "kept as %g, was %g", second.fma_one.value,
          first.fma_one.value);
    CHECK(second.measured_at == first.measured_at, "time");
    check_metrics(&second);
    CHECK_OK(eg_ceilings_measure(context, &stored, &second, &error), error);
    CHECK(second.from_cache, "stored, but measured");
    options.cached = 0;
    CHECK_OK(eg_ceilings_measure(context, &options, &second, &error), error);
    CHECK(!second.from_cache, "asked for a new one");
    options.seconds = -1;
    CHECK_FAILS(eg_ceilings_measure(context, &options, &second, &error), error, EG_ERR_ARGUMENT,
                "-1");
    eg_context_destroy(context);
}

static void count_warning(void *user, eg_log_level level, const char *message) {
    (void)message;
    *(int *)user += level == EG_LOG_WARNING;
}

TEST(measure, an_unwritable_folder_is_only_a_warning) {
    int warnings = 0;
    eg_context_options options = {
        .threads = 1, .log = count_warning, .log_user = &warnings, .log_level = EG_LOG_WARNING};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    warnings = 0;
    eg_ceilings ceilings;
    eg_ceilings_options how = {.cache_folder = "/dev/null/nowhere", .seconds = 0.02};
    CHECK_OK(eg_ceilings_measure(context, &how, &ceilings, &error), error);
    CHECK(warnings == 1, "%d warnings", warnings);
    CHECK(ceilings.launch.provenance == EG_UNAVAILABLE, "a launch with one thread");
    eg_context_destroy(context);
}

/* What was kept and damaged is measured again, with a word about it, and kept anew. */
TEST(measure, damaged_ceilings_are_measured_again) {
    int warnings = 0;
    eg_context_options options = {
        .threads = 1, .log = count_warning, .log_user = &warnings, .log_level = EG_LOG_WARNING};
    eg_context *context;
    eg_error error;
    eg_ceilings ceilings;
    char folder[300], path[400];
    snprintf(folder, sizeof folder, "%s/damaged", test_folder());
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    eg_ceilings_options how = {.cache_folder = folder, .seconds = 0.02, .cached = 1};
    CHECK_OK(eg_ceilings_measure(context, &how, &ceilings, &error), error);
    snprintf(path, sizeof path, "%s/ceilings-%s-%s-1", folder, ceilings.fingerprint,
             eg_context_isa(context));
    warnings = 0;
    FILE *file = fopen(path, "w");
    CHECK(file != NULL, "no '%s'", path);
    if (file) {
        fprintf(file, "elegans ceilings 2\nfingerprint %s\nthreads 1\ndram_one 1e300\n",
                ceilings.fingerprint);
        fclose(file);
    }
    CHECK_OK(eg_ceilings_measure(context, &how, &ceilings, &error), error);
    CHECK(!ceilings.from_cache && ceilings.dram_one.value < 1e6 && warnings == 1,
          "from the cache %d, dram_one %g, %d warnings", ceilings.from_cache,
          ceilings.dram_one.value, warnings);
    CHECK_OK(eg_ceilings_measure(context, &how, &ceilings, &error), error);
    CHECK(ceilings.from_cache && warnings == 1, "it was not kept anew");
    eg_context_destroy(context);
}

TEST(measure, stored_text_round_trips_and_damage_is_refused) {
    eg_ceilings c = {.fma_one = {118.25, EG_MEASURED, "GFLOP/s", ""},
                     .seconds = 1.5,
                     .measured_at = 1700000000,
                     .fingerprint = "0123456789abcdef"};
    char text[EG__CEILINGS_TEXT];
    size_t length = eg__ceilings_write(&c, 4, text);
    eg_ceilings back;
    unsigned threads;
    eg_error error;
    CHECK_OK(eg__ceilings_read(text, length, &back, &threads, &error), error);
    CHECK(back.fma_one.value == 118.25 && threads == 4 && back.measured_at == c.measured_at,
          "values");
    CHECK(back.l1_one.provenance == EG_UNAVAILABLE, "what was not written is unavailable");
    const size_t least = (size_t)(strchr(strstr(text, "\nthreads ") + 1, '\n') - text);
    CHECK(strstr(text, "\nfingerprint ") < text + least, "the machine stands first");
    for (size_t cut = 0; cut < length; cut++) {
        /* whole lines are a shorter file, when they say whose they are; the rest is not */
        eg_status status = eg__ceilings_read(text, cut, &back, &threads, &error);
        bool whole = cut > least && text[cut - 1] == '\n';
        CHECK((status == EG_OK) == whole, "cut at %zu: %s", cut, eg_status_name(status));
    }
    static const char *const bad[] = {
        "elegans ceilings 2\nfma_one many\n",
        "elegans ceilings 2\nthreads 0\n",
        "elegans ceilings 2\nnovalue\n",
        "elegans ceilings 2\nfingerprint 012345678901234567890123\n",
        "elegans ceilings 2\nthreads 2\nfma_one 3\n",
        "elegans ceilings 2\nfingerprint 01\nfma_one 3\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nfma_one inf\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nfma_one -5\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nfma_one 0\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\ndram_one 1e300\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nclock 3000\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nlast_cache 1e-9\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nlaunch 1e12\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nfma_per_cycle 1e9\n",
        "elegans ceilings 2\nfingerprint 01\nthreads 2\nseconds -1\n",
        "elegans ceilings 1\nfingerprint 01\nthreads 2\nfma_one 3\n", /* without the last cache */
        "elegans ceilings 3\n",
        ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(eg__ceilings_read(bad[i], strlen(bad[i]), &back, &threads, &error) != EG_OK,
              "accepted '%s'", bad[i]);
}

TEST(measure, buffer_beyond_all_caches) {
    enum { MIB = 1 << 20 };
    static const struct {
        eg_chip chip;
        size_t mib;
    } cases[] = {
        {{.kinds = {{.cores = 4}}}, 128}, /* no cache is told: the least */
        {{.kinds = {{.cores = 2, .l2_bytes = MIB}}, .l3_bytes = 32 * MIB}, 8 * 34},
        {{.kinds = {{.cores = 4, .l2_bytes = 12 * MIB, .l2_cores = 4}}, .slc_bytes = 8 * MIB}, 160},
        {{.kinds = {{.cores = 8, .l2_bytes = 12 * MIB, .l2_cores = 4}}, .slc_bytes = 8 * MIB}, 256},
        {{.kinds = {{.cores = 8}}, .l3_bytes = 16 * MIB, .l3_count = 3}, 8 * 48},
        {{.kinds = {{.cores = 2}}, .l3_bytes = 260 * MIB}, 1024}, /* the most */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t bytes = eg__ceilings_buffer(&cases[i].chip);
        CHECK(bytes == cases[i].mib * MIB, "case %zu: %zu bytes, expected %zu MiB", i, bytes,
              cases[i].mib);
    }
}

TEST(measure, bench_copy_and_gemm) {
    eg_context *context = create(2);
    eg_error error;
    eg_bench_result result;
    CHECK_OK(eg_bench_copy(context, 3 << 20, 3, &result, &error), error);
    CHECK(result.best.value > 0 && result.bytes == 2.0 * (3 << 20) && result.repetitions == 3,
          "%g GB/s", result.best.value);
    CHECK_OK(eg_bench_gemm(context, EG_F32, 200, 100, 50, 3, &result, &error), error);
    CHECK(result.best.value > 0 && result.flops == 2.0 * 200 * 100 * 50, "%g", result.flops);
    CHECK(result.best.value >= result.median.value, "best below median");
    CHECK_FAILS(eg_bench_gemm(context, EG_F16, 8, 8, 8, 1, &result, &error), error,
                EG_ERR_UNSUPPORTED, "'f16'");
    CHECK_FAILS(eg_bench_gemm(context, EG_F32, 0, 8, 8, 1, &result, &error), error, EG_ERR_ARGUMENT,
                "0 x 8 x 8");
    CHECK_FAILS(eg_bench_gemm(context, EG_F32, UINT64_MAX, 8, 8, 1, &result, &error), error,
                EG_ERR_OVERFLOW, "18446744073709551615");
    CHECK_FAILS(eg_bench_gemm(context, EG_F32, 8, UINT64_MAX, 8, 1, &result, &error), error,
                EG_ERR_OVERFLOW, "18446744073709551615");
    CHECK_FAILS(eg_bench_copy(context, UINT64_MAX / 4, 1, &result, &error), error, EG_ERR_BUDGET,
                "budget");
    eg_context_destroy(context);
}

static int count_kernel(void *user, const eg_bench_kernel *k) {
    ++*(int *)user;
    CHECK(k->speed.provenance == EG_UNAVAILABLE || (k->speed.value > 0 && k->nanoseconds > 0),
          "%s %s: %g", k->operation, k->isa, k->speed.value);
    CHECK(k->shape && (k->flops > 0 || k->bytes > 0), "%s has no work", k->operation);
    return *(int *)user == 3;
}

TEST(measure, bench_kernels_walks_the_table_and_stops) {
    eg_context *context = create(1);
    eg_error error;
    int seen = 0;
    CHECK_OK(eg_bench_kernels(context, "bf16", count_kernel, &seen, &error), error);
    CHECK(seen == 3, "%d kernels", seen);
    CHECK_FAILS(eg_bench_kernels(context, "fft", count_kernel, &seen, &error), error,
                EG_ERR_NOT_FOUND, "'fft'");
    eg_context_destroy(context);
}

/* ---- the parallel product: the same bits for any number of threads */
static void count_elements(const void *user, float *c, size_t stride, size_t row, size_t rows,
                           size_t column, size_t columns) {
    (void)c, (void)stride;
    int *seen = *(int *const *)user;
    for (size_t r = row; r < row + rows; r++)
        for (size_t x = column; x < column + columns; x++) seen[r * 90 + x]++;
}

TEST(measure, parallel_gemm_is_bit_identical) {
    static const size_t heights[] = {1, 2, 64, 127, 128, 129, 300};
    enum { N = 90, K = 70, M = 300 };
    float *a = test_alloc(M * K * sizeof *a), *c[2], *b = NULL;
    int *seen = test_alloc(M * N * sizeof *seen);
    if (posix_memalign((void **)&b, 64, eg__gemm_packed_size(K, N) * sizeof *b)) exit(1);
    uint64_t state = 5;
    for (int i = 0; i < M * K; i++) a[i] = test_random(&state);
    for (size_t i = 0; i < eg__gemm_packed_size(K, N); i++) b[i] = test_random(&state);
    for (int i = 0; i < 2; i++) c[i] = test_alloc(M * N * sizeof **c);
    for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
        const size_t m = heights[h];
        for (unsigned threads = 1; threads <= 4; threads++) {
            eg_context *context = create(threads);
            float *to = c[threads > 1];
            memset(to, 0xff, M * N * sizeof *to);
            memset(seen, 0, M * N * sizeof *seen);
            eg__epilogue epilogue = {count_elements, &seen};
            eg__gemm_f32_args args = {m,    N,    K, a,     K,
                                      b,    to,   N, false, threads == 1 ? &epilogue : NULL,
                                      NULL, NULL, 0, NULL,  NULL};
            eg__gemm_parallel(context->threads, context->kernels.gemm_f32, &args);
            CHECK(memcmp(c[0], to, m * N * sizeof *to) == 0, "%zu rows, %u threads differ", m,
                  threads);
            for (size_t i = 0; threads == 1 && i < m * N; i++)
                CHECK(seen[i] == 1, "%zu rows: element %zu got %d epilogues", m, i, seen[i]);
            eg_context_destroy(context);
        }
    }
    free(a), free(b), free(c[0]), free(c[1]), free(seen);
}

static void nothing(void *job) { ++*(int *)job; }

TEST(measure, bursts) {
    int calls = 0;
    eg__burst_times times = eg__burst_repeat(nothing, &calls, 10000);
    CHECK(times.calls == 10000 && calls == 10001, "%d calls", calls);
    CHECK(times.best >= 0 && times.best <= times.median, "best %g, median %g", times.best,
          times.median);
    times = eg__burst_repeat_after(nothing, nothing, &calls, 10);
    CHECK(times.calls == 10 && calls == 10021, "%d calls", calls);
}
