/* The kernels with AMX, through the model or the words: beside ref, their loads, and a whole network. */
#include "test_amx.h"

#include "engine/context.h"
#include "engine/program.h"
#include "test_gemm.h"
#include "test_models.h"

#include <math.h>

AREA(amx_kernels, "products with Apple's matrix unit")

static const eg__kernel *amx_row(eg__operation operation) {
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        if (row->operation == operation && strcmp(row->isa, "amx") == 0) return row;
    }
    return NULL;
}

/* ---- every kernel beside ref: few shapes, with all tails; the tests of the operations have the others */
enum { SLOT_LEFT = 4, SLOT_RIGHT, SLOT_RESULT, SLOT_WORK, SLOT_MORE };
static const size_t shapes[][3] = {
    {64, 64, 8},  {33, 47, 5}, {16, 70, 7},  {17, 16, 2},   {5, 33, 9},    {1, 1, 1},
    {70, 20, 65}, {32, 32, 1}, {40, 48, 33}, {3, 130, 600}, {65, 17, 520}, {290, 33, 6},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static uint64_t hash; /* of the bits of all results */
static double loads_per_four, per_flop;
static void claim(void) {
    test_claim("4 kernels beside ref, bits %016llx; f32: %.3f loads per 4 outer products, %.5f "
               "instructions per FLOP (ideal %.5f)",
               (unsigned long long)hash, loads_per_four, per_flop, 1 / 512.0);
}

/* What both left in C, `stride` apart, with gaps that nobody may touch. */
static void results_check(const eg__kernel *row, const size_t shape[3], size_t stride,
                          const float *got, const float *want, double tolerance) {
    const size_t m = shape[0], n = shape[1];
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const float a = got[i * stride + j], b = want[i * stride + j];
            uint32_t bits;
            memcpy(&bits, &a, sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3;
            CHECK(fabs((double)a - b) <= tolerance, "%s %zu x %zu x %zu: C[%zu][%zu] is %g, not %g",
                  row->name, m, n, shape[2], i, j, (double)a, (double)b);
        }
    CHECK(kernel_gap_broken(m, n, stride, got) == SIZE_MAX, "%s %zu x %zu x %zu: a gap", row->name,
          m, n, shape[2]);
}
static void *work_of(const eg__kernel *row, const eg__kernel_shape *shape) {
    const size_t size = eg__round_up(eg__kernel_scratch(row, shape), 64);
    void *scratch = kernel_walled(SLOT_WORK, size);
    if (size) memset(scratch, 0xff, size);
    return scratch;
}
/* Adds what it was called for, so that a tile that is finished twice, or never, shows. */
static void epilogue_add(const void *user, float *c, size_t stride, size_t row, size_t rows,
                         size_t column, size_t columns) {
    (void)user;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            c[i * stride + j] += (float)(row + i) + (float)(column + j) / 8;
}
static const eg__epilogue epilogue = {epilogue_add, NULL};

static void f32_check(const size_t shape[3], unsigned variant) {
    const eg__kernel *row = amx_row(EG__OP_gemm_f32);
    const size_t m = shape[0], n = shape[1], k = shape[2], stride = n + 5;
    uint64_t state = variant + 1;
    gemm_problem p = gemm_problem_make(m, n, k, &state);
    const eg__gemm_blocks blocks = {24, 64};
    gemm_blocks = variant & 1 ? &blocks : NULL;
    float *want = test_alloc(m * stride * sizeof *want);
    for (unsigned amx = 0; amx < 2; amx++) {
        eg__gemm_f32_args args = gemm_args(row, &p, m, n, gemm_packed(&p, n), true, variant == 2);
        args.epilogue = variant & 1 ? &epilogue : NULL;
        args.add = variant == 1   ? kernel_walled_copy(SLOT_MORE, p.start, m * n * sizeof(float))
                   : variant == 3 ? kernel_walled_copy(SLOT_MORE, p.start, n * sizeof(float))
                                  : NULL;
        args.add_stride = variant == 1 ? n : 0;
        if (amx) row->function.gemm_f32(&args);
        else eg__gemm_f32_ref(&args);
        if (amx) results_check(row, shape, stride, args.c, want, 1e-6 * (double)(k + 200));
        else memcpy(want, args.c, kernel_extent(m, n, stride) * sizeof *want);
    }
    gemm_blocks = NULL;
    free(want);
    gemm_problem_free(&p);
}

static void halves_check(eg_type type, const size_t shape[3], unsigned variant) {
    const eg__kernel *row = amx_row(eg__halves_operation(type));
    const size_t m = shape[0], n = shape[1], k = shape[2], even = k + k % 2, stride = n + 5;
    const size_t packed_size = eg__gemm_halves_size(k, n), c_size = kernel_extent(m, n, stride);
    uint64_t state = variant + 7;
    gemm_problem p = gemm_problem_make(m, n, even, &state);
    uint16_t *a = kernel_walled(SLOT_LEFT, m * even * sizeof *a);
    uint16_t *b = kernel_walled(SLOT_RIGHT, packed_size * sizeof *b);
    uint16_t *rows = test_alloc(even * n * sizeof *rows);
    eg__f32_to_f16_function *narrow = type == EG_F16 ? eg__f32_to_f16_ref : eg__f32_to_bf16_ref;
    narrow(m * even, p.a, a);
    narrow(even * n, p.b, rows);
    eg__gemm_pack_halves(k, n, rows, n, 1, b);
    eg__gemm_halves_args args = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .a = a,
                                 .a_stride = even,
                                 .b = b,
                                 .c_stride = stride,
                                 .accumulate = variant == 2,
                                 .epilogue = variant & 1 ? &epilogue : NULL};
    if (variant == 1) args.add = kernel_walled_copy(SLOT_MORE, p.start, n * sizeof(float));
    if (variant == 3) args.add = p.start, args.add_stride = n;
    const eg__kernel_shape sizes = {.m = m, .n = n, .k = k};
    float *want = test_alloc(c_size * sizeof *want);
    for (unsigned amx = 0; amx < 2; amx++) {
        args.c = amx ? kernel_walled(SLOT_RESULT, c_size * sizeof *want) : want;
        kernel_fill(c_size, args.c, KERNEL_GUARD);
        for (size_t i = 0; i < m; i++) memcpy(args.c + i * stride, p.start + i * n, n * 4);
        args.scratch = work_of(row, &sizes);
        if (amx) (type == EG_F16 ? row->function.gemm_f16f16 : row->function.gemm_bf16bf16)(&args);
        else (type == EG_F16 ? eg__gemm_f16f16_ref : eg__gemm_bf16bf16_ref)(&args);
    }
    results_check(row, shape, stride, args.c, want, 1e-6 * (double)(k + 200));
    free(want), free(rows);
    gemm_problem_free(&p);
}

static void integers_check(const size_t shape[3], unsigned variant) {
    const eg__kernel *row = amx_row(EG__OP_gemm_i8i8);
    const size_t m = shape[0], n = shape[1], k = shape[2], stride = n + 5;
    const uint32_t ends[] = {(uint32_t)(k / 3), (uint32_t)k};
    const size_t groups = variant & 1 && k >= 3 ? 2 : 1;
    const bool zeros = variant & 2;
    eg__quantized_layout layout;
    CHECK(eg__quantized_measure(EG_I8, k, n, groups, ends + 2 - groups, zeros, true, &layout),
          "measure");
    void *memory = kernel_walled(SLOT_RIGHT, layout.bytes);
    const eg__packed_quantized b = eg__quantized_at(EG_I8, k, n, groups, memory, &layout);
    eg__quantized_begin(&b, ends + 2 - groups);
    uint64_t state = variant + 3;
    gemm_problem p = gemm_problem_make(m, n, k, &state);
    int8_t *values = test_alloc(n * k), *zero = test_alloc(n);
    float *scale = test_alloc(n * sizeof *scale);
    for (size_t i = 0; i < n * k; i++) values[i] = (int8_t)(test_random(&state) * 128);
    for (size_t j = 0; j < n; j++) zero[j] = (int8_t)(j % 11), scale[j] = (float)(j % 7 + 1) / 64;
    for (size_t g = 0, from = 0; g < groups; from = b.end[g++]) {
        const eg__quantized_matrix stored = {.type = EG_I8,
                                             .rows = n,
                                             .columns = k,
                                             .block = k,
                                             .values = values,
                                             .scale = scale,
                                             .zero = zeros ? zero : NULL};
        eg__quantized_pack(&b,
                           &(eg__quantized_piece){.k_to = (uint32_t)from,
                                                  .k = b.end[g] - (uint32_t)from,
                                                  .n = (uint32_t)n,
                                                  .column = (uint32_t)from},
                           &stored);
    }
    const size_t c_size = kernel_extent(m, n, stride);
    float *want = test_alloc(c_size * sizeof *want);
    eg__gemm_quantized_args args = {.m = m,
                                    .a = kernel_walled_copy(SLOT_LEFT, p.a, m * k * sizeof(float)),
                                    .a_stride = k,
                                    .b = b,
                                    .c_stride = stride,
                                    .add = variant == 3 ? p.start : NULL,
                                    .epilogue = variant & 1 ? &epilogue : NULL};
    const eg__kernel_shape sizes = {.m = m, .n = n, .k = k, .groups = groups, .type = EG_I8};
    for (unsigned amx = 0; amx < 2; amx++) {
        args.c = amx ? kernel_walled(SLOT_RESULT, c_size * sizeof *want) : want;
        kernel_fill(c_size, args.c, KERNEL_GUARD);
        args.scratch = work_of(row, &sizes);
        if (amx) row->function.gemm_i8i8(&args);
        else eg__gemm_i8i8_ref(&args);
    }
    results_check(row, shape, stride, args.c, want, 4e-5 * (double)(k + 50));
    free(values), free(zero), free(scale), free(want);
    gemm_problem_free(&p);
}

TEST(amx_kernels, every_kernel) {
    if (!amx_is_modelled()) {
        test_skip("the processor decides; the tests of the operations run what it has");
        return;
    }
    eg__amx_state *here = eg__amx_state_here();
    for (size_t s = 0; s < SHAPES; s++)
        for (unsigned variant = 0; variant < 4; variant++) {
            eg__amx_enter();
            here->generation = 1;
            f32_check(shapes[s], variant);
            halves_check(EG_F16, shapes[s], variant);
            integers_check(shapes[s], variant);
            here->generation = 2; /* has bf16 */
            halves_check(EG_BF16, shapes[s], variant);
            here->generation = 0;
            eg__amx_leave();
        }
    claim();
}

/* ---- instructions that products take: at most two loads for four outer products of f32 */
typedef struct counts {
    double loads, products, stores;
} counts;
static counts count_of(const eg__kernel *row, size_t m, size_t n, size_t k, size_t shift) {
    uint64_t state = 4;
    gemm_problem p = gemm_problem_make(m, n, k, &state);
    const size_t size = eg__gemm_packed_size(k, n) * sizeof(float);
    float *packed = aligned_alloc(128, eg__round_up(size + 128, 128));
    eg__gemm_pack_f32(k, n, p.b, n, 1, packed + shift);
    eg__gemm_f32_args args = gemm_args(row, &p, m, n, packed + shift, false, false);
    eg__amx_state *s = eg__amx_state_here();
    memset(s->count, 0, sizeof s->count);
    eg__kernel_enter(row);
    row->function.gemm_f32(&args);
    eg__kernel_leave(row);
    free(packed);
    gemm_problem_free(&p);
    return (counts){(double)(s->count[EG__AMX_ldx] + s->count[EG__AMX_ldy]),
                    (double)s->count[EG__AMX_fma32], (double)s->count[EG__AMX_stz]};
}

TEST(amx_kernels, loads_of_f32) {
    static const struct {
        size_t m, n, k, shift; /* floats between an aligned address and B */
        double loads;          /* for four outer products, at most */
    } cases[] = {
        {64, 64, 128, 0, 2},   {64, 64, 128, 16, 2.02}, {32, 96, 127, 0, 2.03},
        {16, 64, 128, 0, 2.5}, {64, 32, 1, 0, 3},
    };
    if (!amx_is_modelled()) {
        test_skip("a processor does not count");
        return;
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const size_t m = cases[c].m, n = cases[c].n, k = cases[c].k;
        const counts got = count_of(amx_row(EG__OP_gemm_f32), m, n, k, cases[c].shift);
        const double ideal = (double)(eg__ceil_div(m, 16) * eg__gemm_panels(n) * k);
        CHECK(got.products == ideal, "%zu x %zu x %zu: %g outer products, ideal %g", m, n, k,
              got.products, ideal);
        CHECK(got.loads <= cases[c].loads * ideal / 4, "%zu x %zu x %zu: %g loads per four", m, n,
              k, 4 * got.loads / ideal);
        CHECK(got.stores == (double)(m * eg__gemm_panels(n)), "%g stores", got.stores);
    }
    const counts large = count_of(amx_row(EG__OP_gemm_f32), 128, 128, 256, 0);
    loads_per_four = 4 * large.loads / large.products;
    per_flop = (large.loads + large.products + large.stores) / (2.0 * 128 * 128 * 256);
    claim();
}

/* ---- whole networks with the unit, on several threads */
static size_t convolution_build(eg_graph *g, eg_output outputs[2]) {
    const uint64_t image[] = {3, 20, 9, 11}, filters[] = {40, 20, 3, 3};
    const eg_conv_options options = {.before = {1, 1}, .after = {1, 1}};
    eg_node x = eg_input(g, "x", EG_F32, 4, image), w = eg_parameter(g, "w", 4, filters), d;
    eg_error error;
    outputs[0] = (eg_output){"y", eg_conv(g, &options, x, w)};
    const eg_node loss = eg_sum(g, eg_mul(g, outputs[0].node, outputs[0].node), 15, 0);
    CHECK_OK(eg_gradient(g, loss, 1, &w, &d, &error), error);
    outputs[1] = (eg_output){"d0", d};
    return 2;
}

static model_run network(bool convolution, unsigned threads, bool amx) {
    const model_case c = {"mlp", 1, 70, 40, 96, .gradient = true};
    const eg_context_options options = {.threads = threads};
    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    context->kernels.clusters = 2;
    if (amx) context->kernels.features |= EG_CPU_APPLE_AMX;
    eg_graph *g = NULL;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_output outputs[MODEL_OUTPUTS];
    const size_t count = convolution ? convolution_build(g, outputs) : model_build(g, &c, outputs);
    model_run m = model_start(context, g, count, outputs, NULL);
    eg_graph_destroy(g);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    return m;
}

static size_t steps_with_amx(const eg_program *program) {
    size_t count = 0;
    for (size_t i = 0; i < program->step_count; i++)
        for (unsigned k = 0; k < EG__STEP_KERNELS; k++) {
            const eg__kernel *kernel = program->steps[i].kernel[k];
            count += kernel && strcmp(kernel->name, "gemm_f32_amx") == 0;
        }
    return count;
}

TEST(amx_kernels, networks) {
    static const char *const names[] = {"y", "d0"};
    if (!amx_is_modelled()) {
        test_skip("the processor decides");
        return;
    }
    for (int convolution = 0; convolution < 2; convolution++) {
        model_run plain = network(convolution, 1, false), one = network(convolution, 1, true),
                  several = network(convolution, 3, true);
        for (size_t i = 0; i < 2; i++) {
            const eg_tensor want = model_output(&plain, names[i]),
                            got = model_output(&one, names[i]),
                            again = model_output(&several, names[i]);
            CHECK(tensor_distance(&got, &want) < 1e-5 * (1 + tensor_size(&want)), "%s: %g",
                  names[i], tensor_distance(&got, &want));
            CHECK(tensor_distance(&got, &again) == 0, "%s: threads change %g", names[i],
                  tensor_distance(&got, &again));
        }
        CHECK(steps_with_amx(one.program) > 1 && !steps_with_amx(plain.program), "steps: %zu, %zu",
              steps_with_amx(one.program), steps_with_amx(plain.program));
        CHECK(!eg__amx_state_here()->on, "still on");
        model_close(&plain), model_close(&one), model_close(&several);
    }
}
