/* Tables from files: rows of numbers, dates and labels.
 * Stable. */
#ifndef ELEGANS_TABLE_H
#define ELEGANS_TABLE_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eg_column_kind {
    EG_COLUMN_NUMBER,
    EG_COLUMN_DATE, /* seconds since 1970-01-01 00:00 UTC */
    EG_COLUMN_LABEL /* the index of its text among the labels of the column */
} eg_column_kind;

typedef struct eg_column {
    eg_column_kind kind;
    size_t label_count;
    const char *const *labels; /* in the order of strcmp */
} eg_column;

typedef struct eg_table {
    uint64_t rows, columns;
    const char *const *names; /* one per column; NULL = there is no header */
    double *values;           /* [rows][columns]; NaN where a field is missing */
    const eg_column *kinds;   /* one per column; NULL = all are numbers */
    const uint64_t *lines;    /* of the file, from 1, one per row; NULL = it has no lines */
    uint64_t steps;           /* rows per recording; 0 = all rows are one recording */
    const char *const *
        texts; /* [rows]: fields of a column as written in the file (eg_table_options); NULL = none */
} eg_table;

typedef enum eg_date_order {
    EG_DATES_ISO, /* 2015-02-04 17:51:00 */
    EG_DATES_MDY, /* 2/4/2015 5:51 PM, 02-04-2015: ISO ones as well */
    EG_DATES_DMY  /* 4.2.2015 17:51 */
} eg_date_order;
EG_API const char *eg_date_order_name(eg_date_order order); /* "iso"; static; NULL past the last */

typedef struct
    eg_table_options { /* all zero = numbers, dates and labels; a complete header, if there is one */
    size_t size;       /* sizeof(eg_table_options); 0 = the fields of version 0.1 */
    int numbers_only;  /* a field that is not a number is an error, with its line */
    int short_header; /* a header may have one name less than there are columns: the first column has the name "" */
    int no_header; /* the first line is data, whatever it looks like */
    /* decimal separator; 0 = '.'. With ',', 1,5 is a number and 1.5 is not; fields are then separated by semicolons or
     * tabs, or quoted. */
    char decimal;
    eg_date_order dates;
    /* Of the file: NULL = "utf-8", where invalid bytes are an error with their line; "latin1" and "windows-1252" are
     * converted. */
    const char *encoding;
    /* A column (name or number) whose fields are also kept as text, as written. NULL = none; not for
     * arrays. */
    const char *texts;
} eg_table_options;

/* Reads .csv, .tsv, .txt (anything that is not the others), .npy or .npz. You give it back with
 * eg_table_release; on failure *out is all zero. `options` may be NULL.
 *
 * Text: as eg_csv_read does it, but a column may also be of dates (ISO 8601: 2015-02-04,
 * 2015-02-04 17:51, 2015-02-04T17:51:00.25Z, +01:00; without an offset they are UTC) when all its
 * fields are dates, or of labels when one is neither number nor date, or when it has both. Missing fields
 * are ignored here. Quotes do not matter: "1" is a number. The first line is a header when one of
 * its fields is neither number nor date.
 * .npy, also under another name: [rows] or [rows, columns] without names, or [recordings, steps, columns];
 * floats, integers and truth values of any width and byte order, in C or Fortran order; empty arrays are refused.
 * .npz: arrays, all with the same first axis, become columns: "x" of [rows], "x.1" .. of
 * [rows, columns]. When one has rank 3 [recordings, steps, columns], those of rank 2 are
 * [recordings, steps], or, if the second axis has another size, columns that are the same for all
 * steps of a recording, as those of rank 1 are. */
EG_API eg_status eg_table_read(eg_context *context, const char *path,
                               const eg_table_options *options, eg_table *out, eg_error *error);
/* Leaves it all zero and accepts an all-zero one. */
EG_API void eg_table_release(eg_context *context, eg_table *table);

/* The index (from 0) of the column with a name, or with a number: "1" is the first, "last" the last.
 * A name takes precedence over a number. EG_ERR_NOT_FOUND names it; two columns of one name are
 * EG_ERR_ARGUMENT. */
EG_API eg_status eg_table_column(const eg_table *table, const char *name, uint64_t *out,
                                 eg_error *error);

/* Seconds since 1970 from an ISO 8601 date as above; EG_ERR_FORMAT quotes it. */
EG_API eg_status eg_date_parse(const char *text, size_t length, double *out, eg_error *error);

/* The same in another order: the year has four digits, separators are '/', '-' or '.', day and
 * month one digit or two; a time may have AM or PM, or one digit for its hour. */
EG_API eg_status eg_date_parse_as(const char *text, size_t length, eg_date_order order, double *out,
                                  eg_error *error);
/* Hint for a message about a text that is neither number nor date: "; decimal commas need --decimal ,", or "; dates
 * in this order need --dates mdy or dmy" when it looks like that, "" otherwise. Static. */
EG_API const char *eg_table_hint(const char *text);

#ifdef __cplusplus
}
#endif
#endif
