/* Efficiencies of one machine, for when nobody wants to measure: printed by `bench --group project`. */
#include "elegans/project.h"

void eg_efficiency_default(eg_efficiency *out) { *out = (eg_efficiency){.error = 0.1}; }
