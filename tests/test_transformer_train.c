/* Transformers that learn: slopes against differences, less memory for the same, and a text by heart. */
#include "graph/graph.h"
#include "nn/transformer.h"
#include "test_transformer.h"

#include <math.h>

AREA(transformer_train,
     "transformers that learn: gradients in double, layers computed again, a text")

/* ---- every slope of small ones against central differences, in double */
enum { BATCH = 2, TIME = 5, LEAVES = 64 };

typedef struct slopes {
    eg_graph *graph;
    eg_node loss, leaf[LEAVES], d[LEAVES];
    double *data[LEAVES];
    eg__binding bound[LEAVES];
    size_t parameters, bindings;
} slopes;

static double *bind(slopes *s, eg_node leaf) {
    const uint64_t n = eg__node_elements(eg__node_at(s->graph, leaf));
    double *data = test_alloc(n * sizeof *data);
    s->data[s->bindings] = data;
    s->bound[s->bindings++] = (eg__binding){leaf, data};
    return data;
}

/* Norms are about 1, all else about 0; the leaves are in the order of the graph. */
static void bind_parameters(slopes *s) {
    uint64_t state = 5;
    for (uint32_t i = 1; i <= s->graph->size; i++) {
        if (s->graph->nodes[i].op != EG__GRAPH_parameter) continue;
        s->leaf[s->parameters++] = (eg_node){i};
        const uint64_t n = eg__node_elements(&s->graph->nodes[i]);
        const double middle = strstr(s->graph->nodes[i].name, "norm.weight") ? 1 : 0;
        double *data = bind(s, (eg_node){i});
        for (uint64_t k = 0; k < n; k++) data[k] = middle + 0.5 * (double)test_random(&state);
    }
}

static double loss_of(slopes *s) {
    double loss = NAN, *out[] = {&loss};
    eg_error error;
    CHECK_OK(
        eg__graph_evaluate(s->graph, s->bindings, s->bound, 1, &s->loss, out, false, 7, &error),
        error);
    return loss;
}

static size_t check_leaf(slopes *s, const char *name, size_t leaf) {
    const eg__node *node = eg__node_at(s->graph, s->leaf[leaf]);
    const uint64_t n = eg__node_elements(node);
    double *d = test_alloc(n * sizeof *d), *out[] = {d};
    eg_error error;
    size_t steep = 0;
    CHECK_OK(
        eg__graph_evaluate(s->graph, s->bindings, s->bound, 1, &s->d[leaf], out, false, 7, &error),
        error);
    for (uint64_t i = 0; i < n; i++) {
        const double step = 1e-5, kept = s->data[leaf][i];
        s->data[leaf][i] = kept + step;
        const double up = loss_of(s);
        s->data[leaf][i] = kept - step;
        const double down = loss_of(s);
        s->data[leaf][i] = kept;
        const double slope = (up - down) / (2 * step);
        steep += fabs(slope) > 1e-4;
        CHECK(fabs(slope - d[i]) <= 1e-7 + 2e-6 * fabs(slope),
              "%s: '%s' element %llu: gradient %.9g, difference %.9g", name, node->name,
              (unsigned long long)i, d[i], slope);
    }
    free(d);
    return steep;
}

static void check_slopes(const char *name, const eg__transformer *t) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    eg_model_nodes nodes;
    slopes s = {0};
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    CHECK_OK(eg__transformer_new(context, t, &model, &error), error);
    CHECK_OK(eg_graph_create(context, &s.graph, &error), error);
    const eg_model_options options = {.batch = BATCH, .time = TIME};
    CHECK_OK(eg_model_build(model, s.graph, &options, &nodes, &error), error);
    bind_parameters(&s);
    double *tokens = bind(&s, nodes.x);
    eg_node target = eg_input(s.graph, "target", EG_F32, 3, (uint64_t[]){BATCH, TIME, 1});
    double *targets = bind(&s, target);
    for (int i = 0; i < BATCH * TIME; i++) {
        tokens[i] = (i * i + 3 * i) % (int)t->vocabulary;
        targets[i] = (i * 5 + 1) % (int)t->vocabulary;
    }
    s.loss = eg_loss_node(s.graph, EG_LOSS_CLASSES, nodes.y, target, (eg_node){0});
    CHECK_OK(eg_gradient(s.graph, s.loss, s.parameters, s.leaf, s.d, &error), error);
    CHECK(s.parameters == eg_model_count(model), "%s: %zu parameters", name, s.parameters);
    size_t steep = 0;
    for (size_t i = 0; s.d[0].id && i < s.parameters; i++) steep += check_leaf(&s, name, i);
    CHECK(steep > 300, "%s: only %zu slopes are not 0", name, steep);
    for (size_t i = 0; i < s.bindings; i++) free(s.data[i]);
    eg_graph_destroy(s.graph);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static const eg__transformer tiny = {.family = EG__FAMILY_LLAMA,
                                     .layers = 2,
                                     .width = 8,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .head = 4,
                                     .hidden = 6,
                                     .vocabulary = 7,
                                     .context = TIME,
                                     .types = 2,
                                     .epsilon = 1e-5,
                                     .rope_base = 100};

TEST(transformer_train, slopes) {
    eg__transformer t = tiny;
    check_slopes("llama", &t);
    t.interleaved = t.tied = true;
    t.window = 3;
    check_slopes("llama, tied, window 3", &t);
    t.family = EG__FAMILY_GPT2;
    t.kv_heads = 2;
    t.window = 0;
    check_slopes("gpt2", &t);
    t.family = EG__FAMILY_BERT;
    t.exact_gelu = true;
    check_slopes("bert", &t);
}

/* ---- training */
typedef struct school {
    eg_context *context;
    eg_model *model;
    eg_trainer *trainer;
} school;

static school open_school(const char *spec, const eg_train_options *options, const char *text) {
    school s;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &s.context, &error), error);
    CHECK_OK(eg_model_open(s.context, spec, &s.model, &error), error);
    CHECK_OK(eg_trainer_create(s.model, options, &s.trainer, &error), error);
    const eg_train_batch batch = eg_trainer_batch(s.trainer);
    const size_t length = strlen(text);
    for (size_t b = 0; b < options->batch; b++)
        for (size_t i = 0; i < options->time; i++) {
            const size_t at = b * 37 + i;
            batch.tokens[b * options->time + i] = (unsigned char)text[at % length];
            batch.target[b * options->time + i] = (float)(unsigned char)text[(at + 1) % length];
        }
    return s;
}

static void close_school(school *s) {
    eg_trainer_destroy(s->trainer);
    eg_model_destroy(s->model);
    eg_context_destroy(s->context);
}

static const char fable[] =
    "A worm of three hundred neurons finds its food by the smell of it; when the smell grows weaker "
    "it turns, and when it grows stronger it goes on. What it learns it keeps in its synapses. ";

/* Steps of length 1 without momentum: what the parameters become is the gradient. */
static void check_again(const char *spec) {
    eg_train_options options = {.batch = 2,
                                .time = 24,
                                .loss = EG_LOSS_CLASSES,
                                .optimizer = {.kind = EG_SGD, .learning_rate = 1}};
    eg_error error;
    eg_program_info info[2] = {0};
    school s[2];
    for (int again = 0; again < 2; again++) {
        eg_train_result result = {0};
        options.layers_again = again;
        s[again] = open_school(spec, &options, fable);
        eg_program_info_get(eg_trainer_program(s[again].trainer), &info[again]);
        CHECK_OK(eg_trainer_step(s[again].trainer, 0, &result, &error), error);
        CHECK(result.gradient_norm > 0.1, "%s: a gradient of %g", spec, result.gradient_norm);
        CHECK_OK(eg_trainer_store(s[again].trainer, s[again].model, &error), error);
    }
    CHECK(info[1].arena_bytes < info[0].arena_bytes * 3 / 4, "%s: %llu bytes, %llu without", spec,
          (unsigned long long)info[1].arena_bytes, (unsigned long long)info[0].arena_bytes);
    eg_tensor a, b;
    const char *name;
    for (size_t i = 0; (name = eg_model_tensor(s[0].model, i, &a, NULL)); i++) {
        uint64_t count = 0;
        eg_model_tensor(s[1].model, i, &b, NULL);
        CHECK_OK(eg_tensor_measure(&a, &count, NULL, &error), error);
        double worst = 0;
        for (uint64_t k = 0; k < count; k++)
            worst = test_worse(worst, fabs((double)((const float *)a.data)[k] -
                                           (double)((const float *)b.data)[k]));
        CHECK(worst <= 1e-6, "%s: '%s' is off by %g", spec, name, worst);
    }
    close_school(&s[0]);
    close_school(&s[1]);
}

/* Dense layers of a text's row are no part of what is trained, and stay. */
TEST(transformer_train, rows_stay) {
    eg__transformer t = tiny;
    t.rows_told = true;
    t.row_steps = 1;
    t.row_step[0] = (eg__row_step){.outputs = 3, .bias = true};
    const eg_train_options options = {.batch = BATCH, .time = TIME, .loss = EG_LOSS_CLASSES};
    eg_context *context;
    eg_model *model;
    eg_trainer *trainer;
    eg_error error;
    uint64_t state = 3;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg__transformer_new(context, &t, &model, &error), error);
    CHECK_OK(eg__model_fill(model, &error), error);
    for (size_t i = 0; i < model->value_count; i++) model->values[i] = test_random(&state);
    const eg__parameter *dense = eg__model_parameter(model, "dense.0.weight"),
                        *norm = eg__model_parameter(model, "output_norm.weight");
    const float kept = *eg__parameter_values(model, dense),
                old = *eg__parameter_values(model, norm);
    CHECK_OK(eg_trainer_create(model, &options, &trainer, &error), error);
    const eg_train_batch batch = eg_trainer_batch(trainer);
    for (int i = 0; i < BATCH * TIME; i++) batch.tokens[i] = i % 7, batch.target[i] = 3;
    CHECK_OK(eg_trainer_step(trainer, 0, NULL, &error), error);
    CHECK_OK(eg_trainer_store(trainer, model, &error), error);
    CHECK(*eg__parameter_values(model, dense) == kept, "a dense layer of rows has changed");
    CHECK(*eg__parameter_values(model, norm) != old, "nothing was stored");
    eg_trainer_destroy(trainer);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(transformer_train, layers_again) {
    check_again("llama:4:64,heads=4,kv=2,vocab=256,context=32");
    check_again("gpt2:4:64,heads=4,vocab=256,context=32");
    check_again("llama:4:64,heads=4,vocab=256,context=32,dropout=0.2");
}

static void check_learning(const char *spec, double below) {
    const eg_train_options options = {
        .batch = 4,
        .time = 32,
        .loss = EG_LOSS_CLASSES,
        .optimizer = {.kind = EG_ADAMW, .learning_rate = 3e-3, .clip_norm = 1}};
    eg_error error;
    eg_train_result result = {0};
    double first = 0, loss = 0;
    const float *outputs;
    school s = open_school(spec, &options, fable);
    const int steps = test_emulated() ? 6 : 60;
    for (int i = 0; i < steps; i++) {
        CHECK_OK(eg_trainer_step(s.trainer, 0, &result, &error), error);
        if (!i) first = result.loss;
    }
    CHECK_OK(eg_trainer_evaluate(s.trainer, &loss, &outputs, &error), error);
    CHECK(fabs(first - log(256.0)) < 0.2, "%s: a loss of %g before it learns", spec, first);
    CHECK(loss < (test_emulated() ? first - 1 : below), "%s: a loss of %g after %d steps", spec,
          loss, steps);
    /* what is stored says the same, token by token */
    CHECK_OK(eg_trainer_store(s.trainer, s.model, &error), error);
    eg_generator *g;
    const float *logits;
    double sum = 0;
    CHECK_OK(eg_generator_create(s.model, NULL, &g, &error), error);
    const eg_train_batch batch = eg_trainer_batch(s.trainer);
    for (size_t b = 0; g && b < options.batch; b++) {
        CHECK_OK(eg_generator_rewind(g, 0, &error), error);
        for (size_t i = b * options.time; i < (b + 1) * options.time; i++) {
            const uint32_t token = (uint32_t)batch.tokens[i];
            double all = 0;
            CHECK_OK(eg_generator_feed(g, &token, 1, &logits, &error), error);
            for (int k = 0; k < 256; k++) all += exp((double)logits[k]);
            sum += log(all) - (double)logits[(int)batch.target[i]];
        }
    }
    sum /= (double)(options.batch * options.time);
    CHECK(fabs(sum - loss) < 1e-3, "%s: a loss of %g, token by token %g", spec, loss, sum);
    eg_generator_destroy(g);
    close_school(&s);
}

TEST(transformer_train, by_heart) {
    check_learning("llama:2:64,vocab=256", 0.5);
    check_learning("gpt2:2:64,vocab=256,context=64", 0.5);
}
