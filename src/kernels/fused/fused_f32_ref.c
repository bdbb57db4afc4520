/* The definition of fused_f32: element by element, every operation in double, rounded to float. */
#include "kernels/kernels.h"

#include <math.h>

static double round_f16(double a) {
    const float x = (float)a;
    float y;
    uint16_t half;
    eg__f32_to_f16_ref(1, &x, &half);
    eg__f16_to_f32_ref(1, &half, &y);
    return y;
}

static double round_bf16(double a) {
    const float x = (float)a;
    float y;
    uint16_t half;
    eg__f32_to_bf16_ref(1, &x, &half);
    eg__bf16_to_f32_ref(1, &half, &y);
    return y;
}

static double evaluate(eg__fused_op op, double a, double b, double c) {
    switch (op) {
    case EG__FUSED_COPY: return a;
    case EG__FUSED_ADD: return a + b;
    case EG__FUSED_SUB: return a - b;
    case EG__FUSED_MUL: return a * b;
    case EG__FUSED_DIV: return a / b;
    case EG__FUSED_MIN: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    case EG__FUSED_MAX: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case EG__FUSED_FMA: return fmaf((float)a, (float)b, (float)c); /* not rounded twice */
    case EG__FUSED_NEG: return -a;
    case EG__FUSED_ABS: return fabs(a);
    case EG__FUSED_SQRT: return sqrt(a);
    case EG__FUSED_RSQRT: return 1 / sqrt(a);
    case EG__FUSED_EXP: return exp(a);
    case EG__FUSED_LOG: return log(a);
    case EG__FUSED_TANH: return tanh(a);
    case EG__FUSED_SIGMOID: return 1 / (1 + exp(-a));
    case EG__FUSED_SOFTPLUS: return fmax(a, 0) + log1p(exp(-fabs(a)));
    case EG__FUSED_ERF: return erf(a);
    case EG__FUSED_GELU: return 0.5 * a * erfc(-a * 0.70710678118654752440);
    case EG__FUSED_SILU: return a / (1 + exp(-a));
    case EG__FUSED_RELU: return a < 0 ? 0 : a;
    case EG__FUSED_SIN: return sin(a);
    case EG__FUSED_COS: return cos(a);
    case EG__FUSED_ROUND_F16: return round_f16(a);
    case EG__FUSED_ROUND_BF16: return round_bf16(a);
    case EG__FUSED_POW: return pow(a, b);
    case EG__FUSED_LT: return a < b;
    case EG__FUSED_LE: return a <= b;
    case EG__FUSED_EQ: return a == b;
    case EG__FUSED_NE: return a != b;
    case EG__FUSED_SELECT: return a != 0 ? b : c;
    case EG__FUSED_LERP: return fmaf((float)c, (float)b - (float)a, (float)a);
    case EG__FUSED_ADD_TANH: return tanh((float)(a + b));
    case EG__FUSED_ADD_SIGMOID: return 1 / (1 + exp(-(float)(a + b)));
    case EG__FUSED_ADD_SILU: return (float)(a + b) / (1 + exp(-(float)(a + b)));
    case EG__FUSED_ADD_RELU: return (float)(a + b) < 0 ? 0 : (float)(a + b);
    case EG__FUSED_FMA_TANH: return tanh(fmaf((float)a, (float)b, (float)c));
    case EG__FUSED_FMA_SIGMOID: return 1 / (1 + exp(-fmaf((float)a, (float)b, (float)c)));
    case EG__FUSED_COUNT: break;
    }
    return NAN;
}

static float *place(const eg__fused_f32_args *args, float *registers, unsigned at, size_t row,
                    size_t column) {
    if (at < EG__FUSED_REGISTERS) return &registers[at];
    const eg__fused_operand *operand = &args->operand[at - EG__FUSED_REGISTERS];
    switch ((eg__fused_kind)args->program->kind[at - EG__FUSED_REGISTERS]) {
    case EG__FULL: return operand->data + row * operand->stride + column;
    case EG__ROW: return operand->data + row * operand->stride;
    case EG__COLUMN: return operand->data + column;
    case EG__SCALAR: break;
    }
    return operand->data;
}

void eg__fused_f32_ref(const eg__fused_f32_args *args) {
    for (size_t row = 0; row < args->rows; row++)
        for (size_t column = 0; column < args->columns; column++) {
            float registers[EG__FUSED_REGISTERS];
            for (unsigned i = 0; i < args->program->length; i++) {
                const eg__fused_instruction *code = &args->program->code[i];
                const uint8_t at[3] = {code->a, code->b, code->c};
                double in[3] = {0};
                for (unsigned k = 0; k < eg__fused_op_inputs(code->op); k++)
                    in[k] = *place(args, registers, at[k], row, column);
                *place(args, registers, code->out, row, column) =
                    (float)evaluate(code->op, in[0], in[1], in[2]);
            }
        }
}
