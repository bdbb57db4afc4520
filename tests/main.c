/* Runs the tests and prints one line per area. */
#include "test.h"
#include "elegans/context.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static test_area *areas;
static test_case *cases;
static struct {
    unsigned failures;
    bool skipped;
    char reason[200], claim[200];
    const test_case *test;
} running;
static char folder[128];

void test_area_add(test_area *area) {
    test_area **at = &areas;
    while (*at && strcmp((*at)->name, area->name) < 0) at = &(*at)->next;
    area->next = *at;
    *at = area;
}

void test_case_add(test_case *test) {
    test->next = cases;
    cases = test;
}

void test_fail(const char *file, int line, const char *format, ...) {
    if (running.failures++ >= 10) return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: %s.%s: ", file, line, running.test->area, running.test->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void test_skip(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(running.reason, sizeof running.reason, format, arguments);
    va_end(arguments);
    running.skipped = true;
}

bool test_quick(void) { return getenv("ELEGANS_QUICK") != NULL; }

static bool quick_is(const char *kind) {
    const char *quick = getenv("ELEGANS_QUICK");
    return quick && strcmp(quick, kind) == 0;
}
bool test_watches_threads(void) { return quick_is("threads"); }
bool test_emulated(void) { return quick_is("emulated"); }

void test_claim(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(running.claim, sizeof running.claim, format, arguments);
    va_end(arguments);
}
bool test_gives_away(void) {
    char path[] = "/tmp/elegans-owner-XXXXXX";
    const int file = mkstemp(path);
    if (file < 0) return false;
    const bool given = fchown(file, 12345, 12345) == 0;
    close(file);
    unlink(path);
    return given;
}

void *test_alloc(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        fprintf(stderr, "tests: out of memory for %zu bytes\n", size);
        exit(1);
    }
    return memory;
}

double test_worse(double worst, double off) { return off > worst || off != off ? off : worst; }

float test_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((int32_t)(*state >> 40) - (1 << 23)) / (float)(1 << 23);
}

const char *test_path(const char *path) {
    static char full[512];
    snprintf(full, sizeof full, "%s/tests/%s", ELEGANS_SOURCE, path);
    return full;
}

const char *test_data(const char *path) {
    static char full[512];
    const char *root = getenv("ELEGANS_DATA");
    if (!root || !root[0]) return NULL;
    snprintf(full, sizeof full, "%s/%s", root, path);
    return full;
}

const char *test_folder(void) {
    static unsigned number;
    static char fresh[160];
    if (!folder[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/elegans-tests-XXXXXX", base && base[0] ? base : "/tmp");
        if (!mkdtemp(folder)) {
            fprintf(stderr, "tests: cannot create %s\n", folder);
            exit(1);
        }
    }
    snprintf(fresh, sizeof fresh, "%s/%u", folder, number++);
    if (mkdir(fresh, 0777)) {
        fprintf(stderr, "tests: cannot create %s\n", fresh);
        exit(1);
    }
    return fresh;
}

/* The allocation to fail after k. An error is passed on by the same C on every processor, and hardly ever by
 * two threads: an emulator and the thread sanitizer see the first ones and then a sample. */
static int next_allocation(int k) {
    return k + (k >= 16 && (test_emulated() || test_watches_threads()) ? 11 : 1);
}

int test_every_allocation(test_attempt attempt, void *user) {
    for (int k = 1; k < 10000; k = next_allocation(k)) {
        eg__failing_allocator state = {.fail_at = k};
        eg_allocator allocator = eg__failing_allocator_use(&state);
        eg_error error = {0};
        eg_status status = attempt(user, &allocator, &error);
        CHECK(state.live == 0, "allocation %d failed: %lld blocks leaked", k,
              (long long)state.live);
        if (state.requests < k) {
            CHECK(status == EG_OK, "no allocation failed, yet: %s", error.message);
            return (int)state.requests;
        }
        CHECK(status == EG_ERR_MEMORY, "allocation %d failed: %s '%s'", k, eg_status_name(status),
              error.message);
    }
    CHECK(false, "still failing after 10000 allocations");
    return 0;
}

int test_every_allocation_within(test_inner_attempt attempt, void *user) {
    eg__failing_allocator state = {0};
    eg_context_options options = {
        .allocator = eg__failing_allocator_use(&state), .threads = 1, .memory_cache_off = 1};
    eg_context *context;
    eg_error error = {0};
    int k = 0, requests = 0;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    for (bool fails = context != NULL; fails && k < 10000;) {
        const int64_t live = state.live;
        state.requests = 0;
        state.failed_size = state.again_size = 0;
        state.fail_at = k = next_allocation(k);
        eg_status status = attempt(user, context, &error);
        fails = state.requests >= k;
        requests = (int)state.requests;
        state.fail_at = 0;
        CHECK(state.live == live, "allocation %d failed: %lld blocks leaked", k,
              (long long)(state.live - live));
        CHECK(status == (fails ? EG_ERR_MEMORY : EG_OK), "allocation %d failed: %s '%s'", k,
              eg_status_name(status), error.message);
    }
    CHECK(k < 10000, "still failing after 10000 allocations");
    eg_context_destroy(context);
    CHECK(state.live == 0, "%lld blocks leaked by the context", (long long)state.live);
    return requests;
}

/* Names the test that crashed and leaves the rest to whoever handled it before: the instruction is
 * tried again and fails again. */
static struct sigaction crash_before[3];
static const int crash_signals[3] = {SIGSEGV, SIGBUS, SIGABRT};
static void crash(int number) {
    char text[160];
    int length =
        snprintf(text, sizeof text, "tests: signal %d in %s.%s\n", number,
                 running.test ? running.test->area : "", running.test ? running.test->name : "");
    if (write(STDERR_FILENO, text, (size_t)length) < 0) length = 0;
    for (int i = 0; i < 3; i++) sigaction(crash_signals[i], &crash_before[i], NULL);
}

/* Processor seconds of this process and of the programs it has waited for. */
static double seconds_used(void) {
    double seconds = 0;
    const int whose[2] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (int i = 0; i < 2; i++) {
        struct rusage used;
        getrusage(whose[i], &used);
        seconds += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    }
    return seconds;
}

static void run_case(test_area *area, const test_case *test) {
    memset(&running, 0, sizeof running);
    running.test = test;
    const double started = seconds_used();
    test->function();
    if (getenv("ELEGANS_TIMES"))
        fprintf(stderr, "time %8.2f s  %s.%s\n", seconds_used() - started, test->area, test->name);
    if (running.claim[0]) {
        static char claims[64][200];
        static unsigned count;
        if (count < 64) area->claim = strcpy(claims[count++], running.claim);
    }
    if (running.failures) area->failed++;
    else if (running.skipped) {
        area->skipped++;
        printf("skip  %s.%s: %s\n", test->area, test->name, running.reason);
    } else area->passed++;
}

/* What the arguments ask for. */
typedef struct choice {
    const char *filter;   /* NULL = all */
    char *const *without; /* "-area", up to NULL */
    unsigned left_out;
} choice;

static bool is_left_out(const choice *c, const test_area *area) {
    for (char *const *at = c->without; *at; at++)
        if (strcmp(*at + 1, area->name) == 0) return true;
    return false;
}

static void run_area(test_area *area, choice *c) {
    const bool runs = !is_left_out(c, area);
    for (test_case *test = cases; test; test = test->next) {
        char name[160];
        snprintf(name, sizeof name, "%s.%s", test->area, test->name);
        if (strcmp(test->area, area->name) != 0 || (c->filter && !strstr(name, c->filter)))
            continue;
        if (runs) run_case(area, test);
        else c->left_out++;
    }
    if (area->passed + area->failed + area->skipped == 0) return;
    printf("%-5s %-12s %3u  %s\n", area->failed ? "FAIL" : "ok", area->name,
           area->passed + area->failed, area->claim);
    fflush(stdout);
}

/* A name that no area has is a mistake, lest a list that got old leaves nothing out. */
static bool is_known(const char *name) {
    for (const test_area *area = areas; area; area = area->next)
        if (strcmp(area->name, name) == 0) return true;
    fprintf(stderr, "tests: no area '%s' to leave out\n", name);
    return false;
}

int main(int argc, char **argv) {
    choice c = {.filter = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL};
    c.without = argv + (argc > 0) + (c.filter != NULL);
    for (char *const *at = c.without; *at; at++)
        if ((*at)[0] != '-' || !is_known(*at + 1)) return 2;
    unsigned passed = 0, failed = 0, skipped = 0;
    setenv("XDG_CACHE_HOME", test_folder(), 1); /* ceilings of 50 ms are nobody's to keep */
    signal(SIGHUP,
           SIG_DFL); /* nohup ignores it, programs respect that, and a test waits for one to stop */
    const struct sigaction handler = {.sa_handler = crash};
    for (int i = 0; i < 3; i++) sigaction(crash_signals[i], &handler, &crash_before[i]);
    for (test_area *area = areas; area; area = area->next) {
        run_area(area, &c);
        passed += area->passed;
        failed += area->failed;
        skipped += area->skipped;
    }
    if (folder[0]) {
        char command[200];
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        if (system(command)) fprintf(stderr, "tests: could not remove %s\n", folder);
    }
    if (passed + failed + skipped == 0) {
        fprintf(stderr, "tests: nothing matches '%s'\n", c.filter ? c.filter : "");
        return 2;
    }
    printf("%u passed, %u failed, %u skipped", passed, failed, skipped);
    printf(c.left_out ? ", %u left out\n" : "\n", c.left_out);
    return failed ? 1 : 0;
}
