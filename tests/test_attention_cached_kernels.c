/* Every kernel of attention over pages of a cache against the definition. */
#include "test_kernels.h"

#include <math.h>

AREA(cached_kernels, "attention over pages of f32, f16 and int8, against the definition")

enum { Q, K, V, PAGES, LENGTHS, WANT, GOT, SCRATCH };

typedef struct sizes {
    size_t samples, queries, table, page, slots, heads, kv_heads, d, dv, window;
    int causal;
} sizes;

/* Rows as append writes them, and none behind them. */
static void fill_side(eg__kv_side *side, unsigned slot, uint64_t *state) {
    const size_t columns = side->rows.heads * side->rows.d;
    char *data = kernel_walled(slot, side->rows.slots * side->rows.size);
    float *row = test_alloc(columns * sizeof *row);
    for (size_t i = 0; i < side->rows.slots; i++) {
        kernel_random(columns, row, state);
        memset(data + i * side->rows.size, 0, side->rows.size);
        eg__kv_write_row(&side->rows, eg__f32_to_f16_ref, row, data + i * side->rows.size);
    }
    free(row);
    side->data = data;
}

static int32_t below(uint64_t *state, size_t limit) {
    return (int32_t)((double)(test_random(state) + 1) / 2 * (double)limit);
}

/* Some pages are not there; lengths from none to more than all. */
static void fill_tables(const sizes *s, eg__attention_cached_f32_args *a, uint64_t *state) {
    int32_t *pages = kernel_walled(PAGES, s->samples * s->table * sizeof *pages);
    int32_t *lengths = kernel_walled(LENGTHS, s->samples * sizeof *lengths);
    for (size_t i = 0; i < s->samples * s->table; i++) {
        pages[i] = below(state, s->slots / s->page);
        if (test_random(state) > 0.75f) pages[i] = test_random(state) > 0 ? -1 : INT32_MAX;
    }
    for (size_t b = 0; b < s->samples; b++)
        lengths[b] = b ? below(state, s->table * s->page + 4) - 2
                       : (int32_t)(s->table * s->page - s->page / 3);
    a->pages = pages;
    a->f32.lengths = lengths;
}

static void check_kernels(const sizes *s, eg__attention_cached_f32_args *a) {
    eg__attention_f32_args *f = &a->f32;
    const eg__operation op = EG__OP_attention_cached_f32;
    const size_t rows = s->samples * s->queries, columns = s->heads * s->dv, stride = columns + 3;
    const size_t extent = kernel_extent(rows, columns, stride);
    const size_t items = s->samples * s->kv_heads * eg__attention_blocks(f, false);
    float *want = kernel_walled(WANT, extent * sizeof *want);
    float *got = kernel_walled(GOT, extent * sizeof *got);
    f->out = want;
    f->out_stride = stride;
    f->first = 0;
    f->count = items;
    kernel_fill(extent, want, KERNEL_GUARD);
    eg__attention_cached_f32_ref(a);
    for (const eg__kernel *row = NULL; (row = kernel_next(op, row));) {
        f->out = got;
        kernel_fill(extent, got, KERNEL_GUARD);
        for (f->first = 0; f->first < items; f->first += f->count) {
            f->count = eg__min(f->first ? 2 : 1, items - f->first);
            row->function.attention_cached_f32(a);
        }
        CHECK(kernel_gap_broken(rows, columns, stride, got) == SIZE_MAX, "%s: a gap", row->isa);
        double worst = 0;
        for (size_t i = 0; i < extent; i++) {
            if (i % stride >= columns) continue;
            const double off = fabs((double)got[i] - (double)want[i]);
            if (!(off <= worst)) worst = off;
        }
        CHECK(worst <= 2e-6,
              "%s, %s and %s: %zu x %zu, %zu pages of %zu, %zu/%zu heads of %zu, %zu, window %zu, "
              "causal %d: off by %g",
              row->isa, eg_type_name(a->k.rows.type), eg_type_name(a->v.rows.type), s->samples,
              s->queries, s->table, s->page, s->heads, s->kv_heads, s->d, s->dv, s->window,
              s->causal, worst);
    }
}

static void check_sizes(const sizes *s, eg_type k_type, eg_type v_type, uint64_t *state) {
    eg__attention_cached_f32_args a = {.pages_row = s->table, .page = s->page};
    const size_t columns = s->heads * s->d;
    a.f32 = (eg__attention_f32_args){.queries = s->queries,
                                     .keys = s->table * s->page,
                                     .heads = s->heads,
                                     .kv_heads = s->kv_heads,
                                     .d = s->d,
                                     .dv = s->dv,
                                     .scale = 0.6f,
                                     .causal = s->causal != 0,
                                     .window = s->window,
                                     .lengths_are_i32 = true,
                                     .q_stride = columns + 2};
    CHECK(eg__kv_rows_make(k_type, s->slots, s->kv_heads, s->d, &a.k.rows) &&
              eg__kv_rows_make(v_type, s->slots, s->kv_heads, s->dv, &a.v.rows),
          "no such rows");
    fill_side(&a.k, K, state);
    fill_side(&a.v, V, state);
    fill_tables(s, &a, state);
    const size_t extent = kernel_extent(s->samples * s->queries, columns, a.f32.q_stride);
    float *q = kernel_walled(Q, extent * sizeof *q);
    kernel_random(extent, q, state);
    a.f32.q = q;
    const size_t scratch = eg__attention_scratch(s->d, s->dv);
    float *memory = kernel_walled(SCRATCH, (scratch + 16) * sizeof *memory);
    a.f32.scratch = (float *)(((uintptr_t)memory + 63) / 64 * 64);
    for (size_t i = 0; i < scratch; i++) a.f32.scratch[i] = NAN; /* nothing of it counts */
    check_kernels(s, &a);
}

TEST(cached_kernels, sizes) {
    static const sizes rows[] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},        {2, 1, 9, 16, 144, 1, 1, 64, 64, 0, 1},
        {2, 1, 5, 32, 200, 2, 1, 33, 31, 0, 1},   {2, 1, 7, 16, 112, 3, 1, 80, 5, 0, 1},
        {1, 1, 3, 100, 300, 4, 1, 128, 96, 0, 1}, {2, 1, 40, 4, 160, 5, 1, 20, 40, 0, 1},
        {1, 1, 9, 16, 144, 8, 1, 64, 64, 0, 1},   {2, 1, 9, 16, 144, 12, 2, 48, 17, 30, 1},
        {1, 1, 9, 16, 144, 9, 1, 64, 64, 0, 1},   {2, 3, 9, 16, 144, 4, 2, 7, 9, 0, 1},
        {1, 70, 11, 16, 176, 4, 2, 64, 33, 0, 1}, {2, 40, 5, 13, 65, 2, 2, 5, 64, 11, 0},
        {1, 4, 5, 13, 65, 2, 2, 16, 16, 0, 0}};
    static const eg_type types[][2] = {
        {EG_F32, EG_F32}, {EG_F16, EG_F16}, {EG_I8, EG_I8}, {EG_F16, EG_I8}, {EG_I8, EG_F32}};
    uint64_t state = 5;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            check_sizes(&rows[i], types[t][0], types[t][1], &state);
}
