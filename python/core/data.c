/* Data: tables cut into recordings and windows, as a model learns from them. */
#include "train.h"

#include <stdlib.h>

static PyTypeObject *data_type;

static core_data *self_of(PyObject *object) { return (core_data *)object; }

const core_data *core_data_of(PyObject *object, const char *name) {
    if (PyObject_TypeCheck(object, data_type)) return self_of(object);
    PyErr_Format(PyExc_TypeError, "%s: expected a Data, given %R", name,
                 (PyObject *)Py_TYPE(object));
    return NULL;
}

/* Takes the references, also when it fails. */
static PyObject *wrap(core_context *context, eg_data *data, const eg_data_options *options,
                      PyObject *texts, PyObject *rows) {
    core_data *self =
        (core_data *)((allocfunc)PyType_GetSlot(data_type, Py_tp_alloc))(data_type, 0);
    if (!self) {
        eg_data_destroy(data);
        core_context_give(context);
        Py_DECREF(texts);
        Py_DECREF(rows);
        return NULL;
    }
    self->context = context;
    self->data = data;
    self->options = *options;
    self->options.labels = NULL;
    self->options.label_count = 0;
    self->texts = texts;
    self->rows = rows;
    return (PyObject *)self;
}

static void finish(PyObject *object) {
    core_data *self = self_of(object);
    eg_data_destroy(self->data);
    core_context_give(self->context);
    Py_XDECREF(self->texts);
    Py_XDECREF(self->rows);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- options */
enum {
    TABLES,
    INPUTS,
    TARGETS,
    TIME,
    TIMESPANS,
    GROUP,
    FIRST,
    CLASSES,
    LABELS,
    MISSING,
    AHEAD,
    WINDOW,
    STRIDE,
    PARTIAL,
    LAST,
    OPTIONS
};
static const char *const option_names[] = {
    "tables", "inputs",  "targets", "time",   "timespans", "group",   "first_timespan", "classes",
    "labels", "missing", "ahead",   "window", "stride",    "partial", "last",           NULL};

static const char *missing_at(int index) { return eg_missing_name((eg_missing)index); }

static int keep(PyObject *texts, PyObject *object, const char *name, const char **out) {
    if (!object) return 0;
    PyObject *bytes = core_text(object, name, out);
    const int failed = !bytes || PyList_Append(texts, bytes);
    Py_XDECREF(bytes);
    return failed;
}

static int take_labels(PyObject *texts, PyObject *given, const char ***labels, eg_data_options *o) {
    if (!given) return 0;
    PyObject *list = PySequence_List(given);
    if (!list) return -1;
    const Py_ssize_t count = PyList_Size(list);
    *labels = calloc((size_t)count + 1, sizeof **labels);
    int failed = !*labels;
    if (failed) PyErr_NoMemory();
    for (Py_ssize_t i = 0; !failed && i < count; i++)
        failed = keep(texts, PyList_GetItem(list, i), "labels", &(*labels)[i]);
    o->labels = *labels;
    o->label_count = (size_t)count;
    Py_DECREF(list);
    return failed ? -1 : 0;
}

static int take_options(PyObject *texts, PyObject *const *given, const char ***labels,
                        eg_data_options *o) {
    const struct {
        int which;
        const char **out;
    } names[] = {{INPUTS, &o->inputs},
                 {TARGETS, &o->targets},
                 {TIME, &o->time},
                 {TIMESPANS, &o->timespans},
                 {GROUP, &o->group}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (keep(texts, given[names[i].which], option_names[names[i].which], names[i].out))
            return -1;
    const struct {
        int which;
        uint64_t *out;
    } counts[] = {{AHEAD, &o->ahead}, {WINDOW, &o->window}, {STRIDE, &o->stride}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (given[counts[i].which] &&
            core_count(given[counts[i].which], option_names[counts[i].which], counts[i].out))
            return -1;
    int missing = 0;
    if ((given[FIRST] && core_number(given[FIRST], "first_timespan", &o->first_timespan)) ||
        (given[MISSING] && core_choice(given[MISSING], "missing", missing_at, &missing)) ||
        core_flag(given[PARTIAL], &o->partial) || core_flag(given[LAST], &o->last) ||
        core_flag(given[CLASSES], &o->classes))
        return -1;
    o->missing = (eg_missing)missing;
    return take_labels(texts, given[LABELS], labels, o);
}

/* ---- making one */
/* Copies of the tables' structs, which point into them; their row counts go to `rows`. */
static eg_table *take_tables(PyObject *list, PyObject **rows) {
    const Py_ssize_t count = PyList_Size(list);
    eg_table *tables = calloc((size_t)count + 1, sizeof *tables);
    *rows = PyTuple_New(count);
    int failed = !tables || !*rows;
    if (!tables) PyErr_NoMemory();
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        const core_table *table = core_table_of(PyList_GetItem(list, i));
        PyObject *number = table ? PyLong_FromUnsignedLongLong(table->table.rows) : NULL;
        failed = !number || PyTuple_SetItem(*rows, i, number);
        if (table) tables[i] = table->table;
    }
    if (!failed) return tables;
    free(tables);
    Py_CLEAR(*rows);
    return NULL;
}

static PyObject *create(PyObject *list, PyObject *const *given) {
    eg_data_options o = {.size = sizeof o};
    PyObject *rows = NULL, *texts = PyList_New(0), *out = NULL;
    const char **labels = NULL;
    eg_table *tables = texts ? take_tables(list, &rows) : NULL;
    core_context *context =
        tables && !take_options(texts, given, &labels, &o) ? core_context_take() : NULL;
    if (context) {
        const size_t count = (size_t)PyList_Size(list);
        eg_data *data = NULL;
        eg_error error;
        eg_status status;
        if (!given[CLASSES]) o.classes = count && eg_data_are_labels(tables, o.targets);
        Py_BEGIN_ALLOW_THREADS;
        status = eg_data_create(context->context, count, tables, &o, &data, &error);
        Py_END_ALLOW_THREADS;
        if (status) {
            core_context_give(context);
            core_raise(&error);
        } else {
            out = wrap(context, data, &o, texts, rows);
            texts = rows = NULL;
        }
    }
    free(tables);
    free((void *)labels);
    Py_XDECREF(texts);
    Py_XDECREF(rows);
    return out;
}

static PyObject *make_data(PyObject *module, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords) {
    (void)module;
    PyObject *given[OPTIONS];
    if (core_arguments("data", option_names, 1, given, args, count, keywords)) return NULL;
    PyObject *list = PySequence_List(given[TABLES]); /* holds the tables meanwhile */
    PyObject *out = list ? create(list, given) : NULL;
    Py_XDECREF(list);
    return out;
}

/* ---- parts */
static const char *split_at(int index) { return eg_split_name((eg_split_kind)index); }

static PyObject *part(const core_data *whole, eg_data *data) {
    Py_INCREF(whole->texts);
    Py_INCREF(whole->rows);
    return wrap(core_context_share(whole->context), data, &whole->options, whole->texts,
                whole->rows);
}

static PyObject *split(PyObject *object, PyObject *const *args, Py_ssize_t count,
                       PyObject *keywords) {
    static const char *const names[] = {"fraction", "kind", "at", "seed", NULL};
    core_data *self = self_of(object);
    PyObject *given[4];
    eg_split s = {.fraction = 0.1};
    int kind = EG_SPLIT_AUTO;
    uint64_t seed = 0;
    if (core_arguments("split", names, 0, given, args, count, keywords) ||
        (given[0] && core_number(given[0], "fraction", &s.fraction)) ||
        (given[1] && core_choice(given[1], "kind", split_at, &kind)) ||
        (given[2] && core_number(given[2], "at", &s.at)) ||
        (given[3] && core_count(given[3], "seed", &seed)))
        return NULL;
    if (seed > UINT32_MAX)
        return PyErr_Format(PyExc_ValueError, "seed: at most 4294967295, given %llu",
                            (unsigned long long)seed);
    s.kind = given[2] ? EG_SPLIT_AT : (eg_split_kind)kind;
    s.seed = (uint32_t)seed;
    eg_data *first, *second;
    eg_error error;
    if (eg_data_split(self->data, &s, &first, &second, &error)) return core_raise(&error);
    PyObject *learned = part(self, first), *validated = part(self, second);
    if (learned && validated) return Py_BuildValue("(NN)", learned, validated);
    Py_XDECREF(learned);
    Py_XDECREF(validated);
    return NULL;
}

/* ---- what it is */
static PyObject *names_of(const eg_data *data, const char *(*name_at)(const eg_data *, size_t)) {
    PyObject *out = PyList_New(0);
    const char *name;
    for (size_t i = 0; out && (name = name_at(data, i)); i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(out, text)) Py_CLEAR(out);
        Py_XDECREF(text);
    }
    return out;
}

static PyObject *boolean(int value) { return PyBool_FromLong(value); }

static PyObject *info(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_data *data = self_of(object)->data;
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:d,s:N,s:N,s:N,s:N,s:N,s:N}", "rows", d.rows,
        "recordings", d.recordings, "windows", d.windows, "covered", d.covered, "steps", d.steps,
        "missing", d.missing, "dropped", d.dropped, "missing_targets", d.missing_targets,
        "without_target", d.without_target, "timespans", boolean(d.timespans), "span",
        (double)d.span, "dates", boolean(d.dates), "lengths", boolean(d.lengths), "last",
        boolean(d.last), "inputs", names_of(data, eg_data_input), "targets",
        names_of(data, eg_data_target), "classes", names_of(data, eg_data_class));
}

/* Values that are only 0 and 1 may be meant as yes and no. */
static PyObject *is_binary(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_data *data = self_of(object)->data;
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    int is_one = d.targets && !d.classes;
    for (size_t i = 0; is_one && i < d.targets; i++) {
        eg_target_info t = {.size = sizeof t};
        eg_data_target_info(data, i, &t);
        is_one = t.zeros && t.ones && t.zeros + t.ones == t.rows;
    }
    return PyBool_FromLong(is_one);
}

static PyMethodDef methods[] = {
    {"split", CORE_FASTCALL(split), METH_FASTCALL | METH_KEYWORDS,
     "split(fraction=0.1, kind='auto', at=None, seed=0)\n--\n\nTwo parts: to learn from, and to validate on."},
    {"info", info, METH_NOARGS, "info()\n--\n\nHow much of it there is, and how much is missing."},
    {"is_binary", is_binary, METH_NOARGS, "is_binary()\n--\n\nWhether every target is 0 or 1."},
    {NULL, NULL, 0, NULL}};
static PyMethodDef functions[] = {
    {"data", CORE_FASTCALL(make_data), METH_FASTCALL | METH_KEYWORDS,
     "data(tables, inputs=None, targets=None, time=None, timespans=None, group=None, first_timespan=0, classes=None,\n"
     "     labels=None, missing='error', ahead=0, window=0, stride=0, partial=False, last=False)\n--\n\n"
     "A data set of tables. `classes` None: when the target is a column of labels."},
    {NULL, NULL, 0, NULL}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use data()");
    return NULL;
}

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, refuse_new},
                              {Py_tp_doc, (void *)"Recordings and windows of tables."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Data", sizeof(core_data), 0, Py_TPFLAGS_DEFAULT, slots};

int core_data_add(PyObject *module) {
    data_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!data_type) return -1;
    Py_INCREF(data_type);
    return PyModule_AddObject(module, "Data", (PyObject *)data_type) ||
           PyModule_AddFunctions(module, functions);
}
