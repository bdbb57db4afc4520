/* Classes of a target: labels or numbers, in the order of the model or of themselves. */
#include "formats/files/file.h"
#include "train/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 1 << 24 }; /* above it f32 cannot represent the class indices */

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint64_t target_column(const eg__reader *r) { return r->targets[0]; }

static double value_at(const eg_table *t, uint64_t row, uint64_t column) {
    return t->values[row * t->columns + column];
}

static bool is_labelled(const eg_table *t, uint64_t column) {
    return eg__column_kind(t, column) == EG_COLUMN_LABEL;
}

/* ---- numbers: all that the tables have, then each once */
static eg_status collect_numbers(eg__reader *r, size_t *count, eg_error *error) {
    const uint64_t column = target_column(r);
    size_t room = 0, used = 0;
    for (size_t i = 0; i < r->table_count; i++)
        if (!is_labelled(&r->tables[i], column) &&
            !eg__size_add(room, (size_t)r->tables[i].rows, &room))
            return eg__fail(error, EG_ERR_OVERFLOW, "rows of %zu tables do not fit",
                            r->table_count);
    eg_status status = EG_OK;
    r->numbers = eg__data_take(r->store->memory, room, sizeof *r->numbers, &status, error);
    for (size_t i = 0; !status && i < r->table_count; i++) {
        const eg_table *t = &r->tables[i];
        for (uint64_t row = 0; !status && !is_labelled(t, column) && row < t->rows; row++) {
            const double value = value_at(t, row, column);
            if (isnan(value)) continue;
            if (!(value >= 0 && value < 0x1p53 && value == floor(value)))
                status =
                    eg__reader_fault(r, i, row, column, error, "'%g' is no class number", value);
            r->numbers[used++] = value + 0.0; /* no -0 */
        }
    }
    if (status) return status;
    qsort(r->numbers, used, sizeof *r->numbers, compare_numbers);
    *count = 0;
    for (size_t i = 0; i < used; i++)
        if (!i || r->numbers[i] != r->numbers[*count - 1]) r->numbers[(*count)++] = r->numbers[i];
    return EG_OK;
}

static const char *number_text(const void *user, size_t index, char scratch[EG_NUMBER_SIZE]) {
    eg_number_format(scratch, ((const double *)user)[index]);
    return scratch;
}

static const char *given_text(const void *user, size_t index, char scratch[EG_NUMBER_SIZE]) {
    (void)scratch;
    return ((const char *const *)user)[index];
}

/* ---- texts: labels of some tables, and numbers of others as text */
static eg_status collect_texts(eg__reader *r, size_t numbers, eg_error *error) {
    eg__store *s = r->store;
    const uint64_t column = target_column(r);
    eg_status status = EG_OK;
    size_t room = numbers, used = 0, kept = 0;
    bool fits = true;
    for (size_t i = 0; i < r->table_count; i++)
        if (is_labelled(&r->tables[i], column))
            fits = fits && eg__size_add(room, r->tables[i].kinds[column].label_count, &room);
    if (!fits) return eg__fail(error, EG_ERR_OVERFLOW, "labels do not fit");
    const char **numerals =
        eg__data_texts(s->memory, numbers, number_text, r->numbers, &status, error);
    const char **texts = eg__data_take(s->memory, room, sizeof *texts, &status, error);
    if (!status) {
        for (size_t i = 0; i < numbers; i++) texts[used++] = numerals[i];
        for (size_t i = 0; i < r->table_count; i++) {
            if (!is_labelled(&r->tables[i], column)) continue;
            const eg_column *c = &r->tables[i].kinds[column];
            for (size_t k = 0; k < c->label_count; k++) texts[used++] = c->labels[k];
        }
        qsort(texts, used, sizeof *texts, compare_texts);
        for (size_t i = 0; i < used; i++)
            if (!i || strcmp(texts[i], texts[kept - 1]) != 0) texts[kept++] = texts[i];
        s->classes = kept;
        s->class_names = eg__data_texts(s->memory, kept, given_text, texts, &status, error);
    }
    eg__memory_give(s->memory, (void *)texts);
    eg__memory_give(s->memory, (void *)numerals);
    return status;
}

static eg_status collect(eg__reader *r, eg_error *error) {
    eg__store *s = r->store;
    size_t numbers = 0;
    bool labelled = false;
    for (size_t i = 0; i < r->table_count; i++)
        labelled = labelled || is_labelled(&r->tables[i], target_column(r));
    eg_status status = collect_numbers(r, &numbers, error);
    if (status) return status;
    if (labelled) {
        status = collect_texts(r, numbers, error);
        eg__memory_give(s->memory, r->numbers);
        r->numbers = NULL;
    } else {
        s->classes = numbers;
        s->class_names =
            eg__data_texts(s->memory, numbers, number_text, r->numbers, &status, error);
    }
    return status;
}

eg_status eg__reader_classes(eg__reader *r, eg_error *error) {
    eg__store *s = r->store;
    const eg_data_options *o = r->options;
    eg_status status = EG_OK;
    if (o->labels) {
        s->classes = o->label_count;
        s->class_names =
            eg__data_texts(s->memory, s->classes, given_text, o->labels, &status, error);
    } else status = collect(r, error);
    if (!status && !s->classes)
        status =
            eg__fail(error, EG_ERR_ARGUMENT, "the target has no class: all its values are missing");
    if (!status && s->classes > CLASSES_MAX)
        status = eg__fail(error, EG_ERR_UNSUPPORTED, "%zu classes are more than the limit of %d",
                          s->classes, CLASSES_MAX);
    return status;
}

/* ---- the class of a value */
static bool find_text(const eg__reader *r, const char *text, size_t *out) {
    const eg__store *s = r->store;
    if (r->options->labels) { /* in the model's order, which is any */
        for (*out = 0; *out < s->classes; (*out)++)
            if (strcmp(s->class_names[*out], text) == 0) return true;
        return false;
    }
    const char **found =
        bsearch(&text, s->class_names, s->classes, sizeof *s->class_names, compare_texts);
    *out = found ? (size_t)(found - s->class_names) : 0;
    return found != NULL;
}

eg_status eg__reader_class(const eg__reader *r, size_t table, uint64_t row, float *out,
                           eg_error *error) {
    const eg_table *t = &r->tables[table];
    const uint64_t column = target_column(r);
    const double value = value_at(t, row, column) + 0.0;
    char scratch[EG_NUMBER_SIZE], quoted[48];
    const char *text = scratch;
    size_t at = 0;
    if (r->numbers) { /* all of them are there, because they were collected */
        const double *found =
            bsearch(&value, r->numbers, r->store->classes, sizeof value, compare_numbers);
        *out = (float)(found - r->numbers);
        return EG_OK;
    }
    if (is_labelled(t, column)) {
        const eg_column *c = &t->kinds[column];
        if (!(value >= 0 && value < (double)c->label_count && value == floor(value)))
            return eg__reader_fault(r, table, row, column, error, "label '%g' of %zu", value,
                                    c->label_count);
        text = c->labels[(size_t)value];
    } else eg_number_format(scratch, value);
    if (!find_text(r, text, &at))
        return eg__reader_fault(r, table, row, column, error, "'%s' is no label of the model",
                                eg__file_quote(quoted, sizeof quoted, text, strlen(text)));
    *out = (float)at;
    return EG_OK;
}
