/* What infile_integer_body.h wants of NEON: included before it, after
 *   dot_bytes(sum, x, y)   adds to every lane the products of its four bytes, which have signs */
enum { MAX_ROWS = 3, MAX_PANELS = 1, RAISED_8 = 0, RAISED_4 = 0 };

/* clang-format off */
#define TILES(X, format) X(format, 3, 1) X(format, 2, 1) X(format, 1, 1)
/* clang-format on */

typedef struct number {
    int8x16_t low, high;
} number;
typedef vf sum;

INLINE float block_scale(const uint8_t *block) { /* of four halves the first */
    return vgetq_lane_f32(vf_load_f16(block), 0);
}
INLINE number block_load(const int format, const uint8_t *block) {
    if (format == EG__INFILE_Q8_0)
        return (number){vld1q_s8((const int8_t *)block + 2), vld1q_s8((const int8_t *)block + 18)};
    const uint8x16_t both = vld1q_u8(block + 2);
    const int8x16_t eight = vdupq_n_s8(8);
    return (number){vsubq_s8(vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15))), eight),
                    vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(both, 4)), eight)};
}
INLINE void block_store(uint8_t *to, number x) {
    vst1q_s8((int8_t *)to, x.low);
    vst1q_s8((int8_t *)to + 16, x.high);
}
INLINE sum sum_zero(void) { return vf_zero(); }
INLINE float sum_all(sum s) { return vf_sum(s); }
typedef vi begin;
INLINE begin block_begin(const int format, const int8_t *a) {
    (void)format, (void)a;
    return vi_set(0);
}
INLINE begin begin_with(int32_t start) {
    (void)start;
    return vi_set(0);
}
INLINE sum block_add(const int format, sum s, number x, const int8_t *a, begin first, float scale) {
    (void)format;
    const vi all = dot_bytes(dot_bytes(first, vld1q_s8(a), x.low), vld1q_s8(a + 16), x.high);
    return vfmaq_n_f32(s, vi_to_float(all), scale);
}

#define DOT(format, sum, a, w) \
    ((sum) = dot_bytes(sum, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(w)))
