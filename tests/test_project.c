/* Projections: their arithmetic on chips made by hand, costs that add up, fits that find what was put in.
 * How well they predict this machine is the benchmark's business. */
#include "test.h"
#include "elegans/elegans.h"
#include "profile/project/project.h"

#include <math.h>

AREA(project, "projections by hand, costs of programs, fits of known factors")

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

/* No caches, so that every byte takes 1/50 ns, and a FLOP 1/100. */
static eg_chip_row chip_make(void) {
    return (eg_chip_row){.name = "by hand",
                         .fast_core_gflops = 100,
                         .fast_cores = 4,
                         .fast_mhz = 2000,
                         .memory_gbs = 50,
                         .fast_l1d_kb = NAN,
                         .fast_l2_mb = NAN,
                         .slc_mb = NAN,
                         .gpu_tflops = 2,
                         .ane_cores = 16,
                         .ane_tops = 10,
                         .ane_fp16_tflops = NAN};
}

static eg_efficiency efficiency_make(void) {
    eg_efficiency e = {.run = 500, .clock = 2, .provenance = EG_MODELLED, .source = "by hand"};
    for (int i = 0; i < EG_WORK_COUNT; i++)
        e.work[i] = (eg_work_efficiency){100, 1, 2, 4, 3, 1, 0.1, 5};
    e.work[EG_WORK_SCAN] = (eg_work_efficiency){10, 5, 0, 0, 0, 0, 0, 2};
    return e;
}

static eg_projection project(size_t count, const eg_step_cost *costs, const eg_chip_row *row,
                             const eg_efficiency *e, unsigned threads) {
    eg_projection p = {0};
    eg_error error;
    const eg_project_options options = {.efficiency = e, .threads = threads};
    CHECK_OK(eg_project(count, costs, row, &options, &p, &error), error);
    return p;
}

/* Products go to the unit where its kernels would be picked, by one thread per unit; the rest stays. */
TEST(project, matrix_unit_by_hand) {
    eg_chip_row row = chip_make();
    const eg_efficiency e = efficiency_make();
    const double flops = 2. * 64 * 64 * 64;
    eg_step_cost cost = {
        .work = EG_WORK_GEMM, .calls = 1, .flops = flops, .bytes = 1e3, .rows = 64};
    eg_projection p = project(1, &cost, &row, &e, 1);
    CHECK(p.unit[EG_UNIT_MATRIX].seconds.provenance == EG_UNAVAILABLE &&
              strstr(p.unit[EG_UNIT_MATRIX].seconds.source, "no matrix unit"),
          "without a unit: %s", p.unit[EG_UNIT_MATRIX].seconds.source);
    snprintf(row.matrix_unit, sizeof row.matrix_unit, "AMX");
    row.fast_clusters = 1;
    row.matrix_gflops = 1000; /* of which products reach 0.44 */
    for (unsigned threads = 1; threads <= 2; threads++) {
        p = project(1, &cost, &row, &e, threads);
        const double cores = p.unit[EG_UNIT_CORES].seconds.value * 1e9;
        const double there = p.unit[EG_UNIT_MATRIX].seconds.value * 1e9;
        CHECK(threads > 1 || near(cores - there, 2 * flops / 100 - flops / 440),
              "%g ns on the cores, %g with the unit", cores, there);
        CHECK(there >= flops / 440 && p.best == EG_UNIT_MATRIX &&
                  p.unit[EG_UNIT_MATRIX].seconds.provenance == EG_MODELLED,
              "%u threads: %g ns, best %s", threads, there, eg_unit_name(p.best));
    }
    cost.rows = 31; /* fewer than the rows of a tile */
    p = project(1, &cost, &row, &e, 1);
    CHECK(near(p.unit[EG_UNIT_CORES].seconds.value, p.unit[EG_UNIT_MATRIX].seconds.value) &&
              p.best == EG_UNIT_CORES,
          "31 rows: best %s", eg_unit_name(p.best));
    cost.rows = 64;
    row.matrix_gflops = NAN; /* by the clock of the first chip that has one */
    row.fast_mhz = 3204;
    p = project(1, &cost, &row, &e, 1);
    const double difference =
        (p.unit[EG_UNIT_CORES].seconds.value - p.unit[EG_UNIT_MATRIX].seconds.value) * 1e9;
    CHECK(near(difference, 2 * flops / 100 - flops / (1475 * 0.44)), "by the clock: %g",
          difference);
}

TEST(project, one_step_by_hand) {
    const eg_chip_row row = chip_make();
    const eg_efficiency e = efficiency_make();
    const eg_step_cost cost = {
        .work = EG_WORK_GEMM, .calls = 3, .flops = 1e6, .bytes = 5e5, .rows = 10};
    const eg_projection p = project(1, &cost, &row, &e, 1);
    const eg_unit_projection *c = &p.unit[EG_UNIT_CORES];
    const double ns = 500 + 3 * (100 + 10 + 2 * 1e6 / 100 + 5e5 / 50);
    CHECK(near(c->seconds.value, ns * 1e-9), "%g s", c->seconds.value);
    CHECK(c->seconds.provenance == EG_MODELLED && strcmp(c->seconds.source, "by hand") == 0,
          "source '%s'", c->seconds.source);
    CHECK(near(c->tflops.value, 3e6 / ns * 1e-3) && near(c->bandwidth.value, 1.5e6 / ns),
          "%g TFLOP/s, %g GB/s", c->tflops.value, c->bandwidth.value);
    CHECK(near(c->utilization.value, 3e6 / ns / 100) && c->utilization.provenance == EG_MODELLED,
          "%g of a peak of 100 GFLOP/s", c->utilization.value);
    const eg_unit_projection *gpu = &p.unit[EG_UNIT_GPU], *ane = &p.unit[EG_UNIT_NEURAL_ENGINE];
    CHECK(near(gpu->utilization.value, gpu->tflops.value / 2) &&
              near(ane->utilization.value, ane->tflops.value / 10),
          "%g of 2 TFLOP/s, %g of 10", gpu->utilization.value, ane->utilization.value);
    CHECK(near(c->compute, 60000 / ns) && near(c->memory, 30000 / ns) &&
              near(c->compute + c->memory + c->overhead, 1),
          "shares %g %g %g", c->compute, c->memory, c->overhead);
    const double band = 1 + 2 * sqrt(0.1 * 0.1 + 0.25 * 0.25 + 0.25 * 0.25);
    CHECK(near(c->low * band, c->seconds.value) && near(c->high, c->seconds.value * band),
          "band %g .. %g", c->low, c->high);
    CHECK(p.flops == 3e6 && p.bytes == 1.5e6 && p.threads == 1 && strcmp(p.chip, "by hand") == 0,
          "sums");
}

TEST(project, each_term_has_its_factor) {
    const eg_chip_row row = chip_make();
    const eg_efficiency e = efficiency_make();
    const struct {
        eg_step_cost cost;
        double ns; /* without the run */
    } rows[] = {
        {{.work = EG_WORK_FUSED, .calls = 1, .flops = 1000}, 100 + 4 * 10},
        {{.work = EG_WORK_FUSED, .calls = 1, .flops = 9, .simple = 1000, .functions = 2000},
         100 + 4 * 10 + 3 * 20},
        {{.work = EG_WORK_GEMV, .calls = 1, .flops = 9, .product = 1000, .simple = 500},
         100 + 2 * 10 + 4 * 5},
        {{.work = EG_WORK_SYNAPSES, .calls = 2, .flops = 1000, .bytes = 1e9}, 2 * (100 + 40)},
        {{.work = EG_WORK_MOVE, .calls = 2, .bytes = 1000}, 2 * (100 + 20)},
        {{.work = EG_WORK_SCAN, .calls = 1, .rows = 64}, 10 + 5 * 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_projection p = project(1, &rows[i].cost, &row, &e, 1);
        CHECK(near(p.unit[EG_UNIT_CORES].seconds.value, (500 + rows[i].ns) * 1e-9), "%zu: %g", i,
              p.unit[EG_UNIT_CORES].seconds.value);
    }
}

TEST(project, the_footprint_picks_the_level) {
    eg_chip_row row = chip_make();
    eg_efficiency e = efficiency_make();
    row.fast_l1d_kb = 64;
    row.fast_l2_mb = 4; /* of four cores; one alone has all of it */
    row.fast_clusters = 1;
    row.slc_mb = 8;
    e.level[0] = 2, e.level[1] = 0.45, e.level[2] = 0.4; /* 200, 45 and 40 bytes/ns */
    static const double footprint[] = {1e4, 65536, 65537, 1e6, 4e6, 5e6, 1e9},
                        bandwidth[] = {200, 200, 45, 45, 45, 40, 40};
    for (size_t i = 0; i < sizeof footprint / sizeof *footprint; i++) {
        const eg_step_cost cost = {
            .work = EG_WORK_MOVE, .calls = 1, .bytes = 9e3, .footprint = footprint[i]};
        const eg_projection p = project(1, &cost, &row, &e, 1);
        CHECK(near(p.unit[0].seconds.value, (600 + 9e3 / bandwidth[i]) * 1e-9), "%g bytes: %g s",
              footprint[i], p.unit[0].seconds.value);
    }
}

TEST(project, a_slower_clock_stretches_what_is_in_ns) {
    eg_chip_row row = chip_make();
    const eg_efficiency e = efficiency_make();
    const eg_step_cost cost = {.work = EG_WORK_FUSED, .calls = 1, .flops = 1000};
    row.fast_mhz = 1000;
    const eg_projection p = project(1, &cost, &row, &e, 1);
    CHECK(near(p.unit[0].seconds.value, (2 * 600 + 40) * 1e-9), "%g s", p.unit[0].seconds.value);
}

TEST(project, threads_divide_the_work_but_not_the_calls) {
    const eg_chip_row row = chip_make();
    const eg_efficiency e = efficiency_make();
    eg_step_cost big = {.work = EG_WORK_GEMM, .calls = 1, .flops = 1e8, .rows = 64},
                 small = {.work = EG_WORK_GEMM, .calls = 1, .flops = 1e4, .rows = 64};
    eg_projection p = project(1, &big, &row, &e, 0);
    CHECK(p.threads == 4, "%u threads", p.threads);
    CHECK(near(p.unit[0].seconds.value, (500 + 100 + 2000 + 64.0 / 4 + 2e6 / 4) * 1e-9), "%g s",
          p.unit[0].seconds.value);
    p = project(1, &small, &row, &e, 4); /* not worth a launch */
    CHECK(near(p.unit[0].seconds.value, (500 + 100 + 64 + 200) * 1e-9), "%g s",
          p.unit[0].seconds.value);
    big.rows = 3; /* a thread for each */
    p = project(1, &big, &row, &e, 4);
    CHECK(near(p.unit[0].seconds.value, (500 + 100 + 2000 + 3.0 / 3 + 2e6 / 3) * 1e-9), "%g s",
          p.unit[0].seconds.value);
    eg_step_cost scan[] = {
        {.work = EG_WORK_SCAN, .calls = 1, .rows = 10},
        {.work = EG_WORK_GEMM, .calls = 10, .flops = 2e4, .rows = 64, .in_scan = 1}};
    p = project(2, scan, &row, &e, 4); /* one launch for all */
    CHECK(near(p.unit[0].seconds.value, (500 + 10 + 50 + 2000 + 10 * (100 + 16 + 100)) * 1e-9),
          "%g s", p.unit[0].seconds.value);
    scan[1].rows = 1; /* of a single sample there is nothing to share */
    p = project(2, scan, &row, &e, 4);
    CHECK(near(p.unit[0].seconds.value, (500 + 10 + 50 + 10 * (100 + 1 + 400)) * 1e-9), "%g s",
          p.unit[0].seconds.value);
}

TEST(project, units_and_the_best_of_them) {
    eg_chip_row row = chip_make();
    const eg_efficiency e = efficiency_make();
    const eg_step_cost tiny = {.work = EG_WORK_GEMM, .calls = 10, .flops = 1e4, .bytes = 1e3},
                       huge = {.work = EG_WORK_GEMM, .calls = 2, .flops = 1e12, .bytes = 1e6};
    eg_projection p = project(1, &tiny, &row, &e, 4);
    CHECK(p.best == EG_UNIT_CORES, "tiny on the %s", eg_unit_name(p.best));
    CHECK(p.unit[EG_UNIT_GPU].overhead > 0.9 && p.unit[EG_UNIT_NEURAL_ENGINE].overhead > 0.9,
          "launches are nothing");
    p = project(1, &huge, &row, &e, 4);
    /* 60 % of 2 TFLOP/s, 15 % of 10 */
    CHECK(near(p.unit[EG_UNIT_GPU].seconds.value, 2e12 / 1.2e12 + 110e-6), "GPU %g s",
          p.unit[EG_UNIT_GPU].seconds.value);
    CHECK(near(p.unit[EG_UNIT_NEURAL_ENGINE].seconds.value, 2e12 / 1.5e12 + 165e-6 + 24e-6),
          "Neural Engine %g s", p.unit[EG_UNIT_NEURAL_ENGINE].seconds.value);
    CHECK(p.best == EG_UNIT_NEURAL_ENGINE && p.unit[p.best].condition, "huge on the %s",
          eg_unit_name(p.best));
    CHECK(near(p.unit[EG_UNIT_GPU].high, 2 * p.unit[EG_UNIT_GPU].seconds.value), "a factor of two");
    row.ane_fp16_tflops = 5;
    p = project(1, &huge, &row, &e, 4);
    CHECK(p.best == EG_UNIT_GPU, "with half an engine on the %s", eg_unit_name(p.best));
    row.ane_fp16_tflops = NAN;
    row.ane_tops = 38; /* i8, half as many in f16 */
    row.year = 2024;
    p = project(1, &huge, &row, &e, 4);
    CHECK(near(p.unit[EG_UNIT_NEURAL_ENGINE].seconds.value, 2e12 / (19e12 * 0.15) + 189e-6), "%g s",
          p.unit[EG_UNIT_NEURAL_ENGINE].seconds.value);
    row.gpu_tflops = NAN;
    row.ane_cores = 0;
    p = project(1, &huge, &row, &e, 4);
    CHECK(p.unit[EG_UNIT_GPU].seconds.provenance == EG_UNAVAILABLE &&
              p.unit[EG_UNIT_NEURAL_ENGINE].seconds.provenance == EG_UNAVAILABLE &&
              p.best == EG_UNIT_CORES,
          "units that are not there");
    CHECK(!eg_unit_name(EG_UNIT_COUNT) && !eg_work_name(EG_WORK_COUNT), "names past the last");
}

TEST(project, what_the_neural_engine_refuses) {
    static const struct {
        eg_work work;
        uint32_t traits;
        const char *part;
    } rows[] = {{EG_WORK_SYNAPSES, EG_STEP_FUNCTIONS, "synapses"},
                {EG_WORK_SYNAPSES_ONE, 0, "synapses"},
                {EG_WORK_MOVE, EG_STEP_INDEXED, "gather"},
                {EG_WORK_SUMS, EG_STEP_INDEXED, "argmax"},
                {EG_WORK_MOVE, EG_STEP_LATE, "places"}};
    const eg_chip_row row = chip_make();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_step_cost cost = {.work = rows[i].work, .traits = rows[i].traits, .calls = 1};
        const eg_projection p = project(1, &cost, &row, NULL, 1);
        const eg_metric *s = &p.unit[EG_UNIT_NEURAL_ENGINE].seconds;
        CHECK(s->provenance == EG_UNAVAILABLE && strstr(s->source, rows[i].part), "%zu: '%s'", i,
              s->source);
    }
}

static eg_projection project_typed(const eg_step_cost *cost, const eg_chip_row *row,
                                   const eg_efficiency *e, eg_type type) {
    eg_projection p = {0};
    eg_error error;
    const eg_project_options options = {
        .size = sizeof options, .efficiency = e, .threads = 1, .type = type};
    CHECK_OK(eg_project(1, cost, row, &options, &p, &error), error);
    return p;
}

/* 10 rows, 1e4 weights, so 4e4 of 1e5 bytes are the right side. */
TEST(project, types_by_hand) {
    static const struct {
        eg_type type;
        double bytes, lanes;
    } rows[] = {{EG_F32, 1e5, 1},
                {EG_F16, 5e4, 2},
                {EG_BF16, 5e4, 1},
                {EG_I8, 4e4 * 8.5 / 32 + 6e4, 1},
                {EG_I4, 4e4 * 4.5 / 32 + 6e4, 1}};
    const eg_chip_row row = chip_make();
    const eg_efficiency e = efficiency_make();
    const eg_step_cost cost = {
        .work = EG_WORK_GEMM, .calls = 1, .flops = 2e5, .bytes = 1e5, .product = 2e5, .rows = 10};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const eg_projection p = project_typed(&cost, &row, &e, rows[i].type);
        const double ns = 500 + 100 + 10 + 2 * 2e5 / (100 * rows[i].lanes) + rows[i].bytes / 50;
        const double gpu = 100e3 + 5e3 + fmax(2e5 / (2e3 * 0.6), rows[i].bytes / (50 * 0.75));
        CHECK(near(p.unit[EG_UNIT_CORES].seconds.value, ns * 1e-9), "%s: %g ns, not %g",
              eg_type_name(rows[i].type), p.unit[EG_UNIT_CORES].seconds.value * 1e9, ns);
        CHECK(near(p.bytes, rows[i].bytes) && p.flops == 2e5, "%s: %g bytes",
              eg_type_name(rows[i].type), p.bytes);
        CHECK(near(p.unit[EG_UNIT_GPU].seconds.value, gpu * 1e-9), "%s on the GPU: %g ns",
              eg_type_name(rows[i].type), p.unit[EG_UNIT_GPU].seconds.value * 1e9);
    }
    /* the Neural Engine has f16 values whatever the weights are, and no bf16 */
    const double weights[] = {2, 2, 0, 8.5 / 8, 4.5 / 8};
    for (size_t i = 0; i < 5; i++) {
        const eg_projection p = project_typed(&cost, &row, &e, rows[i].type);
        const eg_unit_projection *u = &p.unit[EG_UNIT_NEURAL_ENGINE];
        const double bytes = 1e4 * weights[i] + 3e4,
                     ns = 165e3 + 12e3 + fmax(2e5 / (10e3 * 0.15), bytes / (50 * 0.5));
        if (rows[i].type == EG_BF16)
            CHECK(u->seconds.provenance == EG_UNAVAILABLE && strstr(u->seconds.source, "bf16"),
                  "%s", u->seconds.source);
        else
            CHECK(near(u->seconds.value, ns * 1e-9), "%s: %g ns, not %g",
                  eg_type_name(rows[i].type), u->seconds.value * 1e9, ns);
    }
    /* advertised figures count i8 from 2024 on: twice as much as of f16 */
    eg_chip_row m4 = row;
    m4.year = 2024;
    m4.ane_tops = 38;
    const eg_step_cost large = {
        .work = EG_WORK_GEMM, .calls = 1, .flops = 2e9, .bytes = 1e5, .product = 2e9, .rows = 10};
    const double i8 = project_typed(&large, &m4, &e, EG_I8).unit[EG_UNIT_NEURAL_ENGINE].compute,
                 f16 = project_typed(&large, &m4, &e, EG_F16).unit[EG_UNIT_NEURAL_ENGINE].compute;
    const double fixed = 165e3 + 12e3, slow = 2e9 / (19e3 * 0.15), quick = 2e9 / (38e3 * 0.15);
    CHECK(near(f16, slow / (fixed + slow)) && near(i8, quick / (fixed + quick)), "%g, %g", f16, i8);
}

/* What no longer fills a cache is read from it: the footprint is smaller, too. */
TEST(project, smaller_types_fit_into_nearer_caches) {
    eg_chip_row row = chip_make();
    eg_efficiency e = efficiency_make();
    row.fast_l1d_kb = 64;
    e.level[0] = 4;
    const eg_step_cost cost = {.work = EG_WORK_FUSED, .calls = 1, .bytes = 1e5, .footprint = 1e5};
    const double f32 = project_typed(&cost, &row, &e, EG_F32).unit[EG_UNIT_CORES].seconds.value,
                 f16 = project_typed(&cost, &row, &e, EG_BF16).unit[EG_UNIT_CORES].seconds.value;
    CHECK(near(f32 - f16, (1e5 / 50 - 5e4 / 400) * 1e-9), "%g s, %g s", f32, f16);
    const eg_step_cost scan[] = {cost,
                                 {.work = EG_WORK_GEMM,
                                  .calls = 8,
                                  .bytes = 4e4,
                                  .product = 2e5,
                                  .rows = 10,
                                  .footprint = 8e4,
                                  .in_scan = 1}};
    eg__retyping r;
    eg__retyping_make((eg__storage){0.25, 1}, 2, scan, &r);
    CHECK(r.footprint[0] == 1 && near(r.footprint[1], 0.25), "%g, %g", r.footprint[0],
          r.footprint[1]);
    CHECK(near(eg__cost_retyped(&r, &scan[1]).footprint, 2e4), "%g",
          eg__cost_retyped(&r, &scan[1]).footprint);
}

TEST(project, every_chip_of_the_table) {
    const eg_step_cost cost = {
        .work = EG_WORK_GEMM, .calls = 1, .flops = 1e9, .bytes = 1e7, .rows = 1024};
    double m1 = 0;
    for (size_t i = 0; i < eg_chip_table_size(); i++) {
        eg_chip_row row;
        eg_error error;
        CHECK_OK(eg_chip_table_get(i, &row, &error), error);
        const eg_projection p = project(1, &cost, &row, NULL, 0);
        const double s = p.unit[EG_UNIT_CORES].seconds.value;
        CHECK(s > 1e-5 && s < 1e-1, "%s: %g s", row.name, s);
        if (i == 0) m1 = s;
        CHECK(s <= m1, "%s is slower than an M1", row.name);
    }
}

static eg_ceilings ceilings_make(void) {
    return (eg_ceilings){.clock = {2, EG_MEASURED, "GHz", ""},
                         .fma_one = {100, EG_MEASURED, "GFLOP/s", ""},
                         .l1_one = {200, EG_MEASURED, "GB/s", ""},
                         .dram_one = {50, EG_MEASURED, "GB/s", ""}};
}

TEST(project, measured_ceilings_come_first) {
    eg_ceilings c = ceilings_make();
    eg_chip chip = {.name = "here", .kinds = {{.l1d_bytes = 32768, .l2_bytes = 1 << 20}}};
    eg_efficiency e = efficiency_make();
    eg_projection p;
    eg_error error;
    e.provenance = EG_MEASURED;
    const eg_step_cost costs[] = {{.work = EG_WORK_MOVE, .calls = 1, .bytes = 1e4},
                                  {.work = EG_WORK_MOVE, .calls = 1, .bytes = 1e5}};
    const eg_project_options options = {
        .size = sizeof options, .efficiency = &e, .chip = &chip, .ceilings = &c};
    CHECK_OK(eg_project(2, costs, NULL, &options, &p, &error), error);
    /* the second level was not measured */
    CHECK(near(p.unit[0].seconds.value, (500 + 200 + 50 + 2000) * 1e-9), "%g s",
          p.unit[0].seconds.value);
    CHECK(near(p.unit[0].high, p.unit[0].seconds.value * 1.2) && p.threads == 1, "band %g",
          p.unit[0].high / p.unit[0].seconds.value);
    c.fma_one.provenance = EG_UNAVAILABLE;
    CHECK_FAILS(eg_project(2, costs, NULL, &options, &p, &error), error, EG_ERR_ARGUMENT, "peak");
    c = ceilings_make();
    c.dram_one.provenance = EG_UNAVAILABLE;
    CHECK_FAILS(eg_project(2, costs, NULL, &options, &p, &error), error, EG_ERR_ARGUMENT,
                "bandwidth");
}

/* A guest is told the L3 of its host; what it has of it was measured. */
TEST(project, the_last_cache_as_it_was_measured) {
    enum { MIB = 1 << 20 };
    static const struct {
        double mib;   /* as measured; 0 = it was not */
        double bytes; /* of the step */
        double gbps;  /* of the level that it comes from */
    } cases[] = {
        {0, 30e6, 80},    {16, 30e6, 50},  {16, 16e6, 80},
        {64, 30e6, 80},   {1, 16e6, 50}, /* no more than the L2: nothing is quicker than the DRAM */
        {512, 270e6, 80}, {512, 300e6, 50}};
    const eg_chip chip = {
        .name = "here", .kinds = {{.l1d_bytes = 32768, .l2_bytes = MIB}}, .l3_bytes = 260 * MIB};
    eg_efficiency e = efficiency_make();
    eg_error error;
    e.provenance = EG_MEASURED;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_ceilings c = ceilings_make();
        eg_projection p;
        c.l3_one = (eg_metric){80, EG_MEASURED, "GB/s", ""};
        c.last_cache = cases[i].mib > 0 ? (eg_metric){cases[i].mib, EG_MEASURED, "MiB", ""}
                                        : eg__metric_unavailable("MiB", "");
        const eg_project_options options = {
            .size = sizeof options, .efficiency = &e, .chip = &chip, .ceilings = &c};
        const eg_step_cost cost = {.work = EG_WORK_MOVE, .calls = 1, .bytes = cases[i].bytes};
        CHECK_OK(eg_project(1, &cost, NULL, &options, &p, &error), error);
        const double ns = 500 + 100 + cases[i].bytes / cases[i].gbps;
        CHECK(near(p.unit[0].seconds.value, ns * 1e-9), "case %zu: %g s, expected %g", i,
              p.unit[0].seconds.value, ns * 1e-9);
        CHECK((p.unit[0].memory_bandwidth.value > 0) == (cases[i].gbps < 80),
              "case %zu: %g GB/s of the DRAM", i, p.unit[0].memory_bandwidth.value);
    }
}

TEST(project, refusals) {
    const eg_chip_row row = chip_make();
    eg_chip_row blank = row;
    eg_projection p;
    eg_error error;
    eg_step_cost cost = {.work = EG_WORK_GEMM, .calls = 1};
    const eg_chip chip = {.name = "here"};
    const eg_project_options half = {.chip = &chip};
    blank.fast_core_gflops = NAN;
    CHECK_FAILS(eg_project(1, &cost, NULL, NULL, &p, &error), error, EG_ERR_ARGUMENT, "neither");
    CHECK_FAILS(eg_project(1, NULL, &row, NULL, &p, &error), error, EG_ERR_ARGUMENT, "no costs");
    CHECK_FAILS(eg_project(1, &cost, &row, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_project(1, &cost, &row, &half, &p, &error), error, EG_ERR_ARGUMENT,
                "give a chip or measured ceilings with their chip, not parts of both");
    CHECK_FAILS(eg_project(1, &cost, &blank, NULL, &p, &error), error, EG_ERR_ARGUMENT,
                "'by hand'");
    cost.calls = -1;
    CHECK_FAILS(eg_project(1, &cost, &row, NULL, &p, &error), error, EG_ERR_ARGUMENT, "cost 0");
    cost = (eg_step_cost){.work = EG_WORK_COUNT};
    CHECK_FAILS(eg_project(1, &cost, &row, NULL, &p, &error), error, EG_ERR_ARGUMENT, "cost 0");
    CHECK_OK(eg_project(0, NULL, &row, NULL, &p, &error), error);
    CHECK_FAILS(eg_program_costs(NULL, &cost, &(size_t){0}, &error), error, EG_ERR_ARGUMENT,
                "no program");
    const eg_step_cost fine = {.work = EG_WORK_GEMM, .calls = 1, .flops = 1, .bytes = 1};
    const eg_chip_row some = chip_make();
    const eg_project_options typed = {.size = sizeof typed, .type = EG_I64},
                             beyond = {.size = sizeof beyond, .type = (eg_type)77};
    eg_projection none;
    CHECK_FAILS(eg_project(1, &fine, &some, &typed, &none, &error), error, EG_ERR_UNSUPPORTED,
                "'i64'");
    CHECK_FAILS(eg_project(1, &fine, &some, &beyond, &none, &error), error, EG_ERR_UNSUPPORTED,
                "a projection to type 'unknown' is not supported");
}

/* ---- costs of programs */
static eg_context *context_make(unsigned threads) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = threads}, &context, &error), error);
    return context;
}

enum { COSTS = 128 };
static size_t costs_of(eg_context *context, eg_graph *g, eg_node y, int training,
                       eg_step_cost costs[COSTS], eg_program_info *info) {
    eg_program *program;
    eg_error error;
    size_t count = 0;
    const eg_compile_options options = {.training = training};
    CHECK_OK(eg_compile(context, g, 1, &(eg_output){"y", y}, &options, &program, &error), error);
    eg_program_info_get(program, info);
    CHECK(info->steps <= COSTS, "%zu steps", info->steps);
    CHECK_OK(eg_program_costs(program, costs, &count, &error), error);
    eg_program_release(program);
    return count;
}

TEST(project, costs_add_up) {
    static const char *const specs[] = {"cfc:autoncp:32:8,in=4,mixed=1", "ltc:autoncp:16:4,in=4",
                                        "cfc:32,in=4,dropout=0.1"};
    eg_context *context = context_make(1);
    for (size_t i = 0; i < 3; i++) {
        eg_model *model;
        eg_graph *g;
        eg_model_nodes nodes;
        eg_error error;
        eg_step_cost costs[COSTS];
        eg_program_info info = {.size = sizeof info};
        CHECK_OK(eg_model_open(context, specs[i], &model, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        CHECK_OK(
            eg_model_build(model, g, &(eg_model_options){.batch = 3, .time = 7}, &nodes, &error),
            error);
        const size_t count = costs_of(context, g, nodes.y, i == 2, costs, &info);
        double flops = 0, bytes = 0;
        unsigned scans = 0;
        for (size_t k = 0; k < count; k++) {
            flops += costs[k].calls * costs[k].flops;
            bytes += costs[k].calls * costs[k].bytes;
            scans += costs[k].work == EG_WORK_SCAN && costs[k].rows == 7;
            CHECK(costs[k].calls == (costs[k].in_scan ? 7 : 1), "step %zu: %g calls", k,
                  costs[k].calls);
            CHECK(costs[k].footprint >= costs[k].bytes, "step %zu: footprint", k);
        }
        CHECK(flops == info.flops && bytes == info.bytes, "%s: %g of %g FLOPs, %g of %g bytes",
              specs[i], flops, info.flops, bytes, info.bytes);
        CHECK(scans == 1, "%s: %u scans", specs[i], scans);
        eg_graph_destroy(g);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

TEST(project, kinds_of_steps) {
    eg_context *context = context_make(1);
    static const struct {
        uint64_t rows;
        enum { PRODUCT, SOFTMAX, NORM, SUM, CONCAT, TANH, RELU, GATHER, TAKE, INTEGERS } what;
        eg_work work;
        double product, simple, functions;
        uint32_t traits;
    } rows[] = {
        {4, PRODUCT, EG_WORK_GEMM, 2.0 * 4 * 32 * 20, 4 * 20, 4 * 20 * 18,
         EG_STEP_PRODUCT | EG_STEP_FUNCTIONS},
        {1, PRODUCT, EG_WORK_GEMV, 2.0 * 32 * 20, 20, 20 * 18, EG_STEP_PRODUCT | EG_STEP_FUNCTIONS},
        {4, SOFTMAX, EG_WORK_NORMS, 0, NAN, 4 * 32 * 14, EG_STEP_FUNCTIONS},
        {4, NORM, EG_WORK_NORMS, 0, NAN, 0, 0},
        {4, SUM, EG_WORK_SUMS, 0, NAN, 0, 0},
        {4, CONCAT, EG_WORK_MOVE, 0, 0, 0, EG_STEP_COPY},
        {4, TANH, EG_WORK_FUSED, 0, 0, 80 * 18, EG_STEP_ELEMENTWISE | EG_STEP_FUNCTIONS},
        {4, RELU, EG_WORK_FUSED, 0, 80, 0, EG_STEP_ELEMENTWISE},
        {4, GATHER, EG_WORK_MOVE, 0, 0, 0, EG_STEP_INDEXED},
        {4, TAKE, EG_WORK_MOVE, 0, 0, 0, EG_STEP_LATE},
        {4, INTEGERS, EG_WORK_GEMM, 2.0 * 4 * 32 * 20, 0, 0,
         EG_STEP_PRODUCT | EG_STEP_INTEGERS | EG_STEP_CONVERTED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_graph *g;
        eg_error error;
        eg_step_cost costs[COSTS];
        eg_program_info info = {.size = sizeof info};
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){rows[i].rows, 20}), y = x;
        const uint64_t n = 20;
        if (rows[i].what == PRODUCT)
            y = eg_tanh(g, eg_add(g, eg_matmul(g, x, eg_parameter(g, "w", 2, (uint64_t[]){20, 20})),
                                  eg_parameter(g, "b", 1, &n)));
        if (rows[i].what == SOFTMAX) y = eg_softmax(g, x);
        if (rows[i].what == NORM) y = eg_layer_norm(g, x, 1e-5);
        if (rows[i].what == SUM) y = eg_sum(g, x, 2, 0);
        if (rows[i].what == CONCAT) y = eg_concat(g, 1, 2, (eg_node[]){x, x});
        if (rows[i].what == TANH) y = eg_tanh(g, x);
        if (rows[i].what == RELU) y = eg_relu(g, x);
        if (rows[i].what == GATHER)
            y = eg_gather(g, x, eg_input(g, "index", EG_I32, 1, (uint64_t[]){3}));
        if (rows[i].what == TAKE) y = eg_slice_at(g, x, eg_input(g, "at", EG_I32, 0, NULL), 2);
        if (rows[i].what == INTEGERS)
            y = eg_matmul_transposed(
                g, x, 0,
                eg_parameter_quantized(g, "w", &(eg_quantization){.type = EG_I8, .integers = 1}, 2,
                                       (uint64_t[]){20, 20}),
                1);
        const size_t count = costs_of(context, g, y, 0, costs, &info);
        const eg_step_cost *c = &costs[0];
        CHECK(count > 0 && c->work == rows[i].work, "%zu: %s", i, eg_work_name(c->work));
        CHECK(c->product == rows[i].product, "%zu: product %g", i, c->product);
        CHECK(isnan(rows[i].simple) ? c->simple > 0 : c->simple == rows[i].simple, "%zu: simple %g",
              i, c->simple);
        CHECK(near(c->functions, rows[i].functions), "%zu: functions %g", i, c->functions);
        CHECK(c->traits == rows[i].traits, "%zu: traits %u, not %u", i, c->traits, rows[i].traits);
        eg_graph_destroy(g);
    }
    eg_context_destroy(context);
}

/* ---- fits */
TEST(project, a_fit_finds_what_was_put_in) {
    enum { N = 24 };
    static const double truth[EG__TERMS] = {20, 3, 1.1, 0, 2, 0.7};
    double terms[N][EG__TERMS], times[N], found[EG__TERMS];
    uint64_t state = 7;
    for (int i = 0; i < N; i++) {
        times[i] = 0;
        for (int k = 0; k < EG__TERMS; k++) {
            terms[i][k] = k ? 500 * (1 + (double)test_random(&state)) : 1;
            times[i] += truth[k] * terms[i][k];
        }
    }
    eg__fit_factors(N, (const double(*)[EG__TERMS])terms, times, times, found);
    for (int k = 1; k < EG__TERMS; k++)
        CHECK(fabs(found[k] - truth[k]) < 0.02, "factor %d: %g", k, found[k]);
    for (int i = 0; i < N; i++) times[i] = -1; /* nothing that is not negative comes close */
    eg__fit_factors(N, (const double(*)[EG__TERMS])terms, times, terms[0] + 1, found);
    for (int k = 0; k < EG__TERMS; k++) CHECK(found[k] == 0, "factor %d: %g", k, found[k]);
}

TEST(project, a_short_fit_is_complete) {
    if (test_quick()) return test_skip("a measurement, which an emulator only makes slow");
    eg_context *context = context_make(1), *two = context_make(2);
    eg_efficiency e;
    eg_error error;
    eg_ceilings c = ceilings_make();
    CHECK_OK(eg_efficiency_fit(context, &c, 0.001, &e, &error), error);
    CHECK(e.provenance == EG_MEASURED && e.source && e.run >= 0 && e.clock == 2 && e.error > 0,
          "run %g, clock %g, error %g", e.run, e.clock, e.error);
    for (int i = 0; i < EG_WORK_COUNT; i++) {
        const eg_work_efficiency *k = &e.work[i];
        CHECK(k->cases >= 2 && k->call >= 0 && k->row >= 0 && k->product >= 0 && k->simple >= 0 &&
                  k->functions >= 0 && k->bytes >= 0 && isfinite(k->error),
              "%s", eg_work_name((eg_work)i));
    }
    CHECK_FAILS(eg_efficiency_fit(two, &c, 0, &e, &error), error, EG_ERR_ARGUMENT, "2 threads");
    CHECK_FAILS(eg_efficiency_fit(context, NULL, 0, &e, &error), error, EG_ERR_ARGUMENT, "no ");
    CHECK_FAILS(eg_efficiency_fit(context, &c, -1, &e, &error), error, EG_ERR_ARGUMENT, "no ");
    c.fma_one.provenance = EG_UNAVAILABLE;
    CHECK_FAILS(eg_efficiency_fit(context, &c, 0, &e, &error), error, EG_ERR_ARGUMENT, "peak");
    eg_context_destroy(context);
    eg_context_destroy(two);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg__fit_case *c;
    eg_status status = eg__fit_case_create(context, *(size_t *)user, &c, error);
    if (!status) eg__fit_case_run(c);
    eg__fit_case_destroy(c);
    return status;
}

TEST(project, every_allocation_of_a_case_may_fail) {
    size_t last = eg__fit_case_count() - 1;
    const int failed = test_every_allocation_within(attempt, &last);
    CHECK(failed > 10, "only %d allocations", failed);
}

TEST(project, the_kept_efficiencies) {
    eg_efficiency e;
    eg_efficiency_default(&e);
    CHECK(e.provenance == EG_MODELLED && e.source && e.source[0] && e.clock > 0, "provenance");
    for (int i = 0; i < EG_WORK_COUNT; i++)
        CHECK(e.work[i].cases > 1 && e.work[i].error < 0.3, "%s", eg_work_name((eg_work)i));
}
