/* The public questions about a context's memory. */
#include "engine/context.h"

static eg_status check(const eg_context *context, const void *out, eg_error *error) {
    if (context && out) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer for the result");
}

eg_status eg_memory_query(const eg_context *context, eg_tag tag, eg_memory_figures *out,
                          eg_error *error) {
    if (check(context, out, error)) return EG_ERR_ARGUMENT;
    if ((unsigned)tag > EG_TAG_COUNT)
        return eg__fail(error, EG_ERR_ARGUMENT, "no memory tag %d", (int)tag);
    eg__memory_figures_get(context->memory, tag, out);
    return EG_OK;
}

void eg_memory_reset_peak(eg_context *context) { eg__memory_peak_reset(context->memory); }

eg_status eg_memory_pool_query(const eg_context *context, eg_memory_pool_figures *out,
                               eg_error *error) {
    if (check(context, out, error)) return EG_ERR_ARGUMENT;
    eg__memory_pool_figures_get(context->memory, out);
    return EG_OK;
}

uint64_t eg_memory_empty_cache(eg_context *context) {
    return eg__memory_cache_empty(context->memory);
}

eg_status eg_memory_mark_take(const eg_context *context, eg_memory_mark *out, eg_error *error) {
    if (check(context, out, error)) return EG_ERR_ARGUMENT;
    eg__memory_mark_get(context->memory, out);
    return EG_OK;
}

eg_status eg_memory_growth_check(const eg_context *context, const eg_memory_mark *mark,
                                 uint64_t tolerance, eg_memory_growth *out, eg_error *error) {
    if (check(context, out, error) || check(context, mark, error)) return EG_ERR_ARGUMENT;
    eg__memory_growth_get(context->memory, mark, tolerance, out);
    return EG_OK;
}
