/* elegans export: a model as plain C source. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static void print_bytes(const char *name, uint64_t bytes) {
    char text[48];
    snprintf(text, sizeof text, "%llu bytes", (unsigned long long)bytes);
    print_row(name, text, "counted");
}

static int print_json(const char *directory, const char *name, const eg_export_info *info) {
    json *document = json_new_object();
    json_put_text(document, "directory", directory);
    json_put_text(document, "name", name);
    json_put_count(document, "code_lines", info->code_lines);
    json_put_count(document, "weight_bytes", info->weight_bytes);
    json_put_count(document, "state_bytes", info->state_bytes);
    json_put_count(document, "arena_bytes", info->arena_bytes);
    json_put_text(document, "provenance", "counted");
    return json_print(document);
}

static void print_text(const char *directory, const char *name, const eg_export_info *info) {
    char text[300];
    snprintf(text, sizeof text, "%s/%s.c, %s.h", directory, name, name);
    print_title(text, "C99, no dependencies but libm");
    print_bytes("weights", info->weight_bytes);
    print_bytes("state", info->state_bytes);
    print_bytes("working memory", info->arena_bytes);
    snprintf(text, sizeof text, "%llu lines", (unsigned long long)info->code_lines);
    print_row("code", text, "counted");
    printf("\n  #include \"%s.h\"\n  static %s robot;      /* all its memory */\n"
           "  %s_init(&robot);\n  %s_step(&robot, x, &elapsed, y);\n",
           name, name, name, name);
}

static int export_model(eg_context *context, const char *model_name, const char *directory,
                        const char *name, bool as_json) {
    eg_model *model;
    eg_error error;
    eg_export_info info;
    if (eg_model_open(context, model_name, &model, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    int code = EXIT_DONE;
    if (mkdir(directory, 0777) && errno != EEXIST)
        code = fail(EXIT_FAILED, "cannot make '%s': %s", directory, strerror(errno));
    else if (eg_model_export_c(model, directory, name, &info, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    else if (as_json) code = print_json(directory, name, &info);
    else print_text(directory, name, &info);
    eg_model_destroy(model);
    return code;
}

int cmd_export(int argc, char **argv) {
    const char *to = "c", *directory = NULL, *name = "model";
    bool as_json = false;
    context_flags flags = {.threads = 1};
    const option options[] = {
        {"--to", OPTION_TEXT, &to, "FORMAT", "c: C99 source"},
        {"-o", OPTION_TEXT, &directory, "DIR", "folder for NAME.c and NAME.h"},
        {"--name", OPTION_TEXT, &name, "NAME",
         "of the files, the struct and the functions (model)"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print the figures as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "export MODEL -o DIR [--to c] [--name NAME] [--json]",
        "Writes one step of a model as C source: no allocation, static memory, weights as\n"
        "constant arrays, for microcontrollers as well. MODEL is a file or a spec.",
        options,
        "  elegans export policy.safetensors -o firmware --name policy\n"
        "  elegans export cfc:autoncp:16:2,in=4 -o firmware\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code >= 0) return code;
    if (rest != 1 || !directory) return fail(EXIT_USAGE, "export needs a model and -o DIR");
    if (strcmp(to, "c") != 0) return fail(EXIT_USAGE, "unknown format '%s': c", to);
    eg_context *context;
    code = context_open(&flags, &context);
    if (code >= 0) return code;
    code = export_model(context, argv[0], directory, name, as_json);
    eg_context_destroy(context);
    return code;
}
