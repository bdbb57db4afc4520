/* Statuses of the library as exceptions. Each is an elegans.Error with the status, and the kind of exception that
 * Python's own functions raise for the same fault. */
#include "core.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { ERROR_PLAIN, ERROR_ARGUMENT, ERROR_MEMORY, ERROR_FILE, ERROR_KINDS };
static PyObject *classes[ERROR_KINDS];

static int kind_of(eg_status status) {
    switch (status) {
    case EG_ERR_ARGUMENT:
    case EG_ERR_OVERFLOW: return ERROR_ARGUMENT;
    case EG_ERR_MEMORY:
    case EG_ERR_BUDGET: return ERROR_MEMORY;
    default: return ERROR_PLAIN;
    }
}

static PyObject *raise_kind(int kind, const eg_error *error, const char *path) {
    if (PyErr_Occurred())
        return NULL; /* what stopped the call: an exception of a callback, Ctrl-C */
    PyObject *value = PyObject_CallFunction(classes[kind], "s", error->message);
    if (!value) return NULL;
    PyObject *status = PyUnicode_FromString(eg_status_name(error->status));
    int failed = !status || PyObject_SetAttrString(value, "status", status);
    Py_XDECREF(status);
    if (path && !failed) {
        PyObject *name = PyUnicode_DecodeFSDefault(path);
        failed = !name || PyObject_SetAttrString(value, "path", name);
        Py_XDECREF(name);
    }
    if (!failed) PyErr_SetObject(classes[kind], value);
    Py_DECREF(value);
    return NULL;
}

PyObject *core_raise(const eg_error *error) {
    return raise_kind(kind_of(error->status), error, NULL);
}

PyObject *core_raise_path(const eg_error *error, const char *path) {
    /* a spec has colons, and numbers with points */
    const int is_missing = (error->status == EG_ERR_FILE || error->status == EG_ERR_NOT_FOUND ||
                            (error->status == EG_ERR_ARGUMENT && !strchr(path, ':'))) &&
                           (strchr(path, '/') || strchr(path, '.')) && access(path, F_OK) &&
                           errno == ENOENT;
    return raise_kind(is_missing ? ERROR_FILE : kind_of(error->status), error, path);
}

static PyObject *new_class(const char *name, const char *text, PyObject *base, PyObject *second) {
    PyObject *bases = second ? PyTuple_Pack(2, base, second) : PyTuple_Pack(1, base);
    PyObject *class = bases ? PyErr_NewExceptionWithDoc(name, text, bases, NULL) : NULL;
    Py_XDECREF(bases);
    return class;
}

int core_errors_add(PyObject *module) {
    static const char *const names[ERROR_KINDS] = {"Error", "ArgumentError", "OutOfMemoryError",
                                                   "MissingFileError"};
    PyObject *error =
        new_class("elegans.Error",
                  "What the library refused. `status` names the reason, as \"EG_ERR_FORMAT\".",
                  PyExc_Exception, NULL);
    if (!error) return -1;
    classes[ERROR_PLAIN] = error;
    classes[ERROR_ARGUMENT] =
        new_class("elegans.ArgumentError", "An argument out of range; a ValueError.", error,
                  PyExc_ValueError);
    classes[ERROR_MEMORY] =
        new_class("elegans.OutOfMemoryError", "No memory, or over the budget; a MemoryError.",
                  error, PyExc_MemoryError);
    classes[ERROR_FILE] =
        new_class("elegans.MissingFileError", "A file that does not exist; a FileNotFoundError.",
                  error, PyExc_FileNotFoundError);
    for (int i = 0; i < ERROR_KINDS; i++) {
        if (!classes[i]) return -1;
        Py_INCREF(classes[i]);
        if (PyModule_AddObject(module, names[i], classes[i])) return -1;
    }
    PyObject *status = PyUnicode_FromString("");
    const int failed = !status || PyObject_SetAttrString(error, "status", status);
    Py_XDECREF(status);
    return failed ? -1 : 0;
}
