/* Text from a decoder, token by token, and texts as rows of numbers.
 * Experimental. */
#ifndef ELEGANS_GENERATE_H
#define ELEGANS_GENERATE_H

#include "elegans/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- generators: a decoder that remembers the tokens it was given, in a cache of keys and values.
 * Opaque; used by one thread at a time, and so are all that were forked from each other. */
typedef struct eg_generator eg_generator;

typedef struct eg_generator_options { /* all zero = defaults */
    size_t size;        /* sizeof(eg_generator_options); 0 = the fields of version 0.1 */
    uint64_t context;   /* tokens that one text may have; 0 = what the model says, at most 4096 */
    uint64_t sequences; /* texts at once, see eg_generator_fork; 0 = 1 */
    uint64_t chunk;     /* tokens of a prompt that are looked at together; 0 = 128 */
    eg_type cache;      /* EG_F32, EG_F16 or EG_I8: how keys and values are kept */
} eg_generator_options;
/* The model must stay as it is meanwhile: matrices that lie in its file are used there. You own *out.
 * EG_ERR_ARGUMENT for a model that is no decoder. The cache is taken at once (EG_TAG_CACHE):
 * EG_ERR_BUDGET when it does not fit. */
EG_API eg_status eg_generator_create(eg_model *model, const eg_generator_options *options,
                                     eg_generator **out, eg_error *error);
EG_API void eg_generator_destroy(eg_generator *generator); /* NULL is fine */
/* Another text that begins as this one: what is full of its cache is shared, not copied. EG_ERR_BUDGET:
 * there are as many already as were asked for. */
EG_API eg_status eg_generator_fork(eg_generator *generator, eg_generator **out, eg_error *error);

/* Appends tokens; *logits are then what the model says of the next one: `vocabulary` numbers, valid until
 * the next call. `logits` may be NULL. EG_ERR_BUDGET: the context is full; EG_ERR_ARGUMENT: no such
 * token. Nothing has changed then. */
EG_API eg_status eg_generator_feed(eg_generator *generator, const uint32_t *tokens, size_t count,
                                   const float **logits, eg_error *error);
/* Compiles what a prompt of so many tokens needs, which the first one would otherwise wait for. */
EG_API eg_status eg_generator_prepare(eg_generator *generator, size_t count, eg_error *error);
/* Back to the first `length` tokens, as if the others had never been; no more than there are. */
EG_API eg_status eg_generator_rewind(eg_generator *generator, uint64_t length, eg_error *error);

typedef struct eg_generator_info {
    size_t size; /* sizeof(eg_generator_info); 0 = the fields of version 0.1 */
    uint64_t length, context, vocabulary;
    uint64_t cache_bytes;  /* of all texts; counted */
    uint64_t weight_bytes; /* that one token reads; counted */
    uint64_t token_bytes;  /* that each earlier token adds to it */
} eg_generator_info;
EG_API void eg_generator_info_get(const eg_generator *generator, eg_generator_info *out);

/* ---- sampling */
typedef struct eg_sampling { /* all zero = always the likeliest token */
    double temperature;      /* what logits are divided by; 0 = the likeliest */
    uint64_t top_k;          /* only so many of the likeliest; 0 = all */
    double top_p;            /* only the likeliest that together have this probability; 0 = all */
    uint64_t seed;
} eg_sampling;
typedef struct eg_sampler eg_sampler; /* opaque; used by one thread at a time */
EG_API eg_status eg_sampler_create(eg_context *context, uint64_t vocabulary,
                                   const eg_sampling *sampling, eg_sampler **out, eg_error *error);
EG_API void eg_sampler_destroy(eg_sampler *sampler); /* NULL is fine */
/* The next token. Logits that are NaN are never taken; EG_ERR_ARGUMENT when there is no other. */
EG_API eg_status eg_sampler_next(eg_sampler *sampler, const float *logits, uint32_t *token,
                                 eg_error *error);

/* ---- texts as rows: what the last layer says, pooled, then through the dense layers that the model may have
 * and scaled to length 1, unless the model says otherwise */
typedef struct eg_embedder eg_embedder;
typedef struct eg_embedder_options { /* all zero = as the model says */
    size_t size; /* sizeof(eg_embedder_options); 0 = the fields of version 0.1 */
    int pooled;  /* 1: `pooling` is meant */
    eg_pooling pooling;
    int unscaled; /* the row is not brought to length 1 */
    int scaled;   /* it is, whatever the model says; not with `unscaled` */
} eg_embedder_options;
/* The model must stay as it is meanwhile, as for a generator. */
EG_API eg_status eg_embedder_create(eg_model *model, const eg_embedder_options *options,
                                    eg_embedder **out, eg_error *error);
EG_API void eg_embedder_destroy(eg_embedder *embedder);         /* NULL is fine */
EG_API uint64_t eg_embedder_width(const eg_embedder *embedder); /* numbers of a row */
/* eg_embedder_width numbers; EG_ERR_ARGUMENT for more tokens than the model can look at, or none. */
EG_API eg_status eg_embedder_run(eg_embedder *embedder, const uint32_t *tokens, size_t count,
                                 float *row, eg_error *error);

/* ---- perplexity: how surprised a decoder is by a text */
typedef struct eg_surprise {
    uint64_t tokens;  /* that were predicted */
    double bits;      /* mean of -log2 of what the model gave them */
    double deviation; /* of that mean: how far it is likely off */
} eg_surprise;        /* perplexity is 2^bits */
/* Tokens are looked at in pieces of `piece` tokens (0 = the context, at most 512); within each, those of the
 * second half are predicted from all before them, and `begin` (-1 = none) takes the place of the first.
 * What does not fill a piece is left out, unless it is all there is. `stop` may be NULL; it is asked after
 * each piece. */
EG_API eg_status eg_perplexity(eg_model *model, const uint32_t *tokens, size_t count,
                               uint64_t piece, int64_t begin,
                               int (*stop)(void *user, const eg_surprise *now), void *user,
                               eg_surprise *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
