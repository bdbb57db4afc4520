/* Small tools of the library: batch sizes that fit, entropy of bytes, what slows programs down here. */
#include "model.h"

#include <string.h>

/* ---- batch sizes */
typedef struct core_batch {
    PyObject_HEAD eg_batch batch;
} core_batch;

static PyTypeObject *batch_type;

static eg_batch *batch_of(PyObject *object) { return &((core_batch *)object)->batch; }

static PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"first", "least", "most", NULL};
    PyObject *given[3] = {NULL, NULL, NULL};
    uint64_t size[3] = {0, 0, 0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOO", names, &given[0], &given[1],
                                     &given[2]))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (given[i] && given[i] != Py_None && core_count(given[i], names[i], &size[i]))
            return NULL;
    if (size[2] && size[1] > size[2])
        return PyErr_Format(PyExc_ValueError, "least %llu is above most %llu",
                            (unsigned long long)size[1], (unsigned long long)size[2]);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = allocate(type, 0);
    if (self) eg_batch_begin(batch_of(self), size[0], size[1], size[2]);
    return self;
}

static void batch_finish(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *batch_adjust(PyObject *object, PyObject *argument) {
    const int success = PyObject_IsTrue(argument);
    if (success < 0) return NULL;
    return PyLong_FromUnsignedLongLong(eg_batch_adjust(batch_of(object), success));
}

static PyObject *batch_figures(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_batch *b = batch_of(object);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:O}", "size", b->size, "least", b->least,
                         "most", b->most, "works", b->works, "fails", b->fails, "streak", b->streak,
                         "settled", eg_batch_settled(b) ? Py_True : Py_False);
}

static PyMethodDef batch_methods[] = {
    {"adjust", batch_adjust, METH_O,
     "adjust(success)\n--\n\nThe size to try next: doubled after a success, halved after a failure; 0 = none is left."},
    {"figures", batch_figures, METH_NOARGS, "figures()\n--\n\nSizes that work and that fail."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot batch_slots[] = {{Py_tp_methods, batch_methods},
                                    {Py_tp_dealloc, batch_finish},
                                    {Py_tp_new, batch_new},
                                    {Py_tp_doc, (void *)"Finds the largest batch that fits."},
                                    {0, NULL}};
static PyType_Spec batch_spec = {"elegans._core.Batch", sizeof(core_batch), 0, Py_TPFLAGS_DEFAULT,
                                 batch_slots};

/* ---- entropy */
static PyObject *entropy(PyObject *module, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"data", "window", NULL};
    PyObject *given[2];
    uint64_t window = 0;
    core_view bytes, values;
    eg_error error;
    if (core_arguments("entropy", names, 1, given, args, count, keywords) ||
        (given[1] && core_count(given[1], "window", &window)) ||
        core_view_take(&bytes, given[0], EG_U8, CORE_READ, "data"))
        return NULL;
    uint64_t size = 1;
    for (unsigned i = 0; i < bytes.tensor.rank; i++) size *= bytes.tensor.shape[i];
    core_context *context = core_context_take();
    PyObject *out = context ? core_array(&values, EG_F32, 1, &size) : NULL;
    if (out) {
        eg_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = eg_entropy_of(context->context, bytes.tensor.data, (size_t)size, window,
                               values.tensor.data, &error);
        Py_END_ALLOW_THREADS;
        core_view_give(&values);
        if (status) {
            core_raise(&error);
            Py_CLEAR(out);
        }
    }
    core_view_give(&bytes);
    core_context_give(context);
    return out;
}

static PyMethodDef functions[] = {
    {"entropy", CORE_FASTCALL(entropy), METH_FASTCALL | METH_KEYWORDS,
     "entropy(data, window=256)\n--\n\n"
     "Entropy of the bytes around each byte, divided by 8: 0 where all are the same, at most 1."},
    {NULL, NULL, 0, NULL}};

int core_tools_add(PyObject *module) {
    batch_type = (PyTypeObject *)PyType_FromSpec(&batch_spec);
    if (!batch_type || PyModule_AddFunctions(module, functions)) return -1;
    Py_INCREF(batch_type);
    return PyModule_AddObject(module, "Batch", (PyObject *)batch_type);
}
