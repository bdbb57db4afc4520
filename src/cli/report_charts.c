/* Bars and histograms of a report. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 760, LABEL = 250, ROW = 24 };

static void begin(const report *r, double height, const char *what) {
    fprintf(r->file, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
            height, what);
}

/* A name, a bar, a value behind it. */
static void bar(const report *r, size_t row, const char *name, double share, const char *value,
                const char *class) {
    const double y = (double)(row * ROW), width = share * (WIDTH - LABEL - 130);
    fprintf(r->file, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">", LABEL - 10, y + 16);
    report_text(r->file, name);
    fprintf(r->file,
            "</text><rect class=\"%s\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>"
            "<text x=\"%.1f\" y=\"%.0f\">",
            class, LABEL, y + 4, width > 1 ? width : 1, ROW - 8, LABEL + width + 8, y + 16);
    report_text(r->file, value);
    fprintf(r->file, "</text>\n");
}

void report_breakdown(const report *r) {
    const json *operations = json_get(r->run, "operations");
    const size_t count = json_length(operations) < 14 ? json_length(operations) : 14;
    const double most = json_number(json_item(operations, 0), "share");
    begin(r, (double)(count * ROW + 4), "time by operation");
    for (size_t i = 0; i < count; i++) {
        const json *row = json_item(operations, i);
        char name[160], value[96], time[32];
        const double share = json_number(row, "share");
        snprintf(name, sizeof name, "%s %s %s", json_text(row, "operation"),
                 json_text(row, "kernel"), json_text(row, "shape"));
        snprintf(value, sizeof value, "%.1f %%, %s", 100 * share,
                 format_seconds(time, json_number(row, "seconds")));
        bar(r, i, name, most > 0 ? share / most : 0, value, "bar");
    }
    fprintf(r->file, "</svg>\n");
}

/* ---- memory */
typedef struct memory_bars {
    const report *report;
    size_t row;
    double most;
} memory_bars;

static double bytes_of(const json *object, const char *key) { return json_number(object, key); }

static bool find_most(void *user, const char *key, json *value) {
    memory_bars *m = user;
    (void)value;
    const double bytes = bytes_of(json_get(m->report->run, "memory_at_peak"), key);
    if (bytes > m->most) m->most = bytes;
    m->row++;
    return true;
}

static bool draw_memory(void *user, const char *key, json *value) {
    memory_bars *m = user;
    char text[32];
    (void)value;
    const double bytes = bytes_of(json_get(m->report->run, "memory_at_peak"), key);
    bar(m->report, m->row++, key, m->most > 0 ? bytes / m->most : 0,
        format_bytes(text, bytes > 0 ? (uint64_t)bytes : 0), "bar second");
    return true;
}

void report_memory(const report *r) {
    memory_bars m = {.report = r};
    json *peak = json_get(r->run, "memory_at_peak");
    json_each(peak, find_most, &m);
    begin(r, (double)(m.row * ROW + 4), "memory at the peak");
    m.row = 0;
    json_each(peak, draw_memory, &m);
    fprintf(r->file, "</svg>\n");
}

/* ---- times of runs */
void report_histogram(const report *r) {
    enum { BUCKETS = 60, TALL = 150 };
    const json *time = json_get(r->run, "time"), *samples = json_get(time, "samples");
    const size_t count = json_length(samples);
    const double low = log10(json_number(time, "min")), high = log10(json_number(time, "max"));
    size_t buckets[BUCKETS] = {0}, most = 1;
    if (!count || !isfinite(low) || !isfinite(high)) return;
    const double width = high > low ? high - low : 1e-9;
    for (size_t i = 0; i < count; i++) {
        int at = (int)((log10(json_item_number(samples, i)) - low) / width * BUCKETS);
        at = at < 0 ? 0 : at >= BUCKETS ? BUCKETS - 1 : at;
        if (++buckets[at] > most) most = buckets[at];
    }
    begin(r, TALL + 40, "times of runs");
    for (int i = 0; i < BUCKETS; i++) {
        const double tall = (double)buckets[i] / (double)most * TALL;
        if (buckets[i])
            fprintf(r->file,
                    "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                    20 + i * (WIDTH - 40.0) / BUCKETS, 4 + TALL - tall,
                    (WIDTH - 40.0) / BUCKETS - 1, tall);
    }
    for (int i = 0; i <= 4; i++) {
        char text[32];
        fprintf(r->file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                20 + i * (WIDTH - 40.0) / 4, TALL + 24,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                format_seconds(text, pow(10, low + i * width / 4)));
    }
    fprintf(r->file, "</svg>\n<p class=\"small\">%zu runs; the scale is logarithmic.</p>\n", count);
}

/* ---- other chips */
void report_devices(const report *r) {
    const json *devices = json_get(r->run, "devices");
    const size_t count = json_length(devices);
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, json_number(json_item(devices, i), "tflops"));
    begin(r, (double)(count * ROW + 4), "other chips");
    for (size_t i = 0; i < count; i++) {
        const json *device = json_item(devices, i);
        char value[128], time[32];
        const double tflops = json_number(device, "tflops");
        snprintf(value, sizeof value, "%.3g TFLOP/s, %s", tflops,
                 format_seconds(time, json_number(device, "seconds")));
        bar(r, i, json_text(device, "name"), most > 0 ? tflops / most : 0, value, "bar third");
    }
    fprintf(r->file, "</svg>\n");
}
