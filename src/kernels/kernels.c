/* The kernel table and the choice of a kernel per operation. */
#include "kernels/kernels.h"

#include <string.h>

enum {
#define ISA(name, lanes, ...) LANES_##name = lanes,
#include "kernels/kernels.def"
    LANES_cblas = 1, /* nobody knows */
};

static const eg__kernel table[] = {
#define KERNEL(op, set, ...)               \
    {.operation = EG__OP_##op,             \
     .isa = #set,                          \
     .name = #op "_" #set,                 \
     .function = {.op = eg__##op##_##set}, \
     .lanes = LANES_##set,                 \
     .features = __VA_ARGS__},
#include "kernels/kernels.def"
};
enum { ROWS = sizeof table / sizeof *table };

static const struct {
    const char *name, *text;
    eg__kernel_scratch_function *scratch; /* NULL = none */
} operations[EG__OP_COUNT] = {
#define eg__scratch_none               NULL
#define OPERATION(name, text, scratch) {#name, text, eg__scratch_##scratch},
#include "kernels/kernels.def"
};

static const eg__isa isas[] = {
#define ISA(name, lanes, bytes, features) {#name, lanes, bytes, features},
#include "kernels/kernels.def"
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

size_t eg__kernel_scratch(const eg__kernel *kernel, const eg__kernel_shape *shape) {
    eg__kernel_scratch_function *scratch =
        kernel->scratch ? kernel->scratch : operations[kernel->operation].scratch;
    return scratch ? scratch(shape) : 0;
}

/* Without a row for `isa` only ref would be chosen, so this is an error. */
static eg_status check_isa(unsigned features, const char *isa, eg_error *error) {
    bool known = false;
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(table[i].isa, isa) != 0 || table[i].whole) continue;
        if ((table[i].features & ~features) == 0) return EG_OK;
        known = true;
    }
    return known
               ? eg__fail(error, EG_ERR_UNSUPPORTED, "this machine cannot run isa '%s'", isa)
               : eg__fail(error, EG_ERR_UNSUPPORTED, "no kernels for isa '%s' in this build", isa);
}

static void take(eg__kernels *out, const eg__kernel *row) {
    switch (row->operation) {
#define OPERATION(name, ...)            \
    case EG__OP_##name:                 \
        out->name = row->function.name; \
        break;
#include "kernels/kernels.def"
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
    out->table = table;
    out->blocks = EG__GEMM_BLOCKS;
    out->rows = ROWS;
    out->features = isa ? features & eg__isa_named(isa)->features : features;
    for (unsigned i = 0; i < EG__OP_COUNT; i++) take(out, eg__kernels_pick(out, i, NULL));
    out->isa = out->row[EG__OP_gemm_f32]->isa;
    return EG_OK;
}

const eg__kernel *eg__kernels_pick(const eg__kernels *kernels, eg__operation operation,
                                   const eg__kernel_shape *shape) {
    for (size_t i = 0; i < kernels->rows; i++) {
        const eg__kernel *row = &kernels->table[i];
        if (row->operation != operation || (row->features & ~kernels->features)) continue;
        if (row->whole && (!shape || shape->cut)) continue;
        const bool large = shape && shape->m >= row->least.m && shape->n >= row->least.n &&
                           shape->k >= row->least.k;
        const bool any = !row->least.m && !row->least.n && !row->least.k;
        if (any || large) return row;
    }
    return NULL; /* always found: each operation ends with a row for any machine and shape */
}
