/* Where this program is. */
#include "cli/program_path.h"

#include <mach-o/dyld.h>
#include <stdint.h>

bool program_path(char *out, size_t room) {
    uint32_t size = (uint32_t)room;
    return _NSGetExecutablePath(out, &size) == 0;
}
