/* The document of a diff: what two runs have in common, what changed, and how that is judged. */
#include "report/diff.h"

#include <math.h>
#include <string.h>

void eg__diff_put_number(eg__json *json, const char *key, double value) {
    if (fabs(value) < 9e15 && value == floor(value))
        eg__json_put_integer(json, key, (int64_t)value);
    else eg__report_put_number(json, key, value);
}

static void put_side(eg__json *json, const char *key, const eg__diff_side *s) {
    char noise[EG_NOISE_TEXT];
    eg__json_open_object(json, key);
    eg__report_put_text(json, "name", s->name);
    eg__report_put_text(json, "model", eg__json_text(s->run, "model"));
    eg__diff_put_number(json, "measured_at", eg__json_number(s->run, "measured_at"));
    eg__json_put_count(json, "runs", s->sample_count);
    eg__report_put_text(json, "verdict", eg__json_text(s->run, "verdict"));
    eg_statistics_noise(&s->time, noise);
    eg__report_put_text(json, "noise", noise);
    eg__json_close(json);
}

/* ---- times of runs */
static const char *judge_overall(const eg__diff *d) {
    return d->result.verdict == EG_VERDICT_SLOWER   ? EG__JUDGEMENT_SLOWER
           : d->result.verdict == EG_VERDICT_FASTER ? EG__JUDGEMENT_FASTER
                                                    : EG__JUDGEMENT_NOISE;
}

/* Two intervals that overlap may have the same value. */
static const char *judge_intervals(const eg__diff *d, const eg_interval *a, const eg_interval *b) {
    if (isnan(a->low) || isnan(a->high) || isnan(b->low) || isnan(b->high))
        return "spread not known";
    if (a->low <= b->high && b->low <= a->high) return EG__JUDGEMENT_NOISE;
    return eg__diff_judge_time(d, a->value, b->value, 0);
}

static void put_interval(eg__json *json, const char *key, const eg_interval *interval) {
    eg__json_open_object(json, key);
    eg__report_put_number(json, "value", interval->value);
    eg__report_put_number(json, "low", interval->low);
    eg__report_put_number(json, "high", interval->high);
    eg__json_close(json);
}

static void put_time(eg__json *json, const eg__diff *d, const char *name, const eg_interval *a,
                     const eg_interval *b, const char *judgement) {
    eg__json_open_object(json, NULL);
    eg__report_put_text(json, "name", name);
    put_interval(json, "old", a);
    put_interval(json, "new", b);
    eg__report_put_number(json, "change", eg__diff_change(a->value, b->value));
    eg__report_put_text(json, "judgement", judgement ? judgement : judge_intervals(d, a, b));
    eg__json_close(json);
}

static void put_times(eg__json *json, const eg__diff *d) {
    const eg_statistics *a = &d->side[EG__DIFF_OLD].time, *b = &d->side[EG__DIFF_NEW].time;
    eg__json_open_object(json, "time");
    eg__report_put_text(json, "unit", "s");
    eg__report_put_text(json, "provenance", eg_provenance_name(EG_MEASURED));
    put_interval(json, "ratio", &d->result.ratio);
    eg__report_put_number(json, "p", d->result.p);
    eg__report_put_number(json, "alpha", d->compare.alpha);
    eg__report_put_number(json, "effect", d->compare.effect);
    eg__report_put_number(json, "noise_seconds", d->noise_seconds);
    eg__json_open_list(json, "rows");
    put_time(json, d, "p50", &a->p50, &b->p50, judge_overall(d));
    put_time(json, d, "mean", &a->mean, &b->mean, NULL);
    put_time(json, d, "p90", &a->p90, &b->p90, NULL);
    put_time(json, d, "p99", &a->p99, &b->p99, NULL);
    eg__json_close(json);
    eg__json_close(json);
}

/* ---- the verdict */
static void put_verdict(eg__json *json, const eg__diff *d) {
    const eg__diff_side *a = &d->side[EG__DIFF_OLD], *b = &d->side[EG__DIFF_NEW];
    const eg_interval *r = &d->result.ratio;
    char was[32], is[32], range[96] = "", text[600];
    eg__report_seconds(was, a->time.p50.value);
    eg__report_seconds(is, b->time.p50.value);
    if (isfinite(r->low) && isfinite(r->high))
        eg__report_print(range, sizeof range, "; 95 %%: %.1f %% to %.1f %%", 100 * (r->low - 1),
                         100 * (r->high - 1));
    const double percent = 100 * fabs(r->value - 1);
    if (d->result.verdict == EG_VERDICT_SAME)
        eg__report_print(text, sizeof text,
                         "no difference beyond noise: a run takes %s in %.80s and %s in %.80s "
                         "(%.1f %%%s; p %.2g)",
                         was, a->name, is, b->name, 100 * (r->value - 1), range, d->result.p);
    else
        eg__report_print(text, sizeof text,
                         "%.80s is %.1f %% %s than %.80s: %s became %s%s (p %.2g)", b->name,
                         percent, judge_overall(d), a->name, was, is, range, d->result.p);
    eg__report_put_text(json, "judgement", judge_overall(d));
    eg__report_put_text(json, "verdict", eg__report_clip(text));
}

void eg__diff_document(eg__json *json, const eg__diff *d) {
    const eg__json_value *old_run = d->side[EG__DIFF_OLD].run;
    eg__json_open_object(json, NULL);
    eg__json_put_count(json, "elegans_diff", 1);
    eg__report_put_text(json, "model", eg__json_text(old_run, "model"));
    eg__diff_put_number(json, "batch", eg__json_number(old_run, "batch"));
    eg__diff_put_number(json, "seq", eg__json_number(old_run, "seq"));
    put_verdict(json, d);
    put_side(json, "old", &d->side[EG__DIFF_OLD]);
    put_side(json, "new", &d->side[EG__DIFF_NEW]);
    eg__diff_environment(json, d);
    put_times(json, d);
    eg__diff_operations(json, d);
    eg__diff_figures(json, d);
    eg__json_close(json);
}
