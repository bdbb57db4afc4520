/* elegans monitor on the whole screen: samples in time, keys in between. */
#include "cli/commands/monitor.h"
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

bool monitor_screen_usable(void) { return screen_usable(); }

/* One sample more, at its time. CLI_DONE: enough of them. */
static int sample_due(view *v, const monitor_watch *w, eg_monitor_sample *sample, uint64_t *taken) {
    if (w->count && *taken == w->count) return CLI_DONE;
    const int code = w->take(w->user, sample);
    if (code == CLI_DONE && w->replays) {
        v->ended = true;
        return CLI_OK;
    }
    if (code) return code;
    *taken += 1;
    v->sample = sample;
    memcpy(v->note, w->alerts->firing, sizeof v->note);
    return CLI_OK;
}

static void draw(view *v, grid *g) {
    int rows, columns;
    screen_size(&rows, &columns);
    view_draw(v, g, rows, columns);
    screen_show(g);
}

/* Until the user leaves, a signal comes or there is nothing more to show. */
static int loop(view *v, grid *g, const monitor_watch *w) {
    eg_monitor_sample sample = {.size = sizeof sample};
    uint64_t taken = 0, before = eg_clock_ns();
    bool first = w->replays;
    for (int code = CLI_OK;;) {
        const double since = (double)(eg_clock_ns() - before) * 1e-9;
        const bool samples = !v->paused && !v->ended;
        if (samples && (first || since >= v->interval)) {
            before = eg_clock_ns();
            first = false;
            code = sample_due(v, w, &sample, &taken);
            if (code) return code == CLI_DONE ? CLI_OK : code;
            draw(v, g);
            continue;
        }
        const screen_event event = screen_wait(samples ? v->interval - since : 60);
        if (event.kind == SCREEN_END) return CLI_OK;
        if (event.kind == SCREEN_KEY && !view_press(v, event.key, event.row, event.column))
            return CLI_OK;
        if (event.kind != SCREEN_NOTHING) draw(v, g);
    }
}

int monitor_screen(const monitor_watch *w) {
    if (!screen_open()) return CLI_DONE;
    grid *g = take_memory(1, sizeof *g);
    view v = {.monitor = w->monitor, .interval = w->interval, .ascii = !screen_utf8()};
    draw(&v, g);
    w->alerts->on_screen = true;
    const int code = loop(&v, g, w);
    w->alerts->on_screen = false;
    screen_close();
    free(g);
    return code;
}
