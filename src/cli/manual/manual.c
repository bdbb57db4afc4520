/* The commands and their options as tables see them, for every form of the manual. */
#include "cli/manual/manual.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

static void add(char words[MANUAL_TEXT], const char *format, ...) EG_PRINTF(2, 3);
static void add(char words[MANUAL_TEXT], const char *format, ...) {
    const size_t used = strlen(words);
    va_list arguments;
    va_start(arguments, format);
    if (used && used + 1 < MANUAL_TEXT) words[used] = ' ', words[used + 1] = 0;
    vsnprintf(words + strlen(words), MANUAL_TEXT - strlen(words), format, arguments);
    va_end(arguments);
}

/* ---- values: names that the library tells, or words */
static const char *missing_at(size_t i) { return eg_missing_name((eg_missing)i); }
static const char *loss_at(size_t i) { return eg_loss_name((eg_loss)i); }
static const char *pooling_at(size_t i) { return eg_pooling_name((eg_pooling)i); }
static const char *optimizer_at(size_t i) { return eg_optimizer_name((eg_optimizer_kind)i); }

static isa_names isas;
static const char *isa_at(size_t i) { return i < isas.count ? isas.name[i] : NULL; }

static const char *schedule_at(size_t i) { return eg_schedule_name((eg_schedule_kind)i); }

/* Chips of the table; names of two words are left to those who type them. */
static const char *chip_at(size_t i) {
    static char name[sizeof(((eg_chip_row *)0)->name)];
    eg_chip_row row;
    for (size_t k = 0; eg_chip_table_get(k, &row, NULL) == EG_OK; k++) {
        if (strchr(row.name, ' ') || i--) continue;
        snprintf(name, sizeof name, "%s", row.name);
        return name;
    }
    return NULL;
}

static const struct {
    const char *option, *command;      /* NULL = of all commands */
    const char *(*name)(size_t index); /* NULL = words alone */
    const char *words;
    bool files; /* or a file */
} values[] = {
    {"--missing", NULL, missing_at, NULL, false},
    {"--loss", NULL, loss_at, NULL, false},
    {"--optimizer", NULL, optimizer_at, NULL, false},
    {"--schedule", "train", schedule_at, NULL, false},
    {"--isa", NULL, isa_at, NULL, false},
    {"--unit", NULL, isa_at, "cores", false},
    {"--device", NULL, chip_at, "all", false},
    {"--preset", "info", chip_at, "all", false},
    {"--preset", NULL, chip_at, NULL, false},
    {"--batch", "train", NULL, "auto", false},
    {"--batch", "run", NULL, "auto", false},
    {"--batch", "profile", NULL, "auto", false},
    {"--cache", NULL, NULL, "f32 f16 int8", false},
    {"--dates", NULL, NULL, "iso mdy dmy", false},
    {"--decimal", NULL, NULL, ", .", false},
    {"--dtype", "train", NULL, "f32 bf16 f16", false},
    {"--dtype", "bench", NULL, "f32 f16 bf16 i8 i4", false},
    {"--encoding", NULL, NULL, "utf-8 latin1 windows-1252", false},
    {"--example", NULL, NULL, "mlp cfc gru", false},
    {"--per", NULL, NULL, "channel tensor block", false},
    {"--pooling", NULL, pooling_at, NULL, false},
    {"--sort", NULL, NULL, "time calls flops bytes intensity gflops gbps roof step", false},
    {"--split", NULL, NULL, "auto recordings time windows", false},
    {"--standardise", NULL, NULL, "both inputs targets none", false},
    {"--sweep", NULL, NULL, "batch= seq= type=", false},
    {"--time-unit", NULL, NULL, "median", false},
    {"--to", "export", NULL, "c", false},
    {"--to", "quantize", NULL, "f16 bf16 int8 int4", false},
    {"--validation", NULL, NULL, "none", true}};

static bool names_file(const char *argument) {
    return strstr(argument, "FILE") || strstr(argument, "DIR") || strstr(argument, "MODEL") ||
           strchr(argument, '.');
}

manual_value manual_value_of(const command *c, const option *o, char words[MANUAL_TEXT]) {
    words[0] = 0;
    if (o->kind == OPTION_FLAG) return MANUAL_NONE;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (strcmp(values[i].option, o->name) != 0) continue;
        if (values[i].command && strcmp(values[i].command, c->name) != 0) continue;
        if (values[i].words) add(words, "%s", values[i].words);
        for (size_t k = 0; values[i].name && values[i].name(k); k++)
            add(words, "%s", values[i].name(k));
        return values[i].files ? MANUAL_FILE : MANUAL_WORDS;
    }
    return o->argument && names_file(o->argument) ? MANUAL_FILE : MANUAL_ANY;
}

/* ---- commands */

/* The next part of a line between what brackets, bars and blanks cut; NULL past the end. */
static const char *next_part(const char *at, size_t *length) {
    at += strspn(at, " []|");
    *length = strcspn(at, " []|");
    return *length ? at : NULL;
}

static bool is_part(const char *part, size_t length, const char *text) {
    return strlen(text) == length && strncmp(part, text, length) == 0;
}

/* Words are of small letters, arguments of capitals; what follows an option is its value. */
void manual_line_of(const command *c, const usage *use, manual_line *out) {
    size_t length, arguments = 0;
    bool after_option = false;
    *out = (manual_line){.place = 1};
    for (const char *at = use->line; (at = next_part(at, &length)); at += length) {
        bool small = length > 1, large = length > 1;
        for (size_t i = 0; i < length; i++) {
            small = small && islower((unsigned char)at[i]);
            large = large && !islower((unsigned char)at[i]) && at[i] != '-';
        }
        const bool value = after_option;
        after_option = at[0] == '-' || (after_option && at[length] == '|');
        if (value || is_part(at, length, c->name) || is_part(at, length, "OPTIONS")) continue;
        if (is_part(at, length, "COMMAND")) {
            for (const command *each = cli_commands; each->name; each++)
                add(out->words, "%s", each->name);
        } else if (small) {
            if (!out->words[0]) out->place = arguments + 1;
            add(out->words, "%.*s", (int)length, at);
        } else if (at[0] != '-' && (large || memchr(at, '.', length))) {
            arguments++;
            out->files = true;
        }
    }
}

void manual_options(const usage *use, char words[MANUAL_TEXT]) {
    words[0] = 0;
    for (const option *o = use->options; o->name; o++) {
        if (option_is_output(use, o)) add(words, "-o");
        add(words, "%s", o->name);
    }
    add(words, "--help");
}

void manual_escape(const char *text, const char *special, const char *before) {
    for (; *text; text++) {
        if (strchr(special, *text)) fputs(before, stdout);
        putchar(*text);
    }
}

/* ---- asking each command for its help, which `form` writes */
static const manual_form *writing;
static const command *explained;

static void explain(const usage *use) { writing->command(explained, use); }

int manual_write(const manual_form *form) {
    const int code = isa_list(&isas);
    if (code) return code;
    writing = form;
    form->begin();
    options_explain(explain);
    for (explained = cli_commands; explained->name; explained++) {
        char name[32];
        snprintf(name, sizeof name, "%s", explained->name);
        char *arguments[] = {name, (char[]){"--help"}, NULL};
        explained->run(2, arguments);
    }
    options_explain(NULL);
    form->end();
    return CLI_OK;
}
