/* What the tests of kernels share: the rows this machine can run, and memory that ends at a wall. */
#ifndef EG__KERNELS_TEST_H
#define EG__KERNELS_TEST_H

#include "kernels/kernels.h"
#include "test.h"

/* The feature bits of this machine. */
unsigned kernel_features(void);
/* Whether tests can run a row: by this machine or, AMX of Apple, by its model. */
bool kernel_runs(const eg__kernel *row);
bool kernel_is_fast(const eg__kernel *row); /* by this machine, and not ref */
/* The row of `operation` after `row` (NULL = the first) that tests can run; NULL at the end:
 * for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gemm_f32, row));) ...
 * Its unit is entered until the next call, so this is one loop at a time. The last are rows with Intel's AMX through a model. */
const eg__kernel *kernel_next(eg__operation operation, const eg__kernel *row);
static inline bool kernel_is_ref(const eg__kernel *row) { return strcmp(row->isa, "ref") == 0; }
/* The usable instruction sets of an operation, "avx512 avx2 ref"; a buffer the next call reuses. */
const char *kernel_isas(eg__operation operation);

/* How often to repeat something: `full` here, a fiftieth under an emulator (ELEGANS_QUICK is set). */
bool kernel_quick(void);
size_t kernel_times(size_t full);

/* `size` bytes that end where a page begins that nobody may touch. An access beyond them stops the
 * test in every build: the address sanitizer does not see inside assembly, which some kernels have.
 * The memory of a slot (0 .. 15) belongs to the caller until it asks for that slot again; what it
 * holds is undefined. */
enum { KERNEL_SLOTS = 16 };
void *kernel_walled(unsigned slot, size_t size);
/* The same, filled with a copy of `from`. */
void *kernel_walled_copy(unsigned slot, const void *from, size_t size);

/* Floats of `rows` rows that lie `stride` apart, without a gap after the last. */
static inline size_t kernel_extent(size_t rows, size_t columns, size_t stride) {
    return rows ? (rows - 1) * stride + columns : 0;
}

/* What stands in the gaps between rows and must stay there. */
#define KERNEL_GUARD (-123456.789f)
static inline void kernel_fill(size_t n, float *x, float value) {
    for (size_t i = 0; i < n; i++) x[i] = value;
}
static inline void kernel_random(size_t n, float *x, uint64_t *state) {
    for (size_t i = 0; i < n; i++) x[i] = test_random(state);
}
/* The first gap that no longer holds the guard, as an index into x, or SIZE_MAX. */
size_t kernel_gap_broken(size_t rows, size_t columns, size_t stride, const float *x);

/* Equal bits, or both NaN. */
static inline bool kernel_same(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}
/* The first place where n floats differ so, or SIZE_MAX. */
size_t kernel_difference(size_t n, const float *a, const float *b);

#endif
