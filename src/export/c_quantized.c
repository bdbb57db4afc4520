/* Quantized right sides of products as arrays: one row per column of the product, and scales, zero
 * points and ends of groups beside it. */
#include "export/c.h"

#include <stdio.h>
#include <string.h>

enum { SCALES, ZEROS, ENDS }; /* places in `more` */

/* What the arrays hold. */
typedef struct side {
    eg__packed_quantized b;
    size_t columns; /* that have scales of their own: n, or 1 that all share */
    bool has_zeros;
} side;

/* ---- what is there */
static float scale_at(const eg__packed_quantized *b, size_t n, size_t group) {
    return b->scale[(n / EG__PANEL * b->groups + group) * EG__PANEL + n % EG__PANEL];
}

static int zero_at(const eg__packed_quantized *b, size_t n, size_t group) {
    const size_t cell = (n / EG__PANEL * b->groups + group) * EG__PANEL + n % EG__PANEL;
    return b->zero && b->scale[cell] != 0 ? b->zero[cell] : 0;
}

static bool is_half(const eg__packed_quantized *b) { return eg__quantized_unit(b->type) == 1; }

static side side_of(const eg__c_export *x, const eg__c_range *range) {
    const eg__step_gemm *g = range->quantized;
    side s = {.b = eg__quantized_at(g->quantized.type, g->k, g->n, g->quantized.groups,
                                    x->data[range->space] + range->from, &g->quantized.layout),
              .columns = 1};
    for (size_t n = 0; n < s.b.n && !is_half(&s.b); n++)
        for (size_t group = 0; group < s.b.groups; group++) {
            const int zero = zero_at(&s.b, n, group);
            if (scale_at(&s.b, n, group) != scale_at(&s.b, 0, group) ||
                zero != zero_at(&s.b, 0, group))
                s.columns = s.b.n;
            if (zero) s.has_zeros = true;
        }
    return s;
}

static size_t row_bytes(const eg__packed_quantized *b) {
    return b->type == EG_I4 ? (b->k + 1) / 2 : is_half(b) ? 2 * b->k : b->k;
}

/* ---- what steps need of it */
const char *eg__c_quantized_function(const eg__step *step) {
    const eg__step_gemm *g = &step->u.gemm;
    const bool many = g->quantized.groups > 1, integers = g->quantized.integers;
    switch (g->quantized.type) {
    case EG_F16: return "product_f16";
    case EG_BF16: return "product_bf16";
    case EG_I8:
        return integers ? many ? "product_groups_i8i8" : "product_i8i8"
               : many   ? "product_groups_i8"
                        : "product_i8";
    default:
        return integers ? many ? "product_groups_i4i8" : "product_i4i8"
               : many   ? "product_groups_i4"
                        : "product_i4";
    }
}

void eg__c_quantized_collect(eg__c_export *x, const eg__step *step) {
    /* (q - zero) * x of each is 255 * 127 at most */
    enum { LONGEST = INT32_MAX / (255 * 127) };
    const eg__step_gemm *g = &step->u.gemm;
    if (!g->quantized.integers) return;
    if (g->k > LONGEST)
        eg__c_fail(x, EG_ERR_OVERFLOW, "a sum of %zu products of integers is too long for 32 bits",
                   g->k);
    x->row = eg__max(x->row, eg__ceil_div(g->k, sizeof(float)));
}

void eg__c_quantized_name(eg__c_export *x, eg__c_range *range, const char *wanted) {
    static const char *const what[] = {"scale", "zero", "end"};
    char name[EG__C_NAME];
    snprintf(name, sizeof name, "w_%.40s", wanted);
    strcpy(range->name, eg__c_name(x, name));
    const side s = side_of(x, range);
    const bool has[] = {!is_half(&s.b), s.has_zeros, s.b.groups > 1};
    for (unsigned i = 0; i < 3; i++) {
        if (!has[i]) continue;
        snprintf(name, sizeof name, "%s_%.40s", what[i], wanted);
        strcpy(range->more[i], eg__c_name(x, name));
    }
}

size_t eg__c_quantized_bytes(const eg__c_export *x, const eg__c_range *range) {
    const side s = side_of(x, range);
    const size_t scales = s.columns * s.b.groups;
    size_t bytes = s.b.n * row_bytes(&s.b);
    if (!is_half(&s.b)) bytes += scales * sizeof(float);
    if (s.has_zeros) bytes += scales;
    if (s.b.groups > 1) bytes += s.b.groups * sizeof(int32_t);
    return bytes;
}

void eg__c_quantized_arguments(const eg__c_export *x, const eg__c_range *range,
                               char out[EG__C_TEXT]) {
    const side s = side_of(x, range);
    eg__c_add(out, "%s", range->name);
    if (is_half(&s.b)) return;
    eg__c_add(out, ", %s, %s, %zu", range->more[SCALES], s.has_zeros ? range->more[ZEROS] : "NULL",
              s.columns > 1 ? s.b.groups : 0);
}

/* ---- arrays */
static const char *separator(size_t i, size_t row) {
    return i % row ? ", " : i ? ",\n    " : "\n    ";
}

static uint16_t half_at(const eg__packed_quantized *b, size_t k, size_t n) {
    uint16_t half;
    memcpy(&half, b->data + n / EG__PANEL * b->panel_bytes + 2 * (k * EG__PANEL + n % EG__PANEL),
           sizeof half);
    return half;
}

/* Element i of the array. */
static void write_value(eg__c_export *x, const eg__packed_quantized *b, size_t i) {
    const size_t row = b->type == EG_I4 ? row_bytes(b) : b->k, n = i / row, k = i % row;
    if (is_half(b)) eg__c_put(x, "%s0x%04x", separator(i, 12), (unsigned)half_at(b, k, n));
    else if (b->type == EG_I8)
        eg__c_put(x, "%s%d", separator(i, 20), eg__quantized_integer(b, k, n));
    else {
        const int high = 2 * k + 1 < b->k ? eg__quantized_integer(b, 2 * k + 1, n) : 0;
        eg__c_put(x, "%s0x%02x", separator(i, 16),
                  ((unsigned)high & 15) << 4 | ((unsigned)eg__quantized_integer(b, 2 * k, n) & 15));
    }
}

static void write_values(eg__c_export *x, const eg__c_range *range, const eg__packed_quantized *b) {
    const size_t row = b->type == EG_I4 ? row_bytes(b) : b->k;
    const char *type = is_half(b) ? "uint16_t" : b->type == EG_I8 ? "int8_t" : "uint8_t";
    eg__c_put(x, "static const %s %s[%zu * %zu] = {", type, range->name, b->n, row);
    for (size_t i = 0; i < b->n * row && !x->status; i++) write_value(x, b, i);
    eg__c_put(x, "};\n");
}

static void write_scales(eg__c_export *x, const eg__c_range *range, const side *s) {
    const size_t groups = s->b.groups, count = s->columns * groups;
    char number[32];
    eg__c_put(x, "static const float %s[%zu] = {", range->more[SCALES], count);
    for (size_t i = 0; i < count && !x->status; i++)
        eg__c_put(x, "%s%s", separator(i, 8),
                  eg__c_number(scale_at(&s->b, i / groups, i % groups), number));
    eg__c_put(x, "};\n");
    if (!s->has_zeros) return;
    eg__c_put(x, "static const int8_t %s[%zu] = {", range->more[ZEROS], count);
    for (size_t i = 0; i < count && !x->status; i++)
        eg__c_put(x, "%s%d", separator(i, 20), zero_at(&s->b, i / groups, i % groups));
    eg__c_put(x, "};\n");
}

void eg__c_quantized_write(eg__c_export *x, const eg__c_range *range) {
    const side s = side_of(x, range);
    write_values(x, range, &s.b);
    if (!is_half(&s.b)) write_scales(x, range, &s);
    if (s.b.groups == 1) return;
    eg__c_put(x, "static const int32_t %s[%zu] = {", range->more[ENDS], s.b.groups);
    for (size_t i = 0; i < s.b.groups && !x->status; i++)
        eg__c_put(x, "%s%lu", separator(i, 16), (unsigned long)s.b.end[i]);
    eg__c_put(x, "};\n");
}
