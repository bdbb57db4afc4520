/* Instruction sets: the processor must have them and the system must save their registers. */
#include "test_chip.h"

enum { /* bits of cpuid leaf 1 ecx and leaf 7 ebx */
       SSE42 = 1 << 20,
       AVX = 1 << 28,
       FMA = 1 << 12,
       F16C = 1 << 29,
       AVX2 = 1 << 5,
};
#define AVX512_ALL (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31)

TEST(chip, features_need_processor_and_system) {
    const unsigned avx2 = EG_CPU_SSE42 | EG_CPU_AVX | EG_CPU_FMA | EG_CPU_F16C | EG_CPU_AVX2;
    const uint32_t leaf1 = SSE42 | AVX | FMA | F16C;
    const struct {
        const char *what;
        eg__cpuid id;
        unsigned features;
    } rows[] = {
        {"nothing", {0}, 0},
        {"Penryn", {.xcr0 = 0}, 0},
        {"Nehalem", {.leaf1_ecx = SSE42}, EG_CPU_SSE42},
        {"Haswell", {.leaf1_ecx = leaf1, .leaf7_ebx = AVX2, .xcr0 = 7}, avx2},
        {"a system without XSAVE", {.leaf1_ecx = leaf1, .leaf7_ebx = AVX2}, EG_CPU_SSE42},
        {"a system that saves only SSE",
         {.leaf1_ecx = leaf1, .leaf7_ebx = AVX2, .xcr0 = 3},
         EG_CPU_SSE42},
        {"AVX hidden", {.leaf1_ecx = leaf1 & ~AVX, .leaf7_ebx = AVX2, .xcr0 = 7}, EG_CPU_SSE42},
        {"Skylake-X",
         {.leaf1_ecx = leaf1, .leaf7_ebx = AVX2 | AVX512_ALL, .xcr0 = 0xe7},
         avx2 | EG_CPU_AVX512},
        {"Skylake-X, a system without ZMM",
         {.leaf1_ecx = leaf1, .leaf7_ebx = AVX2 | AVX512_ALL, .leaf7_ecx = 1 << 11, .xcr0 = 7},
         avx2},
        {"Knights Landing has no BW and VL",
         {.leaf1_ecx = leaf1, .leaf7_ebx = AVX2 | 1u << 16, .leaf7_ecx = 1 << 11, .xcr0 = 0xe7},
         avx2},
        {"Zen 4",
         {leaf1, AVX2 | AVX512_ALL, 1 << 11, 0, 1 << 5, 0xe7},
         avx2 | EG_CPU_AVX512 | EG_CPU_AVX512_VNNI | EG_CPU_AVX512_BF16},
        {"Alder Lake", {leaf1, AVX2, 0, 0, 1 << 4, 7}, avx2 | EG_CPU_AVX_VNNI},
        {"Sapphire Rapids, tiles not enabled", {leaf1, AVX2, 0, 1 << 24, 0, 0xe7}, avx2},
        {"Sapphire Rapids", {leaf1, AVX2, 0, 1 << 24, 0, 0x600e7}, avx2 | EG_CPU_AMX_TILE},
        {"the products of its tiles",
         {leaf1, AVX2, 0, 1 << 22 | 1 << 24 | 1 << 25, 0, 0x600e7},
         avx2 | EG_CPU_AMX_TILE | EG_CPU_AMX_BF16 | EG_CPU_AMX_INT8},
        {"tiles without bf16",
         {leaf1, AVX2, 0, 1 << 24 | 1 << 25, 0, 0x600e7},
         avx2 | EG_CPU_AMX_TILE | EG_CPU_AMX_INT8},
        {"products without tiles", {leaf1, AVX2, 0, 1 << 22 | 1 << 25, 0, 0x600e7}, avx2},
        {"only the configuration is saved",
         {leaf1, AVX2, 0, 1 << 22 | 1 << 24 | 1 << 25, 0, 0x200e7},
         avx2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned features = eg__features_from_cpuid(&rows[i].id);
        CHECK(features == rows[i].features, "%s: %x, expected %x", rows[i].what, features,
              rows[i].features);
    }
}

TEST(chip, features_from_hwcap) {
    static const struct {
        uint64_t hwcap, hwcap2;
        unsigned features;
    } rows[] = {{0, 0, 0},
                {0x2, 0, EG_CPU_NEON},
                {0x119fff, 0, EG_CPU_NEON | EG_CPU_FP16 | EG_CPU_DOTPROD}, /* Cortex-A76 */
                {UINT64_C(1) << 22, 0, EG_CPU_SVE},
                {UINT64_C(1) << 23, 0, EG_CPU_FHM},
                {0, UINT64_C(1) << 13, EG_CPU_I8MM},
                {0, UINT64_C(1) << 14, EG_CPU_BF16},
                {0, UINT64_C(1) << 23, EG_CPU_SME},
                {0, UINT64_C(1) << 37, EG_CPU_SME2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned features = eg__features_from_hwcap(rows[i].hwcap, rows[i].hwcap2);
        CHECK(features == rows[i].features, "row %zu: %x", i, features);
    }
}

TEST(chip, features_from_words) {
    static const struct {
        const char *words;
        unsigned features;
    } rows[] = {{"", 0},
                {"fpu sse4_2", EG_CPU_SSE42},
                {"sse4_2x xsse4_2 sse4_1", 0},
                {"avx2 fma", 0}, /* without avx they are useless */
                {"avx avx2 fma f16c", EG_CPU_AVX | EG_CPU_AVX2 | EG_CPU_FMA | EG_CPU_F16C},
                {"avx avx512f avx512dq avx512bw", EG_CPU_AVX},
                {"avx avx512f avx512dq avx512bw avx512vl", EG_CPU_AVX | EG_CPU_AVX512},
                {"amx_bf16 amx_tile amx_int8", EG_CPU_AMX_TILE | EG_CPU_AMX_BF16 | EG_CPU_AMX_INT8},
                {"amx_bf16 amx_int8", 0},
                {"fp asimd", EG_CPU_NEON},
                {"asimdhp asimddp asimd", EG_CPU_NEON | EG_CPU_FP16 | EG_CPU_DOTPROD},
                {"asimd sve sve2 i8mm bf16 sme",
                 EG_CPU_NEON | EG_CPU_SVE | EG_CPU_I8MM | EG_CPU_BF16 | EG_CPU_SME}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned features = eg__features_from_words(rows[i].words);
        CHECK(features == rows[i].features, "'%s': %x", rows[i].words, features);
    }
}

TEST(chip, feature_names) {
#define CHECK_NAME(name, bit, text) \
    CHECK(eg_cpu_feature_name(name) && strcmp(eg_cpu_feature_name(name), text) == 0, text);
    EG_CPU_MAP(CHECK_NAME)
#undef CHECK_NAME
    CHECK(!eg_cpu_feature_name(0) && !eg_cpu_feature_name(3) && !eg_cpu_feature_name(1u << 31),
          "a bit that is none has a name");
}

TEST(chip, core_names) {
    static const struct {
        uint32_t midr;
        const char *vendor, *name;
        uint32_t family, model, stepping;
    } rows[] = {{0x414fd0b1, "ARM", "Cortex-A76", 0x41, 0xd0b, 0x41},
                {0x611f0231, "Apple", "", 0x61, 0x23, 0x11},
                {0x410fd083, "ARM", "Cortex-A72", 0x41, 0xd08, 0x03},
                {0xc00fac30, "Ampere", "Ampere-1", 0xc0, 0xac3, 0},
                {0x000f0510, "", "", 0, 0x51, 0}}; /* qemu's "max" */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_chip chip = {0};
        eg__midr_decode(rows[i].midr, &chip);
        CHECK(strcmp(chip.vendor, rows[i].vendor) == 0 && strcmp(chip.name, rows[i].name) == 0,
              "%08x is '%s' '%s'", rows[i].midr, chip.vendor, chip.name);
        CHECK(chip.cpu_family == rows[i].family && chip.cpu_model == rows[i].model &&
                  chip.cpu_stepping == rows[i].stepping,
              "%08x is %x/%x/%x", rows[i].midr, chip.cpu_family, chip.cpu_model, chip.cpu_stepping);
    }
    CHECK(strcmp(eg__hypervisor_name("KVMKVMKVM"), "kvm") == 0, "kvm");
    CHECK(strcmp(eg__hypervisor_name("?"), "unknown") == 0, "unknown");
    CHECK(strcmp(eg__vendor_name("AuthenticAMD"), "AMD") == 0, "AMD");
    CHECK(strcmp(eg__vendor_name("SiS SiS SiS"), "SiS SiS SiS") == 0, "another vendor");
}

TEST(chip, amx_of_apple_is_of_the_table) {
    for (unsigned bit = 0; bit < 32; bit++) {
        const eg_provenance want = 1u << bit == EG_CPU_APPLE_AMX            ? EG_TABLE
                                   : eg_cpu_feature_name(1u << bit) != NULL ? EG_COUNTED
                                                                            : EG_UNAVAILABLE;
        CHECK(eg_cpu_feature_provenance(1u << bit) == want, "bit %u", bit);
    }
}
