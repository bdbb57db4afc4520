/* elegans demo: a liquid network learns to balance a pole by watching an expert, then does it alone. */
#include "cli/commands/cartpole.h"
#include "cli/commands/profile.h"
#include "cli/publishing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = 96, BATCH = 32, TRIPS = 256, ROUNDS = 4, EPISODE = 500, TRIALS = 100 };
static const char SPEC[] = "cfc:autoncp:28:1,in=2,seed=1", WIRING[] = "autoncp:28:1,in=2";

/* ---- what is recorded: trips of the cart, and what the expert would have done */
typedef struct record {
    float sensed[STEPS][2], wait[STEPS], wanted[STEPS];
} record;

typedef struct policy {
    eg_model *model;
    bool knows_time;
    eg_stream_program *program;
    eg_stream *stream;
} policy;

static float elapsed_of(const policy *p, double seconds) {
    return p->knows_time ? (float)(seconds / WAIT_MEAN) : 1.0f;
}

/* The force of the network, in newtons. */
static double act(const policy *p, const float sensed[2], double seconds) {
    float y[1] = {0};
    eg_stream_step(p->stream, sensed, elapsed_of(p, seconds), y, NULL);
    return FORCE_MOST * (double)y[0];
}

/* Who drives: the expert, disturbed so that mistakes are seen too, or the network, so that its own
 * mistakes are; the expert says what it would do either way. */
static void record_trip(record *r, const policy *driver, uint64_t *random) {
    cartpole c = cartpole_start(random);
    if (driver) eg_stream_reset(driver->stream);
    double wait = WAIT_MEAN, push = 0;
    for (int t = 0; t < STEPS; t++) {
        if (cartpole_fell(&c)) c = cartpole_start(random);
        cartpole_sense(&c, random, r->sensed[t]);
        r->wait[t] = (float)wait;
        const double wanted = cartpole_expert(&c);
        r->wanted[t] = (float)(wanted / FORCE_MOST);
        push = 0.8 * push + 2.0 * random_normal(random);
        const double force = driver ? act(driver, r->sensed[t], wait) : wanted + push;
        wait = cartpole_wait(random);
        cartpole_move(&c, force, wait);
    }
}

/* ---- learning */
static void fill_batch(const eg_train_batch *b, const record *trips, size_t count, bool knows_time,
                       uint64_t *random) {
    for (int s = 0; s < BATCH; s++) {
        const record *r = &trips[(size_t)((random_uniform(random) + 1) / 2 * (double)count)];
        for (int t = 0; t < STEPS; t++) {
            const int at = t * BATCH + s;
            memcpy(b->x + 2 * at, r->sensed[t], sizeof r->sensed[t]);
            b->target[at] = r->wanted[t];
            b->weight[at] = t < 4 ? 0 : 1; /* nobody knows speeds at the first look */
            b->timespans[at] = knows_time ? r->wait[t] / (float)WAIT_MEAN : 1;
        }
    }
}

static void progress(const char *what, int done, int all, double loss) {
    if (!isatty(2)) return;
    enum { WIDE = 24 };
    char bar[WIDE + 1];
    for (int i = 0; i < WIDE; i++) bar[i] = i * all < done * WIDE ? '#' : '.';
    bar[WIDE] = 0;
    fprintf(stderr, "\r  %-22s [%s] %3d %%  loss %.4f", what, bar, done * 100 / all, loss);
}

static void progress_clear(void) {
    if (isatty(2)) fprintf(stderr, "\r%*s\r", 79, "");
}

static bool renew(policy *p, eg_error *error) {
    eg_stream_destroy(p->stream);
    eg_stream_program_destroy(p->program);
    p->stream = NULL;
    p->program = NULL;
    return eg_stream_compile(p->model, &p->program, error) == EG_OK &&
           eg_stream_create(p->program, &p->stream, error) == EG_OK;
}

/* What one step of training computes and moves. */
static void publish_costs(eg_publisher *publisher, const eg_trainer *trainer) {
    static const eg_train_part parts[] = {EG_TRAIN_GRADIENT, EG_TRAIN_NORM, EG_TRAIN_UPDATE};
    double flops = 0, bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        eg_program_info info = {.size = sizeof info};
        eg_program_info_get(eg_trainer_part(trainer, parts[i], NULL), &info);
        flops += info.flops;
        bytes += info.bytes;
    }
    eg_publisher_cost(publisher, flops, bytes);
}

static void publish_loss(eg_publisher *publisher, int round, uint64_t step, double loss) {
    const eg_training_report report = {.size = sizeof report,
                                       .epoch = (uint64_t)round + 1,
                                       .epochs = ROUNDS,
                                       .step = step,
                                       .loss = loss,
                                       .validation = NAN,
                                       .learning_rate = NAN,
                                       .gradient_norm = NAN,
                                       .seconds_left = NAN};
    eg_publisher_train(publisher, &report, NULL);
}

/* Rounds of recording and learning; later rounds record the network itself. */
static bool learn(policy *p, int steps, uint64_t seed, eg_publisher *publisher, double *loss,
                  eg_error *error) {
    const eg_train_options options = {.batch = BATCH,
                                      .time = STEPS,
                                      .timespans = 1,
                                      .optimizer = {.learning_rate = 0.01, .clip_norm = 1}};
    eg_trainer *trainer;
    if (eg_trainer_create(p->model, &options, &trainer, error)) return false;
    record *trips = take_memory((size_t)ROUNDS * TRIPS, sizeof *trips);
    bool fine = renew(p, error);
    publish_costs(publisher, trainer);
    uint64_t random = seed;
    *loss = 0;
    for (int round = 0; fine && round < ROUNDS; round++) {
        for (int i = 0; i < TRIPS; i++)
            record_trip(&trips[round * TRIPS + i], round ? p : NULL, &random);
        const eg_train_batch batch = eg_trainer_batch(trainer);
        for (int s = 0; fine && s < steps; s++) {
            eg_train_result result;
            const double done = (double)(round * steps + s) / (ROUNDS * steps);
            fill_batch(&batch, trips, (size_t)(round + 1) * TRIPS, p->knows_time, &random);
            eg_publisher_begin(publisher);
            fine = eg_trainer_step(trainer, 0.01 * pow(0.05, done), &result, error) == EG_OK;
            eg_publisher_end(publisher);
            *loss = s ? 0.95 * *loss + 0.05 * result.loss : result.loss;
            if (s % 10 == 0)
                publish_loss(publisher, round, (uint64_t)(round * steps + s) + 1, *loss);
            if (s % 10 == 0)
                progress(p->knows_time ? "learning" : "learning, time ignored", round * steps + s,
                         ROUNDS * steps, *loss);
        }
        fine = fine && eg_trainer_store(trainer, p->model, error) == EG_OK && renew(p, error);
    }
    progress_clear();
    free(trips);
    eg_trainer_destroy(trainer);
    return fine;
}

/* ---- alone at the wheel */
static void draw(const cartpole *c, double seconds) {
    enum { WIDE = 57 };
    char ground[WIDE + 1], pole[WIDE + 1];
    memset(ground, '-', WIDE);
    memset(pole, ' ', WIDE);
    ground[WIDE] = pole[WIDE] = 0;
    int at = (int)lround((c->position / 2.4 + 1) / 2 * (WIDE - 7)) + 3;
    at = at < 3 ? 3 : at > WIDE - 4 ? WIDE - 4 : at;
    memcpy(ground + at - 2, "[o o]", 5);
    pole[at] = fabs(c->angle) < 0.02 ? '|' : c->angle > 0 ? '/' : '\\';
    pole[at + 1] = 0;
    printf("  %6.1f s  %s\n            %s  %+.1f deg\n", seconds, pole, ground, c->angle * 57.2958);
}

/* Seconds until the pole falls, or infinity when it stays up for a whole episode from an unseen start. */
static double drive(const policy *p, uint64_t seed, bool shows) {
    uint64_t random = seed;
    cartpole c = cartpole_start(&random);
    eg_stream_reset(p->stream);
    double wait = WAIT_MEAN, time = 0, next = 0;
    for (int t = 0; t < EPISODE; t++) {
        float sensed[2];
        cartpole_sense(&c, &random, sensed);
        const double force = act(p, sensed, wait);
        if (shows && time >= next) {
            draw(&c, time);
            next += 3;
        }
        wait = cartpole_wait(&random);
        cartpole_move(&c, force, wait);
        time += wait;
        if (cartpole_fell(&c)) return time;
    }
    return INFINITY;
}

typedef struct trials {
    int balanced;
    double median; /* seconds until it falls, of those that fall; NaN = none */
} trials;

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static trials try_policy(const policy *p) {
    double seconds[TRIALS];
    for (uint64_t i = 0; i < TRIALS; i++) seconds[i] = drive(p, 1000000 + i * 7919, false);
    qsort(seconds, TRIALS, sizeof *seconds, by_size);
    int fallen = 0;
    while (fallen < TRIALS && isfinite(seconds[fallen])) fallen++;
    return (trials){TRIALS - fallen, fallen ? seconds[fallen / 2] : NAN};
}

/* ---- what is left on the disk, and its figures */
static double step_ns(const policy *p) {
    const float x[2] = {0.1f, 0.2f};
    float y[1];
    double best = 1e18;
    for (int burst = 0; burst < 200; burst++) {
        const uint64_t start = eg_clock_ns();
        for (int i = 0; i < 50; i++) eg_stream_step(p->stream, x, 1, y, NULL);
        const double ns = (double)(eg_clock_ns() - start) / 50;
        best = ns < best ? ns : best;
    }
    return best;
}

static bool save_all(eg_context *context, const policy *p, const char *folder, eg_export_info *info,
                     eg_error *error) {
    char path[512];
    eg_wiring *wiring;
    eg_report *picture = NULL;
    snprintf(path, sizeof path, "%s/policy.safetensors", folder);
    if (eg_model_save(p->model, path, error) ||
        eg_model_export_c(p->model, folder, "policy", info, error) ||
        eg_wiring_create(context, WIRING, &wiring, error))
        return false;
    snprintf(path, sizeof path, "%s/wiring.svg", folder);
    const bool drawn = eg_report_of_wiring(wiring, WIRING, &picture, error) == EG_OK &&
                       eg_report_write(picture, path, error) == EG_OK;
    eg_report_destroy(picture);
    eg_wiring_destroy(wiring);
    return drawn;
}

static void print_trials(const char *name, const char *who, const trials *t) {
    char text[128], number[32], falls[64] = "";
    if (isfinite(t->median))
        snprintf(falls, sizeof falls, "; %s fall after %s s", t->balanced ? "the others" : "all",
                 format_short(number, t->median));
    snprintf(text, sizeof text, "%d of %d%s%s", t->balanced, TRIALS, who, falls);
    print_row(name, text, "measured");
}

static void print_report(const policy *with, const trials done[2], const double losses[2],
                         double seconds, const char *folder, const eg_export_info *info) {
    char text[128], number[32], other[32];
    print_trials("balanced", " unseen starts", &done[0]);
    print_trials("time ignored", "", &done[1]);
    snprintf(text, sizeof text, "%s N off the expert (rms); time ignored, %s N",
             format_short(number, FORCE_MOST * sqrt(losses[0])),
             format_short(other, FORCE_MOST * sqrt(losses[1])));
    print_row("imitation", text, "measured");
    snprintf(text, sizeof text, "%s s for both networks", format_short(number, seconds));
    print_row("training", text, "measured");
    snprintf(text, sizeof text, "%s us", format_short(number, step_ns(with) / 1e3));
    print_row("one step", text, "measured");
    snprintf(text, sizeof text, "%llu bytes of weights, %llu of memory",
             (unsigned long long)info->weight_bytes,
             (unsigned long long)(info->state_bytes + info->arena_bytes));
    print_row("as C", text, "counted");
    snprintf(text, sizeof text, "%s/policy.safetensors, policy.c, policy.h, wiring.svg", folder);
    print_row("files", text, "");
}

/* ---- what it costs, here and elsewhere */
static bool write_report(const eg_profile *profile, const eg_analysis *analysis, const devices *d,
                         const char *path, eg_error *error) {
    eg_report *page = NULL;
    const eg_report_options options = {
        .size = sizeof options, .digits = 17, .device_count = d->count, .devices = d->list};
    const bool fine = eg_report_of_profile(profile, analysis, &options, &page, error) == EG_OK &&
                      eg_report_write(page, path, error) == EG_OK;
    eg_report_destroy(page);
    return fine;
}

/* False with a message in `error`, or with an empty one when it was printed. */
static bool profile_policy(eg_model *model, const char *folder, eg_publisher *publisher,
                           eg_error *error) {
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    const eg_profile_options options = {
        .size = sizeof options, .runs = 1000, .publisher = publisher};
    devices *d = take_memory(1, sizeof *d);
    bool fine = eg_profile_model(model, SPEC, &options, &profile, error) == EG_OK &&
                eg_analyse(profile, &analysis, error) == EG_OK &&
                devices_project(model, &options, "M1,M2,M3,M4,M4 Max,M5", d) == CLI_OK;
    if (fine) {
        char path[1024];
        print_section("what it costs", "elegans profile tells more");
        print_wrapped(eg_analysis_verdict(analysis));
        devices_print(d, false); /* none is asked of a network this small */
        snprintf(path, sizeof path, "%s/report.html", folder);
        if (json_usable()) fine = write_report(profile, analysis, d, path, error);
        if (fine && json_usable()) print_row("report", path, "");
    }
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    free(d);
    return fine;
}

/* Before anything is learned: the folder is there, and files can be written into it. */
static int folder_ready(const char *folder) {
    if (mkdir(folder, 0777) && errno != EEXIST)
        return fail(EXIT_FAILED, "cannot create '%s': %s", folder, strerror(errno));
    if (access(folder, W_OK | X_OK))
        return fail(EXIT_FAILED, "cannot write into '%s': %s", folder, strerror(errno));
    return CLI_OK;
}

static int run(eg_context *context, const char *folder, int steps, uint64_t seed) {
    eg_error error = {0};
    eg_export_info info = {.size = sizeof info};
    policy with = {.knows_time = true}, without = {.knows_time = false};
    double losses[2];
    print_title("A pole on a cart", "learned by watching an expert");
    print_wrapped(
        "The expert sees everything. The network sees position and angle, with noise, at "
        "irregular times (4 to 20 ms apart or, where frames are lost, 110 to 190 ms), and "
        "must find the speeds itself. A copy of it learns the same without being told how "
        "much time has passed.");
    putchar('\n');
    const uint64_t start = eg_clock_ns();
    eg_publisher *publisher = publish_open(context, "demo", SPEC, NULL, true);
    bool fine = eg_model_open(context, SPEC, &with.model, &error) == EG_OK &&
                eg_model_open(context, SPEC, &without.model, &error) == EG_OK &&
                learn(&with, steps, seed, publisher, &losses[0], &error) &&
                learn(&without, steps, seed, publisher, &losses[1], &error);
    const double seconds = (double)(eg_clock_ns() - start) * 1e-9;
    if (fine) {
        drive(&with, 1000000, true);
        putchar('\n');
        const trials done[] = {try_policy(&with), try_policy(&without)};
        if ((fine = save_all(context, &with, folder, &info, &error)))
            print_report(&with, done, losses, seconds, folder, &info);
        fine = fine && profile_policy(with.model, folder, publisher, &error);
    }
    eg_publisher_close(publisher);
    policy *const both[] = {&with, &without};
    for (int i = 0; i < 2; i++) {
        eg_stream_destroy(both[i]->stream);
        eg_stream_program_destroy(both[i]->program);
        eg_model_destroy(both[i]->model);
    }
    if (fine) return CLI_OK;
    return error.message[0] ? fail_with(&error) : EXIT_FAILED;
}

int cmd_demo(int argc, char **argv) {
    const char *folder = "elegans-demo";
    uint64_t steps = 250, seed = 1;
    context_flags flags = {.threads = 1}; /* more would wait for each other: the network is small */
    const option options[] = {
        {"-o", OPTION_TEXT, &folder, "DIR", "folder for its files (elegans-demo)"},
        {"--steps", OPTION_COUNT, &steps, "N", "training steps in each of four rounds (250)"},
        {"--seed", OPTION_COUNT, &seed, "N", "random seed (default: 1)"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "demo [-o DIR] [--steps N] [--seed N]",
        "Trains a small liquid network to balance a pole on a cart by imitating an\n"
        "expert, at irregular times, and a copy of it that ignores elapsed time; then\n"
        "lets both drive from 100 unseen starts.",
        options, "  elegans demo -o /tmp/demo\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest) return fail(EXIT_USAGE, "demo takes no '%s'", argv[0]);
    code = folder_ready(folder);
    if (code) return code;
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    code = run(context, folder, (int)(steps < 100000 ? steps : 100000), seed);
    eg_context_destroy(context);
    return code;
}
