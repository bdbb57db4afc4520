/* The context, as the library's own files see it. */
#ifndef EG__CONTEXT_H
#define EG__CONTEXT_H

#include "base/threads.h"
#include "chip/chip.h"
#include "elegans/context.h"
#include "elegans/tune.h"
#include "graph/device.h"
#include "kernels/kernels.h"
#include "memory/memory.h"

/* Only the list of devices changes after creation; memory and threads have their own locks. */
struct eg_context {
    eg__memory *memory;
    eg__log log;
    eg_chip chip;
    unsigned features;                 /* of this machine, even when the chip is a recorded one */
    char amx_refused[EG__AMX_REASON];  /* why AMX cannot be used though the chip has it; "" = no */
    char tile_refused[EG__AMX_REASON]; /* the same of Intel's AMX */
    eg__kernels kernels;
    eg__gemm_blocks modelled_blocks; /* from the sizes of the caches */
    eg_tuning tuning;                /* what was measured instead; all 0 = nothing */
    struct eg__cblas *cblas;         /* that it opened; NULL = none */
    eg__kernel *table;               /* rows of its own; NULL = those of the library */
    eg__threads *threads;
    bool maps_weights;       /* weight files are mapped, not read */
    eg__placement placement; /* devices beside the cores */
};

static inline eg__memory *eg__context_memory(const eg_context *context) { return context->memory; }
static inline bool eg__context_maps_weights(const eg_context *context) {
    return context->maps_weights;
}

/* Adds a device that programs may use, for the lifetime of the context. Call it before the first
 * program is compiled. */
eg_status eg__context_device_add(eg_context *context, eg__device *device, eg_error *error);
/* Costs that were measured, instead of modelled ones. */
void eg__context_costs_set(eg_context *context, eg__measured_cost *measured, void *user);

#endif
