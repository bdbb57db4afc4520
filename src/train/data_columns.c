/* Which columns of the tables are inputs, targets, times: lists such as "Temperature,CO2,5-7,last". */
#include "formats/files/csv.h"
#include "train/data.h"

#include <stdio.h>
#include <string.h>

enum { ITEM_SIZE = 256, NAME_SIZE = 48 };

/* ---- names. A column without one is called by its number. */
static const char *column_name(const eg_table *t, uint64_t column, char scratch[EG_NUMBER_SIZE]) {
    if (t->names && t->names[column][0]) return t->names[column];
    snprintf(scratch, EG_NUMBER_SIZE, "%llu", (unsigned long long)column + 1);
    return scratch;
}

static const char *quoted_name(const eg_table *t, uint64_t column, char out[NAME_SIZE]) {
    char scratch[EG_NUMBER_SIZE];
    const char *name = column_name(t, column, scratch);
    return eg__file_quote(out, NAME_SIZE, name, strlen(name));
}

typedef struct listed {
    const eg_table *table;
    const uint64_t *columns;
} listed;

static const char *listed_name(const void *user, size_t index, char scratch[EG_NUMBER_SIZE]) {
    const listed *l = user;
    return column_name(l->table, l->columns[index], scratch);
}

eg_status eg__reader_fault(const eg__reader *r, size_t table, uint64_t row, uint64_t column,
                           eg_error *error, const char *format, ...) {
    char fault[128], name[NAME_SIZE], which[32] = "";
    const eg_table *t = &r->tables[table];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault, sizeof fault, format, arguments);
    va_end(arguments);
    if (r->table_count > 1) snprintf(which, sizeof which, " of table %zu", table + 1);
    return eg__fail(error, EG_ERR_FORMAT, "%s %llu%s, column '%s': %s", t->lines ? "line" : "row",
                    (unsigned long long)(t->lines ? t->lines[row] : row + 1), which,
                    quoted_name(t, column, name), fault);
}

/* ---- all tables have the same columns */
static eg_status check_table(const eg__reader *r, size_t index, eg_error *error) {
    const eg_table *first = r->tables, *t = &r->tables[index];
    size_t size;
    if (!t->columns) return eg__fail(error, EG_ERR_ARGUMENT, "table %zu has no columns", index + 1);
    if (t->rows && !t->values)
        return eg__fail(error, EG_ERR_ARGUMENT, "table %zu has no values", index + 1);
    if (t->rows > SIZE_MAX || t->columns > SIZE_MAX ||
        !eg__size_mul((size_t)t->rows, (size_t)t->columns, &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "table %zu: %llu rows of %llu columns do not fit",
                        index + 1, (unsigned long long)t->rows, (unsigned long long)t->columns);
    if (t->columns != first->columns)
        return eg__fail(error, EG_ERR_ARGUMENT, "table %zu has %llu columns, the first has %llu",
                        index + 1, (unsigned long long)t->columns,
                        (unsigned long long)first->columns);
    if (!t->names != !first->names)
        return eg__fail(error, EG_ERR_ARGUMENT, "table %zu has %s header, the first has %s",
                        index + 1, t->names ? "a" : "no", first->names ? "one" : "none");
    for (uint64_t c = 0; t->names && c < t->columns; c++) {
        const char *a = first->names[c], *b = t->names[c];
        /* a column that is named in one file only is the same column */
        if (!*a || !*b || strcmp(a, b) == 0) continue;
        char name[NAME_SIZE], other[NAME_SIZE];
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "column %llu is '%s' in table %zu, '%s' in the first",
                        (unsigned long long)c + 1, quoted_name(t, c, name), index + 1,
                        quoted_name(first, c, other));
    }
    return EG_OK;
}

/* ---- lists */
typedef struct list {
    const eg_table *table;
    uint64_t *columns; /* room for all */
    uint64_t count;
} list;

static eg_status list_add(list *l, uint64_t column, eg_error *error) {
    char name[NAME_SIZE];
    for (uint64_t i = 0; i < l->count; i++)
        if (l->columns[i] == column)
            return eg__fail(error, EG_ERR_ARGUMENT, "column '%s' is listed twice",
                            quoted_name(l->table, column, name));
    l->columns[l->count++] = column;
    return EG_OK;
}

/* "5-7" or "5-last", from 0 and both included; false when it is no such thing. */
static bool parse_range(const eg_table *t, const char *item, uint64_t *first, uint64_t *last) {
    const char *dash = strchr(item, '-');
    int64_t from, to = (int64_t)t->columns;
    if (!dash || eg_integer_parse(item, (size_t)(dash - item), 1, to, &from, NULL)) return false;
    if (strcmp(dash + 1, "last") != 0 &&
        eg_integer_parse(dash + 1, strlen(dash + 1), from, to, &to, NULL))
        return false;
    *first = (uint64_t)from - 1;
    *last = (uint64_t)to - 1;
    return true;
}

/* "x.17" for the array "x" */
static bool is_of_array(const char *name, const char *array) {
    const size_t length = strlen(array);
    if (strncmp(name, array, length) != 0 || name[length] != '.' || !name[length + 1]) return false;
    return strspn(name + length + 1, "0123456789") == strlen(name + length + 1);
}

static eg_status list_item(list *l, const char *item, eg_error *error) {
    const eg_table *t = l->table;
    uint64_t first = 0, last = 0;
    eg_error reason = {0};
    eg_status status = eg_table_column(t, item, &first, &reason);
    if (!status) return list_add(l, first, error);
    if (status == EG_ERR_NOT_FOUND && parse_range(t, item, &first, &last)) {
        for (status = EG_OK; !status && first <= last; first++) status = list_add(l, first, error);
        return status;
    }
    bool found = false;
    for (uint64_t c = 0; status == EG_ERR_NOT_FOUND && t->names && c < t->columns; c++) {
        if (!is_of_array(t->names[c], item)) continue;
        const eg_status added = list_add(l, c, error);
        if (added) return added;
        found = true;
    }
    return found ? EG_OK : eg__fail(error, status, "%s", reason.message);
}

/* A name in quotes, doubled inside: "a, b" or "so ""called""". Returns what comes after it; NULL = no end. */
static const char *unquote(const char *at, char item[ITEM_SIZE], bool *fits) {
    size_t length = 0;
    for (at++; *at; at++) {
        if (*at == '"' && *++at != '"') {
            item[length] = 0;
            return at + strspn(at, " \t");
        }
        *fits = length + 1 < ITEM_SIZE;
        if (!*fits) return at;
        item[length++] = *at;
    }
    return NULL;
}

static eg_status list_quoted(list *l, const char *item, eg_error *error) {
    uint64_t column = 0;
    const eg_status status = eg_table_column(l->table, item, &column, error);
    if (status) return status;
    if (l->table->names && strcmp(l->table->names[column], item) == 0)
        return list_add(l, column, error);
    return eg__fail(error, EG_ERR_NOT_FOUND, "no column has the name '%.60s'", item);
}

static bool is_name(const eg_table *t, const char *text) {
    for (uint64_t i = 0; t->names && i < t->columns; i++)
        if (strcmp(t->names[i], text) == 0) return true;
    return false;
}

static eg_status list_parse(list *l, const char *text, eg_error *error) {
    if (strchr(text, ',') && is_name(l->table, text)) return list_quoted(l, text, error);
    for (const char *at = text;; at++) {
        char item[ITEM_SIZE];
        at += strspn(at, " \t");
        if (*at == '"') {
            bool fits = true;
            const char *end = unquote(at, item, &fits);
            if (!fits) return eg__fail(error, EG_ERR_ARGUMENT, "the name %.40s... is too long", at);
            if (!end || (*end && *end != ','))
                return eg__fail(error, EG_ERR_ARGUMENT, "a quote does not end in '%.80s'", text);
            const eg_status status = list_quoted(l, item, error);
            if (status || !*end) return status;
            at = end;
            continue;
        }
        const size_t span = strcspn(at, ",");
        size_t length = span;
        while (length && (at[length - 1] == ' ' || at[length - 1] == '\t')) length--;
        if (!length)
            return eg__fail(error, EG_ERR_ARGUMENT, "an empty name in the list of columns '%.80s'",
                            text);
        if (length >= sizeof item)
            return eg__fail(error, EG_ERR_ARGUMENT, "the name '%.40s...' is too long", at);
        memcpy(item, at, length);
        item[length] = 0;
        const eg_status status = list_item(l, item, error);
        if (status) return status;
        at += span;
        if (!*at) return EG_OK;
    }
}

/* A column's name must be unique: a model stores names, not indices. */
static eg_status check_names(const eg_table *t, const uint64_t *columns, uint64_t count,
                             eg_error *error) {
    for (uint64_t i = 0; i < count; i++) {
        char scratch[EG_NUMBER_SIZE], shown[NAME_SIZE];
        const char *name = column_name(t, columns[i], scratch);
        uint64_t found = columns[i];
        if (strlen(name) >= ITEM_SIZE)
            return eg__fail(error, EG_ERR_ARGUMENT, "the name '%s' of column %llu is too long",
                            quoted_name(t, columns[i], shown), (unsigned long long)columns[i] + 1);
        if (eg_table_column(t, name, &found, NULL) == EG_OK && found == columns[i]) continue;
        for (found = 0; found == columns[i] || strcmp(t->names[found], name) != 0;) found++;
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "columns %llu and %llu are both called '%s', and a model knows columns by "
                        "name: rename one in the file, or use neither",
                        (unsigned long long)(found < columns[i] ? found : columns[i]) + 1,
                        (unsigned long long)(found < columns[i] ? columns[i] : found) + 1,
                        quoted_name(t, columns[i], shown));
    }
    return EG_OK;
}

/* ---- the type that a column must have */

/* The first column that an option would turn into numbers or dates, else one that is neither. */
static const char *odd_label(const eg_column *column, bool dates) {
    const char *odd = "";
    for (size_t i = 0; i < column->label_count; i++) {
        const char *text = column->labels[i];
        double value;
        if (*eg_table_hint(text)) return text;
        if (eg_number_parse(text, strlen(text), &value, NULL) &&
            (!dates || eg_date_parse(text, strlen(text), &value, NULL)))
            odd = text;
    }
    return odd;
}
static eg_status check_kind(const eg__reader *r, const char *role, uint64_t column, bool dates,
                            bool labels, eg_error *error) {
    char name[NAME_SIZE];
    for (size_t i = 0; i < r->table_count; i++) {
        const eg_column_kind kind = eg__column_kind(&r->tables[i], column);
        if (kind == EG_COLUMN_NUMBER || (kind == EG_COLUMN_DATE && dates) ||
            (kind == EG_COLUMN_LABEL && labels))
            continue;
        if (kind == EG_COLUMN_DATE)
            return eg__fail(error, EG_ERR_ARGUMENT, "%s: column '%s' has dates", role,
                            quoted_name(r->tables, column, name));
        char label[48];
        const char *text = odd_label(&r->tables[i].kinds[column], dates);
        return eg__fail(error, EG_ERR_ARGUMENT, "%s: column '%s' has labels, such as '%s'%s", role,
                        quoted_name(r->tables, column, name),
                        eg__file_quote(label, sizeof label, text, strlen(text)),
                        eg_table_hint(text));
    }
    return EG_OK;
}

static eg_status find_list(eg__reader *r, const char *role, const char *text, bool labels,
                           uint64_t *columns, uint64_t *count, eg_error *error) {
    list l = {r->tables, columns, 0};
    eg_error reason = {0};
    eg_status status = list_parse(&l, text, &reason);
    if (status) return eg__fail(error, status, "%s: %s", role, reason.message);
    for (uint64_t i = 0; !status && i < l.count; i++)
        status = check_kind(r, role, columns[i], false, labels, error);
    *count = l.count;
    return status;
}

static eg_status find_one(eg__reader *r, const char *role, const char *name, bool dates,
                          bool labels, uint64_t *out, eg_error *error) {
    if (!name) return EG_OK;
    eg_error reason = {0};
    const eg_status status = eg_table_column(r->tables, name, out, &reason);
    if (status) return eg__fail(error, status, "%s: %s", role, reason.message);
    return check_kind(r, role, *out, dates, labels, error);
}

/* Default inputs: columns that are numeric in all tables and have no other role. An unnamed column
 * beside named ones is an index. */
static bool is_used(const eg__reader *r, uint64_t column) {
    if (column == r->time || column == r->timespans || column == r->group) return true;
    for (uint64_t i = 0; i < r->store->targets; i++)
        if (r->targets[i] == column) return true;
    return false;
}

static bool is_free(const eg__reader *r, uint64_t column) {
    if (is_used(r, column)) return false;
    for (size_t i = 0; i < r->table_count; i++) {
        const eg_table *t = &r->tables[i];
        if (eg__column_kind(t, column) != EG_COLUMN_NUMBER) return false;
        if (t->names && !t->names[column][0]) return false;
    }
    return true;
}

/* A column with decimal commas would be silently left out: fail and say which option reads it. */
static eg_status check_commas(const eg__reader *r, uint64_t column, eg_error *error) {
    for (size_t i = 0; i < r->table_count; i++) {
        if (eg__column_kind(&r->tables[i], column) != EG_COLUMN_LABEL || is_used(r, column))
            continue;
        const eg_column *c = &r->tables[i].kinds[column];
        size_t numbers = 0;
        for (size_t k = 0; k < c->label_count; k++) {
            const size_t length = strlen(c->labels[k]);
            double value;
            numbers += eg__csv_comma_number(c->labels[k], length, &value) ||
                       !eg_number_parse(c->labels[k], length, &value, NULL);
        }
        if (numbers == c->label_count) return check_kind(r, "inputs", column, false, false, error);
    }
    return EG_OK;
}

static eg_status find_all(eg__reader *r, eg_error *error) {
    const eg_data_options *o = r->options;
    eg__store *s = r->store;
    eg_status status = find_one(r, "time", o->time, true, false, &r->time, error);
    if (!status) status = find_one(r, "spans", o->timespans, false, false, &r->timespans, error);
    if (!status) status = find_one(r, "group", o->group, true, true, &r->group, error);
    if (!status && o->targets)
        status =
            find_list(r, "targets", o->targets, o->classes != 0, r->targets, &s->targets, error);
    if (!status && o->inputs)
        status = find_list(r, "inputs", o->inputs, false, r->inputs, &s->inputs, error);
    for (uint64_t c = 0; !status && !o->inputs && c < r->tables->columns; c++) {
        if (is_free(r, c)) r->inputs[s->inputs++] = c;
        else status = check_commas(r, c, error);
    }
    if (status) return status;
    if (!s->inputs) return eg__fail(error, EG_ERR_ARGUMENT, "no column is left as an input");
    if (o->classes && s->targets != 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "classes need one target column, got %llu",
                        (unsigned long long)s->targets);
    for (size_t i = 0; r->time != EG__NO_COLUMN && i < r->table_count; i++) {
        const bool dates = eg__column_kind(&r->tables[i], r->time) == EG_COLUMN_DATE;
        if (i && dates != s->dates)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "time: dates in one table, but numbers in another");
        s->dates = dates;
    }
    return EG_OK;
}

eg_status eg__reader_columns(eg__reader *r, eg_error *error) {
    eg_status status = EG_OK;
    eg__store *s = r->store;
    for (size_t i = 0; !status && i < r->table_count; i++) status = check_table(r, i, error);
    const size_t columns = (size_t)r->tables->columns;
    r->inputs = eg__data_take(s->memory, columns, sizeof *r->inputs, &status, error);
    r->targets = eg__data_take(s->memory, columns, sizeof *r->targets, &status, error);
    if (!status) status = find_all(r, error);
    if (!status) status = check_names(r->tables, r->inputs, s->inputs, error);
    if (!status) status = check_names(r->tables, r->targets, s->targets, error);
    if (status) return status;
    const listed inputs = {r->tables, r->inputs}, targets = {r->tables, r->targets};
    s->input_names =
        eg__data_texts(s->memory, (size_t)s->inputs, listed_name, &inputs, &status, error);
    s->target_names =
        eg__data_texts(s->memory, (size_t)s->targets, listed_name, &targets, &status, error);
    return status;
}

int eg_data_are_labels(const eg_table *table, const char *targets) {
    char item[ITEM_SIZE];
    uint64_t column;
    bool fits = true;
    if (!table || !targets || !table->kinds) return 0;
    if (*targets == '"') {
        const char *end = unquote(targets, item, &fits);
        if (!fits || !end || *end) return 0;
        targets = item;
    }
    return eg_table_column(table, targets, &column, NULL) == EG_OK &&
           table->kinds[column].kind == EG_COLUMN_LABEL;
}
