/* Programs of which parts run on other devices: random splits of random graphs, states, weights, failures, costs. */
#include "device_host.h"
#include "engine/context.h"
#include "engine/program.h"
#include "random_graph.h"
#include "test.h"
#include "test_compile.h"

#include <math.h>
#include <unistd.h>

AREA(device, "programs split between devices: equal to one, states, weights, failures, costs")

enum { DEVICES = 2 };
typedef struct machine {
    eg_context *context;
    host_device device[DEVICES];
    size_t count;
} machine;

static void machine_open(machine *m, size_t count, unsigned threads, bool imports) {
    static const char *const names[DEVICES] = {"one", "two"};
    const eg_context_options options = {.threads = threads};
    eg_error error;
    *m = (machine){.count = count};
    CHECK_OK(eg_context_create(&options, &m->context, &error), error);
    for (size_t i = 0; i < count; i++) {
        host_device_open(&m->device[i], names[i]);
        if (imports && i == 0) host_device_import(&m->device[i]);
        CHECK_OK(eg__context_device_add(m->context, &m->device[i].device, &error), error);
    }
}
static void machine_close(machine *m) {
    for (size_t i = 0; i < m->count; i++) host_device_close(&m->device[i]);
    eg_context_destroy(m->context);
}
/* Costs that make any split as likely as another. */
static void machine_shuffle(machine *m, uint64_t number) {
    for (size_t i = 0; i < m->count; i++) m->device[i].random = 2 * (number * 2 + i) + 1;
    m->context->placement.host = (eg__host_rates){1e30, 1e30, 1e-6};
}

TEST(device, random_graphs) {
    machine m[2];
    int64_t parts = 0, runs = 0, imported = 0;
    for (unsigned i = 0; i < 2; i++) machine_open(&m[i], DEVICES, i + 1, i == 1);
    const uint64_t cases = test_quick() ? 200 : 1500;
    for (uint64_t i = 0; i < cases; i++) {
        eg_graph *g;
        eg_error error;
        eg_output outputs[RANDOM_OUTPUTS];
        char name[32];
        machine *on = &m[i % 2];
        machine_shuffle(on, i);
        CHECK_OK(eg_graph_create(on->context, &g, &error), error);
        const size_t count = random_graph(g, i, outputs);
        snprintf(name, sizeof name, "case %llu", (unsigned long long)i);
        const compiled_case c = {name, NULL, (int)(i % 3 != 0), -1, 1};
        if (eg_graph_check(g, NULL) == EG_OK) compiled_check(on->context, g, count, outputs, &c);
        eg_graph_destroy(g);
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned d = 0; d < DEVICES; d++) {
            parts += m[i].device[d].parts;
            runs += m[i].device[d].runs;
            imported += m[i].device[d].imported;
        }
        machine_close(&m[i]);
    }
    CHECK(parts > (int64_t)cases, "only %lld parts in %llu graphs", (long long)parts,
          (unsigned long long)cases);
    CHECK(imported > 0, "nothing was imported");
    test_claim("%llu random graphs split into %lld parts on two devices and the cores: %lld runs",
               (unsigned long long)cases, (long long)parts, (long long)runs);
}

/* ---- the same program on the cores alone, and split */
typedef struct side {
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
} side;

static void side_open(side *s, eg_context *context, eg_graph *g, size_t count,
                      const eg_output *outputs) {
    eg_error error;
    CHECK_OK(eg_compile(context, g, count, outputs, NULL, &s->program, &error), error);
    CHECK_OK(eg_weights_create(s->program, &s->weights, &error), error);
    CHECK_OK(eg_instance_create(s->program, s->weights, &s->instance, &error), error);
}
static void side_close(side *s) {
    eg_instance_destroy(s->instance);
    eg_weights_destroy(s->weights);
    eg_program_release(s->program);
}
static void side_set(side *s, uint64_t seed) {
    eg_error error;
    eg_tensor t;
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(s->program, EG_LEAF_PARAMETER, i, &t)); i++) {
        uint64_t n = 0, state = seed + i;
        eg_tensor_measure(&t, &n, NULL, NULL);
        float *data = t.data = test_alloc((size_t)n * sizeof *data);
        for (uint64_t k = 0; k < n; k++) data[k] = (float)test_random(&state) * 0.3f;
        CHECK_OK(eg_weights_set(s->weights, name, &t, &error), error);
        free(data);
    }
}

/* A stream: y = h of a cell whose state is kept, beside something that does not depend on it; `steps` time steps. */
enum { BATCH = 3, WIDE = 20, STEPS = 6 };
static size_t cell_graph(eg_graph *g, eg_output outputs[3]) {
    const uint64_t x_shape[] = {STEPS, BATCH, WIDE}, h_shape[] = {BATCH, WIDE};
    const uint64_t w_shape[] = {WIDE, WIDE};
    const eg_node x = eg_input(g, "x", EG_F32, 3, x_shape);
    const eg_node w = eg_parameter(g, "w", 2, w_shape), u = eg_parameter(g, "u", 2, w_shape);
    const eg_node h = eg_state(g, "h", 2, h_shape), n = eg_state_typed(g, "n", EG_F16, 2, h_shape);
    const eg_node before = eg_tanh(g, eg_matmul(g, x, w)), scan = eg_scan(g, STEPS, 0);
    const eg_node carry = eg_scan_carry(g, scan, h), in = eg_scan_step(g, scan, before);
    const eg_node next = eg_tanh(g, eg_add(g, eg_matmul(g, carry, u), in));
    eg_scan_update(g, carry, next);
    const eg_node y = eg_scan_stack(g, scan, next);
    eg_update(g, h, eg_scan_last(g, carry));
    const eg_node sum = eg_sum(g, eg_mul(g, y, y), 1u << 0, 0); /* over the steps there are */
    const eg_node old = eg_cast(g, n, EG_F32);
    const eg_node mean = eg_add(g, eg_mul(g, old, eg_scalar(g, 0.5)), sum);
    eg_update(g, n, eg_cast(g, mean, EG_F16));
    outputs[0] = (eg_output){"y", eg_sigmoid(g, y)};
    outputs[1] = (eg_output){"mean", eg_softmax(g, mean)};
    outputs[2] = (eg_output){"sum", sum};
    return 3;
}

static void side_run(side *s, const float *x, size_t steps, float *out) {
    eg_error error;
    const eg_tensor input = {EG_F32, 3, {steps, BATCH, WIDE}, (void *)x};
    static const char *const names[] = {"y", "mean", "sum"};
    eg_tensor got[3];
    CHECK_OK(eg_instance_bind(s->instance, "x", &input, &error), error);
    for (unsigned i = 0; i < 3; i++)
        CHECK_OK(eg_instance_output(s->instance, names[i], &got[i], &error), error);
    const eg_run_options options = {.length = steps};
    CHECK_OK(eg_run(s->instance, &options, &error), error);
    memcpy(out, got[0].data, steps * BATCH * WIDE * sizeof *out);
    for (unsigned i = 1; i < 3; i++)
        memcpy(out + (steps + i - 1) * BATCH * WIDE, got[i].data, BATCH * WIDE * sizeof *out);
}

static double distance(const float *a, const float *b, size_t n) {
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = test_worse(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

/* Runs of all lengths, weights that change, states that go on: two programs, split in 200 ways. */
TEST(device, runs_go_on) {
    machine plain, m;
    machine_open(&plain, 0, 1, false);
    int64_t parts = 0;
    float *x = test_alloc(STEPS * BATCH * WIDE * sizeof *x);
    float want[(STEPS + 2) * BATCH * WIDE], got[(STEPS + 2) * BATCH * WIDE];
    for (uint64_t split = 0; split < (test_quick() ? 40 : 200); split++) {
        eg_graph *g[2];
        side a, b;
        eg_output outputs[3];
        eg_error error;
        uint64_t state = split + 1;
        machine_open(&m, 2, 1 + (unsigned)split % 2, split % 3 == 0);
        machine_shuffle(&m, split);
        CHECK_OK(eg_graph_create(plain.context, &g[0], &error), error);
        CHECK_OK(eg_graph_create(m.context, &g[1], &error), error);
        side_open(&a, plain.context, g[0], cell_graph(g[0], outputs), outputs);
        side_open(&b, m.context, g[1], cell_graph(g[1], outputs), outputs);
        for (size_t run = 0; run < 5; run++) {
            const size_t steps = 1 + (run * 4 + split) % STEPS;
            /* exactly so many: a device that looked at more would be seen by the sanitizer */
            float *given = test_alloc(steps * BATCH * WIDE * sizeof *given);
            for (size_t i = 0; i < steps * BATCH * WIDE; i++) given[i] = (float)test_random(&state);
            if (run == 0 || run == 3) {
                side_set(&a, 7 * run + split);
                side_set(&b, 7 * run + split);
            }
            side_run(&a, given, steps, want);
            side_run(&b, given, steps, got);
            const double off = distance(want, got, (steps + 2) * BATCH * WIDE);
            CHECK(off <= 1e-6, "split %llu, run %zu of %zu steps: off by %g",
                  (unsigned long long)split, run, steps, off);
            free(given);
        }
        side_close(&a);
        side_close(&b);
        eg_graph_destroy(g[0]);
        eg_graph_destroy(g[1]);
        parts += m.device[0].parts + m.device[1].parts;
        machine_close(&m);
    }
    CHECK(parts > 100, "only %lld parts", (long long)parts);
    free(x);
    machine_close(&plain);
}

/* ---- states */
static bool is_no_scan(const eg__node *node) {
    return node->op != EG__GRAPH_scan && !node->scan && node->op != EG__GRAPH_stack &&
           node->op != EG__GRAPH_last;
}
static bool nothing(const eg__node *node) {
    (void)node;
    return false;
}

/* Everything on one device: states are there, until somebody asks for them, writes them or shares them. */
TEST(device, states) {
    machine m;
    eg_graph *g;
    eg_output outputs[3];
    eg_error error;
    eg_tensor state;
    float x[BATCH * WIDE], out[3 * BATCH * WIDE], again[3 * BATCH * WIDE];
    machine_open(&m, 1, 1, false);
    m.context->placement.host = (eg__host_rates){1, 1, 1}; /* the cores are slow */
    CHECK_OK(eg_graph_create(m.context, &g, &error), error);
    side s, other;
    side_open(&s, m.context, g, cell_graph(g, outputs), outputs);
    CHECK(s.program->part_count == 1 && s.program->main_count == 2, "%zu parts, %zu steps",
          s.program->part_count, s.program->main_count);
    side_set(&s, 1);
    for (unsigned i = 0; i < BATCH * WIDE; i++) x[i] = 0.01f * (float)i;
    side_run(&s, x, 1, out);
    CHECK_OK(eg_instance_state(s.instance, "h", &state, &error), error);
    const float *h = state.data;
    CHECK(h[5] == 0, "the host's copy is %g before anybody asked", (double)h[5]);
    CHECK_OK(eg_instance_state_begin(s.instance, &error), error);
    CHECK(h[5] != 0, "the state did not come back");
    CHECK_FAILS(eg_instance_state_begin(s.instance, &error), error, EG_ERR_BUSY, "already");
    const float kept = h[5];
    const eg_run_options one = {.length = 1};
    CHECK_FAILS(eg_run(s.instance, &one, &error), error, EG_ERR_BUSY, "states are being");
    eg_instance_state_end(s.instance);
    side_run(&s, x, 1, out); /* goes on from there */
    /* written by the user: the same again */
    CHECK_OK(eg_instance_state_begin(s.instance, &error), error);
    CHECK(h[5] != kept, "the state did not change");
    memset(state.data, 0, BATCH * WIDE * sizeof *h);
    eg_instance_state_end(s.instance);
    side_run(&s, x, 1, again);
    side_run(&s, x, 1, again);
    CHECK(distance(out, again, BATCH * WIDE) == 0, "another y after the state was set back");
    eg_instance_reset(s.instance);
    side_run(&s, x, 1, again);
    side_run(&s, x, 1, again);
    CHECK(distance(out, again, 3 * BATCH * WIDE) == 0, "another result after a reset");
    /* shared by a program that is on the cores */
    m.device[0].refuses = is_no_scan;
    CHECK_OK(eg_compile(m.context, g, 3, outputs, NULL, &other.program, &error), error);
    CHECK(other.program->part_count == 1, "%zu parts", other.program->part_count);
    m.device[0].refuses = nothing;
    CHECK_OK(eg_instance_create_with(other.program, s.weights, s.instance, &other.instance, &error),
             error);
    other.weights = NULL;
    eg_instance_reset(s.instance);
    side_run(&s, x, 1, again);
    side_run(&other, x, 1, again);
    CHECK(distance(out, again, 3 * BATCH * WIDE) <= 1e-6, "states that go from one to the other");
    side_run(&s, x, 1, out);
    eg_instance_destroy(s.instance); /* what it had stays with the other */
    side_run(&other, x, 1, out);
    eg_instance_reset(other.instance);
    for (unsigned i = 0; i < 4; i++) side_run(&other, x, 1, again);
    CHECK(distance(out, again, 3 * BATCH * WIDE) <= 1e-6, "states of an instance that is gone");
    s.instance = NULL;
    side_close(&other);
    side_close(&s);
    eg_graph_destroy(g);
    machine_close(&m);
}

/* ---- failures */

/* Every call of a device fails once: a status and the name of the device, nothing lost. */
TEST(device, calls_that_fail) {
    float x[BATCH * WIDE] = {0.5f};
    int64_t calls = 1;
    unsigned failures = 0;
    for (int64_t k = 1; k <= calls; k++) { /* until there are fewer */
        machine m;
        eg_graph *g;
        eg_output outputs[3];
        eg_error error = {0};
        side s = {0};
        machine_open(&m, 2, 1, true);
        machine_shuffle(&m, 5);
        m.device[0].fail_at = m.device[1].fail_at = k;
        CHECK_OK(eg_graph_create(m.context, &g, &error), error);
        const size_t count = cell_graph(g, outputs);
        eg_status status = eg_compile(m.context, g, count, outputs, NULL, &s.program, &error);
        if (!status) status = eg_weights_create(s.program, &s.weights, &error);
        if (!status) status = eg_instance_create(s.program, s.weights, &s.instance, &error);
        if (!status) {
            const eg_tensor input = {EG_F32, 3, {1, BATCH, WIDE}, x};
            eg_tensor got;
            const eg_run_options options = {.length = 1};
            CHECK_OK(eg_instance_bind(s.instance, "x", &input, &error), error);
            for (unsigned i = 0; i < count; i++)
                CHECK_OK(eg_instance_output(s.instance, outputs[i].name, &got, &error), error);
            status = eg_run(s.instance, &options, &error);
            if (status) { /* and the next one succeeds */
                eg_error second;
                m.device[0].fail_at = m.device[1].fail_at = 0;
                eg_instance_reset(s.instance);
                CHECK_OK(eg_run(s.instance, &options, &second), second);
            }
        }
        if (status) {
            CHECK(status == EG_ERR_SYSTEM && strstr(error.message, "fails"), "call %lld: %s",
                  (long long)k, error.message);
            failures++;
        }
        side_close(&s);
        eg_graph_destroy(g);
        calls = eg__max(calls, eg__max(m.device[0].calls, m.device[1].calls) + (status != EG_OK));
        machine_close(&m);
    }
    CHECK(failures > 20, "%u calls failed", failures);
}

/* Parameters that a device does not take: runs say so until it does. */
TEST(device, weights_that_fail) {
    machine m;
    eg_graph *g;
    eg_output outputs[3];
    eg_error error;
    side s;
    float x[BATCH * WIDE] = {0.5f}, out[3 * BATCH * WIDE];
    machine_open(&m, 1, 1, false);
    m.context->placement.host = (eg__host_rates){1, 1, 1};
    CHECK_OK(eg_graph_create(m.context, &g, &error), error);
    side_open(&s, m.context, g, cell_graph(g, outputs), outputs);
    side_run(&s, x, 1, out);
    m.device[0].fail_at = m.device[0].calls + 1;
    CHECK_OK(eg_weights_begin(s.weights, 0, &error), error);
    eg_weights_end(s.weights);
    const eg_run_options one = {.length = 1};
    CHECK_FAILS(eg_run(s.instance, &one, &error), error, EG_ERR_SYSTEM, "weights_write of 'one'");
    side_set(&s, 1);
    side_run(&s, x, 1, out);
    side_close(&s);
    eg_graph_destroy(g);
    machine_close(&m);
}

static eg_status compile_and_run(eg_context *context, eg_error *error) {
    eg_graph *g = NULL;
    eg_output outputs[3];
    side s = {0};
    eg_status status = eg_graph_create(context, &g, error);
    if (!status) {
        const size_t count = cell_graph(g, outputs);
        status = eg_compile(context, g, count, outputs, NULL, &s.program, error);
    }
    if (!status) status = eg_weights_create(s.program, &s.weights, error);
    if (!status) status = eg_instance_create(s.program, s.weights, &s.instance, error);
    side_close(&s);
    eg_graph_destroy(g);
    return status;
}

TEST(device, every_allocation) {
    unsigned failed = 0;
    eg_status status = EG_ERR_MEMORY;
    for (int64_t k = 1; status && k < 5000; k += test_quick() ? 7 : 1) {
        eg__failing_allocator failing = {.fail_at = 0};
        const eg_context_options options = {
            .allocator = eg__failing_allocator_use(&failing), .threads = 1, .memory_cache_off = 1};
        eg_context *context;
        host_device device;
        eg_error error;
        CHECK_OK(eg_context_create(&options, &context, &error), error);
        host_device_open(&device, "one");
        device.random = 11;
        CHECK_OK(eg__context_device_add(context, &device.device, &error), error);
        context->placement.host = (eg__host_rates){1e30, 1e30, 1e-6};
        failing.fail_at = failing.requests + k;
        status = compile_and_run(context, &error);
        CHECK(!status || status == EG_ERR_MEMORY, "allocation %lld: %s", (long long)k,
              error.message);
        failed += status != EG_OK;
        host_device_close(&device);
        eg_context_destroy(context);
        CHECK(failing.live == 0, "allocation %lld: %lld blocks are left", (long long)k,
              (long long)failing.live);
    }
    CHECK(failed > 20 && !status, "%u allocations failed", failed);
}

/* ---- costs */
static double costs_measured(void *user, const eg__device *device, const eg_graph *graph,
                             size_t count, const uint32_t *nodes) {
    const double *seconds = user; /* of products, on the cores and on devices */
    for (size_t i = 0; i < count; i++)
        if (graph->nodes[nodes[i]].op == EG__GRAPH_matmul) return seconds[device != NULL];
    return -1;
}

/* x -> product -> softmax -> product -> y, all of the same size: where they run, as letters. */
static void placed(machine *m, char out[8]) {
    const uint64_t shape[] = {64, 64};
    eg_graph *g;
    eg_error error;
    eg_program *program;
    CHECK_OK(eg_graph_create(m->context, &g, &error), error);
    const eg_node x = eg_input(g, "x", EG_F32, 2, shape), w = eg_parameter(g, "w", 2, shape);
    const eg_node y = eg_matmul(g, eg_softmax(g, eg_matmul(g, x, w)), w);
    const eg_output output = {"y", y};
    CHECK_OK(eg_compile(m->context, g, 1, &output, NULL, &program, &error), error);
    size_t n = 0;
    for (size_t i = 0; i < program->main_count; i++)
        if (strcmp(program->steps[i].name, "wait") != 0 && n < 7)
            out[n++] = strcmp(program->steps[i].name, "one") == 0 ? 'd' : 'h';
    out[n] = 0;
    eg_program_release(program);
    eg_graph_destroy(g);
}

TEST(device, costs_decide) {
    static const struct {
        const char *name;
        double device, launch, rate, host, measured_host, measured_device;
        const char *want; /* a part is one step, whatever it has */
    } rows[] = {
        {"a device that costs more", 2, 0, 0, 1, -1, -1, "hhh"},
        {"one that costs less", 0.5, 0, 0, 1, -1, -1, "d"},
        {"a launch that is worth it only once", 0.5, 1, 0, 1, -1, -1, "d"},
        {"a launch that is never worth it", 0.5, 2, 0, 1, -1, -1, "hhh"},
        /* 16 KiB in and 16 KiB out, whatever runs there */
        {"slow copies", 0.5, 0, 16384 / 0.5, 1, -1, -1, "d"},
        {"slower copies", 0.5, 0, 16384 / 0.9, 1, -1, -1, "hhh"},
        {"products measured slow here, fast there", 2, 0, 0, 1, 3, 1, "dhd"},
        {"the same, with copies", 2, 0, 16384 / 0.6, 1, 3, 1, "d"},
        {"products measured fast here", 0.5, 0, 0, 1, 0.1, -1, "hdh"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine m;
        char got[8];
        double measured[] = {rows[i].measured_host, rows[i].measured_device};
        machine_open(&m, 1, 1, false);
        m.device[0].seconds = rows[i].device;
        m.device[0].device.launch_seconds = rows[i].launch;
        m.device[0].device.bytes_per_second = rows[i].rate;
        m.context->placement.host = (eg__host_rates){1e30, 1e30, rows[i].host};
        eg__context_costs_set(m.context, costs_measured, measured);
        placed(&m, got);
        CHECK(strcmp(got, rows[i].want) == 0, "%s: %s, not %s", rows[i].name, got, rows[i].want);
        machine_close(&m);
    }
}

/* ---- memory that can be imported */
TEST(device, pages) {
    machine m;
    eg_graph *g;
    eg_output outputs[3];
    eg_error error;
    side s;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    machine_open(&m, 1, 1, true); /* where there is something to import it */
    m.device[0].seconds = 1e9;
    CHECK_OK(eg_graph_create(m.context, &g, &error), error);
    side_open(&s, m.context, g, cell_graph(g, outputs), outputs);
    eg_tensor y, h, all = eg_weights_all(s.weights);
    CHECK_OK(eg_instance_output(s.instance, "y", &y, &error), error);
    CHECK_OK(eg_instance_state(s.instance, "h", &h, &error), error);
    const void *const memory[] = {y.data, h.data, all.data};
    for (unsigned i = 0; i < 3; i++)
        CHECK((uintptr_t)memory[i] % page == 0, "memory %u begins inside of a page: %p", i,
              memory[i]);
    side_close(&s);
    eg_graph_destroy(g);
    machine_close(&m);
}
