/* Wiring: which input and which unit of a liquid network has a synapse to which unit. */
#include "core.h"

#include <string.h>

typedef struct core_wiring {
    PyObject_HEAD core_context *context;
    eg_wiring *wiring;
} core_wiring;

static PyTypeObject *wiring_type;

static core_wiring *self_of(PyObject *object) { return (core_wiring *)object; }

/* ---- making one */
static eg_status create(eg_context *context, const char *spec, const char *json, Py_ssize_t length,
                        eg_wiring **out, eg_error *error) {
    if (json) return eg_wiring_create_json(context, json, (size_t)length, out, error);
    return eg_wiring_create(context, spec, out, error);
}

static PyObject *make(PyTypeObject *type, const char *spec, const char *json, Py_ssize_t length) {
    core_context *context = core_context_take();
    if (!context) return NULL;
    eg_wiring *wiring;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = create(context->context, spec, json, length, &wiring, &error);
    Py_END_ALLOW_THREADS;
    core_wiring *self = NULL;
    const size_t ends = spec ? strlen(spec) : 0;
    if (status && ends > 5 && !strcmp(spec + ends - 5, ".json")) core_raise_path(&error, spec);
    else if (status) core_raise(&error);
    else {
        self = (core_wiring *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
        if (!self) eg_wiring_destroy(wiring);
    }
    if (!self) {
        core_context_give(context);
        return NULL;
    }
    self->context = context;
    self->wiring = wiring;
    return (PyObject *)self;
}

static PyObject *wiring_open(PyObject *type, PyObject *argument) {
    const char *spec;
    PyObject *path = core_path(argument, "spec_or_path", &spec);
    if (!path) return NULL;
    PyObject *out = make((PyTypeObject *)type, spec, NULL, 0);
    Py_DECREF(path);
    return out;
}

static PyObject *wiring_from_json(PyObject *type, PyObject *argument) {
    const char *json;
    PyObject *text = core_text(argument, "json", &json);
    if (!text) return NULL;
    PyObject *out = make((PyTypeObject *)type, NULL, json, PyBytes_Size(text));
    Py_DECREF(text);
    return out;
}

static void finish(PyObject *object) {
    core_wiring *self = self_of(object);
    eg_wiring_destroy(self->wiring);
    core_context_give(self->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- what it is */
static eg_wiring_info info_of(PyObject *object) {
    eg_wiring_info info = {.size = sizeof info};
    eg_wiring_info_get(self_of(object)->wiring, &info);
    return info;
}

static PyObject *info(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_wiring_info i = info_of(object);
    return Py_BuildValue("{s:s,s:K,s:I,s:I,s:I,s:I}", "kind", i.kind, "seed",
                         (unsigned long long)i.seed, "units", i.units, "inputs", i.inputs,
                         "outputs", i.outputs, "layers", i.layers);
}

static PyObject *matrix(PyObject *object, uint32_t rows, uint32_t columns,
                        int (*synapse)(const eg_wiring *, uint32_t, uint32_t)) {
    const eg_wiring *wiring = self_of(object)->wiring;
    const uint64_t shape[2] = {rows, columns};
    core_view view;
    PyObject *out = core_array(&view, EG_I32, 2, shape);
    if (!out) return NULL;
    int32_t *at = view.tensor.data;
    Py_BEGIN_ALLOW_THREADS;
    for (uint32_t s = 0; s < rows; s++)
        for (uint32_t d = 0; d < columns; d++) *at++ = synapse(wiring, s, d);
    Py_END_ALLOW_THREADS;
    core_view_give(&view);
    return out;
}

static PyObject *adjacency(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_wiring_info i = info_of(object);
    return matrix(object, i.units, i.units, eg_wiring_synapse);
}

static PyObject *sensory(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_wiring_info i = info_of(object);
    return matrix(object, i.inputs, i.units, eg_wiring_sensory);
}

static PyObject *units_of(const eg_wiring *wiring, uint32_t layer, uint32_t count) {
    PyObject *out = PyList_New((Py_ssize_t)count);
    for (uint32_t k = 0; out && k < count; k++) {
        PyObject *id = PyLong_FromUnsignedLong(eg_wiring_layer_unit(wiring, layer, k));
        if (!id || PyList_SetItem(out, (Py_ssize_t)k, id)) Py_CLEAR(out);
    }
    return out;
}

static PyObject *layers(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_wiring_info i = info_of(object);
    PyObject *out = PyList_New(0);
    for (uint32_t l = 0; out && l < i.layers; l++) {
        PyObject *units = units_of(self_of(object)->wiring, l, i.layer_sizes[l]);
        PyObject *row = units ? Py_BuildValue("(sN)", eg_wiring_layer_name(&i, l), units) : NULL;
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

/* ---- counted */
static PyObject *degree(const eg_wiring_degree *d) {
    return Py_BuildValue("{s:I,s:I,s:d}", "least", d->least, "most", d->most, "mean", d->mean);
}

static PyObject *statistics(PyObject *object, PyObject *nothing) {
    (void)nothing;
    if (!core_context_usable(self_of(object)->context)) return NULL;
    eg_wiring_statistics s;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_wiring_statistics_get(self_of(object)->wiring, &s, &error);
    Py_END_ALLOW_THREADS;
    if (status) return core_raise(&error);
    PyObject *out = Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "synapses", s.synapses, "excitatory", s.excitatory,
        "inhibitory", s.inhibitory, "self", s.self, "sensory_synapses", s.sensory_synapses,
        "sensory_excitatory", s.sensory_excitatory, "sensory_inhibitory", s.sensory_inhibitory);
    if (!out) return NULL;
    if (core_add(out, "density", PyFloat_FromDouble(s.density)) ||
        core_add(out, "sensory_density", PyFloat_FromDouble(s.sensory_density)) ||
        core_add(out, "in", degree(&s.in)) || core_add(out, "out", degree(&s.out)) ||
        core_add(out, "sensory_in", degree(&s.sensory_in)) ||
        core_add(out, "sensory_out", degree(&s.sensory_out)) ||
        core_add(out, "components", PyLong_FromUnsignedLong(s.components)) ||
        core_add(out, "largest_component", PyLong_FromUnsignedLong(s.largest_component)) ||
        core_add(out, "unreached", PyLong_FromUnsignedLong(s.unreached)) ||
        core_add(out, "pairs", PyLong_FromUnsignedLongLong(s.pairs)) ||
        core_add(out, "path_mean", PyFloat_FromDouble(s.path_mean)) ||
        core_add(out, "path_longest", PyLong_FromUnsignedLong(s.path_longest)))
        Py_CLEAR(out);
    return out;
}

/* ---- files and pictures */
static PyObject *save(PyObject *object, PyObject *argument) {
    const char *path;
    if (!core_context_usable(self_of(object)->context)) return NULL;
    PyObject *bytes = core_path(argument, "path", &path);
    if (!bytes) return NULL;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_wiring_save(self_of(object)->wiring, path, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *svg(PyObject *object, PyObject *const *args, Py_ssize_t count,
                     PyObject *keywords) {
    static const char *const names[] = {"title", NULL};
    PyObject *given[1], *out = NULL;
    const char *title = "";
    if (!core_context_usable(self_of(object)->context) ||
        core_arguments("svg", names, 0, given, args, count, keywords))
        return NULL;
    PyObject *text = given[0] ? core_text(given[0], "title", &title) : NULL;
    if (given[0] && !text) return NULL;
    eg_report *report;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_report_of_wiring(self_of(object)->wiring, title, &report, &error);
    Py_END_ALLOW_THREADS;
    Py_XDECREF(text);
    if (status) return core_raise(&error);
    size_t length;
    const char *picture = eg_report_text(report, &length);
    out = PyUnicode_FromStringAndSize(picture, (Py_ssize_t)length);
    eg_report_destroy(report);
    return out;
}

static PyMethodDef methods[] = {
    {"open", wiring_open, METH_O | METH_CLASS,
     "open(spec_or_path)\n--\n\nA wiring of a spec such as 'autoncp:28:4,in=6', or of a .json file of synapses."},
    {"from_json", wiring_from_json, METH_O | METH_CLASS,
     "from_json(json)\n--\n\nA wiring of a list of synapses as JSON: the text that such a file has."},
    {"info", info, METH_NOARGS,
     "info()\n--\n\nKind, seed, and numbers of units, inputs, outputs and layers."},
    {"adjacency_matrix", adjacency, METH_NOARGS,
     "adjacency_matrix()\n--\n\nSynapses between units: int32 [units, units], source first; 1 excites, -1 inhibits."},
    {"sensory_adjacency_matrix", sensory, METH_NOARGS,
     "sensory_adjacency_matrix()\n--\n\nSynapses from inputs: int32 [inputs, units]."},
    {"layers", layers, METH_NOARGS,
     "layers()\n--\n\n(name, units) of each layer, in the order a signal takes."},
    {"statistics", statistics, METH_NOARGS,
     "statistics()\n--\n\nSynapses, degrees, density, components and path lengths; all counted."},
    {"save", save, METH_O,
     "save(path)\n--\n\nWrites its synapses as JSON, beside and renamed; open() reads it."},
    {"svg", CORE_FASTCALL(svg), METH_FASTCALL | METH_KEYWORDS,
     "svg(title=None)\n--\n\nA picture: inputs, layers and the synapses between them."},
    {NULL, NULL, 0, NULL}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use open() or from_json()");
    return NULL;
}

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, refuse_new},
                              {Py_tp_doc, (void *)"A wiring of the library, which never changes."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Wiring", sizeof(core_wiring), 0, Py_TPFLAGS_DEFAULT,
                           slots};

int core_wiring_add(PyObject *module) {
    wiring_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!wiring_type) return -1;
    Py_INCREF(wiring_type);
    return PyModule_AddObject(module, "Wiring", (PyObject *)wiring_type);
}
