/* Chooses the next token: the likeliest, or a random one among the likely. */
#include "base/random.h"
#include "elegans/generate.h"
#include "engine/context.h"

#include <math.h>
#include <stdlib.h>

typedef struct candidate {
    float logit;
    uint32_t token;
} candidate;

struct eg_sampler {
    eg__memory *memory;
    eg_sampling how;
    size_t vocabulary;
    eg__pcg random;
    candidate *candidates;
};

eg_status eg_sampler_create(eg_context *context, uint64_t vocabulary, const eg_sampling *sampling,
                            eg_sampler **out, eg_error *error) {
    if (!context || !out || !vocabulary)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, vocabulary or output pointer");
    *out = NULL;
    const eg_sampling how = sampling ? *sampling : (eg_sampling){0};
    if (!(how.temperature >= 0 && isfinite(how.temperature)))
        return eg__fail(error, EG_ERR_ARGUMENT, "temperature %g is below 0", how.temperature);
    if (!(how.top_p >= 0 && how.top_p <= 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "top-p %g is not within 0..1", how.top_p);
    if (vocabulary > UINT32_MAX)
        return eg__fail(error, EG_ERR_OVERFLOW, "a vocabulary of %llu tokens is out of range",
                        (unsigned long long)vocabulary);
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_sampler *s = eg__memory_take_zeroed(memory, EG_TAG_OTHER, sizeof *s, &reason);
    candidate *list =
        eg__memory_take_array(memory, EG_TAG_OTHER, (size_t)vocabulary, sizeof *list, &reason);
    if (!s || !list) {
        eg__memory_give(memory, s);
        eg__memory_give(memory, list);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    *s = (eg_sampler){
        .memory = memory, .how = how, .vocabulary = (size_t)vocabulary, .candidates = list};
    eg__pcg_seed(&s->random, how.seed);
    *out = s;
    return EG_OK;
}

void eg_sampler_destroy(eg_sampler *s) {
    if (!s) return;
    eg__memory_give(s->memory, s->candidates);
    eg__memory_give(s->memory, s);
}

/* The first of the largest; false = all are NaN. */
static bool likeliest(const float *logits, size_t count, uint32_t *out) {
    float most = 0;
    bool found = false;
    for (size_t i = 0; i < count; i++)
        if (logits[i] == logits[i] && (!found || logits[i] > most)) {
            most = logits[i];
            *out = (uint32_t)i;
            found = true;
        }
    return found;
}

/* ---- the k largest: a heap with the smallest of them on top */
static bool below(const candidate *a, const candidate *b) {
    return a->logit < b->logit || (a->logit == b->logit && a->token > b->token);
}

static void sink(candidate *heap, size_t count, size_t at) {
    for (;;) {
        size_t least = at, left = 2 * at + 1;
        for (size_t i = left; i < left + 2 && i < count; i++)
            if (below(&heap[i], &heap[least])) least = i;
        if (least == at) return;
        const candidate held = heap[at];
        heap[at] = heap[least];
        heap[least] = held;
        at = least;
    }
}

static size_t largest(eg_sampler *s, const float *logits, size_t k) {
    size_t count = 0;
    for (size_t i = 0; i < s->vocabulary; i++) {
        const candidate next = {logits[i], (uint32_t)i};
        if (logits[i] != logits[i]) continue;
        if (count < k) {
            s->candidates[count++] = next;
            if (count == k)
                for (size_t at = k / 2; at-- > 0;) sink(s->candidates, k, at);
        } else if (below(&s->candidates[0], &next)) {
            s->candidates[0] = next;
            sink(s->candidates, k, 0);
        }
    }
    return count;
}

/* Tokens that cannot be in the top-p set need not be sorted: those less likely than an even share
 * of the remaining 1 - top_p. */
static size_t likely(eg_sampler *s, const float *logits, float most, double *all) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < s->vocabulary; i++)
        if (logits[i] == logits[i]) sum += exp((double)(logits[i] - most) / s->how.temperature);
    const bool cuts = s->how.top_p > 0 && s->how.top_p < 1;
    const double least = cuts ? (1 - s->how.top_p) / (double)s->vocabulary * sum : 0;
    for (size_t i = 0; i < s->vocabulary; i++)
        if (logits[i] == logits[i] && exp((double)(logits[i] - most) / s->how.temperature) >= least)
            s->candidates[count++] = (candidate){logits[i], (uint32_t)i};
    *all = sum;
    return count;
}

static int by_logit(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return below(x, y) ? 1 : below(y, x) ? -1 : 0;
}

/* `all`: the total weight of sorted and unsorted candidates; 0 = all are sorted. */
static uint32_t draw(eg_sampler *s, size_t count, double all) {
    const candidate *c = s->candidates;
    const double most = (double)c[0].logit, t = s->how.temperature;
    double sum = 0, part = 0;
    for (size_t i = 0; i < count; i++) sum += exp(((double)c[i].logit - most) / t);
    if (s->how.top_p > 0 && s->how.top_p < 1) {
        const double enough = s->how.top_p * (all > 0 ? all : sum);
        size_t kept = 0;
        while (kept < count && part < enough) part += exp(((double)c[kept++].logit - most) / t);
        count = kept;
        sum = part;
    }
    const double at = (double)(eg__pcg_u64(&s->random) >> 11) * 0x1p-53 * sum;
    part = 0;
    for (size_t i = 0; i < count; i++) {
        part += exp(((double)c[i].logit - most) / t);
        if (at < part) return c[i].token;
    }
    return c[count - 1].token;
}

eg_status eg_sampler_next(eg_sampler *s, const float *logits, uint32_t *token, eg_error *error) {
    if (!s || !logits || !token)
        return eg__fail(error, EG_ERR_ARGUMENT, "no sampler, logits or output pointer");
    uint32_t first = 0;
    if (!likeliest(logits, s->vocabulary, &first))
        return eg__fail(error, EG_ERR_ARGUMENT, "all %zu logits are NaN", s->vocabulary);
    *token = first;
    if (s->how.temperature == 0 || s->how.top_k == 1 || !isfinite(logits[first])) return EG_OK;
    const bool few = s->how.top_k && s->how.top_k < s->vocabulary;
    double all = 0;
    const size_t count =
        few ? largest(s, logits, (size_t)s->how.top_k) : likely(s, logits, logits[first], &all);
    qsort(s->candidates, count, sizeof *s->candidates, by_logit);
    *token = draw(s, count, all);
    return EG_OK;
}
