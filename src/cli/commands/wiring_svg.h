/* A wiring as a picture. */
#ifndef EG__WIRING_SVG_H
#define EG__WIRING_SVG_H

#include "cli/cli.h"

/* "inter", "command", "motor", or what fits another number of layers. */
const char *wiring_layer_name(const eg_wiring_info *info, uint32_t layer);

/* Columns of inputs and layers (a ring when there is one layer), synapses between them, a legend.
 * Returns -1 to go on, or the exit code after a message. */
int wiring_svg_write(const eg_wiring *wiring, const char *title, const char *path);

#endif
