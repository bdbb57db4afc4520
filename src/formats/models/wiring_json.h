/* Wirings as JSON: units, inputs, outputs, layers, and every synapse. */
#ifndef EG__WIRING_JSON_H
#define EG__WIRING_JSON_H

#include "nn/wiring.h"

/* Text in memory of the wiring (EG_TAG_FILE), which the caller gives back. */
eg_status eg__wiring_to_json(const eg__wiring *wiring, char **text, size_t *length,
                             eg_error *error);
eg_status eg__wiring_from_json(eg__memory *memory, const char *text, size_t length,
                               eg__wiring **out, eg_error *error);

#endif
