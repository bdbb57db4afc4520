/* Samples for baselines: in this program, or in another build that the command line names. */
#include "cli/commands/baseline.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void samples_add(samples *s, const double *seconds, size_t count) {
    if (s->count + count > s->room) {
        s->room = 2 * (s->count + count);
        s->seconds = take_more(s->seconds, s->room * sizeof *s->seconds);
    }
    memcpy(s->seconds + s->count, seconds, count * sizeof *seconds);
    s->count += count;
}

int baseline_profile(eg_context *context, const baseline_settings *w, const char *name,
                     samples *out, eg_profile **profile) {
    eg_error error;
    eg_model *model;
    eg_profile *made = NULL;
    const eg_profile_options options = {.batch = w->batch,
                                        .seq = w->seq,
                                        .runs = w->runs,
                                        .warmup = w->warmup,
                                        .no_ceilings = !profile,
                                        .no_cache = 1};
    if (eg_model_open(context, name, &model, &error)) return fail_with(&error);
    int code = CLI_OK;
    if (eg_profile_model(model, name, &options, &made, &error)) code = fail_with(&error);
    if (!code) {
        const double *seconds;
        const size_t count = eg_profile_samples(made, &seconds);
        samples_add(out, seconds, count);
    }
    if (!code && profile) *profile = made;
    else eg_profile_destroy(made);
    eg_model_destroy(model);
    return code;
}

/* ---- another program */
static void put(char **at, const char *name, uint64_t value, char texts[][24], int *used) {
    if (!value) return;
    snprintf(texts[*used], sizeof texts[0], "%llu", (unsigned long long)value);
    at[0] = (char *)(uintptr_t)name;
    at[1] = texts[(*used)++];
}

static void run_foreign(const char *program, const baseline_settings *w, const char *output) {
    char texts[6][24];
    int used = 0;
    char *arguments[24] = {(char *)(uintptr_t)program, "profile", (char *)(uintptr_t)w->model,
                           "--output", (char *)(uintptr_t)output};
    const struct {
        const char *name;
        uint64_t value;
    } options[] = {{"--batch", w->batch},
                   {"--seq", w->seq},
                   {"--runs", w->runs},
                   {"--warmup", w->warmup},
                   {"--threads", w->threads ? w->threads : 1}};
    int count = 5;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!options[i].value) continue;
        put(arguments + count, options[i].name, options[i].value, texts, &used);
        count += 2;
    }
    if (w->isa) {
        arguments[count++] = "--isa";
        arguments[count++] = (char *)(uintptr_t)w->isa;
    }
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) _exit(127);
    execv(program, arguments);
    _exit(127);
}

int baseline_foreign(const char *program, const baseline_settings *w, samples *out) {
    char path[1024], message[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/elegans-baseline-XXXXXX",
             folder && folder[0] ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file < 0) return fail(EXIT_FAILED, "no temporary file");
    close(file);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) run_foreign(program, w, path);
    int status = 0, code = CLI_OK;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0)
        code = fail(EXIT_FAILED, "'%s' could not be measured", program);
    json *run = !code ? json_read_file(path, message) : NULL;
    unlink(path);
    const json *list = json_get(json_get(run, "time"), "samples");
    for (size_t i = 0; i < json_length(list); i++) {
        const double seconds = json_item_number(list, i);
        samples_add(out, &seconds, 1);
    }
    if (!code && !json_length(list)) code = fail(EXIT_FAILED, "'%s' gave no samples", program);
    json_free(run);
    return code;
}

/* ---- texts */
void options_text(eg_context *context, const baseline_settings *w, char out[OPTIONS_SIZE]) {
    snprintf(out, OPTIONS_SIZE, "batch=%llu isa=%s seq=%llu threads=%u%s",
             (unsigned long long)(w->batch ? w->batch : 1), eg_context_isa(context),
             (unsigned long long)(w->seq ? w->seq : 1), eg_context_threads(context),
             w->no_compile ? " passes=none" : "");
}
