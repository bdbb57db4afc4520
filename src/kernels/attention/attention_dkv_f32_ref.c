/* The definition of attention_dkv_f32. */
#include "kernels/attention/attention_ref.h"

/* Some columns of the gradient of one key or value, summed over all queries that see it. */
static void columns_run(const eg__attention_f32_args *a, size_t sample, size_t head, size_t key,
                        bool of_v, size_t from, size_t columns) {
    const size_t group = a->heads / a->kv_heads;
    double total[CHUNK] = {0};
    for (size_t h = head * group; h < (head + 1) * group; h++)
        for (size_t query = 0; query < a->queries; query++) {
            const eg__attention_row row = row_at(a, sample, h, query);
            if (key < row.sees.from || key >= row.sees.to) continue;
            const eg__attention_pair pair = pair_at(a, &row, key);
            const float *x = of_v ? a->dy + row.at * a->dy_stride + h * a->dv
                                  : a->q + row.at * a->q_stride + h * a->d;
            const double weight = of_v ? pair.dropped : pair.ds * (double)a->scale;
            for (size_t c = 0; c < columns; c++) total[c] += weight * (double)x[from + c];
        }
    float *out = a->out + (sample * a->keys + key) * a->out_stride +
                 (of_v ? a->kv_heads * a->d + head * a->dv : head * a->d);
    for (size_t c = 0; c < columns; c++) out[from + c] = (float)total[c];
}

void eg__attention_dkv_f32_ref(const eg__attention_f32_args *a) {
    const size_t blocks = eg__attention_blocks(a, true);
    for (size_t item = a->first; item < a->first + a->count; item++) {
        const size_t first = item % blocks * EG__ATTENTION_KEYS, pair = item / blocks;
        for (size_t key = first; key < eg__min(first + EG__ATTENTION_KEYS, a->keys); key++)
            for (int of_v = 0; of_v < 2; of_v++) {
                const size_t columns = of_v ? a->dv : a->d;
                for (size_t from = 0; from < columns; from += CHUNK)
                    columns_run(a, pair / a->kv_heads, pair % a->kv_heads, key, of_v != 0, from,
                                eg__min(CHUNK, columns - from));
            }
    }
}
