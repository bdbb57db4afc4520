/* Where this program is. */
#ifndef EG__CLI_PROGRAM_PATH_H
#define EG__CLI_PROGRAM_PATH_H

#include <stdbool.h>
#include <stddef.h>

bool program_path(char *out, size_t room); /* false = the system does not tell */

#endif
