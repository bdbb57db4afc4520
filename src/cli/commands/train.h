/* elegans train, eval, predict: tables in, a model out, or the other way round. */
#ifndef EG__CLI_TRAIN_H
#define EG__CLI_TRAIN_H

#include "cli/cli.h"

/* What to make of tables; the same options for all three commands, which differ in how they cut them. */
typedef struct data_settings {
    const char *inputs, *target, *time, *timespans, *group, *missing;
    table_settings table;
    uint64_t ahead, window, stride;
    double
        first_timespan; /* what passed before the first row, as a model learned it; 0 = the median */
    bool partial, last, whole;
    bool noted_group; /* the group is that of the model's notes: a table may lack it */
} data_settings;
#define DATA_OPTIONS(d, window_text, stride_text)                                                \
    {"--inputs", OPTION_TEXT, &(d).inputs, "COLUMNS",                                            \
     "names, numbers, ranges (default: the rest)"},                                              \
        {"--target", OPTION_TEXT, &(d).target, "COLUMNS", "columns to predict"},                 \
        {"--time", OPTION_TEXT, &(d).time, "COLUMN", "times or dates of the rows"},              \
        {"--spans", OPTION_TEXT, &(d).timespans, "COLUMN", "or the timespans between rows"},     \
        {"--group", OPTION_TEXT, &(d).group, "COLUMN", "a new value begins a new recording"},    \
        {"--missing", OPTION_TEXT, &(d).missing, "POLICY", "error, drop, previous, mean, zero"}, \
        {"--ahead", OPTION_COUNT, &(d).ahead, "N", "the target is that of N rows later"},        \
        {"--window", OPTION_COUNT, &(d).window, "N", window_text},                               \
        {"--stride", OPTION_COUNT, &(d).stride, "N", stride_text},                               \
        {"--whole", OPTION_FLAG, &(d).whole, NULL, "whole recordings instead of windows"},       \
        {"--partial", OPTION_FLAG, &(d).partial, NULL, "use shorter windows at the ends, too"},  \
        {"--last", OPTION_FLAG, &(d).last, NULL, "one target per window: that of its last row"}, \
        TABLE_OPTIONS((d).table)

/* ---- train_data.c */
/* Files are separated by commas. `classes` is set when it is -1: are the targets labels? */
int data_read(eg_context *context, const char *files, const data_settings *settings,
              const eg_data_options *more, int *classes, eg_data **out);
/* The same, and the tables as well, with the texts of the time column. Give them back with data_close. */
typedef struct data_tables {
    size_t count;
    eg_table *tables;
} data_tables;
int data_open(eg_context *context, const char *files, const data_settings *settings,
              const eg_data_options *more, int *classes, data_tables *tables, eg_data **out);
void data_close(eg_context *context, data_tables *tables);
uint64_t data_window(const data_settings *settings); /* rows of one; 0 = whole recordings */
/* Each row once: whole recordings or, for models with one answer per window, a window for each row. */
void data_once(data_settings *settings);
/* Says what a part lacks: classes, targets. False = so much that eg_fit will refuse it, which then says why. */
bool data_warn(const char *name, const eg_data *data, eg_loss loss);
/* The labels of some data, for other data to have them in the same order; freed by the caller. */
const char **data_labels(const eg_data *data, size_t *count);
int missing_parse(const char *name, eg_missing *out); /* NULL = EG_MISSING_ERROR */
int data_check(const data_settings *settings);        /* options that exclude each other */
void data_print(const char *name, const eg_data *data);
json *data_json(const eg_data *data); /* how much of it there is, and how much is missing */

/* ---- train_files.c */
/* The one that was asked for, or else one beside the model: "model.checkpoint". */
void checkpoint_name(char *out, size_t size, const char *given, const char *output);
typedef struct training_files { /* NULL = none */
    const char *output, *checkpoint, *curve, *log;
    const char *data[3]; /* that are read */
} training_files;
int files_check(const training_files *files);
bool files_have(const char *files, const char *path); /* one of a list with commas */

/* ---- train_notes.c: what a model remembers of its data, so that it need not be told again */
int notes_write(eg_model *model, const data_settings *settings, const eg_data *data, eg_loss loss);
typedef struct notes {
    const eg_model *model; /* which they are of, and which goes after them */
    eg_data_options data;
    eg_loss loss;
    bool has_loss;
} notes;
/* Fills what the wish does not say. */
int notes_read(const eg_model *model, data_settings *settings, notes *out);
void notes_free(notes *n);
/* The order of dates alone, which is needed before a table is read; warns where another one was asked for. */
void notes_dates(const eg_model *model, table_settings *settings);

/* ---- output_names.c */
/* Of output `index`, for a model with this link, or its logits; freed by the caller. NULL = the model was not told. */
char *output_name(const eg_model *model, eg_link link, bool raw, uint64_t index);
/* The same of all outputs, "y0" .. where the model was not told, or told only numbers; NULL behind the last. */
char **output_names(const eg_model *model, eg_link link, bool raw, uint64_t count);
void output_names_free(char **names);           /* NULL is fine */
void output_text(FILE *file, const char *text); /* a field of CSV, in quotes where it needs them */

/* ---- train_progress.c */
typedef struct progress {
    const char *log_path;
    FILE *log;
    const eg_context *context; /* whose memory is told */
    bool quiet, terminal;
    uint64_t last_drawn; /* ns */
    bool failed;         /* the log could not be written */
    eg_data_info data;   /* that it learns from */
} progress;
int progress_open(progress *p, const eg_context *context, const char *log_path, bool quiet);
void progress_close(progress *p);
int progress_tell(void *user, const eg_fit_progress *now); /* an eg_fit_function */

/* ---- train_metrics.c */
/* The name of a loss, of "mse" .. */
int loss_parse(const char *name, eg_loss *out);
int metrics_of(eg_context *context, const eg_model *model, const char *name, const eg_data *data,
               eg_loss loss, double *value, eg_metrics **out);
void metrics_print(const char *name, const eg_data *data, eg_loss loss, double value,
                   const eg_metrics *metrics);
json *metrics_json(const eg_data *data, eg_loss loss, double value, const eg_metrics *metrics);

/* ---- elegans train alone */
typedef struct train_settings {
    data_settings data;
    const char *files, *validation, *test, *split, *split_at;
    uint64_t split_seed;
    const char *model, *loss, *standardise, *time_unit;
    const char *optimizer, *schedule, *batch, *memory, *dtype;
    const char *preset; /* of a chip: batch, memory and sizes where they were not said */
    double rate, momentum, decay, floor, warmup, weight_decay, clip, average;
    uint64_t epochs, patience, accumulate, seed, every;
    const char *output, *checkpoint, *log, *curve;
    bool resume, keep_last, json, quiet;
    const char *config;
} train_settings;

typedef struct training {
    const train_settings *settings;
    eg_context *context;
    data_settings data;                     /* what was said, and what a model from a file says */
    notes notes;                            /* of that model */
    eg_data *whole, *first, *second, *test; /* first: to learn from; second: to choose */
    eg_model *model;
    eg_loss loss;
    int classes;
    bool fresh; /* the model is a spec */
    progress progress;
    eg_fit_options options;
    eg_fit_result result;
    char checkpoint[1024], spec[1024]; /* spec: the model's, with what follows from the data */
} training;

const char *training_model(const train_settings *settings); /* cmd_train.c: a spec or a file */
/* train_options.c */
int training_numbers(const train_settings *settings);
int training_options(training *t);
/* train_report.c */
void training_head(const training *t);
int training_report(const training *t);

#endif
