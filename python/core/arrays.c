/* Arrays: anything with a buffer (numpy) or DLPack (torch, jax, mlx) as a tensor of the library, and new arrays of
 * numpy for results. Memory is used where it lies when its layout allows. */
#include "core.h"

#include <stdio.h>
#include <string.h>

/* of numpy, found once */
static PyObject *numpy_empty, *numpy_ascontiguous, *numpy_types[EG_TYPE_COUNT];

int core_arrays_ready(void) {
    static const char *const names[EG_TYPE_COUNT] = {
        [EG_F32] = "float32", [EG_F16] = "float16", [EG_I8] = "int8",   [EG_U8] = "uint8",
        [EG_I32] = "int32",   [EG_I64] = "int64",   [EG_BOOL] = "bool_"};
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return -1;
    numpy_empty = PyObject_GetAttrString(numpy, "empty");
    numpy_ascontiguous = PyObject_GetAttrString(numpy, "ascontiguousarray");
    int failed = !numpy_empty || !numpy_ascontiguous;
    for (int i = 0; i < EG_TYPE_COUNT && !failed; i++) {
        if (!names[i]) continue;
        /* a dtype object: numpy need not look one up for a class in every call */
        PyObject *dtype = PyObject_GetAttrString(numpy, "dtype");
        PyObject *class = dtype ? PyObject_GetAttrString(numpy, names[i]) : NULL;
        numpy_types[i] = class ? PyObject_CallFunctionObjArgs(dtype, class, NULL) : NULL;
        Py_XDECREF(dtype);
        Py_XDECREF(class);
        failed = !numpy_types[i];
    }
    Py_DECREF(numpy);
    return failed ? -1 : 0;
}

int core_shape_text(char out[96], unsigned rank, const uint64_t *shape) {
    int length = snprintf(out, 96, "(");
    for (unsigned i = 0; i < rank && length < 80; i++)
        length += snprintf(out + length, 96 - (size_t)length, "%s%llu", i ? ", " : "",
                           (unsigned long long)shape[i]);
    return length + snprintf(out + length, 96 - (size_t)length, rank == 1 ? ",)" : ")");
}

static const char *type_of_format(const char *format, eg_type *out) {
    static const struct {
        char letter;
        eg_type type;
    } types[] = {{'f', EG_F32}, {'e', EG_F16}, {'b', EG_I8},  {'B', EG_U8},
                 {'i', EG_I32}, {'l', EG_I64}, {'q', EG_I64}, {'?', EG_BOOL}};
    if (!format) format = "B";
    const char *at = format + (*format == '<' || *format == '=' || *format == '@');
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (at[0] == types[i].letter && !at[1]) {
            *out = types[i].type;
            return NULL;
        }
    static const char *const words[][2] = {
        {"d", "float64"},    {"g", "longdouble"}, {"h", "int16"},  {"H", "uint16"},
        {"I", "uint32"},     {"L", "uint64"},     {"Q", "uint64"}, {"O", "object"},
        {"Zf", "complex64"}, {"Zd", "complex128"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(at, words[i][0])) return words[i][1];
    return format;
}

const char *core_type_text(eg_type type) {
    static const char *const names[EG_TYPE_COUNT] = {
        [EG_F32] = "float32", [EG_F16] = "float16", [EG_BF16] = "bfloat16",
        [EG_I8] = "int8",     [EG_I4] = "int4",     [EG_U8] = "uint8",
        [EG_I32] = "int32",   [EG_I64] = "int64",   [EG_BOOL] = "bool"};
    return names[type];
}

/* "float32", "f32", numpy.float32, numpy.dtype("float32"), torch.float32: what stands last in their names. */
int core_type_take(PyObject *object, const char *name, eg_type *out) {
    PyObject *text = PyObject_HasAttrString(object, "__name__")
                         ? PyObject_GetAttrString(object, "__name__")
                         : PyObject_Str(object);
    const char *word = NULL;
    PyObject *bytes = text ? core_text(text, name, &word) : NULL;
    Py_XDECREF(text);
    if (!bytes) return -1;
    const char *dot = strrchr(word, '.');
    if (dot) word = dot + 1;
    int found = -1;
    for (int i = 0; i < EG_TYPE_COUNT && found < 0; i++)
        if (!strcmp(word, core_type_text((eg_type)i)) || !strcmp(word, eg_type_name((eg_type)i)))
            found = i;
    if (found < 0)
        PyErr_Format(PyExc_TypeError, "%s: expected a type such as float32 or int32, given '%s'",
                     name, word);
    else *out = (eg_type)found;
    Py_DECREF(bytes);
    return found < 0 ? -1 : 0;
}

static int is_contiguous(const Py_buffer *buffer) {
    Py_ssize_t stride = buffer->itemsize;
    for (int i = buffer->ndim; i-- > 0;) {
        if (buffer->shape[i] > 1 && buffer->strides && buffer->strides[i] != stride) return 0;
        stride *= buffer->shape[i];
    }
    return 1;
}

static int wrong_rank(const char *name, int rank) {
    PyErr_Format(PyExc_ValueError, "%s: an array of %d axes; at most %d are possible", name, rank,
                 EG_RANK_MAX);
    return -1;
}

static int of_buffer(core_view *view, eg_type type, const char *name) {
    eg_type given = type;
    const char *unknown = type_of_format(view->buffer.format, &given);
    if (unknown || given != type) {
        PyErr_Format(PyExc_TypeError, "%s: expected an array of %s, given %s", name,
                     core_type_text(type), unknown ? unknown : core_type_text(given));
        return -1;
    }
    if (view->buffer.ndim > EG_RANK_MAX) return wrong_rank(name, view->buffer.ndim);
    view->tensor =
        (eg_tensor){.type = type, .rank = (unsigned)view->buffer.ndim, .data = view->buffer.buf};
    for (int i = 0; i < view->buffer.ndim; i++)
        view->tensor.shape[i] = (uint64_t)view->buffer.shape[i];
    return 0;
}

static int take_copy(core_view *view, PyObject *object, eg_type type, const char *name) {
    PyObject *copy =
        PyObject_CallFunctionObjArgs(numpy_ascontiguous, object, numpy_types[type], NULL);
    if (!copy) return -1;
    const int failed = core_view_take(view, copy, type, CORE_READ, name);
    Py_DECREF(copy);
    return failed;
}

int core_view_take(core_view *view, PyObject *object, eg_type type, int access, const char *name) {
    *view = (core_view){0};
    if (!PyObject_CheckBuffer(object)) {
        if (PyObject_HasAttrString(object, "__dlpack__"))
            return core_dlpack_take(view, object, type, access, name);
        if (access == CORE_READ && (PyList_Check(object) || PyTuple_Check(object) ||
                                    PyFloat_Check(object) || PyLong_Check(object)))
            return take_copy(view, object, type, name);
        PyErr_Format(PyExc_TypeError, "%s: expected an array of %s, given %R", name,
                     core_type_text(type), (PyObject *)Py_TYPE(object));
        return -1;
    }
    const int flags = PyBUF_FORMAT | PyBUF_STRIDES | (access == CORE_WRITE ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &view->buffer, flags)) {
        *view = (core_view){0};
        PyErr_Format(PyExc_ValueError,
                     access == CORE_WRITE ? "%s: this array cannot be written: %R"
                                          : "%s: the memory of this object cannot be read: %R",
                     name, (PyObject *)Py_TYPE(object));
        return -1;
    }
    view->is_buffer = 1;
    int failed = of_buffer(view, type, name);
    const size_t alignment = eg_type_bits(type) / 8;
    if (!failed && (!is_contiguous(&view->buffer) || (uintptr_t)view->buffer.buf % alignment)) {
        core_view_give(view);
        if (access == CORE_READ) return take_copy(view, object, type, name);
        PyErr_Format(PyExc_ValueError,
                     "%s: expected contiguous memory in C order, given other strides", name);
        return -1;
    }
    if (failed) core_view_give(view);
    return failed;
}

void core_view_give(core_view *view) {
    if (view->is_buffer) PyBuffer_Release(&view->buffer);
    Py_XDECREF(view->owner);
    *view = (core_view){0};
}

int core_view_expect(const core_view *view, const char *name, unsigned rank,
                     const uint64_t *shape) {
    if (view->tensor.rank == rank && !memcmp(view->tensor.shape, shape, rank * sizeof *shape))
        return 0;
    char expected[96], given[96];
    core_shape_text(expected, rank, shape);
    core_shape_text(given, view->tensor.rank, view->tensor.shape);
    PyErr_Format(PyExc_ValueError, "%s: expected an array of shape %s, given %s", name, expected,
                 given);
    return -1;
}

PyObject *core_array(core_view *view, eg_type type, unsigned rank, const uint64_t *shape) {
    *view = (core_view){0};
    if (!numpy_types[type])
        return PyErr_Format(PyExc_TypeError, "numpy has no arrays of %s: cast to float32",
                            core_type_text(type));
    PyObject *extents =
        rank == 1 ? PyLong_FromUnsignedLongLong(shape[0]) : PyTuple_New((Py_ssize_t)rank);
    for (unsigned i = 0; rank != 1 && extents && i < rank; i++) {
        PyObject *extent = PyLong_FromUnsignedLongLong(shape[i]);
        if (!extent || PyTuple_SetItem(extents, (Py_ssize_t)i, extent)) Py_CLEAR(extents);
    }
    PyObject *array =
        extents ? PyObject_CallFunctionObjArgs(numpy_empty, extents, numpy_types[type], NULL)
                : NULL;
    Py_XDECREF(extents);
    if (!array || core_view_take(view, array, type, CORE_WRITE, "result")) {
        Py_XDECREF(array);
        return NULL;
    }
    return array;
}
