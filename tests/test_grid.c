/* Grids: cells by hand, what fits, which batch is taken and why. */
#include "test.h"
#include "elegans/elegans.h"
#include "engine/context.h"
#include "profile/project/grid.h"

#include <math.h>

AREA(grid, "cells are those of a projection or a profile; the batch to take, by hand; what fits")

static const char spec[] = "cfc:autoncp:12:3,in=4";

static eg_model *open_model(eg_context **context) {
    const eg_context_options options = {.size = sizeof options, .threads = 1};
    eg_model *model = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(&options, context, &error), error);
    CHECK_OK(eg_model_open(*context, spec, &model, &error), error);
    return model;
}

static void close_model(eg_context *context, eg_model *model) {
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* What a projector says of the same model. */
static eg_projection project_by_hand(eg_model *model, uint64_t batch, uint64_t length, eg_type type,
                                     const eg_chip_row *row) {
    eg_projection out = {0};
    eg_error error;
    eg_projector *projector;
    const eg_profile_options how = {.batch = batch, .seq = length};
    const eg_project_options options = {.size = sizeof options, .type = type};
    CHECK_OK(eg_projector_create(model, &how, &projector, &error), error);
    CHECK_OK(eg_projector_project(projector, batch, row, &options, &out, &error), error);
    eg_projector_destroy(projector);
    return out;
}

TEST(grid, of_another_chip) {
    static const uint64_t batches[] = {1, 64}, lengths[] = {3, 8};
    static const eg_type types[] = {EG_F32, EG_F16, EG_BF16, EG_I8, EG_I4};
    eg_context *context;
    eg_model *model = open_model(&context);
    eg_chip_row row;
    eg_error error;
    eg_grid *grid;
    CHECK_OK(eg_chip_table_find("M1 Max", &row, &error), error);
    const eg_grid_options options = {.size = sizeof options,
                                     .batches = batches,
                                     .batch_count = 2,
                                     .lengths = lengths,
                                     .length_count = 2,
                                     .types = types,
                                     .type_count = 5,
                                     .row = &row};
    CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
    CHECK(eg_grid_budget(grid).value == 32 * 1073741824.0 &&
              strcmp(eg_grid_preset(grid)->chip, "M1 Max") == 0,
          "budget %g", eg_grid_budget(grid).value);
    const eg_grid_cell *c;
    size_t count = 0;
    for (; (c = eg_grid_cell_at(grid, count)); count++) {
        const uint64_t batch = batches[count % 2], length = lengths[count / 10];
        const eg_type type = types[count / 2 % 5];
        CHECK(c->batch == batch && c->length == length && c->type == type, "order of cell %zu",
              count);
        const eg_projection p = project_by_hand(model, batch, length, type, &row);
        double least = INFINITY;
        for (int i = 0; i < EG_UNIT_COUNT; i++)
            if (p.unit[i].seconds.provenance != EG_UNAVAILABLE &&
                !(type == EG_F32 && i == EG_UNIT_NEURAL_ENGINE))
                least = fmin(least, p.unit[i].seconds.value);
        CHECK(c->seconds.value == least && c->seconds.provenance == EG_MODELLED &&
                  p.unit[c->unit].seconds.value == least,
              "cell %zu: %g s, not %g", count, c->seconds.value, least);
        CHECK(fabs(c->samples.value * least - (double)batch) < 1e-9 * (double)batch &&
                  c->low < least && c->high > least && c->condition && c->fits,
              "cell %zu", count);
        CHECK(c->memory.provenance == (type == EG_F32 ? EG_COUNTED : EG_MODELLED), "cell %zu",
              count);
        CHECK(c->bandwidth.provenance == EG_MODELLED &&
                  c->bandwidth.value == p.unit[c->unit].memory_bandwidth.value &&
                  c->bandwidth.value <= row.memory_gbs,
              "cell %zu: %g GB/s of %g", count, c->bandwidth.value, row.memory_gbs);
    }
    CHECK(count == 20 && eg_grid_choice_at(grid, 9) && !eg_grid_choice_at(grid, 10), "%zu cells",
          count);
    /* f16 is half of everything, i8 and i4 less of the weights alone */
    const double f32 = eg_grid_cell_at(grid, 0)->memory.value,
                 f16 = eg_grid_cell_at(grid, 2)->memory.value,
                 i8 = eg_grid_cell_at(grid, 6)->memory.value,
                 i4 = eg_grid_cell_at(grid, 8)->memory.value;
    CHECK(f16 == f32 / 2 && i8 < f32 && i4 < i8, "%g, %g, %g, %g bytes", f32, f16, i8, i4);
    int most = 0;
    for (size_t i = 0; i < 5; i++) most += eg_grid_choice_at(grid, i)->most;
    CHECK(most == 1, "%d types have the most", most);
    eg_grid_destroy(grid);
    close_model(context, model);
}

/* A cell's bandwidth is what its DRAM moves: all of the weights where no cache holds them, by simple kernels once for
 * each row; else nothing. */
TEST(grid, bandwidth_is_that_of_the_dram) {
    static const uint64_t batches[] = {1, 2};
    eg_context *context;
    eg_model *model;
    eg_grid *grid;
    eg_error error;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:256,in=64,backbone=512x2,seed=1", &model, &error), error);
    context->chip.kinds[0].l1d_bytes = 32 << 10;
    context->chip.kinds[0].l2_bytes = 256 << 10;
    context->chip.slc_bytes = 0;
    for (int large = 0; large < 2; large++) {
        const eg_grid_options options = {
            .size = sizeof options,
            .batches = batches,
            .batch_count = 2,
            .profile = &(const eg_profile_options){.runs = 3, .no_ceilings = 1}};
        context->chip.l3_bytes = large ? 64 << 20 : 1 << 20;
        CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
        for (size_t i = 0; i < 2; i++) {
            const eg_grid_cell *c = eg_grid_cell_at(grid, i);
            const double bytes = c->bandwidth.value * c->seconds.value * 1e9;
            if (c->bandwidth.provenance == EG_MEASURED) continue; /* of this processor's caches */
            CHECK(large ? bytes < 1e5 : bytes > 3e6 && bytes < 4e6 * (double)c->batch,
                  "batch %llu, a cache of %d MiB: %g bytes", (unsigned long long)c->batch,
                  large ? 64 : 1, bytes);
        }
        eg_grid_destroy(grid);
    }
    close_model(context, model);
}

TEST(grid, defaults_are_those_of_the_preset) {
    static const uint64_t base[] = {1, 8, 32, 64}, ultra[] = {1, 8, 32, 64, 128, 256};
    static const struct {
        const char *chip;
        const uint64_t *batches;
        size_t count;
    } rows[] = {{"M1", base, 4}, {"M1 Ultra", ultra, 6}};
    eg_context *context;
    eg_model *model = open_model(&context);
    eg_error error;
    for (size_t r = 0; r < 2; r++) {
        eg_chip_row row;
        eg_grid *grid;
        CHECK_OK(eg_chip_table_find(rows[r].chip, &row, &error), error);
        const eg_grid_options options = {
            .size = sizeof options, .row = &row, .profile = &(const eg_profile_options){.seq = 2}};
        CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
        for (size_t i = 0; i < rows[r].count; i++) {
            const eg_grid_cell *c = eg_grid_cell_at(grid, i);
            CHECK(c && c->batch == rows[r].batches[i] && c->length == 2 && c->type == EG_F32,
                  "%s: cell %zu", rows[r].chip, i);
        }
        CHECK(!eg_grid_cell_at(grid, rows[r].count), "%s: more cells", rows[r].chip);
        eg_grid_destroy(grid);
    }
    close_model(context, model);
}

TEST(grid, of_this_machine) {
    static const uint64_t batches[] = {2, 16};
    static const eg_type types[] = {EG_F32, EG_F16};
    eg_context *context;
    eg_model *model = open_model(&context);
    eg_error error;
    for (int measured = 0; measured < 2; measured++) {
        eg_grid *grid;
        const eg_grid_options options = {
            .size = sizeof options,
            .batches = batches,
            .batch_count = 2,
            .types = types,
            .type_count = 2,
            .profile = &(const eg_profile_options){
                .seq = 4, .runs = 10, .no_ceilings = !measured, .ceilings_seconds = 0.05}};
        CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
        for (size_t i = 0; i < 4; i++) {
            const eg_grid_cell *c = eg_grid_cell_at(grid, i);
            const eg_provenance wanted = i < 2      ? EG_MEASURED
                                         : measured ? EG_MODELLED
                                                    : EG_UNAVAILABLE;
            CHECK(c->seconds.provenance == wanted && c->samples.provenance == wanted &&
                      c->unit == EG_UNIT_CORES && c->seconds.source[0],
                  "cell %zu is %s: %s", i, eg_provenance_name(c->seconds.provenance),
                  c->seconds.source);
            if (wanted == EG_MODELLED) /* fewer bytes never take longer */
                CHECK(c->seconds.value <= eg_grid_cell_at(grid, i - 2)->seconds.value * 1.000001,
                      "f16: %g s", c->seconds.value);
            if (i < 2)
                CHECK((c->efficiency.provenance == EG_MEASURED) == measured, "cell %zu: %s", i,
                      c->efficiency.source);
            CHECK(strcmp(c->bandwidth.unit, "GB/s") == 0 && c->bandwidth.source[0] &&
                      (i < 2 ? c->bandwidth.provenance != EG_MODELLED
                             : c->bandwidth.provenance == wanted),
                  "cell %zu: a bandwidth that is %s: %s", i,
                  eg_provenance_name(c->bandwidth.provenance), c->bandwidth.source);
        }
        const eg_grid_choice *f16 = eg_grid_choice_at(grid, 1);
        CHECK(eg_grid_choice_at(grid, 0)->cell && !f16->cell == !measured, "%s", f16->reason);
        if (!measured) CHECK(strstr(f16->reason, "no ceilings"), "%s", f16->reason);
        eg_grid_destroy(grid);
    }
    close_model(context, model);
}

TEST(grid, what_does_not_fit_is_not_run) {
    static const uint64_t batches[] = {1, 4096};
    eg_context *context;
    eg_model *model = open_model(&context);
    eg_error error;
    eg_grid *grid;
    eg_grid_options options = {.size = sizeof options,
                               .batches = batches,
                               .batch_count = 2,
                               .budget = 200000,
                               .profile = &(const eg_profile_options){.runs = 3, .no_ceilings = 1}};
    CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
    const eg_grid_cell *small = eg_grid_cell_at(grid, 0), *large = eg_grid_cell_at(grid, 1);
    CHECK(small->fits && small->best && small->seconds.provenance == EG_MEASURED, "%g bytes",
          small->memory.value);
    CHECK(!large->fits && !large->best && large->seconds.provenance == EG_UNAVAILABLE &&
              strstr(large->seconds.source, "does not fit"),
          "%g bytes, %s", large->memory.value, large->seconds.source);
    const eg_grid_choice *choice = eg_grid_choice_at(grid, 0);
    CHECK(choice->cell == small && strstr(choice->reason, "1 does not fit"), "%s", choice->reason);
    eg_grid_destroy(grid);
    options.budget = 100;
    CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
    choice = eg_grid_choice_at(grid, 0);
    CHECK(!choice->cell && !choice->most && strstr(choice->reason, "no batch fits"), "%s",
          choice->reason);
    eg_grid_destroy(grid);
    close_model(context, model);
    /* a context with a budget of its own refuses the cell, not the grid */
    const eg_context_options tight = {
        .size = sizeof tight, .threads = 1, .memory_budget = UINT64_C(12) << 20};
    static const uint64_t two[] = {1, 65536};
    CHECK_OK(eg_context_create(&tight, &context, &error), error);
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    options.budget = UINT64_C(1) << 40;
    options.batches = two;
    CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
    large = eg_grid_cell_at(grid, 1);
    CHECK(large->seconds.provenance == EG_UNAVAILABLE && strstr(large->seconds.source, "context"),
          "%s", large->seconds.source);
    eg_grid_destroy(grid);
    close_model(context, model);
}

/* ---- which batch: samples per second of five batches, what fits, and what comes of it */
TEST(grid, choices_by_hand) {
    enum { N = 4 };
    static const struct {
        double speed[N]; /* of batches 1, 8, 32, 64; 0 = it was not run */
        int fits[N];
        uint64_t batch; /* 0 = none */
        const char *reason;
    } cases[] = {
        {{100, 200, 300, 400}, {1, 1, 1, 1}, 64, "1.33 times those of batch 32"},
        {{100, 395, 300, 400}, {1, 1, 1, 1}, 8, "98.8 % of the samples/s of batch 64"},
        {{400, 300, 200, 100}, {1, 1, 1, 1}, 1, "1.33 times those of batch 8"},
        {{100, 390, 300, 400}, {1, 1, 1, 1}, 64, "1.03 times those of batch 8"},
        {{100, 200, 300, 400}, {1, 1, 0, 0}, 8, "2 do not fit into 2.0 MiB"},
        {{100, 200, 300, 400}, {1, 0, 0, 0}, 1, "the only one that could be tried; 3 do not"},
        {{100, 200, 300, 400}, {0, 0, 0, 0}, 0, "no batch fits into 2.0 MiB: the smallest takes"},
        {{0, 200, 0, 0}, {1, 1, 1, 1}, 8, "the only one that could be tried"},
        {{0, 0, 0, 0}, {1, 1, 1, 1}, 0, "batch 1: by hand"}};
    static const uint64_t batches[N] = {1, 8, 32, 64};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_grid_cell cells[N];
        eg_grid_choice choice;
        for (size_t k = 0; k < N; k++) {
            const bool ran = cases[i].speed[k] > 0;
            const eg_metric speed = {cases[i].speed[k], ran ? EG_MEASURED : EG_UNAVAILABLE,
                                     "samples/s", "by hand"};
            cells[k] = (eg_grid_cell){.batch = batches[k],
                                      .length = 1,
                                      .samples = speed,
                                      .seconds = speed,
                                      .memory = {1e6 * (double)(k + 1), EG_COUNTED, "B", ""},
                                      .fits = cases[i].fits[k]};
        }
        eg_grid grid = {.budget = {2 * 1048576.0, EG_SPEC, "B", ""},
                        .batch_count = N,
                        .length_count = 1,
                        .type_count = 1,
                        .cells = cells,
                        .choices = &choice};
        eg__grid_choose(&grid);
        CHECK((choice.cell ? choice.cell->batch : 0) == cases[i].batch &&
                  strstr(choice.reason, cases[i].reason),
              "case %zu: %s", i, choice.reason);
        for (size_t k = 0; k < N; k++)
            CHECK(cells[k].best == (batches[k] == cases[i].batch), "case %zu: batch %d", i,
                  (int)batches[k]);
        CHECK(choice.most == (choice.cell != NULL), "case %zu", i);
    }
}

TEST(grid, refusals) {
    static const uint64_t zero[] = {0}, one[] = {1};
    static const eg_type wrong[] = {EG_I32};
    eg_context *context;
    eg_model *model = open_model(&context);
    eg_error error;
    eg_grid *grid;
    const struct {
        eg_grid_options options;
        eg_status status;
        const char *part;
    } rows[] = {{{.batches = zero, .batch_count = 1}, EG_ERR_ARGUMENT, "batch 0 is 0"},
                {{.lengths = zero, .length_count = 1}, EG_ERR_ARGUMENT, "length 0 is 0"},
                {{.batches = one, .batch_count = 0}, EG_ERR_ARGUMENT, "0 batches"},
                {{.batches = one, .batch_count = 5000}, EG_ERR_ARGUMENT, "5000 batches"},
                {{.batches = one, .batch_count = 4000, .lengths = one, .length_count = 4000},
                 EG_ERR_ARGUMENT,
                 "4000 lengths"},
                {{.types = wrong, .type_count = 1}, EG_ERR_UNSUPPORTED, "'i32'"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_grid_options options = rows[i].options;
        options.profile = &(const eg_profile_options){.no_ceilings = 1};
        CHECK_FAILS(eg_grid_create(model, &options, &grid, &error), error, rows[i].status,
                    rows[i].part);
        CHECK(!grid, "row %zu: a grid", i);
    }
    CHECK_FAILS(eg_grid_create(NULL, NULL, &grid, &error), error, EG_ERR_ARGUMENT, "no model");
    CHECK_FAILS(eg_grid_create(model, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    const eg_chip_row blank = {.name = "blank", .fast_core_gflops = NAN, .memory_gbs = NAN};
    const eg_grid_options nowhere = {.size = sizeof nowhere, .row = &blank};
    CHECK_FAILS(eg_grid_create(model, &nowhere, &grid, &error), error, EG_ERR_ARGUMENT,
                "batch 1, 1 step: 'blank'");
    eg_grid_destroy(NULL);
    close_model(context, model);
}

/* Weights in quantized numbers are taken as they are: less memory, and no other type may be asked for. */
TEST(grid, models_in_small_numbers) {
    static const uint64_t batches[] = {1};
    static const eg_type types[] = {EG_I8, EG_F32};
    eg_context *context;
    eg_model *model = open_model(&context);
    eg_error error;
    eg_model_destroy(model); /* too small: paddings are more than its weights */
    CHECK_OK(eg_model_open(context, "cfc:64,in=32,backbone=128x2", &model, &error), error);
    eg_grid *grid;
    eg_grid_options options = {.size = sizeof options,
                               .batches = batches,
                               .batch_count = 1,
                               .profile = &(const eg_profile_options){.runs = 3, .no_ceilings = 1}};
    const eg_model_quantization quantization = {.quantization = {.type = EG_I8}};
    CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
    const double before = eg_grid_cell_at(grid, 0)->memory.value;
    eg_grid_destroy(grid);
    CHECK_OK(eg_model_quantize(model, &quantization, &error), error);
    CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
    CHECK(eg_grid_cell_at(grid, 0)->memory.value < before &&
              eg_grid_cell_at(grid, 0)->type == EG_I8 &&
              eg_grid_cell_at(grid, 0)->seconds.provenance == EG_MEASURED,
          "%g bytes, then %g", before, eg_grid_cell_at(grid, 0)->memory.value);
    eg_grid_destroy(grid);
    options.types = types;
    options.type_count = 2;
    CHECK_FAILS(eg_grid_create(model, &options, &grid, &error), error, EG_ERR_UNSUPPORTED,
                "'f32' is not supported: the weights are quantized already, i8");
    close_model(context, model);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    static const uint64_t batches[] = {1, 2};
    const eg_grid_options options = {
        .size = sizeof options,
        .batches = batches,
        .batch_count = 2,
        .profile = &(const eg_profile_options){
            .runs = 3, .no_ceilings = 1, .recorder = &(const eg_recorder_options){.events = 256}}};
    eg_model *model;
    eg_grid *grid = NULL;
    eg_status status = eg_model_open(context, user, &model, error);
    if (status) return status;
    status = eg_grid_create(model, &options, &grid, error);
    eg_grid_destroy(grid);
    eg_model_destroy(model);
    return status;
}

TEST(grid, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:3,in=2,backbone=0");
    CHECK(failed > 50, "only %d allocations", failed);
}
