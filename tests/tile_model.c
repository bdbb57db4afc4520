/* Intel's AMX in software: the operations as the instruction set reference defines them, and what it refuses. */
#include "tile_model.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

tile_state *tile_state_here(void) {
    static _Thread_local tile_state state;
    return &state;
}

/* ---- configuration: palette 1 has eight tiles of 16 rows x 64 bytes */
static bool any(const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        if (at[i]) return true;
    return false;
}

static const char *config_fault(const eg__tile_config *c) {
    if (c->palette > 1) return "#GP no such palette";
    if (c->palette == 0) return NULL; /* what follows is not looked at */
    if (any(c->reserved, sizeof c->reserved)) return "#GP reserved bytes";
    if (any(c->bytes + EG__TILES, sizeof *c->bytes * (16 - EG__TILES)) ||
        any(c->rows + EG__TILES, 16 - EG__TILES))
        return "#GP more tiles than the palette has";
    for (size_t t = 0; t < EG__TILES; t++) {
        if (c->bytes[t] > EG__TILE_BYTES) return "#GP rows too long";
        if (c->rows[t] > EG__TILE_ROWS) return "#GP too many rows";
        if (!c->bytes[t] != !c->rows[t]) return "#GP rows without bytes, or bytes without rows";
    }
    if (c->start_row) return "the model resumes no interrupted load";
    return NULL;
}

const char *tile_configure(tile_state *s, const eg__tile_config *config) {
    const char *fault = config_fault(config);
    if (fault) return fault;
    memset(s->tile, 0, sizeof s->tile);
    memset(&s->config, 0, sizeof s->config);
    s->configured = config->palette != 0;
    if (s->configured) s->config = *config;
    s->count[TILE_ldtilecfg]++;
    return NULL;
}

void tile_release(tile_state *s) {
    memset(s->tile, 0, sizeof s->tile);
    memset(&s->config, 0, sizeof s->config);
    s->configured = false;
    s->count[TILE_tilerelease]++;
}

static const char *tile_fault(const tile_state *s, unsigned tile) {
    if (!s->configured) return "#UD no tiles are configured";
    if (tile >= EG__TILES) return "#UD no such tile";
    return s->config.rows[tile] ? NULL : "#UD a tile without rows";
}

/* ---- moving: what a tile has beyond its configured rows and bytes becomes 0 */
const char *tile_zero(tile_state *s, unsigned tile) {
    const char *fault = tile_fault(s, tile);
    if (fault) return fault;
    memset(s->tile[tile], 0, sizeof s->tile[tile]);
    s->count[TILE_tilezero]++;
    return NULL;
}

const char *tile_load(tile_state *s, unsigned tile, const void *at, size_t stride) {
    const char *fault = tile_fault(s, tile);
    if (fault) return fault;
    memset(s->tile[tile], 0, sizeof s->tile[tile]);
    for (size_t i = 0; i < s->config.rows[tile]; i++)
        memcpy(s->tile[tile][i], (const char *)at + i * stride, s->config.bytes[tile]);
    s->count[TILE_tileloadd]++;
    return NULL;
}

const char *tile_store(tile_state *s, unsigned tile, void *at, size_t stride) {
    const char *fault = tile_fault(s, tile);
    if (fault) return fault;
    for (size_t i = 0; i < s->config.rows[tile]; i++)
        memcpy((char *)at + i * stride, s->tile[tile][i], s->config.bytes[tile]);
    s->count[TILE_tilestored]++;
    return NULL;
}

/* ---- products */
static float without_denormal(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }

/* One rounding, of which a result below the least normal number is zero: tiny is what is tiny after rounding to 24 bits,
 * whatever the exponent. */
static float fma_rounded(float a, float b, float c) {
    const float sum = fmaf(a, b, c);
    if (fabsf(sum) == FLT_MIN && fabs((double)a * b + c) < 0x1.ffffffp-127)
        return copysignf(0, sum);
    return without_denormal(sum);
}
static float half_value(const uint8_t *at) {
    uint16_t half;
    memcpy(&half, at, sizeof half);
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return without_denormal(value);
}

/* Even and odd elements of pairs have a sum each, which begins at 0; then both are added, then the tile of sums. */
static void row_bf16(const tile_state *s, const uint8_t *left, unsigned right, size_t depth,
                     size_t columns, uint8_t *sums) {
    for (size_t n = 0; n < columns; n++) {
        float even = 0, odd = 0, sum;
        for (size_t k = 0; k < depth; k++) {
            const uint8_t *word = s->tile[right][k] + 4 * n;
            even = fma_rounded(half_value(left + 4 * k), half_value(word), even);
            odd = fma_rounded(half_value(left + 4 * k + 2), half_value(word + 2), odd);
        }
        memcpy(&sum, sums + 4 * n, sizeof sum);
        sum = fma_rounded(1, fma_rounded(1, even, odd), without_denormal(sum));
        memcpy(sums + 4 * n, &sum, sizeof sum);
    }
}

static void row_bytes(const tile_state *s, const uint8_t *left, unsigned right, size_t depth,
                      size_t columns, bool is_signed, uint8_t *sums) {
    for (size_t n = 0; n < columns; n++) {
        uint32_t sum; /* which wraps around */
        memcpy(&sum, sums + 4 * n, sizeof sum);
        for (size_t k = 0; k < depth; k++)
            for (size_t i = 0; i < 4; i++) {
                const int a = is_signed ? (int8_t)left[4 * k + i] : left[4 * k + i];
                sum += (uint32_t)(a * (int8_t)s->tile[right][k][4 * n + i]);
            }
        memcpy(sums + 4 * n, &sum, sizeof sum);
    }
}

static const char *product_fault(const tile_state *s, unsigned sum, unsigned left, unsigned right) {
    const unsigned tiles[] = {sum, left, right};
    const eg__tile_config *c = &s->config;
    for (size_t i = 0; i < 3; i++) {
        const char *fault = tile_fault(s, tiles[i]);
        if (fault) return fault;
        if (c->bytes[tiles[i]] % 4) return "#UD bytes that are no words";
    }
    if (sum == left || left == right || sum == right) return "#UD a tile twice";
    if (c->rows[sum] != c->rows[left]) return "#UD rows of the sums and of the left side";
    if (c->bytes[sum] != c->bytes[right]) return "#UD columns of the sums and of the right side";
    if (c->bytes[left] / 4 != c->rows[right]) return "#UD depth of both sides";
    return NULL;
}

const char *tile_multiply(tile_state *s, tile_instruction which, unsigned sum, unsigned left,
                          unsigned right) {
    const char *fault = product_fault(s, sum, left, right);
    if (fault) return fault;
    const size_t depth = s->config.bytes[left] / 4, columns = s->config.bytes[sum] / 4;
    for (size_t m = 0; m < s->config.rows[sum]; m++) {
        const uint8_t *row = s->tile[left][m];
        if (which == TILE_tdpbf16ps) row_bf16(s, row, right, depth, columns, s->tile[sum][m]);
        else row_bytes(s, row, right, depth, columns, which == TILE_tdpbssd, s->tile[sum][m]);
    }
    s->count[which]++;
    return NULL;
}

/* ---- what the kernels call: a fault is a signal, as it is on a processor */
static void expect(const char *fault) {
    if (!fault) return;
    fprintf(stderr, "tile model: %s\n", fault);
    raise(strncmp(fault, "#GP", 3) == 0 ? SIGSEGV : SIGILL);
}
void eg__tile_model_configure(const eg__tile_config *config) {
    expect(tile_configure(tile_state_here(), config));
}
void eg__tile_model_release(void) { tile_release(tile_state_here()); }
void eg__tile_model_zero(unsigned tile) { expect(tile_zero(tile_state_here(), tile)); }
void eg__tile_model_load(unsigned tile, const void *at, size_t stride) {
    expect(tile_load(tile_state_here(), tile, at, stride));
}
void eg__tile_model_store(unsigned tile, void *at, size_t stride) {
    expect(tile_store(tile_state_here(), tile, at, stride));
}
void eg__tile_model_bf16(unsigned sum, unsigned left, unsigned right) {
    expect(tile_multiply(tile_state_here(), TILE_tdpbf16ps, sum, left, right));
}
void eg__tile_model_bytes(unsigned sum, unsigned left, unsigned right) {
    expect(tile_multiply(tile_state_here(), TILE_tdpbssd, sum, left, right));
}

/* ---- the rows */
void eg__tile_enter_modelled(void) {
    static const eg__tile_config whole = EG__TILE_WHOLE;
    TILE_CONFIGURE(&whole);
}
void eg__tile_leave_modelled(void) { TILE_RELEASE(); }

#define ROW(op, feature, shape_scratch)                                     \
    {                                                                       \
        .operation = EG__OP_##op, .isa = "amxtile", .name = #op "_amxtile", \
        .function = {.op = eg__##op##_modelled}, .lanes = 16,               \
        .features = EG_CPU_AMX_TILE | (feature), .scratch = shape_scratch,  \
        .enter = eg__tile_enter_modelled, .leave = eg__tile_leave_modelled  \
    }
const eg__kernel tile_modelled[TILE_MODELLED] = {
    ROW(gemm_bf16bf16, EG_CPU_AMX_BF16, eg__scratch_halves_tile),
    ROW(gemm_i8i8, EG_CPU_AMX_INT8, eg__scratch_integers_tile),
};
