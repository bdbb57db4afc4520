/* cfc_gate_f32 for any vector width: tanh(a) + sigmoid(ta*ts + tb) * (tanh(b) - tanh(a)), every value
 * in a register from the loads to the store. Included by cfc_gate_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/vmath.h"

enum { ABREAST = 2 }; /* three chains each: more would not fit the registers */

typedef struct gate {
    const float *a, *b, *ta, *tb;
    float *out, *copy; /* of this row; copy may be NULL */
    vf ts;
} gate;

#define EACH_VECTOR(count) \
    UNROLL                 \
    for (int l = 0; l < (count); l++)

INLINE void vectors(const int count, const gate *g, size_t i) {
    vf f[ABREAST], h[ABREAST], t[ABREAST];
    EACH_VECTOR(count) f[l] = vf_load(g->a + i + l * VF_N);
    EACH_VECTOR(count) h[l] = vf_load(g->b + i + l * VF_N);
    EACH_VECTOR(count)
    t[l] = vf_fma(vf_load(g->ta + i + l * VF_N), g->ts, vf_load(g->tb + i + l * VF_N));
    vf_tanh_n(count, f);
    vf_tanh_n(count, h);
    vf_sigmoid_n(count, t);
    EACH_VECTOR(count) f[l] = vf_fma(t[l], vf_sub(h[l], f[l]), f[l]);
    EACH_VECTOR(count) vf_store(g->out + i + l * VF_N, f[l]);
    if (g->copy) EACH_VECTOR(count) vf_store(g->copy + i + l * VF_N, f[l]);
}

INLINE void part(const gate *g, size_t i, size_t n) {
    vf f = vf_load_part(g->a + i, n), h = vf_load_part(g->b + i, n);
    vf t = vf_fma(vf_load_part(g->ta + i, n), g->ts, vf_load_part(g->tb + i, n));
    vf_tanh_n(1, &f);
    vf_tanh_n(1, &h);
    vf_sigmoid_n(1, &t);
    f = vf_fma(t, vf_sub(h, f), f);
    vf_store_part(g->out + i, f, n);
    if (g->copy) vf_store_part(g->copy + i, f, n);
}

void SIMD(eg__cfc_gate_f32)(const eg__fused_f32_args *args) {
    const eg__fused_instruction *code = args->program->code;
#define OPERAND(place) args->operand[(place)-EG__FUSED_REGISTERS]
    /* of the two factors, the one that is per row is the elapsed time; without it there is a sum */
    float one = 1;
    const bool timed = code[2].op == EG__FUSED_FMA_SIGMOID;
    const bool first = args->program->kind[code[2].a - EG__FUSED_REGISTERS] != EG__FULL;
    const eg__fused_operand a = OPERAND(code[0].a), b = OPERAND(code[1].a), unit = {&one, 0},
                            ts = timed ? OPERAND(first ? code[2].a : code[2].b) : unit,
                            ta = OPERAND(first ? code[2].b : code[2].a),
                            tb = OPERAND(timed ? code[2].c : code[2].b), out = OPERAND(code[3].out);
    const bool copies = args->program->length == 5;
    const eg__fused_operand copy = copies ? OPERAND(code[4].out) : out;
#undef OPERAND
    for (size_t r = 0; r < args->rows; r++) {
        const gate g = {a.data + r * a.stride,
                        b.data + r * b.stride,
                        ta.data + r * ta.stride,
                        tb.data + r * tb.stride,
                        out.data + r * out.stride,
                        copies ? copy.data + r * copy.stride : NULL,
                        vf_broadcast(ts.data + r * ts.stride)};
        size_t i = 0;
        for (; i + ABREAST * VF_N <= args->columns; i += ABREAST * VF_N) vectors(ABREAST, &g, i);
        for (; i + VF_N <= args->columns; i += VF_N) vectors(1, &g, i);
        if (i < args->columns) part(&g, i, args->columns - i);
    }
}
