/* A machine as ceilings, measured or by the chip table, and steps as times at those ceilings. */
#include "profile/project.h"

#include <math.h>

static double known(eg_metric metric) {
    return metric.provenance == EG_UNAVAILABLE || !(metric.value > 0) ? 0 : metric.value;
}

eg_status eg__machine_measured(const eg_chip *chip, const eg_ceilings *ceilings, eg__machine *out,
                               eg_error *error) {
    const eg_core_kind *kind = &chip->kinds[0];
    const eg_ceilings *c = ceilings;
    *out = (eg__machine){
        .peak = known(c->fma_one),
        .size = {(double)kind->l1d_bytes,
                 (double)kind->l2_bytes / (double)(kind->l2_cores ? kind->l2_cores : 1),
                 (double)chip->l3_bytes, INFINITY},
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

eg_status eg__machine_of_row(const eg_chip_row *row, const eg_efficiency *efficiency,
                             eg__machine *out, eg_error *error) {
    if (!(row->fast_core_gflops > 0) || !(row->memory_gbs > 0))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "'%s': the chip table has no peak of its cores or no bandwidth", row->name);
    const double cores = row->fast_cores ? row->fast_cores : 1;
    *out = (eg__machine){.peak = row->fast_core_gflops,
                         .size = {row->fast_l1d_kb * 1024,
                                  row->fast_l2_mb * 1024 * 1024 * row->fast_clusters / cores,
                                  row->slc_mb * 1024 * 1024, INFINITY},
                         .memory_all = row->memory_gbs,
                         .launch = 2000, /* assumed: some thousand cycles */
                         .clock = row->fast_mhz > 0 ? row->fast_mhz * 1e-3 : 0};
    for (int i = 0; i + 1 < EG__LEVELS; i++) {
        out->bandwidth[i] = efficiency->level[i] * out->peak;
        if (!(out->size[i] > 0) || !(out->bandwidth[i] > 0)) out->size[i] = 0;
    }
    /* one core of these chips takes most of what the memory of the smallest gives, and no more than
     * its own second level */
    const double one = out->size[1] > 0 ? out->bandwidth[1] : row->memory_gbs;
    out->bandwidth[EG__LEVELS - 1] = fmin(fmin(row->memory_gbs, 60), one);
    return EG_OK;
}

static double bandwidth_of(const eg__machine *machine, double footprint) {
    for (int i = 0; i < EG__LEVELS; i++)
        if (machine->size[i] > 0 && footprint <= machine->size[i]) return machine->bandwidth[i];
    return machine->bandwidth[EG__LEVELS - 1];
}

void eg__cost_terms(const eg_step_cost *cost, const eg__machine *machine, double out[EG__TERMS]) {
    const bool bare = cost->product <= 0 && cost->simple <= 0 && cost->functions <= 0;
    const bool is_product = cost->kind == EG_KIND_GEMM || cost->kind == EG_KIND_GEMV;
    out[EG__TERM_CALL] = 1;
    out[EG__TERM_ROW] = cost->rows;
    out[EG__TERM_PRODUCT] = (bare && is_product ? cost->flops : cost->product) / machine->peak;
    out[EG__TERM_SIMPLE] = (bare && !is_product ? cost->flops : cost->simple) / machine->peak;
    out[EG__TERM_FUNCTIONS] = cost->functions / machine->peak;
    const double footprint = cost->footprint > 0 ? cost->footprint : cost->bytes;
    out[EG__TERM_BYTES] = cost->bytes / bandwidth_of(machine, footprint);
    /* a sigmoid for each synapse and sample: no memory is that slow, and what a fit would put here
     * is something else */
    if (cost->kind == EG_KIND_SYNAPSES || cost->kind == EG_KIND_SYNAPSES_ONE)
        out[EG__TERM_BYTES] = 0;
}
