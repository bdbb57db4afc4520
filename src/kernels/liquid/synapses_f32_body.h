/* synapses_f32 for any vector width: included by synapses_f32_<isa>.c after its simd header. Many
 * samples are side by side in the lanes; few samples are processed one by one, with a lane per
 * target. Both add the same numbers in the same order, so a sample's result is the same in any batch. */
#include "kernels/liquid/synapses_block.h"

/* A vector with fewer samples than this takes longer than they do one by one. */
enum { VECTORS = EG__LANES / VF_N, FEW = 3 * VF_N / 4 };

/* ---- many samples: [sources][BLOCK] in, [targets][BLOCK] out */

/* Adds `m` synapses to the sums of `n` vectors of samples. */
INLINE void conduct(const int m, const int n, const eg__synapses_f32_args *args, const size_t *p,
                    const float *v, vf *current, vf *conductance) {
    vf x[LOCKSTEP];
    UNROLL
    for (int s = 0; s < m; s++) {
        const vf slope = vf_set(args->slope[p[s]]), middle = vf_set(args->middle[p[s]]);
        const float *from = v + eg__synapse_source(args->list.ends[p[s]]) * BLOCK;
        EACH_VECTOR(n) x[s * n + l] = vf_mul(slope, vf_sub(middle, vf_load(from + l * VF_N)));
    }
    /* weight * sigmoid, without vf_sigmoid's handling of denormal results */
    vf_exp_n(m * n, x);
    UNROLL
    for (int s = 0; s < m; s++) {
        const vf weight = vf_set(args->weight[p[s]]);
        EACH_VECTOR(n) x[s * n + l] = vf_div(weight, vf_add(x[s * n + l], vf_set(1.0f)));
    }
    UNROLL
    for (int s = 0; s < m; s++) {
        const vf reversal = vf_set(args->reversal[p[s]]);
        EACH_VECTOR(n) current[l] = vf_fma(x[s * n + l], reversal, current[l]);
        EACH_VECTOR(n) conductance[l] = vf_add(conductance[l], x[s * n + l]);
    }
}

/* The synapses from `first` to `end`, every `step`, all of one target: sums in registers, several
 * synapses in lockstep where there are few vectors. */
INLINE void add_lane(const int n, const eg__synapses_f32_args *args, size_t first, size_t end,
                     size_t step, const float *v, float *current, float *conductance) {
    vf c[LOCKSTEP], g[LOCKSTEP];
    size_t found[LOCKSTEP];
    int count = 0;
    EACH_VECTOR(n) c[l] = g[l] = vf_zero();
    for (size_t p = first; p < end; p += step) {
        if (eg__synapse_target(args->list.ends[p]) < 0) continue;
        found[count++] = p;
        if (count < LOCKSTEP / n) continue;
        conduct(LOCKSTEP / n, n, args, found, v, c, g);
        count = 0;
    }
    for (int k = 0; k < count; k++) conduct(1, n, args, found + k, v, c, g);
    EACH_VECTOR(n) vf_store(current + l * VF_N, vf_add(vf_load(current + l * VF_N), c[l]));
    EACH_VECTOR(n)
    vf_store(conductance + l * VF_N, vf_add(vf_load(conductance + l * VF_N), g[l]));
}

static void lane_run(const eg__synapses_f32_args *args, size_t first, size_t end, size_t step,
                     size_t wide, float *v, float *current) {
    const size_t targets = args->list.targets;
    const size_t at = (size_t)eg__synapse_target(args->list.ends[first]) * BLOCK;
    size_t i = 0;
#define TAKE(n)                                                      \
    for (; i + (n)*VF_N <= wide; i += (n)*VF_N)                      \
        add_lane(n, args, first, end, step, v + i, current + at + i, \
                 current + targets * BLOCK + at + i);
    TAKE(4)
    TAKE(2)
    TAKE(1)
#undef TAKE
}

/* The end of the group of lanes that begins at `first`. */
static size_t group_end(const eg__synapse_list *list, size_t first) {
    size_t end = first + EG__LANES;
    while (end < list->count &&
           eg__synapse_target(list->ends[end]) == eg__synapse_target(list->ends[first]))
        end += EG__LANES;
    return end;
}

static void block_run(const eg__synapses_f32_args *args, size_t row, size_t rows) {
    const eg__synapse_list *list = &args->list;
    float *v = args->scratch, *current = v + list->sources * BLOCK;
    const size_t wide = eg__round_up(rows, VF_N), width = list->in_lanes ? EG__LANES : 1;
    block_load(rows, list->sources, args->v + row * args->v_stride, args->v_stride, v);
    block_zero(0, rows, 2 * list->targets, current);
    for (size_t first = 0, end; first < list->count; first = end) {
        end = list->in_lanes ? group_end(list, first) : first + 1;
        for (size_t lane = first; lane < first + width; lane++)
            if (eg__synapse_target(list->ends[lane]) >= 0)
                lane_run(args, lane, end, width, wide, v, current);
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
    size_t few = args->list.in_lanes ? args->batch % VF_N : 0;
    if (few > FEW) few = 0;
    for (size_t row = 0; row < args->batch - few; row += BLOCK)
        block_run(args, row, eg__min(BLOCK, args->batch - few - row));
    for (size_t b = args->batch - few; b < args->batch; b++) sample_run(args, b);
}
