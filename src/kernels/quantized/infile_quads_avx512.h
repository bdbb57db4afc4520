/* One row of A and rows of W in blocks of int4, four blocks at a time: of 64 bytes the low halves are a vector, the
 * high halves another, whose products with A end in the same sums, four lanes for each block. So a block
 * costs a quarter of a conversion and of a product with scales, not a whole one. */

/* The initial value and the scale of a lane are those of its block. */
INLINE __m512i quad_spread(void) {
    return _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
}

/* The 16 bytes of integers of each block. */
INLINE __m512i quad_load(const uint8_t *w) {
#define BYTES(b) _mm_loadu_si128((const __m128i *)(const void *)(w + (b)*EG__BLOCK_Q4_0 + 2))
    const __m256i front = _mm256_inserti128_si256(_mm256_castsi128_si256(BYTES(0)), BYTES(1), 1);
    const __m256i back = _mm256_inserti128_si256(_mm256_castsi128_si256(BYTES(2)), BYTES(3), 1);
#undef BYTES
    return _mm512_inserti64x4(_mm512_castsi256_si512(front), back, 1);
}

/* All lanes of four vectors. */
INLINE __m128 quad_sums(const __m512 s[4]) {
    const __m512 a = _mm512_add_ps(_mm512_unpacklo_ps(s[0], s[1]), _mm512_unpackhi_ps(s[0], s[1]));
    const __m512 b = _mm512_add_ps(_mm512_unpacklo_ps(s[2], s[3]), _mm512_unpackhi_ps(s[2], s[3]));
    const __m512 all = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/* sums + products of four blocks of A with those at `w` and the rows behind it. */
INLINE void quad_add(const int outs, const uint8_t *w, size_t bytes, const int8_t *a,
                     const float *scale, const int32_t *start, __m512 sums[OUTS]) {
    const __m512i low = _mm512_set1_epi8(15), spread = quad_spread();
    const __m512i front = _mm512_loadu_si512(a), back = _mm512_loadu_si512(a + 64);
    const __m512i left_low =
        _mm512_permutex2var_epi64(front, _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), back);
    const __m512i left_high =
        _mm512_permutex2var_epi64(front, _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15), back);
    const __m512i first = _mm512_maskz_permutexvar_epi32(
        0x1111, spread,
        _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)start)));
    /* scales of 16 blocks are converted together: those of row o are lanes 4 o to 4 o + 3 */
    const __m512i scale_at = _mm512_set1_epi64(0ll | 9ll << 16 | 18ll << 32 | 27ll << 48);
    __m512i halves = _mm512_setzero_si512();
    __m512 dot[OUTS];
    UNROLL
    for (int o = 0; o < outs; o++) {
        const uint8_t *row = w + (size_t)o * bytes;
        const __m512i x = quad_load(row), high = _mm512_srli_epi16(x, 4);
        const __m512i all = _mm512_dpbusd_epi32(first, _mm512_and_si512(x, low), left_low);
        dot[o] =
            _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(all, _mm512_and_si512(high, low), left_high));
        halves =
            _mm512_mask_permutexvar_epi16(halves, 15u << 4 * o, scale_at, _mm512_loadu_si512(row));
    }
    const __m512 both = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)),
                                      _mm512_broadcast_f32x4(_mm_loadu_ps(scale)));
    UNROLL
    for (int o = 0; o < outs; o++) {
        const __m512i lanes = _mm512_add_epi32(spread, _mm512_set1_epi32(4 * o));
        sums[o] = _mm512_fmadd_ps(dot[o], _mm512_permutexvar_ps(lanes, both), sums[o]);
    }
}

INLINE void row_quads(const int outs, const eg__infile_args *g, const eg__infile_rows *left,
                      size_t row, size_t column) {
    enum { FOUR = 4 * EG__BLOCK_Q4_0 };
    const size_t bytes = left->blocks * EG__BLOCK_Q4_0, at = row * left->blocks;
    const uint8_t *w = g->w + column * bytes, *ahead = w + (size_t)outs * bytes + AHEAD;
    const int8_t *a = left->values + row * left->depth;
    __m512 sums[OUTS];
    UNROLL
    for (int o = 0; o < OUTS; o++) sums[o] = _mm512_setzero_ps();
    size_t b = 0;
    for (; b + 4 <= left->blocks; b += 4, w += FOUR, a += 4 * EG__BLOCK) {
        UNROLL
        for (size_t line = 0; line < (size_t)outs * FOUR; line += 64)
            __builtin_prefetch(ahead + line, 0, 3);
        ahead += (size_t)outs * FOUR;
        quad_add(outs, w, bytes, a, left->scale + at + b, left->start + at + b, sums);
    }
    for (; b < left->blocks; b++, w += EG__BLOCK_Q4_0, a += EG__BLOCK) {
        const begin first = begin_with(left->start[at + b]);
        UNROLL
        for (int o = 0; o < outs; o++) {
            const uint8_t *block = w + (size_t)o * bytes;
            const sum one = block_add(q4, sum_zero(), block_load(q4, block), a, first,
                                      block_scale(block) * left->scale[at + b]);
            sums[o] = _mm512_add_ps(sums[o], _mm512_zextps256_ps512(one));
        }
    }
    const __mmask8 some = (__mmask8)((1 << outs) - 1);
    float *c = g->c + row * g->c_stride + column;
    const float *add = g->add ? g->add + row * g->add_stride + column : NULL;
    const __m128 all = quad_sums(sums);
    _mm_mask_storeu_ps(c, some, add ? _mm_add_ps(all, _mm_maskz_loadu_ps(some, add)) : all);
}
