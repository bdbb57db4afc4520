/* What the machine and the programs that publish (publish.h) are doing: samples, their history, recordings, alerts.
 * Experimental. */
#ifndef ELEGANS_MONITOR_H
#define ELEGANS_MONITOR_H

#include "elegans/publish.h"
#include "elegans/sensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every figure of a program that publishes: name, unit, what it is. New rows go to the end. No sensor has the same name. */
#define EG_FIGURE_MAP(X)                                                                   \
    X(steps, "steps", "done so far")                                                       \
    X(step_rate, "steps/s", "over the time since the sample before")                       \
    X(p50, "s", "median time of the steps since the sample before")                        \
    X(p90, "s", "time that 90 % of them took at most")                                     \
    X(p99, "s", "time that 99 % of them took at most")                                     \
    X(flop_rate, "FLOP/s", "FLOPs of a step times steps per second")                       \
    X(byte_rate, "B/s", "operand bytes of a step times steps per second, from any memory") \
    X(peak_share, "%", "of the ceiling that bounds a step, while it runs")                 \
    X(held, "B", "memory that the library holds")                                          \
    X(held_peak, "B", "the most that it held")                                             \
    X(resident, "B", "memory of the whole process")                                        \
    X(tokens, "tokens", "done so far")                                                     \
    X(token_rate, "tokens/s", "over the time since the sample before")                     \
    X(epoch, "epochs", "of a training, the one that runs")                                 \
    X(epochs, "epochs", "of a training, all")                                              \
    X(updates, "updates", "of the parameters, in a training so far")                       \
    X(loss, NULL, "of a training, as it was reported last")                                \
    X(validation_loss, NULL, "of the last epoch that has one")                             \
    X(learning_rate, NULL, "at present")                                                   \
    X(gradient_norm, NULL, "of the last update")                                           \
    X(time_left, "s", "of a training, without early stopping")

typedef enum eg_figure {
#define EG_FIGURE_ENUM(name, unit, text) EG_FIGURE_##name,
    EG_FIGURE_MAP(EG_FIGURE_ENUM)
#undef EG_FIGURE_ENUM
        EG_FIGURE_COUNT
} eg_figure;
EG_API const char *eg_figure_name(eg_figure figure); /* "p50"; NULL for an unknown one; static */
EG_API const char *eg_figure_unit(eg_figure figure); /* "s"; NULL = a pure number */
EG_API const char *eg_figure_text(eg_figure figure);

typedef struct eg_loss_point {
    uint64_t step;           /* updates up to there */
    double loss, validation; /* means since the point before; validation: NaN = none */
} eg_loss_point;

/* A program that publishes, as it is now. */
enum { EG_VERDICT_TEXT = 160 };
typedef struct eg_published {
    uint64_t pid;
    char program[64], activity[32], model[128]; /* "" = it does not say */
    int64_t started_ns;                         /* since 1970: when it began to publish */
    eg_metric figures[EG_FIGURE_COUNT];         /* unknown ones say why */
    char verdict
        [EG_VERDICT_TEXT]; /* "compute-bound, 61 % of peak, 1.1 us/step (counted FLOPs, measured time)" */
    size_t loss_count;
    const eg_loss_point *losses; /* of a training, in order */
    size_t operation_count;
    const eg_operation_share *operations; /* where its time goes, if it was recorded */
} eg_published;

typedef struct eg_monitor_sample {
    size_t size;     /* sizeof(eg_monitor_sample); 0 = the fields of version 0.1 */
    int64_t time_ns; /* since 1970 */
    double elapsed;  /* seconds since the sample before; rates are over this time */
    size_t reading_count;
    const eg_reading *readings; /* of the machine, in the order of eg_sensor */
    size_t published_count;
    const eg_published *published; /* by pid */
    size_t ignored; /* files in the folder of the pages that are none, or of another version */
    const char *ignored_text; /* the first of them, and why; "" = none */
} eg_monitor_sample;

typedef struct eg_monitor eg_monitor; /* opaque; one thread at a time */
typedef struct eg_monitor_options {   /* all zero = this machine and this user, now */
    size_t size;        /* sizeof(eg_monitor_options); 0 = the fields of version 0.1 */
    const char *root;   /* for the sensors: a folder with the files of another machine */
    const char *folder; /* of the pages; NULL = that of this user */
    const char *replay; /* a recording (eg_monitor_line), instead of this machine; NULL = none */
} eg_monitor_options;

/* Reads every counter once, so that the first sample has rates. Pages of programs that no longer live are removed.
 * `options` may be NULL. You own *out; the context must outlive it. EG_ERR_UNSUPPORTED: a recording, in a build without
 * jansson. */
EG_API eg_status eg_monitor_open(eg_context *context, const eg_monitor_options *options,
                                 eg_monitor **out, eg_error *error);
EG_API void eg_monitor_close(eg_monitor *monitor); /* NULL is fine; stops it */
/* A sample; what it points to is valid until the next one. Takes a millisecond or so. Of a recording, the next line:
 * EG_ERR_STOPPED after the last, EG_ERR_FORMAT names line and fault. EG_ERR_BUSY: it was started. */
EG_API eg_status eg_monitor_read(eg_monitor *monitor, eg_monitor_sample *out, eg_error *error);
/* The last sample as a line of JSON, without a newline; it belongs to the monitor, until the next call. */
EG_API eg_status eg_monitor_line(eg_monitor *monitor, const char **text, size_t *length,
                                 eg_error *error);

/* The last sample for Prometheus and its relatives, as docs/monitoring.md lists it: names with base units
 * (elegans_step_duration_seconds{quantile="0.99",...}); what is unknown is left out. It belongs to the monitor, until the
 * next call. */
typedef enum eg_metrics_form {
    EG_METRICS_OPEN, /* OpenMetrics 1.0: application/openmetrics-text; version=1.0.0; charset=utf-8 */
    EG_METRICS_PROMETHEUS /* its older text format: text/plain; version=0.0.4; charset=utf-8 */
} eg_metrics_form;
EG_API eg_status eg_monitor_metrics(eg_monitor *monitor, eg_metrics_form form, const char **text,
                                    size_t *length, eg_error *error);

/* ---- a thread that samples */

/* Called in that thread; all calls about the monitor but eg_monitor_stop and eg_monitor_close are fine in it. After a
 * failure `sample` is NULL and `error` says why; at the end of a recording, EG_ERR_STOPPED, and no further call. */
typedef void (*eg_monitor_function)(void *user, const eg_monitor_sample *sample,
                                    const eg_error *error);
/* Every `interval` seconds, 0.01 to 86400. EG_ERR_BUSY: it was started already. */
EG_API eg_status eg_monitor_start(eg_monitor *monitor, double interval,
                                  eg_monitor_function function, void *user, eg_error *error);
EG_API void eg_monitor_stop(eg_monitor *monitor); /* returns after the last call; NULL is fine */

/* ---- history: every figure over the last hour. Memory stays the same: the oldest points go, and where samples come often,
 * neighbours become one point with minimum, mean and maximum. */
enum { EG_HISTORY_POINTS = 360, EG_HISTORY_SERIES = 512 };
typedef struct eg_history_point {
    double time; /* seconds since 1970: where the point begins */
    float least, mean, most;
    uint32_t samples; /* 0 = the figure was not known then */
} eg_history_point;
typedef struct eg_series_info {
    size_t size;       /* sizeof(eg_series_info); 0 = the fields of version 0.1 */
    const char *name;  /* "cpu_load" or "p99"; static */
    const char *unit;  /* static; NULL = a pure number */
    const char *label; /* of a sensor: "cpu0"; of a program: its activity */
    uint64_t pid;      /* 0 = a sensor */
    double seconds;    /* that a point stands for */
    size_t count;
    const eg_history_point *points; /* valid until the next sample */
} eg_series_info;
/* The series, in the order they appeared; EG_ERR_NOT_FOUND past the last. */
EG_API eg_status eg_monitor_series(eg_monitor *monitor, size_t index, eg_series_info *out,
                                   eg_error *error);
/* All of them as one document of JSON, and the programs that published in this hour as they were last, also those that have
 * ended: at most EG_HISTORY_RUNS. It belongs to the monitor, until the next call. */
enum { EG_HISTORY_RUNS = 32 };
EG_API eg_status eg_monitor_history(eg_monitor *monitor, const char **text, size_t *length,
                                    eg_error *error);

/* ---- alerts: NAME[:LABEL] COMPARISON VALUE[UNIT] [for DURATION] [clear VALUE[UNIT]]
 *
 *     p99 > 5us for 10s          temperature >= 90C          step_rate:stream < 1000 for 2s clear 1100
 *
 * NAME is that of a sensor or a figure, COMPARISON one of > >= < <=. LABEL is that of a reading, or the activity, program,
 * model or pid of a program; without it, any that fulfils the condition will do. The condition must hold in all samples
 * of that time. An alert ends when the figure has passed the value of `clear`, by default the limit less 5 % (plus, for <),
 * so that a figure that swings around its limit fires once. A figure that is unknown fulfils no condition. */
typedef struct eg_alert eg_alert; /* opaque */
/* EG_ERR_FORMAT and EG_ERR_NOT_FOUND (no such figure, or unit) name the fault and its position, from 1. */
EG_API eg_status eg_alert_create(eg_context *context, const char *text, eg_alert **out,
                                 eg_error *error);
EG_API void eg_alert_destroy(eg_alert *alert); /* NULL is fine */
typedef enum eg_alert_event { EG_ALERT_NONE, EG_ALERT_FIRED, EG_ALERT_CLEARED } eg_alert_event;
typedef struct eg_alert_state {
    size_t size;          /* sizeof(eg_alert_state); 0 = the fields of version 0.1 */
    eg_alert_event event; /* at this sample */
    int firing;
    const char *text; /* the expression; the alert's */
    const char *name; /* of the figure; static */
    const char *unit; /* static; NULL = a pure number */
    double value;     /* that is furthest beyond the limit; NaN = none is known */
    double limit;
    uint64_t pid;      /* whose; 0 = a sensor's, or none */
    char subject[64];  /* the label of the reading, or the activity of the program */
    char message[256]; /* "p99 of stream (pid 12) is 5.3 us, for 10 s above 5 us" */
} eg_alert_state;
EG_API eg_status eg_alert_check(eg_alert *alert, const eg_monitor_sample *sample,
                                eg_alert_state *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
