/* The element types of .safetensors. */
#include "formats/files/safetensors.h"

#include <string.h>

static const eg__safetensors_dtype dtypes[] = {
    {"F32", 32, EG_F32}, {"F16", 16, EG_F16}, {"BF16", 16, EG_BF16},  {"I8", 8, EG_I8},
    {"U8", 8, EG_U8},    {"I32", 32, EG_I32}, {"I64", 64, EG_I64},    {"BOOL", 8, EG_BOOL},
    {"F4", 4, -1},       {"F6_E2M3", 6, -1},  {"F6_E3M2", 6, -1},     {"F8_E5M2", 8, -1},
    {"F8_E4M3", 8, -1},  {"F8_E8M0", 8, -1},  {"F8_E4M3FNUZ", 8, -1}, {"F8_E5M2FNUZ", 8, -1},
    {"I16", 16, -1},     {"U16", 16, -1},     {"U32", 32, -1},        {"C64", 64, -1},
    {"F64", 64, -1},     {"U64", 64, -1},
};
enum { COUNT = sizeof dtypes / sizeof *dtypes };

const eg__safetensors_dtype *eg__safetensors_dtype_find(const char *name) {
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
    return NULL;
}

const eg__safetensors_dtype *eg__safetensors_dtype_of(eg_type type) {
    for (size_t i = 0; i < COUNT; i++)
        if (dtypes[i].type == (int)type) return &dtypes[i];
    return NULL;
}
