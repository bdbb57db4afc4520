/* The kernel table as the public interface shows it. */
#include "base/abi.h"
#include "elegans/kernels.h"
#include "engine/context.h"

#include <string.h>

size_t eg_kernel_count(void) { return eg__kernel_count(); }

eg_status eg_kernel_list(const eg_context *context, size_t index, eg_kernel_info *out,
                         eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    const eg__kernel *row = eg__kernel_row(index);
    if (!row)
        return eg__fail(error, EG_ERR_ARGUMENT, "kernel %zu is not below %zu", index,
                        eg__kernel_count());
    const eg_kernel_info info = {.operation = eg__operation_name(row->operation),
                                 .text = eg__operation_text(row->operation),
                                 .isa = row->isa,
                                 .features = row->features,
                                 .usable = (row->features & ~context->features) == 0,
                                 .selected = context->kernels.row[row->operation] == row};
    EG__INFO(eg_kernel_info, out, &info);
    return EG_OK;
}

const char *eg_kernel_refusal(const eg_context *context, size_t index) {
    const eg__kernel *row = context ? eg__kernel_row(index) : NULL;
    const unsigned missing = row ? row->features & ~context->features : 0;
    if (!missing) return "";
    if (missing & EG_CPU_APPLE_AMX && context->amx_refused[0]) return context->amx_refused;
    if (missing & EG_CPU_AMX_TILE && context->tile_refused[0]) return context->tile_refused;
    return "this machine lacks a feature that it needs";
}

static int is_usable(const eg_context *context, const char *isa) {
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        if (strcmp(row->isa, isa) == 0 && (row->features & ~context->features) == 0) return 1;
    }
    return 0;
}

eg_status eg_isa_list(const eg_context *context, size_t index, eg_isa_info *out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    const eg__isa *row = eg__isa_row(index);
    if (!row) return eg__fail(error, EG_ERR_ARGUMENT, "no instruction set %zu", index);
    eg_isa_info info = {.name = row->name,
                        .lanes = row->lanes,
                        .features = row->features,
                        .usable = is_usable(context, row->name)};
    EG__INFO(eg_isa_info, out, &info);
    return EG_OK;
}
