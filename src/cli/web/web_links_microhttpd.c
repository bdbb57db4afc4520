/* Connections: known from their first byte, so that those that take too long can be ended. */
#include "cli/web/web_server.h"

#include <stdlib.h>
#include <sys/socket.h>

static void begin(web_server *s, struct MHD_Connection *connection, void **context) {
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int size = WEB_SOCKET_BUFFER;
    web_link *link = calloc(1, sizeof *link);
    *context = link; /* NULL: its requests are refused */
    if (!link) return;
    link->server = s;
    link->socket = info ? info->connect_fd : -1;
    link->since = eg_clock_ns();
    /* what a client does not read waits here, not in megabytes that the system would give */
    if (link->socket >= 0) setsockopt(link->socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    web_lock(s);
    link->next = s->links;
    s->links = link;
    web_unlock(s);
}

/* The socket is closed after this, so that nobody can end another one's by its number. */
static void end(web_server *s, web_link *link) {
    if (!link) return;
    web_lock(s);
    for (web_link **at = &s->links; *at; at = &(*at)->next)
        if (*at == link) {
            *at = link->next;
            break;
        }
    web_stream_end(link);
    web_unlock(s);
    free(link);
}

void web_link_notice(void *user, struct MHD_Connection *connection, void **context,
                     enum MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED) begin(user, connection, context);
    else {
        end(user, *context);
        *context = NULL;
    }
}

web_link *web_link_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static bool too_slow(const web_link *link, double seconds) {
    if (link->stream) return !link->waits && seconds > WEB_SLOW_SECONDS;
    return seconds > (link->answering ? WEB_ANSWER_SECONDS : WEB_ASK_SECONDS);
}

void web_tick(web_server *s) {
    web_lock(s);
    const uint64_t now = eg_clock_ns();
    for (web_link *link = s->links; link; link = link->next) {
        const double seconds = now > link->since ? (double)(now - link->since) * 1e-9 : 0;
        if (too_slow(link, seconds)) shutdown(link->socket, SHUT_RDWR); /* its thread closes it */
        if (!link->waits || seconds < WEB_BEAT_SECONDS) continue;
        link->beats = true;
        web_stream_wake(link);
    }
    web_unlock(s);
}
