/* Zeroed address ranges whose pages are backed by memory when touched and released when dropped. */
#include "memory/block.h"
#include "memory/state.h"
#include "memory/system.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void *map(void *where, size_t size) {
    const int fixed = where ? MAP_FIXED : 0;
    void *at = mmap(where, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

eg_status eg__space_take(eg__memory *memory, eg_tag tag, size_t size, eg__space *out,
                         eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t page = page_size();
    size_t bytes;
    *out = (eg__space){.size = size, .tag = tag};
    if (!eg__size_add(size, 2 * page, &bytes))
        return eg__fail(error, EG_ERR_OVERFLOW, "memory of %zu bytes", size);
    bytes = eg__round_up(size, page) + page - EG__ALIGNMENT; /* a block begins aligned to that */
    out->block = eg__memory_take_zeroed(memory, tag, bytes, &reason);
    if (!out->block) return eg__fail(error, reason.status, "%s", reason.message);
    out->data = (void *)eg__round_up((uintptr_t)out->block, page);
    return EG_OK;
}

eg_status eg__space_open(eg__memory *memory, eg_tag tag, size_t size, eg__space *out,
                         eg_error *error) {
    if (size >= EG__SPACE_LEAST && memory->allocator_opened) {
        *out = (eg__space){.size = size, .tag = tag, .data = map(NULL, size)};
        out->mapped = out->data != NULL;
        if (out->data) return EG_OK;
    }
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = (eg__space){.size = size, .tag = tag};
    out->data = out->block = eg__memory_take_zeroed(memory, tag, size, &reason);
    return out->data ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

eg_status eg__space_use(eg__memory *memory, eg__space *space, size_t offset, size_t size,
                        eg_error *error) {
    if (!space->mapped) return EG_OK;
    eg_status status = eg__memory_book(memory, space->tag, size, error);
    if (status) return status;
    space->used += size;
    eg__huge_pages_advise((char *)space->data + offset, size);
    return EG_OK;
}

void eg__space_drop(eg__memory *memory, eg__space *space, size_t offset, size_t size) {
    if (!space->mapped) return;
    const size_t page = page_size();
    const size_t first = eg__round_up(offset, page), end = (offset + size) / page * page;
    /* new pages in their place: the only way that every system frees them at once */
    if (first < end) (void)map((char *)space->data + first, end - first);
    eg__memory_unbook(memory, space->tag, size);
    space->used -= size;
}

void eg__space_close(eg__memory *memory, eg__space *space) {
    if (!space->mapped) eg__memory_give(memory, space->block);
    else {
        munmap(space->data, space->size);
        eg__memory_unbook(memory, space->tag, space->used);
    }
    *space = (eg__space){.size = 0};
}
