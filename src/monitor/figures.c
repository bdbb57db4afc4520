/* Figures of a program from two readings of its page; what is not known says why. */
#include "base/base.h"
#include "monitor/pages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *unit, *text;
} rows[EG_FIGURE_COUNT] = {
#define ROW(name, unit, text) {#name, unit, text},
    EG_FIGURE_MAP(ROW)
#undef ROW
};

static bool known(eg_figure figure) { return (unsigned)figure < EG_FIGURE_COUNT; }
const char *eg_figure_name(eg_figure figure) { return known(figure) ? rows[figure].name : NULL; }
const char *eg_figure_unit(eg_figure figure) { return known(figure) ? rows[figure].unit : NULL; }
const char *eg_figure_text(eg_figure figure) { return known(figure) ? rows[figure].text : NULL; }

static void put(eg_published *out, eg_figure figure, double value, eg_provenance provenance,
                const char *source, const char *why) {
    out->figures[figure] = isfinite(value)
                               ? eg__metric(value, rows[figure].unit, provenance, source)
                               : eg__metric_unavailable(rows[figure].unit, why);
}

/* ---- steps and tokens */
static const char first_time[] = "seen for the first time; rates need two samples";

/* Of counters since the sample before; NaN the first time. */
static double rate(const eg__tracked *t, uint64_t now, uint64_t before) {
    const double seconds = (double)(t->now.read_ns - t->before.read_ns) * 1e-9;
    return t->again && seconds > 0 && now >= before ? (double)(now - before) / seconds
                                                    : (double)NAN;
}

static void put_rates(const eg__tracked *t, eg_published *out) {
    const eg__page_view *v = &t->now;
    const double steps = rate(t, v->steps, t->before.steps);
    const double tokens = v->tokens ? rate(t, v->tokens, t->before.tokens) : (double)NAN;
    put(out, EG_FIGURE_steps, (double)v->steps, EG_COUNTED, "the program", NULL);
    put(out, EG_FIGURE_step_rate, steps, EG_MEASURED, "counted steps over the time between samples",
        first_time);
    put(out, EG_FIGURE_tokens, v->tokens ? (double)v->tokens : (double)NAN, EG_COUNTED,
        "the program", "it counts no tokens");
    put(out, EG_FIGURE_token_rate, tokens, EG_MEASURED,
        "counted tokens over the time between samples",
        v->tokens ? first_time : "it counts no tokens");
    put(out, EG_FIGURE_flop_rate, v->step_flops * steps, EG_MEASURED,
        "counted FLOPs of a step, measured rate",
        isnan(v->step_flops) ? "the FLOPs of a step are not published" : first_time);
    put(out, EG_FIGURE_byte_rate, v->step_bytes * steps, EG_MEASURED,
        "counted operands of a step, measured rate",
        isnan(v->step_bytes) ? "the bytes of a step are not published" : first_time);
}

static void put_latencies(const eg__tracked *t, eg_published *out) {
    static const struct {
        eg_figure figure;
        double q;
    } all[] = {{EG_FIGURE_p50, 0.5}, {EG_FIGURE_p90, 0.9}, {EG_FIGURE_p99, 0.99}};
    const eg__page_view *v = &t->now;
    uint64_t counts[EG__LATENCY_BUCKETS];
    for (unsigned i = 0; i < EG__LATENCY_BUCKETS; i++)
        counts[i] =
            v->latency[i] - (t->before.latency[i] <= v->latency[i] ? t->before.latency[i] : 0);
    const char *why = !v->timed_every               ? "its steps are not timed"
                      : v->steps == t->before.steps ? "no step ended since the sample before"
                                                    : "no timed step since the sample before";
    const char *source =
        v->timed_every > 1 ? "a random sample of the steps was timed" : "every step was timed";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        put(out, all[i].figure, eg__latency_quantile(counts, all[i].q), EG_MEASURED, source, why);
}

/* ---- memory and training */
static void put_memory(const eg__tracked *t, eg_published *out) {
    const eg__page_view *v = &t->now;
    put(out, EG_FIGURE_held, v->held, EG_COUNTED, "the library's own count", NULL);
    put(out, EG_FIGURE_held_peak, v->held_peak, EG_COUNTED, "the library's own count", NULL);
    put(out, EG_FIGURE_resident, v->resident, EG_COUNTED, "the system",
        "the system does not tell it");
}

static void put_training(const eg__tracked *t, eg_published *out) {
    const eg__page_training *r = &t->now.training;
    const bool there = t->now.training_known && r->reports;
    const double none = (double)NAN;
    const char *why = !t->now.training_known ? "the program stands still while it writes this"
                      : !r->reports          ? "it trains nothing"
                                             : "the program does not know it";
    const struct {
        eg_figure figure;
        double value;
        eg_provenance provenance;
    } all[] = {{EG_FIGURE_epoch, (double)r->epoch, EG_COUNTED},
               {EG_FIGURE_epochs, (double)r->epochs, EG_COUNTED},
               {EG_FIGURE_updates, (double)r->step, EG_COUNTED},
               {EG_FIGURE_loss, r->loss, EG_MEASURED},
               {EG_FIGURE_validation_loss, r->validation, EG_MEASURED},
               {EG_FIGURE_learning_rate, r->learning_rate, EG_COUNTED},
               {EG_FIGURE_gradient_norm, r->gradient_norm, EG_MEASURED},
               {EG_FIGURE_time_left, r->seconds_left, EG_MODELLED}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        put(out, all[i].figure, there ? all[i].value : none, all[i].provenance, "the program", why);
}

/* Texts are of another program, which may have been cut off or be no UTF-8. */
static void copy_text(char *out, size_t size, const char *text) {
    size_t length = 0;
    while (length + 1 < size && text[length]) {
        const unsigned char c = (unsigned char)text[length];
        out[length++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
    out[length] = 0;
}

void eg__figures_of(const eg__tracked *t, eg_published *out) {
    const eg__page *page = t->page;
    *out = (eg_published){.pid = t->pid, .started_ns = page->started_ns};
    copy_text(out->program, sizeof out->program, page->program);
    copy_text(out->activity, sizeof out->activity, page->activity);
    copy_text(out->model, sizeof out->model, page->model);
    put_rates(t, out);
    put_latencies(t, out);
    put_memory(t, out);
    put_training(t, out);
    /* of a step, not of the time between two of them, in which it may wait */
    out->figures[EG_FIGURE_peak_share] =
        eg__verdict_of(t, &out->figures[EG_FIGURE_p50], out->verdict);
}
