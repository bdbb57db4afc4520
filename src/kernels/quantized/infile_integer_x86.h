/* What infile_integer_avx2.c and infile_integer_avx512.c share: a block is 32 bytes, so are its vectors. */
typedef __m256i number;
typedef __m256 sum;
typedef __m256i begin;

INLINE float block_scale(const uint8_t *block) { /* of four halves the first */
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)block)));
}
INLINE __m256i bytes_load(const int8_t *a) {
    return _mm256_loadu_si256((const __m256i *)(const void *)a);
}
/* Both halves of a vector are the same bytes: here the low ones count, there the high ones. */
INLINE number nibbles_load(const uint8_t *p) {
    const __m256i both =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
    const __m256i shifts = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    return _mm256_and_si256(_mm256_srlv_epi32(both, shifts), _mm256_set1_epi8(15));
}
INLINE void block_store(uint8_t *to, number x) { _mm256_storeu_si256((__m256i *)(void *)to, x); }
INLINE sum sum_zero(void) { return _mm256_setzero_ps(); }
INLINE float sum_all(sum s) { return eight_add(s); }
INLINE begin begin_with(int32_t start) { return _mm256_zextsi128_si256(_mm_cvtsi32_si128(start)); }
