/* Times of one model, from the oldest to the newest, as an SVG that is legible in light and dark. */
#include "report/report.h"

void eg__report_times(eg__page *page, const char *title, const double *seconds, size_t count) {
    enum { WIDTH = 720, HEIGHT = 240, EDGE = 50 };
    double high = 0;
    for (size_t i = 0; i < count; i++)
        if (seconds[i] > high) high = seconds[i];
    char text[32];
    eg__page_put(
        page,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"system-ui, "
        "sans-serif\" font-size=\"12\"><style>svg{background:#fff}text{fill:#333}polyline{fill:none;"
        "stroke:#2166ac;stroke-width:2}@media(prefers-color-scheme:dark){svg{background:#161616}text"
        "{fill:#ccc}polyline{stroke:#6baed6}}</style><text x=\"%d\" y=\"22\">median time: ",
        WIDTH, HEIGHT, EDGE);
    eg__page_escape(page, title);
    eg__page_put(
        page,
        "</text>"
        "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\">0</text><polyline points=\"",
        4, EDGE, eg__report_seconds(text, high), 24, HEIGHT - 20);
    for (size_t i = 0; i < count; i++) {
        const double at = count > 1 ? (double)i / (double)(count - 1) : 0.5;
        eg__page_put(page, "%.1f,%.1f ", EDGE + at * (WIDTH - EDGE - 20),
                     HEIGHT - 24 - (high > 0 ? seconds[count - 1 - i] / high : 0) * (HEIGHT - 70));
    }
    eg__page_put(page, "\"/></svg>\n");
}
