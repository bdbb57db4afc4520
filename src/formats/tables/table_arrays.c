/* Tables from arrays of numpy: columns of an .npy, and of all arrays of an .npz side by side. */
#include "formats/files/npy.h"
#include "formats/files/npz.h"
#include "formats/tables/table.h"

#include <stdio.h>
#include <string.h>

/* An array and the columns it becomes. */
typedef struct part {
    const char *name;
    eg_tensor array;
    eg__npy_layout layout;
    bool numbered; /* its columns are "x.1", "x.2", .. */
    bool constant; /* over the steps of a recording */
    size_t columns;
} part;

/* ---- values */

static void fill(const part *p, const eg_table *table, size_t column) {
    const size_t rows = (size_t)table->rows, columns = (size_t)table->columns;
    for (size_t row = 0; row < rows; row++) {
        const size_t from = p->constant ? row / (size_t)table->steps : row;
        for (size_t i = 0; i < p->columns; i++)
            table->values[row * columns + column + i] =
                eg__npy_value(&p->layout, p->array.data, from * p->columns + i);
    }
}

/* ---- one array */

/* Its extents are 1 or more: what is empty has no rows, and extents beside a 0 can be any. */
static eg_status check_shape(const eg_tensor *a, eg_error *error) {
    if (a->rank < 1 || a->rank > 3)
        return eg__fail(error, EG_ERR_FORMAT,
                        "rank %u: neither [rows], [rows, columns] nor [recordings, steps, columns]",
                        a->rank);
    for (unsigned i = 0; i < a->rank; i++)
        if (!a->shape[i]) return eg__fail(error, EG_ERR_FORMAT, "no values: extent %u is 0", i + 1);
    return EG_OK;
}

eg_status eg__table_from_array(eg__memory *memory, const eg_tensor *array,
                               const eg__npy_layout *layout, eg_table *out, eg_error *error) {
    *out = (eg_table){0};
    eg_status status = check_shape(array, error);
    if (status) return status;
    eg_table table = {.rows = array->shape[0],
                      .columns = array->rank > 1 ? array->shape[array->rank - 1] : 1};
    if (array->rank == 3) {
        table.steps = array->shape[1];
        table.rows *= table.steps; /* fewer than there are values */
    }
    status = eg__table_take_values(memory, &table, error);
    if (status) return status;
    fill(&(part){.array = *array, .layout = *layout, .columns = (size_t)table.columns}, &table, 0);
    *out = table;
    return EG_OK;
}

/* ---- an archive */

/* All of them are unpacked, so that all must fit before the first is. */
static eg_status check_bytes(eg__memory *memory, const eg_npz *archive, eg_error *error) {
    const uint64_t bytes = eg__npz_bytes(archive), left = eg__memory_left(memory);
    if (bytes <= left) return EG_OK;
    return eg__fail(
        error, EG_ERR_BUDGET,
        "its %zu arrays unpack to %llu bytes, more than the %llu that may still be used "
        "here: give an archive of fewer, or a smaller part of the rows",
        eg_npz_count(archive), (unsigned long long)bytes, (unsigned long long)left);
}

static eg_status read_parts(eg_npz *archive, part *parts, eg_error *error) {
    for (size_t i = 0; i < eg_npz_count(archive); i++) {
        parts[i].name = eg_npz_name(archive, i);
        parts[i].layout.any = true;
        eg_status status =
            eg__npz_read(archive, parts[i].name, &parts[i].layout, &parts[i].array, error);
        if (status) return status;
    }
    return EG_OK;
}

/* The first array says how many rows or recordings there are, the first of rank 3 how many steps. */
static eg_status find_rows(const part *parts, size_t count, eg_table *table, eg_error *error) {
    const part *deep = NULL;
    for (size_t i = 0; i < count; i++) {
        const eg_tensor *a = &parts[i].array;
        eg_status status = check_shape(a, error);
        if (status) return eg__file_blame(error, status, "array", parts[i].name);
        if (a->shape[0] != parts[0].array.shape[0])
            return eg__fail(error, EG_ERR_FORMAT,
                            "array '%.60s' has %llu rows where '%.60s' has %llu", parts[i].name,
                            (unsigned long long)a->shape[0], parts[0].name,
                            (unsigned long long)parts[0].array.shape[0]);
        if (a->rank != 3) continue;
        if (!deep) deep = &parts[i];
        if (a->shape[1] != deep->array.shape[1])
            return eg__fail(error, EG_ERR_FORMAT,
                            "array '%.60s' has %llu steps where '%.60s' has %llu", parts[i].name,
                            (unsigned long long)a->shape[1], deep->name,
                            (unsigned long long)deep->array.shape[1]);
    }
    table->steps = deep ? deep->array.shape[1] : 0;
    table->rows = parts[0].array.shape[0] * (deep ? table->steps : 1);
    return EG_OK;
}

static void find_columns(part *p, uint64_t steps) {
    const eg_tensor *a = &p->array;
    const bool sequence = steps && a->rank == 2 && a->shape[1] == steps;
    p->numbered = a->rank == 3 || (a->rank == 2 && !sequence);
    p->constant = steps && a->rank < 3 && !sequence;
    p->columns = p->numbered ? (size_t)a->shape[a->rank - 1] : 1;
}

/* One block: the pointers, then the letters. */
static eg_status make_names(eg__memory *memory, const part *parts, size_t count, eg_table *table,
                            eg_error *error) {
    enum { NUMBER_SIZE = 22 }; /* a point, 20 digits, the terminator */
    size_t size, letters;
    void *block;
    bool fits = eg__size_mul((size_t)table->columns, sizeof(char *), &size);
    for (size_t i = 0; fits && i < count; i++)
        fits = eg__size_mul(parts[i].columns, strlen(parts[i].name) + NUMBER_SIZE, &letters) &&
               eg__size_add(size, letters, &size);
    if (!fits)
        return eg__fail(error, EG_ERR_OVERFLOW, "names of %llu columns do not fit",
                        (unsigned long long)table->columns);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    const char **names = block;
    char *text = (char *)(names + table->columns);
    table->names = names;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < parts[i].columns; k++) {
            const size_t length = strlen(parts[i].name);
            *names++ = memcpy(text, parts[i].name, length + 1);
            text += length;
            if (parts[i].numbered) text += snprintf(text, NUMBER_SIZE, ".%zu", k + 1);
            text++;
        }
    return EG_OK;
}

static eg_status arrange(eg__memory *memory, part *parts, size_t count, eg_table *table,
                         eg_error *error) {
    if (!count) return eg__fail(error, EG_ERR_FORMAT, "the archive has no arrays");
    eg_status status = find_rows(parts, count, table, error);
    if (status) return status;
    for (size_t i = 0; i < count; i++) {
        find_columns(&parts[i], table->steps);
        table->columns += parts[i].columns; /* each has values in memory: they can be counted */
    }
    status = make_names(memory, parts, count, table, error);
    if (!status) status = eg__table_take_values(memory, table, error);
    for (size_t i = 0, column = 0; !status && i < count; column += parts[i++].columns)
        fill(&parts[i], table, column);
    return status;
}

eg_status eg__table_from_archive(eg__memory *memory, eg_npz *archive, const char *path,
                                 eg_table *out, eg_error *error) {
    *out = (eg_table){0};
    const size_t count = eg_npz_count(archive);
    size_t size;
    void *block;
    if (!eg__size_mul(count, sizeof(part), &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "%zu arrays do not fit", count);
    eg_status status = check_bytes(memory, archive, error);
    if (status) return path ? eg__file_blame(error, status, "", path) : status;
    status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    part *parts = memset(block, 0, size);
    eg_table table = {0};
    status = read_parts(archive, parts, error); /* which names the path */
    if (!status) {
        status = arrange(memory, parts, count, &table, error);
        if (status && path) eg__file_blame(error, status, "", path);
    }
    if (status) eg__table_release(memory, &table);
    else *out = table;
    for (size_t i = 0; i < count; i++) eg__memory_give(memory, parts[i].array.data);
    eg__memory_give(memory, parts);
    return status;
}
