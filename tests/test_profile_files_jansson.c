/* Profiles and grids of models in files: weights that stay there are weights all the same. */
#include "test.h"
#include "elegans/elegans.h"
#include "profile/profile.h"

#include <math.h>

AREA(profile_files, "weights that stay in a file count as those of a spec: working sets, grids")

static const char spec[] = "llama:2:128,vocab=300,context=32,seed=1";

/* The model as a file has it; `how` NULL = in f32. */
static eg_model *open_saved(eg_context *context, const eg_quantization *quantization) {
    eg_model *model = NULL, *saved = NULL;
    eg_error error;
    char path[600];
    snprintf(path, sizeof path, "%s/model.safetensors", test_folder());
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    const eg_model_quantization small = {.quantization =
                                             quantization ? *quantization : (eg_quantization){0}};
    if (quantization) CHECK_OK(eg_model_quantize(model, &small, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    eg_model_destroy(model);
    CHECK_OK(eg_model_open(context, path, &saved, &error), error);
    return saved;
}

static double infile_bytes(const eg_model *model) {
    double sum = 0;
    uint64_t bytes;
    for (size_t i = 0; eg_model_numbers(model, i, &bytes); i++) sum += (double)bytes;
    return sum;
}

static const struct {
    const char *name;
    eg_quantization quantization;
} ways[] = {{"f32", {0}},
            {"f16", {.type = EG_F16}},
            {"bf16", {.type = EG_BF16}},
            {"i8", {.type = EG_I8, .per = EG_PER_CHANNEL}},
            {"i4", {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32}}};
enum { WAYS = sizeof ways / sizeof *ways };

/* A run reads all of them but the rows of the table that it does not pick. */
TEST(profile_files, a_working_set_has_the_weights_of_its_file) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < WAYS; i++) {
        eg_model *model = open_saved(context, i ? &ways[i].quantization : NULL);
        eg_profile *profile;
        const eg_profile_options options = {
            .batch = 1, .seq = 1, .runs = 1, .no_ceilings = 1, .no_cache = 1};
        CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
        const double touched = eg__working_set(eg_profile_program(profile)),
                     weights = infile_bytes(model);
        CHECK(touched > 0.7 * weights && touched < 1.6 * weights, "%s: %g bytes of %g",
              ways[i].name, touched, weights);
        eg_profile_destroy(profile);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

static eg_grid *grid_of(eg_model *model, const eg_type *types, size_t count) {
    static const uint64_t batches[] = {1};
    eg_chip_row row;
    eg_error error;
    eg_grid *grid = NULL;
    CHECK_OK(eg_chip_table_find("M1", &row, &error), error);
    const eg_grid_options options = {.size = sizeof options,
                                     .batches = batches,
                                     .batch_count = 1,
                                     .types = types,
                                     .type_count = count,
                                     .row = &row};
    CHECK_OK(eg_grid_create(model, &options, &grid, &error), error);
    return grid;
}

/* The same model needs as much memory in each type, wherever its weights are. */
TEST(profile_files, a_grid_has_the_memory_of_the_spec) {
    static const eg_type types[] = {EG_F32, EG_F16, EG_BF16, EG_I8, EG_I4};
    eg_context *context;
    eg_model *model;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    eg_model *saved = open_saved(context, NULL);
    eg_grid *here = grid_of(model, types, 5), *there = grid_of(saved, types, 5);
    for (size_t i = 0; i < 5; i++) {
        const double a = eg_grid_cell_at(here, i)->memory.value,
                     b = eg_grid_cell_at(there, i)->memory.value;
        CHECK(fabs(a - b) < 0.05 * a, "%s: %g bytes by the spec, %g by the file",
              eg_type_name(types[i]), a, b);
    }
    eg_grid_destroy(here);
    eg_grid_destroy(there);
    eg_model_destroy(saved);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* A cell is called what the weights are, and measured or planned as they are; there is no other. */
TEST(profile_files, a_grid_names_the_type_of_the_weights) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < WAYS; i++) {
        eg_model *model = open_saved(context, i ? &ways[i].quantization : NULL);
        eg_grid *grid = grid_of(model, NULL, 0);
        const eg_grid_cell *c = eg_grid_cell_at(grid, 0);
        int alone = -1;
        CHECK(eg_grid_type(model, &alone) == c->type && alone == (i > 0), "%s: alone %d",
              ways[i].name, alone);
        CHECK(strcmp(eg_type_name(c->type), ways[i].name) == 0 &&
                  eg_grid_choice_at(grid, 0)->type == c->type &&
                  c->memory.provenance == EG_COUNTED && !eg_grid_cell_at(grid, 1),
              "%s is called %s", ways[i].name, eg_type_name(c->type));
        eg_grid_destroy(grid);
        static const uint64_t batches[] = {1};
        for (size_t k = 0; k < WAYS; k++) {
            eg_chip_row row;
            eg_type type;
            CHECK_OK(eg_chip_table_find("M1", &row, &error), error);
            CHECK_OK(eg_type_find(ways[k].name, &type, &error), error);
            const eg_grid_options options = {.size = sizeof options,
                                             .batches = batches,
                                             .batch_count = 1,
                                             .types = &type,
                                             .type_count = 1,
                                             .row = &row};
            const eg_status status = eg_grid_create(model, &options, &grid, &error);
            CHECK(status == (!i || i == k ? EG_OK : EG_ERR_UNSUPPORTED), "%s as %s: %s",
                  ways[i].name, ways[k].name, status ? error.message : "taken");
            eg_grid_destroy(grid);
        }
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}
