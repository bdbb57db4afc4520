/* A software model of the AMX instructions that our kernels use: registers, every field of their operands, what each
 * generation has, and what the processor refuses. */
#ifndef EG__AMX_MODEL_H
#define EG__AMX_MODEL_H

#include "kernels/amx/amx.h"

typedef struct eg__amx_state {
    uint8_t x[512], y[512], z[64][64];
    bool on;
    unsigned generation;           /* 1 = M1 .. 3 = M3 */
    uint64_t count[EG__AMX_COUNT]; /* instructions executed, by number */
} eg__amx_state;

/* The state of the calling thread: off at first, of the newest generation. */
eg__amx_state *eg__amx_state_here(void);
/* Executes one instruction; NULL, or why a processor of that generation (or this model) refuses it. */
const char *eg__amx_execute(eg__amx_state *state, unsigned number, unsigned register_,
                            uint64_t operand);
/* The same of the calling thread; what is refused raises SIGILL, as the processor does. */
void eg__amx_model(unsigned number, unsigned register_, uint64_t operand);

#endif
