/* Monitor: samples of this machine and of programs that publish, as dictionaries; their history. */
#include "core.h"
#include "train.h"

#include <string.h>

typedef struct core_monitor {
    PyObject_HEAD core_context *context;
    eg_monitor *monitor; /* NULL = closed */
    int is_busy;         /* a thread reads a sample, without the GIL */
} core_monitor;

static PyTypeObject *monitor_type;

static core_monitor *self_of(PyObject *object) { return (core_monitor *)object; }

static int is_usable(const core_monitor *self) {
    if (!self->monitor) PyErr_SetString(PyExc_ValueError, "this monitor was closed");
    else if (self->is_busy) PyErr_SetString(PyExc_RuntimeError, "another thread uses this monitor");
    else return core_context_usable(self->context);
    return 0;
}

/* ---- opening */
static PyObject *monitor_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"root", "folder", "replay", NULL};
    PyObject *given[3] = {NULL}, *bytes[3] = {NULL};
    eg_monitor_options o = {.size = sizeof o};
    const char **const texts[3] = {&o.root, &o.folder, &o.replay};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOO", names, &given[0], &given[1],
                                     &given[2]))
        return NULL;
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++)
        if (given[i] && given[i] != Py_None)
            failed = !(bytes[i] = core_path(given[i], names[i], texts[i]));
    core_context *context = failed ? NULL : core_context_take();
    core_monitor *self =
        context ? (core_monitor *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0) : NULL;
    if (self) {
        eg_error error;
        eg_status status;
        self->context = context;
        Py_BEGIN_ALLOW_THREADS;
        status = eg_monitor_open(context->context, &o, &self->monitor, &error);
        Py_END_ALLOW_THREADS;
        if (status) {
            if (o.replay) core_raise_path(&error, o.replay);
            else core_raise(&error);
            Py_DECREF((PyObject *)self);
            self = NULL;
        }
    } else core_context_give(context);
    for (int i = 0; i < 3; i++) Py_XDECREF(bytes[i]);
    return (PyObject *)self;
}

static void finish(PyObject *object) {
    eg_monitor_close(self_of(object)->monitor);
    core_context_give(self_of(object)->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *close_it(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_monitor *self = self_of(object);
    if (!self->monitor) Py_RETURN_NONE;
    if (!is_usable(self)) return NULL;
    eg_monitor_close(self->monitor);
    self->monitor = NULL;
    Py_RETURN_NONE;
}

/* ---- a sample. Texts of other programs may be cut within a character. */
static PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static int append(PyObject *list, PyObject *item) { /* steals item, which may be NULL */
    const int failed = !item || PyList_Append(list, item);
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

static PyObject *readings_of(const eg_monitor_sample *s) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < s->reading_count; i++) {
        const eg_reading *r = &s->readings[i];
        if (append(out, Py_BuildValue("(sNN)", eg_sensor_name(r->sensor), text_of(r->label),
                                      core_metric(&r->metric))))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *figures_of(const eg_published *p) {
    PyObject *out = PyDict_New();
    for (int i = 0; out && i < EG_FIGURE_COUNT; i++)
        if (core_add(out, eg_figure_name((eg_figure)i), core_metric(&p->figures[i]))) Py_CLEAR(out);
    return out;
}

static PyObject *losses_of(const eg_published *p) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < p->loss_count; i++) {
        const eg_loss_point *l = &p->losses[i];
        if (append(out, Py_BuildValue("(KdN)", (unsigned long long)l->step, l->loss,
                                      core_number_or_none(l->validation))))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *operations_of(const eg_published *p) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < p->operation_count; i++)
        if (append(out,
                   Py_BuildValue("(Nd)", text_of(p->operations[i].name), p->operations[i].share)))
            Py_CLEAR(out);
    return out;
}

static PyObject *programs_of(const eg_monitor_sample *s) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < s->published_count; i++) {
        const eg_published *p = &s->published[i];
        if (append(out, Py_BuildValue("{s:K,s:N,s:N,s:N,s:d,s:N,s:N,s:N,s:N}", "pid",
                                      (unsigned long long)p->pid, "program", text_of(p->program),
                                      "activity", text_of(p->activity), "model", text_of(p->model),
                                      "started", (double)p->started_ns * 1e-9, "verdict",
                                      text_of(p->verdict), "figures", figures_of(p), "losses",
                                      losses_of(p), "operations", operations_of(p))))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *sample_of(const eg_monitor_sample *s) {
    return Py_BuildValue("{s:d,s:d,s:N,s:N,s:K,s:N}", "time", (double)s->time_ns * 1e-9, "elapsed",
                         s->elapsed, "readings", readings_of(s), "programs", programs_of(s),
                         "ignored", (unsigned long long)s->ignored, "ignored_reason",
                         text_of(s->ignored_text ? s->ignored_text : ""));
}

static PyObject *read_sample(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_monitor *self = self_of(object);
    if (!is_usable(self)) return NULL;
    eg_monitor_sample s = {.size = sizeof s};
    eg_error error;
    eg_status status;
    self->is_busy = 1;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_monitor_read(self->monitor, &s, &error);
    Py_END_ALLOW_THREADS;
    self->is_busy = 0;
    if (status == EG_ERR_STOPPED) Py_RETURN_NONE; /* the end of a recording */
    return status ? core_raise(&error) : sample_of(&s);
}

static PyObject *line(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_monitor *self = self_of(object);
    const char *text;
    size_t length;
    eg_error error;
    if (!is_usable(self)) return NULL;
    if (eg_monitor_line(self->monitor, &text, &length, &error)) return core_raise(&error);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
}

/* Points are rows of doubles: time, least, mean, most, samples. */
static PyObject *points_of(const eg_series_info *s) {
    enum { FIELDS = 5 };
    PyObject *out =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(s->count * FIELDS * sizeof(double)));
    char *at = out ? PyBytes_AsString(out) : NULL;
    for (size_t i = 0; at && i < s->count; i++, at += FIELDS * sizeof(double)) {
        const eg_history_point *p = &s->points[i];
        const double row[FIELDS] = {p->time, (double)p->least, (double)p->mean, (double)p->most,
                                    (double)p->samples};
        memcpy(at, row, sizeof row);
    }
    return out;
}

static PyObject *series(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_monitor *self = self_of(object);
    if (!is_usable(self)) return NULL;
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out; i++) {
        eg_series_info s = {.size = sizeof s};
        eg_error error;
        const eg_status status = eg_monitor_series(self->monitor, i, &s, &error);
        if (status == EG_ERR_NOT_FOUND) break;
        if (status) {
            core_raise(&error);
            Py_CLEAR(out);
        } else if (append(out,
                          Py_BuildValue("{s:s,s:z,s:N,s:K,s:d,s:N}", "name", s.name, "unit", s.unit,
                                        "label", text_of(s.label), "pid", (unsigned long long)s.pid,
                                        "seconds", s.seconds, "points", points_of(&s))))
            Py_CLEAR(out);
    }
    return out;
}

static PyMethodDef methods[] = {
    {"read", read_sample, METH_NOARGS,
     "read()\n--\n\nA sample, or the next line of a recording; None after its last."},
    {"line", line, METH_NOARGS, "line()\n--\n\nThe last sample as a line of JSON."},
    {"series", series, METH_NOARGS,
     "series()\n--\n\nEvery figure over the last hour; points are float64: time, least, mean, most, samples."},
    {"close", close_it, METH_NOARGS, "close()\n--\n\nGives back files and memory."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_dealloc, finish},
    {Py_tp_new, monitor_new},
    {Py_tp_doc, (void *)"What the machine and programs that publish do; for one thread at a time."},
    {0, NULL}};
static PyType_Spec spec = {"elegans._core.Monitor", sizeof(core_monitor), 0, Py_TPFLAGS_DEFAULT,
                           slots};

int core_monitor_add(PyObject *module) {
    monitor_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!monitor_type) return -1;
    Py_INCREF(monitor_type);
    return PyModule_AddObject(module, "Monitor", (PyObject *)monitor_type);
}
