/* Processors that are neither x86-64 nor aarch64: nothing to ask but the system's name for them. */
#include "chip/detect.h"

#include <sys/utsname.h>

bool eg__processor_ask(uint64_t hwcap, uint64_t hwcap2, eg_chip *chip) {
    (void)hwcap, (void)hwcap2;
    struct utsname name;
    if (uname(&name) == 0) snprintf(chip->arch, sizeof chip->arch, "%.15s", name.machine);
    return false;
}
