/* A Linux machine from the files of /proc and /sys, of this machine or recorded. */
#include "chip/detect.h"

#include <string.h>
#include <unistd.h>

static bool is_recorded(const char *root) {
    static const char *const files[] = {"proc/cpuinfo", "proc/meminfo", "hwloc.xml",
                                        "proc/device-tree/compatible"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (eg__root_has(root, files[i])) return true;
    return false;
}

/* "Linux 6.1.0-18-amd64", from the release alone or from "Linux version 6.1.0-18-amd64 (...". */
static void system_read(const char *root, eg_chip *chip) {
    char text[128], release[48];
    if (!eg__root_text(root, "proc/sys/kernel/osrelease", text, sizeof text) &&
        !eg__root_text(root, "proc/version", text, sizeof text))
        return;
    const char *from = strncmp(text, "Linux version ", 14) == 0 ? text + 14 : text;
    eg__text_clean(release, sizeof release, from, strcspn(from, " "));
    snprintf(chip->system, sizeof chip->system, "Linux %s", release);
}

/* The device tree names the board and then the chip: "apple,j293" "apple,t8103" "apple,arm-...". */
static void device_tree_read(const char *root, eg_chip *chip) {
    char names[512];
    size_t length = eg__root_read(root, "proc/device-tree/compatible", names, sizeof names - 1);
    names[length] = 0;
    for (const char *name = names; name < names + length && !chip->in_table;
         name += strlen(name) + 1)
        chip->in_table = name[0] && eg_chip_table_find(name, &chip->row, NULL) == EG_OK;
    if (!eg__root_text(root, "proc/device-tree/model", chip->model, sizeof chip->model))
        eg__root_text(root, "sys/class/dmi/id/product_name", chip->model, sizeof chip->model);
    if (chip->hypervisor[0]) return;
    length = eg__root_read(root, "proc/device-tree/hypervisor/compatible", names, sizeof names - 1);
    names[length] = 0;
    if (length)
        snprintf(chip->hypervisor, sizeof chip->hypervisor, "%s",
                 strstr(names, "kvm")   ? "kvm"
                 : strstr(names, "xen") ? "xen"
                                        : "unknown");
}

/* A container often hides the device tree; the number of the cores may do. */
static void table_match(eg_chip *chip) {
    if (!chip->in_table && strcmp(chip->vendor, "Apple") == 0 && chip->cpu_model)
        chip->in_table = eg__chip_table_find_only(chip->cpu_model, 0, &chip->row);
    if (!chip->in_table) return;
    snprintf(chip->name, sizeof chip->name, "Apple %s", chip->row.name);
    snprintf(chip->vendor, sizeof chip->vendor, "Apple");
}

static void clock_read(const char *root, const eg__log *log, eg_chip *chip) {
    char text[32];
    if (chip->kind_count != 1 || chip->kinds[0].max_mhz > 0 ||
        !eg__root_text(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text,
                       sizeof text))
        return;
    chip->kinds[0].max_mhz =
        (double)eg__plausible(log, "clock in kHz", text, 1000, 100000000) / 1e3;
}

eg_status eg__linux_detect(const char *root, bool asked, const eg__log *log, eg_chip *chip,
                           eg_error *error) {
    if (root && !is_recorded(root))
        return eg__fail(error, EG_ERR_NOT_FOUND, "no machine is recorded in '%s'", root);
    eg__cpuinfo counts = {0};
    if (!asked) {
        eg__text file;
        if (eg__root_open(root, "proc/cpuinfo", &file)) eg__cpuinfo_read(&file, log, chip, &counts);
        else eg__log_write(log, EG_LOG_WARNING, "chip: no cpuinfo, processor not told");
        eg__root_close(&file);
    }
    system_read(root, chip);
    device_tree_read(root, chip);
    table_match(chip);
    eg__meminfo_read(root, log, &chip->memory_bytes, &chip->memory_available);
    bool told;
    eg_status status = eg__topology_read(root, log, chip, &told, error);
    if (status) return status;
    if (!told) eg__topology_from_files(root, log, &counts, chip);
    clock_read(root, log, chip);
    if (!root) chip->page_size = (unsigned)sysconf(_SC_PAGESIZE);
    return EG_OK;
}
