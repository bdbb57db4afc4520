/* Options of the commands: read from a table, explained from the same table. */
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

int fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("elegans: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    if (code == EXIT_USAGE) fputs("try 'elegans help'\n", stderr);
    return code;
}

static void print_usage(const usage *use) {
    printf("usage: elegans %s\n\n%s\n", use->line, use->about);
    if (use->options->name) printf("\n%soptions%s\n", style_bold(), style_end());
    for (const option *o = use->options; o->name; o++) {
        char head[40];
        snprintf(head, sizeof head, "%s %s", o->name, o->argument ? o->argument : "");
        printf("  %-20s %s\n", head, o->text);
    }
    if (use->examples) printf("\n%sexamples%s\n%s", style_bold(), style_end(), use->examples);
}

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
        double *number = o->value;
        if (eg_number_parse(value, strlen(value), number, &error))
            return fail(EXIT_USAGE, "%s: %s", o->name, error.message);
        if (!isfinite(*number)) return fail(EXIT_USAGE, "%s: '%s' is not finite", o->name, value);
    }
    return -1;
}

/* One option at argv[*at], as "--name value" or "--name=value". */
static int read_option(const usage *use, int argc, char **argv, int *at) {
    const char *text = argv[*at], *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    for (const option *o = use->options; o->name; o++) {
        if (strlen(o->name) != length || memcmp(o->name, text, length) != 0) continue;
        if (o->kind == OPTION_FLAG) {
            if (equals) return fail(EXIT_USAGE, "%s takes no value", o->name);
            *(bool *)o->value = true;
            return -1;
        }
        if (equals) return set(o, equals + 1);
        if (*at + 1 >= argc) return fail(EXIT_USAGE, "%s needs a value", o->name);
        return set(o, argv[++*at]);
    }
    return fail(EXIT_USAGE, "unknown option '%s'", text);
}

int options_read(const usage *use, int argc, char **argv, int *rest) {
    *rest = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(use);
            return EXIT_DONE;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            argv[(*rest)++] = argv[i];
            continue;
        }
        int code = read_option(use, argc, argv, &i);
        if (code >= 0) return code;
    }
    return -1;
}

/* "weight_decay" and "weight-decay" are both --weight-decay. */
static bool is_key(const char *key, const char *name) {
    for (name += 2; *name && *key; name++, key++)
        if (*name != (*key == '_' ? '-' : *key)) return false;
    return !*name && !*key;
}

static int set_key(void *user, const char *key, const char *text) {
    const usage *use = user;
    for (const option *o = use->options; o->name; o++) {
        if (!is_key(key, o->name)) continue;
        if (o->kind != OPTION_FLAG) return set(o, text);
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return fail(EXIT_USAGE, "'%s' is true or false, not '%s'", key, text);
        *(bool *)o->value = text[0] == 't';
        return -1;
    }
    return fail(EXIT_USAGE, "unknown key '%s'", key);
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
                                  .log = print_log,
                                  .log_level = EG_LOG_WARNING};
    eg_error error;
    if (eg_context_create(out, &options, &error)) return fail(EXIT_FAILED, "%s", error.message);
    return -1;
}
