/* elegans train, eval, predict: tables in, a model out, or the other way round. Functions return -1 to go
 * on, or the exit code after a message. */
#ifndef EG__CLI_TRAIN_H
#define EG__CLI_TRAIN_H

#include "cli.h"

/* What to make of tables; the same options for all three commands. */
typedef struct data_wish {
    const char *inputs, *target, *time, *spans, *group, *missing;
    uint64_t ahead, window, stride;
    bool partial, last, whole, short_header, no_header;
} data_wish;
#define DATA_OPTIONS(d)                                                                           \
    {"--inputs", OPTION_TEXT, &(d).inputs, "COLUMNS",                                             \
     "names, numbers, ranges (default: the rest)"},                                               \
        {"--target", OPTION_TEXT, &(d).target, "COLUMNS", "what is to be predicted"},             \
        {"--time", OPTION_TEXT, &(d).time, "COLUMN", "times or dates of the rows"},               \
        {"--spans", OPTION_TEXT, &(d).spans, "COLUMN", "or the times between them"},              \
        {"--group", OPTION_TEXT, &(d).group, "COLUMN", "a new value begins a new recording"},     \
        {"--missing", OPTION_TEXT, &(d).missing, "POLICY", "error, drop, previous, mean, zero"},  \
        {"--ahead", OPTION_COUNT, &(d).ahead, "N", "the target is that of N rows later"},         \
        {"--window", OPTION_COUNT, &(d).window, "N",                                              \
         "rows that are learned at once (default: 64)"},                                          \
        {"--stride", OPTION_COUNT, &(d).stride, "N",                                              \
         "rows between windows (default: half of one)"},                                          \
        {"--whole", OPTION_FLAG, &(d).whole, NULL, "whole recordings instead of windows"},        \
        {"--partial", OPTION_FLAG, &(d).partial, NULL, "shorter windows at the ends count, too"}, \
        {"--last", OPTION_FLAG, &(d).last, NULL, "one target per window: that of its last row"},  \
        {"--short-header", OPTION_FLAG, &(d).short_header, NULL, "the first column has no name"}, \
    {                                                                                             \
        "--no-header", OPTION_FLAG, &(d).no_header, NULL, "the first line are values"             \
    }

/* ---- train_data.c */
/* Files are separated by commas. `classes` is set when it is -1: are the targets labels? */
int data_read(eg_context *context, const char *files, const data_wish *wish,
              const eg_data_options *more, int *classes, eg_data **out);
/* The labels of some data, for other data to have them in the same order. NULL: no memory. */
const char **data_labels(const eg_data *data, size_t *count);
/* "1 window", "2 windows". */
const char *counted(char out[64], uint64_t count, const char *thing);
int data_check(const data_wish *wish); /* options that exclude each other */
void data_print(const char *name, const eg_data *data);

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
int notes_write(eg_model *model, const data_wish *wish, const eg_data *data, eg_loss loss);
typedef struct notes { /* texts for lists of columns and labels */
    char *inputs, *targets;
    const char **labels;
    size_t label_count;
    eg_loss loss;
    bool has_loss;
} notes;
/* Fills what the wish does not say. */
int notes_read(const eg_model *model, data_wish *wish, notes *out);
void notes_free(notes *n);

/* ---- train_progress.c */
typedef struct progress {
    const char *log_path;
    FILE *log;
    bool quiet, terminal;
    uint64_t last_drawn; /* ns */
    bool failed;         /* the log could not be written */
} progress;
int progress_open(progress *p, const char *log_path, bool append, bool quiet);
void progress_close(progress *p);
int progress_tell(void *user, const eg_fit_progress *now); /* an eg_fit_function */

/* ---- train_curve.c: an SVG of losses over epochs */
int curve_write(const char *path, const eg_fit_result *result);

/* ---- train_metrics.c */
/* The name of a loss, of "mse" .. */
int loss_parse(const char *name, eg_loss *out);
int metrics_of(eg_context *context, const eg_model *model, const eg_data *data, eg_loss loss,
               double *value, eg_metrics **out);
void metrics_print(const char *name, const eg_data *data, eg_loss loss, double value,
                   const eg_metrics *metrics);
json *metrics_json(const eg_data *data, eg_loss loss, double value, const eg_metrics *metrics);

/* ---- elegans train alone */
typedef struct train_wish {
    data_wish data;
    const char *files, *validation, *test, *split, *split_at;
    uint64_t split_seed;
    const char *model, *loss, *standardise, *time_unit;
    const char *optimizer, *schedule, *batch, *memory, *dtype;
    double rate, momentum, decay, floor, warmup, weight_decay, clip, average;
    uint64_t epochs, patience, accumulate, seed, every;
    const char *output, *checkpoint, *log, *curve;
    bool resume, keep_last, json, quiet;
    const char *config;
} train_wish;

typedef struct training {
    const train_wish *wish;
    eg_context *context;
    data_wish data;                         /* what was said, and what a model from a file says */
    notes notes;                            /* of that model */
    eg_data *whole, *first, *second, *test; /* first: to learn from; second: to choose */
    eg_model *model;
    eg_loss loss;
    int classes;
    bool fresh; /* the model is a spec */
    progress progress;
    eg_fit_options options;
    eg_fit_result result;
    char checkpoint[1024];
} training;

const char *training_model(const train_wish *wish); /* cmd_train.c: a spec or a file */
/* train_options.c */
int training_numbers(const train_wish *wish);
int training_options(training *t);
/* train_report.c */
void training_head(const training *t);
int training_report(const training *t);

#endif
