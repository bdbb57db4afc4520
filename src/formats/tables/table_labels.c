/* Columns of labels: their texts sorted once, so that many different ones cost no more than few. */
#include "formats/tables/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A field with a label, and where its number goes. */
typedef struct label {
    const char *text;
    double *cell;
} label;

/* The labels of a column: as many as rows, less those that are missing. */
typedef struct list {
    label *labels;
    size_t count, different;
} list;

typedef struct work {
    size_t rows, columns;
    list *lists;   /* one per column; labels is NULL when it has none */
    label *labels; /* of all lists */
    char *letters;
    size_t different, different_letters;
} work;

static eg_status too_large(const work *w, eg_error *error) {
    return eg__fail(error, EG_ERR_OVERFLOW, "labels of %zu rows do not fit", w->rows);
}

static eg_status take_work(eg__memory *memory, const eg__table_column *columns, work *w,
                           eg_error *error) {
    size_t count = 0, letters = 0, lists_size, size;
    void *block;
    for (size_t i = 0; i < w->columns; i++) {
        if (columns[i].kind != EG_COLUMN_LABEL) continue;
        if (!eg__size_add(count, w->rows, &count) ||
            !eg__size_add(letters, columns[i].letters, &letters))
            return too_large(w, error);
    }
    if (!eg__size_mul(w->columns, sizeof *w->lists, &lists_size) ||
        !eg__size_mul(count, sizeof *w->labels, &size))
        return too_large(w, error);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, lists_size, &block, error);
    if (status) return status;
    w->lists = memset(block, 0, lists_size);
    status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    w->labels = block;
    status = eg__file_take(memory, EG_TAG_FILE, letters, &block, error);
    if (status) return status;
    w->letters = block;
    for (size_t i = 0, at = 0; i < w->columns; i++)
        if (columns[i].kind == EG_COLUMN_LABEL) w->lists[i].labels = &w->labels[w->rows * at++];
    return EG_OK;
}

static bool is_missing(const eg__csv *csv, const eg__csv_field *field) {
    double value;
    return eg__csv_number(csv, field, &value) && isnan(value);
}

static eg_status collect(eg__csv csv, work *w, eg_table *table, eg_error *error) {
    char *text = w->letters;
    for (double *cell = table->values; !csv.done; cell++) {
        eg__csv_field field;
        eg_status status = eg__csv_next(&csv, &field, error);
        if (status) return status;
        list *l = &w->lists[field.field - 1];
        if (!l->labels) continue;
        *cell = NAN;
        if (is_missing(&csv, &field)) continue;
        status = eg__csv_check_text(&field, error);
        if (status) return status;
        l->labels[l->count++] = (label){text, cell};
        text += eg__csv_text(&field, text) + 1;
    }
    return EG_OK;
}

static int compare(const void *a, const void *b) {
    return strcmp(((const label *)a)->text, ((const label *)b)->text);
}

static bool is_new(const list *l, size_t i) {
    return i == 0 || strcmp(l->labels[i - 1].text, l->labels[i].text) != 0;
}

static void sort_labels(work *w) {
    for (size_t i = 0; i < w->columns; i++) {
        list *l = &w->lists[i];
        if (l->count) qsort(l->labels, l->count, sizeof *l->labels, compare);
        for (size_t k = 0; k < l->count; k++) {
            if (!is_new(l, k)) continue;
            l->different++;
            w->different++;
            w->different_letters += strlen(l->labels[k].text) + 1;
        }
    }
}

/* One block: the columns, the pointers to their labels, the letters of these. */
static eg_status make_kinds(eg__memory *memory, const eg__table_column *columns, const work *w,
                            eg_table *table, eg_error *error) {
    size_t columns_size, size;
    void *block;
    if (!eg__size_mul(w->columns, sizeof(eg_column), &columns_size) ||
        !eg__size_mul(w->different, sizeof(char *), &size) ||
        !eg__size_add(size, columns_size, &size) ||
        !eg__size_add(size, w->different_letters, &size))
        return too_large(w, error);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    eg_column *kinds = block;
    const char **texts = (const char **)(kinds + w->columns);
    char *to = (char *)(texts + w->different);
    table->kinds = kinds;
    for (size_t i = 0; i < w->columns; i++) {
        const list *l = &w->lists[i];
        const char **first = texts;
        for (size_t k = 0; k < l->count; k++) {
            if (is_new(l, k)) {
                const size_t wide = strlen(l->labels[k].text) + 1;
                *texts++ = memcpy(to, l->labels[k].text, wide);
                to += wide;
            }
            *l->labels[k].cell = (double)(texts - first - 1);
        }
        kinds[i] = (eg_column){columns[i].kind, l->different, l->different ? first : NULL};
    }
    return EG_OK;
}

eg_status eg__table_label(eg__memory *memory, eg__csv csv, const eg__table_column *columns,
                          eg_table *table, eg_error *error) {
    work w = {.rows = (size_t)table->rows, .columns = (size_t)table->columns};
    eg_status status = take_work(memory, columns, &w, error);
    if (!status) status = collect(csv, &w, table, error);
    if (!status) {
        sort_labels(&w);
        status = make_kinds(memory, columns, &w, table, error);
    }
    eg__memory_give(memory, w.lists);
    eg__memory_give(memory, w.labels);
    eg__memory_give(memory, w.letters);
    return status;
}
