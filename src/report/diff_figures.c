/* Figures of two runs, one by one: what was counted is equal or not; what follows from the median is judged with it. */
#include "report/diff.h"

#include <math.h>
#include <string.h>

/* Rates over the median time. */
static const char *const rates[] = {
    "samples_per_second", "steps_per_second",    "tflops",    "compute_efficiency",
    "operand_rate",       "operand_utilization", "bandwidth", "bandwidth_utilization",
    "memory_bandwidth",   "mc_utilization"};
/* These are among the times of runs, with their intervals. */
static const char *const times[] = {"time_median", "time_mean"};

static bool is_among(const char *const *names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

typedef struct walk {
    eg__json *json;
    const eg__diff *diff;
    const char *section;
    const eg__json_value *old_object, *new_object;
    bool second; /* members of the new one that the old one lacks */
} walk;

static bool is_known(const eg__json_value *metric) {
    return isfinite(eg__json_number(metric, "value"));
}

/* Half of the interval of the ratio of the medians, at least what counts as a change. */
static double noise_of(const eg__diff *d) {
    const eg_interval *r = &d->result.ratio;
    return fmax(d->compare.effect, (r->high - r->low) / 2);
}

/* A rate that does not change as the median does has changed for another reason: what it counts, or its ceiling. */
static const char *judge_rate(const eg__diff *d, double change) {
    const double expected = 1 / d->result.ratio.value - 1;
    if (fabs(change - expected) > noise_of(d)) return "changed";
    return d->result.verdict == EG_VERDICT_SAME     ? EG__JUDGEMENT_NOISE
           : d->result.verdict == EG_VERDICT_FASTER ? EG__JUDGEMENT_FASTER
                                                    : EG__JUDGEMENT_SLOWER;
}

static const char *judge(const walk *w, const char *name, const eg__json_value *a,
                         const eg__json_value *b) {
    const double was = eg__json_number(a, "value"), is = eg__json_number(b, "value");
    const char *provenance = eg__json_text(a, "provenance");
    if (!is_known(a)) return "only in the second";
    if (!is_known(b)) return "only in the first";
    if (strcmp(eg__json_text(a, "unit"), eg__json_text(b, "unit")) != 0) return "other unit";
    if (strcmp(provenance, eg__json_text(b, "provenance")) != 0) return "other provenance";
    if (was == is) return "equal";
    if (strcmp(w->section, "metrics") == 0 && is_among(rates, sizeof rates / sizeof *rates, name))
        return judge_rate(w->diff, eg__diff_change(was, is));
    return strcmp(provenance, "measured") == 0 ? "one measurement each" : "changed";
}

static void put_value(eg__json *json, const char *key, const eg__json_value *metric) {
    const bool known = is_known(metric);
    eg__json_open_object(json, key);
    eg__diff_put_number(json, "value", eg__json_number(metric, "value"));
    eg__report_put_text(json, "unit", eg__json_text(metric, "unit"));
    eg__report_put_text(json, "provenance", eg__json_text(metric, "provenance"));
    eg__report_put_text(json, known ? "source" : "reason",
                        eg__json_text(metric, known ? "source" : "reason"));
    eg__json_close(json);
}

static bool put_figure(void *user, const char *name, const eg__json_value *value) {
    const walk *w = user;
    const eg__json_value *a = eg__json_get(w->old_object, name),
                         *b = eg__json_get(w->new_object, name);
    (void)value;
    if ((w->second && a) || is_among(times, sizeof times / sizeof *times, name)) return true;
    if (!is_known(a) && !is_known(b)) return true; /* nothing to compare */
    eg__json_open_object(w->json, NULL);
    eg__report_put_text(w->json, "section", w->section);
    eg__report_put_text(w->json, "name", name);
    put_value(w->json, "old", a);
    put_value(w->json, "new", b);
    eg__report_put_number(
        w->json, "change",
        eg__diff_change(eg__json_number(a, "value"), eg__json_number(b, "value")));
    eg__report_put_text(w->json, "judgement", judge(w, name, a, b));
    eg__json_close(w->json);
    return true;
}

void eg__diff_figures(eg__json *json, const eg__diff *d) {
    static const char *const sections[] = {"metrics", "hardware", "ceilings"};
    eg__json_open_list(json, "figures");
    for (int i = 0; i < 3; i++) {
        walk w = {json,
                  d,
                  sections[i],
                  eg__json_get(d->side[EG__DIFF_OLD].run, sections[i]),
                  eg__json_get(d->side[EG__DIFF_NEW].run, sections[i]),
                  false};
        eg__json_each(w.old_object, put_figure, &w);
        w.second = true;
        eg__json_each(w.new_object, put_figure, &w);
    }
    eg__json_close(json);
}
