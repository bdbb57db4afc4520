/* Profile: what a model or a function takes, measured by the library; and the documents and pages that it makes of it. */
#include "profile.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

typedef struct core_profile {
    PyObject_HEAD core_context *context;
    PyObject *model; /* NULL = a function */
    eg_profile *profile;
    eg_analysis *analysis; /* NULL = not asked for yet */
    int is_busy;           /* a thread tries advice, without the GIL */
} core_profile;

static PyTypeObject *profile_type;

static core_profile *self_of(PyObject *object) { return (core_profile *)object; }

void core_model_begin(PyObject *object) {
    if (object) ((core_model *)object)->running++;
}

void core_model_end(PyObject *object) {
    if (object) ((core_model *)object)->running--;
}

static int is_usable(const core_profile *self) {
    if (self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread tries the advice of this profile");
        return 0;
    }
    return core_context_usable(self->context);
}

const eg_profile *core_profile_of(PyObject *object, const char *name) {
    if (PyObject_TypeCheck(object, profile_type))
        return is_usable(self_of(object)) ? self_of(object)->profile : NULL;
    PyErr_Format(PyExc_TypeError, "%s: expected a Profile, given %R", name,
                 (PyObject *)Py_TYPE(object));
    return NULL;
}

/* ---- made by the calls of profile_run.c */
PyObject *core_profile_wrap(core_context *context, PyObject *model, eg_profile *profile) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(profile_type, Py_tp_alloc);
    core_profile *self = (core_profile *)allocate(profile_type, 0);
    if (!self) {
        eg_profile_destroy(profile);
        return NULL;
    }
    self->context = core_context_share(context);
    Py_XINCREF(model);
    self->model = model;
    self->profile = profile;
    return (PyObject *)self;
}

/* ---- what it says */
static int analyse(core_profile *self) {
    eg_error error;
    eg_status status = EG_OK;
    if (!is_usable(self)) return -1;
    if (!self->analysis) status = eg_analyse(self->profile, &self->analysis, &error);
    if (status) core_raise(&error);
    return status ? -1 : 0;
}

static int take_format(PyObject *object, eg_report_format *out) {
    static const char *const names[] = {"html", "markdown", "json"};
    static const eg_report_format formats[] = {EG_REPORT_HTML, EG_REPORT_MARKDOWN, EG_REPORT_JSON};
    for (int i = 0; PyUnicode_Check(object) && i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
            *out = formats[i];
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "format: expected 'html', 'markdown' or 'json', given %R",
                 object);
    return -1;
}

static PyObject *text_of(eg_report *report) {
    size_t length;
    const char *text = eg_report_text(report, &length);
    PyObject *out = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
    eg_report_destroy(report);
    return out;
}

static PyObject *report(PyObject *object, PyObject *const *args, Py_ssize_t count,
                        PyObject *keywords) {
    static const char *const names[] = {"format", "basic", "indented", "chips", NULL};
    core_profile *self = self_of(object);
    PyObject *given[4];
    eg_report_options o = {.size = sizeof o};
    if (core_arguments("report", names, 1, given, args, count, keywords) ||
        take_format(given[0], &o.format) || core_flag(given[1], &o.basic) ||
        core_flag(given[2], &o.indented) || analyse(self))
        return NULL;
    eg_report_device *devices = NULL;
    if (given[3]) {
        eg_model *model = self->model ? core_model_of(self->model, "model") : NULL;
        if (!self->model)
            PyErr_SetString(PyExc_ValueError,
                            "chips: a function alone cannot be projected: its FLOPs are unknown");
        if (!model) return NULL;
        devices =
            core_devices(model, eg_profile_options_of(self->profile), given[3], &o.device_count);
        if (!devices) return NULL;
        o.devices = devices;
    }
    eg_report *made;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_report_of_profile(self->profile, self->analysis, &o, &made, &error);
    Py_END_ALLOW_THREADS;
    free(devices);
    return status ? core_raise(&error) : text_of(made);
}

/* The same of a document that was stored. */
static PyObject *report_of_text(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"json", "format", "basic", NULL};
    (void)module;
    PyObject *given[3], *out = NULL;
    eg_report_options o = {.size = sizeof o};
    const char *json;
    if (core_arguments("report_of_text", names, 2, given, args, count, keywords) ||
        take_format(given[1], &o.format) || core_flag(given[2], &o.basic))
        return NULL;
    PyObject *text = core_text(given[0], "json", &json);
    core_context *context = text ? core_context_take() : NULL;
    if (context) {
        eg_report *made;
        eg_error error;
        eg_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = eg_report_of_text(context->context, json, strlen(json), &o, &made, &error);
        Py_END_ALLOW_THREADS;
        out = status ? core_raise(&error) : text_of(made);
    }
    core_context_give(context);
    Py_XDECREF(text);
    return out;
}

static PyObject *try_advice(PyObject *object, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    static const char *const names[] = {"seconds", NULL};
    core_profile *self = self_of(object);
    PyObject *given[1];
    eg_try_options o = {.size = sizeof o};
    if (core_arguments("try_advice", names, 0, given, args, count, keywords) ||
        (given[0] && core_number(given[0], "seconds", &o.seconds)) || analyse(self))
        return NULL;
    if (!self->model)
        return PyErr_Format(PyExc_ValueError, "a function alone: there is no model to try it on");
    eg_model *model = core_model_of(self->model, "model");
    if (!model) return NULL;
    eg_error error;
    eg_status status;
    self->is_busy = 1;
    core_model_begin(self->model);
    Py_BEGIN_ALLOW_THREADS;
    status = eg_analysis_try(self->analysis, model, self->profile, &o, &error);
    Py_END_ALLOW_THREADS;
    core_model_end(self->model);
    self->is_busy = 0;
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *metric(PyObject *object, PyObject *argument) {
    core_profile *self = self_of(object);
    const char *wanted, *name;
    if (!is_usable(self)) return NULL;
    PyObject *text = core_text(argument, "name", &wanted), *out = NULL;
    if (!text) return NULL;
    for (int i = 0; !out && (name = eg_profile_metric_name((eg_profile_metric_id)i)); i++) {
        if (strcmp(name, wanted) != 0) continue;
        const eg_metric found = eg_profile_metric(self->profile, (eg_profile_metric_id)i);
        out = core_metric(&found);
        break;
    }
    if (!out && !PyErr_Occurred()) PyErr_Format(PyExc_KeyError, "no figure '%s'", wanted);
    Py_DECREF(text);
    return out;
}

static PyObject *metrics(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_profile *self = self_of(object);
    PyObject *out = is_usable(self) ? PyDict_New() : NULL;
    const char *name;
    for (int i = 0; out && (name = eg_profile_metric_name((eg_profile_metric_id)i)); i++) {
        const eg_metric found = eg_profile_metric(self->profile, (eg_profile_metric_id)i);
        if (core_add(out, name, core_metric(&found))) Py_CLEAR(out);
    }
    return out;
}

static PyObject *hardware(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_profile *self = self_of(object);
    PyObject *out = is_usable(self) ? PyDict_New() : NULL;
    eg_hardware h;
    if (out) eg_profile_hardware(self->profile, &h);
#define ADD(name, unit, text) \
    if (out && core_add(out, #name, core_metric(&h.name))) Py_CLEAR(out);
    EG_HARDWARE_MAP(ADD)
#undef ADD
    return out;
}

static PyObject *statistics(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_profile *self = self_of(object);
    if (!is_usable(self)) return NULL;
    eg_statistics s;
    eg_profile_time(self->profile, &s);
    return core_statistics(&s);
}

static PyObject *samples(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_profile *self = self_of(object);
    if (!is_usable(self)) return NULL;
    const double *seconds;
    const size_t count = eg_profile_samples(self->profile, &seconds);
    return PyBytes_FromStringAndSize((const char *)seconds, (Py_ssize_t)(count * sizeof *seconds));
}

typedef eg_status (*write_function)(const eg_profile *profile, const char *path, eg_error *error);

static PyObject *write_with(PyObject *object, PyObject *argument, write_function write) {
    core_profile *self = self_of(object);
    const char *path;
    if (!is_usable(self)) return NULL;
    PyObject *bytes = core_path(argument, "path", &path);
    if (!bytes) return NULL;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = write(self->profile, path, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *trace(PyObject *object, PyObject *argument) {
    return write_with(object, argument, eg_profile_trace);
}

static PyObject *stacks(PyObject *object, PyObject *argument) {
    return write_with(object, argument, eg_profile_stacks);
}

static PyObject *get_model(PyObject *object, void *nothing) {
    (void)nothing;
    PyObject *model = self_of(object)->model ? self_of(object)->model : Py_None;
    Py_INCREF(model);
    return model;
}

static PyObject *get_name(PyObject *object, void *nothing) {
    (void)nothing;
    return PyUnicode_DecodeFSDefault(eg_profile_name(self_of(object)->profile));
}

/* ---- the type */
static void finish(PyObject *object) {
    core_profile *self = self_of(object);
    eg_analysis_destroy(self->analysis);
    eg_profile_destroy(self->profile);
    Py_XDECREF(self->model);
    core_context_give(self->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "a Profile comes from profile_model() or profile_function()");
    return NULL;
}

static PyMethodDef methods[] = {
    {"report", CORE_FASTCALL(report), METH_FASTCALL | METH_KEYWORDS,
     "report(format, basic=False, indented=False, chips=None)\n--\n\n"
     "The profile as 'json', 'html' or 'markdown'; with the times on other chips, or on 'all' of the table."},
    {"try_advice", CORE_FASTCALL(try_advice), METH_FASTCALL | METH_KEYWORDS,
     "try_advice(seconds=1.5)\n--\n\nTries the recommendations; later reports have what they saved."},
    {"metric", metric, METH_O,
     "metric(name)\n--\n\n(value or None, provenance, unit, source or reason) of a figure."},
    {"metrics", metrics, METH_NOARGS, "metrics()\n--\n\nAll figures by name."},
    {"hardware", hardware, METH_NOARGS, "hardware()\n--\n\nWhat the system counted, by name."},
    {"statistics", statistics, METH_NOARGS, "statistics()\n--\n\nStatistics of the timed runs."},
    {"samples", samples, METH_NOARGS,
     "samples()\n--\n\nThe times of all timed runs in seconds: the bytes of float64."},
    {"trace", trace, METH_O,
     "trace(path)\n--\n\nWrites the recorded steps in Chrome's trace format."},
    {"stacks", stacks, METH_O, "stacks(path)\n--\n\nWrites folded stacks, for flame graphs."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"model", get_model, NULL, "What was profiled; None for a function.", NULL},
    {"name", get_name, NULL, "What it is called in reports.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, refuse_new},
                              {Py_tp_doc, (void *)"What a model or a function takes."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Profile", sizeof(core_profile), 0, Py_TPFLAGS_DEFAULT,
                           slots};

static PyMethodDef functions[] = {
    {"report_of_text", CORE_FASTCALL(report_of_text), METH_FASTCALL | METH_KEYWORDS,
     "report_of_text(json, format, basic=False)\n--\n\nThe document of a profile as 'html', 'markdown' or 'json'."},
    {NULL, NULL, 0, NULL}};

int core_profile_add(PyObject *module) {
    profile_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!profile_type) return -1;
    Py_INCREF(profile_type);
    return PyModule_AddObject(module, "Profile", (PyObject *)profile_type) ||
           PyModule_AddFunctions(module, functions) ||
           PyModule_AddFunctions(module, core_profile_functions) ||
           PyModule_AddFunctions(module, core_record_functions) ||
           PyModule_AddFunctions(module, core_chip_functions) ||
           PyModule_AddFunctions(module, core_machine_functions) ||
           PyModule_AddFunctions(module, core_wiring_functions);
}
