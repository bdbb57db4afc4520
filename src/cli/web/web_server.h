/* The server, as its parts see it. One lock guards all of it, and the monitor. */
#ifndef EG__CLI_WEB_SERVER_H
#define EG__CLI_WEB_SERVER_H

#include "cli/web/web.h"
#include "cli/web/web_library.h"

#include <pthread.h>

enum {
    WEB_LINKS = 192,         /* connections, all together */
    WEB_LINKS_PER_HOST = 96, /* and from one address */
    WEB_IDLE_SECONDS = 15,   /* without a byte, in either direction */
    WEB_ASK_SECONDS = 30,    /* for a whole request, however its bytes trickle in */
    WEB_ANSWER_SECONDS = 60, /* for a whole answer */
    WEB_SLOW_SECONDS = 10,   /* for a piece of a stream */
    WEB_BEAT_SECONDS = 15,   /* a stream with nothing to say says so */
    WEB_POOL = 32768, /* memory of a connection: request line, headers, a piece of an answer */
    WEB_SOCKET_BUFFER = 131072
};

/* A sample as an event, which several streams send. */
typedef struct web_event {
    unsigned users;
    size_t length;
    char text[];
} web_event;

/* A connection, from its first byte to its end. */
typedef struct web_link {
    struct web_link *next;
    web_server *server;
    int socket;
    uint64_t since; /* when it began to do what it does, ns */
    bool answering;
    /* a stream: at most one event on its way, then the newest; what came in between is left out */
    struct MHD_Connection *stream; /* NULL = none */
    bool waits;                    /* suspended, until there is something to send */
    bool beats;                    /* a sign of life is due */
    web_event *event;
    size_t sent;
    uint64_t sequence; /* of the last event */
} web_link;

struct web_server {
    pthread_mutex_t lock;
    struct MHD_Daemon *daemon;
    const web_site *site;
    eg_monitor *monitor;
    web_link *links;
    bool closing;
    uint64_t sequence; /* samples so far */
    web_event *event;  /* of the last one */
    /* answers about the last sample, made when somebody asks for the first time; two forms of metrics */
    struct MHD_Response *made[WEB_KINDS], *older;
    int64_t started; /* seconds since 1970: tells a page that the server is another one */
};

/* ---- web_links_microhttpd.c */
void web_link_notice(void *user, struct MHD_Connection *connection, void **context,
                     enum MHD_ConnectionNotificationCode what);
web_link *web_link_of(struct MHD_Connection *connection);

/* ---- web_stream_microhttpd.c */
enum MHD_Result web_stream_begin(web_server *s, struct MHD_Connection *connection);
void web_stream_wake(web_link *link); /* locked */
void web_stream_end(web_link *link);  /* locked */
void web_event_drop(web_event *event);

/* ---- web_answer_microhttpd.c */
/* `text` is copied; `connection` may be NULL: then the answer is kept for others. */
struct MHD_Response *web_answer_make(const char *text, size_t length, const char *type);
enum MHD_Result web_answer_fault(struct MHD_Connection *connection, unsigned status,
                                 const char *text);
enum MHD_Result web_answer_send(web_server *s, struct MHD_Connection *connection,
                                const web_answer *answer);
void web_answers_forget(web_server *s); /* those about the sample before; locked */

#endif
