/* What the files of src/chip share. A machine is told by texts; `root` NULL reads those of this
 * machine, else it is a folder that holds the same files as recorded on another one. */
#ifndef EG__CHIP_DETECT_H
#define EG__CHIP_DETECT_H

#include "chip/chip.h"

#include <stdio.h>

/* Plausible limits; a value outside is a broken report. */
enum { EG__CORES_LIMIT = 65536, EG__PAGE_LIMIT = 1 << 30, EG__LINE_LIMIT = 4096 };
#define EG__CACHE_LIMIT  (UINT64_C(1) << 36)
#define EG__MEMORY_LEAST (UINT64_C(1) << 20)
#define EG__MEMORY_LIMIT (UINT64_C(1) << 56)

/* ---- text.c */

/* A text that is read once without allocating: fopen allocates, and if that failed a file would
 * seem to be missing. */
typedef struct eg__text {
    int descriptor;             /* -1 = `bytes` are all there is */
    const unsigned char *bytes; /* in the buffer, or the caller's */
    size_t at, length;
    unsigned char buffer[2048];
} eg__text;
eg__text eg__text_of_bytes(const void *bytes, size_t length);
int eg__text_byte(eg__text *text); /* -1 at the end */
/* The next line without its end; control characters become blanks, what does not fit is dropped.
 * False at the end of the text. */
bool eg__line_read(eg__text *text, char *line, size_t size);
/* Cuts `line` at its first colon; both parts without blanks around them. False without a colon. */
bool eg__line_split(char *line, char **key, char **value);
/* Copies printable ASCII with single blanks between words, so that it can be shown anywhere. */
void eg__text_clean(char *out, size_t size, const char *text, size_t length);
/* A whole number below 2^63, decimal or with 0x in front; nothing around it. */
bool eg__text_number(const char *text, uint64_t *out);
bool eg__text_equal(const char *a, const char *b); /* ASCII case does not matter */
/* The number in `text` when it is within low..high; else 0, with a warning that names `what`. No
 * text is no warning: most facts may be missing. */
uint64_t eg__plausible(const eg__log *log, const char *what, const char *text, uint64_t low,
                       uint64_t high);
/* The same for a number that is one already; 0 is no warning. */
uint64_t eg__plausible_number(const eg__log *log, const char *what, uint64_t number, uint64_t low,
                              uint64_t high);

/* ---- root.c: files below a root; a missing file is an empty one */
bool eg__root_open(const char *root, const char *path,
                   eg__text *out); /* false when there is none */
void eg__root_close(eg__text *text);
bool eg__root_has(const char *root, const char *path);
size_t eg__root_read(const char *root, const char *path, char *out, size_t size); /* raw bytes */
bool eg__root_text(const char *root, const char *path, char *out, size_t size);   /* cleaned */
bool eg__root_number(const char *root, const char *path, uint64_t *out);

/* ---- features.c: each source of instruction sets to eg_cpu_feature bits */
typedef struct eg__cpuid {
    uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx, leaf7_1_eax;
    uint64_t xcr0; /* 0 when the system does not use XSAVE */
} eg__cpuid;
unsigned eg__features_from_cpuid(const eg__cpuid *id);
unsigned eg__features_from_hwcap(uint64_t hwcap, uint64_t hwcap2); /* Linux on aarch64 */
unsigned eg__features_from_words(const char *words); /* "flags" and "Features" of /proc/cpuinfo */

/* ---- processor_*.c: asks the processor itself for vendor, name, family, features, hypervisor.
 * False where there is no way to. The two words are Linux's AT_HWCAP and AT_HWCAP2. */
bool eg__processor_ask(uint64_t hwcap, uint64_t hwcap2, eg_chip *chip);

/* ---- names.c */
const char *eg__vendor_name(const char *id);            /* "GenuineIntel" -> "Intel" */
const char *eg__hypervisor_name(const char *signature); /* "KVMKVMKVM" -> "kvm" */
void eg__midr_decode(uint32_t midr, eg_chip *chip);     /* vendor, name, family of an ARM core */
uint32_t eg__midr_bigger(uint32_t a, uint32_t b);       /* the faster of a machine's two kinds */

/* ---- cpuinfo.c */
typedef struct eg__cpuinfo {
    unsigned processors, cores, packages; /* 0 = not told */
} eg__cpuinfo;
void eg__cpuinfo_read(eg__text *file, const eg__log *log, eg_chip *chip, eg__cpuinfo *counts);

/* ---- meminfo.c: bytes, the container's limits included; 0 = not told */
void eg__meminfo_read(const char *root, const eg__log *log, uint64_t *total, uint64_t *available);

/* ---- topology_hwloc.c, topology_nohwloc.c: kinds, caches, packages, nodes, page size. Not
 * *told when hwloc cannot tell; topology_files.c then tells less. */
eg_status eg__topology_read(const char *root, const eg__log *log, eg_chip *chip, bool *told,
                            eg_error *error);
void eg__topology_from_files(const char *root, const eg__log *log, const eg__cpuinfo *counts,
                             eg_chip *chip);
/* What is wrong with hwloc's XML in `file`; NULL when hwloc may load it. (xml_hwloc.c) */
const char *eg__hwloc_xml_fault(eg__text *file);

/* ---- cores_linux.c, cores_macos.c: the cores this thread may run on; false = not told */
bool eg__cores_usable(unsigned *cores, unsigned *threads);
/* cores_linux.c alone: among the allowed hardware threads, how many cores there are, and those of the
 * index-th one in the order of falling speed, then of rising number; false when there is none. */
enum { EG__MASK_WORDS = 64 };
typedef struct eg__cpu_mask {
    uint64_t words[EG__MASK_WORDS];
} eg__cpu_mask;
unsigned eg__cores_count(const char *root, const eg__cpu_mask *allowed);
bool eg__core_pick(const char *root, const eg__cpu_mask *allowed, unsigned index,
                   eg__cpu_mask *out);

/* ---- linux_files.c: a Linux machine. `asked`: the processor has told about itself, which is better
 * than /proc/cpuinfo (under an emulator that describes the machine around it). */
eg_status eg__linux_detect(const char *root, bool asked, const eg__log *log, eg_chip *chip,
                           eg_error *error);

/* ---- sysctl.c, sysctl_dump.c: a macOS machine from the values of a fixed list of keys */
enum { EG__SYSCTL_KEYS = 80, EG__SYSCTL_SIZE = 96 };
typedef struct eg__sysctl_key {
    const char *name; /* NULL ends the list */
    bool is_text;     /* else a number */
} eg__sysctl_key;
extern const eg__sysctl_key eg__sysctl_keys[EG__SYSCTL_KEYS];
typedef struct eg__sysctl_facts {
    char values[EG__SYSCTL_KEYS][EG__SYSCTL_SIZE]; /* "" = not told */
} eg__sysctl_facts;
void eg__sysctl_dump_read(eg__text *file, eg__sysctl_facts *out);
void eg__sysctl_decode(const eg__sysctl_facts *facts, const eg__log *log, eg_chip *chip);
uint64_t eg__sysctl_memory_available(const eg__sysctl_facts *facts);

/* ---- live_linux.c, live_macos.c: this machine */
eg_status eg__live_detect(const eg__log *log, eg_chip *chip, eg_error *error);
uint64_t eg__live_memory_available(void);

/* ---- chip_table.c */
extern const char eg__chips_csv[]; /* data/chips.csv, made a string by the build */
/* Row `index` (0 = the first below the heading) of any table with those columns. */
eg_status eg__chip_row_parse(const char *csv, size_t length, size_t index, eg_chip_row *out,
                             eg_error *error);
/* The row with that core part or cpufamily, if just one row has it. */
bool eg__chip_table_find_only(uint32_t midr_part, uint32_t cpufamily, eg_chip_row *out);

/* ---- fingerprint.c: fills chip->fingerprint from the rest */
void eg__chip_fingerprint(eg_chip *chip);
/* The same whatever part of its cores may be used, as long as the fastest kind is among them. */
void eg__chip_hardware(const eg_chip *chip, char out[17]);

#endif
