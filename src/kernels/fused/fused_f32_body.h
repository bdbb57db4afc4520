/* fused_f32 for any vector width: an interpreter that runs each instruction over a small block of
 * elements, so that the choice of an instruction is paid once per block and values stay in the
 * first cache. Included by fused_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/vmath.h"

#include <string.h>

enum {
    BLOCK = 512,
    ROWS_MAX = BLOCK / VF_N,
    LINE = 64,
    FAR = 262144 /* from so many bytes on, operands no longer come from L2 */
};

/* Where an instruction reads or writes: row r, column i is at data[r*stride + (i & mask)]. A mask
 * of 0 repeats one vector, which holds a per-row value or a scalar in every lane. */
typedef struct view {
    float *data;
    size_t stride, mask;
    size_t ahead; /* prefetch distance for operands beyond L2; 0 = none */
} view;

#define EACH_VECTOR(count) \
    UNROLL                 \
    for (int l = 0; l < (count); l++)

/* One instruction over the block: x, y, z hold n vectors of its inputs, the statement turns them into
 * x, which is stored. Several vectors at a time: long functions keep the pipes full only in lockstep,
 * and short ones pay less for the loop. */
#define RUN(INPUTS, ...)                                                                        \
    for (size_t r = 0; r < rows; r++) {                                                         \
        const float *pa = a->data + r * a->stride, *pb = b->data + r * b->stride,               \
                    *pc = c->data + r * c->stride;                                              \
        float *to = out->data + r * out->stride;                                                \
        size_t i = 0;                                                                           \
        for (; i + LOCKSTEP * VF_N <= columns; i += LOCKSTEP * VF_N) {                          \
            enum { n = LOCKSTEP };                                                              \
            vf x[n], y[n], z[n];                                                                \
            if (a->ahead) EACH_VECTOR(n) __builtin_prefetch(pa + i + l * VF_N + a->ahead);      \
            if (INPUTS > 1 && b->ahead)                                                         \
                EACH_VECTOR(n) __builtin_prefetch(pb + i + l * VF_N + b->ahead);                \
            if (INPUTS > 2 && c->ahead)                                                         \
                EACH_VECTOR(n) __builtin_prefetch(pc + i + l * VF_N + c->ahead);                \
            EACH_VECTOR(n) x[l] = vf_load(pa + ((i + l * VF_N) & a->mask));                     \
            EACH_VECTOR(n) y[l] = INPUTS > 1 ? vf_load(pb + ((i + l * VF_N) & b->mask)) : x[l]; \
            EACH_VECTOR(n) z[l] = INPUTS > 2 ? vf_load(pc + ((i + l * VF_N) & c->mask)) : x[l]; \
            __VA_ARGS__;                                                                        \
            (void)y, (void)z;                                                                   \
            EACH_VECTOR(n) vf_store(to + i + l * VF_N, x[l]);                                   \
        }                                                                                       \
        for (; i < columns; i += VF_N) {                                                        \
            enum { n = 1 };                                                                     \
            const size_t rest = columns - i;                                                    \
            const bool whole = rest >= VF_N;                                                    \
            vf x[n], y[n], z[n];                                                                \
            const float *ia = pa + (i & a->mask), *ib = pb + (i & b->mask),                     \
                        *ic = pc + (i & c->mask);                                               \
            x[0] = whole ? vf_load(ia) : vf_load_part(ia, rest);                                \
            y[0] = INPUTS < 2 ? x[0] : whole ? vf_load(ib) : vf_load_part(ib, rest);            \
            z[0] = INPUTS < 3 ? x[0] : whole ? vf_load(ic) : vf_load_part(ic, rest);            \
            __VA_ARGS__;                                                                        \
            (void)y, (void)z;                                                                   \
            if (whole) vf_store(to + i, x[0]);                                                  \
            else vf_store_part(to + i, x[0], rest);                                             \
        }                                                                                       \
    }                                                                                           \
    break

#define LIGHT(INPUTS, EXPRESSION) RUN(INPUTS, EACH_VECTOR(n) x[l] = EXPRESSION)
#define SUM                       EACH_VECTOR(n) x[l] = vf_add(x[l], y[l])
#define PRODUCT_SUM               EACH_VECTOR(n) x[l] = vf_fma(x[l], y[l], z[l])

INLINE vf keep_nan(vf result, vf a) { return vf_select(vf_ne(a, a), a, result); }

INLINE void instruction_run(eg__fused_op op, const view *out, const view *a, const view *b,
                            const view *c, size_t rows, size_t columns) {
    const vf one = vf_set(1.0f), zero = vf_zero();
    switch (op) {
    case EG__FUSED_COPY: LIGHT(1, x[l]);
    case EG__FUSED_ADD: LIGHT(2, vf_add(x[l], y[l]));
    case EG__FUSED_SUB: LIGHT(2, vf_sub(x[l], y[l]));
    case EG__FUSED_MUL: LIGHT(2, vf_mul(x[l], y[l]));
    case EG__FUSED_DIV: LIGHT(2, vf_div(x[l], y[l]));
    case EG__FUSED_MIN: LIGHT(2, keep_nan(vf_min(x[l], y[l]), x[l]));
    case EG__FUSED_MAX: LIGHT(2, keep_nan(vf_max(x[l], y[l]), x[l]));
    case EG__FUSED_FMA: RUN(3, PRODUCT_SUM);
    case EG__FUSED_NEG: LIGHT(1, vf_xor(x[l], SIGN_BIT));
    case EG__FUSED_ABS: LIGHT(1, vf_abs(x[l]));
    case EG__FUSED_SQRT: LIGHT(1, vf_sqrt(x[l]));
    case EG__FUSED_RSQRT: LIGHT(1, vf_div(one, vf_sqrt(x[l])));
    case EG__FUSED_EXP: RUN(1, vf_exp_n(n, x));
    case EG__FUSED_LOG: LIGHT(1, vf_log(x[l]));
    case EG__FUSED_TANH: RUN(1, vf_tanh_n(n, x));
    case EG__FUSED_SIGMOID: RUN(1, vf_sigmoid_n(n, x));
    case EG__FUSED_SOFTPLUS: LIGHT(1, vf_softplus(x[l]));
    case EG__FUSED_ERF: RUN(1, vf_erf_n(n, x));
    case EG__FUSED_GELU: RUN(1, vf_gelu_n(n, x));
    case EG__FUSED_SILU: RUN(1, vf_silu_n(n, x));
    case EG__FUSED_RELU: LIGHT(1, vf_max(zero, x[l]));
    case EG__FUSED_SIN: LIGHT(1, vf_sin(x[l]));
    case EG__FUSED_COS: LIGHT(1, vf_cos(x[l]));
    case EG__FUSED_ROUND_F16: LIGHT(1, vf_round_f16(x[l]));
    case EG__FUSED_ROUND_BF16: LIGHT(1, vf_round_bf16(x[l]));
    case EG__FUSED_POW: LIGHT(2, vf_pow(x[l], y[l]));
    case EG__FUSED_LT: LIGHT(2, vf_select(vf_lt(x[l], y[l]), one, zero));
    case EG__FUSED_LE: LIGHT(2, vf_select(vf_le(x[l], y[l]), one, zero));
    case EG__FUSED_EQ: LIGHT(2, vf_select(vf_eq(x[l], y[l]), one, zero));
    case EG__FUSED_NE: LIGHT(2, vf_select(vf_ne(x[l], y[l]), one, zero));
    case EG__FUSED_SELECT: LIGHT(3, vf_select(vf_ne(x[l], zero), y[l], z[l]));
    case EG__FUSED_LERP: LIGHT(3, vf_fma(z[l], vf_sub(y[l], x[l]), x[l]));
    case EG__FUSED_ADD_TANH: RUN(2, SUM; vf_tanh_n(n, x));
    case EG__FUSED_ADD_SIGMOID: RUN(2, SUM; vf_sigmoid_n(n, x));
    case EG__FUSED_ADD_SILU: RUN(2, SUM; vf_silu_n(n, x));
    case EG__FUSED_ADD_RELU: LIGHT(2, vf_max(zero, vf_add(x[l], y[l])));
    case EG__FUSED_FMA_TANH: RUN(3, PRODUCT_SUM; vf_tanh_n(n, x));
    case EG__FUSED_FMA_SIGMOID: RUN(3, PRODUCT_SUM; vf_sigmoid_n(n, x));
    case EG__FUSED_COUNT: break;
    }
}

typedef struct workspace {
    _Alignas(64) float registers[EG__FUSED_REGISTERS][BLOCK];
    float repeated[EG__FUSED_OPERANDS][ROWS_MAX * VF_N];
} workspace;

/* What is the same for all blocks of a call. */
typedef struct job {
    const eg__fused_f32_args *args;
    workspace *space;
    size_t stride; /* between rows of a register */
    bool fetches;  /* the next block is prefetched */
} job;

/* The operand as seen from the block that starts at (row, column). Comparisons, not a switch: a jump
 * through a table costs more than the few that are taken here. */
INLINE view operand_view(const job *j, unsigned i, size_t row, size_t rows, size_t column) {
    const eg__fused_operand *operand = &j->args->operand[i];
    const unsigned kind = j->args->program->kind[i];
    const size_t all = ~(size_t)0;
    if (kind == EG__FULL)
        return (view){operand->data + row * operand->stride + column, operand->stride, all,
                      j->fetches ? BLOCK : 0};
    if (kind == EG__COLUMN) return (view){operand->data + column, 0, all, 0};
    float *repeated = j->space->repeated[i];
    if (kind == EG__SCALAR) return (view){repeated, 0, 0, 0}; /* filled before the first block */
    for (size_t r = 0; r < rows; r++)
        vf_store(repeated + r * VF_N, vf_set(operand->data[(row + r) * operand->stride]));
    return (view){repeated, VF_N, 0, 0};
}

/* Rows are contiguous, or it is one value: then the block is one long row. */
INLINE bool is_dense(const view *v, size_t columns) {
    return v->mask ? v->stride == columns : v->stride == 0;
}

/* Registers are set up when they are first used: most programs have few, and many run on rows of a
 * few vectors only. */
INLINE view place_view(const job *j, const view *operands, unsigned place) {
    if (place >= EG__FUSED_REGISTERS) return operands[place - EG__FUSED_REGISTERS];
    return (view){j->space->registers[place], j->stride, ~(size_t)0, 0};
}

static void block_run(const job *j, size_t row, size_t rows, size_t column, size_t columns) {
    const eg__fused_program *program = j->args->program;
    view operands[EG__FUSED_OPERANDS];
    for (unsigned i = 0; i < program->operands; i++)
        operands[i] = operand_view(j, i, row, rows, column);
    for (unsigned i = 0; i < program->length; i++) {
        const eg__fused_instruction *code = &program->code[i]; /* unused inputs are register 0 */
        const view out = place_view(j, operands, code->out), a = place_view(j, operands, code->a),
                   b = place_view(j, operands, code->b), c = place_view(j, operands, code->c);
        const bool joins = rows > 1 && is_dense(&out, columns) && is_dense(&a, columns) &&
                           is_dense(&b, columns) && is_dense(&c, columns);
        instruction_run(code->op, &out, &a, &b, &c, joins ? 1 : rows,
                        joins ? rows * columns : columns);
    }
}

void SIMD(eg__fused_f32)(const eg__fused_f32_args *args) {
    workspace space;
    const eg__fused_program *program = args->program;
    size_t rows = args->rows, columns = args->columns;
    if (rows > 1 && eg__fused_is_flat(args)) columns *= rows, rows = 1;
    if (!rows || !columns) return;
    for (unsigned i = 0; i < program->operands; i++)
        if (program->kind[i] == EG__SCALAR)
            vf_store(space.repeated[i], vf_set(*args->operand[i].data));
    /* a program of one instruction that writes no register needs no blocking: it takes a whole row;
     * narrow rows are taken several at a time */
    const bool whole = program->length == 1 && program->code[0].out >= EG__FUSED_REGISTERS;
    const size_t wide = whole ? columns : eg__min(columns, BLOCK);
    const size_t stride = eg__round_up(wide, VF_N);
    const size_t high = rows > 1 && stride < BLOCK ? BLOCK / stride : 1; /* avoids a division */
    const bool far = !whole && rows * columns * program->operands * sizeof(float) > FAR;
    const job j = {args, &space, stride, far};
    for (size_t row = 0; row < rows; row += high)
        for (size_t column = 0; column < columns; column += wide)
            block_run(&j, row, eg__min(high, rows - row), column, eg__min(wide, columns - column));
}
