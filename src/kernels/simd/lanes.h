/* Integers of a vector taken together: included after a simd header. */
#ifndef EG__LANES_H
#define EG__LANES_H

#if VF_N == 16 /* one by one they take as long as some thirty vectors of a row */
INLINE int32_t lanes_largest(vi x) { return _mm512_reduce_max_epi32(x); }
INLINE int32_t lanes_sum(vi x) { return _mm512_reduce_add_epi32(x); }
#else
/* The largest, at least 0. */
INLINE int32_t lanes_largest(vi x) {
    int32_t lane[VF_N], most = 0;
    vi_store(lane, x);
    for (int i = 0; i < VF_N; i++)
        if (lane[i] > most) most = lane[i];
    return most;
}
INLINE int32_t lanes_sum(vi x) {
    int32_t lane[VF_N], all = 0;
    vi_store(lane, x);
    for (int i = 0; i < VF_N; i++) all += lane[i];
    return all;
}

#endif
#endif
