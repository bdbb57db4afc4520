/* The stored ceilings of this machine, as what a publisher holds its steps against. */
#include "base/base.h"
#include "elegans/measure.h"

#include <math.h>

static double known(const eg_metric *m) {
    return m->provenance == EG_UNAVAILABLE ? 0 : m->value * 1e9;
}

eg_status eg_publisher_ceilings(eg_context *context, int alone, eg_publisher_options *options,
                                eg_error *error) {
    if (!context || !options)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, or no options of a publisher");
    if (options->size < sizeof *options)
        return eg__fail(error, EG_ERR_ARGUMENT, "options of a publisher without levels of memory");
    eg_ceilings c;
    const eg_ceilings_options stored = {.size = sizeof stored, .stored = 1};
    const eg_status status = eg_ceilings_measure(context, &stored, &c, error);
    if (status) return status;
    const eg_chip *chip = eg_context_chip(context);
    const struct {
        uint64_t bytes;
        const eg_metric *one, *all;
    } levels[EG_PUBLISHER_LEVELS] = {{chip->kinds[0].l1d_bytes, &c.l1_one, &c.l1_all},
                                     {chip->kinds[0].l2_bytes, &c.l2_one, &c.l2_all},
                                     {chip->l3_bytes, &c.l3_one, &c.l3_all},
                                     {0, &c.dram_one, &c.dram_all}};
    options->peak_flops = known(alone ? &c.fma_one : &c.fma_all);
    for (int i = 0; i < EG_PUBLISHER_LEVELS; i++)
        options->levels[i] =
            (eg_memory_level){i + 1 < EG_PUBLISHER_LEVELS ? (double)levels[i].bytes : HUGE_VAL,
                              known(alone ? levels[i].one : levels[i].all)};
    return EG_OK;
}
