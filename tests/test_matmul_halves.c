/* Products of f16 and bf16 in graphs: against the definition in double, over shapes, passes, threads and instruction sets. */
#include "engine/program.h"
#include "test.h"
#include "test_compile.h"
#include "test_models.h"

#include <math.h>

AREA(matmul_halves,
     "products of halves in graphs: shapes, epilogues, gradients, mixed precision, refusals")

/* Shapes of both sides; an odd depth is padded, leading axes on the right make many products. */
typedef struct sides {
    unsigned a_rank, b_rank;
    uint64_t a[4], b[4];
    int ta, tb;
} sides;
static const sides shapes[] = {
    {2, 2, {5, 8}, {8, 3}, 0, 0},          {2, 2, {1, 9}, {9, 40}, 0, 0},
    {2, 2, {300, 33}, {17, 33}, 0, 1},     {2, 2, {6, 20}, {6, 19}, 1, 0},
    {2, 2, {7, 4}, {9, 7}, 1, 1},          {3, 2, {3, 5, 16}, {16, 33}, 0, 0},
    {3, 2, {2, 3, 7}, {11, 7}, 0, 1},      {3, 3, {4, 3, 6}, {4, 6, 5}, 0, 0},
    {3, 3, {2, 3, 7}, {2, 9, 7}, 0, 1},    {3, 3, {2, 7, 3}, {2, 7, 18}, 1, 0},
    {4, 3, {2, 3, 5, 4}, {3, 4, 6}, 0, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* tanh(a b + bias), and the gradient of a sum of products with powers of two, which halves can hold: only the sides are
 * rounded. */
static size_t build(eg_graph *g, const sides *s, eg_type type, bool epilogue, eg_output out[3]) {
    eg_error error;
    const eg_node a = eg_input(g, "a", EG_F32, s->a_rank, s->a);
    const eg_node b = eg_parameter(g, "b", s->b_rank, s->b);
    const eg_node y =
        eg_matmul_transposed(g, eg_cast(g, a, type), s->ta, eg_cast(g, b, type), s->tb);
    if (epilogue) {
        const eg__node *node = eg__node_at(g, y);
        const eg_node bias = eg_parameter(g, "bias", 1, &node->shape[node->rank - 1]);
        out[0] = (eg_output){"y", eg_tanh(g, eg_add(g, y, bias))};
        return 1;
    }
    const eg_node leaves[] = {a, b};
    eg_node d[2];
    const eg_node loss = eg_sum(g, eg_mul(g, y, eg_scalar(g, 0.25)), EG_ALL_AXES, 0);
    CHECK_OK(eg_gradient(g, loss, 2, leaves, d, &error), error);
    out[0] = (eg_output){"y", y};
    out[1] = (eg_output){"da", d[0]};
    out[2] = (eg_output){"db", d[1]};
    return 3;
}

static void check_shapes(const char *isa, unsigned threads, const char *passes) {
    eg_context *context = NULL;
    eg_error error;
    const eg_context_options options = {.size = sizeof options, .threads = threads, .isa = isa};
    if (eg_context_create(&options, &context, &error)) return; /* not of this machine */
    for (size_t i = 0; i < 4 * SHAPES; i++) {
        const sides *s = &shapes[i / 4];
        const eg_type type = i % 2 ? EG_BF16 : EG_F16;
        eg_graph *g = NULL;
        eg_output outputs[3];
        char name[64];
        snprintf(name, sizeof name, "shape %zu of %s", i / 4, eg_type_name(type));
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const size_t count = build(g, s, type, i / 2 % 2, outputs);
        CHECK_OK(eg_graph_check(g, &error), error);
        compiled_check(context, g, count, outputs, &(compiled_case){name, passes, 0, -1, 1});
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

TEST(matmul_halves, shapes) {
    static const char *const isas[] = {NULL, "ref", "avx2", "avx512", "neon"};
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) check_shapes(isas[i], 1, NULL);
    check_shapes(NULL, 3, NULL);
    check_shapes(NULL, 1, "none");
}

/* Inputs and outputs of halves, rows apart from each other, several products with one right side, and one with two. */
TEST(matmul_halves, halves_that_are_bound) {
    enum { M = 6, K = 10, N = 20 };
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    uint16_t x[M * 2 * K], y[M * N];
    for (size_t i = 0; i < M * 2 * K; i++) x[i] = (uint16_t)(0x3f80 + (i * 7 % 64)); /* 1 .. 1.5 */
    const eg_node in = eg_input(g, "x", EG_BF16, 2, (uint64_t[]){M, 2 * K});
    const eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){K, N});
    const eg_node half = eg_cast(g, w, EG_BF16);
    const eg_node left = eg_slice(g, in, 1, 0, K), right = eg_slice(g, in, 1, K - 1, K);
    const eg_node sum = eg_add(g, eg_matmul(g, left, half), eg_matmul(g, right, half));
    const eg_output output = {"y", eg_cast(g, sum, EG_BF16)};
    eg_program *program = NULL;
    eg_weights *weights = NULL;
    eg_instance *instance = NULL;
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    float numbers[K * N];
    for (size_t i = 0; i < K * N; i++) numbers[i] = (float)(i % 5); /* exact, as are their sums */
    CHECK_OK(eg_weights_set(weights, "w", &(eg_tensor){EG_F32, 2, {K, N}, numbers}, &error), error);
    CHECK_OK(eg_instance_bind(instance, "x", &(eg_tensor){EG_BF16, 2, {M, 2 * K}, x}, &error),
             error);
    CHECK_OK(eg_instance_bind(instance, "y", &(eg_tensor){EG_BF16, 2, {M, N}, y}, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            float want = 0;
            for (size_t k = 0; k < K; k++)
                want += (eg__half_to_f32(EG_BF16, x[i * 2 * K + k]) +
                         eg__half_to_f32(EG_BF16, x[i * 2 * K + K - 1 + k])) *
                        numbers[k * N + j];
            CHECK(y[i * N + j] == eg__half_from_f32(EG_BF16, want), "y[%zu][%zu] is %g, not %g", i,
                  j, (double)eg__half_to_f32(EG_BF16, y[i * N + j]), (double)want);
        }
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- mixed precision: f32 sides that products round */
static size_t products_by(const eg_program *program, const char *operation) {
    size_t count = 0;
    eg_step_info step = {.size = sizeof step};
    for (size_t i = 0; !eg_program_step(program, i, &step, NULL); i++)
        count += strcmp(step.kernel, operation) == 0;
    return count;
}

/* Rounded sides by hand, and as an option of compilation: the same numbers but for the order of sums. */
static void check_option(const char *isa, unsigned threads, eg_type type, bool native) {
    enum { M = 300, K = 31, N = 50 };
    eg_context *contexts[2] = {NULL};
    eg_graph *graphs[2] = {NULL};
    model_run runs[2];
    eg_tensor y[2];
    eg_error error;
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        const eg_context_options options = {.size = sizeof options, .threads = threads, .isa = isa};
        if (eg_context_create(&options, &contexts[by_hand], &error)) return;
        CHECK_OK(eg_graph_create(contexts[by_hand], &graphs[by_hand], &error), error);
        eg_graph *g = graphs[by_hand];
        eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){M, K});
        eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){N, K});
        eg_node v = eg_parameter(g, "v", 2, (uint64_t[]){N, 3});
        const eg_node bias = eg_parameter(g, "bias", 1, (uint64_t[]){N});
#define ROUNDED(node) \
    (!by_hand ? (node) : type == EG_F16 ? eg_round_f16(g, node) : eg_round_bf16(g, node))
        const eg_node first = eg_matmul_transposed(g, ROUNDED(x), 0, ROUNDED(w), 1);
        const eg_node hidden = eg_relu(g, eg_add(g, first, bias));
        const eg_output output = {"y", eg_matmul(g, ROUNDED(hidden), ROUNDED(v))};
#undef ROUNDED
        const eg_compile_options compile = {.size = sizeof compile,
                                            .products = by_hand ? EG_F32 : type};
        runs[by_hand] = model_start(contexts[by_hand], g, 1, &output, &compile);
        CHECK_OK(eg_run(runs[by_hand].instance, NULL, &error), error);
        y[by_hand] = model_output(&runs[by_hand], "y");
    }
    const size_t found =
        products_by(runs[0].program, type == EG_F16 ? "gemm_f16f16" : "gemm_bf16bf16");
    CHECK(found == (native ? 2 : 0), "%s: %zu products of halves", isa ? isa : "best", found);
    /* a sum beside a middle of two halves may be rounded the other way */
    CHECK(tensor_distance(&y[0], &y[1]) <= 2e-3 * tensor_size(&y[1]), "off by %g of %g",
          tensor_distance(&y[0], &y[1]), tensor_size(&y[1]));
    for (int i = 0; i < 2; i++) {
        eg_graph_destroy(graphs[i]);
        model_close(&runs[i]);
    }
}

TEST(matmul_halves, mixed_precision) {
    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    const bool bf16 = !context->kernels.row[EG__OP_gemm_bf16bf16]->widens;
    const bool f16 = !context->kernels.row[EG__OP_gemm_f16f16]->widens;
    eg_context_destroy(context);
    check_option(NULL, 1, EG_BF16, bf16);
    check_option(NULL, 3, EG_BF16, bf16);
    check_option(NULL, 1, EG_F16, f16);
    check_option("ref", 1, EG_BF16, false);
    check_option("avx2", 1, EG_BF16, false);
    test_claim("products of bf16 are %s here", bf16 ? "native" : "widened");
}

/* The same bits whatever the number of threads. */
TEST(matmul_halves, threads) {
    eg_tensor first = {0};
    model_run runs[3];
    for (unsigned t = 0; t < 3; t++) {
        eg_context *context = NULL;
        eg_graph *g = NULL;
        eg_error error;
        const eg_context_options options = {.size = sizeof options, .threads = t + 1};
        CHECK_OK(eg_context_create(&options, &context, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){577, 131});
        const eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){131, 70});
        const eg_output outputs[] = {
            {"y", eg_matmul(g, x, w)},
            {"h", eg_matmul(g, eg_cast(g, x, EG_F16), eg_cast(g, w, EG_F16))}};
        const eg_compile_options compile = {.size = sizeof compile, .products = EG_BF16};
        runs[t] = model_start(context, g, 2, outputs, &compile);
        CHECK_OK(eg_run(runs[t].instance, NULL, &error), error);
        for (int i = 0; i < 2; i++) {
            const eg_tensor y = model_output(&runs[t], outputs[i].name);
            first = model_output(&runs[0], outputs[i].name);
            CHECK(memcmp(y.data, first.data, 577 * 70 * sizeof(float)) == 0,
                  "%s with %u threads is off by %g", outputs[i].name, t + 1,
                  tensor_distance(&y, &first));
        }
        eg_graph_destroy(g);
    }
    for (unsigned t = 0; t < 3; t++) model_close(&runs[t]);
}

TEST(matmul_halves, refusals) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){4, 4});
    const eg_node a = eg_cast(g, x, EG_F16), b = eg_cast(g, x, EG_BF16);
    const eg_node pairs[][2] = {{a, b}, {a, x}, {x, b}};
    for (size_t i = 0; i < 3; i++) {
        CHECK(!eg_matmul(g, pairs[i][0], pairs[i][1]).id, "pair %zu has a product", i);
        CHECK_FAILS(eg_graph_check(g, &error), error, EG_ERR_ARGUMENT, "on both sides");
        eg_graph_forgive(g);
    }
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
