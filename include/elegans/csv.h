/* Tables of numbers in text files: comma-separated values.
 * Stable. */
#ifndef ELEGANS_CSV_H
#define ELEGANS_CSV_H

#include "elegans/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a whole file. Fields are separated by tabs, semicolons or commas: the first of these that the
 * first line has outside of quotes. Quotes are those of RFC 4180; lines end in LF or CRLF, the last
 * one may lack it; a byte-order mark is skipped, and so are empty lines at the end. The first line is
 * a header when one of its fields is no number. Numbers have a decimal point in every locale; an empty
 * field, "nan", "NaN" and "NA" are NaN; blanks around a field that is not quoted do not count.
 * A line with another number of fields than the first, a field that is no number, a quote that does
 * not end are EG_ERR_FORMAT, with the number of the line. On failure *out is all zero. Give it back
 * with eg_table_release. */
EG_API eg_status eg_csv_read(eg_context *context, const char *path, eg_table *out, eg_error *error);
typedef struct eg_csv_options { /* all zero = as many digits as a double needs to be read back */
    size_t size;                /* sizeof(eg_csv_options); 0 = the fields of version 0.1 */
    unsigned digits;            /* exactly this many after the point, at most 17 */
    int single;                 /* the values were f32: as many digits as those need */
} eg_csv_options;

/* Writes beside and renames. eg_csv_read reads back the same names and values; names that are all
 * numbers would read back as values and are EG_ERR_ARGUMENT. `options` may be NULL. */
EG_API eg_status eg_csv_write(eg_context *context, const char *path, const eg_table *table,
                              const eg_csv_options *options, eg_error *error);
/* One line of `count` values, without a line end. Like snprintf, it returns the length without the terminator and
 * writes what fits into `room`. */
EG_API size_t eg_csv_row(char *out, size_t room, const double *values, uint64_t count,
                         const eg_csv_options *options);

#ifdef __cplusplus
}
#endif
#endif
