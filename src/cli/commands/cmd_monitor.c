/* elegans monitor: what the machine and the programs on it are doing, sample by sample. */
#include "cli/commands/monitor.h"
#include "cli/interrupt.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { WEB_PORT = 8642 };

typedef struct settings {
    double interval;
    uint64_t count; /* 0 = without end */
    bool once, json, plain, web;
    const char *root, *record, *replay, *alert, *alert_command, *metrics;
    monitor_site site;
} settings;

static void pause_for(double seconds) {
    struct timespec rest = {(time_t)seconds, 0};
    rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
    while (!interrupted() && nanosleep(&rest, &rest)) {
    }
}

static int write_line(eg_monitor *monitor, FILE *file) {
    const char *text;
    eg_error error;
    if (eg_monitor_line(monitor, &text, NULL, &error)) return fail_with(&error);
    if (fprintf(file, "%s\n", text) > 0 && fflush(file) == 0) return CLI_OK;
    return fail(EXIT_FAILED, "cannot write a sample: %s", strerror(errno));
}

/* ---- a sample: recorded, and looked at by the alerts */
typedef struct taking {
    eg_monitor *monitor;
    monitor_alerts *alerts;
    FILE *record;        /* NULL = none */
    const char *metrics; /* a file; NULL = none */
} taking;

static int take_sample(void *user, eg_monitor_sample *sample) {
    const taking *t = user;
    eg_error error;
    const eg_status status = eg_monitor_read(t->monitor, sample, &error);
    if (status == EG_ERR_STOPPED) return CLI_DONE;
    if (status) return fail_with(&error);
    int code = t->record ? write_line(t->monitor, t->record) : CLI_OK;
    if (!code && t->metrics) code = monitor_metrics(t->monitor, t->metrics);
    return code ? code : alerts_check(t->alerts, sample);
}

static int watch_lines(taking *t, const settings *w) {
    eg_monitor_sample sample = {.size = sizeof sample};
    int code = CLI_OK;
    interrupt_begin();
    for (uint64_t i = 0; !code && (!w->count || i < w->count); i++) {
        if (!w->replay) pause_for(w->interval);
        if (interrupted()) break;
        code = take_sample(t, &sample);
        if (!code && w->json) code = write_line(t->monitor, stdout);
        else if (!code) monitor_print(&sample);
    }
    interrupt_end();
    return code == CLI_DONE ? CLI_OK : code;
}

static int watch(taking *t, const settings *w) {
    const monitor_watch screen = {.monitor = t->monitor,
                                  .alerts = t->alerts,
                                  .interval = w->interval,
                                  .count = w->count,
                                  .replays = w->replay != NULL,
                                  .take = take_sample,
                                  .user = t};
    if (w->web) return monitor_web(&screen, &w->site);
    const bool lines = w->json || w->once || w->plain || !monitor_screen_usable();
    const int code = lines ? CLI_DONE : monitor_screen(&screen);
    return code == CLI_DONE ? watch_lines(t, w) : code;
}

static int run(eg_context *context, const settings *w) {
    const eg_monitor_options options = {
        .size = sizeof options, .root = w->root, .replay = w->replay};
    monitor_alerts alerts;
    eg_monitor *monitor = NULL;
    FILE *record = NULL;
    eg_error error;
    int code = alerts_open(&alerts, context, w->alert, w->alert_command);
    if (!code && w->record) code = output_log(w->record, NULL, NULL, &record);
    if (!code && eg_monitor_open(context, &options, &monitor, &error)) code = fail_with(&error);
    if (!code) {
        taking t = {monitor, &alerts, record, w->metrics};
        code = watch(&t, w);
    }
    eg_monitor_close(monitor);
    if (record && fclose(record) != 0 && !code)
        code = fail(EXIT_FAILED, "cannot write '%s': %s", w->record, strerror(errno));
    if (!code && alerts.fired) code = EXIT_ALERT;
    alerts_close(&alerts);
    return code;
}

static int check(const settings *w) {
    if (!(w->interval >= 0.01 && w->interval <= 86400))
        return fail(EXIT_USAGE, "--interval '%g' is not between 0.01 and 86400 seconds",
                    w->interval);
    if (w->replay && (w->root || w->record))
        return fail(EXIT_USAGE, "--replay shows a recording: --root and --record do not apply");
    if (w->alert_command && !w->alert)
        return fail(EXIT_USAGE, "--alert-command needs --alert, which says when");
    if (!w->web && (w->site.address || w->site.token || w->site.port != WEB_PORT))
        return fail(EXIT_USAGE, "--port, --bind and --token are for --web");
    if (w->web && (w->once || w->json || w->plain))
        return fail(EXIT_USAGE, "--web shows samples in a browser: --once, --json and --plain do "
                                "not apply (--count N ends it after N samples)");
    return w->web ? monitor_web_check(&w->site) : CLI_OK;
}

int cmd_monitor(int argc, char **argv) {
    const context_flags flags = {.threads = 1};
    settings w = {.interval = 1, .site = {.port = WEB_PORT}};
    const option options[] = {
        {"--interval", OPTION_NUMBER, &w.interval, "S", "seconds between samples (default: 1)"},
        {"--count", OPTION_COUNT, &w.count, "N", "end after so many samples (default: Ctrl-C)"},
        {"--once", OPTION_FLAG, &w.once, NULL, "one sample"},
        {"--plain", OPTION_FLAG, &w.plain, NULL, "lines on a terminal, too, not a whole screen"},
        {"--json", OPTION_FLAG, &w.json, NULL, "a line of JSON per sample"},
        {"--record", OPTION_TEXT, &w.record, "FILE", "write a line of JSON per sample there, too"},
        {"--replay", OPTION_TEXT, &w.replay, "FILE", "show such a recording, not this machine"},
        {"--alert", OPTION_TEXT, &w.alert, "WHEN",
         "'p99 > 5us for 10s'; several with ';' between them"},
        {"--alert-command", OPTION_TEXT, &w.alert_command, "CMD",
         "run by the shell when an alert fires or ends"},
        {"--metrics-file", OPTION_TEXT, &w.metrics, "FILE",
         "the last sample for Prometheus; *.prom for node_exporter"},
        {"--web", OPTION_FLAG, &w.web, NULL, "a page for browsers, with /metrics for Prometheus"},
        {"--port", OPTION_WHOLE, &w.site.port, "N", "of --web (default: 8642); 0 = any"},
        {"--bind", OPTION_TEXT, &w.site.address, "ADDRESS",
         "where --web listens (default: 127.0.0.1, this machine)"},
        {"--token", OPTION_TEXT, &w.site.token, "TOKEN",
         "that --web asks for; made and printed when --bind needs one"},
        {"--root", OPTION_TEXT, &w.root, "DIR", "sensors from the files of another machine"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "monitor [OPTIONS]",
        "Prints what the machine is doing (load and clock of the cores, memory, pressure,\n"
        "temperatures, power by rail, battery, GPU), and what the programs of this user that\n"
        "publish are doing: steps per second, percentiles of their times, FLOP/s, memory,\n"
        "losses, and what bounds them. Rates are over the real time between two samples; what is\n"
        "not known says why. train, run, generate, embed and perplexity publish while they run,\n"
        "unless the environment has ELEGANS_PUBLISH=0.\n"
        "On a terminal it shows all this on the whole screen, with the history of the last hour;\n"
        "? lists the keys, q leaves. --plain, --once and --json print lines.\n"
        "--web serves the same to browsers, at http://127.0.0.1:8642/, until Ctrl-C. Other machines\n"
        "reach it with --bind 0.0.0.0 only, and need the token that is printed.\n"
        "An alert is NAME[:LABEL] > VALUE[UNIT] [for TIME] [clear VALUE]: any sensor or\n"
        "figure by its name, with >, >=, < or <=. It is a line on stderr and, at the end, exit\n"
        "code 4. The command finds ELEGANS_ALERT_EVENT (fired, cleared), _MESSAGE, _NAME, _VALUE,\n"
        "_LIMIT, _UNIT, _SUBJECT and _PID in its environment.",
        options,
        "  elegans monitor --once\n"
        "  elegans monitor --interval 0.5 --record day.jsonl\n"
        "  elegans monitor --replay day.jsonl --alert 'temperature > 90C for 30s'\n"
        "  elegans monitor --web\n"
        "  elegans monitor --alert 'p99:stream > 5us for 10s' --alert-command 'beep'\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest) return fail(EXIT_USAGE, "monitor takes options only, not '%s'", argv[0]);
    code = check(&w);
    if (code) return code;
    if (w.once) w.count = 1;
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    code = run(context, &w);
    eg_context_destroy(context);
    return code;
}
