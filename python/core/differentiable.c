/* Differentiable: a model of a given shape as a forward and a backward program, on memory that the caller owns: tensors of
 * torch, named by their addresses. Only the library's own modules call it: they check types and shapes, because an
 * address tells neither. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that a call brings; which of it a program reads or writes follows from the names of its inputs and outputs:
 * d.y is the gradient that is given for y, g.x the one that is wanted for x. */
enum {
    PLACE_X,
    PLACE_TIMESPANS,
    PLACE_H0,
    PLACE_C0,
    PLACE_Y,
    PLACE_HN,
    PLACE_CN,
    PLACE_DY,
    PLACE_DHN,
    PLACE_DCN,
    PLACE_GX,
    PLACE_GTIMESPANS,
    PLACE_GH0,
    PLACE_GC0,
    PLACE_KEPT, /* all that the forward pass keeps for the backward pass, one after the other */
    PLACE_COUNT,
    PLACE_PARAMETER = PLACE_COUNT /* memory of the instance: gradient of a parameter */
};
static const char *const place_names[PLACE_KEPT] = {"x",   "timespans",   "h0",   "c0",   "y",
                                                    "hn",  "cn",          "d.y",  "d.hn", "d.cn",
                                                    "g.x", "g.timespans", "g.h0", "g.c0"};

enum { WANTS_PARAMETERS = 1, WANTS_X = 2, WANTS_TIMESPANS = 4, WANTS_STATES = 8 };

typedef struct slot { /* an input or output of a program */
    const char *name;
    eg_tensor tensor;
    int place;
    size_t offset; /* within what is kept */
} slot;

/* A batch goes in blocks of samples, an instance each. Their number depends on the batch only, so that gradients, which
 * are sums over blocks, do not depend on the number of threads. */
enum { BLOCKS = 16, LEAST_SAMPLES = 16 };

typedef struct side {    /* forward or backward */
    eg_program *program; /* of a block */
    eg_instance *instances[BLOCKS];
    slot *slots;
    size_t count;
    double flops;
} side;

typedef struct parameter {
    const char *name; /* of the program */
    eg_tensor value;  /* in the weights */
    size_t bytes;
    const float *gradients[BLOCKS]; /* of the backward instances; NULL = there is none */
} parameter;

typedef struct core_differentiable {
    PyObject_HEAD core_context *context;
    eg_weights *weights;
    side forward, backward;
    parameter *parameters;
    size_t parameter_count, states, blocks, kept; /* kept: bytes of a block */
    void *zeros;                                  /* for gradients that nobody gives */
    eg_model_options shape;
    int is_busy;
} core_differentiable;

static PyTypeObject *differentiable_type;

static core_differentiable *self_of(PyObject *object) { return (core_differentiable *)object; }

static size_t bytes_of(const eg_tensor *tensor) {
    size_t bytes = eg_type_bits(tensor->type) / 8;
    for (unsigned i = 0; i < tensor->rank; i++) bytes *= (size_t)tensor->shape[i];
    return bytes;
}

/* ---- the graph: the model, sum(y d.y) + sum(hn d.hn) + sum(cn d.cn) as the loss, and its gradients */
enum { LEAVES = 512, NAME = 160 };
typedef struct building {
    eg_graph *graph;
    eg_model_options options;
    eg_model_nodes nodes;
    uint64_t wants;
    eg_node late[3], wrt[LEAVES], gradients[LEAVES], loss;
    eg_output outputs[LEAVES + 3];
    char names[LEAVES][NAME];
    size_t late_count, wrt_count, output_count;
} building;

static void add_output(building *b, const char *name, eg_node node) {
    b->outputs[b->output_count++] = (eg_output){name, node};
}

/* An output, with an input for its gradient that adds to the loss. */
static void add_result(building *b, int place, eg_node node) {
    eg_graph *g = b->graph;
    add_output(b, place_names[place], node);
    if (!b->wants) return;
    eg_node_info info = {.size = sizeof info};
    if (eg_graph_node(g, node, &info, NULL)) return; /* the graph has the mistake */
    const eg_node given =
        eg_input(g, place_names[place - PLACE_Y + PLACE_DY], EG_F32, info.rank, info.shape);
    const eg_node sum = eg_sum(g, eg_mul(g, node, given), EG_ALL_AXES, 0);
    b->late[b->late_count++] = given;
    b->loss = b->loss.id ? eg_add(g, b->loss, sum) : sum;
}

static eg_status add_wanted(building *b, const char *name, eg_node node, eg_error *error) {
    if (b->wrt_count == LEAVES) {
        *error = (eg_error){EG_ERR_UNSUPPORTED, "more than 512 parameters"};
        return EG_ERR_UNSUPPORTED;
    }
    snprintf(b->names[b->wrt_count], NAME, "g.%s", name);
    b->wrt[b->wrt_count++] = node;
    return EG_OK;
}

static eg_status add_gradients(building *b, eg_error *error) {
    eg_graph *g = b->graph;
    eg_status status = EG_OK;
    const size_t size = eg_graph_size(g);
    eg_node_info info = {.size = sizeof info};
    for (uint32_t i = 1; i <= size && !status && b->wants & WANTS_PARAMETERS; i++) {
        status = eg_graph_node(g, (eg_node){i}, &info, error);
        if (!status && !strcmp(info.operation, "parameter"))
            status = add_wanted(b, info.name, (eg_node){i}, error);
    }
    if (!status && b->wants & WANTS_X) status = add_wanted(b, "x", b->nodes.x, error);
    if (!status && b->wants & WANTS_TIMESPANS)
        status = add_wanted(b, "timespans", b->nodes.timespans, error);
    for (size_t i = 0; i < b->nodes.states && !status && b->wants & WANTS_STATES; i++)
        status = add_wanted(b, b->nodes.state_name[i], b->nodes.initial[i], error);
    if (!status) status = eg_gradient(g, b->loss, b->wrt_count, b->wrt, b->gradients, error);
    for (size_t i = 0; i < b->wrt_count && !status; i++)
        add_output(b, b->names[i], b->gradients[i]);
    return status;
}

static eg_status compile(core_differentiable *self, const eg_model *model, building *b,
                         int training, eg_error *error) {
    const eg_compile_options options = {.size = sizeof options, .training = training};
    eg_status status = eg_model_build(model, b->graph, &b->options, &b->nodes, error);
    if (status) return status;
    if (b->nodes.states > 2) {
        *error = (eg_error){EG_ERR_UNSUPPORTED, "a model of several layers or directions"};
        return EG_ERR_UNSUPPORTED;
    }
    self->states = b->nodes.states;
    add_result(b, PLACE_Y, b->nodes.y);
    for (size_t i = 0; i < b->nodes.states; i++)
        add_result(b, PLACE_HN + (int)i, b->nodes.final[i]);
    if (!b->wants)
        return eg_compile(self->context->context, b->graph, b->output_count, b->outputs, &options,
                          &self->forward.program, error);
    status = add_gradients(b, error);
    if (!status)
        status = eg_compile_split(self->context->context, b->graph, b->late_count, b->late,
                                  b->output_count, b->outputs, &options, &self->forward.program,
                                  &self->backward.program, error);
    return status;
}

/* ---- what lies where */
static int place_of(const char *name) {
    for (int i = 0; i < PLACE_KEPT; i++)
        if (!strcmp(name, place_names[i])) return i;
    return strncmp(name, "kept.", 5) ? PLACE_PARAMETER : PLACE_KEPT;
}

/* What is kept lies in the order of the forward program's outputs. */
static size_t kept_offset(const core_differentiable *self, const char *name) {
    for (size_t i = 0; i < self->forward.count; i++)
        if (!strcmp(self->forward.slots[i].name, name)) return self->forward.slots[i].offset;
    return 0;
}

static eg_status find_slots(core_differentiable *self, side *s, eg_error *error) {
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(s->program, &info);
    s->flops = info.flops;
    s->slots = calloc(info.inputs + info.outputs + 1, sizeof *s->slots);
    if (!s->slots) {
        *error = (eg_error){EG_ERR_MEMORY, "out of memory"};
        return EG_ERR_MEMORY;
    }
    const int is_forward = s == &self->forward;
    for (int outputs = 0; outputs < 2; outputs++)
        for (size_t i = 0; i < (outputs ? info.outputs : info.inputs); i++) {
            slot *at = &s->slots[s->count];
            at->name = eg_program_leaf(s->program, outputs ? EG_LEAF_OUTPUT : EG_LEAF_INPUT, i,
                                       &at->tensor);
            at->place = place_of(at->name);
            if (at->place == PLACE_KEPT && is_forward) {
                at->offset = self->kept;
                self->kept += (bytes_of(&at->tensor) + 63) / 64 * 64;
            } else if (at->place == PLACE_KEPT) at->offset = kept_offset(self, at->name);
            s->count++;
        }
    eg_status status = EG_OK;
    for (size_t i = 0; i < self->blocks && !status; i++)
        status = eg_instance_create(s->program, self->weights, &s->instances[i], error);
    return status;
}

static eg_status find_parameters(core_differentiable *self, eg_error *error) {
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(self->forward.program, &info);
    self->parameters = calloc(info.parameters + 1, sizeof *self->parameters);
    if (!self->parameters) {
        *error = (eg_error){EG_ERR_MEMORY, "out of memory"};
        return EG_ERR_MEMORY;
    }
    self->parameter_count = info.parameters;
    eg_status status = EG_OK;
    for (size_t i = 0; i < info.parameters && !status; i++) {
        parameter *p = &self->parameters[i];
        p->name = eg_program_leaf(self->forward.program, EG_LEAF_PARAMETER, i, &p->value);
        p->bytes = bytes_of(&p->value);
        status = eg_weights_tensor(self->weights, p->name, &p->value, error);
    }
    return status;
}

/* Gradients of parameters stay where they are bound: they are few, and copied to whoever asks. */
static eg_status find_gradients(core_differentiable *self, eg_error *error) {
    eg_status status = EG_OK;
    size_t most = 0;
    for (size_t i = 0; i < self->backward.count && !status; i++) {
        const slot *s = &self->backward.slots[i];
        eg_tensor tensor;
        if (s->place >= PLACE_DY && s->place <= PLACE_DCN && bytes_of(&s->tensor) > most)
            most = bytes_of(&s->tensor);
        if (s->place != PLACE_PARAMETER) continue;
        parameter *p = self->parameters;
        while (p < self->parameters + self->parameter_count && strcmp(p->name, s->name + 2)) p++;
        for (size_t k = 0; k < self->blocks && !status; k++) {
            status = eg_instance_output(self->backward.instances[k], s->name, &tensor, error);
            if (!status && p < self->parameters + self->parameter_count)
                p->gradients[k] = tensor.data;
        }
    }
    self->zeros = status ? NULL : calloc(most + 64, 1);
    if (status || self->zeros) return status;
    *error = (eg_error){EG_ERR_MEMORY, "out of memory"};
    return EG_ERR_MEMORY;
}

static eg_status prepare(core_differentiable *self, const eg_model *model, building *b,
                         int training, eg_error *error) {
    eg_status status = eg_graph_create(self->context->context, &b->graph, error);
    if (status) return status;
    status = compile(self, model, b, training, error);
    eg_graph_destroy(b->graph);
    if (!status) status = eg_weights_create(self->forward.program, &self->weights, error);
    if (!status) status = find_parameters(self, error);
    if (!status) status = find_slots(self, &self->forward, error);
    if (!status && self->backward.program) status = find_slots(self, &self->backward, error);
    if (!status && self->backward.program) status = find_gradients(self, error);
    return status;
}

/* ---- the type */
static void finish(PyObject *object) {
    core_differentiable *self = self_of(object);
    side *const sides[] = {&self->forward, &self->backward};
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < BLOCKS; k++) eg_instance_destroy(sides[i]->instances[k]);
    eg_weights_destroy(self->weights);
    for (int i = 0; i < 2; i++) {
        eg_program_release(sides[i]->program);
        free(sides[i]->slots);
    }
    free(self->parameters);
    free(self->zeros);
    core_context_give(self->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static int take_options(PyObject *const *given, building *b, uint64_t *training) {
    uint64_t flags[5] = {0};
    static const char *const names[] = {"batch_first", "unbatched", "last", "timespans", "state"};
    for (int i = 0; i < 5; i++)
        if (given[3 + i] && core_count(given[3 + i], names[i], &flags[i])) return -1;
    b->options = (eg_model_options){.size = sizeof b->options,
                                    .batch_first = flags[0] != 0,
                                    .unbatched = flags[1] != 0,
                                    .last = flags[2] != 0,
                                    .timespans = flags[3] != 0,
                                    .state = flags[4] != 0};
    if (core_count(given[1], "batch", &b->options.batch) ||
        core_count(given[2], "time", &b->options.time) ||
        (given[8] && core_count(given[8], "training", training)) ||
        (given[9] && core_count(given[9], "wants", &b->wants)))
        return -1;
    if (!b->options.timespans) b->wants &= ~(uint64_t)WANTS_TIMESPANS;
    if (!b->options.state) b->wants &= ~(uint64_t)WANTS_STATES;
    return 0;
}

/* Samples of a block lie together if the batch is the first axis. */
static size_t blocks_of(const eg_model_options *shape) {
    size_t blocks = shape->batch_first && !shape->unbatched ? BLOCKS : 1;
    while (blocks > 1 && (shape->batch % blocks || shape->batch / blocks < LEAST_SAMPLES)) blocks--;
    return blocks;
}

static PyObject *differentiable(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    static const char *const names[] = {"model",     "batch", "time",      "batch_first",
                                        "unbatched", "last",  "timespans", "state",
                                        "training",  "wants", NULL};
    PyObject *given[10];
    uint64_t training = 0;
    (void)module;
    if (core_arguments("differentiable", names, 3, given, args, count, keywords)) return NULL;
    const eg_model *model = core_model_of(given[0], "model");
    if (!model) return NULL;
    building *b = calloc(1, sizeof *b);
    if (!b) return PyErr_NoMemory();
    core_differentiable *self = NULL;
    if (!take_options(given, b, &training))
        self = (core_differentiable *)((allocfunc)PyType_GetSlot(differentiable_type, Py_tp_alloc))(
            differentiable_type, 0);
    if (self) {
        self->context = core_context_share(core_model_context(given[0]));
        self->shape = b->options;
        self->blocks = blocks_of(&b->options);
        b->options.batch /= self->blocks;
        eg_error error;
        if (prepare(self, model, b, training != 0, &error)) {
            core_raise(&error);
            Py_CLEAR(self);
        }
    }
    free(b);
    return (PyObject *)self;
}

/* ---- running */
typedef struct passing {
    core_differentiable *self;
    side *side;
    void *places[PLACE_COUNT];
    void **values,
        **gradients; /* of parameters, in their order; gradients: NULL = a forward pass */
    uint64_t seed;
} passing;

static int take_address(PyObject *object, void **out) {
    *out = PyLong_AsVoidPtr(object);
    return !*out && PyErr_Occurred() ? -1 : 0;
}

static void **take_addresses(PyObject *list, size_t count, const char *name) {
    if (!PyList_Check(list) || (size_t)PyList_Size(list) != count) {
        PyErr_Format(PyExc_TypeError, "%s: expected a list of %zu addresses, given %R", name, count,
                     list);
        return NULL;
    }
    void **out = calloc(count + 1, sizeof *out);
    if (!out) return (void **)PyErr_NoMemory();
    for (size_t i = 0; i < count; i++)
        if (take_address(PyList_GetItem(list, (Py_ssize_t)i), &out[i])) {
            free(out);
            return NULL;
        }
    return out;
}

/* Values are compared: no counter of torch tells what was written through `parameter.data`. */
static eg_status load(core_differentiable *self, void *const *values, eg_error *error) {
    size_t i = 0;
    while (i < self->parameter_count &&
           !memcmp(self->parameters[i].value.data, values[i], self->parameters[i].bytes))
        i++;
    if (i == self->parameter_count) return EG_OK;
    const eg_status status = eg_weights_begin(self->weights, 1, error);
    if (status) return status;
    for (; i < self->parameter_count; i++)
        memcpy(self->parameters[i].value.data, values[i], self->parameters[i].bytes);
    eg_weights_end(self->weights);
    return EG_OK;
}

static eg_status bind_block(const passing *p, size_t block, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; i < p->side->count && !status; i++) {
        const slot *s = &p->side->slots[i];
        if (s->place == PLACE_PARAMETER) continue;
        eg_tensor tensor = s->tensor;
        char *data = p->places[s->place];
        if (data && s->place == PLACE_KEPT) data += block * p->self->kept + s->offset;
        else if (data) data += block * bytes_of(&s->tensor);
        else if (s->place >= PLACE_DY && s->place <= PLACE_DCN) data = p->self->zeros;
        tensor.data = data;
        status = eg_instance_bind(p->side->instances[block], s->name, &tensor, error);
    }
    return status;
}

static eg_status check_times(const passing *p, eg_error *error) {
    for (size_t i = 0; i < p->side->count; i++) {
        const slot *s = &p->side->slots[i];
        if (s->place != PLACE_TIMESPANS || !p->places[PLACE_TIMESPANS]) continue;
        const eg_model_options *o = &p->self->shape;
        return eg_model_check_timespans(p->places[PLACE_TIMESPANS], o->batch, o->time,
                                        o->batch_first || o->unbatched, error);
    }
    return EG_OK;
}

/* In the order of the blocks. */
static void add_gradients_up(const core_differentiable *self, void *const *out) {
    for (size_t i = 0; i < self->parameter_count; i++) {
        const parameter *p = &self->parameters[i];
        float *sum = out[i];
        if (!sum || !p->gradients[0]) continue;
        memcpy(sum, p->gradients[0], p->bytes);
        for (size_t b = 1; b < self->blocks; b++)
            for (size_t k = 0; k < p->bytes / sizeof *sum; k++) sum[k] += p->gradients[b][k];
    }
}

static eg_status run(const passing *p, eg_error *error) {
    const eg_run_options options = {
        .size = sizeof options, .seed = p->seed, .stop = core_interrupted};
    eg_status status = load(p->self, p->values, error);
    if (!status && p->side == &p->self->forward) status = check_times(p, error);
    for (size_t i = 0; i < p->self->blocks && !status; i++) status = bind_block(p, i, error);
    if (!status) status = eg_run_all(p->self->blocks, p->side->instances, &options, error);
    if (!status && p->gradients) add_gradients_up(p->self, p->gradients);
    return status;
}

static int run_unlocked(const passing *p) {
    core_differentiable *self = p->self;
    eg_error error;
    eg_status status;
    if (self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread computes with this program");
        return -1;
    }
    self->is_busy = 1;
    Py_BEGIN_ALLOW_THREADS;
    status = run(p, &error);
    Py_END_ALLOW_THREADS;
    self->is_busy = 0;
    if (status) core_raise(&error);
    return status ? -1 : 0;
}

/* What both passes take: values of parameters, the seed, then memory in the order of `order`. */
static int take_pass(passing *p, core_differentiable *self, side *side, PyObject *const *args,
                     Py_ssize_t count, const int *order, Py_ssize_t places) {
    *p = (passing){.self = self, .side = side};
    if (!side->program) {
        PyErr_SetString(PyExc_ValueError, "made without gradients");
        return -1;
    }
    if (!core_context_usable(self->context)) return -1;
    if (count != 2 + places) {
        PyErr_Format(PyExc_TypeError, "expected %zd arguments, given %zd", 2 + places, count);
        return -1;
    }
    if (core_count(args[1], "seed", &p->seed)) return -1;
    for (Py_ssize_t i = 0; i < places; i++)
        if (take_address(args[2 + i], &p->places[order[i]])) return -1;
    p->values = take_addresses(args[0], self->parameter_count, "parameters");
    return p->values ? 0 : -1;
}

static PyObject *forward(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    static const int order[] = {PLACE_X, PLACE_TIMESPANS, PLACE_H0, PLACE_C0,
                                PLACE_Y, PLACE_HN,        PLACE_CN, PLACE_KEPT};
    core_differentiable *self = self_of(object);
    passing p;
    if (take_pass(&p, self, &self->forward, args, count, order, sizeof order / sizeof *order))
        return NULL;
    const int failed = run_unlocked(&p);
    free(p.values);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *backward(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    static const int order[] = {PLACE_X,    PLACE_TIMESPANS,  PLACE_H0,  PLACE_C0,
                                PLACE_KEPT, PLACE_DY,         PLACE_DHN, PLACE_DCN,
                                PLACE_GX,   PLACE_GTIMESPANS, PLACE_GH0, PLACE_GC0};
    core_differentiable *self = self_of(object);
    passing p;
    if (count < 1) return PyErr_Format(PyExc_TypeError, "expected 15 arguments, given 0");
    if (take_pass(&p, self, &self->backward, args, count - 1, order, sizeof order / sizeof *order))
        return NULL;
    p.gradients = take_addresses(args[count - 1], self->parameter_count, "gradients");
    const int failed = !p.gradients || run_unlocked(&p);
    free(p.gradients);
    free(p.values);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_parameters(PyObject *object, void *nothing) {
    (void)nothing;
    const core_differentiable *self = self_of(object);
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < self->parameter_count; i++) {
        const parameter *p = &self->parameters[i];
        PyObject *shape = PyTuple_New((Py_ssize_t)p->value.rank);
        for (unsigned k = 0; shape && k < p->value.rank; k++)
            if (PyTuple_SetItem(shape, k, PyLong_FromUnsignedLongLong(p->value.shape[k])))
                Py_CLEAR(shape);
        PyObject *row = shape ? Py_BuildValue("(sN)", p->name, shape) : NULL;
        if (!row || PyList_Append(out, row)) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

static PyObject *get_kept(PyObject *object, void *nothing) {
    (void)nothing;
    const core_differentiable *self = self_of(object);
    return PyLong_FromSize_t(self->blocks * self->kept);
}

static PyMethodDef methods[] = {
    {"forward", CORE_FASTCALL(forward), METH_FASTCALL,
     "forward(parameters, seed, x, timespans, h0, c0, y, hn, cn, kept)\n--\n\n"
     "Addresses of contiguous float32; 0 = there is none. Nothing is checked."},
    {"backward", CORE_FASTCALL(backward), METH_FASTCALL,
     "backward(parameters, seed, x, timespans, h0, c0, kept, d_y, d_hn, d_cn, g_x, g_timespans, g_h0, g_c0, gradients)\n"
     "--\n\n"
     "From the gradients of the results (0 = zeros) those of the inputs and parameters (0 = not wanted)."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"parameters", get_parameters, NULL, "Names and shapes, in the order of the calls.", NULL},
    {"kept", get_kept, NULL, "Bytes that a forward pass keeps for the backward pass.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "a Differentiable comes from differentiable()");
    return NULL;
}

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_dealloc, finish},
    {Py_tp_new, refuse_new},
    {Py_tp_doc, (void *)"A forward and a backward program, for one thread at a time."},
    {0, NULL}};
static PyType_Spec spec = {"elegans._core.Differentiable", sizeof(core_differentiable), 0,
                           Py_TPFLAGS_DEFAULT, slots};

static PyMethodDef functions[] = {
    {"differentiable", CORE_FASTCALL(differentiable), METH_FASTCALL | METH_KEYWORDS,
     "differentiable(model, batch, time, batch_first=False, unbatched=False, last=False, timespans=False, state=False,\n"
     "               training=False, wants=0)\n--\n\n"
     "Compiles a model of one layer for a shape. wants: gradients of parameters (1), x (2), timespans (4), states (8)."},
    {NULL, NULL, 0, NULL}};

int core_differentiable_add(PyObject *module) {
    differentiable_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!differentiable_type) return -1;
    Py_INCREF(differentiable_type);
    return PyModule_AddObject(module, "Differentiable", (PyObject *)differentiable_type) ||
           PyModule_AddFunctions(module, functions);
}
