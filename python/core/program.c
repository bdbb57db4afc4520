/* Program: a compiled graph with its parameters and states. Arrays are bound where they lie. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* Below this many FLOPs a run is over before another thread could use the GIL. */
#define UNLOCK_FLOPS 1e6

/* Parameters, which programs of one graph may share. */
typedef struct weights {
    eg_weights *weights;
    uint64_t references;
} weights;

/* Memory for one run at a time; programs without states have as many as threads run them. */
typedef struct instance {
    struct instance *next;
    eg_instance *instance;
    int is_busy;
} instance;

typedef struct core_program {
    PyObject_HEAD core_context *context;
    eg_program *program;
    weights *weights; /* NULL = no parameters */
    instance *instances;
    eg_program_info info;
    uint8_t *is_written; /* per input: has an update */
    uint8_t *is_read;    /* and: a step uses it */
} core_program;

static PyTypeObject *program_type;

static core_program *self_of(PyObject *object) { return (core_program *)object; }

static void weights_give(weights *w) {
    if (!w || --w->references) return;
    eg_weights_destroy(w->weights);
    free(w);
}

static void finish(PyObject *object) {
    core_program *self = self_of(object);
    while (self->instances) {
        instance *at = self->instances;
        self->instances = at->next;
        eg_instance_destroy(at->instance);
        free(at);
    }
    weights_give(self->weights);
    eg_program_release(self->program);
    free(self->is_written);
    free(self->is_read);
    core_context_give(self->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- compiling */
typedef struct outputs { /* of compile(): name and node of each */
    eg_output *list;
    PyObject **texts;
    size_t count;
} outputs;

static void outputs_give(outputs *o) {
    for (size_t i = 0; i < o->count; i++) Py_XDECREF(o->texts[i]);
    free(o->texts);
    free(o->list);
}

static int outputs_take(core_graph *graph, PyObject *mapping, outputs *o) {
    *o = (outputs){0};
    if (!PyDict_Check(mapping)) {
        PyErr_Format(PyExc_TypeError, "outputs: expected a dict of nodes by name, given %R",
                     (PyObject *)Py_TYPE(mapping));
        return -1;
    }
    const size_t room = (size_t)PyDict_Size(mapping);
    o->list = calloc(room + 1, sizeof *o->list);
    o->texts = calloc(room + 1, sizeof *o->texts);
    if (!o->list || !o->texts) {
        PyErr_NoMemory();
        return -1;
    }
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(mapping, &at, &key, &value)) {
        eg_output *output = &o->list[o->count];
        if (core_node_only(graph, value, "outputs", &output->node)) return -1;
        o->texts[o->count] = core_text(key, "outputs", &output->name);
        if (!o->texts[o->count]) return -1;
        o->count++;
    }
    return 0;
}

/* Inputs whose memory a run changes must be arrays that can be written. */
static int find_written(core_program *self) {
    const eg_graph *graph = eg_program_graph(self->program);
    self->is_written = calloc(self->info.inputs + 1, 1);
    if (!self->is_written) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t id = 1; id <= eg_graph_size(graph); id++) {
        eg_node_info node = {.size = sizeof node}, target = {.size = sizeof target};
        if (eg_graph_node(graph, (eg_node){id}, &node, NULL) || strcmp(node.operation, "update"))
            continue;
        eg_node at = node.inputs[0]; /* an update may be of an update */
        while (!eg_graph_node(graph, at, &target, NULL) && !strcmp(target.operation, "update"))
            at = target.inputs[0];
        if (!target.name) continue;
        for (size_t i = 0; i < self->info.inputs; i++)
            if (!strcmp(eg_program_leaf(self->program, EG_LEAF_INPUT, i, NULL), target.name))
                self->is_written[i] = 1;
    }
    return 0;
}

/* The library wants memory for every input of the graph; callers need not have it for those that no step uses. */
static int find_read(core_program *self) {
    self->is_read = calloc(self->info.inputs + 1, 1);
    if (!self->is_read) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t step = 0; step < self->info.steps; step++) {
        eg_step_info about = {.size = sizeof about};
        if (eg_program_step(self->program, step, &about, NULL)) continue;
        for (size_t k = 0; k < about.operands; k++) {
            eg_operand_info operand = {.size = sizeof operand};
            if (eg_program_operand(self->program, step, k, &operand, NULL)) continue;
            for (size_t i = 0; i < self->info.inputs; i++)
                if (!strcmp(eg_program_leaf(self->program, EG_LEAF_INPUT, i, NULL), operand.space))
                    self->is_read[i] = 1;
        }
    }
    return 0;
}

static int new_instance(core_program *self) {
    instance *made = calloc(1, sizeof *made);
    eg_error error;
    if (!made) {
        PyErr_NoMemory();
        return -1;
    }
    if (eg_instance_create(self->program, self->weights ? self->weights->weights : NULL,
                           &made->instance, &error)) {
        free(made);
        core_raise(&error);
        return -1;
    }
    made->next = self->instances;
    self->instances = made;
    return 0;
}

static int take_weights(core_program *self, PyObject *share) {
    if (!self->info.parameters) return 0;
    if (share) {
        if (!PyObject_TypeCheck(share, program_type)) {
            PyErr_Format(PyExc_TypeError, "share: expected a Program, given %R",
                         (PyObject *)Py_TYPE(share));
            return -1;
        }
        self->weights = self_of(share)->weights;
        if (!self->weights) {
            PyErr_SetString(PyExc_ValueError, "share: a program without parameters");
            return -1;
        }
        self->weights->references++;
        return 0;
    }
    eg_error error;
    self->weights = calloc(1, sizeof *self->weights);
    if (!self->weights) {
        PyErr_NoMemory();
        return -1;
    }
    self->weights->references = 1;
    if (!eg_weights_create(self->program, &self->weights->weights, &error)) return 0;
    core_raise(&error);
    return -1;
}

static eg_program *compile_graph(core_graph *graph, const outputs *o,
                                 const eg_compile_options *options) {
    eg_program *program = NULL;
    eg_error error;
    eg_status status;
    graph->readers++;
    Py_BEGIN_ALLOW_THREADS;
    status = eg_compile(graph->context->context, graph->graph, o->count, o->list, options, &program,
                        &error);
    Py_END_ALLOW_THREADS;
    graph->readers--;
    if (status) core_raise(&error);
    return program;
}

static PyObject *wrap(PyTypeObject *type, core_graph *graph, eg_program *program, PyObject *share) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    core_program *self = (core_program *)allocate(type, 0);
    if (!self) {
        eg_program_release(program);
        return NULL;
    }
    self->context = core_context_share(graph->context);
    self->program = program;
    self->info.size = sizeof self->info;
    eg_program_info_get(program, &self->info);
    if (find_written(self) || find_read(self) || take_weights(self, share) || new_instance(self)) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *compile(PyObject *type, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords) {
    static const char *const names[] = {"graph", "outputs", "training", "passes",
                                        "dtype", "share",   NULL};
    PyObject *given[6], *out = NULL;
    eg_compile_options options = {.size = sizeof options};
    outputs o = {0};
    if (core_arguments("compile", names, 2, given, args, count, keywords)) return NULL;
    core_graph *graph = core_graph_of(given[0], "graph");
    if (!graph || !core_context_usable(graph->context) || core_flag(given[2], &options.training) ||
        (given[4] && core_type_take(given[4], "dtype", &options.products)))
        return NULL;
    PyObject *passes = given[3] ? core_text(given[3], "passes", &options.passes) : NULL;
    if (given[3] && !passes) return NULL;
    if (!outputs_take(graph, given[1], &o)) {
        eg_program *program = compile_graph(graph, &o, &options);
        if (program) out = wrap((PyTypeObject *)type, graph, program, given[5]);
    }
    outputs_give(&o);
    Py_XDECREF(passes);
    return out;
}

/* ---- running */
typedef struct run {
    core_program *self;
    instance *instance;
    core_view *views; /* inputs, then outputs */
    PyObject **made;  /* arrays of the outputs */
    eg_run_options options;
} run;

static instance *free_instance(core_program *self) {
    for (instance *at = self->instances; at; at = at->next)
        if (!at->is_busy) return at;
    if (self->info.states) {
        PyErr_SetString(PyExc_RuntimeError,
                        "another thread runs this program, which has states: wait for it");
        return NULL;
    }
    return new_instance(self) ? NULL : self->instances;
}

/* An array for a leaf. A run of fewer steps takes shorter ones: the library looks at them then. */
static int bind(run *r, core_view *view, PyObject *object, const char *name, const eg_tensor *leaf,
                int access) {
    eg_error error;
    if (core_view_take(view, object, leaf->type, access, name)) return -1;
    if (!leaf->rank && view->tensor.rank == 1 && view->tensor.shape[0] == 1) view->tensor.rank = 0;
    if (!r->options.length && core_view_expect(view, name, leaf->rank, leaf->shape)) return -1;
    if (!eg_instance_bind(r->instance->instance, name, &view->tensor, &error)) return 0;
    core_raise(&error);
    return -1;
}

static int missing_input(const char *name, const eg_tensor *leaf) {
    char shape[96];
    core_shape_text(shape, leaf->rank, leaf->shape);
    PyErr_Format(PyExc_TypeError, "needs the input '%s', an array of %s %s", name,
                 core_type_text(leaf->type), shape);
    return -1;
}

static int unknown_name(const core_program *self, PyObject *given, eg_leaf_kind kind,
                        const char *what) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(given, &at, &key, &value)) {
        const char *name;
        eg_tensor leaf;
        int is_known = 0;
        for (size_t i = 0; (name = eg_program_leaf(self->program, kind, i, &leaf)); i++)
            if (PyUnicode_Check(key) && !PyUnicode_CompareWithASCIIString(key, name)) is_known = 1;
        if (is_known) continue;
        PyErr_Format(PyExc_TypeError, "the program has no %s %R", what, key);
        return -1;
    }
    return 0;
}

static int bind_inputs(run *r, PyObject *inputs) {
    core_program *self = r->self;
    size_t used = 0;
    for (size_t i = 0; i < self->info.inputs; i++) {
        eg_tensor leaf;
        const char *name = eg_program_leaf(self->program, EG_LEAF_INPUT, i, &leaf);
        PyObject *given = PyDict_GetItemString(inputs, name);
        if (!given && (self->is_read[i] || self->is_written[i])) return missing_input(name, &leaf);
        if (!given) {
            given = core_array(&r->views[i], leaf.type, leaf.rank, leaf.shape);
            if (!given) return -1;
            core_view_give(&r->views[i]);
            used--;
        } else Py_INCREF(given); /* what gives its memory may change the dict */
        const int failed =
            bind(r, &r->views[i], given, name, &leaf, self->is_written[i] ? CORE_WRITE : CORE_READ);
        Py_DECREF(given);
        if (failed) return -1;
        used++;
    }
    return used == (size_t)PyDict_Size(inputs) ? 0
                                               : unknown_name(self, inputs, EG_LEAF_INPUT, "input");
}

static int bind_outputs(run *r, PyObject *out) {
    core_program *self = r->self;
    for (size_t i = 0; i < self->info.outputs; i++) {
        eg_tensor leaf;
        core_view *view = &r->views[self->info.inputs + i];
        const char *name = eg_program_leaf(self->program, EG_LEAF_OUTPUT, i, &leaf);
        PyObject *given = out ? PyDict_GetItemString(out, name) : NULL;
        if (given) {
            Py_INCREF(given);
            r->made[i] = given;
            if (bind(r, view, given, name, &leaf, CORE_WRITE)) return -1;
            continue;
        }
        eg_error error;
        r->made[i] = core_array(view, leaf.type, leaf.rank, leaf.shape);
        if (!r->made[i]) return -1;
        if (eg_instance_bind(r->instance->instance, name, &view->tensor, &error)) {
            core_raise(&error);
            return -1;
        }
    }
    return out ? unknown_name(self, out, EG_LEAF_OUTPUT, "output") : 0;
}

static int compute(run *r) {
    eg_error error;
    eg_status status;
    if (r->self->info.flops < UNLOCK_FLOPS)
        status = eg_run(r->instance->instance, &r->options, &error);
    else {
        r->options.stop = core_interrupted;
        Py_BEGIN_ALLOW_THREADS;
        status = eg_run(r->instance->instance, &r->options, &error);
        Py_END_ALLOW_THREADS;
    }
    if (!status) return 0;
    core_raise(&error);
    return -1;
}

static PyObject *results(run *r) {
    PyObject *out = PyTuple_New((Py_ssize_t)r->self->info.outputs);
    for (size_t i = 0; out && i < r->self->info.outputs; i++) {
        Py_INCREF(r->made[i]);
        if (PyTuple_SetItem(out, (Py_ssize_t)i, r->made[i])) Py_CLEAR(out);
    }
    return out;
}

static PyObject *run_with(run *r, PyObject *inputs, PyObject *out) {
    core_program *self = r->self;
    const size_t count = self->info.inputs + self->info.outputs;
    PyObject *given = NULL;
    r->views = calloc(count + 1, sizeof *r->views);
    r->made = calloc(self->info.outputs + 1, sizeof *r->made);
    if (!r->views || !r->made) PyErr_NoMemory();
    else {
        /* taking an array may run code of Python, which may run this program again */
        r->instance->is_busy = 1;
        if (!bind_inputs(r, inputs) && !bind_outputs(r, out) && !compute(r)) given = results(r);
        r->instance->is_busy = 0;
    }
    for (size_t i = 0; r->views && i < count; i++) core_view_give(&r->views[i]);
    for (size_t i = 0; r->made && i < self->info.outputs; i++) Py_XDECREF(r->made[i]);
    free(r->views);
    free(r->made);
    return given;
}

static PyObject *do_run(PyObject *object, PyObject *const *args, Py_ssize_t count,
                        PyObject *keywords) {
    static const char *const names[] = {"inputs", "seed", "length", "out", NULL};
    PyObject *given[4];
    run r = {.self = self_of(object), .options = {.size = sizeof r.options}};
    if (core_arguments("run", names, 1, given, args, count, keywords) ||
        !core_context_usable(r.self->context) ||
        (given[1] && core_count(given[1], "seed", &r.options.seed)) ||
        (given[2] && core_count(given[2], "length", &r.options.length)))
        return NULL;
    if (!PyDict_Check(given[0]) || (given[3] && !PyDict_Check(given[3])))
        return PyErr_Format(PyExc_TypeError, "%s: expected a dict of arrays by name",
                            PyDict_Check(given[0]) ? "out" : "inputs");
    r.instance = free_instance(r.self);
    return r.instance ? run_with(&r, given[0], given[3]) : NULL;
}

/* ---- parameters and states */
static int no_leaf(core_program *self, eg_leaf_kind kind, PyObject *key, const char *what,
                   eg_tensor *leaf, const char **name) {
    for (size_t i = 0; (*name = eg_program_leaf(self->program, kind, i, leaf)); i++)
        if (PyUnicode_Check(key) && !PyUnicode_CompareWithASCIIString(key, *name)) return 0;
    PyErr_Format(PyExc_KeyError, "the program has no %s %R", what, key);
    return -1;
}

static PyObject *copy_out(const eg_tensor *tensor) {
    core_view view;
    uint64_t bytes;
    eg_error error;
    if (eg_tensor_measure(tensor, NULL, &bytes, &error)) return core_raise(&error);
    PyObject *out = core_array(&view, tensor->type, tensor->rank, tensor->shape);
    if (!out) return NULL;
    if (bytes) memcpy(view.tensor.data, tensor->data, bytes);
    core_view_give(&view);
    return out;
}

static PyObject *get_parameter(PyObject *object, PyObject *key) {
    core_program *self = self_of(object);
    eg_tensor leaf, tensor;
    eg_error error;
    const char *name;
    if (no_leaf(self, EG_LEAF_PARAMETER, key, "parameter", &leaf, &name)) return NULL;
    if (eg_weights_tensor(self->weights->weights, name, &tensor, &error)) return core_raise(&error);
    return copy_out(&tensor);
}

/* Values for a leaf, as contiguous memory of its type and shape. */
static int take_values(core_view *view, PyObject *object, const char *name, const eg_tensor *leaf) {
    if (core_view_take(view, object, leaf->type, CORE_READ, name)) return -1;
    if (!leaf->rank && view->tensor.rank == 1 && view->tensor.shape[0] == 1) view->tensor.rank = 0;
    if (!core_view_expect(view, name, leaf->rank, leaf->shape)) return 0;
    core_view_give(view);
    return -1;
}

static PyObject *set_parameter(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    core_program *self = self_of(object);
    eg_tensor leaf;
    eg_error error;
    core_view view;
    const char *name;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "set_parameter(name, values) takes two arguments");
    if (!core_context_usable(self->context) ||
        no_leaf(self, EG_LEAF_PARAMETER, args[0], "parameter", &leaf, &name) ||
        take_values(&view, args[1], name, &leaf))
        return NULL;
    const eg_status status = eg_weights_set(self->weights->weights, name, &view.tensor, &error);
    core_view_give(&view);
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

/* Programs with states have one instance. */
static instance *only_instance(core_program *self) {
    return core_context_usable(self->context) ? free_instance(self) : NULL;
}

static PyObject *get_state(PyObject *object, PyObject *key) {
    core_program *self = self_of(object);
    eg_tensor leaf, tensor;
    eg_error error;
    const char *name;
    if (no_leaf(self, EG_LEAF_STATE, key, "state", &leaf, &name)) return NULL;
    instance *at = only_instance(self);
    if (!at) return NULL;
    if (eg_instance_state_begin(at->instance, &error)) return core_raise(&error);
    PyObject *out = NULL;
    if (eg_instance_state(at->instance, name, &tensor, &error)) core_raise(&error);
    else out = copy_out(&tensor);
    eg_instance_state_end(at->instance);
    return out;
}

static PyObject *set_state(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    core_program *self = self_of(object);
    eg_tensor leaf, tensor;
    eg_error error;
    core_view view = {0};
    const char *name;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "set_state(name, values) takes two arguments");
    if (no_leaf(self, EG_LEAF_STATE, args[0], "state", &leaf, &name)) return NULL;
    instance *at = only_instance(self);
    if (!at) return NULL;
    PyObject *out = NULL;
    uint64_t bytes;
    if (eg_instance_state(at->instance, name, &tensor, &error) ||
        eg_tensor_measure(&tensor, NULL, &bytes, &error))
        return core_raise(&error);
    if (take_values(&view, args[1], name, &tensor)) return NULL;
    if (eg_instance_state_begin(at->instance, &error)) core_raise(&error);
    else {
        if (bytes) memcpy(tensor.data, view.tensor.data, bytes);
        eg_instance_state_end(at->instance);
        Py_INCREF(Py_None);
        out = Py_None;
    }
    core_view_give(&view);
    return out;
}

static PyObject *reset(PyObject *object, PyObject *nothing) {
    (void)nothing;
    if (self_of(object)->info.states) {
        instance *at = only_instance(self_of(object));
        if (!at) return NULL;
        eg_instance_reset(at->instance);
    }
    Py_RETURN_NONE;
}

/* ---- queries */
static PyObject *leaves(PyObject *object, PyObject *nothing) {
    (void)nothing;
    static const char *const kinds[] = {"inputs", "outputs", "parameters", "states"};
    PyObject *out = PyDict_New();
    for (int kind = 0; out && kind < 4; kind++) {
        PyObject *list = PyDict_New();
        eg_tensor leaf;
        const char *name;
        for (size_t i = 0; list && (name = eg_program_leaf(self_of(object)->program,
                                                           (eg_leaf_kind)kind, i, &leaf));
             i++) {
            PyObject *shape = core_shape_tuple(leaf.rank, leaf.shape);
            PyObject *row = shape ? Py_BuildValue("(Ns)", shape, core_type_text(leaf.type)) : NULL;
            if (core_add(list, name, row)) Py_CLEAR(list);
        }
        if (core_add(out, kinds[kind], list)) Py_CLEAR(out);
    }
    return out;
}

static PyObject *info(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_program_info *i = &self_of(object)->info;
    return Py_BuildValue(
        "{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:d,s:d,s:d}",
        "steps", (Py_ssize_t)i->steps, "run_steps", (Py_ssize_t)i->run_steps, "prologue_steps",
        (Py_ssize_t)i->prologue_steps, "inputs", (Py_ssize_t)i->inputs, "outputs",
        (Py_ssize_t)i->outputs, "parameters", (Py_ssize_t)i->parameters, "states",
        (Py_ssize_t)i->states, "arena_bytes", i->arena_bytes, "arena_bound_bytes",
        i->arena_bound_bytes, "scratch_bytes", i->scratch_bytes, "parameter_bytes",
        i->parameter_bytes, "derived_bytes", i->derived_bytes, "state_bytes", i->state_bytes,
        "constant_bytes", i->constant_bytes, "held_bytes", i->held_bytes, "cache_bytes",
        i->cache_bytes, "length", i->length, "flops", i->flops, "bytes", i->bytes,
        "compile_seconds", i->compile_seconds);
}

static PyObject *step_row(const eg_step_info *s) {
    return Py_BuildValue(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:K,s:K,s:K,s:I,s:d,s:d,s:K,s:K,s:K,s:I}", "kernel",
        s->kernel, "operation", s->operation, "part", s->part, "text", s->text, "work",
        eg_work_name(s->work), "function", s->function, "isa", s->isa, "scan", s->scan, "rows",
        s->rows, "columns", s->columns, "depth", s->depth, "operands", s->operands, "flops",
        s->flops, "bytes", s->bytes, "body", s->body, "body_steps", s->body_steps, "live_bytes",
        s->live_bytes, "traits", s->traits);
}

static PyObject *steps(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const core_program *self = self_of(object);
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < self->info.steps; i++) {
        eg_step_info step = {.size = sizeof step};
        eg_error error;
        PyObject *row = NULL;
        if (eg_program_step(self->program, i, &step, &error)) core_raise(&error);
        else row = step_row(&step);
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

static PyObject *export_c(PyObject *object, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"directory", "name", NULL};
    core_program *self = self_of(object);
    PyObject *given[2], *out = NULL;
    const char *directory, *name = "program";
    if (core_arguments("export_c", names, 1, given, args, count, keywords)) return NULL;
    PyObject *path = core_path(given[0], "directory", &directory);
    PyObject *text = path && given[1] ? core_text(given[1], "name", &name) : NULL;
    eg_error error;
    eg_export_info figures = {.size = sizeof figures};
    if (path && (text || !given[1])) {
        if (eg_export_c(self->program, self->weights ? self->weights->weights : NULL, directory,
                        name, &figures, &error))
            core_raise(&error);
        else
            out = Py_BuildValue("{s:K,s:K,s:K,s:K}", "code_lines", figures.code_lines,
                                "weight_bytes", figures.weight_bytes, "state_bytes",
                                figures.state_bytes, "arena_bytes", figures.arena_bytes);
    }
    Py_XDECREF(path);
    Py_XDECREF(text);
    return out;
}

static PyObject *passes(PyObject *type, PyObject *nothing) {
    (void)type;
    (void)nothing;
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && eg_pass_name(i); i++)
        if (core_add(out, eg_pass_name(i), PyUnicode_FromString(eg_pass_text(i)))) Py_CLEAR(out);
    return out;
}

#define KEYWORDS METH_FASTCALL | METH_KEYWORDS
static PyMethodDef methods[] = {
    {"compile", CORE_FASTCALL(compile), KEYWORDS | METH_CLASS,
     "compile(graph, outputs, training=False, passes=None, dtype=None, share=None)\n--\n\n"
     "A program that computes these nodes, a dict of them by name; see elegans.compile()."},
    {"passes", passes, METH_NOARGS | METH_CLASS,
     "passes()\n--\n\nThe passes of the compiler by name, and what each does."},
    {"run", CORE_FASTCALL(do_run), KEYWORDS,
     "run(inputs, seed=0, length=None, out=None)\n--\n\n"
     "Runs once on a dict of arrays, which are used where they lie. Returns the outputs: new arrays, or those of the dict\n"
     "`out`. `seed` is that of dropout; `length` runs fewer steps of scans, on shorter arrays. TypeError where an input is\n"
     "missing or of another type, ValueError for another shape."},
    {"parameter", get_parameter, METH_O,
     "parameter(name)\n--\n\nA copy of the values of a parameter. KeyError for an unknown name."},
    {"set_parameter", CORE_FASTCALL(set_parameter), METH_FASTCALL,
     "set_parameter(name, values)\n--\n\nReplaces the values of a parameter: an array of its shape, which is copied."},
    {"state", get_state, METH_O,
     "state(name)\n--\n\nA copy of the values of a state. KeyError for an unknown name."},
    {"set_state", CORE_FASTCALL(set_state), METH_FASTCALL,
     "set_state(name, values)\n--\n\nReplaces the values of a state: an array of its shape, which is copied."},
    {"reset", reset, METH_NOARGS, "reset()\n--\n\nAll states to zero."},
    {"leaves", leaves, METH_NOARGS,
     "leaves()\n--\n\nShape and type of inputs, outputs, parameters and states, by name."},
    {"info", info, METH_NOARGS,
     "info()\n--\n\nSteps, memory and cost of a run: counted, but for compile_seconds."},
    {"steps", steps, METH_NOARGS, "steps()\n--\n\nWhat each step computes, and its cost: counted."},
    {"export_c", CORE_FASTCALL(export_c), KEYWORDS,
     "export_c(directory, name='program')\n--\n\n"
     "Writes NAME.c and NAME.h: C99 that computes a run without this library. Returns code_lines, weight_bytes, state_bytes\n"
     "and arena_bytes; counted. Error where a step has no C."},
    {NULL, NULL, 0, NULL}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use compile()");
    return NULL;
}

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_tp_dealloc, finish},
                              {Py_tp_new, refuse_new},
                              {Py_tp_doc, (void *)"A compiled graph."},
                              {0, NULL}};
static PyType_Spec spec = {"elegans._core.Program", sizeof(core_program), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

int core_program_add(PyObject *module) {
    program_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!program_type) return -1;
    Py_INCREF(program_type);
    return PyModule_AddObject(module, "Program", (PyObject *)program_type);
}
