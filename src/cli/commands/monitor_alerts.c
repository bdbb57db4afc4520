/* Alerts of elegans monitor: lines on stderr, a command, an exit code. */
#include "cli/commands/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* A name that is unknown is told with all that are known, which one message has no room for. */
static int refuse(const char *text, const eg_error *error) {
    fail(EXIT_FAILED, "--alert '%s': %s", text, error->message);
    if (error->status == EG_ERR_NOT_FOUND && strstr(error->message, "figure")) {
        fputs("figures of programs:", stderr);
        for (int i = 0; i < EG_FIGURE_COUNT; i++)
            fprintf(stderr, " %s", eg_figure_name((eg_figure)i));
        fputs("\nsensors:", stderr);
        for (int i = 0; i < EG_SENSOR_COUNT; i++)
            fprintf(stderr, " %s", eg_sensor_name((eg_sensor)i));
        fputc('\n', stderr);
    }
    return EXIT_USAGE;
}

int alerts_open(monitor_alerts *a, eg_context *context, const char *text, const char *shell) {
    *a = (monitor_alerts){.command = shell};
    if (!text) return CLI_OK;
    char *copy = take_text(text);
    int code = CLI_OK;
    for (char *rest = copy, *one; !code && (one = strsep(&rest, ";"));) {
        eg_error error;
        a->all = take_more(a->all, (a->count + 1) * sizeof *a->all);
        if (eg_alert_create(context, one, &a->all[a->count], &error)) code = refuse(one, &error);
        else a->count++;
    }
    free(copy);
    return code;
}

/* ---- the command: started, not waited for, so that samples go on */
static void reap(bool wait) {
    int status;
    pid_t ended;
    do {
        ended = waitpid(-1, &status, wait ? 0 : WNOHANG);
        if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status))
            warn("--alert-command ended with exit code %d", WEXITSTATUS(status));
    } while (ended > 0 || (ended < 0 && errno == EINTR));
}

static int set_variables(const eg_alert_state *s) {
    char value[EG_NUMBER_SIZE], limit[EG_NUMBER_SIZE], pid[24] = "";
    eg_number_format(value, s->value);
    eg_number_format(limit, s->limit);
    if (s->pid) snprintf(pid, sizeof pid, "%llu", (unsigned long long)s->pid);
    const struct {
        const char *name, *value;
    } all[] = {{"ELEGANS_ALERT", s->text},
               {"ELEGANS_ALERT_EVENT", s->event == EG_ALERT_FIRED ? "fired" : "cleared"},
               {"ELEGANS_ALERT_NAME", s->name},
               {"ELEGANS_ALERT_VALUE", value},
               {"ELEGANS_ALERT_LIMIT", limit},
               {"ELEGANS_ALERT_UNIT", s->unit ? s->unit : ""},
               {"ELEGANS_ALERT_SUBJECT", s->subject},
               {"ELEGANS_ALERT_PID", pid},
               {"ELEGANS_ALERT_MESSAGE", s->message}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (setenv(all[i].name, all[i].value, 1) != 0) return errno;
    return 0;
}

/* On a screen its output goes where messages wait, and keys are not for it. */
static int spawn(const monitor_alerts *a, char *const *arguments) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int refused = posix_spawn_file_actions_init(&actions);
    if (refused) return refused;
    if (a->on_screen) {
        refused = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (!refused) refused = posix_spawn_file_actions_adddup2(&actions, 2, 1);
    }
    if (!refused) refused = posix_spawn(&child, "/bin/sh", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return refused;
}

static void run_command(const monitor_alerts *a, const eg_alert_state *s) {
    char *arguments[] = {"sh", "-c", (char *)(uintptr_t)a->command, NULL};
    int refused = set_variables(s);
    if (!refused) refused = spawn(a, arguments);
    if (refused) warn("cannot run --alert-command: %s", strerror(refused));
}

int alerts_check(monitor_alerts *a, const eg_monitor_sample *sample) {
    reap(false);
    for (size_t i = 0; i < a->count; i++) {
        eg_alert_state state = {.size = sizeof state};
        eg_error error;
        if (eg_alert_check(a->all[i], sample, &state, &error)) return fail_with(&error);
        if (state.event == EG_ALERT_NONE) continue;
        const bool fires = state.event == EG_ALERT_FIRED;
        a->fired |= fires;
        snprintf(a->firing, sizeof a->firing, "%s", fires ? state.message : "");
        fflush(stdout);
        fprintf(stderr, "elegans: alert %s: %s\n", fires ? "fired" : "cleared", state.message);
        if (a->command) run_command(a, &state);
    }
    return CLI_OK;
}

void alerts_close(monitor_alerts *a) {
    if (a->command) reap(true);
    for (size_t i = 0; i < a->count; i++) eg_alert_destroy(a->all[i]);
    free(a->all);
}
