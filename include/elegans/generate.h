/* Text generation with decoders, text embeddings, perplexity.
 * Experimental. */
#ifndef ELEGANS_GENERATE_H
#define ELEGANS_GENERATE_H

#include "elegans/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- generators: a decoder with a KV cache of the tokens it was given.
 * Opaque; a generator and its forks are used by one thread at a time. */
typedef struct eg_generator eg_generator;

typedef struct eg_generator_options { /* all zero = defaults */
    size_t size;        /* sizeof(eg_generator_options); 0 = the fields of version 0.1 */
    uint64_t context;   /* tokens of a text at most; 0 = the model's context, at most 4096 */
    uint64_t sequences; /* texts at once, see eg_generator_fork; 0 = 1 */
    uint64_t chunk;     /* tokens of a prompt that are processed at once; 0 = 128 */
    eg_type cache;      /* type of keys and values: EG_F32, EG_F16 or EG_I8 */
} eg_generator_options;
/* The model must not change while the generator exists, which reads matrices of the model's file in place. You own
 * *out. EG_ERR_ARGUMENT for a model that is not a decoder. The whole cache is allocated here (EG_TAG_CACHE):
 * EG_ERR_BUDGET when it does not fit. */
EG_API eg_status eg_generator_create(eg_model *model, const eg_generator_options *options,
                                     eg_generator **out, eg_error *error);
EG_API void eg_generator_destroy(eg_generator *generator); /* NULL is fine */
/* Another text that begins like this one: full pages of the cache are shared, not copied. EG_ERR_BUDGET:
 * there are `sequences` texts already. */
EG_API eg_status eg_generator_fork(eg_generator *generator, eg_generator **out, eg_error *error);

/* Appends tokens; *logits are then the logits of the next one: `vocabulary` floats, valid until
 * the next call. `logits` may be NULL. EG_ERR_BUDGET: the context is full; EG_ERR_ARGUMENT: no such
 * token. On failure nothing has changed. */
EG_API eg_status eg_generator_feed(eg_generator *generator, const uint32_t *tokens, size_t count,
                                   const float **logits, eg_error *error);
/* Compiles the programs for a prompt of `count` tokens, so that the first prompt does not wait for it. */
EG_API eg_status eg_generator_prepare(eg_generator *generator, size_t count, eg_error *error);
/* Truncates to the first `length` tokens; `length` is at most the present length. */
EG_API eg_status eg_generator_rewind(eg_generator *generator, uint64_t length, eg_error *error);

typedef struct eg_generator_info {
    size_t size; /* sizeof(eg_generator_info); 0 = the fields of version 0.1 */
    uint64_t length, context, vocabulary;
    uint64_t cache_bytes;  /* of all texts; counted */
    uint64_t weight_bytes; /* read per token; counted */
    uint64_t token_bytes;  /* read in addition per earlier token; counted */
} eg_generator_info;
EG_API void eg_generator_info_get(const eg_generator *generator, eg_generator_info *out);

/* ---- sampling */
typedef struct eg_sampling { /* all zero = greedy: always the likeliest token */
    double temperature;      /* divides the logits; 0 = greedy */
    uint64_t top_k;          /* only the k likeliest tokens; 0 = all */
    double top_p; /* nucleus: only the likeliest tokens with this total probability; 0 = all */
    uint64_t seed;
} eg_sampling;
typedef struct eg_sampler eg_sampler; /* opaque; used by one thread at a time */
EG_API eg_status eg_sampler_create(eg_context *context, uint64_t vocabulary,
                                   const eg_sampling *sampling, eg_sampler **out, eg_error *error);
EG_API void eg_sampler_destroy(eg_sampler *sampler); /* NULL is fine */
/* The next token. NaN logits are never drawn; EG_ERR_ARGUMENT when all are NaN. */
EG_API eg_status eg_sampler_next(eg_sampler *sampler, const float *logits, uint32_t *token,
                                 eg_error *error);

/* ---- text embeddings: the output of the last layer, pooled, passed through the model's dense layers if it has any,
 * and normalized to length 1 unless the model says otherwise */
typedef struct eg_embedder eg_embedder;
typedef struct eg_embedder_options { /* all zero = as the model says */
    size_t size; /* sizeof(eg_embedder_options); 0 = the fields of version 0.1 */
    int pooled;  /* 1: use `pooling`, not the model's */
    eg_pooling pooling;
    int unscaled;        /* do not normalize */
    int scaled;          /* normalize whatever the model says; not with `unscaled` */
    eg_type activations; /* EG_F16, EG_BF16: see eg_compile_options.products; 0 = EG_F32 */
} eg_embedder_options;
/* The model must not change while the embedder exists. */
EG_API eg_status eg_embedder_create(eg_model *model, const eg_embedder_options *options,
                                    eg_embedder **out, eg_error *error);
EG_API void eg_embedder_destroy(eg_embedder *embedder);         /* NULL is fine */
EG_API uint64_t eg_embedder_width(const eg_embedder *embedder); /* floats of an embedding */
/* `row` gets eg_embedder_width floats. EG_ERR_ARGUMENT: no tokens, or more than the model's context. */
EG_API eg_status eg_embedder_run(eg_embedder *embedder, const uint32_t *tokens, size_t count,
                                 float *row, eg_error *error);

/* ---- perplexity: how well a decoder predicts a text */
typedef struct eg_surprise {
    uint64_t tokens;  /* that were predicted */
    double bits;      /* cross entropy: mean of -log2 of their probabilities */
    double deviation; /* standard error of that mean */
} eg_surprise;        /* perplexity is 2^bits */
/* The text is cut into pieces of `piece` tokens (0 = the context, at most 512); in each, the tokens of the second half
 * are predicted from all before them, and `begin` (-1 = none) replaces the first. An incomplete piece at the end is
 * left out, unless it is the only one. `stop` may be NULL; it is called after each piece and ends the run unless it
 * returns 0. */
EG_API eg_status eg_perplexity(eg_model *model, const uint32_t *tokens, size_t count,
                               uint64_t piece, int64_t begin,
                               int (*stop)(void *user, const eg_surprise *now), void *user,
                               eg_surprise *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
