/* elegans profile --quick: time, rates and memory of a model, in about a second. */
#include "cli/commands/profile.h"

#include <math.h>

typedef struct figure {
    const char *name;
    const eg_metric *metric;
} figure;
enum { FIGURES = 11 };

static void figures_of(const eg_quick_result *r, figure out[FIGURES]) {
    const figure all[FIGURES] = {{"time_median", &r->seconds},
                                 {"calls_per_second", &r->rate},
                                 {"samples_per_second", &r->samples},
                                 {"flops", &r->flops},
                                 {"tflops", &r->tflops},
                                 {"bytes_moved", &r->bytes_moved},
                                 {"operand_rate", &r->operand_rate},
                                 {"cpu_time", &r->cpu_time},
                                 {"peak_memory", &r->memory},
                                 {"library_peak", &r->library},
                                 {"leaked", &r->leaked}};
    for (int i = 0; i < FIGURES; i++) out[i] = all[i];
}

static void put_interval(json *object, const char *key, const eg_interval *interval) {
    json *value = json_new_object();
    json_put_number(value, "value", interval->value);
    json_put_number(value, "low", interval->low);
    json_put_number(value, "high", interval->high);
    json_put(object, key, value);
}

/* As a whole profile has it, without the samples. */
static json *times_json(const eg_statistics *s) {
    char noise[EG_NOISE_TEXT];
    json *object = json_new_object();
    json_put_text(object, "unit", "s");
    json_put_text(object, "provenance", eg_provenance_name(EG_MEASURED));
    json_put_count(object, "runs", s->count);
    put_interval(object, "mean", &s->mean);
    put_interval(object, "p50", &s->p50);
    put_interval(object, "p90", &s->p90);
    put_interval(object, "p99", &s->p99);
    json_put_number(object, "min", s->least);
    json_put_number(object, "max", s->most);
    json_put_number(object, "std", s->deviation);
    json_put_flag(object, "noisy", eg_statistics_noise(s, noise) != EG_NOISE_NONE);
    json_put_text(object, "noise", noise);
    json_put_text(object, "rates_are_over", "p50");
    return object;
}

static json *quick_json(const profile_settings *w, const eg_profile_options *o,
                        const eg_quick_result *r) {
    json *document = json_new_object(), *metrics = json_new_object();
    figure figures[FIGURES];
    figures_of(r, figures);
    json_put_text(document, "model", w->model);
    json_put_count(document, "batch", o->batch ? o->batch : 1);
    json_put_count(document, "seq", o->seq ? o->seq : 1);
    for (int i = 0; i < FIGURES; i++) json_put_metric(metrics, figures[i].name, figures[i].metric);
    json_put(document, "metrics", metrics);
    json_put(document, "time", times_json(&r->time));
    return document;
}

static void print_quick(const profile_settings *w, const eg_profile_options *o,
                        const eg_quick_result *r) {
    char note[96], value[96], low[32], high[32];
    figure figures[FIGURES];
    figures_of(r, figures);
    snprintf(note, sizeof note, "batch %llu, %llu step%s, %llu run%s",
             (unsigned long long)(o->batch ? o->batch : 1),
             (unsigned long long)(o->seq ? o->seq : 1), o->seq > 1 ? "s" : "",
             (unsigned long long)r->time.count, r->time.count == 1 ? "" : "s");
    print_title(w->model, note);
    for (int i = 0; i < FIGURES; i++) profile_print_figure(figures[i].name, figures[i].metric);
    if (isfinite(r->time.p50.low) && isfinite(r->time.p50.high)) {
        snprintf(value, sizeof value, "%s to %s", format_seconds(low, r->time.p50.low),
                 format_seconds(high, r->time.p50.high));
        print_row("median, 95 %", value, eg_provenance_name(EG_MEASURED));
    }
    if (r->noise == EG_NOISE_NONE) return;
    snprintf(value, sizeof value, "yes: %.80s", r->noise_text);
    print_row("noisy", value, eg_provenance_name(EG_MEASURED));
}

int profile_quick(eg_model *model, const profile_settings *w, const eg_profile_options *o) {
    eg_error error;
    eg_quick_result result;
    const eg_quick_subject what = {.model = model};
    const eg_quick_options options = {.size = sizeof options,
                                      .batch = o->batch,
                                      .seq = o->seq,
                                      .runs = o->runs,
                                      .warmup = o->warmup};
    if (eg_quick_profile(&what, &options, &result, &error)) return fail_with(&error);
    if (w->json) return json_print(quick_json(w, o, &result));
    print_quick(w, o, &result);
    return CLI_OK;
}
