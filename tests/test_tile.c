/* Intel's AMX: the model by cases computed by hand, what it refuses, its kernels beside ref, and who may use it. */
#include "tile_model.h"

#include "elegans/elegans.h"
#include "engine/context.h"
#include "engine/program.h"
#include "test_gemm.h"
#include "test_models.h"
#include "test_quantized.h"

#include <errno.h>
#include <math.h>

AREA(tile, "Intel's AMX: the model by hand, configurations, kernels, permission")

/* ---- configuration */
static eg__tile_config whole(void) { return (eg__tile_config)EG__TILE_WHOLE; }

TEST(tile, configuration_faults) {
    static const struct {
        size_t at;
        uint8_t value;
        const char *fault; /* NULL = none */
    } cases[] = {
        {0, 2, "#GP no such palette"},
        {0, 255, "#GP no such palette"},
        {0, 0, NULL}, /* no tiles; the rest is not looked at */
        {1, 3, "the model resumes"},
        {2, 1, "#GP reserved"},
        {15, 128, "#GP reserved"},
        {16, 65, "#GP rows too long"},
        {31, 1, "#GP rows too long"}, /* the high byte: 320 */
        {32, 1, "#GP more tiles"},
        {47, 1, "#GP more tiles"},
        {48, 17, "#GP too many rows"},
        {55, 255, "#GP too many rows"},
        {56, 1, "#GP more tiles"},
        {63, 1, "#GP more tiles"},
        {20, 0, "#GP rows without bytes"},
        {50, 0, "#GP rows without bytes"},
        {16, 4, NULL},
        {48, 1, NULL},
    };
    CHECK(sizeof(eg__tile_config) == 64, "%zu bytes", sizeof(eg__tile_config));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg__tile_config config = whole();
        tile_state s = {.count = {0}};
        memset(s.tile, 7, sizeof s.tile);
        memcpy((char *)&config + cases[i].at, &cases[i].value, 1);
        const char *fault = tile_configure(&s, &config);
        CHECK(cases[i].fault ? fault && strstr(fault, cases[i].fault) == fault : !fault,
              "byte %zu = %u: %s", cases[i].at, cases[i].value, fault ? fault : "none");
        CHECK(s.configured == (!fault && config.palette), "configured");
        CHECK(s.tile[7][15][63] == (fault ? 7 : 0), "a refused one changed something");
    }
    /* a tile that is not there: no rows and no bytes */
    eg__tile_config config = whole();
    config.rows[5] = 0, config.bytes[5] = 0;
    tile_state s = {.count = {0}};
    CHECK(!tile_configure(&s, &config), "seven tiles");
    CHECK(!strncmp(tile_zero(&s, 5), "#UD", 3) && !tile_zero(&s, 4), "tile 5");
    CHECK(!strncmp(tile_zero(&s, 8), "#UD", 3), "tile 8");
    tile_release(&s);
    char memory[EG__TILE_SIZE];
    CHECK(tile_zero(&s, 0) && tile_load(&s, 0, memory, 64) && tile_store(&s, 0, memory, 64) &&
              tile_multiply(&s, TILE_tdpbssd, 0, 1, 2),
          "after a release there are no tiles");
}

TEST(tile, products_that_are_refused) {
    static const struct {
        unsigned sum, left, right;
        uint8_t rows[3];
        uint16_t bytes[3]; /* of the three tiles */
        const char *fault;
    } cases[] = {
        {0, 1, 2, {16, 16, 16}, {64, 64, 64}, NULL},
        {0, 1, 2, {5, 5, 3}, {20, 12, 20}, NULL},
        {0, 0, 2, {16, 16, 16}, {64, 64, 64}, "#UD a tile twice"},
        {0, 1, 1, {16, 16, 16}, {64, 64, 64}, "#UD a tile twice"},
        {0, 1, 0, {16, 16, 16}, {64, 64, 64}, "#UD a tile twice"},
        {0, 1, 2, {4, 5, 3}, {20, 12, 20}, "#UD rows of the sums"},
        {0, 1, 2, {5, 5, 3}, {24, 12, 20}, "#UD columns of the sums"},
        {0, 1, 2, {5, 5, 4}, {20, 12, 20}, "#UD depth"},
        {0, 1, 2, {5, 5, 3}, {20, 13, 20}, "#UD bytes that are no words"},
        {0, 1, 9, {5, 5, 3}, {20, 12, 20}, "#UD no such tile"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg__tile_config config = whole();
        for (size_t t = 0; t < 3; t++)
            config.rows[t] = cases[i].rows[t], config.bytes[t] = cases[i].bytes[t];
        tile_state s = {.count = {0}};
        CHECK(!tile_configure(&s, &config), "case %zu", i);
        const char *fault =
            tile_multiply(&s, TILE_tdpbf16ps, cases[i].sum, cases[i].left, cases[i].right);
        CHECK(cases[i].fault ? fault && strstr(fault, cases[i].fault) == fault : !fault,
              "case %zu: %s", i, fault ? fault : "none");
    }
}

/* ---- moving */
TEST(tile, loads_and_stores) {
    eg__tile_config config = whole();
    config.rows[3] = 5, config.bytes[3] = 12;
    tile_state s = {.count = {0}};
    CHECK(!tile_configure(&s, &config), "configure");
    uint8_t memory[EG__TILE_ROWS * 70], back[EG__TILE_ROWS * 70];
    for (size_t i = 0; i < sizeof memory; i++) memory[i] = (uint8_t)(i % 251 + 1);
    memset(s.tile[3], 9, sizeof s.tile[3]);
    CHECK(!tile_load(&s, 3, memory, 70), "load");
    for (size_t i = 0; i < EG__TILE_ROWS; i++)
        for (size_t j = 0; j < EG__TILE_BYTES; j++)
            CHECK(s.tile[3][i][j] == (i < 5 && j < 12 ? memory[i * 70 + j] : 0), "%zu, %zu", i, j);
    memset(back, 0, sizeof back);
    CHECK(!tile_store(&s, 3, back, 70), "store");
    for (size_t i = 0; i < sizeof back; i++)
        CHECK(back[i] == (i / 70 < 5 && i % 70 < 12 ? memory[i] : 0), "byte %zu", i);
    CHECK(!tile_load(&s, 0, memory, 0), "a row for all");
    CHECK(memcmp(s.tile[0][15], memory, 64) == 0 && memcmp(s.tile[0][0], memory, 64) == 0, "rows");
}

/* ---- products by hand: one row, one column, up to two words deep */
static float product(const uint16_t a[4], const uint16_t b[4], size_t words, float start) {
    eg__tile_config config = {
        .palette = 1, .bytes = {4, (uint16_t)(4 * words), 4}, .rows = {1, 1, (uint8_t)words}};
    tile_state s = {.count = {0}};
    float sum = NAN;
    CHECK(!tile_configure(&s, &config), "configure");
    CHECK(!tile_load(&s, 0, &start, 4) && !tile_load(&s, 1, a, 4 * words) &&
              !tile_load(&s, 2, b, 4),
          "load");
    CHECK(!tile_multiply(&s, TILE_tdpbf16ps, 0, 1, 2) && !tile_store(&s, 0, &sum, 4), "multiply");
    return sum;
}

TEST(tile, bf16_by_hand) {
    enum { ONE = 0x3f80, TWO = 0x4000, THREE = 0x4040, LEAST = 0x0080, TINY = 0x007f };
    enum { BIG = 0x4b80 /* 2^24 */, INFINITE = 0x7f80, LARGEST = 0x7f7f, HALF = 0x3f00 };
    static const struct {
        const char *what;
        size_t words;
        uint16_t a[4], b[4];
        float start, want;
    } cases[] = {
        {"1*2 + 3*3 + 5", 1, {ONE, THREE}, {TWO, THREE}, 5, 16},
        {"two words", 2, {ONE, TWO, THREE, ONE}, {ONE, ONE, TWO, THREE}, 0.5f, 12.5f},
        /* even elements have a sum of their own: 2^24 + 1 + 1 would be 2^24 + 2 if pairs were added first */
        {"even and odd apart", 2, {BIG, ONE, ONE, ONE}, {ONE, ONE, ONE, ONE}, 0, 16777218},
        {"each rounded to even", 2, {BIG, 0, ONE, ONE}, {ONE, 0, ONE, ONE}, 0, 16777216},
        /* the sums of a word begin at 0, not at what the tile holds: 1 + 1 survives beside 2^24 */
        {"the tile is added last", 2, {ONE, 0, ONE, 0}, {ONE, 0, ONE, 0}, 16777216, 16777218},
        {"a fused product", 2, {BIG, 0, 0x3f81, 0}, {ONE, 0, ONE, 0}, -16777216, 2},
        {"left denormals are zero", 1, {TINY, 0}, {BIG, 0}, 0, 0},
        {"right denormals are zero", 1, {BIG, 0}, {TINY, 0}, 0, 0},
        {"denormals of the tile are zero", 1, {0, 0}, {0, 0}, 0x1p-127f, 0},
        {"results are flushed", 1, {LEAST, 0}, {HALF, 0}, 0, 0},
        {"sums are flushed", 1, {LEAST, 0}, {0xbfc0, 0}, 0x1p-126f, -0.0f},
        {"the least normal number stays", 1, {LEAST, 0}, {ONE, 0}, 0, 0x1p-126f},
        {"too large", 1, {LARGEST, 0}, {TWO, 0}, 0, INFINITY},
        {"infinite less infinite", 1, {INFINITE, INFINITE}, {ONE, 0xbf80}, 0, NAN},
        {"infinite times zero", 1, {INFINITE, 0}, {0, 0}, 0, NAN},
        {"an infinite sum", 1, {INFINITE, ONE}, {ONE, ONE}, 1, INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float got = product(cases[i].a, cases[i].b, cases[i].words, cases[i].start);
        CHECK(kernel_same(got, cases[i].want), "%s: %a, not %a", cases[i].what, (double)got,
              (double)cases[i].want);
    }
}

TEST(tile, bytes_by_hand) {
    static const struct {
        tile_instruction which;
        uint8_t a[4], b[4];
        int32_t start, want;
    } cases[] = {
        {TILE_tdpbssd, {1, 2, 3, 4}, {5, 6, 7, 8}, 100, 170},
        {TILE_tdpbssd, {0x80, 0xff, 0, 0}, {0x80, 1, 0, 0}, 0, 16383},
        {TILE_tdpbusd, {0x80, 0xff, 0, 0}, {0x80, 1, 0, 0}, 0, -16384 + 255},
        {TILE_tdpbusd, {1, 2, 3, 4}, {0xff, 0xff, 0xff, 0xff}, 0, -10},
        {TILE_tdpbssd, {1, 0, 0, 0}, {1, 0, 0, 0}, INT32_MAX, INT32_MIN}, /* it does not saturate */
        {TILE_tdpbssd, {0xff, 0, 0, 0}, {1, 0, 0, 0}, INT32_MIN, INT32_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg__tile_config config = {.palette = 1, .bytes = {4, 4, 4}, .rows = {1, 1, 1}};
        tile_state s = {.count = {0}};
        int32_t got = 0;
        CHECK(!tile_configure(&s, &config) && !tile_load(&s, 0, &cases[i].start, 4) &&
                  !tile_load(&s, 1, cases[i].a, 4) && !tile_load(&s, 2, cases[i].b, 4) &&
                  !tile_multiply(&s, cases[i].which, 0, 1, 2) && !tile_store(&s, 0, &got, 4),
              "case %zu", i);
        CHECK(got == cases[i].want, "case %zu: %d, not %d", i, got, cases[i].want);
        CHECK(s.tile[0][0][4] == 0 && s.tile[0][1][0] == 0, "beyond the tile");
    }
}

/* Rows, columns and depth go where they belong: small tiles beside a plain loop. */
TEST(tile, products_beside_a_loop) {
    enum { M = 7, N = 5, K = 3 };
    const eg__tile_config config = {
        .palette = 1, .bytes = {4 * N, 4 * K, 4 * N}, .rows = {M, M, K}};
    tile_state s = {.count = {0}};
    int8_t a[M][4 * K], b[K][4 * N];
    int32_t c[M][N];
    uint64_t state = 5;
    for (size_t i = 0; i < sizeof a; i++) (&a[0][0])[i] = (int8_t)(test_random(&state) * 127);
    for (size_t i = 0; i < sizeof b; i++) (&b[0][0])[i] = (int8_t)(test_random(&state) * 127);
    CHECK(!tile_configure(&s, &config) && !tile_load(&s, 1, a, 4 * K) &&
              !tile_load(&s, 2, b, 4 * N) && !tile_multiply(&s, TILE_tdpbssd, 0, 1, 2) &&
              !tile_store(&s, 0, c, 4 * N),
          "multiply");
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            int32_t want = 0;
            for (size_t k = 0; k < 4 * K; k++) want += a[m][k] * b[k / 4][4 * n + k % 4];
            CHECK(c[m][n] == want, "%zu, %zu: %d, not %d", m, n, c[m][n], want);
        }
}

/* ---- kernels: the tests of the operations compare them with ref, as every row; here what only these have */
TEST(tile, instructions_of_a_product) {
    static const struct {
        size_t m, n, k, products, loads, stores;
    } cases[] = {
        {64, 64, 128, 64, 64, 16}, /* 2 x 2 blocks of 2 x 2 tiles, 4 deep: a load for each product */
        {32, 32, 2048, 256, 260, 8}, /* two blocks of k: sums come back */
        {16, 16, 32, 1, 2, 1},       {1, 1, 1, 1, 2, 1}, {48, 48, 40, 18, 24, 9},
    };
    tile_state *s = tile_state_here();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t m = cases[i].m, n = cases[i].n, k = cases[i].k, even = k + k % 2;
        uint16_t *a = test_alloc(m * even * sizeof *a);
        uint16_t *b = kernel_walled(0, eg__gemm_halves_size(k, n) * sizeof *b);
        float *c = test_alloc(m * n * sizeof *c);
        memset(a, 0, m * even * sizeof *a);
        memset(b, 0, eg__gemm_halves_size(k, n) * sizeof *b);
        memset(s->count, 0, sizeof s->count);
        eg__kernel_enter(&tile_modelled[0]);
        eg__gemm_bf16bf16_modelled(
            &(eg__gemm_halves_args){.m = m,
                                    .n = n,
                                    .k = k,
                                    .a = a,
                                    .a_stride = even,
                                    .b = b,
                                    .c = c,
                                    .c_stride = n,
                                    .scratch = kernel_walled(1, EG__TILE_HALVES_SCRATCH)});
        eg__kernel_leave(&tile_modelled[0]);
        CHECK(s->count[TILE_tdpbf16ps] == cases[i].products &&
                  s->count[TILE_tileloadd] == cases[i].loads &&
                  s->count[TILE_tilestored] == cases[i].stores,
              "%zu x %zu x %zu: %d products, %d loads, %d stores", m, n, k,
              (int)s->count[TILE_tdpbf16ps], (int)s->count[TILE_tileloadd],
              (int)s->count[TILE_tilestored]);
        CHECK(s->count[TILE_ldtilecfg] == 1 && s->count[TILE_tilerelease] == 1 && !s->configured,
              "configured once, released once");
        free(a), free(c);
    }
    test_claim("model by hand; 2 kernels; one load for each product of tiles");
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
enum { SLOT_LEFT = 4, SLOT_RIGHT, SLOT_RESULT, SLOT_WORK, SLOT_MORE };

static void results_check(const char *name, const size_t shape[3], unsigned variant, size_t stride,
                          const float *got, const float *want, double tolerance) {
    const size_t m = shape[0], n = shape[1];
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const double a = got[i * stride + j], b = want[i * stride + j];
            CHECK(fabs(a - b) <= tolerance,
                  "%s %zu x %zu x %zu, variant %u: C[%zu][%zu] is %g, not %g", name, m, n, shape[2],
                  variant, i, j, a, b);
        }
    CHECK(kernel_gap_broken(m, n, stride, got) == SIZE_MAX, "%s: a gap", name);
}

static void halves_check(const size_t shape[3], unsigned variant) {
    const size_t m = shape[0], n = shape[1], k = shape[2], even = k + k % 2, stride = n + 5;
    const size_t c_size = kernel_extent(m, n, stride);
    uint64_t state = variant + 7;
    gemm_problem p = gemm_problem_make(m, n, even, &state);
    uint16_t *a = kernel_walled(SLOT_LEFT, m * even * sizeof *a);
    uint16_t *b = kernel_walled(SLOT_RIGHT, eg__gemm_halves_size(k, n) * sizeof *b);
    uint16_t *rows = test_alloc(even * n * sizeof *rows);
    eg__f32_to_bf16_ref(m * even, p.a, a);
    eg__f32_to_bf16_ref(even * n, p.b, rows);
    eg__gemm_pack_halves(k, n, rows, n, 1, b);
    eg__gemm_halves_args args = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .a = a,
                                 .a_stride = even,
                                 .b = b,
                                 .c_stride = stride,
                                 .accumulate = variant == 2,
                                 .epilogue = variant & 1 ? &epilogue : NULL,
                                 .scratch = kernel_walled(SLOT_WORK, EG__TILE_HALVES_SCRATCH)};
    if (variant == 1) args.add = kernel_walled_copy(SLOT_MORE, p.start, n * sizeof(float));
    if (variant == 3) args.add = p.start, args.add_stride = n;
    float *want = test_alloc(c_size * sizeof *want);
    for (unsigned tile = 0; tile < 2; tile++) {
        args.c = tile ? kernel_walled(SLOT_RESULT, c_size * sizeof *want) : want;
        kernel_fill(c_size, args.c, KERNEL_GUARD);
        for (size_t i = 0; i < m; i++) memcpy(args.c + i * stride, p.start + i * n, n * 4);
        memset(args.scratch, 0xff, EG__TILE_HALVES_SCRATCH); /* NaN */
        (tile ? eg__gemm_bf16bf16_modelled : eg__gemm_bf16bf16_ref)(&args);
    }
    results_check("bf16", shape, variant, stride, args.c, want, 1e-6 * (double)(k + 200));
    free(want), free(rows);
    gemm_problem_free(&p);
}

static void integers_check(const size_t shape[3], unsigned variant) {
    const size_t m = shape[0], n = shape[1], k = shape[2];
    uint64_t state = variant + 3;
    quantized_problem p = quantized_problem_make(EG__OP_gemm_i8i8, m, n, k, variant == 3 ? 16 : 0,
                                                 false, variant & 1, &state);
    quantized_problem_solve(&p);
    const eg__packed_quantized b = quantized_packed(&p, n);
    eg__gemm_quantized_args args = quantized_args(&tile_modelled[1], &p, m, &b, true, variant & 2);
    args.epilogue = variant & 1 ? &epilogue : NULL;
    const size_t c_size = kernel_extent(m, n, args.c_stride);
    float *const tile = args.c, *const want = test_alloc(c_size * sizeof *want);
    eg__gemm_i8i8_modelled(&args);
    kernel_fill(c_size, want, KERNEL_GUARD);
    args.c = want;
    eg__gemm_i8i8_ref(&args);
    results_check("int8", shape, variant, args.c_stride, tile, want, 4e-5 * (double)(k + 50));
    free(want);
    quantized_problem_free(&p);
}

TEST(tile, kernels_beside_ref) {
    static const size_t shapes[][3] = {
        {1, 1, 1},    {16, 16, 32},  {17, 16, 33},   {16, 17, 31},  {15, 15, 15},  {32, 32, 64},
        {33, 33, 65}, {31, 47, 100}, {47, 31, 1030}, {130, 20, 70}, {129, 33, 30}, {3, 130, 600},
    };
    eg__kernel_enter(&tile_modelled[0]);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned variant = 0; variant < 4; variant++) {
            halves_check(shapes[s], variant);
            integers_check(shapes[s], variant);
        }
    eg__kernel_leave(&tile_modelled[0]);
}

/* The bits of integer products are those of the row that would be taken without tiles, where it fuses as they do. */
TEST(tile, integers_have_the_bits_of_vectors) {
    const eg__kernel *vectors = NULL;
    for (size_t i = 0; i < eg__kernel_count(); i++)
        if (strcmp(eg__kernel_row(i)->name, "gemm_i8i8_avx512") == 0) vectors = eg__kernel_row(i);
    if (!vectors || !kernel_runs(vectors)) {
        test_skip("no AVX-512 here");
        return;
    }
    uint64_t state = 8;
    for (unsigned variant = 0; variant < 4; variant++) {
        const size_t m = 37, n = 53, k = 200;
        quantized_problem p =
            quantized_problem_make(EG__OP_gemm_i8i8, m, n, k, 0, false, variant & 1, &state);
        quantized_problem_solve(&p);
        const eg__packed_quantized b = quantized_packed(&p, n);
        float *want = test_alloc(m * n * sizeof *want);
        eg__gemm_quantized_args args = quantized_args(vectors, &p, m, &b, false, variant & 2);
        vectors->function.gemm_i8i8(&args);
        memcpy(want, args.c, m * n * sizeof *want);
        args = quantized_args(&tile_modelled[1], &p, m, &b, false, variant & 2);
        eg__kernel_enter(&tile_modelled[1]);
        tile_modelled[1].function.gemm_i8i8(&args);
        eg__kernel_leave(&tile_modelled[1]);
        CHECK(kernel_difference(m * n, args.c, want) == SIZE_MAX, "variant %u: element %zu",
              variant, kernel_difference(m * n, args.c, want));
        free(want);
        quantized_problem_free(&p);
    }
}

/* ---- a whole network with the unit, on several threads: each configures and releases its own */
static model_run network(unsigned threads, eg__kernel *table) {
    const model_case c = {"mlp", 1, 70, 40, 96, .gradient = true};
    const eg_context_options options = {.threads = threads, .isa = "ref"};
    const eg_compile_options compile = {.products = EG_BF16};
    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    if (table) { /* the modelled rows before all others */
        for (size_t i = 0; i < TILE_MODELLED; i++) table[i] = tile_modelled[i];
        for (size_t i = 0; i < eg__kernel_count(); i++)
            table[TILE_MODELLED + i] = *eg__kernel_row(i);
        context->kernels.table = table;
        context->kernels.row[EG__OP_gemm_bf16bf16] = &table[0]; /* one that does not widen */
        context->kernels.rows = eg__kernel_count() + TILE_MODELLED;
        context->kernels.features = tile_modelled[0].features | tile_modelled[1].features;
    }
    eg_graph *g = NULL;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_output outputs[MODEL_OUTPUTS];
    const size_t count = model_build(g, &c, outputs);
    model_run m = model_start(context, g, count, outputs, &compile);
    eg_graph_destroy(g);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    return m;
}

TEST(tile, networks) {
    static const char *const names[] = {"y", "d0"};
    eg__kernel *table = test_alloc((eg__kernel_count() + TILE_MODELLED) * sizeof *table);
    model_run plain = network(1, NULL), one = network(1, table), several = network(3, table);
    size_t steps = 0;
    for (size_t i = 0; i < one.program->step_count; i++)
        for (unsigned k = 0; k < EG__STEP_KERNELS; k++) {
            const eg__kernel *kernel = one.program->steps[i].kernel[k];
            steps += kernel && kernel->enter == eg__tile_enter_modelled;
        }
    CHECK(steps > 1, "%zu steps with tiles", steps);
    for (size_t i = 0; i < 2; i++) {
        const eg_tensor want = model_output(&plain, names[i]), got = model_output(&one, names[i]),
                        again = model_output(&several, names[i]);
        /* plain rounds both sides, too, and multiplies f32 */
        CHECK(tensor_distance(&got, &want) < 1e-5 * (1 + tensor_size(&want)), "%s: %g", names[i],
              tensor_distance(&got, &want));
        CHECK(tensor_distance(&got, &again) == 0, "%s: threads change %g", names[i],
              tensor_distance(&got, &again));
    }
    CHECK(!tile_state_here()->configured, "still configured");
    model_close(&plain), model_close(&one), model_close(&several);
    free(table);
}

/* ---- who may use it */
static int ask_granted(void) { return 0; }
static int ask_refused(void) { return EPERM; }

TEST(tile, permission) {
    char reason[EG__AMX_REASON];
    CHECK(eg__tile_allowed(ask_granted, reason) && !reason[0], "'%s'", reason);
    CHECK(!eg__tile_allowed(ask_refused, reason) && strstr(reason, "no permission for tiles: ") &&
              strstr(reason, strerror(EPERM)),
          "'%s'", reason);
    if (!(kernel_features() & EG_CPU_AMX_TILE))
        CHECK(!eg__tile_allowed(eg__tile_ask, reason) && reason[0], "without the unit");

    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    context->features &= ~(unsigned)(EG_CPU_AMX_TILE | EG_CPU_AMX_BF16 | EG_CPU_AMX_INT8);
    snprintf(context->tile_refused, sizeof context->tile_refused, "not today");
    size_t refused = 0, rows = 0;
    for (size_t i = 0; i < eg_kernel_count(); i++) {
        refused += strcmp(eg_kernel_refusal(context, i), "not today") == 0;
        rows += strcmp(eg__kernel_row(i)->isa, "amxtile") == 0;
    }
    CHECK(refused == rows && (rows == TILE_MODELLED || !eg__isa_named("avx512")), "%zu of %zu",
          refused, rows);
    eg_context_destroy(context);
}

/* ---- which shapes and which names pick it */
TEST(tile, picked) {
    if (!eg__isa_named("amxtile")) {
        test_skip("no rows of x86-64 in this build");
        return;
    }
    static const struct {
        eg__operation operation;
        size_t m, n, k;
        bool tile;
    } cases[] = {
        {EG__OP_gemm_bf16bf16, 16, 16, 32, true},   {EG__OP_gemm_bf16bf16, 15, 99, 99, false},
        {EG__OP_gemm_bf16bf16, 99, 15, 99, false},  {EG__OP_gemm_bf16bf16, 99, 99, 31, false},
        {EG__OP_gemm_i8i8, 16, 16, 64, true},       {EG__OP_gemm_i8i8, 99, 99, 63, false},
        {EG__OP_gemm_f16f16, 512, 512, 512, false}, {EG__OP_gemm_f32, 512, 512, 512, false},
    };
    const unsigned all = eg__isa_named("amxtile")->features;
    eg_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg__kernel_shape shape = {
            .m = cases[i].m, .n = cases[i].n, .k = cases[i].k, .type = EG_I8, .groups = 1};
        static const struct {
            const char *isa;
            unsigned without;
            bool allowed;
        } choices[] = {{NULL, 0, true},
                       {"amxtile", 0, true},
                       {"avx512bf16", 0, false},
                       {"ref", 0, false},
                       {NULL, EG_CPU_AMX_TILE, false},
                       {NULL, EG_CPU_AMX_BF16 | EG_CPU_AMX_INT8, false}};
        for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
            eg__kernels kernels;
            CHECK_OK(
                eg__kernels_select(all & ~choices[c].without, choices[c].isa, &kernels, &error),
                error);
            const eg__kernel *row = eg__kernels_pick(&kernels, cases[i].operation, &shape);
            CHECK((strcmp(row->isa, "amxtile") == 0) == (cases[i].tile && choices[c].allowed),
                  "case %zu, choice %zu: %s", i, c, row->name);
            CHECK(strcmp(row->isa, "amxtile") != 0 || (row->enter && row->leave && !row->units),
                  "%s", row->name);
        }
    }
}
