/* Options of the commands: read from a table, explained from the same table. */
#include "cli/cli.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const char *running; /* the command */

void options_command(const char *name) { running = name; }

int fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("elegans: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    if (code == EXIT_USAGE)
        fprintf(stderr, "try 'elegans help%s%s'\n", running ? " " : "", running ? running : "");
    return code;
}

int fail_with(const eg_error *error) { return fail(EXIT_FAILED, "%s", error->message); }

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("elegans: warning: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* Lines that are indented stay lines; the others are paragraphs, however the source breaks them. */
static void print_about(const char *text) {
    char paragraph[4096];
    size_t length = 0;
    while (*text) {
        const size_t line = strcspn(text, "\n");
        const bool joins = length && text[0] != ' ' && paragraph[0] != ' ';
        if (length && !joins) {
            print_folded(paragraph, length, 0, paragraph[0] == ' ' ? 4 : 0, NULL);
            length = 0;
        }
        length += (size_t)snprintf(paragraph + length, sizeof paragraph - length, "%s%.*s",
                                   joins ? " " : "", (int)line, text);
        if (length >= sizeof paragraph) length = sizeof paragraph - 1;
        text += line + (text[line] == '\n');
    }
    print_folded(paragraph, length, 0, paragraph[0] == ' ' ? 4 : 0, NULL);
}

static void print_examples(const char *text) {
    while (*text) {
        const size_t line = strcspn(text, "\n");
        print_folded(text, line, 0, 6, " \\");
        text += line + (text[line] == '\n');
    }
}

bool option_there(const usage *use, const char *name) {
    for (const option *o = use->options; o->name; o++)
        if (strcmp(o->name, name) == 0) return true;
    return false;
}

bool option_is_output(const usage *use, const option *o) {
    return strcmp(o->name, "--output") == 0 && !option_there(use, "-o");
}

static void print_usage(const usage *use) {
    fputs("usage: elegans ", stdout);
    print_folded(use->line, strlen(use->line), 15, 15, "");
    putchar('\n');
    print_about(use->about);
    if (use->options->name) printf("\n%soptions%s\n", style_bold(), style_end());
    for (const option *o = use->options; o->name; o++) {
        char head[40];
        snprintf(head, sizeof head, "%s%s %s", option_is_output(use, o) ? "-o, " : "", o->name,
                 o->argument ? o->argument : "");
        printf("  %-20s ", head);
        print_folded(o->text, strlen(o->text), strlen(head) > 20 ? 3 + (int)strlen(head) : 23, 23,
                     NULL);
    }
    if (!use->examples) return;
    printf("\n%sexamples%s\n", style_bold(), style_end());
    print_examples(use->examples);
}

static usage_explainer *explainer = print_usage;

void options_explain(usage_explainer *with) { explainer = with ? with : print_usage; }

static int set(const option *o, const char *value) {
    if (o->kind == OPTION_TEXT) *(const char **)o->value = value;
    eg_error error;
    if (o->kind == OPTION_COUNT || o->kind == OPTION_WHOLE) {
        int64_t count;
        if (eg_integer_parse(value, strlen(value), o->kind == OPTION_COUNT, INT64_MAX, &count,
                             &error))
            return fail(EXIT_USAGE, "%s: %s", o->name, error.message);
        *(uint64_t *)o->value = (uint64_t)count;
    }
    if (o->kind == OPTION_NUMBER) {
        double number;
        if (eg_number_parse(value, strlen(value), &number, &error))
            return fail(EXIT_USAGE, "%s: %s", o->name, error.message);
        if (!isfinite(number)) return fail(EXIT_USAGE, "%s: '%s' is not finite", o->name, value);
        *(double *)o->value = number;
    }
    return CLI_OK;
}

static const char *option_at(void *user, size_t index) {
    return ((const usage *)user)->options[index].name;
}

/* One option at argv[*at], as "--name value" or "--name=value"; where there is --output, -o
 * means it. */
static int read_option(const usage *use, int argc, char **argv, int *at) {
    const char *text = argv[*at], *equals = strchr(text, '=');
    if (strcmp(text, "-o") == 0 && !option_there(use, "-o") && option_there(use, "--output"))
        text = "--output";
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    for (const option *o = use->options; o->name; o++) {
        if (strlen(o->name) != length || memcmp(o->name, text, length) != 0) continue;
        if (o->kind == OPTION_FLAG) {
            if (equals) return fail(EXIT_USAGE, "%s takes no value", o->name);
            *(bool *)o->value = true;
            return CLI_OK;
        }
        if (equals) return set(o, equals + 1);
        if (*at + 1 >= argc) return fail(EXIT_USAGE, "%s needs a value", o->name);
        return set(o, argv[++*at]);
    }
    char word[80], meant[EG_DID_YOU_MEAN_SIZE];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    return fail(EXIT_USAGE, "unknown option '%s'%s", text,
                eg_did_you_mean(meant, word, option_at, (void *)(uintptr_t)use));
}

int options_read(const usage *use, int argc, char **argv, int *rest) {
    *rest = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            explainer(use);
            return CLI_DONE;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            argv[(*rest)++] = argv[i];
            continue;
        }
        int code = read_option(use, argc, argv, &i);
        if (code) return code;
    }
    return CLI_OK;
}

/* "weight_decay" and "weight-decay" are both --weight-decay. */
static bool is_key(const char *key, const char *name) {
    for (name += 2; *name && *key; name++, key++)
        if (*name != (*key == '_' ? '-' : *key)) return false;
    return !*name && !*key;
}

/* The keys of a file are the options without their dashes. */
static const char *key_at(void *user, size_t index) {
    const char *name = option_at(user, index);
    return name ? name + 2 : NULL;
}

static int set_key(void *user, const char *key, const char *text) {
    const usage *use = user;
    for (const option *o = use->options; o->name; o++) {
        if (!is_key(key, o->name)) continue;
        if (o->kind != OPTION_FLAG) return set(o, text);
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return fail(EXIT_USAGE, "'%s' is true or false, not '%s'", key, text);
        *(bool *)o->value = text[0] == 't';
        return CLI_OK;
    }
    char meant[EG_DID_YOU_MEAN_SIZE];
    return fail(EXIT_USAGE, "unknown key '%s'%s", key, eg_did_you_mean(meant, key, key_at, user));
}

int options_config(const usage *use, const char *path, json **document) {
    char message[256];
    *document = json_read_texts(path, message);
    if (!*document) return fail(EXIT_FAILED, "%s: %s", path, message);
    return json_each_text(*document, set_key, (void *)(uintptr_t)use);
}

bool parse_bytes(const char *text, uint64_t *out) {
    size_t length = strlen(text);
    unsigned shift = 0;
    if (length) {
        switch (text[length - 1]) {
        case 'k':
        case 'K': shift = 10; break;
        case 'm':
        case 'M': shift = 20; break;
        case 'g':
        case 'G': shift = 30; break;
        }
        if (shift) length--;
    }
    int64_t value;
    if (eg_integer_parse(text, length, 1, INT64_MAX >> shift, &value, NULL)) return false;
    *out = (uint64_t)value << shift;
    return true;
}

static void print_log(void *user, eg_log_level level, const char *message) {
    (void)user;
    fprintf(stderr, "elegans: %s: %s\n", eg_log_level_name(level), message);
}

int context_open(const context_flags *flags, eg_context **out) {
    if (flags->threads > 256)
        return fail(EXIT_USAGE, "--threads: %llu is not within 1..256",
                    (unsigned long long)flags->threads);
    eg_context_options options = {.size = sizeof options,
                                  .threads = (unsigned)flags->threads,
                                  .isa = flags->isa,
                                  .system_root = flags->root,
                                  .weights_read = flags->no_map,
                                  .tuned = !flags->no_tuned,
                                  .memory_budget = flags->memory_budget,
                                  .log = print_log,
                                  .log_level = EG_LOG_WARNING};
    eg_error error;
    if (eg_context_create(&options, out, &error)) return fail_with(&error);
    return CLI_OK;
}

int isa_list(isa_names *out) {
    eg_context *context;
    eg_error error;
    eg_isa_info info = {.size = sizeof info};
    *out = (isa_names){.count = 0};
    if (eg_context_create(&(eg_context_options){.threads = 1}, &context, &error))
        return fail_with(&error);
    while (out->count < ISA_NAMES && eg_isa_list(context, out->count, &info, NULL) == EG_OK) {
        const size_t i = out->count++, used = strlen(out->text);
        out->name[i] = info.name;
        out->lanes[i] = info.lanes;
        out->usable[i] = info.usable;
        snprintf(out->text + used, sizeof out->text - used, "%s%s", i ? ", " : "", info.name);
    }
    eg_context_destroy(context);
    return CLI_OK;
}
