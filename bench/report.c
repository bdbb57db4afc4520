/* Tables for people. A star marks the fastest peer; every ratio is of speeds, so that more than 1
 * means that ours is faster. */
#include "peers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double BUSY = 0.5; /* a load from which on somebody else was at work */

void report_start(const bench *b) {
    peer_versions versions;
    printf("%s, %u cores%s%s, %s, %s kernels\n",
           b->chip.name[0] ? b->chip.name : "unknown processor", b->chip.cores,
           b->chip.hypervisor[0] ? ", under " : "", b->chip.hypervisor, b->chip.system,
           b->kernels.isa);
    if (b->load > BUSY)
        printf("caution: the load is %.1f, others are using this machine\n", b->load);
    if (b->options.no_peers) return;
    peers_versions(&versions);
    for (size_t i = 0; i < versions.count; i++)
        printf("  %-10s %s\n", versions.list[i].name, versions.list[i].text);
    if (!versions.count) printf("no other library is installed here\n");
}

void report_progress(const bench *b, const char *title) {
    if (!isatty(STDERR_FILENO)) return;
    if (title) fprintf(stderr, "\r\033[K[%zu] %s %s ...", b->count + 1, b->group->name, title);
    else fputs("\r\033[K", stderr);
    fflush(stderr);
}

/* ---- a group */
typedef struct columns {
    const char *names[NAMES_MAX];
    unsigned count;
    bool peak, ulp, ratio;
} columns;

static unsigned column_find(const columns *c, const char *name) {
    unsigned i = 0;
    while (i < c->count && strcmp(c->names[i], name) != 0) i++;
    return i;
}

static columns columns_make(const result *results, size_t count) {
    columns c = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        const result *r = &results[i];
        c.peak = c.peak || r->peak > 0;
        c.ulp = c.ulp || r->ours.ulp > 0;
        c.ratio = c.ratio || r->ratio > 0;
        for (unsigned j = 0; j < r->peer_count; j++)
            if (column_find(&c, r->peers[j].name) == c.count && c.count < NAMES_MAX)
                c.names[c.count++] = r->peers[j].name;
    }
    return c;
}

/* Four significant digits without an exponent, and room for a star. */
static void print_value(double value, bool is_best) {
    int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    printf(" %9.*f%c", digits, value, is_best ? '*' : ' ');
}

static void print_missing(void) { printf(" %9s ", "-"); }

static void print_head(const columns *c) {
    printf("%-24s %9s ", "", "ours");
    for (unsigned i = 0; i < c->count; i++) printf(" %9s ", c->names[i]);
    if (c->peak) printf(" %9s %7s", "peak", "share");
    if (c->ratio) printf(" %7s %13s", "ratio", "of the rounds");
    if (c->peak && c->ratio) printf(" %7s", "limit");
    putchar('\n');
}

static void print_row(const columns *c, const result *r) {
    printf("%-24s", r->title);
    print_value(r->ours.value, false);
    for (unsigned i = 0; i < c->count; i++) {
        unsigned j = 0;
        while (j < r->peer_count && strcmp(r->peers[j].name, c->names[i]) != 0) j++;
        if (j < r->peer_count) print_value(r->peers[j].value, j == r->best);
        else print_missing();
    }
    if (c->peak) printf(" %9.1f %6.1f%%", r->peak, 100 * r->share);
    if (c->ratio && r->ratio > 0) printf(" %7.3f %6.3f-%.3f", r->ratio, r->low, r->high);
    if (c->peak && r->ratio > 0) printf(" %7.3f", r->limit);
    putchar('\n');
}

static void print_errors(const columns *c, const result *r) {
    printf("%-24s %9.2f ", "  largest error, ulp", r->ours.ulp);
    for (unsigned i = 0; i < c->count; i++) {
        unsigned j = 0;
        while (j < r->peer_count && strcmp(r->peers[j].name, c->names[i]) != 0) j++;
        if (j < r->peer_count) printf(" %9.2f ", r->peers[j].ulp);
        else print_missing();
    }
    if (r->peer_count && r->ours.ulp > r->peers[r->best].ulp) printf("  ours is less exact");
    putchar('\n');
}

void report_group(const bench *b, const group *g) {
    size_t count;
    const result *results = bench_results_of(b, g, &count);
    if (!count) return;
    columns c = columns_make(results, count);
    printf("\n%s: %s; %s, %s is better\n", g->name, g->title, g->unit,
           g->is_rate ? "more" : "less");
    print_head(&c);
    for (size_t i = 0; i < count; i++) {
        const result *r = &results[i];
        print_row(&c, r);
        if (c.ulp) print_errors(&c, r);
        for (unsigned j = 0; j < r->other_count; j++)
            printf("  ours %s: %.1f %s; the line above is %.2f times as fast\n", r->others[j].name,
                   r->others[j].value, g->unit, r->speedup[j]);
    }
    fflush(stdout);
}

/* ---- the end */
static void print_figure(double value) {
    if (value > 0) printf(" %8.3f", value);
    else printf(" %8s", "-");
}

static void print_figures(const char *name, size_t count, const group_figures *f) {
    printf("%-12s %6zu", name, count);
    print_figure(f->share);
    print_figure(f->geomean);
    print_figure(f->limit);
    print_figure(f->minimum);
    printf("   %s\n", f->minimum_title ? f->minimum_title : "");
}

void report_summary(const bench *b) {
    const double peak = bench_peak(b);
    printf("\nsummary, medians of %u rounds", b->pace.rounds);
    if (peak > 0) printf("; FMA peak of one core %.1f GFLOP/s", peak);
    printf("\n%-12s %6s %8s %8s %8s %8s   %s\n", "group", "cases", "share", "geomean", "limit",
           "minimum", "at");
    for (size_t i = 0; i < bench_group_count; i++) {
        size_t count;
        const result *results = bench_results_of(b, &bench_groups[i], &count);
        group_figures f;
        if (!count) continue;
        group_figures_make(&f, results, count);
        print_figures(bench_groups[i].name, count, &f);
    }
    puts("share: of the FMA peak, which was measured between the others");
    if (!b->options.no_peers)
        puts("geomean, minimum: of the ratio, the speed of ours / that of the fastest peer\n"
             "limit: geomean of peak / fastest peer, which no ratio can exceed");
}
