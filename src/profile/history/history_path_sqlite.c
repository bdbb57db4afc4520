/* Where the history of a user is. */
#include "profile/history/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folders on the way to `path`; only the last one has to work. */
static eg_status make_folders(char *path, eg_error *error) {
    const char *last = strrchr(path, '/');
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST && slash == last)
            return eg__fail(error, EG_ERR_FILE, "cannot create folder '%s' for the history: %s",
                            path, strerror(errno));
        *slash = '/';
    }
    return EG_OK;
}

eg_status eg__history_path(const char *given, char out[EG__PATH_SIZE], eg_error *error) {
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length;
    if (given && !given[0]) return eg__fail(error, EG_ERR_ARGUMENT, "a history with an empty path");
    /* ":memory:" and "file:" are names like others */
    if (given) length = snprintf(out, EG__PATH_SIZE, "%s%s", given[0] == '/' ? "" : "./", given);
    else if (xdg && xdg[0]) length = snprintf(out, EG__PATH_SIZE, "%s/elegans/history.db", xdg);
    else if (home && home[0])
        length = snprintf(out, EG__PATH_SIZE, "%s/.local/share/elegans/history.db", home);
    else
        return eg__fail(error, EG_ERR_FILE,
                        "no folder for the history: neither XDG_DATA_HOME nor HOME is set");
    if (length < 0 || length >= EG__PATH_SIZE)
        return eg__fail(error, EG_ERR_FILE, "the path of the history is too long");
    return given ? EG_OK : make_folders(out, error);
}
