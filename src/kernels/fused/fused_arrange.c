/* Recognises the gradient of a CfC gate in any order of instructions and puts it into the order
 * that its compiled kernel expects. */
#include "kernels/fused/fused.h"

#include <string.h>

/* ---- what each instruction computes, whichever registers it uses */
enum { OPERANDS = EG__FUSED_OPERANDS }; /* values below are operands, those above instructions */
typedef struct values {
    const eg__fused_program *p;
    uint8_t a[EG__FUSED_INSTRUCTIONS], b[EG__FUSED_INSTRUCTIONS]; /* values that it reads */
} values;

static values values_of(const eg__fused_program *p) {
    values v = {.p = p};
    uint8_t place[EG__FUSED_REGISTERS + OPERANDS] = {0};
    for (unsigned i = 0; i < OPERANDS; i++) place[EG__OPERAND(i)] = (uint8_t)i;
    for (unsigned i = 0; i < p->length; i++) {
        v.a[i] = place[p->code[i].a];
        v.b[i] = place[p->code[i].b];
        /* a copy is what it copies */
        place[p->code[i].out] = p->code[i].op == EG__FUSED_COPY ? v.a[i] : (uint8_t)(OPERANDS + i);
    }
    return v;
}

static bool is(const values *v, unsigned value, eg__fused_op op) {
    return value >= OPERANDS && v->p->code[value - OPERANDS].op == op;
}
static unsigned first(const values *v, unsigned value) { return v->a[value - OPERANDS]; }
static unsigned second(const values *v, unsigned value) { return v->b[value - OPERANDS]; }
static bool is_full(const values *v, unsigned value) {
    return value < OPERANDS && v->p->kind[value] == EG__FULL;
}

/* 1 - x, where 1 is a scalar operand. */
static bool is_rest(const values *v, unsigned value, unsigned *one, unsigned *x) {
    if (!is(v, value, EG__FUSED_SUB)) return false;
    *one = first(v, value);
    *x = second(v, value);
    return *one < OPERANDS && v->p->kind[*one] == EG__SCALAR;
}

/* 1 - x*x: the slope of tanh by its value. */
static bool is_slope(const values *v, unsigned value, unsigned *one, unsigned *x) {
    unsigned square;
    if (!is_rest(v, value, one, &square) || !is(v, square, EG__FUSED_MUL)) return false;
    *x = first(v, square);
    return *x == second(v, square) && is_full(v, *x);
}

/* ---- the gradient of f + t (g - f), f and g values of tanh and t of a sigmoid:
 * dt = d (g - f) * t (1 - t), dg = d t * (1 - g g), df = (d - d t) * (1 - f f) */
typedef struct gate {
    unsigned d, f, g, t, one; /* values; d may be a sum */
    unsigned result[3];       /* of dt, dg, df */
} gate;

static bool find_dt(const values *v, unsigned value, gate *out) {
    if (!is(v, value, EG__FUSED_MUL)) return false;
    const unsigned left = first(v, value), right = second(v, value);
    if (!is(v, left, EG__FUSED_MUL) || !is(v, right, EG__FUSED_MUL)) return false;
    const unsigned difference = second(v, left);
    unsigned x;
    out->t = first(v, right);
    if (!is(v, difference, EG__FUSED_SUB) || !is_rest(v, second(v, right), &out->one, &x) ||
        x != out->t || !is_full(v, out->t))
        return false;
    out->d = first(v, left);
    out->g = first(v, difference);
    out->f = second(v, difference);
    out->result[0] = value;
    return is_full(v, out->g) && is_full(v, out->f) &&
           (is_full(v, out->d) || (is(v, out->d, EG__FUSED_ADD) && is_full(v, first(v, out->d)) &&
                                   is_full(v, second(v, out->d))));
}

static bool is_d_times_t(const values *v, unsigned value, const gate *g) {
    return is(v, value, EG__FUSED_MUL) && first(v, value) == g->d && second(v, value) == g->t;
}

static void find_others(const values *v, unsigned value, gate *out) {
    unsigned one, x;
    if (!is(v, value, EG__FUSED_MUL) || !is_slope(v, second(v, value), &one, &x) || one != out->one)
        return;
    const unsigned left = first(v, value);
    if (x == out->g && is_d_times_t(v, left, out)) out->result[1] = value;
    if (x == out->f && is(v, left, EG__FUSED_SUB) && first(v, left) == out->d &&
        is_d_times_t(v, second(v, left), out))
        out->result[2] = value;
}

static bool find(const values *v, gate *out) {
    for (unsigned i = 0; i < v->p->length; i++) {
        *out = (gate){0};
        if (!find_dt(v, OPERANDS + i, out)) continue;
        for (unsigned k = 0; k < v->p->length; k++) find_others(v, OPERANDS + k, out);
        return out->result[1] && out->result[2];
    }
    return false;
}

/* ---- the new order: all reads come before all writes */
void eg__fused_gate_back_write(const eg__fused_gate_back *g, eg__fused_program *p) {
    const eg__fused_instruction code[EG__GATE_BACK] = {
        {g->d2 ? EG__FUSED_ADD : EG__FUSED_COPY, 0, g->d1, g->d2, 0},
        {EG__FUSED_SUB, 1, g->g, g->f, 0},
        {EG__FUSED_MUL, 1, 0, 1, 0},
        {EG__FUSED_MUL, 2, 0, g->t, 0},
        {EG__FUSED_SUB, 0, 0, 2, 0},
        {EG__FUSED_SUB, 3, g->one, g->t, 0},
        {EG__FUSED_MUL, 3, g->t, 3, 0},
        {EG__FUSED_MUL, 4, g->g, g->g, 0},
        {EG__FUSED_SUB, 4, g->one, 4, 0},
        {EG__FUSED_MUL, 5, g->f, g->f, 0},
        {EG__FUSED_SUB, 5, g->one, 5, 0},
        {EG__FUSED_MUL, g->dt, 1, 3, 0},
        {EG__FUSED_MUL, g->dg, 2, 4, 0},
        {EG__FUSED_MUL, g->df, 0, 5, 0}};
    memcpy(p->code, code, sizeof code);
    p->length = EG__GATE_BACK;
}

/* The first operand that a value is stored to; further stores become copies of it. */
static uint8_t store_of(const values *v, unsigned value, unsigned *count) {
    uint8_t place = 0;
    for (unsigned i = 0; i < v->p->length; i++) {
        const eg__fused_instruction *code = &v->p->code[i];
        const unsigned of = code->op == EG__FUSED_COPY ? v->a[i] : OPERANDS + i;
        if (of != value || code->out < EG__FUSED_REGISTERS) continue;
        if (!place) place = code->out;
        ++*count;
    }
    return place;
}

void eg__fused_arrange(eg__fused_program *p) {
    const values v = values_of(p);
    gate found;
    if (!find(&v, &found)) return;
    const bool sum = found.d >= OPERANDS;
    unsigned stores = 0;
    eg__fused_gate_back g = {.d1 = EG__OPERAND(sum ? first(&v, found.d) : found.d),
                             .d2 = sum ? EG__OPERAND(second(&v, found.d)) : 0,
                             .f = EG__OPERAND(found.f),
                             .g = EG__OPERAND(found.g),
                             .t = EG__OPERAND(found.t),
                             .one = EG__OPERAND(found.one)};
    g.dt = store_of(&v, found.result[0], &stores);
    g.dg = store_of(&v, found.result[1], &stores);
    g.df = store_of(&v, found.result[2], &stores);
    /* the program must compute and store these three and nothing else */
    if (!g.dt || !g.dg || !g.df || p->length != EG__GATE_BACK - !sum + stores - 3) return;
    eg__fused_program arranged = *p;
    eg__fused_gate_back_write(&g, &arranged);
    for (unsigned i = 0; i < p->length; i++)
        for (unsigned k = 0; k < 3; k++) {
            const uint8_t from[] = {g.dt, g.dg, g.df};
            if (p->code[i].op == EG__FUSED_COPY && v.a[i] == found.result[k] &&
                p->code[i].out != from[k])
                arranged.code[arranged.length++] =
                    (eg__fused_instruction){EG__FUSED_COPY, p->code[i].out, from[k], 0, 0};
        }
    *p = arranged;
}
