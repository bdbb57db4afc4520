/* Reads comma-separated values that are all numbers. */
#include "engine/context.h"
#include "formats/files/csv.h"
#include "formats/tables/table.h"

static const eg_table_options numbers = {.numbers_only = 1};

eg_status eg__csv_decode(eg__memory *memory, const void *bytes, size_t length, eg_table *out,
                         eg_error *error) {
    return eg__table_from_text(memory, bytes, length, &numbers, out, error);
}

eg_status eg_csv_read(eg_context *context, const char *path, eg_table *out, eg_error *error) {
    if (out) *out = (eg_table){0};
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, no path or no output pointer for a table");
    return eg__table_load_text(eg__context_memory(context), path, &numbers, out, error);
}
