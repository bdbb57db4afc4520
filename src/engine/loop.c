/* The loop that runs a program: step by step, each over all its items, on the threads of the run. */
#include "engine/loop.h"

typedef struct part_job {
    const eg__run *run;
    const eg__step *step;
    size_t items, parts;
    eg__phase phase;
} part_job;

static void run_part(void *user, size_t part, unsigned thread) {
    const part_job *job = user;
    const size_t first = job->items * part / job->parts;
    const eg__frame frame = {.run = job->run,
                             .base = job->run->base,
                             .time = job->run->length,
                             .first = first,
                             .count = job->items * (part + 1) / job->parts - first,
                             .phase = job->phase,
                             .scratch = job->run->scratch + thread * job->run->scratch_size,
                             .ring = job->run->record ? &job->run->record->rings[thread] : NULL};
    if (!frame.ring || !thread) { /* thread 0 records the step as a whole */
        eg__step_one(job->step, &frame);
        return;
    }
    const uint64_t begin = eg__ticks();
    eg__step_one(job->step, &frame);
    eg__ring_add(frame.ring, begin, eg__ticks(), (uint32_t)(job->step - job->run->program->steps),
                 UINT32_MAX, (unsigned)job->parts, job->run->record->run);
}

static unsigned run_one(const eg__run *run, const eg__step *step, eg__frame *frame,
                        size_t threads) {
    frame->count = eg__step_items(step, run->length);
    const size_t items = frame->count * eg__max(step->slices, 1);
    const size_t parts = threads > 1 && step->grain ? eg__min(threads, items / step->grain) : 1;
    if (parts > 1) {
        part_job job = {run, step, items, parts, step->slices ? EG__PHASE_SLICES : EG__PHASE_WHOLE};
        eg__threads_run(run->threads, parts, run_part, &job);
        if (step->slices) {
            frame->phase = EG__PHASE_SUM;
            eg__step_one(step, frame);
            frame->phase = EG__PHASE_WHOLE;
        }
        return (unsigned)parts;
    }
    eg__step_one(step, frame);
    return 1;
}

void eg__steps_run(const eg__run *run, const eg__step *steps, size_t count) {
    const size_t threads = run->threads ? eg__threads_count(run->threads) : 1;
    eg__frame frame = {.run = run, .base = run->base, .time = run->length, .scratch = run->scratch};
    if (!run->record) {
        for (size_t i = 0; i < count; i++) run_one(run, &steps[i], &frame, threads);
        return;
    }
    frame.ring = run->record->rings;
    const uint32_t first = (uint32_t)(steps - run->program->steps);
    uint64_t begin = eg__ticks();
    for (size_t i = 0; i < count; i++) {
        const unsigned parts = run_one(run, &steps[i], &frame, threads);
        const uint64_t end = eg__ticks();
        eg__ring_add(frame.ring, begin, end, first + (uint32_t)i, UINT32_MAX, parts,
                     run->record->run);
        begin = end;
    }
}
