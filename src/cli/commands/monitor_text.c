/* A sample as lines: the machine, then the programs, then what is not known and why. */
#include "cli/commands/monitor.h"

#include <string.h>

/* ---- figures in the unit that people read; samples have base units */
static void as_bytes(char out[64], double value) {
    char text[32];
    snprintf(out, 64, "%s", format_bytes(text, value > 0 ? (uint64_t)value : 0));
}
static void as_clock(char out[64], double value) { snprintf(out, 64, "%.0f MHz", value * 1e-6); }
static void as_traffic(char out[64], double value) {
    if (value && value < 1e8) snprintf(out, 64, "%.3f MB/s", value * 1e-6);
    else snprintf(out, 64, "%.1f GB/s", value * 1e-9);
}
static void as_flops(char out[64], double value) {
    if (value && value < 1e8) snprintf(out, 64, "%.3f MFLOP/s", value * 1e-6);
    else snprintf(out, 64, "%.2f GFLOP/s", value * 1e-9);
}
static void as_answer(char out[64], double value) {
    snprintf(out, 64, "%s", value > 0 ? "yes" : "no");
}
static void as_level(char out[64], double value) { snprintf(out, 64, "level %.0f", value); }
static void as_degrees(char out[64], double value) { snprintf(out, 64, "%.1f °C", value); }
static void as_time(char out[64], double value) {
    char text[32];
    snprintf(out, 64, "%s", format_seconds(text, value));
}
static void as_count(char out[64], double value) { snprintf(out, 64, "%.0f", value); }

static const struct {
    const char *unit;
    void (*format)(char out[64], double value);
} formats[] = {{"B", as_bytes},      {"Hz", as_clock},      {"B/s", as_traffic},
               {"FLOP/s", as_flops}, {"yes/no", as_answer}, {"level", as_level},
               {"C", as_degrees},    {"s", as_time},        {"steps", as_count},
               {"tokens", as_count}, {"epochs", as_count},  {"updates", as_count}};

static const char *format_value(char out[64], const eg_metric *m) {
    char text[32];
    for (size_t i = 0; m->unit && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].unit, m->unit) == 0) {
            formats[i].format(out, m->value);
            return out;
        }
    if (!m->unit) snprintf(out, 64, "%.4g", m->value);
    else if (strchr(m->unit, '/'))
        snprintf(out, 64, "%s %s", format_short(text, m->value), m->unit);
    else snprintf(out, 64, "%.1f %s", m->value, m->unit);
    return out;
}

static const char *spaced(char out[48], const char *name) {
    snprintf(out, 48, "%s", name);
    for (char *c = out; *c; c++)
        if (*c == '_') *c = ' ';
    return out;
}

static void print_value(const char *name, const char *label, const eg_metric *m) {
    char value[64];
    printf("  %-16s ", name);
    print_padded(label, 32);
    format_value(value, m);
    printf(" %*s%s  %s%9s%s\n", 14 - text_columns(value), "", value, style_dim(),
           eg_provenance_name(m->provenance), style_end());
}

/* ---- the machine: each sensor's name once */
static void print_readings(const eg_monitor_sample *sample) {
    char name[48];
    for (size_t i = 0; i < sample->reading_count; i++) {
        const eg_reading *r = &sample->readings[i];
        const bool again = i && r[-1].sensor == r->sensor;
        if (r->metric.provenance != EG_UNAVAILABLE)
            print_value(again ? "" : spaced(name, eg_sensor_name(r->sensor)), r->label, &r->metric);
    }
}

static void print_missing(const eg_monitor_sample *sample) {
    char name[48];
    bool any = false;
    for (size_t i = 0; i < sample->reading_count; i++) {
        const eg_reading *r = &sample->readings[i];
        if (r->metric.provenance != EG_UNAVAILABLE) continue;
        if (!any) print_section("not reported here", "");
        any = true;
        printf("  %-16s ", spaced(name, eg_sensor_name(r->sensor)));
        print_folded(r->source, strlen(r->source), 19, 19, NULL);
    }
}

/* ---- programs */

/* Figures that are unknown for the same reason, in one line. */
static void print_unknown(const eg_published *p) {
    bool told[EG_FIGURE_COUNT] = {0};
    for (int i = 0; i < EG_FIGURE_COUNT; i++) {
        const eg_metric *m = &p->figures[i];
        char text[400], name[48];
        if (m->provenance != EG_UNAVAILABLE || told[i]) continue;
        int used = 0;
        for (int k = i; k < EG_FIGURE_COUNT; k++) {
            const eg_metric *other = &p->figures[k];
            if (other->provenance != EG_UNAVAILABLE || strcmp(other->source, m->source) != 0)
                continue;
            told[k] = true;
            if (used < (int)sizeof text)
                used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", used ? ", " : "",
                                 spaced(name, eg_figure_name((eg_figure)k)));
        }
        if (used < (int)sizeof text)
            snprintf(text + used, sizeof text - (size_t)used, ": %s", m->source);
        printf("  %-16s ", "unknown");
        print_folded(text, strlen(text), 19, 19, NULL);
    }
}

static void print_curve(const eg_published *p) {
    enum { COLUMNS = 60 };
    double least = 0, most = 0;
    if (p->loss_count < 2) return;
    for (size_t i = 0; i < p->loss_count; i++) {
        const double loss = p->losses[i].loss;
        if (!i || loss < least) least = loss;
        if (!i || loss > most) most = loss;
    }
    const size_t columns = p->loss_count < COLUMNS ? p->loss_count : COLUMNS;
    printf("  %-16s ", "loss curve");
    for (size_t c = 0; c < columns; c++) {
        const double loss = p->losses[c * (p->loss_count - 1) / (columns - 1)].loss;
        fputs(format_block(most > least ? (loss - least) / (most - least) : 0.5), stdout);
    }
    putchar('\n');
}

static void print_published(const eg_published *p) {
    char title[256], pid[32], name[48];
    snprintf(title, sizeof title, "%s%s%s%s%s", p->program, p->activity[0] ? " " : "", p->activity,
             p->model[0] ? " " : "", p->model);
    snprintf(pid, sizeof pid, "pid %llu", (unsigned long long)p->pid);
    print_section(title, pid);
    printf("  %-16s ", "verdict");
    print_folded(p->verdict, strlen(p->verdict), 19, 19, NULL);
    for (int i = 0; i < EG_FIGURE_COUNT; i++)
        if (p->figures[i].provenance != EG_UNAVAILABLE)
            print_value(spaced(name, eg_figure_name((eg_figure)i)), "", &p->figures[i]);
    for (size_t i = 0; i < p->operation_count; i++) {
        const eg_metric share = {100 * p->operations[i].share, EG_MEASURED, "%", NULL};
        print_value(i ? "" : "operations", p->operations[i].name, &share);
    }
    print_curve(p);
    print_unknown(p);
}

void monitor_print(const eg_monitor_sample *sample) {
    char note[64];
    snprintf(note, sizeof note, "over %.2f s", sample->elapsed);
    print_title("what this machine is doing", note);
    print_readings(sample);
    for (size_t i = 0; i < sample->published_count; i++) print_published(&sample->published[i]);
    if (!sample->published_count) {
        print_section("programs", "");
        printf("  none of this user publishes now\n");
    }
    if (sample->ignored) {
        snprintf(note, sizeof note, "%zu", sample->ignored);
        print_row("ignored files", note, "counted");
        print_row("", sample->ignored_text, "");
    }
    print_missing(sample);
}
