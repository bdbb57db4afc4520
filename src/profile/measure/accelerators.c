/* Accelerators beside the cores, from system files and the chip table. */
#include "chip/detect.h"
#include "profile/measure/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append(char text[128], const char *format, ...) EG_PRINTF(2, 3);
static void append(char text[128], const char *format, ...) {
    size_t at = strlen(text);
    va_list arguments;
    if (at) at += (size_t)snprintf(text + at, 128 - at, ", ");
    if (at >= 128) return;
    va_start(arguments, format);
    vsnprintf(text + at, 128 - at, format, arguments);
    va_end(arguments);
}

/* "DRIVER=amdgpu" of a device's uevent file. */
static bool driver_of(const char *root, const char *path, char out[32]) {
    eg__text file;
    const bool there = eg__root_open(root, path, &file);
    char line[256];
    bool found = false;
    while (there && !found && eg__line_read(&file, line, sizeof line)) {
        found = strncmp(line, "DRIVER=", 7) == 0;
        if (found) eg__text_clean(out, 32, line + 7, strlen(line + 7));
    }
    eg__root_close(&file);
    return found;
}

static void look_for_devices(const char *root, char text[128]) {
    static const struct {
        const char *path, *what;
        int first, count;
    } kinds[] = {{"sys/class/drm/renderD%d/device/uevent", "GPU", 128, 8},
                 {"sys/class/accel/accel%d/device/uevent", "accelerator", 0, 8}};
    char path[96], driver[32], version[64];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 0; i < kinds[k].count; i++) {
            snprintf(path, sizeof path, kinds[k].path, kinds[k].first + i);
            if (driver_of(root, path, driver)) append(text, "%s (%s)", kinds[k].what, driver);
        }
    if (!strstr(text, "nvidia") && /* a driver without a render node */
        eg__root_text(root, "proc/driver/nvidia/version", version, sizeof version))
        append(text, "GPU (nvidia)");
}

static void look_for_drivers(const char *root, char text[128]) {
    static const char *const names[] = {"pocl", "amdocl64", "nvidia", "intel", "mesa", "rusticl"};
    char path[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "etc/OpenCL/vendors/%s.icd", names[i]);
        if (eg__root_has(root, path)) append(text, "OpenCL (%s)", names[i]);
    }
}

static void look_at_features(const eg_chip *chip, char text[128]) {
    static const unsigned matrix[] = {EG_CPU_AMX_TILE, EG_CPU_SME, EG_CPU_APPLE_AMX};
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
        if (chip->features & matrix[i])
            append(text, "matrix unit (%s)", eg_cpu_feature_name(matrix[i]));
}

eg_fact eg__accelerators_read(const char *root, const eg_chip *chip) {
    eg_fact fact = {"", EG_COUNTED, "/sys/class/drm, /sys/class/accel, /etc/OpenCL, features"};
    look_for_devices(root, fact.text);
    look_for_drivers(root, fact.text);
    look_at_features(chip, fact.text);
    if (chip->in_table) {
        if (!fact.text[0] || strcmp(fact.text, "matrix unit (apple_amx)") == 0) {
            fact.provenance = EG_TABLE;
            fact.source = "chip table";
        }
        if (chip->row.gpu_cores) append(fact.text, "GPU of %u cores", chip->row.gpu_cores);
        if (chip->row.ane_cores) append(fact.text, "Neural Engine of %u", chip->row.ane_cores);
    }
    if (!fact.text[0]) snprintf(fact.text, sizeof fact.text, "none");
    return fact;
}
