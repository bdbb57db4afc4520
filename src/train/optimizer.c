/* Optimizers as fused programs: whatever a step needs is read and written once. */
#include "train/optimizer.h"

#include <math.h>

const char *eg_optimizer_name(eg_optimizer_kind kind) {
    static const char *const names[] = {"adam", "adamw", "sgd", "rmsprop"};
    return (unsigned)kind < 4 ? names[kind] : NULL;
}

eg_status eg__optimizer_complete(eg_optimizer *o, eg_error *error) {
    if (!eg_optimizer_name(o->kind))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown optimizer %d", (int)o->kind);
    const bool adam = o->kind == EG_ADAM || o->kind == EG_ADAMW;
    if (o->learning_rate == 0) o->learning_rate = 0.001;
    if (o->beta1 == 0) o->beta1 = adam ? 0.9 : 0;
    if (o->beta1 < 0) o->beta1 = 0;
    if (o->beta2 == 0) o->beta2 = o->kind == EG_RMSPROP ? 0.99 : 0.999;
    if (o->epsilon == 0) o->epsilon = 1e-8;
    if (!(o->learning_rate > 0) || !(o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1) ||
        !(o->epsilon > 0) || !(o->weight_decay >= 0) || !(o->clip_norm >= 0))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "optimizer: rate %g, betas %g %g, epsilon %g, decay %g, clip %g",
                        o->learning_rate, o->beta1, o->beta2, o->epsilon, o->weight_decay,
                        o->clip_norm);
    return EG_OK;
}

/* ---- programs. Operands: parameter, gradient, first and second moment, then scalars. */
enum { P, G, M, V, SCALE, DECAY, B1, ONE_B1, B2, ONE_B2, RATE, EPSILON, SHRINK, OPERANDS };
#define O(i) EG__OPERAND(i)

static void add(eg__fused_program *p, eg__fused_op op, uint8_t out, uint8_t a, uint8_t b,
                uint8_t c) {
    p->code[p->length++] = (eg__fused_instruction){(uint8_t)op, out, a, b, c};
}

/* Register 0: the gradient, scaled, with the decay in it where that belongs. */
static void add_gradient(eg__fused_program *p, bool decays) {
    add(p, EG__FUSED_MUL, 0, O(G), O(SCALE), 0);
    if (decays) add(p, EG__FUSED_FMA, 0, O(P), O(DECAY), 0);
}

/* p <- shrink p - rate m / (sqrt(v) + epsilon), the corrections of the moments in rate and epsilon */
static void program_adam(eg__fused_program *p, bool decoupled, bool decays) {
    add_gradient(p, decays && !decoupled);
    add(p, EG__FUSED_MUL, 1, O(M), O(B1), 0);
    add(p, EG__FUSED_FMA, O(M), 0, O(ONE_B1), 1);
    add(p, EG__FUSED_MUL, 1, 0, 0, 0);
    add(p, EG__FUSED_MUL, 2, O(V), O(B2), 0);
    add(p, EG__FUSED_FMA, O(V), 1, O(ONE_B2), 2);
    add(p, EG__FUSED_SQRT, 2, O(V), 0, 0);
    add(p, EG__FUSED_ADD, 2, 2, O(EPSILON), 0);
    add(p, EG__FUSED_DIV, 1, O(M), 2, 0);
    if (decoupled && decays) {
        add(p, EG__FUSED_MUL, 2, O(P), O(SHRINK), 0);
        add(p, EG__FUSED_FMA, O(P), 1, O(RATE), 2);
    } else add(p, EG__FUSED_FMA, O(P), 1, O(RATE), O(P));
}

/* m <- b1 m + g; p <- p - rate m */
static void program_sgd(eg__fused_program *p, bool decays) {
    add_gradient(p, decays);
    add(p, EG__FUSED_FMA, O(M), O(M), O(B1), 0);
    add(p, EG__FUSED_FMA, O(P), O(M), O(RATE), O(P));
}

/* v <- b2 v + (1 - b2) g^2; m <- b1 m + g / (sqrt(v) + epsilon); p <- p - rate m */
static void program_rmsprop(eg__fused_program *p, bool decays) {
    add_gradient(p, decays);
    add(p, EG__FUSED_MUL, 1, 0, 0, 0);
    add(p, EG__FUSED_MUL, 2, O(V), O(B2), 0);
    add(p, EG__FUSED_FMA, O(V), 1, O(ONE_B2), 2);
    add(p, EG__FUSED_SQRT, 2, O(V), 0, 0);
    add(p, EG__FUSED_ADD, 2, 2, O(EPSILON), 0);
    add(p, EG__FUSED_DIV, 1, 0, 2, 0);
    add(p, EG__FUSED_FMA, O(M), O(M), O(B1), 1);
    add(p, EG__FUSED_FMA, O(P), O(M), O(RATE), O(P));
}

/* ---- blocks, which threads divide among themselves */
enum { BLOCK = 4096 }; /* some microseconds of work, and 64 KiB in the caches */

typedef struct update {
    const eg__kernels *kernels;
    eg__fused_f32_args all;
} update;

static void update_block(void *job, size_t block, unsigned thread) {
    (void)thread;
    const update *u = job;
    eg__fused_f32_args run = u->all;
    run.columns = eg__min(BLOCK, u->all.columns - block * BLOCK);
    for (unsigned i = P; i <= V; i++) run.operand[i].data += block * BLOCK;
    u->kernels->fused_f32(&run);
}

void eg__optimizer_run(const eg_optimizer *o, const eg__kernels *kernels, eg__threads *threads,
                       const eg__optimizer_args *args) {
    const bool adam = o->kind == EG_ADAM || o->kind == EG_ADAMW, decays = o->weight_decay > 0;
    eg__fused_program program = {.operands = OPERANDS};
    for (unsigned i = 0; i < OPERANDS; i++) program.kind[i] = i <= V ? EG__FULL : EG__SCALAR;
    if (adam) program_adam(&program, o->kind == EG_ADAMW, decays);
    else if (o->kind == EG_SGD) program_sgd(&program, decays);
    else program_rmsprop(&program, decays);
    /* m / (1 - b1^t) and v / (1 - b2^t), pulled out of the loop */
    const double c1 = adam ? 1 - pow(o->beta1, (double)args->step) : 1;
    const double c2 = adam ? sqrt(1 - pow(o->beta2, (double)args->step)) : 1;
    float scalars[OPERANDS] = {0};
    scalars[SCALE] = (float)args->scale;
    scalars[DECAY] = (float)o->weight_decay;
    scalars[B1] = (float)o->beta1;
    scalars[ONE_B1] = (float)(1 - o->beta1);
    scalars[B2] = (float)o->beta2;
    scalars[ONE_B2] = (float)(1 - o->beta2);
    scalars[RATE] = (float)(-args->learning_rate * c2 / c1);
    scalars[EPSILON] = (float)(o->epsilon * c2);
    scalars[SHRINK] = (float)(1 - args->learning_rate * o->weight_decay);
    update u = {kernels, {.program = &program, .rows = 1, .columns = args->n}};
    float *const full[] = {args->parameters, args->gradients, args->first, args->second};
    for (unsigned i = 0; i < OPERANDS; i++)
        u.all.operand[i] =
            i <= V ? (eg__fused_operand){full[i], args->n} : (eg__fused_operand){&scalars[i], 0};
    eg__threads_run(threads, eg__ceil_div(args->n, BLOCK), update_block, &u);
}

/* ---- the length of a gradient */
enum { SUMS = 64, LANES = 8 };
typedef struct squares {
    const float *values;
    size_t n, each; /* to a sum */
    double sum[SUMS];
} squares;

/* Eight sums side by side: one alone would wait for each addition. */
static void square_block(void *job, size_t block, unsigned thread) {
    (void)thread;
    squares *s = job;
    const size_t first = eg__min(s->n, block * s->each), n = eg__min(s->each, s->n - first);
    const float *x = s->values + first;
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (unsigned l = 0; l < LANES; l++) lane[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < n; i++) lane[0] += (double)x[i] * (double)x[i];
    s->sum[block] = 0;
    for (unsigned l = 0; l < LANES; l++) s->sum[block] += lane[l];
}

double eg__norm(eg__threads *threads, const float *values, size_t n) {
    squares s = {.values = values, .n = n, .each = eg__max(BLOCK, eg__ceil_div(n, SUMS))};
    const size_t blocks = eg__ceil_div(n, s.each);
    eg__threads_run(threads, blocks, square_block, &s);
    double sum = 0;
    for (size_t i = 0; i < blocks; i++) sum += s.sum[i];
    return sqrt(sum);
}
