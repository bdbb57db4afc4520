/* The random wiring: as many of all possible synapses as the sparsity leaves. */
#include "nn/wiring_draw.h"

#include <math.h>

eg_status eg__wiring_complete_random(eg__wiring_options *options, eg_error *error) {
    if (!options->has_sparsity) options->sparsity = 0;
    options->has_sparsity = true;
    if (options->sparsity >= 0 && options->sparsity < 1) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "sparsity '%g' of a random wiring is not within [0, 1)",
                    options->sparsity);
}

static int polarity(eg__pcg *pcg) { return eg__pcg_bounded(pcg, 2) ? 1 : -1; }

/* The number of synapses out of `possible`; rounds half to even, as numpy does. */
static uint32_t count_synapses(const eg__wiring *w, uint32_t possible) {
    return (uint32_t)rint((double)possible * (1.0 - w->options.sparsity));
}

eg_status eg__wiring_draw_random(eg__wiring *w, eg__pcg *pcg, eg_error *error) {
    const uint32_t inner = w->units * w->units, outer = w->inputs * w->units;
    const uint32_t most = (uint32_t)eg__max(inner, outer);
    eg_error reason = {EG_ERR_MEMORY, ""};
    uint32_t *chosen =
        eg__memory_take_array(w->memory, EG_TAG_GRAPH, most, 2 * sizeof *chosen, &reason);
    if (!chosen) return eg__fail(error, reason.status, "%s", reason.message);
    uint32_t count = count_synapses(w, inner);
    eg__pcg_choice(pcg, inner, count, chosen, chosen + most);
    for (uint32_t i = 0; i < count; i++) w->adjacency[chosen[i]] = (int8_t)polarity(pcg);
    count = count_synapses(w, outer);
    eg__pcg_choice(pcg, outer, count, chosen, chosen + most);
    for (uint32_t i = 0; i < count; i++) {
        polarity(pcg); /* ncps draws two and uses the second */
        w->sensory[chosen[i]] = (int8_t)polarity(pcg);
    }
    eg__memory_give(w->memory, chosen);
    return EG_OK;
}
