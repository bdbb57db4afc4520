/* elegans monitor on a terminal of its own: it takes the screen, obeys keys and signals, and gives it back. */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

AREA(screen, "monitor takes the whole terminal and gives it back, however it ends")

typedef struct session {
    pid_t leader, child; /* the program is the child of the session's leader */
    int ours, theirs;    /* ends of the terminal */
    int link;            /* the leader says the number of the child, and how it ended */
    char out[1 << 18];
    size_t size;
} session;

/* Leads the terminal, so that Ctrl-C is a signal, and outlives the program: a terminal whose leader dies drops
 * what was written last. */
static void lead(const session *s, int link, const char *program, const char *const arguments[],
                 const char *term) {
    static const int of_the_program[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP};
    int status = -1;
    char byte;
    setsid();
    ioctl(s->theirs, TIOCSCTTY, 0);
    close(s->ours);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++) dup2(s->theirs, i);
        close(link);
        /* a shell that runs the tests in the background has them ignored, and the program would inherit that */
        for (size_t i = 0; i < sizeof of_the_program / sizeof *of_the_program; i++)
            signal(of_the_program[i], SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* it is killed on purpose */
        setenv("TERM", term, 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        unsetenv("NO_COLOR");
        execv(program, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    for (size_t i = 0; i < sizeof of_the_program / sizeof *of_the_program; i++)
        signal(of_the_program[i], SIG_IGN);
    if (write(link, &child, sizeof child) != sizeof child) _exit(1);
    waitpid(child, &status, 0);
    if (write(link, &status, sizeof status) != sizeof status) _exit(1);
    while (read(link, &byte, 1) > 0) {
    }
    _exit(0); /* the test has closed its end, or has died */
}

/* The program on a terminal. False: there is none. */
static bool begin(session *s, const char *program, const char *const arguments[],
                  const char *term) {
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int link[2];
    s->size = 0;
    s->ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (s->ours < 0 || grantpt(s->ours) || unlockpt(s->ours)) return false;
    const char *name = ptsname(s->ours);
    s->theirs = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    if (s->theirs < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, link) != 0) return false;
    ioctl(s->theirs, TIOCSWINSZ, &size);
    s->leader = fork();
    if (s->leader == 0) {
        close(link[0]);
        lead(s, link[1], program, arguments, term);
    }
    close(link[1]);
    s->link = link[0];
    return s->leader > 0 && read(s->link, &s->child, sizeof s->child) == sizeof s->child &&
           s->child > 0;
}

/* Reads until the text has come, or for ten seconds. */
static bool until(session *s, const char *text) {
    struct pollfd file = {s->ours, POLLIN, 0};
    for (;;) {
        s->out[s->size] = 0;
        if (strstr(s->out, text)) return true;
        if (s->size + 1 >= sizeof s->out || poll(&file, 1, 10000) <= 0) return false;
        const ssize_t n = read(s->ours, s->out + s->size, sizeof s->out - 1 - s->size);
        if (n <= 0) return false; /* it has ended */
        s->size += (size_t)n;
    }
}

/* Reads until the program has ended and the text has come, or nothing for ten seconds: what a program wrote to its
 * terminal before it died may come later than the news of its death. */
static int finish(session *s, const char *text) {
    int status = -1;
    struct pollfd files[] = {{s->link, POLLIN, 0}, {s->ours, POLLIN, 0}};
    int quiet = 0; /* polls without anything */
    bool ended = false;
    s->out[s->size] = 0;
    while (quiet < 200) {
        const int ready = poll(files, 2, 50);
        const bool more = ready > 0 && files[1].revents & POLLIN;
        const size_t left = sizeof s->out - 1 - s->size;
        if (ended && !more && strstr(s->out, text)) break;
        if (ready > 0 && files[0].revents) {
            ended = read(s->link, &status, sizeof status) == sizeof status;
            files[0].fd = -1;
        }
        quiet = ready > 0 ? 0 : quiet + 1;
        const ssize_t n = more && left ? read(s->ours, s->out + s->size, left) : 0;
        if (more && n <= 0) break;
        s->size += (size_t)n;
        s->out[s->size] = 0;
    }
    if (!ended) kill(s->child, SIGKILL);
    close(s->link);
    waitpid(s->leader, NULL, 0);
    close(s->theirs);
    close(s->ours);
    return status;
}

static const char *program_path(void) {
    const char *program = getenv("ELEGANS");
    while (program && *program == ' ') program++;
    if (program && program[0] && !strchr(program, ' ')) return program;
    test_skip("ELEGANS does not name a program of this machine (make test sets it)");
    return NULL;
}

#define TAKEN "\033[?1049h"
#define GIVEN "\033[?1049l"

TEST(screen, ends) {
    static const struct {
        const char *keys;
        int signal, code; /* of the exit, when it is no signal */
    } rows[] = {{"q", 0, 0},       {"\003", 0, 0},      {"?x\t\t\033[B+-spp1jkq", 0, 0},
                {"", SIGTERM, 0},  {"", SIGHUP, 0},     {"", SIGQUIT, -1},
                {"", SIGSEGV, -1}, {"\033[M !#q", 0, 0}};
    const char *program = program_path();
    static session s;
    if (!program) return;
    const char *const arguments[] = {program, "monitor", "--interval", "0.05", NULL};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!begin(&s, program, arguments, "xterm")) {
            test_skip("no pseudo-terminal here");
            return;
        }
        if (!until(&s, "overview") && strstr(s.out, "what this machine is doing")) {
            test_skip("built without ncurses, or there is no description of xterm");
            kill(s.child, SIGTERM);
            finish(&s, "");
            return;
        }
        CHECK(until(&s, "memory"), "row %zu: '%s'", i, s.out);
        const size_t length = strlen(rows[i].keys);
        CHECK(write(s.ours, rows[i].keys, length) == (ssize_t)length, "row %zu", i);
        if (rows[i].signal) kill(s.child, rows[i].signal);
        const int status = finish(&s, rows[i].signal == SIGSEGV ? "" : GIVEN);
        /* sanitizers have their own way to die of a crash */
        if (rows[i].signal != SIGSEGV && rows[i].code >= 0)
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == rows[i].code, "row %zu: status %d", i,
                  status);
        CHECK(strstr(s.out, TAKEN), "row %zu: not taken", i);
        if (rows[i].signal != SIGSEGV)
            CHECK(strstr(s.out, GIVEN) && strstr(strstr(s.out, TAKEN), GIVEN),
                  "row %zu: not given back", i);
    }
}

/* A terminal that cannot show it, and options that do not want it, have lines. */
TEST(screen, lines) {
    static const struct {
        const char *option, *term;
    } rows[] = {{"--plain", "xterm"},
                {"--json", "xterm"},
                {"--once", "xterm"},
                {"--count", "dumb"},
                {"--count", "no-such-terminal"}};
    const char *program = program_path();
    static session s;
    if (!program) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const arguments[] = {program, "monitor",      "--interval", "0.05", "--count",
                                         "1",     rows[i].option, "1",          NULL};
        const bool counted = strcmp(rows[i].option, "--count") == 0;
        const char *const without[] = {program,   "monitor", "--interval",   "0.05",
                                       "--count", "1",       rows[i].option, NULL};
        if (!begin(&s, program, counted ? arguments : without, rows[i].term)) {
            test_skip("no pseudo-terminal here");
            return;
        }
        const int status = finish(&s, "cpu");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "row %zu: status %d", i, status);
        CHECK(strstr(s.out, "cpu") && !strstr(s.out, TAKEN), "row %zu: '%s'", i, s.out);
    }
}

/* Messages wait for the end; the recording and the alerts go on behind the screen. */
TEST(screen, messages) {
    const char *program = program_path();
    static session s;
    char path[600];
    if (!program) return;
    snprintf(path, sizeof path, "%s/record.jsonl", test_folder());
    const char *const arguments[] = {program,   "monitor",          "--interval",
                                     "0.05",    "--count",          "3",
                                     "--alert", "memory_used > 1B", "--record",
                                     path,      "--alert-command",  "echo from the command",
                                     NULL};
    if (!begin(&s, program, arguments, "xterm")) {
        test_skip("no pseudo-terminal here");
        return;
    }
    const int status = finish(&s, "from the command");
    const char *given = strstr(s.out, GIVEN);
    if (!given) {
        test_skip("built without ncurses, or there is no description of xterm");
        return;
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4, "status %d", status);
    CHECK(strstr(given, "alert fired: memory_used"), "'%s'", given);
    CHECK(strstr(s.out, "from the command") >= given, "'%s'", given);
    FILE *file = fopen(path, "r");
    int lines = 0;
    for (int c; file && (c = fgetc(file)) != EOF;) lines += c == '\n';
    if (file) fclose(file);
    CHECK(lines == 3, "%d lines were recorded", lines);
}
