/* Large blocks ask Linux for huge pages. */
#include "test.h"
#include "memory/system.h"

#include <sys/mman.h>

AREA(huge, "blocks of 2 MiB and more ask for huge pages, smaller ones do not")

/* Whether the mapping of `address` carries the advice ("hg" among its flags in smaps). */
static bool advised(const void *address) {
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, found = false;
    while (file && fgets(line, sizeof line, file)) {
        unsigned long first, last;
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
            inside = (uintptr_t)address >= first && (uintptr_t)address < last;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0) found = strstr(line, " hg") != NULL;
    }
    if (file) fclose(file);
    return found;
}

static bool system_has_them(void) {
    size_t size = 4u << 20;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    bool has = madvise(memory, size, MADV_HUGEPAGE) == 0 && advised(memory);
    munmap(memory, size);
    return has;
}

TEST(huge, large_blocks_ask) {
    static const struct {
        size_t size;
        bool asks;
    } rows[] = {{100000, false}, {1 << 20, false}, {2 << 20, true}, {(9 << 20) + 5, true}};
    if (!system_has_them()) {
        test_skip("the system has no huge pages or does not tell");
        return;
    }
    eg_allocator allocator = eg__system_allocator();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* A large block may come from the heap; its advice stays there, and a small one that comes later seems to have
         * asked. So what is small is looked at in a mapping of its own. */
        const size_t room = rows[i].size + 2 * EG__HUGE_PAGE;
        char *memory = rows[i].asks ? allocator.allocate(allocator.user, rows[i].size, 64)
                                    : mmap(NULL, room, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != NULL && memory != MAP_FAILED, "%zu bytes", rows[i].size);
        char *start = rows[i].asks ? memory : memory + -(uintptr_t)memory % EG__HUGE_PAGE;
        if (!rows[i].asks) eg__huge_pages_advise(start, rows[i].size);
        CHECK(advised(start) == rows[i].asks, "%zu bytes", rows[i].size);
        if (rows[i].asks) allocator.release(allocator.user, memory, rows[i].size);
        else munmap(memory, room);
    }
}

TEST(huge, only_whole_pages_are_advised) {
    if (!system_has_them()) {
        test_skip("the system has no huge pages or does not tell");
        return;
    }
    const size_t page = EG__HUGE_PAGE;
    char *memory = mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    char *start = memory + -(uintptr_t)memory % page; /* a multiple of the page */
    eg__huge_pages_advise(start + 4096, page + 8192);
    CHECK(!advised(start + 4096) && !advised(start + page), "less than a whole page inside");
    eg__huge_pages_advise(start + 4096, 2 * page);
    CHECK(!advised(start) && advised(start + page) && !advised(start + 2 * page), "one page");
    munmap(memory, 5 * page);
}
