/* Families of transformers: a row of families.def each. No other code asks which family a model is
 * of. */
#ifndef EG__FAMILIES_H
#define EG__FAMILIES_H

#include "elegans/model.h"
#include "base/base.h"

typedef enum eg__family {
#define FAMILY(kind, ...) EG__FAMILY_##kind,
#include "nn/families.def"
    EG__FAMILIES
} eg__family;

typedef enum eg__norm { EG__NORM_LAYER, EG__NORM_RMS } eg__norm;

typedef enum eg__ffn_activation {
    EG__FFN_SILU,
    EG__FFN_GELU,     /* by erf */
    EG__FFN_GELU_TANH /* as GPT-2 has it */
} eg__ffn_activation;

/* Positional encoding; 0 = that of the family. */
enum { EG__POSITIONS_OWN, EG__POSITIONS_LEARNED, EG__POSITIONS_ROTARY, EG__POSITIONS_SINUSOIDAL };
const char *eg__positions_name(unsigned positions); /* "own", "learned" ...; NULL past the last */

/* The matrices of a layer. */
typedef enum eg__matrix {
    EG__MATRIX_Q,
    EG__MATRIX_K,
    EG__MATRIX_V,
    EG__MATRIX_QKV, /* the three in one, rows of q first */
    EG__MATRIX_O,
    EG__MATRIX_GATE,
    EG__MATRIX_UP,
    EG__MATRIX_DOWN,
    EG__MATRICES
} eg__matrix;
const char *eg__matrix_name(eg__matrix matrix); /* "attn_q" */

/* Which of them have a bias. */
enum {
    EG__BIAS_NONE = 0,
    EG__BIAS_QKV = 1 << EG__MATRIX_Q | 1 << EG__MATRIX_K | 1 << EG__MATRIX_V | 1 << EG__MATRIX_QKV,
    EG__BIAS_ALL = (1 << EG__MATRICES) - 1
};

typedef struct eg__traits {
    const char *name; /* "llama": in specs, in our files, in reports */
    eg__norm norm;
    bool norm_bias;      /* norms add something, too */
    bool norm_last;      /* norms come after each part unless a model says otherwise; else before */
    bool norm_embedding; /* one after the embedding */
    double epsilon;      /* default epsilon of the norms */
    unsigned bias;       /* EG__BIAS_ */
    eg__ffn_activation activation;
    bool gated; /* the feed-forward part: activation(gate) * up, else activation(up) */
    bool fused; /* q, k and v are one matrix: as many heads of keys as of queries */
    unsigned positions;
    bool causal;        /* causal */
    bool logits;        /* the output is logits; else the last layer's rows */
    bool grouped;       /* files may have fewer heads of keys, and heads of any width */
    bool window;        /* files may give a sliding window */
    bool tied;          /* a new model ties output and embedding */
    bool types;         /* tokens have kinds, which are embedded, too */
    eg_pooling pooling; /* default pooling of a text's rows */
} eg__traits;

const eg__traits *eg__family_traits(unsigned family);    /* NULL past the last */
const char *eg__family_name(unsigned family);            /* "llama"; the same */
bool eg__family_find(const char *name, eg__family *out); /* false = there is none */
static inline bool eg__traits_bias(const eg__traits *traits, eg__matrix matrix) {
    return traits->bias >> matrix & 1;
}

#endif
