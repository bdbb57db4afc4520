/* Tunings, a CBLAS as a row of products, and what other chips would use. */
#include "engine/tuning.h"
#include "kernels/gemm/cblas.h"
#include "profile/measure/tune.h"
#include "test.h"
#include "test_compile.h"
#include "test_gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

AREA(tune,
     "tunings kept and refused when damaged; a CBLAS against ref; blocks and rows of all chips")

static const eg_tuning sample = {.size = sizeof sample,
                                 .fingerprint = "0123456789abcdef",
                                 .isa = "avx512",
                                 .threads = 2,
                                 .measured_at = 1700000000,
                                 .seconds = 4.25,
                                 .rows = 96,
                                 .depth = 256,
                                 .blocks_gain = 1.03125,
                                 .cblas = "/usr/lib/a library.so",
                                 .cblas_least = 256,
                                 .cblas_gain = 1.5};

TEST(tune, text_round_trips) {
    char text[EG__TUNING_TEXT], again[EG__TUNING_TEXT];
    const size_t length = eg__tuning_write(&sample, text);
    eg_tuning back;
    eg_error error;
    CHECK_OK(eg__tuning_parse(text, length, &back, &error), error);
    CHECK(eg__tuning_write(&back, again) == length && memcmp(text, again, length) == 0, "%s",
          again);
    CHECK(back.rows == 96 && back.cblas_least == 256 && back.blocks_gain == 1.03125, "values");
}

/* Every byte changed, every length: a hash guards all of it. */
TEST(tune, damage_is_refused) {
    char text[EG__TUNING_TEXT], copy[EG__TUNING_TEXT];
    const size_t length = eg__tuning_write(&sample, text);
    eg_tuning out;
    eg_error error;
    for (size_t i = 0; i < length; i++) {
        char *cut = malloc(i ? i : 1);
        if (!cut) abort();
        memcpy(cut, text, i);
        CHECK(eg__tuning_parse(cut, i, &out, &error) == EG_ERR_FORMAT, "%zu bytes are taken", i);
        free(cut);
        static const char flips[] = {1, 2, 16, 64};
        for (size_t f = 0; f < sizeof flips; f++) {
            memcpy(copy, text, length);
            copy[i] = (char)(copy[i] ^ flips[f]);
            CHECK(eg__tuning_parse(copy, length, &out, &error) == EG_ERR_FORMAT,
                  "byte %zu may be changed", i);
        }
    }
}

/* A text whose hash is right is not therefore right. */
TEST(tune, values_have_limits) {
    static const struct {
        const char *from, *to, *says;
    } cases[] = {{"rows 96", "rows 7", "rows"},
                 {"rows 96", "rows 0", "rows without depth"},
                 {"depth 256", "depth 99999", "depth"},
                 {"threads 2", "threads 0", "threads"},
                 {"cblas_least 256", "cblas_least 0", "without sizes"},
                 {"blocks_gain 1.03125", "blocks_gain nan", "blocks_gain"},
                 {"isa avx512", "isa aaaaaaaaaaaaaaaaaaaaaaaaaa", "isa"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[EG__TUNING_TEXT], changed[EG__TUNING_TEXT + 64];
        eg_tuning out;
        eg_error error;
        text[eg__tuning_write(&sample, text)] = 0;
        const char *at = strstr(text, cases[i].from), *end = strstr(text, "\nhash ");
        CHECK(at && end, "'%s' is not in the text", cases[i].from);
        if (!at || !end) continue;
        int length =
            snprintf(changed, sizeof changed, "%.*s%s%.*s\n", (int)(at - text), text, cases[i].to,
                     (int)(end - at - (long)strlen(cases[i].from)), at + strlen(cases[i].from));
        length += snprintf(changed + length, sizeof changed - (size_t)length, "hash %016llx\n",
                           (unsigned long long)eg__hash(EG__HASH_SEED, changed, (size_t)length));
        CHECK_FAILS(eg__tuning_parse(changed, (size_t)length, &out, &error), error, EG_ERR_FORMAT,
                    cases[i].says);
    }
}

static void count_warning(void *user, eg_log_level level, const char *message) {
    (void)message;
    if (level == EG_LOG_WARNING) ++*(int *)user;
}

static void write_file(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL, "no '%s'", path);
    if (!file) return;
    fwrite(text, 1, length, file);
    fclose(file);
}

TEST(tune, contexts_use_what_is_stored) {
    char folder[300], path[EG__TUNING_PATH], text[EG__TUNING_TEXT];
    int warnings = 0;
    eg_error error;
    eg_context *context;
    snprintf(folder, sizeof folder, "%s/tuned", test_folder());
    eg_context_options options = {.size = sizeof options,
                                  .threads = 1,
                                  .tuned = 1,
                                  .tuning_folder = folder,
                                  .log = count_warning,
                                  .log_user = &warnings,
                                  .log_level = EG_LOG_WARNING};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    eg_tuning now = {.size = sizeof now};
    CHECK_OK(eg_context_tuning(context, &now, &error), error);
    CHECK(!now.rows && now.model_rows && now.model_depth && !warnings, "nothing is stored yet");
    CHECK(eg__tuning_path(context, folder, true, path), "no folder '%s'", folder);
    eg_context_destroy(context);

    eg_tuning stored = now;
    stored.rows = 48, stored.depth = 128, stored.blocks_gain = 1.25;
    size_t length = eg__tuning_write(&stored, text);
    write_file(path, text, length);
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_context_tuning(context, &now, &error), error);
    CHECK(now.rows == 48 && now.depth == 128 && context->kernels.blocks.rows == 48 &&
              context->kernels.blocks.depth == 128 && !warnings,
          "%u rows, depth %u, %d warnings", now.rows, now.depth, warnings);
    eg_context_destroy(context);

    options.tuned = 0;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK(context->kernels.blocks.rows == now.model_rows, "used unasked");
    eg_context_destroy(context);

    options.tuned = 1;
    text[length / 2] ^= 1;
    write_file(path, text, length);
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK(context->kernels.blocks.rows == now.model_rows && warnings == 1, "%d warnings", warnings);
    eg_context_destroy(context);

    snprintf(stored.fingerprint, sizeof stored.fingerprint, "another");
    length = eg__tuning_write(&stored, text);
    write_file(path, text, length);
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK(context->kernels.blocks.rows == now.model_rows && warnings == 2, "%d warnings", warnings);
    eg_context_destroy(context);
}

TEST(tune, measures_and_keeps) {
    char folder[300];
    eg_error error;
    eg_context *context;
    if (test_quick()) {
        test_skip("takes long under an emulator");
        return;
    }
    snprintf(folder, sizeof folder, "%s/measured", test_folder());
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    eg_tune_options how = {
        .size = sizeof how, .seconds = 0.01, .cache_folder = folder, .cblas = ""};
    eg_tuning tuning = {.size = sizeof tuning}, stored = {.size = sizeof stored};
    CHECK_OK(eg_tune(context, &how, &tuning, &error), error);
    CHECK(tuning.model_rows && !tuning.cblas[0] && tuning.seconds > 0 && tuning.blocks_gain >= 1 &&
              !tuning.rows == (tuning.blocks_gain < 1.02),
          "%u rows, gain %g", tuning.rows, tuning.blocks_gain);
    CHECK_FAILS(eg_tune(context, &(eg_tune_options){.seconds = -1}, &tuning, &error), error,
                EG_ERR_ARGUMENT, "-1 seconds");
    how.cblas = "/nowhere/libnone.so";
    CHECK_FAILS(eg_tune(context, &how, &tuning, &error), error, EG_ERR_NOT_FOUND, "libnone");
    how.cblas = "", how.cache_folder = "/dev/null/nowhere";
    CHECK_FAILS(eg_tune(context, &how, &tuning, &error), error, EG_ERR_NOT_FOUND, "nowhere");
    eg_context_destroy(context);
    eg_context_options options = {
        .size = sizeof options, .threads = 1, .tuned = 1, .tuning_folder = folder};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_context_tuning(context, &stored, &error), error);
    CHECK(stored.rows == tuning.rows && stored.seconds > 0, "%u rows were kept", stored.rows);
    eg_context_destroy(context);
}

TEST(tune, candidates_and_decisions) {
    eg__gemm_blocks list[EG__TUNE_CANDIDATES];
    const size_t count = eg__tune_candidates((eg__gemm_blocks){.rows = 168, .depth = 512}, list);
    CHECK(count == EG__TUNE_CANDIDATES && list[0].rows == 168 && list[0].depth == 512, "%zu",
          count);
    for (size_t i = 0; i < count; i++)
        CHECK(list[i].rows % 24 == 0 && list[i].depth % 64 == 0, "candidate %zu", i);
    static const double model[] = {1, 4}, other[] = {0.5, 2};
    CHECK(fabs(eg__tune_gain(2, model, other) - 2) < 1e-12, "twice as fast");
    static const unsigned sizes[] = {64, 128, 256};
    static const struct {
        double gains[3];
        unsigned least;
    } cases[] = {{{2, 2, 2}, 64},
                 {{2, 1, 2}, 256},
                 {{1, 1.5, 1.03}, 128},
                 {{2, 2, 1.01}, 0},
                 {{0.5, 0.5, 0.5}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(eg__tune_least(3, sizes, cases[i].gains) == cases[i].least, "case %zu", i);
}

/* ---- a CBLAS */
/* The row whose scratch memory arguments are made for; that of the library is set by hand. */
static const eg__kernel *ref_row(void) {
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        if (row->operation == EG__OP_gemm_f32 && strcmp(row->isa, "ref") == 0) return row;
    }
    return NULL;
}

static bool cblas_here(eg__cblas *out) {
    eg_error error;
    if (!eg__cblas_open(NULL, out, &error)) return true;
    test_skip("%s", error.message);
    return false;
}

static void double_it(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                      size_t column, size_t columns) {
    (void)user, (void)row, (void)column;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) c[i * c_stride + j] *= 2;
}

TEST(tune, cblas_computes_products) {
    static const size_t sizes[][3] = {{1, 1, 1},     {1, 40, 3},    {2, 16, 7},    {3, 17, 0},
                                      {5, 100, 45},  {64, 64, 64},  {7, 512, 33},  {9, 513, 20},
                                      {33, 1100, 9}, {100, 19, 45}, {129, 31, 600}};
    eg__cblas blas;
    if (!cblas_here(&blas)) return;
    const eg__epilogue epilogue = {double_it, NULL};
    uint64_t state = 7;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        gemm_problem p = gemm_problem_make(sizes[s][0], sizes[s][1], sizes[s][2], &state);
        const float *packed = gemm_packed(&p, p.n);
        const size_t scratch = eg__scratch_cblas(&(eg__kernel_shape){.m = p.m, .n = p.n, .k = p.k});
        float *add = test_alloc(p.m * p.n * sizeof *add);
        for (size_t i = 0; i < p.m * p.n; i++) add[i] = test_random(&state);
        for (int v = 0; v < 16; v++) {
            float *got[2];
            for (int ref = 0; ref < 2; ref++) {
                eg__gemm_f32_args args = gemm_args(ref_row(), &p, p.m, p.n, packed, v & 1, v & 2);
                args.cblas = &blas;
                args.scratch = scratch ? kernel_walled(12, scratch) : NULL;
                if (v & 4) args.epilogue = &epilogue;
                if (v & 8 && !(v & 2)) args.add = add, args.add_stride = v & 1 ? 0 : p.n;
                if (ref) eg__gemm_f32_ref(&args);
                else eg__gemm_f32_cblas(&args);
                CHECK(kernel_gap_broken(p.m, p.n, args.c_stride, args.c) == SIZE_MAX, "gap");
                got[ref] = test_alloc(p.m * p.n * sizeof(float));
                for (size_t i = 0; i < p.m * p.n; i++)
                    got[ref][i] = args.c[i / p.n * args.c_stride + i % p.n];
            }
            for (size_t i = 0; i < p.m * p.n; i++)
                if (!(fabsf(got[0][i] - got[1][i]) <= 2e-6f * (float)(p.k + 4))) {
                    CHECK(false, "%zux%zux%zu variant %d: C[%zu] is %g, not %g", p.m, p.n, p.k, v,
                          i, (double)got[0][i], (double)got[1][i]);
                    break;
                }
            free(got[0]), free(got[1]);
        }
        free(add);
        gemm_problem_free(&p);
    }
}

/* The same without a library: the row is safe to call. */
TEST(tune, a_product_without_a_library) {
    uint64_t state = 8;
    gemm_problem p = gemm_problem_make(6, 40, 30, &state);
    eg__gemm_f32_args args = gemm_args(ref_row(), &p, p.m, p.n, gemm_packed(&p, p.n), false, false);
    float *plain = test_alloc(p.m * p.n * sizeof *plain);
    eg__gemm_f32_ref(&args);
    memcpy(plain, args.c, p.m * p.n * sizeof *plain);
    eg__gemm_f32_cblas(&args);
    CHECK(kernel_difference(p.m * p.n, plain, args.c) == SIZE_MAX, "not that of ref");
    free(plain);
    gemm_problem_free(&p);
}

/* Products of several sizes in a program: the results are those of the definition; how many steps call the library. */
static size_t library_steps(eg_context *context, bool in_scan) {
    eg_error error;
    eg_graph *g;
    eg_program *program;
    size_t count = 0;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){200, 70});
    const eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){70, 80});
    const eg_node narrow = eg_parameter(g, "narrow", 2, (uint64_t[]){80, 20});
    const eg_node b = eg_parameter(g, "b", 1, (uint64_t[]){80});
    eg_node y = eg_tanh(g, eg_add(g, eg_matmul(g, x, w), b));
    if (in_scan) {
        const eg_node square = eg_parameter(g, "square", 2, (uint64_t[]){80, 80});
        const eg_node scan = eg_scan(g, 3, 0), h = eg_scan_carry(g, scan, y);
        eg_scan_update(g, h, eg_tanh(g, eg_matmul(g, h, square)));
        y = eg_scan_last(g, h);
    }
    const eg_output outputs[] = {{"y", y}, {"z", eg_matmul(g, y, narrow)}};
    const compiled_case c = {.name = "library", .low = -1, .high = 1};
    compiled_check(context, g, 2, outputs, &c);
    CHECK_OK(eg_compile(context, g, 2, outputs, NULL, &program, &error), error);
    eg_step_info step = {.size = sizeof step};
    for (size_t i = 0; program && !eg_program_step(program, i, &step, NULL); i++)
        count += strcmp(step.function, "gemm_f32_cblas") == 0;
    eg_program_release(program);
    eg_graph_destroy(g);
    return count;
}

TEST(tune, programs_take_the_library_where_it_is_faster) {
    eg__cblas blas;
    eg_error error;
    eg_context *context;
    if (!cblas_here(&blas)) return;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        CHECK_OK(eg_context_create(&(eg_context_options){.threads = threads}, &context, &error),
                 error);
        CHECK(library_steps(context, false) == 0, "used without a tuning");
        eg_tuning tuning = sample;
        tuning.rows = tuning.depth = 0;
        tuning.cblas_least = 64;
        snprintf(tuning.cblas, sizeof tuning.cblas, "%s", blas.path);
        CHECK_OK(eg__context_tune_with(context, &tuning, &error), error);
        CHECK(library_steps(context, false) == 1, "%zu steps", library_steps(context, false));
        CHECK(library_steps(context, true) == 1, "a scan's rows are cut between threads");
        eg_context_destroy(context);
    }
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_tuning gone = sample;
    gone.rows = gone.depth = 0;
    snprintf(gone.cblas, sizeof gone.cblas, "/nowhere/libnone.so");
    CHECK_OK(eg__context_tune_with(context, &gone, &error), error);
    CHECK(library_steps(context, false) == 0, "a library that is not there");
    eg_context_destroy(context);
}

/* ---- all chips of the table */
TEST(tune, rows_and_blocks_of_all_chips) {
    static const struct {
        const char *chip;
        const char *i8; /* the row of integer products */
        unsigned fast_rows, fast_depth, slow_rows, slow_depth;
    } expected[] = {
        {"M1", "dotprod", 168, 1024, 168, 512},     {"M1 Pro", "dotprod", 168, 1024, 168, 512},
        {"M1 Max", "dotprod", 168, 1024, 168, 512}, {"M1 Ultra", "dotprod", 168, 1024, 168, 512},
        {"M2", "i8mm", 168, 1024, 168, 512},        {"M2 Pro", "i8mm", 168, 1024, 168, 512},
        {"M2 Max", "i8mm", 168, 1024, 168, 512},    {"M2 Ultra", "i8mm", 168, 1024, 168, 512},
        {"M3", "i8mm", 168, 1024, 168, 512},        {"M3 Pro", "i8mm", 168, 1024, 168, 512},
        {"M3 Max", "i8mm", 168, 1024, 168, 512},    {"M3 Ultra", "i8mm", 168, 1024, 168, 512},
        {"M4", "i8mm", 168, 1024, 168, 512},        {"M4 Pro", "i8mm", 168, 1024, 168, 512},
        {"M4 Max", "i8mm", 168, 1024, 168, 512},    {"M5", "i8mm", 168, 1024, 168, 512},
        {"M5 Pro", "i8mm", 168, 1024, 168, 512},    {"M5 Max", "i8mm", 168, 1024, 168, 512}};
    enum { CHIPS = sizeof expected / sizeof *expected };
    CHECK(eg_chip_table_size() == CHIPS, "%zu chips", eg_chip_table_size());
    for (size_t i = 0; i < CHIPS; i++) {
        eg_chip_row row;
        eg_error error;
        eg_blocks fast = {.size = sizeof fast}, slow = {.size = sizeof slow};
        CHECK_OK(eg_chip_table_get(i, &row, &error), error);
        CHECK(strcmp(row.name, expected[i].chip) == 0, "row %zu is %s", i, row.name);
        CHECK_OK(eg_blocks_of(&row, 0, &fast, &error), error);
        CHECK_OK(eg_blocks_of(&row, 1, &slow, &error), error);
        CHECK(fast.rows == expected[i].fast_rows && fast.depth == expected[i].fast_depth &&
                  slow.rows == expected[i].slow_rows && slow.depth == expected[i].slow_depth,
              "%s: %u x %u, slow %u x %u", row.name, fast.rows, fast.depth, slow.rows, slow.depth);
        CHECK(fast.sums >= fast.sums_needed && fast.sums_needed == 16 && fast.band > fast.rows,
              "%s: %u sums, %u needed, bands of %u", row.name, fast.sums, fast.sums_needed,
              fast.band);
        for (size_t o = 0; o < eg_operation_count(); o++) {
            eg_kernel_choice choice = {.size = sizeof choice};
            CHECK_OK(eg_kernel_choice_get(&row, o, &choice, &error), error);
            CHECK(choice.provenance == EG_MODELLED && choice.isa[0], "%s", choice.operation);
            /* matrix units have rows of their own for products */
            const bool unit =
                strncmp(choice.isa, "amx", 3) == 0 || strncmp(choice.isa, "sme", 3) == 0;
            CHECK(!unit || row.matrix_unit[0], "%s has no %s", row.name, choice.isa);
            if (strcmp(choice.operation, "gemm_i8i8") == 0)
                CHECK(unit || strcmp(choice.isa, expected[i].i8) == 0, "%s: %s", row.name,
                      choice.isa);
            if (strcmp(choice.operation, "column_sum_f32") == 0)
                CHECK(strcmp(choice.isa, "neon") == 0, "%s: %s", row.name, choice.isa);
            CHECK(strcmp(choice.isa, "cblas") != 0, "a library without a measurement");
        }
    }
    eg_chip_row none = {.name = "none", .fast_l1d_kb = NAN};
    eg_blocks blocks = {.size = sizeof blocks};
    eg_error error;
    CHECK_FAILS(eg_blocks_of(&none, 0, &blocks, &error), error, EG_ERR_NOT_FOUND, "none");
}
