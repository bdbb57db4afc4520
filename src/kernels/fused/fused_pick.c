/* Fused programs that are frequent enough to have a compiled kernel. */
#include "kernels/kernels.h"

#include <string.h>

static bool is_kind(const eg__fused_program *p, uint8_t place, eg__fused_kind kind) {
    return place >= EG__FUSED_REGISTERS && p->kind[place - EG__FUSED_REGISTERS] == kind;
}

/* One value per row; for a single row that is a scalar. */
static bool is_elapsed(const eg__fused_program *p, uint8_t place) {
    return is_kind(p, place, EG__ROW) || is_kind(p, place, EG__SCALAR);
}

/* ta*ts + tb; without an elapsed time ta + tb, or a value that is this sum. */
static bool is_time(const eg__fused_program *p, const eg__fused_instruction *c) {
    const bool a = is_kind(p, c->a, EG__FULL), b = is_kind(p, c->b, EG__FULL);
    if (c->op == EG__FUSED_SIGMOID) return a;
    if (c->op == EG__FUSED_ADD_SIGMOID) return a && b;
    return c->op == EG__FUSED_FMA_SIGMOID && is_kind(p, c->c, EG__FULL) &&
           ((is_elapsed(p, c->a) && b) || (is_elapsed(p, c->b) && a));
}

/* tanh(a) + sigmoid(ta*ts + tb) * (tanh(b) - tanh(a)); ts is per row, or 1. The three functions may be
 * stored, too, and the result may go to a second place. */
static bool is_cfc_gate(const eg__fused_program *p) {
    const eg__fused_instruction *c = p->code;
    if (p->length != 4 && p->length != 5) return false;
    if (c[0].op != EG__FUSED_TANH || c[1].op != EG__FUSED_TANH || c[3].op != EG__FUSED_LERP)
        return false;
    if (!is_kind(p, c[0].a, EG__FULL) || !is_kind(p, c[1].a, EG__FULL) || !is_time(p, &c[2]) ||
        !is_kind(p, c[3].out, EG__FULL))
        return false;
    if (c[3].a != c[0].out || c[3].b != c[1].out || c[3].c != c[2].out) return false;
    if (c[0].out == c[1].out || c[0].out == c[2].out || c[1].out == c[2].out) return false;
    return p->length == 4 ||
           (c[4].op == EG__FUSED_COPY && c[4].a == c[3].out && is_kind(p, c[4].out, EG__FULL));
}

/* The gradient of such a gate, in the order that eg__fused_arrange gives it. */
static bool is_cfc_gate_back(const eg__fused_program *p) {
    if (p->length < EG__GATE_BACK || p->length > EG__GATE_BACK + EG__GATE_BACK_STORES - 3)
        return false;
    const eg__fused_gate_back g = eg__fused_gate_back_read(p);
    const uint8_t full[] = {g.d1, g.f, g.g, g.t, g.dt, g.dg, g.df};
    for (unsigned i = 0; i < sizeof full; i++)
        if (!is_kind(p, full[i], EG__FULL)) return false;
    if (!is_kind(p, g.one, EG__SCALAR) || (g.d2 && !is_kind(p, g.d2, EG__FULL))) return false;
    eg__fused_program same;
    eg__fused_gate_back_write(&g, &same);
    if (memcmp(same.code, p->code, EG__GATE_BACK * sizeof *p->code) != 0) return false;
    for (unsigned i = EG__GATE_BACK; i < p->length; i++) {
        const eg__fused_instruction *c = &p->code[i];
        if (c->op != EG__FUSED_COPY || !is_kind(p, c->out, EG__FULL) ||
            (c->a != g.dt && c->a != g.dg && c->a != g.df))
            return false;
    }
    return true;
}

/* Whether a kernel can load the value as a vector of columns. */
static bool is_wide(const eg__fused_program *p, uint8_t place) {
    return is_kind(p, place, EG__FULL) || is_kind(p, place, EG__COLUMN);
}

static bool is_sum(const eg__fused_program *p, const eg__fused_instruction *c) {
    return c->op == EG__FUSED_ADD && c->out < EG__FUSED_REGISTERS && is_wide(p, c->a) &&
           is_wide(p, c->b);
}

/* v = (a + b) / (c + d); then nothing, e*v + f (the start of the next unfold), or a select of v or
 * the old state where no time has passed. */
static bool is_ltc_update(const eg__fused_program *p) {
    const eg__fused_instruction *c = p->code, *tail = &c[3];
    if ((p->length != 3 && p->length != 4) || !is_sum(p, &c[0]) || !is_sum(p, &c[1]) ||
        c[0].out == c[1].out || c[2].op != EG__FUSED_DIV || c[2].a != c[0].out ||
        c[2].b != c[1].out)
        return false;
    const uint8_t v = c[2].out;
    if (p->length == 3 || !is_kind(p, tail->out, EG__FULL)) return p->length == 3 && is_wide(p, v);
    if (tail->op == EG__FUSED_FMA)
        return tail->a != tail->b && is_wide(p, tail->c) && tail->c != v &&
               (tail->a == v ? is_wide(p, tail->b) : tail->b == v && is_wide(p, tail->a));
    return tail->op == EG__FUSED_SELECT && is_elapsed(p, tail->a) && is_wide(p, tail->b) &&
           tail->b != v && tail->c == v;
}

eg__operation eg__fused_operation(const eg__fused_program *program) {
    if (is_cfc_gate(program)) return EG__OP_cfc_gate_f32;
    if (is_cfc_gate_back(program)) return EG__OP_cfc_gate_back_f32;
    return is_ltc_update(program) ? EG__OP_ltc_update_f32 : EG__OP_fused_f32;
}
