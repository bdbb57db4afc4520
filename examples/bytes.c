/* A transformer that learns a text byte by byte, or patch by patch, and then writes on.
 *
 *   bytes FILE [STEPS] [SPEC] [--patches] [--output MODEL]
 *
 * The model that learned bytes is one for elegans generate: a token is a byte, no vocabulary is needed.
 * With --patches the units are not bytes but entropy patches of 1 to 4 bytes: the most frequent ones
 * become tokens of their own, so that a context of as many tokens holds more text. */
#include <elegans/elegans.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, PATCHES = 768, PATCH_MAX = 4, BATCH = 8, TIME = 64 };

typedef struct unit {
    unsigned char text[PATCH_MAX];
    uint32_t size, count;
} unit;

typedef struct text {
    unsigned char *bytes;
    size_t size;
    uint32_t *tokens;
    size_t count;
    unit units[BYTES + PATCHES];
    uint32_t unit_count;
} text;

static int fail(const char *message) {
    fprintf(stderr, "bytes: %s\n", message);
    exit(1);
}

static void read_file(const char *path, text *t) {
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 16, got;
    if (!file) fail("cannot open the file");
    t->bytes = malloc(room);
    while (t->bytes && (got = fread(t->bytes + t->size, 1, room - t->size, file)) > 0) {
        t->size += got;
        if (t->size == room) t->bytes = realloc(t->bytes, room *= 2);
    }
    fclose(file);
    if (!t->bytes || t->size <= TIME) fail("the file has no text to learn from");
    t->tokens = malloc(t->size * sizeof *t->tokens);
    if (!t->tokens) fail("no memory");
}

/* ---- units */
static int by_text(const void *a, const void *b) {
    const unit *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return memcmp(x->text, y->text, x->size);
}
static int by_count(const void *a, const void *b) {
    const unit *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return by_text(a, b);
}

/* The patches that save most, each with how often it was seen. */
static void choose_units(text *t, const uint32_t *sizes, size_t patches) {
    unit *all = calloc(patches + 1, sizeof *all);
    size_t kinds = 0;
    if (!all) fail("no memory");
    const unsigned char *at = t->bytes;
    for (size_t i = 0; i < patches; at += sizes[i++]) {
        memcpy(all[i].text, at, sizes[i]);
        all[i].size = sizes[i];
    }
    qsort(all, patches, sizeof *all, by_text);
    for (size_t i = 0; i < patches; i++) {
        if (kinds && by_text(&all[kinds - 1], &all[i]) == 0) all[kinds - 1].count++;
        else {
            all[kinds] = all[i];
            all[kinds++].count = 1;
        }
    }
    qsort(all, kinds, sizeof *all, by_count);
    for (size_t i = 0; i < kinds && t->unit_count < BYTES + PATCHES; i++)
        if (all[i].size > 1 && all[i].count > 1) t->units[t->unit_count++] = all[i];
    free(all);
    qsort(t->units + BYTES, t->unit_count - BYTES, sizeof *t->units, by_text);
}

static void cut(eg_context *context, text *t, int by_patches) {
    eg_error error;
    for (t->unit_count = 0; t->unit_count < BYTES; t->unit_count++) {
        t->units[t->unit_count].text[0] = (unsigned char)t->unit_count;
        t->units[t->unit_count].size = 1;
    }
    uint32_t *sizes = calloc(t->size, sizeof *sizes);
    float *entropies = calloc(t->size, sizeof *entropies);
    size_t patches = t->size;
    /* in text most windows of 32 bytes say 4 bits or so: 0.5 */
    const eg_patch_options options = {.minimum = 1, .maximum = PATCH_MAX, .low = 0.4, .high = 0.6};
    if (!sizes || !entropies) fail("no memory");
    for (size_t i = 0; i < t->size; i++) sizes[i] = 1;
    if (by_patches &&
        (eg_entropy_of(context, t->bytes, t->size, 32, entropies, &error) ||
         eg_patch_sizes(context, &options, entropies, t->size, sizes, &patches, NULL, &error)))
        fail(error.message);
    if (by_patches) choose_units(t, sizes, patches);
    const unsigned char *at = t->bytes;
    for (size_t i = 0; i < patches; at += sizes[i++]) {
        unit key = {.size = sizes[i]};
        memcpy(key.text, at, sizes[i]);
        const unit *known =
            bsearch(&key, t->units + BYTES, t->unit_count - BYTES, sizeof key, by_text);
        if (known) t->tokens[t->count++] = (uint32_t)(known - t->units);
        else
            for (uint32_t k = 0; k < sizes[i]; k++) t->tokens[t->count++] = at[k];
    }
    free(sizes);
    free(entropies);
}

/* ---- learning */
static void fill(const text *t, const eg_train_batch *batch, uint64_t *state) {
    for (int b = 0; b < BATCH; b++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        const size_t from = (size_t)((*state >> 33) % (t->count - TIME));
        for (int i = 0; i < TIME; i++) {
            batch->tokens[b * TIME + i] = (int32_t)t->tokens[from + (size_t)i];
            batch->target[b * TIME + i] = (float)t->tokens[from + (size_t)i + 1];
        }
    }
}

static void train(eg_model *model, const text *t, int steps) {
    const eg_train_options options = {
        .batch = BATCH,
        .time = TIME,
        .loss = EG_LOSS_CLASSES,
        .layers_again = 1,
        .optimizer = {
            .kind = EG_ADAMW, .learning_rate = 3e-3, .weight_decay = 0.01, .clip_norm = 1}};
    const double per_byte = (double)t->count / (double)t->size / log(2.0);
    eg_trainer *trainer;
    eg_train_result result;
    eg_error error;
    uint64_t state = 1;
    double mean = 0;
    if (eg_trainer_create(model, &options, &trainer, &error)) fail(error.message);
    const eg_train_batch batch = eg_trainer_batch(trainer);
    for (int i = 1; i <= steps; i++) {
        /* up to the full rate at first, then down to a tenth of it */
        const double done = (double)i / (double)steps;
        const double rate = 3e-3 * fmin(i / 20.0, 0.55 + 0.45 * cos(3.14159265 * done));
        fill(t, &batch, &state);
        if (eg_trainer_step(trainer, rate, &result, &error)) fail(error.message);
        mean = i == 1 ? result.loss : 0.95 * mean + 0.05 * result.loss;
        if (i == 1 || i % (steps / 5 > 0 ? steps / 5 : 1) == 0)
            printf("step %4d  %.3f bits per byte\n", i, mean * per_byte);
    }
    if (eg_trainer_store(trainer, model, &error)) fail(error.message);
    eg_trainer_destroy(trainer);
}

/* ---- writing */
static void sample(eg_context *context, eg_model *model, const text *t, int count) {
    const eg_sampling how = {.temperature = 0.5, .top_k = 20, .seed = 1};
    eg_generator *g;
    eg_sampler *sampler;
    eg_error error;
    const float *logits;
    uint32_t token;
    if (eg_generator_create(model, NULL, &g, &error) ||
        eg_sampler_create(context, t->unit_count, &how, &sampler, &error) ||
        eg_generator_feed(g, t->tokens, 16, &logits, &error))
        fail(error.message);
    for (int i = 0; i < 16; i++)
        fwrite(t->units[t->tokens[i]].text, 1, t->units[t->tokens[i]].size, stdout);
    for (int i = 0; i < count; i++) {
        if (eg_sampler_next(sampler, logits, &token, &error) ||
            eg_generator_feed(g, &token, 1, &logits, &error))
            fail(error.message);
        fwrite(t->units[token].text, 1, t->units[token].size, stdout);
    }
    putchar('\n');
    eg_sampler_destroy(sampler);
    eg_generator_destroy(g);
}

int main(int argc, char **argv) {
    static text t;
    const char *given[3] = {NULL}, *output = NULL;
    int count = 0, by_patches = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--patches") == 0) by_patches = 1;
        else if (strcmp(argv[i], "--output") == 0 && i + 1 < argc) output = argv[++i];
        else if (count < 3) given[count++] = argv[i];
    if (!count) fail("usage: bytes FILE [STEPS] [SPEC] [--patches] [--output MODEL]");
    const int steps = given[1] ? atoi(given[1]) : 300;
    eg_context *context;
    eg_model *model;
    eg_error error;
    char spec[256];
    read_file(given[0], &t);
    if (eg_context_create(NULL, &context, &error)) fail(error.message);
    cut(context, &t, by_patches);
    printf("%zu bytes, %zu tokens of %u kinds\n", t.size, t.count, t.unit_count);
    if (t.count <= TIME) fail("the file has too little text");
    snprintf(spec, sizeof spec, "%s,vocab=%u",
             given[2] ? given[2] : "llama:2:64,heads=4,context=256", t.unit_count);
    if (eg_model_open(context, spec, &model, &error)) fail(error.message);
    train(model, &t, steps);
    sample(context, model, &t, 160);
    if (output && eg_model_save(model, output, &error)) fail(error.message);
    eg_model_destroy(model);
    eg_context_destroy(context);
    free(t.bytes);
    free(t.tokens);
    return 0;
}
