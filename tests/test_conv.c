/* Convolutions in graphs: against loops, torch and the definition in double; threads, memory, mistakes. */
#include "graph/steps/program.h"
#include "test.h"
#include "test_compile.h"

#include <math.h>

AREA(conv, "convolutions and their gradients against loops, torch and the definition, on any isa")

static eg_context *context_with(unsigned threads, const char *isa) {
    eg_context *context;
    eg_error error;
    if (eg_context_create(&(eg_context_options){.threads = threads, .isa = isa}, &context, &error))
        return NULL; /* not on this machine */
    return context;
}

typedef struct conv_case {
    unsigned rank;
    uint64_t x[4], w[4];
    eg_conv_options options;
} conv_case;

/* ---- every combination of small options, against loops that know nothing of ours */
static double reference(const conv_case *c, const double *x, const double *w, uint64_t b,
                        uint64_t o, int64_t i, int64_t j) {
    const eg_conv_options *p = &c->options;
    const int64_t height = (int64_t)c->x[2], width = (int64_t)c->x[3];
    const uint64_t deep = c->w[1], group = o / (c->w[0] / p->groups);
    double sum = 0;
    for (uint64_t k = 0; k < deep; k++)
        for (int64_t u = 0; u < (int64_t)c->w[2]; u++)
            for (int64_t v = 0; v < (int64_t)c->w[3]; v++) {
                const int64_t row = i * p->stride[0] + u * p->dilation[0] - p->before[0];
                const int64_t column = j * p->stride[1] + v * p->dilation[1] - p->before[1];
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                sum += w[((o * deep + k) * c->w[2] + (uint64_t)u) * c->w[3] + (uint64_t)v] *
                       x[((b * c->x[1] + group * deep + k) * c->x[2] + (uint64_t)row) * c->x[3] +
                         (uint64_t)column];
            }
    return sum;
}

static void check_loops(eg_context *context, const conv_case *c) {
    eg_graph *g;
    eg_error error;
    uint64_t state = 17;
    double x[1000], w[1000], y[8000], *out[] = {y};
    for (int i = 0; i < 1000; i++) x[i] = test_random(&state), w[i] = test_random(&state);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node leaf[] = {eg_input(g, "x", EG_F32, 4, c->x), eg_input(g, "w", EG_F32, 4, c->w)};
    const eg__binding bound[] = {{leaf[0], x}, {leaf[1], w}};
    const eg_node node = eg_conv(g, &c->options, leaf[0], leaf[1]);
    CHECK_OK(eg__graph_evaluate(g, 2, bound, 1, &node, out, false, 0, &error), error);
    const eg__node n = *eg__node_at(g, node);
    for (int a = 0; a < 2; a++) {
        const eg_conv_options *p = &c->options;
        const uint64_t want =
            (c->x[2 + a] + p->before[a] + p->after[a] - p->dilation[a] * (c->w[2 + a] - 1) - 1) /
                p->stride[a] +
            1;
        CHECK(n.shape[2 + a] == want, "%llu results, not %llu", (unsigned long long)n.shape[2 + a],
              (unsigned long long)want);
    }
    for (uint64_t i = 0; i < eg__node_elements(&n); i++) {
        const uint64_t plane = i / n.shape[3] / n.shape[2];
        const double want =
            reference(c, x, w, plane / n.shape[1], plane % n.shape[1],
                      (int64_t)(i / n.shape[3] % n.shape[2]), (int64_t)(i % n.shape[3]));
        CHECK(fabs(y[i] - want) < 1e-12, "element %llu is %g, not %g", (unsigned long long)i, y[i],
              want);
    }
    const compiled_case run = {"combination", NULL, 0, -1, 1};
    compiled_check(context, g, 1, &(eg_output){"y", node}, &run);
    eg_graph_destroy(g);
}

TEST(conv, combinations) {
    eg_context *context = context_with(1, NULL);
    for (uint32_t number = 0; number < 2 * 3 * 3 * 2 * 2 * 3; number++) {
        const uint32_t groups[] = {1, 2, 4};
        uint32_t n = number;
        conv_case c = {4, {1, 4, 6, 7}, {4, 4, 3, 2}, {.dilation = {1, 1}}};
        c.options.stride[0] = 1 + n % 2, n /= 2;
        c.options.stride[1] = 1 + n % 3, n /= 3;
        c.options.before[0] = n % 3, c.options.before[1] = n % 3 * 2, n /= 3;
        c.options.after[0] = 2 * (n % 2), c.options.after[1] = n % 2, n /= 2;
        c.options.dilation[0] = 1 + n % 2, c.options.dilation[1] = 1 + 2 * (n % 2), n /= 2;
        c.options.groups = groups[n];
        c.w[1] = 4 / groups[n];
        check_loops(context, &c);
    }
    eg_context_destroy(context);
}

/* ---- torch */
static void read_golden(eg_npz *file, size_t number, const char *name, eg_tensor *out) {
    char text[32];
    eg_error error;
    snprintf(text, sizeof text, "%zu.%s", number, name);
    CHECK_OK(eg_npz_read(file, text, out, &error), error);
}

static void check_golden(eg_context *context, eg_npz *file, size_t number, const int32_t *o) {
    static const char *const names[] = {"y", "dx", "dw"};
    eg_tensor x, w, want[3], got[3];
    eg_error error;
    eg_graph *g;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    read_golden(file, number, "x", &x);
    read_golden(file, number, "w", &w);
    for (int i = 0; i < 3; i++) read_golden(file, number, names[i], &want[i]);
    eg_conv_options options = {.groups = (uint32_t)o[6]};
    for (int a = 0; a < 2; a++) {
        options.stride[a] = (uint32_t)o[a];
        options.before[a] = options.after[a] = (uint32_t)o[2 + a];
        options.dilation[a] = (uint32_t)o[4 + a];
    }
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node leaf[] = {eg_input(g, "x", EG_F32, x.rank, x.shape),
                            eg_input(g, "w", EG_F32, w.rank, w.shape)};
    const eg_node y = eg_conv(g, &options, leaf[0], leaf[1]);
    eg_node d[2];
    CHECK_OK(
        eg_gradient(g, eg_sum(g, eg_mul(g, y, eg_sin(g, y)), EG_ALL_AXES, 0), 2, leaf, d, &error),
        error);
    const eg_output outputs[] = {{"y", y}, {"dx", d[0]}, {"dw", d[1]}};
    CHECK_OK(eg_compile(context, g, 3, outputs, NULL, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    CHECK_OK(eg_instance_bind(instance, "x", &x, &error), error);
    CHECK_OK(eg_instance_bind(instance, "w", &w, &error), error);
    for (int i = 0; i < 3; i++)
        CHECK_OK(eg_instance_output(instance, names[i], &got[i], &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    for (int i = 0; i < 3; i++) {
        uint64_t n, m;
        eg_tensor_measure(&want[i], &n, NULL, NULL);
        eg_tensor_measure(&got[i], &m, NULL, NULL);
        CHECK(n == m && got[i].rank == want[i].rank, "case %zu: %s has another size", number,
              names[i]);
        for (uint64_t k = 0; k < n && k < m; k++) {
            const double a = ((const float *)got[i].data)[k], b = ((const float *)want[i].data)[k];
            CHECK(fabs(a - b) <= 2e-5 * (1 + fabs(b)), "case %zu: %s[%llu] is %g, not %g", number,
                  names[i], (unsigned long long)k, a, b);
        }
    }
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_tensor_release(context, &x);
    eg_tensor_release(context, &w);
    for (int i = 0; i < 3; i++) eg_tensor_release(context, &want[i]);
}

TEST(conv, golden) {
    eg_context *context = context_with(1, NULL);
    eg_npz *file;
    eg_tensor options;
    eg_error error;
    CHECK_OK(eg_npz_open(context, test_path("fixtures/golden/conv.npz"), &file, &error), error);
    CHECK_OK(eg_npz_read(file, "options", &options, &error), error);
    CHECK(options.shape[0] == 8 && options.shape[1] == 7, "other options");
    for (uint64_t i = 0; i < options.shape[0]; i++)
        check_golden(context, file, (size_t)i, (const int32_t *)options.data + 7 * i);
    eg_tensor_release(context, &options);
    eg_npz_close(file);
    eg_context_destroy(context);
}

/* ---- sizes of several blocks, on every isa */
static const conv_case cases[] = {
    {4, {2, 5, 17, 23}, {7, 5, 3, 3}, {.before = {1, 1}, .after = {1, 1}}},
    {4, {1, 40, 15, 15}, {33, 40, 3, 3}, {.stride = {2, 2}, .before = {1, 1}, .after = {1, 1}}},
    {4, {2, 6, 30, 30}, {300, 3, 1, 1}, {.groups = 2}},
    {4, {2, 18, 21, 50}, {18, 1, 3, 3}, {.before = {1, 1}, .after = {1, 1}, .groups = 18}},
    {4, {1, 3, 20, 33}, {6, 1, 5, 4}, {.stride = {2, 3}, .before = {2, 4}, .groups = 3}},
    {3, {3, 7, 700}, {9, 7, 5}, {.before = {4}, .dilation = {3}}},
    {3, {2, 4, 40}, {2, 2, 40}, {.groups = 2}}, /* one result */
    {3, {1, 2, 30}, {1, 2, 4}, {.stride = {40}}},
    {3, {1, 1, 300}, {1, 1, 200}, {.groups = 1}},
    {3, {2, 3, 5}, {3, 3, 2}, {.before = {9}, .after = {7}}}, /* results of nothing but zeros */
};
enum { CASES = sizeof cases / sizeof *cases };

static size_t build(eg_graph *g, const conv_case *c, bool parameters, eg_output *outputs) {
    eg_node x = eg_input(g, "x", EG_F32, c->rank, c->x), d[2];
    eg_node w =
        parameters ? eg_parameter(g, "w", c->rank, c->w) : eg_input(g, "w", EG_F32, c->rank, c->w);
    eg_node y = eg_conv(g, &c->options, x, w);
    eg_node loss = eg_sum(g, eg_mul(g, y, eg_sin(g, y)), EG_ALL_AXES, 0);
    eg_error error = {0};
    CHECK_OK(eg_gradient(g, loss, 2, (eg_node[]){x, w}, d, &error), error);
    outputs[0] = (eg_output){"y", y};
    outputs[1] = (eg_output){"dx", d[0]};
    outputs[2] = (eg_output){"dw", d[1]};
    return 3;
}

TEST(conv, against_the_definition) {
    static const char *const isas[] = {NULL, "avx512", "avx2", "neon", "ref"};
    /* the best is one of the others: what is slow need not do it twice */
    for (size_t isa = test_quick() ? 1 : 0; isa < sizeof isas / sizeof *isas; isa++) {
        eg_context *context = context_with(2, isas[isa]);
        for (size_t i = 0; context && i < CASES; i++) {
            eg_graph *g;
            eg_error error;
            eg_output outputs[3];
            char name[32];
            CHECK_OK(eg_graph_create(context, &g, &error), error);
            const size_t count = build(g, &cases[i], i % 2, outputs);
            snprintf(name, sizeof name, "case %zu, %s", i, isas[isa] ? isas[isa] : "best");
            compiled_check(context, g, count, outputs, &(compiled_case){name, NULL, 0, -1, 1});
            eg_graph_destroy(g);
        }
        eg_context_destroy(context);
    }
}

/* Neither x nor the result need to lie in one piece. */
TEST(conv, of_parts) {
    eg_context *context = context_with(2, NULL);
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){2, 20, 6});
    eg_node w = eg_parameter(g, "w", 3, (uint64_t[]){3, 4, 3});
    eg_node turned = eg_transpose(g, eg_slice(g, x, 2, 1, 4), (unsigned[]){0, 2, 1});
    eg_node y = eg_conv(g, NULL, turned, w);
    eg_node both = eg_concat(g, 1, 2, (eg_node[]){y, eg_tanh(g, y)});
    const eg_output outputs[] = {{"both", both}, {"part", eg_slice(g, y, 2, 3, 5)}};
    compiled_check(context, g, 2, outputs, &(compiled_case){"parts", NULL, 0, -1, 1});
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- running */
typedef struct running {
    eg_context *context;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    float *data[4];
} running;

static void run_start(running *r, unsigned threads,
                      eg_graph *(*make)(eg_context *, void *, eg_output *, size_t *), void *user) {
    eg_error error;
    eg_output outputs[3];
    size_t count;
    eg_tensor tensor;
    const char *name;
    uint64_t state = 8;
    *r = (running){.context = context_with(threads, NULL)};
    eg_graph *g = make(r->context, user, outputs, &count);
    CHECK_OK(eg_compile(r->context, g, count, outputs, NULL, &r->program, &error), error);
    CHECK_OK(eg_weights_create(r->program, &r->weights, &error), error);
    CHECK_OK(eg_instance_create(r->program, r->weights, &r->instance, &error), error);
    for (size_t i = 0; (name = eg_program_leaf(r->program, EG_LEAF_INPUT, i, &tensor)); i++) {
        uint64_t n;
        eg_tensor_measure(&tensor, &n, NULL, NULL);
        tensor.data = r->data[i] = test_alloc((size_t)n * sizeof(float));
        for (uint64_t k = 0; k < n; k++) r->data[i][k] = test_random(&state);
        CHECK_OK(eg_instance_bind(r->instance, name, &tensor, &error), error);
    }
    eg_graph_destroy(g);
}

static size_t run_output(running *r, const char *name, float *out) {
    eg_tensor tensor;
    eg_error error;
    uint64_t n;
    CHECK_OK(eg_instance_output(r->instance, name, &tensor, &error), error);
    eg_tensor_measure(&tensor, &n, NULL, NULL);
    memcpy(out, tensor.data, (size_t)n * sizeof *out);
    return (size_t)n;
}

static void run_end(running *r) {
    for (int i = 0; i < 4; i++) free(r->data[i]);
    eg_instance_destroy(r->instance);
    eg_weights_destroy(r->weights);
    eg_program_release(r->program);
    eg_context_destroy(r->context);
}

static eg_graph *make_case(eg_context *context, void *user, eg_output *outputs, size_t *count) {
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    *count = build(g, user, false, outputs);
    return g;
}

static size_t run_case(unsigned threads, const conv_case *c, float *out) {
    running r;
    eg_error error;
    eg_tensor tensor;
    conv_case copy = *c;
    run_start(&r, threads, make_case, &copy);
    static const char *const names[] = {"y", "dx", "dw"};
    for (int i = 0; i < 3; i++)
        CHECK_OK(eg_instance_output(r.instance, names[i], &tensor, &error), error);
    CHECK_OK(eg_run(r.instance, NULL, &error), error);
    size_t n = 0;
    for (int i = 0; i < 3; i++) n += run_output(&r, names[i], out + n);
    run_end(&r);
    return n;
}

TEST(conv, threads_give_the_same_bits) {
    static float one[1 << 20], two[1 << 20];
    static const conv_case wide[] = {
        {4, {1, 32, 40, 40}, {48, 32, 3, 3}, {.before = {1, 1}, .after = {1, 1}}},
        {4, {3, 24, 40, 40}, {24, 1, 3, 3}, {.before = {1, 1}, .after = {1, 1}, .groups = 24}},
        {3, {4, 16, 500}, {32, 8, 5}, {.stride = {2}, .groups = 2}}};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        const size_t n = run_case(1, &wide[i], one);
        for (unsigned threads = test_quick() ? 4 : 2; threads < 5; threads++) {
            const size_t m = run_case(threads, &wide[i], two);
            CHECK(n == m && memcmp(one, two, n * sizeof *one) == 0, "case %zu on %u threads", i,
                  threads);
        }
    }
}

/* ---- what is compiled: one sample is worth several threads, and little is unfolded at once */
TEST(conv, blocks) {
    const conv_case c = {4, {1, 64, 56, 56}, {64, 64, 3, 3}, {.before = {1, 1}, .after = {1, 1}}};
    eg_context *context = context_with(1, NULL);
    eg_graph *g;
    eg_error error;
    eg_program *program;
    eg_output outputs[3];
    eg_step_info step = {.size = sizeof step};
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    build(g, &c, true, outputs);
    CHECK_OK(eg_compile(context, g, 3, outputs, NULL, &program, &error), error);
    CHECK(program->scratch_size < 150000, "%zu floats of scratch memory, all would be %d",
          program->scratch_size, 576 * 3136);
    CHECK_OK(eg_program_step(program, 0, &step, &error), error);
    const eg__step *own = &program->steps[0];
    const bool shared = own->kernel[1]->units > 0; /* no more threads than units */
    CHECK(strcmp(step.kernel, "conv") == 0 && own->items == 33 && (own->grain == 1 || shared),
          "%s: %zu items, at least %zu for a thread", step.kernel, own->items, own->grain);
    CHECK(step.rows == 64 && step.columns == 3136 && step.depth == 576, "%llu x %llu x %llu",
          (unsigned long long)step.rows, (unsigned long long)step.columns,
          (unsigned long long)step.depth);
    CHECK(step.flops == 2.0 * 64 * 3136 * 576, "%g FLOPs", step.flops);
    CHECK(step.bytes == 4.0 * (64 * 3136 * 2 + 64 * 576), "%g bytes", step.bytes);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* Filters that every step of a scan has in common: one convolution for all steps, before it; and a shorter run
 * convolves fewer steps. */
static eg_graph *make_scan(eg_context *context, void *user, eg_output *outputs, size_t *count) {
    eg_graph *g;
    eg_error error;
    (void)user;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 4, (uint64_t[]){6, 2, 3, 9});
    eg_node w = eg_input(g, "w", EG_F32, 3, (uint64_t[]){4, 3, 3});
    eg_node h0 = eg_input(g, "h", EG_F32, 3, (uint64_t[]){2, 4, 7});
    eg_node scan = eg_scan(g, 6, 0), h = eg_scan_carry(g, scan, h0);
    eg_scan_update(g, h, eg_tanh(g, eg_add(g, h, eg_conv(g, NULL, eg_scan_step(g, scan, x), w))));
    outputs[0] = (eg_output){"last", eg_scan_last(g, h)};
    *count = 1;
    return g;
}

TEST(conv, steps_of_a_scan) {
    running r;
    eg_error error;
    eg_tensor tensor;
    eg_step_info step = {.size = sizeof step};
    float want[56], got[56];
    run_start(&r, 1, make_scan, NULL);
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(r.program, &info);
    uint64_t rows = 0; /* of steps that are not inside of the scan */
    for (size_t i = 0; i < info.run_steps; i++) {
        CHECK_OK(eg_program_step(r.program, i, &step, &error), error);
        if (strcmp(step.kernel, "conv") == 0) rows += step.rows;
    }
    CHECK(rows == 6 * 2 * 4, "%llu rows", (unsigned long long)rows);
    CHECK_OK(eg_instance_output(r.instance, "last", &tensor, &error), error);
    CHECK_OK(eg_run(r.instance, &(eg_run_options){.length = 2}, &error), error);
    CHECK(run_output(&r, "last", got) == 56, "another size");
    for (int i = 0; i < 56; i++) {
        const int b = i / 28, o = i / 7 % 4, at = i % 7;
        double h = r.data[2][i];
        for (int t = 0; t < 2; t++) {
            double sum = 0;
            for (int k = 0; k < 9; k++)
                sum += (double)r.data[1][o * 9 + k] *
                       (double)r.data[0][((t * 2 + b) * 3 + k / 3) * 9 + at + k % 3];
            h = tanh(h + sum);
        }
        want[i] = (float)h;
        CHECK(fabsf(want[i] - got[i]) < 1e-5f, "%d: %g, not %g", i, (double)got[i],
              (double)want[i]);
    }
    run_end(&r);
}

/* ---- memory */
static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_status status = eg_graph_create(context, &g, error);
    if (status) return status;
    eg_node x = eg_input(g, "x", EG_F32, 4, (uint64_t[]){2, 4, 5, 6}), d[2];
    eg_node w = eg_parameter(g, "w", 4, (uint64_t[]){6, 2, 3, 3});
    eg_node y = eg_conv(g, &(eg_conv_options){.stride = {2, 1}, .groups = 2}, x, w);
    status =
        eg_gradient(g, eg_sum(g, eg_mul(g, y, y), EG_ALL_AXES, 0), 2, (eg_node[]){x, w}, d, error);
    const eg_output outputs[] = {{"dx", d[0]}, {"dw", d[1]}};
    if (!status) status = eg_compile(context, g, 2, outputs, NULL, &program, error);
    eg_program_release(program);
    eg_graph_destroy(g);
    return status;
}

TEST(conv, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed > 20, "only %d allocations", failed);
}

/* ---- nothing at all */
TEST(conv, of_nothing) {
    static const conv_case empty[] = {{3, {0, 4, 9}, {6, 4, 3}, {.groups = 1}},
                                      {4, {0, 4, 9, 9}, {4, 1, 3, 3}, {.groups = 4}}};
    eg_context *context = context_with(1, NULL);
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        eg_graph *g;
        eg_error error;
        eg_output outputs[3];
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const size_t count = build(g, &empty[i], true, outputs);
        compiled_check(context, g, count, outputs, &(compiled_case){"nothing", NULL, 0, -1, 1});
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

/* ---- mistakes */
TEST(conv, mistakes) {
    static const struct {
        unsigned x_rank, w_rank;
        uint64_t x[5], w[5];
        eg_conv_options options;
        eg_status status;
        const char *part;
    } rows[] = {{3,
                 3,
                 {2, 4, 9},
                 {6, 3, 3},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "conv: [2, 4, 9] does not fit filters [6, 3, 3] (groups 1"},
                {3,
                 3,
                 {2, 4, 9},
                 {6, 2, 3},
                 {.groups = 4},
                 EG_ERR_ARGUMENT,
                 "conv: [2, 4, 9] does not fit filters [6, 2, 3] (groups 4"},
                {3, 3, {2, 6, 9}, {4, 2, 3}, {.groups = 3}, EG_ERR_ARGUMENT, "[4, 2, 3] (groups 3"},
                {3,
                 3,
                 {2, 4, 9},
                 {6, 4, 10},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "[2, 4, 9] does not fit filters [6, 4, 10]"},
                {3,
                 3,
                 {2, 4, 9},
                 {6, 4, 5},
                 {.dilation = {3}, .before = {3}},
                 EG_ERR_ARGUMENT,
                 "[6, 4, 5] (groups 1, stride 1 1, dilation 1 3, padding 0 0, 3 0)"},
                {4,
                 3,
                 {2, 4, 9, 9},
                 {6, 4, 5},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "[2, 4, 9, 9] does not fit filters [6, 4, 5]"},
                {2,
                 2,
                 {4, 9},
                 {6, 4},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "[4, 9] does not fit filters [6, 4]"},
                {5,
                 5,
                 {2, 4, 9, 9, 9},
                 {6, 4, 3, 3, 3},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "[2, 4, 9, 9, 9] does not fit"},
                {3,
                 3,
                 {2, 0, 9},
                 {6, 0, 3},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "[2, 0, 9] does not fit filters [6, 0, 3]"},
                {3,
                 3,
                 {2, 4, 9},
                 {0, 4, 3},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "[2, 4, 9] does not fit filters [0, 4, 3]"},
                {3,
                 3,
                 {2, 4, 9},
                 {6, 4, 0},
                 {.groups = 0},
                 EG_ERR_ARGUMENT,
                 "[2, 4, 9] does not fit filters [6, 4, 0]"},
                {3,
                 3,
                 {2, 4, 9},
                 {6, 4, 3},
                 {.stride = {1 << 20}},
                 EG_ERR_ARGUMENT,
                 "conv: stride 1048576 0, dilation 0 0"},
                {3,
                 3,
                 {2, 4, 9},
                 {6, 4, 3},
                 {.before = {UINT32_MAX}},
                 EG_ERR_ARGUMENT,
                 "padding 4294967295 0, 0 0"},
                {3,
                 3,
                 {2, 4, 9},
                 {6, 4, 3},
                 {.before = {INT32_MAX}, .after = {INT32_MAX}},
                 EG_ERR_ARGUMENT,
                 "2147483647 2147483647"},
                {4,
                 4,
                 {1, 1, 50000, 50000},
                 {1, 1, 50000, 50000},
                 {.groups = 0},
                 EG_ERR_OVERFLOW,
                 "conv: the filter spans"}};
    eg_context *context = context_with(1, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_graph *g;
        eg_error error;
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const eg_node x = eg_input(g, "x", EG_F32, rows[i].x_rank, rows[i].x),
                      w = eg_input(g, "w", EG_F32, rows[i].w_rank, rows[i].w);
        CHECK(!eg_conv(g, &rows[i].options, x, w).id, "%zu gave a node", i);
        CHECK_FAILS(eg_graph_check(g, &error), error, rows[i].status, rows[i].part);
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}
