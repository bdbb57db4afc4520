/* The same model in several ways: batches of several sizes; compiled or not, on one thread or on all. */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- batches: "batch=32,64,128" */
enum { SWEEP_MOST = 16 };
static int read_batches(const char *text, uint64_t out[SWEEP_MOST], size_t *count) {
    const char *at = strncmp(text, "batch=", 6) == 0 ? text + 6 : NULL;
    *count = 0;
    while (at) {
        int64_t value;
        const size_t length = strcspn(at, ",");
        if (*count == SWEEP_MOST || eg_integer_parse(at, length, 1, 1 << 20, &value, NULL)) break;
        out[(*count)++] = (uint64_t)value;
        if (!at[length]) return -1;
        at += length + 1;
    }
    return fail(EXIT_USAGE, "--sweep: '%s' is not batch=N,N,... (at most %d)", text, SWEEP_MOST);
}

static json *sweep_row(const eg_profile *profile, uint64_t batch) {
    static const eg_profile_metric_id ids[] = {EG_PROFILE_samples_per_second, EG_PROFILE_tflops,
                                               EG_PROFILE_compute_efficiency, EG_PROFILE_bandwidth,
                                               EG_PROFILE_peak_memory};
    json *row = json_new_object();
    eg_statistics time;
    eg_profile_time(profile, &time);
    json_put_count(row, "batch", batch);
    json_put_number(row, "p50", time.p50.value);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const eg_metric metric = eg_profile_metric(profile, ids[i]);
        json_put_metric(row, eg_profile_metric_name(ids[i]), &metric);
    }
    return row;
}

static void print_sweep(const eg_profile *profile, uint64_t batch, double best) {
    char time[32], bytes[32];
    eg_statistics s;
    eg_profile_time(profile, &s);
    const double speed = eg_profile_metric(profile, EG_PROFILE_samples_per_second).value;
    const eg_metric share = eg_profile_metric(profile, EG_PROFILE_compute_efficiency);
    printf("  %6llu %11s %12.0f %9.3f %9.1f %11s%s\n", (unsigned long long)batch,
           format_seconds(time, s.p50.value), speed,
           eg_profile_metric(profile, EG_PROFILE_tflops).value,
           share.provenance == EG_UNAVAILABLE ? (double)NAN : 100 * share.value,
           format_bytes(bytes, (uint64_t)eg_profile_metric(profile, EG_PROFILE_peak_memory).value),
           speed >= best ? "  *" : "");
}

int profile_sweep(eg_model *model, const profile_wish *w, const eg_profile_options *options) {
    uint64_t batches[SWEEP_MOST];
    eg_profile *profiles[SWEEP_MOST] = {NULL};
    size_t count;
    double best = 0;
    int code = read_batches(w->sweep, batches, &count);
    for (size_t i = 0; code < 0 && i < count; i++) {
        eg_error error;
        eg_profile_options o = *options;
        o.batch = batches[i];
        if (eg_profile_model(model, w->model, &o, &profiles[i], &error))
            code =
                fail(EXIT_FAILED, "batch %llu: %s", (unsigned long long)batches[i], error.message);
        else best = fmax(best, eg_profile_metric(profiles[i], EG_PROFILE_samples_per_second).value);
    }
    if (code < 0 && w->json) {
        json *document = json_new_object(), *list = json_new_list();
        for (size_t i = 0; i < count; i++) json_append(list, sweep_row(profiles[i], batches[i]));
        json_put_text(document, "model", w->model);
        json_put(document, "sweep", list);
        code = json_print(document);
    } else if (code < 0) {
        print_title(w->model, "batches; * = most samples per second");
        printf("  %s%6s %11s %12s %9s %9s %11s%s\n", style_dim(), "batch", "p50", "samples/s",
               "TFLOP/s", "% of peak", "memory", style_end());
        for (size_t i = 0; i < count; i++) print_sweep(profiles[i], batches[i], best);
        code = EXIT_DONE;
    }
    for (size_t i = 0; i < SWEEP_MOST; i++) eg_profile_destroy(profiles[i]);
    return code;
}

/* ---- ablation: rounds in turn, so that all ways see the same neighbours */
typedef struct way {
    unsigned threads;
    bool compiled;
    eg_context *context;
    eg_model *model;
    double *times; /* medians of the rounds */
} way;
enum { ROUNDS = 7, RUNS = 30 };

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int measure(way *ways, size_t count, const profile_wish *w,
                   const eg_profile_options *options) {
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i++) {
            eg_error error;
            eg_profile *profile;
            eg_statistics time;
            eg_profile_options o = *options;
            o.no_compile = !ways[i].compiled;
            o.no_ceilings = 1;
            if (!o.runs) o.runs = RUNS;
            if (eg_profile_model(ways[i].model, w->model, &o, &profile, &error))
                return fail(EXIT_FAILED, "%s", error.message);
            eg_profile_time(profile, &time);
            ways[i].times[round] = time.p50.value;
            eg_profile_destroy(profile);
        }
    for (size_t i = 0; i < count; i++) qsort(ways[i].times, ROUNDS, sizeof(double), by_size);
    return -1;
}

static int print_ways(const way *ways, size_t count, const profile_wish *w) {
    const double base = ways[0].times[ROUNDS / 2];
    json *list = w->json ? json_new_list() : NULL;
    if (!w->json) {
        print_title(w->model, "median of 7 interleaved rounds");
        printf("  %s%-14s %-6s %8s %11s %9s%s\n", style_dim(), "", "unit", "threads", "p50",
               "speed", style_end());
    }
    for (size_t i = 0; i < count; i++) {
        const double time = ways[i].times[ROUNDS / 2];
        char text[32];
        if (!w->json) {
            printf("  %-14s %-6s %8u %11s %8.2fx\n", ways[i].compiled ? "compiled" : "not compiled",
                   "cores", ways[i].threads, format_seconds(text, time), base / time);
            continue;
        }
        json *row = json_new_object();
        json_put_flag(row, "compiled", ways[i].compiled);
        json_put_text(row, "unit", "cores");
        json_put_count(row, "threads", ways[i].threads);
        const eg_metric metric = {time, EG_MEASURED, "s", "median of 7 interleaved rounds"};
        json_put_metric(row, "time", &metric);
        json_put_number(row, "speed", base / time);
        json_append(list, row);
    }
    if (!w->json) return EXIT_DONE;
    json *document = json_new_object();
    json_put_text(document, "model", w->model);
    json_put(document, "ablation", list);
    return json_print(document);
}

int profile_ablation(const context_flags *flags, const profile_wish *w,
                     const eg_profile_options *options) {
    double times[4][ROUNDS];
    way ways[4] = {{.threads = 1}, {.threads = 1, .compiled = true}, {0}, {.compiled = true}};
    size_t count = 4;
    int code = -1;
    for (size_t i = 0; code < 0 && i < count; i++) {
        eg_error error;
        context_flags own = *flags;
        own.threads = ways[i].threads;
        ways[i].times = times[i];
        code = context_open(&own, &ways[i].context);
        if (code < 0 && eg_model_open(ways[i].context, w->model, &ways[i].model, &error))
            code = fail(EXIT_FAILED, "%s", error.message);
        if (code < 0) ways[i].threads = eg_context_threads(ways[i].context);
        if (code < 0 && i == 2 && ways[2].threads == 1) count = 2; /* there is but one core */
    }
    if (code < 0) code = measure(ways, count, w, options);
    if (code < 0) code = print_ways(ways, count, w);
    for (size_t i = 0; i < 4; i++) {
        eg_model_destroy(ways[i].model);
        eg_context_destroy(ways[i].context);
    }
    return code;
}
