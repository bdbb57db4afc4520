/* Tables: giving them back, and their columns by name. */
#include "engine/context.h"
#include "formats/tables/table.h"

#include <stdio.h>
#include <string.h>

void eg__table_release(eg__memory *memory, eg_table *table) {
    eg__memory_give(memory, (void *)table->names);
    eg__memory_give(memory, table->values);
    eg__memory_give(memory, (void *)table->kinds);
    eg__memory_give(memory, (void *)table->lines);
    eg__memory_give(memory, (void *)table->texts);
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

const char *eg_table_hint(const char *text) {
    const size_t length = strlen(text);
    double value;
    if (strchr(text, ',') && eg__csv_comma_number(text, length, &value))
        return "; decimal commas need --decimal ,";
    if (eg_date_parse(text, length, &value, NULL) == EG_OK) return ""; /* in any order */
    if (!eg_date_parse_as(text, length, EG_DATES_MDY, &value, NULL) ||
        !eg_date_parse_as(text, length, EG_DATES_DMY, &value, NULL))
        return "; dates in this order need --dates mdy or dmy";
    return "";
}

static const char *column_at(void *user, size_t index) {
    const eg_table *table = user;
    return index < table->columns ? table->names[index] : NULL;
}

/* Names the column that was probably meant, and as many as a message has room for. */
static eg_status unknown_column(const eg_table *table, const char *name, eg_error *error) {
    if (!table->names)
        return eg__fail(error, EG_ERR_NOT_FOUND,
                        "no column '%.60s': there are %llu columns, counted from 1", name,
                        (unsigned long long)table->columns);
    char meant[EG_DID_YOU_MEAN_SIZE], list[96] = "";
    size_t used = 0;
    for (uint64_t i = 0; i < table->columns; i++) {
        const size_t length = strlen(table->names[i]);
        const bool fits = used + length + 8 < sizeof list;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 fits ? table->names[i] : "...");
        if (!fits) break;
    }
    eg_did_you_mean(meant, name, column_at, (void *)(uintptr_t)table);
    return eg__fail(error, EG_ERR_NOT_FOUND, "no column '%.60s'%s columns: %s", name,
                    meant[0] ? meant : ";", list);
}

eg_status eg_table_column(const eg_table *table, const char *name, uint64_t *out, eg_error *error) {
    if (!table || !name || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no table, name or output pointer");
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
        return unknown_column(table, name, error);
    *out = found ? index : (uint64_t)number - 1;
    return EG_OK;
}
