/* Node: a value of a graph, with the operators that Python has for such things. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static PyTypeObject *node_type;

static core_node *self_of(PyObject *object) { return (core_node *)object; }

int core_is_node(PyObject *object) { return PyObject_TypeCheck(object, node_type); }

PyObject *core_node_new(core_graph *graph, eg_node node) {
    if (!node.id) {
        eg_error error;
        if (eg_graph_check(graph->graph, &error)) {
            eg_graph_forgive(graph->graph);
            return core_raise(&error);
        }
        return PyErr_Format(PyExc_ValueError, "no such node");
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(node_type, Py_tp_alloc);
    core_node *self = (core_node *)allocate(node_type, 0);
    if (!self) return NULL;
    Py_INCREF((PyObject *)graph);
    self->graph = graph;
    self->node = node;
    return (PyObject *)self;
}

static void finish(PyObject *object) {
    Py_XDECREF((PyObject *)self_of(object)->graph);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- taking them */
int core_node_only(core_graph *graph, PyObject *object, const char *name, eg_node *out) {
    if (!core_is_node(object)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a Node, given %R", name,
                     (PyObject *)Py_TYPE(object));
        return -1;
    }
    if (self_of(object)->graph != graph) {
        PyErr_Format(PyExc_ValueError, "%s: a node of another graph", name);
        return -1;
    }
    *out = self_of(object)->node;
    return 0;
}

static int is_array(PyObject *object) {
    return PyObject_CheckBuffer(object) || PyObject_HasAttrString(object, "__array__") ||
           PyList_Check(object) || PyTuple_Check(object);
}

int core_node_take(core_graph *graph, PyObject *object, const char *name, eg_node *out) {
    if (core_is_node(object)) return core_node_only(graph, object, name, out);
    int failed = 0;
    if (PyFloat_Check(object) || PyLong_Check(object)) {
        const double value = PyFloat_AsDouble(object);
        if (value == -1 && PyErr_Occurred()) return -1;
        *out = eg_scalar(graph->graph, value);
    } else if (is_array(object)) *out = core_constant(graph, object, NULL, &failed);
    else {
        PyErr_Format(PyExc_TypeError, "%s: expected a Node, a number or an array, given %R", name,
                     (PyObject *)Py_TYPE(object));
        return -1;
    }
    if (failed || out->id) return failed;
    PyObject *none = core_graph_none(graph); /* the mistake, as an exception */
    Py_XDECREF(none);
    return -1;
}

int core_nodes_take(core_graph *graph, PyObject *sequence, const char *name, eg_node **out,
                    size_t *count) {
    PyObject *list = PySequence_List(sequence);
    if (!list) return -1;
    const Py_ssize_t size = PyList_Size(list);
    *out = calloc((size_t)size + 1, sizeof **out);
    int failed = !*out;
    if (failed) PyErr_NoMemory();
    for (Py_ssize_t i = 0; !failed && i < size; i++)
        failed = core_node_take(graph, PyList_GetItem(list, i), name, &(*out)[i]);
    Py_DECREF(list);
    *count = (size_t)size;
    return failed ? -1 : 0;
}

int core_node_info(const core_graph *graph, eg_node node, eg_node_info *out) {
    eg_error error;
    *out = (eg_node_info){.size = sizeof *out};
    if (!eg_graph_node(graph->graph, node, out, &error)) return 0;
    core_raise(&error);
    return -1;
}

/* ---- shapes */
PyObject *core_shape_tuple(unsigned rank, const uint64_t *shape) {
    PyObject *out = PyTuple_New((Py_ssize_t)rank);
    for (unsigned i = 0; out && i < rank; i++) {
        PyObject *extent = PyLong_FromUnsignedLongLong(shape[i]);
        if (!extent || PyTuple_SetItem(out, (Py_ssize_t)i, extent)) Py_CLEAR(out);
    }
    return out;
}

/* The extent that makes a shape have so many elements. */
static int find_extent(const char *name, uint64_t elements, unsigned rank, uint64_t *shape,
                       unsigned missing) {
    uint64_t others = 1;
    for (unsigned i = 0; i < rank; i++)
        if (i != missing && shape[i] && others <= UINT64_MAX / shape[i]) others *= shape[i];
        else if (i != missing) others = 0; /* nothing divides by it */
    if (others && elements % others == 0) {
        shape[missing] = elements / others;
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "%s: %llu elements do not fit", name,
                 (unsigned long long)elements);
    return -1;
}

int core_extents(PyObject *object, const char *name, uint64_t elements, unsigned *rank,
                 uint64_t shape[EG_RANK_MAX]) {
    if (PyLong_Check(object)) {
        PyObject *one = PyTuple_Pack(1, object);
        const int failed = !one || core_extents(one, name, elements, rank, shape);
        Py_XDECREF(one);
        return failed ? -1 : 0;
    }
    PyObject *list = PySequence_List(object);
    if (!list) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: expected a sequence of integers, given %R", name,
                         (PyObject *)Py_TYPE(object));
        return -1;
    }
    const Py_ssize_t size = PyList_Size(list);
    int failed = size > EG_RANK_MAX, missing = -1;
    if (failed)
        PyErr_Format(PyExc_ValueError, "%s: %zd axes; at most %d are possible", name, size,
                     EG_RANK_MAX);
    for (Py_ssize_t i = 0; !failed && i < size; i++) {
        PyObject *item = PyList_GetItem(list, i);
        shape[i] = 0;
        if (elements && missing < 0 && PyLong_Check(item) && PyLong_AsLong(item) == -1 &&
            !PyErr_Occurred())
            missing = (int)i;
        else {
            PyErr_Clear(); /* too large for a long: refused below, by name */
            failed = core_count(item, name, &shape[i]);
        }
    }
    Py_DECREF(list);
    *rank = (unsigned)size;
    if (!failed && missing >= 0)
        failed = find_extent(name, elements, *rank, shape, (unsigned)missing);
    return failed ? -1 : 0;
}

int core_axis(PyObject *object, const char *name, unsigned rank, unsigned *out) {
    PyObject *integer = PyNumber_Index(object);
    if (!integer) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: expected an integer, given %R", name,
                         (PyObject *)Py_TYPE(object));
        return -1;
    }
    int is_over;
    const long value = PyLong_AsLongAndOverflow(integer, &is_over);
    Py_DECREF(integer);
    if (is_over || value < -(long)rank || value >= (long)rank) {
        PyErr_Format(PyExc_ValueError, "%s: no axis %S, there are %u", name, object, rank);
        return -1;
    }
    *out = (unsigned)(value < 0 ? value + (long)rank : value);
    return 0;
}

/* ---- operators */
typedef eg_node (*binary_function)(eg_graph *graph, eg_node a, eg_node b);

static int is_operand(PyObject *object) {
    return core_is_node(object) || PyFloat_Check(object) || PyLong_Check(object) ||
           is_array(object);
}

static PyObject *binary(PyObject *a, PyObject *b, binary_function function) {
    core_graph *graph = self_of(core_is_node(a) ? a : b)->graph;
    eg_node left, right;
    if (!is_operand(a) || !is_operand(b)) {
        Py_INCREF(Py_NotImplemented);
        return Py_NotImplemented;
    }
    if (!core_graph_open(graph) || core_node_take(graph, a, "left operand", &left) ||
        core_node_take(graph, b, "right operand", &right))
        return NULL;
    return core_node_new(graph, function(graph->graph, left, right));
}

#define OPERATOR(name, function) \
    static PyObject *name(PyObject *a, PyObject *b) { return binary(a, b, function); }
OPERATOR(plus, eg_add)
OPERATOR(minus, eg_sub)
OPERATOR(times, eg_mul)
OPERATOR(over, eg_div)
OPERATOR(product, eg_matmul)

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulus) {
    if (modulus != Py_None)
        return PyErr_Format(PyExc_TypeError, "pow() of a Node takes no modulus");
    return binary(a, b, eg_pow);
}

static PyObject *negative(PyObject *a) {
    core_graph *graph = self_of(a)->graph;
    return core_graph_open(graph) ? core_node_new(graph, eg_neg(graph->graph, self_of(a)->node))
                                  : NULL;
}

static PyObject *positive(PyObject *a) {
    Py_INCREF(a);
    return a;
}

static PyObject *absolute(PyObject *a) {
    core_graph *graph = self_of(a)->graph;
    return core_graph_open(graph) ? core_node_new(graph, eg_abs(graph->graph, self_of(a)->node))
                                  : NULL;
}

static PyObject *compare(PyObject *a, PyObject *b, int operation) {
    switch (operation) {
    case Py_LT: return binary(a, b, eg_lt);
    case Py_LE: return binary(a, b, eg_le);
    case Py_EQ: return binary(a, b, eg_eq);
    case Py_NE: return binary(a, b, eg_ne);
    case Py_GT: return binary(b, a, eg_lt);
    default: return binary(b, a, eg_le);
    }
}

static int truth(PyObject *object) {
    (void)object;
    PyErr_SetString(PyExc_TypeError,
                    "a Node has no value before its graph is compiled and run; see Graph.select()");
    return -1;
}

static Py_hash_t hash(PyObject *object) {
    return (Py_hash_t)((uintptr_t)self_of(object)->graph / 16 * 31 + self_of(object)->node.id);
}

/* ---- slices: x[3], x[1:4], x[..., 0], x[:, 2:], and x[index] with a node of int32 */
static eg_node slice_axis(core_graph *graph, eg_node x, unsigned axis, uint64_t extent,
                          PyObject *key, int *drops, int *failed) {
    Py_ssize_t start, stop, step;
    *drops = 0;
    *failed = 1;
    if (PySlice_Check(key)) {
        if (PySlice_Unpack(key, &start, &stop, &step)) return x;
        const Py_ssize_t size = PySlice_AdjustIndices((Py_ssize_t)extent, &start, &stop, step);
        if (step != 1) {
            PyErr_Format(PyExc_ValueError, "a slice with step %zd: only 1 is possible", step);
            return x;
        }
        *failed = 0;
        if (!start && (uint64_t)size == extent) return x;
        return eg_slice(graph->graph, x, axis, (uint64_t)start, (uint64_t)size);
    }
    const Py_ssize_t at = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (at == -1 && PyErr_Occurred()) return x;
    if (at < -(Py_ssize_t)extent || at >= (Py_ssize_t)extent) {
        PyErr_Format(PyExc_IndexError, "index %zd on an axis of %llu", at,
                     (unsigned long long)extent);
        return x;
    }
    *failed = 0;
    *drops = 1;
    return eg_slice(graph->graph, x, axis, (uint64_t)(at < 0 ? at + (Py_ssize_t)extent : at), 1);
}

static PyObject *slice_all(core_graph *graph, eg_node x, const eg_node_info *info, PyObject *keys) {
    const Py_ssize_t given = PyTuple_Size(keys);
    Py_ssize_t ellipsis = -1;
    for (Py_ssize_t i = 0; i < given; i++)
        if (PyTuple_GetItem(keys, i) == Py_Ellipsis) ellipsis = ellipsis < 0 ? i : given;
    const Py_ssize_t used = given - (ellipsis >= 0);
    if (used > (Py_ssize_t)info->rank || ellipsis == given)
        return PyErr_Format(PyExc_IndexError, "%zd indices for a node of %u axes", used,
                            info->rank);
    uint64_t left[EG_RANK_MAX];
    unsigned rank = 0;
    for (unsigned axis = 0; axis < info->rank; axis++) {
        /* those behind the ellipsis belong to the last axes */
        Py_ssize_t at = (Py_ssize_t)axis;
        if (ellipsis >= 0 && at >= ellipsis) {
            at = given - ((Py_ssize_t)info->rank - (Py_ssize_t)axis);
            if (at <= ellipsis) at = given;
        }
        int drops = 0, failed = 0;
        if (at < given)
            x = slice_axis(graph, x, axis, info->shape[axis], PyTuple_GetItem(keys, at), &drops,
                           &failed);
        if (failed) return NULL;
        eg_node_info now;
        if (!x.id) return core_node_new(graph, x);
        if (core_node_info(graph, x, &now)) return NULL;
        if (!drops) left[rank++] = now.shape[axis];
    }
    if (rank < info->rank) x = eg_reshape(graph->graph, x, rank, left);
    return core_node_new(graph, x);
}

static PyObject *subscript(PyObject *object, PyObject *key) {
    core_node *self = self_of(object);
    eg_node_info info;
    if (!core_graph_open(self->graph) || core_node_info(self->graph, self->node, &info))
        return NULL;
    if (core_is_node(key)) {
        eg_node index;
        if (core_node_only(self->graph, key, "index", &index)) return NULL;
        return core_node_new(self->graph, eg_gather(self->graph->graph, self->node, index));
    }
    PyObject *keys = key;
    if (PyTuple_Check(key)) Py_INCREF(key);
    else keys = PyTuple_Pack(1, key);
    PyObject *out = keys ? slice_all(self->graph, self->node, &info, keys) : NULL;
    Py_XDECREF(keys);
    return out;
}

/* Without it Python would try x[0], x[1] ... and the graph would grow. */
static PyObject *no_iteration(PyObject *object) {
    (void)object;
    return PyErr_Format(PyExc_TypeError, "a Node cannot be iterated over; see Graph.scan()");
}

/* ---- queries */
enum {
    FIELD_SHAPE,
    FIELD_DTYPE,
    FIELD_NAME,
    FIELD_OPERATION,
    FIELD_NDIM,
    FIELD_FLOPS,
    FIELD_BYTES
};
static PyObject *field(PyObject *object, void *which) {
    core_node *self = self_of(object);
    eg_node_info info;
    if (core_node_info(self->graph, self->node, &info)) return NULL;
    switch ((int)(intptr_t)which) {
    case FIELD_SHAPE: return core_shape_tuple(info.rank, info.shape);
    case FIELD_DTYPE: return PyUnicode_FromString(core_type_text(info.type));
    case FIELD_NAME: return Py_BuildValue("z", info.name);
    case FIELD_OPERATION: return PyUnicode_FromString(info.operation);
    case FIELD_NDIM: return PyLong_FromUnsignedLong(info.rank);
    case FIELD_FLOPS: return PyFloat_FromDouble(info.flops);
    default: return PyFloat_FromDouble(info.bytes);
    }
}

static PyObject *get_inputs(PyObject *object, void *nothing) {
    (void)nothing;
    core_node *self = self_of(object);
    eg_node_info info;
    if (core_node_info(self->graph, self->node, &info)) return NULL;
    PyObject *out = PyTuple_New((Py_ssize_t)info.input_count);
    for (size_t i = 0; out && i < info.input_count; i++) {
        PyObject *node = core_node_new(self->graph, info.inputs[i]);
        if (!node || PyTuple_SetItem(out, (Py_ssize_t)i, node)) Py_CLEAR(out);
    }
    return out;
}

static PyObject *get_graph(PyObject *object, void *nothing) {
    (void)nothing;
    PyObject *graph = (PyObject *)self_of(object)->graph;
    Py_INCREF(graph);
    return graph;
}

static PyObject *get_id(PyObject *object, void *nothing) {
    (void)nothing;
    return PyLong_FromUnsignedLong(self_of(object)->node.id);
}

static PyObject *repr(PyObject *object) {
    const core_node *self = self_of(object);
    eg_node_info info;
    char shape[96];
    if (core_node_info(self->graph, self->node, &info)) return NULL;
    core_shape_text(shape, info.rank, info.shape);
    return PyUnicode_FromFormat("Node(%s%s%s%s: %s %s)", info.operation, info.name ? " '" : "",
                                info.name ? info.name : "", info.name ? "'" : "",
                                core_type_text(info.type), shape);
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "a Node comes from the methods of a Graph");
    return NULL;
}

#define FIELD(which) (void *)(intptr_t)(which)
static PyGetSetDef properties[] = {
    {"shape", field, NULL, "The extents of its axes.", FIELD(FIELD_SHAPE)},
    {"dtype", field, NULL, "The name of its type, as numpy has it.", FIELD(FIELD_DTYPE)},
    {"name", field, NULL, "Of an input, parameter or state, else None.", FIELD(FIELD_NAME)},
    {"operation", field, NULL, "What computes it, as \"matmul\".", FIELD(FIELD_OPERATION)},
    {"ndim", field, NULL, "The number of its axes.", FIELD(FIELD_NDIM)},
    {"flops", field, NULL, "Floating-point operations of one evaluation, counted.",
     FIELD(FIELD_FLOPS)},
    {"bytes", field, NULL, "Bytes that one evaluation reads and writes, counted.",
     FIELD(FIELD_BYTES)},
    {"inputs", get_inputs, NULL, "The nodes it is computed from.", NULL},
    {"graph", get_graph, NULL, "The graph it belongs to.", NULL},
    {"id", get_id, NULL, "Its number in the graph, from 1.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_getset, properties},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, refuse_new},
                              {Py_tp_repr, repr},
                              {Py_tp_hash, hash},
                              {Py_tp_richcompare, compare},
                              {Py_tp_iter, no_iteration},
                              {Py_nb_add, plus},
                              {Py_nb_subtract, minus},
                              {Py_nb_multiply, times},
                              {Py_nb_true_divide, over},
                              {Py_nb_matrix_multiply, product},
                              {Py_nb_power, power},
                              {Py_nb_negative, negative},
                              {Py_nb_positive, positive},
                              {Py_nb_absolute, absolute},
                              {Py_nb_bool, truth},
                              {Py_mp_subscript, subscript},
                              {Py_tp_doc, (void *)"A value of a graph."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Node", sizeof(core_node), 0, Py_TPFLAGS_DEFAULT, slots};

int core_node_add(PyObject *module) {
    node_type = (PyTypeObject *)PyType_FromSpec(&spec);
    /* numpy leaves operators of its arrays with nodes to nodes */
    if (!node_type || PyObject_SetAttrString((PyObject *)node_type, "__array_ufunc__", Py_None))
        return -1;
    Py_INCREF(node_type);
    return PyModule_AddObject(module, "Node", (PyObject *)node_type);
}
