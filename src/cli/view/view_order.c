/* The list of programs: its order, and which of them is chosen. */
#include "cli/view/view.h"

#include <math.h>

static const struct {
    const char *name;
    int figure; /* -1 = the order of the sample, by pid */
} sorts[VIEW_SORTS] = {[VIEW_BY_PID] = {"pid", -1},
                       [VIEW_BY_RATE] = {"steps/s", EG_FIGURE_step_rate},
                       [VIEW_BY_P99] = {"p99", EG_FIGURE_p99},
                       [VIEW_BY_FLOPS] = {"FLOP/s", EG_FIGURE_flop_rate},
                       [VIEW_BY_MEMORY] = {"memory", EG_FIGURE_resident}};

const char *view_sort_name(view_sort sort) { return sorts[sort].name; }

/* What is unknown comes last. */
static double weight(const view *v, size_t index) {
    const eg_metric *m = &v->sample->published[index].figures[sorts[v->sort].figure];
    return m->provenance == EG_UNAVAILABLE || isnan(m->value) ? -INFINITY : m->value;
}

size_t view_order(const view *v, size_t order[VIEW_PROGRAMS]) {
    size_t count = v->sample ? v->sample->published_count : 0;
    if (count > VIEW_PROGRAMS) count = VIEW_PROGRAMS;
    for (size_t i = 0; i < count; i++) {
        size_t at = i; /* equal ones stay in the order of the sample */
        for (; sorts[v->sort].figure >= 0 && at && weight(v, order[at - 1]) < weight(v, i); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return count;
}

const eg_published *view_chosen(const view *v) {
    size_t order[VIEW_PROGRAMS];
    const size_t count = view_order(v, order);
    for (size_t i = 0; i < count; i++) {
        const eg_published *p = &v->sample->published[order[i]];
        if (p->pid == v->pid && p->started_ns == v->started_ns) return p;
    }
    return count ? &v->sample->published[order[0]] : NULL;
}

void view_choose(view *v, size_t index) {
    v->pid = v->sample->published[index].pid;
    v->started_ns = v->sample->published[index].started_ns;
}
