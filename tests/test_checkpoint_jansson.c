/* Checkpoints: killed, stopped or out of disk, a training goes on to the same bits. */
#include "test.h"
#include "fit_data.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

AREA(checkpoint, "stopped anywhere, killed at random, a full disk: on to the same bits")

/* Dropout, accumulation, a running mean, a cosine: all that has a state. */
static const char spec[] = "cfc:12,in=2,proj=1,backbone=8x2,dropout=0.2,seed=2";
static eg_fit_options options_for(const char *path) {
    return (eg_fit_options){.epochs = 4,
                            .batch = 8,
                            .accumulate = 2,
                            .average = 0.9,
                            .seed = 3,
                            .optimizer = {.learning_rate = 0.01},
                            .schedule = {.kind = EG_SCHEDULE_COSINE, .warmup = 0.5},
                            .checkpoint = path,
                            .resume = 1};
}

/* A file in a fresh folder: nothing of a test stays in the source tree. */
enum { PATH_ROOM = 400 };
static const char *fresh(char out[PATH_ROOM], const char *name) {
    snprintf(out, PATH_ROOM, "%s/%s", test_folder(), name);
    return out;
}

typedef struct outcome {
    uint64_t bits, steps;
    double losses[8];
    int stopped;
} outcome;

static void train(const eg_fit_options *how, outcome *out) {
    fit_data d;
    eg_error error;
    eg_fit_result r = {0};
    memset(out, 0, sizeof *out);
    CHECK_OK(fit_data_open(&d, NULL, spec, false, &error), error);
    CHECK_OK(eg_fit(d.model, d.training, d.validation, how, &r, &error), error);
    out->bits = fit_model_bits(d.model);
    out->steps = r.steps;
    out->stopped = r.stopped;
    for (uint64_t i = 0; i < r.history_count && i < 4; i++) {
        out->losses[2 * i] = r.history[i].loss;
        out->losses[2 * i + 1] = r.history[i].validation;
    }
    eg_fit_release(d.model, &r);
    fit_data_close(&d);
}

static void undisturbed(outcome *out) {
    const eg_fit_options how = options_for(NULL);
    train(&how, out);
}

static int stop_after(void *user, const eg_fit_progress *p) {
    return p->event == EG_FIT_STEP && p->steps == *(const uint64_t *)user;
}

TEST(checkpoint, stopped_after_every_step) {
    outcome whole, parts;
    undisturbed(&whole);
    char room[PATH_ROOM];
    const char *path = fresh(room, "stop.checkpoint");
    eg_fit_options how = options_for(path);
    unlink(path);
    how.progress = stop_after;
    for (uint64_t step = 1; step <= whole.steps + 1; step++) {
        how.user = &step;
        train(&how, &parts);
        CHECK(parts.stopped == (step <= whole.steps), "step %llu: stopped %d",
              (unsigned long long)step, parts.stopped);
    }
    CHECK(memcmp(&whole, &parts, sizeof whole) == 0, "other losses or bits after %llu stops",
          (unsigned long long)whole.steps);
    /* it is done: there is nothing to go on with, and more epochs are no other training */
    train(&how, &parts);
    CHECK(parts.bits == whole.bits, "a finished training changed");
    test_claim("stopped after each of %llu steps, killed at random, a full disk: the same bits",
               (unsigned long long)whole.steps);
}

/* A child trains, saving after each step, and is killed; the next one goes on. */
TEST(checkpoint, killed) {
    outcome whole, end;
    undisturbed(&whole);
    char room[PATH_ROOM];
    const char *path = fresh(room, "kill.checkpoint");
    eg_fit_options how = options_for(path);
    how.checkpoint_steps = 1;
    unlink(path);
    uint64_t seed = (uint64_t)time(NULL) ^ (uint64_t)getpid(), first = seed;
    int kills = 0;
    for (int round = 0; round < 12; round++) {
        const pid_t child = fork();
        if (child == 0) {
            fit_data d;
            eg_context_options one = {.size = sizeof one, .threads = 1};
            if (fit_data_open(&d, &one, spec, false, NULL)) _exit(2);
            _exit(eg_fit(d.model, d.training, d.validation, &how, NULL, NULL) != EG_OK);
        }
        const double wait = 0.002 + 0.02 * fabs((double)test_random(&seed));
        const struct timespec pause = {0, (long)(wait * 1e9)};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        kills += WIFSIGNALED(status);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "round %d (seed %llu): exit %d",
              round, (unsigned long long)first, WEXITSTATUS(status));
    }
    train(&how, &end);
    CHECK(memcmp(&whole, &end, sizeof whole) == 0, "other bits after %d kills (seed %llu)", kills,
          (unsigned long long)first);
}

/* ---- the scale of the loss: gradients that overflow at first, and 2000 steps after which it doubles */
static int stop_at_batch(void *user, const eg_fit_progress *p) {
    uint64_t *left = user;
    return p->event == EG_FIT_STEP && --*left == 0;
}

typedef struct scaled {
    uint64_t bits, steps, skipped;
    double scale;
    int stopped;
} scaled;

static scaled train_f16(const char *path, uint64_t updates) {
    fit_data d;
    eg_error error;
    eg_fit_result r = {0};
    const float mean = 0, scale = 0.05f; /* targets of 2000 */
    const eg_units units = {.output_mean = &mean, .output_scale = &scale, .time = 0.2f};
    const eg_fit_options how = {.epochs = 38,
                                .batch = 1,
                                .dtype = EG_F16,
                                .optimizer = {.learning_rate = 1e-4},
                                .checkpoint = path,
                                .resume = 1,
                                .progress = updates ? stop_at_batch : NULL,
                                .user = &updates};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:3,in=2,proj=1,backbone=0,seed=2", false, &error), error);
    CHECK_OK(eg_model_units_set(d.model, &units, &error), error);
    CHECK_OK(eg_fit(d.model, d.training, NULL, &how, &r, &error), error);
    const scaled out = {fit_model_bits(d.model), r.steps, r.skipped, r.scale, r.stopped};
    eg_fit_release(d.model, &r);
    fit_data_close(&d);
    return out;
}

TEST(checkpoint, scale_of_f16) {
    char room[PATH_ROOM];
    const char *path = fresh(room, "f16.checkpoint");
    const scaled whole = train_f16(NULL, 0);
    CHECK(whole.skipped > 3 && !whole.stopped, "%llu skipped", (unsigned long long)whole.skipped);
    CHECK(ldexp(whole.scale, (int)whole.skipped) > 65536,
          "scale %g never doubled, %llu skipped of %llu", whole.scale,
          (unsigned long long)whole.skipped, (unsigned long long)whole.steps);
    /* in the midst of skipped steps, right after them, before and after the scale doubles */
    static const uint64_t stops[] = {1, 1, 2, 3, 500, 1480, 20, 40, 0};
    scaled parts = {0};
    unlink(path);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        parts = train_f16(path, stops[i]);
        CHECK(parts.stopped == (stops[i] != 0), "stop %zu: stopped %d", i, parts.stopped);
    }
    CHECK(parts.bits == whole.bits && parts.steps == whole.steps &&
              parts.skipped == whole.skipped && parts.scale == whole.scale,
          "resumed: scale %g and %llu skipped, not %g and %llu, or other bits", parts.scale,
          (unsigned long long)parts.skipped, whole.scale, (unsigned long long)whole.skipped);
}

/* ---- what goes wrong with files */
static size_t read_all(const char *path, char *out, size_t room) {
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(out, 1, room, file) : 0;
    if (file) fclose(file);
    return size;
}

TEST(checkpoint, full_disk) {
    enum { ROOM = 1 << 20 };
    static char before[ROOM], after[ROOM];
    char room[PATH_ROOM];
    const char *path = fresh(room, "full.checkpoint");
    eg_fit_options how = options_for(path);
    outcome part;
    uint64_t step = 5;
    unlink(path);
    how.progress = stop_after;
    how.user = &step;
    train(&how, &part);
    const size_t size = read_all(path, before, ROOM);
    CHECK(size > 1000, "a checkpoint of %zu bytes", size);
    how.progress = NULL;
    how.checkpoint_steps = 1;
    const pid_t child = fork();
    if (child == 0) { /* no file may be longer than half of it */
        const struct rlimit limit = {size / 2, size / 2};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        fit_data d;
        eg_context_options one = {.size = sizeof one, .threads = 1};
        if (fit_data_open(&d, &one, spec, false, NULL)) _exit(2);
        _exit(eg_fit(d.model, d.training, d.validation, &how, NULL, NULL) == EG_ERR_FILE ? 0 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    CHECK(read_all(path, after, ROOM) == size && memcmp(before, after, size) == 0,
          "the old checkpoint is not whole");
    how = options_for(fresh(room, "no/such/folder/x.checkpoint"));
    how.checkpoint_steps = 1;
    fit_data d;
    eg_error error;
    CHECK_OK(fit_data_open(&d, NULL, spec, false, &error), error);
    const uint64_t bits = fit_model_bits(d.model);
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &how, NULL, &error), error, EG_ERR_FILE,
                "no/such/folder");
    CHECK(bits == fit_model_bits(d.model), "a failed training changed the model");
    fit_data_close(&d);
}

TEST(checkpoint, refusals) {
    char room[PATH_ROOM];
    const char *path = fresh(room, "other.checkpoint");
    eg_fit_options how = options_for(path);
    outcome part;
    uint64_t step = 2;
    unlink(path);
    how.progress = stop_after;
    how.user = &step;
    train(&how, &part);
    fit_data d;
    eg_error error;
    CHECK_OK(fit_data_open(&d, NULL, spec, false, &error), error);
    how = options_for(path);
    how.seed = 9;
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &how, NULL, &error), error,
                EG_ERR_ARGUMENT, "other options");
    how = options_for(path);
    CHECK_FAILS(eg_fit(d.model, d.validation, d.training, &how, NULL, &error), error,
                EG_ERR_ARGUMENT, "other data");
    how.batch = 4;
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &how, NULL, &error), error,
                EG_ERR_ARGUMENT, "another batch size");
    fit_data_close(&d);
    CHECK_OK(fit_data_open(&d, NULL, "cfc:13,in=2,proj=1", false, &error), error);
    how = options_for(path);
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &how, NULL, &error), error,
                EG_ERR_ARGUMENT, "another model");
    FILE *file = fopen(path, "wb");
    fputs("nonsense that is no checkpoint", file);
    fclose(file);
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &how, NULL, &error), error, EG_ERR_FORMAT,
                "other.checkpoint");
    fit_data_close(&d);
}

/* Saves at its end where there is no checkpoint, and goes on from one. */
static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    fit_data d;
    const eg_fit_options how = {.epochs = 1, .batch = 64, .checkpoint = user, .resume = 1};
    eg_status status = fit_data_open_in(&d, context, "cfc:2,in=2,backbone=0,proj=1", false, error);
    if (!status) status = eg_fit(d.model, d.training, NULL, &how, NULL, error);
    fit_data_close(&d);
    return status;
}

TEST(checkpoint, every_allocation_may_fail) {
    char path[PATH_ROOM];
    fresh(path, "allocation.checkpoint");
    unlink(path);
    for (int round = 0; round < 2; round++) { /* without, then with one */
        const int failed = test_every_allocation_within(attempt, path);
        CHECK(failed > 100, "only %d allocations", failed);
    }
}
