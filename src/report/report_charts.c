/* Where the time goes, and how the times of runs are spread. */
#include "cli/report/report.h"

#include <math.h>

void report_breakdown(const report *r) {
    const json *operations = json_get(r->run, "operations");
    const size_t count = json_length(operations) < 14 ? json_length(operations) : 14;
    const double most = json_number(json_item(operations, 0), "share");
    report_bars(r, count, "time by operation");
    for (size_t i = 0; i < count; i++) {
        const json *row = json_item(operations, i);
        char name[160], value[96], time[32];
        const double share = json_number(row, "share");
        snprintf(name, sizeof name, "%s %s %s", json_text(row, "operation"),
                 json_text(row, "kernel"), json_text(row, "shape"));
        snprintf(value, sizeof value, "%.1f %%, %s", 100 * share,
                 format_seconds(time, json_number(row, "seconds")));
        report_bar_text(r, i, name, value);
        report_bar_part(r, i, 0, most > 0 ? share / most : 0, "bar", json_text(row, "does"));
    }
    fprintf(r->file, "</svg>\n");
}

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
    report_picture(r, TALL + 34, "times of runs");
    for (int i = 0; i < BUCKETS; i++) {
        const double tall = (double)buckets[i] / (double)most * TALL;
        if (buckets[i])
            fprintf(r->file,
                    "<rect class=\"bar\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\">"
                    "<title>%zu</title></rect>\n",
                    i * 100.0 / BUCKETS, 6 + TALL - tall, 100.0 / BUCKETS - 0.2, tall, buckets[i]);
    }
    fprintf(r->file, "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>\n", TALL + 6,
            TALL + 6);
    for (int i = 0; i <= 4; i++) {
        char text[32];
        fprintf(r->file, "<text class=\"small\" x=\"%d%%\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                i * 25, TALL + 24,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                format_seconds(text, pow(10, low + i * width / 4)));
    }
    fprintf(r->file,
            "</svg>\n<p class=\"small\">%zu runs, measured; the scale is logarithmic.</p>\n",
            count);
}
