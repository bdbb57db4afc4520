/* Projections of a model at any batch: more samples, cores or bandwidth never make it slower. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(projector,
     "over all chips and batches: never quicker with more to do, never slower with more cores")

static const char *const specs[] = {"cfc:autoncp:28:4,in=8", "cfc:autoncp:64:16,in=16",
                                    "cfc:128,in=16,mode=pure", "ltc:autoncp:64:16,in=16",
                                    "llama:2:64,vocab=128"};
enum { SPECS = sizeof specs / sizeof *specs, MOST = 256 };
static const eg_type types[] = {EG_F32, EG_F16, EG_I8};

static eg_context *context_make(void) {
    eg_context *context;
    eg_error error;
    const eg_context_options options = {.size = sizeof options, .threads = 1};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static eg_projector *open_projector(eg_context *context, const char *spec, uint64_t batch,
                                    uint64_t length) {
    eg_model *model;
    eg_projector *projector = NULL;
    eg_error error;
    const eg_profile_options options = {.batch = batch, .seq = length};
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    CHECK_OK(eg_projector_create(model, &options, &projector, &error), error);
    eg_model_destroy(model);
    return projector;
}

static eg_projection project(const eg_projector *p, uint64_t batch, const eg_chip_row *row,
                             eg_type type) {
    eg_projection out = {0};
    eg_error error;
    const eg_project_options options = {.size = sizeof options, .type = type};
    CHECK_OK(eg_projector_project(p, batch, row, &options, &out, &error), error);
    return out;
}

/* A little above, for what rounding does. */
static bool at_most(double a, double b) { return a <= b * (1 + 1e-12); }

static void check_batches(const eg_projector *p, const eg_chip_row *row, const char *spec,
                          eg_type type) {
    static const uint64_t batches[] = {1,  2,  3,  4,  5,  7,  8,   9,   12,  16,  17, 24,
                                       31, 32, 33, 48, 64, 65, 100, 128, 129, 200, 256};
    double one[EG_UNIT_COUNT] = {0}, before[EG_UNIT_COUNT] = {0};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const double batch = (double)batches[i];
        const eg_projection out = project(p, batches[i], row, type);
        for (int unit = 0; unit < EG_UNIT_COUNT; unit++) {
            const eg_unit_projection *u = &out.unit[unit];
            const double s = u->seconds.value;
            if (u->seconds.provenance == EG_UNAVAILABLE) continue;
            if (i == 0) one[unit] = s;
            else {
                CHECK(at_most(before[unit], s), "%s, %s, %s: batch %g takes %g s, less than %g",
                      row->name, spec, eg_unit_name((eg_unit)unit), batch, s, before[unit]);
                CHECK(at_most(s / batch, before[unit] / (double)batches[i - 1]),
                      "%s, %s, %s: a sample of batch %g takes longer than one of %g", row->name,
                      spec, eg_unit_name((eg_unit)unit), batch, (double)batches[i - 1]);
                CHECK(at_most(s, batch * one[unit]), "%s, %s: batch %g is slower than single steps",
                      row->name, spec, batch);
            }
            before[unit] = s;
            CHECK(u->low < s && s < u->high, "%s: band of batch %g", row->name, batch);
            CHECK(fabs(u->tflops.value * s * 1e12 - out.flops) < 1e-6 * out.flops &&
                      fabs(u->bandwidth.value * s * 1e9 - out.bytes) < 1e-6 * out.bytes,
                  "%s: rates of batch %g are not those of its time", row->name, batch);
        }
    }
}

TEST(projector, batches_are_monotonic_on_every_chip) {
    eg_context *context = context_make();
    const size_t chips = eg_chip_table_size();
    for (size_t i = 0; i < SPECS; i++) {
        eg_projector *p = open_projector(context, specs[i], MOST, i % 2 ? 16 : 1);
        for (size_t chip = 0; chip < chips; chip += test_quick() ? 5 : 1) {
            eg_chip_row row;
            CHECK(eg_chip_table_get(chip, &row, NULL) == EG_OK, "row %zu", chip);
            for (size_t t = 0; t < sizeof types / sizeof *types; t++)
                check_batches(p, &row, specs[i], types[t]);
        }
        eg_projector_destroy(p);
    }
    eg_context_destroy(context);
}

/* Each row of the table with more of one thing. */
static void more(eg_chip_row *row, int of) {
    switch (of) {
    case 0: row->fast_cores *= 2; break;
    case 1: row->slow_cores *= 2; break;
    case 2: row->memory_gbs *= 2; break;
    case 3: row->slc_mb = row->slc_mb > 0 ? row->slc_mb * 2 : 192; break;
    case 4: row->fast_l2_mb *= 2; break;
    case 5: row->fast_l1d_kb *= 2; break;
    case 6: row->fast_mhz *= 1.2, row->slow_mhz *= 1.2, row->fast_core_gflops *= 1.2; break;
    case 7: row->slow_mhz *= 1.2; break;
    case 8: row->gpu_tflops *= 2; break;
    default: row->ane_tops *= 2;
    }
}

TEST(projector, more_of_anything_never_makes_a_chip_slower) {
    static const uint64_t batches[] = {1, 8, 64};
    const size_t chips = eg_chip_table_size();
    eg_context *context = context_make();
    for (size_t i = 0; i < SPECS; i++) {
        eg_projector *p = open_projector(context, specs[i], 64, 4);
        for (size_t chip = 0; chip < chips; chip += test_quick() ? 7 : 1) {
            eg_chip_row row, richer;
            CHECK(eg_chip_table_get(chip, &row, NULL) == EG_OK, "row %zu", chip);
            for (int of = 0; of < 10; of++)
                for (size_t b = 0; b < 3; b++) {
                    richer = row;
                    more(&richer, of);
                    const eg_projection less = project(p, batches[b], &row, EG_F32),
                                        has = project(p, batches[b], &richer, EG_F32);
                    for (int u = 0; u < EG_UNIT_COUNT; u++)
                        if (less.unit[u].seconds.provenance != EG_UNAVAILABLE)
                            CHECK(at_most(has.unit[u].seconds.value, less.unit[u].seconds.value),
                                  "%s with more of %d, %s, batch %llu: %g s, before %g", row.name,
                                  of, specs[i], (unsigned long long)batches[b],
                                  has.unit[u].seconds.value, less.unit[u].seconds.value);
                }
        }
        eg_projector_destroy(p);
    }
    eg_context_destroy(context);
}

/* The same tier, a year or more later: in the table no successor is slower. */
TEST(projector, successors_are_not_slower) {
    static const char *const tiers[][5] = {{"M1", "M2", "M3", "M4", "M5"},
                                           {"M1 Pro", "M2 Pro", "", "M4 Pro", "M5 Pro"},
                                           {"M1 Max", "M2 Max", "M3 Max", "M4 Max", "M5 Max"},
                                           {"M1 Ultra", "M2 Ultra", "M3 Ultra", "", ""}};
    static const uint64_t batches[] = {1, 2, 8, 16, 32, 64, 256};
    eg_context *context = context_make();
    for (size_t i = 0; i < SPECS; i++) {
        eg_projector *p = open_projector(context, specs[i], MOST, i % 2 ? 16 : 1);
        for (size_t tier = 0; tier < 4; tier++)
            for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
                double before = INFINITY;
                for (size_t year = 0; year < 5; year++) {
                    eg_chip_row row;
                    if (!tiers[tier][year][0]) continue;
                    CHECK(eg_chip_table_find(tiers[tier][year], &row, NULL) == EG_OK, "%s",
                          tiers[tier][year]);
                    const eg_projection out = project(p, batches[b], &row, EG_F32);
                    const double s = out.unit[EG_UNIT_CORES].seconds.value;
                    CHECK(at_most(s, before), "%s, %s, batch %llu: %g s, the one before %g",
                          row.name, specs[i], (unsigned long long)batches[b], s, before);
                    before = s;
                }
            }
        eg_projector_destroy(p);
    }
    eg_context_destroy(context);
}

/* A system-level cache that the table leaves blank is that of every chip with as wide a memory. */
TEST(projector, a_blank_cache_is_not_none) {
    for (size_t i = 0; i < eg_chip_table_size(); i++) {
        eg_chip_row row, blank, none;
        eg_projection out[3];
        CHECK(eg_chip_table_get(i, &row, NULL) == EG_OK, "row %zu", i);
        if (!(row.slc_mb > 0)) continue;
        blank = none = row;
        blank.slc_mb = none.slc_mb = NAN;
        none.memory_bus_bits = 0;
        none.fast_l2_mb = blank.fast_l2_mb = row.fast_l2_mb = 1;
        const eg_step_cost cost = {.work = EG_WORK_MOVE,
                                   .calls = 1,
                                   .bytes = 1e6,
                                   .rows = 1,
                                   .footprint = row.slc_mb * 1e6};
        const eg_chip_row *const rows[] = {&row, &blank, &none};
        for (int k = 0; k < 3; k++)
            CHECK(eg_project(1, &cost, rows[k], NULL, &out[k], NULL) == EG_OK, "%s", row.name);
        const double known = out[0].unit[0].seconds.value, unknown = out[1].unit[0].seconds.value;
        CHECK(known == unknown && unknown < out[2].unit[0].seconds.value,
              "%s: %g s, %g with a blank, %g with none", row.name, known, unknown,
              out[2].unit[0].seconds.value);
    }
}

/* Bandwidth of the memory is that of what no cache holds. */
TEST(projector, caches_take_nothing_from_the_memory) {
    eg_chip_row row;
    CHECK(eg_chip_table_find("M1 Max", &row, NULL) == EG_OK, "M1 Max");
    static const struct {
        double footprint, memory; /* bytes */
    } rows[] = {{1e5, 0}, {1e7, 0}, {4e7, 0}, {1e8, 2e6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_step_cost cost = {
            .work = EG_WORK_MOVE, .calls = 2, .bytes = 1e6, .footprint = rows[i].footprint};
        eg_projection p;
        CHECK(eg_project(1, &cost, &row, NULL, &p, NULL) == EG_OK, "%zu", i);
        const eg_unit_projection *u = &p.unit[EG_UNIT_CORES];
        const double bytes = u->memory_bandwidth.value * 1e9 * u->seconds.value;
        CHECK(fabs(bytes - rows[i].memory) < 1, "footprint %g: %g bytes", rows[i].footprint, bytes);
    }
}

/* What was fitted here is known best, then what has more threads, then a chip that nobody ever fitted. */
TEST(projector, bands_grow_with_what_was_never_fitted) {
    eg_context *context = context_make();
    eg_projector *p = open_projector(context, specs[2], MOST, 1);
    eg_efficiency fitted;
    eg_chip_row m1;
    eg_error error;
    eg_projection here, threaded, carried, table, slow;
    const eg_chip chip = {.name = "here", .kinds = {{.l1d_bytes = 32768, .l2_bytes = 1 << 20}}};
    const eg_ceilings c = {.clock = {3.68, EG_MEASURED, "GHz", ""},
                           .fma_one = {118, EG_MEASURED, "GFLOP/s", ""},
                           .l1_one = {200, EG_MEASURED, "GB/s", ""},
                           .dram_one = {50, EG_MEASURED, "GB/s", ""}};
    eg_efficiency_default(&fitted);
    fitted.provenance = EG_MEASURED;
    eg_project_options options = {
        .size = sizeof options, .efficiency = &fitted, .chip = &chip, .ceilings = &c};
    CHECK_OK(eg_projector_project(p, MOST, NULL, &options, &here, &error), error);
    options.threads = 8;
    CHECK_OK(eg_projector_project(p, MOST, NULL, &options, &threaded, &error), error);
    options.efficiency = NULL;
    CHECK_OK(eg_projector_project(p, MOST, NULL, &options, &carried, &error), error);
    CHECK_OK(eg_chip_table_find("M1", &m1, &error), error);
    options = (eg_project_options){.size = sizeof options, .threads = 4};
    CHECK_OK(eg_projector_project(p, MOST, &m1, &options, &table, &error), error);
    options.threads = 0;
    CHECK_OK(eg_projector_project(p, MOST, &m1, &options, &slow, &error), error);
    const eg_projection *const rising[] = {&here, &threaded, &carried, &table, &slow};
    double band = 1;
    for (size_t i = 0; i < 5; i++) {
        const eg_unit_projection *u = &rising[i]->unit[EG_UNIT_CORES];
        CHECK(u->high / u->seconds.value > band, "%zu: a band of %g after %g", i,
              u->high / u->seconds.value, band);
        band = u->high / u->seconds.value;
    }
    eg_projector_destroy(p);
    eg_context_destroy(context);
}

TEST(projector, refusals) {
    eg_context *context = context_make();
    eg_model *model;
    eg_projector *p;
    eg_projection out;
    eg_chip_row row;
    eg_error error;
    eg_profile_options options = {.batch = (uint64_t)1 << 21};
    CHECK_OK(eg_model_open(context, specs[0], &model, &error), error);
    CHECK_OK(eg_chip_table_find("M1", &row, &error), error);
    CHECK_FAILS(eg_projector_create(NULL, NULL, &p, &error), error, EG_ERR_ARGUMENT, "no model");
    CHECK_FAILS(eg_projector_create(model, &options, &p, &error), error, EG_ERR_ARGUMENT,
                "2097152");
    options.batch = 3;
    CHECK_OK(eg_projector_create(model, &options, &p, &error), error);
    CHECK_OK(eg_projector_project(p, 4, &row, NULL, &out, &error), error);
    CHECK_FAILS(eg_projector_project(p, 5, &row, NULL, &out, &error), error, EG_ERR_ARGUMENT,
                "batch of 5");
    CHECK_FAILS(eg_projector_project(p, 0, &row, NULL, &out, &error), error, EG_ERR_ARGUMENT,
                "batch of 0");
    eg_projector_destroy(p);
    eg_projector_destroy(NULL);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model;
    eg_projector *p = NULL;
    eg_status status = eg_model_open(context, user, &model, error);
    if (status) return status;
    status = eg_projector_create(model, &(eg_profile_options){.batch = 2}, &p, error);
    eg_projector_destroy(p);
    eg_model_destroy(model);
    return status;
}

TEST(projector, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, "cfc:3,in=2,backbone=0");
    CHECK(failed > 20, "only %d allocations", failed);
}

/* A network of some neurons cannot reach TFLOP/s, whatever runs it; a large product can. */
TEST(projector, requirements_that_do_not_apply) {
    static const struct {
        double tflops, flops, overhead; /* of a run */
        eg_check check;
        const char *part;
    } rows[] = {{0.0118, 3000, 270e-9, EG_CHECK_DOES_NOT_APPLY, "1.5 ns of work at 2 TFLOP/s"},
                {0.0118, 3e9, 270e-9, EG_CHECK_BELOW_MINIMUM, "0.0118 TFLOP/s of 2"},
                {0.5, 1e6, 0.5e-6, EG_CHECK_BELOW_MINIMUM, "of 2"}, /* just large enough */
                {0.5, 1e6, 0.51e-6, EG_CHECK_DOES_NOT_APPLY, "small a model"},
                {0, 0, 0, EG_CHECK_DOES_NOT_APPLY, "computes nothing"},
                {3, 3000, 1, EG_CHECK_MET, "3 TFLOP/s"}};
    eg_requirement r;
    eg_error error;
    CHECK_OK(eg_requirement_of(EG_CHIP_TIER_BASE, EG_REQUIREMENT_COMPUTE, &r, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_metric value = {rows[i].tflops, EG_MODELLED, "TFLOP/s", ""};
        eg_requirement_result out;
        CHECK_OK(eg_requirement_check_run(&value, &r, NULL, rows[i].flops, rows[i].overhead, &out,
                                          &error),
                 error);
        CHECK(out.check == rows[i].check && strstr(out.text, rows[i].part), "%zu: %s (%s)", i,
              eg_check_name(out.check), out.text);
    }
}

/* More samples are more work, and starting the steps takes as long: what applies to a batch applies to larger ones,
 * whichever unit and however many threads are quickest. */
TEST(projector, requirements_apply_to_larger_batches_too) {
    static const char *const models[] = {"cfc:512,in=64,backbone=512x2", "cfc:autoncp:12:3,in=4",
                                         "cfc:64,in=16", "ltc:autoncp:28:8,in=3", "cfc:2048,in=64"};
    enum { LARGEST = 256 };
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        eg_model *model;
        eg_projector *projector;
        const eg_profile_options options = {.batch = LARGEST, .seq = 1};
        CHECK_OK(eg_model_open(context, models[m], &model, &error), error);
        CHECK_OK(eg_projector_create(model, &options, &projector, &error), error);
        eg_chip_row row;
        for (size_t i = 0; i < eg_chip_table_size(); i++) {
            uint64_t applies[2] = {0}; /* compute, bandwidth: the smallest batch to which it does */
            eg_preset preset;
            CHECK_OK(eg_chip_table_get(i, &row, &error), error);
            CHECK_OK(eg_preset_of(&row, &preset, &error), error);
            for (uint64_t batch = 1; batch <= LARGEST; batch++) {
                eg_projection p;
                CHECK_OK(eg_projector_project(projector, batch, &row, NULL, &p, &error), error);
                const eg_unit_projection *best = &p.unit[p.best];
                for (int k = 0; k < 2; k++) {
                    const eg_requirement_kind need =
                        k ? EG_REQUIREMENT_BANDWIDTH : EG_REQUIREMENT_COMPUTE;
                    const eg_metric *value = k ? &best->memory_bandwidth : &best->tflops;
                    const eg_metric ceiling = eg_chip_ceiling(&row, need);
                    const double amount =
                        k ? best->memory_bandwidth.value * 1e9 * best->seconds.value : p.flops;
                    eg_requirement r;
                    eg_requirement_result out;
                    CHECK_OK(eg_requirement_of(preset.tier, need, &r, &error), error);
                    CHECK_OK(eg_requirement_check_run(value, &r, &ceiling, amount, p.start, &out,
                                                      &error),
                             error);
                    if (out.check != EG_CHECK_DOES_NOT_APPLY && !applies[k]) applies[k] = batch;
                    CHECK(out.check != EG_CHECK_DOES_NOT_APPLY || !applies[k],
                          "%s on %s: %s applies to batch %llu, but of %llu: %s", models[m],
                          row.name, r.name, (unsigned long long)applies[k],
                          (unsigned long long)batch, out.text);
                }
            }
        }
        eg_projector_destroy(projector);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}
