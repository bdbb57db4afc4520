/* Products with a quantized right side, timed. */
#include "engine/context.h"
#include "elegans/measure.h"
#include "profile/measure/burst.h"

#include <string.h>

typedef struct small_job {
    eg__gemm_quantized_function *kernel;
    eg__gemm_quantized_args args;
} small_job;

static void run(void *job) {
    const small_job *j = job;
    j->kernel(&j->args);
}

/* What every product needs: rows of A, packed B, C, scratch memory. */
typedef struct parts {
    size_t groups;
    uint32_t *ends;
    float *a, *c;
    void *packed, *scratch;
    eg__quantized_layout layout;
} parts;

static bool take(eg__memory *memory, size_t m, size_t n, size_t k,
                 const eg_quantization *quantization, parts *p, eg_error *reason) {
    const size_t block = quantization->block ? quantization->block : EG_BLOCK_DEFAULT;
    const bool half = eg__quantized_unit(quantization->type) == 1;
    p->groups = !half && quantization->per == EG_PER_BLOCK ? eg__ceil_div(k, block) : 1;
    p->ends = eg__memory_take_array(memory, EG_TAG_MEASURE, p->groups, sizeof *p->ends, reason);
    if (!p->ends) return false;
    for (size_t g = 0; g < p->groups; g++)
        p->ends[g] = (uint32_t)(g + 1 < p->groups ? (g + 1) * block : k);
    if (!eg__quantized_measure(quantization->type, k, n, p->groups, p->ends,
                               !half && !quantization->symmetric, quantization->integers != 0,
                               &p->layout)) {
        reason->status = EG_ERR_OVERFLOW;
        return false;
    }
    p->a = eg__memory_take_array(memory, EG_TAG_MEASURE, m, k * sizeof *p->a, reason);
    p->c = eg__memory_take_array(memory, EG_TAG_MEASURE, m, n * sizeof *p->c, reason);
    p->packed = eg__memory_take(memory, EG_TAG_MEASURE, p->layout.bytes, reason);
    p->scratch = eg__memory_take_zeroed(
        memory, EG_TAG_MEASURE, eg__quantized_scratch(m, k, p->groups, quantization->type), reason);
    return p->a && p->c && p->packed && p->scratch;
}

static void give(eg__memory *memory, const parts *p) {
    void *const all[] = {p->ends, p->a, p->c, p->packed, p->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) eg__memory_give(memory, all[i]);
    eg__memory_cache_empty(memory);
}

/* Arbitrary values, every scale 1/64. */
static void fill(const parts *p, size_t m, size_t k, const eg__packed_quantized *b) {
    uint8_t *bytes = (uint8_t *)b->data;
    const size_t size = eg__gemm_panels(b->n) * b->panel_bytes;
    const size_t cells = eg__gemm_panels(b->n) * b->groups * EG__PANEL;
    eg__quantized_begin(b, p->ends);
    if (!b->scale)
        for (size_t i = 0; i < size / 2; i++) ((uint16_t *)bytes)[i] = (uint16_t)(0x3800 + i % 97);
    else
        for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; b->scale && i < cells; i++) {
        ((float *)b->scale)[i] = 1 / 64.0f;
        if (b->zero) ((int8_t *)b->zero)[i] = -1;
    }
    for (size_t i = 0; i < m * k; i++) p->a[i] = (float)(i % 17) / 16 - 0.5f;
}

eg_status eg_bench_quantized(eg_context *context, const eg_quantization *quantization, uint64_t m,
                             uint64_t n, uint64_t k, uint64_t iterations, eg_bench_result *out,
                             eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    eg_status status = eg_quantization_check(quantization, error);
    if (status) return status;
    if (!m || !n || !k || m > UINT32_MAX || n > UINT32_MAX || k > UINT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a product of %llu x %llu x %llu is empty or too large",
                        (unsigned long long)m, (unsigned long long)n, (unsigned long long)k);
    eg_error reason = {EG_ERR_MEMORY, "no memory for a product"};
    parts p = {0};
    if (take(context->memory, (size_t)m, (size_t)n, (size_t)k, quantization, &p, &reason)) {
        small_job job = {
            context->kernels
                .row[eg__quantized_operation(quantization->type, quantization->integers != 0)]
                ->function.gemm_f16,
            {.m = (size_t)m,
             .a = p.a,
             .a_stride = (size_t)k,
             .b = eg__quantized_at(quantization->type, (size_t)k, (size_t)n, p.groups, p.packed,
                                   &p.layout),
             .c = p.c,
             .c_stride = (size_t)n,
             .scratch = p.scratch}};
        fill(&p, (size_t)m, (size_t)k, &job.args.b);
        const eg__burst_times times = iterations ? eg__burst_repeat(run, &job, iterations)
                                                 : eg__burst_measure(run, &job, 1.0);
        const double flops = 2.0 * (double)m * (double)n * (double)k;
        *out = (eg_bench_result){
            .best =
                eg__metric(flops / times.best * 1e-9, "GFLOP/s", EG_MEASURED, "best repetition"),
            .median = eg__metric(flops / times.median * 1e-9, "GFLOP/s", EG_MEASURED,
                                 "median repetition"),
            .best_seconds = times.best,
            .repetitions = times.calls,
            .flops = flops,
            .bytes = (double)p.layout.bytes + 4.0 * (double)m * ((double)k + (double)n),
            .threads = 1};
    } else status = eg__fail(error, reason.status, "%s", reason.message);
    give(context->memory, &p);
    return status;
}
