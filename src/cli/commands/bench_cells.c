/* elegans bench cells: a table of liquid cells. */
#include "cli/commands/bench.h"

#include <string.h>

static void tell(const eg_bench_cell *c) {
    bench_tell(c->steps, 1e-6 * c->median.value, c->flops, c->bytes);
}

static int print_cell(void *user, const eg_bench_cell *c) {
    tell(c);
    const char **before = user;
    char step[32], median[32], speed[32], share[32];
    if (!*before) {
        print_title("liquid cells, one thread", "measured; operations counted");
        printf("  %-14s %12s %12s %12s %10s\n", "", "us/step", "median", "GFLOP/s", "of peak");
    }
    if (!*before || strcmp(*before, c->model) != 0) printf("%s\n", c->model);
    *before = c->model;
    if (c->fraction.provenance == EG_UNAVAILABLE) snprintf(share, sizeof share, "-");
    else snprintf(share, sizeof share, "%.1f %%", 100 * c->fraction.value);
    snprintf(step, sizeof step, "%.3f", c->step.value);
    snprintf(median, sizeof median, "%.3f", c->median.value);
    printf("  %-14s %12s %12s %12s %10s\n", c->name, step, median,
           format_short(speed, c->speed.value), share);
    fflush(stdout);
    return 0;
}

static int append_cell(void *user, const eg_bench_cell *c) {
    tell(c);
    json *entry = json_new_object();
    const eg_metric flops = {c->flops, EG_COUNTED, "FLOP", "one step of one sample"};
    const eg_metric bytes = {c->bytes, EG_COUNTED, "bytes", "one step of one sample"};
    json_put_text(entry, "case", c->name);
    json_put_text(entry, "model", c->model);
    json_put_text(entry, "mode", c->mode);
    json_put_metric(entry, "us_per_step", &c->step);
    json_put_metric(entry, "us_per_step_best", &c->best);
    json_put_metric(entry, "us_per_step_median", &c->median);
    json_put_metric(entry, "gflops", &c->speed);
    json_put_metric(entry, "peak", &c->peak);
    json_put_metric(entry, "fraction_of_peak", &c->fraction);
    json_put_metric(entry, "flops", &flops);
    json_put_metric(entry, "bytes", &bytes);
    json_put_count(entry, "samples", c->samples);
    json_put_count(entry, "steps", c->steps);
    json_append(user, entry);
    return 0;
}

int bench_cells(eg_context *context, const char *filter, uint64_t steps, bool as_json) {
    eg_error error;
    const char *before = NULL;
    if (as_json && !json_usable()) return json_print(NULL);
    json *list = as_json ? json_new_list() : NULL;
    if (as_json ? eg_bench_cells(context, filter, steps, append_cell, list, &error)
                : eg_bench_cells(context, filter, steps, print_cell, &before, &error))
        return fail_with(&error);
    if (!as_json) return CLI_OK;
    json *document = json_new_object();
    json_put_text(document, "bench", "cells");
    json_put_count(document, "threads", eg_context_threads(context));
    json_put_text(document, "isa", eg_context_isa(context));
    json_put(document, "results", list);
    return json_print(document);
}
