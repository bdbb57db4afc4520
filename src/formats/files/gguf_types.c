/* The element types of ggml tensors, and the value types of .gguf metadata. */
#include "formats/files/gguf.h"

/* by number; what was removed has no block */
static const eg__ggml_type types[] = {
    {"F32", 1, 4},        {"F16", 1, 2},        {"Q4_0", 32, 18},     {"Q4_1", 32, 20},
    {"Q4_2", 0, 0},       {"Q4_3", 0, 0},       {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},     {"Q8_1", 32, 36},     {"Q2_K", 256, 84},    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},   {"Q5_K", 256, 176},   {"Q6_K", 256, 210},   {"Q8_K", 256, 292},
    {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74},  {"IQ3_XXS", 256, 98}, {"IQ1_S", 256, 50},
    {"IQ4_NL", 32, 18},   {"IQ3_S", 256, 110},  {"IQ2_S", 256, 82},   {"IQ4_XS", 256, 136},
    {"I8", 1, 1},         {"I16", 1, 2},        {"I32", 1, 4},        {"I64", 1, 8},
    {"F64", 1, 8},        {"IQ1_M", 256, 56},   {"BF16", 1, 2},       {"Q4_0_4_4", 0, 0},
    {"Q4_0_4_8", 0, 0},   {"Q4_0_8_8", 0, 0},   {"TQ1_0", 256, 54},   {"TQ2_0", 256, 66},
    {"IQ4_NL_4_4", 0, 0}, {"IQ4_NL_4_8", 0, 0}, {"IQ4_NL_8_8", 0, 0}, {"MXFP4", 32, 17},
    {"NVFP4", 64, 36}};

const eg__ggml_type *eg__ggml_type_get(uint32_t id) {
    return id < sizeof types / sizeof *types && types[id].block ? &types[id] : NULL;
}

static const struct {
    uint32_t type;
    size_t bytes;
    const char *name;
} values[] = {
#define ROW(name, value, bytes, text) {value, bytes, text},
    EG_GGUF_TYPE_MAP(ROW)
#undef ROW
};

bool eg__gguf_type_known(uint32_t type) { return eg_gguf_type_name((eg_gguf_type)type) != NULL; }

size_t eg__gguf_type_bytes(uint32_t type) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].type == type) return values[i].bytes;
    return 0;
}

const char *eg_gguf_type_name(eg_gguf_type type) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].type == (uint32_t)type) return values[i].name;
    return NULL;
}
