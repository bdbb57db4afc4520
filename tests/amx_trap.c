/* AMX on a processor that has none: its words are illegal instructions, and whoever catches them executes them by the
 * model. So an ARM program runs the very words that a Mac runs, under qemu. */
#include "kernels/amx/amx_model.h"

#if EG__AMX_WORDS && defined(__aarch64__) && defined(__linux__)
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

/* A run of AMX words costs one signal. */
static void on_illegal(int number, siginfo_t *info, void *context) {
    enum { ZERO_REGISTER = 31, FIXED = 0x3ff };
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    (void)info;
    for (size_t executed = 0;; executed++, machine->pc += 4) {
        const uint32_t word = *(const uint32_t *)machine->pc;
        const unsigned from = word & 31;
        const bool is_amx = (word & ~(uint32_t)FIXED) == EG__AMX_BASE;
        const uint64_t operand = from == ZERO_REGISTER ? 0 : machine->regs[from];
        if (!is_amx && executed) return;
        if (!is_amx || eg__amx_execute(eg__amx_state_here(), word >> 5 & 31, from, operand)) {
            signal(number, SIG_DFL); /* the instruction is refused: again, and for good */
            return;
        }
    }
}

__attribute__((constructor)) static void install(void) {
    struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGILL, &action, NULL);
}
#endif
