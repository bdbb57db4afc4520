/* The kernels that measure ceilings must do the work they are timed for. */
#include "test_kernels.h"

#include <math.h>

AREA(ceilings, "the FMA and memory kernels against plain loops")

/* Every number is different and known after any number of turns: x = 1 - (1 - x0) 0.75^turns. */
TEST(ceilings, burn) {
    static const size_t turns[] = {0, 1, 2, 3, 10, 1000};
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_burn_f32, row));)
        for (size_t t = 0; t < sizeof turns / sizeof *turns; t++) {
            float *numbers = kernel_walled(0, EG__BURN_LANES * sizeof *numbers);
            for (int i = 0; i < EG__BURN_LANES; i++) numbers[i] = 1.0f / (float)(i + 1);
            row->function.burn_f32(turns[t], numbers);
            for (int i = 0; i < EG__BURN_LANES; i++) {
                float plain = 1.0f / (float)(i + 1); /* an FMA has one rounding, and so has this */
                for (size_t turn = 0; turn < turns[t]; turn++)
                    plain = (float)((double)plain * 0.75 + 0.25);
                const double exact = 1 - (1 - 1.0 / (i + 1)) * pow(0.75, (double)turns[t]);
                CHECK(numbers[i] == plain && fabs(plain - exact) < 1e-6,
                      "%s, %zu turns: lane %d is %.9g, not %.9g", row->isa, turns[t], i,
                      (double)numbers[i], (double)plain);
            }
        }
    test_claim("FMA and memory kernels against plain loops: %s", kernel_isas(EG__OP_burn_f32));
}

TEST(ceilings, read) {
    static const size_t sizes[] = {0, 256, 512, 768, 4096, 100096};
    uint64_t state = 1;
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_read_f32, row));)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            float *x = kernel_walled(0, sizes[s] * sizeof *x);
            double sum = 0, size = 0;
            kernel_random(sizes[s], x, &state);
            for (size_t i = 0; i < sizes[s]; i++) sum += x[i], size += fabs(x[i]);
            const double got = row->function.read_f32(sizes[s], x);
            CHECK(fabs(got - sum) <= ldexp(size, -23), "%s, %zu floats: %.9g, not %.9g", row->isa,
                  sizes[s], got, sum);
        }
}

/* A float that is skipped must show: one large number among zeros, wherever it lies. */
TEST(ceilings, read_misses_nothing) {
    enum { N = 1024 };
    float *x = kernel_walled(0, N * sizeof *x);
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_read_f32, row));)
        for (size_t at = 0; at < N; at++) {
            kernel_fill(N, x, 0);
            x[at] = (float)(at + 1);
            const float got = row->function.read_f32(N, x);
            CHECK(got == (float)(at + 1), "%s: the number at %zu came as %g", row->isa, at,
                  (double)got);
        }
}
