/* Asks an ARM processor: features from the kernel's capability words, identity from MIDR. */
#include "chip/detect.h"

/* The kernel lists the register of every core. Where it does not (an emulator, an old kernel), it
 * may let us read that of the core we happen to be on, and says so in HWCAP_CPUID. */
static uint32_t midr_ask(uint64_t hwcap) {
    uint32_t midr = 0;
    for (unsigned cpu = 0; cpu < EG__CORES_LIMIT; cpu++) {
        char path[96];
        uint64_t value;
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/regs/identification/midr_el1",
                 cpu);
        if (!eg__root_number(NULL, path, &value)) break;
        midr = eg__midr_bigger(midr, (uint32_t)value);
    }
    if (!midr && hwcap >> 11 & 1) {
        uint64_t value;
        __asm__("mrs %0, midr_el1" : "=r"(value));
        midr = (uint32_t)value;
    }
    return midr;
}

bool eg__processor_ask(uint64_t hwcap, uint64_t hwcap2, eg_chip *chip) {
    snprintf(chip->arch, sizeof chip->arch, "aarch64");
    chip->features = eg__features_from_hwcap(hwcap, hwcap2);
    uint32_t midr = midr_ask(hwcap);
    if (midr) eg__midr_decode(midr, chip);
    return true;
}
