/* The operations of graphs, one method of Graph each. What cannot be right is an exception with the graph's message. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static core_graph *self_of(PyObject *object) { return (core_graph *)object; }

#define ARGUMENTS PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords

/* Arguments of a method, of which the first `nodes` are nodes. */
static int take(core_graph *self, const char *function, const char *const *names, size_t required,
                size_t node_count, PyObject **given, eg_node *nodes, PyObject *const *args,
                Py_ssize_t count, PyObject *keywords) {
    if (core_arguments(function, names, required, given, args, count, keywords) ||
        !core_graph_open(self))
        return -1;
    for (size_t i = 0; i < node_count; i++) {
        nodes[i] = (eg_node){0};
        if (given[i] && core_node_take(self, given[i], names[i], &nodes[i])) return -1;
    }
    return 0;
}

static int rank_of(core_graph *self, eg_node node, eg_node_info *out) {
    return core_node_info(self, node, out);
}

/* ---- elementwise, by the library's lists */
typedef eg_node (*unary_function)(eg_graph *graph, eg_node x);
typedef eg_node (*binary_function)(eg_graph *graph, eg_node a, eg_node b);

static PyObject *unary(PyObject *object, PyObject *argument, unary_function function) {
    core_graph *self = self_of(object);
    eg_node x;
    if (!core_graph_open(self) || core_node_take(self, argument, "x", &x)) return NULL;
    return core_node_new(self, function(self->graph, x));
}

static PyObject *binary(ARGUMENTS, const char *name, binary_function function) {
    static const char *const names[] = {"a", "b", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x[2];
    if (take(self, name, names, 2, 2, given, x, args, count, keywords)) return NULL;
    return core_node_new(self, function(self->graph, x[0], x[1]));
}

#define UNARY(name)                                                    \
    static PyObject *do_##name(PyObject *object, PyObject *argument) { \
        return unary(object, argument, eg_##name);                     \
    }
#define BINARY(name)                                                    \
    static PyObject *do_##name(ARGUMENTS) {                             \
        return binary(object, args, count, keywords, #name, eg_##name); \
    }
EG_UNARY_MAP(UNARY)
EG_BINARY_MAP(BINARY)
/* over the last axis, and others of the same form */
UNARY(softmax)
UNARY(log_softmax)
UNARY(argmax)
UNARY(sum_squares)

static PyObject *do_select(ARGUMENTS) {
    static const char *const names[] = {"condition", "yes", "no", NULL};
    core_graph *self = self_of(object);
    PyObject *given[3];
    eg_node x[3];
    if (take(self, "select", names, 3, 3, given, x, args, count, keywords)) return NULL;
    return core_node_new(self, eg_select(self->graph, x[0], x[1], x[2]));
}

static PyObject *do_cast(ARGUMENTS) {
    static const char *const names[] = {"x", "dtype", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x;
    eg_type type;
    if (take(self, "cast", names, 2, 1, given, &x, args, count, keywords) ||
        core_type_take(given[1], "dtype", &type))
        return NULL;
    return core_node_new(self, eg_cast(self->graph, x, type));
}

/* Of a node and a number. */
typedef eg_node (*number_function)(eg_graph *graph, eg_node x, double value);
static PyObject *with_number(ARGUMENTS, const char *function, const char *name, double otherwise,
                             number_function apply) {
    const char *const names[] = {"x", name, NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x;
    double value = otherwise;
    if (take(self, function, names, 1, 1, given, &x, args, count, keywords) ||
        (given[1] && core_number(given[1], name, &value)))
        return NULL;
    return core_node_new(self, apply(self->graph, x, value));
}
#define WITH_NUMBER(function, name, otherwise)                                        \
    static PyObject *do_##function(ARGUMENTS) {                                       \
        return with_number(object, args, count, keywords, #function, name, otherwise, \
                           eg_##function);                                            \
    }
WITH_NUMBER(dropout, "rate", 0.5)
WITH_NUMBER(layer_norm, "epsilon", 1e-5)
WITH_NUMBER(rms_norm, "epsilon", 1e-5)

/* ---- states */
static PyObject *do_update(ARGUMENTS) {
    static const char *const names[] = {"state", "value", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x[2];
    if (take(self, "update", names, 2, 2, given, x, args, count, keywords)) return NULL;
    return core_node_new(self, eg_update(self->graph, x[0], x[1]));
}

/* ---- movement */
static PyObject *do_reshape(ARGUMENTS) {
    static const char *const names[] = {"x", "shape", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x;
    eg_node_info info;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX], elements = 1;
    if (take(self, "reshape", names, 2, 1, given, &x, args, count, keywords) ||
        rank_of(self, x, &info))
        return NULL;
    for (unsigned i = 0; i < info.rank; i++) elements *= info.shape[i];
    if (core_extents(given[1], "shape", elements, &rank, shape)) return NULL;
    return core_node_new(self, eg_reshape(self->graph, x, rank, shape));
}

static PyObject *do_broadcast(ARGUMENTS) {
    static const char *const names[] = {"x", "shape", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX];
    if (take(self, "broadcast", names, 2, 1, given, &x, args, count, keywords) ||
        core_extents(given[1], "shape", 0, &rank, shape))
        return NULL;
    return core_node_new(self, eg_broadcast(self->graph, x, rank, shape));
}

/* All axes, each once; without `object` they are reversed, as numpy does. */
static int take_order(PyObject *object, unsigned rank, unsigned order[EG_RANK_MAX]) {
    if (!object) {
        for (unsigned i = 0; i < rank; i++) order[i] = rank - 1 - i;
        return 0;
    }
    PyObject *list = PySequence_List(object);
    if (!list) return -1;
    int failed = PyList_Size(list) != (Py_ssize_t)rank;
    if (failed)
        PyErr_Format(PyExc_ValueError, "order: expected %u axes, given %zd", rank,
                     PyList_Size(list));
    for (unsigned i = 0; !failed && i < rank; i++)
        failed = core_axis(PyList_GetItem(list, (Py_ssize_t)i), "order", rank, &order[i]);
    Py_DECREF(list);
    return failed ? -1 : 0;
}

static PyObject *do_transpose(ARGUMENTS) {
    static const char *const names[] = {"x", "order", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x;
    eg_node_info info;
    unsigned order[EG_RANK_MAX];
    if (take(self, "transpose", names, 1, 1, given, &x, args, count, keywords) ||
        rank_of(self, x, &info) || take_order(given[1], info.rank, order))
        return NULL;
    return core_node_new(self, eg_transpose(self->graph, x, order));
}

static PyObject *do_slice(ARGUMENTS) {
    static const char *const names[] = {"x", "axis", "start", "size", NULL};
    core_graph *self = self_of(object);
    PyObject *given[4];
    eg_node x;
    eg_node_info info;
    unsigned axis;
    uint64_t start, size;
    if (take(self, "slice", names, 4, 1, given, &x, args, count, keywords) ||
        rank_of(self, x, &info) || core_axis(given[1], "axis", info.rank, &axis) ||
        core_count(given[2], "start", &start) || core_count(given[3], "size", &size))
        return NULL;
    return core_node_new(self, eg_slice(self->graph, x, axis, start, size));
}

static PyObject *do_concat(ARGUMENTS) {
    static const char *const names[] = {"parts", "axis", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2], *out = NULL;
    eg_node *parts = NULL;
    eg_node_info info;
    size_t size;
    unsigned axis = 0;
    if (core_arguments("concat", names, 1, given, args, count, keywords) || !core_graph_open(self))
        return NULL;
    if (!core_nodes_take(self, given[0], "parts", &parts, &size)) {
        if (!size) PyErr_SetString(PyExc_ValueError, "parts: at least one is needed");
        else if (!rank_of(self, parts[0], &info) &&
                 (!given[1] || !core_axis(given[1], "axis", info.rank, &axis)))
            out = core_node_new(self, eg_concat(self->graph, axis, size, parts));
    }
    free(parts);
    return out;
}

static PyObject *do_pad(ARGUMENTS) {
    static const char *const names[] = {"x", "axis", "before", "after", "value", NULL};
    core_graph *self = self_of(object);
    PyObject *given[5];
    eg_node x;
    eg_node_info info;
    unsigned axis;
    uint64_t before = 0, after = 0;
    double value = 0;
    if (take(self, "pad", names, 2, 1, given, &x, args, count, keywords) ||
        rank_of(self, x, &info) || core_axis(given[1], "axis", info.rank, &axis) ||
        (given[2] && core_count(given[2], "before", &before)) ||
        (given[3] && core_count(given[3], "after", &after)) ||
        (given[4] && core_number(given[4], "value", &value)))
        return NULL;
    return core_node_new(self, eg_pad(self->graph, x, axis, before, after, value));
}

static PyObject *do_gather(ARGUMENTS) {
    static const char *const names[] = {"x", "index", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node x[2];
    if (take(self, "gather", names, 2, 2, given, x, args, count, keywords)) return NULL;
    return core_node_new(self, eg_gather(self->graph, x[0], x[1]));
}

static PyObject *do_scatter_add(ARGUMENTS) {
    static const char *const names[] = {"x", "index", "rows", NULL};
    core_graph *self = self_of(object);
    PyObject *given[3];
    eg_node x[2];
    uint64_t rows;
    if (take(self, "scatter_add", names, 3, 2, given, x, args, count, keywords) ||
        core_count(given[2], "rows", &rows))
        return NULL;
    return core_node_new(self, eg_scatter_add(self->graph, x[0], x[1], rows));
}

static PyObject *do_slice_update(ARGUMENTS) {
    static const char *const names[] = {"x", "at", "value", NULL};
    core_graph *self = self_of(object);
    PyObject *given[3];
    eg_node x[3];
    if (take(self, "slice_update", names, 3, 3, given, x, args, count, keywords)) return NULL;
    return core_node_new(self, eg_slice_update(self->graph, x[0], x[1], x[2]));
}

static PyObject *do_slice_at(ARGUMENTS) {
    static const char *const names[] = {"x", "at", "rows", NULL};
    core_graph *self = self_of(object);
    PyObject *given[3];
    eg_node x[2];
    uint64_t rows;
    if (take(self, "slice_at", names, 3, 2, given, x, args, count, keywords) ||
        core_count(given[2], "rows", &rows))
        return NULL;
    return core_node_new(self, eg_slice_at(self->graph, x[0], x[1], rows));
}

/* ---- reductions */
static int take_axes(PyObject *object, unsigned rank, unsigned *out) {
    *out = (1u << rank) - 1;
    if (!object) return 0;
    *out = 0;
    unsigned axis;
    if (PyLong_Check(object)) {
        if (core_axis(object, "axis", rank, &axis)) return -1;
        *out = 1u << axis;
        return 0;
    }
    PyObject *list = PySequence_List(object);
    int failed = !list;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(list); i++) {
        failed = core_axis(PyList_GetItem(list, i), "axis", rank, &axis);
        if (!failed) *out |= 1u << axis;
    }
    Py_XDECREF(list);
    return failed ? -1 : 0;
}

typedef eg_node (*reduction_function)(eg_graph *graph, eg_node x, unsigned axes, int keep);
static PyObject *reduce(ARGUMENTS, const char *function, reduction_function apply) {
    static const char *const names[] = {"x", "axis", "keepdims", NULL};
    core_graph *self = self_of(object);
    PyObject *given[3];
    eg_node x;
    eg_node_info info;
    unsigned axes;
    int keep = 0;
    if (take(self, function, names, 1, 1, given, &x, args, count, keywords) ||
        rank_of(self, x, &info) || take_axes(given[1], info.rank, &axes) ||
        core_flag(given[2], &keep))
        return NULL;
    return core_node_new(self, apply(self->graph, x, axes, keep));
}
#define REDUCTION(name)                                                 \
    static PyObject *do_##name(ARGUMENTS) {                             \
        return reduce(object, args, count, keywords, #name, eg_##name); \
    }
REDUCTION(sum)
REDUCTION(mean)
REDUCTION(reduce_max)

/* ---- contraction */
static PyObject *do_matmul(ARGUMENTS) {
    static const char *const names[] = {"a", "b", "transpose_a", "transpose_b", NULL};
    core_graph *self = self_of(object);
    PyObject *given[4];
    eg_node x[2];
    int a = 0, b = 0;
    if (take(self, "matmul", names, 2, 2, given, x, args, count, keywords) ||
        core_flag(given[2], &a) || core_flag(given[3], &b))
        return NULL;
    return core_node_new(self, eg_matmul_transposed(self->graph, x[0], a, x[1], b));
}

static int take_u32(PyObject *object, const char *name, uint32_t *out) {
    uint64_t value;
    if (core_count(object, name, &value)) return -1;
    if (value > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: too large", name);
        return -1;
    }
    *out = (uint32_t)value;
    return 0;
}

/* One number for all axes, or one for each. */
static int take_pair(PyObject *object, const char *name, uint32_t out[2]) {
    if (!object) return 0;
    if (PyLong_Check(object)) {
        if (take_u32(object, name, &out[0])) return -1;
        out[1] = out[0];
        return 0;
    }
    PyObject *list = PySequence_List(object);
    if (!list) return -1;
    const Py_ssize_t size = PyList_Size(list);
    int failed = size < 1 || size > 2;
    if (failed)
        PyErr_Format(PyExc_ValueError, "%s: expected one or two integers, given %zd", name, size);
    for (Py_ssize_t i = 0; !failed && i < size; i++)
        failed = take_u32(PyList_GetItem(list, i), name, &out[i]);
    Py_DECREF(list);
    return failed ? -1 : 0;
}

/* As take_pair, or a pair (before, after) for an axis. */
static int take_padding(PyObject *object, uint32_t before[2], uint32_t after[2]) {
    if (!object) return 0;
    if (PyLong_Check(object)) {
        if (take_pair(object, "padding", before)) return -1;
        memcpy(after, before, 2 * sizeof *after);
        return 0;
    }
    PyObject *list = PySequence_List(object);
    if (!list) return -1;
    const Py_ssize_t size = PyList_Size(list);
    int failed = size < 1 || size > 2;
    if (failed)
        PyErr_Format(PyExc_ValueError, "padding: expected one or two axes, given %zd", size);
    for (Py_ssize_t i = 0; !failed && i < size; i++) {
        uint32_t ends[2];
        failed = take_pair(PyList_GetItem(list, i), "padding", ends);
        if (failed) break;
        before[i] = ends[0];
        after[i] = ends[1];
    }
    Py_DECREF(list);
    return failed ? -1 : 0;
}

static PyObject *do_conv(ARGUMENTS) {
    static const char *const names[] = {"x", "w", "stride", "padding", "dilation", "groups", NULL};
    core_graph *self = self_of(object);
    PyObject *given[6];
    eg_node x[2];
    eg_conv_options options = {.size = sizeof options};
    if (take(self, "conv", names, 2, 2, given, x, args, count, keywords) ||
        take_pair(given[2], "stride", options.stride) ||
        take_padding(given[3], options.before, options.after) ||
        take_pair(given[4], "dilation", options.dilation) ||
        (given[5] && take_u32(given[5], "groups", &options.groups)))
        return NULL;
    return core_node_new(self, eg_conv(self->graph, &options, x[0], x[1]));
}

static PyObject *do_synapses(ARGUMENTS) {
    static const char *const names[] = {"v",      "weight", "middle",  "slope", "reversal",
                                        "source", "target", "targets", NULL};
    core_graph *self = self_of(object);
    PyObject *given[8];
    eg_node x[7];
    uint64_t targets;
    if (take(self, "synapses", names, 8, 7, given, x, args, count, keywords) ||
        core_count(given[7], "targets", &targets))
        return NULL;
    const eg_synapse_nodes nodes = {.v = x[0],
                                    .weight = x[1],
                                    .middle = x[2],
                                    .slope = x[3],
                                    .reversal = x[4],
                                    .source = x[5],
                                    .target = x[6]};
    return core_node_new(self, eg_synapses(self->graph, &nodes, targets));
}

/* ---- attention */
static int take_attention(PyObject *const *given, eg_attention_options *out) {
    return take_u32(given[0], "heads", &out->heads) ||
                   (given[1] && take_u32(given[1], "kv_heads", &out->kv_heads)) ||
                   (given[2] && core_number(given[2], "scale", &out->scale)) ||
                   core_flag(given[3], &out->causal) ||
                   (given[4] && core_count(given[4], "window", &out->window)) ||
                   (given[5] && core_number(given[5], "dropout", &out->dropout))
               ? -1
               : 0;
}

static PyObject *do_attention(ARGUMENTS) {
    static const char *const names[] = {"q",        "k",     "v",      "mask",   "lengths", "heads",
                                        "kv_heads", "scale", "causal", "window", "dropout", NULL};
    core_graph *self = self_of(object);
    PyObject *given[11];
    eg_node x[5];
    eg_attention_options options = {.size = sizeof options};
    if (take(self, "attention", names, 3, 5, given, x, args, count, keywords)) return NULL;
    if (!given[5]) return PyErr_Format(PyExc_TypeError, "attention() needs 'heads'");
    if (take_attention(given + 5, &options)) return NULL;
    return core_node_new(self, eg_attention(self->graph, &options, x[0], x[1], x[2], x[3], x[4]));
}

static PyObject *do_attention_cached(ARGUMENTS) {
    static const char *const names[] = {"q",       "k",        "v",     "pages",  "lengths",
                                        "heads",   "kv_heads", "scale", "causal", "window",
                                        "dropout", "page",     NULL};
    core_graph *self = self_of(object);
    PyObject *given[12];
    eg_node x[5];
    uint64_t page;
    eg_attention_options options = {.size = sizeof options};
    if (take(self, "attention_cached", names, 6, 5, given, x, args, count, keywords) ||
        take_attention(given + 5, &options))
        return NULL;
    if (!given[11]) return PyErr_Format(PyExc_TypeError, "attention_cached() needs 'page'");
    if (core_count(given[11], "page", &page)) return NULL;
    return core_node_new(
        self, eg_attention_cached(self->graph, &options, x[0], x[1], x[2], x[3], x[4], page));
}

static PyObject *do_append(ARGUMENTS) {
    static const char *const names[] = {"cache", "rows", "slots", NULL};
    core_graph *self = self_of(object);
    PyObject *given[3];
    eg_node x[3];
    if (take(self, "append", names, 3, 3, given, x, args, count, keywords)) return NULL;
    return core_node_new(self, eg_append(self->graph, x[0], x[1], x[2]));
}

static PyObject *do_rotary(ARGUMENTS) {
    static const char *const names[] = {"x", "positions", "d", "base", "interleaved", NULL};
    core_graph *self = self_of(object);
    PyObject *given[5];
    eg_node x[2];
    eg_rotary_options options = {.size = sizeof options};
    if (take(self, "rotary", names, 1, 2, given, x, args, count, keywords)) return NULL;
    if (!given[2]) return PyErr_Format(PyExc_TypeError, "rotary() needs 'd'");
    if (core_count(given[2], "d", &options.d) ||
        (given[3] && core_number(given[3], "base", &options.base)) ||
        core_flag(given[4], &options.interleaved))
        return NULL;
    return core_node_new(self, eg_rotary(self->graph, &options, x[0], x[1]));
}

#define KEYWORDS        METH_FASTCALL | METH_KEYWORDS
#define UNARY_ROW(name) {#name, do_##name, METH_O, #name "(x)\n--\n\n" #name " of each element."},
#define BINARY_ROW(name)                        \
    {#name, CORE_FASTCALL(do_##name), KEYWORDS, \
     #name "(a, b)\n--\n\n" #name " of a and b element by element, broadcast as numpy does."},
#define ROW(name, text, what) \
    {#name, CORE_FASTCALL(do_##name), KEYWORDS, #name text "\n--\n\n" what},
/* clang-format off */
PyMethodDef core_graph_operations[] = {
    EG_UNARY_MAP(UNARY_ROW)
    EG_BINARY_MAP(BINARY_ROW)
    {"softmax", do_softmax, METH_O, "softmax(x)\n--\n\nexp(x) over its sum along the last axis."},
    {"log_softmax", do_log_softmax, METH_O, "log_softmax(x)\n--\n\nThe logarithm of softmax(x), without overflow."},
    {"argmax", do_argmax, METH_O, "argmax(x)\n--\n\nThe first largest element along the last axis, as int32."},
    {"sum_squares", do_sum_squares, METH_O, "sum_squares(x)\n--\n\nThe sum of all squares in double, as four floats y: (y[0] + y[1] + y[2]) 2^y[3]."},
    ROW(select, "(condition, yes, no)", "yes where the condition is not 0, else no.")
    ROW(cast, "(x, dtype)", "float32 to float16 or bfloat16, or one of these to float32.")
    ROW(dropout, "(x, rate=0.5)", "In a program for training, zeros with this probability; the rest is scaled up.")
    ROW(layer_norm, "(x, epsilon=1e-05)", "(x - mean) / sqrt(variance + epsilon) over the last axis.")
    ROW(rms_norm, "(x, epsilon=1e-05)", "x / sqrt(mean(x^2) + epsilon) over the last axis.")
    ROW(update, "(state, value)", "The new value of a state, from the next run on.")
    ROW(reshape, "(x, shape)", "The same elements in another shape; one extent may be -1.")
    ROW(broadcast, "(x, shape)", "x repeated along axes of one element and new ones in front.")
    ROW(transpose, "(x, order=None)", "Axis i of the result is axis order[i] of x; all reversed without an order.")
    ROW(slice, "(x, axis, start, size)", "A part of an axis.")
    ROW(concat, "(parts, axis=0)", "Nodes joined along an axis.")
    ROW(pad, "(x, axis, before=0, after=0, value=0.0)", "Elements of a value around an axis.")
    ROW(gather, "(x, index)", "Rows of x, along its first axis, by an index of int32.")
    ROW(scatter_add, "(x, index, rows)", "Zeros of so many rows, to which the rows of x are added where the index says.")
    ROW(slice_update, "(x, at, value)", "x with the rows from `at`, an int32 of the run, replaced.")
    ROW(slice_at, "(x, at, rows)", "So many rows of x from `at`, an int32 of the run.")
    ROW(sum, "(x, axis=None, keepdims=False)", "The sum over some or all axes.")
    ROW(mean, "(x, axis=None, keepdims=False)", "The mean over some or all axes.")
    ROW(reduce_max, "(x, axis=None, keepdims=False)", "The largest element over some or all axes.")
    ROW(matmul, "(a, b, transpose_a=False, transpose_b=False)", "[.., m, k] x [.., k, n]; leading axes broadcast.")
    ROW(conv, "(x, w, stride=1, padding=0, dilation=1, groups=1)", "Cross-correlation as torch's conv1d and conv2d; padding per axis may be (before, after).")
    ROW(synapses, "(v, weight, middle, slope, reversal, source, target, targets)", "Currents and conductances of synapses, [.., 2 targets].")
    ROW(attention, "(q, k, v, mask=None, lengths=None, heads=None, kv_heads=None, scale=None, causal=False, window=None, dropout=0.0)", "softmax(scale q k' + mask) v of heads side by side in the columns, [B, T, heads D].")
    ROW(attention_cached, "(q, k, v, pages, lengths, heads, kv_heads=None, scale=None, causal=False, window=None, dropout=0.0, page=None)", "attention() whose keys and values are in caches, in pages of slots.")
    ROW(append, "(cache, rows, slots)", "A cache with rows written to slots; for update().")
    ROW(rotary, "(x, positions=None, d=None, base=10000.0, interleaved=False)", "Rotary position embeddings of heads of d columns, [B, T, heads d].")
    {NULL, NULL, 0, NULL}};
