/* elegans monitor --web: samples at their time, while the server answers. */
#include "cli/commands/monitor.h"
#include "cli/interrupt.h"
#include "cli/web/web.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

int monitor_web_check(const monitor_site *site) {
    const char *missing = web_missing();
    if (missing) return fail(EXIT_FAILED, "there is no web server: %s", missing);
    if (site->port > 65535)
        return fail(EXIT_USAGE, "--port '%llu' is not within 0..65535",
                    (unsigned long long)site->port);
    if (site->token && !web_token_good(site->token))
        return fail(
            EXIT_USAGE, "--token has %d to %d letters, digits or any of - . _ ~, not '%.20s'%s",
            WEB_TOKEN_LEAST, WEB_TOKEN_MAX, site->token, strlen(site->token) > 20 ? "..." : "");
    return CLI_OK;
}

/* False = Ctrl-C. */
static bool rest(web_server *server, double seconds) {
    const uint64_t start = eg_clock_ns();
    for (;;) {
        const double left = seconds - (double)(eg_clock_ns() - start) * 1e-9;
        if (interrupted()) return false;
        if (left <= 0) return true;
        const double slice = left < 0.2 ? left : 0.2;
        const struct timespec pause = {0, (long)(slice * 1e9)};
        nanosleep(&pause, NULL); /* a signal that ends it early is looked at above */
        if (server) web_tick(server);
    }
}

static int sample_once(web_server *server, const monitor_watch *w, eg_monitor_sample *sample) {
    web_lock(server);
    int code = w->take(w->user, sample);
    if (!code) code = web_publish(server);
    web_unlock(server);
    return code;
}

/* The first sample is there before the first request. */
static int serve(const monitor_watch *w, const web_site *site, int listens) {
    eg_monitor_sample sample = {.size = sizeof sample};
    web_server *server = NULL;
    const double first = w->interval < 0.2 || w->replays ? w->interval : 0.2;
    int code = CLI_OK;
    bool goes_on = w->replays || rest(NULL, first), ended = false;
    if (goes_on) code = w->take(w->user, &sample);
    if (code || !goes_on) close(listens);
    else code = web_open(&server, site, listens, w->monitor); /* which takes it over */
    if (!code && goes_on) {
        web_lock(server);
        code = web_publish(server);
        web_unlock(server);
    }
    if (!code && goes_on) web_print_address(site);
    for (uint64_t taken = 1; !code && goes_on && (!w->count || taken < w->count); taken++) {
        goes_on = rest(server, w->interval);
        if (goes_on && !ended) code = sample_once(server, w, &sample);
        if (code != CLI_DONE || !w->replays) continue;
        ended = true; /* the end of a recording stays to be looked at */
        code = CLI_OK;
    }
    web_close(server);
    return code == CLI_DONE ? CLI_OK : code;
}

int monitor_web(const monitor_watch *w, const monitor_site *asked) {
    web_site site;
    int listens, code;
    code = web_listen(asked->address ? asked->address : "127.0.0.1", (unsigned)asked->port, &site,
                      &listens);
    if (code) return code;
    if (asked->token) snprintf(site.token, sizeof site.token, "%s", asked->token);
    else if (!site.loopback) code = web_make_token(site.token);
    interrupt_begin();
    if (!code) code = serve(w, &site, listens);
    interrupt_end();
    return code;
}
