/* Recorders: rings of events, one per thread. */
#include "base/abi.h"
#include "profile/record/recorder.h"
#include "profile/profile.h"

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
        return eg__fail(error, EG_ERR_OVERFLOW, "%llu events are out of range",
                        (unsigned long long)room);
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

/* What an event costs: the best of a few turns, because any of them may be interrupted. */
static double event_ticks(eg__ring *ring) {
    enum { TURNS = 8, EVENTS = 128 };
    uint64_t best = UINT64_MAX;
    for (int turn = 0; turn < TURNS; turn++) {
        const uint64_t begin = eg__ticks();
        uint64_t last = begin;
        for (uint32_t i = 0; i < EVENTS; i++) {
            const uint64_t now = eg__ticks();
            eg__ring_add(ring, last, now, i, i, 1, 0);
            last = now;
        }
        best = eg__min(best, last - begin);
    }
    return (double)best / EVENTS;
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
                             .repeat = o->repeat,
                             .every = o->every,
                             .event_ticks = r->record.event_ticks};
}

eg_status eg_recorder_create(eg_context *context, const eg_recorder_options *options,
                             eg_recorder **out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "recorder: no context or output pointer");
    *out = NULL;
    eg_recorder_options kept;
    const eg_status taken = EG__OPTIONS(eg_recorder_options, &kept, options, error);
    if (taken) return taken;
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_recorder *r = eg__memory_take_zeroed(memory, EG_TAG_OTHER, sizeof *r, &reason);
    if (!r) return eg__fail(error, reason.status, "%s", reason.message);
    r->context = context;
    r->memory = memory;
    r->options = kept;
    const uint64_t events = r->options.events ? r->options.events : 65536;
    r->record.threads = eg__threads_count(context->threads);
    eg_status status = EG_OK;
    if (kept.every > EG_RECORD_EVERY)
        status = eg__fail(error, EG_ERR_ARGUMENT, "one of %u time steps is not one of 1..%d",
                          kept.every, EG_RECORD_EVERY);
    else if (events > (uint64_t)1 << 32)
        status = eg__fail(error, EG_ERR_ARGUMENT, "%llu events are out of range",
                          (unsigned long long)events);
    else status = take_rings(r, power_of_two(events), error);
    if (status) {
        eg_recorder_destroy(r);
        return status;
    }
    r->record.event_ticks = event_ticks(r->record.rings);
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
        return eg__fail(error, EG_ERR_ARGUMENT, "the recorder belongs to another context");
    eg__instance_record(instance, recorder ? &recorder->record : NULL);
    return EG_OK;
}

/* ---- events */
uint64_t eg_recorder_count(const eg_recorder *r) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < r->record.threads; i++) sum += eg__ring_there(&r->record.rings[i]);
    return sum;
}

uint64_t eg_recorder_lost(const eg_recorder *r) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < r->record.threads; i++)
        sum += r->record.rings[i].count - eg__ring_there(&r->record.rings[i]);
    return sum;
}

uint64_t eg__recorder_began(const eg_recorder *r) { return r->record.began_ns; }

eg_status eg_recorder_event(const eg_recorder *r, uint64_t index, eg_record_event *out,
                            eg_error *error) {
    const double ns = eg__record_tick(&r->record);
    for (unsigned i = 0; i < r->record.threads; i++) {
        const eg__ring *ring = &r->record.rings[i];
        if (index >= eg__ring_there(ring)) {
            index -= eg__ring_there(ring);
            continue;
        }
        const eg__event *e = eg__ring_event(ring, index);
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
