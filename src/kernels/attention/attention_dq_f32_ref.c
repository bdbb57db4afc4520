/* The definition of attention_dq_f32. */
#include "kernels/attention/attention_ref.h"

static void row_run(const eg__attention_f32_args *a, const eg__attention_row *row) {
    float *out = a->out + row->at * a->out_stride + row->head * a->d;
    for (size_t from = 0; from < a->d; from += CHUNK) {
        double total[CHUNK] = {0};
        const size_t columns = eg__min(CHUNK, a->d - from);
        for (size_t key = row->sees.from; key < row->sees.to; key++) {
            const double ds = pair_at(a, row, key).ds * (double)a->scale;
            const float *k = key_row(a, row, a->k, a->k_stride, a->d, key) + from;
            for (size_t c = 0; c < columns; c++) total[c] += ds * (double)k[c];
        }
        for (size_t c = 0; c < columns; c++) out[from + c] = (float)total[c];
    }
}

void eg__attention_dq_f32_ref(const eg__attention_f32_args *a) { each_row(a, row_run); }
