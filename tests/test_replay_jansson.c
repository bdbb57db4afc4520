/* Recordings: samples written as lines are the same samples when they are read; bad lines are named. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

AREA(replay, "recordings give the same samples again; a bad line is named with its fault")

static eg_context *open_context(void) {
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fputs(text, file) >= 0, "cannot write %s", path);
    if (file) fclose(file);
}

/* A program of this process that has done everything there is to publish. */
static eg_publisher *publish_all(eg_context *context, const char *folder) {
    const eg_publisher_options options = {.size = sizeof options,
                                          .folder = folder,
                                          .program = "te\"st\xff",
                                          .activity = "train",
                                          .model = "cfc:8,in=2",
                                          .step_flops = 1e3,
                                          .step_bytes = 1e3,
                                          .peak_flops = 1e9,
                                          .peak_bandwidth = 1e10};
    static const eg_operation_share shares[] = {{"gemm_f32", 0.75}, {"fused_f32", 0.25}};
    eg_publisher *p;
    eg_error error;
    CHECK_OK(eg_publisher_open(context, &options, &p, &error), error);
    eg_publisher_add(p, 100, 3e-6);
    eg_publisher_tokens(p, 7);
    eg_publisher_operations(p, 2, shares);
    for (uint64_t k = 1; k <= 3; k++) {
        const eg_training_report report = {.size = sizeof report,
                                           .epoch = 1,
                                           .epochs = 9,
                                           .step = k,
                                           .loss = 1 / (double)k,
                                           .validation = k == 2 ? 0.5 : (double)NAN};
        CHECK_OK(eg_publisher_train(p, &report, &error), error);
    }
    return p;
}

static char *copy_line(eg_monitor *monitor) {
    const char *line = NULL;
    size_t length = 0;
    eg_error error;
    CHECK_OK(eg_monitor_line(monitor, &line, &length, &error), error);
    char *copy = test_alloc(length + 1);
    memcpy(copy, line ? line : "", length + 1);
    return copy;
}

TEST(replay, the_same_samples) {
    char folder[256], root[512], path[300];
    snprintf(folder, sizeof folder, "%s", test_folder());
    chmod(folder, 0700);
    snprintf(root, sizeof root, "%s", test_path("fixtures/sensors/m1"));
    snprintf(path, sizeof path, "%s/recording.jsonl", folder);
    eg_context *context = open_context();
    const eg_monitor_options live = {.size = sizeof live, .root = root, .folder = folder},
                             again = {.size = sizeof again, .replay = path};
    eg_monitor *monitor;
    eg_error error;
    eg_monitor_sample sample = {.size = sizeof sample};
    CHECK_OK(eg_monitor_open(context, &live, &monitor, &error), error);
    eg_publisher *p = publish_all(context, folder);
    char *lines[2];
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < 2; i++) {
        eg_publisher_add(p, 100, 3e-6);
        CHECK_OK(eg_monitor_read(monitor, &sample, &error), error);
        CHECK(sample.published_count == 1 && sample.published[0].loss_count == 3 &&
                  sample.published[0].operation_count == 2,
              "%zu programs", sample.published_count);
        lines[i] = copy_line(monitor);
        CHECK(!strchr(lines[i], '\n'), "more than a line");
        if (file) fprintf(file, "%s\n%s", lines[i], i ? "" : "\n"); /* an empty line is none */
    }
    if (file) fclose(file);
    eg_monitor_close(monitor);
    eg_publisher_close(p);
    CHECK_OK(eg_monitor_open(context, &again, &monitor, &error), error);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(eg_monitor_read(monitor, &sample, &error), error);
        char *line = copy_line(monitor);
        /* the time is in seconds there, of which a double keeps a tenth of a microsecond */
        const char *a = strstr(line, "\"elapsed\""), *b = strstr(lines[i], "\"elapsed\"");
        const char *s = strstr(line, "\"verdict\""), *t = strstr(lines[i], "\"verdict\"");
        CHECK(a && b && s && t && strncmp(a, b, 2000) == 0 && strcmp(s, t) == 0,
              "sample %d is another one:\n%.300s\n%.300s", i, line, lines[i]);
        CHECK(sample.published_count == 1 && sample.published[0].losses[1].validation == 0.5 &&
                  isnan(sample.published[0].losses[2].validation) &&
                  strcmp(sample.published[0].operations[1].name, "fused_f32") == 0 &&
                  strcmp(sample.published[0].program, "te\"st\\xff") == 0,
              "'%s'", sample.published[0].program);
        free(line);
        free(lines[i]);
    }
    for (int i = 0; i < 2; i++)
        CHECK_FAILS(eg_monitor_read(monitor, &sample, &error), error, EG_ERR_STOPPED, "has ended");
    /* the last sample stays, and the program that it had, also after its recording */
    const char *text = NULL;
    CHECK_OK(eg_monitor_metrics(monitor, EG_METRICS_OPEN, &text, NULL, &error), error);
    CHECK(text && strstr(text, "program=\"te\\\"st\\\\xff\""), "'%s'", text);
    CHECK_OK(eg_monitor_history(monitor, &text, NULL, &error), error);
    CHECK(text && strstr(text, "\"runs\":[{\"pid\":") && strstr(text, "fused_f32"), "'%.300s'",
          text);
    eg_monitor_close(monitor);
    eg_context_destroy(context);
}

#define READING(metric) "{\"time\":1,\"elapsed\":1,\"readings\":[" metric "],\"programs\":[]}"
#define PROGRAM(text)   "{\"time\":1,\"elapsed\":1,\"readings\":[],\"programs\":[" text "]}"
static const char good[] = "{\"time\":1.5,\"elapsed\":1,\"readings\":[],\"programs\":[]}";

static const struct {
    const char *line, *part;
} bad[] = {
    {"nonsense", "line 2 of "},
    {"[]", "'time' is missing"},
    {"{}", "'time' is missing"},
    {"{\"time\":\"now\",\"elapsed\":1}", "'time' is missing, or no time"},
    {"{\"time\":1e300,\"elapsed\":1}", "'time' is missing, or no time"},
    {"{\"time\":1,\"elapsed\":-1}", "'elapsed' is missing, or no time"},
    {"{\"time\":1,\"elapsed\":1}", "'readings' is missing, or no list"},
    {"{\"time\":1,\"elapsed\":1,\"readings\":{},\"programs\":[]}",
     "'readings' is missing, or no list"},
    {"{\"time\":1,\"elapsed\":1,\"readings\":[]}", "'programs' is missing, or no list"},
    {READING("5"), "unknown sensor ''"},
    {READING("{\"sensor\":\"cpu_lod\"}"), "unknown sensor 'cpu_lod'; did you mean 'cpu_load'?"},
    {READING("{\"sensor\":\"cpu_load\"}"), "provenance '' of 'cpu_load' is none"},
    {READING("{\"sensor\":\"cpu_load\",\"metric\":{\"provenance\":\"guessed\"}}"),
     "provenance 'guessed' of 'cpu_load' is none"},
    {READING("{\"sensor\":\"cpu_load\",\"metric\":{\"provenance\":\"counted\",\"unit\":\"W\"}}"),
     "'cpu_load' is in '%', not in 'W'"},
    {READING("{\"sensor\":\"cpu_load\",\"metric\":{\"provenance\":\"counted\",\"unit\":\"%\"}}"),
     "the value of 'cpu_load' is not a number"},
    {PROGRAM("5"), "a program has no pid"},
    {PROGRAM("{\"pid\":0,\"started\":1}"), "a program has no pid"},
    {PROGRAM("{\"pid\":7}"), "a program has no time"},
    {PROGRAM("{\"pid\":7,\"started\":1,\"figures\":[{\"figure\":\"p98\"}]}"),
     "unknown figure 'p98'"},
    {PROGRAM("{\"pid\":7,\"started\":1,\"figures\":[{\"figure\":\"p99\"}]}"), "provenance ''"},
    {PROGRAM("{\"pid\":7,\"started\":1,\"losses\":[[1]]}"), "loss 1 is no step and number"},
    {PROGRAM("{\"pid\":7,\"started\":1,\"losses\":[[-1,1]]}"), "loss 1 is no step and number"},
    {PROGRAM("{\"pid\":7,\"started\":1,\"operations\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"),
     "17 operations, at most 16"},
};

TEST(replay, bad_lines) {
    char path[300], text[1000];
    eg_context *context = open_context();
    snprintf(path, sizeof path, "%s/bad.jsonl", test_folder());
    const eg_monitor_options options = {.size = sizeof options, .replay = path};
    eg_monitor *monitor;
    eg_error error;
    eg_monitor_sample sample = {.size = sizeof sample};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "%s\n%s\n%s\n", good, bad[i].line, good);
        write_text(path, text);
        CHECK_OK(eg_monitor_open(context, &options, &monitor, &error), error);
        CHECK_OK(eg_monitor_read(monitor, &sample, &error), error);
        CHECK(sample.time_ns == 1500000000, "time %lld", (long long)sample.time_ns);
        CHECK_FAILS(eg_monitor_read(monitor, &sample, &error), error, EG_ERR_FORMAT, "line 2 of ");
        CHECK(strstr(error.message, bad[i].part), "'%s' of '%s'", error.message, bad[i].line);
        CHECK_OK(eg_monitor_read(monitor, &sample, &error), error); /* the next one is fine */
        eg_monitor_close(monitor);
    }
    char losses[4000] = "";
    for (int i = 0; i < EG_LOSS_POINTS + 1; i++) strcat(losses, i ? ",[1,1]" : "[1,1]");
    char *line = test_alloc(5000);
    snprintf(line, 5000,
             "{\"time\":1,\"elapsed\":1,\"readings\":[],\"programs\":[{\"pid\":7,"
             "\"started\":1,\"losses\":[%s]}]}",
             losses);
    write_text(path, line);
    free(line);
    CHECK_OK(eg_monitor_open(context, &options, &monitor, &error), error);
    CHECK_FAILS(eg_monitor_read(monitor, &sample, &error), error, EG_ERR_FORMAT, "257 losses");
    eg_monitor_close(monitor);
    unlink(path);
    CHECK_FAILS(eg_monitor_open(context, &options, &monitor, &error), error, EG_ERR_FILE, path);
    eg_context_destroy(context);
}

/* ---- the thread ends with the recording */
typedef struct seen {
    atomic_uint samples;
    atomic_bool ended;
} seen;
static void take(void *user, const eg_monitor_sample *sample, const eg_error *error) {
    seen *s = user;
    if (sample) atomic_fetch_add(&s->samples, 1);
    if (error && error->status == EG_ERR_STOPPED) atomic_store(&s->ended, true);
}

TEST(replay, in_a_thread) {
    char path[300], text[400];
    eg_context *context = open_context();
    snprintf(path, sizeof path, "%s/good.jsonl", test_folder());
    snprintf(text, sizeof text, "%s\n%s\n", good, good);
    write_text(path, text);
    const eg_monitor_options options = {.size = sizeof options, .replay = path};
    eg_monitor *monitor;
    eg_error error;
    seen s = {0};
    CHECK_OK(eg_monitor_open(context, &options, &monitor, &error), error);
    CHECK_OK(eg_monitor_start(monitor, 0.01, take, &s, &error), error);
    while (!atomic_load(&s.ended)) usleep(1000);
    eg_monitor_close(monitor);
    CHECK(atomic_load(&s.samples) == 2, "%u samples", atomic_load(&s.samples));
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    const eg_monitor_options options = {.size = sizeof options, .replay = user};
    eg_monitor *monitor;
    eg_monitor_sample sample = {.size = sizeof sample};
    eg_status status = eg_monitor_open(context, &options, &monitor, error);
    while (!status) status = eg_monitor_read(monitor, &sample, error);
    eg_monitor_close(monitor);
    return status == EG_ERR_STOPPED ? EG_OK : status;
}

TEST(replay, allocations) {
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("fixtures/recordings/training.jsonl"));
    CHECK(test_every_allocation_within(attempt, path) > 5, "allocations");
}
