/* Actions for a bottleneck, and where to look when a ratio is too low: only actions that apply to
 * this run. */
#include "profile/analysis.h"

#include <stdio.h>
#include <string.h>

/* ---- lists of actions: those that apply */
typedef struct way {
    bool there;
    const char *text;
} way;

static void say_ways(char out[200], const char *lead, const way *ways, size_t count,
                     const char *none) {
    size_t left = 0, at;
    for (size_t i = 0; i < count; i++) left += ways[i].there;
    at = (size_t)snprintf(out, 200, "%s%s", lead, left ? "" : none);
    for (size_t i = 0, said = 0; i < count; i++) {
        if (!ways[i].there) continue;
        const char *between = !said ? "" : left == 1 ? " or " : ", ";
        at += (size_t)snprintf(out + at, 200 - at, "%s%s", between, ways[i].text);
        said++;
        left--;
    }
}

/* Blocks of int4, the smallest that there are, have 4.5 bits. */
static bool shrinkable(const eg__facts *f) { return f->weight_bits > 5; }

/* ---- a bottleneck, by what bounds it */
static void more_threads(const eg__facts *f, const eg_profile_row *row, char out[200]) {
    (void)row;
    const way ways[] = {{true, "fewer FLOPs"}, {f->threads < f->cores, "more threads"}};
    say_ways(out, "", ways, 2, "");
}

/* Weights are the same at any batch: a product that reads little else gains nothing from a smaller
 * batch. */
static void fewer_bytes(const eg__facts *f, const eg_profile_row *row, char out[200]) {
    const double weights = eg__row_weights(row, f->weight_bits);
    const way ways[] = {{weights > 0.1 && shrinkable(f), "smaller weights"},
                        {weights < 0.9 && f->batch > 1, "a smaller batch"}};
    say_ways(out, "fewer bytes: ", ways, 2, "a smaller model");
}

static void nearest(const eg__facts *f, const eg_profile_row *row, char out[200]) {
    (void)f;
    snprintf(out, 200, "nothing: its values are %s",
             strcmp(row->bound, "L1") == 0 ? "as near as they can be" : "in the second cache");
}

static void larger_steps(const eg__facts *f, const eg_profile_row *row, char out[200]) {
    (void)f;
    (void)row;
    snprintf(out, 200, "fewer and larger steps: a larger batch");
}

void eg__action_bound(const eg__facts *f, const eg_profile_row *row, char out[200]) {
    static const struct {
        const char *bound;
        void (*say)(const eg__facts *f, const eg_profile_row *row, char out[200]);
    } actions[] = {{"compute", more_threads}, {"L1", nearest},       {"L2", nearest},
                   {"L3", fewer_bytes},       {"DRAM", fewer_bytes}, {"overhead", larger_steps}};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].bound, row->bound) == 0) {
            actions[i].say(f, row, out);
            return;
        }
    snprintf(out, 200, "ceilings tell what bounds it: elegans info --measure");
}

/* ---- a ratio: where to look first */
static bool waits(const eg_profile_row *row) {
    return strcmp(row->bound, "L3") == 0 || strcmp(row->bound, "DRAM") == 0;
}
static bool lags(const eg_profile_row *row) { return row->roof_share < 0.5; }

/* Whether one of the listed bottlenecks is such an operation. */
static bool listed(const eg__facts *f, bool (*is)(const eg_profile_row *row)) {
    for (size_t i = 0; f->profile && i < f->profile->operation_count; i++)
        if (eg__is_bottleneck(&f->profile->operations[i]) && is(&f->profile->operations[i]))
            return true;
    return false;
}

static const char grid[] = "elegans profile --grid: which batch has the most samples per second";

static void on_compute(const eg__facts *f, char out[200]) {
    snprintf(out, 200, "%s",
             listed(f, lags) ? "the bottlenecks above: operations far below their roofs"
             : f->weights_wait > 0.5
                 ? "more FLOPs for each weight that it waits for: a larger batch"
                 : grid);
}

static void on_bandwidth(const eg__facts *f, char out[200]) {
    snprintf(out, 200, "%s",
             listed(f, waits) ? "the bottlenecks above: operations that wait for memory"
                              : "nothing: no bottleneck waits for the DRAM");
}

static void on_memory(const eg__facts *f, char out[200]) {
    const bool sequence = f->profile && f->profile->options.seq > 1;
    const way ways[] = {{f->batch > 1, "a smaller batch"},
                        {sequence, "a shorter sequence"},
                        {shrinkable(f), "elegans quantize"}};
    say_ways(out, "", ways, 3, "a smaller model, or a machine with more memory");
}

static void on_cache(const eg__facts *f, char out[200]) {
    (void)f;
    snprintf(out, 200, "%s", grid);
}

static void on_engine(const eg__facts *f, char out[200]) {
    (void)f;
    snprintf(out, 200, "nothing: no kernel of ours runs on the Neural Engine");
}

static void on_controller(const eg__facts *f, char out[200]) {
    const way ways[] = {{shrinkable(f), "elegans quantize"}, {f->batch > 1, "a smaller batch"}};
    say_ways(out, "fewer bytes: ", ways, 2, "a smaller model");
}

static void on_power(const eg__facts *f, char out[200]) {
    snprintf(out, 200, "%s",
             f->threads > 1 ? "fewer threads: --threads" : "nothing: it has one thread already");
}

void eg__action_ratio(const eg__facts *f, eg_ratio_id id, char out[200]) {
    static void (*const actions[EG_RATIO_COUNT])(const eg__facts *f, char out[200]) = {
        [EG_RATIO_compute] = on_compute, [EG_RATIO_bandwidth] = on_bandwidth,
        [EG_RATIO_memory] = on_memory,   [EG_RATIO_cache] = on_cache,
        [EG_RATIO_engine] = on_engine,   [EG_RATIO_controller] = on_controller,
        [EG_RATIO_power] = on_power};
    actions[id](f, out);
}
