/* elegans convert: a spec, or tensors and an architecture, become one model file. */
#include "cli/cli.h"
#include "cli/commands/language.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_MAX = 64 << 20 };

/* The text of a file, terminated; the caller frees it. */
static int read_text(const char *path, char **out) {
    FILE *file = fopen(path, "rb");
    if (!file) return fail(EXIT_FAILED, "cannot read '%s': %s", path, strerror(errno));
    size_t used = 0, room = 0, found = 1;
    char *text = NULL;
    bool failed = false;
    while (found && !failed && used < CONFIG_MAX) {
        if (room - used < 2) {
            char *larger = realloc(text, room = room ? 2 * room : 4096);
            failed = !larger;
            if (larger) text = larger;
        }
        if (!failed) used += found = fread(text + used, 1, room - used - 1, file);
    }
    failed = failed || ferror(file);
    fclose(file);
    if (failed || used >= CONFIG_MAX) {
        free(text);
        return fail(EXIT_FAILED, "cannot read '%s' as an architecture", path);
    }
    text[used] = 0;
    *out = text;
    return CLI_OK;
}

static int convert(eg_context *context, const char *from, const char *config, const char *to) {
    char *text = NULL;
    eg_error error;
    eg_model *model = NULL;
    int code = config ? read_text(config, &text) : CLI_OK;
    if (code) return code;
    eg_status status = text ? eg_model_load(context, from, text, &model, &error)
                            : eg_model_open(context, from, &model, &error);
    if (!status) status = eg_model_widen(model, &error);
    if (!status && !config) code = language_note(model, from);
    if (!status && !code) status = eg_model_save(model, to, &error);
    free(text);
    if (status) code = fail_with(&error);
    else if (!code) {
        char value[64], bytes[32];
        eg_model_info info = {.size = sizeof info};
        eg_model_info_get(model, &info);
        print_title(to, "");
        snprintf(value, sizeof value, "%llu, %s", (unsigned long long)info.parameters,
                 format_bytes(bytes, info.parameters * sizeof(float)));
        print_row("parameters", value, "counted");
    }
    eg_model_destroy(model);
    return code;
}

int cmd_convert(int argc, char **argv) {
    const char *output = NULL, *config = NULL;
    context_flags flags = {.threads = 1};
    const option options[] = {
        {"--output", OPTION_TEXT, &output, "FILE", "the model file to write: .safetensors"},
        {"--config", OPTION_TEXT, &config, "FILE", "the architecture as JSON, if IN has none"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "convert IN -o OUT.safetensors [--config FILE.json]",
        "Writes a model as one safetensors file with its architecture in the metadata. IN is\n"
        "a spec, a model file, or the state-dict of an ncps model as .safetensors or .npz\n"
        "(numpy.savez(path, **{k: v.numpy() for k, v in model.state_dict().items()})), for\n"
        "which --config has the arguments of the model: {\"model\": \"CfC\", \"input_size\": 4,\n"
        "\"units\": 8}.",
        options,
        "  elegans convert cfc:autoncp:64:16,in=16,seed=1 -o policy.safetensors\n"
        "  elegans convert trained.npz --config model.json -o policy.safetensors\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "convert needs one model: a file or a spec");
    if (!output) return fail(EXIT_USAGE, "convert needs an output: -o OUT.safetensors");
    if ((code = output_model(output)) != CLI_OK) return code;
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    code = convert(context, argv[0], config, output);
    eg_context_destroy(context);
    return code;
}
