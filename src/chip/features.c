/* Instruction sets: what cpuid, the kernel's capability words and /proc/cpuinfo call them. */
#include "chip/detect.h"

#include <stdlib.h>
#include <string.h>

const char *eg_cpu_feature_name(unsigned feature) {
    switch (feature) {
#define NAME(name, bit, text) \
    case name: return text;
        EG_CPU_MAP(NAME)
#undef NAME
    }
    return NULL;
}

eg_provenance eg_cpu_feature_provenance(unsigned feature) {
    if (!eg_cpu_feature_name(feature)) return EG_UNAVAILABLE;
    return feature == EG_CPU_APPLE_AMX ? EG_TABLE : EG_COUNTED;
}

unsigned eg_chip_amx_generation(const eg_chip_row *row) {
    if (!row || strcmp(row->matrix_unit, "AMX") != 0 || row->name[0] != 'M') return 0;
    return (unsigned)strtoul(row->name + 1, NULL, 10); /* chips are named after it: "M2 Max" */
}

/* What a system that does not save a kind of register makes useless, whatever the processor says. */
static unsigned with_dependencies(unsigned features) {
    const unsigned need_avx = EG_CPU_AVX2 | EG_CPU_FMA | EG_CPU_F16C | EG_CPU_AVX_VNNI;
    const unsigned avx512 = EG_CPU_AVX512 | EG_CPU_AVX512_VNNI | EG_CPU_AVX512_BF16;
    if (!(features & EG_CPU_AVX)) features &= ~(need_avx | avx512);
    if (!(features & EG_CPU_AVX512)) features &= ~avx512;
    if (!(features & EG_CPU_AMX_TILE)) features &= ~(unsigned)(EG_CPU_AMX_BF16 | EG_CPU_AMX_INT8);
    return features;
}

unsigned eg__features_from_cpuid(const eg__cpuid *id) {
    const uint64_t ymm = 0x6, zmm = 0xe6, tiles = 0x60000; /* register files in XCR0 */
    /* the processor's F, DQ, BW and VL: only together are they what our kernels are built for */
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    const struct {
        unsigned feature;
        bool there;
        uint64_t registers; /* which the system must save */
    } rows[] = {
        {EG_CPU_SSE42, id->leaf1_ecx >> 20 & 1, 0},
        {EG_CPU_AVX, id->leaf1_ecx >> 28 & 1, ymm},
        {EG_CPU_FMA, id->leaf1_ecx >> 12 & 1, ymm},
        {EG_CPU_F16C, id->leaf1_ecx >> 29 & 1, ymm},
        {EG_CPU_AVX2, id->leaf7_ebx >> 5 & 1, ymm},
        {EG_CPU_AVX_VNNI, id->leaf7_1_eax >> 4 & 1, ymm},
        {EG_CPU_AVX512, (id->leaf7_ebx & avx512) == avx512, zmm},
        {EG_CPU_AVX512_VNNI, id->leaf7_ecx >> 11 & 1, zmm},
        {EG_CPU_AVX512_BF16, id->leaf7_1_eax >> 5 & 1, zmm},
        {EG_CPU_AMX_TILE, id->leaf7_edx >> 24 & 1, tiles},
        {EG_CPU_AMX_BF16, id->leaf7_edx >> 22 & 1, tiles},
        {EG_CPU_AMX_INT8, id->leaf7_edx >> 25 & 1, tiles},
    };
    unsigned features = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].there && (id->xcr0 & rows[i].registers) == rows[i].registers)
            features |= rows[i].feature;
    return with_dependencies(features);
}

/* The numbers of Linux's <asm/hwcap.h> for aarch64, written out so that they can be tested and
 * built elsewhere. */
unsigned eg__features_from_hwcap(uint64_t hwcap, uint64_t hwcap2) {
    static const struct {
        unsigned feature;
        int word, bit;
    } rows[] = {
        {EG_CPU_NEON, 1, 1},  {EG_CPU_FP16, 1, 10}, {EG_CPU_DOTPROD, 1, 20},
        {EG_CPU_SVE, 1, 22},  {EG_CPU_FHM, 1, 23},  {EG_CPU_I8MM, 2, 13},
        {EG_CPU_BF16, 2, 14}, {EG_CPU_SME, 2, 23},  {EG_CPU_SME2, 2, 37},
    };
    unsigned features = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((rows[i].word == 1 ? hwcap : hwcap2) >> rows[i].bit & 1) features |= rows[i].feature;
    return features;
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

unsigned eg__features_from_words(const char *words) {
    static const struct {
        unsigned feature;
        const char *word;
    } rows[] = {
        {EG_CPU_SSE42, "sse4_2"},
        {EG_CPU_AVX, "avx"},
        {EG_CPU_AVX2, "avx2"},
        {EG_CPU_FMA, "fma"},
        {EG_CPU_F16C, "f16c"},
        {EG_CPU_AVX512_VNNI, "avx512_vnni"},
        {EG_CPU_AVX512_BF16, "avx512_bf16"},
        {EG_CPU_AVX_VNNI, "avx_vnni"},
        {EG_CPU_AMX_TILE, "amx_tile"},
        {EG_CPU_AMX_BF16, "amx_bf16"},
        {EG_CPU_AMX_INT8, "amx_int8"},
        {EG_CPU_NEON, "asimd"},
        {EG_CPU_FP16, "asimdhp"},
        {EG_CPU_DOTPROD, "asimddp"},
        {EG_CPU_I8MM, "i8mm"},
        {EG_CPU_BF16, "bf16"},
        {EG_CPU_FHM, "asimdfhm"},
        {EG_CPU_SVE, "sve"},
        {EG_CPU_SME, "sme"},
        {EG_CPU_SME2, "sme2"},
    };
    unsigned features = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has_word(words, rows[i].word)) features |= rows[i].feature;
    if (has_word(words, "avx512f") && has_word(words, "avx512dq") && has_word(words, "avx512bw") &&
        has_word(words, "avx512vl"))
        features |= EG_CPU_AVX512;
    return with_dependencies(features);
}
