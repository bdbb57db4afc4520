/* The gate for any vector width: included by gate_loops_<isa>.c after its simd header. */
#include "gate_loops.h"
#include "kernels/rows/vmath.h"

#define EACH(n) \
    UNROLL      \
    for (int l = 0; l < (n); l++)

/* `n` vectors at `i`, which stay in registers from the loads to the store. */
INLINE void gate_vectors(const int n, const gate_problem *p, size_t i, vf ts) {
    vf f[LOCKSTEP], g[LOCKSTEP], t[LOCKSTEP];
    EACH(n) f[l] = vf_load(p->a + i + l * VF_N);
    EACH(n) g[l] = vf_load(p->b + i + l * VF_N);
    EACH(n) t[l] = vf_fma(vf_load(p->ta + i + l * VF_N), ts, vf_load(p->tb + i + l * VF_N));
    vf_tanh_n(n, f);
    vf_tanh_n(n, g);
    vf_sigmoid_n(n, t);
    EACH(n) vf_store(p->out + i + l * VF_N, vf_fma(t[l], vf_sub(g[l], f[l]), f[l]));
}

INLINE void gate(const int n, const gate_problem *p) {
    for (size_t row = 0; row < p->rows; row++) {
        const vf ts = vf_broadcast(p->ts + row);
        const size_t end = (row + 1) * p->columns;
        for (size_t i = row * p->columns; i < end; i += n * VF_N) gate_vectors(n, p, i, ts);
    }
}

void SIMD(gate2)(void *state) { gate(2, state); }
void SIMD(gate4)(void *state) { gate(4, state); }
