/* synapses_f32 for any vector width: included by synapses_f32_<isa>.c after its simd header. Many
 * samples are side by side in the lanes; few samples are processed one by one, with a lane per
 * target. */
#include "kernels/liquid/synapses_block.h"

enum { VECTORS = EG__LANES / VF_N, FEW = 4 };

/* ---- many samples: [sources][BLOCK] in, [targets][BLOCK] out */
INLINE void columns(const int n, const eg__synapses_f32_args *args, size_t p, const float *v,
                    float *current, float *conductance) {
    const vf slope = vf_set(args->slope[p]), middle = vf_set(args->middle[p]);
    const vf weight = vf_set(args->weight[p]), reversal = vf_set(args->reversal[p]);
    vf x[LOCKSTEP];
    /* weight * sigmoid, without vf_sigmoid's handling of denormal results */
    EACH_VECTOR(n) x[l] = vf_mul(slope, vf_sub(middle, vf_load(v + l * VF_N)));
    vf_exp_n(n, x);
    EACH_VECTOR(n) x[l] = vf_div(weight, vf_add(x[l], vf_set(1.0f)));
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
        const int32_t target = eg__synapse_target(list->ends[p]);
        if (target < 0) continue;
        const float *from = v + eg__synapse_source(list->ends[p]) * BLOCK;
        float *c = current + (size_t)target * BLOCK, *g = conductance + (size_t)target * BLOCK;
        size_t i = 0;
        for (; i + LOCKSTEP * VF_N <= wide; i += LOCKSTEP * VF_N)
            columns(LOCKSTEP, args, p, from + i, c + i, g + i);
        for (; i < wide; i += VF_N) columns(1, args, p, from + i, c + i, g + i);
    }
    block_store(rows, 2 * list->targets, current, args->out + row * args->out_stride,
                args->out_stride);
}

/* ---- one sample of a list in lanes */

/* The two sums of a target side by side, so that one addition does for both. */
typedef float sums __attribute__((vector_size(8), may_alias));

INLINE void flush(const eg__synapse_list *list, size_t group, const vf *current,
                  const vf *conductance, sums *restrict total, sums *restrict lanes) {
    EACH_VECTOR(VECTORS) vf_store_pairs((float *)(lanes + l * VF_N), current[l], conductance[l]);
    for (size_t lane = 0; lane < EG__LANES; lane++) {
        /* padding is added to a slot after the last target: cheaper than a branch */
        const int32_t target = eg__synapse_target(list->ends[group + lane]);
        const size_t t = eg__min((uint32_t)target, list->targets);
        total[t] += lanes[lane];
    }
}

/* Separates the interleaved sums: all currents, then all conductances. */
INLINE void separate(const sums *total, size_t targets, float *out) {
    const float *from = (const float *)total;
    size_t t = 0;
    for (vf c, g; t + VF_N <= targets; t += VF_N) {
        vf_load_pairs(from + 2 * t, &c, &g);
        vf_store(out + t, c);
        vf_store(out + targets + t, g);
    }
    for (; t < targets; t++) {
        out[t] = from[2 * t];
        out[targets + t] = from[2 * t + 1];
    }
}

/* The conductances of `n` vectors of synapses, given their sources in `x`. */
INLINE void let_through(const int n, const eg__synapses_f32_args *args, size_t p, vf *x) {
    EACH_VECTOR(n)
    x[l] = vf_mul(vf_load(args->slope + p + l * VF_N),
                  vf_sub(vf_load(args->middle + p + l * VF_N), x[l]));
    vf_exp_n(n, x);
    EACH_VECTOR(n)
    x[l] = vf_div(vf_load(args->weight + p + l * VF_N), vf_add(x[l], vf_set(1.0f)));
    /* padding is NaN, synapses are not */
    EACH_VECTOR(n) {
        const vf ends = vf_load((const float *)(const void *)(args->list.ends + p) + l * VF_N);
        x[l] = vf_select(vf_ne(ends, ends), vf_zero(), x[l]);
    }
}

#if !defined(VF_TABLE)
#define VF_TABLE 0
typedef struct vf_table {
    char none;
} vf_table;
INLINE vf_table vf_table_load(const float *p, size_t n) {
    (void)p, (void)n;
    return (vf_table){0};
}
INLINE vf vf_table_look(const vf_table *table, const int32_t *index) {
    (void)table, (void)index;
    return vf_zero();
}
#endif

/* Gathers the sources of `count` synapses (whole rows) and computes their conductances. */
INLINE void activate(const eg__synapses_f32_args *args, const float *v, size_t from, size_t count,
                     float *a) {
    const int32_t *ends = args->list.ends + from;
    const bool looks = args->list.sources <= VF_TABLE;
    const vf_table table = vf_table_load(v, looks ? args->list.sources : 0);
    for (size_t i = 0; !looks && i < count; i++) a[i] = v[eg__synapse_source(ends[i])];
    vf x[LOCKSTEP];
    size_t i = 0;
#define TAKE(n)                                                                                \
    for (; i + (n)*VF_N <= count; i += (n)*VF_N) {                                             \
        EACH_VECTOR(n)                                                                         \
        x[l] = looks ? vf_table_look(&table, ends + i + l * VF_N) : vf_load(a + i + l * VF_N); \
        let_through(n, args, from + i, x);                                                     \
        EACH_VECTOR(n) vf_store(a + i + l * VF_N, x[l]);                                       \
    }
    TAKE(LOCKSTEP)
    TAKE(1)
#undef TAKE
}

/* Computes the conductances of many synapses first, then their sums: each loop keeps the pipes
 * full, whereas row by row every sum would wait for its sigmoid. */
static void sample_run(const eg__synapses_f32_args *args, size_t b) {
    enum { MANY = 64 * EG__LANES };
    const eg__synapse_list *list = &args->list;
    const float *v = args->v + b * args->v_stride;
    float a[MANY];
    /* not on the stack, whose address could alias that of the list (4 KiB aliasing) */
    sums *total = (sums *)args->scratch,
         *lanes = total + eg__round_up(list->targets + 1, EG__LANES);
    vf current[VECTORS], conductance[VECTORS];
    EACH_VECTOR(VECTORS) current[l] = conductance[l] = vf_zero();
    memset(total, 0, (list->targets + 1) * sizeof *total);
    size_t first = 0; /* the row that has the group's targets: later rows may have padding */
    for (size_t from = 0; from < list->count; from += MANY) {
        const size_t count = eg__min(MANY, list->count - from);
        activate(args, v, from, count, a);
        for (size_t i = 0; i < count; i += EG__LANES) {
            const size_t p = from + i;
            if (eg__synapse_target(list->ends[p]) != eg__synapse_target(list->ends[first])) {
                flush(list, first, current, conductance, total, lanes);
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
    if (list->count) flush(list, first, current, conductance, total, lanes);
    separate(total, list->targets, args->out + b * args->out_stride);
}

void SIMD(eg__synapses_f32)(const eg__synapses_f32_args *args) {
    if (args->list.in_lanes && args->batch <= FEW) {
        for (size_t b = 0; b < args->batch; b++) sample_run(args, b);
        return;
    }
    for (size_t row = 0; row < args->batch; row += BLOCK)
        block_run(args, row, eg__min(BLOCK, args->batch - row));
}
