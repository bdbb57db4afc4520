/* Data sets inside: rows that all parts share, the windows of a part, and what reads tables. */
#ifndef EG__DATA_H
#define EG__DATA_H

#include "elegans/data.h"
#include "memory/memory.h"

typedef struct eg__window {
    uint64_t first, length; /* rows of the store, all of one recording */
} eg__window;

/* Immutable once made, but for the reference count. */
typedef struct eg__store {
    eg__memory *memory;
    uint32_t users; /* parts that share it; atomic */
    bool dates, last;
    uint64_t rows, inputs, targets;
    uint64_t missing, dropped; /* missing inputs; rows that were dropped for them */
    size_t recordings, classes, tables;
    float *x; /* [rows][inputs]; NaN = missing, replaced by the mean when batches are filled */
    float *y; /* [rows][targets], class indices for classes; NaN = missing */
    float *timespans;       /* [rows]; NULL = each is 1 */
    float span;             /* the typical span, or the requested one */
    double *times;          /* [rows]; NULL = there is no column of them */
    float *mean;            /* [inputs], of the values present */
    uint64_t *starts;       /* [recordings + 1] rows */
    uint64_t *table_starts; /* [tables + 1] rows */
    uint64_t *origins;      /* [rows]: the row of its table */
    /* [rows + 1]: running counts of `missing` and `dropped`; those of a dropped row are counted at
     * the next row of its recording, or else at the last */
    uint64_t *missing_before, *dropped_before;
    const char **input_names; /* each of the three one block with its texts */
    const char **target_names, **class_names;
} eg__store;

struct eg_data {
    eg__store *store;
    size_t count;
    eg__window *windows; /* the first rows ascend, and so do the ends in a recording */
    uint64_t steps;      /* of the longest */
    bool lengths;        /* they differ */
    bool is_part;        /* of what was split */
    /* in their rows, each once: */
    uint64_t covered, missing, dropped, missing_targets, without_target;
};

/* ---- reading: the tables, and which columns mean what */
#define EG__NO_COLUMN UINT64_MAX

typedef struct eg__reader {
    eg__store *store;
    size_t table_count;
    const eg_table *tables;
    const eg_data_options *options;
    uint64_t *inputs, *targets;      /* columns */
    uint64_t time, timespans, group; /* columns, or EG__NO_COLUMN */
    double *numbers; /* classes that are numbers, ascending; NULL = their texts are compared */
} eg__reader;

static inline eg_column_kind eg__column_kind(const eg_table *table, uint64_t column) {
    return table->kinds ? table->kinds[column].kind : EG_COLUMN_NUMBER;
}

/* Fails with EG_ERR_FORMAT: "line 5, column 'CO2': " and the reason. */
eg_status eg__reader_fault(const eg__reader *reader, size_t table, uint64_t row, uint64_t column,
                           eg_error *error, const char *format, ...) EG_PRINTF(6, 7);

/* data_columns.c: checks that all tables have the same columns; fills columns and their names. */
eg_status eg__reader_columns(eg__reader *reader, eg_error *error);
/* data_classes.c: which classes there are; and that of a value, which is not NaN. */
eg_status eg__reader_classes(eg__reader *reader, eg_error *error);
eg_status eg__reader_class(const eg__reader *reader, size_t table, uint64_t row, float *out,
                           eg_error *error);
/* data_rows.c: fills the rows of the store. */
eg_status eg__reader_rows(eg__reader *reader, eg_error *error);

/* ---- data.c */

/* `count` zeroed elements of `size` bytes. Returns NULL and sets *status when memory is short, and
 * NULL if *status was set before, so that several allocations can be checked at once. */
void *eg__data_take(eg__memory *memory, size_t count, size_t size, eg_status *status,
                    eg_error *error);
/* `count` texts in one block with the pointers to them. */
typedef const char *(*eg__text_at)(const void *user, size_t index, char scratch[EG_NUMBER_SIZE]);
const char **eg__data_texts(eg__memory *memory, size_t count, eg__text_at text, const void *user,
                            eg_status *status, eg_error *error);
/* A part with room for `count` windows; adds a reference to the store. */
eg_status eg__data_part(eg__store *store, size_t count, eg_data **out, eg_error *error);
/* Computes the summary of a part after its windows were filled. */
void eg__data_measure(eg_data *data);

/* ---- data_hash.c: of windows and rows, to tell data sets apart; continues from `hash`. */
uint64_t eg__data_hash(const eg_data *data, uint64_t hash);

/* ---- data_windows.c: those of all recordings. */
eg_status eg__data_windows(eg__store *store, const eg_data_options *options, eg_data **out,
                           eg_error *error);

/* ---- data_units.c */

/* Mean and population standard deviation of each column over the rows of some windows, each row
 * once, without NaN. A constant column has scale 1, a column without values mean 0. `scale` may be
 * NULL. */
eg_status eg__data_statistics(eg__memory *memory, size_t count, const eg__window *windows,
                              const float *values, size_t columns, float *mean, float *scale,
                              eg_error *error);
/* The median of the positive spans in the rows of some windows, each row once; 1 when there is none. */
eg_status eg__data_median(eg__memory *memory, size_t count, const eg__window *windows,
                          const float *timespans, float *out, eg_error *error);

#endif
