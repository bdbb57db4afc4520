/* Chains of elementwise operations as tiny register programs: one pass over memory for all. */
#ifndef EG__FUSED_H
#define EG__FUSED_H

#include "base/base.h"
#include "kernels/gemm/gemm.h"

/* name, number of inputs, text, and the relative cost of a function: about the multiplications and
 * additions of its polynomials and divisions, 0 for a single instruction. Only ratios matter; the
 * fit of a chip's rates finds the time per unit. Comparisons give 1 or 0; select(c, a, b) is a
 * where c is not 0. min and max are NaN where either input is. Roundings go to the nearest of that
 * type, ties to even. */
#define EG__FUSED_MAP(X)                                                        \
    X(COPY, 1, "copy", 0)                                                       \
    X(ADD, 2, "add", 0)                                                         \
    X(SUB, 2, "sub", 0)                                                         \
    X(MUL, 2, "mul", 0)                                                         \
    X(DIV, 2, "div", 6)                                                         \
    X(MIN, 2, "min", 0)                                                         \
    X(MAX, 2, "max", 0)                                                         \
    X(FMA, 3, "fma", 0) /* a*b + c, rounded once */                             \
    X(NEG, 1, "neg", 0)                                                         \
    X(ABS, 1, "abs", 0)                                                         \
    X(SQRT, 1, "sqrt", 6)                                                       \
    X(RSQRT, 1, "rsqrt", 8)                                                     \
    X(EXP, 1, "exp", 14)                                                        \
    X(LOG, 1, "log", 18)                                                        \
    X(TANH, 1, "tanh", 18)                                                      \
    X(SIGMOID, 1, "sigmoid", 18)                                                \
    X(SOFTPLUS, 1, "softplus", 30)                                              \
    X(ERF, 1, "erf", 24)                                                        \
    X(GELU, 1, "gelu", 28)                                                      \
    X(SILU, 1, "silu", 19)                                                      \
    X(RELU, 1, "relu", 0)                                                       \
    X(SIN, 1, "sin", 20)                                                        \
    X(COS, 1, "cos", 20)                                                        \
    X(ROUND_F16, 1, "round_f16", 12)                                            \
    X(ROUND_BF16, 1, "round_bf16", 5)                                           \
    X(POW, 2, "pow", 34)                                                        \
    X(LT, 2, "lt", 0)                                                           \
    X(LE, 2, "le", 0)                                                           \
    X(EQ, 2, "eq", 0)                                                           \
    X(NE, 2, "ne", 0)                                                           \
    X(SELECT, 3, "select", 0)                                                   \
    /* superinstructions: two or three of the above, with the same roundings */ \
    X(LERP, 3, "lerp", 0) /* fma(c, b - a, a) */                                \
    X(ADD_TANH, 2, "add+tanh", 18)                                              \
    X(ADD_SIGMOID, 2, "add+sigmoid", 18)                                        \
    X(ADD_SILU, 2, "add+silu", 19)                                              \
    X(ADD_RELU, 2, "add+relu", 0)                                               \
    X(FMA_TANH, 3, "fma+tanh", 18)                                              \
    X(FMA_SIGMOID, 3, "fma+sigmoid", 18)

typedef enum eg__fused_op {
#define EG__FUSED_ENUM(name, inputs, text, flops) EG__FUSED_##name,
    EG__FUSED_MAP(EG__FUSED_ENUM)
#undef EG__FUSED_ENUM
        EG__FUSED_COUNT
} eg__fused_op;

const char *eg__fused_op_name(eg__fused_op op); /* "tanh"; static */
unsigned eg__fused_op_inputs(eg__fused_op op);
unsigned eg__fused_op_flops(eg__fused_op op); /* 18 for tanh; 0 = one instruction */

enum { EG__FUSED_REGISTERS = 8, EG__FUSED_OPERANDS = 16, EG__FUSED_INSTRUCTIONS = 32 };
/* A place is a register (0 .. 7) or an operand. */
#define EG__OPERAND(i) ((uint8_t)(EG__FUSED_REGISTERS + (i)))

typedef struct eg__fused_instruction {
    uint8_t op, out, a, b, c; /* unused inputs are 0 */
} eg__fused_instruction;

/* How an operand is seen from element (row, column). */
typedef enum eg__fused_kind {
    EG__FULL,   /* data[row*stride + column] */
    EG__ROW,    /* data[row*stride]: one value per row, such as an elapsed time */
    EG__COLUMN, /* data[column]: such as a bias */
    EG__SCALAR  /* data[0] */
} eg__fused_kind;

typedef struct eg__fused_program {
    uint8_t length, operands;
    uint8_t kind[EG__FUSED_OPERANDS];
    eg__fused_instruction code[EG__FUSED_INSTRUCTIONS];
    uint32_t operations; /* that it computes per element, however they were joined; for counts */
} eg__fused_program;

/* Replaces neighbours that have a superinstruction where the value between them is used once. */
void eg__fused_join(eg__fused_program *program);

/* Reorders a program that has a compiled kernel into the order which that kernel expects. */
void eg__fused_arrange(eg__fused_program *program);

/* The operands of the gradient of a CfC gate (fused_arrange.c); d2 0 = none. Such a program has
 * EG__GATE_BACK instructions, followed by copies of the three results. */
typedef struct eg__fused_gate_back_places {
    uint8_t d1, d2, f, g, t, one, dt, dg, df;
} eg__fused_gate_back;
enum { EG__GATE_BACK = 14, EG__GATE_BACK_STORES = 8 };
void eg__fused_gate_back_write(const eg__fused_gate_back *places, eg__fused_program *program);
static inline eg__fused_gate_back eg__fused_gate_back_read(const eg__fused_program *p) {
    const eg__fused_instruction *c = p->code;
    return (eg__fused_gate_back){c[0].a, c[0].b,    c[1].b,    c[1].a,   c[3].b,
                                 c[5].a, c[11].out, c[12].out, c[13].out};
}

/* Checks a program: registers are written before they are read, places exist, only full operands
 * are written. */
eg_status eg__fused_check(const eg__fused_program *program, eg_error *error);

typedef struct eg__fused_operand {
    float *data;
    size_t stride; /* floats between rows */
} eg__fused_operand;

/* An output may be the very memory of an input, element for element; no other overlap. */
typedef struct eg__fused_f32_args {
    const eg__fused_program *program;
    size_t rows, columns;
    eg__fused_operand operand[EG__FUSED_OPERANDS];
} eg__fused_f32_args;

/* True when rows can be joined into one long row: no per-row or per-column operand, no gaps. */
bool eg__fused_is_flat(const eg__fused_f32_args *args);

/* A fused program as the epilogue of a product: `args` describes the whole of C. */
typedef struct eg__fused_epilogue {
    void (*kernel)(const eg__fused_f32_args *args);
    eg__fused_f32_args args;
} eg__fused_epilogue;
eg__epilogue eg__fused_epilogue_use(const eg__fused_epilogue *fused);

#endif
