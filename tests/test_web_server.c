/* The web server of the monitor, spoken to through sockets: bytes that are no requests, several clients, its end. */
#include "test.h"
#include "base/base.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(web_server,
     "after a thousand malformed requests it answers, with as many descriptors as before")

typedef struct server {
    pid_t pid;
    int output; /* what it prints */
    unsigned port;
    char first[256]; /* line */
} server;

/* NULL: there is no program to start here. */
static const char *program_of_tests(void) {
    const char *program = getenv("ELEGANS");
    while (program && *program == ' ') program++;
    return program && program[0] && !strchr(program, ' ') ? program : NULL;
}

static void read_line(int from, char *out, size_t room) {
    size_t size = 0;
    while (size + 1 < room && read(from, out + size, 1) == 1 && out[size] != '\n') size++;
    out[size] = 0;
}

/* False = skipped. */
static bool start(server *s, const char *const more[]) {
    const char *program = program_of_tests();
    const char *arguments[24] = {program, "monitor", "--web", "--port", "0", "--interval", "0.05"};
    int pipes[2];
    size_t count = 7;
    for (; more && *more; more++) arguments[count++] = *more;
    if (!program) {
        test_skip("ELEGANS does not name a program of this machine (make test sets it)");
        return false;
    }
    CHECK(pipe(pipes) == 0, "no pipe");
    s->pid = fork();
    if (!s->pid) {
        dup2(pipes[1], 1);
        dup2(pipes[1], 2);
        close(pipes[0]);
        close(pipes[1]);
        execv(program, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    close(pipes[1]);
    s->output = pipes[0];
    s->port = 0;
    read_line(s->output, s->first, sizeof s->first);
    const char *colon = strrchr(s->first, ':');
    if (strncmp(s->first, "http://", 7) == 0 && colon) sscanf(colon, ":%u", &s->port);
    if (!s->port) {
        close(s->output);
        waitpid(s->pid, NULL, 0);
        if (strstr(s->first, "there is no web server")) test_skip("%s", s->first);
        else CHECK(false, "it says '%s'", s->first);
        return false;
    }
    return true;
}

static void stop(server *s) {
    int status = -1;
    kill(s->pid, SIGINT);
    waitpid(s->pid, &status, 0);
    close(s->output);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ended with %d", status);
}

static int connect_to(const server *s) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)s->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval limit = {.tv_sec = 10};
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(made, (const struct sockaddr *)&address, sizeof address) == 0) return made;
    close(made);
    return -1;
}

static bool send_all(int to, const void *bytes, size_t size) {
    return send(to, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* What came until the end, or until `enough` stands in it. */
static size_t receive(int from, char *out, size_t room, const char *enough) {
    size_t size = 0;
    out[0] = 0;
    for (ssize_t got; size + 1 < room && (got = recv(from, out + size, room - 1 - size, 0)) > 0;) {
        size += (size_t)got;
        out[size] = 0;
        if (enough && strstr(out, enough)) break;
    }
    return size;
}

static const char *get(const server *s, const char *request, const char *more) {
    static char out[1 << 20];
    char text[8192];
    const int connection = connect_to(s);
    out[0] = 0;
    if (connection < 0) return out;
    const int size = snprintf(text, sizeof text,
                              "%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%sConnection: close\r\n\r\n",
                              request, s->port, more);
    if (send_all(connection, text, (size_t)size)) receive(connection, out, sizeof out, NULL);
    close(connection);
    return out;
}

static bool answers(const server *s) {
    const char *text = get(s, "GET /api/v1/version", "");
    return strstr(text, "200 OK") && strstr(text, "\"program\":\"elegans\"");
}

#ifdef __linux__
static int count_descriptors(const server *s) {
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)s->pid);
    DIR *list = opendir(path);
    for (; list && readdir(list);) count++;
    if (list) closedir(list);
    return count;
}

/* Waits until connections that have ended are gone; without an expectation, until nothing changes. */
static int descriptors(const server *s, int expected) {
    int count = count_descriptors(s);
    for (int i = 0, same = 0; expected < 0 ? same < 5 : i < 600 && count != expected; i++) {
        poll(NULL, 0, 50);
        const int now = count_descriptors(s);
        same = now == count ? same + 1 : 0;
        count = now;
    }
    return count;
}
#else
static int descriptors(const server *s, int expected) {
    (void)s;
    return expected;
}
#endif

TEST(web_server, answers) {
    static const struct {
        const char *request, *more, *parts[3];
    } all[] = {
        {"GET /", "", {"200 OK", "text/html", "<h1>elegans"}},
        {"GET /", "", {"Content-Security-Policy: default-src 'none'", "nosniff", "no-store"}},
        {"GET /style.css", "", {"200 OK", "text/css", "prefers-color-scheme"}},
        {"GET /main.js", "", {"200 OK", "text/javascript", "EventSource"}},
        {"GET /api/v1/sample", "", {"200 OK", "application/json", "\"sensor\":\"cpu_load\""}},
        {"GET /api/v1/history", "", {"200 OK", "application/json", "\"series\":["}},
        {"GET /api/v1/version", "", {"200 OK", "application/json", "\"api\":1"}},
        {"GET /metrics", "", {"200 OK", "text/plain; version=0.0.4", "\nelegans_cpu_load_ratio"}},
        {"GET /metrics",
         "Accept: application/openmetrics-text; version=1.0.0\r\n",
         {"200 OK", "application/openmetrics-text", "# EOF\n"}},
        {"HEAD /", "", {"200 OK", "text/html", "Content-Length: "}},
        {"HEAD /api/v1/events", "", {"200 OK", "text/event-stream", ""}},
        {"GET /nothing", "", {"404", "application/json", "{\"status\":404,\"error\":"}},
        {"GET /../../etc/passwd", "", {"404", "application/json", "\"error\""}},
        {"POST /", "Content-Length: 0\r\n", {"405", "Allow: GET, HEAD", "\"error\""}},
        {"GET /", "Content-Length: 5\r\n", {"413", "application/json", "\"error\""}},
        {"GET /", "Transfer-Encoding: chunked\r\n", {"413", "application/json", "\"error\""}},
        {"GET /", "Origin: http://evil.example\r\n", {"403", "application/json", "\"error\""}},
        {"GET /", "Host: evil.example\r\n", {"400", "", ""}},
    };
    server s;
    if (!start(&s, NULL)) return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = get(&s, all[i].request, all[i].more);
        for (int k = 0; k < 3; k++)
            CHECK(strstr(text, all[i].parts[k]), "'%s' '%s': no '%s' in '%.600s'", all[i].request,
                  all[i].more, all[i].parts[k], text);
    }
    char target[4000] = "GET /";
    memset(target + 5, 'a', 3000);
    const char *text = get(&s, target, "");
    CHECK(strstr(text, "414") && strstr(text, "\"status\":414"), "'%.300s'", text);
    stop(&s);
}

/* ---- bytes that are no requests */
static size_t malformed(uint64_t *seed, char *out, size_t room) {
    static const char *const starts[] = {
        "GET / HTTP/1.1\r\n",
        "GET /\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "\r\n\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET /%zz HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n folded\r\n\r\n",
        "GET /\0/x HTTP/1.1\r\n\r\n"};
    const uint64_t draw = *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const char *text = starts[(draw >> 33) % (sizeof starts / sizeof *starts)];
    size_t size = strlen(text);
    memcpy(out, text, size);
    const size_t more = (draw >> 40) % 4 == 0 ? (draw >> 20) % (room - size) : (draw >> 20) % 64;
    for (size_t i = 0; i < more; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        out[size++] = (char)(*seed >> 56);
    }
    for (int k = 0; k < 3 && (draw >> 50) % 2; k++) { /* bits of the beginning */
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        out[(*seed >> 33) % size] ^= (char)(1 << (*seed >> 60) % 8);
    }
    return size;
}

TEST(web_server, malformed_requests) {
    enum { COUNT = 1000 };
    static char bytes[70000], out[4096];
    server s;
    uint64_t seed = 7;
    if (!start(&s, NULL)) return;
    CHECK(answers(&s), "it does not answer");
    const int before = descriptors(&s, -1);
    const int count = test_quick() ? COUNT / 10 : COUNT;
    for (int i = 0; i < count; i++) {
        const int connection = connect_to(&s);
        CHECK(connection >= 0, "request %d: %s", i, strerror(errno));
        if (connection < 0) break;
        const size_t size = malformed(&seed, bytes, sizeof bytes);
        send(connection, bytes, size, MSG_NOSIGNAL);
        if (i % 3 == 0) { /* an answer is taken, if one comes soon */
            struct pollfd ready = {.fd = connection, .events = POLLIN};
            if (poll(&ready, 1, 20) > 0) (void)!recv(connection, out, sizeof out, 0);
        }
        close(connection);
    }
    CHECK(answers(&s), "it does not answer any more");
    const int after = descriptors(&s, before);
    CHECK(after == before, "%d descriptors, %d before", after, before);
    test_claim("after %d malformed requests it answers, with as many descriptors as before", count);
    stop(&s);
}

/* ---- streams */
TEST(web_server, several_clients) {
    enum { CLIENTS = 20 };
    static char out[1 << 20];
    int clients[CLIENTS];
    server s;
    if (!start(&s, NULL)) return;
    CHECK(answers(&s), "it does not answer");
    const int before = descriptors(&s, -1);
    for (int i = 0; i < CLIENTS; i++) {
        char text[200];
        const int size = snprintf(
            text, sizeof text, "GET /api/v1/events HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", s.port);
        clients[i] = connect_to(&s);
        CHECK(clients[i] >= 0 && send_all(clients[i], text, (size_t)size), "client %d", i);
    }
    for (int i = 0; i < CLIENTS; i++) {
        receive(clients[i], out, sizeof out, "event: sample");
        CHECK(strstr(out, "200 OK") && strstr(out, "text/event-stream"), "client %d: '%.300s'", i,
              out);
        if (i % 2) { /* some go without a word, some hear more */
            receive(clients[i], out, sizeof out, "event: sample");
            CHECK(strstr(out, "event: sample"), "client %d hears no second sample", i);
        }
        close(clients[i]);
    }
    CHECK(answers(&s), "it does not answer any more");
    CHECK(descriptors(&s, before) == before, "%d descriptors, %d before", descriptors(&s, before),
          before);
    /* one that listens does not keep the program from ending */
    const int last = connect_to(&s);
    char text[200];
    const int size = snprintf(text, sizeof text,
                              "GET /api/v1/events HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", s.port);
    CHECK(send_all(last, text, (size_t)size), "the last client");
    receive(last, out, sizeof out, "event: sample");
    stop(&s);
    receive(last, out, sizeof out, NULL); /* until the end, which there is */
    close(last);
}

TEST(web_server, token) {
    static const char *const more[] = {"--token", "0123456789abcdef", NULL};
    server s;
    if (!start(&s, more)) return;
    CHECK(strstr(s.first, "/?token=0123456789abcdef"), "'%s'", s.first);
    const char *text = get(&s, "GET /metrics", "");
    CHECK(strstr(text, "401") && strstr(text, "WWW-Authenticate: Bearer") &&
              !strstr(text, "elegans_cpu"),
          "'%.300s'", text);
    text = get(&s, "GET /metrics", "Authorization: Bearer 0123456789abcdef\r\n");
    CHECK(strstr(text, "200 OK") && strstr(text, "elegans_cpu_load_ratio"), "'%.300s'", text);
    text = get(&s, "GET /?token=0123456789abcdef", "");
    char cookie[128];
    snprintf(cookie, sizeof cookie,
             "Set-Cookie: elegans-%u=0123456789abcdef; Path=/; HttpOnly; SameSite=Strict", s.port);
    CHECK(strstr(text, "303") && strstr(text, "Location: /\r\n") && strstr(text, cookie),
          "'%.500s'", text);
    snprintf(cookie, sizeof cookie, "Cookie: elegans-%u=0123456789abcdef\r\n", s.port);
    text = get(&s, "GET /", cookie);
    CHECK(strstr(text, "200 OK"), "'%.300s'", text);
    stop(&s);
}

/* ---- what it does not begin with */
TEST(web_server, refused) {
    static const struct {
        const char *options, *part;
    } all[] = {
        {"--port 65536", "--port '65536' is not within 0..65535"},
        {"--token short", "--token has 16 to 128 letters"},
        {"--token 0123456789abcdef+x", "--token has 16 to 128 letters"},
        {"--bind nowhere", "--bind 'nowhere' is no address"},
        {"--bind 192.0.2.1 --port 0",
         "cannot listen at '192.0.2.1'"}, /* of no machine (RFC 5737) */
    };
    const char *program = program_of_tests();
    if (!program) {
        test_skip("ELEGANS does not name a program of this machine (make test sets it)");
        return;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char command[600], out[600];
        snprintf(command, sizeof command, "'%s' monitor --web --count 1 %s 2>&1", program,
                 all[i].options);
        FILE *says = popen(command, "r");
        const size_t size = says ? fread(out, 1, sizeof out - 1, says) : 0;
        const int status = says ? pclose(says) : -1;
        out[size] = 0;
        if (strstr(out, "there is no web server")) {
            test_skip("%s", out);
            return;
        }
        CHECK(status != 0 && strstr(out, all[i].part), "%s: %d, '%s'", all[i].options, status, out);
    }
}

/* Beyond this machine a token is made, and asked for. */
TEST(web_server, beyond_this_machine) {
    static const char *const more[] = {"--bind", "0.0.0.0", NULL};
    server s;
    if (!start(&s, more)) return;
    const char *token = strstr(s.first, "/?token=");
    CHECK(token && strlen(token + 8) == 32, "'%s'", s.first);
    char header[128];
    snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token ? token + 8 : "");
    CHECK(strstr(get(&s, "GET /api/v1/sample", ""), "401"), "it answers without a token");
    CHECK(strstr(get(&s, "GET /api/v1/sample", header), "200 OK"), "it does not answer");
    stop(&s);
}
