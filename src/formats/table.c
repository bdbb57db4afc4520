/* Tables: giving them back, and their columns by name. */
#include "engine/context.h"
#include "formats/table.h"

#include <string.h>

void eg__table_release(eg__memory *memory, eg_table *table) {
    eg__memory_give(memory, (void *)table->names);
    eg__memory_give(memory, table->values);
    eg__memory_give(memory, (void *)table->kinds);
    eg__memory_give(memory, (void *)table->lines);
    *table = (eg_table){0};
}

eg_status eg__table_take_values(eg__memory *memory, eg_table *table, eg_error *error) {
    size_t size;
    void *block;
    if (!eg__size_mul((size_t)table->rows, (size_t)table->columns, &size) ||
        !eg__size_mul(size, sizeof *table->values, &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "%llu rows of %llu columns do not fit",
                        (unsigned long long)table->rows, (unsigned long long)table->columns);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (!status) table->values = block;
    return status;
}

void eg_table_release(eg_context *context, eg_table *table) {
    if (context && table) eg__table_release(eg__context_memory(context), table);
}

eg_status eg_table_column(const eg_table *table, const char *name, uint64_t *out, eg_error *error) {
    if (!table || !name || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no table, name or place");
    uint64_t found = 0, index = 0;
    for (uint64_t i = 0; table->names && i < table->columns; i++)
        if (strcmp(table->names[i], name) == 0) found++, index = i;
    if (found > 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "%llu columns are called '%.60s'",
                        (unsigned long long)found, name);
    int64_t number = 0;
    if (!found && strcmp(name, "last") == 0 && table->columns) number = (int64_t)table->columns;
    else if (!found &&
             eg_integer_parse(name, strlen(name), 1, (int64_t)table->columns, &number, NULL))
        return eg__fail(error, EG_ERR_NOT_FOUND,
                        table->names ? "no column '%.60s' among the %llu of the header"
                                     : "no column '%.60s': there are %llu, the first is 1",
                        name, (unsigned long long)table->columns);
    *out = found ? index : (uint64_t)number - 1;
    return EG_OK;
}
