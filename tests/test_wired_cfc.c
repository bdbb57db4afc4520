/* The wired CfC with a backbone: what it computes, by its definition in double and against the unwired
 * cell; which sources it sees; its gradients. */
#include "test.h"
#include "elegans/elegans.h"
#include "nn/model.h"

#include <math.h>

AREA(wired_cfc, "a wired CfC with a backbone: its definition, its gradients, what it sees")

enum { TIME = 5, BATCH = 3, MANY = 96, WIDE = 64 };

/* One model, compiled with the gradients of the sum of squares by all parameters. */
typedef struct run {
    eg_context *context;
    eg_model *model;
    eg_model_info info;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    size_t count; /* of parameters with a gradient */
    char names[MANY][EG__NAME_MAX + 8];
    eg_tensor y, gradient[MANY];
} run;

static float x[TIME * BATCH * 16], timespans[TIME * BATCH];

static void fill(uint64_t inputs) {
    uint64_t seed = 5;
    for (size_t i = 0; i < TIME * BATCH * inputs; i++) x[i] = test_random(&seed);
    for (size_t i = 0; i < TIME * BATCH; i++) timespans[i] = 1.2f + test_random(&seed);
}

/* The gradients are left out when the model is of quantized numbers. */
static void start(run *r, bool training, bool gradients) {
    eg_error error = {0};
    eg_graph *g;
    eg_model_nodes nodes;
    const eg_model_options o = {.batch = BATCH, .time = TIME, .timespans = 1};
    r->info.size = sizeof r->info;
    eg_model_info_get(r->model, &r->info);
    CHECK_OK(eg_graph_create(r->context, &g, &error), error);
    CHECK_OK(eg_model_build(r->model, g, &o, &nodes, &error), error);
    eg_output outputs[MANY + 1] = {{"y", nodes.y}};
    eg_node wrt[MANY], d[MANY];
    for (uint32_t i = 1; gradients && i <= g->size && r->count < MANY; i++)
        if (g->nodes[i].op == EG__GRAPH_parameter) {
            snprintf(r->names[r->count], sizeof r->names[0], "d.%s", g->nodes[i].name);
            wrt[r->count++] = (eg_node){i};
        }
    eg_node loss = eg_sum(g, eg_mul(g, nodes.y, nodes.y), EG_ALL_AXES, 0);
    if (gradients) CHECK_OK(eg_gradient(g, loss, r->count, wrt, d, &error), error);
    for (size_t i = 0; i < r->count; i++) outputs[1 + i] = (eg_output){r->names[i], d[i]};
    const eg_compile_options compile = {.training = training};
    CHECK_OK(eg_compile(r->context, g, 1 + r->count, outputs, &compile, &r->program, &error),
             error);
    CHECK_OK(eg_weights_create(r->program, &r->weights, &error), error);
    CHECK_OK(eg_model_weights(r->model, r->weights, &error), error);
    CHECK_OK(eg_instance_create(r->program, r->weights, &r->instance, &error), error);
    const eg_tensor xs = {EG_F32, 3, {TIME, BATCH, r->info.inputs}, x};
    const eg_tensor ts = {EG_F32, 2, {TIME, BATCH}, timespans};
    CHECK_OK(eg_instance_bind(r->instance, "x", &xs, &error), error);
    CHECK_OK(eg_instance_bind(r->instance, "timespans", &ts, &error), error);
    CHECK_OK(eg_instance_output(r->instance, "y", &r->y, &error), error);
    for (size_t i = 0; i < r->count; i++)
        CHECK_OK(eg_instance_output(r->instance, r->names[i], &r->gradient[i], &error), error);
    CHECK_OK(eg_run(r->instance, NULL, &error), error);
    eg_graph_destroy(g);
}

static bool open_run(run *r, const char *spec) {
    eg_error error = {0};
    const eg_context_options options = {.threads = 1};
    CHECK_OK(eg_context_create(&options, &r->context, &error), error);
    CHECK_OK(eg_model_open(r->context, spec, &r->model, &error), error);
    return r->model != NULL;
}

static void close_run(run *r) {
    eg_instance_destroy(r->instance);
    eg_weights_destroy(r->weights);
    eg_program_release(r->program);
    eg_model_destroy(r->model);
    eg_context_destroy(r->context);
    *r = (run){0};
}

/* ---- the definition, in double, one sample after the other */
typedef struct definition {
    const eg_model *model;
    double *values; /* of all parameters, as the model has them */
} definition;

static size_t place_of(const eg_model *model, const eg__parameter *p) {
    size_t place = 0;
    for (const eg__parameter *q = model->parameters; q < p; q++) place += eg__parameter_size(q);
    return place;
}

static const double *values_of(const definition *d, const char *cell, const char *name,
                               const eg__parameter **out) {
    char full[EG__NAME_MAX];
    snprintf(full, sizeof full, "%s.%s", cell, name);
    const eg__parameter *p = eg__model_parameter(d->model, full);
    if (out) *out = p;
    return p ? d->values + place_of(d->model, p) : NULL;
}

static double activate(eg__activation activation, double z) {
    switch (activation) {
    case EG__LECUN_TANH: return 1.7159 * tanh(0.666 * z);
    case EG__SILU: return z / (1 + exp(-z));
    case EG__RELU: return z > 0 ? z : 0;
    case EG__TANH: return tanh(z);
    default: return z * (1 + erf(z / sqrt(2.0))) / 2;
    }
}

/* out = W q + b; column k counts only where seen[k], entry (j, k) only where mask has it. */
static void linear(const definition *d, const char *cell, const char *name, const double *q,
                   const double *seen, const double *mask, double *out) {
    char part[64];
    const eg__parameter *p = NULL;
    snprintf(part, sizeof part, "%s.weight", name);
    const double *w = values_of(d, cell, part, &p);
    snprintf(part, sizeof part, "%s.bias", name);
    const double *bias = values_of(d, cell, part, NULL);
    const size_t rows = (size_t)p->shape[0], columns = (size_t)p->shape[1];
    for (size_t j = 0; j < rows; j++) {
        out[j] = bias[j];
        for (size_t k = 0; k < columns; k++)
            if ((!seen || seen[k] != 0) && (!mask || mask[j * columns + k] != 0))
                out[j] += w[j * columns + k] * q[k];
    }
}

static void heads(const definition *d, const eg__layer *layer, const char *cell, const double *q,
                  const double *mask, double span, size_t units, double *h) {
    double f1[WIDE], f2[WIDE], a[WIDE], b[WIDE];
    linear(d, cell, "ff1", q, NULL, mask, f1);
    if (layer->mode == EG__CFC_PURE) {
        const double *big = values_of(d, cell, "A", NULL), *tau = values_of(d, cell, "w_tau", NULL);
        for (size_t j = 0; j < units; j++)
            h[j] = big[j] - big[j] * f1[j] * exp(-span * (fabs(tau[j]) + fabs(f1[j])));
        return;
    }
    linear(d, cell, "ff2", q, NULL, mask, f2);
    linear(d, cell, "time_a", q, NULL, NULL, a);
    linear(d, cell, "time_b", q, NULL, NULL, b);
    for (size_t j = 0; j < units; j++) {
        const double one = layer->keras ? f1[j] : tanh(f1[j]);
        const double two = layer->keras ? f2[j] : tanh(f2[j]);
        const double g = 1 / (1 + exp(-((layer->keras ? -span : span) * a[j] + b[j])));
        h[j] = layer->mode == EG__CFC_NO_GATE ? one + g * two : one * (1 - g) + g * two;
    }
}

/* One layer of the wiring: the sources that have a synapse into it, the backbone, dense heads. */
static void cell_step(const definition *d, const eg__layer *layer, unsigned index, const double *in,
                      size_t inputs, double *h, size_t units, double span) {
    char cell[32], name[24];
    double q[2 * WIDE], next[2 * WIDE], seen[2 * WIDE] = {0};
    const size_t sources = inputs + units;
    snprintf(cell, sizeof cell, "rnn_cell.layer_%u", index);
    const double *mask = values_of(d, cell, "sparsity_mask", NULL);
    for (size_t k = 0; k < sources; k++) {
        q[k] = k < inputs ? in[k] : h[k - inputs];
        for (size_t j = 0; j < units; j++) seen[k] += mask[j * sources + k];
    }
    for (unsigned i = 0; i < layer->backbone_count; i++) {
        snprintf(name, sizeof name, "backbone.%u", layer->dropout > 0 && i > 1 ? 3 * i - 1 : 2 * i);
        linear(d, cell, name, q, i ? NULL : seen, NULL, next);
        for (size_t k = 0; k < layer->backbone[i]; k++) q[k] = activate(layer->activation, next[k]);
    }
    heads(d, layer, cell, q, layer->backbone_count ? NULL : mask, span, units, h);
}

/* y [TIME][BATCH][outputs], and the sum of its squares. */
static double define(const definition *d, double *y) {
    const eg__layer *layer = &d->model->layers[0];
    const size_t outputs = layer->outputs;
    double loss = 0;
    for (size_t b = 0; b < BATCH; b++) {
        double h[EG__WIRED_MAX][WIDE] = {{0}}, in[WIDE];
        for (size_t t = 0; t < TIME; t++) {
            size_t inputs = layer->inputs;
            for (size_t k = 0; k < inputs; k++) in[k] = (double)x[(t * BATCH + b) * inputs + k];
            for (unsigned i = 0; i < layer->wired_count; i++) {
                const size_t units = layer->wired[i].units;
                cell_step(d, layer, i, in, inputs, h[i], units, (double)timespans[t * BATCH + b]);
                memcpy(in, h[i], units * sizeof *in);
                inputs = units;
            }
            for (size_t k = 0; k < outputs; k++) {
                y[(t * BATCH + b) * outputs + k] = in[k];
                loss += in[k] * in[k];
            }
        }
    }
    return loss;
}

static definition make_definition(const eg_model *model) {
    const eg__parameter *end = model->parameters + model->parameter_count;
    definition d = {model, test_alloc(place_of(model, end) * sizeof(double))};
    for (const eg__parameter *p = model->parameters; p < end; p++) {
        float *floats = test_alloc(eg__parameter_size(p) * sizeof *floats);
        double *to = d.values + place_of(model, p);
        eg__parameter_floats(model, p, floats);
        for (size_t i = 0; i < eg__parameter_size(p); i++) to[i] = (double)floats[i];
        free(floats);
    }
    return d;
}

static void check_output(const run *r, const char *spec) {
    double y[TIME * BATCH * WIDE], worst = 0;
    definition d = make_definition(r->model);
    define(&d, y);
    for (size_t i = 0; i < TIME * BATCH * r->info.outputs; i++)
        worst = test_worse(worst, fabs(y[i] - (double)((const float *)r->y.data)[i]));
    CHECK(worst < 5e-6, "%s: off by %g", spec, worst);
    free(d.values);
}

/* Central differences of the definition at some elements of every parameter; what has no synapse has
 * no gradient at all. */
static void check_gradients(const run *r, const char *spec) {
    double y[TIME * BATCH * WIDE];
    definition d = make_definition(r->model);
    for (size_t i = 0; i < r->count; i++) {
        const eg__parameter *p = eg__model_parameter(r->model, r->names[i] + 2);
        const size_t size = eg__parameter_size(p), columns = (size_t)p->shape[p->rank - 1];
        const float *got = r->gradient[i].data;
        for (size_t k = 0; k < size; k += 1 + size / 7) {
            double *at = &d.values[place_of(r->model, p) + k], before = *at, up, down;
            *at = before + 1e-5;
            up = define(&d, y);
            *at = before - 1e-5;
            down = define(&d, y);
            *at = before;
            const double want = (up - down) / 2e-5;
            CHECK(fabs(want - (double)got[k]) < 2e-4 * fmax(1, fabs(want)),
                  "%s: gradient of %s [%zu] is %g, not %g", spec, p->name, k, (double)got[k], want);
        }
        const eg__mask mask = eg__parameter_mask(r->model, p);
        for (size_t k = 0; mask.bits && k < size; k++)
            CHECK(eg__mask_has(&mask, k) || got[k] == 0,
                  "%s: a gradient where %s has no synapse, column %zu", spec, p->name, k % columns);
    }
    free(d.values);
}

/* Half of the sources of the random ones have no synapse. */
static const char *const specs[] = {
    "cfc:autoncp:20:4,in=5,backbone=16,seed=3",
    "cfc:autoncp:20:4,in=5,backbone=16+8,activation=silu,mode=no_gate,seed=4",
    "cfc:autoncp:12:3,in=4,backbone=9+7+5,dropout=0.25,activation=gelu",
    "cfc:ncp:6:5:3,in=5,sensory_fanout=3,inter_fanout=2,motor_fanin=2,mode=pure,backbone=8",
    "cfc:ncp:6:5:3,in=5,sensory_fanout=3,inter_fanout=2,motor_fanin=2,keras=1,backbone=8x2",
    "cfc:random:3,in=12,sparsity=0.9,backbone=8",
    "cfc:random:4,in=10,sparsity=0.9,backbone=8x2,mode=pure,activation=tanh",
    "cfc:full:7,in=3,backbone=11,self=0",
    "cfc:autoncp:20:4,in=5,backbone=0", /* ncps' own */
};
enum { SPECS = sizeof specs / sizeof *specs };

TEST(wired_cfc, definition) {
    unsigned unseen = 0;
    for (size_t i = 0; i < SPECS; i++) {
        run r = {0};
        if (!open_run(&r, specs[i])) continue;
        fill(r.model->layers[0].inputs);
        start(&r, false, true);
        check_output(&r, specs[i]);
        check_gradients(&r, specs[i]);
        unseen += r.model->layers[0].backbone_count && r.model->layers[0].wired[0].seen != NULL;
        close_run(&r);
    }
    CHECK(unseen == 2, "%u models with sources that have no synapse", unseen);
}

/* In quantized numbers it computes with what these stand for; what it does not see is 0. */
TEST(wired_cfc, small_numbers) {
    static const eg_quantization ways[] = {{.type = EG_I8, .per = EG_PER_CHANNEL},
                                           {.type = EG_I4, .per = EG_PER_BLOCK, .block = 8},
                                           {.type = EG_BF16}};
    for (size_t i = 0; i < SPECS; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            run r = {0};
            eg_error error = {0};
            const eg_model_quantization quantization = {.quantization = ways[k]};
            if (!open_run(&r, specs[i])) continue;
            fill(r.model->layers[0].inputs);
            CHECK_OK(eg_model_quantize(r.model, &quantization, &error), error);
            start(&r, false, false);
            check_output(&r, specs[i]);
            for (size_t p = 0; p < r.model->parameter_count; p++) {
                const eg__parameter *one = &r.model->parameters[p];
                const eg__mask mask = eg__parameter_mask(r.model, one);
                for (size_t j = 0; mask.bits && j < eg__parameter_size(one); j++)
                    CHECK(eg__mask_has(&mask, j) || r.model->values[one->offset + j] == 0,
                          "%s: %s is not 0 where there is no synapse", specs[i], one->name);
            }
            close_run(&r);
        }
}

/* Along a full wiring it is the unwired cell: the same initial values, outputs and gradients, bit for
 * bit, dropout included. */
TEST(wired_cfc, full_is_unwired) {
    static const char *const rest[] = {"backbone=16,seed=3",
                                       "backbone=16+8,activation=silu,mode=no_gate",
                                       "backbone=8x3,dropout=0.25,activation=relu",
                                       "backbone=12,mode=pure,activation=tanh",
                                       "backbone=12x2,keras=1,activation=gelu",
                                       "backbone=8,mixed=1,proj=3",
                                       "backbone=8,bidirectional=concat",
                                       "backbone=0,mode=no_gate"};
    fill(5);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        char spec[2][160];
        run r[2] = {{0}};
        snprintf(spec[0], sizeof spec[0], "cfc:full:9,in=5,%s", rest[i]);
        snprintf(spec[1], sizeof spec[1], "cfc:9,in=5,%s", rest[i]);
        bool good = true;
        for (int k = 0; k < 2; k++) good = open_run(&r[k], spec[k]) && good;
        for (int k = 0; good && k < 2; k++) start(&r[k], true, true);
        good = good && r[0].count == r[1].count;
        CHECK(good, "%s: %zu and %zu gradients", rest[i], r[0].count, r[1].count);
        uint64_t bytes = 0;
        if (good) eg_tensor_measure(&r[0].y, NULL, &bytes, NULL);
        CHECK(!good || memcmp(r[0].y.data, r[1].y.data, bytes) == 0, "%s: other outputs", rest[i]);
        for (size_t k = 0; good && k < r[0].count; k++) {
            const eg__parameter *a = eg__model_parameter(r[0].model, r[0].names[k] + 2);
            const eg__parameter *b = eg__model_parameter(r[1].model, r[1].names[k] + 2);
            const size_t size = eg__parameter_size(a) * sizeof(float);
            CHECK(size == eg__parameter_size(b) * sizeof(float) &&
                      memcmp(eg__parameter_values(r[0].model, a),
                             eg__parameter_values(r[1].model, b), size) == 0,
                  "%s: '%s' starts with other values than '%s'", rest[i], a->name, b->name);
            CHECK(memcmp(r[0].gradient[k].data, r[1].gradient[k].data, size) == 0,
                  "%s: another gradient of '%s'", rest[i], a->name);
        }
        close_run(&r[0]);
        close_run(&r[1]);
    }
}
