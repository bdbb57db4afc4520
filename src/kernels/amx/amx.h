/* Apple's AMX instructions (M1 to M3), which are undocumented: one function each, and the operands they take.
 *
 * Where EG__AMX_WORDS is 1 (Macs, and Linux on ARM in the build of `check-amx`) a function is the instruction itself.
 * Elsewhere it calls the model of amx_model.h, so that the same kernels run and are tested on any machine. */
#ifndef EG__AMX_H
#define EG__AMX_H

#include <stdbool.h>
#include <stdint.h>

#ifndef EG__AMX_WORDS
#if defined(__aarch64__) && defined(__APPLE__)
#define EG__AMX_WORDS 1
#else
#define EG__AMX_WORDS 0
#endif
#endif

/* ---- instructions: their number in the word 0x00201000 | number << 5 | register of the operand */
#define EG__AMX_MAP(X) \
    X(ldx, 0)          \
    X(ldy, 1)          \
    X(stx, 2)          \
    X(sty, 3)          \
    X(ldz, 4) X(stz, 5) X(ldzi, 6) X(stzi, 7) X(fma32, 12) X(fma16, 15) X(matint, 20) X(matfp, 21)
enum { EG__AMX_SWITCH = 17, EG__AMX_COUNT = 23, EG__AMX_BASE = 0x00201000 };
typedef enum eg__amx_op {
#define X(name, number) EG__AMX_##name = number,
    EG__AMX_MAP(X)
#undef X
} eg__amx_op;

#if EG__AMX_WORDS
/* The operand is in x0, so the last five bits of the word are 0. */
#define EG__AMX_EMIT(number, operand)               \
    register uint64_t x0 __asm__("x0") = (operand); \
    __asm__ volatile(".word %c0" : : "i"(EG__AMX_BASE + ((number) << 5)), "r"(x0) : "memory")
/* Three nops precede these two words in Apple's own code. */
static inline void eg__amx_set(void) {
    __asm__ volatile("nop\nnop\nnop\n.word 0x00201220" : : : "memory");
}
static inline void eg__amx_clr(void) {
    __asm__ volatile("nop\nnop\nnop\n.word 0x00201221" : : : "memory");
}
#else
void eg__amx_model(unsigned number, unsigned register_, uint64_t operand);
#define EG__AMX_EMIT(number, operand) eg__amx_model(number, 0, operand)
static inline void eg__amx_set(void) { eg__amx_model(EG__AMX_SWITCH, 0, 0); }
static inline void eg__amx_clr(void) { eg__amx_model(EG__AMX_SWITCH, 1, 0); }
#endif
#define X(name, number) \
    static inline void eg__amx_##name(uint64_t operand) { EG__AMX_EMIT(number, operand); }
EG__AMX_MAP(X)
#undef X

/* ---- operands. X and Y are rings of 8 registers of 64 bytes, Z has 64 rows of 64 bytes. Fields that are 0 have the
 * plain meaning. */
#define EG__AMX_FIELD(value, bit) ((uint64_t)(value) << (bit))

/* Loads and stores. */
typedef struct eg__amx_memory {
    const void *at; /* any alignment; of several registers, 128 */
    unsigned to;    /* the register, row of Z, or, interleaved, 2 * pair of rows + half */
    bool pair;      /* two registers, from this one on */
    bool four;      /* with `pair`: four; M2 and later */
    bool spread;    /* with `pair`: not neighbours, evenly apart; M3 and later */
} eg__amx_memory;
static inline uint64_t eg__amx_memory_operand(eg__amx_memory m) {
    return EG__AMX_FIELD((uintptr_t)m.at, 0) | EG__AMX_FIELD(m.to, 56) | EG__AMX_FIELD(m.four, 60) |
           EG__AMX_FIELD(m.spread, 61) | EG__AMX_FIELD(m.pair, 62);
}

/* Which lanes take part: of fma (7 bits) and of matfp and matint (9 bits). */
typedef enum eg__amx_lanes {
    EG__AMX_ALL = 0, /* value 0; 1 = the odd ones, 2 = the even ones */
    EG__AMX_ONE = 1, /* lane `value` */
    EG__AMX_FIRST = 2,
    EG__AMX_LAST = 3, /* `value` of them, 0 = all */
} eg__amx_lanes;

/* z += x*y: an outer product. Row j of an accumulator has x times lane j of y. */
typedef struct eg__amx_fma {
    unsigned y, x; /* offsets in bytes */
    unsigned z;    /* the accumulator: f32 0..3 */
    bool skip_z, skip_y, skip_x;
    unsigned y_value, y_lanes, x_value, x_lanes;
    bool y_half, x_half; /* fma32: f16 in the low half of each lane */
    bool z_float;        /* fma16: Z is f32 */
    bool vector;         /* lane by lane into row z */
} eg__amx_fma;
static inline uint64_t eg__amx_fma_operand(eg__amx_fma f) {
    return EG__AMX_FIELD(f.y, 0) | EG__AMX_FIELD(f.x, 10) | EG__AMX_FIELD(f.z, 20) |
           EG__AMX_FIELD(f.skip_z, 27) | EG__AMX_FIELD(f.skip_y, 28) | EG__AMX_FIELD(f.skip_x, 29) |
           EG__AMX_FIELD(f.y_value, 32) | EG__AMX_FIELD(f.y_lanes, 37) |
           EG__AMX_FIELD(f.x_value, 41) | EG__AMX_FIELD(f.x_lanes, 46) |
           EG__AMX_FIELD(f.y_half, 60) | EG__AMX_FIELD(f.x_half, 61) |
           EG__AMX_FIELD(f.z_float, 62) | EG__AMX_FIELD(f.vector, 63);
}

/* matfp: outer products of other types. */
typedef enum eg__amx_float_lanes {
    EG__AMX_BF16_F32 = 1, /* M2 and later */
    EG__AMX_F16_F32 = 3,
    EG__AMX_F32 = 4,
} eg__amx_float_lanes;
typedef struct eg__amx_float {
    unsigned y, x, z;
    unsigned y_lanes, y_value, x_lanes, x_value;
    unsigned y_shuffle, x_shuffle;
    unsigned type; /* eg__amx_float_lanes */
    unsigned alu;  /* 0 z + x*y, 1 z - x*y, 4 x <= 0 ? 0 : y */
} eg__amx_float;
static inline uint64_t eg__amx_float_operand(eg__amx_float f) {
    return EG__AMX_FIELD(f.y, 0) | EG__AMX_FIELD(f.x, 10) | EG__AMX_FIELD(f.z, 20) |
           EG__AMX_FIELD(f.y_lanes, 23) | EG__AMX_FIELD(f.y_shuffle, 27) |
           EG__AMX_FIELD(f.x_shuffle, 29) | EG__AMX_FIELD(f.x_value, 32) |
           EG__AMX_FIELD(f.x_lanes, 38) | EG__AMX_FIELD(f.type, 42) | EG__AMX_FIELD(f.alu, 47) |
           EG__AMX_FIELD(f.y_value, 58);
}

/* matint: the same of integers. With alu 8 and type 10, int8 times int8 to int32: all 64 lanes of X times each fourth of
 * Y, from `y` on; row j + (i & 3), lane i >> 2 of Z has x[i] * y[j]. */
enum { EG__AMX_BYTES = 8, EG__AMX_I8_I32 = 10 };
typedef struct eg__amx_integer {
    unsigned y, x, z;
    bool y_signed, x_signed;
    bool lanes_of_y; /* whose lanes `lanes` and `value` choose */
    unsigned lanes, value;
    unsigned y_shuffle, x_shuffle;
    unsigned type, alu, shift;
} eg__amx_integer;
static inline uint64_t eg__amx_integer_operand(eg__amx_integer f) {
    return EG__AMX_FIELD(f.y, 0) | EG__AMX_FIELD(f.x, 10) | EG__AMX_FIELD(f.z, 20) |
           EG__AMX_FIELD(f.lanes_of_y, 25) | EG__AMX_FIELD(f.y_signed, 26) |
           EG__AMX_FIELD(f.y_shuffle, 27) | EG__AMX_FIELD(f.x_shuffle, 29) |
           EG__AMX_FIELD(f.value, 32) | EG__AMX_FIELD(f.lanes, 38) | EG__AMX_FIELD(f.type, 42) |
           EG__AMX_FIELD(f.alu, 47) | EG__AMX_FIELD(f.shift, 58) | EG__AMX_FIELD(f.x_signed, 63);
}

#endif
