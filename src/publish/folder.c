/* The folder of the pages: this user's alone, so that nobody else can put anything there or read it. */
#include "base/base.h"
#include "publish/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opened first and looked at then, so that nothing can be put in its place in between. */
static eg_status open_checked(const char *path, int *descriptor, eg_error *error) {
    struct stat info;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return eg__fail(error, errno == ENOENT ? EG_ERR_NOT_FOUND : EG_ERR_FILE,
                        "cannot open the folder '%s': %s", path,
                        errno == ELOOP || errno == ENOTDIR ? "not a folder" : strerror(errno));
    eg_status status = EG_OK;
    if (fstat(folder, &info) != 0 || info.st_uid != geteuid())
        status = eg__fail(error, EG_ERR_FILE, "the folder '%s' belongs to another user", path);
    else if (info.st_mode & 077)
        status = eg__fail(error, EG_ERR_FILE,
                          "the folder '%s' is open to others (mode %o); 'chmod 700' closes it",
                          path, (unsigned)(info.st_mode & 0777));
    if (status) close(folder);
    else *descriptor = folder;
    return status;
}

static eg_status use(const char *path, bool make, int *descriptor, eg_error *error) {
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        return eg__fail(error, EG_ERR_FILE, "cannot create the folder '%s': %s", path,
                        strerror(errno));
    return open_checked(path, descriptor, error);
}

/* With sudo it may be the folder of somebody else, where root must not leave anything. */
static bool is_ours(const char *path) {
    struct stat info;
    return path && path[0] == '/' && stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid();
}

static bool fits(int length) { return length > 0 && length < EG__PUBLISH_PATH - 64; }

eg_status eg__publish_folder(const char *given, bool make, char path[EG__PUBLISH_PATH],
                             int *descriptor, eg_error *error) {
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    *descriptor = -1;
    if (given) {
        if (!fits(snprintf(path, EG__PUBLISH_PATH, "%s", given)))
            return eg__fail(error, EG_ERR_ARGUMENT, "the path of the folder has %zu bytes",
                            strlen(given));
        return use(path, make, descriptor, error);
    }
    if (is_ours(runtime) && fits(snprintf(path, EG__PUBLISH_PATH, "%s/elegans", runtime)))
        return use(path, make, descriptor, error);
    if (!temporary || temporary[0] != '/') temporary = "/tmp";
    if (!fits(snprintf(path, EG__PUBLISH_PATH, "%s/elegans-%lu", temporary,
                       (unsigned long)geteuid())))
        return eg__fail(error, EG_ERR_ARGUMENT, "TMPDIR has %zu bytes", strlen(temporary));
    return use(path, make, descriptor, error);
}
