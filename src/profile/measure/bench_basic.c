/* Memory bandwidth and compute throughput. */
#include "engine/gemm_parallel.h"
#include "profile/measure/burst.h"
#include "profile/measure/ceilings.h"

#include <string.h>

static void fill_result(eg_bench_result *out, eg__burst_times times, double work, const char *unit,
                        unsigned threads) {
    out->best = eg__metric(work / times.best * 1e-9, unit, EG_MEASURED, "best repetition");
    out->median = eg__metric(work / times.median * 1e-9, unit, EG_MEASURED, "median repetition");
    out->best_seconds = times.best;
    out->repetitions = times.calls;
    out->threads = threads;
}

/* ---- copy */
typedef struct copy_job {
    eg_context *context;
    const char *from;
    char *to;
    size_t bytes;
} copy_job;
enum { COPY_BLOCK = 1 << 20 };
static void copy_block(void *job, size_t block, unsigned thread) {
    (void)thread;
    const copy_job *j = job;
    size_t at = block * COPY_BLOCK;
    memcpy(j->to + at, j->from + at, eg__min(COPY_BLOCK, j->bytes - at));
}
static void copy_run(void *job) {
    copy_job *j = job;
    eg__threads_run(j->context->threads, eg__ceil_div(j->bytes, COPY_BLOCK), copy_block, job);
}

eg_status eg_bench_copy(eg_context *context, uint64_t bytes, uint64_t iterations,
                        eg_bench_result *out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    if (!bytes) bytes = UINT64_C(256) << 20;
    eg_error reason = {EG_ERR_MEMORY, ""};
    copy_job job = {context, NULL, NULL, (size_t)bytes};
    char *from = eg__memory_take_zeroed(context->memory, EG_TAG_MEASURE, job.bytes, &reason);
    char *to =
        from ? eg__memory_take_zeroed(context->memory, EG_TAG_MEASURE, job.bytes, &reason) : NULL;
    if (to) {
        job.from = from;
        job.to = to;
        eg__burst_times times = eg__burst_repeat(copy_run, &job, iterations ? iterations : 20);
        memset(out, 0, sizeof *out);
        out->bytes = 2.0 * (double)bytes;
        fill_result(out, times, out->bytes, "GB/s", eg__threads_count(context->threads));
    }
    eg__memory_give(context->memory, to);
    eg__memory_give(context->memory, from);
    eg__memory_cache_empty(context->memory);
    return to ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

/* ---- gemm */
typedef struct gemm_job {
    eg_context *context;
    eg__gemm_f32_args args;
} gemm_job;
static void gemm_run(void *job) {
    gemm_job *j = job;
    eg__gemm_parallel(j->context->threads, j->context->kernels.gemm_f32, &j->args);
}

/* a + b + c ... floats in one block; false when the sum does not fit. */
static bool add_floats(size_t *total, size_t rows, size_t columns) {
    size_t n;
    return eg__size_mul(rows, columns, &n) && eg__size_add(*total, eg__round_up(n, 16), total) &&
           *total < SIZE_MAX / sizeof(float) / 2;
}

eg_status eg_bench_gemm(eg_context *context, eg_type type, uint64_t m, uint64_t n, uint64_t k,
                        uint64_t iterations, eg_bench_result *out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    if (type != EG_F32)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "no gemm kernel for type '%s'",
                        eg_type_name(type));
    if (!m || !n || !k)
        return eg__fail(error, EG_ERR_ARGUMENT, "a product of %llu x %llu x %llu is empty",
                        (unsigned long long)m, (unsigned long long)n, (unsigned long long)k);
    const unsigned threads = eg__threads_count(context->threads);
    size_t total = 0, scratch_size = 0;
    size_t panels = n < SIZE_MAX - EG__PANEL ? eg__round_up((size_t)n, EG__PANEL) : SIZE_MAX;
    if (!add_floats(&total, (size_t)m, (size_t)k) || !add_floats(&total, (size_t)k, panels) ||
        !add_floats(&total, (size_t)m, (size_t)n))
        return eg__fail(error, EG_ERR_OVERFLOW, "a product of %llu x %llu x %llu does not fit",
                        (unsigned long long)m, (unsigned long long)n, (unsigned long long)k);
    scratch_size = eg__gemm_parallel_scratch((size_t)m, (size_t)n, (size_t)k,
                                             &context->kernels.blocks, threads);
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *block = eg__memory_take_array(context->memory, EG_TAG_MEASURE, total + scratch_size,
                                         sizeof *block, &reason);
    if (!block) return eg__fail(error, reason.status, "%s", reason.message);
    float *a = block, *b = a + eg__round_up((size_t)(m * k), 16);
    float *c = b + eg__gemm_packed_size((size_t)k, (size_t)n);
    for (size_t i = 0; i < (size_t)(m * k); i++) a[i] = (float)(i % 17) / 16 - 0.5f;
    for (size_t i = 0; i < eg__gemm_packed_size((size_t)k, (size_t)n); i++)
        b[i] = (float)(i % 13) / 12 - 0.5f;
    gemm_job job = {context,
                    {(size_t)m, (size_t)n, (size_t)k, a, (size_t)k, b, c, (size_t)n, false, NULL,
                     scratch_size ? c + eg__round_up((size_t)(m * n), 16) : NULL, NULL, 0,
                     &context->kernels.blocks, NULL}};
    eg__burst_times times = iterations ? eg__burst_repeat(gemm_run, &job, iterations)
                                       : eg__burst_measure(gemm_run, &job, 1.0);
    memset(out, 0, sizeof *out);
    out->flops = 2.0 * (double)m * (double)n * (double)k;
    out->bytes = 4.0 * ((double)m * (double)k + (double)k * (double)n + (double)m * (double)n);
    fill_result(out, times, out->flops, "GFLOP/s", m < 128 ? 1 : threads);
    eg__memory_give(context->memory, block);
    eg__memory_cache_empty(context->memory);
    return EG_OK;
}
