/* Has it become slower? First against itself, so that the noise of this machine is known. */
#include "baseline.h"
#include "program_path.h"

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

/* "batch=1 isa=avx2 seq=16 threads=1" back into a wish. */
static void read_options(const char *text, baseline_wish *w) {
    const struct {
        const char *key;
        uint64_t *value;
    } keys[] = {{"batch=", &w->batch}, {"seq=", &w->seq}, {"threads=", &w->threads}};
    for (size_t i = 0; i < 3; i++) {
        const char *at = strstr(text, keys[i].key);
        if (at) *keys[i].value = strtoull(at + strlen(keys[i].key), NULL, 10);
    }
}

static int judge(eg_context *context, const baseline_wish *w, trial *t) {
    const eg_compare_options options = {.alpha = w->alpha, .effect = w->effect};
    eg_error error;
    if (eg_compare(context, t->old_ones.count, t->old_ones.seconds, t->new_ones.count,
                   t->new_ones.seconds, &options, &t->result, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    return -1;
}

/* Rounds in turn; `old_program` NULL = this one, too. */
static int alternate(eg_context *context, const baseline_wish *w, const char *old_program,
                     trial *t) {
    char self[4096];
    int code = -1;
    const bool foreign = old_program && program_path(self, sizeof self);
    for (uint64_t round = 0; code < 0 && round < w->rounds; round++)
        for (int k = 0; code < 0 && k < 2; k++) {
            const bool old_turn = (k == 0) == (round % 2 == 0); /* ABBA */
            samples *to = old_turn ? &t->old_ones : &t->new_ones;
            code = foreign ? baseline_foreign(old_turn ? old_program : self, w, to)
                           : baseline_profile(context, w, to, NULL);
        }
    return code < 0 ? judge(context, w, t) : code;
}

static const char *verdict_text(eg_verdict verdict) {
    return verdict == EG_SLOWER ? "slower" : verdict == EG_FASTER ? "faster" : "the same";
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

/* How far two measurements of the same thing lie apart: the half-width of their interval, or more. */
static double noise_of(const trial *t) {
    const eg_interval *r = &t->result.ratio;
    return fmax(fabs(r->value - 1), (r->high - r->low) / 2);
}

/* A difference that the same program shows beside itself is none. */
static void forgive_noise(const trial *noise, trial *t) {
    if (fabs(t->result.ratio.value - 1) <= noise_of(noise)) t->result.verdict = EG_SAME;
}

static int tell(const baseline_wish *w, const char *how, const trial *noise, const trial *t) {
    const double floor_ = noise_of(noise);
    const int code = t->result.verdict == EG_SLOWER ? EXIT_SLOWER : EXIT_DONE;
    if (w->json) {
        json *document = json_new_object();
        json_put_text(document, "baseline", w->name);
        json_put_text(document, "model", w->model);
        json_put_text(document, "how", how);
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
    print_row("how", how, "");
    return code;
}

int baseline_compare(eg_context *context, eg_history *history, const baseline_wish *given) {
    eg_error error;
    eg_history_entry *entry;
    eg_environment environment;
    if (eg_history_get(history, given->name, &entry, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    baseline_wish w = *given;
    char self[4096] = "", hash[EG_FILE_HASH_SIZE] = "", old_hash[EG_FILE_HASH_SIZE] = "";
    const char *how;
    int code = -1;
    if (!w.model) w.model = entry->model;
    read_options(entry->options, &w);
    if (!w.rounds) w.rounds = ROUNDS;
    if (!w.runs) w.runs = RUNS;
    if (eg_environment_read(context, NULL, &environment, &error) ||
        eg_environment_match(entry->fingerprint, environment.fingerprint, &error))
        code = fail(EXIT_FAILED, "another machine: %s", error.message);
    trial noise = {0}, t = {0};
    char model_hash[EG_FILE_HASH_SIZE] = ""; /* stays so for a spec */
    if (program_path(self, sizeof self)) eg_file_hash(self, hash, NULL);
    eg_file_hash(entry->program, old_hash, NULL);
    eg_file_hash(w.model, model_hash, NULL);
    const bool there = old_hash[0] && strcmp(old_hash, entry->program_hash) == 0;
    const bool in_turns = there && strcmp(hash, old_hash) != 0;
    if (code < 0 && !in_turns &&
        (strcmp(w.model, entry->model) != 0 || strcmp(model_hash, entry->model_hash) != 0))
        code =
            fail(EXIT_FAILED, "another model than that of the baseline, and its program is gone");
    if (code < 0) code = alternate(context, &w, in_turns ? self : NULL, &noise);
    if (in_turns) {
        how = "old and new program in turns";
        if (code < 0) code = alternate(context, &w, entry->program, &t);
    } else {
        bool no_memory = false;
        how = there ? "the same program: stored samples beside new ones"
                    : "the old program is gone: stored samples, which other neighbours disturbed";
        samples_add(&t.old_ones, entry->samples, entry->sample_count, &no_memory);
        for (uint64_t i = 0; code < 0 && i < w.rounds; i++)
            code = baseline_profile(context, &w, &t.new_ones, NULL);
        if (code < 0 && no_memory) code = fail(EXIT_FAILED, "no memory");
        if (code < 0) code = judge(context, &w, &t);
    }
    if (code < 0) {
        forgive_noise(&noise, &t);
        code = tell(&w, how, &noise, &t);
    }
    give_back(&noise);
    give_back(&t);
    eg_history_release(history, entry);
    return code;
}
