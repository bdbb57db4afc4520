/* Many small pieces into a file that takes its name when it is complete. */
#include "formats/files/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const size_t largest_move = (size_t)1 << 30; /* macOS refuses more than 2 GB at once */

eg_status eg__writer_begin(eg__writer *writer, const char *path, eg_error *error) {
    writer->size = 0;
    writer->buffered = 0;
    return eg_file_begin(path, &writer->file, error);
}

static eg_status write_through(eg__writer *writer, const unsigned char *from, size_t size,
                               eg_error *error) {
    while (size) {
        ssize_t moved = write(writer->file.descriptor, from, eg__min(size, largest_move));
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0)
            return eg__fail(error, EG_ERR_FILE, "cannot write '%s': %s", writer->file.path,
                            strerror(errno));
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

eg_status eg__writer_commit(eg__writer *writer, eg_error *error) {
    eg_status status = flush(writer, error);
    if (status) {
        eg__writer_abort(writer);
        return status;
    }
    return eg_file_commit(&writer->file, error);
}

void eg__writer_abort(eg__writer *writer) { eg_file_abort(&writer->file); }

eg_status eg__writer_end(eg__writer *writer, eg_status status, eg_error *error) {
    if (!status) return eg__writer_commit(writer, error);
    eg__writer_abort(writer);
    return status;
}

eg_status eg__file_write(eg__memory *memory, const char *path, const void *bytes, size_t size,
                         eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__writer *writer = eg__memory_take(memory, EG_TAG_FILE, sizeof *writer, &reason);
    if (!writer) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg__writer_begin(writer, path, error);
    if (!status)
        status = eg__writer_end(writer, eg__writer_append(writer, bytes, size, error), error);
    eg__memory_give(memory, writer);
    return status;
}
