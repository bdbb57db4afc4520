/* What came out of a race: figures of a case, and of a group of cases. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "timing.h"

enum { NAMES_MAX = 8, OTHERS_MAX = 3, RESULTS_MAX = 256 };

typedef struct entry {
    const char *name, *variant;
    double value; /* median over the rounds, in the group's unit */
    double ulp;   /* 0 = not measured */
} entry;

/* 0 where there is no such figure. */
typedef struct result {
    char title[48];
    entry ours, peers[NAMES_MAX];
    unsigned peer_count, best; /* index of the fastest peer */
    entry others[OTHERS_MAX];
    unsigned other_count;
    double peak;                /* in the group's unit */
    double ratio, low, high;    /* speed of ours / best peer: median and extremes of the rounds */
    double limit;               /* peak / best peer: what the ratio cannot exceed */
    double share;               /* ours / peak */
    double speedup[OTHERS_MAX]; /* ours / ours in another configuration */
} result;

/* How a group counts, and what the sums over its results are. */
typedef struct group_figures {
    double geomean, limit, share; /* geometric means */
    double minimum;
    const char *minimum_title;
} group_figures;

/* With `is_rate` the unit is work per ns (10^9 per second), without it ns per piece of work. */
void result_make(result *out, const char *title, const race *r, bool is_rate);
void group_figures_make(group_figures *out, const result *results, size_t count);

#endif
