/* cfc_gate_back_f32 for any vector width: the gradient of a CfC gate from the kept results of its
 * functions, with all values in registers between loads and stores. Included by
 * cfc_gate_back_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

enum { PLACES = EG__GATE_BACK_STORES };

typedef struct gate {
    const float *d1, *d2, *f, *g, *t; /* of this row; d2 may be NULL */
    float *place[PLACES];             /* of dt, dg, df, then copies */
    unsigned char which[PLACES];      /* of the three a place holds */
    unsigned places;
    vf one;
} gate;

INLINE vf load(const float *p, size_t n) { return n < VF_N ? vf_load_part(p, n) : vf_load(p); }

/* n columns from i on, at most a vector. */
INLINE void vector(const gate *k, size_t i, size_t n) {
    const vf f = load(k->f + i, n), g = load(k->g + i, n), t = load(k->t + i, n);
    vf d = load(k->d1 + i, n), d_t;
    if (k->d2) d = vf_add(d, load(k->d2 + i, n));
    d_t = vf_mul(d, t);
    const vf result[] = {
        vf_mul(vf_mul(d, vf_sub(g, f)), vf_mul(t, vf_sub(k->one, t))),
        vf_mul(d_t, vf_sub(k->one, vf_mul(g, g))),
        vf_mul(vf_sub(d, d_t), vf_sub(k->one, vf_mul(f, f))),
    };
    UNROLL
    for (unsigned p = 0; p < 3; p++) {
        if (n < VF_N) vf_store_part(k->place[p] + i, result[p], n);
        else vf_store(k->place[p] + i, result[p]);
    }
    for (unsigned p = 3; p < k->places; p++) {
        const vf x = k->which[p] == 0 ? result[0] : k->which[p] == 1 ? result[1] : result[2];
        if (n < VF_N) vf_store_part(k->place[p] + i, x, n);
        else vf_store(k->place[p] + i, x);
    }
}

void SIMD(eg__cfc_gate_back_f32)(const eg__fused_f32_args *args) {
    const eg__fused_program *program = args->program;
    const eg__fused_gate_back b = eg__fused_gate_back_read(program);
#define ROW(place)                                     \
    (args->operand[(place)-EG__FUSED_REGISTERS].data + \
     r * args->operand[(place)-EG__FUSED_REGISTERS].stride)
    gate k = {.places = 3 + program->length - EG__GATE_BACK,
              .one = vf_broadcast(args->operand[b.one - EG__FUSED_REGISTERS].data)};
    uint8_t to[PLACES] = {b.dt, b.dg, b.df};
    for (unsigned p = 3; p < k.places; p++) {
        const eg__fused_instruction *copy = &program->code[EG__GATE_BACK + p - 3];
        to[p] = copy->out;
        k.which[p] = copy->a == b.dt ? 0 : copy->a == b.dg ? 1 : 2;
    }
    for (size_t r = 0; r < args->rows; r++) {
        k.d1 = ROW(b.d1), k.d2 = b.d2 ? ROW(b.d2) : NULL;
        k.f = ROW(b.f), k.g = ROW(b.g), k.t = ROW(b.t);
        for (unsigned p = 0; p < k.places; p++) k.place[p] = ROW(to[p]);
        size_t i = 0;
        for (; i + VF_N <= args->columns; i += VF_N) vector(&k, i, VF_N);
        if (i < args->columns) vector(&k, i, args->columns - i);
    }
#undef ROW
}
