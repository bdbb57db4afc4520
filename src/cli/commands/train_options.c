/* Options of a training, checked and in the words of the library. */
#include "cli/commands/train.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static int named(const char *what, const char *name, const char *(*name_of)(int), int *out) {
    char all[96] = "";
    if (!name) return CLI_OK;
    for (int i = 0; name_of(i); i++) {
        if (strcmp(name, name_of(i)) == 0) {
            *out = i;
            return CLI_OK;
        }
        const size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s",
                 i == 0           ? ""
                 : name_of(i + 1) ? ", "
                                  : " or ",
                 name_of(i));
    }
    return fail(EXIT_USAGE, "%s: '%s' is not %s", what, name, all);
}
static const char *optimizer_at(int i) { return eg_optimizer_name((eg_optimizer_kind)i); }
static const char *schedule_at(int i) { return eg_schedule_name((eg_schedule_kind)i); }
static const eg_type types[] = {EG_F32, EG_BF16, EG_F16};
static const char *type_at(int i) { return i < 3 ? eg_type_name(types[i]) : NULL; }

/* Numbers that were not said are NAN, so that a 0 is one that was. */
int training_numbers(const train_settings *w) {
    const struct {
        const char *name;
        double value, least, most;
        const char *range;
    } rows[] = {{"--rate", w->rate, DBL_MIN, DBL_MAX, "above 0"},
                {"--momentum", w->momentum, 0, 1 - DBL_EPSILON, "within 0..1, below 1"},
                {"--weight-decay", w->weight_decay, 0, DBL_MAX, "0 or more"},
                {"--clip", w->clip, DBL_MIN, DBL_MAX, "above 0"},
                {"--decay", w->decay, DBL_MIN, 1, "above 0, at most 1"},
                {"--floor", w->floor, 0, 1, "within 0..1"},
                {"--warmup", w->warmup, 0, DBL_MAX, "0 or more"},
                {"--average", w->average, 0, 1 - DBL_EPSILON, "within 0..1, below 1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < rows[i].least || rows[i].value > rows[i].most)
            return fail(EXIT_USAGE, "%s: %g is not %s", rows[i].name, rows[i].value, rows[i].range);
    return CLI_OK;
}

static double said(double number) { return isnan(number) ? 0 : number; }

int training_options(training *t) {
    const train_settings *w = t->settings;
    eg_fit_options *o = &t->options;
    int optimizer = EG_ADAM, schedule = EG_SCHEDULE_COSINE, type = 0;
    int code = named("--optimizer", w->optimizer, optimizer_at, &optimizer);
    if (!code) code = named("--schedule", w->schedule, schedule_at, &schedule);
    if (!code) code = named("--dtype", w->dtype, type_at, &type);
    if (code) return code;
    *o = (eg_fit_options){
        .loss = t->loss,
        .optimizer = {.kind = (eg_optimizer_kind)optimizer,
                      .learning_rate = said(w->rate),
                      /* 0 would be its default, less is none */
                      .beta1 = w->momentum == 0 ? -1 : said(w->momentum),
                      .weight_decay = said(w->weight_decay),
                      .clip_norm = said(w->clip)},
        .schedule = {(eg_schedule_kind)schedule, said(w->decay), said(w->floor), said(w->warmup)},
        .epochs = w->epochs,
        .patience = w->patience,
        .accumulate = w->accumulate,
        .dtype = types[type],
        .seed = w->seed,
        .average = said(w->average),
        .batch = 32,
        .checkpoint = t->checkpoint,
        .checkpoint_steps = w->every,
        .resume = w->resume,
        .keep_last = w->keep_last,
        .progress = progress_tell,
        .user = &t->progress};
    code = read_batch(w->batch, &o->batch);
    if (code) return code;
    if (w->memory && !parse_bytes(w->memory, &o->memory))
        return fail(EXIT_USAGE, "--memory: '%s' is not a size such as 512M", w->memory);
    if (w->resume && access(t->checkpoint, F_OK) != 0)
        return fail(EXIT_FAILED, "--resume: there is no checkpoint '%s'", t->checkpoint);
    return CLI_OK;
}
