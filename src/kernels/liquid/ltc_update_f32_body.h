/* ltc_update_f32 for any vector width: v = (a + b) / (c + d), and then e*v + f or a choice between v and
 * e, every value in a register from the loads to the stores. Included by ltc_update_f32_<isa>.c after
 * its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/vmath.h"

/* One row; what is NULL is not wanted. */
typedef struct update {
    const float *a, *b, *c, *d;
    float *v;
    const float *e, *f; /* next = e*v + f; without f the choice is made, and it is e or v */
    float *next;
} update;

#define EACH_VECTOR(count) \
    UNROLL                 \
    for (int l = 0; l < (count); l++)

/* `n` vectors from column i on, the last of which has `rest` elements. */
INLINE void vectors(const int n, const update *u, size_t i, size_t rest) {
    vf v[LOCKSTEP], w[LOCKSTEP];
#define LOAD(p) (rest == VF_N ? vf_load((p) + i + l * VF_N) : vf_load_part((p) + i, rest))
#define STORE(p, x)                                             \
    EACH_VECTOR(n) {                                            \
        if (rest == VF_N) vf_store((p) + i + l * VF_N, (x)[l]); \
        else vf_store_part((p) + i, (x)[l], rest);              \
    }
    EACH_VECTOR(n) v[l] = vf_add(LOAD(u->a), LOAD(u->b));
    EACH_VECTOR(n) w[l] = vf_add(LOAD(u->c), LOAD(u->d));
    EACH_VECTOR(n) v[l] = vf_div(v[l], w[l]);
    if (u->f) EACH_VECTOR(n) w[l] = vf_fma(LOAD(u->e), v[l], LOAD(u->f));
    else EACH_VECTOR(n) w[l] = u->e ? LOAD(u->e) : v[l];
    if (u->v) STORE(u->v, v)
    if (u->next) STORE(u->next, w)
#undef LOAD
#undef STORE
}

/* Where row r of a place lies; NULL for a register. */
INLINE float *row_of(const eg__fused_f32_args *args, uint8_t place, size_t r) {
    if (place < EG__FUSED_REGISTERS) return NULL;
    const unsigned i = place - EG__FUSED_REGISTERS;
    const unsigned kind = args->program->kind[i];
    const bool moves = kind == EG__FULL || kind == EG__ROW;
    return args->operand[i].data + (moves ? r * args->operand[i].stride : 0);
}

INLINE update row_make(const eg__fused_f32_args *args, size_t r) {
    const eg__fused_instruction *code = args->program->code, *tail = &code[3];
    update u = {row_of(args, code[0].a, r),
                row_of(args, code[0].b, r),
                row_of(args, code[1].a, r),
                row_of(args, code[1].b, r),
                row_of(args, code[2].out, r),
                NULL,
                NULL,
                NULL};
    if (args->program->length < 4) return u;
    u.next = row_of(args, tail->out, r);
    if (tail->op == EG__FUSED_FMA) {
        u.e = row_of(args, tail->a == code[2].out ? tail->b : tail->a, r);
        u.f = row_of(args, tail->c, r);
    } else if (*row_of(args, tail->a, r) != 0) u.e = row_of(args, tail->b, r);
    return u;
}

void SIMD(eg__ltc_update_f32)(const eg__fused_f32_args *args) {
    const size_t columns = args->columns;
    for (size_t r = 0; r < args->rows; r++) {
        const update u = row_make(args, r);
        size_t i = 0;
        for (; i + LOCKSTEP * VF_N <= columns; i += LOCKSTEP * VF_N) vectors(LOCKSTEP, &u, i, VF_N);
        for (; i + VF_N <= columns; i += VF_N) vectors(1, &u, i, VF_N);
        if (i < columns) vectors(1, &u, i, columns - i);
    }
}
