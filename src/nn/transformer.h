/* Transformers: encoders (BERT) and decoders (GPT-2, Llama), their parameters and their graphs.
 * families.def has the differences between families. */
#ifndef EG__TRANSFORMER_H
#define EG__TRANSFORMER_H

#include "nn/families.h"
#include "nn/model.h"

/* A step after pooling a text's rows: a dense layer, or L2 normalization. */
typedef enum eg__row_activation {
    EG__ROW_NONE,
    EG__ROW_TANH,
    EG__ROW_RELU,
    EG__ROW_GELU,
    EG__ROW_SIGMOID,
    EG__ROW_SILU,
    EG__ROW_ACTIVATIONS
} eg__row_activation;
const char *eg__row_activation_name(unsigned activation); /* "tanh"; NULL past the last */
enum { EG__ROW_STEPS_MAX = 8 };
typedef struct eg__row_step {
    uint32_t
        outputs; /* of a dense layer: parameters "dense.0.weight" and .bias; 0 = normalization */
    bool bias;
    eg__row_activation activation;
} eg__row_step;

struct eg__transformer {
    eg__family family;
    uint32_t layers, width, heads, kv_heads, head; /* head: columns of one */
    uint32_t hidden;                               /* of the feed-forward part */
    uint32_t vocabulary, context;                  /* vocabulary size, and context length */
    uint32_t types;                                /* kinds of a token, where the family has them */
    double epsilon;                                /* of the norms */
    double rope_base, dropout;
    double attention_scale; /* of the scores; 0 = 1 / sqrt(head) */
    uint32_t window;        /* sliding window in tokens; 0 = all */
    uint32_t positions;
    bool pre_norm;       /* where the family has norms after each part: this one has them before */
    bool interleaved;    /* rotary pairs are neighbours */
    bool tied;           /* output and embedding are tied */
    bool exact_gelu;     /* by erf, else by tanh */
    bool scale_by_layer; /* scores are divided by the number of the layer, from 1 */
    eg_pooling pooling;
    bool rows_told; /* the steps were given; else the row is normalized */
    uint32_t row_steps;
    eg__row_step row_step[EG__ROW_STEPS_MAX];
};

static inline const eg__traits *eg__transformer_traits(const eg__transformer *t) {
    return eg__family_traits(t->family);
}
static inline uint32_t eg__transformer_positions(const eg__transformer *t) {
    return t->positions ? t->positions : eg__transformer_traits(t)->positions;
}
/* Norms come first: all decoders do so. */
static inline bool eg__transformer_pre(const eg__transformer *t) {
    return !eg__transformer_traits(t)->norm_last || t->pre_norm;
}
/* The defaults of a family, without sizes. */
static inline eg__transformer eg__transformer_begin(eg__family family) {
    const eg__traits *traits = eg__family_traits(family);
    return (eg__transformer){.family = family,
                             .exact_gelu = traits->activation == EG__FFN_GELU,
                             .pooling = traits->pooling};
}

/* ---- rows.c */
uint32_t eg__row_width(const eg__transformer *t); /* width of a text's embedding */
/* The dense layers' values, one behind the other, matrix before bias; NULL with EG_OK = there are none. */
eg_status eg__rows_take(const eg_model *model, float **out, eg_error *error);
/* `count` rows of the last layer become one of eg__row_width numbers. `scaled`: 1 = normalized at the end, -1 =
 * never, 0 = as the model has it. `dense` is what eg__rows_take gave; `room` has twice the widest row. */
void eg__row_pool(const eg__transformer *t, eg_pooling pooling, int scaled, const float *dense,
                  const float *y, size_t count, double *room, float *row);
size_t eg__row_widest(const eg__transformer *t);

/* Limits for files: anything beyond is a mistake or an attack. */
enum {
    EG__TRANSFORMER_LAYERS_MAX = 512,
    EG__TRANSFORMER_WIDTH_MAX = 1 << 17,
    EG__TRANSFORMER_TOKENS_MAX = 1 << 22
};

/* Checks the description and makes a model with all its parameters, without values: eg__model_fill
 * allocates them, or the caller sets where they are in a file. */
eg_status eg__transformer_new(eg_context *context, const eg__transformer *t, eg_model **out,
                              eg_error *error);
eg_status eg__transformer_initialise(eg_model *model, uint64_t seed, eg_error *error);
/* Parses the part of "llama:6:384,heads=6,vocab=256" after the family's colon. */
eg_status eg__transformer_from_spec(eg_context *context, const char *spec, bool outline,
                                    eg_model **out, eg_error *error);
bool eg__transformer_is_spec(const char *text);

/* EG_ERR_ARGUMENT names a token that the model does not know. */
eg_status eg__tokens_check(const eg__transformer *t, const uint32_t *tokens, size_t count,
                           eg_error *error);

/* ---- as a graph */
typedef struct eg__transformer_options {
    uint64_t batch, time;
    bool in_place; /* weights in a file are used in place */
    bool last;     /* only the last position */
    bool hidden;   /* no logits */
    bool lengths;  /* an input "lengths": tokens of each sample */
    /* with a cache: inputs "positions", "slots", "pages" and "lengths" beside "tokens" */
    uint64_t slots, page; /* 0 = no cache */
    uint64_t pages;       /* of one text, at most */
    eg_type cache;
} eg__transformer_options;
typedef struct eg__transformer_nodes {
    eg_node tokens, lengths, y;
    eg_node given[EG__TRANSFORMER_LAYERS_MAX]; /* to each layer */
} eg__transformer_nodes;
eg_status eg__transformer_build(const eg_model *model, eg_graph *graph,
                                const eg__transformer_options *options, eg__transformer_nodes *out,
                                eg_error *error);

#endif
