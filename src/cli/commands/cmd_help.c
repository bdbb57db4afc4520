/* elegans help [COMMAND]. */
#include "cli/manual/manual.h"

#include <string.h>

static void list_commands(void) {
    printf("%selegans%s %s: liquid networks and transformers, tuned for the chip they run on\n\n",
           style_bold(), style_end(), eg_version());
    printf("usage: elegans COMMAND [OPTIONS]\n\n");
    for (const command *c = cli_commands; c->name; c++)
        printf("  %s%-11s%s %s\n", style_bold(), c->name, style_end(), c->summary);
    printf("\n'elegans help COMMAND' explains one; docs/tour.md walks through all of them.\n"
           "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 slower (baseline), 130 stopped.\n");
}

int cmd_help(int argc, char **argv) {
    bool man = false;
    const option options[] = {
        {"--man", OPTION_FLAG, &man, NULL, "print the manual of all commands for man"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {"help [COMMAND] [--man]",
                       "Lists the commands, or explains one with its options.", options,
                       "  elegans help train\n"
                       "  elegans help --man | man -l -\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (man) return manual_write(&manual_man);
    for (const command *c = cli_commands; rest && c->name; c++)
        if (strcmp(c->name, argv[0]) == 0) {
            char *arguments[] = {argv[0], (char[]){"--help"}, NULL};
            return c->run(2, arguments);
        }
    if (rest) return command_unknown(argv[0]);
    list_commands();
    return CLI_OK;
}
