/* Reads regular files, piece by piece or whole, and words the messages about them. */
#include "formats/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* macOS refuses to move more than 2 GB at once, Linux moves less than asked. */
static const size_t largest_move = (size_t)1 << 30;

eg_status eg__file_blame(eg_error *error, eg_status status, const char *what, const char *name) {
    if (!error) return status;
    eg_error inner = *error;
    char where[sizeof inner.message];
    snprintf(where, sizeof where, " in %s%s'%s'", what, what[0] ? " " : "", name);
    const size_t said = strlen(inner.message), more = strlen(where);
    if (said >= more && strcmp(inner.message + said - more, where) == 0) /* by who asked it */
        return error->status = status;
    return eg__fail(error, status, "%s%s", inner.message, where);
}

const char *eg__file_quote(char *out, size_t capacity, const void *bytes, size_t length) {
    const unsigned char *from = bytes;
    size_t count = eg__min(length, capacity - 1);
    for (size_t i = 0; i < count; i++)
        out[i] = from[i] >= ' ' && from[i] < 0x7f ? (char)from[i] : '?';
    out[count] = 0;
    return out;
}

bool eg__file_ends(const char *path, const char *end) {
    const size_t all = strlen(path), length = strlen(end);
    return all >= length && strcmp(path + all - length, end) == 0;
}

eg_status eg__file_take(eg__memory *memory, eg_tag tag, size_t size, void **out, eg_error *error) {
    eg_error own;
    if (!error) error = &own;
    *out = eg__memory_take(memory, tag, size, error);
    return *out ? EG_OK : error->status;
}

static eg_status cannot(const char *verb, const char *path, eg_error *error) {
    return eg__fail(error, EG_ERR_FILE, "cannot %s '%s': %s", verb, path, strerror(errno));
}

eg_status eg__source_open(eg__source *out, const char *path, eg_error *error) {
    *out = (eg__source){NULL, -1, 0};
    /* Without O_NONBLOCK a named pipe would wait for a writer before we can refuse it. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return cannot("open", path, error);
    struct stat facts;
    eg_status status = EG_OK;
    if (fstat(descriptor, &facts)) status = cannot("inspect", path, error);
    else if (S_ISDIR(facts.st_mode))
        status = eg__fail(error, EG_ERR_FILE, "cannot read '%s': it is a folder", path);
    else if (!S_ISREG(facts.st_mode))
        status = eg__fail(error, EG_ERR_FILE, "cannot read '%s': not a regular file", path);
    if (status) {
        close(descriptor);
        return status;
    }
    out->descriptor = descriptor;
    out->size = (uint64_t)facts.st_size;
    return EG_OK;
}

eg__source eg__source_of_bytes(const void *bytes, size_t length) {
    return (eg__source){bytes, -1, length};
}

static eg_status read_file(int descriptor, uint64_t offset, unsigned char *out, size_t size,
                           eg_error *error) {
    while (size) {
        ssize_t moved = pread(descriptor, out, eg__min(size, largest_move), (off_t)offset);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return eg__fail(error, EG_ERR_FILE, "cannot read: %s", strerror(errno));
        if (moved == 0)
            return eg__fail(error, EG_ERR_FILE, "file became shorter while it was read");
        out += moved;
        size -= (size_t)moved;
        offset += (uint64_t)moved;
    }
    return EG_OK;
}

eg_status eg__source_read(const eg__source *source, uint64_t offset, void *out, size_t size,
                          eg_error *error) {
    if (offset > source->size || size > source->size - offset)
        return eg__fail(error, EG_ERR_FORMAT, "data ends at byte %llu, %zu wanted from byte %llu",
                        (unsigned long long)source->size, size, (unsigned long long)offset);
    if (source->descriptor >= 0) return read_file(source->descriptor, offset, out, size, error);
    if (size) memcpy(out, source->bytes + offset, size);
    return EG_OK;
}

void eg__source_close(eg__source *source) {
    if (source->descriptor >= 0) close(source->descriptor);
    *source = (eg__source){NULL, -1, 0};
}

eg_status eg__file_read(eg__memory *memory, const char *path, uint64_t limit, void **bytes,
                        size_t *length, eg_error *error) {
    *bytes = NULL;
    *length = 0;
    eg__source source;
    eg_status status = eg__source_open(&source, path, error);
    if (status) return status;
    void *block = NULL;
    if (source.size > limit || source.size > PTRDIFF_MAX)
        status = eg__fail(error, EG_ERR_FORMAT, "%llu bytes are more than the limit of %llu",
                          (unsigned long long)source.size, (unsigned long long)limit);
    else status = eg__file_take(memory, EG_TAG_FILE, (size_t)source.size, &block, error);
    if (!status) status = eg__source_read(&source, 0, block, (size_t)source.size, error);
    size_t size = (size_t)source.size;
    eg__source_close(&source);
    if (status) {
        eg__memory_give(memory, block);
        return eg__file_blame(error, status, "", path);
    }
    *bytes = block;
    *length = size;
    return EG_OK;
}
