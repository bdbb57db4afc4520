/* Names for the numbers and signatures by which processors and hypervisors know themselves. */
#include "chip/detect.h"

#include <string.h>

typedef struct name_pair {
    const char *id, *name;
} name_pair;

static const char *look_up(const name_pair *pairs, size_t count, const char *id) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].id, id) == 0) return pairs[i].name;
    return NULL;
}

const char *eg__vendor_name(const char *id) {
    static const name_pair vendors[] = {
        {"GenuineIntel", "Intel"},   {"AuthenticAMD", "AMD"}, {"HygonGenuine", "Hygon"},
        {"CentaurHauls", "Centaur"}, {"Shanghai", "Zhaoxin"},
    };
    const char *name = look_up(vendors, sizeof vendors / sizeof *vendors, id);
    return name ? name : id;
}

const char *eg__hypervisor_name(const char *signature) {
    static const name_pair hypervisors[] = {
        {"KVMKVMKVM", "kvm"},           {"Linux KVM Hv", "kvm"},     {"TCGTCGTCGTCG", "qemu"},
        {"Microsoft Hv", "hyperv"},     {"VMwareVMware", "vmware"},  {"XenVMMXenVMM", "xen"},
        {"VBoxVBoxVBox", "virtualbox"}, {"prl hyperv", "parallels"}, {"bhyve bhyve", "bhyve"},
        {"ACRNACRNACRN", "acrn"},
    };
    const char *name = look_up(hypervisors, sizeof hypervisors / sizeof *hypervisors, signature);
    return name ? name : "unknown";
}

static const struct {
    uint32_t implementer;
    const char *name;
} implementers[] = {
    {0x41, "ARM"},       {0x42, "Broadcom"}, {0x43, "Cavium"},   {0x46, "Fujitsu"},
    {0x48, "HiSilicon"}, {0x4e, "NVIDIA"},   {0x51, "Qualcomm"}, {0x61, "Apple"},
    {0x6d, "Microsoft"}, {0xc0, "Ampere"},
};

static const struct {
    uint32_t implementer, part;
    const char *name;
} parts[] = {
    {0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd04, "Cortex-A35"},   {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd07, "Cortex-A57"},  {0x41, 0xd08, "Cortex-A72"},   {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},  {0x41, 0xd0b, "Cortex-A76"},   {0x41, 0xd0c, "Neoverse N1"},
    {0x41, 0xd0d, "Cortex-A77"},  {0x41, 0xd0e, "Cortex-A76AE"}, {0x41, 0xd40, "Neoverse V1"},
    {0x41, 0xd41, "Cortex-A78"},  {0x41, 0xd42, "Cortex-A78AE"}, {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"}, {0x41, 0xd47, "Cortex-A710"},  {0x41, 0xd48, "Cortex-X2"},
    {0x41, 0xd49, "Neoverse N2"}, {0x41, 0xd4b, "Cortex-A78C"},  {0x41, 0xd4c, "Cortex-X1C"},
    {0x41, 0xd4d, "Cortex-A715"}, {0x41, 0xd4e, "Cortex-X3"},    {0x41, 0xd4f, "Neoverse V2"},
    {0x41, 0xd80, "Cortex-A520"}, {0x41, 0xd81, "Cortex-A720"},  {0x41, 0xd82, "Cortex-X4"},
    {0x41, 0xd84, "Neoverse V3"}, {0x41, 0xd85, "Cortex-X925"},  {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse N3"}, {0x46, 0x001, "A64FX"},        {0x48, 0xd01, "Kunpeng 920"},
    {0x4e, 0x004, "Carmel"},      {0x51, 0x001, "Oryon"},        {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1a"},
};

void eg__midr_decode(uint32_t midr, eg_chip *chip) {
    uint32_t implementer = midr >> 24, part = midr >> 4 & 0xfff;
    chip->cpu_family = implementer;
    chip->cpu_model = part;
    chip->cpu_stepping = (midr >> 20 & 15) * 16 + (midr & 15);
    for (size_t i = 0; i < sizeof implementers / sizeof *implementers; i++)
        if (implementers[i].implementer == implementer)
            snprintf(chip->vendor, sizeof chip->vendor, "%s", implementers[i].name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].implementer == implementer && parts[i].part == part)
            snprintf(chip->name, sizeof chip->name, "%s", parts[i].name);
}

/* Of two designs that share a chip, makers have so far always given the faster the higher number:
 * A55/A76, A520/A720/X4, Icestorm/Firestorm. The order of the cores tells nothing. */
uint32_t eg__midr_bigger(uint32_t a, uint32_t b) {
    return (b >> 4 & 0xfff) > (a >> 4 & 0xfff) ? b : a;
}
