/* Compiled programs against the evaluation of the same graph in double. */
#include "graph_rules.h"
#include "test.h"
#include "elegans/elegans.h"
#include "test_compile.h"

#include <math.h>

AREA(compile, "compiled programs against the same graph in double")

static float *as_float(const double *from, size_t n) {
    float *to = test_alloc((n + 1) * sizeof *to);
    for (size_t i = 0; i < n; i++) to[i] = (float)from[i];
    return to;
}

/* What lives at once is never more than the bound, and once as much: in a run, and in each scan. */
static void check_live(const eg_program *program, const char *name) {
    eg_program_info info = {.size = sizeof info};
    eg_step_info step = {.size = sizeof step}, inside = {.size = sizeof inside};
    uint64_t most = 0;
    eg_program_info_get(program, &info);
    for (size_t i = 0; i < info.run_steps; i++) {
        CHECK(eg_program_step(program, i, &step, NULL) == EG_OK, "no step %zu", i);
        if (step.live_bytes > most) most = step.live_bytes;
        uint64_t most_inside = 0;
        for (uint64_t k = 0; k < step.body_steps; k++) {
            CHECK(eg_program_step(program, step.body + k, &inside, NULL) == EG_OK, "no step");
            if (inside.live_bytes > most_inside) most_inside = inside.live_bytes;
        }
        CHECK(!step.body_steps || most_inside == step.live_bytes,
              "%s: %llu bytes live in a scan, and %llu in its steps", name,
              (unsigned long long)step.live_bytes, (unsigned long long)most_inside);
    }
    CHECK(most == info.arena_bound_bytes, "%s: at most %llu bytes live, not %llu", name,
          (unsigned long long)most, (unsigned long long)info.arena_bound_bytes);
}

/* Leaves get random values; outputs must be those of eg__graph_evaluate. */
void compiled_check(eg_context *context, eg_graph *g, size_t count, const eg_output *outputs,
                    const compiled_case *c) {
    enum { MANY = 64 };
    eg__binding bound[MANY];
    size_t bindings = 0;
    uint64_t state = 17;
    eg_error error = {0};
    eg_compile_options options = {.training = c->training, .passes = c->passes};
    eg_program *program = NULL;
    CHECK_OK(eg_compile(context, g, count, outputs, &options, &program, &error), error);
    if (!program) {
        test_fail(__FILE__, __LINE__, "%s: %s", c->name, error.message);
        return;
    }
    eg_weights *weights = NULL;
    eg_instance *instance = NULL;
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    float *given[MANY] = {0};
    for (uint32_t i = 1; i <= g->size; i++) {
        const eg__node *node = &g->nodes[i];
        const bool is_state = node->op == EG__GRAPH_state;
        if (node->op != EG__GRAPH_input && node->op != EG__GRAPH_parameter && !is_state) continue;
        const size_t n = (size_t)eg__node_elements(node);
        double *data = test_alloc((n + 1) * sizeof *data);
        for (size_t k = 0; k < n; k++) {
            data[k] = (float)(c->low + (c->high - c->low) * (test_random(&state) + 1) / 2);
            if (is_state) data[k] = 0;
            if (node->type == EG_I32) data[k] = floor(data[k]);
        }
        given[bindings] = as_float(data, n);
        if (node->type == EG_I32)
            for (size_t k = 0; k < n; k++) ((int32_t *)given[bindings])[k] = (int32_t)data[k];
        eg_tensor tensor = {node->type, node->rank, {0}, given[bindings]};
        memcpy(tensor.shape, node->shape, sizeof tensor.shape);
        bound[bindings++] = (eg__binding){{i}, data};
        if (node->op == EG__GRAPH_input)
            CHECK_OK(eg_instance_bind(instance, node->name, &tensor, &error), error);
        else if (node->op == EG__GRAPH_parameter)
            CHECK_OK(eg_weights_set(weights, node->name, &tensor, &error), error);
    }
    eg_tensor got[MANY];
    double *want[MANY];
    eg_node nodes[MANY];
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(eg_instance_output(instance, outputs[i].name, &got[i], &error), error);
        nodes[i] = outputs[i].node;
        want[i] =
            test_alloc((size_t)(eg__node_elements(eg__node_at(g, nodes[i])) + 1) * sizeof **want);
    }
    eg_run_options run = {.seed = 7};
    for (int turn = 0; turn < 2; turn++) { /* nothing of the first run may be left in the second */
        eg_instance_reset(instance);
        CHECK_OK(eg_run(instance, &run, &error), error);
    }
    CHECK_OK(eg__graph_evaluate(g, bindings, bound, count, nodes, want, c->training, 7, &error),
             error);
    for (size_t i = 0; i < count; i++) {
        const eg__node *node = eg__node_at(g, nodes[i]);
        double worst = 0, size = 1e-6;
        for (size_t k = 0; k < (size_t)eg__node_elements(node); k++) {
            const double value = node->type == EG_I32 ? ((const int32_t *)got[i].data)[k]
                                                      : (double)((const float *)got[i].data)[k];
            const double off = fabs(value - want[i][k]);
            if (isnan(value) && isnan(want[i][k])) continue;
            if (!(off <= worst)) worst = off;
            if (isfinite(want[i][k])) size = fmax(size, fabs(want[i][k]));
        }
        CHECK(worst <= 3e-5 * (1 + size), "%s (passes %s): output '%s' is off by %g of %g", c->name,
              c->passes ? c->passes : "all", outputs[i].name, worst, size);
        free(want[i]);
    }
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program, &info);
    check_live(program, c->name);
    CHECK(info.arena_bytes <= 1.15 * (double)info.arena_bound_bytes ||
              (c->passes && strstr(c->passes, "reuse")) ||
              (c->passes && !strcmp(c->passes, "none")),
          "%s: an arena of %llu bytes where %llu are needed", c->name,
          (unsigned long long)info.arena_bytes, (unsigned long long)info.arena_bound_bytes);
    for (size_t i = 0; i < bindings; i++) {
        free(bound[i].data);
        free(given[i]);
    }
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
}

/* Leaves are inputs, parameters, or take turns: the prologue takes what it can. */
static void check_rule(eg_context *context, const graph_rule *r, int mode, const char *passes) {
    eg_graph *g;
    eg_error error = {0};
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node leaf[RULE_LEAVES], d[RULE_LEAVES];
    for (unsigned i = 0; i < r->leaves; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", i);
        const bool input = mode == 0 || (mode == 2 && i % 2 == 0);
        leaf[i] = input ? eg_input(g, name, EG_F32, r->leaf[i].rank, r->leaf[i].shape)
                        : eg_parameter(g, name, r->leaf[i].rank, r->leaf[i].shape);
    }
    eg_node y = r->build(g, leaf), loss = weighted_loss(g, y);
    CHECK_OK(eg_gradient(g, loss, r->leaves, leaf, d, &error), error);
    static const char *const names[] = {"d0", "d1", "d2", "d3"};
    eg_output outputs[RULE_LEAVES + 2] = {{"y", y}, {"loss", loss}};
    for (unsigned i = 0; i < r->leaves; i++) outputs[2 + i] = (eg_output){names[i], d[i]};
    compiled_case c = {r->name, passes, 1, r->low, r->high};
    compiled_check(context, g, 2 + r->leaves, outputs, &c);
    eg_graph_destroy(g);
}

static void check_rules(const char *passes) {
    eg_context *context;
    eg_error error;
    eg_context_options options = {.threads = 2};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    for (size_t i = 0; i < graph_rule_count; i++)
        for (int mode = 0; mode < 3; mode++) check_rule(context, &graph_rules[i], mode, passes);
    eg_context_destroy(context);
}

TEST(compile, rules_plain) { check_rules("none"); }
TEST(compile, rules) { check_rules(NULL); }
TEST(compile, rules_each_pass_off) {
    for (size_t i = 0; eg_pass_name(i); i++) {
        char passes[64];
        snprintf(passes, sizeof passes, "all,-%s", eg_pass_name(i));
        check_rules(passes);
    }
}

/* (q - t) * p + (q - t), where the difference may lie where t lay, is no (q - t) * p + t. */
TEST(compile, a_difference_that_is_added) {
    eg_context *context;
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){40, 1});
    eg_node p = eg_input(g, "p", EG_F32, 1, (uint64_t[]){1});
    eg_node q = eg_input(g, "q", EG_F32, 1, (uint64_t[]){1});
    eg_node difference = eg_sub(g, q, eg_tanh(g, x));
    eg_node z = eg_add(g, eg_mul(g, difference, p), difference);
    compiled_check(context, g, 1, &(eg_output){"z", z},
                   &(compiled_case){"difference", NULL, 0, 0.1, 1});
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
