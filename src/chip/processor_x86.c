/* Asks an x86 processor with cpuid, and with xgetbv what the system saves of it. The kernel's texts
 * are not used: under an emulator they describe the machine around it. */
#include "chip/detect.h"

#include <cpuid.h>
#include <string.h>

static uint64_t xcr0_read(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void features_ask(uint32_t leaf1_ecx, eg_chip *chip) {
    eg__cpuid id = {.leaf1_ecx = leaf1_ecx};
    uint32_t a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        uint32_t leaves = a;
        id.leaf7_ebx = b, id.leaf7_ecx = c, id.leaf7_edx = d;
        if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) id.leaf7_1_eax = a;
    }
    if (leaf1_ecx >> 27 & 1) id.xcr0 = xcr0_read(); /* OSXSAVE: xgetbv is allowed */
    chip->features = eg__features_from_cpuid(&id);
}

static void family_ask(uint32_t leaf1_eax, eg_chip *chip) {
    uint32_t family = leaf1_eax >> 8 & 15, model = leaf1_eax >> 4 & 15;
    if (family == 6 || family == 15) model += (leaf1_eax >> 16 & 15) << 4;
    if (family == 15) family += leaf1_eax >> 20 & 255;
    chip->cpu_family = family;
    chip->cpu_model = model;
    chip->cpu_stepping = leaf1_eax & 15;
}

/* Three registers that spell a word: the vendor's and the hypervisor's leaf. */
static void signature_clean(uint32_t first, uint32_t second, uint32_t third, char *out,
                            size_t size) {
    uint32_t words[3] = {first, second, third};
    char text[sizeof words];
    memcpy(text, words, sizeof text);
    eg__text_clean(out, size, text, sizeof text);
}

static void name_ask(eg_chip *chip) {
    uint32_t words[12];
    for (uint32_t i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                         &words[4 * i + 3]))
            return;
    char text[sizeof words];
    memcpy(text, words, sizeof text);
    eg__text_clean(chip->name, sizeof chip->name, text, sizeof text);
}

bool eg__processor_ask(uint64_t hwcap, uint64_t hwcap2, eg_chip *chip) {
    (void)hwcap, (void)hwcap2;
    uint32_t a, b, c, d;
    snprintf(chip->arch, sizeof chip->arch, "x86_64");
    if (!__get_cpuid(0, &a, &b, &c, &d)) return false;
    char signature[16];
    signature_clean(b, d, c, signature, sizeof signature);
    snprintf(chip->vendor, sizeof chip->vendor, "%s", eg__vendor_name(signature));
    name_ask(chip);
    if (!__get_cpuid(1, &a, &b, &c, &d)) return true;
    family_ask(a, chip);
    features_ask(c, chip);
    if (c >> 31 & 1) {
        /* not __get_cpuid: this leaf lies beyond the highest one that leaf 0 names */
        __cpuid(0x40000000, a, b, c, d);
        signature_clean(b, c, d, signature, sizeof signature);
        snprintf(chip->hypervisor, sizeof chip->hypervisor, "%s", eg__hypervisor_name(signature));
    }
    return true;
}
