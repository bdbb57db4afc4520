/* What machine is this: picks the source, fills in what follows from it. */
#include "chip/detect.h"

#include <string.h>

static bool dump_read(const char *root, eg__sysctl_facts *facts) {
    if (!eg__root_has(root, "sysctl.txt")) return false;
    eg__text file;
    if (!eg__root_open(root, "sysctl.txt", &file)) return false;
    eg__sysctl_dump_read(&file, facts);
    eg__root_close(&file);
    return true;
}

static eg_status recorded_detect(const char *root, const eg__log *log, eg_chip *chip,
                                 eg_error *error) {
    eg__sysctl_facts facts;
    if (!dump_read(root, &facts)) return eg__linux_detect(root, false, log, chip, error);
    eg__sysctl_decode(&facts, log, chip);
    return EG_OK;
}

/* Kinds that the system left without a name: the table's, or what their place tells. */
static void kinds_name(eg_chip *chip) {
    for (unsigned i = 0; i < chip->kind_count; i++) {
        eg_core_kind *kind = &chip->kinds[i];
        bool last = i + 1 == chip->kind_count;
        const char *name = "Core";
        if (chip->in_table && chip->kind_count == 2)
            name = i == 0 ? chip->row.fast_kind : chip->row.slow_kind;
        else if (chip->kind_count > 1)
            name = i == 0 ? "Performance" : last ? "Efficiency" : "Middle";
        if (!kind->name[0]) snprintf(kind->name, sizeof kind->name, "%s", name);
    }
}

static void finish(eg_chip *chip) {
    kinds_name(chip);
    for (unsigned i = 0; i < chip->kind_count; i++) {
        chip->cores += chip->kinds[i].cores;
        chip->threads += chip->kinds[i].threads;
    }
    if (chip->in_table && chip->row.slc_mb > 0)
        chip->slc_bytes = (uint64_t)(chip->row.slc_mb * 1048576);
    eg__chip_fingerprint(chip);
}

eg_status eg__chip_detect(const char *system_root, const eg__log *log, eg_chip *out,
                          eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the chip");
    memset(out, 0, sizeof *out);
    eg_status status = system_root ? recorded_detect(system_root, log, out, error)
                                   : eg__live_detect(log, out, error);
    if (status) memset(out, 0, sizeof *out);
    else finish(out);
    return status;
}

eg_status eg_chip_detect(const char *system_root, eg_log_function log, void *log_user, eg_chip *out,
                         eg_error *error) {
    eg__log all = {log, log_user, EG_LOG_DEBUG};
    return eg__chip_detect(system_root, &all, out, error);
}

uint64_t eg__memory_available(const char *system_root) {
    eg__sysctl_facts facts;
    uint64_t total, available;
    if (!system_root) return eg__live_memory_available();
    if (dump_read(system_root, &facts)) return eg__sysctl_memory_available(&facts);
    eg__meminfo_read(system_root, NULL, &total, &available);
    return available;
}
