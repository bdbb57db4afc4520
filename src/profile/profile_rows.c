/* Steps of a recorded program beside what the machine can do, one by one and by operation and shape. */
#include "profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- roofs */
typedef struct roof {
    double gbps;
    const char *level;
} roof;

/* The smallest level that holds what a call touches; the DRAM holds all. */
static roof roof_for(const eg_profile *p, double bytes_per_call) {
    const eg_chip *chip = &p->context->chip;
    const bool one = eg__threads_count(p->context->threads) == 1;
    const eg_ceilings *c = &p->ceilings;
    const struct {
        uint64_t size;
        const eg_metric *metric;
        const char *name;
    } levels[] = {{chip->kinds[0].l1d_bytes, one ? &c->l1_one : &c->l1_all, "L1"},
                  {chip->kinds[0].l2_bytes, one ? &c->l2_one : &c->l2_all, "L2"},
                  {chip->l3_bytes + chip->slc_bytes, one ? &c->l3_one : &c->l3_all, "L3"},
                  {UINT64_MAX, one ? &c->dram_one : &c->dram_all, "DRAM"}};
    for (unsigned i = 0; i < 4; i++)
        if (levels[i].metric->provenance == EG_MEASURED && bytes_per_call <= (double)levels[i].size)
            return (roof){levels[i].metric->value, levels[i].name};
    return (roof){NAN, "unknown"};
}

/* What its intensity allows, and what stands in the way. A call as short as a reading of the clock and its
 * preparations says nothing about either. */
static void place_under_roof(const eg_profile *p, eg_profile_row *row) {
    const bool one = eg__threads_count(p->context->threads) == 1;
    const eg_metric *fma = one ? &p->ceilings.fma_one : &p->ceilings.fma_all;
    const double per_call = row->calls ? row->bytes / (double)row->calls : 0;
    row->intensity = row->bytes > 0 ? row->flops / row->bytes : NAN;
    row->gflops = row->seconds > 0 ? row->flops / row->seconds * 1e-9 : NAN;
    row->gbps = row->seconds > 0 ? row->bytes / row->seconds * 1e-9 : NAN;
    row->roof = row->roof_share = NAN;
    row->bound = "unknown";
    if (!p->has_ceilings || fma->provenance != EG_MEASURED || !(row->seconds > 0)) return;
    const roof r = roof_for(p, per_call);
    if (row->flops > 0) {
        const double memory = row->intensity * r.gbps;
        row->roof = memory < fma->value ? memory : fma->value;
        row->roof_share = row->gflops / row->roof;
        row->bound = memory < fma->value ? r.level : "compute";
    } else if (row->bytes > 0) {
        row->roof = r.gbps;
        row->roof_share = row->gbps / row->roof;
        row->bound = r.level;
    }
    if (row->calls && row->seconds / (double)row->calls < 60e-9) row->bound = "overhead";
}

/* ---- rows */
static void fill_row(const eg_profile *p, size_t index, const eg_step_time *time,
                     eg_profile_row *row) {
    eg_step_info info;
    eg_program_step(p->subject.program, index, &info, NULL);
    *row = (eg_profile_row){.operation = info.operation,
                            .kernel = info.kernel,
                            .step = (uint32_t)index,
                            .inside = strcmp(info.part, "scan") == 0,
                            .calls = time->calls,
                            .seconds = time->self,
                            .share = time->share,
                            .live = info.live_bytes};
    if (info.depth)
        snprintf(row->shape, sizeof row->shape, "%llux%llux%llu", (unsigned long long)info.rows,
                 (unsigned long long)info.columns, (unsigned long long)info.depth);
    else
        snprintf(row->shape, sizeof row->shape, "%llux%llu", (unsigned long long)info.rows,
                 (unsigned long long)info.columns);
    snprintf(row->text, sizeof row->text, "%s", info.text);
    if (!info.body_steps) { /* what a scan does is in its steps */
        row->flops = info.flops * (double)time->calls;
        row->bytes = info.bytes * (double)time->calls;
    }
    place_under_roof(p, row);
}

static bool same_group(const eg_profile_row *a, const eg_profile_row *b) {
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->operation, b->operation) == 0 &&
           strcmp(a->shape, b->shape) == 0 && strcmp(a->text, b->text) == 0;
}

static int longest_first(const void *a, const void *b) {
    const eg_profile_row *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return x->step < y->step ? -1 : 1;
}

static void group(eg_profile *p) {
    for (size_t i = 0; i < p->step_count; i++) {
        const eg_profile_row *step = &p->steps[i];
        size_t at = 0;
        while (at < p->operation_count && !same_group(&p->operations[at], step)) at++;
        eg_profile_row *row = &p->operations[at];
        if (at == p->operation_count) {
            *row = *step;
            p->operation_count++;
            continue;
        }
        row->calls += step->calls;
        row->seconds += step->seconds;
        row->share += step->share;
        row->flops += step->flops;
        row->bytes += step->bytes;
        if (step->live > row->live) row->live = step->live;
    }
    for (size_t i = 0; i < p->operation_count; i++) place_under_roof(p, &p->operations[i]);
    qsort(p->operations, p->operation_count, sizeof *p->operations, longest_first);
}

/* ---- the order of a run: rows come as the program has them, bodies of scans behind all else */
static void put_in_order(eg_profile *p, size_t first, size_t count) {
    for (size_t i = 0; i < p->step_count; i++) {
        const uint32_t step = p->steps[i].step;
        if (step < first || step - first >= count) continue;
        eg_step_info info;
        eg_program_step(p->subject.program, step, &info, NULL);
        if (info.body_steps) put_in_order(p, info.body, info.body_steps);
        else p->order[p->order_count++] = (uint32_t)i;
    }
}

eg_status eg__profile_rows(eg_profile *p, eg_error *error) {
    eg_program_info info;
    eg_program_info_get(p->subject.program, &info);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_step_time *times =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, info.steps + 1, sizeof *times, &reason);
    p->steps =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, info.steps + 1, sizeof *p->steps, &reason);
    p->operations = eg__memory_take_array(p->memory, EG_TAG_MEASURE, info.steps + 1,
                                          sizeof *p->operations, &reason);
    p->order =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, info.steps + 1, sizeof *p->order, &reason);
    eg_status status = times && p->steps && p->operations && p->order
                           ? eg_recorder_steps(p->recorder, p->subject.program, times, NULL, error)
                           : eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; !status && i < info.steps; i++) {
        if (!times[i].calls) continue; /* the prologue: it ran when the weights were set */
        fill_row(p, i, &times[i], &p->steps[p->step_count++]);
    }
    if (!status) put_in_order(p, 0, info.run_steps);
    if (!status) group(p);
    eg__memory_give(p->memory, times);
    return status;
}
