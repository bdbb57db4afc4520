/* What a request may be: who asks, how, and for what. Pure functions of its text. */
#include "cli/web/web.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *path;
    web_kind kind;
} resources[] = {{"/api/v1/events", WEB_EVENTS},
                 {"/api/v1/sample", WEB_SAMPLE},
                 {"/api/v1/history", WEB_HISTORY},
                 {"/api/v1/version", WEB_VERSION},
                 {"/metrics", WEB_METRICS}};

static bool is_text(const char *at, size_t length, const char *text) {
    return strlen(text) == length && strncasecmp(at, text, length) == 0;
}

/* ---- hosts: a page of somebody else's whose name was made to point here (DNS rebinding) has that name in its requests */

/* The length of the name in "name:port" or "[::1]:port"; 0 = it is neither, or the port is another one. */
static size_t host_length(const char *host, unsigned port) {
    const size_t length =
        host[0] == '[' ? strcspn(host, "]") + (strchr(host, ']') != NULL) : strcspn(host, ":");
    char with_port[16];
    snprintf(with_port, sizeof with_port, ":%u", port);
    const char *rest = host + length;
    /* without a port it is 80 that is meant, which a tunnel may lead from */
    return !rest[0] || strcmp(rest, with_port) == 0 ? length : 0;
}

static bool is_address(const char *at, size_t length) {
    char text[64];
    unsigned char bytes[16];
    const bool six = length > 2 && at[0] == '[';
    if (length >= sizeof text) return false;
    memcpy(text, at + six, length - 2 * six);
    text[length - 2 * six] = 0;
    return inet_pton(six ? AF_INET6 : AF_INET, text, bytes) == 1;
}

static bool host_fine(const web_site *site, const char *host) {
    char own[80];
    const size_t length = host_length(host, site->port);
    snprintf(own, sizeof own, strchr(site->address, ':') ? "[%s]" : "%s", site->address);
    if (!length) return false;
    if (is_text(host, length, "localhost") || is_text(host, length, "127.0.0.1") ||
        is_text(host, length, "[::1]") || is_text(host, length, own))
        return true;
    /* beyond this machine: any address, and its own name; neither can be somebody else's name */
    return !site->loopback &&
           (is_address(host, length) || (site->name[0] && is_text(host, length, site->name)));
}

/* A page of this server, or no page at all. */
static bool origin_fine(const web_request *r) {
    static const char scheme[] = "http://";
    return !r->origin || (strncmp(r->origin, scheme, sizeof scheme - 1) == 0 &&
                          strcasecmp(r->origin + sizeof scheme - 1, r->host) == 0);
}

/* ---- tokens */
bool web_token_good(const char *token) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    const size_t length = strlen(token);
    return length >= WEB_TOKEN_LEAST && length <= WEB_TOKEN_MAX && strspn(token, letters) == length;
}

/* Takes as long wherever they differ, so that time tells nothing. */
static bool is_token(const web_site *site, const char *at, size_t length) {
    const size_t right = strlen(site->token);
    unsigned differs = length != right;
    for (size_t i = 0; i < right; i++)
        differs |= (unsigned char)site->token[i] ^ (unsigned char)(i < length ? at[i] : 0);
    return !differs;
}

const char *web_cookie(char out[192], const web_site *site) {
    snprintf(out, 192, "elegans-%u=%s", site->port, site->token);
    return out;
}

static bool cookie_has_token(const web_site *site, const char *cookies) {
    char name[32];
    const int size = snprintf(name, sizeof name, "elegans-%u=", site->port);
    for (const char *at = cookies; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
        at += strspn(at, " \t");
        if (strncmp(at, name, (size_t)size) == 0 &&
            is_token(site, at + size, strcspn(at + size, "; \t")))
            return true;
    }
    return false;
}

/* The value of token= in the part after '?'. */
static bool query_has_token(const web_site *site, const char *query) {
    static const char key[] = "token=";
    for (const char *at = query; at; at = strchr(at, '&')) {
        at += *at == '?' || *at == '&';
        if (strncmp(at, key, sizeof key - 1) == 0)
            return is_token(site, at + sizeof key - 1, strcspn(at + sizeof key - 1, "&"));
    }
    return false;
}

static bool header_has_token(const web_site *site, const char *authorization) {
    static const char scheme[] = "Bearer ";
    return authorization && strncasecmp(authorization, scheme, sizeof scheme - 1) == 0 &&
           is_token(site, authorization + sizeof scheme - 1,
                    strlen(authorization + sizeof scheme - 1));
}

/* ---- all of it */
static web_answer refuse(unsigned status, const char *text) {
    return (web_answer){.status = status, .text = text};
}

/* Paths are compared as they came, letter by letter: nothing is decoded, no file is opened. */
static web_answer find(const char *target, size_t length) {
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        if (strlen(resources[i].path) == length && memcmp(resources[i].path, target, length) == 0)
            return (web_answer){.status = 200, .kind = resources[i].kind};
    for (const web_file *f = web_files; f->path; f++)
        if (strlen(f->path) == length && memcmp(f->path, target, length) == 0)
            return (web_answer){.status = 200, .kind = WEB_FILE, .file = f};
    return refuse(404, "there is nothing by this name");
}

web_answer web_check(const web_site *site, const web_request *r) {
    if (!r->target || strlen(r->target) > WEB_TARGET_MAX)
        return refuse(414, "the address is too long");
    if (r->header_bytes > WEB_HEADERS_MAX) return refuse(431, "the headers are too long");
    if (!r->host || r->hosts != 1) return refuse(400, "a request has one Host line");
    if (!host_fine(site, r->host)) return refuse(403, "this server does not have that name");
    if (!origin_fine(r)) return refuse(403, "a page from elsewhere may not ask");
    if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
        return refuse(405, "only GET and HEAD are answered");
    if (r->body) return refuse(413, "a request has no body");
    const char *query = strchr(r->target, '?');
    const size_t length = query ? (size_t)(query - r->target) : strlen(r->target);
    const bool entered = site->token[0] && length == 1 && query_has_token(site, query);
    if (site->token[0] && !entered && !header_has_token(site, r->authorization) &&
        !cookie_has_token(site, r->cookie))
        return refuse(401, "a token is needed: open the address that the program printed, or send "
                           "Authorization: Bearer TOKEN");
    web_answer answer = find(r->target, length);
    if (entered && answer.status == 200) answer.kind = WEB_ENTER;
    return answer;
}

/* ---- Accept: "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.9" */

/* The q of an item, 1 when it has none. */
static double weight(const char *item, size_t length) {
    for (size_t i = 0; i + 2 < length; i++) {
        if (item[i] != ';') continue;
        size_t k = i + 1;
        while (k < length && (item[k] == ' ' || item[k] == '\t')) k++;
        if (k + 2 > length || tolower((unsigned char)item[k]) != 'q' || item[k + 1] != '=')
            continue;
        double value = 0;
        const size_t digits = strspn(item + k + 2, "0123456789.");
        return eg_number_parse(item + k + 2, digits, &value, NULL) == EG_OK ? value : 0;
    }
    return 1;
}

bool web_wants_open_metrics(const char *accept) {
    static const char type[] = "application/openmetrics-text";
    double ours = 0, others = 0;
    while (accept && *accept) {
        accept += strspn(accept, " \t,");
        const size_t length = strcspn(accept, ","), name = strcspn(accept, "; \t,");
        const double q = weight(accept, length);
        if (is_text(accept, name, type)) ours = q > ours ? q : ours;
        else if (is_text(accept, name, "text/plain")) others = q > others ? q : others;
        accept += length;
    }
    return ours > 0 && ours >= others;
}
