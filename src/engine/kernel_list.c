/* The kernel table as the public interface shows it. */
#include "base/abi.h"
#include "elegans/kernels.h"
#include "engine/context.h"

#include <string.h>

size_t eg_kernel_count(void) { return eg__kernel_count(); }

static eg_status fill_kernel_list(const eg_context *context, size_t index, eg_kernel_info *out,
                                  eg_error *error) {
    if (!context || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no context or no place");
    const eg__kernel *row = eg__kernel_row(index);
    if (!row)
        return eg__fail(error, EG_ERR_ARGUMENT, "kernel %zu of %zu", index, eg__kernel_count());
    out->operation = eg__operation_name(row->operation);
    out->text = eg__operation_text(row->operation);
    out->isa = row->isa;
    out->features = row->features;
    out->usable = (row->features & ~context->features) == 0;
    out->selected = context->kernels.row[row->operation] == row;
    return EG_OK;
}

eg_status eg_kernel_list(const eg_context *context, size_t index, eg_kernel_info *out,
                         eg_error *error) {
    eg_kernel_info info = {.size = sizeof info};
    const eg_status status = fill_kernel_list(context, index, out ? &info : NULL, error);
    if (!status) EG__INFO(eg_kernel_info, out, &info);
    return status;
}

static int is_usable(const eg_context *context, const char *isa) {
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        if (strcmp(row->isa, isa) == 0 && (row->features & ~context->features) == 0) return 1;
    }
    return 0;
}

static eg_status fill_isa_list(const eg_context *context, size_t index, eg_isa_info *out,
                               eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or nowhere to put it");
    const eg__isa *row = eg__isa_row(index);
    if (!row) return eg__fail(error, EG_ERR_ARGUMENT, "no instruction set %zu", index);
    *out = (eg_isa_info){.name = row->name,
                         .lanes = row->lanes,
                         .features = row->features,
                         .usable = is_usable(context, row->name)};
    return EG_OK;
}

eg_status eg_isa_list(const eg_context *context, size_t index, eg_isa_info *out, eg_error *error) {
    eg_isa_info info = {.size = sizeof info};
    const eg_status status = fill_isa_list(context, index, out ? &info : NULL, error);
    if (!status) EG__INFO(eg_isa_info, out, &info);
    return status;
}
