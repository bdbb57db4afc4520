/* Answers: files of the page, and documents about the last sample, which are made once for all who ask. */
#include "cli/web/web_server.h"

#include <string.h>

static const char json_type[] = "application/json";
static const char *const headers[][2] = {
    /* nothing from elsewhere, no script or style in the text of the page, no frame around it */
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"}};

struct MHD_Response *web_answer_make(const char *text, size_t length, const char *type) {
    struct MHD_Response *r =
        mhd.create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    bool fine = r && mhd.add_response_header(r, "Content-Type", type) == MHD_YES;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        fine = fine && mhd.add_response_header(r, headers[i][0], headers[i][1]) == MHD_YES;
    if (r && !fine) mhd.destroy_response(r);
    return fine ? r : NULL;
}

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status,
                             struct MHD_Response *r) {
    if (!r) return MHD_NO; /* no memory: the connection ends */
    const enum MHD_Result queued = mhd.queue_response(connection, status, r);
    mhd.destroy_response(r);
    return queued;
}

/* After a fault nothing more is read: what follows may be no request. */
enum MHD_Result web_answer_fault(struct MHD_Connection *connection, unsigned status,
                                 const char *text) {
    char document[512];
    const int length =
        snprintf(document, sizeof document, "{\"status\":%u,\"error\":\"%s\"}\n", status, text);
    struct MHD_Response *r = web_answer_make(document, (size_t)length, json_type);
    if (r) mhd.add_response_header(r, "Connection", "close");
    if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        mhd.add_response_header(r, "Allow", "GET, HEAD");
    if (r && status == MHD_HTTP_UNAUTHORIZED)
        mhd.add_response_header(r, "WWW-Authenticate", "Bearer");
    return queue(connection, status, r);
}

static struct MHD_Response *enter(const web_site *site) {
    char cookie[192], line[256];
    struct MHD_Response *r = web_answer_make("", 0, "text/plain");
    snprintf(line, sizeof line, "%s; Path=/; HttpOnly; SameSite=Strict", web_cookie(cookie, site));
    if (r) mhd.add_response_header(r, "Set-Cookie", line);
    if (r)
        mhd.add_response_header(r, "Location",
                                "/"); /* without the token, which a history would keep */
    return r;
}

/* ---- documents about the last sample; locked */
static struct MHD_Response *make_version(const web_server *s) {
    char text[160];
    const int length =
        snprintf(text, sizeof text,
                 "{\"program\":\"elegans\",\"version\":\"%s\",\"api\":1,\"started\":%lld}\n",
                 eg_version(), (long long)s->started);
    return web_answer_make(text, (size_t)length, json_type);
}

static struct MHD_Response *make(web_server *s, web_kind kind, bool open_metrics) {
    const char *text = NULL, *type = json_type;
    size_t length = 0;
    eg_status status = EG_OK;
    if (kind == WEB_VERSION) return make_version(s);
    if (kind == WEB_SAMPLE) status = eg_monitor_line(s->monitor, &text, &length, NULL);
    else if (kind == WEB_HISTORY) status = eg_monitor_history(s->monitor, &text, &length, NULL);
    else {
        type = open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                            : "text/plain; version=0.0.4; charset=utf-8";
        status =
            eg_monitor_metrics(s->monitor, open_metrics ? EG_METRICS_OPEN : EG_METRICS_PROMETHEUS,
                               &text, &length, NULL);
    }
    return status ? NULL : web_answer_make(text, length, type);
}

void web_answers_forget(web_server *s) {
    for (int i = 0; i < WEB_KINDS; i++) {
        if (s->made[i]) mhd.destroy_response(s->made[i]);
        s->made[i] = NULL;
    }
    if (s->older) mhd.destroy_response(s->older);
    s->older = NULL;
}

static enum MHD_Result send_document(web_server *s, struct MHD_Connection *connection,
                                     web_kind kind) {
    const char *accept = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
    const bool open_metrics = kind != WEB_METRICS || web_wants_open_metrics(accept);
    web_lock(s);
    struct MHD_Response **slot = open_metrics ? &s->made[kind] : &s->older;
    if (!*slot) *slot = make(s, kind, open_metrics);
    /* queued, it lives until it was sent, whatever becomes of the slot */
    const enum MHD_Result queued =
        *slot ? mhd.queue_response(connection, MHD_HTTP_OK, *slot) : MHD_NO;
    web_unlock(s);
    return queued;
}

enum MHD_Result web_answer_send(web_server *s, struct MHD_Connection *connection,
                                const web_answer *a) {
    switch (a->kind) {
    case WEB_FILE:
        return queue(connection, MHD_HTTP_OK,
                     web_answer_make(a->file->text, strlen(a->file->text), a->file->type));
    case WEB_ENTER: return queue(connection, MHD_HTTP_SEE_OTHER, enter(s->site));
    case WEB_EVENTS: return web_stream_begin(s, connection);
    default: return send_document(s, connection, a->kind);
    }
}
