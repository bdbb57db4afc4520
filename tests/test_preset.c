/* Presets and requirements: the tables by value, the rule for other chips, every outcome of a check. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(preset, "presets by value, derived ones never less for more, every outcome of a requirement")

static const double GIB = 1024.0 * 1024 * 1024;

static eg_preset preset_of(const char *chip) {
    eg_preset p = {0};
    eg_error error = {0};
    CHECK_OK(eg_preset_find(chip, &p, &error), error);
    return p;
}

TEST(preset, the_m1_family_by_value) {
    static const struct {
        const char *chip;
        eg_chip_tier tier;
        unsigned batch, low, high, backbone;
        double gib, watts;
    } rows[] = {{"M1", EG_CHIP_TIER_BASE, 32, 32, 64, 32, 8, 40},
                {"Apple M1 Pro", EG_CHIP_TIER_PRO, 64, 64, 128, 64, 16, 60},
                {"T6001", EG_CHIP_TIER_MAX, 128, 64, 128, 64, 32, 90},
                {"M1 Ultra", EG_CHIP_TIER_ULTRA, 256, 128, 256, 128, 64, 180}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_preset p = preset_of(rows[i].chip);
        CHECK(p.tier == rows[i].tier && p.provenance == EG_SPEC, "%s: %s, %s", rows[i].chip,
              eg_chip_tier_name(p.tier), eg_provenance_name(p.provenance));
        CHECK(p.batch == rows[i].batch && p.batch_low == rows[i].low &&
                  p.batch_high == rows[i].high,
              "%s: batch %u within %u..%u", p.chip, p.batch, p.batch_low, p.batch_high);
        CHECK((double)p.memory_budget == rows[i].gib * GIB, "%s: %g GiB", p.chip,
              (double)p.memory_budget / GIB);
        CHECK(p.backbone_units == rows[i].backbone && p.backbone_layers == 2, "%s: backbone %ux%u",
              p.chip, p.backbone_units, p.backbone_layers);
        CHECK(p.dropout == 0.1 && p.neural_engine && p.compiled, "%s: the rest", p.chip);
        CHECK(p.power.value == rows[i].watts, "%s: %g W (%s)", p.chip, p.power.value,
              p.power.source);
        CHECK(strstr(p.power_note, "asitop") && p.power.provenance == EG_MODELLED, "%s: '%s', %s",
              p.chip, p.power_note, eg_provenance_name(p.power.provenance));
    }
}

/* Watts that somebody assumes are modelled, watts that somebody measured are of the table; none is a spec. */
TEST(preset, watts_say_where_they_are_from) {
    for (size_t i = 0; i < eg_chip_table_size(); i++) {
        eg_chip_row row;
        eg_preset p;
        CHECK(eg_chip_table_get(i, &row, NULL) == EG_OK && eg_preset_of(&row, &p, NULL) == EG_OK,
              "row %zu", i);
        if (p.power.provenance == EG_UNAVAILABLE) continue;
        const bool assumed = strstr(row.power_source, "assumed") != NULL;
        CHECK(p.power.provenance == (assumed ? EG_MODELLED : EG_TABLE), "%s: '%s' is %s", row.name,
              row.power_source, eg_provenance_name(p.power.provenance));
        CHECK(strstr(p.power_note, row.power_source), "%s: '%s'", row.name, p.power_note);
    }
}

TEST(preset, every_other_chip_by_rule) {
    static const struct {
        const char *chip;
        eg_chip_tier tier;
        unsigned batch;
        double gib;
    } rows[] = {{"M2", EG_CHIP_TIER_BASE, 32, 12},     {"M2 Pro", EG_CHIP_TIER_PRO, 64, 16},
                {"M2 Max", EG_CHIP_TIER_MAX, 128, 48}, {"M2 Ultra", EG_CHIP_TIER_ULTRA, 256, 96},
                {"M3", EG_CHIP_TIER_BASE, 32, 12},     {"M3 Pro", EG_CHIP_TIER_PRO, 64, 18},
                {"M3 Max", EG_CHIP_TIER_MAX, 128, 64}, {"M3 Ultra", EG_CHIP_TIER_ULTRA, 256, 256},
                {"M4", EG_CHIP_TIER_BASE, 32, 16},     {"M4 Pro", EG_CHIP_TIER_PRO, 64, 32},
                {"M4 Max", EG_CHIP_TIER_MAX, 128, 64}, {"M5", EG_CHIP_TIER_PRO, 64, 16},
                {"M5 Pro", EG_CHIP_TIER_MAX, 64, 32},  {"M5 Max", EG_CHIP_TIER_ULTRA, 128, 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_preset p = preset_of(rows[i].chip);
        CHECK(p.tier == rows[i].tier && p.batch == rows[i].batch, "%s: %s, batch %u", p.chip,
              eg_chip_tier_name(p.tier), p.batch);
        CHECK((double)p.memory_budget == rows[i].gib * GIB, "%s: %g GiB", p.chip,
              (double)p.memory_budget / GIB);
        CHECK(p.provenance == EG_MODELLED && p.rule && p.rule[0], "%s: no rule", p.chip);
    }
    CHECK(preset_of("M2 Max").power.value == 89, "the package, not the sum");
    CHECK(preset_of("M4 Pro").power.value == 52, "the sum");
    const eg_preset half = preset_of("M4 Max"), none = preset_of("M3");
    CHECK(half.power.provenance == EG_UNAVAILABLE && strstr(half.power.source, "part") &&
              strstr(half.power_note, "65 W"),
          "%s '%s'", half.power.source, half.power_note);
    CHECK(none.power.provenance == EG_UNAVAILABLE && strstr(none.power.source, "no power") &&
              !none.power_note[0],
          "%s", none.power.source);
}

static bool not_less(const eg_preset *a, const eg_preset *b) {
    return a->tier <= b->tier && a->batch <= b->batch && a->memory_budget <= b->memory_budget &&
           a->backbone_units <= b->backbone_units && a->batch_low <= b->batch_low &&
           a->batch_high <= b->batch_high;
}

TEST(preset, more_never_gives_less) {
    static const double tflops[] = {NAN, 1, 2.6, 3.9, 4, 7, 8, 12, 16, 30},
                        gbs[] = {NAN, 40, 68, 120, 150, 205, 300, 410, 600, 820, 2000},
                        gb[] = {NAN, 8, 15, 16, 24, 32, 64, 128};
    enum {
        T = sizeof tflops / sizeof *tflops,
        B = sizeof gbs / sizeof *gbs,
        M = sizeof gb / sizeof *gb
    };
    static eg_preset all[T][B][M];
    for (size_t t = 0; t < T; t++)
        for (size_t b = 0; b < B; b++)
            for (size_t m = 0; m < M; m++) {
                eg_chip_row row = {.name = "hand-made",
                                   .gpu_tflops = tflops[t],
                                   .memory_gbs = gbs[b],
                                   .memory_max_gb = gb[m],
                                   .fast_core_gflops = NAN};
                CHECK(eg_preset_of(&row, &all[t][b][m], NULL) == EG_OK, "refused");
                const eg_preset *p = &all[t][b][m];
                CHECK((t == 0 || not_less(&all[t - 1][b][m], p)) &&
                          (b == 0 || not_less(&all[t][b - 1][m], p)) &&
                          (m < 2 || not_less(&all[t][b][m - 1], p)),
                      "less at %g TFLOP/s, %g GB/s, %g GB", tflops[t], gbs[b], gb[m]);
                CHECK(p->batch >= p->batch_low && p->batch <= p->batch_high, "batch %u", p->batch);
            }
}

TEST(preset, this_machine) {
    eg_error error;
    eg_preset p;
    eg_chip chip = {.name = "some x86", .memory_bytes = UINT64_C(64) << 30};
    eg_ceilings c = {.fma_all = {9000, EG_MEASURED, "GFLOP/s", ""},
                     .dram_all = {350, EG_MEASURED, "GB/s", ""}};
    CHECK_OK(eg_preset_host(&chip, &c, &p, &error), error);
    CHECK(p.tier == EG_CHIP_TIER_MAX && p.batch == 64 && !p.neural_engine &&
              p.memory_budget == UINT64_C(32) << 30 && strcmp(p.chip, "some x86") == 0,
          "%s, batch %u", eg_chip_tier_name(p.tier), p.batch);
    CHECK(p.power.provenance == EG_UNAVAILABLE && p.power.source[0], "power of an unknown chip");
    CHECK_OK(eg_preset_host(&chip, NULL, &p, &error), error);
    CHECK(p.tier == EG_CHIP_TIER_BASE && strstr(p.rule, "not measured"), "'%s'", p.rule);
    CHECK_OK(eg_chip_table_find("M1", &chip.row, &error), error);
    chip.in_table = 1;
    chip.memory_bytes = UINT64_C(8) << 30;
    CHECK_OK(eg_preset_host(&chip, NULL, &p, &error), error);
    CHECK(p.memory_budget == UINT64_C(4) << 30 && p.batch == 32 && p.provenance == EG_MODELLED &&
              strstr(p.rule, "installed"),
          "an M1 with 8 GB");
    chip.memory_bytes = UINT64_C(16) << 30;
    CHECK_OK(eg_preset_host(&chip, NULL, &p, &error), error);
    CHECK(p.memory_budget == UINT64_C(8) << 30 && p.provenance == EG_SPEC, "an M1 with 16 GB");
}

TEST(preset, requirements_of_this_machine) {
    eg_error error;
    eg_requirement r;
    eg_metric ceiling;
    eg_chip chip = {.name = "some x86", .memory_bytes = UINT64_C(64) << 30};
    const eg_ceilings c = {.fma_all = {200, EG_MEASURED, "GFLOP/s", ""},
                           .dram_all = {40, EG_MEASURED, "GB/s", ""}};
    CHECK_OK(eg_requirement_host(&chip, &c, EG_REQUIREMENT_COMPUTE, &r, &ceiling, &error), error);
    CHECK(fabs(r.minimum - 0.15) < 1e-12 && fabs(r.target - 0.18) < 1e-12 &&
              fabs(ceiling.value - 0.2) < 1e-12 && ceiling.provenance == EG_MEASURED &&
              strcmp(ceiling.unit, "TFLOP/s") == 0,
          "%g, %g of %g %s", r.minimum, r.target, ceiling.value, ceiling.unit);
    CHECK_OK(eg_requirement_host(&chip, &c, EG_REQUIREMENT_BANDWIDTH, &r, NULL, &error), error);
    CHECK(r.minimum == 30 && r.target == 36 && strcmp(r.unit, "GB/s") == 0, "%g, %g", r.minimum,
          r.target);
    CHECK_OK(eg_requirement_host(&chip, NULL, EG_REQUIREMENT_MEMORY, &r, &ceiling, &error), error);
    CHECK(r.minimum == 32768 && r.target == 49152 && ceiling.value == 65536, "%g, %g MB", r.minimum,
          r.target);
    CHECK_FAILS(eg_requirement_host(&chip, NULL, EG_REQUIREMENT_COMPUTE, &r, &ceiling, &error),
                error, EG_ERR_UNSUPPORTED, "not measured");
    CHECK(ceiling.provenance == EG_UNAVAILABLE && ceiling.source[0], "a ceiling of nothing");
    CHECK_FAILS(eg_requirement_host(&chip, NULL, (eg_requirement_kind)9, &r, NULL, &error), error,
                EG_ERR_ARGUMENT, "9");
    CHECK_FAILS(eg_requirement_host(NULL, NULL, EG_REQUIREMENT_MEMORY, &r, NULL, &error), error,
                EG_ERR_ARGUMENT, "no chip");
    /* a chip of the table is of its tier, measured or not */
    CHECK_OK(eg_chip_table_find("M1", &chip.row, &error), error);
    chip.in_table = 1;
    CHECK_OK(eg_requirement_host(&chip, &c, EG_REQUIREMENT_COMPUTE, &r, &ceiling, &error), error);
    CHECK(r.minimum == 2 && r.target == 3 && ceiling.value == 2.62, "%g, %g of %g", r.minimum,
          r.target, ceiling.value);
}

TEST(preset, refusals) {
    eg_error error;
    eg_preset p;
    eg_requirement r;
    CHECK_FAILS(eg_preset_find("M99", &p, &error), error, EG_ERR_NOT_FOUND, "'M99'");
    CHECK_FAILS(eg_preset_find(NULL, &p, &error), error, EG_ERR_ARGUMENT, "no key");
    CHECK_FAILS(eg_preset_of(NULL, &p, &error), error, EG_ERR_ARGUMENT, "no chip");
    CHECK_FAILS(eg_preset_host(NULL, NULL, &p, &error), error, EG_ERR_ARGUMENT, "no chip");
    CHECK_FAILS(eg_requirement_of((eg_chip_tier)4, EG_REQUIREMENT_MEMORY, &r, &error), error,
                EG_ERR_ARGUMENT, "tier 4");
    CHECK_FAILS(eg_requirement_of(EG_CHIP_TIER_BASE, (eg_requirement_kind)3, &r, &error), error,
                EG_ERR_ARGUMENT, "requirement 3");
    CHECK(!eg_chip_tier_name((eg_chip_tier)4) && !eg_check_name((eg_check)7),
          "names past the last");
}

TEST(preset, requirements_by_value) {
    static const double minimum[3][4] = {
        {2, 4, 8, 16}, {50, 150, 300, 600}, {8192, 16384, 32768, 65536}};
    static const double target[3][4] = {
        {3, 6, 12, 24}, {70, 200, 400, 800}, {6144, 12288, 24576, 49152}};
    static const char *const units[] = {"TFLOP/s", "GB/s", "MB"};
    for (int need = 0; need < 3; need++)
        for (int tier = 0; tier < 4; tier++) {
            eg_requirement r;
            CHECK(eg_requirement_of((eg_chip_tier)tier, (eg_requirement_kind)need, &r, NULL) ==
                      EG_OK,
                  "refused");
            CHECK(r.minimum == minimum[need][tier] && r.target == target[need][tier] &&
                      strcmp(r.unit, units[need]) == 0,
                  "%s of %s: %g, %g", r.name, eg_chip_tier_name((eg_chip_tier)tier), r.minimum,
                  r.target);
        }
}

static eg_metric metric(double value, const char *unit) {
    return isnan(value) ? (eg_metric){0, EG_UNAVAILABLE, unit, "nobody knows"}
                        : (eg_metric){value, EG_MEASURED, unit, "test"};
}

TEST(preset, every_outcome_of_a_check) {
    static const struct {
        eg_requirement_kind need;
        double value, ceiling; /* NAN = unavailable */
        eg_check expected;
        const char *part; /* of the text */
    } rows[] = {
        /* the base tier asks for 2 and 3 TFLOP/s, 50 and 70 GB/s, 8192 and 6144 MB */
        {EG_REQUIREMENT_COMPUTE, 3.1, 4, EG_CHECK_MET, "3.1 TFLOP/s of 3"},
        {EG_REQUIREMENT_COMPUTE, 3, NAN, EG_CHECK_MET, "3"},
        {EG_REQUIREMENT_COMPUTE, 2.5, 4, EG_CHECK_BELOW_TARGET, "2.5 TFLOP/s of 3"},
        {EG_REQUIREMENT_COMPUTE, 2.5, NAN, EG_CHECK_BELOW_TARGET, "of 3"},
        {EG_REQUIREMENT_COMPUTE, 2.5, 2.62, EG_CHECK_ABOVE_CEILING, "only 2.62"},
        {EG_REQUIREMENT_COMPUTE, 1.5, 2.62, EG_CHECK_BELOW_MINIMUM, "1.5 TFLOP/s of 2"},
        {EG_REQUIREMENT_COMPUTE, 1, 1.5, EG_CHECK_ABOVE_CEILING, "of 2, but the chip has only 1.5"},
        {EG_REQUIREMENT_COMPUTE, NAN, 2.62, EG_CHECK_UNKNOWN, "nobody knows"},
        {EG_REQUIREMENT_COMPUTE, 3, 2.62, EG_CHECK_UNKNOWN, "one of both is wrong"},
        {EG_REQUIREMENT_BANDWIDTH, 65, 68.3, EG_CHECK_ABOVE_CEILING, "65 GB/s of 70"},
        {EG_REQUIREMENT_BANDWIDTH, 40, 68.3, EG_CHECK_BELOW_MINIMUM, "40 GB/s of 50"},
        {EG_REQUIREMENT_MEMORY, 6000, 8192, EG_CHECK_MET, "below 6144"},
        {EG_REQUIREMENT_MEMORY, 7000, 8192, EG_CHECK_OVER_TARGET, "7000 MB"},
        {EG_REQUIREMENT_MEMORY, 3000, 4096, EG_CHECK_BELOW_MINIMUM, "4096 MB installed of 8192"},
        {EG_REQUIREMENT_MEMORY, 6000, NAN, EG_CHECK_MET, ""},
        {EG_REQUIREMENT_MEMORY, NAN, 8192, EG_CHECK_UNKNOWN, "nobody knows"},
    };
    eg_error error;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_requirement r;
        eg_requirement_result result;
        CHECK_OK(eg_requirement_of(EG_CHIP_TIER_BASE, rows[i].need, &r, &error), error);
        const eg_metric value = metric(rows[i].value, r.unit),
                        most = metric(rows[i].ceiling, r.unit);
        CHECK_OK(eg_requirement_check(&value, &r, &most, &result, &error), error);
        CHECK(result.check == rows[i].expected && strstr(result.text, rows[i].part), "%zu: %s '%s'",
              i, eg_check_name(result.check), result.text);
    }
}

TEST(preset, units_of_a_check) {
    eg_error error;
    eg_requirement r;
    eg_requirement_result result;
    eg_metric giga = metric(3500, "GFLOP/s"), bytes = metric(7e9, "bytes"), none = {0},
              wrong = metric(1, "furlong");
    CHECK_OK(eg_requirement_of(EG_CHIP_TIER_BASE, EG_REQUIREMENT_COMPUTE, &r, &error), error);
    CHECK_OK(eg_requirement_check(&giga, &r, NULL, &result, &error), error);
    CHECK(result.check == EG_CHECK_MET && strstr(result.text, "3.5 TFLOP/s"), "'%s'", result.text);
    CHECK_OK(eg_requirement_check(&none, &r, NULL, &result, &error), error);
    CHECK(result.check == EG_CHECK_UNKNOWN && result.text[0], "'%s'", result.text);
    CHECK_FAILS(eg_requirement_check(&wrong, &r, NULL, &result, &error), error, EG_ERR_ARGUMENT,
                "'furlong'");
    CHECK_FAILS(eg_requirement_check(&giga, &r, &wrong, &result, &error), error, EG_ERR_ARGUMENT,
                "'furlong'");
    CHECK_FAILS(eg_requirement_check(NULL, &r, NULL, &result, &error), error, EG_ERR_ARGUMENT,
                "no value");
    CHECK_OK(eg_requirement_of(EG_CHIP_TIER_BASE, EG_REQUIREMENT_MEMORY, &r, &error), error);
    CHECK_OK(eg_requirement_check(&bytes, &r, NULL, &result, &error), error);
    CHECK(result.check == EG_CHECK_OVER_TARGET, "'%s'", result.text);
}

/* What the table asks of a chip may be more than the chip is. */
TEST(preset, targets_above_the_silicon_are_found) {
    static const char *const chips[] = {"M1", "M1 Pro", "M1 Max", "M1 Ultra"};
    for (int i = 0; i < 4; i++) {
        eg_chip_row row;
        eg_requirement r;
        eg_requirement_result result;
        eg_error error;
        CHECK_OK(eg_chip_table_find(chips[i], &row, &error), error);
        CHECK_OK(eg_requirement_of((eg_chip_tier)i, EG_REQUIREMENT_COMPUTE, &r, &error), error);
        const eg_metric most = eg_chip_ceiling(&row, EG_REQUIREMENT_COMPUTE);
        CHECK_OK(eg_requirement_check(&most, &r, &most, &result, &error), error);
        CHECK(result.check == EG_CHECK_ABOVE_CEILING, "%s: %s", chips[i], result.text);
    }
    const eg_chip_row blank = {
        .gpu_tflops = NAN, .fast_core_gflops = NAN, .memory_gbs = NAN, .memory_max_gb = NAN};
    for (int need = 0; need < 4; need++)
        CHECK(eg_chip_ceiling(&blank, (eg_requirement_kind)need).provenance == EG_UNAVAILABLE,
              "need %d", need);
    const eg_chip_row cores = {.gpu_tflops = NAN, .fast_core_gflops = 100, .fast_cores = 8};
    CHECK(fabs(eg_chip_ceiling(&cores, EG_REQUIREMENT_COMPUTE).value - 0.8) < 1e-12, "cores alone");
}
