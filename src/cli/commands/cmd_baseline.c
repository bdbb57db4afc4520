/* elegans baseline: profiles that are kept by name. */
#include "cli/commands/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int save(eg_context *context, eg_history *history, const baseline_settings *w) {
    eg_error error;
    eg_environment environment;
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    samples s = {0};
    if (!w->model) return fail(EXIT_USAGE, "baseline save needs a name and a model");
    if (eg_environment_read(context, NULL, &environment, &error)) return fail_with(&error);
    int code = baseline_profile(context, w, w->model, &s, &profile);
    if (!code && eg_analyse(profile, &analysis, &error)) code = fail_with(&error);
    if (!code) code = history_keep(context, history, w, &environment, profile, analysis);
    eg_statistics time;
    if (!code) {
        char value[64];
        eg_profile_time(profile, &time);
        print_title(w->name, w->model);
        print_row("p50", format_seconds(value, time.p50.value), "measured");
        if (w->note) print_row("note", w->note, "");
        print_row("kept in", eg_history_path(history), "");
    }
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    free(s.seconds);
    return code;
}

/* ---- lists */
typedef struct listing {
    eg_context *context;
    json *list; /* NULL = text */
} listing;

static eg_interval interval_of(eg_context *context, const eg_history_entry *e) {
    const eg_interval damaged = {(double)NAN, (double)NAN, (double)NAN};
    eg_statistics s;
    eg_error error;
    const eg_status status = eg_statistics_of(context, e->sample_count, e->samples, &s, &error);
    /* damaged samples have no median; without memory nobody knows whether they have */
    if (status == EG_ERR_MEMORY) exit(fail_with(&error));
    return !status && s.least >= 0 ? s.p50 : damaged; /* no clock shows less */
}

static double median_of(eg_context *context, const eg_history_entry *e) {
    return interval_of(context, e).value;
}

static void print_below(const char *text) {
    if (!text[0]) return;
    printf("%19s", "");
    print_folded(text, strlen(text), 19, 19, NULL);
}

static int print_entry(void *user, const eg_history_entry *e) {
    const listing *l = user;
    char date[32], time_text[32], head[160];
    const time_t when = (time_t)e->time;
    struct tm parts;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M", localtime_r(&when, &parts));
    if (l->list) {
        json *object = json_new_object();
        json_put_text(object, "name", e->name);
        json_put_text(object, "model", e->model);
        json_put_text(object, "options", e->options);
        json_put_count(object, "time", (uint64_t)e->time);
        json_put_number(object, "p50", median_of(l->context, e));
        json_put_text(object, "version", e->program_version);
        json_put_text(object, "configuration", e->configuration);
        json_put_text(object, "note", e->note);
        json_append(l->list, object);
        return 0;
    }
    enum { NAME = 16 };
    const double median = median_of(l->context, e);
    const char *name = e->name ? e->name : "";
    if (text_columns(name) > NAME) { /* whole, to be typed again */
        print_wrapped(name);
        name = "";
    }
    snprintf(head, sizeof head, "  %s%*s %s  %10s  ", name, NAME - text_columns(name), "", date,
             isnan(median) ? "damaged" : format_seconds(time_text, median));
    fputs(head, stdout);
    const char *model = e->model[0] ? e->model : "?";
    print_folded(model, strlen(model), text_columns(head), 3 + NAME, NULL);
    fputs(style_dim(), stdout);
    print_below(e->options);
    fputs(style_end(), stdout);
    print_below(e->note);
    return 0;
}

static int list(eg_context *context, eg_history *history, const eg_history_filter *filter,
                bool as_json) {
    eg_error error;
    json *entries = as_json ? json_new_list() : NULL;
    listing l = {context, entries};
    if (eg_history_list(history, filter, print_entry, &l, &error)) {
        json_free(entries);
        return fail_with(&error);
    }
    return as_json ? json_print(entries) : CLI_OK;
}

enum { ROUNDS_MOST = 1000 };

static int list_names(eg_context *context, eg_history *history, const baseline_settings *w) {
    return list(context, history, &(eg_history_filter){.baselines = 1}, w->json);
}

static int delete_one(eg_context *context, eg_history *history, const baseline_settings *w) {
    eg_error error;
    (void)context;
    return eg_history_delete(history, w->name, &error) ? fail_with(&error) : CLI_OK;
}

/* The subcommands: how many of NAME and MODEL each takes, and which options belong to it. */
static const struct {
    const char *name;
    int arguments;
    bool program, note;
    int (*run)(eg_context *context, eg_history *history, const baseline_settings *w);
} actions[] = {{"save", 2, false, true, save},
               {"list", 0, false, false, list_names},
               {"compare", 2, true, false, baseline_compare},
               {"delete", 1, false, false, delete_one}};
enum { ACTIONS = sizeof actions / sizeof *actions };

static int act(eg_context *context, const char *action, const baseline_settings *w) {
    eg_error error;
    eg_history *history;
    size_t i = 0;
    while (i < ACTIONS && strcmp(actions[i].name, action) != 0) i++;
    if (i == ACTIONS)
        return fail(EXIT_USAGE, "baseline: '%s' is not save, list, compare or delete", action);
    if (actions[i].arguments && !w->name)
        return fail(EXIT_USAGE, "baseline %s needs a name", action);
    if (w->program && !actions[i].program)
        return fail(EXIT_USAGE, "--program is for baseline compare, not %s", action);
    if (w->note && !actions[i].note)
        return fail(EXIT_USAGE, "--note is for baseline save, not %s", action);
    const char *const given[] = {w->name, w->model, NULL};
    const char *more = given[actions[i].arguments];
    if (more) return fail(EXIT_USAGE, "baseline %s: unexpected argument '%s'", action, more);
    if (w->rounds > ROUNDS_MOST)
        return fail(EXIT_USAGE, "--rounds: %llu is not within 1..%d", (unsigned long long)w->rounds,
                    ROUNDS_MOST);
    if (eg_history_open(context, w->history, &history, &error)) return fail_with(&error);
    const int code = actions[i].run(context, history, w);
    eg_history_close(history);
    return code;
}

int cmd_baseline(int argc, char **argv) {
    baseline_settings w = {0};
    context_flags flags = {.threads = 1};
    const option options[] = {
        {"--batch", OPTION_COUNT, &w.batch, "N", "batch size (default: 1)"},
        {"--seq", OPTION_COUNT, &w.seq, "N", "time steps of a sample (default: 1)"},
        {"--runs", OPTION_COUNT, &w.runs, "N", "timed runs; of compare, in each round (30)"},
        {"--warmup", OPTION_COUNT, &w.warmup, "N", "runs before the timed ones (default: 3)"},
        {"--replace", OPTION_FLAG, &w.replace, NULL, "save: replace an existing name"},
        {"--note", OPTION_TEXT, &w.note, "TEXT", "save: a note"},
        {"--program", OPTION_TEXT, &w.program, "FILE",
         "compare: another build of elegans, alternating"},
        {"--rounds", OPTION_COUNT, &w.rounds, "N", "compare: alternating rounds (default: 10)"},
        {"--effect", OPTION_NUMBER, &w.effect, "X",
         "smallest relative change that counts (default: 0.03)"},
        {"--alpha", OPTION_NUMBER, &w.alpha, "X", "significance level (default: 0.01)"},
        {"--history", OPTION_TEXT, &w.history, "FILE", "the database (default: of this user)"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "baseline save|list|compare|delete [NAME [MODEL]] [OPTIONS]",
        "Stores times of a model by name, and tells later whether it became slower. With\n"
        "another MODEL, of any architecture, the runs of that of the baseline and of this one\n"
        "alternate; with --program, those of another build of elegans and of this one. First\n"
        "the same program is compared with itself, to measure the noise of this machine.\n"
        "A program named in the history is shown, never run. Exit codes: 0 the same or\n"
        "faster, 3 slower, 1 failed, 2 usage.",
        options,
        "  elegans baseline save before policy.safetensors --batch 32 --seq 64\n"
        "  elegans baseline compare before || echo slower\n"
        "  elegans baseline compare before retrained.safetensors\n"
        "  elegans baseline compare before --program old/elegans\n"
        "  elegans baseline list\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest < 1 || rest > 3)
        return fail(EXIT_USAGE, "baseline needs one of save, list, compare, delete");
    if (rest > 1) w.name = argv[1];
    if (rest > 2) w.model = argv[2];
    if (!json_usable()) return json_print(NULL);
    w.isa = flags.isa;
    w.threads = flags.threads;
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    code = act(context, argv[0], &w);
    eg_context_destroy(context);
    return code;
}

/* ---- history */
enum { TREND_MOST = 256 };
typedef struct trend {
    eg_context *context;
    eg_report_run runs[TREND_MOST]; /* the newest first; names are to be freed */
    size_t count;
} trend;

static int add_run(void *user, const eg_history_entry *e) {
    trend *t = user;
    const eg_interval median = interval_of(t->context, e);
    if (t->count == TREND_MOST || isnan(median.value)) return 0;
    t->runs[t->count++] = (eg_report_run){.time = e->time,
                                          .seconds = median.value,
                                          .low = median.low,
                                          .high = median.high,
                                          .name = e->name ? take_text(e->name) : NULL};
    return 0;
}

static void trend_free(trend *t) {
    for (size_t i = 0; i < t->count; i++) free((char *)(uintptr_t)t->runs[i].name);
}

/* From the oldest to the newest, eighths of a line. */
static void print_trend(const trend *t) {
    double low = t->runs[0].seconds, high = t->runs[0].seconds;
    for (size_t i = 0; i < t->count; i++) {
        if (t->runs[i].seconds < low) low = t->runs[i].seconds;
        if (t->runs[i].seconds > high) high = t->runs[i].seconds;
    }
    char a[32], b[32], head[80];
    snprintf(head, sizeof head, "  %s .. %s  ", format_seconds(a, low), format_seconds(b, high));
    fputs(head, stdout);
    const size_t room = TEXT_WIDTH - strlen(head);
    for (size_t i = t->count < room ? t->count : room; i-- > 0;)
        fputs(format_block((t->runs[i].seconds - low) / (high - low)), stdout);
    putchar('\n');
}

static int draw(const trend *t, const char *model, const char *path) {
    eg_report *picture;
    eg_error error;
    if (eg_report_of_history(t->context, model, t->runs, t->count, &picture, &error))
        return fail_with(&error);
    return output_report_file(picture, path);
}

int cmd_history(int argc, char **argv) {
    const char *path = NULL, *svg = NULL;
    uint64_t limit = 0;
    bool as_json = false;
    const option options[] = {
        {"--limit", OPTION_COUNT, &limit, "N", "number of entries, newest first (default: 30)"},
        {"--history", OPTION_TEXT, &path, "FILE", "the database (default: of this user)"},
        {"--svg", OPTION_TEXT, &svg, "FILE", "draw the medians over time, with baselines"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "history [MODEL] [OPTIONS]",
        "Entries of elegans baseline and profile --save, the newest first; of one model, with\n"
        "its trend.",
        options, "  elegans history policy.safetensors --svg trend.svg\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest > 1) return fail(EXIT_USAGE, "history takes one model");
    if (svg && !rest) return fail(EXIT_USAGE, "--svg needs a model");
    if (as_json && !json_usable()) return json_print(NULL);
    eg_context *context;
    eg_history *history;
    eg_error error;
    trend t = {.count = 0};
    const eg_history_filter filter = {.model = rest ? argv[0] : NULL, .limit = limit ? limit : 30};
    code = context_open(&(context_flags){.threads = 1}, &context);
    if (code) return code;
    t.context = context;
    if (eg_history_open(context, path, &history, &error)) code = fail_with(&error);
    else {
        code = list(context, history, &filter, as_json);
        if (!code && rest && eg_history_list(history, &filter, add_run, &t, &error))
            code = fail_with(&error);
        if (!code && rest && !t.count)
            code = fail(EXIT_FAILED, "the history has nothing about '%s'", argv[0]);
        if (!code && t.count && !as_json) print_trend(&t);
        if (!code && svg) code = draw(&t, argv[0], svg);
        trend_free(&t);
        eg_history_close(history);
    }
    eg_context_destroy(context);
    return code;
}
