/* What machine is this: the chip as detected, and the table of known chips.
 * Experimental. */
#ifndef ELEGANS_CHIP_H
#define ELEGANS_CHIP_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Instruction sets that both the processor and the system support. */
#define EG_CPU_MAP(X)                                                                         \
    X(EG_CPU_SSE42, 0, "sse4.2")                                                              \
    X(EG_CPU_AVX, 1, "avx")                                                                   \
    X(EG_CPU_AVX2, 2, "avx2")                                                                 \
    X(EG_CPU_FMA, 3, "fma")                                                                   \
    X(EG_CPU_F16C, 4, "f16c")                                                                 \
    X(EG_CPU_AVX512, 5, "avx512") /* F, DQ, BW and VL together: Skylake-X, Zen 4 and later */ \
    X(EG_CPU_AVX512_VNNI, 6, "avx512_vnni")                                                   \
    X(EG_CPU_AVX512_BF16, 7, "avx512_bf16")                                                   \
    X(EG_CPU_AVX_VNNI, 8, "avx_vnni")                                                         \
    X(EG_CPU_AMX_TILE, 9, "amx_tile") /* Intel's, not Apple's */                              \
    X(EG_CPU_AMX_BF16, 10, "amx_bf16")                                                        \
    X(EG_CPU_AMX_INT8, 11, "amx_int8")                                                        \
    X(EG_CPU_NEON, 16, "neon")                                                                \
    X(EG_CPU_FP16, 17, "fp16")                                                                \
    X(EG_CPU_DOTPROD, 18, "dotprod")                                                          \
    X(EG_CPU_I8MM, 19, "i8mm")                                                                \
    X(EG_CPU_BF16, 20, "bf16")                                                                \
    X(EG_CPU_FHM, 21, "fhm")                                                                  \
    X(EG_CPU_SVE, 22, "sve")                                                                  \
    X(EG_CPU_SME, 23, "sme")                                                                  \
    X(EG_CPU_SME2, 24, "sme2")                                                                \
    X(EG_CPU_APPLE_AMX, 25, "apple_amx") /* by chip, on macOS: no system reports it */

typedef enum eg_cpu_feature {
#define EG_CPU_ENUM(name, bit, text) name = 1 << bit,
    EG_CPU_MAP(EG_CPU_ENUM)
#undef EG_CPU_ENUM
} eg_cpu_feature;

/* The name of a single feature bit; NULL for an unknown bit. Static. */
EG_API const char *eg_cpu_feature_name(unsigned feature);
/* Where a feature bit comes from: EG_COUNTED where processor and system report it, EG_TABLE where only the chip table
 * knows it (apple_amx), EG_UNAVAILABLE for an unknown bit. */
EG_API eg_provenance eg_cpu_feature_provenance(unsigned feature);

/* One kind of core. Kind 0 is the fastest; a machine with equal cores has one kind. A size of 0
 * bytes or a clock of 0 MHz means that the system does not report it. */
enum { EG_CORE_KINDS_MAX = 4 };
typedef struct eg_core_kind {
    char name[32];      /* "Performance", "Efficiency", "Super", ... or "Core" */
    unsigned cores;     /* physical cores that the container and this thread's affinity allow */
    unsigned threads;   /* hardware threads on them */
    uint64_t l1i_bytes; /* per core */
    uint64_t l1d_bytes; /* per core */
    uint64_t l2_bytes;  /* per cluster of l2_cores cores */
    unsigned l2_cores;
    double max_mhz;
} eg_core_kind;

/* A row of data/chips.csv, the table of known chips. Figures are those of the full chip; a chip may
 * be sold with fewer cores: the bins. NAN, 0 or "" where the table is blank: unknown. */
typedef struct eg_chip_row {
    char name[32];        /* "M1 Max" */
    char soc[32];         /* "T6001"; several: "T6031|T6034" */
    char device_tree[48]; /* "apple,t6001"; several with "|" */
    char codename[32];    /* "Jade 1C" */
    uint32_t cpufamily;
    unsigned fast_midr_part, slow_midr_part; /* part numbers in the cores' MIDR registers */
    unsigned year;
    char process[32];
    char fast_kind[16], slow_kind[16]; /* "Performance", "Super", ... */
    char fast_name[32], slow_name[32]; /* the design: "Firestorm" */
    unsigned fast_cores, slow_cores;
    char fast_core_bins[16]; /* "6/8" */
    double fast_mhz, slow_mhz;
    double fast_l1i_kb, fast_l1d_kb, slow_l1i_kb, slow_l1d_kb; /* per core; 1 kb = 1024 bytes */
    unsigned fast_clusters, slow_clusters;
    double fast_l2_mb, slow_l2_mb; /* per cluster; 1 mb = 1024 kb */
    double slc_mb;                 /* system-level cache */
    unsigned gpu_cores;
    char gpu_core_bins[16];
    double gpu_mhz, gpu_tflops; /* f32 peak */
    unsigned ane_cores;
    double ane_tops;        /* as advertised */
    double ane_fp16_tflops; /* as measured by others */
    double memory_gbs;      /* 10^9 bytes per second */
    char memory_gbs_bins[32];
    double memory_max_gb;
    char memory_type[32]; /* "LPDDR5-6400": the number is MT/s */
    unsigned memory_bus_bits;
    unsigned fast_fma_pipes; /* 128-bit FMAs that start per cycle in one fast core */
    double fast_core_gflops; /* f32 FMA peak of one fast core */
    char matrix_unit[16];    /* "AMX", "SME2" */
    unsigned matrix_units;   /* one per cluster */
    double matrix_gflops;    /* f32, one unit of a fast cluster */
    double cpu_watts, gpu_watts, package_watts; /* under load, as power_source says */
    char power_source[128];
    char notes[512];
    char confidence[16]; /* "high", "medium", ... */
    char sources[512];
} eg_chip_row;

EG_API size_t eg_chip_table_size(void);
/* Fills *out with row `index`. */
EG_API eg_status eg_chip_table_get(size_t index, eg_chip_row *out, eg_error *error);
/* By name ("M1 Max", "Apple M1 Max"), SoC id ("T6001"), device-tree name ("apple,t6001") or
 * cpufamily ("0x1b588bb3"; the first row that has it). Case does not matter. EG_ERR_NOT_FOUND names
 * what was asked. */
EG_API eg_status eg_chip_table_find(const char *key, eg_chip_row *out, eg_error *error);

/* The generation of Apple's AMX in a chip: 1 (M1), 2 (M2: bf16), 3 (M3); 0 = it has none. */
EG_API unsigned eg_chip_amx_generation(const eg_chip_row *row);

/* The machine as detected. Texts are "" and numbers 0 where the system does not report them. */
typedef struct eg_chip {
    char name[96];   /* "Apple M1 Max", "AMD EPYC 7B13" */
    char vendor[32]; /* "Apple", "AMD", "Intel", "ARM" */
    char model[64];  /* the machine: "Mac13,1", "Raspberry Pi 5 Model B Rev 1.0" */
    char system[64]; /* "Linux 6.1", "macOS 14.5" */
    char arch[16];   /* "x86_64", "aarch64" */
    char
        hypervisor[32]; /* "kvm", ..., "unknown"; "" on bare metal or where it cannot be detected */
    /* x86: family, model, stepping. ARM: implementer, part, variant * 16 + revision. macOS on
     * Apple's chips: hw.cpufamily, hw.cpusubfamily, 0. */
    uint32_t cpu_family, cpu_model, cpu_stepping;
    int in_table; /* 1: `row` is the chip's row of the table */
    eg_chip_row row;
    unsigned kind_count;
    eg_core_kind kinds[EG_CORE_KINDS_MAX];
    unsigned cores, threads; /* sums over the kinds */
    uint64_t l3_bytes;       /* per last-level cache; 0 = none or unknown */
    unsigned l3_count;
    uint64_t slc_bytes;  /* system-level cache, from the table only */
    unsigned cache_line; /* bytes */
    unsigned page_size;  /* bytes */
    unsigned packages, numa_nodes;
    uint64_t memory_bytes;     /* installed (a limit of the container, when it is smaller) */
    uint64_t memory_available; /* at the time of detection */
    unsigned features;         /* eg_cpu_feature bits */
    char fingerprint[24];      /* stable name of this machine's hardware, for caches */
    char topology_source[48];  /* source of cores and caches: "hwloc 2.9.0", "sysctl" */
} eg_chip;

/* Detects the machine again, outside any context. `system_root` NULL = this machine; else a folder
 * holding a recorded one. Missing or absurd values become unknown (0 or "") with a warning to `log`, which
 * may be NULL; only a root without any machine is an error. */
EG_API eg_status eg_chip_detect(const char *system_root, eg_log_function log, void *log_user,
                                eg_chip *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
