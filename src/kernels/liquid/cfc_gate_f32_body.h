/* cfc_gate_f32 for any vector width: tanh(a) + sigmoid(ta*ts + tb) * (tanh(b) - tanh(a)), every value
 * in a register from the loads to the stores. Included by cfc_gate_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/vmath.h"

enum { ABREAST = 2 }; /* three chains each: more would not fit the registers */

/* The parts of the gate that training keeps, the result, and its copy. */
enum { TANH_A, TANH_B, TIME, RESULT, COPY, PLACES };

typedef struct gate {
    const float *a, *b, *ta, *tb; /* of this row; tb may be NULL */
    float *place[PLACES];         /* of this row; all but the result may be NULL */
    vf ts;
} gate;

#define EACH_VECTOR(count) \
    UNROLL                 \
    for (int l = 0; l < (count); l++)
#define STORE(which, value) \
    if (g->place[which]) EACH_VECTOR(count) vf_store(g->place[which] + i + l * VF_N, value[l])

INLINE void vectors(const int count, const gate *g, size_t i) {
    vf f[ABREAST], h[ABREAST], t[ABREAST];
    EACH_VECTOR(count) f[l] = vf_load(g->a + i + l * VF_N);
    EACH_VECTOR(count) h[l] = vf_load(g->b + i + l * VF_N);
    EACH_VECTOR(count) t[l] = vf_load(g->ta + i + l * VF_N);
    if (g->tb) EACH_VECTOR(count) t[l] = vf_fma(t[l], g->ts, vf_load(g->tb + i + l * VF_N));
    vf_tanh_n(count, f);
    vf_tanh_n(count, h);
    vf_sigmoid_n(count, t);
    STORE(TANH_A, f);
    STORE(TANH_B, h);
    STORE(TIME, t);
    EACH_VECTOR(count) f[l] = vf_fma(t[l], vf_sub(h[l], f[l]), f[l]);
    STORE(RESULT, f);
    STORE(COPY, f);
}
#undef STORE

INLINE void part(const gate *g, size_t i, size_t n) {
    vf f = vf_load_part(g->a + i, n), h = vf_load_part(g->b + i, n);
    vf t = vf_load_part(g->ta + i, n);
    if (g->tb) t = vf_fma(t, g->ts, vf_load_part(g->tb + i, n));
    vf_tanh_n(1, &f);
    vf_tanh_n(1, &h);
    vf_sigmoid_n(1, &t);
    const vf value = vf_fma(t, vf_sub(h, f), f), all[PLACES] = {f, h, t, value, value};
    for (unsigned k = 0; k < PLACES; k++)
        if (g->place[k]) vf_store_part(g->place[k] + i, all[k], n);
}

void SIMD(eg__cfc_gate_f32)(const eg__fused_f32_args *args) {
    const eg__fused_instruction *code = args->program->code;
#define OPERAND(place) args->operand[(place)-EG__FUSED_REGISTERS]
    /* of the two factors, the one that is per row is the elapsed time; without it there is a sum, or a
     * value alone */
    float one = 1;
    const bool timed = code[2].op == EG__FUSED_FMA_SIGMOID, plain = code[2].op == EG__FUSED_SIGMOID;
    const bool first = args->program->kind[code[2].a - EG__FUSED_REGISTERS] != EG__FULL;
    const eg__fused_operand a = OPERAND(code[0].a), b = OPERAND(code[1].a), unit = {&one, 0},
                            ts = timed ? OPERAND(first ? code[2].a : code[2].b) : unit,
                            ta = OPERAND(first ? code[2].b : code[2].a),
                            tb = plain ? unit : OPERAND(timed ? code[2].c : code[2].b);
    eg__fused_operand to[PLACES];
    for (unsigned k = 0; k < PLACES; k++)
        to[k] = k < args->program->length && code[k].out >= EG__FUSED_REGISTERS
                    ? OPERAND(code[k].out)
                    : (eg__fused_operand){NULL, 0};
#undef OPERAND
    for (size_t r = 0; r < args->rows; r++) {
        gate g = {.a = a.data + r * a.stride,
                  .b = b.data + r * b.stride,
                  .ta = ta.data + r * ta.stride,
                  .tb = plain ? NULL : tb.data + r * tb.stride,
                  .ts = vf_broadcast(ts.data + r * ts.stride)};
        for (unsigned k = 0; k < PLACES; k++)
            g.place[k] = to[k].data ? to[k].data + r * to[k].stride : NULL;
        size_t i = 0;
        for (; i + ABREAST * VF_N <= args->columns; i += ABREAST * VF_N) vectors(ABREAST, &g, i);
        for (; i + VF_N <= args->columns; i += VF_N) vectors(1, &g, i);
        if (i < args->columns) part(&g, i, args->columns - i);
    }
}
