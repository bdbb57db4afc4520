/* Every kernel of convolutions against the definition: strides, padding, dilation, spread, all sizes. */
#include "test_kernels.h"

#include <math.h>

AREA(conv_kernels, "unfold, depthwise and its gradient against the definition")

enum { X, W, DY, WANT, GOT, SCRATCH };

static size_t pick(uint64_t *state, size_t from, size_t to) {
    return from + (size_t)((test_random(state) + 1) / 2 * (float)(to - from + 1));
}

/* An axis that has results: the padding behind follows from their number. */
static eg__conv_axis random_axis(uint64_t *state, size_t most) {
    eg__conv_axis a = {.in = pick(state, 1, most),
                       .taps = pick(state, 1, 5),
                       .stride = pick(state, 1, 3),
                       .dilation = pick(state, 1, 3),
                       .spread = pick(state, 0, 2) ? 1 : pick(state, 2, 3),
                       .before = (ptrdiff_t)pick(state, 0, 9) - 3};
    if (pick(state, 0, 1)) a.stride = a.dilation = a.spread = 1;
    a.out = pick(state, 1, most + 4);
    return a;
}

static eg__conv_shape random_conv(uint64_t *state) {
    const size_t width = pick(state, 0, 3) ? 40 : 150;
    eg__conv_shape s = {.axis = {random_axis(state, 12), random_axis(state, width)},
                        .channels = 1,
                        .filters = 1,
                        .groups = 1,
                        .flipped = pick(state, 0, 1)};
    if (!pick(state, 0, 3)) s.axis[0] = (eg__conv_axis){1, 1, 1, 1, 1, 1, 0};
    return s;
}

static const char *text(const eg__conv_shape *s) {
    static char out[200];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        const eg__conv_axis *a = &s->axis[i];
        n += (size_t)snprintf(out + n, sizeof out - n,
                              "%zu -> %zu, %zu taps, stride %zu, dilation "
                              "%zu, spread %zu, before %td; ",
                              a->in, a->out, a->taps, a->stride, a->dilation, a->spread, a->before);
    }
    snprintf(out + n, sizeof out - n, "flipped %d", s->flipped);
    return out;
}

static float *floats(unsigned slot, size_t n, uint64_t *state) {
    float *x = kernel_walled(slot, n * sizeof *x);
    kernel_random(n, x, state);
    return x;
}

static float *scratch_of(size_t n) { /* aligned, and the wall is at most 60 bytes away */
    float *memory = kernel_walled(SCRATCH, (n + 16) * sizeof *memory);
    return (float *)(((uintptr_t)memory + 63) / 64 * 64);
}

/* ---- unfold: the same bits, in panels and in rows */
static void check_unfold(uint64_t *state, bool panels) {
    const eg__conv_shape s = random_conv(state);
    const size_t channels = pick(state, 1, 4), rows = channels * eg__conv_taps(&s);
    const size_t first = pick(state, 0, eg__conv_positions(&s) - 1);
    const size_t count = pick(state, 1, eg__min(100, eg__conv_positions(&s) - first));
    const size_t wide = eg__round_up(count, EG__PANEL), gap = panels ? 0 : 16;
    const size_t size = rows * (wide + gap);
    const float *x = floats(X, channels * eg__conv_plane(&s), state);
    float *want = kernel_walled(WANT, size * sizeof *want),
          *got = kernel_walled(GOT, size * sizeof *got);
    eg__unfold_f32_args u = {&s,
                             x,
                             channels,
                             first,
                             count,
                             want,
                             panels ? EG__PANEL : wide + gap,
                             panels ? EG__PANEL * rows : EG__PANEL};
    kernel_fill(size, want, KERNEL_GUARD);
    eg__unfold_f32_ref(&u);
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_unfold_f32, row));) {
        u.to = got;
        kernel_fill(size, got, KERNEL_GUARD);
        row->function.unfold_f32(&u);
        const size_t at = kernel_difference(size, want, got);
        CHECK(at == SIZE_MAX, "%s: %s: %zu channels, %zu from %zu on: element %zu", row->isa,
              text(&s), channels, count, first, at);
    }
}

TEST(conv_kernels, unfold) {
    uint64_t state = 3;
    const size_t times = kernel_times(3000);
    for (size_t i = 0; i < times; i++) check_unfold(&state, i % 2);
}

/* ---- one plane */
static void check_close(const char *what, const char *isa, const eg__conv_shape *s, size_t n,
                        const float *want, const float *got, double tolerance) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance)) {
            CHECK(false, "%s %s: %s: %zu is %g, not %g", what, isa, text(s), i, (double)got[i],
                  (double)want[i]);
            return;
        }
}

static void check_depthwise(uint64_t *state) {
    const eg__conv_shape s = random_conv(state);
    const size_t taps = eg__conv_taps(&s), positions = eg__conv_positions(&s);
    const float *x = floats(X, eg__conv_plane(&s), state), *w = floats(W, taps, state);
    const float *dy = floats(DY, positions, state);
    float *want = kernel_walled(WANT, positions * sizeof *want);
    float *scratch = scratch_of(eg__depthwise_scratch(&s));
    eg__depthwise_f32_ref(&(eg__depthwise_f32_args){&s, x, w, want, scratch});
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_depthwise_f32, row));) {
        float *got = kernel_walled(GOT, positions * sizeof *got);
        kernel_fill(eg__depthwise_scratch(&s), scratch, NAN);
        row->function.depthwise_f32(&(eg__depthwise_f32_args){&s, x, w, got, scratch});
        check_close("depthwise", row->isa, &s, positions, want, got, 1e-5);
    }
    float sums[25], result[25]; /* added to what is there */
    kernel_fill(25, sums, 0.5f);
    eg__depthwise_dw_f32_ref(&(eg__depthwise_dw_f32_args){&s, x, dy, sums, scratch});
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_depthwise_dw_f32, row));) {
        kernel_fill(25, result, 0.5f);
        kernel_fill(eg__depthwise_scratch(&s), scratch, NAN);
        row->function.depthwise_dw_f32(&(eg__depthwise_dw_f32_args){&s, x, dy, result, scratch});
        check_close("its gradient", row->isa, &s, taps, sums, result,
                    1e-6 * (double)(positions + 10));
    }
}

TEST(conv_kernels, depthwise) {
    uint64_t state = 5;
    const size_t times = kernel_times(2000);
    for (size_t i = 0; i < times; i++) check_depthwise(&state);
}

/* Several bands of rows, each with its own lines. */
TEST(conv_kernels, bands) {
    const eg__conv_shape s = {.axis = {{70, 68, 3, 1, 1, 1, 0}, {200, 200, 3, 1, 1, 1, 1}},
                              .channels = 1,
                              .filters = 1,
                              .groups = 1};
    const eg__depthwise_lines l = eg__depthwise_lines_of(&s);
    CHECK(l.rows > 4 && l.rows < 34 && l.lines == l.rows + 2, "%zu rows of %zu lines", l.rows,
          l.lines);
    uint64_t state = 9;
    const float *x = floats(X, eg__conv_plane(&s), &state), *w = floats(W, 9, &state);
    const size_t n = eg__conv_positions(&s);
    float *want = kernel_walled(WANT, n * sizeof *want), *got = kernel_walled(GOT, n * sizeof *got);
    float *scratch = scratch_of(eg__depthwise_scratch(&s));
    eg__depthwise_f32_ref(&(eg__depthwise_f32_args){&s, x, w, want, scratch});
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_depthwise_f32, row));) {
        row->function.depthwise_f32(&(eg__depthwise_f32_args){&s, x, w, got, scratch});
        check_close("bands", row->isa, &s, n, want, got, 1e-5);
    }
}
