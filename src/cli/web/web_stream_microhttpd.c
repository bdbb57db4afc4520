/* Server-sent events: every sample to everybody who listens, and none of them can hold up the others. */
#include "cli/web/web_server.h"

#include <stdlib.h>
#include <string.h>

static const char sign_of_life[] = ":\n\n"; /* a comment */

void web_event_drop(web_event *event) {
    if (event && --event->users == 0) free(event);
}

void web_stream_wake(web_link *link) {
    if (!link->waits) return;
    link->waits = false;
    link->since = eg_clock_ns();
    mhd.resume_connection(link->stream);
}

void web_stream_end(web_link *link) {
    web_event_drop(link->event);
    link->event = NULL;
    link->stream = NULL;
    link->waits = false;
}

static ssize_t send_event(web_link *link, char *out, size_t room) {
    const size_t left = link->event->length - link->sent, size = left < room ? left : room;
    memcpy(out, link->event->text + link->sent, size);
    link->sent += size;
    if (size == left) {
        web_event_drop(link->event);
        link->event = NULL;
    }
    return (ssize_t)size;
}

/* Called when everything before was sent. */
static ssize_t read_on(void *user, uint64_t position, char *out, size_t room) {
    (void)position;
    web_link *link = user;
    web_server *s = link->server;
    ssize_t size = 0;
    web_lock(s);
    link->since = eg_clock_ns();
    if (!link->event && s->event && link->sequence != s->sequence) {
        link->event = s->event;
        link->event->users++;
        link->sequence = s->sequence;
        link->sent = 0;
    }
    if (s->closing || !link->stream) size = MHD_CONTENT_READER_END_OF_STREAM;
    else if (link->event) size = send_event(link, out, room);
    else if (link->beats && room >= sizeof sign_of_life - 1) {
        size = sizeof sign_of_life - 1;
        memcpy(out, sign_of_life, (size_t)size);
    } else {
        link->waits = true;
        mhd.suspend_connection(link->stream);
    }
    link->beats = false;
    web_unlock(s);
    return size;
}

enum MHD_Result web_stream_begin(web_server *s, struct MHD_Connection *connection) {
    web_link *link = web_link_of(connection);
    struct MHD_Response *response =
        link ? mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_on, link, NULL)
             : NULL;
    if (!response) return MHD_NO;
    web_lock(s);
    link->stream = connection;
    link->since = eg_clock_ns();
    link->sequence = 0;
    web_unlock(s);
    mhd.add_response_header(response, "Content-Type", "text/event-stream");
    mhd.add_response_header(response, "Cache-Control", "no-store");
    mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    mhd.add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    const enum MHD_Result queued = mhd.queue_response(connection, MHD_HTTP_OK, response);
    mhd.destroy_response(response);
    return queued;
}
