/* A server of one thread, by libmicrohttpd: requests are checked, then answered. */
#include "cli/web/web_server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

void web_lock(web_server *s) { pthread_mutex_lock(&s->lock); }
void web_unlock(web_server *s) { pthread_mutex_unlock(&s->lock); }

/* ---- a request */

/* The target as it came, before anything is decoded; later calls find it in *context. */
static void *keep_target(void *user, const char *target, struct MHD_Connection *connection) {
    (void)user, (void)connection;
    return strdup(target);
}

static enum MHD_Result look_at(void *user, enum MHD_ValueKind kind, const char *name,
                               const char *value) {
    (void)kind;
    web_request *r = user;
    r->header_bytes += strlen(name) + (value ? strlen(value) : 0) + 4;
    const struct {
        const char *name, **slot;
    } wanted[] = {{"Host", &r->host},
                  {"Origin", &r->origin},
                  {"Authorization", &r->authorization},
                  {"Cookie", &r->cookie}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcasecmp(name, wanted[i].name) == 0) *wanted[i].slot = value;
    r->hosts += strcasecmp(name, "Host") == 0;
    r->body |= strcasecmp(name, "Transfer-Encoding") == 0 ||
               (strcasecmp(name, "Content-Length") == 0 && value && strcmp(value, "0") != 0);
    return MHD_YES;
}

static void mark(web_server *s, struct MHD_Connection *connection, bool answering) {
    web_link *link = web_link_of(connection);
    if (!link) return;
    web_lock(s);
    link->answering = answering;
    link->since = eg_clock_ns();
    if (!answering) web_stream_end(link);
    web_unlock(s);
}

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **context) {
    (void)url, (void)version, (void)upload;
    web_server *s = user;
    web_request request = {.method = method, .target = *context};
    if (*upload_size) { /* of a request that was refused */
        *upload_size = 0;
        return MHD_YES;
    }
    if (!web_link_of(connection)) return MHD_NO;
    mark(s, connection, true);
    mhd.get_connection_values(connection, MHD_HEADER_KIND, look_at, &request);
    const web_answer found = web_check(s->site, &request);
    if (found.status != MHD_HTTP_OK) return web_answer_fault(connection, found.status, found.text);
    /* the headers of a stream are those of any answer, and HEAD wants no more */
    if (found.kind == WEB_EVENTS && strcmp(method, "HEAD") == 0) {
        struct MHD_Response *r = web_answer_make("", 0, "text/event-stream");
        const enum MHD_Result queued = r ? mhd.queue_response(connection, MHD_HTTP_OK, r) : MHD_NO;
        if (r) mhd.destroy_response(r);
        return queued;
    }
    return web_answer_send(s, connection, &found);
}

static void complete(void *user, struct MHD_Connection *connection, void **context,
                     enum MHD_RequestTerminationCode why) {
    (void)why;
    free(*context);
    *context = NULL;
    mark(user, connection, false);
}

/* ---- the server */
int web_open(web_server **out, const web_site *site, int listens, eg_monitor *monitor) {
    web_server *s = take_memory(1, sizeof *s);
    s->site = site;
    s->monitor = monitor;
    s->started = (int64_t)time(NULL);
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    /* poll, not epoll: with that, 0.9.75 does not notice the end of a client in the middle of a request */
    s->daemon = mhd.start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL, NULL,
        answer, s, MHD_OPTION_LISTEN_SOCKET, listens, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)WEB_LINKS, MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)WEB_LINKS_PER_HOST,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)WEB_IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_POOL, MHD_OPTION_URI_LOG_CALLBACK,
        keep_target, s, MHD_OPTION_NOTIFY_COMPLETED, complete, s, MHD_OPTION_NOTIFY_CONNECTION,
        web_link_notice, s, MHD_OPTION_END);
    if (s->daemon) return CLI_OK;
    close(listens);
    return fail(EXIT_FAILED, "the web server does not start: no memory, or no thread");
}

int web_publish(web_server *s) {
    static const char head[] = "retry: 1000\nevent: sample\ndata: ";
    const char *line;
    size_t length;
    eg_error error;
    if (eg_monitor_line(s->monitor, &line, &length, &error)) return fail_with(&error);
    const size_t room = sizeof head + length + 2;
    web_event *event = malloc(sizeof *event + room);
    if (!event) return fail(EXIT_FAILED, "no memory for an event of %zu bytes", room);
    event->users = 1;
    event->length = (size_t)snprintf(event->text, room, "%s%s\n\n", head, line);
    web_event_drop(s->event);
    s->event = event;
    s->sequence++;
    web_answers_forget(s);
    for (web_link *link = s->links; link; link = link->next) web_stream_wake(link);
    return CLI_OK;
}

void web_close(web_server *s) {
    if (!s) return;
    web_lock(s);
    s->closing = true; /* streams end; none is suspended again */
    for (web_link *link = s->links; link; link = link->next) web_stream_wake(link);
    web_unlock(s);
    if (s->daemon) mhd.stop_daemon(s->daemon);
    web_answers_forget(s);
    web_event_drop(s->event);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
