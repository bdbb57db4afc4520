/* Entropy of 256 KiB in windows of 256 bytes, beside counting every window anew. */
#include "bench.h"
#include "elegans/context.h"
#include "elegans/entropy.h"

#include <math.h>

enum { COUNT = 262144, WINDOW = 256 };

typedef struct entropy_state {
    eg_context *context;
    unsigned char *bytes;
    float *out;
} entropy_state;

static void run_ours(void *state) {
    const entropy_state *s = state;
    eg_entropy_of(s->context, s->bytes, COUNT, WINDOW, s->out, NULL);
}

/* In pieces of a page, as from a pipe. */
static void run_stream(void *state) {
    enum { PIECE = 4096 };
    const entropy_state *s = state;
    eg_entropy *entropy;
    size_t total = 0, given;
    if (eg_entropy_create(s->context, WINDOW, &entropy, NULL)) return;
    for (size_t at = 0; at < COUNT; at += PIECE, total += given)
        if (eg_entropy_push(entropy, s->bytes + at, PIECE, s->out + total, &given, NULL)) break;
    eg_entropy_end(entropy, s->out + total, COUNT - total);
    eg_entropy_destroy(entropy);
}

static void run_naive(void *state) {
    const entropy_state *s = state;
    for (size_t i = 0; i < COUNT; i++) {
        const size_t low = i < WINDOW / 2 ? 0 : i - WINDOW / 2;
        const size_t high = eg__min(i + WINDOW / 2, COUNT);
        unsigned counts[256] = {0};
        double bits = 0;
        for (size_t k = low; k < high; k++) counts[s->bytes[k]]++;
        for (int b = 0; b < 256; b++) {
            const double p = (double)counts[b] / (double)(high - low);
            if (counts[b]) bits -= p * log2(p);
        }
        s->out[i] = (float)(bits / 8);
    }
}

/* Words by chance: letters as frequent, and as far from each other, as in English. */
static void fill_text(unsigned char *to) {
    static const char *const words[] = {
        "the",  "of",     "and",   "to",    "in",        "is",     "that",  "it",
        "was",  "for",    "on",    "are",   "with",      "they",   "be",    "at",
        "one",  "have",   "this",  "from",  "by",        "hot",    "word",  "but",
        "what", "some",   "were",  "there", "network",   "neuron", "when",  "your",
        "said", "liquid", "which", "their", "bandwidth", "memory", "quick", "jumped"};
    uint32_t state = 1;
    for (size_t at = 0; at < COUNT;) {
        state = state * 1664525u + 1013904223u;
        const char *word = words[(state >> 16) % (sizeof words / sizeof *words)];
        for (; *word && at < COUNT; word++) to[at++] = (unsigned char)*word;
        if (at < COUNT) to[at++] = (state >> 28) ? ' ' : '\n';
    }
}

static void fill_random(unsigned char *to) {
    uint32_t state = 1;
    for (size_t i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = (unsigned char)(state >> 24);
    }
}

/* Where the same count is read and written again and again. */
static void fill_runs(unsigned char *to) {
    for (size_t i = 0; i < COUNT; i++) to[i] = (unsigned char)(i / 300);
}

void bench_entropy(bench *b) {
    static const struct {
        const char *title;
        void (*fill)(unsigned char *to);
    } rows[] = {{"text", fill_text}, {"random", fill_random}, {"runs of 300", fill_runs}};
    eg_context *context;
    eg_error error;
    if (eg_context_create(&(eg_context_options){.threads = 1}, &context, &error) != EG_OK)
        bench_fail("%s", error.message);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__arena_scope scope = eg__arena_scope_begin(b->arena);
        entropy_state s = {context, bench_take(b, COUNT), bench_floats(b, COUNT)};
        race r = {.out = s.out, .out_size = COUNT, .work = COUNT};
        rows[i].fill(s.bytes);
        race_add(&r, (contestant){ROLE_OURS, "ours", "", .run = run_ours, .state = &s});
        race_add(&r, (contestant){ROLE_OTHER, "in pieces", "", .run = run_stream, .state = &s});
        if (!b->options.no_peers)
            race_add(&r, (contestant){ROLE_PEER, "naive", "", .run = run_naive, .state = &s});
        bench_race(b, &r, rows[i].title, 1e-5);
        eg__arena_scope_end(b->arena, scope);
    }
    eg_context_destroy(context);
}
