/* elegans version. */
#include "cli/cli.h"

int cmd_version(int argc, char **argv) {
    static const option options[] = {{NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {"version", "Prints the version of the program and of its library.", options,
                       NULL};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest) return fail(EXIT_USAGE, "version takes no argument, got '%s'", argv[0]);
    printf("elegans %d.%d.%d (library %s)\n", EG_VERSION_MAJOR, EG_VERSION_MINOR, EG_VERSION_PATCH,
           eg_version());
    return CLI_OK;
}
