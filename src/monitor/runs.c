/* Programs as they were when they were seen last, so that a run that has ended can be compared with one that goes on. */
#include "monitor/monitor.h"

#include <stdio.h>
#include <string.h>

enum { HOUR = 3600 };

static void drop(eg__runs *r, eg__memory *memory, size_t index) {
    eg__memory_give(memory, r->run[index]);
    r->count--;
    for (size_t i = index; i < r->count; i++) r->run[i] = r->run[i + 1];
}

/* A process may have several publishers, which begin at different times. */
static bool is_same(const eg_published *a, const eg_published *b) {
    return a->pid == b->pid && a->started_ns == b->started_ns &&
           strcmp(a->activity, b->activity) == 0;
}

/* Room for one more; the one that was seen longest ago goes when there are too many. */
static eg__run *add(eg__runs *r, eg__memory *memory) {
    size_t oldest = 0;
    for (size_t i = 1; i < r->count; i++)
        if (r->run[i]->seen < r->run[oldest]->seen) oldest = i;
    if (r->count == EG_HISTORY_RUNS) drop(r, memory, oldest);
    eg__run *run = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *run, NULL);
    if (run) r->run[r->count++] = run;
    return run;
}

/* All that it points to is copied: the next sample writes over it. */
static void keep(eg__run *run, const eg_published *p, double time) {
    run->seen = time;
    run->last = *p;
    for (int i = 0; i < EG_FIGURE_COUNT; i++) {
        const char *source = p->figures[i].source;
        snprintf(run->sources[i], sizeof run->sources[i], "%s", source ? source : "");
        run->last.figures[i].source = run->sources[i];
    }
    run->last.loss_count = eg__min(p->loss_count, (size_t)EG_LOSS_POINTS);
    if (run->last.loss_count) /* where there is none, there may be no memory to copy from */
        memcpy(run->losses, p->losses, run->last.loss_count * sizeof *run->losses);
    run->last.losses = run->losses;
    run->last.operation_count = eg__min(p->operation_count, (size_t)EG_OPERATION_SHARES);
    if (run->last.operation_count)
        memcpy(run->operations, p->operations, run->last.operation_count * sizeof *run->operations);
    run->last.operations = run->operations;
}

eg_status eg__runs_add(eg__runs *r, eg__memory *memory, const eg_monitor_sample *sample,
                       eg_error *error) {
    eg_status status = EG_OK;
    const double time = (double)sample->time_ns * 1e-9;
    for (size_t i = r->count; i-- > 0;)
        if (r->run[i]->seen < time - HOUR) drop(r, memory, i);
    for (size_t i = 0; i < sample->published_count; i++) {
        eg__run *run = NULL;
        for (size_t k = 0; k < r->count && !run; k++)
            if (is_same(&r->run[k]->last, &sample->published[i])) run = r->run[k];
        if (!run) run = add(r, memory);
        if (run) keep(run, &sample->published[i], time);
        else
            status = eg__fail(error, EG_ERR_MEMORY, "no memory to remember the program %llu",
                              (unsigned long long)sample->published[i].pid);
    }
    return status;
}

void eg__runs_close(eg__runs *r, eg__memory *memory) {
    while (r->count) drop(r, memory, r->count - 1);
}
