/* The same model compiled or not, on each unit, on one thread or on all: rounds in turn, so that all ways see
 * the same neighbours. */
#include "cli/commands/profile.h"

#include <stdlib.h>

typedef struct way {
    const char *unit; /* static */
    unsigned threads;
    bool compiled;
    eg_context *context;
    eg_model *model;
    double times[7]; /* medians of the rounds */
} way;
enum { ROUNDS = 7, RUNS = 30, UNITS = 3, WAYS = 4 * UNITS };

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int measure(way *ways, size_t count, const profile_settings *w,
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
                return fail_with(&error);
            eg_profile_time(profile, &time);
            ways[i].times[round] = time.p50.value;
            eg_profile_destroy(profile);
        }
    for (size_t i = 0; i < count; i++) qsort(ways[i].times, ROUNDS, sizeof(double), by_size);
    return CLI_OK;
}

static int print_ways(const way *ways, size_t count, const profile_settings *w) {
    const double base = ways[0].times[ROUNDS / 2];
    json *list = w->json ? json_new_list() : NULL;
    if (!w->json) {
        print_title(w->model, "median of 7 interleaved rounds");
        printf("  %s%-14s %-8s %8s %11s %9s%s\n", style_dim(), "", "unit", "threads", "p50",
               "speed", style_end());
    }
    for (size_t i = 0; i < count; i++) {
        const double time = ways[i].times[ROUNDS / 2];
        char text[32];
        if (!w->json) {
            printf("  %-14s %-8s %8u %11s %8.2fx\n", ways[i].compiled ? "compiled" : "not compiled",
                   ways[i].unit, ways[i].threads, format_seconds(text, time), base / time);
            continue;
        }
        json *row = json_new_object();
        json_put_flag(row, "compiled", ways[i].compiled);
        json_put_text(row, "unit", ways[i].unit);
        json_put_count(row, "threads", ways[i].threads);
        const eg_metric metric = {time, EG_MEASURED, "s", "median of 7 interleaved rounds"};
        json_put_metric(row, "time", &metric);
        json_put_number(row, "speed", base / time);
        json_append(list, row);
    }
    if (!w->json) return CLI_OK;
    json *document = json_new_object();
    json_put_text(document, "model", w->model);
    json_put(document, "ablation", list);
    return json_print(document);
}

/* The instruction sets that this machine has, the best first: those are its units so far. `ref` is a
 * definition, not something to run on. */
static int find_units(const context_flags *flags, const char *units[UNITS], size_t *count) {
    isa_names names;
    *count = 0;
    if (flags->isa) {
        units[(*count)++] = flags->isa;
        return CLI_OK;
    }
    const int code = isa_list(&names);
    for (size_t i = 0; !code && i < names.count && *count < UNITS; i++)
        /* sets of the same width have the same kernels for floats */
        if (names.usable[i] &&
            (!*count || (names.lanes[i] > 1 && names.lanes[i] < names.lanes[i - 1])))
            units[(*count)++] = names.name[i];
    return code;
}

static int open_way(const context_flags *flags, const char *model, way *to) {
    eg_error error;
    context_flags own = *flags;
    own.threads = to->threads;
    own.isa = to->unit;
    int code = context_open(&own, &to->context);
    if (!code && eg_model_open(to->context, model, &to->model, &error)) code = fail_with(&error);
    if (!code) to->threads = eg_context_threads(to->context);
    return code;
}

int profile_ablation(const context_flags *flags, const profile_settings *w,
                     const eg_profile_options *options) {
    const char *units[UNITS];
    way ways[WAYS] = {{0}};
    size_t count = 0, unit_count;
    int code = find_units(flags, units, &unit_count);
    for (size_t u = 0; !code && u < unit_count; u++)
        for (unsigned all = 0; all < 2; all++)
            for (unsigned compiled = 0; !code && compiled < 2; compiled++) {
                way *next = &ways[count++];
                *next = (way){.unit = units[u], .threads = all ? 0 : 1, .compiled = compiled != 0};
                code = open_way(flags, w->model, next);
                if (!code && all && next->threads == 1) { /* there is but one core */
                    eg_model_destroy(next->model);
                    eg_context_destroy(next->context);
                    ways[--count] = (way){0};
                }
            }
    if (!code) code = measure(ways, count, w, options);
    if (!code) code = print_ways(ways, count, w);
    for (size_t i = 0; i < WAYS; i++) {
        eg_model_destroy(ways[i].model);
        eg_context_destroy(ways[i].context);
    }
    return code;
}
