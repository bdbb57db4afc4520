/* Helpers of the tests of kernels: usable rows, and memory in front of a wall. */
#include "test_kernels.h"

#include "test_amx.h"
#include "tile_model.h"

#include <sys/mman.h>
#include <unistd.h>

unsigned kernel_features(void) {
    static eg_chip chip;
    static bool known;
    eg_error error = {0};
    if (!known) CHECK_OK(eg_chip_detect(NULL, NULL, NULL, &chip, &error), error);
    known = true;
    return chip.features;
}

bool kernel_runs(const eg__kernel *row) {
    return (row->features & ~kernel_features()) == 0 ||
           (amx_is_modelled() && strcmp(row->isa, "amx") == 0);
}

bool kernel_is_fast(const eg__kernel *row) {
    return !kernel_is_ref(row) && (row->features & ~kernel_features()) == 0;
}

static const eg__kernel *next_row(eg__operation operation, const eg__kernel *row) {
    bool passed = !row;
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *candidate = eg__kernel_row(i);
        if (passed && candidate->operation == operation && kernel_runs(candidate)) return candidate;
        passed |= candidate == row;
    }
    for (size_t i = 0; i < TILE_MODELLED; i++) {
        if (passed && tile_modelled[i].operation == operation) return &tile_modelled[i];
        passed |= &tile_modelled[i] == row;
    }
    return NULL;
}

const eg__kernel *kernel_next(eg__operation operation, const eg__kernel *row) {
    static const eg__kernel *entered;
    if (entered) eg__kernel_leave(entered);
    entered = next_row(operation, row);
    if (entered) eg__kernel_enter(entered);
    return entered;
}

const char *kernel_isas(eg__operation operation) {
    static char text[64];
    text[0] = 0;
    for (const eg__kernel *row = NULL; (row = next_row(operation, row));) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", at ? " " : "", row->isa);
    }
    return text;
}

bool kernel_quick(void) { return getenv("ELEGANS_QUICK") != NULL; }

size_t kernel_times(size_t full) { return kernel_quick() ? full / 50 + 1 : full; }

void *kernel_walled(unsigned slot, size_t size) {
    static struct {
        char *start;
        size_t size; /* without the page at the end */
    } regions[KERNEL_SLOTS];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size > regions[slot].size || !regions[slot].start) {
        if (regions[slot].start) munmap(regions[slot].start, regions[slot].size + page);
        regions[slot].size = eg__round_up(size + 1, page);
        regions[slot].start = mmap(NULL, regions[slot].size + page, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANON, -1, 0);
        if (regions[slot].start == MAP_FAILED ||
            mprotect(regions[slot].start + regions[slot].size, page, PROT_NONE)) {
            fprintf(stderr, "tests: cannot map %zu bytes\n", size);
            exit(1);
        }
    }
    return regions[slot].start + regions[slot].size - size;
}

void *kernel_walled_copy(unsigned slot, const void *from, size_t size) {
    void *memory = kernel_walled(slot, size);
    if (size) memcpy(memory, from, size);
    return memory;
}

size_t kernel_gap_broken(size_t rows, size_t columns, size_t stride, const float *x) {
    for (size_t r = 0; r + 1 < rows; r++)
        for (size_t c = columns; c < stride; c++)
            if (x[r * stride + c] != KERNEL_GUARD) return r * stride + c;
    return SIZE_MAX;
}

size_t kernel_difference(size_t n, const float *a, const float *b) {
    for (size_t i = 0; i < n; i++)
        if (!kernel_same(a[i], b[i])) return i;
    return SIZE_MAX;
}
