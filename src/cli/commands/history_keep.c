/* A profile goes into the history, with all that a later comparison wants to know. */
#include "cli/commands/baseline.h"
#include "cli/program_path.h"

#include <stdarg.h>
#include <stdlib.h>

/* ---- the configuration of a model: what stays when it is trained again */
static size_t add(char *out, size_t used, const char *format, ...) EG_PRINTF(3, 4);
static size_t add(char *out, size_t used, const char *format, ...) {
    va_list list;
    if (used >= CONFIGURATION_SIZE) return used;
    va_start(list, format);
    const int length = vsnprintf(out + used, CONFIGURATION_SIZE - used, format, list);
    va_end(list);
    return length < 0 ? used : used + (size_t)length;
}

static size_t add_layer(char *out, size_t used, const eg_layer_info *l) {
    used = add(out, used, "%s%s%s", used ? ", " : "", l->cell, l->mixed ? " mixed" : "");
    if (l->mode) used = add(out, used, " %s", l->mode);
    if (l->wiring) used = add(out, used, " %s", l->wiring);
    used = add(out, used, " %llu-%llu-%llu", (unsigned long long)l->inputs,
               (unsigned long long)l->units, (unsigned long long)l->outputs);
    if (l->synapses) used = add(out, used, ", %llu synapses", (unsigned long long)l->synapses);
    for (size_t i = 0; i < l->backbone_count; i++)
        used = add(out, used, "%s%llu", i ? "x" : " backbone ", (unsigned long long)l->backbone[i]);
    if (l->merge) used = add(out, used, " both ways %s", l->merge);
    return used;
}

int model_configuration(eg_context *context, const char *name, char out[CONFIGURATION_SIZE]) {
    eg_error error;
    eg_model *model;
    eg_model_info info = {.size = sizeof info};
    eg_transformer_info t = {.size = sizeof t};
    eg_layer_info layer = {.size = sizeof layer};
    size_t used = 0;
    out[0] = 0;
    if (eg_model_open(context, name, &model, &error)) return fail_with(&error);
    eg_model_info_get(model, &info);
    if (eg_model_transformer(model, &t, NULL) == EG_OK)
        used = add(out, used, "%s %llu layers of %llu, %llu heads, vocabulary %llu, %s", t.family,
                   (unsigned long long)t.layers, (unsigned long long)t.width,
                   (unsigned long long)t.heads, (unsigned long long)t.vocabulary, t.numbers);
    else
        for (size_t i = 0; i < info.layers && !eg_model_layer(model, i, &layer, NULL); i++)
            used = add_layer(out, used, &layer);
    /* the type of the numbers decides about time as the sizes do */
    if (info.kind == EG_MODEL_LIQUID && eg_model_count(model))
        used = add(out, used, ", %s", eg_model_numbers(model, 0, NULL));
    add(out, used, ", %llu parameters", (unsigned long long)info.parameters);
    eg_model_destroy(model);
    return CLI_OK;
}

/* ---- keeping */
static json *environment_json(const eg_environment *e) {
    json *object = json_new_object();
#define FACT(name, about)   json_put_text(object, #name, e->name.text);
#define METRIC(name, about) json_put_metric(object, #name, &e->name);
    EG_ENVIRONMENT_FACT_MAP(FACT)
    EG_ENVIRONMENT_METRIC_MAP(METRIC)
#undef FACT
#undef METRIC
    return object;
}

int history_keep(eg_context *context, eg_history *history, const baseline_settings *w,
                 const eg_environment *environment, const eg_profile *profile,
                 const eg_analysis *analysis) {
    eg_error error;
    char program[4096] = "", options[OPTIONS_SIZE], configuration[CONFIGURATION_SIZE];
    char hash[EG_FILE_HASH_SIZE] = "", model_hash[EG_FILE_HASH_SIZE] = "";
    const double *seconds;
    int code = model_configuration(context, w->model, configuration);
    if (code) return code;
    const size_t count = eg_profile_samples(profile, &seconds);
    if (program_path(program, sizeof program)) eg_file_hash(program, hash, NULL);
    eg_file_hash(w->model, model_hash, NULL); /* "" for a spec */
    options_text(context, w, options);
    eg_report *document = NULL;
    const eg_report_options how = {.size = sizeof how, .format = EG_REPORT_JSON, .digits = 17};
    if (eg_report_of_profile(profile, analysis, &how, &document, &error))
        return fail(EXIT_FAILED, "cannot write JSON: %s", error.message);
    json *about = environment_json(environment);
    char *facts = json_dump_text(about);
    const eg_history_entry entry = {.name = w->name,
                                    .model = w->model,
                                    .model_hash = model_hash,
                                    .options = options,
                                    .fingerprint = environment->fingerprint,
                                    .environment = facts,
                                    .program = program,
                                    .program_hash = hash,
                                    .program_version = eg_version(),
                                    .sample_count = count,
                                    .samples = seconds,
                                    .json = eg_report_text(document, NULL),
                                    .configuration = configuration,
                                    .note = w->note};
    if (!facts) code = EXIT_FAILED; /* said before */
    else if (eg_history_add(history, &entry, w->replace, NULL, &error)) code = fail_with(&error);
    free(facts);
    eg_report_destroy(document);
    json_free(about);
    return code;
}
