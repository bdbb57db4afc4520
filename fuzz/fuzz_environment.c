/* Arbitrary bytes as the environment: variables that name folders, and files of the system about power. */
#include "fuzz.h"
#include "elegans/elegans.h"

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

/* A folder of its own: variables name what is below it, so that nothing is made elsewhere. */
static char root[] = "/tmp/elegans-fuzz-XXXXXX";

static void put(const char *name, const uint8_t *bytes, size_t length) {
    char path[128];
    snprintf(path, sizeof path, "%s/sys/class/power_supply/%s", root, name);
    fuzz_write(path, bytes, length);
}

static int discard(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info, (void)kind, (void)at;
    return remove(path);
}
static void remove_root(void) { nftw(root, discard, 8, FTW_DEPTH | FTW_PHYS); }

static void prepare(void) {
    static const char *const folders[] = {"/sys", "/sys/class", "/sys/class/power_supply",
                                          "/sys/class/power_supply/BAT0",
                                          "/sys/class/power_supply/AC"};
    char path[128];
    require(mkdtemp(root) != NULL);
    atexit(remove_root);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        require(mkdir(path, 0700) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static const char *const files[] = {"BAT0/type", "BAT0/status", "BAT0/capacity", "AC/type",
                                        "AC/online"};
    static const char *const variables[] = {"XDG_CACHE_HOME", "XDG_DATA_HOME", "HOME", "TMPDIR"};
    enum { FILES = sizeof files / sizeof *files };
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 26};
    static eg_context *context;
    if (!context) {
        prepare();
        require(eg_context_create(&options, &context, NULL) == EG_OK);
    }
    for (size_t i = 0; i < FILES; i++) { /* a line each */
        const uint8_t *end = memchr(bytes, '\n', length);
        const size_t line = end ? (size_t)(end - bytes) : length;
        put(files[i], bytes, line);
        bytes += line + (end != NULL);
        length -= line + (end != NULL);
    }
    char value[512];
    const int begin = snprintf(value, sizeof value, "%s/", root);
    snprintf(value + begin, sizeof value - (size_t)begin, "%.*s", length < 200 ? (int)length : 200,
             (const char *)bytes);
    for (char *c = value + begin; *c; c++)
        if (*c == '/' || *c == '.') *c = '_'; /* nothing outside of the folder */
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i], value, 1);
    eg_environment environment;
    eg_error error = {0};
    if (eg_environment_read(context, root, &environment, &error)) require(error.message[0] != 0);
    eg_history *history = NULL;
    if (eg_history_open(context, NULL, &history, &error)) require(error.message[0] != 0);
    eg_history_close(history);
    return 0;
}
