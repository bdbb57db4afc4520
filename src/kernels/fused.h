/* Chains of elementwise operations as tiny register programs: one pass over memory for all. */
#ifndef EG__FUSED_H
#define EG__FUSED_H

#include "base/base.h"
#include "kernels/gemm.h"

/* name, number of inputs, text. Comparisons give 1 or 0; select(c, a, b) is a where c is not 0.
 * min and max are NaN where either input is. Roundings go to the nearest of that type, ties to even. */
#define EG__FUSED_MAP(X)                                                        \
    X(COPY, 1, "copy")                                                          \
    X(ADD, 2, "add")                                                            \
    X(SUB, 2, "sub")                                                            \
    X(MUL, 2, "mul")                                                            \
    X(DIV, 2, "div")                                                            \
    X(MIN, 2, "min")                                                            \
    X(MAX, 2, "max")                                                            \
    X(FMA, 3, "fma") /* a*b + c, rounded once */                                \
    X(NEG, 1, "neg")                                                            \
    X(ABS, 1, "abs")                                                            \
    X(SQRT, 1, "sqrt")                                                          \
    X(RSQRT, 1, "rsqrt")                                                        \
    X(EXP, 1, "exp")                                                            \
    X(LOG, 1, "log")                                                            \
    X(TANH, 1, "tanh")                                                          \
    X(SIGMOID, 1, "sigmoid")                                                    \
    X(SOFTPLUS, 1, "softplus")                                                  \
    X(ERF, 1, "erf")                                                            \
    X(GELU, 1, "gelu")                                                          \
    X(SILU, 1, "silu")                                                          \
    X(RELU, 1, "relu")                                                          \
    X(SIN, 1, "sin")                                                            \
    X(COS, 1, "cos")                                                            \
    X(ROUND_F16, 1, "round_f16")                                                \
    X(ROUND_BF16, 1, "round_bf16")                                              \
    X(POW, 2, "pow")                                                            \
    X(LT, 2, "lt")                                                              \
    X(LE, 2, "le")                                                              \
    X(EQ, 2, "eq")                                                              \
    X(NE, 2, "ne")                                                              \
    X(SELECT, 3, "select")                                                      \
    /* superinstructions: two or three of the above, with the same roundings */ \
    X(LERP, 3, "lerp") /* fma(c, b - a, a) */                                   \
    X(ADD_TANH, 2, "add+tanh")                                                  \
    X(ADD_SIGMOID, 2, "add+sigmoid")                                            \
    X(ADD_SILU, 2, "add+silu")                                                  \
    X(ADD_RELU, 2, "add+relu")                                                  \
    X(FMA_TANH, 3, "fma+tanh")                                                  \
    X(FMA_SIGMOID, 3, "fma+sigmoid")

typedef enum eg__fused_op {
#define EG__FUSED_ENUM(name, inputs, text) EG__FUSED_##name,
    EG__FUSED_MAP(EG__FUSED_ENUM)
#undef EG__FUSED_ENUM
        EG__FUSED_COUNT
} eg__fused_op;

const char *eg__fused_op_name(eg__fused_op op); /* "tanh"; static */
unsigned eg__fused_op_inputs(eg__fused_op op);

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

/* Brings a program that has a kernel of its own into the order which that kernel knows. */
void eg__fused_arrange(eg__fused_program *program);

/* The places of the gradient of a CfC gate (fused_arrange.c); d2 0 = none. A program of it begins with
 * EG__GATE_BACK instructions, then come copies of the three results. */
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

/* A register is written before it is read, places exist, only full operands are written. */
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
