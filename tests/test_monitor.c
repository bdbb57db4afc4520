/* Monitors: programs of this user as they publish themselves, files that are no pages, history. */
#include "test.h"
#include "elegans/elegans.h"
#include "monitor/monitor.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(monitor, "figures of programs that live, nothing of those that died; samples kept for an hour")

static eg_context *open_context(void) {
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

/* A fresh one, which is this user's alone as that of the pages must be. */
static void copy_folder(char out[256]) {
    snprintf(out, 256, "%s", test_folder());
    chmod(out, 0700);
}

static eg_monitor *open_monitor(eg_context *context, const char *folder) {
    char root[512];
    snprintf(root, sizeof root, "%s", test_path("fixtures/sensors/m1"));
    const eg_monitor_options options = {.size = sizeof options, .root = root, .folder = folder};
    eg_monitor *monitor;
    eg_error error;
    CHECK_OK(eg_monitor_open(context, &options, &monitor, &error), error);
    return monitor;
}

static eg_monitor_sample read_sample(eg_monitor *monitor) {
    eg_monitor_sample sample = {.size = sizeof sample};
    eg_error error;
    CHECK_OK(eg_monitor_read(monitor, &sample, &error), error);
    return sample;
}

static bool is_about(const eg_metric *m, double value) {
    return m->provenance != EG_UNAVAILABLE && fabs(m->value / value - 1) < 0.07;
}

/* ---- processes that publish, and a pipe each way to tell them what to do */
typedef struct other {
    pid_t pid;
    int to, from;
} other;

static char next_order(int from) {
    char order = 'q';
    return read(from, &order, 1) == 1 ? order : 'q';
}

/* 's' steps of 2 us, 't' reports of a training, 'q' ends. */
static void publish_as_told(eg_context *context, const char *folder, int from, int to) {
    const eg_publisher_options options = {.size = sizeof options,
                                          .folder = folder,
                                          .program = "other",
                                          .activity = "stream",
                                          .model = "cfc:8,in=2",
                                          .step_flops = 1e3,
                                          .step_bytes = 1e3,
                                          .peak_flops = 1e9,
                                          .peak_bandwidth = 1e10};
    eg_publisher *p;
    eg_publisher_open(context, &options, &p, NULL);
    char order = p ? 'r' : 'f';
    do {
        if (write(to, &order, 1) != 1) break;
        order = next_order(from);
        if (order == 's') eg_publisher_add(p, 1000, 2e-6);
        for (uint64_t k = 1; order == 't' && k <= 300; k++) {
            const eg_training_report report = {.size = sizeof report,
                                               .epoch = 2,
                                               .epochs = 5,
                                               .step = k,
                                               .loss = 1 / (double)k,
                                               .validation = (double)NAN,
                                               .learning_rate = 0.01,
                                               .gradient_norm = 3,
                                               .seconds_left = 60};
            eg_publisher_train(p, &report, NULL);
        }
    } while (order != 'q');
    eg_publisher_close(p);
}

static other start_other(eg_context *context, const char *folder) {
    int down[2] = {-1, -1}, up[2] = {-1, -1};
    CHECK(pipe(down) == 0 && pipe(up) == 0, "no pipe");
    other o = {fork(), down[1], up[0]};
    if (!o.pid) {
        close(down[1]); /* or it would never see the end of its orders */
        close(up[0]);
        publish_as_told(context, folder, down[0], up[1]);
        _exit(0);
    }
    close(down[0]);
    close(up[1]);
    CHECK(next_order(o.from) == 'r', "the other program does not publish");
    return o;
}

static void tell(const other *o, char order) {
    CHECK(write(o->to, &order, 1) == 1 && (order == 'q' || next_order(o->from) == order),
          "the other program does not answer");
}

static void end_other(other *o, int with) {
    if (with) kill(o->pid, with);
    else tell(o, 'q');
    waitpid(o->pid, NULL, 0);
    close(o->to);
    close(o->from);
}

static const eg_published *find(const eg_monitor_sample *sample, pid_t pid) {
    for (size_t i = 0; i < sample->published_count; i++)
        if (sample->published[i].pid == (uint64_t)pid) return &sample->published[i];
    return NULL;
}

static unsigned files_in(const char *folder) {
    unsigned count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (list) closedir(list);
    return count;
}

static void check_stream(const eg_published *p) {
    const eg_metric *f = p->figures;
    CHECK(strcmp(p->program, "other") == 0 && strcmp(p->activity, "stream") == 0 &&
              strcmp(p->model, "cfc:8,in=2") == 0,
          "'%s' '%s' '%s'", p->program, p->activity, p->model);
    CHECK(f[EG_FIGURE_steps].value == 1000 && f[EG_FIGURE_steps].provenance == EG_COUNTED,
          "%g steps", f[EG_FIGURE_steps].value);
    CHECK(f[EG_FIGURE_step_rate].value > 0 && f[EG_FIGURE_step_rate].provenance == EG_MEASURED,
          "%g steps/s", f[EG_FIGURE_step_rate].value);
    CHECK(is_about(&f[EG_FIGURE_p50], 2e-6) && is_about(&f[EG_FIGURE_p99], 2e-6), "p50 %g, p99 %g",
          f[EG_FIGURE_p50].value, f[EG_FIGURE_p99].value);
    CHECK(is_about(&f[EG_FIGURE_peak_share], 50) && strstr(p->verdict, "compute-bound, ") &&
              strstr(p->verdict, "2.0 us/step"),
          "%g %%: %s", f[EG_FIGURE_peak_share].value, p->verdict);
    CHECK(is_about(&f[EG_FIGURE_flop_rate], 1e3 * f[EG_FIGURE_step_rate].value), "FLOP/s");
    CHECK(f[EG_FIGURE_held].value > 0 && f[EG_FIGURE_resident].value > 0, "memory");
}

TEST(monitor, two_programs) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    other a = start_other(context, folder), b = start_other(context, folder);
    eg_monitor *monitor = open_monitor(context, folder);
    tell(&a, 's');
    tell(&b, 't');
    eg_monitor_sample sample = read_sample(monitor);
    CHECK(sample.published_count == 2 && !sample.ignored && sample.reading_count > EG_SENSOR_COUNT,
          "%zu programs, ignored: %s", sample.published_count, sample.ignored_text);
    const eg_published *first = find(&sample, a.pid), *second = find(&sample, b.pid);
    if (first) check_stream(first);
    if (second) {
        const eg_metric *f = second->figures;
        CHECK(f[EG_FIGURE_epoch].value == 2 && f[EG_FIGURE_epochs].value == 5 &&
                  f[EG_FIGURE_updates].value == 300 && is_about(&f[EG_FIGURE_loss], 1 / 300.0) &&
                  f[EG_FIGURE_time_left].value == 60,
              "epoch %g, update %g, loss %g", f[EG_FIGURE_epoch].value, f[EG_FIGURE_updates].value,
              f[EG_FIGURE_loss].value);
        CHECK(f[EG_FIGURE_validation_loss].provenance == EG_UNAVAILABLE &&
                  f[EG_FIGURE_p50].provenance == EG_UNAVAILABLE && f[EG_FIGURE_p50].source[0],
              "what is not known has a reason");
        CHECK(second->loss_count > 100 && second->loss_count <= EG_LOSS_POINTS &&
                  second->losses[second->loss_count - 1].step == 300,
              "%zu points", second->loss_count);
    }
    CHECK(first && second, "a program is missing");
    sample = read_sample(monitor); /* nothing happened since */
    first = find(&sample, a.pid);
    CHECK(first && first->figures[EG_FIGURE_step_rate].value == 0 &&
              first->figures[EG_FIGURE_p50].provenance == EG_UNAVAILABLE &&
              strstr(first->verdict, "no step ended"),
          "%s", first ? first->verdict : "(gone)");
    end_other(&b, 0); /* goes by itself */
    sample = read_sample(monitor);
    CHECK(sample.published_count == 1 && files_in(folder) == 1, "%zu programs, %u files",
          sample.published_count, files_in(folder));
    end_other(&a, SIGKILL); /* leaves its file */
    CHECK(files_in(folder) == 1, "%u files after kill -9", files_in(folder));
    sample = read_sample(monitor);
    CHECK(sample.published_count == 0 && sample.ignored == 0 && files_in(folder) == 0,
          "%zu programs, %u files: %s", sample.published_count, files_in(folder),
          sample.ignored_text);
    eg_monitor_close(monitor);
    eg_context_destroy(context);
}

/* ---- files that are no pages of living programs: each is a way to be wrong */
typedef struct damage {
    const char *name; /* %d = a pid */
    bool dead;        /* a pid of nobody */
    bool removed;     /* or ignored with this reason */
    const char *reason;
    void (*make)(const char *path, eg__page *page); /* writes the file */
} damage;

static void write_page(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size, "cannot write %s", path);
    if (file) fclose(file);
}
static void make_good(const char *path, eg__page *page) { write_page(path, page, EG__PAGE_SIZE); }
static void make_short(const char *path, eg__page *page) { write_page(path, page, 100); }
static void make_empty(const char *path, eg__page *page) { write_page(path, page, 0); }
static void make_garbage(const char *path, eg__page *page) {
    memset(page, 0xa5, EG__PAGE_SIZE);
    make_good(path, page);
}
static void make_future(const char *path, eg__page *page) {
    page->version = EG__PAGE_VERSION + 1;
    make_good(path, page);
}
static void make_other_size(const char *path, eg__page *page) {
    page->size = 1;
    make_good(path, page);
}
static void make_reused(const char *path, eg__page *page) {
    page->process_start += 1;
    make_good(path, page);
}
static void make_other_pid(const char *path, eg__page *page) {
    page->pid += 1;
    make_good(path, page);
}
static void make_other_space(const char *path, eg__page *page) {
    page->pid_space = page->pid_space ? page->pid_space + 1 : 0;
    make_good(path, page);
}
static void make_link(const char *path, eg__page *page) {
    char target[400];
    snprintf(target, sizeof target, "%s.target", path);
    make_good(target, page);
    CHECK(symlink(target, path) == 0, "no link");
}
static void make_folder(const char *path, eg__page *page) {
    (void)page;
    CHECK(mkdir(path, 0700) == 0, "no folder");
}
static void make_pipe(const char *path, eg__page *page) {
    (void)page;
    CHECK(mkfifo(path, 0600) == 0, "no pipe");
}
static void make_foreign(const char *path, eg__page *page) {
    make_good(path, page);
    CHECK(chown(path, 12345, 12345) == 0, "chown");
}

static const damage damages[] = {
    {"%d-9.page", true, true, "", make_good},
    {"%d-9.page", true, true, "", make_short},
    {"%d-9.page", true, true, "", make_empty},
    {"%d-9.page", true, true, "", make_garbage},
    {".%d-9.new", true, true, "", make_short},
    {"%d-9.page", false, true, "", make_reused},
    {"%d-9.page", false, false, "a page of another size", make_short},
    {"%d-9.page", false, false, "not a page of elegans", make_garbage},
    {"%d-9.page", false, false, "another version", make_future},
    {"%d-9.page", true, false, "another version", make_future},
    {"%d-9.page", false, false, "a page of another size", make_other_size},
    {"%d-9.page", false, false, "its name and its pid differ", make_other_pid},
    {"%d-9.page", false, false, "another container", make_other_space},
    {"%d-9.page", false, false, "cannot be opened", make_link},
    {"%d-9.page", false, false, "not a regular file", make_folder},
    {"%d-9.page", false, false, "not a regular file", make_pipe},
    {"%d-9.page", false, false, "belongs to another user", make_foreign},
    {".%d-9.new", false, false, NULL, make_short}, /* being written: nothing is said */
    {"notes-%d.txt", true, false, NULL, make_short},
};

/* A page as a publisher of this process makes it. */
static eg__page *copy_page(eg_context *context, const char *folder) {
    const eg_publisher_options options = {.size = sizeof options, .folder = folder};
    eg_publisher *p;
    eg_error error;
    eg__page *copy = test_alloc(EG__PAGE_SIZE);
    char path[400];
    CHECK_OK(eg_publisher_open(context, &options, &p, &error), error);
    snprintf(path, sizeof path, "%s/%d-0.page", folder, (int)getpid());
    const int file = open(path, O_RDONLY);
    CHECK(file >= 0 && read(file, copy, EG__PAGE_SIZE) == EG__PAGE_SIZE, "cannot read %s", path);
    close(file);
    eg_publisher_close(p);
    return copy;
}

static pid_t dead_pid(void) {
    const pid_t child = fork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    return child;
}

TEST(monitor, files_that_are_no_pages) {
    eg_context *context = open_context();
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const damage *d = &damages[i];
        char folder[256], name[64], path[400];
        if (d->make == make_foreign && !test_gives_away()) continue;
        copy_folder(folder);
        const int pid = d->dead ? (int)dead_pid() : (int)getpid();
        eg__page *page = copy_page(context, folder);
        if (d->make == make_other_space && !page->pid_space) {
            free(page);
            continue;
        }
        page->pid = (uint64_t)pid;
        snprintf(name, sizeof name, d->name, pid);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        d->make(path, page);
        free(page);
        eg_monitor *monitor = open_monitor(context, folder);
        const eg_monitor_sample sample = read_sample(monitor);
        struct stat info;
        const bool there = lstat(path, &info) == 0;
        CHECK(sample.published_count == 0, "row %zu: it is shown", i);
        CHECK(there != d->removed, "row %zu: %s %s", i, name, there ? "is left" : "was removed");
        if (d->reason && d->reason[0])
            CHECK(sample.ignored == 1 && strstr(sample.ignored_text, d->reason) &&
                      strstr(sample.ignored_text, name),
                  "row %zu: %zu ignored: '%s'", i, sample.ignored, sample.ignored_text);
        else CHECK(!sample.ignored, "row %zu: '%s'", i, sample.ignored_text);
        eg_monitor_close(monitor);
    }
    eg_context_destroy(context);
}

TEST(monitor, folders) {
    char folder[300];
    eg_context *context = open_context();
    snprintf(folder, sizeof folder, "%s/none", test_folder());
    eg_monitor *monitor = open_monitor(context, folder); /* nobody has published: fine */
    eg_monitor_sample sample = read_sample(monitor);
    CHECK(!sample.published_count && !sample.ignored && access(folder, F_OK) != 0,
          "%zu programs, '%s'", sample.published_count, sample.ignored_text);
    mkdir(folder, 0700);
    chmod(folder, 0777);
    sample = read_sample(monitor); /* anybody could put a page there */
    CHECK(sample.ignored == 1 && strstr(sample.ignored_text, "is open to others"), "'%s'",
          sample.ignored_text);
    eg_monitor_close(monitor);
    eg_context_destroy(context);
}

/* A page that shrinks while it is followed is let go. */
TEST(monitor, a_page_that_is_cut_off) {
    char folder[256], path[400];
    copy_folder(folder);
    eg_context *context = open_context();
    eg__page *page = copy_page(context, folder);
    snprintf(path, sizeof path, "%s/%d-1.page", folder, (int)getpid());
    make_good(path, page);
    eg_monitor *monitor = open_monitor(context, folder);
    CHECK(read_sample(monitor).published_count == 1, "a good page is not shown");
    CHECK(truncate(path, 100) == 0, "truncate");
    const eg_monitor_sample sample = read_sample(monitor);
    CHECK(!sample.published_count && strstr(sample.ignored_text, "another size"), "'%s'",
          sample.ignored_text);
    eg_monitor_close(monitor);
    free(page);
    eg_context_destroy(context);
}

/* ---- verdicts */
TEST(monitor, verdicts) {
    static const struct {
        double flops, bytes, peak, bandwidth, seconds;
        const char *text;
        double share; /* 0 = unknown */
    } all[] = {
        {1e3, 1e3, 1e9, 1e10, 2e-6, "compute-bound, 50 % of peak, 2.0 us/step", 50},
        {1e3, 1e4, 1e9, 1e10, 1.25e-6, "compute-bound, 80 % of peak, 1.2 us/step", 80},
        {1e2, 1e4, 1e9, 1e10, 2e-6, "memory-bound, 50 % of the bandwidth, 2.0 us/step", 50},
        {1e2, 1e2, 1e9, 1e10, 2e-6, "overhead-bound, 5 % of peak, 2.0 us/step", 5},
        {1e2, 1e5, 1e9, 1e10, 2e-6, "operands come from the caches, at 500 %", 500},
        {0, 1e5, 1e9, 1e10, 2e-6, "2.0 us/step; bound unknown: FLOPs and bytes", 0},
        {1e3, 1e3, 0, 0, 2e-3, "2.0 ms/step; bound unknown: no measured ceilings", 0},
        {1e3, 1e3, 0, 1e9, 20, "20 s/step; bound unknown: no measured ceilings", 0},
        {1e3, 1e3, 1e9, 1e9, 0, "no step ended", 0},
    };
    eg__tracked *t = test_alloc(sizeof *t);
    memset(t, 0, sizeof *t);
    t->again = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const double none = (double)NAN;
        char text[EG_VERDICT_TEXT];
        t->now.step_flops = all[i].flops > 0 ? all[i].flops : none;
        t->now.step_bytes = all[i].bytes > 0 ? all[i].bytes : none;
        t->now.peak_flops = all[i].peak > 0 ? all[i].peak : none;
        t->now.peak_bandwidth = all[i].bandwidth > 0 ? all[i].bandwidth : none;
        const eg_metric step = {all[i].seconds, all[i].seconds > 0 ? EG_MEASURED : EG_UNAVAILABLE,
                                "s", "no step ended"};
        const eg_metric share = eg__verdict_of(t, &step, text);
        CHECK(strstr(text, all[i].text) == text, "'%s', expected '%s'", text, all[i].text);
        CHECK(all[i].share > 0 ? is_about(&share, all[i].share)
                               : share.provenance == EG_UNAVAILABLE && share.source[0],
              "'%s': %g", text, share.value);
    }
    free(t);
}

/* ---- history */
TEST(monitor, history_stays_within_its_memory) {
    static const struct {
        double interval;
        size_t samples;
    } all[] = {{1, 20000}, {0.01, 20000}, {60, 1000}, {7200, 10}};
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        eg__history *h = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *h, NULL);
        h->memory = memory;
        eg_reading reading = {.sensor = EG_SENSOR_cpu_load};
        double now = 1e9;
        for (size_t k = 0; k < all[i].samples; k++, now += all[i].interval) {
            reading.metric = (eg_metric){(double)(k % 10), EG_COUNTED, "%", reading.source};
            const eg_monitor_sample sample = {.time_ns = (int64_t)(now * 1e9),
                                              .elapsed = all[i].interval,
                                              .reading_count = 1,
                                              .readings = &reading};
            CHECK_OK(eg__history_add(h, &sample, &error), error);
        }
        const double covers = now - h->begins[0], whole = all[i].interval * (double)all[i].samples;
        CHECK(h->count == 1 && h->points <= EG_HISTORY_POINTS && h->points > 0, "%zu points",
              h->points);
        CHECK(covers >= 0.99 * fmin(whole, 3600), "interval %g: %g s of %g", all[i].interval,
              covers, whole);
        uint32_t samples = 0;
        for (size_t k = 0; k < h->points; k++) {
            const float least = h->series[0]->bins[k].least, mean = h->series[0]->bins[k].mean,
                        most = h->series[0]->bins[k].most;
            samples += h->series[0]->bins[k].samples;
            CHECK(least <= mean && mean <= most && least >= 0 && most <= 9, "point %zu: %g %g %g",
                  k, (double)least, (double)mean, (double)most);
            CHECK(!k || h->begins[k] > h->begins[k - 1], "point %zu is before its neighbour", k);
        }
        CHECK(samples > 0 && samples <= all[i].samples, "%u samples", samples);
        eg__history_close(h);
        eg__memory_give(memory, h);
    }
    eg__memory_destroy(memory);
}

/* More figures than there is room for, and programs that ended more than an hour ago. */
TEST(monitor, history_of_many_programs) {
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    eg__history *h = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *h, NULL);
    h->memory = memory;
    eg_published p = {.activity = "run"};
    p.figures[EG_FIGURE_steps] = (eg_metric){1, EG_COUNTED, "steps", ""};
    for (size_t k = 0; k < 2000; k++) {
        p.pid = 1 + k;
        const eg_monitor_sample sample = {.time_ns = (int64_t)k * 60000000000,
                                          .elapsed = 60,
                                          .published_count = 1,
                                          .published = &p};
        CHECK_OK(eg__history_add(h, &sample, &error), error);
        CHECK(h->count <= EG_HISTORY_SERIES, "%zu series", h->count);
    }
    CHECK(h->series[h->count - 1]->pid > 1000, "those of old programs were kept instead");
    eg__history_close(h);
    eg__memory_give(memory, h);
    eg__memory_destroy(memory);
}

TEST(monitor, series) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_monitor *monitor = open_monitor(context, folder);
    eg_series_info info = {.size = sizeof info};
    eg_error error;
    CHECK_FAILS(eg_monitor_series(monitor, 0, &info, &error), error, EG_ERR_NOT_FOUND, "no series");
    read_sample(monitor);
    read_sample(monitor);
    size_t count = 0;
    bool load = false;
    while (eg_monitor_series(monitor, count, &info, NULL) == EG_OK) {
        load |= strcmp(info.name, "cpu_load") == 0 && strcmp(info.label, "PCPU0") == 0 &&
                !info.pid && info.count && info.points[0].mean == 75;
        count++;
    }
    CHECK(count > 20 && load, "%zu series", count);
    CHECK_FAILS(eg_monitor_series(monitor, 0, NULL, &error), error, EG_ERR_ARGUMENT, "no output");
    eg_monitor_close(monitor);
    eg_context_destroy(context);
}

/* ---- the thread */
typedef struct seen {
    eg_monitor *monitor;
    atomic_uint samples, failures;
    atomic_bool lines;
} seen;

static void take_sample(void *user, const eg_monitor_sample *sample, const eg_error *error) {
    seen *s = user;
    const char *line;
    eg_monitor_sample own = {.size = sizeof own};
    if (error) atomic_fetch_add(&s->failures, 1);
    if (!sample) return;
    if (eg_monitor_line(s->monitor, &line, NULL, NULL) == EG_OK && line[0] == '{')
        atomic_store(&s->lines, true);
    CHECK(eg_monitor_read(s->monitor, &own, NULL) == EG_ERR_BUSY, "a sample within a sample");
    atomic_fetch_add(&s->samples, 1);
}

TEST(monitor, a_thread) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    seen s = {.monitor = open_monitor(context, folder)};
    eg_error error;
    const char *line;
    eg_series_info info = {.size = sizeof info};
    eg_monitor_sample sample = {.size = sizeof sample};
    CHECK_FAILS(eg_monitor_start(s.monitor, 0.001, take_sample, &s, &error), error, EG_ERR_ARGUMENT,
                "interval of 0.001");
    CHECK_FAILS(eg_monitor_start(s.monitor, 1, NULL, &s, &error), error, EG_ERR_ARGUMENT,
                "no function");
    for (int i = 0; i < 2; i++) { /* it can be started again */
        atomic_store(&s.samples, 0);
        CHECK_OK(eg_monitor_start(s.monitor, 0.01, take_sample, &s, &error), error);
        CHECK_FAILS(eg_monitor_start(s.monitor, 1, take_sample, &s, &error), error, EG_ERR_BUSY,
                    "started already");
        CHECK_FAILS(eg_monitor_read(s.monitor, &sample, &error), error, EG_ERR_BUSY, "started");
        CHECK_FAILS(eg_monitor_line(s.monitor, &line, NULL, &error), error, EG_ERR_BUSY, "started");
        CHECK_FAILS(eg_monitor_series(s.monitor, 0, &info, &error), error, EG_ERR_BUSY, "started");
        while (atomic_load(&s.samples) < 3) usleep(1000);
        eg_monitor_stop(s.monitor);
        eg_monitor_stop(s.monitor);
    }
    CHECK(atomic_load(&s.lines) && !atomic_load(&s.failures), "lines in the callback");
    CHECK_OK(eg_monitor_read(s.monitor, &sample, &error), error);
    CHECK_OK(eg_monitor_start(s.monitor, 3600, take_sample, &s, &error), error);
    eg_monitor_close(s.monitor); /* which stops it, long before its hour */
    eg_monitor_stop(NULL);
    eg_context_destroy(context);
}

/* ---- mistakes and memory */
TEST(monitor, arguments) {
    eg_context *context = open_context();
    eg_monitor *monitor;
    eg_error error;
    eg_monitor_sample sample = {.size = sizeof sample};
    const char *line;
    CHECK_FAILS(eg_monitor_open(context, NULL, NULL, &error), error, EG_ERR_ARGUMENT, "no output");
    CHECK_FAILS(eg_monitor_open(NULL, NULL, &monitor, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_monitor_read(NULL, &sample, &error), error, EG_ERR_ARGUMENT, "no monitor");
    CHECK_FAILS(eg_monitor_line(NULL, &line, NULL, &error), error, EG_ERR_ARGUMENT, "no monitor");
    char folder[256];
    copy_folder(folder);
    monitor = open_monitor(context, folder);
    CHECK_FAILS(eg_monitor_line(monitor, &line, NULL, &error), error, EG_ERR_ARGUMENT,
                "no sample was read yet");
    eg_monitor_close(monitor);
    eg_monitor_close(NULL);
    for (int i = 0; i < EG_FIGURE_COUNT; i++) {
        const char *name = eg_figure_name((eg_figure)i);
        CHECK(name && eg_figure_text((eg_figure)i), "figure %d", i);
        for (int k = 0; k < EG_SENSOR_COUNT; k++)
            CHECK(strcmp(name, eg_sensor_name((eg_sensor)k)) != 0, "'%s' is a sensor, too", name);
    }
    CHECK(!eg_figure_name(EG_FIGURE_COUNT) && !eg_figure_unit(EG_FIGURE_COUNT) &&
              !eg_figure_text(EG_FIGURE_COUNT),
          "beyond the last figure");
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    char root[512];
    snprintf(root, sizeof root, "%s", test_path("fixtures/sensors/m1"));
    const eg_monitor_options options = {.size = sizeof options, .root = root, .folder = user};
    eg_monitor *monitor;
    eg_monitor_sample sample = {.size = sizeof sample};
    const char *line;
    eg_status status = eg_monitor_open(context, &options, &monitor, error);
    CHECK((monitor == NULL) == (status != EG_OK), "status %d", (int)status);
    if (!status) status = eg_monitor_read(monitor, &sample, error);
    if (!status) status = eg_monitor_line(monitor, &line, NULL, error);
    if (!status) status = eg_monitor_metrics(monitor, EG_METRICS_OPEN, &line, NULL, error);
    if (!status) status = eg_monitor_history(monitor, &line, NULL, error);
    eg_monitor_close(monitor);
    return status;
}

TEST(monitor, allocations) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    const eg_publisher_options options = {.size = sizeof options, .folder = folder};
    eg_publisher *p;
    eg_error error;
    CHECK_OK(eg_publisher_open(context, &options, &p, &error), error);
    const int count = test_every_allocation_within(attempt, folder);
    CHECK(count > 5, "%d allocations", count);
    eg_publisher_close(p);
    eg_context_destroy(context);
}
