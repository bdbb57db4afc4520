/* Values of two bytes: cast, moved, bound, stacked; against the evaluation in double. */
#include "engine/program.h"
#include "test.h"
#include "test_models.h"

#include <math.h>

AREA(cast, "f16 and bf16 values: casts, movement, scans, memory, gradients, refusals")

enum { T = 5, B = 6, C = 8 };

/* x [T, B, C] f32 -> halves that are sliced, transposed, joined, broadcast, gathered, stepped through and stacked. */
static eg_node build(eg_graph *g, eg_type type, eg_node *half, eg_node *leaf) {
    const eg_node x = *leaf = eg_input(g, "x", EG_F32, 3, (uint64_t[]){T, B, C});
    const eg_node h = eg_cast(g, eg_mul(g, x, eg_scalar(g, 1.7)), type);
    const eg_node a = eg_slice(g, h, 2, 2, 5), b = eg_slice(g, h, 2, 0, 3);
    const eg_node joined = eg_concat(g, 2, 2, (eg_node[]){a, b});
    const eg_node turned = eg_transpose(g, joined, (unsigned[]){0, 2, 1}); /* [T, C, B] */
    const eg_node flat = eg_reshape(g, turned, 2, (uint64_t[]){T, C * B});
    const eg_node scan = eg_scan(g, T, 0);
    const eg_node now = eg_scan_step(g, scan, flat);
    const eg_node carry = eg_scan_carry(g, scan, eg_scalar(g, 0));
    const eg_node wide = eg_cast(g, now, EG_F32);
    eg_scan_update(g, carry, eg_add(g, carry, eg_sum(g, wide, EG_ALL_AXES, 0)));
    const eg_node again = eg_cast(g, eg_add(g, eg_tanh(g, wide), carry), type);
    const eg_node stack = eg_scan_stack(g, scan, again); /* [T, C B] of halves */
    int32_t rows[] = {3, 0, 7, 3};
    const eg_node index = eg_constant(g, &(eg_tensor){EG_I32, 1, {4}, rows});
    const eg_node picked = eg_gather(g, stack, index); /* row 7 is none */
    *half = eg_broadcast(g, eg_reshape(g, picked, 3, (uint64_t[]){1, 4, C * B}), 3,
                         (uint64_t[]){2, 4, C * B});
    return eg_cast(g, *half, EG_F32);
}

static float widened(eg_type type, uint16_t half) {
    float value;
    if (type == EG_F16) eg__f16_to_f32_ref(1, &half, &value);
    else eg__bf16_to_f32_ref(1, &half, &value);
    return value;
}

static void check_moves(eg_type type, unsigned threads) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    eg_node half, leaf;
    const eg_context_options options = {.size = sizeof options, .threads = threads};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node y = build(g, type, &half, &leaf);
    const eg_output outputs[] = {{"y", y}, {"half", half}};
    model_run m = model_start(context, g, 2, outputs, NULL);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    const eg_tensor got = model_output(&m, "y"), halves = model_output(&m, "half");
    CHECK(halves.type == type, "the output is '%s'", eg_type_name(halves.type));
    const size_t n = 2 * 4 * C * B;
    double *want = test_alloc(n * sizeof *want), *x = test_alloc(T * B * C * sizeof *x);
    const eg_tensor bound = model_input(&m, "x");
    for (size_t i = 0; i < T * B * C; i++) x[i] = (double)((const float *)bound.data)[i];
    const eg__binding value = {leaf, x};
    CHECK_OK(eg__graph_evaluate(g, 1, &value, 1, &y, &want, false, 0, &error), error);
    for (size_t i = 0; i < n; i++) {
        const double off = fabs((double)((const float *)got.data)[i] - want[i]);
        const double step = type == EG_F16 ? 0x1p-10 : 0x1p-7; /* one place of rounding */
        CHECK(off <= step * fmax(1, fabs(want[i])), "%s: y[%zu] is %g, not %g", eg_type_name(type),
              i, (double)((const float *)got.data)[i], want[i]);
        CHECK(widened(type, ((const uint16_t *)halves.data)[i]) == ((const float *)got.data)[i],
              "half %zu", i);
    }
    free(want);
    free(x);
    eg_graph_destroy(g);
    model_close(&m);
}

TEST(cast, moved_halves) {
    check_moves(EG_F16, 1);
    check_moves(EG_BF16, 1);
    check_moves(EG_F16, 3);
}

/* ---- inputs and outputs of halves, memory, lengths */
static eg_program_info info_of(eg_node (*builder)(eg_graph *g, eg_type type), eg_type type) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_output output = {"y", builder(g, type)};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program, &info);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    return info;
}

/* Turned twice by copies that nothing can be a view of. */
static eg_node build_turned(eg_graph *g, eg_type type) {
    enum { N = 4096 };
    const eg_node x = eg_input(g, "x", type, 2, (uint64_t[]){N, 2});
    const eg_node a = eg_reshape(g, eg_transpose(g, x, (unsigned[]){1, 0}), 1, (uint64_t[]){2 * N});
    const eg_node b = eg_reshape(g, a, 2, (uint64_t[]){N, 2});
    return eg_reshape(g, eg_transpose(g, b, (unsigned[]){1, 0}), 1, (uint64_t[]){2 * N});
}

TEST(cast, half_the_memory) {
    const eg_program_info floats = info_of(build_turned, EG_F32);
    const eg_program_info halves = info_of(build_turned, EG_BF16);
    CHECK(floats.arena_bytes > 0 && floats.arena_bytes == 2 * halves.arena_bytes,
          "%llu and %llu bytes of arena", (unsigned long long)floats.arena_bytes,
          (unsigned long long)halves.arena_bytes);
    CHECK((uint64_t)floats.bytes == 2 * (uint64_t)halves.bytes, "%g and %g bytes moved",
          floats.bytes, halves.bytes);
}

/* A sequence of halves, of which a shorter run reads and writes less. */
TEST(cast, timed_sequences) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    uint16_t x[T * C], y[T * C];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node in = eg_input(g, "x", EG_F16, 2, (uint64_t[]){T, C});
    const eg_node scan = eg_scan(g, T, 0);
    const eg_node carry =
        eg_scan_carry(g, scan, eg_broadcast(g, eg_scalar(g, 0), 1, (uint64_t[]){C}));
    const eg_node sum = eg_add(g, carry, eg_cast(g, eg_scan_step(g, scan, in), EG_F32));
    eg_scan_update(g, carry, sum);
    const eg_output output = {"y", eg_scan_stack(g, scan, eg_cast(g, sum, EG_F16))};
    eg_program *program = NULL;
    eg_instance *instance = NULL;
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    for (int i = 0; i < T * C; i++) {
        const float value = (float)(i % 7);
        eg__f32_to_f16_ref(1, &value, &x[i]);
    }
    const eg_tensor from = {EG_F16, 2, {T, C}, x}, to = {EG_F16, 2, {T, C}, y};
    CHECK_OK(eg_instance_bind(instance, "x", &from, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &to, &error), error);
    for (uint64_t length = 2; length <= T; length += 3) {
        memset(y, 0xff, sizeof y);
        const eg_run_options options = {.size = sizeof options, .length = length};
        CHECK_OK(eg_run(instance, &options, &error), error);
        for (int i = 0; i < T * C; i++) {
            float want = 0;
            for (int k = i % C; k <= i; k += C) want += (float)(k % 7);
            const bool ran = (uint64_t)(i / C) < length;
            CHECK(ran ? widened(EG_F16, y[i]) == want : y[i] == 0xffff, "length %llu: y[%d] is %g",
                  (unsigned long long)length, i, (double)widened(EG_F16, y[i]));
        }
    }
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* Gradients pass through in f32: that of sum(w * cast(cast(x))) is w itself. */
TEST(cast, gradients) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const uint64_t shape[] = {4, 6};
    const eg_node x = eg_parameter(g, "x", 2, shape), w = eg_input(g, "w", EG_F32, 2, shape);
    const eg_node half = eg_cast(g, x, EG_BF16);
    const eg_node parts[] = {eg_slice(g, half, 1, 3, 3), eg_slice(g, half, 1, 0, 3)};
    const eg_node y = eg_cast(g, eg_concat(g, 1, 2, parts), EG_F32);
    const eg_node loss = eg_sum(g, eg_mul(g, y, w), EG_ALL_AXES, 0);
    eg_node d;
    CHECK_OK(eg_gradient(g, loss, 1, &x, &d, &error), error);
    const eg_output outputs[] = {{"d", d}, {"loss", loss}};
    model_run m = model_start(context, g, 2, outputs, NULL);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    const float *got = model_output(&m, "d").data, *want = model_input(&m, "w").data;
    for (int i = 0; i < 24; i++)
        CHECK(got[i] == want[i / 6 * 6 + (i + 3) % 6], "d[%d] is %g", i, (double)got[i]);
    eg_graph_destroy(g);
    model_close(&m);
}

/* ---- states, carries and constants */

/* h = cast(h / 2 + x) step by step, from a state that becomes the last h: sums are exact in f32, so that only casts
 * round. x is [T, B, C]; with `lengths` [B], samples end earlier. */
typedef struct cell {
    eg_node x, lengths, state, all, last;
} cell;
static cell cell_build(eg_graph *g, eg_type type, bool reverse, bool ragged) {
    cell c = {.x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){T, B, C})};
    c.state = eg_state_typed(g, "h", type, 2, (uint64_t[]){B, C});
    const eg_node scan = eg_scan(g, T, reverse);
    if (ragged) {
        c.lengths = eg_input(g, "lengths", EG_F32, 1, (uint64_t[]){B});
        eg_scan_lengths(g, scan, c.lengths);
    }
    const eg_node h = eg_scan_carry(g, scan, c.state);
    const eg_node old = type == EG_F32 ? h : eg_cast(g, h, EG_F32);
    const eg_node sum = eg_add(g, eg_mul(g, old, eg_scalar(g, 0.5)), eg_scan_step(g, scan, c.x));
    const eg_node next = type == EG_F32 ? sum : eg_cast(g, sum, type);
    eg_scan_update(g, h, next);
    c.all = eg_scan_stack(g, scan, next);
    c.last = eg_update(g, c.state, eg_scan_last(g, h));
    return c;
}

/* What a run gave, against the evaluation from what the state was. */
static void cell_check(eg_graph *g, const cell *c, eg_type type, const float *x,
                       const float *lengths, const uint16_t *was, const uint16_t *all,
                       const uint16_t *now) {
    enum { N = B * C };
    static double in[T * N], state[N], ends[B], stack[T * N], last[N];
    for (int i = 0; i < T * N; i++) in[i] = (double)x[i];
    for (int i = 0; i < N; i++) state[i] = (double)widened(type, was[i]);
    for (int i = 0; i < B; i++) ends[i] = (double)lengths[i];
    const eg__binding bound[] = {{c->x, in}, {c->state, state}, {c->lengths, ends}};
    const eg_node outputs[] = {c->all, c->last};
    double *const out[] = {stack, last};
    eg_error error;
    CHECK_OK(eg__graph_evaluate(g, c->lengths.id ? 3 : 2, bound, 2, outputs, out, false, 0, &error),
             error);
    for (int i = 0; i < T * N; i++)
        CHECK((double)widened(type, all[i]) == stack[i], "%s: h[%d] is %g, not %g",
              eg_type_name(type), i, (double)widened(type, all[i]), stack[i]);
    for (int i = 0; i < N; i++)
        CHECK((double)widened(type, now[i]) == last[i], "%s: state[%d] is %g, not %g",
              eg_type_name(type), i, (double)widened(type, now[i]), last[i]);
}

/* Runs that go on where the one before ended; the state is read, and once written, in between. */
static void check_stream(eg_type type, bool reverse, bool ragged, unsigned threads,
                         const char *passes) {
    enum { N = B * C };
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_instance *instance = NULL;
    eg_error error;
    static float x[T * N], lengths[B];
    static uint16_t all[T * N], was[N];
    const eg_context_options options = {.size = sizeof options, .threads = threads};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const cell c = cell_build(g, type, reverse, ragged);
    const eg_output output = {"all", c.all};
    const eg_compile_options compile = {.size = sizeof compile, .passes = passes};
    CHECK_OK(eg_compile(context, g, 1, &output, &compile, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    const eg_tensor from = {EG_F32, 3, {T, B, C}, x}, to = {type, 3, {T, B, C}, all};
    const eg_tensor ends = {EG_F32, 1, {B}, lengths};
    CHECK_OK(eg_instance_bind(instance, "x", &from, &error), error);
    CHECK_OK(eg_instance_bind(instance, "all", &to, &error), error);
    if (ragged) CHECK_OK(eg_instance_bind(instance, "lengths", &ends, &error), error);
    eg_tensor state;
    CHECK_OK(eg_instance_state(instance, "h", &state, &error), error);
    CHECK(state.type == type, "the state is '%s'", eg_type_name(state.type));
    for (int run = 0; run < 4; run++) {
        for (int i = 0; i < T * N; i++) x[i] = (float)((i * 37 + run * 11) % 8191 - 4095) / 4096;
        for (int i = 0; i < B; i++) lengths[i] = (float)((i + run) % (T + 1));
        CHECK_OK(eg_instance_state_begin(instance, &error), error);
        if (run == 2) memset(state.data, 0x31, sizeof was);
        memcpy(was, state.data, sizeof was);
        eg_instance_state_end(instance);
        CHECK_OK(eg_run(instance, NULL, &error), error);
        cell_check(g, &c, type, x, lengths, was, all, state.data);
    }
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

TEST(cast, states_and_carries) {
    static const char *const passes[] = {NULL, "none", "all,-in_place", "all,-reuse"};
    for (size_t p = 0; p < sizeof passes / sizeof *passes; p++)
        for (int way = 0; way < 4; way++) {
            check_stream(EG_F16, way & 1, way & 2, 1, passes[p]);
            check_stream(EG_BF16, way & 1, way & 2, 1, passes[p]);
        }
    check_stream(EG_F16, false, false, 3, NULL);
}

static eg_node build_state(eg_graph *g, eg_type type) {
    const uint64_t shape[] = {64, 32};
    const eg_node s = eg_state_typed(g, "s", type, 2, shape);
    eg_update(g, s, eg_input(g, "x", type, 2, shape));
    return s;
}

static uint64_t state_bytes(eg_type type) { return info_of(build_state, type).state_bytes; }

TEST(cast, states_of_half_the_memory) {
    CHECK(state_bytes(EG_F32) == 64 * 32 * 4, "%llu bytes",
          (unsigned long long)state_bytes(EG_F32));
    CHECK(state_bytes(EG_F16) == 64 * 32 * 2, "%llu bytes",
          (unsigned long long)state_bytes(EG_F16));
}

/* A carry that is stacked as it was before a step, and two that change places. */
TEST(cast, carries_that_swap) {
    enum { N = 3 };
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    uint16_t one[N], two[N];
    for (int i = 0; i < N; i++) one[i] = (uint16_t)(0x3c00 + i), two[i] = (uint16_t)(0x4000 + i);
    const eg_node a = eg_constant(g, &(eg_tensor){EG_F16, 1, {N}, one});
    const eg_node b = eg_constant(g, &(eg_tensor){EG_F16, 1, {N}, two});
    const eg_node scan = eg_scan(g, T, 0);
    const eg_node p = eg_scan_carry(g, scan, a), q = eg_scan_carry(g, scan, b);
    eg_scan_update(g, p, q);
    eg_scan_update(g, q, p);
    const eg_output outputs[] = {{"p", eg_scan_stack(g, scan, p)},
                                 {"q", eg_scan_last(g, q)},
                                 {"part", eg_slice(g, b, 0, 1, 2)},
                                 {"wide", eg_cast(g, b, EG_F32)}};
    model_run m = model_start(context, g, 4, outputs, NULL);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    const uint16_t *stack = model_output(&m, "p").data, *last = model_output(&m, "q").data;
    const uint16_t *part = model_output(&m, "part").data;
    const float *wide = model_output(&m, "wide").data;
    for (int i = 0; i < T * N; i++)
        CHECK(stack[i] == (i / N % 2 ? two : one)[i % N], "p[%d] is %04x", i, stack[i]);
    for (int i = 0; i < N; i++) {
        CHECK(last[i] == one[i], "q[%d] is %04x", i, last[i]);
        CHECK(wide[i] == widened(EG_F16, two[i]), "wide[%d] is %g", i, (double)wide[i]);
        CHECK(i == N - 1 || part[i] == two[i + 1], "part[%d] is %04x", i, part[i]);
    }
    eg_graph_destroy(g);
    model_close(&m);
}

/* Through T casts of a carry: that of the last h by x is 1/2 for every step that follows, with checkpoints or without. */
TEST(cast, gradients_of_carries) {
    for (uint64_t every = 0; every < 4; every += 2) {
        eg_context *context = NULL;
        eg_graph *g = NULL;
        eg_error error;
        eg_node d;
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const cell c = cell_build(g, EG_F16, false, false);
        const eg_node loss = eg_sum(g, eg_cast(g, c.last, EG_F32), EG_ALL_AXES, 0);
        const eg_gradient_options options = {.size = sizeof options, .every = every};
        CHECK_OK(eg_gradient_with(g, &options, loss, 1, &c.x, &d, &error), error);
        const eg_output output = {"d", d};
        model_run m = model_start(context, g, 1, &output, NULL);
        CHECK_OK(eg_run(m.instance, NULL, &error), error);
        const float *got = model_output(&m, "d").data;
        for (int i = 0; i < T * B * C; i++)
            CHECK((double)got[i] == ldexp(1, i / (B * C) - (T - 1)), "d[%d] is %g", i,
                  (double)got[i]);
        eg_graph_destroy(g);
        model_close(&m);
    }
}

/* ---- what is refused */
TEST(cast, refused) {
    for (int what = 0; what < 15; what++) {
        eg_context *context = NULL;
        eg_graph *g = NULL;
        eg_error error;
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){3, 4});
        const eg_node h = eg_input(g, "h", EG_F16, 2, (uint64_t[]){3, 4});
        const eg_node w = eg_input(g, "w", EG_F32, 2, (uint64_t[]){4, 2});
        const char *part = "input 0, 'h' of type 'f16', must be cast to f32";
        switch (what) {
        case 0: eg_tanh(g, h); break;
        case 1: eg_matmul(g, h, w), part = "on both sides, got 'f16' and 'f32'"; break;
        case 2: eg_softmax(g, h); break;
        case 3: eg_sum(g, h, 1, 0); break;
        case 4: eg_pad(g, h, 0, 1, 1, 0); break;
        case 5: eg_add(g, x, h), part = "add: input 1, 'h'", part = "input 1, 'h'"; break;
        case 6:
            eg_scan_update(g, eg_scan_carry(g, eg_scan(g, 3, 0), h), x);
            part = "a carry of f16 [3, 4] cannot become f32 [3, 4]";
            break;
        case 7: eg_scan_sum(g, eg_scan(g, 3, 0), h), part = "input 1, 'h'"; break;
        case 8: eg_cast(g, h, EG_BF16), part = "cannot cast 'f16'"; break;
        case 9: eg_cast(g, x, EG_F32), part = "cannot cast 'f32'"; break;
        case 10:
            eg_update(g, eg_state_typed(g, "s", EG_BF16, 2, (uint64_t[]){3, 4}), h);
            part = "a state of bf16 [3, 4] cannot be updated with f16 [3, 4]";
            break;
        case 11:
            eg_update(g, eg_state(g, "s", 2, (uint64_t[]){3, 4}), h);
            part = "a state of f32 [3, 4] cannot be updated with f16 [3, 4]";
            break;
        case 12: eg_update(g, h, h), part = "a cache or an f32 input"; break;
        case 13: eg_cast(g, x, EG_I32), part = "one must be f32"; break;
        default: eg_cast(g, x, EG_I8), part = "one must be f32"; break;
        }
        CHECK_FAILS(eg_graph_check(g, &error), error, EG_ERR_ARGUMENT, part);
        eg_graph_destroy(g);
        eg_context_destroy(context);
    }
}
