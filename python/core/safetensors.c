/* Writing .safetensors files: named arrays and pairs of text. */
#include "core.h"

#include <stdlib.h>

typedef struct writing {
    size_t count, pairs;
    PyObject **texts; /* bytes of names, keys and values, in this order */
    const char **names;
    core_view *views;
    eg_tensor *tensors;
    eg_pair *metadata;
    size_t text_count;
} writing;

static int add_text(writing *w, PyObject *object, const char *what, const char **out) {
    PyObject *bytes = core_text(object, what, out);
    if (!bytes) return -1;
    w->texts[w->text_count++] = bytes;
    return 0;
}

static int take_arrays(writing *w, PyObject *dictionary) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (w->count < (size_t)PyDict_Size(dictionary) &&
           PyDict_Next(dictionary, &at, &key, &value)) {
        const char *name;
        if (add_text(w, key, "name of a tensor", &name) ||
            core_view_take(&w->views[w->count], value, EG_F32, CORE_READ, name))
            return -1;
        w->names[w->count] = name;
        w->tensors[w->count] = w->views[w->count].tensor;
        w->count++;
    }
    return 0;
}

static int take_pairs(writing *w, PyObject *dictionary) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (dictionary && PyDict_Next(dictionary, &at, &key, &value)) {
        eg_pair *pair = &w->metadata[w->pairs];
        if (add_text(w, key, "key of metadata", &pair->key) ||
            add_text(w, value, "value of metadata", &pair->value))
            return -1;
        w->pairs++;
    }
    return 0;
}

static void end_writing(writing *w) {
    for (size_t i = 0; w->views && i < w->count; i++) core_view_give(&w->views[i]);
    for (size_t i = 0; i < w->text_count; i++) Py_DECREF(w->texts[i]);
    free(w->texts);
    free((void *)w->names);
    free(w->views);
    free(w->tensors);
    free(w->metadata);
}

static int begin_writing(writing *w, PyObject *tensors, PyObject *metadata) {
    const size_t count = (size_t)PyDict_Size(tensors),
                 pairs = metadata ? (size_t)PyDict_Size(metadata) : 0;
    w->texts = calloc(count + 2 * pairs + 1, sizeof *w->texts);
    w->names = calloc(count + 1, sizeof *w->names);
    w->views = calloc(count + 1, sizeof *w->views);
    w->tensors = calloc(count + 1, sizeof *w->tensors);
    w->metadata = calloc(pairs + 1, sizeof *w->metadata);
    if (w->texts && w->names && w->views && w->tensors && w->metadata) return 0;
    PyErr_NoMemory();
    return -1;
}

static PyObject *safetensors_write(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                   PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"path", "tensors", "metadata", NULL};
    PyObject *given[3], *out = NULL, *tensors = NULL, *metadata = NULL;
    const char *path;
    writing w = {0};
    if (core_arguments("safetensors_write", names, 2, given, args, count, keywords)) return NULL;
    for (int i = 1; i < 3; i++)
        if (given[i] && !PyDict_Check(given[i]))
            return PyErr_Format(PyExc_TypeError, "%s: expected a dict, given %R", names[i],
                                (PyObject *)Py_TYPE(given[i]));
    PyObject *bytes = core_path(given[0], "path", &path);
    core_context *context = bytes ? core_context_take() : NULL;
    /* copies: reading an array may run code of Python, which might change the given ones */
    tensors = context ? PyDict_Copy(given[1]) : NULL;
    metadata = tensors && given[2] ? PyDict_Copy(given[2]) : NULL;
    if (!tensors || (given[2] && !metadata) || begin_writing(&w, tensors, metadata) ||
        take_arrays(&w, tensors) || take_pairs(&w, metadata))
        goto done;
    eg_error error;
    eg_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_safetensors_write(context->context, path, w.count, w.names, w.tensors, w.pairs,
                                  w.metadata, &error);
    Py_END_ALLOW_THREADS;
    if (status) core_raise_path(&error, path);
    else {
        Py_INCREF(Py_None);
        out = Py_None;
    }
done:
    end_writing(&w);
    Py_XDECREF(tensors);
    Py_XDECREF(metadata);
    core_context_give(context);
    Py_XDECREF(bytes);
    return out;
}

static PyMethodDef functions[] = {
    {"safetensors_write", CORE_FASTCALL(safetensors_write), METH_FASTCALL | METH_KEYWORDS,
     "safetensors_write(path, tensors, metadata=None)\n--\n\n"
     "Writes arrays of float32 by name, and pairs of text, to a .safetensors file: beside and renamed."},
    {NULL, NULL, 0, NULL}};

int core_safetensors_add(PyObject *module) { return PyModule_AddFunctions(module, functions); }
