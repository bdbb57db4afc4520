/* Temporaries, and what became of memory: scopes whose memory is given back together, growth since a mark, the pool. */
#include "core.h"

#include <string.h>

typedef struct core_temporaries {
    PyObject_HEAD core_context *context;
    eg_temporaries *temporaries;
} core_temporaries;

static PyTypeObject *temporaries_type;

static core_temporaries *self_of(PyObject *object) { return (core_temporaries *)object; }

static PyObject *temporaries_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (PyTuple_Size(args) || (keywords && PyDict_Size(keywords)))
        return PyErr_Format(PyExc_TypeError, "Temporaries() takes no arguments");
    core_context *context = core_context_take();
    if (!context) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    core_temporaries *self = (core_temporaries *)allocate(type, 0);
    eg_error error;
    if (!self) {
        core_context_give(context);
        return NULL;
    }
    self->context = context;
    if (!eg_temporaries_create(context->context, &self->temporaries, &error))
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return core_raise(&error);
}

static void finish(PyObject *object) {
    eg_temporaries_destroy(self_of(object)->temporaries);
    core_context_give(self_of(object)->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *begin(PyObject *object, PyObject *nothing) {
    (void)nothing;
    eg_scope scope;
    eg_error error;
    if (!core_context_usable(self_of(object)->context)) return NULL;
    if (eg_scope_begin(self_of(object)->temporaries, &scope, &error)) return core_raise(&error);
    return PyLong_FromUnsignedLongLong(scope);
}

static PyObject *end(PyObject *object, PyObject *argument) {
    uint64_t scope;
    eg_error error;
    if (core_count(argument, "scope", &scope)) return NULL;
    if (eg_scope_end(self_of(object)->temporaries, scope, &error)) return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *take(PyObject *object, PyObject *argument) {
    uint64_t size;
    void *memory;
    eg_error error;
    if (core_count(argument, "size", &size)) return NULL;
    if (size > PTRDIFF_MAX) return PyErr_Format(PyExc_ValueError, "size: too large");
    if (eg_scope_take(self_of(object)->temporaries, (size_t)size, &memory, &error))
        return core_raise(&error);
    return PyLong_FromVoidPtr(memory);
}

static PyObject *figures(PyObject *object, PyObject *nothing) {
    (void)nothing;
    eg_temporaries_figures f;
    eg_temporaries_query(self_of(object)->temporaries, &f);
    return Py_BuildValue("{s:K,s:K,s:K}", "scopes", f.scopes, "taken", f.taken, "most", f.most);
}

/* ---- growth since a mark, which is bytes for Python */
static PyObject *memory_mark(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    core_context *context = core_context_take();
    eg_memory_mark mark;
    eg_error error;
    if (!context) return NULL;
    const eg_status status = eg_memory_mark_take(context->context, &mark, &error);
    core_context_give(context);
    return status ? core_raise(&error)
                  : PyBytes_FromStringAndSize((const char *)&mark, (Py_ssize_t)sizeof mark);
}

static PyObject *growth_out(const eg_memory_growth *growth) {
    PyObject *tags = PyDict_New();
    for (int i = 0; tags && i < EG_TAG_COUNT; i++)
        if (growth->by_tag[i] &&
            core_add(tags, eg_tag_name((eg_tag)i), PyLong_FromLongLong(growth->by_tag[i])))
            Py_CLEAR(tags);
    return tags ? Py_BuildValue("{s:O,s:L,s:N}", "leaked", growth->leaked ? Py_True : Py_False,
                                "total", (long long)growth->total, "by_tag", tags)
                : NULL;
}

static PyObject *memory_growth(PyObject *module, PyObject *const *args, Py_ssize_t count,
                               PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"mark", "tolerance", NULL};
    PyObject *given[2];
    uint64_t tolerance = EG_LEAK_TOLERANCE;
    eg_memory_mark mark;
    eg_memory_growth growth;
    eg_error error;
    if (core_arguments("memory_growth", names, 1, given, args, count, keywords) ||
        (given[1] && core_count(given[1], "tolerance", &tolerance)))
        return NULL;
    if (!PyBytes_Check(given[0]) || PyBytes_Size(given[0]) != (Py_ssize_t)sizeof mark)
        return PyErr_Format(PyExc_TypeError, "mark: expected what memory_mark() gave");
    memcpy(&mark, PyBytes_AsString(given[0]), sizeof mark);
    core_context *context = core_context_take();
    if (!context) return NULL;
    const eg_status status =
        eg_memory_growth_check(context->context, &mark, tolerance, &growth, &error);
    core_context_give(context);
    return status ? core_raise(&error) : growth_out(&growth);
}

static PyObject *memory_pool(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    core_context *context = core_context_take();
    eg_memory_pool_figures f;
    eg_error error;
    if (!context) return NULL;
    const eg_status status = eg_memory_pool_query(context->context, &f, &error);
    core_context_give(context);
    return status ? core_raise(&error)
                  : Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "budget", f.budget, "cached", f.cached,
                                  "hits", f.hits, "misses", f.misses, "refusals", f.refusals);
}

static PyMethodDef functions[] = {
    {"memory_mark", memory_mark, METH_NOARGS,
     "memory_mark()\n--\n\nWhat memory_growth() starts from."},
    {"memory_growth", CORE_FASTCALL(memory_growth), METH_FASTCALL | METH_KEYWORDS,
     "memory_growth(mark, tolerance=100000000)\n--\n\n"
     "Bytes held now minus bytes held at the mark; leaked: more than the tolerance. Counted."},
    {"memory_pool", memory_pool, METH_NOARGS,
     "memory_pool()\n--\n\nThe budget, and what is kept for reuse. Counted."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef methods[] = {
    {"begin", begin, METH_NOARGS, "begin()\n--\n\nA new scope; its number."},
    {"end", end, METH_O,
     "end(scope)\n--\n\nGives back what was taken in it. Nothing may use that memory any more."},
    {"take", take, METH_O,
     "take(size)\n--\n\nThe address of so many bytes, aligned to 64, in the scope that began last."},
    {"figures", figures, METH_NOARGS,
     "figures()\n--\n\nOpen scopes, bytes taken, and the most of them."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_dealloc, finish},
    {Py_tp_new, temporaries_new},
    {Py_tp_doc, (void *)"Memory of the library for a while; for one thread at a time."},
    {0, NULL}};
static PyType_Spec spec = {"elegans._core.Temporaries", sizeof(core_temporaries), 0,
                           Py_TPFLAGS_DEFAULT, slots};

int core_scope_add(PyObject *module) {
    temporaries_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!temporaries_type || PyModule_AddFunctions(module, functions)) return -1;
    Py_INCREF(temporaries_type);
    return PyModule_AddObject(module, "Temporaries", (PyObject *)temporaries_type);
}
