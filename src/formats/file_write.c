/* Writes a file beside its place and renames it, so that readers see the old one or the new one. */
#include "formats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(EG__PATH_SIZE >= PATH_MAX, "realpath writes up to PATH_MAX bytes");

static const size_t largest_move = (size_t)1 << 30; /* macOS refuses more than 2 GB at once */

static eg_status cannot(const char *verb, const char *path, eg_error *error) {
    return eg__fail(error, EG_ERR_FILE, "cannot %s '%s': %s", verb, path, strerror(errno));
}

/* The length of the folder's part of a path, its last slash included; 0 is the current folder. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The name is our own and short, because the file's name may be as long as the system allows. */
static int create_temporary(eg__writer *writer) {
    int folder = (int)folder_length(writer->path);
    for (int number = 0; number < 1000; number++) {
        int length = snprintf(writer->temporary, sizeof writer->temporary, "%.*s.elegans-%ld-%d",
                              folder, writer->path, (long)getpid(), number);
        if (length < 0 || (size_t)length >= sizeof writer->temporary) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int descriptor =
            open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

/* Resolves links, so that the file behind a link is replaced and not the link. */
static eg_status find_target(eg__writer *writer, const char *path, mode_t *mode, eg_error *error) {
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof writer->path)
        return eg__fail(error, EG_ERR_FILE, "cannot write to a path of %zu bytes", length);
    struct stat old;
    if (stat(path, &old)) {
        memcpy(writer->path, path, length + 1);
        return EG_OK;
    }
    if (!S_ISREG(old.st_mode))
        return eg__fail(error, EG_ERR_FILE, "cannot write '%s': %s", path,
                        S_ISDIR(old.st_mode) ? "it is a folder" : "not a regular file");
    *mode = old.st_mode & 0777;
    if (!realpath(path, writer->path)) return cannot("resolve", path, error);
    return EG_OK;
}

eg_status eg__writer_begin(eg__writer *writer, const char *path, eg_error *error) {
    writer->descriptor = -1;
    writer->size = 0;
    writer->buffered = 0;
    mode_t mode = 0;
    eg_status status = find_target(writer, path, &mode, error);
    if (status) return status;
    writer->descriptor = create_temporary(writer);
    if (writer->descriptor < 0) return cannot("write", path, error);
    /* The new file keeps the permissions of the old one where the file system has any. */
    if (mode) (void)fchmod(writer->descriptor, mode);
    return EG_OK;
}

static eg_status write_through(eg__writer *writer, const unsigned char *from, size_t size,
                               eg_error *error) {
    while (size) {
        ssize_t moved = write(writer->descriptor, from, eg__min(size, largest_move));
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return cannot("write", writer->path, error);
        from += moved;
        size -= (size_t)moved;
    }
    return EG_OK;
}

static eg_status flush(eg__writer *writer, eg_error *error) {
    size_t size = writer->buffered;
    writer->buffered = 0;
    return write_through(writer, writer->buffer, size, error);
}

eg_status eg__writer_append(eg__writer *writer, const void *bytes, size_t size, eg_error *error) {
    writer->size += size;
    if (size > sizeof writer->buffer - writer->buffered) {
        eg_status status = flush(writer, error);
        if (status) return status;
    }
    if (size >= sizeof writer->buffer) return write_through(writer, bytes, size, error);
    if (size) memcpy(writer->buffer + writer->buffered, bytes, size);
    writer->buffered += size;
    return EG_OK;
}

/* A rename is on the disk only when its folder is. A folder that we may not open for reading, or a
 * file system that cannot do this, leaves a file that is whole but may be the old one after a crash
 * of the machine: no failure. */
static eg_status sync_folder(eg__writer *writer, eg_error *error) {
    size_t length = folder_length(writer->path);
    memcpy(writer->temporary, length ? writer->path : "./", length ? length : 2);
    writer->temporary[length ? length : 2] = 0;
    int folder = open(writer->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return EG_OK;
    int failed = fsync(folder) && errno == EIO;
    close(folder);
    errno = EIO; /* the close may have changed it */
    return failed ? cannot("sync the folder of", writer->path, error) : EG_OK;
}

eg_status eg__writer_commit(eg__writer *writer, eg_error *error) {
    eg_status status = flush(writer, error);
    if (!status && fsync(writer->descriptor)) status = cannot("write", writer->path, error);
    if (close(writer->descriptor) && !status) status = cannot("write", writer->path, error);
    writer->descriptor = -1;
    if (!status && rename(writer->temporary, writer->path))
        status = cannot("replace", writer->path, error);
    if (status) {
        unlink(writer->temporary);
        return status;
    }
    return sync_folder(writer, error);
}

void eg__writer_abort(eg__writer *writer) {
    close(writer->descriptor);
    writer->descriptor = -1;
    unlink(writer->temporary);
}

eg_status eg__writer_end(eg__writer *writer, eg_status status, eg_error *error) {
    if (!status) return eg__writer_commit(writer, error);
    eg__writer_abort(writer);
    return status;
}
