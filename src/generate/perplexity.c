/* Perplexity of a decoder on a text: piece by piece, the second half of each is predicted. */
#include "elegans/generate.h"
#include "nn/transformer.h"

#include <math.h>

enum { LONGEST = 512 };

typedef struct looker { /* a program for pieces of one length */
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    int32_t *tokens;
    eg_tensor y;
} looker;

static void close_looker(eg_model *model, looker *l) {
    eg_instance_destroy(l->instance);
    eg_weights_destroy(l->weights);
    eg_program_release(l->program);
    eg__memory_give(model->memory, l->tokens);
}

static eg_status open_looker(eg_model *model, uint64_t piece, looker *l, eg_error *error) {
    const eg_model_options options = {.time = piece, .in_place = 1};
    eg_model_nodes nodes = {0};
    eg_graph *g = NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    *l = (looker){0};
    l->tokens = eg__memory_take_array(model->memory, EG_TAG_PROGRAM, (size_t)piece,
                                      sizeof *l->tokens, &reason);
    if (!l->tokens) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg_graph_create(model->context, &g, error);
    if (!status) status = eg_model_build(model, g, &options, &nodes, error);
    const eg_output output = {"y", nodes.y};
    if (!status) status = eg_compile(model->context, g, 1, &output, NULL, &l->program, error);
    eg_graph_destroy(g);
    if (!status) status = eg_model_lend(model, l->program, &l->weights, error);
    if (!status) status = eg_instance_create(l->program, l->weights, &l->instance, error);
    if (!status) status = eg_model_bind(model, l->instance, error);
    const eg_tensor tokens = {EG_I32, 2, {1, piece}, l->tokens};
    if (!status) status = eg_instance_bind(l->instance, "tokens", &tokens, error);
    return status ? status : eg_instance_output(l->instance, "y", &l->y, error);
}

/* -log2 of the probability of a token. */
static double surprise(const float *logits, size_t count, uint32_t token) {
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        if ((double)logits[i] > most) most = (double)logits[i];
    for (size_t i = 0; i < count; i++) sum += exp((double)logits[i] - most);
    return (log(sum) - ((double)logits[token] - most)) / log(2.0);
}

typedef struct sums {
    double bits, squares;
    uint64_t count;
} sums;

static void score(const looker *l, const uint32_t *tokens, uint64_t piece, size_t vocabulary,
                  sums *s) {
    const float *y = l->y.data;
    for (uint64_t i = piece / 2; i + 1 < piece; i++) {
        const double bits = surprise(y + i * vocabulary, vocabulary, tokens[i + 1]);
        s->bits += bits;
        s->squares += bits * bits;
        s->count++;
    }
}

static void tell(const sums *s, eg_surprise *out) {
    const double n = (double)s->count, mean = n > 0 ? s->bits / n : 0;
    const double variance = n > 1 ? (s->squares / n - mean * mean) / (n - 1) : 0;
    *out = (eg_surprise){s->count, mean, variance > 0 ? sqrt(variance) : 0};
}

eg_status eg_perplexity(eg_model *model, const uint32_t *tokens, size_t count, uint64_t piece,
                        int64_t begin, int (*stop)(void *user, const eg_surprise *now), void *user,
                        eg_surprise *out, eg_error *error) {
    if (!model || !tokens || !out || !model->transformer ||
        !eg__transformer_traits(model->transformer)->logits)
        return eg__fail(error, EG_ERR_ARGUMENT, "no decoder, tokens or output pointer");
    const eg__transformer *t = model->transformer;
    if (!piece) piece = t->context < LONGEST ? t->context : LONGEST;
    if (piece > t->context)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "pieces of %llu tokens exceed the model's context of %u",
                        (unsigned long long)piece, t->context);
    if (piece < 3)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "pieces of %llu tokens are too short to predict one",
                        (unsigned long long)piece);
    if (piece > count) piece = count;
    if (piece < 3)
        return eg__fail(error, EG_ERR_ARGUMENT, "%zu tokens are too few to predict one", count);
    eg_status status = eg__tokens_check(t, tokens, count, error);
    if (!status && begin >= (int64_t)t->vocabulary)
        status = eg__fail(error, EG_ERR_ARGUMENT, "the begin token %lld is not in the vocabulary",
                          (long long)begin);
    if (status) return status;
    looker l;
    sums s = {0};
    status = open_looker(model, piece, &l, error);
    for (uint64_t first = 0; !status && first + piece <= count; first += piece) {
        for (uint64_t i = 0; i < piece; i++) l.tokens[i] = (int32_t)tokens[first + i];
        if (begin >= 0) l.tokens[0] = (int32_t)begin;
        status = eg_run(l.instance, NULL, error);
        if (status) break;
        score(&l, tokens + first, piece, t->vocabulary, &s);
        tell(&s, out);
        if (stop && stop(user, out)) break;
    }
    close_looker(model, &l);
    return status;
}
