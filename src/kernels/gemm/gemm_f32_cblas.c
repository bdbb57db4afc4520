/* gemm_f32 by a CBLAS. Its interface takes no packed right side: panels are unpacked to scratch memory, a group of columns at a
 * time, which costs one move per 2 m operations. */
#include "kernels/gemm/cblas.h"
#include "kernels/kernels.h"

#include <limits.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111 };

static void unpack(size_t k, size_t columns, const float *panels, float *to) {
    for (size_t p = 0; p < columns; p += EG__PANEL, panels += k * EG__PANEL)
        for (size_t i = 0; i < k; i++)
            memcpy(to + i * columns + p, panels + i * EG__PANEL, EG__PANEL * sizeof *to);
}

/* What its interface can say: rows do not overlap, and sizes are ints. */
static bool fits(const eg__gemm_f32_args *g) {
    const bool apart = g->m < 2 || (g->a_stride >= g->k && g->c_stride >= g->n);
    return apart && g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX &&
           g->a_stride <= INT_MAX && g->c_stride <= INT_MAX;
}

/* What the product is added to is in C before; true if there is anything. */
static bool begin(const eg__gemm_f32_args *g, size_t column, size_t columns) {
    const bool in_place = g->add == g->c && g->add_stride == g->c_stride;
    if (g->accumulate || !g->add || in_place) return g->accumulate || in_place;
    for (size_t i = 0; i < g->m; i++)
        memcpy(g->c + i * g->c_stride + column, g->add + i * g->add_stride + column,
               columns * sizeof *g->c);
    return true;
}

void eg__gemm_f32_cblas(const eg__gemm_f32_args *g) {
    if (!g->cblas || !fits(g)) {
        eg__gemm_f32_ref(g);
        return;
    }
    if (!g->m || !g->n) return;
    const size_t wide = eg__cblas_columns(g->n);
    for (size_t column = 0; column < g->n; column += wide) {
        const size_t columns = eg__min(wide, g->n - column);
        const size_t stride = eg__round_up(columns, EG__PANEL);
        const float *b = g->b + column * g->k; /* a panel has k rows of 16 */
        if (stride > EG__PANEL) {
            unpack(g->k, stride, b, g->scratch);
            b = g->scratch;
        }
        float *c = g->c + column;
        const float beta = begin(g, column, columns) ? 1.0f : 0.0f;
        g->cblas->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)g->m, (int)columns, (int)g->k, 1.0f,
                        g->a, (int)eg__max(g->a_stride, eg__max(g->k, 1)), b, (int)stride, beta, c,
                        (int)eg__max(g->c_stride, columns));
        if (g->epilogue)
            g->epilogue->apply(g->epilogue->user, c, g->c_stride, 0, g->m, column, columns);
    }
}
