/* Whole files as memory: mapped, or read where that cannot be. */
#include "formats/files/file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

eg_status eg__mapping_read(eg__mapping *out, eg__memory *memory, const eg__source *source,
                           eg_error *error) {
    memset(out, 0, sizeof *out);
    size_t size = (size_t)source->size;
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &out->taken, error);
    if (!status) status = eg__source_read(source, 0, out->taken, size, error);
    if (status) {
        eg__mapping_close(out, memory);
        return status;
    }
    out->bytes = out->taken;
    out->size = size;
    return EG_OK;
}

eg_status eg__mapping_open(eg__mapping *out, eg__memory *memory, const char *path, bool maps,
                           eg_error *error) {
    memset(out, 0, sizeof *out);
    eg__source source;
    eg_status status = eg__source_open(&source, path, error);
    if (status) return status;
    void *mapped = MAP_FAILED;
    if (source.size > PTRDIFF_MAX)
        status = eg__fail(error, EG_ERR_OVERFLOW, "%llu bytes exceed the address space",
                          (unsigned long long)source.size);
    else if (source.size && maps) /* nothing cannot be mapped */
        mapped = mmap(NULL, (size_t)source.size, PROT_READ, MAP_PRIVATE, source.descriptor, 0);
    if (mapped != MAP_FAILED) *out = (eg__mapping){mapped, (size_t)source.size, mapped, NULL};
    else if (!status) status = eg__mapping_read(out, memory, &source, error);
    eg__source_close(&source); /* a mapping needs no descriptor */
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

bool eg__mapping_own(eg__mapping *mapping) {
    return !mapping->mapped ||
           mprotect(mapping->mapped, mapping->size, PROT_READ | PROT_WRITE) == 0;
}

static bool is_mapped(const eg__mapping *mapping, const void *bytes, size_t size) {
    const uintptr_t start = (uintptr_t)mapping->mapped, at = (uintptr_t)bytes;
    return start && at >= start && at + size <= start + mapping->size;
}

void eg__mapping_forget(const eg__mapping *mapping, const void *bytes, size_t size) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = eg__round_up((uintptr_t)bytes, page);
    const uintptr_t end = ((uintptr_t)bytes + size) / page * page;
    if (is_mapped(mapping, bytes, size) && end > from)
        madvise((void *)from, end - from, MADV_DONTNEED);
}

/* Systems map the neighbours of a page that is read, some of them megabytes at once, but none that were advised
 * otherwise: so a piece is advised before it is read, and as it was afterwards. */
static void copy_piece(const void *bytes, size_t size, void *to) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = (uintptr_t)bytes / page * page;
    const size_t length = eg__round_up((uintptr_t)bytes + size, page) - from;
    madvise((void *)from, length, MADV_SEQUENTIAL);
    memcpy(to, bytes, size);
    madvise((void *)from, length, MADV_DONTNEED);
    madvise((void *)from, length, MADV_NORMAL);
}

void eg__mapping_copy(const eg__mapping *mapping, const void *bytes, size_t size, void *to) {
    enum { PIECE = 1 << 18 };
    if (!is_mapped(mapping, bytes, size)) {
        if (size) memcpy(to, bytes, size);
        return;
    }
    for (size_t at = 0; at < size; at += PIECE)
        copy_piece((const char *)bytes + at, eg__min(PIECE, size - at), (char *)to + at);
}

void eg__mapping_close(eg__mapping *mapping, eg__memory *memory) {
    if (mapping->mapped) munmap(mapping->mapped, mapping->size);
    eg__memory_give(memory, mapping->taken);
    memset(mapping, 0, sizeof *mapping);
}
