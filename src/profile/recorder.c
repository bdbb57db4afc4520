/* Recorders: rings of events, and their sums per step. */
#include "profile/profile.h"
#include "engine/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct eg_recorder {
    eg_context *context;
    eg__memory *memory;
    eg_recorder_options options;
    eg__record record;
    eg__event *events;
};

/* ---- lifetime */
static uint64_t power_of_two(uint64_t least) {
    uint64_t size = 1;
    while (size < least) size *= 2;
    return size;
}

static eg_status take_rings(eg_recorder *r, uint64_t room, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    const unsigned threads = r->record.threads;
    size_t count;
    if (!eg__size_mul((size_t)room, threads, &count))
        return eg__fail(error, EG_ERR_OVERFLOW, "%llu events", (unsigned long long)room);
    r->record.rings =
        eg__memory_take_array(r->memory, EG_TAG_OTHER, threads, sizeof *r->record.rings, &reason);
    if (r->record.rings)
        r->events =
            eg__memory_take_array(r->memory, EG_TAG_OTHER, count, sizeof *r->events, &reason);
    if (!r->events) return eg__fail(error, reason.status, "%s", reason.message);
    for (unsigned i = 0; i < threads; i++)
        r->record.rings[i] = (eg__ring){.events = r->events + i * room, .room = room};
    return EG_OK;
}

void eg_recorder_clear(eg_recorder *r) {
    eg__ring *rings = r->record.rings;
    const eg_recorder_options *o = &r->options;
    for (unsigned i = 0; i < r->record.threads; i++) rings[i].count = 0;
    r->record = (eg__record){.rings = rings,
                             .threads = r->record.threads,
                             .skip = o->skip,
                             .wait = o->wait,
                             .warmup = o->warmup,
                             .active = o->active,
                             .repeat = o->repeat};
}

eg_status eg_recorder_create(eg_context *context, const eg_recorder_options *options,
                             eg_recorder **out, eg_error *error) {
    if (!context || !out) return eg__fail(error, EG_ERR_ARGUMENT, "recorder: no context or place");
    *out = NULL;
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_recorder *r = eg__memory_take_zeroed(memory, EG_TAG_OTHER, sizeof *r, &reason);
    if (!r) return eg__fail(error, reason.status, "%s", reason.message);
    r->context = context;
    r->memory = memory;
    if (options) r->options = *options;
    const uint64_t wish = r->options.events ? r->options.events : 65536;
    r->record.threads = eg__threads_count(context->threads);
    eg_status status = wish > (uint64_t)1 << 32 ? eg__fail(error, EG_ERR_ARGUMENT, "%llu events",
                                                           (unsigned long long)wish)
                                                : take_rings(r, power_of_two(wish), error);
    if (status) {
        eg_recorder_destroy(r);
        return status;
    }
    eg_recorder_clear(r);
    *out = r;
    return EG_OK;
}

void eg_recorder_destroy(eg_recorder *r) {
    if (!r) return;
    eg__memory_give(r->memory, r->events);
    eg__memory_give(r->memory, r->record.rings);
    eg__memory_give(r->memory, r);
}

eg_status eg_instance_record(eg_instance *instance, eg_recorder *recorder, eg_error *error) {
    if (!instance) return eg__fail(error, EG_ERR_ARGUMENT, "no instance to record");
    if (recorder && eg__instance_program(instance)->context != recorder->context)
        return eg__fail(error, EG_ERR_ARGUMENT, "a recorder of another context");
    eg__instance_record(instance, recorder ? &recorder->record : NULL);
    return EG_OK;
}

/* ---- events */
static uint64_t there(const eg__ring *ring) {
    return ring->count < ring->room ? ring->count : ring->room;
}

static const eg__event *event_at(const eg__ring *ring, uint64_t index) {
    return &ring->events[(ring->count - there(ring) + index) & (ring->room - 1)];
}

uint64_t eg_recorder_count(const eg_recorder *r) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < r->record.threads; i++) sum += there(&r->record.rings[i]);
    return sum;
}

uint64_t eg_recorder_lost(const eg_recorder *r) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < r->record.threads; i++)
        sum += r->record.rings[i].count - there(&r->record.rings[i]);
    return sum;
}

/* Nanoseconds of a tick. */
static double tick(const eg__record *record) {
    const uint64_t ticks = record->ended - record->began;
    return ticks ? (double)(record->ended_ns - record->began_ns) / (double)ticks : 0;
}

uint64_t eg__recorder_began(const eg_recorder *r) { return r->record.began_ns; }

eg_status eg_recorder_event(const eg_recorder *r, uint64_t index, eg_record_event *out,
                            eg_error *error) {
    const double ns = tick(&r->record);
    for (unsigned i = 0; i < r->record.threads; i++) {
        const eg__ring *ring = &r->record.rings[i];
        if (index >= there(ring)) {
            index -= there(ring);
            continue;
        }
        const eg__event *e = event_at(ring, index);
        *out = (eg_record_event){.begin = (uint64_t)((double)(e->begin - r->record.began) * ns),
                                 .end = (uint64_t)((double)(e->end - r->record.began) * ns),
                                 .step = e->step,
                                 .time = e->time,
                                 .parts = e->parts,
                                 .thread = i,
                                 .run = e->run};
        return EG_OK;
    }
    return eg__fail(error, EG_ERR_ARGUMENT, "there is no such event");
}

/* The first run of which no ring has lost an event. */
static uint32_t first_whole_run(const eg_recorder *r) {
    uint32_t first = 0;
    for (unsigned i = 0; i < r->record.threads; i++) {
        const eg__ring *ring = &r->record.rings[i];
        if (ring->count <= ring->room) continue;
        const uint32_t after = event_at(ring, 0)->run + 1;
        if (after > first) first = after;
    }
    return first;
}

static uint64_t runs_from(const eg_recorder *r, uint32_t first) {
    const eg__ring *ring = &r->record.rings[0];
    uint64_t runs = 0;
    uint32_t last = 0;
    for (uint64_t i = 0; i < there(ring); i++) {
        const eg__event *e = event_at(ring, i);
        if (e->run < first || (runs && e->run == last)) continue;
        last = e->run;
        runs++;
    }
    return runs;
}

uint64_t eg_recorder_runs(const eg_recorder *r) { return runs_from(r, first_whole_run(r)); }

/* ---- sums */

/* Which runs count: the quicker half, for in the others somebody else had the core. */
typedef struct choice {
    uint32_t first, count; /* runs first .. first + count - 1 */
    double *seconds;       /* of each; NaN = it was not kept */
    double limit;
    uint64_t chosen;
} choice;

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bool counts(const choice *c, uint32_t run) {
    return run >= c->first && run - c->first < c->count && c->seconds[run - c->first] <= c->limit;
}

static eg_status choose(const eg_recorder *r, choice *c, eg_error *error) {
    const eg__ring *ring = &r->record.rings[0];
    const uint64_t events = there(ring);
    c->first = first_whole_run(r);
    const uint32_t last = events ? event_at(ring, events - 1)->run : 0;
    if (!events || last < c->first)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        eg_recorder_lost(r) ? "a run has more events than the recorder keeps"
                                            : "nothing was recorded");
    c->count = last - c->first + 1;
    eg_error reason = {EG_ERR_MEMORY, ""};
    c->seconds =
        eg__memory_take_array(r->memory, EG_TAG_OTHER, c->count, 2 * sizeof *c->seconds, &reason);
    if (!c->seconds) return eg__fail(error, reason.status, "%s", reason.message);
    for (uint64_t k = 0; k < events; k++) {
        const eg__event *e = event_at(ring, k);
        if (e->run < c->first || e->time != UINT32_MAX) continue;
        c->seconds[e->run - c->first] += (double)(e->end - e->begin);
    }
    double *sorted = c->seconds + c->count;
    uint64_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->seconds[i] > 0) sorted[kept++] = c->seconds[i];
        else c->seconds[i] = (double)NAN;
    qsort(sorted, (size_t)kept, sizeof *sorted, ascending);
    c->limit = kept ? sorted[(kept - 1) / 2] : 0;
    for (uint32_t i = 0; i < c->count; i++) c->chosen += c->seconds[i] <= c->limit;
    if (c->chosen) return EG_OK;
    eg__memory_give(r->memory, c->seconds);
    return eg__fail(error, EG_ERR_ARGUMENT, "every run was shorter than a tick of the clock");
}

/* Thread 0 alone has steps of the run; inside of a scan, each thread has its part of the batch, and all of
 * them together are as long as their mean. */
static void add_events(const eg_recorder *r, const choice *c, eg_step_time *steps, size_t count,
                       const uint32_t *parts) {
    const double seconds = tick(&r->record) * 1e-9;
    for (unsigned i = 0; i < r->record.threads; i++) {
        const eg__ring *ring = &r->record.rings[i];
        for (uint64_t k = 0; k < there(ring); k++) {
            const eg__event *e = event_at(ring, k);
            const bool inside = e->time != UINT32_MAX;
            if (!counts(c, e->run) || e->step >= count || (i && !inside)) continue;
            const double time = (double)(e->end - e->begin) * seconds;
            eg_step_time *s = &steps[e->step];
            s->least = s->calls && s->least < time ? s->least : time;
            s->most = s->most > time ? s->most : time;
            s->calls++;
            s->seconds += inside ? time / parts[e->step] : time;
        }
    }
}

/* Of a scan, how many threads shared it; the steps of its body say the same. */
static void find_parts(const eg_recorder *r, const eg_program *p, uint32_t *parts) {
    const eg__ring *ring = &r->record.rings[0];
    for (uint64_t k = 0; k < there(ring); k++) {
        const eg__event *e = event_at(ring, k);
        if (e->time != UINT32_MAX || e->step >= p->step_count ||
            p->steps[e->step].run != eg__run_scan)
            continue;
        const eg__step_scan *scan = &p->steps[e->step].u.scan;
        for (uint32_t i = 0; i < scan->count; i++) parts[scan->first + i] = e->parts;
    }
}

/* Inside of a scan that threads share, each of them calls a step for its part: together that is one call. */
static void finish(const eg_program *p, size_t count, uint64_t runs, const uint32_t *parts,
                   eg_step_time *steps, double *run) {
    double all = 0;
    for (size_t i = 0; i < count; i++) {
        eg_step_time *s = &steps[i];
        const uint64_t each = runs * parts[i];
        s->calls = (s->calls + each / 2) / each;
        s->seconds /= (double)runs;
        if (i < p->main_count) all += s->seconds;
    }
    for (size_t i = 0; i < count; i++) {
        eg_step_time *s = &steps[i];
        s->self = s->seconds;
        if (p->steps[i].run == eg__run_scan) {
            const eg__step_scan *scan = &p->steps[i].u.scan;
            for (uint32_t k = 0; k < scan->count; k++) s->self -= steps[scan->first + k].seconds;
            if (s->self < 0) s->self = 0; /* parts that waited for each other */
        }
        s->share = all > 0 ? s->self / all : 0;
    }
    if (run) *run = all;
}

eg_status eg_recorder_steps(const eg_recorder *r, const eg_program *p, eg_step_time *steps,
                            double *run, eg_error *error) {
    if (!r || !p || !steps)
        return eg__fail(error, EG_ERR_ARGUMENT, "no recorder, program or place");
    eg_program_info info;
    eg_program_info_get(p, &info);
    choice c = {0};
    eg_status status = choose(r, &c, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    uint32_t *parts =
        eg__memory_take_array(r->memory, EG_TAG_OTHER, info.steps + 1, sizeof *parts, &reason);
    if (!parts) {
        eg__memory_give(r->memory, c.seconds);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    for (size_t i = 0; i < info.steps; i++) parts[i] = 1;
    memset(steps, 0, info.steps * sizeof *steps);
    find_parts(r, p, parts);
    add_events(r, &c, steps, info.steps, parts);
    finish(p, info.steps, c.chosen, parts, steps, run);
    eg__memory_give(r->memory, parts);
    eg__memory_give(r->memory, c.seconds);
    return EG_OK;
}
