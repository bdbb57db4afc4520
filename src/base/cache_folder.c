/* The folder for what is measured once per machine. */
#include "base/cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool eg__cache_folder(const char *given, bool make, char *out, size_t size) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (given) length = snprintf(out, size, "%s", given);
    else if (xdg && xdg[0]) length = snprintf(out, size, "%s/elegans", xdg);
    else if (home && home[0]) length = snprintf(out, size, "%s/.cache/elegans", home);
    else return false;
    if (length <= 0 || (size_t)length + 64 >= size) return false;
    if (!make) return true;
    for (char *slash = strchr(out + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(out, 0777); /* the last one tells whether it worked */
        *slash = '/';
    }
    return mkdir(out, 0777) == 0 || errno == EEXIST;
}
