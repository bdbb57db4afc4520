/* A profile as text. */
#include "cli/commands/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names are those of the JSON, in shorter words where they would not fit. */
static const char *short_name(const char *name, char out[16]) {
    static const char *const shorter[][2] = {{"samples_per_second", "samples"},
                                             {"calls_per_second", "calls"},
                                             {"steps_per_second", "steps"},
                                             {"compute_efficiency", "efficiency"},
                                             {"bandwidth_utilization", "of the DRAM's"},
                                             {"operand_utilization", "of its level"},
                                             {"dram_bytes", "DRAM bytes"},
                                             {"total_allocated", "allocated"},
                                             {"total_freed", "freed"},
                                             {"memory_bandwidth", "DRAM"},
                                             {"mc_utilization", "controller"},
                                             {"context_switches", "switches"},
                                             {"cache_references", "cache accesses"},
                                             {"cache_hits", "program reuse"},
                                             {"energy_per_run", "energy per run"},
                                             {"cache_hit_rate", "L1 hit rate"},
                                             {"activations_rms", "rms error"},
                                             {"activations_max", "largest error"},
                                             {"cache", "L1 hit rate"}};
    for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++)
        if (strcmp(name, shorter[i][0]) == 0) return shorter[i][1];
    snprintf(out, 16, "%s", name);
    for (char *c = out; *c; c++)
        if (*c == '_') *c = ' ';
    return out;
}

static void print_metric(const char *full, const eg_metric *metric) {
    char value[160], number[32], scratch[16];
    const char *name = short_name(full, scratch);
    const double v = metric->value;
    const char *unit = metric->unit ? metric->unit : "";
    if (metric->provenance == EG_UNAVAILABLE) {
        snprintf(value, sizeof value, "unavailable: %s", metric->source);
        print_row(name, value, "");
        return;
    }
    if (strcmp(unit, "B") == 0) format_bytes(value, (uint64_t)v);
    else if (strcmp(unit, "s") == 0) format_seconds(value, v);
    else if (strcmp(unit, "ratio") == 0) snprintf(value, sizeof value, "%.1f %%", 100 * v);
    else if (metric->provenance == EG_COUNTED && v == floor(v) && fabs(v) < 1e5)
        snprintf(value, sizeof value, "%.0f %s", v, unit);
    else if (fabs(v) >= 1e5 || (v != 0 && fabs(v) < 0.01))
        snprintf(value, sizeof value, "%.4g %s", v, unit);
    else snprintf(value, sizeof value, "%s %s", format_short(number, v), unit);
    print_row(name, value, eg_provenance_name(metric->provenance));
}

void profile_print_figure(const char *name, const eg_metric *metric) { print_metric(name, metric); }

static void print_metrics(const eg_profile *profile, const eg_profile_metric_id *ids) {
    for (; *ids != EG_PROFILE_METRICS; ids++) {
        const eg_metric metric = eg_profile_metric(profile, *ids);
        print_metric(eg_profile_metric_name(*ids), &metric);
    }
}

static void print_time(const eg_profile *profile) {
    eg_statistics s;
    char value[160], a[32], b[32], c[32];
    eg_profile_time(profile, &s);
    char runs[64];
    snprintf(value, sizeof value, "%s; rates are over p50, the median",
             format_count(runs, s.count, "run"));
    print_section("time", value);
    const struct {
        const char *name;
        const eg_interval *interval;
    } rows[] = {{"p50", &s.p50}, {"mean", &s.mean}, {"p90", &s.p90}, {"p99", &s.p99}};
    for (size_t i = 0; i < 4; i++) {
        const eg_interval *v = rows[i].interval;
        if (isfinite(v->low) && isfinite(v->high))
            snprintf(value, sizeof value, "%s  (95 %%: %s to %s)", format_seconds(a, v->value),
                     format_seconds(b, v->low > s.least ? v->low : s.least),
                     format_seconds(c, v->high));
        else snprintf(value, sizeof value, "%s", format_seconds(a, v->value));
        print_row(rows[i].name, value, "measured");
    }
    snprintf(value, sizeof value, "%s to %s, deviation %s", format_seconds(a, s.least),
             format_seconds(b, s.most), format_seconds(c, s.deviation));
    print_row("range", value, "measured");
    char noise[EG_NOISE_TEXT];
    if (eg_statistics_noise(&s, noise) != EG_NOISE_NONE) {
        snprintf(value, sizeof value, "yes: %s", noise);
        print_row("noisy", value, "measured");
    }
}

/* ---- tables */
static const char *sort_key;
static double key_of(const eg_profile_row *row) {
    const struct {
        const char *name;
        double value;
    } keys[] = {
        {"time", row->seconds}, {"calls", (double)row->calls}, {"flops", row->flops},
        {"bytes", row->bytes},  {"intensity", row->intensity}, {"gflops", row->gflops},
        {"gbps", row->gbps},    {"roof", -row->roof_share},    {"step", -(double)row->step}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(sort_key, keys[i].name) == 0) return keys[i].value;
    return row->seconds;
}

static int by_key(const void *a, const void *b) {
    const double x = key_of(*(const eg_profile_row *const *)a);
    const double y = key_of(*(const eg_profile_row *const *)b);
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return x < y ? 1 : x > y ? -1 : 0;
}

static void print_table_row(const eg_profile_row *row) {
    char time[32], name[64], label[128], roof[16] = "-", flops[16] = "-";
    const bool same = strcmp(row->operation, row->kernel) == 0;
    snprintf(name, sizeof name, "%s%s%s%s", row->inside ? ". " : "", row->operation,
             same ? "" : " ", same ? "" : row->kernel);
    snprintf(label, sizeof label, "%-14s %s", name, row->shape);
    if (isfinite(row->roof_share)) snprintf(roof, sizeof roof, "%.0f", 100 * row->roof_share);
    if (row->flops > 0 && isfinite(row->gflops)) snprintf(flops, sizeof flops, "%.1f", row->gflops);
    printf("  %-26.26s %5llu %8s %5.1f %7s %7.1f %5s %s\n", label, (unsigned long long)row->calls,
           format_seconds(time, row->seconds), 100 * row->share, flops,
           isfinite(row->gbps) ? row->gbps : 0, roof, row->bound);
}

/* Both are measured, one by the recorder and one around the run. */
static void print_sum(const eg_profile *profile) {
    const eg_metric sum = eg_profile_metric(profile, EG_PROFILE_steps_sum),
                    run = eg_profile_metric(profile, EG_PROFILE_recorded_time);
    char steps[32], around[32];
    if (sum.provenance != EG_MEASURED || run.provenance != EG_MEASURED || !(run.value > 0)) return;
    printf("  %ssteps add up to %.1f %% of the run: %s of %s by a clock around it%s\n", style_dim(),
           100 * sum.value / run.value, format_seconds(steps, sum.value),
           format_seconds(around, run.value), style_end());
}

static int print_table(const eg_profile *profile, const profile_settings *w) {
    const eg_profile_row *(*at)(const eg_profile *, size_t) =
        w->steps ? eg_profile_step : eg_profile_operation;
    size_t count = 0, top = w->top ? (size_t)w->top : 10;
    while (at(profile, count)) count++;
    if (!count) return CLI_OK;
    const eg_profile_row **rows = take_memory(count, sizeof *rows);
    for (size_t i = 0; i < count; i++) rows[i] = at(profile, i);
    sort_key = w->sort ? w->sort : w->steps ? "step" : "time";
    qsort(rows, count, sizeof *rows, by_key);
    if (w->steps && !w->top) top = count;
    char note[64];
    snprintf(note, sizeof note, "%zu of %zu, by %s", top < count ? top : count, count, sort_key);
    print_section(w->steps ? "steps" : "operations", note);
    printf("  %s%-14s %-11s %5s %8s %5s %7s %7s %5s %s%s\n", style_dim(), "", "shape", "calls",
           "time", "%", "GFLOP/s", "op GB/s", "roof%", "bound", style_end());
    for (size_t i = 0; i < count && i < top; i++) print_table_row(rows[i]);
    print_sum(profile);
    free(rows);
    return CLI_OK;
}

/* ---- parts */
static void print_memory(const eg_profile *profile) {
    static const eg_profile_metric_id ids[] = {
        EG_PROFILE_peak_memory,  EG_PROFILE_current_memory,  EG_PROFILE_library_peak,
        EG_PROFILE_library_held, EG_PROFILE_total_allocated, EG_PROFILE_total_freed,
        EG_PROFILE_leaked,       EG_PROFILE_unified_peak,    EG_PROFILE_METRICS};
    static const eg_profile_metric_id moved[] = {
        EG_PROFILE_bytes_moved, EG_PROFILE_operand_rate, EG_PROFILE_operand_utilization,
        EG_PROFILE_dram_bytes,  EG_PROFILE_bandwidth,    EG_PROFILE_bandwidth_utilization,
        EG_PROFILE_METRICS};
    char value[64];
    const char *level = eg_profile_operand_level(profile);
    print_section("memory", "of the process, then of the library");
    print_metrics(profile, ids);
    snprintf(value, sizeof value,
             level ? "operands come from the %s; bandwidth is the DRAM's" : "%s",
             level ? level : "bandwidth is the DRAM's");
    print_section("what it moves", value);
    print_metrics(profile, moved);
    print_section("while it runs", "by what it is for");
    for (int tag = 0; tag < EG_TAG_COUNT; tag++)
        if (eg_profile_run_tag(profile, (eg_tag)tag))
            print_row(eg_tag_name((eg_tag)tag),
                      format_bytes(value, eg_profile_run_tag(profile, (eg_tag)tag)), "counted");
    memory_print(profile);
}

static void print_hardware(const eg_profile *profile) {
    static const eg_profile_metric_id ids[] = {
        EG_PROFILE_cache_hit_rate, EG_PROFILE_memory_bandwidth, EG_PROFILE_mc_utilization,
        EG_PROFILE_ne_tflops,      EG_PROFILE_ne_utilization,   EG_PROFILE_ne_cycles,
        EG_PROFILE_transfer_rate,  EG_PROFILE_METRICS};
    eg_hardware h;
    eg_profile_hardware(profile, &h);
    print_section("hardware", "over all timed runs");
    const char *const apart[] = {"energy", "power"}; /* of the section before */
#define PRINT(name, unit, text) \
    if (strcmp(#name, apart[0]) != 0 && strcmp(#name, apart[1]) != 0) print_metric(#name, &h.name);
    EG_HARDWARE_MAP(PRINT)
#undef PRINT
    print_metrics(profile, ids);
}

static void print_joules(const eg_profile_row *row, double run) {
    char name[64], value[96], all[32], call[32];
    snprintf(name, sizeof name, "%s %s", row->operation, row->shape);
    snprintf(value, sizeof value, "%s, %.1f %%, %s per call", format_joules(all, row->joules),
             100 * row->joules / run,
             format_joules(call, row->joules / (double)(row->calls ? row->calls : 1)));
    print_row(name, value, "modelled");
}

static void print_energy(const eg_profile *profile) {
    static const eg_profile_metric_id power[] = {EG_PROFILE_power_usage, EG_PROFILE_METRICS};
    char joules[32];
    const eg_metric run = eg_profile_metric(profile, EG_PROFILE_energy_per_run);
    const eg_profile_row *row;
    if (run.provenance == EG_UNAVAILABLE) { /* one line is enough */
        print_section("energy", "");
        print_metric("energy_per_run", &run);
        return;
    }
    print_section("energy", run.source);
    print_metrics(profile, power);
    print_row("energy per run", format_joules(joules, run.value),
              eg_provenance_name(run.provenance));
    for (size_t i = 0; i < 5 && (row = eg_profile_operation(profile, i)); i++)
        print_joules(row, run.value);
    if (eg_profile_operation(profile, 0))
        printf("  %soperations: the energy of a run, times the share of its time%s\n", style_dim(),
               style_end());
}

static const char *format_figure(char out[32], double value, bool bytes) {
    if (bytes) return format_bytes(out, (uint64_t)value);
    snprintf(out, 32, "%.3g", value);
    return out;
}

/* "0.062 of 0.0887 TFLOP/s: 69.8 %, below 0.80" */
static void print_ratios(const eg_analysis *analysis) {
    const eg_ratio *r;
    char value[200], have[32], asked[32], scratch[16];
    print_section("ratios", "beside what is asked of this chip");
    for (size_t i = 0; (r = eg_analysis_ratio(analysis, i)); i++) {
        if (r->ratio.provenance == EG_UNAVAILABLE) {
            snprintf(value, sizeof value, "unavailable: %s", r->ratio.source);
            print_row(short_name(r->name, scratch), value, "");
            continue;
        }
        const bool bytes = strcmp(r->value.unit, "B") == 0;
        if (strcmp(r->value.unit, "ratio") == 0)
            snprintf(value, sizeof value, "%.1f %%, %s", 100 * r->ratio.value, r->verdict);
        else
            snprintf(value, sizeof value, "%s of %s%s%s: %.1f %%, %s",
                     format_figure(have, r->value.value, bytes),
                     format_figure(asked, r->limit.value, bytes), bytes ? "" : " ",
                     bytes ? "" : r->value.unit, 100 * r->ratio.value, r->verdict);
        print_row(short_name(r->name, scratch), value, eg_provenance_name(r->ratio.provenance));
    }
}

/* "promised 40 %, tried: 38 %", or why it was not. */
static void gain_text(const eg_finding *f, double seconds, char note[120]) {
    int at = 0;
    note[0] = 0;
    if (isfinite(f->gain) && f->gain > 0)
        at = snprintf(note, 120, isfinite(f->measured) ? "promised %.0f %%" : "up to %.0f %%",
                      100 * f->gain / seconds);
    if (isfinite(f->measured))
        snprintf(note + at, 120 - (size_t)at, "%stried: %.0f %%", at ? ", " : "",
                 100 * f->measured / seconds);
    else if (f->untried) snprintf(note + at, 120 - (size_t)at, "%s%s", at ? ", " : "", f->untried);
}

static void print_findings(const eg_analysis *analysis, eg_finding_kind kind, const char *title,
                           const char *about, double seconds) {
    const eg_finding *f = eg_analysis_finding(analysis, kind, 0);
    char note[120];
    if (f) print_section(title, about);
    for (size_t i = 0; i < 5 && (f = eg_analysis_finding(analysis, kind, i)); i++) {
        gain_text(f, seconds, note);
        print_wrapped(f->text);
        fputs("      ", stdout);
        print_folded(f->action, strlen(f->action), 6, 6, NULL);
        if (note[0]) printf("      %s%s%s\n", style_dim(), note, style_end());
    }
}

int profile_print(const eg_profile *profile, const eg_analysis *analysis,
                  const profile_settings *w) {
    static const eg_profile_metric_id ids[] = {EG_PROFILE_samples_per_second,
                                               EG_PROFILE_steps_per_second,
                                               EG_PROFILE_flops,
                                               EG_PROFILE_tflops,
                                               EG_PROFILE_compute_efficiency,
                                               EG_PROFILE_compile_time,
                                               EG_PROFILE_cache_hits,
                                               EG_PROFILE_METRICS};
    static const eg_profile_metric_id rounded[] = {EG_PROFILE_activations_rms,
                                                   EG_PROFILE_activations_max, EG_PROFILE_METRICS};
    char note[96];
    const eg_profile_options *o = eg_profile_options_of(profile);
    snprintf(note, sizeof note, "batch %llu, %llu step%s%s%s%s",
             (unsigned long long)(o->batch ? o->batch : 1),
             (unsigned long long)(o->seq ? o->seq : 1), o->seq > 1 ? "s" : "",
             o->no_compile ? ", not compiled" : "", o->activations ? ", activations " : "",
             o->activations ? eg_type_name(o->activations) : "");
    print_title(eg_profile_name(profile), note);
    print_wrapped(eg_analysis_verdict(analysis));
    print_time(profile);
    if (w->parts & PART_COMPUTE) {
        print_section("compute", "");
        print_metrics(profile, ids);
        if (o->activations) print_metrics(profile, rounded);
        const int code = print_table(profile, w);
        if (code) return code;
    }
    if (w->parts & PART_MEMORY) print_memory(profile);
    if (w->parts & PART_HARDWARE ||
        eg_profile_metric(profile, EG_PROFILE_energy_per_run).provenance != EG_UNAVAILABLE)
        print_energy(profile);
    if (w->parts & PART_HARDWARE) print_hardware(profile);
    print_ratios(analysis);
    eg_statistics time;
    eg_profile_time(profile, &time);
    print_findings(analysis, EG_BOTTLENECK, "bottlenecks", "", time.p50.value);
    print_findings(analysis, EG_OPPORTUNITY, "opportunities", "", time.p50.value);
    print_findings(analysis, EG_RECOMMENDATION, "recommendations", "of the time per sample",
                   time.p50.value);
    print_findings(analysis, EG_TRIED, "tried, does not help here",
                   "less than half of what was promised", time.p50.value);
    return CLI_OK;
}
