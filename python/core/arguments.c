/* Arguments of calls: names, numbers, texts and paths, each refused by its name. */
#include "core.h"
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int keyword_index(const char *const *names, PyObject *keyword) {
    for (int i = 0; names[i]; i++)
        if (PyUnicode_CompareWithASCIIString(keyword, names[i]) == 0) return i;
    return -1;
}

int core_arguments(const char *function, const char *const *names, size_t required, PyObject **out,
                   PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    Py_ssize_t known = 0;
    while (names[known]) known++;
    if (count > known) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments, %zd given", function,
                     known, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < known; i++)
        out[i] = i < count && args[i] != Py_None ? args[i] : NULL;
    const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *keyword = PyTuple_GetItem(keywords, i);
        const int at = keyword_index(names, keyword);
        if (at < 0) {
            PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'", function, keyword);
            return -1;
        }
        if (at < count) {
            PyErr_Format(PyExc_TypeError, "%s() got '%s' twice", function, names[at]);
            return -1;
        }
        out[at] = args[count + i] != Py_None ? args[count + i] : NULL;
    }
    for (size_t i = 0; i < required; i++)
        if (!out[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs '%s'", function, names[i]);
            return -1;
        }
    return 0;
}

int core_number(PyObject *object, const char *name, double *out) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Format(PyExc_TypeError, "%s: expected a number, given %R", name,
                     (PyObject *)Py_TYPE(object));
        return -1;
    }
    *out = value;
    return 0;
}

int core_count(PyObject *object, const char *name, uint64_t *out) {
    PyObject *integer = PyNumber_Index(object);
    if (!integer) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Format(PyExc_TypeError, "%s: expected an integer, given %R", name,
                     (PyObject *)Py_TYPE(object));
        return -1;
    }
    const unsigned long long value = PyLong_AsUnsignedLongLong(integer);
    const int failed = value == (unsigned long long)-1 && PyErr_Occurred();
    if (failed)
        PyErr_Format(PyExc_ValueError, "%s: expected an integer of at least 0, given %S", name,
                     integer);
    Py_DECREF(integer);
    *out = value;
    return failed ? -1 : 0;
}

/* The limited interface has no pointer into a str before 3.10, so bytes hold the text. */
PyObject *core_text(PyObject *object, const char *name, const char **out) {
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a str, given %R", name,
                     (PyObject *)Py_TYPE(object));
        return NULL;
    }
    PyObject *bytes = PyUnicode_AsUTF8String(object);
    char *text;
    if (!bytes) return NULL;
    /* refuses zero characters when it is not asked for a length */
    if (PyBytes_AsStringAndSize(bytes, &text, NULL)) {
        Py_DECREF(bytes);
        return NULL;
    }
    *out = text;
    return bytes;
}

PyObject *core_path(PyObject *object, const char *name, const char **out) {
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(object, &bytes)) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: expected a str or a path, given %R", name,
                         (PyObject *)Py_TYPE(object));
        return NULL;
    }
    *out = PyBytes_AsString(bytes);
    return bytes;
}

int core_add(PyObject *dictionary, const char *key, PyObject *value) {
    const int failed = !value || PyDict_SetItemString(dictionary, key, value);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

PyObject *core_metric(const eg_metric *metric) {
    PyObject *value;
    if (metric->provenance == EG_UNAVAILABLE) {
        Py_INCREF(Py_None);
        value = Py_None;
    } else value = PyFloat_FromDouble(metric->value);
    /* a source may quote a name that is no UTF-8 */
    const char *source = metric->source;
    PyObject *text = source ? PyUnicode_DecodeUTF8(source, (Py_ssize_t)strlen(source), "replace")
                            : Py_BuildValue("");
    return Py_BuildValue("(NszN)", value, eg_provenance_name(metric->provenance), metric->unit,
                         text);
}

int core_choice(PyObject *object, const char *name, const char *(*name_at)(int), int *out) {
    const char *text;
    char all[128] = "";
    PyObject *bytes = core_text(object, name, &text);
    if (!bytes) return -1;
    for (int i = 0; name_at(i); i++) {
        if (!strcmp(name_at(i), text)) {
            *out = i;
            Py_DECREF(bytes);
            return 0;
        }
        const size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s'%s'", i ? ", " : "", name_at(i));
    }
    PyErr_Format(PyExc_ValueError, "%s: %R is not one of %s", name, object, all);
    Py_DECREF(bytes);
    return -1;
}

int core_flag(PyObject *object, int *out) {
    if (!object) return 0;
    const int value = PyObject_IsTrue(object);
    if (value >= 0) *out = value;
    return value < 0 ? -1 : 0;
}

PyObject *core_number_or_none(double value) {
    if (isnan(value)) Py_RETURN_NONE;
    return PyFloat_FromDouble(value);
}
