/* From the rounds of a race to its figures. */
#include "result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double median_value(const contestant *c, unsigned rounds, bool is_rate) {
    double ns = median(c->ns, rounds);
    return is_rate ? c->work / ns : ns / c->work;
}

static entry entry_of(const contestant *c, unsigned rounds, bool is_rate) {
    return (entry){c->name, c->variant, median_value(c, rounds, is_rate), c->ulp};
}

typedef struct spread {
    double middle, low, high;
} spread;

/* How many times as fast a is as b, round by round: what slows both cancels. */
static spread speed_ratio(const contestant *a, const contestant *b, unsigned rounds) {
    double ratios[ROUNDS_MAX];
    spread s = {0, INFINITY, 0};
    for (unsigned i = 0; i < rounds; i++) {
        ratios[i] = a->work / a->ns[i] / (b->work / b->ns[i]);
        s.low = fmin(s.low, ratios[i]);
        s.high = fmax(s.high, ratios[i]);
    }
    s.middle = median(ratios, rounds);
    return s;
}

static bool is_faster(const contestant *a, const contestant *b, unsigned rounds) {
    return !b || median(a->ns, rounds) < median(b->ns, rounds);
}

static const contestant *fastest(const race *r, role wanted, const char *name) {
    const contestant *best = NULL;
    for (size_t i = 0; i < r->count; i++) {
        const contestant *c = &r->list[i];
        if (c->role != wanted || (name && strcmp(c->name, name) != 0)) continue;
        if (is_faster(c, best, r->rounds)) best = c;
    }
    return best;
}

static void add_peers(result *out, const race *r, const contestant *best, bool is_rate) {
    for (size_t i = 0; i < r->count && out->peer_count < NAMES_MAX; i++) {
        const char *name = r->list[i].name;
        bool seen = r->list[i].role != ROLE_PEER;
        for (unsigned j = 0; j < out->peer_count; j++)
            seen = seen || !strcmp(out->peers[j].name, name);
        if (seen) continue;
        const contestant *c = fastest(r, ROLE_PEER, name);
        if (c == best) out->best = out->peer_count;
        out->peers[out->peer_count++] = entry_of(c, r->rounds, is_rate);
    }
}

static void add_others(result *out, const race *r, const contestant *ours, bool is_rate) {
    for (size_t i = 0; i < r->count && out->other_count < OTHERS_MAX; i++) {
        const contestant *c = &r->list[i];
        if (c->role != ROLE_OTHER) continue;
        out->speedup[out->other_count] = speed_ratio(ours, c, r->rounds).middle;
        out->others[out->other_count++] = entry_of(c, r->rounds, is_rate);
    }
}

void result_make(result *out, const char *title, const race *r, bool is_rate) {
    const contestant *ours = fastest(r, ROLE_OURS, NULL), *best = fastest(r, ROLE_PEER, NULL),
                     *peak = fastest(r, ROLE_PEAK, NULL);
    memset(out, 0, sizeof *out);
    snprintf(out->title, sizeof out->title, "%s", title);
    out->ours = entry_of(ours, r->rounds, is_rate);
    add_peers(out, r, best, is_rate);
    if (best) {
        spread s = speed_ratio(ours, best, r->rounds);
        out->ratio = s.middle, out->low = s.low, out->high = s.high;
    }
    add_others(out, r, ours, is_rate);
    if (!peak) return;
    out->peak = median_value(peak, r->rounds, is_rate);
    out->share = speed_ratio(ours, peak, r->rounds).middle;
    if (best) out->limit = speed_ratio(peak, best, r->rounds).middle;
}

/* The geometric mean of a figure where it is known; 0 = nowhere. */
static double geomean(const result *results, size_t count, size_t offset) {
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        double value = *(const double *)((const char *)&results[i] + offset);
        if (value > 0) sum += log(value), known++;
    }
    return known ? exp(sum / (double)known) : 0;
}

void group_figures_make(group_figures *out, const result *results, size_t count) {
    memset(out, 0, sizeof *out);
    out->geomean = geomean(results, count, offsetof(result, ratio));
    out->limit = geomean(results, count, offsetof(result, limit));
    out->share = geomean(results, count, offsetof(result, share));
    for (size_t i = 0; i < count; i++) {
        if (!results[i].ratio || (out->minimum && results[i].ratio >= out->minimum)) continue;
        out->minimum = results[i].ratio;
        out->minimum_title = results[i].title;
    }
}
