/* A machine as ceilings, measured or by the chip table, and steps as times at those ceilings. */
#include "profile/project/project.h"

#include <math.h>
#include <string.h>

static double known(eg_metric metric) {
    return metric.provenance == EG_UNAVAILABLE || !(metric.value > 0) ? 0 : metric.value;
}

uint64_t eg__last_cache(const eg_chip *chip, const eg_ceilings *ceilings) {
    if (!chip->l3_bytes) return chip->slc_bytes;
    if (!ceilings || ceilings->last_cache.provenance != EG_MEASURED) return chip->l3_bytes;
    const uint64_t bytes = (uint64_t)(ceilings->last_cache.value * 1048576);
    return bytes <= chip->kinds[0].l2_bytes ? 0 : eg__min(bytes, chip->l3_bytes);
}

eg_status eg__machine_measured(const eg_chip *chip, const eg_ceilings *ceilings, eg__machine *out,
                               eg_error *error) {
    const eg_core_kind *kind = &chip->kinds[0];
    const eg_ceilings *c = ceilings;
    *out = (eg__machine){
        .peak = known(c->fma_one),
        .size = {(double)kind->l1d_bytes,
                 (double)kind->l2_bytes / (double)(kind->l2_cores ? kind->l2_cores : 1),
                 (double)eg__last_cache(chip, c), INFINITY},
        .bandwidth = {known(c->l1_one), known(c->l2_one), known(c->l3_one), known(c->dram_one)},
        .memory_all = known(c->dram_all),
        .launch = known(c->launch),
        .clock = known(c->clock)};
    if (!out->peak) return eg__fail(error, EG_ERR_ARGUMENT, "no measured FMA peak of one core");
    if (!out->bandwidth[EG__LEVELS - 1])
        return eg__fail(error, EG_ERR_ARGUMENT, "no measured bandwidth of the memory");
    for (int i = 0; i + 1 < EG__LEVELS; i++)
        if (!out->bandwidth[i]) out->size[i] = 0;
    return EG_OK;
}

/* MB. A blank in the table means unknown, not none: all chips of the table with the same memory
 * width have that much. */
static double slc_of(const eg_chip_row *row) {
    static const struct {
        unsigned bits;
        double mb;
    } sizes[] = {{1024, 96}, {512, 48}, {256, 24}, {192, 12}, {128, 8}};
    if (row->slc_mb > 0) return row->slc_mb;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (row->memory_bus_bits == sizes[i].bits) return sizes[i].mb;
    return 0;
}

/* The table has no pipes of slow cores. Those called Efficiency have half as many as the fast ones (two of
 * 128 bits in Icestorm, of four); of others, such as the Performance cores beside Super ones, as many are
 * assumed. */
static double slow_speed(const eg_chip_row *row) {
    const double width = strcmp(row->slow_kind, "Efficiency") == 0 ? 0.5 : 1;
    if (!(row->slow_mhz > 0) || !(row->fast_mhz > 0)) return 0;
    return fmin(1, width * row->slow_mhz / row->fast_mhz);
}

eg_status eg__machine_of_row(const eg_chip_row *row, const eg_efficiency *efficiency,
                             eg__machine *out, eg_error *error) {
    if (!(row->fast_core_gflops > 0) || !(row->memory_gbs > 0))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "'%s': the chip table has no peak of its cores or no bandwidth", row->name);
    const double cluster = row->fast_l2_mb > 0 ? row->fast_l2_mb * 1024 * 1024 : 0;
    *out = (eg__machine){
        .peak = row->fast_core_gflops,
        .size = {row->fast_l1d_kb * 1024, cluster, slc_of(row) * 1024 * 1024, INFINITY},
        .memory_all = row->memory_gbs,
        .cluster_l2 = cluster,
        .all_l2 = cluster * (row->fast_clusters ? row->fast_clusters : 1),
        .fast = row->fast_cores ? row->fast_cores : 1,
        .slow_speed = slow_speed(row),
        .launch = 2000, /* assumed: some thousand cycles */
        .clock = row->fast_mhz > 0 ? row->fast_mhz * 1e-3 : 0};
    if (out->slow_speed > 0) out->slow = row->slow_cores;
    /* no level is faster than the one before it */
    double before = INFINITY;
    for (int i = 0; i + 1 < EG__LEVELS; i++) {
        out->bandwidth[i] = fmin(before, efficiency->level[i] * out->peak);
        if (!(out->size[i] > 0) || !(out->bandwidth[i] > 0)) out->size[i] = 0;
        else before = out->bandwidth[i];
    }
    /* one core of these chips takes most of what the memory of the smallest gives */
    out->bandwidth[EG__LEVELS - 1] = fmin(fmin(row->memory_gbs, 60), before);
    return EG_OK;
}

eg__machine eg__machine_shared(const eg__machine *machine, unsigned threads) {
    eg__machine out = *machine;
    if (!(machine->all_l2 > 0)) return out;
    const unsigned fast = threads < machine->fast ? threads : machine->fast;
    out.size[1] = fmin(machine->cluster_l2, machine->all_l2 / (fast ? fast : 1));
    return out;
}

double eg__machine_speed(const eg__machine *machine, unsigned threads) {
    if (!machine->fast || threads <= machine->fast) return threads;
    const unsigned rest = threads - machine->fast;
    return machine->fast +
           machine->slow_speed * (double)(rest < machine->slow ? rest : machine->slow);
}

static double bandwidth_of(const eg__machine *machine, double footprint) {
    for (int i = 0; i < EG__LEVELS; i++)
        if (machine->size[i] > 0 && footprint <= machine->size[i]) return machine->bandwidth[i];
    return machine->bandwidth[EG__LEVELS - 1];
}

void eg__cost_terms(const eg_step_cost *cost, const eg__machine *machine, double out[EG__TERMS]) {
    const bool bare = cost->product <= 0 && cost->simple <= 0 && cost->functions <= 0;
    const bool is_product = cost->work == EG_WORK_GEMM || cost->work == EG_WORK_GEMV;
    out[EG__TERM_CALL] = 1;
    out[EG__TERM_ROW] = cost->rows;
    out[EG__TERM_PRODUCT] = (bare && is_product ? cost->flops : cost->product) / machine->peak;
    out[EG__TERM_SIMPLE] = (bare && !is_product ? cost->flops : cost->simple) / machine->peak;
    out[EG__TERM_FUNCTIONS] = cost->functions / machine->peak;
    const double footprint = cost->footprint > 0 ? cost->footprint : cost->bytes;
    out[EG__TERM_BYTES] = cost->bytes / bandwidth_of(machine, footprint);
    /* a sigmoid per synapse and sample is always compute-bound: a fitted memory factor would be
     * spurious */
    if (cost->work == EG_WORK_SYNAPSES || cost->work == EG_WORK_SYNAPSES_ONE)
        out[EG__TERM_BYTES] = 0;
}

/* Rates of products in f32. The first chip of a kind was measured (chips.csv: 1475 GFLOP/s of an M1 at 3.204 GHz without
 * loads, 2000 of an M4 at 4.512 GHz); others are taken to follow the clock. With the loads of a real product an M1 was seen
 * at 610 to 680; SME reads its operands in vectors, and 2300 of a product were published of an M4. */
static const struct {
    const char *unit;
    double gflops, mhz, reached;
    const char *condition;
} matrix_units[] = {
    {"AMX", 1475, 3204, 0.44, "the kernels 'amx', which never ran on a chip of Apple"},
    {"SME2", 2000, 4512, 0.9, "the kernels 'sme', which never ran on a chip of Apple"}};

bool eg__machine_matrix(const eg_chip_row *row, eg__machine *machine, const char **why) {
    *why = row ? "no matrix unit in the chip table" : "no figures of a matrix unit";
    for (size_t i = 0; row && i < sizeof matrix_units / sizeof *matrix_units; i++) {
        if (strcmp(row->matrix_unit, matrix_units[i].unit) != 0) continue;
        double peak = row->matrix_gflops;
        if (!(peak > 0) && row->fast_mhz > 0)
            peak = matrix_units[i].gflops * row->fast_mhz / matrix_units[i].mhz;
        machine->units = row->fast_clusters;
        machine->unit_rate = peak * matrix_units[i].reached;
        machine->unit_condition = matrix_units[i].condition;
        *why = "no rate of its matrix unit, nor its clock, in the chip table";
        return machine->units && machine->unit_rate > 0;
    }
    return false;
}
