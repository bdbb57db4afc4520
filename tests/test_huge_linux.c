/* Large blocks ask Linux for huge pages, and are zero without being written. */
#include "test.h"
#include "memory/system.h"

#include <sys/mman.h>
#include <unistd.h>

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

/* ---- large zeroed memory costs nothing before it is used */

static size_t resident(void) {
    unsigned long all, here = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu %lu", &all, &here) != 2) here = 0;
    if (file) fclose(file);
    return here * (size_t)sysconf(_SC_PAGESIZE);
}

static bool is_zero(const char *memory, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (memory[i]) return false;
    return true;
}

TEST(huge, zeroed_memory_is_not_touched) {
    enum { LARGE = 256 << 20, SOME = 64 << 20 };
    if (test_emulated() || test_watches_threads() || !resident()) {
        test_skip("what is resident belongs to an emulator or a sanitizer, or is not told");
        return;
    }
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    const size_t before = resident();
    char *taken = eg__memory_take_zeroed(memory, EG_TAG_TENSOR, LARGE, &error);
    CHECK(taken && resident() < before + SOME, "%zu bytes are resident after %zu", resident(),
          before);
    eg__memory_give(memory, taken);
    eg__memory_destroy(memory);
}

/* Fresh, and from the cache after somebody wrote to all of it. */
TEST(huge, zeroed_memory_is_zero) {
    static const size_t rows[] = {1000,           1 << 20,  (2 << 20) - 64,   2 << 20,
                                  (16 << 20) - 1, 16 << 20, (21 << 20) + 4097};
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int again = 0; again < 3; again++) {
            char *taken = eg__memory_take_zeroed(memory, EG_TAG_TENSOR, rows[i], &error);
            CHECK(taken && is_zero(taken, rows[i]), "%zu bytes, time %d", rows[i], again);
            if (taken) memset(taken, 0xa5, rows[i]);
            eg__memory_give(memory, taken);
            eg__space space;
            CHECK_OK(eg__space_take(memory, EG_TAG_TENSOR, rows[i], &space, &error), error);
            CHECK(is_zero(space.data, rows[i]), "a space of %zu bytes, time %d", rows[i], again);
            memset(space.data, 0x5a, rows[i]);
            eg__space_close(memory, &space);
        }
    eg__memory_destroy(memory);
}
