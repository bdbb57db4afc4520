/* One large product over all threads of a context. */
#include "engine/gemm_parallel.h"

/* Rows per band: high enough that packed B, which is read again for each band, mostly comes from
 * the cache; low enough that a thousand rows divide well among many cores. */
enum { BAND = 64 };

typedef struct job {
    const eg__gemm_f32_args *args;
    eg__gemm_f32_function *kernel;
    size_t bands, scratch;
} job;

/* Equal bands, so that none has a single row, which another kernel with another summation order
 * would compute. */
static size_t band_count(size_t m) { return eg__max(1, m / BAND); }

static size_t band_scratch(size_t m, size_t n, size_t k, const eg__gemm_blocks *blocks) {
    return eg__gemm_scratch(eg__ceil_div(m, band_count(m)), n, k, blocks);
}

/* The epilogue of a band counts rows from the band's start. */
typedef struct shifted {
    const eg__epilogue *inner;
    size_t row;
} shifted;
static void apply_shifted(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                          size_t column, size_t columns) {
    const shifted *s = user;
    s->inner->apply(s->inner->user, c, c_stride, s->row + row, rows, column, columns);
}

static void run_band(void *user, size_t band, unsigned thread) {
    const job *j = user;
    eg__gemm_f32_args part = *j->args;
    const size_t first = part.m * band / j->bands, end = part.m * (band + 1) / j->bands;
    part.m = end - first;
    part.a += first * part.a_stride;
    part.c += first * part.c_stride;
    if (part.add) part.add += first * part.add_stride;
    part.scratch = j->scratch ? part.scratch + thread * j->scratch : NULL;
    shifted shift = {j->args->epilogue, first};
    eg__epilogue epilogue = {apply_shifted, &shift};
    if (part.epilogue) part.epilogue = &epilogue;
    j->kernel(&part);
}

size_t eg__gemm_parallel_scratch(size_t m, size_t n, size_t k, const eg__gemm_blocks *blocks,
                                 unsigned threads) {
    return band_scratch(m, n, k, blocks) * threads;
}

void eg__gemm_parallel(eg__threads *threads, eg__gemm_f32_function *kernel,
                       const eg__gemm_f32_args *args) {
    job j = {args, kernel, band_count(args->m),
             band_scratch(args->m, args->n, args->k, args->blocks)};
    if (args->m && args->n) eg__threads_run(threads, j.bands, run_band, &j);
}
