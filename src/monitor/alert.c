/* Alerts: a condition over samples, for some time, with hysteresis. */
#include "monitor/alert.h"
#include "base/abi.h"
#include "engine/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct eg_alert {
    eg__memory *memory;
    eg__alert_rule rule;
    char *text;
    bool pending, firing;
    double held; /* seconds for which the condition holds */
};

eg_status eg_alert_create(eg_context *context, const char *text, eg_alert **out, eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the alert");
    *out = NULL;
    if (!context || !text) return eg__fail(error, EG_ERR_ARGUMENT, "no context, or no expression");
    eg__alert_rule rule;
    const eg_status status = eg__alert_parse(text, &rule, error);
    if (status) return status;
    eg__memory *memory = eg__context_memory(context);
    eg_alert *a = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *a, error);
    if (!a) return EG_ERR_MEMORY;
    a->memory = memory;
    a->rule = rule;
    a->text = eg__memory_take_text(memory, EG_TAG_MEASURE, text, strlen(text), error);
    if (!a->text) {
        eg_alert_destroy(a);
        return EG_ERR_MEMORY;
    }
    *out = a;
    return EG_OK;
}

void eg_alert_destroy(eg_alert *a) {
    if (!a) return;
    eg__memory_give(a->memory, a->text);
    eg__memory_give(a->memory, a);
}

/* ---- the value that is furthest beyond the limit */
static void consider(const eg__alert_rule *rule, const eg_metric *m, const char *subject,
                     uint64_t pid, eg_alert_state *out) {
    if (m->provenance == EG_UNAVAILABLE || !isfinite(m->value)) return;
    if (!isnan(out->value) && (rule->above ? m->value <= out->value : m->value >= out->value))
        return;
    out->value = m->value;
    out->pid = pid;
    snprintf(out->subject, sizeof out->subject, "%.63s", subject);
}

static bool is_meant(const char *label, const eg_published *p) {
    char pid[24];
    snprintf(pid, sizeof pid, "%llu", (unsigned long long)p->pid);
    return !label[0] || strcmp(label, p->activity) == 0 || strcmp(label, p->program) == 0 ||
           strcmp(label, p->model) == 0 || strcmp(label, pid) == 0;
}

static void look(const eg__alert_rule *rule, const eg_monitor_sample *sample, eg_alert_state *out) {
    for (size_t i = 0; rule->is_sensor && i < sample->reading_count; i++) {
        const eg_reading *r = &sample->readings[i];
        if ((int)r->sensor == rule->id && (!rule->label[0] || strcmp(rule->label, r->label) == 0))
            consider(rule, &r->metric, r->label, 0, out);
    }
    for (size_t i = 0; !rule->is_sensor && i < sample->published_count; i++) {
        const eg_published *p = &sample->published[i];
        if (is_meant(rule->label, p))
            consider(rule, &p->figures[rule->id], p->activity, p->pid, out);
    }
}

static bool is_beyond(const eg__alert_rule *rule, double value, double limit, bool or_equal) {
    if (isnan(value)) return false;
    return rule->above ? value > limit || (or_equal && value == limit)
                       : value < limit || (or_equal && value == limit);
}

/* ---- over time: by the clock of the samples, so that a recording gives the same alerts */
static eg_alert_event advance(eg_alert *a, double value, double elapsed) {
    const eg__alert_rule *rule = &a->rule;
    if (a->firing) {
        /* up to the end value it goes on */
        if (is_beyond(rule, value, rule->clear, rule->clear != rule->limit || rule->or_equal))
            return EG_ALERT_NONE;
        a->firing = a->pending = false;
        return EG_ALERT_CLEARED;
    }
    if (!is_beyond(rule, value, rule->limit, rule->or_equal)) {
        a->pending = false;
        return EG_ALERT_NONE;
    }
    a->held = a->pending ? a->held + elapsed : 0;
    a->pending = true;
    if (a->held < rule->hold) return EG_ALERT_NONE;
    a->firing = true;
    return EG_ALERT_FIRED;
}

static void describe(const eg_alert *a, eg_alert_state *out) {
    char of[120] = "", hold[48] = "";
    char value[EG__UNIT_TEXT], limit[EG__UNIT_TEXT];
    eg__unit_show(value, out->unit, out->value);
    eg__unit_show(limit, out->unit, out->limit);
    if (out->pid)
        snprintf(of, sizeof of, " of %s (pid %llu)", out->subject, (unsigned long long)out->pid);
    else if (out->subject[0]) snprintf(of, sizeof of, " of %s", out->subject);
    if (a->rule.hold > 0) snprintf(hold, sizeof hold, "for %g s ", a->rule.hold);
    if (isnan(out->value))
        snprintf(out->message, sizeof out->message, "%s is no longer known", out->name);
    else if (out->event == EG_ALERT_CLEARED)
        snprintf(out->message, sizeof out->message, "%s%s is %s again", out->name, of, value);
    else
        snprintf(out->message, sizeof out->message, "%s%s is %s, %s%s %s", out->name, of, value,
                 hold, a->rule.above ? "above" : "below", limit);
}

eg_status eg_alert_check(eg_alert *a, const eg_monitor_sample *sample, eg_alert_state *out,
                         eg_error *error) {
    if (!a || !sample || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no alert, no sample, or no output pointer");
    eg_alert_state state = {.text = a->text,
                            .name = a->rule.name,
                            .unit = a->rule.unit,
                            .limit = a->rule.limit,
                            .value = (double)NAN};
    look(&a->rule, sample, &state);
    state.event = advance(a, state.value, sample->elapsed);
    state.firing = a->firing;
    describe(a, &state);
    EG__INFO(eg_alert_state, out, &state);
    return EG_OK;
}
