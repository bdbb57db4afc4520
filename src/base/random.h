/* Random numbers as numpy and torch draw them, bit for bit: what was made with a seed there is made
 * with the same seed here. Nothing allocates: the caller gives the memory. */
#ifndef EG__RANDOM_H
#define EG__RANDOM_H

#include "base/base.h"

/* ---- MT19937: numpy's legacy RandomState, and the generator of torch on a CPU */

enum { EG__MT_WORDS = 624 };

typedef struct eg__mt {
    uint32_t words[EG__MT_WORDS];
    uint32_t at; /* the next word; EG__MT_WORDS = a new block must be made */
} eg__mt;

void eg__mt_seed(eg__mt *mt, uint32_t seed);
uint32_t eg__mt_u32(eg__mt *mt);
uint64_t eg__mt_u64(eg__mt *mt);  /* the first word drawn is the high half */
double eg__mt_sample(eg__mt *mt); /* random_sample: [0, 1), 53 bits, two draws */
void eg__mt_skip(eg__mt *mt, uint64_t draws);
/* Uniform within 0..most, both included; draws nothing when `most` is 0. */
uint64_t eg__mt_interval(eg__mt *mt, uint64_t most);
void eg__mt_permutation(eg__mt *mt, uint32_t count, uint32_t *out); /* of 0..count-1 */
/* choice(from, chosen, replace=False): the first `chosen` of `out`, which has room for `count`
 * because a whole permutation is drawn. `from` NULL means 0..count-1. */
void eg__mt_choice(eg__mt *mt, uint32_t count, const uint32_t *from, uint32_t chosen,
                   uint32_t *out);

/* torch.Tensor.uniform_(low, high) on float32: `count` draws, in row-major order. */
void eg__torch_uniform(eg__mt *mt, size_t count, float *out, double low, double high);
/* How many 32-bit draws torch.Tensor.normal_ takes for `count` values. (Below 16 values torch keeps
 * the second half of an odd pair for later; this counts from a generator that keeps none.) */
uint64_t eg__torch_normal_draws(uint64_t count);

/* ---- SeedSequence and PCG64: numpy's default_rng */

typedef struct eg__pcg {
    uint64_t state[2], increment[2]; /* high, low */
    bool has_half;                   /* u32 takes the low half of a draw and keeps the high one */
    uint32_t half;
} eg__pcg;

/* SeedSequence(seed).generate_state(4, uint64); the seed in base 2^32, lowest word first. */
void eg__seed_sequence(const uint32_t *words, size_t count, uint64_t out[4]);
void eg__pcg_seed(eg__pcg *pcg, uint64_t seed);
void eg__pcg_seed_words(eg__pcg *pcg, const uint32_t *words, size_t count); /* seeds of any size */
uint64_t eg__pcg_u64(eg__pcg *pcg);
uint32_t eg__pcg_u32(eg__pcg *pcg);
/* Uniform within 0..most, both included; draws nothing when `most` is 0. */
uint32_t eg__pcg_bounded(eg__pcg *pcg, uint32_t most);
void eg__pcg_shuffle(eg__pcg *pcg, uint32_t count, uint32_t *values);
/* choice(count, chosen, replace=False), chosen <= count; `work` has room for `count`. */
void eg__pcg_choice(eg__pcg *pcg, uint32_t count, uint32_t chosen, uint32_t *out, uint32_t *work);

#endif
