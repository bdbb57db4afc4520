/* Large blocks ask Linux for huge pages. */
#include "test.h"
#include "memory/system.h"

#include <malloc.h>
#include <sys/mman.h>

AREA(huge, "blocks of 2 MiB and more ask for huge pages, smaller ones do not")

/* glibc moves the size from which blocks get a mapping of their own when large ones are freed; then a large one
 * lies in the heap, its advice stays there, and the next small one seems to have asked. */
#ifdef M_MMAP_THRESHOLD
__attribute__((constructor)) static void fix_threshold(void) { mallopt(M_MMAP_THRESHOLD, 1 << 20); }
#endif

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
        char *memory = allocator.allocate(allocator.user, rows[i].size, 64);
        CHECK(memory != NULL, "%zu bytes", rows[i].size);
        CHECK(advised(memory) == rows[i].asks, "%zu bytes", rows[i].size);
        allocator.release(allocator.user, memory, rows[i].size);
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
