/* Weights and constants as arrays of numbers. */
#include "export/c.h"

#include <string.h>

/* Element i of what the exported code sees: matrices of products are not packed there. */
static float element(const eg__c_export *x, const eg__c_range *range, size_t i) {
    const float *data = x->data[range->space] + range->from;
    if (!range->k) return data[i];
    const size_t row = i / range->n, column = i % range->n, panel = column / EG__PANEL;
    return data[(panel * range->k + row) * EG__PANEL + column % EG__PANEL];
}

static void write_indices(eg__c_export *x, const eg__c_range *range) {
    eg__c_put(x, "static const int32_t %s[%zu] = {", range->name, range->size);
    for (size_t i = 0; i < range->size && !x->status; i++) {
        int32_t value;
        const float bits = element(x, range, i);
        memcpy(&value, &bits, sizeof value);
        eg__c_put(x, "%s%ld", i % 16 ? ", " : i ? ",\n    " : "\n    ", (long)value);
    }
    eg__c_put(x, "};\n");
}

static void write_floats(eg__c_export *x, const eg__c_range *range) {
    char number[32];
    if (range->k)
        eg__c_put(x, "static const float %s[%zu * %zu] = {", range->name, range->k, range->n);
    else eg__c_put(x, "static const float %s[%zu] = {", range->name, range->size);
    for (size_t i = 0; i < range->size && !x->status; i++)
        eg__c_put(x, "%s%s",
                  i % 8 ? ", "
                  : i   ? ",\n    "
                        : "\n    ",
                  eg__c_number(element(x, range, i), number));
    eg__c_put(x, "};\n");
}

void eg__c_write_data(eg__c_export *x) {
    for (size_t i = 0; i < x->range_count; i++) {
        const eg__c_range *range = &x->ranges[i];
        if (range->space == EG__SPACE_ARENA) continue;
        if (range->quantized) eg__c_quantized_write(x, range);
        else if (range->is_index) write_indices(x, range);
        else write_floats(x, range);
    }
}
