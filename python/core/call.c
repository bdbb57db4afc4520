/* Calls of a model on whole batches: a program for each shape, bound to the caller's arrays, which are never copied
 * when they are contiguous float32. */
#include "model.h"
#include "publish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS_MOST = 16 };

static void end_program(call_program *p) {
    core_record_forget(p->program);
    eg_instance_destroy(p->instance);
    eg_program_release(p->program);
    free(p);
}

void core_model_forget_programs(core_model *self) {
    while (self->programs) {
        call_program *p = self->programs;
        self->programs = p->next;
        end_program(p);
    }
    eg_weights_destroy(self->weights);
    self->weights = NULL;
}

/* ---- compiling for a shape */
static eg_status build(const core_model *self, const call_key *key, eg_graph *graph,
                       call_program *p, eg_error *error) {
    const int is_liquid = self->info.kind == EG_MODEL_LIQUID;
    const eg_model_options options = {.size = sizeof options,
                                      .batch = key->batch,
                                      .time = key->time,
                                      .batch_first = key->batch_first,
                                      .unbatched = key->unbatched,
                                      .last = key->last,
                                      .timespans = key->timespans,
                                      .lengths = key->lengths,
                                      .state = key->state,
                                      .hidden = key->hidden,
                                      .lent = is_liquid,
                                      .in_place = !is_liquid};
    eg_model_nodes *nodes = calloc(1, sizeof *nodes);
    if (!nodes) {
        *error = (eg_error){EG_ERR_MEMORY, "out of memory"};
        return EG_ERR_MEMORY;
    }
    eg_output outputs[CALL_STATES + 1];
    char names[CALL_STATES][16];
    eg_status status = eg_model_build(self->model, graph, &options, nodes, error);
    p->states = nodes->states;
    outputs[0] = (eg_output){"y", nodes->y};
    for (size_t i = 0; i < nodes->states; i++) { /* of "h0" it is "hn" */
        memcpy(names[i], nodes->state_name[i], sizeof names[i]);
        names[i][strlen(names[i]) - 1] = 'n';
        outputs[i + 1] = (eg_output){names[i], nodes->final[i]};
    }
    const eg_compile_options compiling = {.size = sizeof compiling, .training = key->training};
    if (!status)
        status = eg_compile(self->context->context, graph, p->states + 1, outputs, &compiling,
                            &p->program, error);
    free(nodes);
    return status;
}

static eg_status compile(core_model *self, call_program *p, eg_weights **weights, eg_error *error) {
    eg_graph *graph;
    eg_status status = eg_graph_create(self->context->context, &graph, error);
    if (status) return status;
    status = build(self, &p->key, graph, p, error);
    eg_graph_destroy(graph);
    if (!status && !*weights) {
        if (self->info.kind == EG_MODEL_LIQUID)
            status = eg_model_lend(self->model, p->program, weights, error);
        else {
            status = eg_weights_create(p->program, weights, error);
            if (!status) status = eg_model_weights(self->model, *weights, error);
        }
    }
    if (!status) status = eg_instance_create(p->program, *weights, &p->instance, error);
    if (!status && self->info.kind != EG_MODEL_LIQUID)
        status = eg_model_bind(self->model, p->instance, error);
    eg_program_info info = {.size = sizeof info};
    if (!status) eg_program_info_get(p->program, &info);
    p->flops = info.flops;
    p->bytes = info.bytes;
    return status;
}

static call_program *new_program(core_model *self, const call_key *key) {
    call_program *p = calloc(1, sizeof *p);
    if (!p) return (call_program *)PyErr_NoMemory();
    p->key = *key;
    eg_error error;
    /* with the GIL: weights and the model are shared by all programs of it */
    if (compile(self, p, &self->weights, &error)) {
        end_program(p);
        return (call_program *)core_raise(&error);
    }
    return p;
}

static void forget_oldest(core_model *self) {
    call_program **oldest = NULL;
    size_t count = 0;
    for (call_program **at = &self->programs; *at; at = &(*at)->next, count++)
        if (!(*at)->is_busy) oldest = at;
    if (count <= PROGRAMS_MOST || !oldest) return;
    call_program *p = *oldest;
    *oldest = p->next;
    end_program(p);
}

static call_program *program_for(core_model *self, const call_key *key) {
    for (call_program **at = &self->programs; *at; at = &(*at)->next) {
        call_program *p = *at;
        if (p->is_busy || memcmp(&p->key, key, sizeof *key) != 0) continue;
        *at = p->next;
        p->next = self->programs;
        return self->programs = p;
    }
    call_program *p = new_program(self, key);
    if (!p) return NULL;
    p->next = self->programs;
    self->programs = p;
    p->is_busy = 1; /* not to be forgotten at once */
    forget_oldest(self);
    p->is_busy = 0;
    return p;
}

/* ---- the arguments of a call */
typedef struct call {
    core_model *self;
    call_key key;
    core_view x, timespans, lengths, initial[CALL_STATES], result[CALL_STATES + 1];
    PyObject *made[CALL_STATES + 1]; /* y, then states */
    call_program *program;
    uint64_t seed;    /* of dropout */
    PyObject *states; /* given: a sequence; NULL = none */
} call;

static int shape_of_x(call *c) {
    const eg_tensor *x = &c->x.tensor;
    const int is_liquid = c->self->info.kind == EG_MODEL_LIQUID;
    const unsigned rank = x->rank + !is_liquid; /* tokens have no features */
    char given[96];
    if (rank != 3 && !(rank == 2 && is_liquid)) {
        core_shape_text(given, x->rank, x->shape);
        PyErr_Format(
            PyExc_ValueError,
            is_liquid
                ? "x: expected an array [batch, time, features] or [time, features], given shape %s"
                : "tokens: expected an array [batch, time], given shape %s",
            given);
        return -1;
    }
    if (is_liquid && x->shape[rank - 1] != c->self->info.inputs) {
        core_shape_text(given, x->rank, x->shape);
        PyErr_Format(PyExc_ValueError, "x: expected %llu features in the last axis, given shape %s",
                     (unsigned long long)c->self->info.inputs, given);
        return -1;
    }
    c->key.unbatched = rank == 2;
    const int first = c->key.batch_first || !is_liquid;
    c->key.batch = rank == 2 ? 1 : x->shape[first ? 0 : 1];
    c->key.time = rank == 2 ? x->shape[0] : x->shape[first ? 1 : 0];
    if (c->key.batch && c->key.time) return 0;
    core_shape_text(given, x->rank, x->shape);
    PyErr_Format(PyExc_ValueError, "x: an empty array of shape %s", given);
    return -1;
}

/* One number for all steps, or an array [batch, time] with or without a last axis of one element. */
static int take_timespans(call *c, PyObject *object) {
    const call_key *k = &c->key;
    const uint64_t whole[2] = {k->batch_first ? k->batch : k->time,
                               k->batch_first ? k->time : k->batch};
    const uint64_t *shape = k->unbatched ? &k->time : whole;
    const unsigned rank = k->unbatched ? 1 : 2;
    if (PyFloat_Check(object) || PyLong_Check(object)) {
        double value;
        if (core_number(object, "timespans", &value)) return -1;
        PyObject *made = core_array(&c->timespans, EG_F32, rank, shape);
        if (!made) return -1;
        Py_DECREF(made); /* its buffer holds it */
        for (uint64_t i = 0; i < k->batch * k->time; i++)
            ((float *)c->timespans.tensor.data)[i] = (float)value;
    } else {
        if (core_view_take(&c->timespans, object, EG_F32, CORE_READ, "timespans")) return -1;
        eg_tensor *t = &c->timespans.tensor;
        if (t->rank == rank + 1 && t->shape[rank] == 1) t->rank = rank;
        if (core_view_expect(&c->timespans, "timespans", rank, shape)) return -1;
    }
    eg_error error;
    if (!eg_model_check_timespans(c->timespans.tensor.data, k->batch, k->time,
                                  k->batch_first || k->unbatched, &error))
        return 0;
    core_raise(&error);
    return -1;
}

static int take_lengths(call *c, PyObject *object) {
    if (c->key.unbatched) {
        PyErr_SetString(PyExc_ValueError, "lengths: x has no axis of samples");
        return -1;
    }
    PyObject *list = PySequence_List(object);
    if (!list) return -1;
    PyObject *made = core_array(&c->lengths, EG_F32, 1, &c->key.batch);
    int failed = !made;
    Py_XDECREF(made);
    if (!failed && (uint64_t)PyList_Size(list) != c->key.batch) {
        PyErr_Format(PyExc_ValueError, "lengths: expected %llu, one for each sample, given %zd",
                     (unsigned long long)c->key.batch, PyList_Size(list));
        failed = 1;
    }
    for (uint64_t i = 0; !failed && i < c->key.batch; i++) {
        double value;
        failed = core_number(PyList_GetItem(list, (Py_ssize_t)i), "lengths", &value);
        if (!failed && !(value >= 0 && value <= (double)c->key.time && floor(value) == value)) {
            PyErr_Format(PyExc_ValueError,
                         "lengths: that of sample %llu is not an integer from 0 to %llu",
                         (unsigned long long)i, (unsigned long long)c->key.time);
            failed = 1;
        }
        if (!failed) ((float *)c->lengths.tensor.data)[i] = (float)value;
    }
    Py_DECREF(list);
    return failed;
}

static int bind(call *c, const char *name, const core_view *view) {
    eg_error error;
    if (!eg_instance_bind(c->program->instance, name, &view->tensor, &error)) return 0;
    core_raise(&error);
    return -1;
}

static int bind_states(call *c) {
    const size_t count = c->program->states;
    const int is_one = count == 1 && !PyTuple_Check(c->states) && !PyList_Check(c->states);
    const Py_ssize_t given = is_one ? 1 : PySequence_Size(c->states);
    if (given < 0) return -1;
    if ((size_t)given != count) {
        PyErr_Format(PyExc_ValueError, "state: expected %zu arrays, given %zd", count, given);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        eg_tensor leaf;
        const char *output = eg_program_leaf(c->program->program, EG_LEAF_OUTPUT, i + 1, &leaf);
        char name[16];
        strncpy(name, output, sizeof name - 1);
        name[sizeof name - 1] = 0;
        name[strlen(name) - 1] = '0';
        PyObject *object = is_one ? c->states : PySequence_GetItem(c->states, (Py_ssize_t)i);
        if (!object) return -1;
        const int failed = core_view_take(&c->initial[i], object, EG_F32, CORE_READ, name) ||
                           core_view_expect(&c->initial[i], name, leaf.rank, leaf.shape) ||
                           bind(c, name, &c->initial[i]);
        if (!is_one) Py_DECREF(object);
        if (failed) return -1;
    }
    return 0;
}

static int bind_results(call *c) {
    for (size_t i = 0; i <= c->program->states; i++) {
        eg_tensor leaf;
        const char *name = eg_program_leaf(c->program->program, EG_LEAF_OUTPUT, i, &leaf);
        c->made[i] = core_array(&c->result[i], leaf.type, leaf.rank, leaf.shape);
        if (!c->made[i] || bind(c, name, &c->result[i])) return -1;
    }
    return 0;
}

static int compute(call *c) {
    eg_error error;
    eg_status status;
    call_program *p = c->program;
    const int is_long = p->flops >= CORE_UNLOCK_FLOPS;
    const eg_run_options options = {
        .size = sizeof options, .seed = c->seed, .stop = is_long ? core_interrupted : NULL};
    core_record_begin(c->self, p);
    const uint64_t began = core_publish_begin();
    if (!is_long) status = eg_run(p->instance, &options, &error);
    else {
        p->is_busy = 1;
        c->self->running++;
        Py_BEGIN_ALLOW_THREADS;
        status = eg_run(p->instance, &options, &error);
        Py_END_ALLOW_THREADS;
        c->self->running--;
        p->is_busy = 0;
    }
    if (!status) core_publish_step((PyObject *)c->self, began, p->flops, p->bytes);
    core_record_end(p);
    if (!status) return 0;
    core_raise(&error);
    return -1;
}

static PyObject *results(call *c) {
    const size_t count = c->program->states;
    PyObject *states;
    if (count == 1) {
        states = c->made[1];
        Py_INCREF(states);
    } else {
        states = PyTuple_New((Py_ssize_t)count);
        for (size_t i = 0; states && i < count; i++) {
            Py_INCREF(c->made[i + 1]);
            if (PyTuple_SetItem(states, (Py_ssize_t)i, c->made[i + 1])) Py_CLEAR(states);
        }
    }
    return states ? Py_BuildValue("(ON)", c->made[0], states) : NULL;
}

static void end_call(call *c) {
    core_view_give(&c->x);
    core_view_give(&c->timespans);
    core_view_give(&c->lengths);
    const size_t states = c->program ? c->program->states : 0;
    for (size_t i = 0; i < states; i++) core_view_give(&c->initial[i]);
    for (size_t i = 0; i <= states; i++) {
        core_view_give(&c->result[i]);
        Py_XDECREF(c->made[i]);
    }
}

static int flag(PyObject *object, uint8_t otherwise, uint8_t *out) {
    const int value = object ? PyObject_IsTrue(object) : otherwise;
    *out = value > 0;
    return value < 0 ? -1 : 0;
}

PyObject *core_model_call(PyObject *object, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {
        "x",           "timespans", "lengths",  "state", "return_sequences",
        "batch_first", "hidden",    "training", "seed",  NULL};
    PyObject *given[9], *out = NULL;
    core_model *self = (core_model *)object;
    if (!core_model_of(object, "run") || !core_model_resting(self) ||
        core_arguments("run", names, 1, given, args, count, keywords))
        return NULL;
    call *c = calloc(1, sizeof *c); /* too large for the stack of a thread */
    if (!c) return PyErr_NoMemory();
    c->self = self;
    c->states = given[3];
    c->seed = self->seed;
    const int is_liquid = self->info.kind == EG_MODEL_LIQUID;
    uint8_t sequences;
    if (flag(given[4], 1, &sequences) || flag(given[5], 1, &c->key.batch_first) ||
        flag(given[6], 0, &c->key.hidden) || flag(given[7], 0, &c->key.training) ||
        (given[8] && core_count(given[8], "seed", &c->seed)))
        goto done;
    c->key.last = !sequences;
    c->key.state = given[3] != NULL;
    c->key.timespans = given[1] != NULL;
    c->key.lengths = given[2] != NULL;
    if (core_view_take(&c->x, given[0], is_liquid ? EG_F32 : EG_I32, CORE_READ,
                       is_liquid ? "x" : "tokens") ||
        shape_of_x(c) || (given[1] && take_timespans(c, given[1])) ||
        (given[2] && take_lengths(c, given[2])))
        goto done;
    c->program = program_for(self, &c->key);
    if (!c->program || bind(c, is_liquid ? "x" : "tokens", &c->x) ||
        (given[1] && bind(c, "timespans", &c->timespans)) ||
        (given[2] && bind(c, "lengths", &c->lengths)) || (given[3] && bind_states(c)) ||
        bind_results(c) || compute(c))
        goto done;
    if (c->key.training && !given[8]) self->seed++;
    out = results(c);
done:
    end_call(c);
    free(c);
    return out;
}
