/* Measures block sizes of products around those of the model, and a CBLAS beside our own rows. */
#include "base/abi.h"
#include "engine/tuning.h"
#include "formats/files/file.h"
#include "kernels/gemm/cblas.h"
#include "profile/measure/tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Large enough for blocks to matter; the last one is tall. 25 ms in all at 100 GFLOP/s. */
static const struct shape {
    size_t m, n, k;
} shapes[] = {{512, 512, 512}, {128, 1024, 2048}, {768, 768, 768}, {4096, 128, 256}};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST = 1024, FINALISTS = 3 };
static const double WORTH = 1.02; /* a gain that is more than noise */

typedef struct tuner {
    eg_context *context;
    const eg_tune_options *options;
    float *a, *b, *c, *scratch;
    size_t scratch_size; /* of a thread */
    unsigned threads;
    uint64_t begin;
    double seconds;
} tuner;

static double elapsed(const tuner *t) { return (double)(eg_clock_ns() - t->begin) * 1e-9; }

static void tell(const tuner *t, const char *what) {
    const double done = elapsed(t) / t->seconds;
    if (t->options->progress) t->options->progress(t->options->user, what, done < 1 ? done : 1);
}

static eg__gemm_f32_args product(const tuner *t, struct shape s, const eg__gemm_blocks *blocks) {
    return (eg__gemm_f32_args){.m = s.m,
                               .n = s.n,
                               .k = s.k,
                               .a = t->a,
                               .a_stride = s.k,
                               .b = t->b,
                               .c = t->c,
                               .c_stride = s.n,
                               .scratch = t->scratch,
                               .blocks = blocks};
}

typedef struct shared_product {
    const tuner *tuner;
    eg__gemm_f32_args args;
} shared_product;
static void part_run(void *user, size_t part, unsigned thread) {
    const shared_product *p = user;
    const tuner *t = p->tuner;
    eg__gemm_f32_args args = p->args;
    const size_t first = args.m * part / t->threads, end = args.m * (part + 1) / t->threads;
    args.m = end - first;
    args.a += first * args.a_stride;
    args.c += first * args.c_stride;
    args.scratch += thread * t->scratch_size;
    t->context->kernels.gemm_f32(&args);
}

/* Seconds of one product by our own row, each thread with its share of the rows, as programs run it. */
static double time_ours(const tuner *t, struct shape s, const eg__gemm_blocks *blocks) {
    shared_product p = {t, product(t, s, blocks)};
    const uint64_t begin = eg_clock_ns();
    eg__threads_run(t->context->threads, t->threads, part_run, &p);
    return (double)(eg_clock_ns() - begin) * 1e-9;
}

/* Seconds of one product by the library, on one thread, as programs call it. */
static double time_cblas(const tuner *t, struct shape s, const eg__cblas *blas) {
    eg__gemm_f32_args args = product(t, s, NULL);
    args.cblas = blas;
    const uint64_t begin = eg_clock_ns();
    eg__gemm_f32_cblas(&args);
    return (double)(eg_clock_ns() - begin) * 1e-9;
}

/* ---- blocks */
double eg__tune_gain(size_t count, const double *model, const double *other) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += log(model[i] / other[i]);
    return exp(sum / (double)count);
}

size_t eg__tune_candidates(eg__gemm_blocks model, eg__gemm_blocks out[EG__TUNE_CANDIDATES]) {
    enum { UNIT = 24 };
    size_t count = 0;
    out[count++] = model;
    for (int r = -1; r <= 1; r++)
        for (int d = -1; d <= 1; d++) {
            eg__gemm_blocks b = model;
            if (!r && !d) continue;
            b.rows = r < 0 ? model.rows / 2 : r > 0 ? model.rows * 2 : model.rows;
            b.rows = eg__max(b.rows / UNIT * UNIT, UNIT);
            b.depth = d < 0 ? model.depth / 2 : d > 0 ? model.depth * 2 : model.depth;
            if (b.rows > EG__TUNE_ROWS || b.depth > EG__TUNE_DEPTH || b.depth < 64) continue;
            out[count++] = b;
        }
    return count;
}

/* Best times of all candidates, in turns, so that a disturbance hits all of them alike. */
static void race(const tuner *t, size_t count, const eg__gemm_blocks *candidates, double until,
                 double best[][SHAPES]) {
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < SHAPES; s++) best[i][s] = INFINITY;
    for (int round = 0; round < 2 || elapsed(t) < until; round++) {
        for (size_t s = 0; s < SHAPES; s++)
            for (size_t i = 0; i < count; i++)
                best[i][s] = fmin(best[i][s], time_ours(t, shapes[s], &candidates[i]));
        tell(t, "blocks of products");
    }
}

/* The best of the first race must win a second one: of many candidates, one is always lucky. */
static void tune_blocks(const tuner *t, eg_tuning *out) {
    eg__gemm_blocks candidates[EG__TUNE_CANDIDATES];
    double best[EG__TUNE_CANDIDATES][SHAPES];
    const size_t count = eg__tune_candidates(t->context->modelled_blocks, candidates);
    size_t winner = 0;
    double gain = 1;
    race(t, count, candidates, 0.4 * t->seconds, best);
    for (size_t i = 1; i < count; i++) {
        const double better = eg__tune_gain(SHAPES, best[0], best[i]);
        if (better > gain) gain = better, winner = i;
    }
    out->blocks_gain = 1;
    if (gain < WORTH) return;
    /* the model runs twice: where it differs from itself, the machine is not idle enough to tell */
    const eg__gemm_blocks last[FINALISTS] = {candidates[0], candidates[winner], candidates[0]};
    race(t, FINALISTS, last, 0.65 * t->seconds, best);
    gain = fmin(eg__tune_gain(SHAPES, best[0], best[1]), eg__tune_gain(SHAPES, best[2], best[1]));
    if (gain < WORTH + fabs(eg__tune_gain(SHAPES, best[0], best[2]) - 1)) return;
    out->rows = (unsigned)last[1].rows;
    out->depth = (unsigned)last[1].depth;
    out->blocks_gain = gain;
}

/* ---- a CBLAS */
unsigned eg__tune_least(size_t count, const unsigned *sizes, const double *gains) {
    unsigned least = 0;
    for (size_t i = count; i-- && gains[i] >= WORTH;) least = sizes[i];
    return least;
}

static void tune_cblas(const tuner *t, const eg__cblas *blas, eg_tuning *out) {
    static const unsigned sizes[] = {64, 128, 256, 512, MOST};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    double ours[SIZES], theirs[SIZES], gains[SIZES];
    eg__gemm_blocks blocks = t->context->modelled_blocks;
    if (out->rows) blocks.rows = out->rows, blocks.depth = out->depth;
    for (size_t i = 0; i < SIZES; i++) ours[i] = theirs[i] = INFINITY;
    for (int round = 0; round < 3 || elapsed(t) < t->seconds; round++) {
        for (size_t i = 0; i < SIZES; i++) {
            const struct shape s = {sizes[i], sizes[i], sizes[i]};
            for (unsigned call = 0; call < MOST / sizes[i]; call++) { /* small ones more often */
                ours[i] = fmin(ours[i], time_ours(t, s, &blocks));
                theirs[i] = fmin(theirs[i], time_cblas(t, s, blas));
            }
        }
        tell(t, "CBLAS");
    }
    for (size_t i = 0; i < SIZES; i++) gains[i] = ours[i] / theirs[i];
    out->cblas_gain = gains[SIZES - 1];
    out->cblas_least = eg__tune_least(SIZES, sizes, gains);
    if (!out->cblas_least) return;
    for (size_t i = 0; i < SIZES; i++)
        if (sizes[i] == out->cblas_least) out->cblas_gain = gains[i];
    memcpy(out->cblas, blas->path, sizeof out->cblas);
}

/* ---- all of it */
static eg_status store(eg_context *context, const char *path, const eg_tuning *tuning,
                       eg_error *error) {
    char text[EG__TUNING_TEXT];
    const size_t length = eg__tuning_write(tuning, text);
    return eg__file_write(context->memory, path, text, length, error);
}

static eg_status take_buffers(tuner *t, eg_error *error) {
    enum { SIDE = MOST * MOST };
    eg__gemm_blocks candidates[EG__TUNE_CANDIDATES];
    const size_t count = eg__tune_candidates(t->context->modelled_blocks, candidates);
    t->threads = eg__threads_count(t->context->threads);
    for (size_t i = 0; i < count; i++)
        t->scratch_size =
            eg__max(t->scratch_size, eg__gemm_scratch(MOST, MOST, MOST, &candidates[i]));
    t->scratch_size = eg__round_up(t->scratch_size, EG__PANEL);
    const size_t scratch =
        eg__max(t->scratch_size * t->threads, (size_t)MOST * eg__cblas_columns(MOST));
    eg_error reason = {EG_ERR_MEMORY, ""};
    t->a = eg__memory_take_array(t->context->memory, EG_TAG_MEASURE, (size_t)4 * SIDE + scratch,
                                 sizeof *t->a, &reason);
    if (!t->a) return eg__fail(error, reason.status, "%s", reason.message);
    t->b = t->a + SIDE;
    t->c = t->b + 2 * SIDE;
    t->scratch = t->c + SIDE;
    for (size_t i = 0; i < (size_t)3 * SIDE; i++) t->a[i] = (float)(i % 17) / 16 - 0.5f;
    return EG_OK;
}

static eg_status options_read(const eg_tune_options *given, eg_tune_options *out, eg_error *error) {
    const eg_status status = EG__OPTIONS(eg_tune_options, out, given, error);
    if (!status && !(out->seconds >= 0 && out->seconds <= 3600))
        return eg__fail(error, EG_ERR_ARGUMENT, "%g seconds of measuring are out of range",
                        out->seconds);
    return status;
}

eg_status eg_tune(eg_context *context, const eg_tune_options *options, eg_tuning *out,
                  eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer for the tuning");
    eg_tune_options wanted;
    eg__cblas blas = {0};
    char path[EG__TUNING_PATH];
    eg_error reason;
    eg_status status = options_read(options, &wanted, error);
    if (!status && wanted.cblas && wanted.cblas[0])
        status = eg__cblas_open(wanted.cblas, &blas, error);
    else if (!status && !wanted.cblas && eg__cblas_open(NULL, &blas, &reason))
        eg__log_write(&context->log, EG_LOG_INFO, "%s", reason.message);
    if (!status && !eg__tuning_path(context, wanted.cache_folder, true, path))
        status = eg__fail(error, EG_ERR_NOT_FOUND, "no folder to keep the tuning in: '%s'",
                          wanted.cache_folder ? wanted.cache_folder : "no home");
    if (status) return status;
    tuner t = {.context = context,
               .options = &wanted,
               .begin = eg_clock_ns(),
               .seconds = wanted.seconds > 0 ? wanted.seconds : 4};
    status = take_buffers(&t, error);
    if (status) return status;
    eg_tuning tuning = {.size = sizeof tuning};
    snprintf(tuning.fingerprint, sizeof tuning.fingerprint, "%s", context->chip.fingerprint);
    snprintf(tuning.isa, sizeof tuning.isa, "%s", context->kernels.isa);
    tuning.threads = eg__threads_count(context->threads);
    tuning.measured_at = (int64_t)time(NULL);
    tuning.model_rows = (unsigned)context->modelled_blocks.rows;
    tuning.model_depth = (unsigned)context->modelled_blocks.depth;
    tune_blocks(&t, &tuning);
    if (blas.sgemm) tune_cblas(&t, &blas, &tuning);
    tuning.seconds = elapsed(&t);
    eg__memory_give(context->memory, t.a);
    eg__memory_cache_empty(context->memory);
    status = store(context, path, &tuning, error);
    if (!status) EG__INFO(eg_tuning, out, &tuning);
    return status;
}
