/* Where the time goes, and how the times of runs are spread. */
#include "report/report.h"

#include <math.h>

void eg__report_breakdown(const eg__sheet *s) {
    const eg__json_value *operations = eg__json_get(s->run, "operations");
    const size_t count = eg__json_length(operations) < 14 ? eg__json_length(operations) : 14;
    eg__report_bars(s, count, "time by operation", "0", "100 % of a run");
    for (size_t i = 0; i < count; i++) {
        const eg__json_value *row = eg__json_item(operations, i);
        char name[160], value[96], time[32];
        const double share = eg__json_number(row, "share");
        eg__report_print(name, sizeof name, "%zu %s %s %s", i + 1, eg__json_text(row, "operation"),
                         eg__json_text(row, "kernel"), eg__json_text(row, "shape"));
        eg__report_print(value, sizeof value, "%.1f %%, %s", 100 * share,
                         eg__report_seconds(time, eg__json_number(row, "seconds")));
        eg__report_bar_text(s, i, eg__report_clip(name), value);
        eg__report_bar_part(s, i, 0, share, "bar", eg__json_text(row, "does"));
    }
    eg__page_put(s->page, "</svg>\n");
}

void eg__report_histogram(const eg__sheet *s) {
    enum { BUCKETS = 60, TALL = 150 };
    const eg__json_value *time = eg__json_get(s->run, "time"),
                         *samples = eg__json_get(time, "samples");
    const size_t count = eg__json_length(samples);
    const double low = log10(eg__json_number(time, "min")),
                 high = log10(eg__json_number(time, "max"));
    size_t buckets[BUCKETS] = {0}, most = 1;
    if (!count || !isfinite(low) || !isfinite(high)) return;
    const double width = high > low ? high - low : 1e-9;
    for (size_t i = 0; i < count; i++) {
        int at = (int)((log10(eg__json_item_number(samples, i)) - low) / width * BUCKETS);
        at = at < 0 ? 0 : at >= BUCKETS ? BUCKETS - 1 : at;
        if (++buckets[at] > most) most = buckets[at];
    }
    eg__report_picture(s, TALL + 34, "times of runs");
    for (int i = 0; i < BUCKETS; i++) {
        const double tall = (double)buckets[i] / (double)most * TALL;
        if (buckets[i])
            eg__page_put(
                s->page,
                "<rect class=\"bar\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\">"
                "<title>%zu</title></rect>\n",
                i * 100.0 / BUCKETS, 6 + TALL - tall, 100.0 / BUCKETS - 0.2, tall, buckets[i]);
    }
    eg__page_put(s->page, "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>\n",
                 TALL + 6, TALL + 6);
    for (int i = 0; i <= 4; i++) {
        char text[32];
        eg__page_put(s->page,
                     "<text class=\"small\" x=\"%d%%\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                     i * 25, TALL + 24,
                     i == 0   ? "start"
                     : i == 4 ? "end"
                              : "middle",
                     eg__report_seconds(text, pow(10, low + i * width / 4)));
    }
    char runs[48];
    eg__page_put(s->page,
                 "</svg>\n<p class=\"small\">%s runs, measured; the scale is logarithmic.</p>\n",
                 eg__report_count(runs, (double)count));
}
