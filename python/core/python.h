/* Python's limited interface of version 3.9, and two parts of it that newer versions declare only for newer ones:
 * buffers (stable since 3.11, unchanged since 3.3) and calls with arguments in an array (stable since 3.10, unchanged
 * since 3.7). Every version from 3.9 on has them; the tests run with several. */
#ifndef CORE_PYTHON_H
#define CORE_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif

#ifndef PyBUF_READ
typedef struct Py_buffer {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT   0x0004
#define PyBUF_ND       0x0008
#define PyBUF_STRIDES  (0x0010 | PyBUF_ND)
#endif

#endif
