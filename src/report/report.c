/* Reports as objects: made of a profile, of its document, or as a picture; read, written, destroyed. */
#include "base/locale.h"
#include "base/abi.h"
#include "report/report.h"
#include "engine/context.h"
#include "formats/files/file.h"
#include "nn/wiring.h"
#include "profile/profile.h"
#include "signal/entropy.h"

#include <math.h>
#include <stdlib.h>

struct eg_report {
    eg__memory *memory;
    char *text;
    size_t length;
};

/* A profile of some minutes has megabytes of samples; anything larger is not a profile. */
enum { DOCUMENT_MOST = 1 << 30 };

static eg_status options_of(const eg_report_options *from, eg_report_options *to, eg_error *error) {
    const eg_status status = EG__OPTIONS(eg_report_options, to, from, error);
    if (status) return status;
    if ((unsigned)to->format > EG_REPORT_JSON)
        return eg__fail(error, EG_ERR_ARGUMENT, "no format '%d' of a report", (int)to->format);
    if (to->device_count && !to->devices)
        return eg__fail(error, EG_ERR_ARGUMENT, "%zu devices, and no list of them",
                        to->device_count);
    return EG_OK;
}

/* Takes the text over, whatever comes of it. */
static eg_status finish(eg__memory *memory, char *text, size_t length, eg_report **out,
                        eg_error *error) {
    eg_report *report = NULL;
    const eg_status status =
        eg__file_take(memory, EG_TAG_FILE, sizeof *report, (void **)&report, error);
    if (status) eg__memory_give(memory, text);
    else *report = (eg_report){memory, text, length};
    *out = report;
    return status;
}

eg_status eg__report_finish_json(eg__json *json, eg_report **out, eg_error *error) {
    char *text;
    size_t length;
    const eg_status status = eg__json_end(json, &text, &length, error);
    return status ? status : finish(json->memory, text, length, out, error);
}

eg_status eg__report_finish_page(eg__page *page, eg_report **out, eg_error *error) {
    if (!page->fault.status) return finish(page->memory, page->text, page->length, out, error);
    eg__memory_give(page->memory, page->text);
    return eg__fail(error, page->fault.status, "%s", page->fault.message);
}

eg_status eg__report_check(const eg__json_value *run, eg_error *error) {
    if (eg__json_number(run, "elegans_profile") == 1) return EG_OK;
    return eg__fail(error, EG_ERR_FORMAT, "no profile of version 1");
}

static eg_status make(eg__memory *memory, const eg__json_value *run,
                      const eg_report_options *options, eg_report **out, eg_error *error) {
    const eg_status status = eg__report_check(run, error);
    if (status) return status;
    if (options->format == EG_REPORT_JSON) {
        eg__json json;
        eg__json_begin(&json, memory);
        json.digits = options->digits;
        json.indented = options->indented;
        eg__json_put_value(&json, NULL, run);
        return eg__report_finish_json(&json, out, error);
    }
    eg__page page = {.memory = memory};
    const eg__sheet sheet = {&page, run, options};
    if (options->format == EG_REPORT_MARKDOWN) eg__report_markdown(&sheet);
    else eg__report_html(&sheet);
    return eg__report_finish_page(&page, out, error);
}

static eg_status make_of_text(eg__memory *memory, const char *json, size_t length,
                              const eg_report_options *options, eg_report **out, eg_error *error) {
    eg__json_value *run;
    eg_status status = eg__json_value_read(memory, json, length, &run, error);
    if (!status) status = make(memory, run, options, out, error);
    eg__json_value_free(run);
    return status;
}

eg_status eg_report_of_text(eg_context *context, const char *json, size_t length,
                            const eg_report_options *options, eg_report **out, eg_error *error) {
    eg_report_options o;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!context || !json) return eg__fail(error, EG_ERR_ARGUMENT, "no context or no document");
    const eg_status status = options_of(options, &o, error);
    return status ? status
                  : make_of_text(eg__context_memory(context), json, length, &o, out, error);
}

eg_status eg_report_of_file(eg_context *context, const char *path, const eg_report_options *options,
                            eg_report **out, eg_error *error) {
    void *json;
    size_t length;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!context || !path) return eg__fail(error, EG_ERR_ARGUMENT, "no context or no path");
    eg__memory *memory = eg__context_memory(context);
    eg_status status = eg__file_read(memory, path, DOCUMENT_MOST, &json, &length, error);
    if (status) return status;
    status = eg_report_of_text(context, json, length, options, out, error);
    eg__memory_give(memory, json);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

/* Pages are made from the document, as for a stored one, so both are the same. */
static eg_status make_of_profile(const eg_profile *profile, const eg_analysis *analysis,
                                 const eg_report_options *options, eg_report **out,
                                 eg_error *error) {
    eg__json json;
    char *text;
    size_t length;
    const bool wanted = options->format == EG_REPORT_JSON;
    eg_report_options whole = *options;
    if (!wanted) whole.parts = 0;
    eg__json_begin(&json, profile->memory);
    json.digits = wanted ? options->digits : 0;
    json.indented = wanted && options->indented;
    eg__report_document(&json, profile, analysis, &whole);
    if (wanted) return eg__report_finish_json(&json, out, error);
    eg_status status = eg__json_end(&json, &text, &length, error);
    if (status) return status;
    status = make_of_text(profile->memory, text, length, options, out, error);
    eg__memory_give(profile->memory, text);
    return status;
}

eg_status eg_report_of_profile(const eg_profile *profile, const eg_analysis *analysis,
                               const eg_report_options *options, eg_report **out, eg_error *error) {
    eg_report_options o;
    eg_analysis *own = NULL;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!profile) return eg__fail(error, EG_ERR_ARGUMENT, "no profile");
    const locale_t before = eg__point_begin(); /* words of the profile have numbers, too */
    eg_status status = options_of(options, &o, error);
    if (!status && !analysis) status = eg_analyse(profile, &own, error);
    if (!status) status = make_of_profile(profile, analysis ? analysis : own, &o, out, error);
    eg_analysis_destroy(own);
    eg__point_end(before);
    return status;
}

eg_status eg_report_of_wiring(const eg_wiring *wiring, const char *title, eg_report **out,
                              eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!wiring || !title) return eg__fail(error, EG_ERR_ARGUMENT, "no wiring or no title");
    eg__page page = {.memory = wiring->memory};
    eg__report_wiring(&page, wiring, title);
    return eg__report_finish_page(&page, out, error);
}

eg_status eg_report_of_fit(eg_context *context, const eg_fit_result *result, eg_report **out,
                           eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!context || !result) return eg__fail(error, EG_ERR_ARGUMENT, "no context or no result");
    if (result->history_count && !result->history)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%llu' epochs, and no list of them",
                        (unsigned long long)result->history_count);
    eg__page page = {.memory = eg__context_memory(context)};
    eg__report_fit(&page, result);
    return eg__report_finish_page(&page, out, error);
}

static eg_status take_runs(eg__memory *memory, size_t count, eg_report_run **out, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = eg__memory_take_array(memory, EG_TAG_FILE, count + 1, sizeof **out, &reason);
    return *out ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

/* Gives the runs back. */
static eg_status draw_runs(eg__memory *memory, const char *title, eg_report_run *runs, size_t count,
                           bool dated, eg_report **out, eg_error *error) {
    eg__page page = {.memory = memory};
    eg__report_history(&page, title, runs, count, dated);
    eg__memory_give(memory, runs);
    return eg__report_finish_page(&page, out, error);
}

eg_status eg_report_of_times(eg_context *context, const char *title, const double *seconds,
                             size_t count, eg_report **out, eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!context || !title) return eg__fail(error, EG_ERR_ARGUMENT, "no context or no title");
    if (count && !seconds)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%zu' times, and no list of them", count);
    eg_report_run *runs;
    eg__memory *memory = eg__context_memory(context);
    const eg_status status = take_runs(memory, count, &runs, error);
    if (status) return status;
    for (size_t i = 0; i < count; i++) /* the oldest first */
        runs[i] = (eg_report_run){0, seconds[count - 1 - i], (double)NAN, (double)NAN, NULL};
    return draw_runs(memory, title, runs, count, false, out, error);
}

/* Those of one second in the order of eg_history_list, the newest first. */
typedef struct dated_run {
    eg_report_run run;
    size_t at;
} dated_run;

static int by_time(const void *a, const void *b) {
    const dated_run *x = a, *y = b;
    if (x->run.time != y->run.time) return x->run.time < y->run.time ? -1 : 1;
    return (x->at < y->at) - (x->at > y->at);
}

static eg_status sort_runs(eg__memory *memory, const eg_report_run *given, size_t count,
                           eg_report_run *out, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    dated_run *runs = eg__memory_take_array(memory, EG_TAG_FILE, count + 1, sizeof *runs, &reason);
    if (!runs) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < count; i++) runs[i] = (dated_run){given[i], i};
    qsort(runs, count, sizeof *runs, by_time);
    for (size_t i = 0; i < count; i++) out[i] = runs[i].run;
    eg__memory_give(memory, runs);
    return EG_OK;
}

eg_status eg_report_of_history(eg_context *context, const char *title, const eg_report_run *given,
                               size_t count, eg_report **out, eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!context || !title) return eg__fail(error, EG_ERR_ARGUMENT, "no context or no title");
    if (count && !given)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%zu' runs, and no list of them", count);
    for (size_t i = 0; i < count; i++)
        if (given[i].time < 0 || given[i].time >= EG__REPORT_LAST)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "run %zu was measured at '%lld', not within the years 1970 to 9999", i,
                            (long long)given[i].time);
    eg_report_run *runs;
    eg__memory *memory = eg__context_memory(context);
    eg_status status = take_runs(memory, count, &runs, error);
    if (status) return status;
    status = sort_runs(memory, given, count, runs, error);
    if (!status) return draw_runs(memory, title, runs, count, true, out, error);
    eg__memory_give(memory, runs);
    return status;
}

eg_status eg_report_of_entropy(const eg_entropy_curve *curve, const char *title, uint64_t window,
                               int thresholds, eg_report **out, eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the report");
    *out = NULL;
    if (!curve || !title) return eg__fail(error, EG_ERR_ARGUMENT, "no curve or no title");
    eg_entropy_curve_info info = {.size = sizeof info};
    eg_entropy_curve_info_get(curve, &info);
    eg__page page = {.memory = eg__entropy_curve_memory(curve)};
    eg__report_entropy(&page, &info, title, window, thresholds != 0);
    return eg__report_finish_page(&page, out, error);
}

/* ---- finished ones */
const char *eg_report_text(const eg_report *report, size_t *length) {
    if (length) *length = report->length;
    return report->text;
}

eg_status eg_report_write(const eg_report *report, const char *path, eg_error *error) {
    eg__writer writer;
    if (!report || !path) return eg__fail(error, EG_ERR_ARGUMENT, "no report or no path");
    eg_status status = eg__writer_begin(&writer, path, error);
    if (status) return status;
    status = eg__writer_append(&writer, report->text, report->length, error);
    if (!status && report->text[report->length - 1] != '\n')
        status = eg__writer_append(&writer, "\n", 1, error);
    return eg__writer_end(&writer, status, error);
}

void eg_report_destroy(eg_report *report) {
    if (!report) return;
    eg__memory *memory = report->memory;
    eg__memory_give(memory, report->text);
    eg__memory_give(memory, report);
}
