/* The loop that runs a program: step by step, each over all its items, on the threads of the run. */
#include "engine/loop.h"

#include <sched.h>

typedef struct part_job {
    const eg__run *run;
    const eg__step *step;
    size_t items, parts;
    eg__phase phase;
    eg__failure failure;
} part_job;

void eg__failure_add(eg__failure *f, size_t index, eg_status status, const eg_error *error) {
    while (__atomic_test_and_set(&f->locked, __ATOMIC_ACQUIRE)) sched_yield();
    if (!f->status || index < f->index) {
        f->status = status;
        f->index = index;
        if (f->error) *f->error = *error;
    }
    __atomic_clear(&f->locked, __ATOMIC_RELEASE);
}

static void run_part(void *user, size_t part, unsigned thread) {
    part_job *job = user;
    const size_t first = job->items * part / job->parts;
    eg_error error;
    error.message[0] = 0;
    const eg__frame frame = {.run = job->run,
                             .base = job->run->base,
                             .time = job->run->length,
                             .first = first,
                             .count = job->items * (part + 1) / job->parts - first,
                             .phase = job->phase,
                             .scratch = job->run->scratch + thread * job->run->scratch_size,
                             .ring = job->run->record ? &job->run->record->rings[thread] : NULL,
                             .error = &error};
    const bool records = frame.ring && thread; /* thread 0 records the step as a whole */
    const uint64_t begin = records ? eg__ticks() : 0;
    const eg_status status = eg__step_one(job->step, &frame);
    if (status) eg__failure_add(&job->failure, part, status, &error);
    if (records)
        eg__ring_add(frame.ring, begin, eg__ticks(),
                     (uint32_t)(job->step - job->run->program->steps), UINT32_MAX,
                     (unsigned)job->parts, job->run->record->run);
}

static eg_status run_parts(const eg__run *run, const eg__step *step, eg__frame *frame, size_t items,
                           size_t parts) {
    part_job job = {.run = run,
                    .step = step,
                    .items = items,
                    .parts = parts,
                    .phase = step->slices ? EG__PHASE_SLICES : EG__PHASE_WHOLE,
                    .failure = {.error = frame->error}};
    eg__threads_run(run->threads, parts, run_part, &job);
    if (job.failure.status || !step->slices) return job.failure.status;
    frame->phase = EG__PHASE_SUM;
    const eg_status status = eg__step_one(step, frame);
    frame->phase = EG__PHASE_WHOLE;
    return status;
}

static inline eg_status run_one(const eg__run *run, const eg__step *step, eg__frame *frame,
                                size_t threads, size_t *parts) {
    frame->count = eg__step_items(step, run->length);
    const size_t items = frame->count * eg__max(step->slices, 1);
    *parts = threads > 1 && step->grain ? eg__max(eg__min(threads, items / step->grain), 1) : 1;
    return *parts > 1 ? run_parts(run, step, frame, items, *parts) : eg__step_one(step, frame);
}

static eg_status failed(const eg__run *run, const eg__step *step, eg_status status,
                        eg_error *reason, eg_error *error) {
    eg__step_failed(run->program, step, status, reason);
    return eg__fail(error, status, "%s", reason->message);
}

static eg_status stopped(const eg__run *run, const eg__step *step, eg_error *reason,
                         eg_error *error) {
    return failed(run, step, eg__fail(reason, EG_ERR_STOPPED, "stopped"), reason, error);
}

eg_status eg__steps_run(const eg__run *run, const eg__step *steps, size_t count, eg_error *error) {
    const size_t threads = run->threads ? eg__threads_count(run->threads) : 1;
    eg_error reason;
    reason.message[0] = 0;
    eg__frame frame = {.run = run,
                       .base = run->base,
                       .time = run->length,
                       .scratch = run->scratch,
                       .error = &reason};
    size_t parts;
    if (!run->record) {
        for (size_t i = 0; i < count; i++) {
            if (eg__run_stopped(run)) return stopped(run, &steps[i], &reason, error);
            const eg_status status = run_one(run, &steps[i], &frame, threads, &parts);
            if (status) return failed(run, &steps[i], status, &reason, error);
        }
        return EG_OK;
    }
    frame.ring = run->record->rings;
    const uint32_t first = (uint32_t)(steps - run->program->steps);
    uint64_t begin = eg__ticks();
    for (size_t i = 0; i < count; i++) {
        if (eg__run_stopped(run)) return stopped(run, &steps[i], &reason, error);
        const eg_status status = run_one(run, &steps[i], &frame, threads, &parts);
        if (status) return failed(run, &steps[i], status, &reason, error);
        const uint64_t end = eg__ticks();
        eg__ring_add(frame.ring, begin, end, first + (uint32_t)i, UINT32_MAX, (unsigned)parts,
                     run->record->run);
        begin = end;
    }
    return EG_OK;
}
