/* gemv_f32 for any vector width: included by gemv_f32_<isa>.c after its simd header and
 *   STRIPS(X)   X(vectors, sums): columns taken together, and partial sums over k for each; widest
 *               first. Together they must hide the latency of an FMA. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

enum { PANEL_VECTORS = EG__PANEL / VF_N };

INLINE void strip(const int vectors, const int sums, size_t k, const float *x, const float *b,
                  size_t panel_stride, float *y, size_t width, const float *add) {
    vf sum[MAX_SUMS][MAX_VECTORS];
    UNROLL
    for (int s = 0; s < sums; s++) {
        UNROLL
        for (int v = 0; v < vectors; v++) sum[s][v] = vf_zero();
    }
#define B_AT(v, s) \
    (b + (size_t)((v) / PANEL_VECTORS) * panel_stride + (v) % PANEL_VECTORS * VF_N + (s)*EG__PANEL)
    size_t i = 0;
    for (; i + (size_t)sums <= k; i += (size_t)sums, b += sums * EG__PANEL) {
        UNROLL
        for (int s = 0; s < sums; s++) {
            vf left = vf_broadcast(x + i + s);
            UNROLL
            for (int v = 0; v < vectors; v++)
                sum[s][v] = vf_fma(left, vf_load(B_AT(v, s)), sum[s][v]);
        }
    }
    for (; i < k; i++, b += EG__PANEL) {
        vf left = vf_broadcast(x + i);
        UNROLL
        for (int v = 0; v < vectors; v++) sum[0][v] = vf_fma(left, vf_load(B_AT(v, 0)), sum[0][v]);
    }
#undef B_AT
    UNROLL
    for (int v = 0; v < vectors; v++) {
        UNROLL
        for (int s = 1; s < sums; s++) sum[0][v] = vf_add(sum[0][v], sum[s][v]);
        size_t from = (size_t)v * VF_N, n = width <= from ? 0 : eg__min(width - from, VF_N);
        if (n == VF_N) {
            if (add) sum[0][v] = vf_add(sum[0][v], vf_load(add + from));
            vf_store(y + from, sum[0][v]);
        } else {
            if (add) sum[0][v] = vf_add(sum[0][v], vf_load_part(add + from, n));
            vf_store_part(y + from, sum[0][v], n);
        }
    }
}

#define DEFINE_STRIP(vectors, sums)                                                           \
    __attribute__((noinline)) static void strip_##vectors(                                    \
        size_t k, const float *x, const float *b, float *y, size_t width, const float *add) { \
        strip(vectors, sums, k, x, b, EG__PANEL *k, y, width, add);                           \
    }
STRIPS(DEFINE_STRIP)

/* Several panels side by side: one load of x serves all of them, and memory delivers several
 * streams. Prefetching them by hand was slower at every distance tried. */
void SIMD(eg__gemv_f32)(const eg__gemv_f32_args *g) {
    const float *b = g->b;
    size_t left = g->n;
    float *y = g->y;
    const float *add = g->add;
#define TAKE(vectors, sums)                                                      \
    while (left > (vectors == PANEL_VECTORS ? 0 : vectors * VF_N - EG__PANEL)) { \
        strip_##vectors(g->k, g->x, b, y, left, add);                            \
        if (left <= vectors * VF_N) return;                                      \
        left -= vectors * VF_N, y += vectors * VF_N, b += vectors * VF_N * g->k; \
        if (add) add += vectors * VF_N;                                          \
    }
    STRIPS(TAKE)
#undef TAKE
}
