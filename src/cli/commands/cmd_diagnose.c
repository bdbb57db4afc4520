/* elegans diagnose: what slows models down here. */
#include "cli/cli.h"

#include <string.h>

static void print_items(const eg_diagnosis *d, size_t from, size_t to) {
    static const char *const marks[] = {"ok", "!!", "??"};
    char text[320];
    for (size_t i = from; i < to; i++) {
        const eg_diagnosis_item *item = &d->item[i];
        const bool known = item->provenance != EG_UNAVAILABLE;
        snprintf(text, sizeof text, "%s%s%s%s", item->text, known ? " (" : "",
                 known ? eg_provenance_name(item->provenance) : "", known ? ")" : "");
        printf("  %s %-17s ", marks[item->health], item->name);
        print_folded(text, strlen(text), 23, 23, NULL);
        if (!item->advice[0]) continue;
        printf("%23s-> ", "");
        print_folded(item->advice, strlen(item->advice), 26, 26, NULL);
    }
}

static json *items_json(const eg_diagnosis *d, size_t from, size_t to) {
    json *list = json_new_list();
    for (size_t i = from; i < to; i++) {
        const eg_diagnosis_item *item = &d->item[i];
        json *object = json_new_object();
        json_put_text(object, "name", item->name);
        json_put_text(object, "health", eg_health_name(item->health));
        json_put_text(object, "text", item->text);
        json_put_text(object, "advice", item->advice);
        json_put_text(object, "provenance", eg_provenance_name(item->provenance));
        json_append(list, object);
    }
    return list;
}

static int tell(const eg_diagnosis *d, const eg_chip *chip, bool as_json) {
    if (as_json) {
        json *document = json_new_object();
        json_put(document, "findings", items_json(d, 0, d->findings));
        json_put(document, "checklist", items_json(d, d->findings, d->count));
        return json_print(document);
    }
    print_title(chip->name, "ok, !! = something is wrong, ?? = cannot be known");
    print_items(d, 0, d->findings);
    print_section("checklist", "");
    print_items(d, d->findings, d->count);
    return CLI_OK;
}

static int look(eg_context *context, const char *name, const eg_profile_options *options,
                bool as_json) {
    eg_error error;
    eg_environment environment;
    eg_diagnosis diagnosis;
    eg_model *model = NULL;
    eg_profile *profile = NULL;
    int code = CLI_OK;
    if (eg_environment_read(context, NULL, &environment, &error) ||
        (name && eg_model_open(context, name, &model, &error)) ||
        (name && eg_profile_model(model, name, options, &profile, &error)))
        code = fail_with(&error);
    if (!code) {
        eg_diagnose(&environment, eg_context_chip(context), profile, &diagnosis);
        code = tell(&diagnosis, eg_context_chip(context), as_json);
    }
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    return code;
}

int cmd_diagnose(int argc, char **argv) {
    eg_profile_options o = {0}; /* as elegans profile does, so that both say the same */
    context_flags flags = {.threads = 1};
    bool as_json = false;
    const option options[] = {
        {"--batch", OPTION_COUNT, &o.batch, "N", "batch size (default: 1)"},
        {"--seq", OPTION_COUNT, &o.seq, "N", "time steps of a sample (default: 1)"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "diagnose [MODEL] [OPTIONS]",
        "Looks for what slows models down on this machine: memory, governor, other load,\n"
        "swap, denormals, a debug build; with a model also data types, batch, fusion, copies\n"
        "and leaks. Ends with a checklist, each item ok, !! or ?? (cannot be known, and why).",
        options, "  elegans diagnose\n  elegans diagnose policy.safetensors --batch 32 --seq 64\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest > 1) return fail(EXIT_USAGE, "diagnose takes one model");
    if (as_json && !json_usable()) return json_print(NULL);
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    code = look(context, rest ? argv[0] : NULL, &o, as_json);
    eg_context_destroy(context);
    return code;
}
