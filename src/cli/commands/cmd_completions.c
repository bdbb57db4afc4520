/* elegans completions: the completions of shells, made of the option tables. */
#include "cli/manual/manual.h"

#include <string.h>

int cmd_completions(int argc, char **argv) {
    static const manual_form *const shells[] = {&manual_bash, &manual_zsh, &manual_fish};
    static const option options[] = {{NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "completions bash|zsh|fish",
        "Prints a completion script for commands, options and their values. 'make install'\n"
        "installs it.",
        options,
        "  . <(elegans completions bash)\n"
        "  elegans completions fish > ~/.config/fish/completions/elegans.fish\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "completions needs a shell: bash, zsh or fish");
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i]->name, argv[0]) == 0) return manual_write(shells[i]);
    return fail(EXIT_USAGE, "no completions for '%s': bash, zsh or fish", argv[0]);
}
