/* A graph as two programs gives what it gives as one. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(compile_split, "forward and backward programs against the whole graph as one")

enum { MANY = 64, TIME = 5, BATCH = 3, NAME = 80 };

/* A model and the gradients of sum(y dy) + sum(hn dhn) by its parameters and by x. */
typedef struct whole {
    eg_graph *graph;
    eg_model_nodes nodes;
    eg_node late[3];
    eg_output outputs[MANY];
    char names[MANY][NAME];
    size_t late_count, count;
} whole;

static eg_node late_sum(whole *w, eg_node node, const char *name) {
    eg_node_info info = {.size = sizeof info};
    eg_graph_node(w->graph, node, &info, NULL);
    eg_node given = eg_input(w->graph, name, EG_F32, info.rank, info.shape);
    w->late[w->late_count++] = given;
    return eg_sum(w->graph, eg_mul(w->graph, node, given), EG_ALL_AXES, 0);
}

static void whole_build(whole *w, eg_context *context, const char *spec) {
    eg_model *model;
    eg_error error = {0};
    eg_node wrt[MANY], d[MANY], loss;
    size_t count = 0;
    const eg_model_options options = {
        .batch = BATCH, .time = TIME, .batch_first = 1, .timespans = 1, .state = 1};
    memset(w, 0, sizeof *w);
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    CHECK_OK(eg_graph_create(context, &w->graph, &error), error);
    CHECK_OK(eg_model_build(model, w->graph, &options, &w->nodes, &error), error);
    loss = eg_add(w->graph, late_sum(w, w->nodes.y, "dy"), late_sum(w, w->nodes.final[0], "dhn"));
    const size_t size = eg_graph_size(w->graph);
    for (uint32_t i = 1; i <= size; i++) {
        eg_node_info info = {.size = sizeof info};
        eg_graph_node(w->graph, (eg_node){i}, &info, NULL);
        if (strcmp(info.operation, "parameter") != 0 && i != w->nodes.x.id) continue;
        snprintf(w->names[count], NAME, "d.%s", info.name);
        wrt[count++] = (eg_node){i};
    }
    CHECK_OK(eg_gradient(w->graph, loss, count, wrt, d, &error), error);
    for (size_t i = 0; i < count; i++) w->outputs[i] = (eg_output){w->names[i], d[i]};
    w->outputs[count++] = (eg_output){"y", w->nodes.y};
    w->outputs[count++] = (eg_output){"hn", w->nodes.final[0]};
    w->count = count;
    eg_model_destroy(model);
}

/* ---- running: values follow from names, so they are the same in every program */
typedef struct memory {
    char name[NAME];
    float *data;
    size_t count;
} memory;
typedef struct values {
    memory list[4 * MANY];
    size_t count;
} values;

static size_t elements(const eg_tensor *t) {
    size_t n = 1;
    for (unsigned i = 0; i < t->rank; i++) n *= (size_t)t->shape[i];
    return n;
}

static memory *value_of(values *v, const char *name, size_t count) {
    for (size_t i = 0; i < v->count; i++)
        if (!strcmp(v->list[i].name, name)) return &v->list[i];
    memory *m = &v->list[v->count++];
    snprintf(m->name, NAME, "%s", name);
    m->data = test_alloc((count + 1) * sizeof(float));
    m->count = count;
    uint64_t state = 5;
    for (const char *c = name; *c; c++) state = state * 31 + (unsigned char)*c;
    for (size_t i = 0; i < count; i++)
        m->data[i] = (float)(test_random(&state) * 0.4 + (strcmp(name, "timespans") ? 0 : 0.6));
    return m;
}

static void bind_all(eg_instance *instance, const eg_program *program, values *v) {
    eg_error error = {0};
    for (int outputs = 0; outputs < 2; outputs++) {
        eg_tensor leaf;
        const char *name;
        for (size_t i = 0;
             (name = eg_program_leaf(program, outputs ? EG_LEAF_OUTPUT : EG_LEAF_INPUT, i, &leaf));
             i++) {
            leaf.data = value_of(v, name, elements(&leaf))->data;
            CHECK_OK(eg_instance_bind(instance, name, &leaf, &error), error);
        }
    }
}

static eg_weights *weights_for(eg_program *program, values *v) {
    eg_weights *weights;
    eg_error error = {0};
    eg_tensor leaf;
    const char *name;
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    for (size_t i = 0; (name = eg_program_leaf(program, EG_LEAF_PARAMETER, i, &leaf)); i++) {
        leaf.data = value_of(v, name, elements(&leaf))->data;
        CHECK_OK(eg_weights_set(weights, name, &leaf, &error), error);
    }
    return weights;
}

static void run(eg_program *program, eg_weights *weights, values *v) {
    eg_instance *instance;
    eg_error error = {0};
    const eg_run_options options = {.size = sizeof options, .seed = 7};
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    bind_all(instance, program, v);
    CHECK_OK(eg_run(instance, &options, &error), error);
    eg_instance_destroy(instance);
}

static void values_free(values *v) {
    for (size_t i = 0; i < v->count; i++) free(v->list[i].data);
    free(v);
}

static values *run_whole(eg_context *context, const whole *w, const eg_compile_options *options) {
    values *v = calloc(1, sizeof *v);
    eg_program *program;
    eg_error error = {0};
    CHECK_OK(eg_compile(context, w->graph, w->count, w->outputs, options, &program, &error), error);
    eg_weights *weights = weights_for(program, v);
    run(program, weights, v);
    eg_weights_destroy(weights);
    eg_program_release(program);
    return v;
}

static bool has_leaf(const eg_program *program, eg_leaf_kind kind, const char *name) {
    const char *other;
    for (size_t i = 0; (other = eg_program_leaf(program, kind, i, NULL)); i++)
        if (!strcmp(other, name)) return true;
    return false;
}

static values *run_split(eg_context *context, const whole *w, const eg_compile_options *options) {
    values *v = calloc(1, sizeof *v);
    eg_program *first, *second;
    eg_error error = {0};
    CHECK_OK(eg_compile_split(context, w->graph, w->late_count, w->late, w->count, w->outputs,
                              options, &first, &second, &error),
             error);
    CHECK(has_leaf(first, EG_LEAF_OUTPUT, "y") && !has_leaf(first, EG_LEAF_INPUT, "dy") &&
              has_leaf(first, EG_LEAF_OUTPUT, "kept.0"),
          "the forward program");
    CHECK(has_leaf(second, EG_LEAF_OUTPUT, "d.x") && has_leaf(second, EG_LEAF_INPUT, "dy") &&
              has_leaf(second, EG_LEAF_INPUT, "kept.0") && !has_leaf(second, EG_LEAF_OUTPUT, "y"),
          "the backward program");
    eg_weights *weights = weights_for(first, v);
    run(first, weights, v);
    run(second, weights, v);
    eg_weights_destroy(weights);
    eg_program_release(first);
    eg_program_release(second);
    return v;
}

static void compare(const whole *w, values *a, values *b, const char *spec) {
    for (size_t i = 0; i < w->count; i++) {
        const memory *x = value_of(a, w->outputs[i].name, 0),
                     *y = value_of(b, w->outputs[i].name, 0);
        double worst = 0, largest = 1;
        CHECK(x->count == y->count, "%s: %s has %zu and %zu elements", spec, x->name, x->count,
              y->count);
        for (size_t k = 0; k < x->count && k < y->count; k++) {
            worst = test_worse(worst, fabs((double)x->data[k] - (double)y->data[k]));
            largest = fmax(largest, fabs((double)x->data[k]));
        }
        CHECK(worst <= 2e-6 * largest, "%s: %s differs by %g of %g", spec, x->name, worst, largest);
    }
}

TEST(compile_split, as_one) {
    static const char *const specs[] = {
        "cfc:autoncp:14:3,in=4", "cfc:6,in=4,backbone=8x2,dropout=0.5,mixed=1",
        "cfc:7,in=4,mode=pure,proj=2", "ltc:autoncp:14:3,in=4", "ltc:5,in=4,mixed=1,explicit=1"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int training = 0; training < 2; training++) {
            eg_context *context;
            eg_error error = {0};
            whole w;
            const eg_compile_options options = {.size = sizeof options, .training = training};
            CHECK_OK(eg_context_create(NULL, &context, &error), error);
            whole_build(&w, context, specs[i]);
            values *one = run_whole(context, &w, &options), *two = run_split(context, &w, &options);
            compare(&w, one, two, specs[i]);
            values_free(one);
            values_free(two);
            eg_graph_destroy(w.graph);
            eg_context_destroy(context);
        }
}

/* What no late input reaches is the first program alone; the second still has all parameters. */
TEST(compile_split, nothing_late) {
    eg_context *context;
    eg_graph *g;
    eg_program *first, *second;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const uint64_t n = 3;
    eg_node x = eg_input(g, "x", EG_F32, 1, &n), p = eg_parameter(g, "p", 1, &n);
    eg_node late = eg_input(g, "late", EG_F32, 1, &n);
    (void)eg_parameter(g, "unused", 1, &n);
    const eg_output outputs[] = {{"y", eg_mul(g, x, p)}};
    CHECK_OK(eg_compile_split(context, g, 1, &late, 1, outputs, NULL, &first, &second, &error),
             error);
    CHECK(has_leaf(first, EG_LEAF_OUTPUT, "y") && !has_leaf(first, EG_LEAF_INPUT, "late"), "first");
    CHECK(!eg_program_leaf(second, EG_LEAF_OUTPUT, 0, NULL), "an output of the second");
    CHECK(has_leaf(first, EG_LEAF_PARAMETER, "unused"), "first: unused");
    CHECK(has_leaf(second, EG_LEAF_PARAMETER, "p"), "second: p");
    CHECK(has_leaf(second, EG_LEAF_PARAMETER, "unused"), "second: unused");
    eg_program_release(first);
    eg_program_release(second);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

TEST(compile_split, refused) {
    eg_context *context;
    eg_graph *g;
    eg_program *first, *second;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const uint64_t n = 3;
    eg_node x = eg_input(g, "x", EG_F32, 1, &n), y = eg_neg(g, x), none = {0};
    const eg_output good[] = {{"y", y}}, bad[] = {{"y", none}},
                    inside[] = {{"y", eg_scan(g, 2, 0)}};
    CHECK_FAILS(eg_compile_split(context, g, 1, &y, 1, good, NULL, &first, &second, &error), error,
                EG_ERR_ARGUMENT, "late input 0");
    CHECK(!first && !second, "programs in spite of that");
    CHECK_FAILS(eg_compile_split(context, g, 1, &x, 1, bad, NULL, &first, &second, &error), error,
                EG_ERR_ARGUMENT, "output 0");
    CHECK_FAILS(eg_compile_split(context, g, 1, &x, 1, inside, NULL, &first, &second, &error),
                error, EG_ERR_ARGUMENT, "output 0");
    CHECK_FAILS(eg_compile_split(context, g, 1, &x, 1, good, NULL, &first, NULL, &error), error,
                EG_ERR_ARGUMENT, "output pointer");
    eg_node s = eg_state(g, "s", 1, &n);
    eg_update(g, s, x);
    CHECK_FAILS(eg_compile_split(context, g, 1, &x, 1, good, NULL, &first, &second, &error), error,
                EG_ERR_UNSUPPORTED, "states");
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    eg_graph *g;
    eg_program *first = NULL, *second = NULL;
    eg_status status = eg_graph_create(context, &g, error);
    if (status) return status;
    const uint64_t n = 3;
    eg_node x = eg_input(g, "x", EG_F32, 1, &n), late = eg_input(g, "late", EG_F32, 1, &n);
    eg_node p = eg_parameter(g, "p", 1, &n), h = eg_tanh(g, eg_mul(g, x, p));
    const eg_output outputs[] = {{"h", h}, {"d", eg_mul(g, late, eg_mul(g, h, p))}};
    status = eg_graph_check(g, error);
    if (!status)
        status = eg_compile_split(context, g, 1, &late, 2, outputs, NULL, &first, &second, error);
    CHECK(!status == (first != NULL) && !status == (second != NULL), "programs and status");
    eg_program_release(first);
    eg_program_release(second);
    eg_graph_destroy(g);
    return status;
}

TEST(compile_split, every_allocation) {
    const int count = test_every_allocation_within(attempt, NULL);
    CHECK(count > 20, "%d allocations", count);
}
