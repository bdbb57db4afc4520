/* Completion of the program in fish. */
#include "cli/manual/manual.h"

#include <string.h>

static void described(const char *text) {
    printf(" -d '");
    manual_escape(text, "'\\", "\\");
    printf("'\n");
}

static void begin(void) {
    printf("# Completion of the elegans program in fish: elegans completions fish\n"
           "complete -c elegans -n __fish_use_subcommand -f\n");
    for (const command *c = cli_commands; c->name; c++) {
        printf("complete -c elegans -n __fish_use_subcommand -a %s", c->name);
        described(c->summary);
    }
    printf("complete -c elegans -n __fish_use_subcommand -l help -d 'explain the program'\n"
           "complete -c elegans -n __fish_use_subcommand -l version -d 'print the version'\n");
}

static void named(const command *c, const option *o, const char *name) {
    static const char *const takes[] = {
        [MANUAL_NONE] = "", [MANUAL_ANY] = " -x", [MANUAL_FILE] = " -r -F", [MANUAL_WORDS] = " -x"};
    char words[MANUAL_TEXT];
    const manual_value value = manual_value_of(c, o, words);
    const bool is_long = strncmp(name, "--", 2) == 0;
    printf("complete -c elegans -n '__fish_seen_subcommand_from %s' %s %s%s", c->name,
           is_long             ? "-l"
           : strlen(name) == 2 ? "-s"
                               : "-o",
           name + (is_long ? 2 : 1), takes[value]);
    if (words[0]) printf(" -a '%s'", words);
    described(o->text);
}

static void one(const command *c, const usage *use) {
    manual_line line;
    for (const option *o = use->options; o->name; o++) {
        if (option_is_output(use, o)) named(c, o, "-o");
        named(c, o, o->name);
    }
    manual_line_of(c, use, &line);
    if (line.words[0])
        printf("complete -c elegans -n '__fish_seen_subcommand_from %s' -a '%s'\n", c->name,
               line.words);
    printf("complete -c elegans -n '__fish_seen_subcommand_from %s' -l help", c->name);
    described("explain the command");
}

static void end(void) {}

const manual_form manual_fish = {"fish", begin, one, end};
