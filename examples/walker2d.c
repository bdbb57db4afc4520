/* Walker2d kinematics at irregular times: the next observation from the current one, as in the paper on
 * closed-form continuous-time networks (Hasani et al. 2022). Needs walker2d_f32.npz: `data` f32 [rows, 17],
 * rollouts one after the other, and `lengths` of the rollouts.
 *
 *   walker2d FILE.npz [seed [epochs [spec]]] */
#include <elegans/elegans.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 17, STEPS = 64, STRIDE = 16, BATCH = 256, SETS = 3 };
enum { TRAINING, VALIDATION, TEST };

static void check(eg_status status, const eg_error *error) {
    if (status) {
        fprintf(stderr, "walker2d: %s\n", error->message);
        exit(1);
    }
}

static void *take(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "walker2d: no memory\n");
        exit(1);
    }
    return memory;
}

/* ---- numpy's RandomState, which the split of the paper is drawn with */
typedef struct mt {
    uint32_t word[624], at;
} mt;

static void mt_seed(mt *m, uint32_t seed) {
    m->word[0] = seed;
    for (uint32_t i = 1; i < 624; i++)
        m->word[i] = 1812433253u * (m->word[i - 1] ^ m->word[i - 1] >> 30) + i;
    m->at = 624;
}

static uint32_t mt_next(mt *m) {
    if (m->at == 624) {
        for (uint32_t i = 0; i < 624; i++) {
            const uint32_t y = (m->word[i] & 0x80000000u) | (m->word[(i + 1) % 624] & 0x7fffffffu);
            m->word[i] = m->word[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        m->at = 0;
    }
    uint32_t y = m->word[m->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static double mt_uniform(mt *m) {
    const uint32_t high = mt_next(m) >> 5, low = mt_next(m) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

static uint32_t mt_interval(mt *m, uint32_t most) {
    uint32_t mask = most, value;
    for (uint32_t shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    if (!most) return 0;
    do value = mt_next(m) & mask;
    while (value > most);
    return value;
}

static void mt_shuffle(mt *m, uint32_t count, uint32_t *list) {
    for (uint32_t i = count - 1; i > 0; i--) {
        const uint32_t j = mt_interval(m, i), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

/* ---- windows: of rows that were kept, with the time since the last kept one */
typedef struct windows {
    float (*x)[FEATURES], (*y)[FEATURES], *span; /* all rows that were kept */
    size_t rows, *start, count;                  /* where windows begin */
} windows;

/* One rollout: every row is kept with a probability of 0.9. */
static void add_rollout(windows *w, const float *rows, size_t length, mt *random) {
    const size_t first = w->rows;
    float skipped = 0;
    for (size_t t = 0; t + 1 < length; t++) {
        skipped++;
        if (mt_uniform(random) >= 0.9) continue;
        memcpy(w->x[w->rows], rows + t * FEATURES, sizeof w->x[0]);
        memcpy(w->y[w->rows], rows + (t + 1) * FEATURES, sizeof w->y[0]);
        w->span[w->rows++] = skipped;
        skipped = 0;
    }
    for (size_t s = first; s + STEPS < w->rows; s += STRIDE) w->start[w->count++] = s;
}

static void load(eg_context *context, const char *path, windows sets[SETS]) {
    eg_npz *file;
    eg_tensor data, lengths;
    eg_error error;
    check(eg_npz_open(context, path, &file, &error), &error);
    check(eg_npz_read(file, "data", &data, &error), &error);
    check(eg_npz_read(file, "lengths", &lengths, &error), &error);
    const uint32_t count = (uint32_t)lengths.shape[0];
    uint32_t *order = take(count, sizeof *order);
    size_t *first = take(count, sizeof *first), *length = take(count, sizeof *length), at = 0;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        first[i] = at;
        length[i] = lengths.type == EG_I64 ? (size_t)((int64_t *)lengths.data)[i]
                                           : (size_t)((int32_t *)lengths.data)[i];
        at += length[i];
    }
    mt random;
    mt_seed(&random, 125487);
    mt_shuffle(&random, count, order);
    const uint32_t test = (uint32_t)(0.15 * count), validation = test + (uint32_t)(0.1 * count);
    const uint32_t bounds[SETS][2] = {{validation, count}, {test, validation}, {0, test}};
    mt_seed(&random, 891374);
    for (int s = 0; s < SETS; s++) {
        windows *w = &sets[s];
        w->x = take(at, sizeof *w->x);
        w->y = take(at, sizeof *w->y);
        w->span = take(at, sizeof *w->span);
        w->start = take(at, sizeof *w->start);
        for (uint32_t i = bounds[s][0]; i < bounds[s][1]; i++)
            add_rollout(w, (const float *)data.data + first[order[i]] * FEATURES, length[order[i]],
                        &random);
    }
    eg_tensor_release(context, &data);
    eg_tensor_release(context, &lengths);
    eg_npz_close(file);
    free(order);
    free(first);
    free(length);
}

static void fill(const eg_train_batch *batch, const windows *w, const uint32_t *order,
                 size_t from) {
    for (size_t b = 0; b < BATCH; b++) {
        const bool there = from + b < w->count;
        const size_t start = w->start[there ? (order ? order[from + b] : from + b) : 0];
        for (size_t t = 0; t < STEPS; t++) {
            const size_t at = t * BATCH + b;
            memcpy(batch->x + at * FEATURES, w->x[start + t], sizeof w->x[0]);
            memcpy(batch->target + at * FEATURES, w->y[start + t], sizeof w->y[0]);
            batch->spans[at] = w->span[start + t];
            batch->weight[at] = there ? 1 : 0; /* the last batch is not full */
        }
    }
}

static double evaluate(eg_trainer *trainer, const windows *w) {
    const eg_train_batch batch = eg_trainer_batch(trainer);
    double sum = 0, loss;
    eg_error error;
    for (size_t from = 0; from < w->count; from += BATCH) {
        const size_t size = w->count - from < BATCH ? w->count - from : BATCH;
        fill(&batch, w, NULL, from);
        check(eg_trainer_evaluate(trainer, &loss, NULL, &error), &error);
        sum += loss * (double)size;
    }
    return sum / (double)w->count;
}

int main(int argc, char **argv) {
    if (argc < 2) return puts("usage: walker2d FILE.npz [seed [epochs [spec]]]"), 2;
    const unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    const int epochs = argc > 3 ? atoi(argv[3]) : 50;
    eg_context *context;
    eg_model *model, *best;
    eg_trainer *trainer;
    eg_error error;
    windows sets[SETS] = {{0}};
    char spec[256];
    snprintf(spec, sizeof spec, "%s,seed=%u",
             argc > 4 ? argv[4] : "cfc:64,in=17,backbone=256,activation=silu,proj=17", seed);
    check(eg_context_create(&context, NULL, &error), &error);
    check(eg_model_open(context, spec, &model, &error), &error);
    check(eg_model_open(context, spec, &best, &error), &error);
    load(context, argv[1], sets);
    printf("%zu windows to learn from, %zu to choose, %zu to test\n", sets[TRAINING].count,
           sets[VALIDATION].count, sets[TEST].count);
    const eg_train_options options = {
        .batch = BATCH,
        .time = STEPS,
        .spans = 1,
        .optimizer = {.learning_rate = 0.02, .weight_decay = 1e-6, .clip_norm = 1}};
    check(eg_trainer_create(model, &options, &trainer, &error), &error);
    uint32_t *order = take(sets[TRAINING].count, sizeof *order);
    for (size_t i = 0; i < sets[TRAINING].count; i++) order[i] = (uint32_t)i;
    mt random;
    mt_seed(&random, seed);
    double least = INFINITY, rate = 0.02;
    for (int epoch = 1; epoch <= epochs; epoch++, rate *= 0.95) {
        const uint64_t start = eg_clock_ns();
        mt_shuffle(&random, (uint32_t)sets[TRAINING].count, order);
        const eg_train_batch batch = eg_trainer_batch(trainer);
        double loss = 0;
        size_t steps = 0;
        for (size_t from = 0; from < sets[TRAINING].count; from += BATCH, steps++) {
            eg_train_result result;
            fill(&batch, &sets[TRAINING], order, from);
            check(eg_trainer_step(trainer, rate, &result, &error), &error);
            loss += result.loss;
        }
        const double seconds = (double)(eg_clock_ns() - start) * 1e-9;
        const double now = evaluate(trainer, &sets[VALIDATION]);
        if (now < least) {
            least = now;
            check(eg_trainer_store(trainer, best, &error), &error);
        }
        printf("epoch %2d: loss %.4f, validation %.4f%s, %.1f s\n", epoch, loss / (double)steps,
               now, now == least ? " *" : "", seconds);
        fflush(stdout);
    }
    eg_trainer_destroy(trainer);
    check(eg_trainer_create(best, &options, &trainer, &error), &error);
    printf("seed %u: validation %.4f, test %.4f\n", seed, least, evaluate(trainer, &sets[TEST]));
    eg_trainer_destroy(trainer);
    eg_model_destroy(model);
    eg_model_destroy(best);
    for (int s = 0; s < SETS; s++) {
        free(sets[s].x);
        free(sets[s].y);
        free(sets[s].span);
        free(sets[s].start);
    }
    free(order);
    eg_context_destroy(context);
    return 0;
}
