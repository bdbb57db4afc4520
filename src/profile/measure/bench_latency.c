/* The latency of single steps of a stream: a histogram fine enough for percentiles within a percent. */
#include "nn/model.h"
#include "profile/measure/ceilings.h"

#include <string.h>

/* Each power of two is split into PARTS equal buckets; below PARTS nanoseconds a bucket is 1 ns. */
enum { PART_BITS = 7, PARTS = 1 << PART_BITS, DOUBLINGS = 64 - PART_BITS + 1 };
enum { COUNTERS = DOUBLINGS * PARTS, SHOWN = 4, ROWS = 8, WARM = 1000 };

static size_t counter_of(uint64_t ns) {
    unsigned shift = 0;
    for (uint64_t top = ns >> (PART_BITS + 1); top; top >>= 1) shift++;
    return (size_t)shift * PARTS + (size_t)(ns >> shift);
}
static uint64_t counter_from(size_t counter) {
    if (counter < 2 * PARTS) return counter;
    return (uint64_t)(counter % PARTS + PARTS) << (counter / PARTS - 1);
}

typedef struct latencies {
    uint64_t *count; /* COUNTERS of them */
    uint64_t steps, least, most, sum;
} latencies;

static void add(latencies *l, uint64_t ns) {
    l->count[counter_of(ns)]++;
    if (ns < l->least) l->least = ns;
    if (ns > l->most) l->most = ns;
    l->sum += ns;
}

/* The upper end, in ns, of the bucket that holds the sample of this rank. */
static double percentile(const latencies *l, double share) {
    const double rank = share * (double)l->steps;
    uint64_t seen = 0;
    size_t i = 0;
    while (i < COUNTERS - 1 && (double)(seen += l->count[i]) < rank) i++;
    const uint64_t last = counter_from(i + 1) - 1;
    return (double)(last < l->most ? last : l->most);
}

/* Merges buckets to SHOWN per power of two, without the empty ones at both ends. */
static void fill_buckets(const latencies *l, eg_bench_latency_result *out) {
    const size_t width = PARTS / SHOWN, first = counter_of(l->least) / width,
                 end = counter_of(l->most) / width + 1;
    for (size_t i = first; i < end && out->buckets < EG_LATENCY_BUCKETS; i++) {
        eg_latency_bucket *b = &out->bucket[out->buckets++];
        *b = (eg_latency_bucket){counter_from(i * width), counter_from((i + 1) * width), 0};
        for (size_t k = i * width; k < (i + 1) * width; k++) b->count += l->count[k];
    }
}

static void fill(const latencies *l, eg_bench_latency_result *out) {
    memset(out, 0, sizeof *out);
    out->steps = l->steps;
    const char *source = "every step timed alone";
#define FIELD(name, ns) out->name = eg__metric((ns)*1e-3, "us", EG_MEASURED, source);
    FIELD(p50, percentile(l, 0.5))
    FIELD(p90, percentile(l, 0.9))
    FIELD(p99, percentile(l, 0.99))
    FIELD(p99_9, percentile(l, 0.999))
    FIELD(least, (double)l->least)
    FIELD(most, (double)l->most)
    FIELD(mean, (double)l->sum / (double)l->steps)
#undef FIELD
    out->clock_overhead =
        eg__metric(eg_clock_measure().overhead_ns, "ns", EG_MEASURED, "256 readings, best of 64");
    fill_buckets(l, out);
}

static eg_status run(eg_stream *stream, const eg_model_info *info, float *x, latencies *l,
                     eg_error *error) {
    float *y = x + ROWS * info->inputs;
    eg_status status = EG_OK;
    for (uint64_t i = 0; i < l->steps + WARM && !status; i++) {
        const float *row = x + i % ROWS * info->inputs;
        const uint64_t start = eg_clock_ns();
        status = eg_stream_step(stream, row, 1, y, error);
        const uint64_t end = eg_clock_ns();
        if (i >= WARM) add(l, end - start);
    }
    return status;
}

eg_status eg_bench_latency(eg_model *model, uint64_t steps, eg_bench_latency_result *out,
                           eg_error *error) {
    if (!model || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no model or no output pointer");
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    eg_stream_program *program = NULL;
    eg_stream *stream = NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t values = ROWS * (size_t)info.inputs;
    latencies l = {.steps = steps ? steps : 1000000, .least = UINT64_MAX};
    float *x = NULL;
    l.count =
        eg__memory_take_array(model->memory, EG_TAG_MEASURE, COUNTERS, sizeof *l.count, &reason);
    if (l.count)
        x = eg__memory_take_array(model->memory, EG_TAG_MEASURE, values + (size_t)info.outputs,
                                  sizeof *x, &reason);
    eg_status status = x ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; x && i < values; i++) x[i] = (float)(i % 31) / 16 - 1;
    if (!status) status = eg_stream_compile(model, &program, error);
    if (!status) status = eg_stream_create(program, &stream, error);
    if (!status) status = run(stream, &info, x, &l, error);
    if (!status) fill(&l, out);
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
    eg__memory_give(model->memory, x);
    eg__memory_give(model->memory, l.count);
    return status;
}
