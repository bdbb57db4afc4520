/* elegans monitor --web: what a request may be, the files of the page, the server. */
#ifndef EG__CLI_WEB_H
#define EG__CLI_WEB_H

#include "cli/cli.h"

/* ---- web_files: the page, made of src/cli/web/page by the Makefile */
typedef struct web_file {
    const char *path; /* "/style.css"; that of index.html is "/" */
    const char *type;
    const char *text;
} web_file;
extern const web_file web_files[]; /* ends with a row of NULLs */

/* ---- web_check.c: what a request may be; needs no connection */
enum { WEB_TARGET_MAX = 2048, WEB_HEADERS_MAX = 8192, WEB_TOKEN_LEAST = 16, WEB_TOKEN_MAX = 128 };
typedef struct web_site {
    char address[64]; /* it listens there: "127.0.0.1", "::1"; as getnameinfo writes it */
    bool loopback;
    char name[256]; /* of this machine, which a browser elsewhere may use; "" = none */
    unsigned port;
    char token[WEB_TOKEN_MAX + 1]; /* "" = none is asked for */
} web_site;
typedef enum web_kind {
    WEB_NONE,
    WEB_FILE,    /* of the page */
    WEB_ENTER,   /* the page, with the token in the address: it becomes a cookie */
    WEB_EVENTS,  /* a sample after the other */
    WEB_SAMPLE,  /* the last one */
    WEB_HISTORY, /* of the last hour */
    WEB_VERSION,
    WEB_METRICS,
    WEB_KINDS
} web_kind;
typedef struct web_request {     /* texts: NULL = there is none */
    const char *method, *target; /* "GET", "/api/v1/sample?x=1", as they came */
    const char *host, *origin, *authorization, *cookie;
    unsigned hosts;      /* how many Host lines there are */
    size_t header_bytes; /* of all header lines */
    bool body;           /* something follows the headers */
} web_request;
typedef struct web_answer {
    unsigned status;  /* 200, or why not */
    const char *text; /* of the fault; static */
    web_kind kind;
    const web_file *file;
} web_answer;
web_answer web_check(const web_site *site, const web_request *request);
/* Whether OpenMetrics is what the client wants most, by its Accept line; NULL = no such line. */
bool web_wants_open_metrics(const char *accept);
/* Whether a token is long enough and goes into an address and a cookie as it is. */
bool web_token_good(const char *token);
/* "elegans-8642=TOKEN", the cookie of this server: those of other ports are sent along. */
const char *web_cookie(char out[192], const web_site *site);

/* ---- web_address.c */
/* Listens at an address ("127.0.0.1", "::", "localhost") and fills in the site but its token. */
int web_listen(const char *address, unsigned port, web_site *site, int *out);
/* http://[::1]:8642/, with the token. */
void web_print_address(const web_site *site);
int web_make_token(char out[WEB_TOKEN_MAX + 1]); /* 128 random bits */

/* ---- web_library_microhttpd.c and web_server_microhttpd.c; a build without them has no server */
typedef struct web_server web_server;
/* Why there is no server, or NULL; opens what it needs. */
const char *web_missing(void);
/* Serves what the monitor has, from threads of its own: between web_lock and web_unlock the monitor is the caller's. */
int web_open(web_server **out, const web_site *site, int listens, eg_monitor *monitor);
void web_lock(web_server *server);
void web_unlock(web_server *server);
/* A new sample was read; locked. */
int web_publish(web_server *server);
/* Several times a second: clients that are too slow go, and those that wait hear that all is well. Not locked. */
void web_tick(web_server *server);
void web_close(web_server *server); /* NULL is fine */

#endif
