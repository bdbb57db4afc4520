/* Devices that refuse, fail once or cannot import, and runs that are shorter: what went wrong before. */
#include "device_host.h"
#include "engine/context.h"
#include "engine/program.h"
#include "test.h"

AREA(device_found, "devices that refuse, fail once or cannot import; shorter runs")

typedef struct setting {
    host_device device;
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_instance *instance;
} setting;

/* The cores are slow, so that the device gets all that it can do. */
static void setting_open(setting *s, bool imports) {
    const eg_context_options options = {.threads = 1};
    eg_error error;
    host_device_open(&s->device, "one");
    if (imports) host_device_import(&s->device);
    CHECK_OK(eg_context_create(&options, &s->context, &error), error);
    CHECK_OK(eg__context_device_add(s->context, &s->device.device, &error), error);
    s->context->placement.host = (eg__host_rates){1, 1, 1};
    CHECK_OK(eg_graph_create(s->context, &s->g, &error), error);
    s->program = NULL;
    s->instance = NULL;
}
static void setting_compile(setting *s, size_t count, const eg_output *outputs) {
    eg_error error;
    eg_tensor ignored;
    CHECK_OK(eg_compile(s->context, s->g, count, outputs, NULL, &s->program, &error), error);
    eg_weights *weights = NULL;
    CHECK_OK(eg_instance_create(s->program, weights, &s->instance, &error), error);
    for (size_t i = 0; i < count; i++)
        CHECK_OK(eg_instance_output(s->instance, outputs[i].name, &ignored, &error), error);
}
static void setting_close(setting *s) {
    eg_instance_destroy(s->instance);
    eg_program_release(s->program);
    eg_graph_destroy(s->g);
    host_device_close(&s->device);
    eg_context_destroy(s->context);
}

/* ---- what it cannot do it does not get, wherever that is: in the prologue, and among views */
static bool refuse_softmax(const eg__node *node) { return node->op == EG__GRAPH_softmax; }
static bool refuse_transpose(const eg__node *node) { return node->op == EG__GRAPH_transpose; }
static bool refuse_unary(const eg__node *node) { return node->op == EG__GRAPH_unary; }

static bool (*refused)(const eg__node *node);
static unsigned refused_nodes;
static eg_status (*compile_really)(eg__device *, const eg__device_task *, eg__device_program **,
                                   eg_error *);
static eg_status compile_watched(eg__device *device, const eg__device_task *task,
                                 eg__device_program **out, eg_error *error) {
    for (uint32_t i = 1; i <= task->graph->size; i++)
        refused_nodes += refused(&task->graph->nodes[i]);
    return compile_really(device, task, out, error);
}

TEST(device_found, what_it_refuses) {
    static bool (*const all[])(const eg__node *) = {refuse_softmax, refuse_transpose, refuse_unary};
    for (unsigned k = 0; k < 3; k++) {
        const uint64_t shape[] = {8, 8};
        const unsigned order[] = {1, 0};
        setting s;
        eg_error error;
        setting_open(&s, false);
        s.device.refuses = refused = all[k];
        compile_really = s.device.device.compile;
        s.device.device.compile = compile_watched;
        refused_nodes = 0;
        const eg_node x = eg_input(s.g, "x", EG_F32, 2, shape),
                      w = eg_parameter(s.g, "w", 2, shape);
        const eg_node derived = eg_sum(s.g, eg_softmax(s.g, eg_tanh(s.g, w)), 1, 1);
        const eg_node y = eg_matmul(s.g, eg_sum(s.g, eg_transpose(s.g, x, order), 2, 1), derived);
        const eg_output output = {"y", y};
        CHECK_OK(eg_compile(s.context, s.g, 1, &output, NULL, &s.program, &error), error);
        CHECK(refused_nodes == 0, "row %u: %u nodes that it cannot compute", k, refused_nodes);
        setting_close(&s);
    }
}

/* ---- memory that it cannot import is copied, also after some that it could */
static eg_status (*import_really)(eg__device *, void *, size_t, eg__device_buffer **, eg_error *);
static eg_status import_pages(eg__device *device, void *data, size_t bytes, eg__device_buffer **out,
                              eg_error *error) {
    if ((uintptr_t)data % 4096) return eg__fail(error, EG_ERR_UNSUPPORTED, "no whole page");
    return import_really(device, data, bytes, out, error);
}

TEST(device_found, memory_that_cannot_be_imported) {
    const uint64_t shape[] = {8, 8};
    setting s;
    eg_error error;
    setting_open(&s, true);
    import_really = s.device.device.import;
    s.device.device.import = import_pages;
    const eg_output output = {"y", eg_softmax(s.g, eg_input(s.g, "x", EG_F32, 2, shape))};
    setting_compile(&s, 1, &output);
    float *page = aligned_alloc(4096, 8192);
    if (!page) exit(1);
    for (unsigned i = 0; i < 2048; i++) page[i] = (float)(i % 7);
    for (unsigned turn = 0; turn < 4; turn++) {
        eg_tensor x = {EG_F32, 2, {8, 8}, page + 16 * (turn % 2)}, y;
        CHECK_OK(eg_instance_bind(s.instance, "x", &x, &error), error);
        CHECK_OK(eg_run(s.instance, NULL, &error), error);
        CHECK_OK(eg_instance_output(s.instance, "y", &y, &error), error);
        const float *in = x.data, *out = y.data;
        CHECK((in[1] > in[0]) == (out[1] > out[0]), "turn %u: the result of another input", turn);
    }
    CHECK(s.device.imported > 0 && s.device.written > 0, "%lld imported, %lld bytes written",
          (long long)s.device.imported, (long long)s.device.written);
    free(page);
    setting_close(&s);
}

/* ---- a state that it failed to give is asked for again */
TEST(device_found, state_that_comes_later) {
    const uint64_t shape[] = {4};
    float data[4] = {1, 1, 1, 1};
    setting s;
    eg_error error;
    setting_open(&s, false);
    const eg_node h = eg_state(s.g, "h", 1, shape);
    const eg_node next = eg_add(s.g, h, eg_input(s.g, "x", EG_F32, 1, shape));
    eg_update(s.g, h, next);
    const eg_output output = {"y", eg_softmax(s.g, next)};
    setting_compile(&s, 1, &output);
    const eg_tensor x = {EG_F32, 1, {4}, data};
    eg_tensor state;
    CHECK_OK(eg_instance_bind(s.instance, "x", &x, &error), error);
    CHECK_OK(eg_run(s.instance, NULL, &error), error);
    s.device.fail_at = s.device.calls + 1;
    CHECK_FAILS(eg_instance_state_begin(s.instance, &error), error, EG_ERR_SYSTEM, "state_copy");
    CHECK_OK(eg_instance_state_begin(s.instance, &error), error);
    CHECK_OK(eg_instance_state(s.instance, "h", &state, &error), error);
    CHECK(((float *)state.data)[0] == 1, "the state is %g", (double)((float *)state.data)[0]);
    eg_instance_state_end(s.instance);
    setting_close(&s);
}

/* ---- shorter runs */
enum { STEPS = 6, WIDE = 4 };
static eg_node scan_of(eg_graph *g, eg_node x) {
    const uint64_t shape[] = {WIDE};
    const eg_node scan = eg_scan(g, STEPS, 0);
    const eg_node carry = eg_scan_carry(g, scan, eg_state(g, "h", 1, shape));
    const eg_node next = eg_tanh(g, eg_add(g, carry, eg_scan_step(g, scan, x)));
    eg_scan_update(g, carry, next);
    return eg_scan_stack(g, scan, next);
}
static bool refuse_scan(const eg__node *node) { return node->scan || node->op == EG__GRAPH_scan; }

/* A part whose result has steps that its own graph does not know of: it computes all, in memory for all. */
TEST(device_found, steps_that_it_does_not_know) {
    const int32_t index[STEPS] = {5, 4, 3, 2, 1, 0};
    const uint64_t shape[] = {2 * STEPS, WIDE};
    const eg_tensor rows = {EG_I32, 1, {STEPS}, (void *)(uintptr_t)index};
    float *w = test_alloc(2 * STEPS * WIDE * sizeof *w);
    const eg_tensor input = {EG_F32, 2, {2 * STEPS, WIDE}, w};
    const eg_run_options shorter = {.length = 2};
    setting s;
    eg_error error;
    setting_open(&s, true);
    s.device.refuses = refuse_scan;
    const eg_node x = eg_softmax(
        s.g, eg_gather(s.g, eg_input(s.g, "w", EG_F32, 2, shape), eg_constant(s.g, &rows)));
    const eg_output outputs[] = {{"y", scan_of(s.g, x)}, {"x", x}};
    for (unsigned i = 0; i < 2 * STEPS * WIDE; i++) w[i] = (float)i;
    setting_compile(&s, 2, outputs);
    CHECK(s.program->part_count == 1, "%zu parts", s.program->part_count);
    CHECK_OK(eg_instance_bind(s.instance, "w", &input, &error), error);
    CHECK_OK(eg_run(s.instance, &shorter, &error), error);
    CHECK_OK(eg_run(s.instance, NULL, &error), error);
    CHECK_OK(eg_run(s.instance, &shorter, &error), error);
    free(w);
    setting_close(&s);
}

/* On the cores alone: an input whose steps are another axis of something must be whole. */
TEST(device_found, steps_along_another_axis) {
    const uint64_t x_shape[] = {STEPS, WIDE}, w_shape[] = {5, 1, WIDE};
    const eg_context_options options = {.threads = 1};
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_instance *instance;
    eg_error error;
    float x[WIDE] = {0};
    const eg_tensor one = {EG_F32, 2, {1, WIDE}, x};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node in = eg_input(g, "x", EG_F32, 2, x_shape);
    const eg_node w = eg_input(g, "w", EG_F32, 3, w_shape);
    const eg_output outputs[] = {{"y", scan_of(g, in)}, {"z", eg_tanh(g, eg_add(g, in, w))}};
    CHECK_OK(eg_compile(context, g, 2, outputs, NULL, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    CHECK_FAILS(eg_instance_bind(instance, "x", &one, &error), error, EG_ERR_ARGUMENT, "'x'");
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
