/* Two runs compared: both documents read and checked, their times tested, a document or page made of it. */
#include "base/abi.h"
#include "report/diff.h"
#include "engine/context.h"
#include "formats/files/file.h"

#include <math.h>
#include <string.h>

/* As of other documents: anything larger is not a profile. */
enum { DOCUMENT_MOST = 1 << 30 };

static eg_status options_of(const eg_report_diff_options *from, eg_report_diff_options *to,
                            eg__diff *d, eg_error *error) {
    eg_status status = EG__OPTIONS(eg_report_diff_options, to, from, error);
    if (!status) status = EG__OPTIONS(eg_compare_options, &d->compare, to->compare, error);
    if (status) return status;
    if ((unsigned)to->format > EG_REPORT_JSON)
        return eg__fail(error, EG_ERR_ARGUMENT, "no format '%d' of a report", (int)to->format);
    d->side[EG__DIFF_OLD].name = to->old_name ? to->old_name : "A";
    d->side[EG__DIFF_NEW].name = to->new_name ? to->new_name : "B";
    if (d->compare.alpha == 0) d->compare.alpha = 0.01;
    if (d->compare.effect == 0) d->compare.effect = 0.03;
    return EG_OK;
}

/* ---- documents */
static eg_status read_samples(const eg__diff *d, eg__diff_side *s, eg_error *error) {
    const eg__json_value *list = eg__json_get(eg__json_get(s->run, "time"), "samples");
    eg_error reason = {EG_ERR_MEMORY, ""};
    char text[32];
    s->sample_count = eg__json_length(list);
    if (!s->sample_count)
        return eg__fail(error, EG_ERR_FORMAT, "no times of runs ('time.samples')");
    s->samples =
        eg__memory_take_array(d->memory, EG_TAG_FILE, s->sample_count, sizeof *s->samples, &reason);
    if (!s->samples) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < s->sample_count; i++) {
        const double value = eg__json_item_number(list, i);
        eg__report_print(text, sizeof text, isnan(value) ? "no number" : "%g", value);
        if (!(value > 0))
            return eg__fail(error, EG_ERR_FORMAT,
                            "sample %zu of 'time.samples' is '%s', not a time", i, text);
        s->samples[i] = value;
    }
    return eg_statistics_of(d->context, s->sample_count, s->samples, &s->time, error);
}

static eg_status read_side(const eg__diff *d, eg__diff_side *s, const char *json, size_t length,
                           eg_error *error) {
    eg_status status = eg__json_value_read(d->memory, json, length, &s->run, error);
    if (!status) status = eg__report_check(s->run, error);
    if (!status) status = read_samples(d, s, error);
    return status ? eg__file_blame(error, status, "", s->name) : EG_OK;
}

/* ---- what can be compared */
static eg_status check_same(const eg__diff *d, eg_error *error) {
    static const char *const keys[] = {"batch", "seq"};
    const eg__json_value *old_run = d->side[EG__DIFF_OLD].run, *new_run = d->side[EG__DIFF_NEW].run;
    const char *old_model = eg__json_text(old_run, "model"),
               *new_model = eg__json_text(new_run, "model");
    if (strcmp(old_model, new_model) != 0)
        return eg__fail(
            error, EG_ERR_ARGUMENT,
            "two models: '%.80s' in '%.80s', '%.80s' in '%.80s' (any-model compares them)",
            old_model, d->side[EG__DIFF_OLD].name, new_model, d->side[EG__DIFF_NEW].name);
    for (int i = 0; i < 2; i++) {
        const double was = eg__json_number(old_run, keys[i]),
                     is = eg__json_number(new_run, keys[i]);
        if (was == is || (isnan(was) && isnan(is))) continue;
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "%s is '%.0f' in '%.80s' and '%.0f' in '%.80s' (any-model compares them)",
                        keys[i], was, d->side[EG__DIFF_OLD].name, is, d->side[EG__DIFF_NEW].name);
    }
    return EG_OK;
}

/* ---- times */
double eg__diff_change(double was, double is) {
    return was != 0 && isfinite(is / was) ? is / was - 1 : (double)NAN;
}

const char *eg__diff_judge_time(const eg__diff *d, double was, double is, double least) {
    const double change = eg__diff_change(was, is);
    if (was == is) return EG__JUDGEMENT_NOISE;
    if (isnan(change) || isnan(least)) return "spread not known";
    if (fabs(change) < d->compare.effect || !(fabs(is - was) > least)) return EG__JUDGEMENT_NOISE;
    return is > was ? EG__JUDGEMENT_SLOWER : EG__JUDGEMENT_FASTER;
}

static double half_width(const eg_interval *interval) {
    return (interval->high - interval->low) / 2;
}

static eg_status compare(eg__diff *d, eg_error *error) {
    const eg__diff_side *a = &d->side[EG__DIFF_OLD], *b = &d->side[EG__DIFF_NEW];
    const double drawn = (double)a->sample_count + (double)b->sample_count;
    /* a bootstrap of millions would take minutes, and would not be more exact */
    if (!d->compare.resamples) d->compare.resamples = (uint64_t)fmin(2000, fmax(200, 2e8 / drawn));
    d->noise_seconds = fmax(half_width(&a->time.p50), half_width(&b->time.p50));
    if (isnan(half_width(&a->time.p50)) || isnan(half_width(&b->time.p50)))
        d->noise_seconds = (double)NAN; /* fmax would take the other */
    return eg_compare(d->context, a->sample_count, a->samples, b->sample_count, b->samples,
                      &d->compare, &d->result, error);
}

/* ---- documents and pages */
static eg_status make(const eg__diff *d, const eg_report_diff_options *o, eg_report **out,
                      eg_error *error) {
    const bool wanted = o->format == EG_REPORT_JSON;
    eg__json json;
    char *text;
    size_t length;
    eg__json_value *document;
    eg__json_begin(&json, d->memory);
    json.digits = wanted ? o->digits : 0;
    json.indented = wanted && o->indented;
    eg__diff_document(&json, d);
    if (wanted) return eg__report_finish_json(&json, out, error);
    eg_status status = eg__json_end(&json, &text, &length, error);
    if (status) return status;
    status = eg__json_value_read(d->memory, text, length, &document, error);
    eg__memory_give(d->memory, text);
    if (status) return status;
    const eg_report_options options = {.format = o->format, .digits = o->digits};
    eg__page page = {.memory = d->memory};
    const eg__sheet sheet = {&page, document, &options};
    if (o->format == EG_REPORT_MARKDOWN) eg__diff_markdown(&sheet);
    else eg__diff_html(&sheet);
    eg__json_value_free(document);
    return eg__report_finish_page(&page, out, error);
}

eg_status eg_report_diff_texts(eg_context *context, const char *old_json, size_t old_length,
                               const char *new_json, size_t new_length,
                               const eg_report_diff_options *options, eg_report **out,
                               eg_error *error) {
    eg_report_diff_options o;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!context || !old_json || !new_json)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no document");
    eg__diff d = {.context = context, .memory = eg__context_memory(context)};
    eg_status status = options_of(options, &o, &d, error);
    if (!status) status = read_side(&d, &d.side[EG__DIFF_OLD], old_json, old_length, error);
    if (!status) status = read_side(&d, &d.side[EG__DIFF_NEW], new_json, new_length, error);
    if (!status && !o.any_model) status = check_same(&d, error);
    if (!status) status = compare(&d, error);
    if (!status) status = make(&d, &o, out, error);
    for (int i = EG__DIFF_SIDES; i-- > 0;) {
        eg__memory_give(d.memory, d.side[i].samples);
        eg__json_value_free(d.side[i].run);
    }
    return status;
}

eg_status eg_report_diff_files(eg_context *context, const char *old_path, const char *new_path,
                               const eg_report_diff_options *options, eg_report **out,
                               eg_error *error) {
    eg_report_diff_options o;
    void *old_json, *new_json;
    size_t old_length, new_length;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!context || !old_path || !new_path)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no path");
    eg_status status = EG__OPTIONS(eg_report_diff_options, &o, options, error);
    if (status) return status;
    if (!o.old_name) o.old_name = old_path;
    if (!o.new_name) o.new_name = new_path;
    eg__memory *memory = eg__context_memory(context);
    status = eg__file_read(memory, old_path, DOCUMENT_MOST, &old_json, &old_length, error);
    if (status) return status;
    status = eg__file_read(memory, new_path, DOCUMENT_MOST, &new_json, &new_length, error);
    if (!status) {
        status = eg_report_diff_texts(context, old_json, old_length, new_json, new_length, &o, out,
                                      error);
        eg__memory_give(memory, new_json);
    }
    eg__memory_give(memory, old_json);
    return status;
}
