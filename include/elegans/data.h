/* Data sets: tables turned into recordings, and these into windows that a model learns from.
 * Stable. */
#ifndef ELEGANS_DATA_H
#define ELEGANS_DATA_H

#include "elegans/table.h"
#include "elegans/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eg_missing {                   /* what to do with a missing input */
                          EG_MISSING_ERROR, /* an error, with line and column */
                          EG_MISSING_DROP, /* its row is left out; its elapsed time is added to the next row's */
                          EG_MISSING_PREVIOUS, /* the value before it in the recording, or else the mean */
                          EG_MISSING_MEAN, /* the mean of the training data */
                          EG_MISSING_ZERO
} eg_missing;
EG_API const char *eg_missing_name(eg_missing missing); /* "error"; static; NULL past the last */

/* Columns are given as a list: "Temperature,CO2,5-7,last": names, numbers from 1, ranges of numbers, and
 * the name of an array of an .npz for all its columns ("x" for "x.1" .. "x.17"). A name takes precedence over any
 * other reading; one with commas, quotes or blanks at its ends is quoted, with quotes inside doubled
 * ("a, b"). A column that is listed twice, or whose name is not unique, is EG_ERR_ARGUMENT. */
typedef struct eg_data_options {
    size_t size; /* sizeof(eg_data_options); 0 = the fields of version 0.1 */
    const char *
        inputs; /* NULL = all numeric columns (with a name, if any has one) that are not used below */
    const char *targets; /* NULL = none: for prediction */
    const char *time; /* a column of times or dates, which must not decrease within a recording */
    const char *timespans; /* or a column of timespans: the time elapsed before each row */
    double
        first_timespan; /* with `time`: the timespan of the first row of a recording, as a model learned it
                            (eg_model_timespan); 0 = the median, below 0 = none */
    const char *group; /* a column whose value changes where a new recording begins */
    int classes;       /* the target is one column of class numbers or labels */
    const char *const
        *labels; /* with classes: those of the model, in its order; NULL = those of the data */
    size_t label_count;
    eg_missing missing;
    uint64_t
        ahead; /* the target of a row is that of the row this many rows below, in the same recording */
    uint64_t window; /* rows of a window; 0 = whole recordings */
    uint64_t stride; /* from the start of a window to that of the next; 0 = window */
    int partial;     /* one window at the end of a recording may be shorter, else it is left out */
    int last;        /* one target per window: that of its last row */
} eg_data_options;

typedef struct eg_data eg_data; /* opaque; read by any number of threads */

/* Copies the recordings of some tables. All tables have the same columns; a new recording begins with each table, after
 * every `steps` rows of a table and with each change of `group`. A missing target is masked, in training and in
 * metrics; the other targets of its row are used. Where no column gives it, the timespan of the first row of a
 * recording is `first_timespan` or the median of all timespans that are not 0. Classes are the labels of the target in the
 * order of strcmp, or its numbers (integers from 0) in ascending order, named "0", "3", ... EG_ERR_FORMAT names line
 * and column of a missing input (EG_MISSING_ERROR), a number that is infinite or beyond f32, a time that decreases or
 * is missing, an unknown label. EG_ERR_ARGUMENT: impossible options or columns, or not a single window. You own *out.
 * `options` may be NULL. */
EG_API eg_status eg_data_create(eg_context *context, size_t table_count, const eg_table *tables,
                                const eg_data_options *options, eg_data **out, eg_error *error);
EG_API void eg_data_destroy(eg_data *data); /* NULL is fine */
/* 1: `targets`, a list as above, is one column of labels, so its values are classes. */
EG_API int eg_data_are_labels(const eg_table *table, const char *targets);

typedef struct eg_data_info {
    size_t size;               /* sizeof(eg_data_info); 0 = the fields of version 0.1 */
    uint64_t rows, recordings; /* of the whole data set, also of a part */
    uint64_t windows;
    uint64_t covered; /* rows in the windows of this part, each once */
    uint64_t steps;   /* of the longest window */
    uint64_t inputs, targets;
    uint64_t classes; /* 0 = regression */
    /* In the rows of this part alone, each once: */
    uint64_t missing;         /* missing inputs */
    uint64_t dropped;         /* rows left out because of them (EG_MISSING_DROP) */
    uint64_t missing_targets; /* missing targets; with `last`, of the last rows of windows */
    uint64_t without_target; /* rows without any target: they are not used in training or metrics */
    int timespans;           /* elapsed times are known, or rows were left out; else each is 1 */
    float
        span; /* before the first row of a recording where times are given; their median otherwise, and 1
                   where there are none */
    int dates;   /* and come from dates: in seconds */
    int lengths; /* windows differ in length */
    int last;
} eg_data_info;
EG_API void eg_data_info_get(const eg_data *data, eg_data_info *out);
/* Names of columns and classes; NULL past the end. A column without one is "1", "2", ... */
EG_API const char *eg_data_input(const eg_data *data, size_t index);
EG_API const char *eg_data_target(const eg_data *data, size_t index);
EG_API const char *eg_data_class(const eg_data *data, size_t index);

/* The values of a target in the rows of this part, each once (with `last`, in the last rows of windows); of
 * classes, their numbers. Past the last target all is 0. */
typedef struct eg_target_info {
    size_t size;          /* sizeof(eg_target_info); 0 = the fields of version 0.1 */
    uint64_t rows;        /* with a value */
    uint64_t zeros, ones; /* of these; a target is binary when rows = zeros + ones */
    double least, most;   /* NaN without a row */
} eg_target_info;
EG_API void eg_data_target_info(const eg_data *data, size_t index, eg_target_info *out);
/* Rows of this part that belong to a class, each once. */
EG_API uint64_t eg_data_class_rows(const eg_data *data, size_t index);

/* ---- parts: each shares the rows of the whole and is destroyed on its own */
typedef enum eg_split_kind {
    EG_SPLIT_AUTO, /* by recordings when there are ten or more, or several of one window each; else by time */
    EG_SPLIT_RECORDINGS, /* whole recordings, drawn at random */
    EG_SPLIT_TIME, /* the second part is the end of each recording; windows across the border are left
                            out. A part that is shorter than a window has one shorter window per recording */
    EG_SPLIT_WINDOWS, /* windows, drawn at random: overlapping ones may share rows between the parts */
    EG_SPLIT_AT /* the second part is the windows that begin at or after a time, the first those that end before it */
} eg_split_kind;
EG_API const char *eg_split_name(eg_split_kind kind); /* "auto"; static; NULL past the last */

typedef struct eg_split {
    eg_split_kind kind;
    double
        fraction; /* of the second part, between 0 and 1; rounded down, but at least one recording or window */
    double at; /* EG_SPLIT_AT: in the unit of the time column */
    uint32_t
        seed; /* the second part is the first elements of numpy's RandomState(seed).permutation */
} eg_split;
/* EG_ERR_ARGUMENT when a part would be empty. Windows stay in their order. */
EG_API eg_status eg_data_split(const eg_data *data, const eg_split *split, eg_data **first,
                               eg_data **second, eg_error *error);

/* ---- units: mean and standard deviation of the columns in the rows of the windows, and the median time between rows.
 * The arrays have `inputs` and `targets` floats; a constant column has scale 1. Targets are computed with
 * `targets` != 0 and must not be classes; `time` may be NULL. A row of several windows counts once. */
EG_API eg_status eg_data_scaling(const eg_data *data, int targets, float *input_mean,
                                 float *input_scale, float *target_mean, float *target_scale,
                                 float *time, eg_error *error);

/* ---- batches: window `window` as sample `sample` of a batch of `batch` samples and `time` steps, in
 * standard units: (x - mean) / scale; NULL in `units` leaves values as they are, and a mean without a scale
 * is used for missing inputs only. Steps after the end of the window have weight 0, and so has each missing target:
 * there are as many weights as targets. `window` past the last gives an empty sample, of weight 0 and length 0;
 * steps after `time` are left out. Arrays of `out` that are NULL are not filled.
 * With `last`, targets and weights are of the last step alone. Any thread. */
EG_API void eg_data_fill(const eg_data *data, const eg_scaling *units, uint64_t window,
                         uint64_t batch, uint64_t time, uint64_t sample, const eg_train_batch *out);

/* Position of a window: its first row among all rows that were kept, and its length; 0 past the last. */
EG_API void eg_data_window(const eg_data *data, uint64_t window, uint64_t *first, uint64_t *length);
/* Of a row that was kept: the table it came from (from 0), and its row there. */
EG_API void eg_data_row(const eg_data *data, uint64_t row, size_t *table, uint64_t *table_row);

#ifdef __cplusplus
}
#endif
#endif
