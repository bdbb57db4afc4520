/* Publishers: every step counted, records never torn, files that are this user's alone and go with their program. */
#include "test.h"
#include "elegans/elegans.h"
#include "publish/publisher.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(publish, "steps counted in shared pages, records never torn, files that go with their program")

static eg_context *open_context(void) {
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

/* A fresh one, which is this user's alone as that of the pages must be. */
static void copy_folder(char out[256]) {
    snprintf(out, 256, "%s", test_folder());
    chmod(out, 0700);
}

static double word(const eg__word *at) { return eg__double_of(eg__word_get(at)); }

static eg_publisher *open_in(eg_context *context, const char *folder) {
    const eg_publisher_options options = {.size = sizeof options,
                                          .folder = folder,
                                          .program = "test",
                                          .activity = "stream",
                                          .model = "cfc:8,in=2",
                                          .step_flops = 1000,
                                          .peak_flops = 1e9};
    eg_publisher *p;
    eg_error error;
    CHECK_OK(eg_publisher_open(context, &options, &p, &error), error);
    return p;
}

/* A step is held against the first memory that holds what it moves. */
TEST(publish, bandwidth_of_the_memory_that_holds_a_step) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_publisher_options options = {.size = sizeof options,
                                    .folder = folder,
                                    .step_bytes = 100,
                                    .peak_bandwidth = 7,
                                    .levels = {{1e3, 0}, {1e4, 40}, {1e5, 30}}};
    static const struct {
        double bytes, bandwidth;
    } all[] = {{100, 40}, {1e4, 40}, {10001, 30}, {1e6, 7}, {0, 40}};
    eg_publisher *p;
    eg_error error;
    CHECK_OK(eg_publisher_open(context, &options, &p, &error), error);
    if (!p) return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (i) eg_publisher_cost(p, 1, all[i].bytes);
        const double found = word(&p->page->peak_bandwidth);
        CHECK(found == all[i].bandwidth, "%g bytes: %g", all[i].bytes, found);
    }
    eg_publisher_close(p);
    eg_publisher_options old = {.size = offsetof(eg_publisher_options, levels)};
    CHECK(eg_publisher_ceilings(context, 1, &old, &error) == EG_ERR_ARGUMENT, "no levels");
    CHECK(eg_publisher_ceilings(NULL, 1, &options, &error) == EG_ERR_ARGUMENT, "no context");
    eg_context_destroy(context);
}

static unsigned files_in(const char *folder) {
    unsigned count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (list) closedir(list);
    return count;
}

TEST(publish, a_page) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_publisher *p = open_in(context, folder), *other = open_in(context, folder);
    if (!p || !other) return;
    struct stat info;
    CHECK(stat(p->path, &info) == 0 && (info.st_mode & 0777) == 0600 &&
              info.st_size == EG__PAGE_SIZE,
          "mode %o, %lld bytes", (unsigned)info.st_mode, (long long)info.st_size);
    CHECK(strcmp(p->path, other->path) != 0 && files_in(folder) == 2, "%s and %s", p->path,
          other->path);
    const eg__page *page = p->page;
    CHECK(page->pid == (uint64_t)getpid() && page->version == EG__PAGE_VERSION &&
              strcmp(page->activity, "stream") == 0 && word(&page->peak_flops) == 1e9 &&
              isnan(word(&page->peak_bandwidth)),
          "pid %llu, activity '%s'", (unsigned long long)page->pid, page->activity);
    CHECK(isnan(word(&page->step_bytes)) && word(&page->step_flops) == 1000, "costs");
    eg_publisher_cost(p, 0, 64);
    CHECK(isnan(word(&page->step_flops)) && word(&page->step_bytes) == 64, "costs that changed");
    eg_publisher_tokens(p, 3);
    eg_publisher_tokens(p, 4);
    CHECK(eg__word_get(&page->tokens) == 7, "%llu tokens",
          (unsigned long long)eg__word_get(&page->tokens));
    eg_publisher_close(p);
    eg_publisher_close(other);
    CHECK(files_in(folder) == 0, "%u files are left", files_in(folder));
    eg_context_destroy(context);
}

TEST(publish, every_step_is_counted) {
    enum { STEPS = 200000 };
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_publisher *p = open_in(context, folder);
    if (!p) return;
    for (int i = 0; i < STEPS; i++) {
        eg_publisher_begin(p);
        eg_publisher_end(p);
    }
    uint64_t timed = 0;
    for (unsigned i = 0; i < EG__LATENCY_BUCKETS; i++) timed += eg__word_get(&p->page->latency[i]);
    CHECK(eg__word_get(&p->page->steps) == STEPS, "%llu steps",
          (unsigned long long)eg__word_get(&p->page->steps));
    /* steps of nanoseconds: few of them are timed, and the page says so */
    CHECK(timed > 0 && timed < STEPS / 2 && eg__word_get(&p->page->timed_every) > 1,
          "%llu of %d timed, one in %llu", (unsigned long long)timed, STEPS,
          (unsigned long long)eg__word_get(&p->page->timed_every));
    eg_publisher_begin(p); /* a step that failed has no end */
    eg_publisher_begin(p);
    eg_publisher_end(p);
    eg_publisher_add(p, 10, 0.5);
    eg_publisher_add(p, 5, (double)NAN);
    eg_publisher_add(p, 0, 1);
    CHECK(eg__word_get(&p->page->steps) == STEPS + 16 &&
              eg__word_get(&p->page->latency[eg__latency_bucket(500000000)]) == 10,
          "steps that were added");
    eg_publisher_close(p);
    eg_context_destroy(context);
}

TEST(publish, latencies) {
    uint64_t counts[EG__LATENCY_BUCKETS] = {0};
    for (unsigned i = 0; i < EG__LATENCY_BUCKETS; i++) {
        const uint64_t from = eg__latency_from(i), to = eg__latency_from(i + 1);
        CHECK(from < to && eg__latency_bucket(from) == i && eg__latency_bucket(to - 1) == i,
              "bucket %u from %llu", i, (unsigned long long)from);
        CHECK(i < 16 || (double)(to - from) <= (double)from / 16, "bucket %u is too wide", i);
    }
    CHECK(eg__latency_bucket(UINT64_MAX) == EG__LATENCY_BUCKETS - 1, "beyond all buckets");
    CHECK(isnan(eg__latency_quantile(counts, 0.5)), "nothing was counted");
    counts[eg__latency_bucket(1000)] = 90;
    counts[eg__latency_bucket(5000)] = 9;
    counts[eg__latency_bucket(1000000)] = 1;
    static const struct {
        double q, ns;
    } wanted[] = {{0, 1000}, {0.5, 1000}, {0.9, 1000}, {0.95, 5000}, {0.99, 5000}, {1, 1000000}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const double got = 1e9 * eg__latency_quantile(counts, wanted[i].q);
        CHECK(fabs(got / wanted[i].ns - 1) < 0.07, "q %g: %g ns, expected %g", wanted[i].q, got,
              wanted[i].ns);
    }
}

TEST(publish, names) {
    static const struct {
        const char *name;
        bool known, complete;
        uint64_t pid;
    } all[] = {{"12-0.page", true, true, 12},
               {".7-3.new", true, false, 7},
               {"2147483647-4095.page", true, true, 2147483647},
               {"0-0.page", false, true, 0},
               {"-5-0.page", false, true, 0},
               {"2147483648-0.page", false, true, 0},
               {"00000000000012-0.page", false, true, 0},
               {"12-.page", false, true, 0},
               {"12-1234567890.page", false, true, 0},
               {"12-0.pages", false, true, 0},
               {".12-0.page", false, false, 0},
               {"12-0.new", false, true, 0},
               {"notes.txt", false, true, 0},
               {"", false, true, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint64_t pid = 0;
        bool complete;
        const bool known = eg__page_name_parse(all[i].name, &pid, &complete);
        CHECK(known == all[i].known && complete == all[i].complete && (!known || pid == all[i].pid),
              "'%s': %d, pid %llu", all[i].name, known, (unsigned long long)pid);
    }
}

/* ---- folders */
TEST(publish, folders_of_others_are_refused) {
    char base[256], path[300];
    copy_folder(base);
    eg_context *context = open_context();
    eg_publisher *p;
    eg_error error;
    eg_publisher_options options = {.size = sizeof options, .folder = path};
    snprintf(path, sizeof path, "%s/open", base);
    mkdir(path, 0700);
    chmod(path, 0755);
    CHECK_FAILS(eg_publisher_open(context, &options, &p, &error), error, EG_ERR_FILE,
                "is open to others (mode 755)");
    CHECK(!p, "a publisher after a failure");
    chmod(path, 0700);
    char link[300];
    snprintf(link, sizeof link, "%s/link", base);
    CHECK(symlink(path, link) == 0, "no link");
    snprintf(path, sizeof path, "%s", link);
    CHECK_FAILS(eg_publisher_open(context, &options, &p, &error), error, EG_ERR_FILE,
                "not a folder");
    snprintf(path, sizeof path, "%s/none/deeper", base);
    CHECK_FAILS(eg_publisher_open(context, &options, &p, &error), error, EG_ERR_FILE,
                "cannot create the folder");
    if (test_gives_away()) {
        snprintf(path, sizeof path, "%s/theirs", base);
        CHECK(mkdir(path, 0700) == 0 && chown(path, 12345, 12345) == 0, "chown");
        CHECK_FAILS(eg_publisher_open(context, &options, &p, &error), error, EG_ERR_FILE,
                    "belongs to another user");
    }
    char long_path[1100];
    memset(long_path, 'x', sizeof long_path);
    long_path[sizeof long_path - 1] = 0;
    options.folder = long_path;
    CHECK_FAILS(eg_publisher_open(context, &options, &p, &error), error, EG_ERR_ARGUMENT,
                "has 1099 bytes");
    CHECK_FAILS(eg_publisher_open(context, &options, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_publisher_open(NULL, &options, &p, &error), error, EG_ERR_ARGUMENT,
                "no context");
    eg_context_destroy(context);
}

/* The folder of the user, from the environment; in a child, so that no other test sees its environment. */
static int try_environment(const char *runtime, const char *temporary, const char *wanted) {
    char path[EG__PUBLISH_PATH];
    int folder;
    if (runtime) setenv("XDG_RUNTIME_DIR", runtime, 1);
    else unsetenv("XDG_RUNTIME_DIR");
    setenv("TMPDIR", temporary, 1);
    if (eg__publish_folder(NULL, true, path, &folder, NULL)) return 1;
    struct stat info;
    const bool fine = fstat(folder, &info) == 0 && (info.st_mode & 0777) == 0700;
    return fine && strcmp(path, wanted) == 0 ? 0 : 2;
}

TEST(publish, folder_of_the_user) {
    char base[256], in_runtime[300], in_temporary[300];
    copy_folder(base);
    snprintf(in_runtime, sizeof in_runtime, "%s/elegans", base);
    snprintf(in_temporary, sizeof in_temporary, "%s/elegans-%lu", base, (unsigned long)geteuid());
    const struct {
        const char *runtime, *wanted;
    } all[] = {{base, in_runtime},
               {NULL, in_temporary},
               {"", in_temporary},
               {"relative", in_temporary},
               {"/nonexistent/elegans", in_temporary}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const pid_t child = fork();
        if (!child) _exit(try_environment(all[i].runtime, base, all[i].wanted));
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "XDG_RUNTIME_DIR '%s': %d",
              all[i].runtime ? all[i].runtime : "(none)", status);
    }
}

TEST(publish, nothing_without_a_publisher) {
    eg_error error;
    eg_publisher_begin(NULL);
    eg_publisher_end(NULL);
    eg_publisher_add(NULL, 1, 1);
    eg_publisher_cost(NULL, 1, 1);
    eg_publisher_tokens(NULL, 1);
    eg_publisher_operations(NULL, 1, NULL);
    CHECK_OK(eg_publisher_train(NULL, NULL, &error), error);
    eg_publisher_close(NULL);
    eg_context *context = open_context();
    eg_publisher *p;
    setenv("ELEGANS_PUBLISH", "0", 1);
    CHECK_OK(eg_publisher_open(context, NULL, &p, &error), error);
    CHECK(!p, "it publishes though it was told not to");
    unsetenv("ELEGANS_PUBLISH");
    eg_context_destroy(context);
}

/* ---- trainings */
static eg__page_training training_of(const eg_publisher *p) {
    eg__page_training t;
    CHECK(eg__block_get(&p->page->training_sequence, p->page->training, EG__TRAINING_WORDS, &t),
          "a block that nobody writes");
    return t;
}

TEST(publish, curves_thin_themselves_out) {
    static const uint64_t counts[] = {1, 2, 255, 256, 257, 511, 512, 513, 10000};
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_error error;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        eg_publisher *p = open_in(context, folder);
        if (!p) return;
        for (uint64_t k = 1; k <= counts[i]; k++) {
            const eg_training_report report = {.size = sizeof report,
                                               .epoch = 1,
                                               .epochs = 2,
                                               .step = k,
                                               .loss = (double)k,
                                               .validation = k % 2 ? (double)NAN : 7,
                                               .seconds_left = (double)NAN};
            CHECK_OK(eg_publisher_train(p, &report, &error), error);
        }
        const eg__page_training t = training_of(p);
        double sum = 0;
        uint64_t weight = 0, last = 0;
        for (uint64_t k = 0; k < t.points; k++) {
            const eg__loss_point *point = &t.curve[k];
            CHECK(point->step > last && point->weight <= t.stride, "point %llu of %llu",
                  (unsigned long long)k, (unsigned long long)counts[i]);
            CHECK(isnan(point->validation) || point->validation == 7, "validation %g",
                  point->validation);
            last = point->step;
            weight += point->weight;
            sum += point->loss * (double)point->weight;
        }
        const double all = (double)counts[i] * ((double)counts[i] + 1) / 2;
        CHECK(t.reports == counts[i] && t.step == counts[i] && t.points <= EG_LOSS_POINTS &&
                  (counts[i] < EG_LOSS_POINTS || t.points >= EG_LOSS_POINTS / 2) &&
                  weight == counts[i] && last == counts[i] && fabs(sum / all - 1) < 1e-12,
              "%llu reports: %llu points of %llu, sum %g of %g", (unsigned long long)counts[i],
              (unsigned long long)t.points, (unsigned long long)weight, sum, all);
        const eg_training_report lost = {.size = sizeof lost, .step = 1, .loss = (double)NAN};
        CHECK_OK(eg_publisher_train(p, &lost, &error), error);
        CHECK(training_of(p).points == t.points && isnan(training_of(p).loss),
              "a loss that is not finite");
        eg_publisher_close(p);
    }
    eg_publisher *p = open_in(context, folder);
    CHECK_FAILS(eg_publisher_train(p, NULL, &error), error, EG_ERR_ARGUMENT, "no report");
    eg_publisher_close(p);
    eg_context_destroy(context);
}

/* ---- torn records: a writer that never rests, and a reader that looks for one that does not fit together */
typedef struct hammer {
    eg_publisher *publisher;
    atomic_bool stop;
    uint64_t written;
} hammer;

static void *write_records(void *user) {
    hammer *h = user;
    for (uint64_t k = 1; !atomic_load(&h->stop); k++) {
        const double value = (double)k;
        const eg_training_report report = {.size = sizeof report,
                                           .epoch = k,
                                           .epochs = k,
                                           .step = k,
                                           .loss = value,
                                           .validation = value,
                                           .learning_rate = value,
                                           .gradient_norm = value,
                                           .seconds_left = value};
        eg_operation_share shares[EG_OPERATION_SHARES];
        for (int i = 0; i < EG_OPERATION_SHARES; i++) {
            memset(shares[i].name, 'a' + (int)(k % 26), sizeof shares[i].name);
            shares[i].share = value;
        }
        eg_publisher_train(h->publisher, &report, NULL);
        eg_publisher_operations(h->publisher, EG_OPERATION_SHARES, shares);
        eg_publisher_begin(h->publisher);
        eg_publisher_end(h->publisher);
        h->written = k;
    }
    return NULL;
}

static bool is_whole(const eg__page_training *t) {
    const double k = (double)t->step;
    bool fine = t->epoch == t->step && t->epochs == t->step && t->reports == t->step &&
                t->loss == k && t->validation == k && t->learning_rate == k &&
                t->gradient_norm == k && t->seconds_left == k && t->points <= EG_LOSS_POINTS;
    uint64_t weight = 0;
    for (uint64_t i = 0; fine && i < t->points; i++) weight += t->curve[i].weight;
    return fine && weight == t->step;
}

TEST(publish, no_record_is_torn) {
    const unsigned reads = test_quick() ? 300 : 5000;
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    hammer h = {.publisher = open_in(context, folder)};
    if (!h.publisher) return;
    pthread_t writer;
    CHECK(pthread_create(&writer, NULL, write_records, &h) == 0, "no thread");
    const eg__page *page = h.publisher->page;
    while (!eg__word_get(&page->steps)) sched_yield(); /* until it has begun */
    unsigned whole = 0, late = 0;
    uint64_t steps = 0;
    for (unsigned i = 0; i < reads; i++) {
        eg__page_training t;
        eg__page_operations o;
        if (eg__block_get(&page->training_sequence, page->training, EG__TRAINING_WORDS, &t)) {
            CHECK(!t.reports || is_whole(&t), "a torn record at step %llu",
                  (unsigned long long)t.step);
            whole++;
        } else late++;
        if (eg__block_get(&page->operations_sequence, page->operations, EG__OPERATIONS_WORDS, &o))
            for (uint64_t k = 1; k < o.count; k++)
                CHECK(o.shares[k].share == o.shares[0].share &&
                          o.shares[k].name[5] == o.shares[0].name[0],
                      "torn shares");
        const uint64_t now = eg__word_get(&page->steps);
        CHECK(now >= steps, "steps went back");
        steps = now;
    }
    atomic_store(&h.stop, true);
    pthread_join(writer, NULL);
    CHECK(whole > reads / 2 && h.written, "%u whole, %u given up of %u", whole, late, reads);
    test_claim("%u records read beside a writer, none torn", whole);
    eg_publisher_close(h.publisher);
    eg_context_destroy(context);
}

TEST(publish, a_writer_that_stands_still_blocks_nobody) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_publisher *p = open_in(context, folder);
    if (!p) return;
    eg__page_training t;
    eg__block_begin(&p->page->training_sequence);
    CHECK(!eg__block_get(&p->page->training_sequence, p->page->training, EG__TRAINING_WORDS, &t),
          "half a record was read");
    eg__block_end(&p->page->training_sequence);
    CHECK(training_of(p).reports == 0, "a record that nobody wrote");
    eg_publisher_close(p);
    eg_context_destroy(context);
}

/* ---- forks */
TEST(publish, a_child_does_not_publish_for_its_parent) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_publisher *p = open_in(context, folder);
    if (!p) return;
    eg_publisher_begin(p);
    eg_publisher_end(p);
    const pid_t child = fork();
    if (!child) {
        const eg_training_report report = {.size = sizeof report, .step = 9, .loss = 1};
        eg_publisher_begin(p);
        eg_publisher_end(p);
        eg_publisher_add(p, 5, 1);
        eg_publisher_tokens(p, 5);
        eg_publisher_cost(p, 5, 5);
        eg_publisher_train(p, &report, NULL);
        eg_publisher *own = open_in(context, folder); /* which is its own */
        eg_publisher_add(own, 3, 1);
        const bool fine =
            own && eg__word_get(&own->page->steps) == 3 && own->page->pid == (uint64_t)getpid();
        eg_publisher_close(own);
        eg_publisher_close(p);
        _exit(fine ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    CHECK(eg__word_get(&p->page->steps) == 1 && eg__word_get(&p->page->tokens) == 0 &&
              training_of(p).reports == 0 &&
              eg__double_of(eg__word_get(&p->page->step_flops)) == 1000,
          "the child wrote into the page of its parent");
    CHECK(access(p->path, F_OK) == 0, "the child removed the file of its parent");
    eg_publisher_close(p);
    CHECK(files_in(folder) == 0, "%u files are left", files_in(folder));
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    const eg_publisher_options options = {.size = sizeof options, .folder = user};
    eg_publisher *p;
    const eg_status status = eg_publisher_open(context, &options, &p, error);
    CHECK((p == NULL) == (status != EG_OK), "status %d and %p", (int)status, (void *)p);
    eg_publisher_close(p);
    return status;
}

TEST(publish, allocations) {
    char folder[256];
    copy_folder(folder);
    const int count = test_every_allocation_within(attempt, folder);
    CHECK(count >= 2 && files_in(folder) == 0, "%d allocations, %u files are left", count,
          files_in(folder));
}

/* Steps that come rarely are all timed, however short they are; those without a pause are not. */
TEST(publish, rare_steps_are_timed) {
    char folder[256];
    copy_folder(folder);
    eg_context *context = open_context();
    eg_publisher *p = open_in(context, folder);
    if (!p) return;
    enum { STEPS = 20 };
    uint64_t timed = 0;
    for (int i = 0; i < STEPS; i++) {
        eg_publisher_begin(p);
        eg_publisher_end(p);
        usleep(1000);
    }
    for (unsigned i = 0; i < EG__LATENCY_BUCKETS; i++) timed += eg__word_get(&p->page->latency[i]);
    CHECK(timed == STEPS && eg__word_get(&p->page->timed_every) == 1, "%llu of %d timed",
          (unsigned long long)timed, STEPS);
    eg_publisher_close(p);
    eg_context_destroy(context);
}
