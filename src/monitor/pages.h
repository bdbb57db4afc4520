/* Pages of other programs: found, checked, read, and removed when nobody is behind them any more. */
#ifndef EG__PAGES_H
#define EG__PAGES_H

#include "elegans/monitor.h"
#include "memory/memory.h"
#include "publish/page.h"

/* What a page says at one moment. */
typedef struct eg__page_view {
    uint64_t read_ns;
    uint64_t steps, tokens, timed_every;
    double peak_flops, peak_bandwidth;                        /* NaN = unknown, as below */
    double step_flops, step_bytes, held, held_peak, resident; /* NaN = unknown */
    uint64_t latency[EG__LATENCY_BUCKETS];
    bool training_known, operations_known; /* false = it stands still while it writes them */
    eg__page_training training;
    eg__page_operations operations;
} eg__page_view;

typedef struct eg__tracked { /* a page that is followed */
    char name[48];
    uint64_t pid;
    const eg__page *page;
    bool seen, again; /* in this scan; `before` is of the sample before */
    eg__page_view now, before;
    eg_loss_point losses[EG_LOSS_POINTS];
} eg__tracked;

enum { EG__PAGES_MOST = 256, EG__IGNORED_TEXT = 384 };
typedef struct eg__pages {
    eg__memory *memory;
    char *folder;                         /* NULL = that of this user */
    eg__tracked *tracked[EG__PAGES_MOST]; /* by pid, then by name */
    size_t count, ignored;
    char ignored_text[EG__IGNORED_TEXT];
} eg__pages;

/* Finds new pages, lets go of those that are gone, and reads all. EG_ERR_MEMORY leaves those that are followed. */
eg_status eg__pages_read(eg__pages *pages, eg_error *error);
void eg__pages_close(eg__pages *pages);

/* ---- figures of one program from two moments; `out` is complete but for its lists */
void eg__figures_of(const eg__tracked *t, eg_published *out);
/* The share of the ceiling in %, unavailable where there is none, and the verdict. `step`: how long one takes. */
eg_metric eg__verdict_of(const eg__tracked *t, const eg_metric *step, char text[EG_VERDICT_TEXT]);

#endif
