/* Projected time of a program on the cores, the GPU and the Neural Engine of a chip. */
#include "base/abi.h"
#include "profile/project/project.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *eg_unit_name(eg_unit unit) {
    static const char *const names[] = {
#define EG_UNIT_TEXT(name, text) text,
        EG_UNIT_MAP(EG_UNIT_TEXT)
#undef EG_UNIT_TEXT
    };
    return (unsigned)unit < EG_UNIT_COUNT ? names[unit] : NULL;
}

/* ns, by what they are spent on */
typedef struct spent {
    double compute, memory, overhead;
} spent;
static double total(const spent *s) { return s->compute + s->memory + s->overhead; }

/* `peak` in FLOP/ns: what the unit could do at best. */
static void unit_fill(const eg_projection *p, const spent *s, double peak, double memory_bytes,
                      double band, const char *source, eg_unit_projection *out) {
    const double ns = total(s);
    out->seconds = eg__metric(ns * 1e-9, "s", EG_MODELLED, source);
    out->low = ns * 1e-9 / band;
    out->high = ns * 1e-9 * band;
    out->tflops = eg__metric(ns > 0 ? p->flops / ns * 1e-3 : 0, "TFLOP/s", EG_MODELLED, source);
    out->bandwidth = eg__metric(ns > 0 ? p->bytes / ns : 0, "GB/s", EG_MODELLED, source);
    out->memory_bandwidth = eg__metric(ns > 0 ? memory_bytes / ns : 0, "GB/s", EG_MODELLED, source);
    out->utilization = eg__metric(ns > 0 ? p->flops / ns / peak : 0, "ratio", EG_MODELLED, source);
    if (ns > 0) {
        out->compute = s->compute / ns;
        out->memory = s->memory / ns;
        out->overhead = s->overhead / ns;
    }
}

static void unit_none(const char *why, eg_unit_projection *out) {
    out->seconds = eg__metric_unavailable("s", why);
    out->tflops = eg__metric_unavailable("TFLOP/s", why);
    out->bandwidth = eg__metric_unavailable("GB/s", why);
    out->memory_bandwidth = eg__metric_unavailable("GB/s", why);
    out->utilization = eg__metric_unavailable("ratio", why);
}

/* ---- cores */
typedef struct cores {
    eg__machine machine;
    const eg_efficiency *efficiency;
    double slower;          /* ns are that much longer at its clock */
    unsigned threads, used; /* at most; of which some step takes all */
    const eg__retyping *retyping;
} cores;

/* Whether the matrix unit's kernels would be picked: all 32 rows of their tiles, and as many columns and as much
 * depth (kernels.def). */
static bool is_worth_a_unit(const eg_step_cost *cost) {
    enum { LEAST = 32 };
    const double flops = cost->product > 0 ? cost->product : cost->flops;
    return cost->work == EG_WORK_GEMM && !(cost->traits & (EG_STEP_CONVERTED | EG_STEP_HALVES)) &&
           cost->rows >= LEAST && flops >= 2. * LEAST * LEAST * cost->rows;
}

/* One step in all its calls with so many threads; at most as many as it has rows are busy. */
static spent step_spent(const cores *c, const eg_step_cost *cost, unsigned threads) {
    const eg_work_efficiency *k = &c->efficiency->work[cost->work];
    const unsigned busy =
        cost->rows < threads ? (cost->rows > 1 ? (unsigned)cost->rows : 1) : threads;
    const eg__machine machine = eg__machine_shared(&c->machine, busy);
    const double speed = cost->work == EG_WORK_SCAN ? 1 : eg__machine_speed(&machine, busy);
    double terms[EG__TERMS], bytes;
    eg__cost_terms(cost, &machine, terms);
    bytes = k->bytes * terms[EG__TERM_BYTES] / speed;
    /* all threads share the memory bandwidth */
    if (busy > 1 && cost->footprint > machine.size[2] && cost->footprint > machine.size[1] &&
        machine.memory_all > 0)
        bytes = fmax(bytes, cost->bytes / machine.memory_all);
    spent s = {.compute =
                   (k->product * terms[EG__TERM_PRODUCT] + k->simple * terms[EG__TERM_SIMPLE] +
                    k->functions * terms[EG__TERM_FUNCTIONS]) /
                   speed,
               .memory = bytes,
               .overhead = (k->call + k->row * terms[EG__TERM_ROW] / speed) * c->slower};
    if (machine.units && is_worth_a_unit(cost)) { /* more threads than units only wait */
        const double products = k->product * terms[EG__TERM_PRODUCT] / speed;
        const double units = busy < machine.units ? busy : machine.units;
        const double there = terms[EG__TERM_PRODUCT] * machine.peak / (units * machine.unit_rate);
        s.compute += fmin(0, there - products);
    }
    if (busy > 1 && !cost->in_scan) s.overhead += machine.launch;
    s.compute *= cost->calls;
    s.memory *= cost->calls;
    s.overhead *= cost->calls;
    return s;
}

static void spent_add(spent *sum, const spent *s) {
    sum->compute += s->compute;
    sum->memory += s->memory;
    sum->overhead += s->overhead;
}

/* All bodies of scans, by threads that share the samples; `by_work` may be NULL. */
static spent bodies_spent(const cores *c, size_t count, const eg_step_cost *costs, unsigned threads,
                          double *by_work) {
    spent sum = {0};
    for (size_t i = 0; i < count; i++) {
        const eg_step_cost cost = eg__cost_retyped(c->retyping, &costs[i]);
        if (cost.work == EG_WORK_SCAN && threads > 1) /* one launch for all of its steps */
            sum.overhead += c->machine.launch * cost.calls;
        if (!cost.in_scan) continue;
        const spent s = step_spent(c, &cost, threads);
        spent_add(&sum, &s);
        if (by_work) by_work[cost.work] += total(&s);
    }
    return sum;
}

/* Every step and scan uses the fastest number of threads, so that more cores are never slower. */
static spent cores_spent(cores *c, size_t count, const eg_step_cost *costs,
                         double by_work[EG_WORK_COUNT]) {
    spent sum = {.overhead = c->efficiency->run * c->slower};
    unsigned best = 1;
    double least = INFINITY;
    c->used = 1;
    for (unsigned t = 1; t <= c->threads; t++) {
        const spent s = bodies_spent(c, count, costs, t, NULL);
        if (total(&s) < least) least = total(&s), best = t;
    }
    c->used = best;
    const spent bodies = bodies_spent(c, count, costs, best, by_work);
    spent_add(&sum, &bodies);
    for (size_t i = 0; i < count; i++) {
        const eg_step_cost cost = eg__cost_retyped(c->retyping, &costs[i]);
        if (cost.in_scan) continue;
        spent least_spent = step_spent(c, &cost, 1);
        const unsigned most = cost.work == EG_WORK_SCAN ? 1
                              : cost.rows < c->threads  ? (unsigned)cost.rows
                                                        : c->threads;
        for (unsigned t = 2; t <= most; t++) {
            const spent s = step_spent(c, &cost, t);
            if (!(total(&s) < total(&least_spent))) continue;
            least_spent = s;
            if (t > c->used) c->used = t;
        }
        spent_add(&sum, &least_spent);
        by_work[cost.work] += total(&least_spent);
    }
    return sum;
}

/* ns until the steps of a run compute, on one core and without what goes with their rows. */
static double cores_start(const cores *c, size_t count, const eg_step_cost *costs) {
    double sum = c->efficiency->run;
    for (size_t i = 0; i < count; i++)
        sum += c->efficiency->work[costs[i].work].call * costs[i].calls;
    return sum * c->slower;
}

/* DRAM bytes of a run: of steps that touch more between two calls than any cache holds. */
static double beyond_caches(const cores *c, size_t count, const eg_step_cost *costs) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const eg_step_cost cost = eg__cost_retyped(c->retyping, &costs[i]);
        const double footprint = cost.footprint > 0 ? cost.footprint : cost.bytes;
        bool fits = false;
        for (int level = 0; level + 1 < EG__LEVELS; level++)
            fits |= footprint <= c->machine.size[level];
        if (!fits) sum += cost.calls * cost.bytes;
    }
    return sum;
}

/* The uncertainty, two standard deviations: of the worst fit among the kinds that matter, and of
 * the assumptions that no fit covers. */
static double cores_band(const cores *c, const double by_work[EG_WORK_COUNT], double ns, bool here,
                         bool from_table) {
    double error = 0, squares = 0;
    for (int i = 0; i < EG_WORK_COUNT; i++)
        if (by_work[i] > 0.05 * ns) error = fmax(error, c->efficiency->work[i].error);
    const double clocks = c->slower > 0 ? fabs(log2(c->slower)) : 0;
    const struct {
        bool holds;
        double deviation;
    } assumed[] = {
        {true, error},
        {!here, 0.25}, /* assumed: kernels reach the same share of the peak on another machine */
        {from_table,
         0.25}, /* and no kernel was ever fitted on this chip: other caches, another order */
        {!here, 0.25 * clocks},              /* times in ns scale with the clock */
        {c->used > 1, 0.05 * log2(c->used)}, /* fits have one thread */
        {c->machine.fast && c->used > c->machine.fast,
         0.2} /* the speed of slow cores is not in the table */
    };
    for (size_t i = 0; i < sizeof assumed / sizeof *assumed; i++)
        if (assumed[i].holds) squares += assumed[i].deviation * assumed[i].deviation;
    return 1 + 2 * sqrt(squares);
}

/* ---- the GPU: published peaks, and assumed efficiencies */
static const double gpu_compute = 0.6; /* of the f32 peak, products */
static const double gpu_memory = 0.75; /* of the bandwidth: 639 to 700 of 819 GB/s were seen */
static const double gpu_launch = 5e3;  /* ns per step: assumed */
static const double gpu_start = 100e3; /* ns per run, until the result is back: assumed */

static void project_gpu(const eg_chip_row *row, size_t count, const eg_step_cost *costs,
                        const eg__retyping *retyping, const eg_projection *p,
                        eg_unit_projection *out) {
    if (!row || !(row->gpu_tflops > 0) || !(row->memory_gbs > 0)) {
        unit_none("no figures of a GPU", out);
        return;
    }
    spent sum = {.overhead = gpu_start};
    for (size_t i = 0; i < count; i++) {
        const eg_step_cost typed = eg__cost_retyped(retyping, &costs[i]), *c = &typed;
        const double flops = fmax(c->flops, c->product + c->simple + c->functions);
        const double compute = flops / (row->gpu_tflops * 1e3 * gpu_compute),
                     memory = c->bytes / (row->memory_gbs * gpu_memory);
        if (c->work == EG_WORK_SCAN) continue; /* its steps are launched one by one */
        if (compute > memory) sum.compute += c->calls * compute;
        else sum.memory += c->calls * memory;
        sum.overhead += c->calls * gpu_launch;
    }
    out->condition = "kernels for the GPU, one launch per step";
    unit_fill(p, &sum, row->gpu_tflops * 1e3, p->bytes, 2,
              "chip table, assumed launches of 5 us and a start of 100 us", out);
}

/* ---- the Neural Engine */
static const double ane_compute = 0.15; /* transformers reach 1 to 3 of 11 to 19 TFLOP/s */
static const double ane_memory = 0.5;   /* of the bandwidth: assumed */
static const double ane_launch = 12e3;  /* ns per step: 10 to 14 us were seen on an M3 Max */
static const double ane_start = 165e3;  /* ns per run: 0.1 to 0.23 ms were seen */

/* TFLOP/s; advertised figures count i8 operations from the M4 on, twice as many as of f16. */
static double ane_peak(const eg_chip_row *row, eg_type type) {
    const bool counts_i8 = row->year >= 2024 && row->ane_tops > 30;
    if (type == EG_I8 && counts_i8) return row->ane_tops;
    if (row->ane_fp16_tflops > 0) return row->ane_fp16_tflops;
    return row->ane_tops > 0 ? row->ane_tops / (counts_i8 ? 2 : 1) : NAN;
}

static const char *ane_refuses(size_t count, const eg_step_cost *costs) {
    for (size_t i = 0; i < count; i++) {
        if (costs[i].work == EG_WORK_SYNAPSES || costs[i].work == EG_WORK_SYNAPSES_ONE)
            return "synapses are no product: the Neural Engine leaves them to the cores";
        if (costs[i].traits & EG_STEP_INDEXED)
            return "gather, scatter and argmax leave the Neural Engine";
        if (costs[i].traits & EG_STEP_LATE)
            return "places that are known when it runs leave the Neural Engine";
    }
    return NULL;
}

static void project_ane(const eg_chip_row *row, size_t count, const eg_step_cost *costs,
                        eg_type type, const eg_projection *p, eg_unit_projection *out) {
    const char *refusal = type == EG_BF16 ? "the Neural Engine computes in f16, not in bf16"
                                          : ane_refuses(count, costs);
    const double peak = row && row->ane_cores ? ane_peak(row, type) : NAN;
    eg__storage storage;
    eg__retyping retyping;
    if (refusal || !isfinite(peak) || !(row->memory_gbs > 0)) {
        unit_none(refusal ? refusal : "no figures of a Neural Engine", out);
        return;
    }
    if (!eg__storage_of(type == EG_F32 ? EG_F16 : type, &storage)) return; /* checked before */
    storage.values = 0.5;
    eg__retyping_make(storage, count, costs, &retyping);
    spent sum = {.overhead = ane_start};
    for (size_t i = 0; i < count; i++) {
        const eg_step_cost typed = eg__cost_retyped(&retyping, &costs[i]), *c = &typed;
        if (c->work == EG_WORK_SCAN) continue; /* unrolled */
        const double compute = fmax(c->flops, c->product) / (peak * 1e3 * ane_compute),
                     memory = c->bytes / (row->memory_gbs * ane_memory);
        if (compute > memory) sum.compute += c->calls * compute;
        else sum.memory += c->calls * memory;
        sum.overhead += c->calls * ane_launch;
    }
    out->condition = "f16, fixed shapes, scans unrolled; Core ML decides where it really runs";
    unit_fill(p, &sum, peak * 1e3, p->bytes, 2,
              "chip table, launches and starts as others measured them", out);
}

/* ---- together */
static eg_status check(size_t count, const eg_step_cost *costs, const eg_chip_row *row,
                       const eg_project_options *o, eg_error *error) {
    if ((count && !costs) || (!row && (!o->chip || !o->ceilings)))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no costs, or neither a chip nor measured ceilings");
    if (!o->chip != !o->ceilings)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "give a chip or measured ceilings with their chip, not parts of "
                        "both");
    eg__storage storage;
    if (!eg__storage_of(o->type, &storage)) {
        const char *name = eg_type_name(o->type);
        return eg__fail(error, EG_ERR_UNSUPPORTED, "a projection to type '%s' is not supported",
                        name ? name : "?");
    }
    for (size_t i = 0; i < count; i++)
        if ((unsigned)costs[i].work >= EG_WORK_COUNT || !(costs[i].calls >= 0) ||
            !(costs[i].flops >= 0) || !(costs[i].bytes >= 0))
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "cost %zu: kind %d, calls, flops or bytes below 0", i,
                            (int)costs[i].work);
    return EG_OK;
}

static void best_find(eg_projection *out) {
    for (int i = 1; i < EG_UNIT_COUNT; i++) {
        const eg_metric *s = &out->unit[i].seconds;
        if (s->provenance != EG_UNAVAILABLE && s->value < out->unit[out->best].seconds.value)
            out->best = (eg_unit)i;
    }
}

/* Doubles the peak for f16 on chips of the table, whose cores have native f16 FMA; unknown for
 * other machines. */
static void project_cores(cores *c, size_t count, const eg_step_cost *costs, eg_type type,
                          bool here, bool from_table, const eg_projection *p,
                          eg_unit_projection *out) {
    double by_work[EG_WORK_COUNT] = {0};
    const bool wide = type == EG_F16 && from_table, typed = type != EG_F32;
    if (wide) c->machine.peak *= 2;
    c->threads = p->threads;
    c->slower = c->machine.clock > 0 && c->efficiency->clock > 0
                    ? c->efficiency->clock / c->machine.clock
                    : 1;
    const spent s = cores_spent(c, count, costs, by_work);
    out->condition = wide    ? "kernels in f16, as good as those of the fit"
                     : typed ? "kernels that widen to f32 as they read, at no cost"
                     : here  ? "this machine, otherwise idle"
                             : "kernels as good, in times of the peak, as those of the fit";
    unit_fill(p, &s, c->machine.peak * eg__machine_speed(&c->machine, c->threads),
              beyond_caches(c, count, costs), cores_band(c, by_work, total(&s), here, from_table),
              c->efficiency->source, out);
}

static void project_matrix(const eg_chip_row *row, cores c, size_t count, const eg_step_cost *costs,
                           eg_type type, const eg_projection *p, eg_unit_projection *out) {
    const char *why;
    double by_work[EG_WORK_COUNT] = {0};
    if (type != EG_F32 || !eg__machine_matrix(row, &c.machine, &why)) {
        unit_none(type != EG_F32 ? "only f32 is projected to the matrix unit" : why, out);
        return;
    }
    const spent s = cores_spent(&c, count, costs, by_work);
    out->condition = c.machine.unit_condition;
    /* a factor of two, as for the other units that no kernel of ours was measured on */
    unit_fill(
        p, &s, fmax(c.machine.units * c.machine.unit_rate, c.machine.peak),
        beyond_caches(&c, count, costs), 2,
        row->matrix_gflops > 0
            ? "chip table: peak of a unit as others measured it, times the share that products reach"
            : "peak of the first chip with such a unit by the clock, times the share that products reach",
        out);
}

eg_status eg_project(size_t count, const eg_step_cost *costs, const eg_chip_row *row,
                     const eg_project_options *options, eg_projection *out, eg_error *error) {
    eg_project_options o;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for a projection");
    eg_status status = EG__OPTIONS(eg_project_options, &o, options, error);
    if (!status) status = check(count, costs, row, &o, error);
    if (status) return status;
    eg_efficiency kept;
    eg__storage storage = {1, 1};
    eg__retyping retyping;
    eg_efficiency_default(&kept);
    eg__storage_of(o.type, &storage);
    eg__retyping_make(storage, count, costs, &retyping);
    cores c = {.efficiency = o.efficiency ? o.efficiency : &kept, .retyping = &retyping};
    status = o.ceilings ? eg__machine_measured(o.chip, o.ceilings, &c.machine, error)
                        : eg__machine_of_row(row, c.efficiency, &c.machine, error);
    if (status) return status;
    memset(out, 0, sizeof *out);
    snprintf(out->chip, sizeof out->chip, "%s", row ? row->name : o.chip->name);
    const unsigned all = c.machine.fast + c.machine.slow;
    out->threads = o.threads ? o.threads : all ? all : 1;
    if (all && out->threads > all) out->threads = all;
    for (size_t i = 0; i < count; i++) {
        out->flops += costs[i].calls * costs[i].flops;
        out->bytes += costs[i].calls * eg__cost_retyped(&retyping, &costs[i]).bytes;
    }
    const bool here = o.ceilings && o.efficiency && o.efficiency->provenance == EG_MEASURED;
    project_cores(&c, count, costs, o.type, here, !o.ceilings, out, &out->unit[EG_UNIT_CORES]);
    out->start = cores_start(&c, count, costs) * 1e-9;
    project_matrix(row, c, count, costs, o.type, out, &out->unit[EG_UNIT_MATRIX]);
    project_gpu(row, count, costs, &retyping, out, &out->unit[EG_UNIT_GPU]);
    project_ane(row, count, costs, o.type, out, &out->unit[EG_UNIT_NEURAL_ENGINE]);
    best_find(out);
    return EG_OK;
}
