/* The kernel table and the choice of a kernel per operation. */
#include "kernels/kernels.h"

#include <string.h>

static const eg__kernel table[] = {
#define OPERATION(name, text)
#define KERNEL(op, isa, features) {EG__OP_##op, #isa, features, {.op = eg__##op##_##isa}},
#include "kernels/kernels.def"
#undef OPERATION
#undef KERNEL
};
enum { ROWS = sizeof table / sizeof *table };

static const struct {
    const char *name, *text;
} operations[EG__OP_COUNT] = {
#define OPERATION(name, text) {#name, text},
#define KERNEL(op, isa, features)
#include "kernels/kernels.def"
#undef OPERATION
#undef KERNEL
};

static const eg__isa isas[] = {
#define ISA(name, lanes, bytes, features) {#name, lanes, bytes, features},
#define OPERATION(name, text)
#define KERNEL(op, isa, features)
#include "kernels/kernels.def"
#undef OPERATION
#undef KERNEL
};
enum { ISAS = sizeof isas / sizeof *isas };

const eg__isa *eg__isa_row(size_t index) { return index < ISAS ? &isas[index] : NULL; }

const eg__isa *eg__isa_named(const char *name) {
    for (size_t i = 0; i < ISAS; i++)
        if (strcmp(isas[i].name, name) == 0) return &isas[i];
    return NULL;
}

size_t eg__kernel_count(void) { return ROWS; }

const eg__kernel *eg__kernel_row(size_t index) { return index < ROWS ? &table[index] : NULL; }

const char *eg__operation_name(eg__operation operation) {
    return (unsigned)operation < EG__OP_COUNT ? operations[operation].name : "unknown";
}

const char *eg__operation_text(eg__operation operation) {
    return (unsigned)operation < EG__OP_COUNT ? operations[operation].text : "unknown";
}

/* Without a row for `isa` nothing would be chosen but ref: better to say so. */
static eg_status check_isa(unsigned features, const char *isa, eg_error *error) {
    bool known = false;
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(table[i].isa, isa) != 0) continue;
        if ((table[i].features & ~features) == 0) return EG_OK;
        known = true;
    }
    return known
               ? eg__fail(error, EG_ERR_UNSUPPORTED, "this machine cannot run isa '%s'", isa)
               : eg__fail(error, EG_ERR_UNSUPPORTED, "no kernels for isa '%s' in this build", isa);
}

static void take(eg__kernels *out, const eg__kernel *row) {
    switch (row->operation) {
#define OPERATION(name, text)           \
    case EG__OP_##name:                 \
        out->name = row->function.name; \
        break;
#define KERNEL(op, isa, features)
#include "kernels/kernels.def"
#undef OPERATION
#undef KERNEL
    case EG__OP_COUNT: break;
    }
    out->row[row->operation] = row;
}

eg_status eg__kernels_select(unsigned features, const char *isa, eg__kernels *out,
                             eg_error *error) {
    memset(out, 0, sizeof *out);
    if (isa) {
        eg_status status = check_isa(features, isa, error);
        if (status) return status;
    }
    const unsigned allowed = isa ? features & eg__isa_named(isa)->features : features;
    for (size_t i = 0; i < ROWS; i++) {
        const eg__kernel *row = &table[i];
        if (out->row[row->operation] || (row->features & ~allowed)) continue;
        take(out, row);
    }
    out->isa = out->row[EG__OP_gemm_f32]->isa;
    return EG_OK;
}
