/* Training: optimizers against torch's formulas, losses, descent, the same bits on any threads. */
#include "test.h"
#include "elegans/elegans.h"
#include "train/update.h"

#include <math.h>

AREA(train, "optimizers, constraints, losses, accumulation, clipping, the same bits on any threads")

/* ---- optimizers: the textbook formulas in double, ten steps */
static void exact_step(const eg_optimizer *o, int step, size_t n, double *p, const double *g,
                       double *m, double *v) {
    for (size_t i = 0; i < n; i++) {
        double d = g[i];
        if (o->kind != EG_ADAMW) d += o->weight_decay * p[i];
        else p[i] *= 1 - o->learning_rate * o->weight_decay;
        switch (o->kind) {
        case EG_ADAM:
        case EG_ADAMW:
            m[i] = o->beta1 * m[i] + (1 - o->beta1) * d;
            v[i] = o->beta2 * v[i] + (1 - o->beta2) * d * d;
            p[i] -= o->learning_rate * (m[i] / (1 - pow(o->beta1, step))) /
                    (sqrt(v[i] / (1 - pow(o->beta2, step))) + o->epsilon);
            break;
        case EG_SGD:
            m[i] = o->beta1 * m[i] + d;
            p[i] -= o->learning_rate * m[i];
            break;
        case EG_RMSPROP:
            v[i] = o->beta2 * v[i] + (1 - o->beta2) * d * d;
            m[i] = o->beta1 * m[i] + d / (sqrt(v[i]) + o->epsilon);
            p[i] -= o->learning_rate * m[i];
            break;
        }
    }
}

/* ---- the programs of an update, on buffers of their own */
enum { MOST = 40000 };
typedef struct bench {
    eg_context *context;
    eg__update update;
    float p[MOST], g[MOST], sum[MOST], m[MOST], v[MOST];
} bench;

static bench *bench_open(const char *isa, unsigned threads, const eg_optimizer *optimizer, size_t n,
                         size_t pieces, const eg__update_piece *piece) {
    bench *b = test_alloc(sizeof *b);
    eg_error error;
    eg_optimizer o = *optimizer;
    memset(b, 0, sizeof *b);
    const eg_context_options options = {.isa = isa, .threads = threads};
    CHECK_OK(eg_context_create(&options, &b->context, &error), error);
    CHECK_OK(eg__optimizer_complete(&o, &error), error);
    const eg__update_piece whole = {0, n, -INFINITY};
    CHECK_OK(eg__update_compile(&b->update, b->context, &o, n, pieces ? pieces : 1,
                                pieces ? piece : &whole, &error),
             error);
    const eg__update_buffers buffers = {b->p, b->g, b->m, b->v};
    CHECK_OK(eg__update_bind(&b->update, &buffers, &error), error);
    CHECK_OK(eg__update_sum_in(&b->update, b->sum, &error), error);
    return b;
}
static void bench_close(bench *b) {
    eg__update_release(&b->update);
    eg_context_destroy(b->context);
    free(b);
}

static const eg_optimizer optimizers[] = {
    {EG_ADAM, .learning_rate = 0.01},
    {EG_ADAM, .learning_rate = 0.01, .weight_decay = 0.1},
    {EG_ADAMW, .learning_rate = 0.01, .weight_decay = 0.1},
    {EG_SGD, .learning_rate = 0.1},
    {EG_SGD, .learning_rate = 0.1, .beta1 = 0.9, .weight_decay = 0.01},
    {EG_RMSPROP, .learning_rate = 0.01},
    {EG_RMSPROP, .learning_rate = 0.01, .beta1 = 0.5}};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

TEST(train, optimizers) {
    enum { N = 4096 + 37 };
    eg_error error;
    for (size_t c = 0; c < OPTIMIZERS; c++) {
        bench *b = bench_open("ref", 1, &optimizers[c], N, 0, NULL);
        const eg_optimizer *o = &b->update.optimizer;
        double dp[N], dg[N], dm[N] = {0}, dv[N] = {0};
        uint64_t state = 3;
        for (int i = 0; i < N; i++) dp[i] = b->p[i] = test_random(&state);
        for (int step = 1; step <= 10; step++) {
            for (int i = 0; i < N; i++) {
                b->g[i] = 2 * test_random(&state);
                dg[i] = 0.5 * (double)b->g[i];
            }
            CHECK_OK(eg__update_step(&b->update, (uint64_t)step, o->learning_rate, 0.5, &error),
                     error);
            exact_step(o, step, N, dp, dg, dm, dv);
        }
        for (int i = 0; i < N; i++)
            CHECK(fabs(dp[i] - (double)b->p[i]) < 3e-5, "%s %zu: element %d is %g, not %g",
                  eg_optimizer_name(o->kind), c, i, (double)b->p[i], dp[i]);
        bench_close(b);
    }
    eg_optimizer bad = {.learning_rate = -1};
    CHECK_FAILS(eg__optimizer_complete(&bad, &error), error, EG_ERR_ARGUMENT, "rate -1");
}

/* One pass over memory, in place: every buffer is read once, and written once if it changes. */
TEST(train, updates_are_one_step) {
    for (size_t c = 0; c < OPTIMIZERS; c++) {
        bench *b = bench_open(NULL, 1, &optimizers[c], MOST, 0, NULL);
        const double buffers = optimizers[c].kind == EG_SGD ? 5 : 7;
        static const size_t scalars[OPTIMIZERS] = {7, 8, 8, 3, 4, 6, 6};
        const struct {
            eg_train_part part;
            double bytes;
            const char *kernel;
        } want[] = {{EG_TRAIN_SUM, 12.0 * MOST + 4, "fused"},
                    {EG_TRAIN_NORM, 4.0 * MOST + 16, "sum_squares"},
                    {EG_TRAIN_UPDATE, buffers * 4 * MOST + 4 * (double)scalars[c], "fused"}};
        for (int i = 0; i < 3; i++) {
            const eg_program *program = b->update.programs[want[i].part];
            eg_program_info info = {.size = sizeof info};
            eg_step_info step = {.size = sizeof step};
            eg_error error;
            eg_program_info_get(program, &info);
            CHECK_OK(eg_program_step(program, 0, &step, &error), error);
            CHECK(info.steps == 1 && info.arena_bytes == 0 &&
                      strcmp(step.kernel, want[i].kernel) == 0,
                  "optimizer %zu: %s has %zu steps, the first is '%s'; an arena of %llu bytes", c,
                  eg_train_part_name(want[i].part), info.steps, step.kernel,
                  (unsigned long long)info.arena_bytes);
            CHECK(step.bytes == want[i].bytes && step.flops > MOST,
                  "optimizer %zu: %s: %g bytes, not %g; %g operations", c,
                  eg_train_part_name(want[i].part), step.bytes, want[i].bytes, step.flops);
        }
        bench_close(b);
    }
}

/* Sums, norms, steps, in pieces or as a whole: the same bits on any threads. */
TEST(train, updates_on_any_threads) {
    static const eg__update_piece pieces[] = {
        {0, 16, -INFINITY}, {16, 8192, 0}, {8208, 20000, -INFINITY}, {28208, MOST - 28208, -0.5f}};
    eg_error error;
    for (size_t c = 0; c < OPTIMIZERS; c++)
        for (size_t count = 0; count <= 4; count += 4) {
            bench *b[3];
            double norm[3];
            for (unsigned t = 0; t < 3; t++) {
                b[t] = bench_open(NULL, t + 1, &optimizers[c], MOST, count, pieces);
                uint64_t state = 5;
                for (int i = 0; i < MOST; i++) b[t]->p[i] = test_random(&state);
                for (uint64_t step = 1; step <= 3; step++) {
                    for (int part = 0; part < 3; part++) {
                        for (int i = 0; i < MOST; i++) b[t]->g[i] = test_random(&state);
                        CHECK_OK(eg__update_sum(&b[t]->update, part > 0, &error), error);
                    }
                    CHECK_OK(eg__update_use(&b[t]->update, b[t]->sum, &error), error);
                    CHECK_OK(eg__update_norm(&b[t]->update, &norm[t], &error), error);
                    CHECK_OK(eg__update_step(&b[t]->update, step, 0.1, 1 / norm[t], &error), error);
                }
                CHECK(norm[t] == norm[0] && memcmp(b[t]->p, b[0]->p, sizeof b[0]->p) == 0 &&
                          memcmp(b[t]->m, b[0]->m, sizeof b[0]->m) == 0 &&
                          memcmp(b[t]->v, b[0]->v, sizeof b[0]->v) == 0,
                      "optimizer %zu, %zu pieces: other bits on %u threads", c, count, t + 1);
            }
            for (unsigned t = 0; t < 3; t++) bench_close(b[t]);
        }
}

/* What a piece demands holds after a step; other pieces become what they are without it. */
TEST(train, constraints_hold_in_their_pieces) {
    enum { N = 96 };
    static const eg__update_piece pieces[] = {
        {0, 32, -INFINITY}, {32, 32, 0}, {64, 16, -0.25f}, {80, 16, -INFINITY}};
    eg_error error;
    for (size_t c = 0; c < OPTIMIZERS; c++) {
        bench *free_of = bench_open(NULL, 1, &optimizers[c], N, 0, NULL),
              *bound = bench_open(NULL, 1, &optimizers[c], N, 4, pieces);
        bench *const both[] = {free_of, bound};
        for (int k = 0; k < 2; k++) {
            uint64_t state = 7;
            for (int i = 0; i < N; i++) {
                both[k]->p[i] = 0.01f * test_random(&state);
                both[k]->g[i] = 10 * test_random(&state);
            }
            CHECK_OK(eg__update_step(&both[k]->update, 1, 0.5, 1, &error), error);
        }
        int raised = 0;
        for (int i = 0; i < N; i++) {
            const float least = i < 32 || i >= 80 ? -INFINITY : i < 64 ? 0 : -0.25f;
            const float is = free_of->p[i], want = is > least ? is : least;
            raised += is < least;
            CHECK(bound->p[i] == want, "optimizer %zu: element %d is %g, not %g", c, i,
                  (double)bound->p[i], (double)want);
        }
        CHECK(raised > 4 && memcmp(bound->m, free_of->m, sizeof bound->m) == 0,
              "optimizer %zu: %d were raised", c, raised);
        bench_close(free_of);
        bench_close(bound);
    }
}

/* Squares of these are no floats any more. */
TEST(train, norms_of_huge_gradients) {
    bench *b = bench_open(NULL, 2, &optimizers[0], MOST, 0, NULL);
    eg_error error;
    double norm;
    for (int i = 0; i < MOST; i++) b->g[i] = i % 2 ? 3e38f : -3e38f;
    CHECK_OK(eg__update_norm(&b->update, &norm, &error), error);
    CHECK(fabs(norm - 200 * (double)3e38f) < 1e-12 * norm, "norm %g", norm);
    b->g[MOST - 1] = INFINITY;
    CHECK_OK(eg__update_norm(&b->update, &norm, &error), error);
    CHECK(isinf(norm), "norm %g", norm);
    bench_close(b);
}

/* ---- losses against their formulas */
TEST(train, losses) {
    enum { N = 3, C = 4 };
    static const float y[N][C] = {{1, -2, 0.5f, 3}, {0, 0, 0.2f, -1}, {5, -5, 1, 0}};
    static const float target[N][C] = {{0, 1, 1, 0}, {1, 0, 0, 1}, {1, 1, 0, 0}},
                       class[N] = {3, 0, 1};
    static const float weight[N] = {1, 0, 2},
                       each_weight[N][C] = {{1, 0, 2, 0}, {0, 0, 0, 0}, {1, 1, 0, 3}};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (int kind = 0; eg_loss_name((eg_loss)kind); kind++)
        for (int weighted = 0; weighted < (kind == EG_LOSS_CLASSES ? 2 : 3); weighted++) {
            double want = 0, counted = 0;
            for (int i = 0; i < N; i++) {
                double log_sum = 0;
                for (int k = 0; k < C; k++) log_sum += exp((double)y[i][k]);
                for (int k = 0; k < C; k++) {
                    const double e = (double)y[i][k] - (double)target[i][k],
                                 w = weighted == 2 ? each_weight[i][k]
                                     : weighted    ? weight[i]
                                                   : 1;
                    const double p = 1 / (1 + exp(-(double)y[i][k])), t = target[i][k];
                    const double each[] = {e * e, fabs(e), fabs(e) < 1 ? e * e / 2 : fabs(e) - 0.5,
                                           -t * log(p) - (1 - t) * log(1 - p),
                                           k == (int)class[i] ? log(log_sum) - (double)y[i][k] : 0};
                    want += w * each[kind];
                    counted += kind == EG_LOSS_CLASSES ? w / C : w;
                }
            }
            want /= counted;
            eg_graph *g;
            CHECK_OK(eg_graph_create(context, &g, &error), error);
            const bool classes = kind == EG_LOSS_CLASSES;
            eg_node in = eg_input(g, "y", EG_F32, 2, (uint64_t[]){N, C});
            eg_node to = eg_input(g, "target", EG_F32, 2, (uint64_t[]){N, classes ? 1 : C});
            const uint64_t across = weighted == 2 ? C : 1;
            eg_node by =
                weighted ? eg_input(g, "weight", EG_F32, 2, (uint64_t[]){N, across}) : (eg_node){0};
            eg_output output = {"loss", eg_loss_node(g, (eg_loss)kind, in, to, by)};
            eg_program *program;
            eg_instance *instance;
            eg_tensor got;
            CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
            CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
            eg_tensor t = {EG_F32, 2, {N, C}, (void *)y};
            CHECK_OK(eg_instance_bind(instance, "y", &t, &error), error);
            t = (eg_tensor){
                EG_F32, 2, {N, classes ? 1 : C}, classes ? (void *)class : (void *)target};
            CHECK_OK(eg_instance_bind(instance, "target", &t, &error), error);
            t = (eg_tensor){
                EG_F32, 2, {N, across}, weighted == 2 ? (void *)each_weight : (void *)weight};
            if (weighted) CHECK_OK(eg_instance_bind(instance, "weight", &t, &error), error);
            CHECK_OK(eg_instance_output(instance, "loss", &got, &error), error);
            CHECK_OK(eg_run(instance, NULL, &error), error);
            CHECK(fabs(want - (double)*(float *)got.data) < 1e-5 * (1 + want), "%s%s: %g, not %g",
                  eg_loss_name((eg_loss)kind),
                  weighted == 2 ? ", each weighted"
                  : weighted    ? ", weighted"
                                : "",
                  (double)*(float *)got.data, want);
            eg_instance_destroy(instance);
            eg_program_release(program);
            eg_graph_destroy(g);
        }
    eg_context_destroy(context);
}

/* ---- whole steps */
enum { B = 24, T = 12, I = 3 };

/* The next value of a wave with an irregular clock. */
static void fill(eg_train_batch *batch, uint64_t seed) {
    for (int b = 0; b < B; b++) {
        double phase = 3 * (double)test_random(&seed), time = 0;
        for (int t = 0; t < T; t++) {
            const double span = 0.3 + 0.2 * (double)test_random(&seed);
            time += span;
            for (int i = 0; i < I; i++)
                batch->x[(t * B + b) * I + i] = (float)sin(phase + time * (1 + 0.3 * i));
            for (uint64_t i = 0; i < batch->target_size; i++)
                batch->target[(uint64_t)(t * B + b) * batch->target_size + i] =
                    (float)sin(phase + (time + 0.3) * (1 + 0.3 * (double)i));
            if (batch->timespans) batch->timespans[t * B + b] = (float)span;
        }
    }
}

typedef struct training {
    const char *spec;
    unsigned threads;
    int parts; /* gradients per update */
    double clip;
} training;

/* The loss before and after some steps; the last parameters' sum of bits in *bits. */
static void train(const training *c, int steps, double *before, double *after, uint64_t *bits) {
    eg_context *context;
    eg_model *model;
    eg_trainer *trainer;
    eg_error error = {0};
    eg_context_options options = {.threads = c->threads};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_model_open(context, c->spec, &model, &error), error);
    const eg_train_options how = {.batch = B,
                                  .time = T,
                                  .timespans = 1,
                                  .optimizer = {.learning_rate = 0.01, .clip_norm = c->clip}};
    CHECK_OK(eg_trainer_create(model, &how, &trainer, &error), error);
    eg_train_batch batch = eg_trainer_batch(trainer);
    eg_train_result result = {0};
    fill(&batch, 99);
    CHECK_OK(eg_trainer_evaluate(trainer, before, NULL, &error), error);
    for (int s = 0; s < steps; s++) {
        for (int part = 0; part < c->parts; part++) {
            fill(&batch, (uint64_t)(s * c->parts + part + 1));
            CHECK_OK(eg_trainer_gradient(trainer, &result, &error), error);
        }
        CHECK_OK(eg_trainer_update(trainer, 0, &result, &error), error);
    }
    fill(&batch, 99);
    CHECK_OK(eg_trainer_evaluate(trainer, after, NULL, &error), error);
    CHECK_OK(eg_trainer_store(trainer, model, &error), error);
    *bits = 0;
    eg_tensor tensor;
    for (size_t i = 0; eg_model_tensor(model, i, &tensor, NULL); i++) {
        uint64_t n;
        eg_tensor_measure(&tensor, &n, NULL, NULL);
        for (uint64_t k = 0; k < n; k++) {
            uint32_t word;
            memcpy(&word, (float *)tensor.data + k, sizeof word);
            *bits = *bits * 31 + word;
        }
    }
    eg_trainer_destroy(trainer);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(train, loss_falls) {
    static const char *const specs[] = {
        "cfc:16,in=3,backbone=24,proj=3", "cfc:16,in=3,backbone=24x2,dropout=0.1,keras=1,proj=3",
        "cfc:autoncp:16:3,in=3",          "cfc:autoncp:16:3,in=3,backbone=12x2,dropout=0.1",
        "ltc:autoncp:16:3,in=3",          "ltc:autoncp:16:3,in=3,explicit=1",
        "cfc:12,in=3,mixed=1,proj=3"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        double before, after;
        uint64_t bits;
        train(&(training){specs[i], 2, 1, 1}, test_quick() ? 15 : 60, &before, &after, &bits);
        CHECK(after < (test_quick() ? 0.95 : 0.7) * before, "%s: the loss goes from %g to %g",
              specs[i], before, after);
    }
}

TEST(train, same_bits_on_any_threads) {
    static const char *const specs[] = {"cfc:48,in=3,backbone=64,proj=3", "ltc:autoncp:32:3,in=3"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t one, two;
        double before, after;
        const int steps = test_emulated() ? 2 : 5;
        train(&(training){specs[i], 1, 2, 0}, steps, &before, &after, &one);
        for (unsigned threads = test_quick() ? 3 : 2; threads <= 3; threads++) {
            train(&(training){specs[i], threads, 2, 0}, steps, &before, &after, &two);
            CHECK(one == two, "%s: other bits with %u threads", specs[i], threads);
        }
    }
}

/* A small model and a batch for it. */
typedef struct trained {
    eg_context *context;
    eg_model *model;
    eg_trainer *trainer;
} trained;

static trained trained_open(void) {
    trained small;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &small.context, &error), error);
    CHECK_OK(eg_model_open(small.context, "cfc:8,in=3,proj=3", &small.model, &error), error);
    const eg_train_options options = {.batch = B, .time = T};
    CHECK_OK(eg_trainer_create(small.model, &options, &small.trainer, &error), error);
    eg_train_batch batch = eg_trainer_batch(small.trainer);
    fill(&batch, 5);
    return small;
}

static void trained_close(const trained *small) {
    eg_trainer_destroy(small->trainer);
    eg_model_destroy(small->model);
    eg_context_destroy(small->context);
}

/* A sample that does not count changes nothing. */
TEST(train, partial_batch) {
    eg_error error;
    const trained small = trained_open();
    eg_trainer *trainer = small.trainer;
    eg_train_batch batch = eg_trainer_batch(trainer);
    for (int t = 0; t < T; t++)
        for (int b = B / 2; b < B; b++)
            for (int i = 0; i < 3; i++) batch.weight[(t * B + b) * 3 + i] = 0;
    double some, same;
    CHECK_OK(eg_trainer_evaluate(trainer, &some, NULL, &error), error);
    for (int t = 0; t < T; t++)
        for (int b = B / 2; b < B; b++) batch.target[(t * B + b) * 3] = 1e6f;
    CHECK_OK(eg_trainer_evaluate(trainer, &same, NULL, &error), error);
    CHECK(some == same, "%g, then %g", some, same);
    /* nor does one target, whose row has others that do: the mean is over what counts */
    const float *y;
    double want = 0, counted = 0;
    for (int i = 0; i < T * B * 3; i++) batch.weight[i] = i % 7 == 2 || i % 3 == 1 ? 0 : 1;
    for (int i = 0; i < T * B * 3; i++)
        if (batch.weight[i] == 0) batch.target[i] = 1e6f;
    for (int t = 0; t < T; t++) /* targets that count, and were spoiled above */
        for (int b = B / 2; b < B; b++)
            if (batch.weight[(t * B + b) * 3] > 0) batch.target[(t * B + b) * 3] = 0.5f;
    CHECK_OK(eg_trainer_evaluate(trainer, &some, &y, &error), error);
    for (int i = 0; i < T * B * 3; i++) {
        const double e = (double)y[i] - (double)batch.target[i];
        if (batch.weight[i] > 0) want += e * e, counted++;
    }
    CHECK(fabs(some - want / counted) < 1e-5 * some, "%g, not %g", some, want / counted);
    batch.target[0] = NAN;
    CHECK_FAILS(eg_trainer_step(trainer, 0, NULL, &error), error, EG_ERR_FORMAT, "the loss is nan");
    trained_close(&small);
}

/* Before anybody asks for the trainer's own batch: every target counts, of inputs that are zero. */
TEST(train, batch_nobody_asked_for) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:8,in=3,proj=3", &model, &error), error);
    for (int asked = 0; asked < 2; asked++) {
        eg_trainer *trainer;
        const eg_train_options options = {.batch = B, .time = T, .timespans = 1, .lengths = 1};
        CHECK_OK(eg_trainer_create(model, &options, &trainer, &error), error);
        double loss;
        const float *y;
        if (asked) {
            const eg_train_batch batch = eg_trainer_batch(trainer);
            for (int i = 0; i < T * B * 3; i++)
                CHECK(batch.weight[i] == 1 && batch.x[i] == 0 && batch.target[i] == 0, "at %d", i);
            for (int i = 0; i < T * B; i++) CHECK(batch.timespans[i] == 1, "timespan %d", i);
            for (int i = 0; i < B; i++) CHECK(batch.lengths[i] == T, "length %d", i);
            batch.weight[0] = 0; /* is kept when the same batch is used again */
            CHECK_OK(eg_trainer_use(trainer, NULL, &error), error);
            CHECK(eg_trainer_batch(trainer).weight[0] == 0, "weights were written again");
            batch.weight[0] = 1;
        }
        CHECK_OK(eg_trainer_evaluate(trainer, &loss, &y, &error), error);
        double want = 0;
        for (int i = 0; i < T * B * 3; i++) want += (double)y[i] * (double)y[i] / (T * B * 3);
        CHECK(fabs(loss - want) < 1e-5 * want, "a loss of %g, not %g", loss, want);
        eg_trainer_destroy(trainer);
    }
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* A model says what it demands of its parameters, and a training keeps to it. */
TEST(train, models_constrain_their_parameters) {
    static const char *const positive[] = {"rnn_cell.gleak", "rnn_cell.cm", "rnn_cell.w",
                                           "rnn_cell.sensory_w"};
    eg_context *context;
    eg_model *model;
    eg_trainer *trainer;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "ltc:autoncp:12:3,in=3", &model, &error), error);
    for (size_t i = 0; i < eg_model_count(model); i++)
        CHECK(eg_model_least(model, i) == -INFINITY, "'%s' is constrained",
              eg_model_shape(model, i, NULL, NULL));
    eg_model_destroy(model);
    CHECK_OK(eg_model_open(context, "ltc:autoncp:12:3,in=3,explicit=1", &model, &error), error);
    const eg_train_options options = {
        .batch = B, .time = T, .optimizer = {.kind = EG_SGD, .learning_rate = 2}};
    CHECK_OK(eg_trainer_create(model, &options, &trainer, &error), error);
    eg_train_batch batch = eg_trainer_batch(trainer);
    fill(&batch, 5);
    CHECK_OK(eg_trainer_step(trainer, 0, NULL, &error), error);
    CHECK_OK(eg_trainer_store(trainer, model, &error), error);
    size_t constrained = 0, zeros = 0, negative = 0;
    eg_tensor tensor;
    const char *name;
    for (size_t i = 0; (name = eg_model_tensor(model, i, &tensor, NULL)); i++) {
        bool is_positive = false;
        uint64_t n;
        for (int k = 0; k < 4; k++) is_positive = is_positive || strcmp(name, positive[k]) == 0;
        CHECK(eg_model_least(model, i) == (is_positive ? 0 : -INFINITY), "'%s': at least %g", name,
              eg_model_least(model, i));
        constrained += is_positive;
        eg_tensor_measure(&tensor, &n, NULL, NULL);
        for (uint64_t k = 0; k < n; k++) {
            const float value = ((float *)tensor.data)[k];
            CHECK(!is_positive || value >= 0, "'%s' has %g", name, (double)value);
            zeros += is_positive && value == 0;
            negative += value < 0;
        }
    }
    CHECK(constrained == 4 && zeros && negative, "%zu constrained, %zu at 0, %zu below",
          constrained, zeros, negative);
    CHECK(eg_model_least(model, 1000) == -INFINITY, "past the end");
    eg_trainer_destroy(trainer);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* All parts of a step can be looked at and recorded. */
TEST(train, parts_are_recorded) {
    eg_error error;
    const trained small = trained_open();
    eg_trainer *trainer = small.trainer;
    CHECK(eg_trainer_part(trainer, EG_TRAIN_GRADIENT, NULL) == eg_trainer_program(trainer),
          "another program");
    CHECK(!eg_train_part_name(EG_TRAIN_PARTS) && !eg_trainer_part(trainer, EG_TRAIN_PARTS, NULL),
          "more parts");
    for (unsigned part = 0; part < EG_TRAIN_PARTS; part++) {
        static const uint64_t runs[EG_TRAIN_PARTS] = {4, 3, 2, 2}; /* of 3 gradients, then one */
        eg_recorder *recorder;
        eg_instance *instance;
        const eg_program *program = eg_trainer_part(trainer, (eg_train_part)part, &instance);
        CHECK_OK(eg_recorder_create(small.context, NULL, &recorder, &error), error);
        CHECK_OK(eg_instance_record(instance, recorder, &error), error);
        for (int i = 0; i < 3; i++) CHECK_OK(eg_trainer_gradient(trainer, NULL, &error), error);
        CHECK_OK(eg_trainer_update(trainer, 0, NULL, &error), error);
        CHECK_OK(eg_trainer_step(trainer, 0, NULL, &error), error);
        CHECK_OK(eg_instance_record(instance, NULL, &error), error);
        eg_program_info info = {.size = sizeof info};
        eg_program_info_get(program, &info);
        CHECK(eg_recorder_runs(recorder) == runs[part] &&
                  eg_recorder_count(recorder) >= runs[part] * info.run_steps && info.run_steps,
              "%s: %llu runs, %llu events", eg_train_part_name((eg_train_part)part),
              (unsigned long long)eg_recorder_runs(recorder),
              (unsigned long long)eg_recorder_count(recorder));
        eg_recorder_destroy(recorder);
    }
    trained_close(&small);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model = NULL;
    eg_trainer *trainer = NULL;
    const eg_train_options options = {.batch = 2, .time = 2};
    eg_status status = eg_model_open(context, user, &model, error);
    if (!status) status = eg_trainer_create(model, &options, &trainer, error);
    for (int i = 0; !status && i < 2; i++) {
        status = eg_trainer_gradient(trainer, NULL, error);
        if (!status) status = eg_trainer_step(trainer, 0, NULL, error);
    }
    eg_trainer_destroy(trainer);
    eg_model_destroy(model);
    return status;
}

TEST(train, every_allocation_may_fail) {
    int failed = test_every_allocation_within(attempt, "cfc:4,in=2,backbone=0");
    CHECK(failed > 100, "only %d allocations", failed);
    failed = test_every_allocation_within(attempt, "ltc:autoncp:6:2,in=2,explicit=1");
    CHECK(failed > 100, "only %d allocations", failed);
}
