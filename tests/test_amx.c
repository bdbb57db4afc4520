/* Apple's AMX: words, operands, the model, and who may use it. */
#include "test_amx.h"

#include "elegans/elegans.h"
#include "engine/context.h"
#include "test.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

AREA(amx, "words and operands as published, the model field by field, permission")

/* ---- encodings, as published */
static const struct {
    const char *name;
    unsigned number;
    uint32_t word; /* with the operand in x0 */
} words[] = {
    {"ldx", EG__AMX_ldx, 0x00201000},     {"ldy", EG__AMX_ldy, 0x00201020},
    {"stx", EG__AMX_stx, 0x00201040},     {"sty", EG__AMX_sty, 0x00201060},
    {"ldz", EG__AMX_ldz, 0x00201080},     {"stz", EG__AMX_stz, 0x002010a0},
    {"ldzi", EG__AMX_ldzi, 0x002010c0},   {"stzi", EG__AMX_stzi, 0x002010e0},
    {"fma32", EG__AMX_fma32, 0x00201180}, {"fma16", EG__AMX_fma16, 0x002011e0},
    {"set", EG__AMX_SWITCH, 0x00201220},  {"matint", EG__AMX_matint, 0x00201280},
    {"matfp", EG__AMX_matfp, 0x002012a0},
};
enum { WORDS = sizeof words / sizeof *words };

TEST(amx, words) {
    for (size_t i = 0; i < WORDS; i++)
        CHECK(EG__AMX_BASE + (words[i].number << 5) == words[i].word, "%s is %x", words[i].name,
              EG__AMX_BASE + (words[i].number << 5));
#if EG__AMX_WORDS && defined(__aarch64__)
#define X(name, number) eg__amx_##name,
    void (*const functions[])(uint64_t) = {EG__AMX_MAP(X)};
#undef X
#define X(name, number) number,
    static const unsigned numbers[] = {EG__AMX_MAP(X)};
#undef X
    for (size_t f = 0; f < sizeof numbers / sizeof *numbers; f++) {
        enum { LENGTH = 8 };
        const uint32_t *code = (const uint32_t *)(uintptr_t)functions[f];
        size_t at = 0;
        while (at < LENGTH && code[at] >> 10 != EG__AMX_BASE >> 10) at++;
        CHECK(at < LENGTH && code[at] == EG__AMX_BASE + (numbers[f] << 5),
              "instruction %u: the word is %x", numbers[f], at < LENGTH ? code[at] : 0);
    }
#endif
}

/* ---- every field of every operand, where the published tables have it */
#define MOVE(...)       eg__amx_memory_operand((eg__amx_memory){__VA_ARGS__})
#define FMA(...)        eg__amx_fma_operand((eg__amx_fma){__VA_ARGS__})
#define FLOAT(...)      eg__amx_float_operand((eg__amx_float){__VA_ARGS__})
#define INTEGER(...)    eg__amx_integer_operand((eg__amx_integer){__VA_ARGS__})
#define BITS(value, at) ((uint64_t)(value) << (at))
TEST(amx, operands) {
    const struct {
        uint64_t got, want;
    } cases[] = {
        {MOVE(.at = (void *)0x123456789abcc0), 0x123456789abcc0},
        {MOVE(.to = 7), BITS(7, 56)},
        {MOVE(.to = 63), BITS(63, 56)},
        {MOVE(.four = true), BITS(1, 60)},
        {MOVE(.spread = true), BITS(1, 61)},
        {MOVE(.pair = true), BITS(1, 62)},
        {FMA(.y = 511), BITS(511, 0)},
        {FMA(.x = 511), BITS(511, 10)},
        {FMA(.z = 63), BITS(63, 20)},
        {FMA(.skip_z = true), BITS(1, 27)},
        {FMA(.skip_y = true), BITS(1, 28)},
        {FMA(.skip_x = true), BITS(1, 29)},
        {FMA(.y_value = 31), BITS(31, 32)},
        {FMA(.y_lanes = EG__AMX_LAST), BITS(3, 37)},
        {FMA(.x_value = 31), BITS(31, 41)},
        {FMA(.x_lanes = EG__AMX_LAST), BITS(3, 46)},
        {FMA(.y_half = true), BITS(1, 60)},
        {FMA(.x_half = true), BITS(1, 61)},
        {FMA(.z_float = true), BITS(1, 62)},
        {FMA(.vector = true), BITS(1, 63)},
        {FLOAT(.y = 511), BITS(511, 0)},
        {FLOAT(.x = 511), BITS(511, 10)},
        {FLOAT(.z = 7), BITS(7, 20)},
        {FLOAT(.y_lanes = 7), BITS(7, 23)},
        {FLOAT(.y_shuffle = 3), BITS(3, 27)},
        {FLOAT(.x_shuffle = 3), BITS(3, 29)},
        {FLOAT(.x_value = 31), BITS(31, 32)},
        {FLOAT(.x_lanes = 7), BITS(7, 38)},
        {FLOAT(.type = EG__AMX_BF16_F32), BITS(1, 42)},
        {FLOAT(.type = EG__AMX_F16_F32), BITS(3, 42)},
        {FLOAT(.type = EG__AMX_F32), BITS(4, 42)},
        {FLOAT(.alu = 63), BITS(63, 47)},
        {FLOAT(.y_value = 31), BITS(31, 58)},
        {INTEGER(.y = 511), BITS(511, 0)},
        {INTEGER(.x = 511), BITS(511, 10)},
        {INTEGER(.z = 3), BITS(3, 20)},
        {INTEGER(.lanes_of_y = true), BITS(1, 25)},
        {INTEGER(.y_signed = true), BITS(1, 26)},
        {INTEGER(.y_shuffle = 3), BITS(3, 27)},
        {INTEGER(.x_shuffle = 3), BITS(3, 29)},
        {INTEGER(.value = 63), BITS(63, 32)},
        {INTEGER(.lanes = 7), BITS(7, 38)},
        {INTEGER(.type = EG__AMX_I8_I32), BITS(10, 42)},
        {INTEGER(.alu = EG__AMX_BYTES), BITS(8, 47)},
        {INTEGER(.shift = 31), BITS(31, 58)},
        {INTEGER(.x_signed = true), BITS(1, 63)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(cases[i].got == cases[i].want, "case %zu: %llx, not %llx", i,
              (unsigned long long)cases[i].got, (unsigned long long)cases[i].want);
}

/* ---- the model */
static eg__amx_state *fresh(unsigned generation) {
    static eg__amx_state state;
    memset(&state, 0, sizeof state);
    state.generation = generation;
    CHECK(!eg__amx_execute(&state, EG__AMX_SWITCH, 0, 0), "set");
    for (unsigned i = 0; i < 512; i++) {
        state.x[i] = (uint8_t)(i * 7 + 1);
        state.y[i] = (uint8_t)(i * 5 + 3);
    }
    return &state;
}
static void run(eg__amx_state *s, unsigned number, uint64_t operand) {
    const char *fault = eg__amx_execute(s, number, 0, operand);
    CHECK(!fault, "instruction %u, operand %llx: %s", number, (unsigned long long)operand, fault);
}
static void refused(eg__amx_state *s, unsigned number, uint64_t operand, const char *part) {
    const char *fault = eg__amx_execute(s, number, 0, operand);
    CHECK(fault && strstr(fault, part), "instruction %u, operand %llx: '%s', expected '%s'", number,
          (unsigned long long)operand, fault ? fault : "nothing", part);
}

TEST(amx, what_is_refused) {
    static _Alignas(128) uint8_t memory[512];
    static eg__amx_state off;
    refused(&off, EG__AMX_ldx, MOVE(.at = memory), "is off");
    refused(&off, EG__AMX_fma32, 0, "is off");
    CHECK(!eg__amx_execute(&off, EG__AMX_SWITCH, 1, 0), "clr when off");
    CHECK(eg__amx_execute(&off, EG__AMX_SWITCH, 2, 0), "neither set nor clr");
    eg__amx_state *s = fresh(1);
    refused(s, EG__AMX_SWITCH, 0, "while AMX is on");
    static const unsigned several[] = {EG__AMX_ldx, EG__AMX_ldy, EG__AMX_stx,
                                       EG__AMX_sty, EG__AMX_ldz, EG__AMX_stz};
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        run(s, several[i], MOVE(.at = memory + 33));
        run(s, several[i], MOVE(.at = memory, .pair = true));
        refused(s, several[i], MOVE(.at = memory + 64, .pair = true), "not aligned");
        refused(s, several[i], MOVE(.at = memory + 1, .pair = true), "not aligned");
    }
    run(s, EG__AMX_stzi, MOVE(.at = memory + 4, .pair = true)); /* has no pairs */
    for (unsigned number = 0; number < 32; number++) {
        bool known = false;
        for (size_t i = 0; i < WORDS; i++) known |= words[i].number == number;
        if (!known) refused(s, number, 0, "not modelled");
    }
    refused(s, EG__AMX_matfp, FLOAT(.type = EG__AMX_BF16_F32), "M2");
    run(fresh(2), EG__AMX_matfp, FLOAT(.type = EG__AMX_BF16_F32));
    refused(s, EG__AMX_matfp, BITS(1, 53), "indexed");
    refused(s, EG__AMX_matint, BITS(1, 53), "indexed");
    refused(s, EG__AMX_matint, INTEGER(.alu = 5), "other than products of i8");
    refused(s, EG__AMX_matint, INTEGER(.alu = EG__AMX_BYTES), "other than products of i8");
    refused(s, EG__AMX_fma16, FMA(.x = 0), "to f16");
    refused(s, EG__AMX_fma16, FMA(.z_float = true, .vector = true), "to f16");
    CHECK(!eg__amx_execute(s, EG__AMX_SWITCH, 1, 0), "clr");
    refused(s, EG__AMX_stz, MOVE(.at = memory), "is off");
    CHECK(!eg__amx_execute(s, EG__AMX_SWITCH, 0, 0), "set again");
    for (unsigned i = 0; i < 512; i++) CHECK(!s->x[i] && !s->y[i], "set clears X and Y");
}

/* Registers and rows wrap; what each generation loads. */
TEST(amx, moves) {
    static _Alignas(128) uint8_t memory[256], out[256];
    for (unsigned i = 0; i < 256; i++) memory[i] = (uint8_t)(i ^ 0x5a);
    static const struct {
        unsigned generation, from, count;
        bool pair, four, spread;
        unsigned at[4];
    } cases[] = {
        {1, 3, 1, false, false, false, {3}},       {1, 7, 2, true, false, false, {7, 0}},
        {1, 5, 2, true, true, true, {5, 6}},       {2, 6, 4, true, true, false, {6, 7, 0, 1}},
        {2, 6, 4, true, true, true, {6, 7, 0, 1}}, {2, 2, 2, true, false, true, {2, 3}},
        {3, 6, 2, true, false, true, {6, 2}},      {3, 5, 4, true, true, true, {5, 7, 1, 3}},
        {3, 4, 1, false, true, true, {4}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (unsigned number = EG__AMX_ldx; number <= EG__AMX_ldy; number++) {
            eg__amx_state *s = fresh(cases[c].generation);
            const eg__amx_state before = *s;
            run(s, number,
                MOVE(.at = memory, .to = cases[c].from, .pair = cases[c].pair,
                     .four = cases[c].four, .spread = cases[c].spread));
            const uint8_t *ring = number ? s->y : s->x, *old = number ? before.y : before.x;
            for (unsigned r = 0; r < 8; r++) {
                const uint8_t *want = old + 64 * r;
                for (unsigned i = 0; i < cases[c].count; i++)
                    if (cases[c].at[i] == r) want = memory + 64 * i;
                CHECK(memcmp(ring + 64 * r, want, 64) == 0, "case %zu, instruction %u, register %u",
                      c, number, r);
            }
        }
    eg__amx_state *s = fresh(1);
    run(s, EG__AMX_ldz, MOVE(.at = memory, .to = 63, .pair = true));
    CHECK(memcmp(s->z[63], memory, 64) == 0 && memcmp(s->z[0], memory + 64, 64) == 0, "rows wrap");
    run(s, EG__AMX_stz, MOVE(.at = out, .to = 63, .pair = true));
    run(s, EG__AMX_stx, MOVE(.at = out + 128, .to = 7));
    run(s, EG__AMX_sty, MOVE(.at = out + 192, .to = 2));
    CHECK(memcmp(out, memory, 128) == 0 && memcmp(out + 128, s->x + 448, 64) == 0 &&
              memcmp(out + 192, s->y + 128, 64) == 0,
          "stores");
    for (unsigned half = 0; half < 2; half++) { /* rows 10 and 11, interleaved */
        run(s, EG__AMX_ldzi, MOVE(.at = memory + 64 * half, .to = 10 + half));
        for (unsigned i = 0; i < 16; i++)
            CHECK(memcmp(s->z[10 + i % 2] + 32 * half + i / 2 * 4, memory + 64 * half + 4 * i, 4) ==
                      0,
                  "half %u, word %u", half, i);
        run(s, EG__AMX_stzi, MOVE(.at = out, .to = 10 + half));
        CHECK(memcmp(out, memory + 64 * half, 64) == 0, "half %u stored", half);
    }
}

static void ring_floats(uint8_t *ring, size_t count, float first) {
    for (size_t i = 0; i < count; i++) {
        const float x = first + (float)i;
        memcpy(ring + 4 * i, &x, 4);
    }
}
static float z_float(const eg__amx_state *s, unsigned row, unsigned lane) {
    float x;
    memcpy(&x, s->z[row] + 4 * lane, 4);
    return x;
}

/* fma32: windows that wrap, accumulators, lanes, what is left out. */
TEST(amx, outer_products) {
    static const struct {
        unsigned mode, value, first, end, step;
    } chosen[] = {{0, 0, 0, 16, 1}, {0, 1, 1, 16, 2}, {0, 2, 0, 16, 2},  {0, 3, 0, 0, 1},
                  {1, 5, 5, 6, 1},  {2, 3, 0, 3, 1},  {2, 16, 0, 16, 1}, {3, 4, 12, 16, 1}};
    for (size_t c = 0; c < sizeof chosen / sizeof *chosen; c++)
        for (unsigned which = 0; which < 2; which++) {
            eg__amx_state *s = fresh(1);
            ring_floats(s->x, 128, 1);
            ring_floats(s->y, 128, 200);
            const uint64_t lanes =
                which ? FMA(.y_lanes = chosen[c].mode, .y_value = chosen[c].value & 31)
                      : FMA(.x_lanes = chosen[c].mode, .x_value = chosen[c].value & 31);
            run(s, EG__AMX_fma32, FMA(.x = 480, .y = 64, .z = 2) | lanes);
            for (unsigned j = 0; j < 16; j++)
                for (unsigned i = 0; i < 16; i++) {
                    const unsigned lane = which ? j : i;
                    const bool in = lane >= chosen[c].first && lane < chosen[c].end &&
                                    (lane - chosen[c].first) % chosen[c].step == 0;
                    const float x = (float)((120 + i) % 128 + 1), y = (float)(216 + j);
                    CHECK(z_float(s, 4 * j + 2, i) == (in ? x * y : 0), "case %zu: row %u lane %u",
                          c, j, i);
                    CHECK(z_float(s, 4 * j + 1, i) == 0, "another accumulator");
                }
        }
    for (unsigned skip = 0; skip < 8; skip++) {
        eg__amx_state *s = fresh(1);
        ring_floats(s->x, 128, 1);
        ring_floats(s->y, 128, 200);
        run(s, EG__AMX_fma32, FMA(.z = 3));
        run(s, EG__AMX_fma32,
            FMA(.z = 3, .x = 4, .skip_z = skip & 1, .skip_y = skip & 2, .skip_x = skip & 4));
        const float z = 1 * 201, x = 2, y = 201, have_z = skip & 1 ? 0 : z;
        const float term = (skip & 6) == 6 ? 0 : skip & 2 ? x : skip & 4 ? y : x * y;
        CHECK(z_float(s, 4 * 1 + 3, 0) == have_z + term, "skip %u: %g", skip,
              (double)z_float(s, 4 * 1 + 3, 0));
    }
    eg__amx_state *s = fresh(1);
    ring_floats(s->x, 128, 1);
    ring_floats(s->y, 128, 200);
    run(s, EG__AMX_fma32, FMA(.x = 64, .y = 4, .z = 37, .vector = true));
    for (unsigned i = 0; i < 16; i++)
        CHECK(z_float(s, 37, i) == (float)((17 + i) * (201 + i)), "vector, lane %u", i);
    const float inf = INFINITY;
    memcpy(s->x, &inf, 4);
    memset(s->y, 0, 4);
    run(s, EG__AMX_fma32, 0);
    uint32_t bits;
    memcpy(&bits, s->z[0], 4);
    CHECK(bits == 0x7fc00000, "inf times 0 is %x", bits);
}

/* 16-bit inputs into f32, and bytes into int32: which cell of Z a product goes to. */
TEST(amx, narrow_products) {
    for (unsigned brain = 0; brain < 2; brain++) {
        eg__amx_state *s = fresh(2);
        for (unsigned i = 0; i < 256; i++) {
            const float x = (float)(i % 61 + 1), y = (float)(i % 67 + 3) / 4;
            uint16_t a, b;
            (brain ? eg__f32_to_bf16_ref : eg__f32_to_f16_ref)(1, &x, &a);
            (brain ? eg__f32_to_bf16_ref : eg__f32_to_f16_ref)(1, &y, &b);
            memcpy(s->x + 2 * i, &a, 2);
            memcpy(s->y + 2 * i, &b, 2);
        }
        if (brain) run(s, EG__AMX_matfp, FLOAT(.x = 10, .y = 6, .type = EG__AMX_BF16_F32));
        else run(s, EG__AMX_fma16, FMA(.x = 10, .y = 6, .z_float = true));
        for (unsigned j = 0; j < 32; j++)
            for (unsigned i = 0; i < 32; i++)
                CHECK(z_float(s, 2 * j + i % 2, i / 2) ==
                          (float)((i + 5) % 61 + 1) * (float)((j + 3) % 67 + 3) / 4,
                      "brain %u row %u lane %u", brain, j, i);
    }
    eg__amx_state *s = fresh(1);
    for (unsigned again = 0; again < 2; again++)
        run(s, EG__AMX_matint,
            INTEGER(.x = 64, .y = 3, .alu = EG__AMX_BYTES, .type = EG__AMX_I8_I32, .x_signed = true,
                    .y_signed = true));
    for (unsigned j = 0; j < 64; j += 4)
        for (unsigned i = 0; i < 64; i++) {
            int32_t got;
            memcpy(&got, s->z[j + i % 4] + i / 4 * 4, 4);
            CHECK(got == 2 * (int8_t)s->x[64 + i] * (int8_t)s->y[j + 3], "row %u lane %u", j, i);
        }
}

/* Which lanes of bytes take part, signs, and products that are shifted. */
TEST(amx, lanes_of_bytes) {
    static const struct {
        unsigned mode, value, first, end, step;
        bool zero_input, clears;
    } chosen[] = {{.mode = 0, .value = 0, .end = 64, .step = 1},
                  {.mode = 0, .value = 1, .first = 1, .end = 64, .step = 2},
                  {.mode = 0, .value = 2, .end = 64, .step = 2},
                  {.mode = 0, .value = 3, .end = 64, .step = 1, .clears = true},
                  {.mode = 0, .value = 4, .end = 64, .step = 1, .zero_input = true},
                  {.mode = 0, .value = 6, .step = 1},
                  {.mode = 1, .value = 12, .first = 12, .end = 13, .step = 1},
                  {.mode = 2, .value = 9, .end = 9, .step = 1},
                  {.mode = 3, .value = 9, .first = 55, .end = 64, .step = 1},
                  {.mode = 4, .value = 0, .step = 1},
                  {.mode = 4, .value = 20, .end = 20, .step = 1},
                  {.mode = 5, .value = 20, .first = 44, .end = 64, .step = 1},
                  {.mode = 6, .value = 20, .step = 1}};
    for (size_t c = 0; c < sizeof chosen / sizeof *chosen; c++)
        for (unsigned turn = 0; turn < 16; turn++) {
            const bool of_y = turn & 1, sign_x = turn & 2, sign_y = turn & 4;
            const unsigned shift = turn & 8 ? 3 : 0;
            eg__amx_state *s = fresh(1);
            for (unsigned row = 0; row < 64; row++) memset(s->z[row], 1, 64);
            run(s, EG__AMX_matint,
                INTEGER(.alu = EG__AMX_BYTES, .type = EG__AMX_I8_I32, .lanes = chosen[c].mode,
                        .value = chosen[c].value, .lanes_of_y = of_y, .x_signed = sign_x,
                        .y_signed = sign_y, .shift = shift));
            for (unsigned j = 0; j < 64; j += 4)
                for (unsigned i = 0; i < 64; i++) {
                    const unsigned lane = of_y ? j : i;
                    const bool in = lane >= chosen[c].first && lane < chosen[c].end &&
                                    (lane - chosen[c].first) % chosen[c].step == 0;
                    const int x = sign_x ? (int8_t)s->x[i] : s->x[i],
                              y = sign_y ? (int8_t)s->y[j] : s->y[j];
                    const int term =
                        chosen[c].zero_input ? 0 : (int)floor(ldexp(x * y, -(int)shift));
                    const int32_t want = !in                ? 0x01010101
                                         : chosen[c].clears ? 0
                                                            : 0x01010101 + term;
                    int32_t got;
                    memcpy(&got, s->z[j + i % 4] + i / 4 * 4, 4);
                    CHECK(got == want, "case %zu turn %u row %u lane %u: %d, not %d", c, turn, j, i,
                          got, want);
                }
        }
}

/* ---- a process that may not use it */
static void attempt_fine(void) {}
static void attempt_illegal(void) { raise(SIGILL); }
static void attempt_exit(void) { _exit(7); }
TEST(amx, permission) {
    char reason[EG__AMX_REASON];
    CHECK(eg__amx_allowed(attempt_fine, reason) && !reason[0], "fine: '%s'", reason);
    CHECK(!eg__amx_allowed(attempt_illegal, reason) && strstr(reason, "signal 4"), "'%s'", reason);
    CHECK(!eg__amx_allowed(attempt_exit, reason) && strstr(reason, "exit 7"), "'%s'", reason);
    /* a child has no handler, so on a processor without the unit its words are refused */
    if (amx_is_modelled())
        CHECK(eg__amx_allowed(eg__amx_try, reason) == !EG__AMX_WORDS, "'%s'", reason);

    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    size_t refused = 0;
    snprintf(context->amx_refused, sizeof context->amx_refused, "signal 4");
    for (size_t i = 0; i < eg_kernel_count(); i++) {
        eg_kernel_info info = {.size = sizeof info};
        CHECK_OK(eg_kernel_list(context, i, &info, &error), error);
        const char *why = eg_kernel_refusal(context, i);
        CHECK((why[0] == 0) == (info.usable != 0), "%s_%s: '%s'", info.operation, info.isa, why);
        refused += strcmp(why, "signal 4") == 0;
        CHECK(strcmp(info.isa, "amx") != 0 || !info.selected, "%s", info.operation);
    }
    CHECK(amx_is_modelled() ? refused == 4 : true, "%zu kernels are refused", refused);
    CHECK(!eg_kernel_refusal(NULL, 0)[0] && !eg_kernel_refusal(context, eg_kernel_count())[0],
          "no kernel, no refusal");
    eg_context_destroy(context);
}

TEST(amx, generations) {
    static const struct {
        const char *chip;
        unsigned generation;
    } cases[] = {{"M1", 1},       {"M1 Ultra", 1}, {"M2 Pro", 2}, {"M3 Max", 3},
                 {"M3 Ultra", 3}, {"M4", 0},       {"M5 Max", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_chip_row row;
        eg_error error;
        CHECK_OK(eg_chip_table_find(cases[i].chip, &row, &error), error);
        CHECK(eg_chip_amx_generation(&row) == cases[i].generation, "%s: %u", cases[i].chip,
              eg_chip_amx_generation(&row));
    }
    CHECK(!eg_chip_amx_generation(NULL), "no chip");
}
