/* Comma-separated values: their fields, and tables of numbers on tracked memory. */
#ifndef EG__CSV_H
#define EG__CSV_H

#include "elegans/csv.h"
#include "elegans/table.h"
#include "formats/files/file.h"

/* ---- csv_fields.c: one field after the other, no memory taken */
typedef struct eg__csv {
    const char *at, *end;
    char separator;
    uint64_t line;  /* from 1, of the next field */
    uint64_t field; /* from 1, in its record */
    bool done;      /* the last record has ended */
    bool single;    /* records have one field: an empty line is a missing value */
    char decimal;   /* before the fraction of a number: '.' or ',' */
    eg_date_order dates;
} eg__csv;

typedef struct eg__csv_field {
    const char *text; /* in the file; without quotes, or without blanks around */
    size_t length;
    bool doubled; /* quotes inside are doubled */
    bool last;    /* of its record */
    uint64_t line, field;
} eg__csv_field;

/* Skips a byte-order mark and finds the separator. Blank lines are skipped; if records have one
 * field, only those before the first and after the last record. */
eg__csv eg__csv_begin(const void *bytes, size_t length);
/* EG_ERR_FORMAT names line and field. Not after `done`. */
eg_status eg__csv_next(eg__csv *csv, eg__csv_field *out, eg_error *error);
/* The same for a field that is a number as most are, read at once. False, and nothing happened. */
bool eg__csv_next_number(eg__csv *csv, eg__csv_field *out, double *value);
/* Passes a whole record that has `fields` fields and no quotes, the quick way. False, and nothing
 * happened: it must be read field by field. */
bool eg__csv_skip_record(eg__csv *csv, uint64_t fields);
/* A number, or NaN for what says so. */
bool eg__csv_number(const eg__csv *csv, const eg__csv_field *field, double *out);
bool eg__csv_comma_number(const char *text, size_t length, double *out); /* "1,5" */
bool eg__csv_date(const eg__csv *csv, const eg__csv_field *field, double *out);
/* EG_ERR_FORMAT names line and field of what is no UTF-8, or has a zero byte. */
eg_status eg__csv_check_text(const eg__csv_field *field, eg_error *error);
/* Its text with single quotes into `length` + 1 bytes; returns the new length. */
size_t eg__csv_text(const eg__csv_field *field, char *out);

/* ---- csv_read.c, csv_write.c */
eg_status eg__csv_decode(eg__memory *memory, const void *bytes, size_t length, eg_table *out,
                         eg_error *error);
eg_status eg__csv_save(eg__memory *memory, const char *path, const eg_table *table,
                       const eg_csv_options *options, eg_error *error);

#endif
