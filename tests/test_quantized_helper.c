/* Quantized right sides, their exact products, and arguments that end at walls. */
#include "test_quantized.h"

#include <math.h>

enum { SLOT_A, SLOT_B, SLOT_C, SLOT_ADD, SLOT_SCRATCH };

eg__gemm_quantized_function *quantized_function(const eg__kernel *row) {
    switch (row->operation) {
    case EG__OP_gemm_f16: return row->function.gemm_f16;
    case EG__OP_gemm_bf16: return row->function.gemm_bf16;
    case EG__OP_gemm_i8: return row->function.gemm_i8;
    case EG__OP_gemm_i4: return row->function.gemm_i4;
    case EG__OP_gemm_i8i8: return row->function.gemm_i8i8;
    case EG__OP_gemm_i4i8: return row->function.gemm_i4i8;
    default: return NULL;
    }
}

static eg_type type_of(eg__operation operation) {
    switch (operation) {
    case EG__OP_gemm_f16: return EG_F16;
    case EG__OP_gemm_bf16: return EG_BF16;
    case EG__OP_gemm_i8:
    case EG__OP_gemm_i8i8: return EG_I8;
    default: return EG_I4;
    }
}

static size_t below(size_t limit, uint64_t *state) {
    return (size_t)((test_random(state) + 1) / 2 * (float)limit);
}

static void groups_make(quantized_problem *p, size_t block, bool uneven, uint64_t *state) {
    size_t at = 0;
    p->end = test_alloc((p->k + 1) * sizeof *p->end);
    p->groups = 0;
    do {
        const size_t size = !block ? p->k : uneven ? 1 + below(block, state) : block;
        at = eg__min(at + size, p->k);
        p->end[p->groups++] = (uint32_t)at;
    } while (at < p->k);
}

static void values_make(quantized_problem *p, uint64_t *state) {
    const size_t count = p->n * p->k;
    p->values = test_alloc(count * 2 + 1);
    memset(p->values, 0, count * 2 + 1);
    for (size_t i = 0; i < count; i++) {
        const float x = test_random(state);
        if (p->type == EG_F16) eg__f32_to_f16_ref(1, &x, (uint16_t *)p->values + i);
        else if (p->type == EG_BF16) eg__f32_to_bf16_ref(1, &x, (uint16_t *)p->values + i);
        else if (p->type == EG_I8)
            ((int8_t *)p->values)[i] = (int8_t)((int)below(256, state) - 128);
        else eg__nibble_set(p->values, i, (int)below(16, state) - 8);
    }
}

quantized_problem quantized_problem_make(eg__operation operation, size_t m, size_t n, size_t k,
                                         size_t block, bool uneven, bool offsets, uint64_t *state) {
    quantized_problem p = {
        .operation = operation, .type = type_of(operation), .m = m, .n = n, .k = k};
    const bool halves = p.type == EG_F16 || p.type == EG_BF16;
    p.integer = operation == EG__OP_gemm_i8i8 || operation == EG__OP_gemm_i4i8;
    p.offsets = offsets && !halves;
    groups_make(&p, halves ? 0 : block, uneven, state);
    values_make(&p, state);
    p.scale = test_alloc(p.groups * n * sizeof *p.scale);
    p.zero = test_alloc(p.groups * n);
    for (size_t i = 0; i < p.groups * n; i++) {
        p.scale[i] = ldexpf(1.5f + test_random(state) / 2, -6);
        p.zero[i] =
            (int8_t)(p.type == EG_I8 ? (int)below(256, state) - 128 : (int)below(16, state) - 8);
    }
    p.a = test_alloc(m * k * sizeof *p.a);
    p.add = test_alloc(n * sizeof *p.add);
    p.exact = test_alloc(m * n * sizeof *p.exact);
    p.size = test_alloc(m * n * sizeof *p.size);
    kernel_random(m * k, p.a, state);
    kernel_random(n, p.add, state);
    return p;
}

void quantized_problem_free(quantized_problem *p) {
    free(p->end), free(p->values), free(p->scale), free(p->zero);
    free(p->a), free(p->add), free(p->exact), free(p->size);
}

eg__packed_quantized quantized_packed(const quantized_problem *p, size_t n) {
    const bool halves = p->type == EG_F16 || p->type == EG_BF16;
    eg__quantized_layout layout;
    CHECK(
        eg__quantized_measure(p->type, p->k, n, p->groups, p->end, p->offsets, p->integer, &layout),
        "too large");
    void *memory = kernel_walled(SLOT_B, layout.bytes);
    memset(memory, 0xff, layout.bytes);
    const eg__packed_quantized b = eg__quantized_at(p->type, p->k, n, p->groups, memory, &layout);
    eg__quantized_begin(&b, p->end);
    for (uint32_t g = 0, from = 0; g < p->groups; from = p->end[g++]) {
        const eg__quantized_matrix stored = {.type = p->type,
                                             .rows = p->n,
                                             .columns = p->k,
                                             .block = p->k,
                                             .values = p->values,
                                             .scale = halves ? NULL : p->scale + g * p->n,
                                             .zero = p->offsets ? p->zero + g * p->n : NULL};
        const eg__quantized_piece piece = {
            .k_to = from, .k = p->end[g] - from, .n = (uint32_t)n, .column = from};
        eg__quantized_pack(&b, &piece, &stored);
    }
    return b;
}

eg__gemm_quantized_args quantized_args(const eg__kernel *row, const quantized_problem *p, size_t m,
                                       const eg__packed_quantized *b, bool gaps, bool add) {
    const size_t a_stride = p->k + (gaps ? 3 : 0), c_stride = b->n + (gaps ? 5 : 0);
    const size_t a_size = kernel_extent(m, p->k, a_stride);
    const size_t c_size = kernel_extent(m, b->n, c_stride);
    const eg__kernel_shape shape = {
        .m = m, .n = b->n, .k = p->k, .groups = p->groups, .type = p->type};
    const size_t scratch_size = eg__kernel_scratch(row, &shape);
    float *a = kernel_walled(SLOT_A, a_size * sizeof *a);
    float *c = kernel_walled(SLOT_C, c_size * sizeof *c);
    void *scratch = kernel_walled(SLOT_SCRATCH, scratch_size);
    kernel_fill(a_size, a, NAN);
    kernel_fill(c_size, c, KERNEL_GUARD);
    memset(scratch, 0xff, scratch_size);
    for (size_t i = 0; i < m; i++) {
        memcpy(a + i * a_stride, p->a + i * p->k, p->k * sizeof *a);
        kernel_fill(b->n, c + i * c_stride, NAN);
    }
    return (eg__gemm_quantized_args){
        .m = m,
        .a = a,
        .a_stride = a_stride,
        .b = *b,
        .c = c,
        .c_stride = c_stride,
        .add = add ? kernel_walled_copy(SLOT_ADD, p->add, b->n * sizeof *p->add) : NULL,
        .scratch = p->integer ? scratch : NULL};
}

/* ---- exact results: column j of B as doubles, or as integers beside what each group scales by */
static void solve_floats(quantized_problem *p, const eg__packed_quantized *b, double *w,
                         double *size) {
    for (size_t j = 0; j < p->n; j++) {
        for (size_t k = 0, g = 0; k < p->k; k++) {
            while (k >= p->end[g]) g++;
            w[k] = eg__quantized_value(b, k, j);
            const double offset =
                p->offsets ? (double)p->scale[g * p->n + j] * p->zero[g * p->n + j] : 0;
            size[k] = fabs(w[k] + offset) + fabs(offset);
        }
        for (size_t i = 0; i < p->m; i++) {
            double sum = 0, sizes = 0;
            for (size_t k = 0; k < p->k; k++) {
                sum += p->a[i * p->k + k] * w[k];
                sizes += fabs(p->a[i * p->k + k]) * size[k];
            }
            p->exact[i * p->n + j] = sum;
            p->size[i * p->n + j] = sizes;
        }
    }
}

static void solve_integers(quantized_problem *p, const eg__packed_quantized *b, double *w,
                           double *rows) {
    const eg__gemm_quantized_args args = {.m = 1, .b = *b, .scratch = rows};
    const eg__quantized_rows to = eg__quantized_rows_at(&args);
    for (size_t i = 0; i < p->m; i++) {
        eg__quantize_row(b, p->a + i * p->k, &to, 0);
        for (size_t j = 0; j < p->n; j++) {
            const int8_t *a = to.values;
            double sum = 0, size = 0;
            for (size_t g = 0, from = 0; g < p->groups; from = p->end[g++]) {
                double product = 0;
                for (size_t k = from; k < p->end[g]; k++) product += w[j * p->k + k] * a[k - from];
                const double scale = p->scale[g * p->n + j];
                const double offset = p->offsets ? -scale * p->zero[g * p->n + j] : 0;
                sum += scale * product + offset * to.sum[g];
                size += fabs(scale * product) + fabs(offset * to.sum[g]);
                a += eg__quantized_units(b, g) * eg__quantized_unit(p->type);
            }
            p->exact[i * p->n + j] = to.scale[0] * sum;
            p->size[i * p->n + j] = to.scale[0] * size;
        }
    }
}

void quantized_problem_solve(quantized_problem *p) {
    const eg__packed_quantized b = quantized_packed(p, p->n);
    double *w = test_alloc((p->n + 1) * p->k * sizeof *w);
    double *other =
        test_alloc(p->k * sizeof *w + eg__quantized_scratch(1, p->k, p->groups, p->type));
    if (p->integer) {
        for (size_t j = 0; j < p->n; j++)
            for (size_t k = 0; k < p->k; k++) w[j * p->k + k] = eg__quantized_integer(&b, k, j);
        solve_integers(p, &b, w, other);
    } else solve_floats(p, &b, w, other);
    free(w), free(other);
}
