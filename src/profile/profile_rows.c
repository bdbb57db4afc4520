/* Steps of a recorded program beside what the machine can do, one by one and by operation and shape. */
#include "profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- roofs */

/* The roof of a step and what bounds it. Calls as short as reading the clock are not judged. */
static void place_under_roof(const eg_profile *p, eg_profile_row *row) {
    const bool one = eg__threads_count(p->context->threads) == 1;
    const eg_metric *fma = one ? &p->ceilings.fma_one : &p->ceilings.fma_all;
    double least;
    row->intensity = row->bytes > 0 ? row->flops / row->bytes : NAN;
    row->gflops = row->seconds > 0 ? row->flops / row->seconds * 1e-9 : NAN;
    row->gbps = row->seconds > 0 ? row->bytes / row->seconds * 1e-9 : NAN;
    row->roof = row->roof_share = NAN;
    row->bound = "unknown";
    if (!p->has_ceilings || fma->provenance != EG_MEASURED || !(row->seconds > 0)) return;
    const double peak = fma->value * 1e9 * eg__peak_times(p, row->traits);
    row->bound = eg__bound_find(p, row->flops / peak, row->level_bytes, row->seconds, &least);
    if (least > 0) {
        row->roof = (row->flops > 0 ? row->flops : row->bytes) / least * 1e-9;
        row->roof_share = least / row->seconds;
    }
    if (row->calls && row->seconds / (double)row->calls < 60e-9) row->bound = "overhead";
}

/* ---- rows */
static void fill_row(const eg_profile *p, size_t index, const eg_step_time *time,
                     eg_profile_row *row) {
    eg_step_info info = {.size = sizeof info};
    eg_program_step(p->subject.program, index, &info, NULL);
    *row = (eg_profile_row){.operation = info.operation,
                            .kernel = info.kernel,
                            .work = info.work,
                            .traits = info.traits,
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
    if (!info.body_steps) { /* a scan's work is in its steps */
        row->flops = info.flops * (double)time->calls;
        row->bytes = info.bytes * (double)time->calls;
        memcpy(row->level_bytes, p->traffic.steps[index], sizeof row->level_bytes);
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
        for (int k = 0; k < EG_MEMORY_LEVELS; k++) row->level_bytes[k] += step->level_bytes[k];
        if (step->live > row->live) row->live = step->live;
    }
    for (size_t i = 0; i < p->operation_count; i++) place_under_roof(p, &p->operations[i]);
    qsort(p->operations, p->operation_count, sizeof *p->operations, longest_first);
}

/* ---- the order of a run: the program stores bodies of scans after all other steps */
static void put_in_order(eg_profile *p, size_t first, size_t count) {
    for (size_t i = 0; i < p->step_count; i++) {
        const uint32_t step = p->steps[i].step;
        if (step < first || step - first >= count) continue;
        eg_step_info info = {.size = sizeof info};
        eg_program_step(p->subject.program, step, &info, NULL);
        if (info.body_steps) put_in_order(p, info.body, info.body_steps);
        else p->order[p->order_count++] = (uint32_t)i;
    }
}

eg_status eg__profile_rows(eg_profile *p, eg_error *error) {
    eg_program_info info = {.size = sizeof info};
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
