/* Outer products of SME: exact sums for every kind of word, and what the procedure call standard asks of functions that use ZA. */
#include "kernels/sme/sme.h"
#include "test_kernels.h"

AREA(sme, "outer products in streaming mode: exact sums; registers and ZA of the caller are kept")

#define SME(...) __asm__ volatile(".arch armv8.6-a+sme\n\t" __VA_ARGS__)

#define ALL_VECTORS                                                                                \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", \
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", \
        "v28", "v29", "v30", "v31"

static bool is_there(void) {
    if (kernel_features() & EG_CPU_SME) return true;
    test_skip("this processor has no SME");
    return false;
}

static size_t vector_bytes(void) {
    size_t bytes;
    SME("rdsvl %0, #1" : "=r"(bytes));
    return bytes;
}

/* qemu 7.2 sums bytes wrongly; asked without anything of ours: words of four bytes 1, 2, 3, 4 times themselves. */
static bool sums_bytes(void) {
    int8_t bytes[16];
    int32_t sum[4][4], *to = sum[0];
    for (int i = 0; i < 16; i++) bytes[i] = (int8_t)(1 + i / 4);
    SME("smstart\n\t"
        "ptrue p0.b, vl16\n\t"
        "ld1b {z0.b}, p0/z, [%1]\n\t"
        "zero {za}\n\t"
        "smopa za0.s, p0/m, p0/m, z0.b, z0.b\n\t"
        "mov w12, #0\n\t"
        "1: st1w {za0h.s[w12, 0]}, p0, [%0]\n\t"
        "add %0, %0, #16\n\t"
        "add w12, w12, #1\n\t"
        "cmp w12, #4\n\t"
        "b.ne 1b\n\t"
        "smstop"
        : "+r"(to)
        : "r"(bytes)
        : "memory", "cc", "x12", ALL_VECTORS);
    for (int i = 0; i < 16; i++)
        if (sum[i / 4][i % 4] != 4 * (1 + i / 4) * (1 + i % 4)) return false;
    return true;
}

/* Small integers as words of each kind: their sums are exact. */
static const struct {
    const char *name;
    size_t size; /* of an element, in bytes */
} words[] = {[EG__SME_F32] = {"f32", 4},
             [EG__SME_F16] = {"f16", 2},
             [EG__SME_BF16] = {"bf16", 2},
             [EG__SME_I8] = {"i8", 1}};

static void element_set(eg__sme_word word, void *memory, size_t at, int value) {
    const float x = (float)value;
    uint16_t half;
    switch (word) {
    case EG__SME_F32: ((float *)memory)[at] = x; return;
    case EG__SME_F16: eg__f32_to_f16_ref(1, &x, &half); break;
    case EG__SME_BF16: eg__f32_to_bf16_ref(1, &x, &half); break;
    case EG__SME_I8: ((int8_t *)memory)[at] = (int8_t)value; return;
    }
    ((uint16_t *)memory)[at] = half;
}

static void product_check(eg__sme_word word, size_t m, size_t n, size_t k, bool add,
                          uint64_t *state) {
    enum { A, B, C, GAP = 3 };
    const size_t each = 4 / words[word].size, a_stride = k + GAP, c_stride = n + GAP;
    const size_t panels = eg__gemm_packed_size(k, n);
    uint32_t *a = kernel_walled(A, kernel_extent(m, k, a_stride) * 4);
    uint32_t *b = kernel_walled(B, panels * 4),
             *c = kernel_walled(C, kernel_extent(m, n, c_stride) * 4);
    int *left = test_alloc(m * k * each * sizeof *left),
        *right = test_alloc(k * each * n * sizeof *right);
    memset(b, 0, panels * 4);
    kernel_fill(kernel_extent(m, n, c_stride), (float *)c, KERNEL_GUARD);
    for (size_t i = 0; i < m * k * each; i++) {
        left[i] = (int)(test_random(state) * 8);
        element_set(word, a, i / (k * each) * a_stride * each + i % (k * each), left[i]);
    }
    for (size_t i = 0; i < k * each * n; i++) {
        const size_t row = i / n, column = i % n;
        right[i] = (int)(test_random(state) * 8);
        element_set(word, b + column / EG__PANEL * EG__PANEL * k,
                    (row / each * EG__PANEL + column % EG__PANEL) * each + row % each, right[i]);
    }
    const eg__sme_word sum = word == EG__SME_I8 ? EG__SME_I8 : EG__SME_F32;
    for (size_t i = 0; add && i < m * n; i++) {
        if (sum == EG__SME_I8) c[i / n * c_stride + i % n] = (uint32_t)i;
        else element_set(sum, c + i / n * c_stride, i % n, (int)i);
    }
    eg__sme_product(
        &(eg__sme_args){word, m, n, k, a, a_stride, b, c, c_stride, add ? c : NULL, c_stride});
    for (size_t i = 0; i < m * n; i++) {
        int want = add ? (int)i : 0;
        for (size_t l = 0; l < k * each; l++)
            want += left[i / n * k * each + l] * right[l * n + i % n];
        const uint32_t *at = &c[i / n * c_stride + i % n];
        float got;
        memcpy(&got, at, sizeof got);
        CHECK(sum == EG__SME_I8 ? (int32_t)*at == want : got == (float)want,
              "%s m %zu n %zu k %zu: C[%zu] is %g or %d, not %d", words[word].name, m, n, k, i,
              (double)got, (int32_t)*at, want);
    }
    CHECK(kernel_gap_broken(m, n, c_stride, (float *)c) == SIZE_MAX,
          "%s m %zu n %zu k %zu: wrote into a gap", words[word].name, m, n, k);
    free(left), free(right);
}

/* Around one and two vectors of 512 bits, panels, and a strip of k; B in two blocks of columns. */
TEST(sme, products) {
    static const size_t shapes[][3] = {{1, 1, 1},     {1, 1, 0},     {4, 5, 3},    {7, 16, 15},
                                       {15, 17, 16},  {16, 31, 17},  {16, 64, 31}, {17, 33, 33},
                                       {31, 65, 7},   {32, 32, 32},  {33, 48, 2},  {40, 100, 64},
                                       {65, 20, 513}, {3, 70, 1025}, {2, 4100, 5}, {18, 4097, 2}};
    uint64_t state = 1;
    size_t products = 0;
    if (!is_there()) return;
    const bool bytes = sums_bytes();
    for (int word = EG__SME_F32; word <= (bytes ? EG__SME_I8 : EG__SME_BF16); word++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++, products += 2)
            for (int add = 0; add < 2; add++)
                product_check((eg__sme_word)word, shapes[s][0], shapes[s][1], shapes[s][2], add,
                              &state);
    test_claim("%zu products, exact, vectors of %zu bits; of bytes: %s", products,
               8 * vector_bytes(), bytes ? "yes" : "not run, this emulator sums bytes wrongly");
}

static void product_run(void) {
    uint64_t state = 2;
    product_check(EG__SME_F32, 33, 40, 20, false, &state);
}

/* d8 to d15 are the caller's, and changing the mode clears them. */
TEST(sme, registers_are_kept) {
    double kept[8];
    if (!is_there()) return;
    for (int i = 0; i < 8; i++) kept[i] = 1.5 + i;
    double *at = kept;
    void (*call)(void) = product_run;
    SME("mov x19, %0\n\t"
        "ldp d8, d9, [x19]\n\t"
        "ldp d10, d11, [x19, #16]\n\t"
        "ldp d12, d13, [x19, #32]\n\t"
        "ldp d14, d15, [x19, #48]\n\t"
        "blr %1\n\t"
        "stp d8, d9, [x19]\n\t"
        "stp d10, d11, [x19, #16]\n\t"
        "stp d12, d13, [x19, #32]\n\t"
        "stp d14, d15, [x19, #48]"
        :
        : "r"(at), "r"(call)
        : "memory", "cc", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
          "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x30", ALL_VECTORS);
    for (int i = 0; i < 8; i++) CHECK(kept[i] == 1.5 + i, "d%d is %g", 8 + i, kept[i]);
}

/* A caller that left ZA on and said where it is to be saved finds it there, and ZA off. */
TEST(sme, za_is_saved) {
    if (!is_there()) return;
    const size_t bytes = vector_bytes();
    struct {
        uint8_t *memory;
        uint16_t slices, reserved[3];
    } block = {test_alloc(bytes * bytes), (uint16_t)bytes, {0}};
    uint8_t *values = test_alloc(bytes * bytes);
    uint64_t mode, pending;
    for (size_t i = 0; i < bytes * bytes; i++) values[i] = (uint8_t)(i * 7 + i / bytes);
    SME("smstart za");
    for (size_t i = 0; i < bytes; i++)
        SME("mov w12, %w1\n\t"
            "ldr za[w12, 0], [%0]"
            :
            : "r"(values + i * bytes), "r"(i)
            : "memory", "x12");
    SME("msr tpidr2_el0, %0" : : "r"(&block) : "memory");
    product_run();
    SME("mrs %0, svcr" : "=r"(mode));
    SME("mrs %0, tpidr2_el0" : "=r"(pending));
    CHECK(mode == 0 && pending == 0, "mode %llu, pending %llx", (unsigned long long)mode,
          (unsigned long long)pending);
    CHECK(memcmp(block.memory, values, bytes * bytes) == 0, "another ZA");
    free(block.memory), free(values);
}
