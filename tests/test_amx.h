/* AMX on machines that have none. */
#ifndef EG__TEST_AMX_H
#define EG__TEST_AMX_H

#include "kernels/amx/amx_model.h"

/* Whether the model executes its instructions: called by the kernels, or by who catches the words (amx_trap.c). */
static inline bool amx_is_modelled(void) {
#if defined(__linux__)
    return true;
#else
    return !EG__AMX_WORDS;
#endif
}

#endif
