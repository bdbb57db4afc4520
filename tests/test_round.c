/* Rounding to halves: every kernel against the conversions, around every half there is. */
#include "test_vmath.h"
#include "test_kernels.h"

AREA(round, "roundings to f16 and bf16 around each of their values, as conversion and back")

typedef struct half_type {
    eg__fused_op op;
    void (*to)(size_t, const float *, uint16_t *);
    void (*from)(size_t, const uint16_t *, float *);
} half_type;
static const half_type halves[] = {
    {EG__FUSED_ROUND_F16, eg__f32_to_f16_ref, eg__f16_to_f32_ref},
    {EG__FUSED_ROUND_BF16, eg__f32_to_bf16_ref, eg__bf16_to_f32_ref}};

static float bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A half, the middle between it and the next one further out, and the floats beside both. */
enum { AROUND = 6 };
static void around(const half_type *h, uint16_t half, float out[AROUND]) {
    const uint16_t next = (uint16_t)(half + 1);
    float pair[2];
    h->from(1, &half, &pair[0]);
    h->from(1, &next, &pair[1]);
    /* what would be the next after the largest is infinity: the middle is where rounding overflows */
    const double above =
        isinf(pair[1]) && !isinf(pair[0])
            ? (h->op == EG__FUSED_ROUND_F16 ? 65536 : 0x1p128) * (half >> 15 ? -1 : 1)
            : (double)pair[1];
    const float middle = (float)(((double)pair[0] + above) / 2);
    const float of[2] = {pair[0], middle};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t bits;
        memcpy(&bits, &of[i], sizeof bits);
        out[3 * i] = of[i];
        out[3 * i + 1] = bits_float(bits + 1);
        out[3 * i + 2] = bits_float(bits - 1);
    }
}

TEST(round, every_half_and_its_neighbours) {
    enum { CHUNK = 512 };
    static float x[CHUNK * AROUND], y[CHUNK * AROUND], want[CHUNK * AROUND];
    static uint16_t half[CHUNK * AROUND];
    for (unsigned t = 0; t < 2; t++)
        for (uint32_t first = 0; first < 65536; first += CHUNK) {
            const half_type *h = &halves[t];
            for (uint32_t i = 0; i < CHUNK; i++)
                around(h, (uint16_t)(first + i), x + (size_t)i * AROUND);
            h->to(CHUNK * AROUND, x, half);
            h->from(CHUNK * AROUND, half, want);
            for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
                vmath_run(row, h->op, CHUNK * AROUND, x, y);
                for (size_t i = 0; i < CHUNK * AROUND; i++)
                    CHECK(kernel_same(y[i], want[i]), "%s %s(%a) is %a, not %a", row->isa,
                          eg__fused_op_name(h->op), (double)x[i], (double)y[i], (double)want[i]);
            }
        }
}

/* Floats of every size, most of which are far from a half. */
TEST(round, random_floats) {
    enum { N = 4096 };
    static float x[N], y[N], want[N];
    static uint16_t half[N];
    uint64_t state = 3;
    for (unsigned turn = 0; turn < kernel_times(64); turn++)
        for (unsigned t = 0; t < 2; t++) {
            for (size_t i = 0; i < N; i++)
                x[i] = ldexpf(test_random(&state), (int)(40 * test_random(&state)));
            halves[t].to(N, x, half);
            halves[t].from(N, half, want);
            for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
                vmath_run(row, halves[t].op, N, x, y);
                for (size_t i = 0; i < N; i++)
                    CHECK(kernel_same(y[i], want[i]), "%s %s(%a) is %a, not %a", row->isa,
                          eg__fused_op_name(halves[t].op), (double)x[i], (double)y[i],
                          (double)want[i]);
            }
        }
}
