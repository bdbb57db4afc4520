/* Graph: what is to be computed. Its leaves, scans, gradient and files; operations are in operations.c. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static PyTypeObject *graph_type;

static core_graph *self_of(PyObject *object) { return (core_graph *)object; }

core_graph *core_graph_of(PyObject *object, const char *name) {
    if (PyObject_TypeCheck(object, graph_type)) return self_of(object);
    PyErr_Format(PyExc_TypeError, "%s: expected a Graph, given %R", name,
                 (PyObject *)Py_TYPE(object));
    return NULL;
}

int core_graph_open(core_graph *graph) {
    if (!core_context_usable(graph->context)) return 0;
    if (!graph->readers) return 1;
    PyErr_SetString(PyExc_RuntimeError, "another thread compiles this graph: change it afterwards");
    return 0;
}

PyObject *core_graph_none(core_graph *graph) {
    eg_error error;
    if (!eg_graph_check(graph->graph, &error)) Py_RETURN_NONE;
    eg_graph_forgive(graph->graph);
    return core_raise(&error);
}

/* ---- making one */
static PyObject *wrap(PyTypeObject *type, core_context *context, eg_graph *graph) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    core_graph *self = (core_graph *)allocate(type, 0);
    if (!self) {
        eg_graph_destroy(graph);
        core_context_give(context);
        return NULL;
    }
    self->context = context;
    self->graph = graph;
    return (PyObject *)self;
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (PyTuple_Size(args) || (keywords && PyDict_Size(keywords)))
        return PyErr_Format(PyExc_TypeError, "Graph() takes no arguments");
    core_context *context = core_context_take();
    eg_graph *graph;
    eg_error error;
    if (!context) return NULL;
    if (eg_graph_create(context->context, &graph, &error)) {
        core_context_give(context);
        return core_raise(&error);
    }
    return wrap(type, context, graph);
}

static PyObject *load(PyObject *type, PyObject *argument) {
    const char *path;
    PyObject *bytes = core_path(argument, "path", &path);
    if (!bytes) return NULL;
    core_context *context = core_context_take();
    eg_graph *graph = NULL;
    eg_error error;
    PyObject *out = NULL;
    if (context) {
        if (eg_graph_load(context->context, path, &graph, &error)) {
            core_context_give(context);
            core_raise_path(&error, path);
        } else out = wrap((PyTypeObject *)type, context, graph);
    }
    Py_DECREF(bytes);
    return out;
}

static PyObject *save(PyObject *object, PyObject *argument) {
    const char *path;
    PyObject *bytes = core_path(argument, "path", &path);
    if (!bytes) return NULL;
    eg_error error;
    const eg_status status = eg_graph_save(self_of(object)->graph, path, &error);
    Py_DECREF(bytes);
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

static void finish(PyObject *object) {
    core_graph *self = self_of(object);
    eg_graph_destroy(self->graph);
    core_context_give(self->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- leaves */
typedef struct leaf {
    const char *name;
    PyObject *text; /* holds the name */
    unsigned rank;
    uint64_t shape[EG_RANK_MAX];
    eg_type type;
} leaf;

static int take_leaf(core_graph *self, leaf *out, const char *function, PyObject *const *args,
                     Py_ssize_t count, PyObject *keywords) {
    static const char *const names[] = {"name", "shape", "dtype", NULL};
    PyObject *given[3];
    if (core_arguments(function, names, 2, given, args, count, keywords) ||
        !core_graph_open(self) || core_extents(given[1], "shape", 0, &out->rank, out->shape) ||
        (given[2] && core_type_take(given[2], "dtype", &out->type)))
        return -1;
    out->text = core_text(given[0], "name", &out->name);
    return out->text ? 0 : -1;
}

static PyObject *input(PyObject *object, PyObject *const *args, Py_ssize_t count,
                       PyObject *keywords) {
    core_graph *self = self_of(object);
    leaf l = {.type = EG_F32};
    if (take_leaf(self, &l, "input", args, count, keywords)) return NULL;
    PyObject *out = core_node_new(self, eg_input(self->graph, l.name, l.type, l.rank, l.shape));
    Py_DECREF(l.text);
    return out;
}

static PyObject *parameter(PyObject *object, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords) {
    core_graph *self = self_of(object);
    leaf l = {.type = EG_F32};
    if (take_leaf(self, &l, "parameter", args, count, keywords)) return NULL;
    PyObject *out = NULL;
    if (l.type != EG_F32)
        PyErr_Format(PyExc_TypeError, "parameter: expected float32, given %s",
                     core_type_text(l.type));
    else out = core_node_new(self, eg_parameter(self->graph, l.name, l.rank, l.shape));
    Py_DECREF(l.text);
    return out;
}

static PyObject *state(PyObject *object, PyObject *const *args, Py_ssize_t count,
                       PyObject *keywords) {
    core_graph *self = self_of(object);
    leaf l = {.type = EG_F32};
    if (take_leaf(self, &l, "state", args, count, keywords)) return NULL;
    PyObject *out =
        core_node_new(self, eg_state_typed(self->graph, l.name, l.type, l.rank, l.shape));
    Py_DECREF(l.text);
    return out;
}

static PyObject *cache(PyObject *object, PyObject *const *args, Py_ssize_t count,
                       PyObject *keywords) {
    static const char *const names[] = {"name", "slots", "heads", "d", "dtype", NULL};
    core_graph *self = self_of(object);
    PyObject *given[5];
    uint64_t sizes[3];
    eg_type type = EG_F32;
    const char *name;
    if (core_arguments("cache", names, 4, given, args, count, keywords) || !core_graph_open(self))
        return NULL;
    for (int i = 0; i < 3; i++) {
        if (core_count(given[i + 1], names[i + 1], &sizes[i])) return NULL;
        if (i && sizes[i] > UINT32_MAX)
            return PyErr_Format(PyExc_ValueError, "%s: too large", names[i + 1]);
    }
    if (given[4] && core_type_take(given[4], "dtype", &type)) return NULL;
    PyObject *text = core_text(given[0], "name", &name);
    if (!text) return NULL;
    PyObject *out = core_node_new(
        self, eg_cache(self->graph, name, type, sizes[0], (uint32_t)sizes[1], (uint32_t)sizes[2]));
    Py_DECREF(text);
    return out;
}

/* The type of the library that values of Python become: halves stay, other numbers with a fraction are f32, whole ones
 * i32. */
static int type_of_array(PyObject *array, eg_type *out) {
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject *kind = dtype ? PyObject_GetAttrString(dtype, "kind") : NULL;
    PyObject *size = kind ? PyObject_GetAttrString(dtype, "itemsize") : NULL;
    const char *letter;
    PyObject *text = size ? core_text(kind, "dtype", &letter) : NULL;
    int failed = !text;
    if (!failed && *letter == 'f') *out = PyLong_AsLong(size) == 2 ? EG_F16 : EG_F32;
    else if (!failed && strchr("iub", *letter)) *out = EG_I32;
    else if (!failed) {
        PyErr_Format(PyExc_TypeError, "constant: expected numbers, given %R", dtype);
        failed = 1;
    }
    Py_XDECREF(text);
    Py_XDECREF(size);
    Py_XDECREF(kind);
    Py_XDECREF(dtype);
    return failed ? -1 : 0;
}

/* `array` as a contiguous one of `type`; integers must keep their values. */
static PyObject *convert_array(PyObject *numpy, PyObject *array, eg_type type) {
    PyObject *out = PyObject_CallMethod(numpy, "require", "Oss", array, core_type_text(type), "CA");
    if (!out || type != EG_I32) return out;
    PyObject *same = PyObject_CallMethod(numpy, "array_equal", "OO", array, out);
    const int is_same = same ? PyObject_IsTrue(same) : -1;
    Py_XDECREF(same);
    if (is_same > 0) return out;
    if (!is_same) PyErr_SetString(PyExc_ValueError, "constant: values that an int32 does not hold");
    Py_DECREF(out);
    return NULL;
}

eg_node core_constant(core_graph *graph, PyObject *value, PyObject *dtype, int *failed) {
    const eg_node none = {0};
    eg_type type = EG_F32;
    *failed = 1;
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *array = numpy ? PyObject_CallMethod(numpy, "asarray", "O", value) : NULL;
    PyObject *converted = NULL;
    if (array && !(dtype ? core_type_take(dtype, "dtype", &type) : type_of_array(array, &type)))
        converted = convert_array(numpy, array, type);
    Py_XDECREF(numpy);
    Py_XDECREF(array);
    core_view view;
    if (!converted || core_view_take(&view, converted, type, CORE_READ, "constant")) {
        Py_XDECREF(converted);
        return none;
    }
    const eg_node node = eg_constant(graph->graph, &view.tensor);
    core_view_give(&view);
    Py_DECREF(converted);
    *failed = 0;
    return node;
}

static PyObject *constant(PyObject *object, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"value", "dtype", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    if (core_arguments("constant", names, 1, given, args, count, keywords) ||
        !core_graph_open(self))
        return NULL;
    int failed;
    const eg_node node = core_constant(self, given[0], given[1], &failed);
    return failed ? NULL : core_node_new(self, node);
}

static PyObject *scalar(PyObject *object, PyObject *argument) {
    core_graph *self = self_of(object);
    double value;
    if (!core_graph_open(self) || core_number(argument, "value", &value)) return NULL;
    return core_node_new(self, eg_scalar(self->graph, value));
}

/* ---- scans: the first argument of each is the scan or a carry of it */
static PyObject *scan(PyObject *object, PyObject *const *args, Py_ssize_t count,
                      PyObject *keywords) {
    static const char *const names[] = {"length", "reverse", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    uint64_t length;
    int reverse = 0;
    if (core_arguments("scan", names, 1, given, args, count, keywords) || !core_graph_open(self) ||
        core_count(given[0], "length", &length) || core_flag(given[1], &reverse))
        return NULL;
    return core_node_new(self, eg_scan(self->graph, length, reverse));
}

#define SCAN_VALUE(name, function)                                                   \
    static PyObject *name(PyObject *object, PyObject *const *args, Py_ssize_t count, \
                          PyObject *keywords) {                                      \
        static const char *const names[] = {"scan", "value", NULL};                  \
        core_graph *self = self_of(object);                                          \
        PyObject *given[2];                                                          \
        eg_node in, value;                                                           \
        if (core_arguments(#name, names, 2, given, args, count, keywords) ||         \
            !core_graph_open(self) || core_node_only(self, given[0], "scan", &in) || \
            core_node_take(self, given[1], "value", &value))                         \
            return NULL;                                                             \
        return core_node_new(self, function(self->graph, in, value));                \
    }
SCAN_VALUE(scan_carry, eg_scan_carry)
SCAN_VALUE(scan_step, eg_scan_step)
SCAN_VALUE(scan_stack, eg_scan_stack)
SCAN_VALUE(scan_sum, eg_scan_sum)

static PyObject *scan_update(PyObject *object, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords) {
    static const char *const names[] = {"carry", "next", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node carry, next;
    if (core_arguments("scan_update", names, 2, given, args, count, keywords) ||
        !core_graph_open(self) || core_node_only(self, given[0], "carry", &carry) ||
        core_node_take(self, given[1], "next", &next))
        return NULL;
    eg_scan_update(self->graph, carry, next);
    return core_graph_none(self);
}

static PyObject *scan_lengths(PyObject *object, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"scan", "lengths", NULL};
    core_graph *self = self_of(object);
    PyObject *given[2];
    eg_node in, lengths;
    if (core_arguments("scan_lengths", names, 2, given, args, count, keywords) ||
        !core_graph_open(self) || core_node_only(self, given[0], "scan", &in) ||
        core_node_take(self, given[1], "lengths", &lengths))
        return NULL;
    eg_scan_lengths(self->graph, in, lengths);
    return core_graph_none(self);
}

static PyObject *scan_last(PyObject *object, PyObject *argument) {
    core_graph *self = self_of(object);
    eg_node carry;
    if (!core_graph_open(self) || core_node_only(self, argument, "carry", &carry)) return NULL;
    return core_node_new(self, eg_scan_last(self->graph, carry));
}

/* ---- gradient */
static PyObject *nodes_list(core_graph *self, const eg_node *nodes, size_t count) {
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < count; i++) {
        PyObject *node = core_node_new(self, nodes[i]);
        if (!node || PyList_Append(out, node)) Py_CLEAR(out);
        Py_XDECREF(node);
    }
    return out;
}

static PyObject *gradient(PyObject *object, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"loss", "wrt", "every", "memory", "keep", NULL};
    core_graph *self = self_of(object);
    PyObject *given[5], *out = NULL;
    eg_gradient_options options = {.size = sizeof options};
    eg_node loss, *wrt = NULL, *keep = NULL, *made = NULL;
    size_t wanted = 0;
    eg_error error;
    if (core_arguments("gradient", names, 2, given, args, count, keywords) ||
        !core_graph_open(self) || core_node_only(self, given[0], "loss", &loss) ||
        (given[2] && core_count(given[2], "every", &options.every)) ||
        (given[3] && core_count(given[3], "memory", &options.memory)))
        return NULL;
    const int is_one = core_is_node(given[1]);
    PyObject *sequence = is_one ? PyTuple_Pack(1, given[1]) : PySequence_List(given[1]);
    if (!sequence || core_nodes_take(self, sequence, "wrt", &wrt, &wanted) ||
        (given[4] && core_nodes_take(self, given[4], "keep", &keep, &options.keep_count)))
        goto done;
    options.keep = keep;
    made = calloc(wanted + 1, sizeof *made);
    if (!made) {
        PyErr_NoMemory();
        goto done;
    }
    if (eg_gradient_with(self->graph, &options, loss, wanted, wrt, made, &error)) {
        eg_graph_forgive(self->graph);
        core_raise(&error);
    } else out = is_one ? core_node_new(self, made[0]) : nodes_list(self, made, wanted);
done:
    Py_XDECREF(sequence);
    free(wrt);
    free(keep);
    free(made);
    return out;
}

/* ---- queries */
static PyObject *nodes(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_graph *self = self_of(object);
    PyObject *out = PyList_New(0);
    for (uint32_t i = 1; out && i <= eg_graph_size(self->graph); i++) {
        PyObject *node = core_node_new(self, (eg_node){i});
        if (!node || PyList_Append(out, node)) Py_CLEAR(out);
        Py_XDECREF(node);
    }
    return out;
}

static PyObject *find(PyObject *object, PyObject *key) {
    core_graph *self = self_of(object);
    const char *name;
    PyObject *text = core_text(key, "name", &name);
    if (!text) return NULL;
    PyObject *out = NULL;
    for (uint32_t i = 1; !out && i <= eg_graph_size(self->graph); i++) {
        eg_node_info info;
        if (core_node_info(self, (eg_node){i}, &info)) break;
        if (info.name && !strcmp(info.name, name)) out = core_node_new(self, (eg_node){i});
    }
    Py_DECREF(text);
    if (!out && !PyErr_Occurred())
        PyErr_Format(PyExc_KeyError, "no input, parameter or state '%U'", key);
    return out;
}

static PyObject *has_input(PyObject *object, PyObject *key) {
    core_graph *self = self_of(object);
    const char *name;
    PyObject *text = core_text(key, "name", &name);
    if (!text) return NULL;
    int is_there = 0;
    for (uint32_t i = 1; i <= eg_graph_size(self->graph); i++) {
        eg_node_info info;
        if (core_node_info(self, (eg_node){i}, &info)) break;
        if (info.name && !strcmp(info.name, name)) is_there = !strcmp(info.operation, "input");
    }
    Py_DECREF(text);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(is_there);
}

static Py_ssize_t length(PyObject *object) {
    return (Py_ssize_t)eg_graph_size(self_of(object)->graph);
}

#define KEYWORDS METH_FASTCALL | METH_KEYWORDS
static PyMethodDef methods[] = {
    {"input", CORE_FASTCALL(input), KEYWORDS,
     "input(name, shape, dtype='float32')\n--\n\nAn array that every run is given."},
    {"parameter", CORE_FASTCALL(parameter), KEYWORDS,
     "parameter(name, shape, dtype='float32')\n--\n\nValues that stay from run to run until they are set, see Program.parameters."},
    {"constant", CORE_FASTCALL(constant), KEYWORDS,
     "constant(value, dtype=None)\n--\n\nA copy of an array: of float32, float16 or int32."},
    {"scalar", scalar, METH_O, "scalar(value)\n--\n\nOne number."},
    {"state", CORE_FASTCALL(state), KEYWORDS,
     "state(name, shape, dtype='float32')\n--\n\nValues that a program keeps between runs, zero at first; see update()."},
    {"cache", CORE_FASTCALL(cache), KEYWORDS,
     "cache(name, slots, heads, d, dtype='float32')\n--\n\nA state that keeps keys or values for attention_cached()."},
    {"scan_begin", CORE_FASTCALL(scan), KEYWORDS,
     "scan_begin(length, reverse=False)\n--\n\nThe node of a scan; see Graph.scan()."},
    {"scan_carry", CORE_FASTCALL(scan_carry), KEYWORDS,
     "scan_carry(scan, value)\n--\n\nA value that is carried from step to step."},
    {"scan_step", CORE_FASTCALL(scan_step), KEYWORDS,
     "scan_step(scan, value)\n--\n\nElement t of the first axis."},
    {"scan_stack", CORE_FASTCALL(scan_stack), KEYWORDS,
     "scan_stack(scan, value)\n--\n\nThe values of all steps, [length, ...]."},
    {"scan_sum", CORE_FASTCALL(scan_sum), KEYWORDS,
     "scan_sum(scan, value)\n--\n\nThe sum over all steps."},
    {"scan_update", CORE_FASTCALL(scan_update), KEYWORDS,
     "scan_update(carry, next)\n--\n\nWhat a carry is after a step."},
    {"scan_lengths", CORE_FASTCALL(scan_lengths), KEYWORDS,
     "scan_lengths(scan, lengths)\n--\n\nThe steps of each sample, float32 [batch]; before any scan_update()."},
    {"scan_last", scan_last, METH_O, "scan_last(carry)\n--\n\nA carry after the last step."},
    {"gradient", CORE_FASTCALL(gradient), KEYWORDS,
     "gradient(loss, wrt, every=None, memory=None, keep=())\n--\n\n"
     "d loss / d wrt as more nodes: one for a node, a list for a sequence. `every` and `memory` keep only some carries of\n"
     "scans, `keep` only these nodes outside of scans; the rest is computed again. ArgumentError where the loss is not one\n"
     "number, or does not depend on it.\n"
     "\n"
     ">>> import elegans\n"
     ">>> graph = elegans.Graph()\n"
     ">>> x = graph.input(\"x\", 3)\n"
     ">>> program = elegans.compile(graph, graph.gradient(graph.sum(x * x), x))\n"
     ">>> program([1, 2, 3]).tolist()\n"
     "[2.0, 4.0, 6.0]"},
    {"save", save, METH_O, "save(path)\n--\n\nWrites the graph as JSON, beside and renamed."},
    {"load", load, METH_O | METH_CLASS, "load(path)\n--\n\nA graph that was saved."},
    {"nodes", nodes, METH_NOARGS, "nodes()\n--\n\nAll nodes in the order they were made."},
    {"has_input", has_input, METH_O, "has_input(name)\n--\n\nWhether an input is called so."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, graph_new},
                              {Py_mp_subscript, find},
                              {Py_mp_length, length},
                              {Py_tp_doc, (void *)"A graph of the library."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Graph", sizeof(core_graph), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

/* Operations are methods like those above. */
static int add_operations(void) {
    for (PyMethodDef *at = core_graph_operations; at->ml_name; at++) {
        PyObject *method = PyDescr_NewMethod(graph_type, at);
        const int failed =
            !method || PyObject_SetAttrString((PyObject *)graph_type, at->ml_name, method);
        Py_XDECREF(method);
        if (failed) return -1;
    }
    return 0;
}

int core_graph_add(PyObject *module) {
    graph_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!graph_type || add_operations()) return -1;
    Py_INCREF(graph_type);
    return PyModule_AddObject(module, "Graph", (PyObject *)graph_type);
}
