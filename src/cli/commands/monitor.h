/* elegans monitor: what it prints, and its alerts. */
#ifndef EG__CLI_MONITOR_H
#define EG__CLI_MONITOR_H

#include "cli/cli.h"

/* ---- monitor_text.c */
void monitor_print(const eg_monitor_sample *sample);

/* ---- monitor_alerts.c */
typedef struct monitor_alerts {
    eg_alert **all;
    size_t count;
    const char *command; /* for the shell; NULL = none */
    bool fired;          /* one of them did, some time */
    bool on_screen;      /* a whole screen is shown meanwhile */
    char firing[256];    /* what the last one that fires says; "" = none fires */
} monitor_alerts;
/* Expressions with ';' between them; NULL = none. */
int alerts_open(monitor_alerts *a, eg_context *context, const char *text, const char *shell);
/* A line on stderr for each that fires or ends, and the command. */
int alerts_check(monitor_alerts *a, const eg_monitor_sample *sample);
void alerts_close(monitor_alerts *a); /* waits for commands that still run */

/* ---- monitor_screen.c */
/* What the loop of the screen needs of the command. */
typedef struct monitor_watch {
    eg_monitor *monitor;
    monitor_alerts *alerts;
    double interval;
    uint64_t count; /* samples; 0 = without end */
    bool replays;   /* a recording, whose end stays on the screen */
    /* The next sample; CLI_DONE: there is none. */
    int (*take)(void *user, eg_monitor_sample *sample);
    void *user;
} monitor_watch;
bool monitor_screen_usable(void);
/* CLI_DONE: the terminal cannot show it. */
int monitor_screen(const monitor_watch *watch);

/* ---- monitor_metrics.c */
/* The last sample into a file for Prometheus: *.prom in the format that node_exporter reads, others as OpenMetrics. */
int monitor_metrics(eg_monitor *monitor, const char *path);

/* ---- monitor_web.c */
typedef struct monitor_site {
    const char *address, *token; /* NULL = the defaults */
    uint64_t port;
} monitor_site;
int monitor_web_check(const monitor_site *site); /* before anything begins */
/* Serves samples until Ctrl-C. */
int monitor_web(const monitor_watch *watch, const monitor_site *site);

#endif
