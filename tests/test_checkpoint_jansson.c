/* Checkpoints: killed, stopped or out of disk, a training goes on to the same bits. */
#include "test.h"
#include "fit_data.h"
#include "formats/files/safetensors.h"
#include "train/fit.h"

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

static void train(const eg_fit_options *options, outcome *out) {
    fit_data d;
    eg_error error;
    eg_fit_result r = {0};
    memset(out, 0, sizeof *out);
    CHECK_OK(fit_data_open(&d, NULL, spec, false, &error), error);
    CHECK_OK(eg_fit(d.model, d.training, d.validation, options, &r, &error), error);
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
    const eg_fit_options options = options_for(NULL);
    train(&options, out);
}

static int stop_after(void *user, const eg_fit_progress *p) {
    return p->event == EG_FIT_STEP && p->steps == *(const uint64_t *)user;
}

TEST(checkpoint, stopped_after_every_step) {
    outcome whole, parts;
    undisturbed(&whole);
    char room[PATH_ROOM];
    const char *path = fresh(room, "stop.checkpoint");
    eg_fit_options options = options_for(path);
    unlink(path);
    options.progress = stop_after;
    for (uint64_t step = 1; step <= whole.steps + 1; step++) {
        options.user = &step;
        train(&options, &parts);
        CHECK(parts.stopped == (step <= whole.steps), "step %llu: stopped %d",
              (unsigned long long)step, parts.stopped);
    }
    CHECK(memcmp(&whole, &parts, sizeof whole) == 0, "other losses or bits after %llu stops",
          (unsigned long long)whole.steps);
    /* it is done: there is nothing to go on with, and more epochs are no other training */
    train(&options, &parts);
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
    eg_fit_options options = options_for(path);
    options.checkpoint_steps = 1;
    unlink(path);
    uint64_t seed = (uint64_t)time(NULL) ^ (uint64_t)getpid(), first = seed;
    int kills = 0;
    for (int round = 0; round < 12; round++) {
        const pid_t child = fork();
        if (child == 0) {
            fit_data d;
            eg_context_options one = {.size = sizeof one, .threads = 1};
            if (fit_data_open(&d, &one, spec, false, NULL)) _exit(2);
            _exit(eg_fit(d.model, d.training, d.validation, &options, NULL, NULL) != EG_OK);
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
    train(&options, &end);
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
    const eg_scaling units = {.output_mean = &mean, .output_scale = &scale, .time = 0.2f};
    const eg_fit_options options = {.epochs = 38,
                                    .batch = 1,
                                    .dtype = EG_F16,
                                    .optimizer = {.learning_rate = 1e-4},
                                    .checkpoint = path,
                                    .resume = 1,
                                    .progress = updates ? stop_at_batch : NULL,
                                    .user = &updates};
    CHECK_OK(fit_data_open(&d, NULL, "cfc:3,in=2,proj=1,backbone=0,seed=2", false, &error), error);
    CHECK_OK(eg_model_scaling_set(d.model, &units, &error), error);
    CHECK_OK(eg_fit(d.model, d.training, NULL, &options, &r, &error), error);
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

static int never_called(void *user, const eg_fit_progress *p) {
    (void)user, (void)p;
    CHECK(false, "training began");
    return 1;
}

static int warnings;
static void count_warning(void *user, eg_log_level level, const char *text) {
    (void)user, (void)level;
    warnings += strstr(text, "goes on") != NULL;
}

TEST(checkpoint, full_disk) {
    enum { ROOM = 1 << 20 };
    static char before[ROOM], after[ROOM];
    char room[PATH_ROOM];
    const char *path = fresh(room, "full.checkpoint");
    eg_fit_options options = options_for(path);
    outcome part;
    uint64_t step = 5;
    unlink(path);
    options.progress = stop_after;
    options.user = &step;
    train(&options, &part);
    const size_t size = read_all(path, before, ROOM);
    CHECK(size > 1000, "a checkpoint of %zu bytes", size);
    options.progress = NULL;
    options.checkpoint_steps = 1;
    outcome whole;
    undisturbed(&whole);
    const pid_t child = fork();
    if (child == 0) { /* no file may be longer than half of it */
        const struct rlimit limit = {size / 2, size / 2};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        fit_data d;
        warnings = 0;
        eg_context_options one = {
            .size = sizeof one, .threads = 1, .log = count_warning, .log_level = EG_LOG_WARNING};
        eg_fit_result r = {0};
        if (fit_data_open(&d, &one, spec, false, NULL)) _exit(2);
        if (eg_fit(d.model, d.training, d.validation, &options, &r, NULL)) _exit(3);
        if (r.checkpoints_failed < 3 || warnings != 1) _exit(4);
        if (fit_model_bits(d.model) != whole.bits) _exit(5);
        /* who is asked to stop must not lose what was learned without a word */
        options.progress = stop_after;
        step = 7;
        options.user = &step;
        eg_error error;
        if (eg_fit(d.model, d.training, d.validation, &options, NULL, &error) != EG_ERR_FILE)
            _exit(6);
        _exit(strstr(error.message, "full.checkpoint") ? 0 : 7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    CHECK(read_all(path, after, ROOM) == size && memcmp(before, after, size) == 0,
          "the old checkpoint is not whole");
    options = options_for(fresh(room, "no/such/folder/x.checkpoint"));
    fit_data d;
    eg_error error;
    CHECK_OK(fit_data_open(&d, NULL, spec, false, &error), error);
    const uint64_t bits = fit_model_bits(d.model);
    options.progress = never_called;
    CHECK_FAILS(eg_fit(d.model, d.training, NULL, &options, NULL, &error), error, EG_ERR_FILE,
                "no/such/folder");
    CHECK(bits == fit_model_bits(d.model), "a failed training changed the model");
    fit_data_close(&d);
}

/* ---- damage: a small training whose checkpoint has every part */
static eg_fit_options small_options(const char *path) {
    return (eg_fit_options){
        .epochs = 2, .batch = 8, .average = 0.5, .seed = 3, .checkpoint = path, .resume = 1};
}

static int stop_in_second_epoch(void *user, const eg_fit_progress *p) {
    (void)user;
    return p->event == EG_FIT_STEP && p->epoch == 2;
}

static size_t small_checkpoint(fit_data *d, const char *path, char *out, size_t room) {
    eg_error error;
    eg_fit_options options = small_options(path);
    options.progress = stop_in_second_epoch;
    unlink(path);
    CHECK_OK(fit_data_open(d, NULL, "cfc:2,in=2,backbone=0,proj=1,seed=2", false, &error), error);
    CHECK_OK(eg_fit(d->model, d->training, NULL, &options, NULL, &error), error);
    return read_all(path, out, room);
}

static void write_all(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size, "cannot write '%s'", path);
    if (file) fclose(file);
}

TEST(checkpoint, every_flipped_bit) {
    enum { ROOM = 1 << 16 };
    static char bytes[ROOM];
    char path[PATH_ROOM];
    fit_data d;
    eg_error error;
    const size_t size = small_checkpoint(&d, fresh(path, "flip.checkpoint"), bytes, ROOM);
    CHECK(size > 500 && size < ROOM, "%zu bytes", size);
    eg_fit_options options = small_options(path);
    options.progress = never_called;
    unsigned accepted = 0, nameless = 0;
    const size_t stride = test_quick() ? 97 : 1;
    for (size_t bit = 0; bit < 8 * size; bit += stride) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        write_all(path, bytes, size);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        const eg_status status = eg_fit(d.model, d.training, NULL, &options, NULL, &error);
        accepted += status == EG_OK;
        nameless += status && !strstr(error.message, "flip.checkpoint");
    }
    CHECK(!accepted && !nameless, "%u flipped bits accepted, %u without the file's name", accepted,
          nameless);
    for (size_t cut = 0; cut < size; cut += 37) {
        write_all(path, bytes, cut);
        CHECK(eg_fit(d.model, d.training, NULL, &options, NULL, &error) != EG_OK, "cut at %zu",
              cut);
    }
    options.progress = NULL;
    write_all(path, bytes, size);
    CHECK_OK(eg_fit(d.model, d.training, NULL, &options, NULL, &error), error);
    fit_data_close(&d);
    test_claim("each of %zu bits of a checkpoint flipped: refused by name", 8 * size);
}

/* Numbers that are wrong though their checksums are right: somebody made them. `word`: of `width` bytes. */
static void forge(const fit_data *d, const char *path, const char *bytes, size_t size,
                  const char *name, size_t width, size_t word, uint64_t value) {
    eg_error error;
    eg_safetensors *file;
    eg_tensor tensors[8];
    const char *names[8];
    static char changed[1 << 16];
    write_all(path, bytes, size);
    eg__memory *memory = d->model->memory;
    CHECK_OK(eg__safetensors_open(memory, path, false, &file, &error), error);
    const size_t count = eg_safetensors_count(file) - 1; /* without the checksums */
    for (size_t i = 0; i < count; i++) {
        names[i] = eg_safetensors_name(file, i);
        CHECK_OK(eg_safetensors_tensor(file, names[i], &tensors[i], &error), error);
        if (strcmp(names[i], name) != 0) continue;
        uint64_t length = 0;
        CHECK_OK(eg_tensor_measure(&tensors[i], NULL, &length, &error), error);
        CHECK((word + 1) * width <= length && length <= sizeof changed, "%s: %llu bytes", name,
              (unsigned long long)length);
        memcpy(changed, tensors[i].data, (size_t)length);
        memcpy(changed + word * width, &value, width); /* its low bytes come first */
        tensors[i].data = changed;
    }
    const eg_pair metadata = {"format", "elegans checkpoint"};
    CHECK_OK(eg__safetensors_save_summed(memory, path, count, names, tensors, 1, &metadata, &error),
             error);
    eg_safetensors_close(file);
}

TEST(checkpoint, every_word_has_a_range) {
    enum { ROOM = 1 << 16 };
    static char bytes[ROOM];
    char path[PATH_ROOM];
    fit_data d;
    eg_error error;
    const size_t size = small_checkpoint(&d, fresh(path, "forged.checkpoint"), bytes, ROOM);
    eg_fit_options options = small_options(path);
    options.progress = never_called;
#define WORD(name) offsetof(eg__fit_state, name) / 8
    const uint64_t minus = UINT64_MAX, huge = UINT64_C(1) << 62;
    const uint64_t nan = UINT64_C(0x7ff8000000000000), below = UINT64_C(0xbff0000000000000);
    const uint64_t low = UINT64_C(0xfff0000000000000);
    const struct {
        size_t word;
        uint64_t value;
        const char *part;
    } rows[] = {{WORD(version), 2, "version 2"},
                {WORD(version), minus, "version"},
                {WORD(model_hash), 1, "another model"},
                {WORD(data_hash), 1, "other data"},
                {WORD(options_hash), 1, "other options"},
                {WORD(batch_size), 0, "batch size"},
                {WORD(batch_size), minus, "batch size"},
                {WORD(count), 0, "parameters"},
                {WORD(count), huge, "parameters"},
                {WORD(epoch), minus, "epoch"},
                {WORD(epoch), huge, "epoch"},
                {WORD(epoch), 0, "history_count"},
                {WORD(batch), huge, "batch"},
                {WORD(steps), minus, "steps"},
                {WORD(seed), 0, "seed"},
                {WORD(seed), minus, "seed"},
                {WORD(best_epoch), 9, "best_epoch"},
                {WORD(stale), huge, "stale"},
                {WORD(history_count), 0, "history"},
                {WORD(history_count), huge, "history"},
                {WORD(loss_sum), nan, "loss_sum"},
                {WORD(loss_weight), below, "loss_weight"},
                {WORD(norm_sum), nan, "norm_sum"},
                {WORD(norms), below, "norms"},
                {WORD(norms), UINT64_C(0x41cdcd6500000000), "norms 1000000000 is not within 0.."},
                {WORD(rate), below, "rate"},
                {WORD(best), low, "best -inf differs from 0."},
                {WORD(best), nan, "best nan differs"},
                {WORD(best), below, "best -1 differs"},
                {WORD(validation), below, "validation -1 differs from nan"},
                {WORD(scale), nan, "scale"},
                {WORD(scale), 0, "scale"},
                {WORD(good), huge, "good"},
                {WORD(skipped), minus, "skipped"},
                /* the batch is that of the checkpoint */
                {WORD(batch_size), 0, "batch_size 0 is not within 1.."},
                {WORD(batch_size), huge, "batch_size 4.6"}};
#undef WORD
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.batch = i < sizeof rows / sizeof *rows - 2 ? 8 : 0;
        forge(&d, path, bytes, size, "state", 8, rows[i].word, rows[i].value);
        const eg_status status = eg_fit(d.model, d.training, NULL, &options, NULL, &error);
        CHECK(status && strstr(error.message, rows[i].part) &&
                  strstr(error.message, "forged.checkpoint"),
              "word %zu: '%s', not '%s'", rows[i].word, status ? error.message : "accepted",
              rows[i].part);
    }
    fit_data_close(&d);
}

/* The history, whose numbers have ranges, and parameters, which are finite. */
TEST(checkpoint, every_number_has_a_range) {
    enum { ROOM = 1 << 16 };
    static char bytes[ROOM];
    char path[PATH_ROOM];
    fit_data d;
    eg_error error;
    CHECK_OK(fit_data_open(&d, NULL, "cfc:3,in=2,backbone=0,proj=1", false, &error), error);
    fresh(path, "numbers.checkpoint");
    eg_fit_options options = small_options(path);
    options.average = 0.9;
    options.resume = 0;
    CHECK_OK(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error);
    const size_t size = read_all(path, bytes, ROOM);
    options.resume = 1;
    options.progress = never_called;
#define WORD(name) offsetof(eg_fit_epoch, name) / 8
    const uint64_t nan = UINT64_C(0x7ff8000000000000), below = UINT64_C(0xbff0000000000000);
    const uint64_t low = UINT64_C(0xfff0000000000000), high = UINT64_C(0x7ff0000000000000);
    const struct {
        const char *name;
        size_t width, word;
        uint64_t value;
        const char *part;
    } rows[] = {{"history", 8, WORD(loss), low, "loss of epoch 1 -inf is not within"},
                {"history", 8, WORD(loss), high, "loss of epoch 1 inf is not within"},
                {"history", 8, WORD(validation), low, "validation of epoch 1 -inf is not within"},
                {"history", 8, WORD(rate), below, "rate of epoch 1 -1 is not within 0.."},
                {"history", 8, WORD(rate), nan, "rate of epoch 1"},
                {"history", 8, WORD(gradient_norm), below, "gradient_norm of epoch 1 -1"},
                {"history", 8, WORD(seconds), low, "seconds of epoch 1 -inf"},
                {"history", 8, WORD(seconds), nan, "seconds of epoch 1"},
                {"weights", 4, 1, 0x7fc00000, "element 1 of 'weights' is nan, not a finite"},
                {"best", 4, 2, 0x7f800000, "element 2 of 'best' is inf, not a finite"},
                {"average", 4, 0, 0xff800000, "element 0 of 'average' is -inf, not a finite"}};
#undef WORD
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        forge(&d, path, bytes, size, rows[i].name, rows[i].width, rows[i].word, rows[i].value);
        const eg_status status = eg_fit(d.model, d.training, d.validation, &options, NULL, &error);
        CHECK(status && strstr(error.message, rows[i].part) &&
                  strstr(error.message, "numbers.checkpoint"),
              "row %zu: '%s', not '%s'", i, status ? error.message : "accepted", rows[i].part);
    }
    /* as it was, it goes on */
    options.progress = NULL;
    write_all(path, bytes, size);
    CHECK_OK(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error);
    fit_data_close(&d);
}

/* Checksums of another number, kind or shape, or of another name. */
TEST(checkpoint, odd_checksums) {
    static const struct {
        const char *name;
        eg_tensor sums;
    } rows[] = {{"checksums", {EG_I64, 1, {1}, NULL}}, {"checksums", {EG_I64, 1, {2}, NULL}},
                {"checksums", {EG_I64, 1, {4}, NULL}}, {"checksums", {EG_I64, 2, {3, 1}, NULL}},
                {"checksums", {EG_I32, 1, {3}, NULL}}, {"checksum", {EG_I64, 1, {3}, NULL}},
                {"checksums", {EG_I64, 1, {0}, NULL}}};
    static uint64_t words[4], state[EG__FIT_WORDS];
    char path[PATH_ROOM];
    fit_data d;
    eg_error error;
    fresh(path, "odd.checkpoint");
    CHECK_OK(fit_data_open(&d, NULL, "cfc:2,in=2,backbone=0,proj=1", false, &error), error);
    eg_fit_options options = small_options(path);
    options.progress = never_called;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const names[] = {"state", rows[i].name};
        eg_tensor tensors[] = {{EG_I64, 1, {EG__FIT_WORDS}, state}, rows[i].sums};
        tensors[1].data = words;
        CHECK_OK(eg__safetensors_save(d.model->memory, path, 2, names, tensors, 0, NULL, &error),
                 error);
        CHECK_FAILS(eg_fit(d.model, d.training, NULL, &options, NULL, &error), error, EG_ERR_FORMAT,
                    "it has no checksums");
    }
    enum { MANY = 65 };
    const char *names[MANY];
    eg_tensor tensors[MANY];
    for (size_t i = 0; i < MANY; i++)
        names[i] = "x", tensors[i] = (eg_tensor){EG_I64, 1, {1}, words};
    CHECK_FAILS(
        eg__safetensors_save_summed(d.model->memory, path, MANY, names, tensors, 0, NULL, &error),
        error, EG_ERR_ARGUMENT, "'65' tensors with checksums, at most 64");
    fit_data_close(&d);
}

TEST(checkpoint, refusals) {
    char room[PATH_ROOM];
    const char *path = fresh(room, "other.checkpoint");
    eg_fit_options options = options_for(path);
    outcome part;
    uint64_t step = 2;
    unlink(path);
    options.progress = stop_after;
    options.user = &step;
    train(&options, &part);
    fit_data d;
    eg_error error;
    CHECK_OK(fit_data_open(&d, NULL, spec, false, &error), error);
    options = options_for(path);
    options.seed = 9;
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error,
                EG_ERR_ARGUMENT, "other options");
    options = options_for(path);
    CHECK_FAILS(eg_fit(d.model, d.validation, d.training, &options, NULL, &error), error,
                EG_ERR_ARGUMENT, "other data");
    options.batch = 4;
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error,
                EG_ERR_ARGUMENT, "another batch size");
    fit_data_close(&d);
    CHECK_OK(fit_data_open(&d, NULL, "cfc:13,in=2,proj=1", false, &error), error);
    options = options_for(path);
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error,
                EG_ERR_ARGUMENT, "another model");
    FILE *file = fopen(path, "wb");
    fputs("nonsense that is no checkpoint", file);
    fclose(file);
    CHECK_FAILS(eg_fit(d.model, d.training, d.validation, &options, NULL, &error), error,
                EG_ERR_FORMAT, "other.checkpoint");
    fit_data_close(&d);
}

/* Saves at its end where there is no checkpoint, and goes on from one. */
static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    fit_data d;
    const eg_fit_options options = {.epochs = 1, .batch = 64, .checkpoint = user, .resume = 1};
    eg_status status = fit_data_open_in(&d, context, "cfc:2,in=2,backbone=0,proj=1", false, error);
    if (!status) status = eg_fit(d.model, d.training, NULL, &options, NULL, error);
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
