/* What elegans monitor draws on a whole screen: golden screens of a recording, keys, terminals of any size. */
#include "test.h"
#include "cli/view/view.h"
#include "elegans/elegans.h"

#include <time.h>

AREA(view, "screens of the monitor are those recorded, at every size; keys do what the help says")

typedef struct stage {
    eg_context *context;
    eg_monitor *monitor;
    eg_monitor_sample sample;
    view v;
    grid *g;
} stage;

/* `samples` of the recording, 0 = all; or, with a root, one of that machine. */
static void stage_open(stage *s, const char *root, int samples) {
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    char path[1024] = "";
    eg_error error;
    *s = (stage){.sample = {.size = sizeof s->sample}};
    setenv("TZ", "UTC0", 1);
    tzset();
    CHECK_OK(eg_context_create(&options, &s->context, &error), error);
    snprintf(path, sizeof path, "%s", test_path(root ? root : "fixtures/monitor/laptop.jsonl"));
    char pages[1024];
    snprintf(pages, sizeof pages, "%s", test_folder()); /* nobody publishes there */
    const eg_monitor_options from = {.size = sizeof from,
                                     .folder = pages,
                                     .root = root ? path : NULL,
                                     .replay = root ? NULL : path};
    CHECK_OK(eg_monitor_open(s->context, &from, &s->monitor, &error), error);
    eg_status status = EG_OK;
    for (int i = 0; s->monitor && !status && (root ? i < 1 : !samples || i < samples); i++)
        status = eg_monitor_read(s->monitor, &s->sample, &error);
    CHECK(status == EG_OK || status == EG_ERR_STOPPED, "%s", error.message);
    s->g = test_alloc(sizeof *s->g);
    s->v = (view){.sample = &s->sample, .monitor = s->monitor, .interval = 1};
}

static void stage_close(stage *s) {
    free(s->g);
    eg_monitor_close(s->monitor);
    eg_context_destroy(s->context);
}

enum { ROOM = GRID_ROWS * (GRID_COLUMNS * 3 + 1) + 1 };

/* The screen in a file, line by line; ELEGANS_UPDATE=1 writes it anew, for git diff to show. */
static void compare(stage *s, const char *name, int rows, int columns) {
    char path[1024], *drawn = test_alloc(ROOM), *golden = test_alloc(ROOM);
    snprintf(path, sizeof path, "%s", test_path("golden/screens"));
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s_%dx%d.txt", name, columns, rows);
    view_draw(&s->v, s->g, rows, columns);
    const size_t size = grid_dump(s->g, drawn, ROOM);
    FILE *file = fopen(path, getenv("ELEGANS_UPDATE") ? "wb" : "rb");
    CHECK(file != NULL, "cannot open %s", path);
    if (file && getenv("ELEGANS_UPDATE"))
        CHECK(fwrite(drawn, 1, size, file) == size, "cannot write %s", path);
    else if (file) {
        const size_t there = fread(golden, 1, ROOM - 1, file);
        golden[there] = 0;
        size_t line = 1, at = 0;
        while (at < size && drawn[at] == golden[at]) line += drawn[at++] == '\n';
        CHECK(size == there && memcmp(drawn, golden, size) == 0, "%s differs in line %zu:\n%s",
              path, line, drawn);
    }
    if (file) fclose(file);
    free(drawn);
    free(golden);
}

TEST(view, golden) {
    static const struct { int rows, columns; } sizes[] = {{24, 80}, {40, 120}, {60, 200}};
    static const char *const pages[VIEW_PAGES] = {"overview", "program", "sensors"};
    stage s;
    stage_open(&s, NULL, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int page = 0; page < VIEW_PAGES; page++) {
            s.v.page = (view_page)page;
            view_choose(&s.v, 1); /* the training */
            compare(&s, pages[page], sizes[i].rows, sizes[i].columns);
        }
    s.v.page = VIEW_OVERVIEW;
    s.v.help = true;
    compare(&s, "help", 24, 80);
    s.v.help = false;
    s.v.ascii = true;
    compare(&s, "ascii", 24, 80);
    compare(&s, "small", 10, 40);
    stage_close(&s);
}

/* Kinds of cores, and much that is not reported; the times are those of no recording. */
TEST(view, of_another_machine) {
    stage s;
    stage_open(&s, "fixtures/sensors/m1", 0);
    s.sample.time_ns = INT64_C(1760000000) * 1000000000;
    s.v.monitor = NULL;
    compare(&s, "m1", 24, 80);
    s.v.page = VIEW_SENSORS;
    compare(&s, "m1_sensors", 40, 120);
    stage_close(&s);
}

/* Nothing is drawn outside, whatever the size and whatever is shown; ASan looks on. */
TEST(view, every_size) {
    stage s;
    stage_open(&s, NULL, 0);
    const eg_monitor_sample *const samples[] = {NULL, &s.sample};
    for (int rows = 0; rows < 150; rows += test_quick() ? 7 : 3)
        for (int columns = 0; columns < 350; columns += test_quick() ? 23 : 9)
            for (int page = 0; page < VIEW_PAGES; page++) {
                s.v.page = (view_page)page;
                s.v.sample = samples[(rows + columns) % 7 != 0];
                s.v.scroll = (rows * columns) % 50;
                view_draw(&s.v, s.g, rows, columns);
                CHECK(s.g->rows <= rows && s.g->columns <= columns, "%d x %d", columns, rows);
                for (int r = 0; r < s.g->rows; r++)
                    for (int c = 0; c < s.g->columns; c++)
                        CHECK(s.g->cells[r][c].code >= ' ' && s.g->cells[r][c].style < GRID_STYLES,
                              "%d x %d: cell %d, %d", columns, rows, r, c);
            }
    stage_close(&s);
}

/* ---- keys */
static bool shows(stage *s, const char *text) {
    char *drawn = test_alloc(ROOM);
    view_draw(&s->v, s->g, 40, 120);
    grid_dump(s->g, drawn, ROOM);
    const bool there = strstr(drawn, text) != NULL;
    free(drawn);
    return there;
}

TEST(view, keys) {
    static const struct {
        int key;
        const char *shown; /* after it */
    } rows[] = {{VIEW_KEY_NONE, "▸ 2114"},
                {'j', "▸ 2240"},
                {VIEW_KEY_DOWN, "▸ 2307"},
                {VIEW_KEY_DOWN, "▸ 2307"},
                {'k', "▸ 2240"},
                {VIEW_KEY_HOME, "▸ 2114"},
                {VIEW_KEY_END, "▸ 2307"},
                {VIEW_KEY_ENTER, "pid 2307"},
                {VIEW_KEY_BACK, "▸ 2307"},
                {'s', "by steps/s"},
                {'s', "by p99"},
                {'s', "by FLOP/s"},
                {'s', "by memory"},
                {'s', "by pid"},
                {'+', "every 2 s"},
                {'-', "every 1 s"},
                {'-', "every 0.5 s"},
                {'p', "paused"},
                {'p', "every 0.5 s"},
                {'?', "any key closes it"},
                {'x', "memory"},
                {VIEW_KEY_TAB, "pid 2307"},
                {VIEW_KEY_TAB, "sensors of this machine"},
                {VIEW_KEY_TAB, "▸ 2307"},
                {VIEW_KEY_TAB_BACK, "sensors of this machine"},
                {VIEW_KEY_END, "no source of this system"},
                {'1', "▸ 2307"}};
    stage s;
    stage_open(&s, NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK(view_press(&s.v, (view_key)rows[i].key, 0, 0), "key %zu leaves", i);
        CHECK(shows(&s, rows[i].shown), "after key %zu there is no '%s'", i, rows[i].shown);
    }
    /* the mouse: a program by its row, a page by its name */
    for (int r = 0; r < 40; r++)
        if (s.v.program_at[r] == 1) view_press(&s.v, VIEW_KEY_CLICK, r, 5);
    CHECK(shows(&s, "▸ 2114"), "a click chooses");
    view_press(&s.v, VIEW_KEY_CLICK, 0, s.v.tab_at[VIEW_SENSORS] + 1);
    CHECK(s.v.page == VIEW_SENSORS, "page %d", (int)s.v.page);
    view_press(&s.v, VIEW_KEY_CLICK, 1 << 20, -1);
    CHECK(!view_press(&s.v, 'q', 0, 0), "q leaves");
    /* without a sample nothing happens */
    s.v = (view){.interval = 1};
    for (int key = 0; key < 300; key++) {
        view_press(&s.v, (view_key)key, 3, 3);
        view_draw(&s.v, s.g, 24, 80);
    }
    stage_close(&s);
}

TEST(view, order) {
    static const size_t expected[VIEW_SORTS][3] = {[VIEW_BY_PID] = {0, 1, 2},
                                                   [VIEW_BY_RATE] = {0, 1, 2},
                                                   [VIEW_BY_P99] = {2, 1, 0},
                                                   [VIEW_BY_FLOPS] = {2, 0, 1},
                                                   [VIEW_BY_MEMORY] = {2, 1, 0}};
    stage s;
    stage_open(&s, NULL, 0);
    for (int sort = 0; sort < VIEW_SORTS; sort++) {
        size_t order[VIEW_PROGRAMS];
        s.v.sort = (view_sort)sort;
        CHECK(view_order(&s.v, order) == 3 &&
                  memcmp(order, expected[sort], sizeof expected[0]) == 0,
              "sort %d: %zu %zu %zu", sort, order[0], order[1], order[2]);
    }
    stage_close(&s);
}

/* ---- text of others */
TEST(view, text) {
    static const struct {
        const char *in;
        int width;
        const char *out;
    } rows[] = {{"plain", 10, "plain\n"},
                {"too long", 5, "too …\n"},
                {"K\xc3\xa4"
                 "fer",
                 5,
                 "K\xc3\xa4"
                 "fer\n"},
                {"\033[2Jx", 10, "�[2Jx\n"},
                {"a\xff"
                 "b\xe2\x80",
                 10, "a�b��\n"},
                {"\xe2\x80\xae"
                 "gpj",
                 10, "�gpj\n"},
                {"\xe6\x97\xa5", 10, "�\n"}, /* two columns */
                {"\xf0\x9f\xaa\xb1", 10, "�\n"},
                {"", 3, "\n"},
                {"x", 0, "\n"}};
    grid *g = test_alloc(sizeof *g);
    char out[400];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        grid_clear(g, 1, 20);
        grid_text(g, 0, 0, rows[i].width, GRID_PLAIN, rows[i].in);
        grid_dump(g, out, sizeof out);
        CHECK(strcmp(out, rows[i].out) == 0, "row %zu: '%s'", i, out);
    }
    free(g);
}

TEST(view, figures) {
    static const struct {
        const char *unit;
        double value;
        const char *out;
    } rows[] = {{"B", 0, "0 B"},
                {"B", 1023, "1.0 KiB"},
                {"B", 1.5 * 1024 * 1024, "1.5 MiB"},
                {"B", 25276518400.0, "23.5 GiB"},
                {"s", 1.1e-6, "1.1 us"},
                {"s", 9.96e-4, "996 us"},
                {"s", 0.9996, "1.0 s"},
                {"s", 281, "4 min 41 s"},
                {"s", 7384, "2 h 3 min"},
                {"Hz", 2.596e9, "2.60 GHz"},
                {"steps/s", 912345, "912k steps/s"},
                {"FLOP/s", 18.4e9, "18.4 GFLOP/s"},
                {"%", 61.04, "61.0 %"},
                {"C", 71.2, "71 °C"},
                {"yes/no", 1, "yes"},
                {NULL, 0.0431, "0.0431"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        view_text out;
        CHECK(strcmp(view_value(out, rows[i].unit, rows[i].value), rows[i].out) == 0,
              "row %zu: '%s', not '%s'", i, out, rows[i].out);
    }
}

/* A known 0 has a dot, an unknown value none. */
TEST(view, graphs) {
    const double nan = strtod("nan", NULL);
    const double values[] = {0, nan, 50, 100, 100, 0};
    grid *g = test_alloc(sizeof *g);
    char out[400];
    grid_clear(g, 2, 4);
    grid_graph(g, (grid_area){0, 0, 2, 4}, values, 6, 0, 100, GRID_CURVE);
    grid_dump(g, out, sizeof out);
    CHECK(strcmp(out, "  ⢸⡇\n ⡀⣿⣇\n") == 0, "'%s'", out);
    grid_clear(g, 1, 6);
    grid_bar(g, 0, 0, 6, 0.42, GRID_LOW);
    grid_dump(g, out, sizeof out);
    CHECK(strcmp(out, "━━╸───\n") == 0, "'%s'", out);
    const double line[] = {0, 1};
    grid_clear(g, 1, 2);
    grid_curve(g, (grid_area){0, 0, 1, 2}, line, 2, 0, 1, GRID_CURVE);
    grid_dump(g, out, sizeof out);
    CHECK(strcmp(out, "⡠⠊\n") == 0, "'%s'", out);
    free(g);
}
