/* Reductions, copies, transposes and gathers of every instruction set. */
#include "test_kernels.h"

#include <math.h>

AREA(rows, "reductions, copies, transposes and gathers")

static const size_t lengths[] = {0,  1,  2,  3,  4,  5,  6,   7,   8,   9,   11,  12,  13,  15, 16,
                                 17, 20, 23, 24, 25, 28, 31,  32,  33,  39,  40,  47,  48,  49, 63,
                                 64, 65, 95, 96, 97, 99, 127, 128, 129, 255, 256, 257, 1000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static const char *const names[] = {"sum", "mean", "max", "min", "argmax"};

/* One row by the letter of rows.h, in double; `size` is what its error is measured by. */
static double exact_reduce(eg__reduction reduction, size_t n, const float *x, double *size) {
    double sum = 0, max = -INFINITY, min = INFINITY;
    size_t place = 0;
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return reduction == EG__REDUCE_ARGMAX ? (double)i : NAN;
        if (x[i] > max) max = x[i], place = i;
        if (x[i] < min) min = x[i];
        sum += x[i];
        *size += fabs(x[i]);
    }
    *size = reduction == EG__REDUCE_SUM    ? *size
            : reduction == EG__REDUCE_MEAN ? *size / (double)n
                                           : 0;
    switch (reduction) {
    case EG__REDUCE_SUM: return sum;
    case EG__REDUCE_MEAN: return sum / (double)n;
    case EG__REDUCE_MAX: return max;
    case EG__REDUCE_MIN: return min;
    default: return n ? (double)place : -1;
    }
}

/* x has `rows` rows of n floats, contiguous; the kernels see them with `gap` floats between. */
static void reduce_check(size_t rows, size_t n, size_t gap, const float *x) {
    const size_t stride = n + gap, size = kernel_extent(rows, n, stride);
    float *spread = kernel_walled(0, size * sizeof *spread);
    kernel_fill(size, spread, NAN);
    for (size_t r = 0; r < rows && n; r++) memcpy(spread + r * stride, x + r * n, n * sizeof *x);
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_reduce_f32, row));)
        for (int kind = 0; kind < EG__REDUCE_COUNT; kind++) {
            float *y = kernel_walled(1, rows * sizeof *y);
            int32_t *index = kernel_walled(2, rows * sizeof *index);
            const bool places = kind == EG__REDUCE_ARGMAX;
            const eg__reduce_f32_args args = {
                kind, rows, n, spread, stride, places ? NULL : y, places ? index : NULL};
            kernel_fill(rows, y, KERNEL_GUARD);
            memset(index, 77, rows * sizeof *index);
            row->function.reduce_f32(&args);
            for (size_t r = 0; r < rows; r++) {
                double unit;
                const double want = exact_reduce(kind, n, x + r * n, &unit);
                const double got = places ? (double)index[r] : (double)y[r];
                CHECK((isnan(want) && isnan(got)) || got == want ||
                          fabs(got - want) <= 4 * ldexp(unit, -24),
                      "%s %s of %zu columns, row %zu: %.9g, not %.9g", row->isa, names[kind], n, r,
                      got, want);
            }
        }
}

/* The sum of n random numbers within (-1, 1): one rounding per number of a block and one per block. */
static void column_sum_check(size_t rows, size_t columns, size_t gap, const float *x) {
    const size_t stride = columns + gap, size = kernel_extent(rows, columns, stride);
    float *spread = kernel_walled(0, size * sizeof *spread);
    kernel_fill(size, spread, NAN);
    for (size_t r = 0; r < rows && columns; r++)
        memcpy(spread + r * stride, x + r * columns, columns * sizeof *x);
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_column_sum_f32, row));)
        for (int mean = 0; mean <= (rows > 0); mean++) {
            float *y = kernel_walled(1, columns * sizeof *y);
            kernel_fill(columns, y, KERNEL_GUARD);
            row->function.column_sum_f32(
                &(eg__column_sum_f32_args){rows, columns, spread, stride, y, mean != 0});
            for (size_t c = 0; c < columns; c++) {
                double sum = 0, size_sum = 0;
                for (size_t r = 0; r < rows; r++) {
                    sum += x[r * columns + c];
                    size_sum += fabs(x[r * columns + c]);
                }
                const double unit = mean ? (double)rows : 1;
                CHECK(fabs(y[c] - sum / unit) <= 8 * 0x1p-24 * (size_sum + 1e-30) / unit,
                      "%s: column %zu of %zu x %zu: %.9g, not %.9g", row->isa, c, rows, columns,
                      (double)y[c], sum / unit);
            }
        }
}

TEST(rows, column_sums) {
    uint64_t state = 5;
    float *x = test_alloc(70 * 300 * sizeof *x);
    static const size_t heights[] = {0, 1, 2, 127, 128, 129, 300};
    for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
        for (size_t columns = 0; columns <= 70; columns += columns < 34 ? 1 : 9) {
            if (kernel_quick() && columns % 5) continue;
            kernel_random(heights[h] * columns, x, &state);
            column_sum_check(heights[h], columns, columns % 3, x);
        }
    free(x);
}

TEST(rows, reduce_lengths) {
    uint64_t state = 1;
    float *x = test_alloc(3 * 1000 * sizeof *x);
    for (size_t l = 0; l < LENGTHS; l++)
        for (size_t rows = 0; rows <= 3; rows++) {
            if (kernel_quick() && (l + rows) % 5) continue;
            kernel_random(rows * lengths[l], x, &state);
            reduce_check(rows, lengths[l], rows == 3 ? 5 : 0, x);
        }
    free(x);
    test_claim("%d reductions x %d lengths, moves of all small sizes: %s", EG__REDUCE_COUNT,
               LENGTHS, kernel_isas(EG__OP_reduce_f32));
}

/* One value at every place of a row, and the same value twice: only the first one counts. */
TEST(rows, reduce_specials) {
    static const float specials[] = {NAN, INFINITY, -INFINITY, 5, -5};
    static const float grounds[] = {-1, -INFINITY, 0.0f, -0.0f, 1};
    enum { LONGEST = 75 };
    float x[LONGEST];
    for (size_t n = 1; n <= LONGEST; n += kernel_quick() ? 26 : 1)
        for (size_t at = 0; at < n; at += 1 + n / 20)
            for (size_t s = 0; s < 5; s++) {
                kernel_fill(n, x, grounds[(s + at) % 5]);
                x[at] = specials[s];
                reduce_check(1, n, 0, x);
                x[(at + n) / 2] = specials[s];
                reduce_check(1, n, 0, x);
                x[n - 1] = at % 2 ? NAN : 0.0f;
                reduce_check(1, n, 0, x);
            }
}

/* x[rows][columns] with numbers that tell their place. */
static float *numbered(unsigned slot, size_t rows, size_t columns, size_t stride) {
    const size_t size = kernel_extent(rows, columns, stride);
    float *x = kernel_walled(slot, size * sizeof *x);
    kernel_fill(size, x, NAN);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) x[r * stride + c] = (float)(r * 1000 + c);
    return x;
}

static void move_check(eg__operation operation, size_t rows, size_t columns) {
    const bool turn = operation == EG__OP_transpose_f32;
    const size_t to_rows = turn ? columns : rows, to_columns = turn ? rows : columns;
    const size_t gap = rows % 2, to_gap = columns % 3; /* none, one of them, both */
    const size_t stride = columns + gap, to_stride = to_columns + to_gap;
    const size_t to_size = to_columns ? kernel_extent(to_rows, to_columns, to_stride) : 0;
    const float *x = numbered(0, columns ? rows : 0, columns, stride);
    for (const eg__kernel *row = NULL; (row = kernel_next(operation, row));) {
        float *y = kernel_walled(1, to_size * sizeof *y);
        const eg__move_f32_args args = {rows, columns, x, stride, y, to_stride};
        kernel_fill(to_size, y, KERNEL_GUARD);
        if (turn) row->function.transpose_f32(&args);
        else row->function.copy_f32(&args);
        for (size_t i = 0; i < to_size; i++) {
            const size_t r = i / to_stride, c = i % to_stride;
            const float want =
                c >= to_columns ? KERNEL_GUARD : (float)(turn ? c * 1000 + r : r * 1000 + c);
            CHECK(y[i] == want, "%s_%s %zu x %zu: [%zu][%zu] is %g, not %g",
                  eg__operation_name(operation), row->isa, rows, columns, r, c, (double)y[i],
                  (double)want);
        }
    }
}

TEST(rows, moves) {
    for (size_t rows = 0; rows <= 20; rows++)
        for (size_t columns = 0; columns <= 20; columns++) {
            if (kernel_quick() && (rows * 21 + columns) % 11) continue;
            move_check(EG__OP_transpose_f32, rows, columns);
            move_check(EG__OP_copy_f32, rows, columns);
        }
    for (size_t rows = 64; rows <= 130; rows += kernel_quick() ? 65 : 3)
        for (size_t columns = 64; columns <= 130; columns += kernel_quick() ? 64 : 5)
            move_check(EG__OP_transpose_f32, rows, columns);
}

TEST(rows, gathers) {
    static const int32_t index[] = {3, 0, 0, 6, 2, 6, 1};
    enum { PICKED = sizeof index / sizeof *index, STORED = 7 };
    for (size_t columns = 0; columns <= 20; columns++)
        for (size_t picked = 0; picked <= PICKED; picked++)
            for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_gather_f32, row));) {
                const size_t stride = columns + 1, to_stride = columns + picked % 2;
                const size_t to_size = kernel_extent(picked, columns, to_stride);
                const float *x = numbered(0, STORED, columns, stride);
                float *y = kernel_walled(1, to_size * sizeof *y);
                const int32_t *places = kernel_walled_copy(2, index, picked * sizeof *index);
                const eg__gather_f32_args args = {picked, columns, x, stride, places, y, to_stride};
                kernel_fill(to_size, y, KERNEL_GUARD);
                row->function.gather_f32(&args);
                for (size_t i = 0; i < to_size; i++) {
                    const size_t r = i / to_stride, c = i % to_stride;
                    CHECK(y[i] == (c < columns ? (float)(index[r] * 1000 + (int)c) : KERNEL_GUARD),
                          "%s: %zu of %zu columns: [%zu][%zu] is %g", row->isa, picked, columns, r,
                          c, (double)y[i]);
                }
            }
}

/* Every number counts once, and in its lane: the order of additions is part of the definition. */
TEST(rows, squares) {
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_squares_f32, row));) {
            const size_t n = lengths[k], whole = n / EG__SQUARES_LANES * EG__SQUARES_LANES;
            float *x = kernel_walled(0, n * sizeof *x);
            double lanes[EG__SQUARES_LANES] = {0}, want = 0, sum = NAN;
            uint64_t state = 5;
            for (size_t i = 0; i < n; i++) {
                x[i] = (i % 3 ? 1 : 1e30f) * test_random(&state);
                lanes[i < whole ? i % EG__SQUARES_LANES : 0] += (double)x[i] * (double)x[i];
            }
            for (unsigned l = 0; l < EG__SQUARES_LANES; l++) want += lanes[l];
            const eg__squares_f32_args args = {n, x, &sum};
            row->function.squares_f32(&args);
            CHECK(sum == want, "%s: %zu numbers: %.17g, not %.17g", row->isa, n, sum, want);
        }
}

/* ---- synapses: any list, and one in lanes, against the definition */
typedef struct synapse_case {
    size_t sources, targets, batch, fan;
    size_t in_lanes; /* lanes of a target; 0 = a list that is not laned */
} synapse_case;

static int32_t ends_of(size_t source, size_t target, bool there) {
    return there ? eg__synapse_ends((uint32_t)source, (uint32_t)target)
                 : EG__NO_SYNAPSE | (int32_t)source;
}

static size_t synapses_fill(const synapse_case *c, int32_t *ends) {
    size_t count = 0;
    if (!c->in_lanes) {
        for (; count < c->targets * c->fan; count++)
            ends[count] = ends_of(count * 5 % c->sources, count * 3 % c->targets, count % 7 != 6);
        return count;
    }
    /* the targets of a group have fewer and fewer synapses */
    const size_t lanes = c->targets * c->in_lanes;
    for (size_t group = 0; group < lanes; group += EG__LANES)
        for (size_t row = 0; row < c->fan; row++)
            for (size_t lane = 0; lane < EG__LANES; lane++, count++) {
                const size_t t = group + lane;
                const bool there = t < lanes && (lane == 0 || row + lane % 3 < c->fan);
                ends[count] = ends_of((t + row * 3) % c->sources, t / c->in_lanes, there);
            }
    return count;
}

/* Bit by bit, a sample's result does not depend on those beside it: batches are cut anywhere. */
static void samples_check(const eg__kernel *row, const eg__synapses_back_f32_args *all, bool back,
                          size_t columns, const float *whole) {
    float *alone = test_alloc(columns * sizeof *alone);
    for (size_t b = 0; b < all->forward.batch; b++) {
        eg__synapses_back_f32_args one = *all;
        one.forward.batch = 1;
        one.forward.v += b * one.forward.v_stride;
        one.forward.out = one.result = alone;
        if (back) one.d += b * one.d_stride;
        if (back) row->function.synapses_dv_f32(&one);
        else row->function.synapses_f32(&one.forward);
        CHECK(!memcmp(alone, whole + b * columns, columns * sizeof *alone),
              "%s: sample %zu of %zu has other bits than alone", row->isa, b, all->forward.batch);
    }
    free(alone);
}

static void synapses_check(const synapse_case *c, uint64_t *state) {
    enum { MOST = 4096 };
    static int32_t list[MOST];
    const size_t count = synapses_fill(c, list);
    float *parameters = test_alloc(4 * (count + 1) * sizeof *parameters);
    float *v = test_alloc(c->batch * c->sources * sizeof *v);
    kernel_random(4 * count, parameters, state);
    kernel_random(c->batch * c->sources, v, state);
    for (size_t i = 0; i < count; i++) parameters[2 * count + i] *= 4;
    void *memory = NULL;
    if (posix_memalign(&memory, 64, eg__synapses_scratch(c->sources, c->targets) * sizeof(float)))
        exit(1);
    const size_t n = c->batch * 2 * c->targets;
    float *want = test_alloc(n * sizeof *want), *got = test_alloc(n * sizeof *got);
    eg__synapses_f32_args args = {.list = {c->sources, c->targets, count, list, c->in_lanes > 0},
                                  .batch = c->batch,
                                  .v = v,
                                  .v_stride = c->sources,
                                  .weight = parameters,
                                  .middle = parameters + count,
                                  .slope = parameters + 2 * count,
                                  .reversal = parameters + 3 * count,
                                  .out = want,
                                  .out_stride = 2 * c->targets,
                                  .scratch = memory};
    eg__synapses_f32_ref(&args);
    args.out = got;
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_synapses_f32, row));) {
        kernel_fill(n, got, KERNEL_GUARD);
        row->function.synapses_f32(&args);
        for (size_t i = 0; i < n; i++)
            CHECK(fabs((double)got[i] - (double)want[i]) <= 1e-5 * (1 + (double)c->fan),
                  "%s: %zu x %zu -> %zu, fan %zu%s: element %zu is %.9g, not %.9g", row->isa,
                  c->batch, c->sources, c->targets, c->fan, c->in_lanes ? ", laned" : "", i,
                  (double)got[i], (double)want[i]);
        samples_check(row, &(eg__synapses_back_f32_args){.forward = args}, false, 2 * c->targets,
                      got);
    }
    /* the gradients, of a random d */
    float *d = test_alloc(n * sizeof *d);
    kernel_random(n, d, state);
    const size_t sizes[] = {c->batch * c->sources, 4 * count};
    for (int way = 0; way < 2; way++) {
        float *exact = test_alloc((sizes[way] + 1) * sizeof *exact);
        float *back = test_alloc((sizes[way] + 1) * sizeof *back);
        eg__synapses_back_f32_args reverse = {args, d, 2 * c->targets, exact,
                                              way ? count : c->sources};
        if (way) eg__synapses_dp_f32_ref(&reverse);
        else eg__synapses_dv_f32_ref(&reverse);
        reverse.result = back;
        const eg__operation op = way ? EG__OP_synapses_dp_f32 : EG__OP_synapses_dv_f32;
        for (const eg__kernel *row = NULL; (row = kernel_next(op, row));) {
            kernel_fill(sizes[way], back, KERNEL_GUARD);
            if (way) row->function.synapses_dp_f32(&reverse);
            else row->function.synapses_dv_f32(&reverse);
            for (size_t i = 0; i < sizes[way]; i++)
                CHECK(fabs((double)back[i] - (double)exact[i]) <=
                          2e-5 * (1 + (double)c->fan + (double)c->batch),
                      "%s %s: %zu x %zu -> %zu: element %zu is %.9g, not %.9g", row->isa,
                      way ? "dp" : "dv", c->batch, c->sources, c->targets, i, (double)back[i],
                      (double)exact[i]);
            if (!way) samples_check(row, &reverse, true, c->sources, back);
        }
        free(exact);
        free(back);
    }
    free(d);
    free(memory);
    free(parameters);
    free(v);
    free(want);
    free(got);
}

TEST(rows, synapses) {
    static const synapse_case cases[] = {
        {1, 1, 1, 1, 0},     {5, 7, 3, 4, 0},    {20, 33, 65, 6, 0},   {64, 48, 130, 14, 0},
        {3, 5, 1, 2, 1},     {16, 16, 2, 5, 1},  {40, 37, 1, 9, 1},    {40, 37, 4, 9, 1},
        {40, 37, 5, 9, 1},   {64, 64, 1, 13, 1}, {64, 64, 33, 13, 1},  {65, 20, 1, 9, 1},
        {130, 16, 1, 70, 1}, {64, 37, 1, 9, 2},  {17, 3, 3, 4, 3},     {40, 37, 5, 9, 2},
        {40, 37, 11, 9, 2},  {40, 37, 78, 9, 2}, {64, 64, 103, 13, 1}, {64, 64, 12, 20, 2},
    };
    uint64_t state = 3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) synapses_check(&cases[i], &state);
}
