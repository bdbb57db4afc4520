/* Requests to the web server of the monitor: who may ask, how, and for what. */
#include "test.h"
#include "cli/web/web.h"

AREA(web, "foreign hosts and pages, wrong tokens, long and strange requests are refused")

static const web_site here = {
    .address = "127.0.0.1", .loopback = true, .name = "desk", .port = 8642};
static const web_site six = {.address = "::1", .loopback = true, .port = 8642};
static const web_site open_site = {
    .address = "0.0.0.0", .name = "desk", .port = 8642, .token = "0123456789abcdef"};
static const web_site locked = {
    .address = "127.0.0.1", .loopback = true, .port = 8642, .token = "0123456789abcdef"};

static web_request ask(const char *target) {
    return (web_request){.method = "GET", .target = target, .host = "127.0.0.1:8642", .hosts = 1};
}

static unsigned status_of(const web_site *site, const web_request *r) {
    const web_answer a = web_check(site, r);
    CHECK((a.status == 200) == (a.kind != WEB_NONE), "%s: status %u, kind %d", r->target, a.status,
          (int)a.kind);
    CHECK(a.status == 200 || (a.text && !strchr(a.text, '"') && !strchr(a.text, '\\')),
          "'%s' must stand in JSON as it is", a.text);
    return a.status;
}

TEST(web, hosts) {
    static const struct {
        const web_site *site;
        const char *host;
        unsigned status;
    } all[] = {
        {&here, "127.0.0.1:8642", 200},
        {&here, "127.0.0.1", 200},
        {&here, "localhost:8642", 200},
        {&here, "LOCALHOST:8642", 200},
        {&here, "[::1]:8642", 200},
        {&six, "[::1]:8642", 200},
        {&here, "evil.example:8642", 403},
        {&here, "127.0.0.1.evil.example:8642", 403},
        {&here, "evil.example", 403},
        {&here, "localhost:8643", 403},
        {&here, "localhost:86420", 403},
        {&here, "localhost:", 403},
        {&here, "desk:8642", 403}, /* it does not listen to others */
        {&here, "10.0.0.1:8642", 403},
        {&here, "", 403},
        {&here, ":8642", 403},
        {&here, "[::1", 403},
        {&here, "[", 403},
        {&here, "localhost.:8642", 403},
        {&here, "user@localhost:8642", 403},
        {&here, NULL, 400},
        {&open_site, "10.0.0.1:8642", 200},
        {&open_site, "[fe80::1]:8642", 200},
        {&open_site, "desk:8642", 200},
        {&open_site, "desk.evil.example:8642", 403},
        {&open_site, "10.0.0.1.evil:8642", 403},
        {&open_site, "[evil]:8642", 403},
        {&open_site, "[]:8642", 403},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        web_request r = ask("/");
        r.host = all[i].host;
        r.hosts = all[i].host != NULL;
        r.authorization = "Bearer 0123456789abcdef";
        const unsigned status = status_of(all[i].site, &r);
        CHECK(status == all[i].status, "'%s': %u", all[i].host ? all[i].host : "(none)", status);
    }
    web_request r = ask("/");
    r.hosts = 2;
    CHECK(status_of(&here, &r) == 400, "two Host lines");
}

TEST(web, origins) {
    static const struct {
        const char *origin;
        unsigned status;
    } all[] = {{NULL, 200},
               {"http://127.0.0.1:8642", 200},
               {"http://localhost:8642", 403}, /* another origin than the host */
               {"https://127.0.0.1:8642", 403},
               {"http://evil.example", 403},
               {"http://127.0.0.1:8642.evil.example", 403},
               {"http://127.0.0.1:86", 403},
               {"http://127.0.0.1", 403},
               {"null", 403},
               {"", 403}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        web_request r = ask("/api/v1/sample");
        r.origin = all[i].origin;
        CHECK(status_of(&here, &r) == all[i].status, "'%s'",
              all[i].origin ? all[i].origin : "(none)");
    }
}

TEST(web, tokens) {
    static const struct {
        const char *target, *authorization, *cookie;
        unsigned status;
    } all[] = {
        {"/metrics", NULL, NULL, 401},
        {"/metrics", "Bearer 0123456789abcdef", NULL, 200},
        {"/metrics", "bearer 0123456789abcdef", NULL, 200},
        {"/metrics", "Bearer 0123456789abcdeg", NULL, 401},
        {"/metrics", "Bearer 0123456789abcde", NULL, 401},
        {"/metrics", "Bearer 0123456789abcdef0", NULL, 401},
        {"/metrics", "Bearer ", NULL, 401},
        {"/metrics", "Basic 0123456789abcdef", NULL, 401},
        {"/metrics", NULL, "elegans-8642=0123456789abcdef", 200},
        {"/metrics", NULL, "a=b; elegans-8642=0123456789abcdef; c=d", 200},
        {"/metrics", NULL, "elegans-8643=0123456789abcdef", 401},
        {"/metrics", NULL, "xelegans-8642=0123456789abcdef", 401},
        {"/metrics", NULL, "elegans-8642=", 401},
        {"/metrics?token=0123456789abcdef", NULL, NULL, 401}, /* addresses are logged */
        {"/?token=0123456789abcdef", NULL, NULL, 200},
        {"/?a=b&token=0123456789abcdef", NULL, NULL, 200},
        {"/?token=0123456789abcde", NULL, NULL, 401},
        {"/?token=", NULL, NULL, 401},
        {"/?xtoken=0123456789abcdef", NULL, NULL, 401},
        {"/nothing", NULL, NULL, 401},
        {"/", NULL, NULL, 401},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        web_request r = ask(all[i].target);
        r.authorization = all[i].authorization;
        r.cookie = all[i].cookie;
        const unsigned status = status_of(&locked, &r);
        CHECK(status == all[i].status, "row %zu, '%s': %u", i, all[i].target, status);
    }
    web_request r = ask("/?token=0123456789abcdef");
    CHECK(web_check(&locked, &r).kind == WEB_ENTER && web_check(&here, &r).kind == WEB_FILE,
          "only a token that is asked for becomes a cookie");
    char cookie[192];
    CHECK(strcmp(web_cookie(cookie, &locked), "elegans-8642=0123456789abcdef") == 0, "%s", cookie);
    static const char *const bad[] = {"",
                                      "short",
                                      "0123456789abcde",
                                      "0123456789abcdef;",
                                      "0123456789 abcdef",
                                      "0123456789abcdef\n",
                                      "0123456789abcd\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!web_token_good(bad[i]), "'%s' is taken", bad[i]);
    CHECK(web_token_good("0123456789abcdef") && web_token_good("A-b_c.d~0123456789"), "good ones");
}

TEST(web, targets) {
    static const struct {
        const char *target;
        unsigned status;
        web_kind kind;
    } all[] = {
        {"/", 200, WEB_FILE},
        {"/?x", 200, WEB_FILE},
        {"/style.css", 200, WEB_FILE},
        {"/main.js", 200, WEB_FILE},
        {"/api/v1/events", 200, WEB_EVENTS},
        {"/api/v1/sample", 200, WEB_SAMPLE},
        {"/api/v1/history?since=3", 200, WEB_HISTORY},
        {"/api/v1/version", 200, WEB_VERSION},
        {"/metrics", 200, WEB_METRICS},
        {"", 404, WEB_NONE},
        {"*", 404, WEB_NONE},
        {"/index.html", 404, WEB_NONE},
        {"//", 404, WEB_NONE},
        {"/metrics/", 404, WEB_NONE},
        {"/METRICS", 404, WEB_NONE},
        {"/../etc/passwd", 404, WEB_NONE},
        {"/..%2f..%2fetc/passwd", 404, WEB_NONE},
        {"/style.css/../../x", 404, WEB_NONE},
        {"/style.css%00", 404, WEB_NONE},
        {"http://127.0.0.1:8642/", 404, WEB_NONE},
        {"/api/v1/", 404, WEB_NONE},
        {"/api/v2/sample", 404, WEB_NONE},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const web_request r = ask(all[i].target);
        CHECK(status_of(&here, &r) == all[i].status && web_check(&here, &r).kind == all[i].kind,
              "'%s'", all[i].target);
    }
    static char text[WEB_TARGET_MAX + 8];
    memset(text, 'a', sizeof text);
    text[WEB_TARGET_MAX] = 0;
    web_request r = ask(text);
    CHECK(status_of(&here, &r) == 404, "as long as it may be");
    text[WEB_TARGET_MAX] = 'a';
    text[WEB_TARGET_MAX + 1] = 0;
    CHECK(status_of(&here, &r) == 414, "longer");
    r = ask("/");
    r.header_bytes = WEB_HEADERS_MAX + 1;
    CHECK(status_of(&here, &r) == 431, "long headers");
    r = ask("/");
    r.body = true;
    CHECK(status_of(&here, &r) == 413, "a body");
    static const char *const methods[] = {"POST", "PUT",     "DELETE", "OPTIONS",
                                          "get",  "CONNECT", "",       "TRACE"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        r = ask("/");
        r.method = methods[i];
        CHECK(status_of(&here, &r) == 405, "'%s'", methods[i]);
    }
    r = ask("/metrics");
    r.method = "HEAD";
    CHECK(status_of(&here, &r) == 200, "HEAD");
}

TEST(web, accept) {
    static const struct {
        const char *accept;
        bool open;
    } all[] = {
        {NULL, false},
        {"", false},
        {"*/*", false},
        {"text/html,application/xhtml+xml,*/*;q=0.8", false},
        {"text/plain;version=0.0.4", false},
        {"application/openmetrics-text", true},
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         true}, /* of Prometheus 2 */
        {"text/plain;q=0.9, application/openmetrics-text;q=0.2", false},
        {"text/plain ; q=0.2 , application/openmetrics-text ; q=0.9", true},
        {"application/openmetrics-text;q=0", false},
        {"application/openmetrics-text;q=x", false},
        {"APPLICATION/OPENMETRICS-TEXT", true},
        {"application/openmetrics-textual", false},
        {";q", false},
        {"application/openmetrics-text;q", true},
        {",,,", false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(web_wants_open_metrics(all[i].accept) == all[i].open, "'%s'",
              all[i].accept ? all[i].accept : "(none)");
}

/* The files as they were embedded: byte for byte those of the tree. */
TEST(web, files) {
    unsigned count = 0;
    for (const web_file *f = web_files; f->path; f++, count++) {
        char path[400];
        static char text[1 << 18];
        snprintf(path, sizeof path, ELEGANS_SOURCE "/src/cli/web/page%s",
                 strcmp(f->path, "/") == 0 ? "/index.html" : f->path);
        FILE *file = fopen(path, "rb");
        const size_t size = file ? fread(text, 1, sizeof text, file) : 0;
        if (file) fclose(file);
        CHECK(size && size == strlen(f->text) && memcmp(text, f->text, size) == 0,
              "%s: %zu bytes, embedded %zu", path, size, strlen(f->text));
        /* nothing from elsewhere: the name of a space of names is no address that is asked */
        for (const char *at = f->text; (at = strstr(at, "://")); at += 3)
            CHECK(strncmp(at, "://www.w3.org/2000/svg", 22) == 0, "%s names '%.40s'", f->path, at);
    }
    CHECK(count >= 4, "%u files", count);
}
