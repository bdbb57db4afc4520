/* Functions that exported code calls for products with quantized weights. */
#include "export/c.h"

/* ---- the same product for several types. `number` is what is summed; `argument` and `row` give x, a row
 * of a; `length` is that of a row of w; `factor` is what x is to be multiplied with. */
#define LOOP(name, groups, weights, argument, row, body)                                     \
    "static void " name "(int rows, int n, int k, " groups "const float *a, int a_stride,\n" \
    "    const " weights " *w, const float *scale, const int8_t *zero, int step,\n"          \
    "    " argument "float *c, int c_stride) {\n"                                            \
    "    for (int r = 0; r < rows; r++) {\n"                                                 \
    "        float *y = c + r * c_stride;\n" row body "    }\n"                              \
    "}\n"

/* One group: the sum of the row is needed once. */
#define PRODUCT(suffix, weights, number, argument, row, length, factor)                     \
    "/* c = a * b; column j of b is row j of w: (w - zero) * scale */\n" LOOP(              \
        "product_" suffix, "", weights, argument, row,                                      \
        "        " number " all = 0;\n"                                                     \
        "        for (int i = 0; i < k; i++) all += x[i];\n"                                \
        "        for (int j = 0; j < n; j++) {\n"                                           \
        "            const " number " sum = sum_" suffix "(x, w + j * " length ", 0, k);\n" \
        "            const " number " off = zero ? zero[j * step] * all : 0;\n"             \
        "            y[j] = " factor "scale[j * step] * (float)(sum - off);\n"              \
        "        }\n")

/* Group by group, for the same reason. */
#define GROUPS(suffix, weights, number, argument, row, length, factor)                             \
    "/* c = a * b; column j of b is row j of w; its groups have scales and zeros */\n" LOOP(       \
        "product_groups_" suffix, "int groups,\n    const int32_t *end, ", weights, argument, row, \
        "        for (int j = 0; j < n; j++) y[j] = 0.0f;\n"                                       \
        "        for (int g = 0, from = 0; g < groups; from = end[g++]) {\n"                       \
        "            " number " all = 0;\n"                                                        \
        "            for (int i = from; i < end[g]; i++) all += x[i];\n"                           \
        "            for (int j = 0; j < n; j++) {\n"                                              \
        "                const " number " sum = sum_" suffix "(x, w + j * " length                 \
        ", from, end[g]);\n"                                                                       \
        "                const " number " off = zero ? zero[j * step + g] * all : 0;\n"            \
        "                y[j] += " factor "scale[j * step + g] * (float)(sum - off);\n"            \
        "            }\n"                                                                          \
        "        }\n")

#define FLOATS "float", "", "        const float *x = a + r * a_stride;\n"
#define INTEGERS \
    "int32_t", "int8_t *x, ", "        const float size = integers(k, a + r * a_stride, x);\n"
#define BOTH(suffix, weights, ways, length, factor)                                     \
    {"product_" suffix, EXPAND(PRODUCT, suffix, weights, ways, length, factor)}, {      \
        "product_groups_" suffix, EXPAND(GROUPS, suffix, weights, ways, length, factor) \
    }
#define EXPAND(macro, ...) macro(__VA_ARGS__)

#define HALVES(name, widen)                                                            \
    "/* c = a * b; column j of b is row j of w */\n"                                   \
    "static void " name "(int rows, int n, int k, const float *a, int a_stride,\n"     \
    "    const uint16_t *w, float *c, int c_stride) {\n"                               \
    "    for (int r = 0; r < rows; r++) {\n"                                           \
    "        const float *x = a + r * a_stride;\n"                                     \
    "        for (int j = 0; j < n; j++) {\n"                                          \
    "            float sum = 0.0f;\n"                                                  \
    "            for (int i = 0; i < k; i++) sum += x[i] * " widen "(w[j * k + i]);\n" \
    "            c[r * c_stride + j] = sum;\n"                                         \
    "        }\n"                                                                      \
    "    }\n"                                                                          \
    "}\n"

/* In the order of the source: what a function calls stands before it. */
static const eg__c_function functions[] = {
    {"from_f16", "static float from_f16(uint16_t half) {\n"
                 "    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;\n"
                 "    const int finite = bits < 0x0f800000;\n"
                 "    float value;\n"
                 "    if (!finite) bits |= 0x7f800000;\n"
                 "    memcpy(&value, &bits, sizeof value);\n"
                 "    if (finite) value *= 0x1p112f; /* exponents of f16 begin elsewhere */\n"
                 "    return half & 0x8000 ? -value : value;\n"
                 "}\n"},
    {"from_bf16", "static float from_bf16(uint16_t half) {\n"
                  "    const uint32_t bits = (uint32_t)half << 16;\n"
                  "    float value;\n"
                  "    memcpy(&value, &bits, sizeof value);\n"
                  "    return value;\n"
                  "}\n"},
    {"integers",
     "/* x as int8, rounded to nearest and ties to even, and what 1 stands for: NaN where x is not\n"
     " * finite */\n"
     "static float integers(int k, const float *x, int8_t *to) {\n"
     "    float most = 0.0f;\n"
     "    for (int i = 0; i < k; i++)\n"
     "        if (fabsf(x[i]) > most || x[i] != x[i]) most = fabsf(x[i]);\n"
     "    memset(to, 0, (size_t)k);\n"
     "    if (!(most < INFINITY)) return NAN;\n"
     "    if (most < 0x1p-100f) return 0.0f;\n"
     "    const float inverse = 127.0f / most;\n"
     "    for (int i = 0; i < k; i++) {\n"
     "        const float q = nearbyintf(x[i] * inverse);\n"
     "        to[i] = (int8_t)(q > 127.0f ? 127.0f : q < -127.0f ? -127.0f : q);\n"
     "    }\n"
     "    return most / 127.0f;\n"
     "}\n"},
    {"sum_i8", "static float sum_i8(const float *x, const int8_t *w, int from, int to) {\n"
               "    float sum = 0.0f;\n"
               "    for (int i = from; i < to; i++) sum += x[i] * (float)w[i];\n"
               "    return sum;\n"
               "}\n"},
    {"sum_i4", "/* two to a byte, the even one in the low half */\n"
               "static float sum_i4(const float *x, const uint8_t *w, int from, int to) {\n"
               "    float sum = 0.0f;\n"
               "    for (int i = from; i < to; i++)\n"
               "        sum += x[i] * (float)(((w[i / 2] >> (i % 2 * 4) & 15) ^ 8) - 8);\n"
               "    return sum;\n"
               "}\n"},
    {"sum_i8i8", "static int32_t sum_i8i8(const int8_t *x, const int8_t *w, int from, int to) {\n"
                 "    int32_t sum = 0;\n"
                 "    for (int i = from; i < to; i++) sum += x[i] * w[i];\n"
                 "    return sum;\n"
                 "}\n"},
    {"sum_i4i8", "/* two to a byte, the even one in the low half */\n"
                 "static int32_t sum_i4i8(const int8_t *x, const uint8_t *w, int from, int to) {\n"
                 "    int32_t sum = 0;\n"
                 "    for (int i = from; i < to; i++)\n"
                 "        sum += x[i] * (((w[i / 2] >> (i % 2 * 4) & 15) ^ 8) - 8);\n"
                 "    return sum;\n"
                 "}\n"},
    {"product_f16", HALVES("product_f16", "from_f16")},
    {"product_bf16", HALVES("product_bf16", "from_bf16")},
    BOTH("i8", "int8_t", FLOATS, "k", ""),
    BOTH("i4", "uint8_t", FLOATS, "((k + 1) / 2)", ""),
    BOTH("i8i8", "int8_t", INTEGERS, "k", "size * "),
    BOTH("i4i8", "uint8_t", INTEGERS, "((k + 1) / 2)", "size * "),
};
const eg__c_functions eg__c_functions_quantized = {functions, sizeof functions / sizeof *functions};
