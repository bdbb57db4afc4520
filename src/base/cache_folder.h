/* The folder for what is measured once per machine. */
#ifndef EG__CACHE_FOLDER_H
#define EG__CACHE_FOLDER_H

#include "base/base.h"

/* `given`, or else $XDG_CACHE_HOME/elegans or ~/.cache/elegans; with `make`, created if needed. False if there is none, or its path
 * leaves no 64 bytes for a name. */
bool eg__cache_folder(const char *given, bool make, char *out, size_t size);

#endif
