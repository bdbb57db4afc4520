/* The tour's commands work: every ```sh block of docs/tour.md is run, in one folder, in order. */
#include "test.h"

AREA(tour, "every command of docs/tour.md runs")

/* The text of the next block into `out`; where to go on, or NULL at the end. */
static const char *next_block(const char *text, char *out, size_t size) {
    const char *start = strstr(text, "\n```sh\n");
    if (!start) return NULL;
    start += strlen("\n```sh\n");
    const char *end = strstr(start, "\n```");
    if (!end || (size_t)(end - start) >= size) return NULL;
    memcpy(out, start, (size_t)(end - start));
    out[end - start] = 0;
    return end + 1;
}

static void run_block(const char *program, const char *folder, const char *block, int number) {
    char path[300], command[800];
    snprintf(path, sizeof path, "%s/block.sh", folder);
    FILE *script = fopen(path, "w");
    CHECK(script, "cannot write %s", path);
    if (!script) return;
    fprintf(
        script,
        "set -e\nelegans() { %s \"$@\"; }\nbytes() { ${ELEGANS%%elegans}examples/bytes \"$@\"; }\n"
        "XDG_CACHE_HOME='%s'\nexport XDG_CACHE_HOME\n%s\n",
        program, folder, block);
    fclose(script);
    snprintf(command, sizeof command,
             "cd '%s' && sh block.sh > block.out 2>&1 && test -s block.out", folder);
    CHECK(system(command) == 0, "block %d of docs/tour.md failed or printed nothing:\n%s", number,
          block);
}

TEST(tour, commands) {
    if (getenv("ELEGANS_QUICK")) {
        test_skip("commands that other tests run, too, and slow under an emulator");
        return;
    }
    const char *program = getenv("ELEGANS");
    if (!program || !program[0]) {
        test_skip("ELEGANS does not name the program (make test sets it)");
        return;
    }
    FILE *file = fopen(test_path("../docs/tour.md"), "r");
    CHECK(file, "docs/tour.md is missing");
    if (!file) return;
    static char text[1 << 18], block[4096];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char folder[200];
    snprintf(folder, sizeof folder, "%s", test_folder());
    int count = 0;
    for (const char *at = text; (at = next_block(at, block, sizeof block));)
        run_block(program, folder, block, ++count);
    CHECK(count > 0, "no commands found");
    test_claim("the %d command blocks of docs/tour.md run", count);
}
