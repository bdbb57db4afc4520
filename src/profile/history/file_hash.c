/* A hash of a file's contents, to identify models and programs. */
#include "elegans/history.h"
#include "formats/files/file.h"

#include <stdio.h>

eg_status eg_file_hash(const char *path, char out[EG_FILE_HASH_SIZE], eg_error *error) {
    unsigned char bytes[16384];
    uint64_t hash = EG__HASH_SEED;
    eg__source source;
    if (!path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no file or no output pointer for its hash");
    out[0] = 0;
    eg_status status = eg__source_open(&source, path, error);
    if (status) return status;
    for (uint64_t at = 0; at < source.size && !status;) {
        const uint64_t left = source.size - at;
        const size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
        status = eg__source_read(&source, at, bytes, size, error);
        if (!status) hash = eg__hash(hash, bytes, size);
        at += size;
    }
    eg__source_close(&source);
    if (status) return eg__file_blame(error, status, "", path);
    snprintf(out, EG_FILE_HASH_SIZE, "%016llx", (unsigned long long)hash);
    return EG_OK;
}
