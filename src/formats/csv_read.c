/* Reads tables of numbers: once through the fields to count them, once more for their values. */
#include "engine/context.h"
#include "formats/csv.h"

#include <string.h>

typedef struct counts {
    uint64_t records, columns;
    bool header;
    size_t letters; /* of the names, with terminators */
} counts;

/* ---- the first time: structure */

static eg_status add_first(counts *c, const eg__csv_field *field, eg_error *error) {
    double number;
    c->columns++;
    c->letters += field->length + 1;
    if (eg__csv_number(field, &number)) return EG_OK;
    c->header = true;
    if (!memchr(field->text, 0, field->length)) return EG_OK;
    return eg__fail(error, EG_ERR_FORMAT, "line 1, field %llu: a zero byte: is this UTF-8?",
                    (unsigned long long)field->field);
}

static eg_status count(eg__csv csv, counts *c, eg_error *error) {
    if (csv.done) return eg__fail(error, EG_ERR_FORMAT, "no line at all");
    while (!csv.done) {
        eg__csv_field field;
        eg_status status = eg__csv_next(&csv, &field, error);
        if (!status && !c->records) status = add_first(c, &field, error);
        if (status) return status;
        if (!field.last) continue;
        if (field.field != c->columns)
            return eg__fail(error, EG_ERR_FORMAT, "line %llu: %llu fields where %llu belong",
                            (unsigned long long)field.line, (unsigned long long)field.field,
                            (unsigned long long)c->columns);
        c->records++;
    }
    return EG_OK;
}

/* ---- the second time: values */

static eg_status read_names(eg__memory *memory, eg__csv *csv, const counts *c, eg_table *out,
                            eg_error *error) {
    size_t size;
    void *block;
    /* every name has a byte in the file, so that these sizes fit where the file does */
    if (!eg__size_mul((size_t)c->columns, sizeof(char *), &size) ||
        !eg__size_add(size, c->letters, &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "%llu names do not fit",
                        (unsigned long long)c->columns);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    const char **names = block;
    char *text = (char *)(names + c->columns);
    out->names = names;
    for (uint64_t i = 0; !status && i < c->columns; i++) {
        eg__csv_field field;
        status = eg__csv_next(csv, &field, error);
        if (status) break;
        names[i] = text;
        text += eg__csv_text(&field, text) + 1;
    }
    return status;
}

static eg_status no_number(const eg_table *table, const eg__csv_field *field, eg_error *error) {
    char text[48], name[48] = "";
    eg__file_quote(text, sizeof text, field->text, field->length);
    if (!table->names)
        return eg__fail(error, EG_ERR_FORMAT, "line %llu, field %llu: '%s' is no number",
                        (unsigned long long)field->line, (unsigned long long)field->field, text);
    const char *full = table->names[field->field - 1];
    eg__file_quote(name, sizeof name, full, strlen(full));
    return eg__fail(error, EG_ERR_FORMAT, "line %llu, field %llu ('%s'): '%s' is no number",
                    (unsigned long long)field->line, (unsigned long long)field->field, name, text);
}

static eg_status read_values(eg__memory *memory, eg__csv *csv, eg_table *out, eg_error *error) {
    size_t size;
    void *block;
    if (!eg__size_mul((size_t)out->rows, (size_t)out->columns, &size) ||
        !eg__size_mul(size, sizeof *out->values, &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "%llu rows of %llu columns do not fit",
                        (unsigned long long)out->rows, (unsigned long long)out->columns);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    out->values = block;
    for (double *to = out->values; !csv->done; to++) {
        eg__csv_field field;
        status = eg__csv_next(csv, &field, error);
        if (!status && !eg__csv_number(&field, to)) status = no_number(out, &field, error);
        if (status) return status;
    }
    return EG_OK;
}

eg_status eg__csv_decode(eg__memory *memory, const void *bytes, size_t length, eg_table *out,
                         eg_error *error) {
    *out = (eg_table){0};
    eg__csv csv = eg__csv_begin(bytes, length);
    counts c = {0};
    eg_table table = {0};
    eg_status status = count(csv, &c, error);
    if (status) return status;
    table.rows = c.records - c.header;
    table.columns = c.columns;
    if (c.header) status = read_names(memory, &csv, &c, &table, error);
    if (!status) status = read_values(memory, &csv, &table, error);
    if (status) eg__table_release(memory, &table);
    else *out = table;
    return status;
}

void eg__table_release(eg__memory *memory, eg_table *table) {
    eg__memory_give(memory, (void *)table->names);
    eg__memory_give(memory, table->values);
    *table = (eg_table){0};
}

/* ---- the public calls */

eg_status eg_csv_read(eg_context *context, const char *path, eg_table *out, eg_error *error) {
    if (out) *out = (eg_table){0};
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, no path or no place for a table");
    eg__memory *memory = eg__context_memory(context);
    eg__mapping file;
    eg_status status = eg__mapping_open(&file, memory, path, error);
    if (status) return status;
    status = eg__csv_decode(memory, file.bytes, file.size, out, error);
    eg__mapping_close(&file, memory);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
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
