/* Programs through the simulated cache: their accesses counted by hand, for every kind of step. */
#include "random_graph.h"
#include "test.h"
#include "test_models.h"

#include "engine/program.h"

#include <math.h>

AREA(cache_steps, "accesses of programs as their kernels make them; parts add up; sampling, isas")

static const eg_cache_geometry caches = {
    .levels = 3, .level = {{"L1d", 32768, 8, 64}, {"L2", 524288, 8, 64}, {"L3", 4194304, 16, 64}}};

typedef eg_node build_function(eg_graph *g);

static eg_node build_copy(eg_graph *g) {
    const eg_node parts[] = {eg_input(g, "a", EG_F32, 2, (uint64_t[]){30, 20}),
                             eg_input(g, "b", EG_F32, 2, (uint64_t[]){30, 12})};
    return eg_concat(g, 1, 2, parts);
}
static eg_node build_turned(eg_graph *g) {
    return eg_transpose(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){75, 130}), (unsigned[]){1, 0});
}
static eg_node build_add(eg_graph *g) {
    const uint64_t shape[] = {50, 70};
    return eg_add(g, eg_input(g, "a", EG_F32, 2, shape), eg_input(g, "b", EG_F32, 2, shape));
}
static eg_node build_softmax(eg_graph *g) {
    return eg_softmax(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){9, 301}));
}
static eg_node build_short_softmax(eg_graph *g) {
    return eg_softmax(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){9, 13}));
}
static eg_node build_log_softmax(eg_graph *g) {
    return eg_log_softmax(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){9, 301}));
}
static eg_node build_layer_norm(eg_graph *g) {
    return eg_layer_norm(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){9, 301}), 1e-5);
}
static eg_node build_rms_norm(eg_graph *g) {
    return eg_rms_norm(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){9, 301}), 1e-5);
}
static eg_node build_sum_squares(eg_graph *g) {
    return eg_sum_squares(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){40, 151}));
}
static eg_node build_sum(eg_graph *g) {
    return eg_sum(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){40, 50}), 1u << 1, 0);
}
static eg_node build_column_sum(eg_graph *g) {
    return eg_sum(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){40, 150}), 1u << 0, 0);
}
static eg_node build_sliced_sum(eg_graph *g) {
    return eg_sum(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){600, 29}), 1u << 0, 0);
}
static eg_node build_largest(eg_graph *g) {
    return eg_reduce_max(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){40, 50}), 1u << 1, 0);
}
static eg_node build_argmax(eg_graph *g) {
    return eg_argmax(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){40, 50}));
}
static eg_node build_gather(eg_graph *g) {
    return eg_gather(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){100, 24}),
                     eg_input(g, "i", EG_I32, 1, (uint64_t[]){64}));
}
static eg_node build_scatter(eg_graph *g) {
    return eg_scatter_add(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){64, 24}),
                          eg_input(g, "i", EG_I32, 1, (uint64_t[]){64}), 100);
}
static eg_node build_known_gather(eg_graph *g) { /* two rows of those are beyond the end: zeros */
    static const int32_t index[] = {3, 99, 100, 3, -1, 0};
    const eg_tensor list = {EG_I32, 1, {6}, (void *)index};
    return eg_gather(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){100, 24}), eg_constant(g, &list));
}
static eg_node build_take(eg_graph *g) {
    return eg_slice_at(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){100, 24}),
                       eg_input(g, "at", EG_I32, 0, NULL), 7);
}
static eg_node infile_halves(eg_graph *g) {
    const eg_quantization half = {.type = EG_F16};
    return eg_input_infile(g, "w", &half, 2, (uint64_t[]){10, 64});
}
static eg_node build_infile_row(eg_graph *g) {
    return eg_matmul_transposed(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){1, 64}), 0,
                                infile_halves(g), 1);
}
static eg_node build_infile_rows(eg_graph *g) {
    return eg_matmul_transposed(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){40, 64}), 0,
                                infile_halves(g), 1);
}
static eg_node build_infile_gather(eg_graph *g) {
    return eg_gather(g, infile_halves(g), eg_input(g, "i", EG_I32, 1, (uint64_t[]){6}));
}
static eg_node build_widen(eg_graph *g) { return eg_tanh(g, infile_halves(g)); }
static eg_node build_product(eg_graph *g) {
    return eg_matmul(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){37, 70}),
                     eg_parameter(g, "w", 2, (uint64_t[]){70, 90}));
}
static eg_node build_narrow(eg_graph *g) {
    return eg_matmul(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){37, 70}),
                     eg_parameter(g, "w", 2, (uint64_t[]){70, 20}));
}
static eg_node build_row(eg_graph *g) {
    return eg_matmul(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){1, 70}),
                     eg_parameter(g, "w", 2, (uint64_t[]){70, 96}));
}
static eg_node build_biased_row(eg_graph *g) {
    return eg_add(g, build_row(g), eg_parameter(g, "b", 1, (uint64_t[]){96}));
}
static eg_node build_gate(eg_graph *g) {
    const uint64_t shape[] = {20, 45}, rows[] = {20, 1};
    eg_node f = eg_tanh(g, eg_input(g, "a", EG_F32, 2, shape));
    eg_node h = eg_tanh(g, eg_input(g, "b", EG_F32, 2, shape));
    eg_node time =
        eg_mul(g, eg_input(g, "ta", EG_F32, 2, shape), eg_input(g, "ts", EG_F32, 2, rows));
    eg_node t = eg_sigmoid(g, eg_add(g, time, eg_input(g, "tb", EG_F32, 2, shape)));
    return eg_add(g, f, eg_mul(g, t, eg_sub(g, h, f)));
}
static eg_node build_untimed_gate(eg_graph *g) {
    const uint64_t shape[] = {20, 45};
    eg_node f = eg_tanh(g, eg_input(g, "a", EG_F32, 2, shape));
    eg_node h = eg_tanh(g, eg_input(g, "b", EG_F32, 2, shape));
    eg_node sum =
        eg_add(g, eg_input(g, "ta", EG_F32, 2, shape), eg_input(g, "tb", EG_F32, 2, shape));
    return eg_add(g, f, eg_mul(g, eg_sigmoid(g, sum), eg_sub(g, h, f)));
}
static eg_node build_update(eg_graph *g) {
    const uint64_t shape[] = {20, 45};
    eg_node above =
        eg_add(g, eg_input(g, "a", EG_F32, 2, shape), eg_input(g, "b", EG_F32, 2, shape));
    eg_node below =
        eg_add(g, eg_input(g, "c", EG_F32, 2, shape), eg_input(g, "d", EG_F32, 2, shape));
    return eg_div(g, above, below);
}
static eg_node build_large(eg_graph *g) {
    return eg_matmul(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){200, 1100}),
                     eg_parameter(g, "w", 2, (uint64_t[]){1100, 320}));
}
static eg_node build_turned_product(eg_graph *g) {
    return eg_matmul_transposed(g, eg_input(g, "x", EG_F32, 2, (uint64_t[]){300, 13}), 1,
                                eg_input(g, "y", EG_F32, 2, (uint64_t[]){300, 32}), 0);
}
static eg_node build_products(eg_graph *g) {
    return eg_matmul(g, eg_input(g, "x", EG_F32, 3, (uint64_t[]){5, 20, 30}),
                     eg_input(g, "w", EG_F32, 3, (uint64_t[]){5, 30, 25}));
}

static eg_node build_halves(eg_graph *g) {
    return eg_matmul(g, eg_input(g, "x", EG_BF16, 2, (uint64_t[]){20, 32}),
                     eg_input(g, "w", EG_BF16, 2, (uint64_t[]){32, 40}));
}
static eg_node build_odd_halves(eg_graph *g) {
    return eg_matmul(g, eg_input(g, "x", EG_F16, 3, (uint64_t[]){2, 300, 33}),
                     eg_input(g, "w", EG_F16, 3, (uint64_t[]){2, 33, 40}));
}

/* Bytes of a program with one step, for kernels with vectors and for `ref`; < 0: not to be told in a
 * line. */
static const struct {
    const char *name;
    build_function *build;
    double vectors, ref;
} exact[] = {
    {"copy", build_copy, 8 * 960, 8 * 960},
    {"transpose", build_turned, 8 * 75 * 130, 8 * 75 * 130},
    {"add", build_add, 12 * 3500, 12 * 3500},
    {"softmax", build_softmax, 20 * 9 * 301, 16 * 9 * 301},
    {"short softmax", build_short_softmax, 8 * 9 * 13, 16 * 9 * 13},
    {"log softmax", build_log_softmax, 16 * 9 * 301, 16 * 9 * 301},
    {"layer norm", build_layer_norm, 16 * 9 * 301, 16 * 9 * 301},
    {"rms norm", build_rms_norm, 12 * 9 * 301, 12 * 9 * 301},
    {"sum of squares", build_sum_squares, 4 * (40 * 151 + 4), 4 * (40 * 151 + 4)},
    {"sum", build_sum, 4 * 40 * 51, 4 * 40 * 51},
    {"column sum", build_column_sum, 4 * 41 * 150, 4 * 41 * 150},
    /* two slices are written, read and added */
    {"column sum in slices", build_sliced_sum, 4 * 605 * 29, 4 * 605 * 29},
    {"largest", build_largest, 4 * 40 * 101, 4 * 40 * 51},
    {"argmax", build_argmax, 4 * 40 * 127, 4 * 40 * 51},
    {"gather", build_gather, 4 * 64 * 49, 4 * 64 * 49},
    {"known gather", build_known_gather, 4 * (6 + 10 * 24), 4 * (6 + 10 * 24)},
    {"take", build_take, 8 * 7 * 24 + 4, 8 * 7 * 24 + 4},
    {"scatter", build_scatter, 4 * (100 * 24 + 64 * 73), 4 * (100 * 24 + 64 * 73)},
    {"gemm", build_product, -1, 4 * 37 * 90 * (2 * 70 + 1)},
    /* x once for each strip of four panels, and two left */
    {"gemv", build_row, 4 * (70 * 96 + 2 * 70 + 96), 4 * 96 * (2 * 70 + 1)},
    {"gemv and bias", build_biased_row, 4 * (70 * 96 + 2 * 70 + 2 * 96), -1},
    /* x once for each four columns */
    {"stored row", build_infile_row, 128 * 10 + 256 * 3 + 40, 128 * 10 + 256 * 3 + 40},
    {"stored rows", build_infile_rows, -1, -1},
    {"stored gather", build_infile_gather, 6 * (128 + 4 + 256), 6 * (128 + 4 + 256)},
    /* widened, then a tanh of it */
    {"widen", build_widen, 10 * (128 + 256 + 2 * 256), 10 * (128 + 256 + 2 * 256)},
    {"gate", build_gate, 20 * 900 + 4 * 20, -1},
    {"gate without time", build_untimed_gate, 20 * 900, 44 * 900},
    {"update", build_update, 20 * 900, 36 * 900},
    {"large gemm", build_large, -1, 4.0 * 200 * 320 * (2 * 1100 + 1)},
    {"narrow gemm", build_narrow, -1, 4 * 37 * 20 * (2 * 70 + 1)},
    {"turned gemm", build_turned_product, -1, 4 * 13 * 32 * (2 * 300 + 1)},
    {"products", build_products, -1, -1},
    /* packed in three panels of 16 pairs; then the pairs of both sides */
    {"halves", build_halves, -1, 2 * 32 * 40 + 64 * 3 * 16 + 4 * 20 * 40 * (2 * 16 + 1)},
    {"odd halves", build_odd_halves, -1, -1},
};
enum { EXACT = sizeof exact / sizeof *exact };

static eg_status compile(eg_context *context, build_function *build, eg_program **out,
                         eg_error *error) {
    eg_graph *g;
    *out = NULL;
    eg_status status = eg_graph_create(context, &g, error);
    if (status) return status;
    const eg_output output = {"y", build(g)};
    status = eg_compile(context, g, 1, &output, NULL, out, error);
    eg_graph_destroy(g);
    return status;
}

/* What the steps of a run say of themselves is read once each. */
static double description_bytes(const eg_program *p) {
    size_t bytes = 0;
    for (size_t i = 0; i < p->main_count; i++)
        bytes +=
            eg__round_up(offsetof(eg__step, u), 8) + p->steps[i].operands * sizeof(eg__operand);
    return (double)bytes;
}

static double step_bytes(const eg_program *p) {
    double bytes = 0;
    for (size_t i = 0; i < p->main_count; i++) bytes += p->steps[i].bytes;
    return bytes;
}

static eg_context *open_context(const char *isa) {
    eg_context *context = NULL;
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = isa};
    return eg_context_create(&options, &context, NULL) ? NULL : context;
}

/* One of the cases of a test, number i; it touches at least what its steps count. */
static eg_cache_result simulate(eg_context *context, build_function *build, int i) {
    eg_program *program;
    eg_error error;
    eg_cache_result result = {0};
    CHECK_OK(compile(context, build, &program, &error), error);
    CHECK_OK(eg_cache_simulate(program, &caches, NULL, &result, NULL, &error), error);
    CHECK(result.bytes >= step_bytes(program), "%d: %g bytes, counted %g", i, result.bytes,
          step_bytes(program));
    eg_program_release(program);
    return result;
}

TEST(cache_steps, bytes) {
    static const char *const isas[] = {"ref", "avx2", "avx512", "neon"};
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
        eg_context *context = open_context(isas[k]);
        for (size_t i = 0; context && i < EXACT; i++) {
            eg_program *program;
            eg_error error;
            eg_cache_result result = {0};
            if (test_quick() && exact[i].build == build_large) continue;
            CHECK_OK(compile(context, exact[i].build, &program, &error), error);
            CHECK_OK(eg_cache_simulate(program, &caches, &(eg_cache_options){.sampling = 1},
                                       &result, NULL, &error),
                     error);
            const double bytes = result.bytes - description_bytes(program);
            const double wanted = k ? exact[i].vectors : exact[i].ref;
            CHECK(wanted < 0 ? bytes >= step_bytes(program) : bytes == wanted,
                  "%s, %s: %g bytes, not %g; counted %g", isas[k], exact[i].name, bytes, wanted,
                  step_bytes(program));
            CHECK(result.level[0].accesses >= result.level[0].misses &&
                      result.level[0].misses == result.level[1].accesses,
                  "%s, %s: %g of %g miss", isas[k], exact[i].name, result.level[0].misses,
                  result.level[0].accesses);
            eg_program_release(program);
        }
        eg_context_destroy(context);
    }
}

/* ---- whole models: every kind of step, inside of scans and outside */
static const model_case models[] = {
    {"mlp", 0, 64, 100, 128, .gradient = true},
    {"gru", 12, 40, 30, 64, .gradient = false},
    {"gru", 6, 8, 10, 24, .reverse = true, .lengths = true, .gradient = true},
    {"gru", 12, 8, 10, 24, .gradient = true, .options = {.every = 4}},
    {"cfc", 10, 33, 20, 48, .gradient = true, .dropout = true},
    {"cfc", 20, 1, 16, 64, .gradient = false},
};
enum { MODELS = sizeof models / sizeof *models };

static double distance(const eg_cache_result *a, const eg_cache_result *b, unsigned level) {
    return fabs(a->level[level].misses / a->level[0].accesses -
                b->level[level].misses / b->level[0].accesses);
}

/* Everything that is bound is read or written, at every time, and nothing beyond what there is. */
static void check_lines(const char *name, const eg_program *p, const eg_cache_result *cold) {
    size_t bound = 0, all = p->arena_size + p->states_size + p->parameters_size + p->derived_size +
                            p->constants_size + p->scratch_size * sizeof(float);
    for (size_t i = 0; i < p->inputs.count; i++) bound += eg__leaf_bytes(&p->inputs.list[i]);
    for (size_t i = 0; i < p->outputs.count; i++) bound += eg__leaf_bytes(&p->outputs.list[i]);
    all += bound;
    const double least = (double)bound;
    const double most =
        (double)all + 65536 + 4096 +
        (double)(p->step_count * sizeof *p->steps + p->operand_count * sizeof *p->operands);
    CHECK(cold->dram_read.value >= least && cold->dram_read.value <= most,
          "%s: %g bytes read, not between %g and %g", name, cold->dram_read.value, least, most);
}

TEST(cache_steps, models_by_parts) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("the same on every processor, and slow under an emulator");
        return;
    }
    for (size_t i = 0; i < MODELS; i++) {
        model_run m = model_open(&models[i], 1, NULL);
        eg_cache_result whole, sampled, cold, *steps;
        eg_error error;
        const eg_program *p = m.program;
        double accesses = 0, misses = 0;
        steps = test_alloc(p->step_count * sizeof *steps);
        CHECK_OK(eg_cache_simulate(p, &caches, &(eg_cache_options){.sampling = 1}, &whole, steps,
                                   &error),
                 error);
        for (size_t k = 0; k < p->step_count; k++) {
            const bool prologue = k >= p->main_count && k < p->main_count + p->prologue_count;
            CHECK((steps[k].level[0].accesses > 0) == !prologue, "%s: step %zu (%s): %g accesses",
                  models[i].name, k, p->steps[k].name, steps[k].level[0].accesses);
            if (k >= p->main_count) continue;
            accesses += steps[k].level[0].accesses;
            misses += steps[k].level[0].misses;
        }
        CHECK(accesses == whole.level[0].accesses && misses == whole.level[0].misses,
              "%s: %g of %g accesses", models[i].name, accesses, whole.level[0].accesses);
        CHECK_OK(eg_cache_simulate(p, &caches, &(eg_cache_options){.sampling = 16}, &sampled, NULL,
                                   &error),
                 error);
        CHECK(sampled.level[0].accesses == accesses, "sampling changes the accesses");
        /* of a few thousand lines, four sets of the first cache do not tell more */
        const double limit = whole.level[0].accesses > 1e6 ? 0.005 : 0.02;
        for (unsigned level = 0; level < 3; level++)
            CHECK(distance(&whole, &sampled, level) <= limit, "%s: 1/16 of level %u is %g away",
                  models[i].name, level, distance(&whole, &sampled, level));
        CHECK_OK(eg_cache_simulate(p, &caches, &(eg_cache_options){.sampling = 1, .cold = 1}, &cold,
                                   NULL, &error),
                 error);
        CHECK(whole.level[2].misses == 0 && cold.level[2].misses > 0 &&
                  cold.dram_read.value >= 64 * cold.level[2].misses && whole.dram_write.value == 0,
              "%s: %g misses of the last cache cold, %g warm, %g written", models[i].name,
              cold.level[2].misses, whole.level[2].misses, whole.dram_write.value);
        check_lines(models[i].name, p, &cold);
        free(steps);
        model_close(&m);
    }
}

/* A running sum over time: each step takes its own part of the sequence and of the result. */
static eg_node build_running(eg_graph *g) {
    const uint64_t shape[] = {64, 8, 32};
    eg_node x = eg_input(g, "x", EG_F32, 3, shape), scan = eg_scan(g, 64, 1);
    eg_node h = eg_scan_carry(g, scan, eg_input(g, "h", EG_F32, 2, shape + 1));
    eg_node next = eg_add(g, h, eg_scan_step(g, scan, x));
    eg_scan_update(g, h, next);
    return eg_scan_stack(g, scan, next);
}

TEST(cache_steps, time) {
    eg_context *context = open_context(NULL);
    eg_program *program;
    eg_error error;
    eg_cache_result result;
    CHECK_OK(compile(context, build_running, &program, &error), error);
    CHECK_OK(eg_cache_simulate(program, &caches, &(eg_cache_options){.sampling = 1, .cold = 1},
                               &result, NULL, &error),
             error);
    const double least = 2 * 64 * 8 * 32 * 4;
    CHECK(result.dram_read.value >= least && result.dram_read.value <= least + 16384, "%g bytes",
          result.dram_read.value);
    eg_program_release(program);
    eg_context_destroy(context);
}

/* A scan of half the length has half the accesses, but for what is outside of it. */
TEST(cache_steps, length) {
    model_run m = model_open(&models[1], 1, NULL);
    eg_cache_result all, half;
    eg_error error;
    CHECK_OK(eg_cache_simulate(m.program, &caches, NULL, &all, NULL, &error), error);
    CHECK_OK(eg_cache_simulate(m.program, &caches, &(eg_cache_options){.length = 6}, &half, NULL,
                               &error),
             error);
    const double ratio = half.level[0].accesses / all.level[0].accesses;
    CHECK(fabs(ratio - 0.5) < 0.02, "%g of the accesses", ratio);
    CHECK_FAILS(eg_cache_simulate(m.program, &caches, &(eg_cache_options){.length = 13}, &half,
                                  NULL, &error),
                error, EG_ERR_ARGUMENT,
                "a run of 13 steps is not within 1..12, which the program was compiled for");
    CHECK_FAILS(eg_cache_simulate(m.program, &(eg_cache_geometry){0}, NULL, &half, NULL, &error),
                error, EG_ERR_ARGUMENT, "0 levels");
    CHECK_FAILS(eg_cache_simulate(NULL, &caches, NULL, &half, NULL, &error), error, EG_ERR_ARGUMENT,
                "no program");
    model_close(&m);
}

/* ---- synapses: one sample, blocks of them, and both gradients */
static eg_node build_synapses_of(eg_graph *g, uint64_t batch, bool in_lanes, bool gradient) {
    enum { NEURONS = 20, EACH = 3, COUNT = 2 * EG__LANES * EACH };
    int32_t source[COUNT], target[COUNT];
    const uint64_t count = COUNT;
    for (int i = 0; i < COUNT; i++) { /* rows of lanes, each of which keeps its target */
        const int lane = i % EG__LANES + i / (EG__LANES * EACH) * EG__LANES;
        source[i] = i * 7 % NEURONS;
        target[i] = in_lanes ? (lane < NEURONS ? lane : -1) : i % NEURONS;
    }
    const eg_tensor from = {EG_I32, 1, {COUNT}, source}, to = {EG_I32, 1, {COUNT}, target};
    const eg_synapse_nodes nodes = {.v = eg_input(g, "v", EG_F32, 2, (uint64_t[]){batch, NEURONS}),
                                    .weight = eg_parameter(g, "weight", 1, &count),
                                    .middle = eg_parameter(g, "middle", 1, &count),
                                    .slope = eg_parameter(g, "slope", 1, &count),
                                    .reversal = eg_parameter(g, "reversal", 1, &count),
                                    .source = eg_constant(g, &from),
                                    .target = eg_constant(g, &to)};
    eg_node y = eg_synapses(g, &nodes, NEURONS), d[2];
    if (!gradient) return y;
    const eg_node wrt[] = {nodes.v, nodes.slope};
    if (eg_gradient(g, eg_sum(g, eg_mul(g, y, y), EG_ALL_AXES, 0), 2, wrt, d, NULL))
        return (eg_node){0};
    return eg_add(g, eg_sum(g, d[0], EG_ALL_AXES, 0), eg_sum(g, d[1], EG_ALL_AXES, 0));
}
static eg_node build_sample(eg_graph *g) { return build_synapses_of(g, 1, true, false); }
static eg_node build_samples(eg_graph *g) { return build_synapses_of(g, 70, false, false); }
static eg_node build_lanes(eg_graph *g) { return build_synapses_of(g, 70, true, false); }
static eg_node build_backward(eg_graph *g) { return build_synapses_of(g, 70, true, true); }

TEST(cache_steps, synapses) {
    static build_function *const builds[] = {build_sample, build_samples, build_lanes,
                                             build_backward};
    double accesses[4] = {0};
    eg_context *context = open_context(NULL);
    for (int i = 0; i < 4; i++) {
        const eg_cache_result result = simulate(context, builds[i], i);
        accesses[i] = result.level[0].accesses;
        CHECK(result.level[0].hit_rate.value > 0.9, "%d: %g hits", i,
              result.level[0].hit_rate.value);
    }
    CHECK(accesses[0] > 96 * 2 && accesses[1] > 10 * accesses[0] && accesses[2] > 10 * accesses[0],
          "%g, %g and %g accesses", accesses[0], accesses[1], accesses[2]);
    CHECK(accesses[3] > 2 * accesses[2], "%g and %g accesses", accesses[2], accesses[3]);
    eg_context_destroy(context);
}

/* ---- attention: a block, several, and the gradients; keys are packed once for blocks side by side */
static eg_node build_attention_of(eg_graph *g, uint64_t length, uint64_t keys, bool gradient) {
    const eg_attention_options o = {.heads = 4, .kv_heads = 2, .causal = 1};
    const eg_rotary_options r = {.d = 24};
    const eg_node none = {0};
    eg_node q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){2, length, 96}), d[2];
    eg_node k = eg_input(g, "k", EG_F32, 3, (uint64_t[]){2, keys, 48});
    eg_node y = eg_attention(g, &o, eg_rotary(g, &r, q, none), k, k, none, none);
    if (!gradient) return y;
    if (eg_gradient(g, eg_sum(g, eg_mul(g, y, y), EG_ALL_AXES, 0), 2, (eg_node[]){q, k}, d, NULL))
        return (eg_node){0};
    return eg_add(g, eg_sum(g, d[0], EG_ALL_AXES, 0), eg_sum(g, d[1], EG_ALL_AXES, 0));
}
static eg_node build_block(eg_graph *g) { return build_attention_of(g, 30, 30, false); }
static eg_node build_blocks(eg_graph *g) { return build_attention_of(g, 90, 90, false); }
static eg_node build_blocks_back(eg_graph *g) { return build_attention_of(g, 90, 90, true); }
static eg_node build_query(eg_graph *g) { return build_attention_of(g, 1, 90, false); }

static eg_node build_rows(eg_graph *g, uint64_t rows) {
    const eg_attention_options o = {.heads = 1};
    const eg_node q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){1, rows, 64}), none = {0};
    const eg_node k = eg_input(g, "k", EG_F32, 3, (uint64_t[]){1, 128, 64});
    return eg_attention(g, &o, q, k, k, none, none);
}
static eg_node build_one(eg_graph *g) { return build_rows(g, 128); }
static eg_node build_four(eg_graph *g) { return build_rows(g, 512); }
static eg_node build_five(eg_graph *g) { return build_rows(g, 640); }

TEST(cache_steps, attention_together) {
    static build_function *const builds[] = {build_one, build_four, build_five};
    double accesses[3] = {0};
    eg_context *context = open_context(NULL);
    for (int i = 0; i < 3; i++) accesses[i] = simulate(context, builds[i], i).level[0].accesses;
    /* keys and values are read and written, as vectors of at most 16 numbers */
    const double once = accesses[0] + accesses[1] - accesses[2]; /* by the program itself */
    const double packing = 4 * accesses[0] - accesses[1] - 3 * once;
    CHECK(once < 200 && packing >= 3 * 4 * 128 * 64 / 16 && packing <= 3 * 4 * 128 * 64,
          "%g, %g and %g accesses", accesses[0], accesses[1], accesses[2]);
    eg_context_destroy(context);
}

TEST(cache_steps, attention) {
    static build_function *const builds[] = {build_block, build_blocks, build_blocks_back,
                                             build_query};
    double accesses[4] = {0};
    eg_context *context = open_context(NULL);
    for (int i = 0; i < 4; i++) {
        const eg_cache_result result = simulate(context, builds[i], i);
        accesses[i] = result.level[0].accesses;
        CHECK(result.level[0].hit_rate.value > 0.8, "%d: %g hits", i,
              result.level[0].hit_rate.value);
    }
    CHECK(accesses[1] > 4 * accesses[0] && accesses[2] > 2 * accesses[1] &&
              accesses[3] < accesses[0],
          "%g, %g, %g and %g accesses", accesses[0], accesses[1], accesses[2], accesses[3]);
    eg_context_destroy(context);
}

/* ---- caches: one query, and a prompt of many, of 128 keys in pages of 16 */
static eg_node build_cached_of(eg_graph *g, uint64_t queries, eg_type type) {
    const eg_attention_options o = {.heads = 4, .kv_heads = 2, .causal = 1};
    eg_node q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){1, queries, 128});
    eg_node k = eg_input(g, "k", EG_F32, 3, (uint64_t[]){1, queries, 64});
    eg_node at = eg_input(g, "at", EG_I32, 2, (uint64_t[]){1, queries});
    eg_node pages = eg_input(g, "pages", EG_I32, 2, (uint64_t[]){1, 8});
    eg_node n = eg_input(g, "n", EG_I32, 1, (uint64_t[]){1});
    eg_node cache = eg_cache(g, "cache", type, 256, 2, 32);
    eg_node keys = eg_update(g, cache, eg_append(g, cache, k, at));
    return eg_attention_cached(g, &o, q, keys, keys, pages, n, 16);
}
static eg_node build_word(eg_graph *g) { return build_cached_of(g, 1, EG_F32); }
static eg_node build_small_word(eg_graph *g) { return build_cached_of(g, 1, EG_I8); }
static eg_node build_prompt(eg_graph *g) { return build_cached_of(g, 90, EG_F16); }

TEST(cache_steps, caches) {
    static build_function *const builds[] = {build_word, build_small_word, build_prompt};
    double bytes[3] = {0};
    eg_context *context = open_context(NULL);
    for (int i = 0; i < 3; i++) {
        const eg_cache_result result = simulate(context, builds[i], i);
        bytes[i] = result.bytes;
    }
    CHECK(bytes[1] < bytes[0] && bytes[2] > 10 * bytes[0], "%g, %g and %g bytes", bytes[0],
          bytes[1], bytes[2]);
    eg_context_destroy(context);
}

/* ---- convolutions: single elements, filters of nine taps for all channels and for each its own; gradients */
static eg_node build_conv_of(eg_graph *g, uint64_t side, uint32_t groups, bool gradient) {
    const eg_conv_options o = {
        .before = {side / 2, side / 2}, .after = {side / 2, side / 2}, .groups = groups};
    eg_node x = eg_input(g, "x", EG_F32, 4, (uint64_t[]){2, 24, 30, 30}), d[2];
    eg_node w = eg_parameter(g, "w", 4, (uint64_t[]){24, 24 / groups, side, side});
    eg_node y = eg_conv(g, &o, x, w);
    if (!gradient) return y;
    if (eg_gradient(g, eg_sum(g, eg_mul(g, y, y), EG_ALL_AXES, 0), 2, (eg_node[]){x, w}, d, NULL))
        return (eg_node){0};
    return eg_add(g, eg_sum(g, d[0], EG_ALL_AXES, 0), eg_sum(g, d[1], EG_ALL_AXES, 0));
}
static eg_node build_conv_elements(eg_graph *g) { return build_conv_of(g, 1, 1, false); }
static eg_node build_conv_taps(eg_graph *g) { return build_conv_of(g, 3, 1, false); }
static eg_node build_conv_back(eg_graph *g) { return build_conv_of(g, 3, 1, true); }
static eg_node build_depthwise(eg_graph *g) { return build_conv_of(g, 3, 24, false); }
static eg_node build_depthwise_back(eg_graph *g) { return build_conv_of(g, 3, 24, true); }

TEST(cache_steps, conv) {
    static build_function *const builds[] = {build_conv_elements, build_conv_taps, build_conv_back,
                                             build_depthwise, build_depthwise_back};
    static const char *const isas[] = {NULL, "ref"};
    /* what ref touches is the same on every processor */
    for (int isa = 0; isa < (test_emulated() ? 1 : 2); isa++) {
        double accesses[5] = {0};
        eg_context *context = open_context(isas[isa]);
        for (int i = 0; i < 5; i++) {
            const eg_cache_result result = simulate(context, builds[i], i);
            accesses[i] = result.level[0].accesses;
            CHECK(result.level[0].hit_rate.value > 0.6, "%d: %g hits", i,
                  result.level[0].hit_rate.value);
        }
        CHECK(accesses[1] > 6 * accesses[0] && accesses[2] > 2.5 * accesses[1] &&
                  accesses[1] > 4 * accesses[3] && accesses[4] > 2 * accesses[3],
              "%g, %g, %g, %g and %g accesses", accesses[0], accesses[1], accesses[2], accesses[3],
              accesses[4]);
        eg_context_destroy(context);
    }
}

/* ---- random graphs: all that is there goes through, and nothing is counted twice */
TEST(cache_steps, random_graphs) {
    eg_context *context = open_context(NULL);
    for (uint64_t number = 1; number <= (getenv("ELEGANS_QUICK") ? 20 : 100); number++) {
        eg_output outputs[RANDOM_OUTPUTS];
        eg_graph *g;
        eg_program *p;
        eg_error error;
        eg_cache_result result;
        double accesses = 0;
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const size_t count = random_graph(g, number, outputs);
        CHECK_OK(eg_compile(context, g, count, outputs, NULL, &p, &error), error);
        eg_cache_result *steps = test_alloc((p->step_count + 1) * sizeof *steps);
        CHECK_OK(eg_cache_simulate(p, &caches, &(eg_cache_options){.sampling = 4}, &result, steps,
                                   &error),
                 error);
        for (size_t i = 0; i < p->main_count; i++) accesses += steps[i].level[0].accesses;
        CHECK(accesses == result.level[0].accesses, "graph %llu: %g accesses of %g",
              (unsigned long long)number, accesses, result.level[0].accesses);
        free(steps);
        eg_program_release(p);
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

/* ---- memory */
static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    eg_program *program;
    eg_cache_result result;
    eg_status status = compile(context, build_add, &program, error);
    if (status) return status;
    status = eg_cache_simulate(program, &caches, NULL, &result, NULL, error);
    eg_program_release(program);
    return status;
}

TEST(cache_steps, every_allocation) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("the same on every processor, and slow under an emulator");
        return;
    }
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed > 5, "%d allocations", failed);
}
