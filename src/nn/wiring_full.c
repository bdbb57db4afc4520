/* The full wiring: a synapse from everything to every unit, a third of them inhibitory. */
#include "nn/wiring_draw.h"

static int polarity(eg__pcg *pcg) { return eg__pcg_bounded(pcg, 2) ? 1 : -1; }

void eg__wiring_draw_full(eg__wiring *w, eg__pcg *pcg) {
    for (uint32_t source = 0; source < w->units; source++)
        for (uint32_t destination = 0; destination < w->units; destination++)
            if (source != destination || !w->options.no_self)
                eg__wiring_set(w, source, destination, polarity(pcg));
}

void eg__wiring_draw_full_sensory(eg__wiring *w, eg__pcg *pcg) {
    for (uint32_t source = 0; source < w->inputs; source++)
        for (uint32_t destination = 0; destination < w->units; destination++)
            eg__wiring_set_sensory(w, source, destination, polarity(pcg));
}
