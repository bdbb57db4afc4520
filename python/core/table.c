/* Table: rows of numbers with names, dates and labels, from an array of Python or from a file. */
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static PyTypeObject *table_type;

static core_table *self_of(PyObject *object) { return (core_table *)object; }

const core_table *core_table_of(PyObject *object) {
    if (PyObject_TypeCheck(object, table_type)) return self_of(object);
    PyErr_Format(PyExc_TypeError, "tables: expected a Table, given %R",
                 (PyObject *)Py_TYPE(object));
    return NULL;
}

static core_table *new_table(void) {
    core_context *context = core_context_take();
    if (!context) return NULL;
    core_table *self =
        (core_table *)((allocfunc)PyType_GetSlot(table_type, Py_tp_alloc))(table_type, 0);
    if (!self) core_context_give(context);
    else self->context = context;
    return self;
}

static void finish(PyObject *object) {
    core_table *self = self_of(object);
    if (self->is_read) eg_table_release(self->context->context, &self->table);
    if (self->is_buffer) PyBuffer_Release(&self->buffer);
    Py_XDECREF(self->texts);
    free((void *)self->names);
    free((void *)self->labels);
    free(self->kinds);
    core_context_give(self->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- from arrays */
static int take_values(core_table *self, PyObject *values) {
    if (PyObject_GetBuffer(values, &self->buffer, PyBUF_FORMAT | PyBUF_STRIDES)) return -1;
    self->is_buffer = 1;
    const Py_buffer *b = &self->buffer;
    if (!b->format || strcmp(b->format, "d") != 0 || b->ndim != 2) {
        PyErr_Format(PyExc_TypeError,
                     "values: expected an array of float64 [rows, columns], given %d axes of '%s'",
                     b->ndim, b->format ? b->format : "B");
        return -1;
    }
    const Py_ssize_t size = (Py_ssize_t)sizeof(double);
    if ((b->shape[0] > 1 && b->strides[0] != b->shape[1] * size) ||
        (b->shape[1] > 1 && b->strides[1] != size) || (uintptr_t)b->buf % sizeof(double)) {
        PyErr_SetString(PyExc_ValueError, "values: expected contiguous memory in C order");
        return -1;
    }
    self->table.values = b->buf;
    self->table.rows = (uint64_t)b->shape[0];
    self->table.columns = (uint64_t)b->shape[1];
    return 0;
}

/* Its text, kept by the table. */
static const char *keep_text(core_table *self, PyObject *object, const char *name) {
    const char *text;
    PyObject *bytes = core_text(object, name, &text);
    if (!bytes) return NULL;
    const int failed = PyList_Append(self->texts, bytes);
    Py_DECREF(bytes);
    return failed ? NULL : text;
}

static PyObject *take_list(const core_table *self, PyObject *given, const char *name) {
    PyObject *list = PySequence_List(given);
    if (list && (uint64_t)PyList_Size(list) != self->table.columns) {
        PyErr_Format(PyExc_ValueError, "%s: expected %llu, one for each column, given %zd", name,
                     (unsigned long long)self->table.columns, PyList_Size(list));
        Py_CLEAR(list);
    }
    return list;
}

static int take_names(core_table *self, PyObject *given) {
    PyObject *list = take_list(self, given, "names");
    if (!list) return -1;
    self->names = calloc((size_t)self->table.columns + 1, sizeof *self->names);
    int failed = !self->names;
    if (failed) PyErr_NoMemory();
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(list); i++)
        failed = !(self->names[i] = keep_text(self, PyList_GetItem(list, i), "names"));
    self->table.names = self->names;
    Py_DECREF(list);
    return failed ? -1 : 0;
}

/* Every number of a column of labels is one of them, or missing. */
static int check_labels(const core_table *self, uint64_t column) {
    const eg_table *t = &self->table;
    const eg_column *c = &self->kinds[column];
    for (size_t i = 1; i < c->label_count; i++)
        if (strcmp(c->labels[i - 1], c->labels[i]) >= 0) {
            PyErr_Format(PyExc_ValueError, "kinds: the labels of column %llu are not sorted",
                         (unsigned long long)column);
            return -1;
        }
    for (uint64_t row = 0; row < t->rows; row++) {
        const double v = t->values[row * t->columns + column];
        if (isnan(v) || (v >= 0 && v < (double)c->label_count && floor(v) == v)) continue;
        PyErr_Format(PyExc_ValueError, "values: row %llu, column %llu is not the index of a label",
                     (unsigned long long)row, (unsigned long long)column);
        return -1;
    }
    return 0;
}

/* "number", "date", or a sequence of labels, whose texts go to *at. */
static int take_kind(core_table *self, uint64_t column, PyObject *given, const char ***at) {
    eg_column *c = &self->kinds[column];
    if (PyUnicode_Check(given)) {
        if (PyUnicode_CompareWithASCIIString(given, "date") == 0) c->kind = EG_COLUMN_DATE;
        else if (PyUnicode_CompareWithASCIIString(given, "number") != 0) {
            PyErr_Format(PyExc_ValueError, "kinds: %R is not 'number', 'date' or a list of labels",
                         given);
            return -1;
        }
        return 0;
    }
    *c = (eg_column){EG_COLUMN_LABEL, (size_t)PyList_Size(given), *at};
    for (Py_ssize_t i = 0; i < PyList_Size(given); i++, ++*at)
        if (!(**at = keep_text(self, PyList_GetItem(given, i), "kinds"))) return -1;
    return check_labels(self, column);
}

static int take_kinds(core_table *self, PyObject *given) {
    PyObject *list = take_list(self, given, "kinds");
    size_t count = 0;
    int failed = !list;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(list); i++) {
        PyObject *kind = PyList_GetItem(list, i);
        if (PyList_Check(kind)) count += (size_t)PyList_Size(kind);
        else if (!PyUnicode_Check(kind)) {
            PyErr_Format(PyExc_TypeError, "kinds: expected a str or a list, given %R",
                         (PyObject *)Py_TYPE(kind));
            failed = 1;
        }
    }
    if (!failed) {
        self->labels = calloc(count + 1, sizeof *self->labels);
        self->kinds = calloc((size_t)self->table.columns + 1, sizeof *self->kinds);
        failed = !self->labels || !self->kinds;
        if (failed) PyErr_NoMemory();
    }
    const char **at = self->labels;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(list); i++)
        failed = take_kind(self, (uint64_t)i, PyList_GetItem(list, i), &at);
    self->table.kinds = self->kinds;
    Py_XDECREF(list);
    return failed ? -1 : 0;
}

static PyObject *make_table(PyObject *module, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"values", "names", "kinds", "steps", NULL};
    PyObject *given[4];
    uint64_t steps = 0;
    if (core_arguments("table", names, 1, given, args, count, keywords) ||
        (given[3] && core_count(given[3], "steps", &steps)))
        return NULL;
    core_table *self = new_table();
    if (!self) return NULL;
    self->table.steps = steps;
    self->texts = PyList_New(0);
    if (self->texts && !take_values(self, given[0]) && (!given[1] || !take_names(self, given[1])) &&
        (!given[2] || !take_kinds(self, given[2])))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

/* ---- from files */
static const char *order_at(int index) { return eg_date_order_name((eg_date_order)index); }

static PyObject *read_table(PyObject *module, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"path",     "no_header", "short_header", "decimal", "dates",
                                        "encoding", NULL};
    PyObject *given[6];
    int dates = 0;
    const char *path, *decimal = "", *encoding = NULL;
    eg_table_options o = {.size = sizeof o};
    if (core_arguments("table_read", names, 1, given, args, count, keywords) ||
        core_flag(given[1], &o.no_header) || core_flag(given[2], &o.short_header) ||
        (given[4] && core_choice(given[4], "dates", order_at, &dates)))
        return NULL;
    PyObject *file = core_path(given[0], "path", &path), *texts[2] = {NULL, NULL};
    core_table *self = NULL;
    if (!file || (given[3] && !(texts[0] = core_text(given[3], "decimal", &decimal))) ||
        (given[5] && !(texts[1] = core_text(given[5], "encoding", &encoding))))
        goto done;
    if (strlen(decimal) > 1) {
        PyErr_Format(PyExc_ValueError, "decimal: expected '.' or ',', given %R", given[3]);
        goto done;
    }
    o.decimal = decimal[0];
    o.dates = (eg_date_order)dates;
    o.encoding = encoding;
    if (!(self = new_table())) goto done;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_table_read(self->context->context, path, &o, &self->table, &error);
    Py_END_ALLOW_THREADS;
    if (status) {
        core_raise_path(&error, path);
        Py_CLEAR(self);
    } else self->is_read = 1;
done:
    Py_XDECREF(file);
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    return (PyObject *)self;
}

/* ---- what it is */
static PyObject *kind_of(const eg_table *t, uint64_t column) {
    const eg_column *c = t->kinds ? &t->kinds[column] : NULL;
    if (!c || c->kind != EG_COLUMN_LABEL)
        return PyUnicode_FromString(c && c->kind == EG_COLUMN_DATE ? "date" : "number");
    PyObject *labels = PyList_New(0);
    for (size_t i = 0; labels && i < c->label_count; i++) {
        PyObject *text = PyUnicode_FromString(c->labels[i]);
        if (!text || PyList_Append(labels, text)) Py_CLEAR(labels);
        Py_XDECREF(text);
    }
    return labels;
}

static PyObject *info(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_table *t = &self_of(object)->table;
    PyObject *names = t->names ? PyList_New(0) : NULL, *kinds = PyList_New(0);
    int failed = !kinds || (t->names && !names);
    for (uint64_t i = 0; !failed && i < t->columns; i++) {
        PyObject *name = t->names ? PyUnicode_FromString(t->names[i]) : NULL, *kind = kind_of(t, i);
        failed = !kind || PyList_Append(kinds, kind) ||
                 (t->names && (!name || PyList_Append(names, name)));
        Py_XDECREF(name);
        Py_XDECREF(kind);
    }
    PyObject *out =
        failed ? NULL
               : Py_BuildValue("{s:K,s:K,s:K,s:O,s:O}", "rows", t->rows, "columns", t->columns,
                               "steps", t->steps, "names", names ? names : Py_None, "kinds", kinds);
    Py_XDECREF(names);
    Py_XDECREF(kinds);
    return out;
}

static PyMethodDef methods[] = {
    {"info", info, METH_NOARGS,
     "info()\n--\n\nRows, columns, rows per recording, names and kinds."},
    {NULL, NULL, 0, NULL}};
static PyMethodDef functions[] = {
    {"table", CORE_FASTCALL(make_table), METH_FASTCALL | METH_KEYWORDS,
     "table(values, names=None, kinds=None, steps=0)\n--\n\n"
     "A table of an array [rows, columns] of float64. A kind is 'number', 'date' or a sorted list of labels."},
    {"table_read", CORE_FASTCALL(read_table), METH_FASTCALL | METH_KEYWORDS,
     "table_read(path, no_header=False, short_header=False, decimal=None, dates=None, encoding=None)\n--\n\n"
     "A table from a file: .csv, .tsv, .txt, .npy or .npz."},
    {NULL, NULL, 0, NULL}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use table() or table_read()");
    return NULL;
}

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, refuse_new},
                              {Py_tp_doc, (void *)"Rows of numbers, dates and labels."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Table", sizeof(core_table), 0, Py_TPFLAGS_DEFAULT, slots};

int core_table_add(PyObject *module) {
    table_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!table_type) return -1;
    Py_INCREF(table_type);
    return PyModule_AddObject(module, "Table", (PyObject *)table_type) ||
           PyModule_AddFunctions(module, functions);
}
