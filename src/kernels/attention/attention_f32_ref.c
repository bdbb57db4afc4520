/* The definition of attention_f32, and of its gradients in attention_dq_f32_ref.c and
 * attention_dkv_f32_ref.c. */
#include "kernels/attention/attention_ref.h"

/* One row: a query of a head. */
static void row_run(const eg__attention_f32_args *a, const eg__attention_row *row) {
    double max = -INFINITY, sum = 0;
    for (size_t key = row->sees.from; key < row->sees.to; key++)
        max = fmax(max, score(a, row, key));
    for (size_t key = row->sees.from; key < row->sees.to; key++) {
        const double s = score(a, row, key);
        sum += s > -INFINITY || isnan(s) ? exp(s - max) : 0;
    }
    float *out = a->out + row->at * a->out_stride;
    out[a->heads * a->dv + row->head] = sum == 0 ? EG__ATTENTION_BLIND : (float)(max + log(sum));
    for (size_t column = 0; column < a->dv; column++) out[row->head * a->dv + column] = 0;
    for (size_t from = 0; from < a->dv && sum != 0; from += CHUNK) {
        double total[CHUNK] = {0};
        const size_t columns = eg__min(CHUNK, a->dv - from);
        for (size_t key = row->sees.from; key < row->sees.to; key++) {
            const double weight = exp(score(a, row, key) - max) / sum * kept(a, row, key);
            const float *v = key_row(a, row, a->v, a->v_stride, a->dv, key) + from;
            for (size_t c = 0; c < columns; c++) total[c] += weight * (double)v[c];
        }
        for (size_t c = 0; c < columns; c++) out[row->head * a->dv + from + c] = (float)total[c];
    }
}

void eg__attention_f32_ref(const eg__attention_f32_args *a) { each_row(a, row_run); }
