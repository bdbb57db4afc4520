/* Reports: a profile as JSON, and as one page of HTML or Markdown; two of them compared; pictures (SVG) of wirings,
 * trainings, times, histories and entropies.
 * Experimental. */
#ifndef ELEGANS_REPORT_H
#define ELEGANS_REPORT_H

#include "elegans/context.h"
#include "elegans/entropy.h"
#include "elegans/fit.h"
#include "elegans/preset.h"
#include "elegans/profile.h"
#include "elegans/project.h"
#include "elegans/wiring.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A finished text. It never changes, so any thread may read it; its memory is the context's (EG_TAG_FILE), so it must
 * go before the context. */
typedef struct eg_report eg_report; /* opaque */

typedef enum eg_report_format {
    EG_REPORT_HTML, /* one page that needs no other file and no network; the document is in it, too */
    EG_REPORT_MARKDOWN, /* tables for issues and reviews */
    EG_REPORT_JSON      /* the document that the other two are made of: "elegans_profile": 1 */
} eg_report_format;

/* Optional parts of the document of a profile, in addition to verdict, findings, machine, figures, times and ceilings.
 * */
enum {
    EG_REPORT_COMPUTE = 1, /* operations, steps */
    EG_REPORT_MEMORY = 2,  /* by tag, over time, the arena in a run */
    EG_REPORT_HARDWARE = 4 /* what the system counted */
};

/* The same program on another chip. A result that is all zero was not checked. */
typedef struct eg_report_device {
    char name[64];                            /* "M1 Max" */
    eg_projection projection;                 /* eg_projector_project */
    eg_requirement_result compute, bandwidth; /* eg_requirement_check_run */
} eg_report_device;

typedef struct eg_report_options { /* all zero = defaults */
    size_t size;                   /* sizeof(eg_report_options); 0 = the fields of version 0.1 */
    eg_report_format format;       /* 0 = EG_REPORT_HTML */
    int basic;                     /* leaves ratios, bottlenecks and advice out of pages */
    int indented;                  /* JSON in lines, indented by two; 0 = one line */
    unsigned digits;               /* of numbers in JSON, at most 17; 0 = all that matter */
    /* Of eg_report_of_profile alone: */
    unsigned parts;                  /* of JSON, joined with |; 0 = all; pages have all */
    size_t device_count;             /* other chips; 0 = none */
    const eg_report_device *devices; /* read during the call */
} eg_report_options;

/* What a profile says. `analysis` is that of this profile (after eg_analysis_try, if you like); NULL = eg_analyse is
 * called. EG_ERR_UNSUPPORTED: pages, in a build without jansson. On failure *out is NULL; you own *out. */
EG_API eg_status eg_report_of_profile(const eg_profile *profile, const eg_analysis *analysis,
                                      const eg_report_options *options, eg_report **out,
                                      eg_error *error);
/* The same of the document of a profile, from memory or from a regular file. EG_ERR_FORMAT: it is no JSON (the message
 * names byte and line), or no profile of version 1. Whatever is missing in it is missing in the report; all text of it
 * is escaped. EG_ERR_UNSUPPORTED in a build without jansson. */
EG_API eg_status eg_report_of_text(eg_context *context, const char *json, size_t length,
                                   const eg_report_options *options, eg_report **out,
                                   eg_error *error);
EG_API eg_status eg_report_of_file(eg_context *context, const char *path,
                                   const eg_report_options *options, eg_report **out,
                                   eg_error *error);

/* ---- two runs of one model: what changed, and what is within noise */
typedef struct eg_report_diff_options { /* all zero = defaults */
    size_t size;             /* sizeof(eg_report_diff_options); 0 = the fields of version 0.1 */
    eg_report_format format; /* 0 = EG_REPORT_HTML; the document is "elegans_diff": 1 */
    int any_model; /* compares although model, batch or length differ, and names the difference */
    int indented;  /* as of eg_report_options */
    unsigned digits;
    const char *old_name, *new_name;   /* of the runs; NULL = their paths, or "A" and "B" */
    const eg_compare_options *compare; /* NULL = defaults, with fewer resamples of many samples */
} eg_report_diff_options;
/* Compares the documents of two profiles, from memory or from regular files. Times of runs are judged by eg_compare, rates
 * with them. Operations have one time each: one is slower or faster if it changed by `effect` or more and by more
 * than the median of the whole run may be off. What was counted is equal or changed. Differences of the environment
 * (chip, threads, isa, power ...) are named. Every figure keeps its provenance.
 * EG_ERR_FORMAT: one of them is no profile, or has no times of runs; EG_ERR_ARGUMENT: two models, batches or lengths.
 * The message names the document. EG_ERR_UNSUPPORTED in a build without jansson. On failure *out is NULL; you own *out. */
EG_API eg_status eg_report_diff_texts(eg_context *context, const char *old_json, size_t old_length,
                                      const char *new_json, size_t new_length,
                                      const eg_report_diff_options *options, eg_report **out,
                                      eg_error *error);
EG_API eg_status eg_report_diff_files(eg_context *context, const char *old_path,
                                      const char *new_path, const eg_report_diff_options *options,
                                      eg_report **out, eg_error *error);

/* ---- pictures */
/* SVG: columns of inputs and layers (a ring when there is one layer), synapses between them, a legend. */
EG_API eg_status eg_report_of_wiring(const eg_wiring *wiring, const char *title, eg_report **out,
                                     eg_error *error);
/* SVG: training and validation losses over epochs, and the best epoch. The scale is logarithmic where the losses differ
 * by more than a factor of 8. */
EG_API eg_status eg_report_of_fit(eg_context *context, const eg_fit_result *result, eg_report **out,
                                  eg_error *error);
/* SVG: `count` times in seconds, the newest first, as eg_history_list tells them; drawn from the oldest on. */
EG_API eg_status eg_report_of_times(eg_context *context, const char *title, const double *seconds,
                                    size_t count, eg_report **out, eg_error *error);
/* One run of a history. */
typedef struct eg_report_run {
    int64_t time;     /* when it was measured, seconds since 1970; 0 to the end of the year 9999 */
    double seconds;   /* the median */
    double low, high; /* its confidence interval; NaN = not known */
    const char *name; /* of a baseline; NULL = none */
} eg_report_run;
/* SVG: medians over time, in any order: dates (UTC) across, times with their unit up, a marker and an interval for each run,
 * baselines named, and a line across at the newest of them. EG_ERR_ARGUMENT: a time that is out of range. */
EG_API eg_status eg_report_of_history(eg_context *context, const char *title,
                                      const eg_report_run *runs, size_t count, eg_report **out,
                                      eg_error *error);
/* SVG: entropy along an input and, where there are patches, their sizes below. `window` is told in the picture; with
 * `thresholds`, those of the curve are drawn. */
EG_API eg_status eg_report_of_entropy(const eg_entropy_curve *curve, const char *title,
                                      uint64_t window, int thresholds, eg_report **out,
                                      eg_error *error);

/* Terminated, without a newline at the end of JSON; it lives as long as the report. `length` may be NULL. */
EG_API const char *eg_report_text(const eg_report *report, size_t *length);
/* Into a file that is written beside and renamed (elegans/file.h), with a newline at its end. */
EG_API eg_status eg_report_write(const eg_report *report, const char *path, eg_error *error);
EG_API void eg_report_destroy(eg_report *report); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
