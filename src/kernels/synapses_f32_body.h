/* synapses_f32 for any vector width: included by synapses_f32_<isa>.c after its simd header. Many samples
 * lie side by side in the lanes; few of them go one by one, with a lane for each target. */
#include "kernels/synapses_block.h"

enum { VECTORS = EG__LANES / VF_N, FEW = 4 };

/* ---- many samples: [sources][BLOCK] in, [targets][BLOCK] out */
INLINE void columns(const int n, const eg__synapses_f32_args *args, size_t p, const float *v,
                    float *current, float *conductance) {
    const vf slope = vf_set(args->slope[p]), middle = vf_set(args->middle[p]);
    const vf weight = vf_set(args->weight[p]), reversal = vf_set(args->reversal[p]);
    vf x[LOCKSTEP];
    EACH_VECTOR(n) x[l] = vf_mul(slope, vf_sub(vf_load(v + l * VF_N), middle));
    vf_sigmoid_n(n, x);
    EACH_VECTOR(n) x[l] = vf_mul(weight, x[l]);
    EACH_VECTOR(n)
    vf_store(current + l * VF_N, vf_fma(x[l], reversal, vf_load(current + l * VF_N)));
    EACH_VECTOR(n) vf_store(conductance + l * VF_N, vf_add(x[l], vf_load(conductance + l * VF_N)));
}

static void block_run(const eg__synapses_f32_args *args, size_t row, size_t rows) {
    const eg__synapse_list *list = &args->list;
    float *v = args->scratch, *current = v + list->sources * BLOCK;
    float *conductance = current + list->targets * BLOCK;
    const size_t wide = eg__round_up(rows, VF_N);
    block_load(rows, list->sources, args->v + row * args->v_stride, args->v_stride, v);
    block_zero(0, rows, 2 * list->targets, current);
    for (size_t p = 0; p < list->count; p++) {
        if (list->target[p] < 0) continue;
        const float *from = v + (size_t)list->source[p] * BLOCK;
        float *c = current + (size_t)list->target[p] * BLOCK;
        float *g = conductance + (size_t)list->target[p] * BLOCK;
        size_t i = 0;
        for (; i + LOCKSTEP * VF_N <= wide; i += LOCKSTEP * VF_N)
            columns(LOCKSTEP, args, p, from + i, c + i, g + i);
        for (; i < wide; i += VF_N) columns(1, args, p, from + i, c + i, g + i);
    }
    block_store(rows, 2 * list->targets, current, args->out + row * args->out_stride,
                args->out_stride);
}

/* ---- one sample of a laned list */
INLINE void flush(const eg__synapse_list *list, size_t chunk, const vf *current,
                  const vf *conductance, float *out) {
    float c[EG__LANES], g[EG__LANES];
    EACH_VECTOR(VECTORS) vf_store(c + l * VF_N, current[l]);
    EACH_VECTOR(VECTORS) vf_store(g + l * VF_N, conductance[l]);
    for (int lane = 0; lane < EG__LANES; lane++) {
        const int32_t t = list->target[chunk + (size_t)lane];
        if (t < 0) continue;
        out[t] = c[lane];
        out[list->targets + (size_t)t] = g[lane];
    }
}

/* `n` vectors of synapses: what each lets through. */
INLINE void let_through(const int n, const eg__synapses_f32_args *args, size_t p, float *a) {
    vf x[LOCKSTEP];
    EACH_VECTOR(n)
    x[l] = vf_mul(vf_load(args->slope + p + l * VF_N),
                  vf_sub(vf_load(a + l * VF_N), vf_load(args->middle + p + l * VF_N)));
    vf_sigmoid_n(n, x);
    EACH_VECTOR(n) x[l] = vf_mul(x[l], vf_load(args->weight + p + l * VF_N));
    /* the bits of -1 and its neighbours are NaN, those of a target are not */
    EACH_VECTOR(n) {
        const vf target = vf_load((const float *)(const void *)(args->list.target + p) + l * VF_N);
        vf_store(a + l * VF_N, vf_select(vf_ne(target, target), vf_zero(), x[l]));
    }
}

/* Many synapses first, then their sums: each part keeps the pipes full, where one row of lanes after the
 * other would wait for its sigmoid. */
static void sample_run(const eg__synapses_f32_args *args, size_t b) {
    enum { MANY = 32 * EG__LANES };
    const eg__synapse_list *list = &args->list;
    const float *v = args->v + b * args->v_stride;
    float *out = args->out + b * args->out_stride, a[MANY];
    vf current[VECTORS], conductance[VECTORS];
    EACH_VECTOR(VECTORS) current[l] = conductance[l] = vf_zero();
    memset(out, 0, 2 * list->targets * sizeof *out);
    size_t first = 0; /* row of the targets that are summed now: padding comes after it */
    for (size_t from = 0; from < list->count; from += MANY) {
        const size_t count = eg__min(MANY, list->count - from);
        for (size_t i = 0; i < count; i++) a[i] = v[list->source[from + i]];
        size_t done = 0;
        for (; done + LOCKSTEP * VF_N <= count; done += LOCKSTEP * VF_N)
            let_through(LOCKSTEP, args, from + done, a + done);
        for (; done < count; done += VF_N) let_through(1, args, from + done, a + done);
        for (size_t i = 0; i < count; i += EG__LANES) {
            const size_t p = from + i;
            if (list->target[p] != list->target[first]) {
                flush(list, first, current, conductance, out);
                first = p;
                EACH_VECTOR(VECTORS) current[l] = conductance[l] = vf_zero();
            }
            EACH_VECTOR(VECTORS) {
                const vf x = vf_load(a + i + l * VF_N);
                current[l] = vf_fma(x, vf_load(args->reversal + p + l * VF_N), current[l]);
                conductance[l] = vf_add(conductance[l], x);
            }
        }
    }
    if (list->count) flush(list, first, current, conductance, out);
}

void SIMD(eg__synapses_f32)(const eg__synapses_f32_args *args) {
    if (args->list.laned && args->batch <= FEW) {
        for (size_t b = 0; b < args->batch; b++) sample_run(args, b);
        return;
    }
    for (size_t row = 0; row < args->batch; row += BLOCK)
        block_run(args, row, eg__min(BLOCK, args->batch - row));
}
