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

void eg__mapping_forget(const eg__mapping *mapping, const void *bytes, size_t size) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)mapping->mapped;
    const uintptr_t from = eg__round_up((uintptr_t)bytes, page);
    const uintptr_t end = ((uintptr_t)bytes + size) / page * page;
    if (!start || (uintptr_t)bytes < start || (uintptr_t)bytes + size > start + mapping->size)
        return;
    if (end > from) madvise((void *)from, end - from, MADV_DONTNEED);
}

void eg__mapping_close(eg__mapping *mapping, eg__memory *memory) {
    if (mapping->mapped) munmap(mapping->mapped, mapping->size);
    eg__memory_give(memory, mapping->taken);
    memset(mapping, 0, sizeof *mapping);
}
