/* Sums of recorded events per run and per step. */
#include "profile/record/recorder.h"

#include <stdlib.h>
#include <string.h>

/* ---- whole runs */

/* The first run whose events are complete in all rings. */
static uint64_t first_whole_run(const eg_recorder *r) {
    uint64_t first = 0;
    for (unsigned i = 0; i < r->record.threads; i++) {
        const eg__ring *ring = &r->record.rings[i];
        if (ring->count <= ring->room) continue;
        const uint64_t after = eg__ring_event(ring, 0)->run + 1;
        if (after > first) first = after;
    }
    return first;
}

/* Fills `out` unless it is NULL, and returns the number of runs. Runs do not overlap. */
static uint64_t list_runs(const eg_recorder *r, eg_record_run *out) {
    const eg__ring *ring = &r->record.rings[0];
    const uint64_t first = first_whole_run(r);
    const double seconds = eg__record_tick(&r->record) * 1e-9;
    uint64_t runs = 0, last = 0;
    for (uint64_t i = 0; i < eg__ring_there(ring); i++) {
        const eg__event *e = eg__ring_event(ring, i);
        if (e->run < first) continue;
        if (!runs || e->run != last) {
            last = e->run;
            if (out) out[runs] = (eg_record_run){.run = last};
            runs++;
        }
        if (out && e->time == UINT32_MAX)
            out[runs - 1].seconds += (double)(e->end - e->begin) * seconds;
    }
    return runs;
}

uint64_t eg_recorder_runs(const eg_recorder *r) { return list_runs(r, NULL); }

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Keeps the faster half of the runs: the others may have been interrupted. Returns their number. */
static uint64_t mark_quicker_half(eg_record_run *list, uint64_t count, double *sorted) {
    uint64_t chosen = 0;
    for (uint64_t i = 0; i < count; i++) sorted[i] = list[i].seconds;
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    for (uint64_t i = 0; i < count; i++) {
        list[i].counted = list[i].seconds > 0 && list[i].seconds <= sorted[(count - 1) / 2];
        chosen += (uint64_t)list[i].counted;
    }
    return chosen;
}

eg_status eg_recorder_run_list(const eg_recorder *r, eg_record_run *out, eg_error *error) {
    if (!r || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no recorder or no output pointer for its runs");
    const uint64_t count = list_runs(r, out);
    if (!count)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        eg_recorder_lost(r) ? "a run has more events than the recorder keeps"
                                            : "nothing was recorded");
    eg_error reason = {EG_ERR_MEMORY, ""};
    double *sorted =
        eg__memory_take_array(r->memory, EG_TAG_OTHER, (size_t)count, sizeof *sorted, &reason);
    if (!sorted) return eg__fail(error, reason.status, "%s", reason.message);
    const uint64_t chosen = mark_quicker_half(out, count, sorted);
    eg__memory_give(r->memory, sorted);
    return chosen
               ? EG_OK
               : eg__fail(error, EG_ERR_ARGUMENT, "every run was shorter than a tick of the clock");
}

/* ---- sums */
typedef struct choice {
    eg_record_run *list;
    uint64_t count, counted;
} choice;

static eg_status choose(const eg_recorder *r, choice *c, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    c->count = eg_recorder_runs(r);
    c->list = eg__memory_take_array(r->memory, EG_TAG_OTHER, (size_t)c->count + 1, sizeof *c->list,
                                    &reason);
    if (!c->list) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg_recorder_run_list(r, c->list, error);
    for (uint64_t i = 0; !status && i < c->count; i++) c->counted += (uint64_t)c->list[i].counted;
    if (status) eg__memory_give(r->memory, c->list);
    return status;
}

/* Events of a ring are in the order of runs, like the list: *at advances with them. */
static bool counts(const choice *c, uint64_t run, uint64_t *at) {
    while (*at < c->count && c->list[*at].run < run) ++*at;
    return *at < c->count && c->list[*at].run == run && c->list[*at].counted;
}

/* Only thread 0 records steps outside of scans; inside a scan each thread has its part of the
 * batch, and the time of the step is the mean over threads. Returns whether some stand for others. */
static bool add_events(const eg_recorder *r, const choice *c, eg_step_time *steps, size_t count,
                       const uint32_t *parts, uint32_t *blocks) {
    const double seconds = eg__record_tick(&r->record) * 1e-9;
    bool sampled = false;
    for (unsigned i = 0; i < r->record.threads; i++) {
        const eg__ring *ring = &r->record.rings[i];
        for (uint64_t k = 0, at = 0; k < eg__ring_there(ring); k++) {
            const eg__event *e = eg__ring_event(ring, k);
            const bool inside = e->time != UINT32_MAX;
            if (!counts(c, e->run, &at) || e->step >= count || (i && !inside)) continue;
            const double time = (double)(e->end - e->begin) * seconds;
            eg_step_time *s = &steps[e->step];
            s->least = s->calls && s->least < time ? s->least : time;
            s->most = s->most > time ? s->most : time;
            s->calls += inside ? e->parts : 1;
            blocks[e->step] += !inside || e->first;
            s->seconds += inside ? time * e->parts / parts[e->step] : time;
            sampled |= inside && e->parts > 1;
        }
    }
    return sampled;
}

/* Of a scan, how many threads shared it; the steps of its body say the same. */
static void find_parts(const eg_recorder *r, const eg_program *p, uint32_t *parts) {
    const eg__ring *ring = &r->record.rings[0];
    for (uint64_t k = 0; k < eg__ring_there(ring); k++) {
        const eg__event *e = eg__ring_event(ring, k);
        if (e->time != UINT32_MAX || e->step >= p->step_count) continue;
        const eg__step_scan *scan = eg__step_body(&p->steps[e->step]);
        for (uint32_t i = 0; scan && i < scan->count; i++) parts[scan->first + i] = e->parts;
    }
}

/* Time steps that stand for others may add up to more than the scan took, if one of them was interrupted: then they say how
 * the scan's time divides. */
static void fit_body(const eg__step_scan *scan, double seconds, eg_step_time *steps) {
    double sum = 0;
    for (uint32_t k = 0; k < scan->count; k++) sum += steps[scan->first + k].seconds;
    for (uint32_t k = 0; k < scan->count && sum > seconds; k++)
        steps[scan->first + k].seconds *= seconds / sum;
}

/* Inside a scan a step is called for each block of samples, by the threads that share it: together they count
 * as one call per time step. `blocks` counts the calls of all runs in the first one. */
static void finish(const eg_program *p, size_t count, uint64_t runs, const uint32_t *blocks,
                   bool sampled, eg_step_time *steps, double *run) {
    double all = 0;
    for (size_t i = 0; i < count; i++) {
        eg_step_time *s = &steps[i];
        const uint64_t each = i >= p->main_count && blocks[i] ? blocks[i] : runs;
        s->calls = (s->calls + each / 2) / each;
        s->seconds /= (double)runs;
        if (i < p->main_count) all += s->seconds;
    }
    for (size_t i = 0; i < count; i++) {
        eg_step_time *s = &steps[i];
        s->self = s->seconds;
        const eg__step_scan *scan = eg__step_body(&p->steps[i]);
        if (scan) {
            if (sampled) fit_body(scan, s->seconds, steps);
            for (uint32_t k = 0; k < scan->count; k++) s->self -= steps[scan->first + k].seconds;
            if (s->self < 0) s->self = 0; /* parts that include waiting for each other */
        }
        s->share = all > 0 ? s->self / all : 0;
    }
    if (run) *run = all;
}

eg_status eg_recorder_steps(const eg_recorder *r, const eg_program *p, eg_step_time *steps,
                            double *run, eg_error *error) {
    if (!r || !p || !steps)
        return eg__fail(error, EG_ERR_ARGUMENT, "no recorder, program or output pointer");
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(p, &info);
    choice c = {0};
    eg_status status = choose(r, &c, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    uint32_t *parts =
        eg__memory_take_array(r->memory, EG_TAG_OTHER, 2 * info.steps + 1, sizeof *parts, &reason);
    if (!parts) {
        eg__memory_give(r->memory, c.list);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    for (size_t i = 0; i < info.steps; i++) parts[i] = 1;
    memset(steps, 0, info.steps * sizeof *steps);
    find_parts(r, p, parts);
    uint32_t *blocks = parts + info.steps;
    const bool sampled = add_events(r, &c, steps, info.steps, parts, blocks);
    finish(p, info.steps, c.counted, blocks, sampled, steps, run);
    eg__memory_give(r->memory, parts);
    eg__memory_give(r->memory, c.list);
    return EG_OK;
}
