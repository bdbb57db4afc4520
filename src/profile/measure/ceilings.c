/* The ceilings of this machine, measured in about a second and a half. */
#include "profile/measure/ceilings.h"
#include "profile/measure/burst.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* ---- the clock: additions that wait for each other take one cycle each. The register operand
 * matters: some cores do additions of constants for free. */
enum { CHAIN = 4096 };
static void chain(void *job) {
    uint64_t x = *(uint64_t *)job, step = x | 1;
    for (int i = 0; i < CHAIN / 8; i++) {
#define ADD    \
    x += step; \
    __asm__("" : "+r"(x), "+r"(step));
        ADD ADD ADD ADD ADD ADD ADD ADD
#undef ADD
    }
    *(uint64_t *)job = x;
}

static double measure_ghz(double seconds) {
    uint64_t x = 1;
    return CHAIN / eg__burst_measure(chain, &x, seconds).best * 1e-9;
}

/* ---- floating point: each thread its own numbers, a burst long enough to hide the launch */
enum { TURNS_ONE = 2000, TURNS_ALL = 40000 };
typedef struct burn_job {
    eg_context *context;
    size_t turns;
} burn_job;
static void burn_block(void *job, size_t block, unsigned thread) {
    (void)block, (void)thread;
    const burn_job *j = job;
    _Alignas(64) float numbers[EG__BURN_LANES];
    for (int i = 0; i < EG__BURN_LANES; i++) numbers[i] = (float)i / EG__BURN_LANES;
    j->context->kernels.burn_f32(j->turns, numbers);
    volatile float sink = numbers[0];
    (void)sink;
}
static void burn_one(void *job) { burn_block(job, 0, 0); }
static void burn_all(void *job) {
    eg__threads *threads = ((burn_job *)job)->context->threads;
    eg__threads_run(threads, eg__threads_count(threads), burn_block, job);
}

/* No core starts more than four FMAs of its vector width per cycle: anything above is a measurement
 * error, such as a clock that stopped. */
static eg_metric checked_peak(double gflops, double per_cycle, const char *isa) {
    const unsigned lanes = eg__isa_named(isa)->lanes;
    const double most = lanes > 1 ? lanes : 4; /* a compiler may find vectors in portable C */
    if (per_cycle > 4 * 2 * most * 1.05)
        return eg__metric_unavailable("GFLOP/s", "implausible: above four FMA pipes");
    return eg__metric(gflops, "GFLOP/s", EG_MEASURED, "best of many bursts of independent FMAs");
}

static const double turn_flops = 2.0 * EG__BURN_LANES;
static double measure_one(eg_context *context, double seconds) {
    burn_job one = {context, TURNS_ONE};
    return turn_flops * TURNS_ONE / eg__burst_measure(burn_one, &one, seconds).best * 1e-9;
}

eg_metric eg__fma_peak_measure(eg_context *context, double seconds) {
    double ghz = measure_ghz(seconds / 4), gflops = measure_one(context, seconds * 3 / 4);
    return checked_peak(gflops, gflops / ghz, context->kernels.row[EG__OP_burn_f32]->isa);
}

static void measure_compute(eg_context *context, double seconds, eg_ceilings *out) {
    double ghz = measure_ghz(seconds);
    burn_job all = {context, TURNS_ALL};
    double gflops = measure_one(context, seconds);
    double together = turn_flops * TURNS_ALL * eg__threads_count(context->threads) /
                      eg__burst_measure(burn_all, &all, seconds).best * 1e-9;
    const char *isa = context->kernels.row[EG__OP_burn_f32]->isa;
    out->clock = eg__metric(ghz, "GHz", EG_MEASURED, "dependent additions, one per cycle");
    out->fma_one = checked_peak(gflops, gflops / ghz, isa);
    out->fma_per_cycle = eg__metric(gflops / ghz, "FLOP/cycle", EG_MEASURED, "peak over clock");
    out->fma_all = checked_peak(together, gflops / ghz, isa);
}

/* ---- memory: every thread reads its own part of one buffer, over and over where it fits a cache,
 * walking on where it must come from DRAM */
typedef struct read_job {
    eg_context *context;
    const float *buffer;
    float *copy_to; /* copies instead of reading */
    size_t part;    /* floats of a thread's part */
    size_t window;  /* floats read per pass */
    size_t passes;  /* over the window, or windows walked on */
    size_t walked;  /* windows since the start */
    bool walks;
    float sums[EG__THREADS_MAX];
} read_job;

static void read_block(void *job, size_t block, unsigned thread) {
    (void)block;
    read_job *j = job;
    const size_t base = block * j->part, windows = j->part / j->window;
    float sum = 0; /* a separate cache line: no false sharing */
    for (size_t pass = 0; pass < j->passes; pass++) {
        size_t at = base + (j->walks ? (j->walked + pass) % windows * j->window : 0);
        if (j->copy_to) memcpy(j->copy_to + at, j->buffer + at, j->window * sizeof(float));
        else sum += j->context->kernels.read_f32(j->window, j->buffer + at);
    }
    j->sums[thread] = sum;
}
static void read_one(void *job) {
    read_job *j = job;
    read_block(job, 0, 0);
    j->walked += j->passes;
}
static void read_all(void *job) {
    read_job *j = job;
    eg__threads *threads = j->context->threads;
    eg__threads_run(threads, eg__threads_count(threads), read_block, job);
    j->walked += j->passes;
}

static double gigabytes(const read_job *j, eg__burst_function function, unsigned threads,
                        double seconds) {
    double bytes = (double)j->window * sizeof(float) * (double)j->passes * threads;
    if (j->copy_to) bytes *= 2;
    read_job job = *j;
    const eg__burst_times times = eg__burst_measure(function, &job, seconds);
    /* A large cache keeps some windows from pass to pass: the best burst would measure the cache,
     * not the DRAM. The slower half contains interrupted bursts. The lower quartile is neither. */
    return bytes / (j->walks ? times.quarter : times.best) * 1e-9;
}

/* `size` bytes per thread; 0 = there is no such level. */
static void measure_cache(eg_context *context, const float *buffer, size_t buffer_bytes,
                          uint64_t size, const char *missing, double seconds, eg_metric *one,
                          eg_metric *all) {
    const unsigned threads = eg__threads_count(context->threads);
    size_t floats = (size_t)(size / sizeof(float)) / 256 * 256;
    *one = *all = eg__metric_unavailable("GB/s", missing);
    if (!floats || floats * sizeof(float) * threads > buffer_bytes) return;
    read_job job = {.context = context, .buffer = buffer, .part = floats, .window = floats};
    const char *source = "best of many bursts of reads";
    /* about 100 us per burst, so that starting the threads does not matter */
    job.passes = eg__max(1, (size_t)(4e6 / (double)(floats * sizeof(float))));
    *one = eg__metric(gigabytes(&job, read_one, 1, seconds), "GB/s", EG_MEASURED, source);
    *all = eg__metric(gigabytes(&job, read_all, threads, seconds), "GB/s", EG_MEASURED, source);
}

static void measure_dram(eg_context *context, const float *buffer, size_t bytes, float *copy_to,
                         double seconds, eg_metric *one, eg_metric *all) {
    const unsigned threads = eg__threads_count(context->threads);
    /* of 16 MB together: long enough for the launch of threads not to matter */
    enum { WINDOW = 1 << 17, BURST = 1 << 24 };
    const char *source = copy_to ? "upper quartile of many bursts of copies"
                                 : "upper quartile of many bursts of reads";
    read_job job = {.context = context,
                    .buffer = buffer,
                    .copy_to = copy_to,
                    .part = bytes / sizeof(float) / WINDOW * WINDOW,
                    .window = WINDOW,
                    .passes = BURST / sizeof(float) / WINDOW,
                    .walks = true};
    *one = eg__metric(gigabytes(&job, read_one, 1, seconds), "GB/s", EG_MEASURED, source);
    job.part = bytes / sizeof(float) / threads / WINDOW * WINDOW;
    job.passes = eg__max(1, job.passes / threads);
    if (!job.part) *all = eg__metric_unavailable("GB/s", "more threads than the buffer has parts");
    else
        *all = eg__metric(gigabytes(&job, read_all, threads, seconds), "GB/s", EG_MEASURED, source);
}

/* Eight times, so that a part is gone before it is read again. */
size_t eg__ceilings_buffer(const eg_chip *chip) {
    const eg_core_kind *kind = &chip->kinds[0];
    uint64_t caches = chip->l3_bytes * eg__max(chip->l3_count, 1) + chip->slc_bytes +
                      kind->l2_bytes * kind->cores / eg__max(kind->l2_cores, 1);
    uint64_t low = UINT64_C(128) << 20, high = UINT64_C(1) << 30;
    return (size_t)(8 * caches < low ? low : 8 * caches > high ? high : 8 * caches);
}

/* ---- the last-level cache: the size that the system reports is shared with others, or is that of
 * a virtual machine's host. Sizes are tried from the largest down, halving each time: the first one
 * that is clearly faster than the DRAM and has at least half of the cache's advantage is taken. */
double eg__last_cache_find(size_t count, const double *sizes, const double *gbps, double dram,
                           double least) {
    double quickest = dram;
    for (size_t i = 0; i < count; i++) quickest = fmax(quickest, gbps[i]);
    for (size_t i = 0; i < count; i++)
        if (gbps[i] > 1.25 * dram && gbps[i] >= (dram + quickest) / 2) return sizes[i];
    return least;
}

static void measure_last_cache(eg_context *context, const float *buffer, size_t bytes, uint64_t l3,
                               uint64_t l2, double seconds, eg_ceilings *out) {
    enum { SIZES = 8 };
    double sizes[SIZES], gbps[SIZES];
    size_t count = 0;
    out->last_cache = eg__metric_unavailable("MiB", "no L3, or its size is not told");
    if (!l3 || out->dram_one.provenance != EG_MEASURED) return;
    for (uint64_t size = l3; size > 2 * l2 && count < SIZES; size /= 2) {
        const size_t floats = (size_t)(size / sizeof(float)) / 256 * 256;
        if (floats * sizeof(float) > bytes) continue;
        read_job job = {.context = context,
                        .buffer = buffer,
                        .part = floats,
                        .window = eg__min(floats, 1 << 20),
                        .passes = eg__max(1, (size_t)(4e6 / (double)size)),
                        .walks = true};
        job.sums[0] = context->kernels.read_f32(floats, buffer); /* what fits is there now */
        sizes[count] = (double)size / 1048576;
        gbps[count++] = gigabytes(&job, read_one, 1, seconds);
    }
    const double found =
        eg__last_cache_find(count, sizes, gbps, out->dram_one.value, (double)l2 / 1048576);
    out->last_cache =
        eg__metric(found, "MiB", EG_MEASURED,
                   "largest part of the last-level cache that is read faster than the DRAM");
}

/* All threads together are at least as fast as one: if they were slower, another process had a
 * core. */
static void settle(eg_ceilings *c) {
    const struct {
        const eg_metric *one;
        eg_metric *all;
    } pairs[] = {{&c->fma_one, &c->fma_all},   {&c->l1_one, &c->l1_all},
                 {&c->l2_one, &c->l2_all},     {&c->l3_one, &c->l3_all},
                 {&c->dram_one, &c->dram_all}, {&c->copy_one, &c->copy_all}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].one->provenance == EG_MEASURED && pairs[i].all->provenance == EG_MEASURED &&
            pairs[i].all->value < pairs[i].one->value)
            pairs[i].all->value = pairs[i].one->value;
}

static void measure_memory(eg_context *context, double seconds, eg_ceilings *out) {
    const eg_chip *chip = &context->chip;
    const size_t bytes = eg__ceilings_buffer(chip);
    float *from = eg__memory_take(context->memory, EG_TAG_MEASURE, bytes, NULL);
    if (from) {
        memset(from, 0, bytes); /* unwritten pages are not backed by memory yet */
        const eg_core_kind *kind = &chip->kinds[0];
        /* half of a level: the rest is for other data */
        uint64_t l2 = kind->l2_bytes / eg__max(kind->l2_cores, 1) / 2;
        uint64_t l3 = chip->l3_bytes * eg__max(chip->l3_count, 1) / eg__max(chip->cores, 1) / 2;
        const char *untold = "the system does not tell its size";
        measure_cache(context, from, bytes, kind->l1d_bytes / 2, untold, seconds, &out->l1_one,
                      &out->l1_all);
        measure_cache(context, from, bytes, l2, untold, seconds, &out->l2_one, &out->l2_all);
        measure_dram(context, from, bytes, NULL, seconds, &out->dram_one, &out->dram_all);
        measure_last_cache(context, from, bytes, chip->l3_bytes, kind->l2_bytes, seconds / 4, out);
        if (out->last_cache.provenance == EG_MEASURED) { /* the measured size */
            const uint64_t there = (uint64_t)(out->last_cache.value * 1048576 / 2);
            l3 = eg__min(l3, there / eg__threads_count(context->threads));
        }
        measure_cache(context, from, bytes, l3 > 2 * l2 ? l3 : 0,
                      "no L3, or it is not faster than the DRAM", seconds, &out->l3_one,
                      &out->l3_all);
        measure_dram(context, from, bytes / 2, from + bytes / 2 / sizeof(float), seconds,
                     &out->copy_one, &out->copy_all);
    } else {
        eg_metric none = eg__metric_unavailable("GB/s", "no memory for the buffer");
        out->l1_one = out->l1_all = out->l2_one = out->l2_all = out->l3_one = out->l3_all = none;
        out->dram_one = out->dram_all = out->copy_one = out->copy_all = none;
        out->last_cache = eg__metric_unavailable("MiB", none.source);
    }
    eg__memory_give(context->memory, from);
    eg__memory_cache_empty(context->memory); /* blocks of that size are not needed again */
}

/* ---- threads */
static void nothing(void *job, size_t block, unsigned thread) {
    (void)job, (void)block, (void)thread;
}
static void launch(void *job) {
    eg__threads *threads = ((eg_context *)job)->threads;
    eg__threads_run(threads, eg__threads_count(threads), nothing, NULL);
}

void eg__ceilings_run(eg_context *context, double seconds, eg_ceilings *out) {
    uint64_t start = eg_clock_ns();
    memset(out, 0, sizeof *out);
    memcpy(out->fingerprint, context->chip.fingerprint, sizeof out->fingerprint);
    double each =
        seconds / 20; /* fourteen measurements, eight short ones, the filling of the buffer */
    measure_compute(context, each, out);
    measure_memory(context, each, out);
    settle(out);
    if (eg__threads_count(context->threads) > 1)
        out->launch = eg__metric(eg__burst_measure(launch, context, each).best * 1e9, "ns",
                                 EG_MEASURED, "best of many back-to-back launches");
    else out->launch = eg__metric_unavailable("ns", "the context has one thread");
    out->clock_overhead =
        eg__metric(eg_clock_measure().overhead_ns, "ns", EG_MEASURED, "256 readings, best of 64");
    out->measured_at = (int64_t)time(NULL);
    out->seconds = (double)(eg_clock_ns() - start) * 1e-9;
}
