/* Matrix products by outer products: two by two tiles of ZA, or one by four where there are few rows.
 *
 * This file is compiled without vector registers (-mgeneral-regs-only): streaming mode has no NEON, so nothing that the compiler
 * makes of functions named _streaming may need it, and what assembly leaves in z, p and ZA stays there until the next.
 * Nothing else is called from there. check-sme looks at the instructions. */
#include "base/base.h"
#include "kernels/sme/sme.h"

enum {
    LANES = EG__PANEL, /* most words of a vector that are used: 512 bits */
    STRIP = 2 * LANES, /* words from one k to the next of a transposed strip of A */
    DEPTH = 512,       /* of a strip, which is 64 KiB on the stack */
    COLUMNS = 4096, /* DEPTH x that of B are 8 MiB, which stay in the second cache for all strips */
};

_Static_assert(COLUMNS % (4 * LANES) == 0, "no tile reaches into the next block of columns");

/* binutils 2.40 and clang know the instructions, gcc 12 does not. */
#define SME(...) __asm__ volatile(".arch armv8.6-a+sme\n\t" __VA_ARGS__)

/* A tile: `rows` rows of C from `row` on, and columns from `column` on. */
typedef struct tile {
    size_t row, rows, column;
    size_t lanes; /* words of a vector */
    size_t k, depth;
    bool tall; /* two by two vectors, not one by four */
} tile;

/* p0, p1: rows of A that are there; p2 to p5: columns of B. Whole words, because products of halves and bytes have a
 * bit for each of them. */
#define PREDICATE(name, words) SME("whilelo " name ".b, xzr, %0" : : "r"(4 * (words)) : "cc")

static inline size_t vector_part(size_t count, size_t lanes, size_t vector) {
    const size_t before = lanes * vector;
    return count <= before ? 0 : eg__min(count - before, lanes);
}

/* ---- A: a strip of rows becomes columns */
/* Rows into horizontal slices of a tile, then its vertical ones into memory. */
static void transpose_streaming(size_t rows, size_t depth, size_t lanes, const uint32_t *a,
                                size_t stride, uint32_t *to) {
    SME("zero {za0.s}");
    PREDICATE("p7", lanes);
    for (size_t k = 0; k < depth; k += lanes) {
        const size_t count = eg__min(depth - k, lanes);
        PREDICATE("p6", count);
        for (size_t i = 0; i < rows; i++) {
            register uint32_t slice __asm__("w12") = (uint32_t)i;
            SME("ld1w {z0.s}, p6/z, [%0]\n\t"
                "mov za0h.s[%w1, 0], p7/m, z0.s"
                :
                : "r"(a + i * stride + k), "r"(slice)
                : "memory");
        }
        for (size_t i = 0; i < count; i++) {
            register uint32_t slice __asm__("w12") = (uint32_t)i;
            SME("mov z0.s, p7/m, za0v.s[%w1, 0]\n\t"
                "st1w {z0.s}, p7, [%0]"
                :
                : "r"(to + (k + i) * STRIP), "r"(slice)
                : "memory");
        }
    }
}

/* ---- tiles of C */
/* Moves the rows of a tile; X(tile of ZA, predicate, index of the vector in its row) moves one vector. */
#define LOAD(za, predicate, v)                            \
    SME("ld1w {z4.s}, " predicate "/z, [%0]\n\t"          \
        "mov za" #za "h.s[%w1, 0], " predicate "/m, z4.s" \
        :                                                 \
        : "r"(at + (v)*lanes), "r"(slice)                 \
        : "memory")
#define STORE(za, predicate, v)                               \
    SME("mov z4.s, " predicate "/m, za" #za "h.s[%w1, 0]\n\t" \
        "st1w {z4.s}, " predicate ", [%0]"                    \
        :                                                     \
        : "r"(at + (v)*lanes), "r"(slice)                     \
        : "memory")
#define DEFINE_MOVE(name, X, type)                                                          \
    static void name##_streaming(const tile *t, type *from, size_t stride) {                \
        const size_t lanes = t->lanes;                                                      \
        type *at = from + t->row * stride + t->column;                                      \
        for (size_t i = 0; i < t->rows; i++, at += stride) {                                \
            register uint32_t slice __asm__("w12") = (uint32_t)(i < lanes ? i : i - lanes); \
            if (!t->tall) {                                                                 \
                X(0, "p2", 0);                                                              \
                X(1, "p3", 1);                                                              \
                X(2, "p4", 2);                                                              \
                X(3, "p5", 3);                                                              \
            } else if (i < lanes) {                                                         \
                X(0, "p2", 0);                                                              \
                X(1, "p3", 1);                                                              \
            } else {                                                                        \
                X(2, "p2", 0);                                                              \
                X(3, "p3", 1);                                                              \
            }                                                                               \
        }                                                                                   \
    }
DEFINE_MOVE(load, LOAD, const uint32_t)
DEFINE_MOVE(store, STORE, uint32_t)

/* Four accumulators hide the latency of an outer product. `b` are the vectors of B of one k. */
#define TALL(op, type)                                                                       \
    SME("1:\n\t"                                                                             \
        "ld1w {z0.s}, p0/z, [%0]\n\t"                                                        \
        "ld1w {z1.s}, p1/z, [%1]\n\t"                                                        \
        "ld1w {z2.s}, p2/z, [%2]\n\t"                                                        \
        "ld1w {z3.s}, p3/z, [%3]\n\t"                                                        \
        "add %0, %0, #128\n\t"                                                               \
        "add %1, %1, #128\n\t"                                                               \
        "add %2, %2, #64\n\t"                                                                \
        "add %3, %3, #64\n\t"                                                                \
        "subs %4, %4, #1\n\t" op " za0.s, p0/m, p2/m, z0." type ", z2." type "\n\t" op       \
        " za1.s, p0/m, p3/m, z0." type ", z3." type "\n\t" op " za2.s, p1/m, p2/m, z1." type \
        ", z2." type "\n\t" op " za3.s, p1/m, p3/m, z1." type ", z3." type "\n\t"            \
        "b.ne 1b"                                                                            \
        : "+r"(a), "+r"(next), "+r"(b[0]), "+r"(b[1]), "+r"(depth)                           \
        :                                                                                    \
        : "cc", "memory")
#define WIDE(op, type)                                                                       \
    SME("1:\n\t"                                                                             \
        "ld1w {z0.s}, p0/z, [%0]\n\t"                                                        \
        "ld1w {z2.s}, p2/z, [%1]\n\t"                                                        \
        "ld1w {z3.s}, p3/z, [%2]\n\t"                                                        \
        "ld1w {z4.s}, p4/z, [%3]\n\t"                                                        \
        "ld1w {z5.s}, p5/z, [%4]\n\t"                                                        \
        "add %0, %0, #128\n\t"                                                               \
        "add %1, %1, #64\n\t"                                                                \
        "add %2, %2, #64\n\t"                                                                \
        "add %3, %3, #64\n\t"                                                                \
        "add %4, %4, #64\n\t"                                                                \
        "subs %5, %5, #1\n\t" op " za0.s, p0/m, p2/m, z0." type ", z2." type "\n\t" op       \
        " za1.s, p0/m, p3/m, z0." type ", z3." type "\n\t" op " za2.s, p0/m, p4/m, z0." type \
        ", z4." type "\n\t" op " za3.s, p0/m, p5/m, z0." type ", z5." type "\n\t"            \
        "b.ne 1b"                                                                            \
        : "+r"(a), "+r"(b[0]), "+r"(b[1]), "+r"(b[2]), "+r"(b[3]), "+r"(depth)               \
        :                                                                                    \
        : "cc", "memory")
#define TURNS(op, type) \
    if (t->tall) {      \
        TALL(op, type); \
    } else {            \
        WIDE(op, type); \
    }                   \
    break

static void sum_streaming(const eg__sme_args *g, const tile *t, const uint32_t *a) {
    const uint32_t *next = a + LANES, *b[4];
    size_t depth = t->depth;
    if (!depth) return;
    for (size_t v = 0; v < 4; v++) {
        const size_t column = t->column + v * t->lanes;
        b[v] = g->b + (column / EG__PANEL * g->k + t->k) * EG__PANEL + column % EG__PANEL;
    }
    switch (g->word) {
    case EG__SME_F32: TURNS("fmopa", "s");
    case EG__SME_F16: TURNS("fmopa", "h");
    case EG__SME_BF16: TURNS("bfmopa", "h");
    case EG__SME_I8: TURNS("smopa", "b");
    }
}

static void tile_streaming(const eg__sme_args *g, const tile *t, const uint32_t *a) {
    const size_t columns = g->n - t->column;
    PREDICATE("p2", vector_part(columns, t->lanes, 0));
    PREDICATE("p3", vector_part(columns, t->lanes, 1));
    PREDICATE("p4", vector_part(columns, t->lanes, 2));
    PREDICATE("p5", vector_part(columns, t->lanes, 3));
    if (t->k) load_streaming(t, g->c, g->c_stride);
    else if (g->add) load_streaming(t, g->add, g->add_stride);
    else SME("zero {za}");
    sum_streaming(g, t, a);
    store_streaming(t, g->c, g->c_stride);
}

/* All columns from `column` to `end` of a strip of rows, for `depth` words of k. */
static void strip_streaming(const eg__sme_args *g, tile t, size_t column, size_t end,
                            uint32_t *left) {
    for (size_t v = 0; v < 1 + (size_t)t.tall; v++)
        transpose_streaming(vector_part(t.rows, t.lanes, v), t.depth, t.lanes,
                            g->a + (t.row + v * t.lanes) * g->a_stride + t.k, g->a_stride,
                            left + v * LANES);
    PREDICATE("p0", vector_part(t.rows, t.lanes, 0));
    PREDICATE("p1", vector_part(t.rows, t.lanes, 1));
    for (t.column = column; t.column < end; t.column += t.lanes * (t.tall ? 2 : 4))
        tile_streaming(g, &t, left);
}

__attribute__((noinline)) static void product_streaming(const eg__sme_args *g, size_t lanes) {
    uint32_t left[STRIP * DEPTH] __attribute__((aligned(64)));
    for (size_t column = 0; column < g->n; column += COLUMNS) {
        size_t k = 0;
        do {
            const size_t depth = eg__min(DEPTH, g->k - k);
            for (size_t row = 0, rows; row < g->m; row += rows) {
                rows = eg__min(g->m - row, 2 * lanes);
                const tile t = {row, rows, column, lanes, k, depth, rows > lanes};
                strip_streaming(g, t, column, eg__min(column + COLUMNS, g->n), left);
            }
            k += DEPTH;
        } while (k < g->k);
    }
}

/* ---- in and out of streaming mode */
/* Somebody may have left his ZA on, to be saved by whoever needs it next: TPIDR2_EL0 says where, and zero says that it is done. */
typedef struct lazy_save {
    uint8_t *memory;
    uint16_t slices;
    uint16_t reserved[3];
} lazy_save;
static void za_save(size_t svl) {
    lazy_save *save;
    SME("mrs %0, tpidr2_el0" : "=r"(save));
    if (!save) return;
    for (size_t i = 0; save->memory && i < save->slices; i++) {
        register uint32_t slice __asm__("w12") = (uint32_t)i;
        SME("str za[%w1, 0], [%0]" : : "r"(save->memory + i * svl), "r"(slice) : "memory");
    }
    SME("msr tpidr2_el0, xzr");
}

void eg__sme_product(const eg__sme_args *args) {
    uint64_t kept[8]; /* d8 to d15 belong to our caller, and changing the mode clears them */
    size_t svl;
    if (!args->m || !args->n) return;
    SME("rdsvl %0, #1" : "=r"(svl));
    za_save(svl);
    SME("stp d8, d9, [%0]\n\t"
        "stp d10, d11, [%0, #16]\n\t"
        "stp d12, d13, [%0, #32]\n\t"
        "stp d14, d15, [%0, #48]\n\t"
        "smstart"
        :
        : "r"(kept)
        : "memory");
    product_streaming(args, eg__min(svl / sizeof *args->c, LANES));
    SME("smstop\n\t"
        "ldp d8, d9, [%0]\n\t"
        "ldp d10, d11, [%0, #16]\n\t"
        "ldp d12, d13, [%0, #32]\n\t"
        "ldp d14, d15, [%0, #48]"
        :
        : "r"(kept)
        : "memory");
}
