/* fused_f32 for any vector width: an interpreter that runs each instruction over a small block of
 * elements, so that the choice of an instruction is paid once per block and values stay in the
 * first cache. Included by fused_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/vmath.h"

#include <string.h>

enum { BLOCK = 256, ROWS_MAX = BLOCK / VF_N };

/* Where an instruction reads or writes: row r, column i is at data[r*stride + (i & mask)]. A mask
 * of 0 repeats one vector, which holds a per-row value or a scalar in every lane. */
typedef struct view {
    float *data;
    size_t stride, mask;
} view;

/* One instruction over the block. BODY sees x, y, z and sets d; HEAVY is the same for functions
 * that work on several vectors in lockstep. */
#define LOOP(BODY)                                                                                \
    for (size_t r = 0; r < rows; r++) {                                                           \
        const float *pa = a.data + r * a.stride, *pb = b.data + r * b.stride,                     \
                    *pc = c.data + r * c.stride;                                                  \
        float *to = out.data + r * out.stride;                                                    \
        size_t i = 0;                                                                             \
        for (; i + VF_N <= columns; i += VF_N) {                                                  \
            vf d, x = vf_load(pa + (i & a.mask)), y = vf_load(pb + (i & b.mask)),                 \
                  z = vf_load(pc + (i & c.mask));                                                 \
            (void)x, (void)y, (void)z;                                                            \
            BODY;                                                                                 \
            vf_store(to + i, d);                                                                  \
        }                                                                                         \
        if (i < columns) {                                                                        \
            size_t n = columns - i;                                                               \
            vf d, x = vf_load_part(pa + (i & a.mask), n), y = vf_load_part(pb + (i & b.mask), n), \
                  z = vf_load_part(pc + (i & c.mask), n);                                         \
            (void)x, (void)y, (void)z;                                                            \
            BODY;                                                                                 \
            vf_store_part(to + i, d, n);                                                          \
        }                                                                                         \
    }                                                                                             \
    break

#define HEAVY(FUNCTION)                                                                        \
    for (size_t r = 0; r < rows; r++) {                                                        \
        const float *pa = a.data + r * a.stride;                                               \
        float *to = out.data + r * out.stride;                                                 \
        size_t i = 0;                                                                          \
        for (; i + LOCKSTEP * VF_N <= columns; i += LOCKSTEP * VF_N) {                         \
            vf x[LOCKSTEP];                                                                    \
            UNROLL                                                                             \
            for (int l = 0; l < LOCKSTEP; l++) x[l] = vf_load(pa + ((i + l * VF_N) & a.mask)); \
            FUNCTION(LOCKSTEP, x);                                                             \
            UNROLL                                                                             \
            for (int l = 0; l < LOCKSTEP; l++) vf_store(to + i + l * VF_N, x[l]);              \
        }                                                                                      \
        for (; i + VF_N <= columns; i += VF_N) {                                               \
            vf x = vf_load(pa + (i & a.mask));                                                 \
            FUNCTION(1, &x);                                                                   \
            vf_store(to + i, x);                                                               \
        }                                                                                      \
        if (i < columns) {                                                                     \
            vf x = vf_load_part(pa + (i & a.mask), columns - i);                               \
            FUNCTION(1, &x);                                                                   \
            vf_store_part(to + i, x, columns - i);                                             \
        }                                                                                      \
    }                                                                                          \
    break

INLINE vf keep_nan(vf result, vf a) { return vf_select(vf_ne(a, a), a, result); }

static void instruction_run(eg__fused_op op, view out, view a, view b, view c, size_t rows,
                            size_t columns) {
    const vf one = vf_set(1.0f), zero = vf_zero();
    switch (op) {
    case EG__FUSED_COPY: LOOP(d = x);
    case EG__FUSED_ADD: LOOP(d = vf_add(x, y));
    case EG__FUSED_SUB: LOOP(d = vf_sub(x, y));
    case EG__FUSED_MUL: LOOP(d = vf_mul(x, y));
    case EG__FUSED_DIV: LOOP(d = vf_div(x, y));
    case EG__FUSED_MIN: LOOP(d = keep_nan(vf_min(x, y), x));
    case EG__FUSED_MAX: LOOP(d = keep_nan(vf_max(x, y), x));
    case EG__FUSED_FMA: LOOP(d = vf_fma(x, y, z));
    case EG__FUSED_NEG: LOOP(d = vf_xor(x, SIGN_BIT));
    case EG__FUSED_ABS: LOOP(d = vf_abs(x));
    case EG__FUSED_SQRT: LOOP(d = vf_sqrt(x));
    case EG__FUSED_RSQRT: LOOP(d = vf_div(one, vf_sqrt(x)));
    case EG__FUSED_EXP: HEAVY(vf_exp_n);
    case EG__FUSED_LOG: LOOP(d = vf_log(x));
    case EG__FUSED_TANH: HEAVY(vf_tanh_n);
    case EG__FUSED_SIGMOID: HEAVY(vf_sigmoid_n);
    case EG__FUSED_SOFTPLUS: LOOP(d = vf_softplus(x));
    case EG__FUSED_ERF: LOOP(d = vf_erf(x));
    case EG__FUSED_GELU: LOOP(d = vf_gelu(x));
    case EG__FUSED_SILU: HEAVY(vf_silu_n);
    case EG__FUSED_RELU: LOOP(d = vf_max(zero, x));
    case EG__FUSED_SIN: LOOP(d = vf_sin(x));
    case EG__FUSED_COS: LOOP(d = vf_cos(x));
    case EG__FUSED_POW: LOOP(d = vf_pow(x, y));
    case EG__FUSED_LT: LOOP(d = vf_select(vf_lt(x, y), one, zero));
    case EG__FUSED_LE: LOOP(d = vf_select(vf_le(x, y), one, zero));
    case EG__FUSED_EQ: LOOP(d = vf_select(vf_eq(x, y), one, zero));
    case EG__FUSED_NE: LOOP(d = vf_select(vf_ne(x, y), one, zero));
    case EG__FUSED_SELECT: LOOP(d = vf_select(vf_ne(x, zero), y, z));
    case EG__FUSED_COUNT: break;
    }
}

typedef struct workspace {
    _Alignas(64) float registers[EG__FUSED_REGISTERS][BLOCK];
    float repeated[EG__FUSED_OPERANDS][ROWS_MAX * VF_N];
} workspace;

static void repeat(float *to, float value) { vf_store(to, vf_set(value)); }

/* The operand as seen from the block that starts at (row, column). */
static view operand_view(const eg__fused_f32_args *args, workspace *space, unsigned i, size_t row,
                         size_t rows, size_t column) {
    const eg__fused_operand *operand = &args->operand[i];
    const size_t all = ~(size_t)0;
    switch ((eg__fused_kind)args->program->kind[i]) {
    case EG__FULL:
        return (view){operand->data + row * operand->stride + column, operand->stride, all};
    case EG__COLUMN: return (view){operand->data + column, 0, all};
    case EG__ROW:
        for (size_t r = 0; r < rows; r++)
            repeat(&space->repeated[i][r * VF_N], operand->data[(row + r) * operand->stride]);
        return (view){space->repeated[i], VF_N, 0};
    case EG__SCALAR: break;
    }
    return (view){space->repeated[i], 0, 0}; /* filled once, before the first block */
}

/* One block: `places` holds the registers already. */
static void block_run(const eg__fused_f32_args *args, workspace *space, view *places, size_t row,
                      size_t rows, size_t column, size_t columns) {
    const eg__fused_program *program = args->program;
    for (unsigned i = 0; i < program->operands; i++)
        places[EG__OPERAND(i)] = operand_view(args, space, i, row, rows, column);
    for (unsigned i = 0; i < program->length; i++) {
        const eg__fused_instruction *code = &program->code[i];
        unsigned inputs = eg__fused_op_inputs(code->op);
        instruction_run(code->op, places[code->out], places[code->a],
                        places[inputs > 1 ? code->b : code->a],
                        places[inputs > 2 ? code->c : code->a], rows, columns);
    }
}

void SIMD(eg__fused_f32)(const eg__fused_f32_args *args) {
    workspace space;
    view places[EG__FUSED_REGISTERS + EG__FUSED_OPERANDS];
    size_t rows = args->rows, columns = args->columns;
    if (eg__fused_is_flat(args)) columns *= rows, rows = rows > 0;
    if (!rows || !columns) return;
    for (unsigned i = 0; i < args->program->operands; i++)
        if (args->program->kind[i] == EG__SCALAR) repeat(space.repeated[i], *args->operand[i].data);
    /* a single instruction keeps nothing for a next one, so that it may take a whole row, unless it
     * writes to a register; narrow rows are taken several at a time */
    const bool whole =
        args->program->length == 1 && args->program->code[0].out >= EG__FUSED_REGISTERS;
    const size_t wide = whole ? columns : eg__min(columns, BLOCK);
    const size_t stride = eg__round_up(wide, VF_N), high = eg__max(1, BLOCK / stride);
    for (unsigned i = 0; i < EG__FUSED_REGISTERS; i++)
        places[i] = (view){space.registers[i], stride, ~(size_t)0};
    for (size_t row = 0; row < rows; row += high)
        for (size_t column = 0; column < columns; column += wide)
            block_run(args, &space, places, row, eg__min(high, rows - row), column,
                      eg__min(wide, columns - column));
}
