/* Tables from text: once through the fields to count them, once more for their values, and a third time
 * when there are labels. */
#include "formats/tables/table.h"

#include <math.h>
#include <string.h>

typedef struct counts {
    uint64_t records, columns;
    bool header;
    bool unnamed;   /* the header lacks the name of the first column */
    size_t letters; /* of the names, with terminators */
} counts;

/* ---- the first time: structure */

/* Whether it cannot be a value of a table without labels, so that the first line is a header. */
static bool is_name(const eg__csv *csv, const eg__csv_field *field, bool numbers_only) {
    double value;
    if (eg__csv_number(csv, field, &value)) return false;
    return numbers_only || !eg__csv_date(csv, field, &value);
}

static eg_status add_first(counts *c, const eg__csv *csv, const eg__csv_field *field,
                           const eg_table_options *options, eg_error *error) {
    c->columns++;
    c->letters += field->length + 1;
    if (options->no_header || !is_name(csv, field, options->numbers_only != 0)) return EG_OK;
    c->header = true;
    return eg__csv_check_text(field, error);
}

/* The first row tells whether the header is a short one. */
static eg_status check_width(counts *c, const eg__csv_field *field, const eg_table_options *options,
                             eg_error *error) {
    if (field->field == c->columns) return EG_OK;
    const bool lacks_one = c->records == 1 && field->field == c->columns + 1;
    if (lacks_one && options->short_header) {
        c->columns++;
        c->letters++;
        c->header = c->unnamed = true;
        return EG_OK;
    }
    return eg__fail(
        error, EG_ERR_FORMAT, "line %llu: %llu fields where %llu belong%s",
        (unsigned long long)field->line, (unsigned long long)field->field,
        (unsigned long long)c->columns,
        lacks_one && c->header
            ? ": the header has one name less; one that lacks the first needs --short-header"
            : "");
}

static eg_status count(eg__csv csv, const eg_table_options *options, counts *c, eg_error *error) {
    if (csv.done) return eg__fail(error, EG_ERR_FORMAT, "the file has no lines");
    while (!csv.done) {
        eg__csv_field field;
        if (c->records && eg__csv_skip_record(&csv, c->columns)) {
            c->records++;
            continue;
        }
        eg_status status = eg__csv_next(&csv, &field, error);
        if (!status && !c->records) status = add_first(c, &csv, &field, options, error);
        if (!status && field.last) status = check_width(c, &field, options, error);
        if (status) return status;
        if (field.last) c->records++;
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
    if (c->unnamed) {
        *text = 0;
        names[0] = text++;
    }
    for (uint64_t i = c->unnamed; !status && i < c->columns; i++) {
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
        return eg__fail(error, EG_ERR_FORMAT, "line %llu, field %llu: '%s' is not a number%s",
                        (unsigned long long)field->line, (unsigned long long)field->field, text,
                        eg_table_hint(text));
    const char *full = table->names[field->field - 1];
    eg__file_quote(name, sizeof name, full, strlen(full));
    return eg__fail(error, EG_ERR_FORMAT, "line %llu, field %llu ('%s'): '%s' is not a number%s",
                    (unsigned long long)field->line, (unsigned long long)field->field, name, text,
                    eg_table_hint(text));
}

static void add_number(eg__table_column *column, const eg__csv_field *field, double *to) {
    column->letters += field->length + 1;
    column->number = true;
    if (column->other) *to = NAN;
}

static void read_value(const eg__csv *csv, const eg__csv_field *field, eg__table_column *column,
                       double *to) {
    *to = NAN;
    column->letters += field->length + 1;
    if (column->other) return;
    if (eg__csv_number(csv, field, to)) {
        if (!isnan(*to)) column->number = true;
    } else if (eg__csv_date(csv, field, to)) column->date = true;
    else {
        column->other = true;
        *to = NAN;
    }
}

/* `columns` is NULL when only numbers are wanted. */
static eg_status read_rows(eg__memory *memory, eg__csv csv, eg__table_column *columns,
                           eg_table *out, eg_error *error) {
    size_t size;
    void *lines;
    eg_status status = eg__table_take_values(memory, out, error);
    if (status) return status;
    /* there is a column, so that the lines fit where the values do */
    if (!eg__size_mul((size_t)out->rows, sizeof *out->lines, &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "%llu rows do not fit",
                        (unsigned long long)out->rows);
    status = eg__file_take(memory, EG_TAG_FILE, size, &lines, error);
    if (status) return status;
    out->lines = lines;
    uint64_t *line = lines;
    for (double *to = out->values; !csv.done; to++) {
        eg__csv_field field;
        const bool number = eg__csv_next_number(&csv, &field, to);
        if (!number) status = eg__csv_next(&csv, &field, error);
        if (status) return status;
        if (field.field == 1) *line++ = field.line;
        if (number && columns) add_number(&columns[field.field - 1], &field, to);
        else if (number) continue;
        else if (columns) read_value(&csv, &field, &columns[field.field - 1], to);
        else if (!eg__csv_number(&csv, &field, to)) return no_number(out, &field, error);
    }
    return EG_OK;
}

/* ---- kinds */

static eg_column_kind kind_of(const eg__table_column *column) {
    if (column->other || (column->number && column->date)) return EG_COLUMN_LABEL;
    return column->date ? EG_COLUMN_DATE : EG_COLUMN_NUMBER;
}

static eg_status read_kinds(eg__memory *memory, eg__csv csv, eg__table_column *columns,
                            eg_table *out, eg_error *error) {
    bool plain = true;
    for (uint64_t i = 0; i < out->columns; i++) {
        columns[i].kind = kind_of(&columns[i]);
        plain = plain && columns[i].kind == EG_COLUMN_NUMBER;
    }
    return plain ? EG_OK : eg__table_label(memory, csv, columns, out, error);
}

/* ---- texts of one column: pointers and letters in one block */
static eg_status keep_texts(eg__memory *memory, const eg__csv *start, uint64_t column,
                            eg_table *out, eg_error *error) {
    size_t size = 0, letters = 0;
    void *block;
    for (eg__csv csv = *start; !csv.done;) {
        eg__csv_field field;
        const eg_status status = eg__csv_next(&csv, &field, error);
        if (status) return status;
        if (field.field == column + 1 && !eg__size_add(letters, field.length + 1, &letters))
            return eg__fail(error, EG_ERR_OVERFLOW, "texts of a column do not fit");
    }
    if (!eg__size_mul((size_t)out->rows, sizeof(char *), &size) ||
        !eg__size_add(size, letters, &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "texts of a column do not fit");
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    const char **texts = block;
    char *to = (char *)(texts + out->rows);
    out->texts = texts;
    for (eg__csv csv = *start; !status && !csv.done;) {
        eg__csv_field field;
        status = eg__csv_next(&csv, &field, error);
        if (status || field.field != column + 1) continue;
        *texts++ = to;
        to += eg__csv_text(&field, to) + 1;
    }
    return status;
}

/* ---- all of it */

static eg_status read_typed(eg__memory *memory, eg__csv csv, eg_table *out, eg_error *error) {
    size_t size;
    void *columns;
    if (!eg__size_mul((size_t)out->columns, sizeof(eg__table_column), &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "%llu columns do not fit",
                        (unsigned long long)out->columns);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &columns, error);
    if (status) return status;
    memset(columns, 0, size);
    status = read_rows(memory, csv, columns, out, error);
    if (!status) status = read_kinds(memory, csv, columns, out, error);
    eg__memory_give(memory, columns);
    return status;
}

eg_status eg__table_from_text(eg__memory *memory, const void *bytes, size_t length,
                              const eg_table_options *options, eg_table *out, eg_error *error) {
    *out = (eg_table){0};
    eg__csv csv = eg__csv_begin(bytes, length);
    csv.decimal = options->decimal ? options->decimal : '.';
    csv.dates = options->dates;
    counts c = {0};
    eg_table table = {0};
    eg_status status = count(csv, options, &c, error);
    if (status) return status;
    table.rows = c.records - c.header;
    table.columns = c.columns;
    if (c.header) status = read_names(memory, &csv, &c, &table, error);
    if (!status)
        status = options->numbers_only ? read_rows(memory, csv, NULL, &table, error)
                                       : read_typed(memory, csv, &table, error);
    uint64_t column;
    /* a column that is not there has no texts: whoever needs it will say so */
    if (!status && options->texts && !eg_table_column(&table, options->texts, &column, NULL))
        status = keep_texts(memory, &csv, column, &table, error);
    if (status) eg__table_release(memory, &table);
    else *out = table;
    return status;
}
