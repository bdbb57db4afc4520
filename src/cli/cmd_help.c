/* elegans help [COMMAND]. */
#include "cli.h"

#include <string.h>

int cmd_help(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--help") != 0) {
        for (const command *c = cli_commands; c->name; c++)
            if (strcmp(c->name, argv[1]) == 0 && c->run != cmd_help) {
                char *arguments[] = {argv[1], (char[]){"--help"}, NULL};
                return c->run(2, arguments);
            }
        if (strcmp(argv[1], "help") != 0) return fail(EXIT_USAGE, "unknown command '%s'", argv[1]);
    }
    printf("%selegans%s %s: liquid networks and transformers, tuned for the chip they run on\n\n",
           style_bold(), style_end(), eg_version());
    printf("usage: elegans COMMAND [OPTIONS]\n\n");
    for (const command *c = cli_commands; c->name; c++)
        printf("  %s%-10s%s %s\n", style_bold(), c->name, style_end(), c->summary);
    printf("\n'elegans help COMMAND' explains one. Exit codes: 0 done, 1 failed, 2 wrong usage.\n");
    return EXIT_DONE;
}
