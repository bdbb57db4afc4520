/* Writes tables of numbers, so that reading them gives the same numbers. */
#include "base/abi.h"
#include "engine/context.h"
#include "formats/files/csv.h"

#include <string.h>

/* ---- one line */

static size_t format_value(char out[EG__FIXED_SIZE], double value, const eg_csv_options *options) {
    if (options && options->digits) return eg__number_fixed(out, value, options->digits);
    if (options && options->single) return eg_number_format_f32(out, (float)value);
    return eg_number_format(out, value);
}

size_t eg_csv_row(char *out, size_t room, const double *values, uint64_t count,
                  const eg_csv_options *given) {
    eg_csv_options kept, *const options = &kept;
    if (EG__OPTIONS(eg_csv_options, &kept, given, NULL)) return 0;
    size_t length = 0;
    for (uint64_t i = 0; i < count; i++) {
        char text[1 + EG__FIXED_SIZE];
        text[0] = ',';
        const size_t skip = i == 0, wide = 1 - skip + format_value(text + 1, values[i], options);
        if (length < room) memcpy(out + length, text + skip, eg__min(wide, room - length));
        length += wide;
    }
    if (room) out[eg__min(length, room - 1)] = 0;
    return length;
}

/* ---- files */

/* Quotes where something would be lost without: blanks at the ends, and all that has a meaning. */
static eg_status write_name(eg__writer *writer, const char *name, eg_error *error) {
    const size_t length = strlen(name);
    const bool plain =
        !strpbrk(name, ",;\t\"\r\n") && name[0] != ' ' && (!length || name[length - 1] != ' ');
    if (plain) return eg__writer_append(writer, name, length, error);
    eg_status status = eg__writer_append(writer, "\"", 1, error);
    for (size_t i = 0; !status && i < length; i++) {
        if (name[i] == '"') status = eg__writer_append(writer, "\"", 1, error);
        if (!status) status = eg__writer_append(writer, &name[i], 1, error);
    }
    return status ? status : eg__writer_append(writer, "\"", 1, error);
}

static eg_status write_table(eg__writer *writer, const eg_table *table,
                             const eg_csv_options *options, eg_error *error) {
    eg_status status = EG_OK;
    for (uint64_t i = 0; !status && table->names && i < table->columns; i++) {
        if (i) status = eg__writer_append(writer, ",", 1, error);
        if (!status) status = write_name(writer, table->names[i], error);
    }
    if (!status && table->names) status = eg__writer_append(writer, "\n", 1, error);
    const double *value = table->values;
    for (uint64_t row = 0; !status && row < table->rows; row++) {
        for (uint64_t i = 0; !status && i < table->columns; i++) {
            char text[1 + EG__FIXED_SIZE];
            text[0] = ',';
            const size_t skip = i == 0, length = 1 + format_value(text + 1, *value++, options);
            status = eg__writer_append(writer, text + skip, length - skip, error);
        }
        if (!status) status = eg__writer_append(writer, "\n", 1, error);
    }
    return status;
}

static eg_status check(const eg_table *table, const eg_csv_options *options, eg_error *error) {
    if (!table->columns || (table->rows && !table->values))
        return eg__fail(error, EG_ERR_ARGUMENT, "a table without columns or values");
    if (!table->rows && !table->names)
        return eg__fail(error, EG_ERR_ARGUMENT, "a table without rows and names would be no file");
    if (options && options->digits > EG__FIXED_DIGITS)
        return eg__fail(error, EG_ERR_ARGUMENT, "%u digits are more than %d", options->digits,
                        EG__FIXED_DIGITS);
    bool numbers = true;
    for (uint64_t i = 0; table->names && i < table->columns; i++) {
        const char *name = table->names[i];
        if (!name)
            return eg__fail(error, EG_ERR_ARGUMENT, "column %llu has no name",
                            (unsigned long long)i + 1);
        double value;
        const eg__csv usual = {.decimal = '.'};
        const eg__csv_field field = {.text = name, .length = strlen(name)};
        numbers = numbers && eg__csv_number(&usual, &field, &value);
    }
    if (table->names && numbers)
        return eg__fail(error, EG_ERR_ARGUMENT, "names that are all numbers: '%.60s'",
                        table->names[0]);
    return EG_OK;
}

eg_status eg__csv_save(eg__memory *memory, const char *path, const eg_table *table,
                       const eg_csv_options *options, eg_error *error) {
    eg_status status = check(table, options, error);
    if (status) return status;
    void *block;
    status = eg__file_take(memory, EG_TAG_FILE, sizeof(eg__writer), &block, error);
    if (status) return status;
    eg__writer *writer = block;
    status = eg__writer_begin(writer, path, error);
    if (!status) status = eg__writer_end(writer, write_table(writer, table, options, error), error);
    eg__memory_give(memory, writer);
    return status;
}

eg_status eg_csv_write(eg_context *context, const char *path, const eg_table *table,
                       const eg_csv_options *options, eg_error *error) {
    if (!context || !path || !table)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, no path or no table");
    eg_csv_options kept;
    const eg_status status = EG__OPTIONS(eg_csv_options, &kept, options, error);
    return status ? status : eg__csv_save(eg__context_memory(context), path, table, &kept, error);
}
