/* The history: what goes in comes out, whoever else writes, whatever happens to the file. */
#include "test.h"
#include "elegans/elegans.h"
#include "profile/history/history.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(history, "two processes at once, damaged, locked, full: nothing lost, and the file is named")

typedef struct fixture {
    eg_context *context;
    eg_history *history;
    char path[1024];
} fixture;

static eg_context *open_context(void) {
    const eg_context_options options = {.size = sizeof options, .threads = 1};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static void open_fixture(fixture *f) {
    eg_error error;
    snprintf(f->path, sizeof f->path, "%s/history.db", test_folder());
    f->context = open_context();
    CHECK_OK(eg_history_open(f->context, f->path, &f->history, &error), error);
}

static void close_fixture(fixture *f) {
    eg_history_close(f->history);
    eg_context_destroy(f->context);
}

static int64_t add(fixture *f, const char *name, const char *model, int64_t time) {
    const eg_history_entry e = {.name = name, .model = model, .time = time};
    int64_t id = 0;
    eg_error error;
    CHECK_OK(eg_history_add(f->history, &e, 0, &id, &error), error);
    return id;
}

static int count_one(void *user, const eg_history_entry *entry) {
    (void)entry;
    ++*(int *)user;
    return 0;
}

static int count(fixture *f, const eg_history_filter *filter) {
    int rows = 0;
    eg_error error;
    CHECK_OK(eg_history_list(f->history, filter, count_one, &rows, &error), error);
    return rows;
}

/* ---- what goes in comes out */
static void check_equal(const eg_history_entry *a, const eg_history_entry *b) {
    const char *const x[] = {
        a->name ? a->name : "-", a->model,       a->model_hash,    a->options,
        a->fingerprint,          a->environment, a->program,       a->program_hash,
        a->program_version,      a->json,        a->configuration, a->note};
    const char *const y[] = {
        b->name ? b->name : "-", b->model,       b->model_hash,    b->options,
        b->fingerprint,          b->environment, b->program,       b->program_hash,
        b->program_version,      b->json,        b->configuration, b->note};
    for (int i = 0; i < 12; i++)
        CHECK(strcmp(x[i], y[i]) == 0, "text %d: '%s', not '%s'", i, x[i], y[i]);
    CHECK(a->time == b->time && a->sample_count == b->sample_count, "time %lld, %zu samples",
          (long long)a->time, a->sample_count);
    CHECK(memcmp(a->samples, b->samples, a->sample_count * sizeof(double)) == 0, "other samples");
}

TEST(history, round_trip) {
    fixture f;
    eg_error error;
    open_fixture(&f);
    enum { MANY = 100000 };
    double *samples = test_alloc(MANY * sizeof *samples);
    for (int i = 0; i < MANY; i++) samples[i] = 1e-6 * sqrt(i);
    samples[1] = 5e-324;
    samples[2] = 1e300;
    samples[3] = -0.0;
    const eg_history_entry in = {.name = "main'; DROP TABLE entries; --",
                                 .model = "cfc:autoncp:64:16,in=16",
                                 .model_hash = "0123abcd",
                                 .options = "batch=1 seq=16",
                                 .fingerprint = "chip=x isa=avx2",
                                 .environment = "{\"load\": 0.5}",
                                 .program = "/usr/bin/elegans",
                                 .program_hash = "ffff",
                                 .program_version = "0.1.0",
                                 .time = 1700000000,
                                 .sample_count = MANY,
                                 .samples = samples,
                                 .configuration = "cfc 16 to 64 units",
                                 .note = "before the rewrite",
                                 .json = "{\"name\": \"Käfer \xe2\x9c\x93\"}"};
    const eg_history_entry bare = {.model = ""};
    int64_t id = 0, second = 0;
    CHECK_OK(eg_history_add(f.history, &in, 0, &id, &error), error);
    CHECK_OK(eg_history_add(f.history, &bare, 0, &second, &error), error);
    eg_history_close(f.history);
    CHECK_OK(eg_history_open(f.context, f.path, &f.history, &error), error);
    CHECK(strcmp(eg_history_path(f.history), f.path) == 0, "'%s'", eg_history_path(f.history));
    eg_history_entry *out = NULL;
    CHECK_OK(eg_history_get(f.history, in.name, &out, &error), error);
    CHECK(out && out->id == id, "not the entry %lld", (long long)id);
    if (out) check_equal(out, &in);
    eg_history_release(f.history, out);
    CHECK_OK(eg_history_get_id(f.history, id, &out, &error), error);
    if (out) check_equal(out, &in);
    eg_history_release(f.history, out);
    CHECK_OK(eg_history_get_id(f.history, second, &out, &error), error);
    CHECK(out && !out->name && !out->json[0] && !out->sample_count && out->time > 1700000000,
          "a bare entry");
    eg_history_release(f.history, out);
    free(samples);
    close_fixture(&f);
}

TEST(history, names) {
    fixture f;
    eg_error error;
    eg_history_entry *out;
    open_fixture(&f);
    const int64_t first = add(&f, "main", "a", 1);
    int64_t second = 0;
    const eg_history_entry again = {.name = "main", .model = "b", .time = 2};
    CHECK_FAILS(eg_history_add(f.history, &again, 0, &second, &error), error, EG_ERR_ARGUMENT,
                "baseline 'main' already");
    CHECK_OK(eg_history_add(f.history, &again, 1, &second, &error), error);
    CHECK(second > first, "entry %lld after %lld", (long long)second, (long long)first);
    CHECK_OK(eg_history_get(f.history, "main", &out, &error), error);
    CHECK(out && out->id == second, "the name stayed where it was");
    eg_history_release(f.history, out);
    CHECK_OK(eg_history_get_id(f.history, first, &out, &error), error);
    CHECK(out && !out->name, "the old one has the name, too");
    eg_history_release(f.history, out);
    CHECK_OK(eg_history_delete(f.history, "main", &error), error);
    CHECK_FAILS(eg_history_delete(f.history, "main", &error), error, EG_ERR_NOT_FOUND, "'main'");
    CHECK_FAILS(eg_history_get(f.history, "main", &out, &error), error, EG_ERR_NOT_FOUND, f.path);
    CHECK(!out, "an entry that is not there");
    CHECK_FAILS(eg_history_get_id(f.history, second, &out, &error), error, EG_ERR_NOT_FOUND,
                f.path);
    CHECK(add(&f, "main", "c", 3) > second, "an id is given twice");
    char name[200] = "";
    CHECK_FAILS(
        eg_history_add(f.history, &(eg_history_entry){.name = name, .model = "a"}, 0, NULL, &error),
        error, EG_ERR_ARGUMENT, "not 0");
    memset(name, 'x', 129);
    CHECK_FAILS(
        eg_history_add(f.history, &(eg_history_entry){.name = name, .model = "a"}, 0, NULL, &error),
        error, EG_ERR_ARGUMENT, "not 129");
    CHECK_FAILS(eg_history_add(f.history, &(eg_history_entry){.name = "a\nb", .model = "a"}, 0,
                               NULL, &error),
                error, EG_ERR_ARGUMENT, "control");
    CHECK_FAILS(eg_history_add(f.history, &(eg_history_entry){.name = "a"}, 0, NULL, &error), error,
                EG_ERR_ARGUMENT, "without a model");
    const double sample = 1;
    const eg_history_entry huge = {.model = "a", .sample_count = SIZE_MAX / 2, .samples = &sample};
    CHECK_FAILS(eg_history_add(f.history, &huge, 0, NULL, &error), error, EG_ERR_OVERFLOW,
                "samples");
    CHECK_FAILS(eg_history_get(f.history, NULL, &out, &error), error, EG_ERR_ARGUMENT, "name");
    close_fixture(&f);
}

static int take_times(void *user, const eg_history_entry *entry) {
    int64_t *times = user;
    times[++times[0]] = entry->time;
    return times[0] == 3;
}

TEST(history, lists) {
    fixture f;
    eg_error error;
    open_fixture(&f);
    const int64_t order[] = {5, 1, 9, 3, 7, 2, 8, 4, 6};
    for (int i = 0; i < 9; i++) add(&f, order[i] == 4 ? "four" : NULL, i % 3 ? "a" : "b", order[i]);
    int64_t times[8] = {0};
    CHECK_OK(eg_history_list(f.history, NULL, take_times, times, &error), error);
    CHECK(times[0] == 3 && times[1] == 9 && times[2] == 8 && times[3] == 7, "%lld %lld %lld",
          (long long)times[1], (long long)times[2], (long long)times[3]);
    memset(times, 0, sizeof times);
    const eg_history_filter trend = {.model = "b", .limit = 2};
    CHECK_OK(eg_history_list(f.history, &trend, take_times, times, &error), error);
    CHECK(times[0] == 2 && times[1] == 8 && times[2] == 5, "%lld rows: %lld %lld",
          (long long)times[0], (long long)times[1], (long long)times[2]);
    CHECK(count(&f, NULL) == 9, "%d entries", count(&f, NULL));
    CHECK(count(&f, &(eg_history_filter){.model = "a"}) == 6, "of a");
    CHECK(count(&f, &(eg_history_filter){.baselines = 1}) == 1, "baselines");
    CHECK(count(&f, &(eg_history_filter){.name = "four"}) == 1, "by name");
    CHECK(count(&f, &(eg_history_filter){.name = "%"}) == 0, "a pattern is none");
    CHECK(count(&f, &(eg_history_filter){.options = "", .fingerprint = "", .model_hash = ""}) == 9,
          "nothing is equal to nothing");
    CHECK(count(&f, &(eg_history_filter){.options = "batch=1"}) == 0, "other options");
    CHECK(count(&f, &(eg_history_filter){.limit = UINT64_MAX}) == 9, "no limit");
    CHECK_FAILS(eg_history_list(f.history, NULL, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "function");
    close_fixture(&f);
}

TEST(history, default_place) {
    eg_context *context = open_context();
    eg_error error;
    eg_history *history;
    char folder[512], kept_xdg[512], kept_home[512];
    snprintf(folder, sizeof folder, "%s/a", test_folder());
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    snprintf(kept_xdg, sizeof kept_xdg, "%s", xdg ? xdg : "");
    snprintf(kept_home, sizeof kept_home, "%s", home ? home : "");
    setenv("XDG_DATA_HOME", folder, 1);
    CHECK_OK(eg_history_open(context, NULL, &history, &error), error);
    CHECK(history && strstr(eg_history_path(history), "/a/elegans/history.db"), "another path");
    eg_history_close(history);
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", folder, 1);
    CHECK_OK(eg_history_open(context, NULL, &history, &error), error);
    CHECK(history && strstr(eg_history_path(history), "/a/.local/share/elegans/history.db"),
          "another path");
    eg_history_close(history);
    setenv("HOME", "/dev/null/nobody", 1);
    CHECK_FAILS(eg_history_open(context, NULL, &history, &error), error, EG_ERR_FILE,
                "folder '/dev/null/nobody/.local/share/elegans'");
    unsetenv("HOME");
    CHECK_FAILS(eg_history_open(context, NULL, &history, &error), error, EG_ERR_FILE, "HOME");
    if (home) setenv("HOME", kept_home, 1);
    if (xdg) setenv("XDG_DATA_HOME", kept_xdg, 1);
    eg_context_destroy(context);
}

/* ---- several at once */
enum { CHILDREN = 2, EACH = 50 };

static int child(const char *path, int number) {
    eg_history *history;
    eg_context *context = NULL;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    if (eg_context_create(&one, &context, NULL)) return 2;
    if (eg_history_open(context, path, &history, NULL)) return 3;
    const double sample = number;
    for (int i = 0; i < EACH; i++) {
        const eg_history_entry e = {.name = "latest",
                                    .model = number ? "one" : "two",
                                    .sample_count = 1,
                                    .samples = &sample};
        if (eg_history_add(history, &e, 1, NULL, NULL)) return 4;
    }
    eg_history_close(history);
    eg_context_destroy(context);
    return 0;
}

/* The file is not there yet: they make it at the same time, too. */
TEST(history, two_processes) {
    char path[1024];
    snprintf(path, sizeof path, "%s/history.db", test_folder());
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++)
        if ((children[i] = fork()) == 0) _exit(child(path, i));
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        waitpid(children[i], &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d ended with %d", i, status);
    }
    fixture f = {.context = open_context()};
    eg_error error;
    CHECK_OK(eg_history_open(f.context, path, &f.history, &error), error);
    CHECK(count(&f, NULL) == CHILDREN * EACH, "%d of %d rows", count(&f, NULL), CHILDREN * EACH);
    CHECK(count(&f, &(eg_history_filter){.model = "one"}) == EACH, "rows of one lost");
    CHECK(count(&f, &(eg_history_filter){.baselines = 1}) == 1, "a name twice");
    close_fixture(&f);
}

static void run(sqlite3 *database, const char *sql) {
    char *message = NULL;
    CHECK(sqlite3_exec(database, sql, NULL, NULL, &message) == SQLITE_OK, "%s: %s", sql, message);
    sqlite3_free(message);
}

TEST(history, locked) {
    fixture f;
    eg_error error;
    eg_history_entry *out;
    open_fixture(&f);
    add(&f, "main", "a", 1);
    sqlite3 *other = NULL;
    CHECK(sqlite3_open(f.path, &other) == SQLITE_OK, "cannot open it twice");
    run(other, "BEGIN EXCLUSIVE");
    sqlite3_busy_timeout(f.history->database, 200); /* instead of ten seconds */
    const eg_history_entry e = {.model = "b"};
    const uint64_t began = eg_clock_ns();
    CHECK_FAILS(eg_history_add(f.history, &e, 0, NULL, &error), error, EG_ERR_BUSY, f.path);
    CHECK(eg_clock_ns() - began > 100000000, "did not wait");
    CHECK_FAILS(eg_history_get(f.history, "main", &out, &error), error, EG_ERR_BUSY, f.path);
    CHECK_FAILS(eg_history_delete(f.history, "main", &error), error, EG_ERR_BUSY, f.path);
    run(other, "COMMIT");
    sqlite3_close(other);
    CHECK(add(&f, NULL, "b", 2) > 0 && count(&f, NULL) == 2, "not as before");
    close_fixture(&f);
}

/* ---- files that are not what they should be */
static void write_bytes(const char *path, long at, const char *bytes, size_t size) {
    FILE *file = fopen(path, at < 0 ? "wb" : "rb+");
    CHECK(file != NULL, "cannot write '%s'", path);
    if (!file) return;
    if (at > 0) fseek(file, at, SEEK_SET);
    fwrite(bytes, 1, size, file);
    fclose(file);
}

TEST(history, strange_files) {
    eg_context *context = open_context();
    eg_error error;
    eg_history *history;
    char path[1024], inner[1100];
    snprintf(path, sizeof path, "%s/strange.db", test_folder());
    static const char text[] = "this is a text that is longer than a hundred bytes, and so it is "
                               "no SQLite file, not even an empty one, whatever it is called";
    write_bytes(path, -1, text, sizeof text);
    CHECK_FAILS(eg_history_open(context, path, &history, &error), error, EG_ERR_FORMAT, path);
    CHECK(!history, "opened all the same");
    snprintf(inner, sizeof inner, "%s/inner.db", path);
    CHECK_FAILS(eg_history_open(context, inner, &history, &error), error, EG_ERR_FILE, inner);
    CHECK_FAILS(eg_history_open(context, "/no/such/folder/history.db", &history, &error), error,
                EG_ERR_FILE, "/no/such/folder/history.db");
    CHECK_FAILS(eg_history_open(context, test_path(""), &history, &error), error, EG_ERR_FILE,
                test_path(""));
    CHECK_FAILS(eg_history_open(context, "", &history, &error), error, EG_ERR_ARGUMENT, "empty");
    static char endless[5000];
    memset(endless, 'x', sizeof endless - 1);
    CHECK_FAILS(eg_history_open(context, endless, &history, &error), error, EG_ERR_FILE,
                "too long");
    CHECK_FAILS(eg_history_open(NULL, path, &history, &error), error, EG_ERR_ARGUMENT,
                "no context");

    const struct {
        const char *sql, *part;
        eg_status status;
    } others[] = {
        {"CREATE TABLE cars(wheels)", "is not a history", EG_ERR_FORMAT},
        {"PRAGMA user_version = 3", "is of version 3; this library knows 2", EG_ERR_UNSUPPORTED},
        {"PRAGMA user_version = 1", "cannot bring up to date", EG_ERR_FORMAT},
        {"PRAGMA user_version = -1", "is of version -1", EG_ERR_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        sqlite3 *database = NULL;
        unlink(path);
        CHECK(sqlite3_open(path, &database) == SQLITE_OK, "cannot make it");
        run(database, others[i].sql);
        sqlite3_close(database);
        CHECK_FAILS(eg_history_open(context, path, &history, &error), error, others[i].status,
                    others[i].part);
        CHECK(strstr(error.message, path) != NULL, "'%s' names no file", error.message);
    }
    eg_context_destroy(context);
}

/* A file of the first version is brought up to date: what it holds stays, and new entries have all columns. */
TEST(history, earlier_version) {
    fixture f = {.context = open_context()};
    eg_error error;
    eg_history_entry *out = NULL;
    sqlite3 *database = NULL;
    snprintf(f.path, sizeof f.path, "%s/first.db", test_folder());
    CHECK(sqlite3_open(f.path, &database) == SQLITE_OK, "cannot make it");
    run(database,
        "CREATE TABLE entries(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, model TEXT NOT NULL,"
        " model_hash TEXT NOT NULL, options TEXT NOT NULL, fingerprint TEXT NOT NULL,"
        " environment TEXT NOT NULL, program TEXT NOT NULL, program_hash TEXT NOT NULL,"
        " program_version TEXT NOT NULL, json TEXT NOT NULL, time INTEGER NOT NULL,"
        " samples BLOB NOT NULL);"
        "CREATE INDEX entries_by_time ON entries(time);"
        "INSERT INTO entries VALUES(7,'old','m','h','o','f','e','p','ph','pv','j',5,x'');"
        "PRAGMA user_version = 1");
    sqlite3_close(database);
    CHECK_OK(eg_history_open(f.context, f.path, &f.history, &error), error);
    const eg_history_entry e = {.name = "new", .model = "m", .configuration = "c", .note = "n"};
    CHECK_OK(eg_history_add(f.history, &e, 0, NULL, &error), error);
    eg_history_close(f.history);
    CHECK_OK(eg_history_open(f.context, f.path, &f.history, &error), error);
    CHECK_OK(eg_history_get(f.history, "old", &out, &error), error);
    CHECK(out && out->id == 7 && !out->note[0] && !out->configuration[0] && out->json[0] == 'j',
          "the old entry");
    eg_history_release(f.history, out);
    CHECK_OK(eg_history_get(f.history, "new", &out, &error), error);
    CHECK(out && strcmp(out->note, "n") == 0 && strcmp(out->configuration, "c") == 0,
          "the new entry");
    eg_history_release(f.history, out);
    close_fixture(&f);
}

/* A history that somebody else made names a program, and its hash with it: it is not run. */
TEST(history, names_no_program_to_run) {
    const char *program = getenv("ELEGANS");
    if (!program || !program[0] || test_emulated()) {
        test_skip("ELEGANS does not name a program of this machine (make test sets it)");
        return;
    }
    char script[1100], marker[1100], command[4096], hash[EG_FILE_HASH_SIZE];
    fixture f;
    eg_error error;
    eg_environment here;
    open_fixture(&f);
    snprintf(script, sizeof script, "%s/elegans", test_folder());
    snprintf(marker, sizeof marker, "%s/it-was-run", test_folder());
    FILE *file = fopen(script, "w");
    CHECK(file != NULL, "no script");
    if (!file) return;
    fprintf(file, "#!/bin/sh\ntouch '%s'\n", marker);
    fclose(file);
    CHECK(chmod(script, 0755) == 0, "not executable");
    CHECK_OK(eg_file_hash(script, hash, &error), error);
    CHECK_OK(eg_environment_read(f.context, NULL, &here, &error), error);
    double samples[60];
    for (int i = 0; i < 60; i++) samples[i] = 1e-6 * (100 + i % 7);
    const eg_history_entry e = {.name = "main",
                                .model = "cfc:3,in=2",
                                .options = "batch=1 seq=1 threads=1",
                                .fingerprint = here.fingerprint,
                                .environment = "{}",
                                .program = script,
                                .program_hash = hash,
                                .program_version = "9.9",
                                .sample_count = 60,
                                .samples = samples};
    CHECK_OK(eg_history_add(f.history, &e, 0, NULL, &error), error);
    snprintf(command, sizeof command,
             "%s baseline compare main --history '%s' --rounds 2 --runs 10 > '%s/out'", program,
             f.path, test_folder());
    const int code = system(command);
    CHECK(WIFEXITED(code) && (WEXITSTATUS(code) == 0 || WEXITSTATUS(code) == 3), "code %d", code);
    CHECK(access(marker, F_OK) != 0, "the program that the history names was run");
    /* options that it was not measured with are not taken for the defaults */
    static const char *const odd[] = {"batch=many seq=1", "batch=0", "batch=1 batch=2",
                                      "other=1",          "batch=",  "batch=1;seq=1"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        eg_history_entry changed = e;
        changed.name = "odd";
        changed.options = odd[i];
        CHECK_OK(eg_history_add(f.history, &changed, 1, NULL, &error), error);
        snprintf(command, sizeof command,
                 "%s baseline compare odd --history '%s' --rounds 2 --runs 10 2> '%s/err'", program,
                 f.path, test_folder());
        const int refused = system(command);
        CHECK(WIFEXITED(refused) && WEXITSTATUS(refused) == 1, "'%s': code %d", odd[i], refused);
    }
    /* the command line may name it: it is run, and gives no samples */
    snprintf(command, sizeof command,
             "%s baseline compare main --history '%s' --rounds 2 --program '%s' 2> '%s/err'",
             program, f.path, script, test_folder());
    CHECK(system(command) != 0 && access(marker, F_OK) == 0, "--program was not run");
    close_fixture(&f);
}

/* What `elegans history` prints: how many lines, and the columns of the widest. */
static int columns_printed(const char *command, char *all, size_t room) {
    char line[1024];
    int widest = 0;
    FILE *pipe = popen(command, "r");
    CHECK(pipe, "cannot run '%s'", command);
    all[0] = 0;
    while (pipe && fgets(line, sizeof line, pipe)) {
        int columns = 0;
        for (const char *c = line; *c && *c != '\n'; c++) columns += (*c & 0xc0) != 0x80;
        if (columns > widest) widest = columns;
        const size_t used = strlen(all);
        snprintf(all + used, room - used, "%s", line);
    }
    CHECK(pipe && pclose(pipe) == 0, "'%s' failed", command);
    return widest;
}

TEST(history, is_listed_within_80_columns) {
    const char *program = getenv("ELEGANS");
    if (!program || !program[0]) {
        test_skip("ELEGANS does not name a program (make test sets it)");
        return;
    }
    static const char model[] = "some/folder/of/models/that/were/trained/yesterday/evening/"
                                "a policy of the cart with a pole.safetensors",
                      name[] = "before the great rewrite of the gemm kernels";
    fixture f;
    eg_error error;
    open_fixture(&f);
    double samples[] = {1.234e-4, 1.234e-4, 1.234e-4};
    eg_history_entry e = {.model = model, .sample_count = 3, .samples = samples};
    for (int i = 0; i < 100; i++) { /* more than a line has room for */
        e.time = 1700000000 + i;
        samples[0] = samples[1] = samples[2] = 1e-6 * (100 + i);
        CHECK_OK(eg_history_add(f.history, &e, 0, NULL, &error), error);
    }
    e.options =
        "batch=1048576 isa=avx512 seq=1048576 threads=256 and what else there may be one day";
    e.note = "a note that says at some length why this was kept, and what to do about it tomorrow";
    e.name = name;
    CHECK_OK(eg_history_add(f.history, &e, 0, NULL, &error), error);
    static char all[1 << 16], command[4096];
    const char *const ways[] = {"history", "baseline list"};
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "%s %s --history '%s'", program, ways[i], f.path);
        const int widest = columns_printed(command, all, sizeof all);
        CHECK(widest > 70 && widest <= 80, "%s: %d columns in %.2000s", ways[i], widest, all);
        CHECK(strstr(all, name), "%s: the name is cut in %.2000s", ways[i], all);
    }
    snprintf(command, sizeof command, "%s history '%s' --limit 100 --history '%s'", program, model,
             f.path);
    const int widest = columns_printed(command, all, sizeof all);
    CHECK(widest == 80 && strstr(all, "█\n"), "a trend of %d columns in %.2000s", widest, all);
    close_fixture(&f);
}

/* Of our version, but with other tables or rows in it. */
TEST(history, strange_tables) {
    fixture f;
    eg_error error;
    eg_history_entry *out;
    open_fixture(&f);
    add(&f, "main", "a", 1);
    sqlite3 *other = NULL;
    CHECK(sqlite3_open(f.path, &other) == SQLITE_OK, "cannot open it twice");
    run(other, "UPDATE entries SET samples = x'0102030405'");
    CHECK_FAILS(eg_history_get(f.history, "main", &out, &error), error, EG_ERR_FORMAT,
                "is damaged");
    int rows = 0;
    CHECK_FAILS(eg_history_list(f.history, NULL, count_one, &rows, &error), error, EG_ERR_FORMAT,
                f.path);
    static const char *const never[] = {"9223372036854775807", "-9223372036854775808", "-1",
                                        "1e300", "253402300800"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        char sql[128];
        run(other, "UPDATE entries SET samples = x'0000000000000000', time = 1");
        CHECK_OK(eg_history_get(f.history, "main", &out, &error), error);
        eg_history_release(f.history, out);
        snprintf(sql, sizeof sql, "UPDATE entries SET time = %s", never[i]);
        run(other, sql);
        CHECK_FAILS(eg_history_get(f.history, "main", &out, &error), error, EG_ERR_FORMAT,
                    "is damaged");
    }
    const eg_history_entry late = {.model = "b", .time = INT64_MAX};
    CHECK_FAILS(eg_history_add(f.history, &late, 0, NULL, &error), error, EG_ERR_ARGUMENT,
                "which is no date");
    /* types and values: each is named, and nothing is made of it */
    static const struct {
        const char *set, *part;
    } wrong[] = {{"samples = 12345678", "its samples are no numbers"},
                 {"samples = 'sixteen letters!'", "its samples are no numbers"},
                 {"samples = x'000000000000f87f'", "a sample is no time"}, /* NaN */
                 {"samples = x'000000000000f0bf'", "a sample is no time"}, /* -1 */
                 {"json = x'00'", "no text as its json"},
                 {"model = x'61'", "no text as its model"},
                 {"time = 'x'", "its time is no date"},
                 {"options = 'batch=1' || char(27) || '[2J'", "no text as its options"},
                 {"options = 'batch=1' || char(0) || 'x'", "no text as its options"},
                 {"fingerprint = char(10)", "no text as its fingerprint"},
                 {"program_hash = char(127)", "no text as its program_hash"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char sql[128];
        run(other,
            "UPDATE entries SET samples = x'', model = 'a', json = '', time = 1, options = '',"
            " fingerprint = '', program_hash = ''");
        CHECK_OK(eg_history_get(f.history, "main", &out, &error), error);
        eg_history_release(f.history, out);
        snprintf(sql, sizeof sql, "UPDATE entries SET %s", wrong[i].set);
        run(other, sql);
        CHECK_FAILS(eg_history_get(f.history, "main", &out, &error), error, EG_ERR_FORMAT,
                    wrong[i].part);
        CHECK(!out && strstr(error.message, "entry 1 of history '") &&
                  strstr(error.message, f.path),
              "'%s'", error.message);
    }
    const double never_taken = -1;
    const eg_history_entry odd[] = {{.model = "b", .options = "a\nb"},
                                    {.model = "b", .sample_count = 1, .samples = &never_taken}};
    for (size_t i = 0; i < 2; i++)
        CHECK_FAILS(eg_history_add(f.history, &odd[i], 0, NULL, &error), error, EG_ERR_ARGUMENT,
                    "a history entry has");
    run(other, "DROP TABLE entries");
    sqlite3_close(other);
    const eg_history_entry e = {.name = "x", .model = "b"};
    CHECK_FAILS(eg_history_get(f.history, "main", &out, &error), error, EG_ERR_FORMAT, f.path);
    CHECK_FAILS(eg_history_get_id(f.history, 1, &out, &error), error, EG_ERR_FORMAT, f.path);
    CHECK_FAILS(eg_history_add(f.history, &e, 1, NULL, &error), error, EG_ERR_FORMAT, f.path);
    CHECK_FAILS(eg_history_add(f.history, &e, 0, NULL, &error), error, EG_ERR_FORMAT, f.path);
    CHECK_FAILS(eg_history_delete(f.history, "x", &error), error, EG_ERR_FORMAT, f.path);
    CHECK_FAILS(eg_history_list(f.history, NULL, count_one, &rows, &error), error, EG_ERR_FORMAT,
                f.path);
    close_fixture(&f);
}

/* Any page overwritten: an error that names the file, or an answer; never a crash. */
TEST(history, damaged) {
    fixture f;
    eg_error error;
    open_fixture(&f);
    double samples[64] = {0};
    const eg_history_entry e = {.model = "a", .sample_count = 64, .samples = samples, .json = "{}"};
    for (int i = 0; i < 40; i++) CHECK_OK(eg_history_add(f.history, &e, 0, NULL, &error), error);
    eg_history_close(f.history);
    enum { ROOM = 1 << 17 };
    static char whole[ROOM];
    FILE *file = fopen(f.path, "rb");
    const size_t size = file ? fread(whole, 1, ROOM, file) : 0;
    if (file) fclose(file);
    CHECK(size > 16384 && size < ROOM, "a file of %zu bytes", size);
    char noise[300];
    memset(noise, 0xa5, sizeof noise);
    int refused = 0;
    for (size_t at = 16; at + sizeof noise < size; at += 1024) {
        write_bytes(f.path, -1, whole, size);
        write_bytes(f.path, (long)at, noise, sizeof noise);
        int rows = 0;
        eg_status status = eg_history_open(f.context, f.path, &f.history, &error);
        if (!status) status = eg_history_list(f.history, NULL, count_one, &rows, &error);
        if (!status) status = eg_history_add(f.history, &e, 0, NULL, &error);
        if (status) {
            refused++;
            CHECK(strstr(error.message, f.path) != NULL, "byte %zu: '%s' names no file", at,
                  error.message);
        }
        eg_history_close(f.history);
    }
    CHECK(refused > 5, "only %d refused", refused);
    truncate(f.path, 5000);
    f.history = NULL;
    CHECK_FAILS(eg_history_open(f.context, f.path, &f.history, &error), error, EG_ERR_FORMAT,
                f.path);
    close_fixture(&f);
}

static int full_child(const char *path, off_t most) {
    const struct rlimit limit = {(rlim_t)most, (rlim_t)most};
    eg_context *context = NULL;
    eg_history *history = NULL;
    eg_error error;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    if (eg_context_create(&one, &context, NULL)) return 2;
    if (eg_history_open(context, path, &history, NULL)) return 3;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    static double samples[100000];
    const eg_history_entry e = {
        .name = "main", .model = "big", .sample_count = 100000, .samples = samples};
    if (eg_history_add(history, &e, 1, NULL, &error) != EG_ERR_FILE) return 4;
    if (!strstr(error.message, path)) return 5;
    /* what is there can be read */
    eg_history_entry *out;
    if (eg_history_get(history, "main", &out, NULL) || strcmp(out->model, "small") != 0) return 6;
    eg_history_release(history, out);
    eg_history_close(history);
    eg_context_destroy(context);
    return 0;
}

TEST(history, full_disk) {
    fixture f;
    open_fixture(&f);
    add(&f, "main", "small", 1);
    struct stat before;
    CHECK(stat(f.path, &before) == 0, "no file");
    const pid_t id = fork();
    if (id == 0) _exit(full_child(f.path, before.st_size + 8192));
    int status = 0;
    waitpid(id, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    eg_history_entry *out;
    eg_error error;
    CHECK_OK(eg_history_get(f.history, "main", &out, &error), error);
    CHECK(out && strcmp(out->model, "small") == 0 && count(&f, NULL) == 1, "not as before");
    eg_history_release(f.history, out);
    CHECK(add(&f, NULL, "b", 2) > 0, "nothing can be added any more");
    close_fixture(&f);
}

/* ---- memory */
static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    const double sample = 1;
    const eg_history_entry e = {.name = "a", .model = "b", .sample_count = 1, .samples = &sample};
    eg_history *history;
    eg_history_entry *out = NULL;
    int rows = 0;
    unlink(user);
    eg_status status = eg_history_open(context, user, &history, error);
    if (status) return status;
    status = eg_history_add(history, &e, 1, NULL, error);
    if (!status) status = eg_history_get(history, "a", &out, error);
    eg_history_release(history, out);
    if (!status) status = eg_history_list(history, NULL, count_one, &rows, error);
    eg_history_close(history);
    return status;
}

TEST(history, every_allocation_may_fail) {
    char path[1024];
    snprintf(path, sizeof path, "%s/history.db", test_folder());
    const int failed = test_every_allocation_within(attempt, path);
    CHECK(failed >= 4, "only %d allocations", failed);
}

/* SQLite's own memory is not ours to fail, but it can be given a limit. */
TEST(history, sqlite_out_of_memory) {
    fixture f;
    eg_error error;
    open_fixture(&f);
    double *samples = calloc(1 << 20, sizeof *samples);
    const eg_history_entry e = {
        .name = "big", .model = "a", .sample_count = 1 << 20, .samples = samples};
    add(&f, "main", "a", 1);
    if (sqlite3_hard_heap_limit64(sqlite3_memory_used() + (1 << 19)) < 0) {
        test_skip("this SQLite has no limit");
    } else {
        CHECK_FAILS(eg_history_add(f.history, &e, 0, NULL, &error), error, EG_ERR_MEMORY, f.path);
        sqlite3_hard_heap_limit64(0);
        CHECK(count(&f, NULL) == 1, "something was added");
        CHECK_OK(eg_history_add(f.history, &e, 0, NULL, &error), error);
        sqlite3_hard_heap_limit64(sqlite3_memory_used() + (1 << 19));
        eg_history_entry *out;
        CHECK_FAILS(eg_history_get(f.history, "big", &out, &error), error, EG_ERR_MEMORY, f.path);
        sqlite3_hard_heap_limit64(0);
    }
    free(samples);
    close_fixture(&f);
}
