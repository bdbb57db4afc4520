/* The same model compiled or not, on one thread or on all: rounds in turn, so that all ways see the same
 * neighbours. */
#include "profile.h"

#include <stdlib.h>

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
