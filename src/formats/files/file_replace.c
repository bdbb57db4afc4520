/* Writes a file beside its place and renames it, so that readers see the old one or the new one. */
#include "formats/files/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)EG_FILE_PATH_SIZE >= PATH_MAX, "realpath writes up to PATH_MAX bytes");

static eg_status cannot(const char *verb, const char *path, eg_error *error) {
    return eg__fail(error, EG_ERR_FILE, "cannot %s '%s': %s", verb, path, strerror(errno));
}

/* The length of the folder's part of a path, its last slash included; 0 is the current folder. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* ---- names of temporary files */
static const char prefix[] = ".elegans-";

/* Names the machine and its namespace of process ids: a folder may be shared by several, and ids mean nothing to
 * the others. */
static uint32_t host_tag(void) {
    char name[256] = "", space[64] = "";
    uint64_t hash = EG__HASH_SEED;
    (void)gethostname(name, sizeof name - 1);
    (void)!readlink("/proc/self/ns/pid", space, sizeof space - 1); /* nothing where there is none */
    hash = eg__hash(hash, name, strlen(name) + 1);
    hash = eg__hash(hash, space, strlen(space) + 1);
    return (uint32_t)(hash ^ hash >> 32);
}

/* The name is our own and short, because the file's name may be as long as the system allows. */
static int create_temporary(eg_file_output *file) {
    const int folder = (int)folder_length(file->path);
    const unsigned host = host_tag();
    for (int number = 0; number < 1000; number++) {
        int length = snprintf(file->temporary, sizeof file->temporary, "%.*s%s%08x-%ld-%d", folder,
                              file->path, prefix, host, (long)getpid(), number);
        if (length < 0 || (size_t)length >= sizeof file->temporary) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int descriptor =
            open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

/* Whether a name is that of a temporary file whose process was one of this machine, and is no more. */
static bool is_left(const char *name, unsigned host) {
    unsigned tag = 0;
    long process = 0;
    int number = 0, end = 0;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    if (sscanf(name + sizeof prefix - 1, "%8x-%9ld-%4d%n", &tag, &process, &number, &end) != 3 ||
        name[sizeof prefix - 1 + (size_t)end] || tag != host || process <= 0 || number < 0)
        return false;
    return kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

/* What a killed process left. Nothing depends on it, so nothing that goes wrong here is a failure. */
static void sweep(const char *path) {
    char folder[EG_FILE_PATH_SIZE + 2];
    const size_t length = folder_length(path);
    snprintf(folder, sizeof folder, "%.*s.", (int)length, path);
    DIR *list = opendir(folder);
    if (!list) return;
    const unsigned host = host_tag();
    for (struct dirent *entry; (entry = readdir(list));) {
        struct stat file;
        if (!is_left(entry->d_name, host)) continue;
        if (fstatat(dirfd(list), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(file.st_mode) && file.st_uid == geteuid())
            unlinkat(dirfd(list), entry->d_name, 0);
    }
    closedir(list);
}

/* Resolves links, so that the file behind a link is replaced and not the link. */
static eg_status find_target(eg_file_output *file, const char *path, mode_t *mode,
                             eg_error *error) {
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof file->path)
        return eg__fail(error, EG_ERR_FILE, "cannot write to a path of %zu bytes", length);
    struct stat old;
    if (stat(path, &old)) {
        memcpy(file->path, path, length + 1);
        return EG_OK;
    }
    if (!S_ISREG(old.st_mode))
        return eg__fail(error, EG_ERR_FILE, "cannot write '%s': %s", path,
                        S_ISDIR(old.st_mode) ? "it is a folder" : "not a regular file");
    *mode = old.st_mode & 0777;
    if (!realpath(path, file->path)) return cannot("resolve", path, error);
    return EG_OK;
}

eg_status eg_file_begin(const char *path, eg_file_output *file, eg_error *error) {
    if (!path || !file)
        return eg__fail(error, EG_ERR_ARGUMENT, "no path or no output pointer for the file");
    file->descriptor = -1;
    mode_t mode = 0;
    eg_status status = find_target(file, path, &mode, error);
    if (status) return status;
    sweep(file->path);
    file->descriptor = create_temporary(file);
    if (file->descriptor < 0) return cannot("write", path, error);
    /* The new file keeps the permissions of the old one where the file system has any. */
    if (mode) (void)fchmod(file->descriptor, mode);
    return EG_OK;
}

/* A rename is on the disk only when its folder is. A folder that we may not open for reading, or a
 * file system that cannot do this, leaves a file that is whole but may be the old one after a crash
 * of the machine: no failure. */
static eg_status sync_folder(eg_file_output *file, eg_error *error) {
    size_t length = folder_length(file->path);
    memcpy(file->temporary, length ? file->path : "./", length ? length : 2);
    file->temporary[length ? length : 2] = 0;
    int folder = open(file->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return EG_OK;
    int failed = fsync(folder) && errno == EIO;
    close(folder);
    errno = EIO; /* the close may have changed it */
    return failed ? cannot("sync the folder of", file->path, error) : EG_OK;
}

eg_status eg_file_commit(eg_file_output *file, eg_error *error) {
    eg_status status = EG_OK;
    if (file->descriptor < 0) return eg__fail(error, EG_ERR_ARGUMENT, "no file was begun");
    if (fsync(file->descriptor)) status = cannot("write", file->path, error);
    if (close(file->descriptor) && !status) status = cannot("write", file->path, error);
    file->descriptor = -1;
    if (!status && rename(file->temporary, file->path))
        status = cannot("replace", file->path, error);
    if (status) {
        unlink(file->temporary);
        return status;
    }
    return sync_folder(file, error);
}

void eg_file_abort(eg_file_output *file) {
    if (file->descriptor < 0) return;
    close(file->descriptor);
    file->descriptor = -1;
    unlink(file->temporary);
}
