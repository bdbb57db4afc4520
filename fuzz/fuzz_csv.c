/* Tables of numbers from arbitrary bytes: what is read is written line by line and must be read as the
 * same numbers. */
#include "fuzz.h"
#include "formats/tables/table.h"

#include <math.h>
#include <string.h>

/* Without the names, which the writer of files quotes. */
static char *write_rows(const eg_table *table, size_t *length) {
    const size_t columns = (size_t)table->columns;
    *length = 0;
    for (size_t i = 0; i < table->rows; i++)
        *length += eg_csv_row(NULL, 0, table->values + i * columns, columns, NULL) + 1;
    char *text = malloc(*length + 1), *at = text;
    require(text != NULL);
    for (size_t i = 0; i < table->rows; i++) {
        const size_t room = (size_t)(text + *length + 1 - at);
        at += eg_csv_row(at, room, table->values + i * columns, columns, NULL);
        *at++ = '\n';
    }
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    eg__memory_options options = {.budget = UINT64_C(1) << 28, .no_cache = true};
    eg__memory *memory;
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_table table, again;
    eg_error error = {0};
    eg_status status = eg__csv_decode(memory, bytes, length, &table, &error);
    if (status) require(error.status == status && error.message[0] && !table.values);
    else if (table.rows) {
        size_t size;
        char *text = write_rows(&table, &size);
        require(eg__csv_decode(memory, text, size, &again, NULL) == EG_OK);
        require(again.rows == table.rows && again.columns == table.columns);
        for (size_t i = 0; i < table.rows * table.columns; i++)
            require(again.values[i] == table.values[i] ||
                    (isnan(again.values[i]) && isnan(table.values[i])));
        eg__table_release(memory, &again);
        free(text);
    }
    for (uint64_t i = 0; table.names && i < table.columns; i++)
        require(strlen(table.names[i]) <= length);
    eg__table_release(memory, &table);
    eg_memory_figures held;
    eg__memory_figures_get(memory, EG_TAG_FILE, &held);
    require(held.current == 0);
    eg__memory_destroy(memory);
    return 0;
}
