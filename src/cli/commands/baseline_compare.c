/* Has it become slower? Compares the program with itself first, to know the noise of this
 * machine. */
#include "cli/commands/baseline.h"
#include "cli/program_path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 10, RUNS = 30 };

typedef struct trial {
    samples old_ones, new_ones;
    eg_comparison result;
} trial;

static void give_back(trial *t) {
    free(t->old_ones.seconds);
    free(t->new_ones.seconds);
}

/* "batch=1 isa=avx2 seq=16 threads=1" back into a wish: anything else was not written by us, and would be compared
 * with other options than it was measured with. */
static int read_options(const eg_history_entry *entry, baseline_settings *w) {
    const struct {
        const char *key;
        uint64_t *value; /* NULL = a word, which only tells */
    } keys[] = {{"batch=", &w->batch},
                {"isa=", NULL},
                {"seq=", &w->seq},
                {"threads=", &w->threads},
                {"passes=", NULL}};
    enum { KEYS = sizeof keys / sizeof *keys };
    unsigned seen = 0;
    for (const char *at = entry->options; *at;) {
        const size_t length = strcspn(at, " ");
        size_t i = 0;
        while (i < KEYS && strncmp(at, keys[i].key, strlen(keys[i].key)) != 0) i++;
        const size_t key = i < KEYS ? strlen(keys[i].key) : 0;
        int64_t value = 1;
        if (i == KEYS || seen >> i & 1 || key >= length ||
            (keys[i].value && eg_integer_parse(at + key, length - key, 1, INT64_MAX, &value, NULL)))
            return fail(EXIT_FAILED,
                        "baseline '%s': '%.*s' is no option that it can have been measured with; "
                        "delete it, and save another",
                        entry->name, (int)length, at);
        if (keys[i].value) *keys[i].value = (uint64_t)value;
        seen |= 1u << i;
        at += length;
        at += *at == ' ';
    }
    return CLI_OK;
}

static int judge(eg_context *context, const baseline_settings *w, trial *t) {
    const eg_compare_options options = {.alpha = w->alpha, .effect = w->effect};
    eg_error error;
    if (eg_compare(context, t->old_ones.count, t->old_ones.seconds, t->new_ones.count,
                   t->new_ones.seconds, &options, &t->result, &error))
        return fail_with(&error);
    return CLI_OK;
}

/* What the old and the new samples come from: a program (NULL = this one) and a model each. */
typedef struct side {
    const char *program, *model;
} side;

static int take_turn(eg_context *context, const baseline_settings *w, const side *s, bool apart,
                     samples *to) {
    char self[4096];
    baseline_settings settings = *w;
    settings.model = s->model;
    if (!apart) return baseline_profile(context, w, s->model, to, NULL);
    if (!s->program && !program_path(self, sizeof self))
        return fail(EXIT_FAILED, "the system does not report the path of this program");
    return baseline_foreign(s->program ? s->program : self, &settings, to);
}

/* Rounds in turn. When one program is not this one, this one runs as a process of its own, too: what a start
 * costs then is on both sides. */
static int alternate(eg_context *context, const baseline_settings *w, const side *old_side,
                     const side *new_side, bool apart, trial *t) {
    int code = CLI_OK;
    for (uint64_t round = 0; !code && round < w->rounds; round++)
        for (int k = 0; !code && k < 2; k++) {
            const bool old_turn = (k == 0) == (round % 2 == 0); /* ABBA */
            code = take_turn(context, w, old_turn ? old_side : new_side, apart,
                             old_turn ? &t->old_ones : &t->new_ones);
        }
    return code ? code : judge(context, w, t);
}

static const char *verdict_text(eg_verdict verdict) {
    return verdict == EG_VERDICT_SLOWER   ? "slower"
           : verdict == EG_VERDICT_FASTER ? "faster"
                                          : "the same";
}

static void print_trial(const char *name, const trial *t, const char *note) {
    char value[160];
    snprintf(value, sizeof value, "%s: x %.3f (95 %%: %.3f to %.3f), p %.2g",
             verdict_text(t->result.verdict), t->result.ratio.value, t->result.ratio.low,
             t->result.ratio.high, t->result.p);
    print_row(name, value, note);
}

static void put_trial(json *document, const char *key, const trial *t) {
    json *object = json_new_object();
    json_put_text(object, "verdict", verdict_text(t->result.verdict));
    json_put_number(object, "ratio", t->result.ratio.value);
    json_put_number(object, "low", t->result.ratio.low);
    json_put_number(object, "high", t->result.ratio.high);
    json_put_number(object, "p", t->result.p);
    json_put_count(object, "old_samples", t->old_ones.count);
    json_put_count(object, "new_samples", t->new_ones.count);
    json_put_text(object, "provenance", eg_provenance_name(EG_MEASURED));
    json_put(document, key, object);
}

/* The noise: the difference of two measurements of the same program, at least the half-width of
 * their interval. */
static double noise_of(const trial *t) {
    const eg_interval *r = &t->result.ratio;
    return fmax(fabs(r->value - 1), (r->high - r->low) / 2);
}

/* A difference within the noise does not count. */
static void forgive_noise(const trial *noise, trial *t) {
    if (fabs(t->result.ratio.value - 1) <= noise_of(noise)) t->result.verdict = EG_VERDICT_SAME;
}

/* ---- what was measured then, and what is now */
typedef struct subject {
    const char *how, *models; /* static */
    char then[CONFIGURATION_SIZE], now[CONFIGURATION_SIZE], program[160], cores[96];
} subject;

static void describe_program(const eg_history_entry *entry, const baseline_settings *w,
                             subject *s) {
    char self[4096] = "", hash[EG_FILE_HASH_SIZE] = "";
    if (w->program) eg_file_hash(w->program, hash, NULL);
    else if (program_path(self, sizeof self)) eg_file_hash(self, hash, NULL);
    const bool same = hash[0] && strcmp(hash, entry->program_hash) == 0;
    snprintf(s->program, sizeof s->program, "elegans %.32s, %.16s: %s", entry->program_version,
             entry->program_hash,
             w->program ? (same ? "that of --program" : "not that of --program")
             : same     ? "this one"
                        : "another; --program runs both");
}

/* Affinity leaves the same cores, only fewer of them: it is told, not refused. */
static void describe_cores(const eg_history_entry *entry, const eg_environment *now, subject *s) {
    json *then = json_read_text(entry->environment);
    const double cores = json_number(json_get(then, "cores"), "value");
    s->cores[0] = 0;
    if (isfinite(cores) && now->cores.provenance != EG_UNAVAILABLE && cores != now->cores.value)
        snprintf(s->cores, sizeof s->cores, "%g then, %g now", cores, now->cores.value);
    json_free(then);
}

static void describe_models(const eg_history_entry *entry, bool same_file, subject *s) {
    const bool told = entry->configuration[0];
    snprintf(s->then, sizeof s->then, "%s", told ? entry->configuration : entry->model);
    s->models = same_file ? "the same"
                : !told   ? "another one"
                : strcmp(entry->configuration, s->now) == 0
                    ? "the same configuration, other weights"
                    : "another configuration";
}

static void tell_subject(const eg_history_entry *entry, const baseline_settings *w,
                         const subject *s) {
    if (entry->note[0]) print_row("note", entry->note, "");
    print_row("model", s->models, "");
    if (strcmp(w->model, entry->model) != 0) print_row("model then", entry->model, "");
    if (strcmp(s->then, s->now) != 0) {
        print_row("then", s->then, "");
        print_row("now", s->now, "");
    }
    if (s->cores[0]) print_row("cores", s->cores, "counted");
    print_row("program then", s->program, "");
}

static void put_subject(json *document, const eg_history_entry *entry, const subject *s) {
    json_put_text(document, "note", entry->note);
    json_put_text(document, "old_model", entry->model);
    json_put_text(document, "models", s->models);
    json_put_text(document, "old_configuration", entry->configuration);
    json_put_text(document, "configuration", s->now);
    json_put_text(document, "old_version", entry->program_version);
    json_put_text(document, "old_program_hash", entry->program_hash);
    json_put_text(document, "cores", s->cores);
}

static int tell(const baseline_settings *w, const eg_history_entry *entry, const subject *s,
                const trial *noise, const trial *t) {
    const double floor_ = noise_of(noise);
    const int code = t->result.verdict == EG_VERDICT_SLOWER ? EXIT_SLOWER : CLI_OK;
    if (w->json) {
        json *document = json_new_object();
        json_put_text(document, "baseline", w->name);
        json_put_text(document, "model", w->model);
        json_put_text(document, "how", s->how);
        put_subject(document, entry, s);
        json_put_number(document, "noise_floor", floor_);
        put_trial(document, "same_program_twice", noise);
        put_trial(document, "comparison", t);
        const int printed = json_print(document);
        return printed ? printed : code;
    }
    char value[96];
    print_title(w->name, w->model);
    snprintf(value, sizeof value, "%.1f %%", 100 * floor_);
    print_row("noise floor", value, "measured, the same program twice");
    print_trial("now", t, "measured");
    print_row("how", s->how, "");
    tell_subject(entry, w, s);
    return code;
}

/* The stored samples beside new ones. */
static int beside_stored(eg_context *context, const baseline_settings *w,
                         const eg_history_entry *entry, trial *t) {
    int code = CLI_OK;
    samples_add(&t->old_ones, entry->samples, entry->sample_count);
    for (uint64_t i = 0; !code && i < w->rounds; i++)
        code = baseline_profile(context, w, w->model, &t->new_ones, NULL);
    return code ? code : judge(context, w, t);
}

/* Whether `model` still is what the baseline measured; a spec always is. */
static bool is_as_then(const char *model, const eg_history_entry *entry) {
    char hash[EG_FILE_HASH_SIZE] = "";
    eg_file_hash(model, hash, NULL);
    return strcmp(hash, entry->model_hash) == 0;
}

/* Programs named by the history are never run, only those named on the command line. */
static int measure(eg_context *context, const baseline_settings *w, const eg_history_entry *entry,
                   subject *s, trial *noise, trial *t) {
    const bool same_name = strcmp(w->model, entry->model) == 0;
    const bool as_then = is_as_then(entry->model, entry);
    const side now = {NULL, w->model};
    int code = alternate(context, w, &now, &now, w->program != NULL, noise);
    describe_models(entry, is_as_then(w->model, entry) && (same_name || entry->model_hash[0]), s);
    if (code) return code;
    if (w->program) {
        s->how = "the program of --program and this one in turns, one model";
        return alternate(context, w, &(side){w->program, w->model}, &now, true, t);
    }
    if (!same_name && as_then) {
        s->how = "the model of the baseline and this one in turns";
        return alternate(context, w, &(side){NULL, entry->model}, &now, false, t);
    }
    s->how = "stored samples against new ones, taken under another load";
    return beside_stored(context, w, entry, t);
}

int baseline_compare(eg_context *context, eg_history *history, const baseline_settings *given) {
    eg_error error;
    eg_history_entry *entry;
    eg_environment environment;
    if (given->program && access(given->program, X_OK) != 0)
        return fail(EXIT_FAILED, "--program: '%s' is not an executable program", given->program);
    if (eg_history_get(history, given->name, &entry, &error)) return fail_with(&error);
    baseline_settings w = *given;
    subject s = {.how = ""};
    trial noise = {0}, t = {0};
    int code = CLI_OK;
    if (!w.model) w.model = entry->model;
    code = read_options(entry, &w);
    if (!w.rounds) w.rounds = ROUNDS;
    if (!w.runs) w.runs = RUNS;
    if (!code && (eg_environment_read(context, NULL, &environment, &error) ||
                  eg_environment_match(entry->fingerprint, environment.fingerprint, &error)))
        code = fail(EXIT_FAILED, "another machine: %s", error.message);
    if (!code) code = model_configuration(context, w.model, s.now);
    if (!code) {
        describe_program(entry, &w, &s);
        describe_cores(entry, &environment, &s);
        code = measure(context, &w, entry, &s, &noise, &t);
    }
    if (!code) {
        forgive_noise(&noise, &t);
        code = tell(&w, entry, &s, &noise, &t);
    }
    give_back(&noise);
    give_back(&t);
    eg_history_release(history, entry);
    return code;
}
