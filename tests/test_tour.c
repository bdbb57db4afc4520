/* Commands of the docs work: every ```sh block of docs/tour.md is run, in one folder, in order; so is the recipe
 * for a build server of docs/profiling.md, with models that are slower and faster. */
#include "test.h"

#include <sys/wait.h>

AREA(tour, "every command of docs/tour.md runs, and the recipe for a build server")

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

/* ---- the recipe: a slower candidate ends with 1 after compare ended with 3, a faster one with 0 */
static int run_recipe(const char *program, const char *folder, const char *block,
                      const char *main_model, const char *candidate) {
    char path[300], command[800];
    snprintf(path, sizeof path, "%s/recipe.sh", folder);
    FILE *script = fopen(path, "w");
    if (!script) return -1;
    fprintf(script,
            "elegans() { %s \"$@\"; }\nrm -f speed.db\n"
            "elegans convert %s -o main.safetensors > /dev/null || exit 9\n"
            "elegans convert %s -o candidate.safetensors > /dev/null || exit 9\n"
            "XDG_CACHE_HOME='%s'\nexport XDG_CACHE_HOME\n%s\n",
            program, main_model, candidate, folder, block);
    fclose(script);
    snprintf(command, sizeof command, "cd '%s' && sh recipe.sh > recipe.out 2>&1", folder);
    const int code = system(command);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

TEST(tour, recipe_of_a_build_server) {
    const char *program = getenv("ELEGANS");
    if (!program || !program[0] || getenv("ELEGANS_QUICK")) {
        test_skip("ELEGANS does not name a program of this machine (make test sets it)");
        return;
    }
    FILE *file = fopen(test_path("../docs/profiling.md"), "r");
    CHECK(file, "docs/profiling.md is missing");
    if (!file) return;
    static char text[1 << 18], block[4096];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *section = strstr(text, "### On a build server");
    CHECK(section && next_block(section, block, sizeof block), "no recipe");
    if (!section) return;
    char folder[200];
    snprintf(folder, sizeof folder, "%s", test_folder());
    /* the two differ by a factor of tens, so that no neighbour can change the verdict */
    static const char small[] = "cfc:4,in=4,seed=1", large[] = "cfc:512,in=4,seed=1";
    int code = run_recipe(program, folder, block, small, large);
    CHECK(code == 1, "a slower candidate: code %d", code);
    code = run_recipe(program, folder, block, large, small);
    CHECK(code == 0, "a faster candidate: code %d", code);
    test_claim("the recipe of docs/profiling.md tells slower from faster by its exit code");
}
