/* Tables on tracked memory: from text, from arrays; the public functions are these with a context. */
#ifndef EG__TABLE_H
#define EG__TABLE_H

#include "elegans/table.h"
#include "elegans/tensor.h"
#include "formats/files/csv.h"
#include "formats/files/npy.h"

/* ---- table.c */
void eg__table_release(eg__memory *memory, eg_table *table);
/* Takes the values; EG_ERR_OVERFLOW when rows x columns do not fit. */
eg_status eg__table_take_values(eg__memory *memory, eg_table *table, eg_error *error);

/* ---- table_text.c. On failure *out is all zero, as everywhere here. */
eg_status eg__table_from_text(eg__memory *memory, const void *bytes, size_t length,
                              const eg_table_options *options, eg_table *out, eg_error *error);

/* ---- table_read.c */
eg_status eg__table_load_text(eg__memory *memory, const char *path, const eg_table_options *options,
                              eg_table *out, eg_error *error);

/* ---- table_labels.c */
typedef struct eg__table_column {
    bool number, date, other; /* what its fields were seen to be */
    eg_column_kind kind;      /* which makes it this */
    size_t letters;           /* of all its fields, with terminators */
} eg__table_column;
/* Makes the kinds, the labels in their order and the values of columns of labels. `csv` stands at the
 * first row. */
eg_status eg__table_label(eg__memory *memory, eg__csv csv, const eg__table_column *columns,
                          eg_table *table, eg_error *error);

/* ---- table_arrays.c. `layout` is what the array was read with, `any` set. */
eg_status eg__table_from_array(eg__memory *memory, const eg_tensor *array,
                               const eg__npy_layout *layout, eg_table *out, eg_error *error);
/* `path` is for messages; NULL when the archive has none. */
eg_status eg__table_from_archive(eg__memory *memory, eg_npz *archive, const char *path,
                                 eg_table *out, eg_error *error);

#endif
