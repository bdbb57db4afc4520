/* Scratch memory of kernels, in bytes: what the rows of kernels.def name. */
#include "kernels/gemm/cblas.h"
#include "kernels/kernels.h"
#include "kernels/tile/tile.h"

size_t eg__scratch_gemm(const eg__kernel_shape *s) {
    return eg__gemm_scratch(s->m, s->n, s->k, s->blocks) * sizeof(float);
}
size_t eg__scratch_cblas(const eg__kernel_shape *s) {
    return s->n > EG__PANEL ? s->k * eg__cblas_columns(s->n) * sizeof(float) : 0;
}
size_t eg__scratch_halves(const eg__kernel_shape *s) {
    return eg__gemm_halves_scratch(s->m, s->n, s->k, s->blocks) * sizeof(float);
}
size_t eg__scratch_integers(const eg__kernel_shape *s) {
    return eg__quantized_scratch(s->m, s->k, s->groups, s->type);
}
size_t eg__scratch_halves_tile(const eg__kernel_shape *s) {
    (void)s;
    return EG__TILE_HALVES_SCRATCH;
}
size_t eg__scratch_integers_tile(const eg__kernel_shape *s) {
    const size_t m = eg__round_up(s->m, EG__TILE_ROWS);
    return EG__TILE_INTEGERS_SCRATCH + eg__quantized_scratch(m, s->k, s->groups, s->type);
}
size_t eg__scratch_infile(const eg__kernel_shape *s) {
    return eg__infile_scratch(s->format, false, s->m, s->k, s->blocks);
}
size_t eg__scratch_infile_integers(const eg__kernel_shape *s) {
    return eg__infile_scratch(s->format, true, s->m, s->k, s->blocks);
}
size_t eg__scratch_synapses(const eg__kernel_shape *s) {
    return eg__synapses_scratch(s->k, s->n) * sizeof(float);
}
size_t eg__scratch_attention(const eg__kernel_shape *s) {
    return eg__attention_scratch(s->k, s->n) * sizeof(float);
}
size_t eg__scratch_rotary(const eg__kernel_shape *s) {
    return eg__rotary_scratch(s->k) * sizeof(float);
}
size_t eg__scratch_depthwise(const eg__kernel_shape *s) {
    return eg__depthwise_scratch(s->conv) * sizeof(float);
}
