/* The model of AMX: what each instruction does to the registers, field by field. */
#include "kernels/amx/amx_model.h"

#include "kernels/kernels.h"

#include <math.h>
#include <signal.h>
#include <string.h>

enum { NEWEST = 3, BYTES = 64, ROWS = 64, RING = 512 };

static unsigned field(uint64_t operand, unsigned bit, unsigned width) {
    return (unsigned)(operand >> bit) & ((1u << width) - 1);
}
static bool bit(uint64_t operand, unsigned at) { return operand >> at & 1; }
static unsigned generation(const eg__amx_state *s) {
    return s->generation ? s->generation : NEWEST;
}

/* ---- moves */
static void move_register(uint8_t *own, uint8_t *memory, bool stores) {
    memcpy(stores ? memory : own, stores ? own : memory, BYTES);
}

static const char *move(eg__amx_state *s, unsigned number, uint64_t operand) {
    uint8_t *at = (uint8_t *)(uintptr_t)(operand & 0x00ffffffffffffff);
    const bool stores = number & 2 || number == EG__AMX_stz, pair = bit(operand, 62);
    const bool four = number < EG__AMX_stx && bit(operand, 60) && generation(s) >= 2;
    const bool spread = number < EG__AMX_stx && bit(operand, 61) && generation(s) >= 3;
    const unsigned to = field(operand, 56, 6), count = !pair ? 1 : four ? 4 : 2;
    if (pair && (uintptr_t)at % 128) return "several registers and memory that is not aligned";
    for (unsigned i = 0; i < count; i++, at += BYTES) {
        const unsigned index = to + i * (pair && spread ? 8 / count : 1);
        uint8_t *ring = number & 1 ? s->y : s->x;
        move_register(number < EG__AMX_ldz ? ring + index % 8 * BYTES : s->z[index % ROWS], at,
                      stores);
    }
    return NULL;
}

/* Words of a pair of rows of Z: the even ones in the even row. */
static const char *move_interleaved(eg__amx_state *s, unsigned number, uint64_t operand) {
    uint8_t *at = (uint8_t *)(uintptr_t)(operand & 0x00ffffffffffffff);
    const unsigned pair = field(operand, 57, 5) * 2, half = bit(operand, 56) * 8;
    for (unsigned i = 0; i < 16; i++, at += 4) {
        uint8_t *word = s->z[pair | (i & 1)] + 4 * (half + i / 2);
        if (number == EG__AMX_stzi) memcpy(at, word, 4);
        else memcpy(word, at, 4);
    }
    return NULL;
}

/* ---- inputs of what computes */
static void window(const uint8_t *ring, unsigned offset, uint8_t out[BYTES]) {
    for (unsigned i = 0; i < BYTES; i++) out[i] = ring[(offset + i) % RING];
}

static void shuffle(uint8_t lanes[BYTES], unsigned by, unsigned size) {
    uint8_t old[BYTES];
    const unsigned n = BYTES / size, ways = 1u << by;
    if (ways == n) return;
    memcpy(old, lanes, BYTES);
    for (unsigned i = 0; i < n; i++)
        memcpy(lanes + i * size, old + (i % ways * (n / ways) + i / ways) * size, size);
}

/* Whether lane i of n takes part; `nine` bits have more modes than seven. */
static bool enabled(unsigned mode, unsigned value, bool nine, unsigned i, unsigned n) {
    if (mode == 0)
        return value == 1 ? i & 1 : value == 2 ? !(i & 1) : !value || (nine && value < 6);
    value %= n;
    switch (mode) {
    case 1: return i == value;
    case 2: return !value || i < value;
    case 3: return !value || i >= n - value;
    case 4: return i < value;
    case 5: return i >= n - value;
    default: return false;
    }
}

/* ---- numbers: NaN results are the one that ARM calls default */
static float quiet(float x) { return isnan(x) ? NAN : x; }
static float float_at(const uint8_t *from) {
    float x;
    memcpy(&x, from, sizeof x);
    return x;
}
static uint16_t half_at(const uint8_t *from) {
    uint16_t x;
    memcpy(&x, from, sizeof x);
    return x;
}
static float half_value(const uint8_t *from) {
    const uint16_t half = half_at(from);
    float x;
    eg__f16_to_f32_ref(1, &half, &x);
    return quiet(x);
}
static float brain_value(const uint8_t *from) {
    const uint16_t half = half_at(from);
    float x;
    eg__bf16_to_f32_ref(1, &half, &x);
    return quiet(x);
}

/* What the skip bits make of a sum: each of x, y and z may be left out. */
enum { SKIP_Z = 1, SKIP_Y = 2, SKIP_X = 4 };
static float float_sum(float x, float y, float z, unsigned skip) {
    switch (skip) {
    case 0: return quiet(fmaf(x, y, z));
    case SKIP_Z: return quiet(x * y);
    case SKIP_Y: return quiet(x + z);
    case SKIP_Y | SKIP_Z: return x;
    case SKIP_X: return quiet(y + z);
    case SKIP_X | SKIP_Z: return y;
    case SKIP_X | SKIP_Y: return z;
    default: return 0;
    }
}

/* Lanes of an input as floats, and which of them take part. */
enum { MAX_LANES = 32 };
typedef struct lanes {
    float value[MAX_LANES];
    bool enabled[MAX_LANES];
    unsigned n;
} lanes;
typedef float value_function(const uint8_t *from);
static void lanes_read(lanes *l, const uint8_t *from, unsigned size, value_function *value,
                       unsigned mode, unsigned chosen, bool nine) {
    l->n = BYTES / size;
    for (unsigned i = 0; i < l->n; i++) {
        l->value[i] = value(from + i * size);
        l->enabled[i] = enabled(mode, chosen, nine, i, l->n);
    }
}
/* Lane i of row j of an accumulator of f32: its rows are as far apart as there are accumulators, and 16-bit inputs have
 * their odd lanes in the next row. */
static uint8_t *float_cell(eg__amx_state *s, unsigned n, unsigned z, unsigned j, unsigned i) {
    return n == 16 ? s->z[j * 4 + z % 4] + i * 4 : s->z[j * 2 + (i & 1)] + i / 2 * 4;
}

/* ---- fma32 and fma16 */
static const char *fma_run(eg__amx_state *s, unsigned number, uint64_t o) {
    const unsigned size = number == EG__AMX_fma32 ? 4 : 2, skip = field(o, 27, 3);
    const bool vector = bit(o, 63);
    uint8_t x[BYTES], y[BYTES];
    window(s->x, field(o, 10, 9), x);
    window(s->y, field(o, 0, 9), y);
    if (size == 2 && (vector || !bit(o, 62))) return "fma16 to f16 is not modelled";
    lanes a, b;
    lanes_read(&a, x, size, size == 2 || bit(o, 61) ? half_value : float_at, field(o, 46, 2),
               field(o, 41, 5), false);
    lanes_read(&b, y, size, size == 2 || bit(o, 60) ? half_value : float_at, field(o, 37, 2),
               field(o, 32, 5), false);
    for (unsigned j = 0; j < (vector ? 1 : b.n); j++)
        for (unsigned i = 0; (vector || b.enabled[j]) && i < a.n; i++) {
            if (!a.enabled[i]) continue;
            uint8_t *to =
                vector ? s->z[field(o, 20, 6)] + i * 4 : float_cell(s, a.n, field(o, 20, 6), j, i);
            const float sum = float_sum(a.value[i], b.value[vector ? i : j], float_at(to), skip);
            memcpy(to, &sum, sizeof sum);
        }
    return NULL;
}

/* ---- matfp: to f32 only */
static const char *matfp_run(eg__amx_state *s, uint64_t o) {
    const unsigned alu = field(o, 47, 6), type = field(o, 42, 4);
    if (field(o, 54, 3)) return NULL; /* does nothing */
    if (bit(o, 53)) return "matfp with indexed loads is not modelled";
    if (alu != 0 && alu != 1 && alu != 4) return NULL;
    const bool brain = type == EG__AMX_BF16_F32 && generation(s) >= 2;
    if (!brain && type != EG__AMX_F16_F32 && type != EG__AMX_F32)
        return "matfp of other types than bf16 (M2 and later), f16 and f32 to f32 is not modelled";
    const unsigned size = type == EG__AMX_F32 ? 4 : 2;
    const unsigned x_mode = field(o, 38, 3), x_value = field(o, 32, 5), y_mode = field(o, 23, 3),
                   y_value = field(o, 58, 5);
    const bool zero = (!x_mode && x_value == 3) || (!y_mode && y_value == 3);
    uint8_t x[BYTES], y[BYTES];
    window(s->x, field(o, 10, 9), x);
    window(s->y, field(o, 0, 9), y);
    shuffle(x, field(o, 29, 2), size);
    shuffle(y, field(o, 27, 2), size);
    if (!x_mode && (x_value == 4 || x_value == 5)) memset(x, 0, sizeof x);
    if (!y_mode && (y_value == 4 || y_value == 5)) memset(y, 0, sizeof y);
    value_function *value = size == 4 ? float_at : brain ? brain_value : half_value;
    lanes a, b;
    lanes_read(&a, x, size, value, x_mode, x_value, true);
    lanes_read(&b, y, size, value, y_mode, y_value, true);
    for (unsigned j = 0; j < b.n; j++)
        for (unsigned i = 0; b.enabled[j] && i < a.n; i++) {
            if (!a.enabled[i]) continue;
            uint8_t *to = float_cell(s, a.n, field(o, 20, 2), j, i);
            const float u = a.value[i], v = b.value[j];
            const float sum = zero       ? 0
                              : alu == 4 ? (u <= 0 ? 0 : v)
                                         : float_sum(alu ? -u : u, v, float_at(to), 0);
            memcpy(to, &sum, sizeof sum);
        }
    return NULL;
}

/* ---- matint: bytes to 32 bits only */
static int32_t byte_value(uint8_t x, bool is_signed) { return is_signed ? (int8_t)x : x; }
static int32_t shift_right(int32_t x, unsigned by) { return x < 0 ? ~(~x >> by) : x >> by; }

static const char *matint_run(eg__amx_state *s, uint64_t o) {
    const unsigned alu = field(o, 47, 6), mode = field(o, 38, 3), value = field(o, 32, 6);
    if (field(o, 55, 2)) return NULL; /* does nothing */
    if (bit(o, 53)) return "matint with indexed loads is not modelled";
    if (bit(o, 54) || alu == 7 || alu > 9) return NULL;
    if (alu != EG__AMX_BYTES || field(o, 42, 4) != EG__AMX_I8_I32)
        return "matint other than products of i8 to i32 is not modelled";
    const bool of_y = bit(o, 25), zero = !mode && value == 3;
    uint8_t x[BYTES], y[BYTES];
    window(s->x, field(o, 10, 9), x);
    window(s->y, field(o, 0, 9), y);
    shuffle(x, field(o, 29, 2), 1);
    shuffle(y, field(o, 27, 2), 1);
    if (!mode && (value == 4 || value == 5)) memset(of_y ? y : x, 0, BYTES);
    /* each fourth byte of Y is taken: as many as there are rows of Z for it */
    for (unsigned j = 0; j < BYTES; j += 4)
        for (unsigned i = 0; i < BYTES; i++) {
            if (!enabled(mode, value, true, of_y ? j : i, BYTES)) continue;
            uint8_t *to = s->z[j + i % 4] + i / 4 * 4;
            const int32_t term = shift_right(
                byte_value(x[i], bit(o, 63)) * byte_value(y[j], bit(o, 26)), field(o, 58, 5));
            uint32_t sum;
            memcpy(&sum, to, sizeof sum);
            sum = zero ? 0 : sum + (uint32_t)term;
            memcpy(to, &sum, sizeof sum);
        }
    return NULL;
}

/* ---- */
const char *eg__amx_execute(eg__amx_state *s, unsigned number, unsigned register_,
                            uint64_t operand) {
    if (number < EG__AMX_COUNT) s->count[number]++;
    if (number == EG__AMX_SWITCH) {
        if (register_ > 1) return "neither set nor clr";
        if (register_ == 0 && s->on) return "set while AMX is on";
        if (register_ == 0) memset(s, 0, sizeof s->x + sizeof s->y + sizeof s->z);
        s->on = !register_;
        return NULL;
    }
    if (!s->on) return "AMX is off";
    switch (number) {
    case EG__AMX_ldx:
    case EG__AMX_ldy:
    case EG__AMX_stx:
    case EG__AMX_sty:
    case EG__AMX_ldz:
    case EG__AMX_stz: return move(s, number, operand);
    case EG__AMX_ldzi:
    case EG__AMX_stzi: return move_interleaved(s, number, operand);
    case EG__AMX_fma32:
    case EG__AMX_fma16: return fma_run(s, number, operand);
    case EG__AMX_matint: return matint_run(s, operand);
    case EG__AMX_matfp: return matfp_run(s, operand);
    default: return "an instruction that is not modelled";
    }
}

eg__amx_state *eg__amx_state_here(void) {
    static _Thread_local eg__amx_state state;
    return &state;
}

void eg__amx_model(unsigned number, unsigned register_, uint64_t operand) {
    if (eg__amx_execute(eg__amx_state_here(), number, register_, operand)) raise(SIGILL);
}
