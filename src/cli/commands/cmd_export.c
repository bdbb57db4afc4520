/* elegans export: a model as plain C source. */
#include "cli/commands/run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static void print_bytes(const char *name, uint64_t bytes) {
    char text[48];
    print_row(name, format_count(text, bytes, "byte"), "counted");
}

typedef struct settings {
    const char *model, *against, *directory, *name;
    bool raw, json;
} settings;

static int print_json(const settings *w, const eg_export_info *info,
                      const run_difference *difference) {
    json *document = json_new_object();
    json_put_text(document, "directory", w->directory);
    json_put_text(document, "name", w->name);
    json_put_count(document, "code_lines", info->code_lines);
    json_put_count(document, "weight_bytes", info->weight_bytes);
    json_put_count(document, "state_bytes", info->state_bytes);
    json_put_count(document, "arena_bytes", info->arena_bytes);
    json_put_text(document, "provenance", "counted");
    if (w->against) {
        json *outputs = json_new_object();
        json_put_text(outputs, "against", w->against);
        run_put_outputs(outputs, &(run_settings){0}, difference);
        json_put(document, "outputs", outputs);
    }
    return json_print(document);
}

static void print_text(const settings *w, const eg_export_info *info,
                       const run_difference *difference) {
    char text[300], lines[48];
    const char *name = w->name;
    snprintf(text, sizeof text, "%s/%s.c, %s.h", w->directory, name, name);
    print_title(text, "C99, no dependencies but libm");
    print_bytes("weights", info->weight_bytes);
    print_bytes("state", info->state_bytes);
    print_bytes("working memory", info->arena_bytes);
    print_row("code", format_count(lines, info->code_lines, "line"), "counted");
    if (w->against) run_print_difference(difference);
    printf("\n  #include \"%s.h\"\n  static %s robot;      /* all its memory */\n"
           "  %s_init(&robot);\n  %s_step(&robot, x, &elapsed, y);\n",
           name, name, name, name);
}

/* The model as the library runs it, which is what the source computes, against another one. */
static int compare(eg_context *context, const settings *w, const eg_model *model,
                   run_difference *difference) {
    eg_model *against;
    eg_error error;
    eg_model_info a = {.size = sizeof a}, b = {.size = sizeof b};
    if (eg_model_open(context, w->against, &against, &error))
        return fail(EXIT_FAILED, "--against: %s", error.message);
    if (w->raw) eg_model_link_set(against, EG_LINK_IDENTITY, NULL);
    eg_model_info_get(against, &a);
    eg_model_info_get(model, &b);
    int code;
    if (a.inputs != b.inputs || a.outputs != b.outputs || a.state != b.state)
        code = fail(EXIT_FAILED, "'%s' and '%s' differ in inputs, outputs or state", w->against,
                    w->model);
    else code = run_compare(context, &(run_settings){0}, against, model, difference);
    eg_model_destroy(against);
    return code;
}

static int write_files(const settings *w, eg_model *model, eg_export_info *info) {
    eg_error error;
    if (mkdir(w->directory, 0777) && errno != EEXIST)
        return fail(EXIT_FAILED, "cannot create '%s': %s", w->directory, strerror(errno));
    if (eg_model_export_c(model, w->directory, w->name, info, &error)) return fail_with(&error);
    return CLI_OK;
}

static int export_model(eg_context *context, const settings *w) {
    eg_model *model;
    eg_error error;
    eg_export_info info = {.size = sizeof info};
    run_difference difference = {0};
    if (eg_model_open(context, w->model, &model, &error)) return fail_with(&error);
    if (w->raw) eg_model_link_set(model, EG_LINK_IDENTITY, NULL);
    int code = w->against ? compare(context, w, model, &difference) : CLI_OK;
    if (!code) code = write_files(w, model, &info);
    if (!code) {
        if (w->json) code = print_json(w, &info, &difference);
        else print_text(w, &info, &difference);
    }
    eg_model_destroy(model);
    return code;
}

int cmd_export(int argc, char **argv) {
    const char *to = "c";
    settings w = {.name = "model"};
    context_flags flags = {.threads = 1};
    const option options[] = {
        {"--to", OPTION_TEXT, &to, "FORMAT", "c: C99 source"},
        {"-o", OPTION_TEXT, &w.directory, "DIR", "folder for NAME.c and NAME.h"},
        {"--name", OPTION_TEXT, &w.name, "NAME",
         "of the files, the struct and the functions (model)"},
        {"--against", OPTION_TEXT, &w.against, "MODEL",
         "compare outputs with this model, before it was quantized"},
        {"--raw", OPTION_FLAG, &w.raw, NULL, "logits instead of probabilities"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print the figures as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "export MODEL -o DIR [--to c] [--name NAME] [--against MODEL] [--raw] [--json]",
        "Writes one step of a model as C source: no allocation, static memory, weights as\n"
        "constant arrays, for microcontrollers as well. MODEL is a file or a spec. Weights of\n"
        "a quantized model stay quantized.",
        options,
        "  elegans export policy.safetensors -o firmware --name policy\n"
        "  elegans export small.safetensors -o firmware --against policy.safetensors\n"
        "  elegans export cfc:autoncp:16:2,in=4 -o firmware\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1 || !w.directory) return fail(EXIT_USAGE, "export needs a model and -o DIR");
    if (strcmp(to, "c") != 0) return fail(EXIT_USAGE, "unknown format '%s': c", to);
    w.model = argv[0];
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    code = export_model(context, &w);
    eg_context_destroy(context);
    return code;
}
