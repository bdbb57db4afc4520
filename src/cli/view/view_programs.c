/* The programs that publish: figures, what bounds them, how far a training is. */
#include "cli/view/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- columns of figures; the first ones go where there is no room for all */
typedef struct column {
    const char *name;
    eg_figure figure;
    int width;
} column;
static const column columns[] = {
    {"B/s", EG_FIGURE_byte_rate, 7},    {"FLOP/s", EG_FIGURE_flop_rate, 8},
    {"MEMORY", EG_FIGURE_resident, 10}, {"P50", EG_FIGURE_p50, 8},
    {"P99", EG_FIGURE_p99, 8},          {"STEPS/s", EG_FIGURE_step_rate, 9}};
/* and the order in which they stand */
static const int shown[] = {5, 3, 4, 1, 0, 2};
enum { COLUMNS = sizeof columns / sizeof *columns, PID = 10, ACTIVITY = 11, MODEL = 12 };

/* How many of the first columns are left out. */
static int columns_without(int width) {
    int needs = PID + ACTIVITY + MODEL, without = 0;
    for (int i = 0; i < COLUMNS; i++) needs += columns[i].width;
    while (without < COLUMNS && needs > width) needs -= columns[without++].width;
    return without;
}

static int figures_width(int without) {
    int sum = 0;
    for (int i = without; i < COLUMNS; i++) sum += columns[i].width;
    return sum;
}

static int model_width(grid_area in, int without) {
    return in.columns - PID - ACTIVITY - figures_width(without) - 1;
}

static void draw_header(grid *g, grid_area in, int without) {
    int at = in.left + in.columns - figures_width(without);
    grid_text(g, in.top, in.left + 2, PID, GRID_DIM, "PID");
    grid_text(g, in.top, in.left + PID, ACTIVITY, GRID_DIM, "ACTIVITY");
    grid_text(g, in.top, in.left + PID + ACTIVITY, MODEL, GRID_DIM, "MODEL");
    for (int i = 0; i < COLUMNS; i++) {
        if (shown[i] < without) continue;
        grid_right(g, in.top, at, columns[shown[i]].width, GRID_DIM, columns[shown[i]].name);
        at += columns[shown[i]].width;
    }
}

static const char *column_text(view_text out, const eg_metric *m) {
    if (m->provenance == EG_UNAVAILABLE) return view_metric(out, m);
    return m->unit && strchr(m->unit, '/') ? view_short(out, m->value) : view_metric(out, m);
}

static void draw_figures(grid *g, int row, grid_area in, const eg_published *p, int without) {
    int at = in.left + in.columns - figures_width(without);
    grid_print(g, row, in.left + 2, PID - 3, GRID_PLAIN, "%llu", (unsigned long long)p->pid);
    grid_text(g, row, in.left + PID, ACTIVITY - 1, GRID_BOLD,
              p->activity[0] ? p->activity : p->program);
    grid_text(g, row, in.left + PID + ACTIVITY, model_width(in, without), GRID_PLAIN, p->model);
    for (int i = 0; i < COLUMNS; i++) {
        view_text text;
        if (shown[i] < without) continue;
        grid_right(g, row, at, columns[shown[i]].width, GRID_PLAIN,
                   column_text(text, &p->figures[columns[shown[i]].figure]));
        at += columns[shown[i]].width;
    }
}

/* ---- a training: epoch, losses, time left, a small curve */
static bool is_known(const eg_published *p, eg_figure figure) {
    return p->figures[figure].provenance != EG_UNAVAILABLE;
}

static bool trains(const eg_published *p) {
    return p->loss_count > 0 || is_known(p, EG_FIGURE_loss);
}

static void draw_training(grid *g, int row, int left, int width, const eg_published *p) {
    const eg_metric *f = p->figures;
    char text[160] = "";
    view_text a, b;
    int used = 0;
    enum { ROOM = sizeof text };
    if (is_known(p, EG_FIGURE_epoch))
        used += snprintf(text, ROOM, "epoch %s/%s  ", view_metric(a, &f[EG_FIGURE_epoch]),
                         view_metric(b, &f[EG_FIGURE_epochs]));
    if (is_known(p, EG_FIGURE_loss))
        used += snprintf(text + used, ROOM - (size_t)used, "loss %s  ",
                         view_metric(a, &f[EG_FIGURE_loss]));
    if (is_known(p, EG_FIGURE_validation_loss))
        used += snprintf(text + used, ROOM - (size_t)used, "val %s  ",
                         view_metric(a, &f[EG_FIGURE_validation_loss]));
    if (is_known(p, EG_FIGURE_time_left))
        snprintf(text + used, ROOM - (size_t)used, "%s left",
                 view_metric(a, &f[EG_FIGURE_time_left]));
    const int end = left + grid_text(g, row, left, width, GRID_PLAIN, text) + 1;
    const int room = left + width - end;
    if (room >= 8 && p->loss_count > 1) {
        double values[EG_LOSS_POINTS], least = INFINITY, most = -INFINITY;
        int count = 0;
        for (size_t i = 0; i < p->loss_count && count < EG_LOSS_POINTS; i++) {
            values[count++] = p->losses[i].loss;
            least = fmin(least, p->losses[i].loss);
            most = fmax(most, p->losses[i].loss);
        }
        grid_curve(g, (grid_area){row, end, 1, room < 40 ? room : 40}, values, count, least, most,
                   GRID_CURVE);
    }
}

/* ---- the list */
static int height_of(const eg_published *p) { return trains(p) ? 3 : 2; }

/* The first program that is shown, so that the chosen one is. */
static size_t first_shown(const view *v, const size_t *order, size_t count, int rows) {
    const eg_published *chosen = view_chosen(v);
    size_t at = 0;
    while (at < count && &v->sample->published[order[at]] != chosen) at++;
    int used = 0;
    size_t first = at < count ? at : 0;
    for (size_t i = first + 1; i-- > 0;) {
        used += height_of(&v->sample->published[order[i]]);
        if (used > rows) break;
        first = i;
    }
    return first;
}

/* The model stands before it where the column has cut its name; what is in brackets goes where it has no room. */
static void draw_verdict(grid *g, int row, int left, int width, const eg_published *p, bool named) {
    char text[sizeof p->model + EG_VERDICT_TEXT + 2];
    snprintf(text, sizeof text, "%s%s%s", named ? p->model : "", named ? ": " : "", p->verdict);
    char *verdict = text + (named ? strlen(p->model) : 0);
    char *bracket = grid_width(text) > width ? strstr(verdict, " (") : NULL;
    if (bracket) *bracket = 0;
    grid_text(g, row, left, width, GRID_DIM, text);
}

static void draw_program(view *v, grid *g, grid_area in, int row, size_t index, int without,
                         bool chosen) {
    const eg_published *p = &v->sample->published[index];
    const int height = height_of(p), end = in.top + in.rows;
    draw_figures(g, row, in, p, without);
    if (row + 1 < end)
        draw_verdict(g, row + 1, in.left + PID, in.columns - PID, p,
                     grid_width(p->model) > model_width(in, without));
    if (height > 2 && row + 2 < end) draw_training(g, row + 2, in.left + PID, in.columns - PID, p);
    if (chosen) {
        grid_style_set(g, (grid_area){row, in.left, 1, in.columns}, GRID_CHOSEN);
        grid_put(g, row, in.left, 0x25b8, GRID_CHOSEN);
    }
    for (int i = 0; i < height && row + i < end && row + i < GRID_ROWS; i++)
        v->program_at[row + i] = (int)index + 1;
}

static void draw_none(const view *v, grid *g, grid_area in) {
    view_lines l = {g, in, 0, 0};
    view_folded(&l, "", 0, GRID_PLAIN,
                v->sample ? "No program of this user publishes now." : "No sample yet.");
    view_folded(&l, "", 0, GRID_DIM,
                "train, run, generate, embed and perplexity publish while they run; a program of "
                "your own does with eg_publisher_open.");
}

void view_programs(view *v, grid *g, grid_area a) {
    size_t order[VIEW_PROGRAMS];
    const size_t count = view_order(v, order);
    char title[48], note[96] = "";
    view_text by;
    snprintf(by, sizeof by, "by %s", view_sort_name(v->sort));
    snprintf(title, sizeof title, count == 1 ? "%zu program" : "%zu programs", count);
    if (count && v->sample->ignored)
        snprintf(note, sizeof note, "%zu pages ignored · %s", v->sample->ignored, by);
    else if (count) snprintf(note, sizeof note, "%s", by);
    const grid_area in = grid_frame(g, a, count ? title : "programs", note);
    if (!count) {
        draw_none(v, g, in);
        return;
    }
    const int without = columns_without(in.columns);
    const eg_published *chosen = view_chosen(v);
    draw_header(g, in, without);
    int row = in.top + 1;
    size_t i = first_shown(v, order, count, in.rows - 1);
    const size_t first = i;
    for (; i < count && row < in.top + in.rows; i++) {
        draw_program(v, g, in, row, order[i], without, &v->sample->published[order[i]] == chosen);
        row += height_of(&v->sample->published[order[i]]);
    }
    if (first) grid_print(g, a.top + a.rows - 1, a.left + 3, 20, GRID_DIM, " ↑ %zu above ", first);
    if (i < count)
        grid_print(g, a.top + a.rows - 1, a.left + 20, 20, GRID_DIM, " ↓ %zu below ", count - i);
}
