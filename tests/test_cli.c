/* The program as a user sees it: tests/cli/NAME.sh runs, and must print what NAME.out holds. */
#include "test.h"

#include <dirent.h>

AREA(cli, "every script in tests/cli prints what is expected")

static char *read_all(FILE *file) {
    size_t size = 0, room = 1 << 16;
    char *text = test_alloc(room);
    for (size_t n; (n = fread(text + size, 1, room - size - 1, file)) > 0;) {
        size += n;
        if (size + 1 < room) continue;
        text = realloc(text, room *= 2);
        if (!text) exit(1);
    }
    text[size] = 0;
    return text;
}

/* Prints the first line that differs, both ways, and how to run it. */
static void compare(const char *name, const char *expected, const char *got) {
    int line = 1;
    while (*expected && *got) {
        size_t e = strcspn(expected, "\n"), g = strcspn(got, "\n");
        if (e != g || memcmp(expected, got, e) != 0) break;
        expected += e + (expected[e] == '\n');
        got += g + (got[g] == '\n');
        line++;
    }
    CHECK(!*expected && !*got, "tests/cli/%s.sh, line %d:\n  expected '%.*s'\n  got      '%.*s'",
          name, line, (int)strcspn(expected, "\n"), expected, (int)strcspn(got, "\n"), got);
}

static void run_script(const char *program, const char *name) {
    char command[1024], path[512];
    snprintf(path, sizeof path, "%s", test_path("cli"));
    snprintf(
        command, sizeof command,
        "cd '%s' && elegans() { %s \"$@\"; } && example() { ${ELEGANS%%elegans}examples/$1; } && fixtures='%s' && XDG_CACHE_HOME='%s' && "
        "export XDG_CACHE_HOME && . '%s/%s.sh' 2>&1",
        test_folder(), program, test_path("fixtures"), test_folder(), path, name);
    FILE *pipe = popen(command, "r");
    CHECK(pipe, "cannot run %s", name);
    if (!pipe) return;
    char *got = read_all(pipe);
    pclose(pipe);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s.out", name);
    const bool update =
        getenv("ELEGANS_UPDATE") != NULL; /* what it prints is right: git diff shows it */
    FILE *file = fopen(path, update ? "w+" : "r");
    if (file && update) fputs(got, file);
    if (file) rewind(file);
    CHECK(file, "%s is missing; the script printed:\n%s", path, got);
    if (file) {
        char *expected = read_all(file);
        compare(name, expected, got);
        free(expected);
        fclose(file);
    }
    free(got);
}

/* Under an emulator every command takes seconds to begin: a few show that the program works there. Two whole trainings also
 * take minutes under sanitizers. */
static bool is_too_slow(const char *name) {
    static const char *const few[] = {"info", "run", "graph", "quantize"};
    if (!test_emulated()) return test_quick() && strcmp(name, "demo") == 0;
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        if (strcmp(name, few[i]) == 0) return false;
    return true;
}

TEST(cli, scripts) {
    const char *program = getenv("ELEGANS");
    if (!program || !program[0]) {
        test_skip("ELEGANS does not name the program (make test sets it)");
        return;
    }
    DIR *folder = opendir(test_path("cli"));
    unsigned scripts = 0, left_out = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char name[256];
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".sh") != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(length - 3), entry->d_name);
        if (is_too_slow(name)) {
            left_out++;
            continue;
        }
        run_script(program, name);
        scripts++;
    }
    if (folder) closedir(folder);
    CHECK(scripts > 0, "no scripts found");
    test_claim("%u scripts print what is expected, bad usage included; %u left out", scripts,
               left_out);
}
