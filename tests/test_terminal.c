/* What commands print on a terminal, when names try to steer it. */
#include "test.h"
#include "base/base.h"
#include "cli/terminal_clean.c" /* commands are not linked with the tests */

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(terminal, "control characters of names are shown on a terminal, not obeyed")

/* The program on a terminal of its own; all that it printed. */
static size_t run_on_terminal(const char *folder, const char *const arguments[], char *out,
                              size_t room) {
    const int ours = posix_openpt(O_RDWR | O_NOCTTY);
    if (ours < 0 || grantpt(ours) || unlockpt(ours)) return 0;
    const char *name = ptsname(ours);
    const int theirs = name ? open(name, O_RDWR | O_NOCTTY) : -1;
    if (theirs < 0) return 0;
    const pid_t child = fork();
    if (child == 0) {
        dup2(theirs, 1);
        dup2(theirs, 2);
        setenv("TERM", "xterm", 1);
        unsetenv("NO_COLOR");
        if (chdir(folder)) _exit(126);
        execv(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    close(theirs);
    size_t size = 0;
    for (ssize_t n; size + 1 < room && (n = read(ours, out + size, room - 1 - size)) > 0;)
        size += (size_t)n;
    close(ours);
    waitpid(child, NULL, 0);
    out[size] = 0;
    return size;
}

TEST(terminal, names_of_files) {
    const char *program = getenv("ELEGANS");
    while (program && *program == ' ') program++;
    if (!program || !program[0] || strchr(program, ' ')) {
        test_skip("ELEGANS does not name a program of this machine (make test sets it)");
        return;
    }
    static const char name[] = "a\033]0;owned\007\033[31mb\xc2\x9b"
                               "2J.txt";
    char path[600], folder[256];
    static char out[1 << 16];
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL, "cannot make the file");
    if (!file) return;
    for (int i = 0; i < 3000; i++) fputs("some text\n", file);
    fclose(file);
    const char *const told[] = {program, "entropy", name, NULL};
    const size_t size = run_on_terminal(folder, told, out, sizeof out);
    if (!size) {
        test_skip("no pseudo-terminal here");
        return;
    }
    CHECK(strstr(out, "a\\x1b]0;owned\\x07\\x1b[31mb\\xc2\\x9b"
                      "2J.txt"),
          "not shown: '%s'", out);
    CHECK(!strstr(out, "\033]") && !strstr(out, "\033[31m") && !strstr(out, "\xc2\x9b"),
          "raw in '%s'", out);
    CHECK(strstr(out, "\033[1m"), "styles are gone: '%s'", out);
    /* and in messages */
    const char *const missing[] = {program, "show", "\033[31mnothing.safetensors", NULL};
    run_on_terminal(folder, missing, out, sizeof out);
    CHECK(strstr(out, "\\x1b[31mnothing") && !strstr(out, "\033[31m"), "'%s'", out);
    /* styles that a name brings along are none */
    const char *const styled[] = {program, "show", "\xef\xb7\x91nothing.safetensors", NULL};
    run_on_terminal(folder, styled, out, sizeof out);
    CHECK(strstr(out, "\\xef\\xb7\\x91nothing") && !strchr(out, '\033'), "'%s'", out);
    /* and what goes to a file beside the terminal has no styles */
    char command[600];
    snprintf(command, sizeof command,
             "'%s' generate llama:1:64 -p a -n 3 --context 16 --stats 2> stats.txt", program);
    const char *const beside[] = {"/bin/sh", "-c", command, NULL};
    run_on_terminal(folder, beside, out, sizeof out);
    snprintf(path, sizeof path, "%s/stats.txt", folder);
    file = fopen(path, "r");
    const size_t told_bytes = file ? fread(out, 1, sizeof out - 1, file) : 0;
    if (file) fclose(file);
    out[told_bytes] = 0;
    CHECK(strstr(out, "decode") && !strstr(out, "\xef\xb7") && !strchr(out, '\033'), "'%s'", out);
}

/* The bar of the demo goes away without a last figure that nobody computed. */
TEST(terminal, progress_of_the_demo) {
    const char *program = getenv("ELEGANS");
    while (program && *program == ' ') program++;
    if (!program || !program[0] || strchr(program, ' ')) {
        test_skip("ELEGANS does not name a program of this machine (make test sets it)");
        return;
    }
    char command[600], folder[256];
    static char out[1 << 16];
    snprintf(folder, sizeof folder, "%s", test_folder());
    /* a drawing that it cannot write ends it after it has learned */
    snprintf(command, sizeof command,
             "mkdir -p demo/wiring.svg && '%s' demo -o demo --steps 1 > demo/out.txt", program);
    const char *const told[] = {"/bin/sh", "-c", command, NULL};
    if (!run_on_terminal(folder, told, out, sizeof out)) {
        test_skip("no pseudo-terminal here");
        return;
    }
    CHECK(strstr(out, "  learning               [") && strstr(out, "loss "), "no bar in '%s'", out);
    CHECK(!strstr(out, "loss 0.0000") && !strstr(out, "100 %"), "'%s'", out);
}

#define KEY   "ABCDEFGHIJKLMNOP"
#define PLAIN "\xef\xb7\x90"
#define BOLD  "\xef\xb7\x91"
TEST(terminal, bytes) {
    static const struct {
        const char *in, *out;
        bool returns;
    } rows[] = {
        {"plain\ttext\n", "plain\ttext\n", false},
        {"\033[2Jx", "\\x1b[2Jx", false},
        {"a\rb", "a\\x0db", false},
        {"a\rb", "a\rb", true},
        {"\001\177\b", "\\x01\\x7f\\x08", false},
        {"K\xc3\xa4"
         "fer \xe2\x9c\x93 \xf0\x9f\xaa\xb1",
         "K\xc3\xa4"
         "fer \xe2\x9c\x93 \xf0\x9f\xaa\xb1",
         false},
        {"\xc2\x85\xc2\xa0", "\\xc2\\x85\xc2\xa0", false},
        {"\x9b"
         "31m",
         "\\x9b31m", false},
        {"\xe2\x9c(", "\\xe2\\x9c(", false},
        {"\xff\xc0\x80", "\\xff\\xc0\\x80", false},
        /* styles: only with the key, however much of it a name has */
        {BOLD KEY "b" PLAIN KEY, "\033[1mb\033[0m", false},
        {BOLD "b" PLAIN "\n", "\\xef\\xb7\\x91b\\xef\\xb7\\x90\n", false},
        {BOLD "ABCDEFGHIJKLMNOQ",
         "\\xef\\xb7\\x91"
         "ABCDEFGHIJKLMNOQ",
         false},
        {BOLD "AB" BOLD KEY "c",
         "\\xef\\xb7\\x91"
         "AB\033[1mc",
         false},
        {BOLD "AB\033",
         "\\xef\\xb7\\x91"
         "AB\\x1b",
         false},
        {"\xef\xb7\xaf.", "\\xef\\xb7\\xaf.", false}, /* other noncharacters */
        /* what turns the direction of text: U+061C, U+200E, U+202A, U+202E, U+2066, U+2069 */
        {"a\xd8\x9c"
         "b\xe2\x80\x8e"
         "c",
         "a\\xd8\\x9c"
         "b\\xe2\\x80\\x8e"
         "c",
         false},
        {"\xe2\x80\xaa\xe2\x80\xae"
         "gpj.exe",
         "\\xe2\\x80\\xaa\\xe2\\x80\\xae"
         "gpj.exe",
         false},
        {"\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9", false},
        {"\xe2\x80\xa9\xe2\x80\xaf", "\xe2\x80\xa9\xe2\x80\xaf", false}, /* beside them */
        /* ESC and CSI in more bytes than they need, half a pair, beyond Unicode */
        {"\xe0\x80\x9b"
         "1\xe0\x82\x9b",
         "\\xe0\\x80\\x9b"
         "1\\xe0\\x82\\x9b",
         false},
        {"\xed\xa0\x80\xf4\x90\x80\x80", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t piece = 1; piece < 20; piece++) { /* however it is cut */
            terminal t = {.returns = rows[i].returns, .key = KEY};
            char out[400];
            size_t used = 0;
            const size_t length = strlen(rows[i].in);
            for (size_t at = 0; at < length; at += piece)
                used += terminal_clean(&t, rows[i].in + at,
                                       length - at < piece ? length - at : piece, out + used);
            out[used] = 0;
            CHECK(strcmp(out, rows[i].out) == 0, "row %zu, pieces of %zu: '%s'", i, piece, out);
        }
}

TEST(terminal, messages_of_the_library) {
    eg_error error;
    eg__fail(&error, EG_ERR_FORMAT, "no tensor '%s'",
             "a\033[31m\n\x7f"
             "b\xc2\x9b");
    CHECK(strcmp(error.message, "no tensor 'a\\x1b[31m\\x0a\\x7fb\\xc2\\x9b'") == 0, "'%s'",
          error.message);
    /* however much of it is shown as four characters, and whatever remains in the end */
    for (size_t plain = 0; plain < 300; plain++) {
        struct {
            eg_error error;
            char behind;
        } box = {.behind = 7};
        char many[300];
        memset(many, 'a', plain);
        memset(many + plain, 7, sizeof many - 1 - plain);
        many[sizeof many - 1] = 0;
        eg__fail(&box.error, EG_ERR_FORMAT, "%s", many);
        const size_t length = strlen(box.error.message);
        CHECK(length == sizeof box.error.message - 1 && box.behind == 7 &&
                  strcmp(box.error.message + length - 3, "...") == 0,
              "%zu letters before: %zu, '%s'", plain, length, box.error.message);
    }
}
