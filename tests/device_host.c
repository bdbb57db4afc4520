/* A second device for the tests: it runs steps of the cores in a thread of its own, on memory of its own. */
#include "device_host.h"

#include "engine/program.h"
#include "graph/passes/passes.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

struct eg__device_buffer {
    void *data;
    size_t bytes;
    bool is_own;
};
struct eg__device_program {
    eg_program *program;
};
struct eg__device_weights {
    eg_weights *weights;
    bool is_open;
};
struct eg__device_instance {
    eg_program *program;
    eg_instance *instance;
    eg__device_buffer **bound; /* inputs, then outputs */
    eg_run_options options;
    eg_error error;
    eg_status status;
    bool is_queued;
    struct eg__device_instance *next;
};

static host_device *self(const eg__device *device) { return device->user; }
static void count(int64_t *what, int64_t n) { __atomic_add_fetch(what, n, __ATOMIC_RELAXED); }

/* Every call that may fail does, if its number is the one. */
static eg_status called(eg__device *device, const char *what, eg_error *error) {
    host_device *h = self(device);
    const int64_t number = __atomic_add_fetch(&h->calls, 1, __ATOMIC_RELAXED);
    return number == h->fail_at
               ? eg__fail(error, EG_ERR_SYSTEM, "%s of '%s' fails", what, device->name)
               : EG_OK;
}

/* ---- what it can, and costs */
static bool can(const eg__device *device, const eg_graph *graph, uint32_t node) {
    const host_device *h = self(device);
    return !h->refuses || !h->refuses(&graph->nodes[node]);
}

static double cost(const eg__device *device, const eg_graph *graph, size_t count_,
                   const uint32_t *nodes) {
    host_device *h = self(device);
    (void)graph, (void)count_, (void)nodes;
    if (!h->random) return h->seconds;
    h->random = h->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(h->random >> 40) * 1e-13;
}

/* ---- programs */
static eg_status compile(eg__device *device, const eg__device_task *task, eg__device_program **out,
                         eg_error *error) {
    host_device *h = self(device);
    eg_status status = called(device, "compile", error);
    if (status) return status;
    eg__output *outputs = test_alloc((task->count + 1) * sizeof *outputs);
    char(*names)[24] = test_alloc((task->count + 1) * sizeof *names);
    for (size_t i = 0; i < task->count; i++) {
        snprintf(names[i], sizeof *names, "%zu", i);
        outputs[i] = (eg__output){names[i], task->outputs[i]};
    }
    const eg__compile_options options = {.training = task->training,
                                         .passes = 1u << EG__PASS_fuse | 1u << EG__PASS_epilogue |
                                                   1u << EG__PASS_in_place | 1u << EG__PASS_reuse,
                                         .products = EG_F32,
                                         .length = task->length};
    eg_program *program;
    status = eg__program_compile(task->graph, &h->context->kernels, task->count, outputs, &options,
                                 &program, error);
    free(outputs);
    free(names);
    if (status) return status;
    CHECK(!task->length || task->length == 1 || program->length == task->length,
          "a part of %zu steps, not %zu", program->length, task->length);
    program->context = h->context;
    *out = test_alloc(sizeof **out);
    (*out)->program = program;
    count(&h->parts, 1);
    count(&h->objects, 1);
    return EG_OK;
}

static void program_release(eg__device *device, eg__device_program *program) {
    eg_program_release(program->program);
    free(program);
    count(&self(device)->objects, -1);
}

/* ---- weights */
static eg_status weights_create(eg__device *device, eg__device_program *program,
                                eg__device_weights **out, eg_error *error) {
    eg_weights *weights;
    eg_status status = called(device, "weights_create", error);
    if (!status) status = eg_weights_create(program->program, &weights, error);
    if (status) return status;
    *out = test_alloc(sizeof **out);
    **out = (eg__device_weights){weights, false};
    count(&self(device)->objects, 1);
    return EG_OK;
}

static eg_status weights_write(eg__device *device, eg__device_weights *w, size_t parameter,
                               const void *data, size_t bytes, eg_error *error) {
    eg_status status = called(device, "weights_write", error);
    const eg__leaf *leaf = &w->weights->program->parameters.list[parameter];
    CHECK(bytes == eg__leaf_bytes(leaf), "%zu bytes of '%s'", bytes, leaf->name);
    if (!status && !w->is_open) status = eg_weights_begin(w->weights, 0, error);
    if (status) return status;
    w->is_open = true;
    memcpy(w->weights->data + leaf->offset, data, bytes);
    return EG_OK;
}

static eg_status weights_end(eg__device *device, eg__device_weights *w, eg_error *error) {
    if (w->is_open) eg_weights_end(w->weights);
    w->is_open = false;
    return called(device, "weights_end", error);
}

static void weights_release(eg__device *device, eg__device_weights *w) {
    eg_weights_destroy(w->weights);
    free(w);
    count(&self(device)->objects, -1);
}

/* ---- instances */
static eg_status instance_create(eg__device *device, eg__device_program *program,
                                 eg__device_weights *weights, eg__device_instance **out,
                                 eg_error *error) {
    eg_instance *instance;
    eg_status status = called(device, "instance_create", error);
    if (!status)
        status = eg_instance_create(program->program, weights ? weights->weights : NULL, &instance,
                                    error);
    if (status) return status;
    eg__device_instance *in = *out = test_alloc(sizeof *in);
    const size_t bound = program->program->inputs.count + program->program->outputs.count;
    *in = (eg__device_instance){.program = program->program, .instance = instance};
    in->bound = test_alloc((bound + 1) * sizeof *in->bound);
    count(&self(device)->objects, 1);
    return EG_OK;
}

static void instance_release(eg__device *device, eg__device_instance *in) {
    eg_instance_destroy(in->instance);
    free(in->bound);
    free(in);
    count(&self(device)->objects, -1);
}

static eg_status bind(eg__device *device, eg__device_instance *in, eg__device_leaf leaf,
                      size_t index, eg__device_buffer *buffer, eg_error *error) {
    eg_status status = called(device, "bind", error);
    const eg_leaf_kind kind = leaf == EG__DEVICE_INPUT ? EG_LEAF_INPUT : EG_LEAF_OUTPUT;
    eg_tensor tensor;
    const char *name = eg_program_leaf(in->program, kind, index, &tensor);
    uint64_t bytes = 0;
    if (status) return status;
    CHECK(name != NULL, "no leaf %zu", index);
    if (!name) return EG_ERR_ARGUMENT;
    eg_tensor_measure(&tensor, NULL, &bytes, NULL);
    if (bytes > buffer->bytes && tensor.rank) /* fewer steps */
        tensor.shape[0] = tensor.shape[0] * buffer->bytes / bytes;
    tensor.data = buffer->data;
    in->bound[index + (leaf == EG__DEVICE_OUTPUT ? in->program->inputs.count : 0)] = buffer;
    return eg_instance_bind(in->instance, name, &tensor, error);
}

static eg_status state_copy(eg__device *device, eg__device_instance *in, size_t index, void *host,
                            size_t bytes, eg__device_way way, eg_error *error) {
    eg_status status = called(device, "state_copy", error);
    eg_tensor state;
    uint64_t size = 0;
    const char *name = eg_program_leaf(in->program, EG_LEAF_STATE, index, NULL);
    if (!status) status = eg_instance_state(in->instance, name, &state, error);
    if (status) return status;
    eg_tensor_measure(&state, NULL, &size, NULL);
    CHECK(size == bytes, "%zu bytes of state '%s', which has %llu", bytes, name,
          (unsigned long long)size);
    if (way == EG__TO_DEVICE) memcpy(state.data, host, bytes);
    else memcpy(host, state.data, bytes);
    return EG_OK;
}

/* ---- the queue: one run after the other */
static void *work(void *user) {
    host_device *h = user;
    pthread_mutex_lock(&h->mutex);
    for (;;) {
        while (!h->queue && !h->stops) pthread_cond_wait(&h->changed, &h->mutex);
        if (!h->queue) break;
        eg__device_instance *in = h->queue;
        pthread_mutex_unlock(&h->mutex);
        in->status = eg_run(in->instance, &in->options, &in->error);
        pthread_mutex_lock(&h->mutex);
        h->queue = in->next;
        in->is_queued = false;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->mutex);
    return NULL;
}

static eg_status submit(eg__device *device, eg__device_instance *in, size_t length, uint64_t seed,
                        eg__device_fence *out, eg_error *error) {
    host_device *h = self(device);
    eg_status status = called(device, "submit", error);
    if (status) return status;
    in->options = (eg_run_options){.length = in->program->length ? length : 0, .seed = seed};
    in->next = NULL;
    in->is_queued = true;
    pthread_mutex_lock(&h->mutex);
    eg__device_instance **last = &h->queue;
    while (*last) last = &(*last)->next;
    *last = in;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
    *out = (uintptr_t)in;
    count(&h->runs, 1);
    return EG_OK;
}

static eg_status await(eg__device *device, eg__device_fence fence, eg_error *error) {
    host_device *h = self(device);
    eg__device_instance *in = (void *)(uintptr_t)fence;
    pthread_mutex_lock(&h->mutex);
    while (in->is_queued) pthread_cond_wait(&h->changed, &h->mutex);
    pthread_mutex_unlock(&h->mutex);
    if (in->status) return eg__fail(error, in->status, "%s", in->error.message);
    return called(device, "wait", error);
}

/* ---- memory: exactly as large as asked for, so that a sanitizer sees every step beside it */
static eg_status take(eg__device *device, size_t bytes, eg__device_buffer **out, eg_error *error) {
    eg_status status = called(device, "take", error);
    if (status) return status;
    *out = test_alloc(sizeof **out);
    **out = (eg__device_buffer){test_alloc(bytes), bytes, true};
    count(&self(device)->buffers, 1);
    return EG_OK;
}

static eg_status import(eg__device *device, void *data, size_t bytes, eg__device_buffer **out,
                        eg_error *error) {
    eg_status status = called(device, "import", error);
    if (status) return status;
    *out = test_alloc(sizeof **out);
    **out = (eg__device_buffer){data, bytes, false};
    count(&self(device)->imported, 1);
    count(&self(device)->buffers, 1);
    return EG_OK;
}

static void give(eg__device *device, eg__device_buffer *buffer) {
    if (buffer->is_own) free(buffer->data);
    free(buffer);
    count(&self(device)->buffers, -1);
}

static eg_status write_to(eg__device *device, eg__device_buffer *to, const void *from, size_t bytes,
                          eg_error *error) {
    CHECK(bytes <= to->bytes, "%zu bytes written to %zu", bytes, to->bytes);
    if (bytes) memcpy(to->data, from, bytes);
    count(&self(device)->written, (int64_t)bytes);
    return called(device, "write", error);
}

static eg_status read_from(eg__device *device, eg__device_buffer *from, void *to, size_t bytes,
                           eg_error *error) {
    CHECK(bytes <= from->bytes, "%zu bytes read from %zu", bytes, from->bytes);
    if (bytes) memcpy(to, from->data, bytes);
    count(&self(device)->read, (int64_t)bytes);
    return called(device, "read", error);
}

/* ---- life */
void host_device_open(host_device *h, const char *name) {
    const eg_context_options options = {.threads = 1};
    eg_error error;
    *h = (host_device){.device = {.name = name,
                                  .memory = EG__DEVICE_OWN,
                                  .user = h,
                                  .can = can,
                                  .cost = cost,
                                  .compile = compile,
                                  .program_release = program_release,
                                  .weights_create = weights_create,
                                  .weights_write = weights_write,
                                  .weights_end = weights_end,
                                  .weights_release = weights_release,
                                  .instance_create = instance_create,
                                  .instance_release = instance_release,
                                  .bind = bind,
                                  .state_copy = state_copy,
                                  .submit = submit,
                                  .wait = await,
                                  .take = take,
                                  .give = give,
                                  .write = write_to,
                                  .read = read_from}};
    CHECK_OK(eg_context_create(&options, &h->context, &error), error);
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->changed, NULL);
    CHECK(pthread_create(&h->thread, NULL, work, h) == 0, "no thread");
}

void host_device_import(host_device *h) {
    h->device.memory = EG__DEVICE_SHARED;
    h->device.import = import;
}

void host_device_close(host_device *h) {
    pthread_mutex_lock(&h->mutex);
    h->stops = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
    pthread_join(h->thread, NULL);
    pthread_mutex_destroy(&h->mutex);
    pthread_cond_destroy(&h->changed);
    CHECK(h->buffers == 0 && h->objects == 0, "%s: %lld buffers and %lld objects are left",
          h->device.name, (long long)h->buffers, (long long)h->objects);
    eg_context_destroy(h->context);
}
