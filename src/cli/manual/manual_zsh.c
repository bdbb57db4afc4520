/* Completion of the program in zsh. */
#include "cli/manual/manual.h"

static void quoted(const char *text) {
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\'", stdout);
        if (*text == ':' || *text == '[' || *text == ']' || *text == '\\') putchar('\\');
        putchar(*text);
    }
}

static void begin(void) {
    printf("#compdef elegans\n"
           "# Completion of the elegans program in zsh: elegans completions zsh\n"
           "_elegans() {\n"
           "    local -a commands\n"
           "    commands=(\n");
    for (const command *c = cli_commands; c->name; c++) {
        printf("        '%s:", c->name);
        quoted(c->summary);
        printf("'\n");
    }
    printf("    )\n"
           "    if ((CURRENT == 2)); then\n"
           "        _describe command commands\n"
           "        _arguments '--help[explain the program]' '--version[print the version]'\n"
           "        return\n"
           "    fi\n"
           "    local command=${words[2]}\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $command in\n");
}

static void argument(const command *c, const option *o, const char *name) {
    char words[MANUAL_TEXT];
    const manual_value value = manual_value_of(c, o, words);
    printf(" \\\n            '%s[", name);
    quoted(o->text);
    printf("]");
    if (value != MANUAL_NONE) {
        putchar(':');
        quoted(o->argument);
        if (value == MANUAL_FILE) printf(":_files");
        else if (value == MANUAL_WORDS) printf(":(%s)", words);
        else putchar(':');
    }
    putchar('\'');
}

static void one(const command *c, const usage *use) {
    manual_line line;
    printf("    %s)\n        _arguments", c->name);
    for (const option *o = use->options; o->name; o++) {
        if (option_is_output(use, o)) argument(c, o, "-o");
        argument(c, o, o->name);
    }
    manual_line_of(c, use, &line);
    printf(" \\\n            '--help[explain the command]'");
    if (line.words[0]) printf(" \\\n            '%zu:what:(%s)'", line.place, line.words);
    if (line.files) printf(" \\\n            '*:file:_files'");
    printf("\n        ;;\n");
}

static void end(void) { printf("    esac\n}\n_elegans \"$@\"\n"); }

const manual_form manual_zsh = {"zsh", begin, one, end};
