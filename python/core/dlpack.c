/* DLPack: tensors of torch, jax, mlx and others, used where they lie. The structs are those of the standard, version
 * 0.8, which every producer gives unless a consumer asks for a newer one. */
#include "core.h"

#include <string.h>

enum { DEVICE_CPU = 1, DEVICE_CUDA_HOST = 3, DEVICE_ROCM_HOST = 11 };

typedef struct dl_device {
    int32_t kind, number;
} dl_device;

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t rank;
    uint8_t code, bits; /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool */
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL = contiguous */
    uint64_t offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

static void end_capsule(PyObject *capsule) {
    dl_managed *managed = PyCapsule_GetPointer(capsule, "elegans_dltensor");
    if (managed && managed->deleter) managed->deleter(managed);
}

static int on_device(PyObject *object, const char *name) {
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    PyObject *kind = device && PyTuple_Check(device) ? PyTuple_GetItem(device, 0) : NULL;
    const long number = kind ? PyLong_AsLong(kind) : -1;
    if (device && !kind)
        PyErr_Format(PyExc_TypeError, "%s: __dlpack_device__ gave %R", name, device);
    Py_XDECREF(device);
    if (PyErr_Occurred()) return -1;
    if (number == DEVICE_CPU || number == DEVICE_CUDA_HOST || number == DEVICE_ROCM_HOST) return 0;
    static const char *const devices[] = {
        [2] = "CUDA", [4] = "OpenCL", [7] = "Vulkan", [8] = "Metal", [10] = "ROCm"};
    const char *text = number > 0 && number <= 10 && devices[number] ? devices[number] : "another";
    PyErr_Format(PyExc_ValueError,
                 "%s: expected memory of the CPU, given a tensor on a device of kind %ld (%s)",
                 name, number, text);
    return -1;
}

static int type_of(const dl_tensor *tensor, eg_type *out) {
    static const struct {
        uint8_t code, bits;
        eg_type type;
    } types[] = {{2, 32, EG_F32}, {2, 16, EG_F16}, {4, 16, EG_BF16}, {0, 8, EG_I8},
                 {1, 8, EG_U8},   {0, 32, EG_I32}, {0, 64, EG_I64},  {6, 8, EG_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (tensor->code == types[i].code && tensor->bits == types[i].bits && tensor->lanes == 1) {
            *out = types[i].type;
            return 0;
        }
    return -1;
}

static int fill_view(core_view *view, const dl_tensor *tensor, eg_type type, const char *name) {
    static const char *const codes[] = {"int",    "uint",    "float", "handle",
                                        "bfloat", "complex", "bool"};
    eg_type given = type;
    if (type_of(tensor, &given) || given != type) {
        PyErr_Format(PyExc_TypeError, "%s: expected a tensor of %s, given %s of %d bits", name,
                     eg_type_name(type), tensor->code < 7 ? codes[tensor->code] : "unknown",
                     (int)tensor->bits);
        return -1;
    }
    if (tensor->rank < 0 || tensor->rank > EG_RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: a tensor of %d axes; at most %d are possible", name,
                     (int)tensor->rank, EG_RANK_MAX);
        return -1;
    }
    view->tensor = (eg_tensor){.type = type,
                               .rank = (unsigned)tensor->rank,
                               .data = (char *)tensor->data + tensor->offset};
    for (int i = 0; i < tensor->rank; i++) view->tensor.shape[i] = (uint64_t)tensor->shape[i];
    return 0;
}

static int is_contiguous(const dl_tensor *tensor) {
    int64_t stride = 1;
    for (int i = tensor->rank; tensor->strides && i-- > 0;) {
        if (tensor->shape[i] > 1 && tensor->strides[i] != stride) return 0;
        stride *= tensor->shape[i];
    }
    return 1;
}

/* numpy reads DLPack of any strides, and copies. */
static int take_copy(core_view *view, PyObject *object, eg_type type, const char *name) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *array = numpy ? PyObject_CallMethod(numpy, "from_dlpack", "O", object) : NULL;
    Py_XDECREF(numpy);
    if (!array) return -1;
    const int failed = core_view_take(view, array, type, CORE_READ, name);
    Py_DECREF(array);
    return failed;
}

int core_dlpack_take(core_view *view, PyObject *object, eg_type type, int access,
                     const char *name) {
    if (on_device(object, name)) return -1;
    PyObject *capsule = PyObject_CallMethod(object, "__dlpack__", NULL);
    if (!capsule) return -1;
    dl_managed *managed =
        PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    if (!managed) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s: __dlpack__ gave %R", name, capsule);
        Py_DECREF(capsule);
        return -1;
    }
    /* from here on the tensor is ours: the producer's destructor looks at the name, and ours ends it */
    PyCapsule_SetName(capsule, "used_dltensor");
    view->owner = PyCapsule_New(managed, "elegans_dltensor", end_capsule);
    Py_DECREF(capsule);
    if (!view->owner) {
        if (managed->deleter) managed->deleter(managed);
        return -1;
    }
    const int failed = fill_view(view, &managed->tensor, type, name);
    if (!failed && is_contiguous(&managed->tensor)) return 0;
    core_view_give(view);
    if (failed) return -1;
    if (access == CORE_READ) return take_copy(view, object, type, name);
    PyErr_Format(PyExc_ValueError, "%s: expected contiguous memory in C order, given other strides",
                 name);
    return -1;
}
