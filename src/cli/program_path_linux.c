/* Where this program is. */
#include "cli/program_path.h"

#include <unistd.h>

bool program_path(char *out, size_t room) {
    const ssize_t length = readlink("/proc/self/exe", out, room - 1);
    if (length <= 0 || (size_t)length >= room - 1) return false;
    out[length] = 0;
    return true;
}
