/* Programs split between devices in arbitrary ways: the first bytes choose a random graph, the others what each unit costs on
 * each device and on the cores. The split program gives what the whole one does. */
#include "fuzz.h"

#include "device_host.h"
#include "engine/context.h"
#include "random_graph.h"
#include "test.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- what tests/ asks of its frame */
void test_fail(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    abort();
}
void *test_alloc(size_t size) {
    void *memory = malloc(size ? size : 1);
    require(memory != NULL);
    return memory;
}

/* ---- costs */
static struct {
    const uint8_t *bytes;
    size_t length, used;
} given;

static double next_cost(void) {
    return given.length ? given.bytes[given.used++ % given.length] : 0;
}
static double cost(const eg__device *device, const eg_graph *graph, size_t count,
                   const uint32_t *nodes) {
    (void)device, (void)graph, (void)count, (void)nodes;
    return next_cost();
}
static double measured(void *user, const eg__device *device, const eg_graph *graph, size_t count,
                       const uint32_t *nodes) {
    (void)user, (void)graph, (void)count, (void)nodes;
    return device ? -1 : next_cost();
}

/* ---- both ways */
enum { MANY = 64 };
typedef struct side {
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    float *memory[MANY];
    size_t count;
    eg_tensor out[RANDOM_OUTPUTS];
} side;

static float *numbers(side *s, eg_tensor *t, uint64_t seed) {
    uint64_t n = 0;
    require(!eg_tensor_measure(t, &n, NULL, NULL) && s->count < MANY);
    float *data = s->memory[s->count++] = t->data = test_alloc((size_t)(n + 1) * sizeof *data);
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const float value = (float)(seed >> 40) / (float)(1 << 23) - 1;
        if (t->type == EG_I32) ((int32_t *)data)[i] = (int32_t)value;
        else data[i] = value;
    }
    return data;
}

static void run(side *s, eg_context *context, uint64_t number, int training) {
    eg_graph *g;
    random_case c;
    eg_tensor t;
    const char *name;
    *s = (side){.count = 0};
    require(!eg_graph_create(context, &g, NULL));
    random_case_make(g, number, &c);
    const eg_compile_options options = {.training = training};
    if (eg_graph_check(g, NULL) == EG_OK) {
        require(!eg_compile(context, g, c.count, c.output, &options, &s->program, NULL));
        require(!eg_weights_create(s->program, &s->weights, NULL));
        require(!eg_instance_create(s->program, s->weights, &s->instance, NULL));
        for (size_t i = 0; (name = eg_program_leaf(s->program, EG_LEAF_PARAMETER, i, &t)); i++) {
            numbers(s, &t, i + 1);
            require(!eg_weights_set(s->weights, name, &t, NULL));
        }
        for (size_t i = 0; (name = eg_program_leaf(s->program, EG_LEAF_INPUT, i, &t)); i++) {
            numbers(s, &t, i + 100);
            require(!eg_instance_bind(s->instance, name, &t, NULL));
        }
        for (size_t i = 0; i < c.count; i++)
            require(!eg_instance_output(s->instance, c.output[i].name, &s->out[i], NULL));
        for (int turn = 0; turn < 2; turn++) /* the second goes on from the states of the first */
            require(!eg_run(s->instance, NULL, NULL));
    }
    eg_graph_destroy(g);
}

static void end(side *s) {
    eg_instance_destroy(s->instance);
    eg_weights_destroy(s->weights);
    eg_program_release(s->program);
    for (size_t i = 0; i < s->count; i++) free(s->memory[i]);
}

static void compare(const eg_tensor *a, const eg_tensor *b) {
    uint64_t n = 0;
    double size = 1, worst = 0;
    require(!eg_tensor_measure(a, &n, NULL, NULL));
    for (uint64_t i = 0; i < n && a->type == EG_F32; i++) {
        const double x = ((const float *)a->data)[i], y = ((const float *)b->data)[i];
        if ((isnan(x) && isnan(y)) || x == y) continue;
        size = fmax(size, fabs(x));
        worst = fabs(x - y) <= worst ? worst : fabs(x - y);
    }
    require(worst <= 3e-5 * size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static eg_context *whole, *split;
    static host_device device[2];
    if (!whole) {
        const eg_context_options options = {.threads = 1};
        require(!eg_context_create(&options, &whole, NULL));
        require(!eg_context_create(&options, &split, NULL));
        for (int i = 0; i < 2; i++) {
            host_device_open(&device[i], i ? "two" : "one");
            if (i) host_device_import(&device[i]);
            device[i].device.cost = cost;
            require(!eg__context_device_add(split, &device[i].device, NULL));
        }
        eg__context_costs_set(split, measured, NULL);
    }
    if (length < 4) return 0;
    const uint64_t number = (uint64_t)bytes[0] << 8 | bytes[1];
    device[0].device.launch_seconds = bytes[2] & 15;
    device[1].device.bytes_per_second = bytes[2] >> 4 ? 4096.0 / (bytes[2] >> 4) : 0;
    given.bytes = bytes + 4;
    given.length = length - 4;
    given.used = 0;
    side a, b;
    run(&a, whole, number, bytes[3] & 1);
    run(&b, split, number, bytes[3] & 1);
    for (size_t i = 0; a.program && i < RANDOM_OUTPUTS; i++)
        if (a.out[i].data) compare(&a.out[i], &b.out[i]);
    end(&a);
    end(&b);
    return 0;
}
