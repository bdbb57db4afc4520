/* What every simd header says in the same words, with its own vectors: included at its end. */
/* 2^23 + 2^22: adding it to a float rounds that to an integer, which then sits in the low bits. */
#define VF_ROUNDER 12582912.0f
/* 2^n for an integer n within [-126, 127], given n + VF_ROUNDER. */
INLINE vf vf_power2(vf rounded) {
    return vi_bits(vi_shl(vi_add(vf_bits(rounded), vi_set(127)), 23));
}
#if VF_N != 16 /* AVX-512 has instructions for these */
/* a * 2^n for an integer n within [-252, 254], rounded once; `rounded` is n + VF_ROUNDER. In two
 * factors, as 2^-150 is no float. */
INLINE vf vf_scale(vf a, vf n, vf rounded) {
    (void)n;
    vi whole = vi_sub(vf_bits(rounded), vf_bits(vf_set(VF_ROUNDER)));
    vi half = vi_sar(whole, 1), bias = vi_set(127);
    vf first = vi_bits(vi_shl(vi_add(half, bias), 23));
    vf second = vi_bits(vi_shl(vi_add(vi_sub(whole, half), bias), 23));
    return vf_mul(vf_mul(a, first), second);
}
/* x as an integer of at least -151 and what is left of it, within [-1/2, 1/2]; n + VF_ROUNDER is for vf_scale. */
INLINE vf vf_split(vf x, vf *n, vf *rounded) {
    x = vf_max(vf_set(-151.0f), x);
    *rounded = vf_add(x, vf_set(VF_ROUNDER));
    *n = vf_sub(*rounded, vf_set(VF_ROUNDER));
    return vf_sub(x, *n);
}
/* Of 32-bit words the byte t, and the half byte t counted as panels have them, 8 to a word. t is a literal. */
#define vf_byte(w, t)   vi_to_float(vi_sar(vi_shl(w, 24 - 8 * (t)), 24))
#define vf_nibble(w, t) vi_to_float(vi_sar(vi_shl(w, 28 - (t) % 4 * 8 - (t) / 4 * 4), 28))
#endif
/* bf16 in the low and in the high halves of words, as f32. */
INLINE vf vf_low_bf16(vi words) { return vi_bits(vi_shl(words, 16)); }
INLINE vf vf_high_bf16(vi words) { return vi_bits(vi_and(words, vi_set((int32_t)0xffff0000))); }
INLINE vi vi_broadcast(const void *p) { /* four bytes */
    int32_t x;
    memcpy(&x, p, sizeof x);
    return vi_set(x);
}
