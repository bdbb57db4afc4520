/* Walker2d kinematics at irregular times, split as in the paper on closed-form continuous-time networks (Hasani
 * et al. 2022): rollouts in a fixed random order, the first 15 % to test, 10 % to choose, the rest to learn from;
 * of each, one row in ten is dropped. Needs walker2d_f32.npz: `data` f32 [rows, 17], rollouts one after the
 * other, and `lengths` of the rollouts. Writes training.npz, validation.npz and test.npz: x, y (the next
 * observation), span (rows since the last that was kept) and rollout.
 *
 *   split FILE.npz FOLDER */
#include <elegans/elegans.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 17, SETS = 3 };

static void check(eg_status status, const eg_error *error) {
    if (status) {
        fprintf(stderr, "split: %s\n", error->message);
        exit(1);
    }
}

static void *take(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "split: no memory\n");
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

/* ---- one set: rows that were kept, with the time since the last kept one */
typedef struct set {
    float (*x)[FEATURES], (*y)[FEATURES], *span, *rollout;
    uint64_t rows;
} set;

/* One rollout: every row is kept with a probability of 0.9. The paper's windows end before the last kept row,
 * so that it is left out. */
static void add_rollout(set *s, const float *rows, size_t length, mt *random, uint32_t number) {
    const uint64_t first = s->rows;
    float skipped = 0;
    for (size_t t = 0; t + 1 < length; t++) {
        skipped++;
        if (mt_uniform(random) >= 0.9) continue;
        memcpy(s->x[s->rows], rows + t * FEATURES, sizeof s->x[0]);
        memcpy(s->y[s->rows], rows + (t + 1) * FEATURES, sizeof s->y[0]);
        s->rollout[s->rows] = (float)number;
        s->span[s->rows++] = skipped;
        skipped = 0;
    }
    if (s->rows > first) s->rows--;
}

static void write_set(eg_context *context, const set *s, const char *folder, const char *name) {
    static const char *const names[] = {"x", "y", "span", "rollout"};
    const eg_tensor tensors[] = {{EG_F32, 2, {s->rows, FEATURES}, s->x},
                                 {EG_F32, 2, {s->rows, FEATURES}, s->y},
                                 {EG_F32, 1, {s->rows}, s->span},
                                 {EG_F32, 1, {s->rows}, s->rollout}};
    char path[4096];
    eg_error error;
    snprintf(path, sizeof path, "%s/%s.npz", folder, name);
    check(eg_npz_write(context, path, 4, names, tensors, &error), &error);
    printf("%s: %llu rows\n", path, (unsigned long long)s->rows);
}

/* ---- the split */
static uint32_t *draw_order(uint32_t count) {
    uint32_t *order = take(count, sizeof *order);
    mt random;
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    mt_seed(&random, 125487);
    mt_shuffle(&random, count, order);
    return order;
}

static void split(eg_context *context, const eg_tensor *data, const eg_tensor *lengths,
                  const char *folder) {
    static const char *const names[SETS] = {"training", "validation", "test"};
    const uint32_t count = (uint32_t)lengths->shape[0];
    size_t *first = take(count, sizeof *first), *length = take(count, sizeof *length), at = 0;
    for (uint32_t i = 0; i < count; i++) {
        first[i] = at;
        length[i] = lengths->type == EG_I64 ? (size_t)((int64_t *)lengths->data)[i]
                                            : (size_t)((int32_t *)lengths->data)[i];
        at += length[i];
    }
    const uint32_t test = (uint32_t)(0.15 * count), validation = test + (uint32_t)(0.1 * count);
    const uint32_t bounds[SETS][2] = {{validation, count}, {test, validation}, {0, test}};
    uint32_t *order = draw_order(count);
    mt random;
    mt_seed(&random, 891374);
    for (int k = 0; k < SETS; k++) {
        set s = {take(at, sizeof *s.x), take(at, sizeof *s.y), take(at, sizeof *s.span),
                 take(at, sizeof *s.rollout), 0};
        for (uint32_t i = bounds[k][0]; i < bounds[k][1]; i++)
            add_rollout(&s, (const float *)data->data + first[order[i]] * FEATURES,
                        length[order[i]], &random, order[i]);
        write_set(context, &s, folder, names[k]);
        free(s.x);
        free(s.y);
        free(s.span);
        free(s.rollout);
    }
    free(order);
    free(first);
    free(length);
}

int main(int argc, char **argv) {
    if (argc != 3) return puts("usage: split FILE.npz FOLDER"), 2;
    eg_context *context;
    eg_npz *file;
    eg_tensor data, lengths;
    eg_error error;
    check(eg_context_create(NULL, &context, &error), &error);
    check(eg_npz_open(context, argv[1], &file, &error), &error);
    check(eg_npz_read(file, "data", &data, &error), &error);
    check(eg_npz_read(file, "lengths", &lengths, &error), &error);
    split(context, &data, &lengths, argv[2]);
    eg_tensor_release(context, &data);
    eg_tensor_release(context, &lengths);
    eg_npz_close(file);
    eg_context_destroy(context);
    return 0;
}
