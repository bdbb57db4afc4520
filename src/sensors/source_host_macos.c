/* Load, memory, swap and pressure of a Mac, from the kernel. */
#include "sensors/sensing.h"

#include <dlfcn.h>
#include <mach/mach.h>
#include <string.h>
#include <sys/sysctl.h>

static void load_put(eg_sensors *s) {
    host_cpu_load_info_data_t load;
    mach_msg_type_number_t count = HOST_CPU_LOAD_INFO_COUNT;
    double busy = 0, all = 0, worked, passed, seconds;
    if (host_statistics(mach_host_self(), HOST_CPU_LOAD_INFO, (host_info_t)&load, &count)) {
        eg__sensing_missing(s, EG_SENSOR_cpu_load, "host_statistics gives no load");
        return;
    }
    for (int i = 0; i < CPU_STATE_MAX; i++) {
        all += load.cpu_ticks[i];
        if (i != CPU_STATE_IDLE) busy += load.cpu_ticks[i];
    }
    const bool one = eg__sensing_delta(s, "host", "busy", busy, 0, &worked, &seconds);
    if (eg__sensing_delta(s, "host", "all", all, 0, &passed, &seconds) && one && passed > 0)
        eg__sensing_put(s, EG_SENSOR_cpu_load, "", 100 * worked / passed, EG_COUNTED,
                        "host_statistics");
}

static void memory_put(eg_sensors *s) {
    vm_statistics64_data_t vm;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    uint64_t total = 0;
    size_t size = sizeof total;
    if (sysctlbyname("hw.memsize", &total, &size, NULL, 0) == 0 && total)
        eg__sensing_put(s, EG_SENSOR_memory_total, "", (double)total, EG_COUNTED, "hw.memsize");
    if (host_statistics64(mach_host_self(), HOST_VM_INFO64, (host_info64_t)&vm, &count)) {
        eg__sensing_missing(s, EG_SENSOR_memory_used, "host_statistics64 gives no memory");
        return;
    }
    /* as Activity Monitor has it: memory of programs, wired memory, and what the compressor holds */
    const double pages = (double)vm.internal_page_count - (double)vm.purgeable_count +
                         (double)vm.wire_count + (double)vm.compressor_page_count;
    eg__sensing_put(s, EG_SENSOR_memory_used, "", pages * (double)vm_kernel_page_size, EG_COUNTED,
                    "host_statistics64: programs, wired, compressed");
}

static void swap_put(eg_sensors *s) {
    struct xsw_usage swap;
    size_t size = sizeof swap;
    if (sysctlbyname("vm.swapusage", &swap, &size, NULL, 0) == 0)
        eg__sensing_put(s, EG_SENSOR_swap_used, "", (double)swap.xsu_used, EG_COUNTED,
                        "vm.swapusage");
    int level = 0;
    size = sizeof level;
    if (sysctlbyname("kern.memorystatus_vm_pressure_level", &level, &size, NULL, 0) == 0 &&
        level > 0)
        eg__sensing_put(s, EG_SENSOR_memory_level, "", level, EG_COUNTED,
                        "kern.memorystatus_vm_pressure_level");
    static const char why[] = "macOS reports levels, not shares of time";
    eg__sensing_missing(s, EG_SENSOR_memory_pressure, why);
    eg__sensing_missing(s, EG_SENSOR_cpu_pressure, why);
    eg__sensing_missing(s, EG_SENSOR_cpu_steal, "macOS reports none");
}

/* What powerd publishes by notify(3), whose header not every SDK has. */
typedef uint32_t notify_register(const char *name, int *token);
typedef uint32_t notify_state(int token, uint64_t *state);
typedef uint32_t notify_end(int token);

static bool notified(const char *name, uint64_t *out) {
    notify_register *begin;
    notify_state *state;
    notify_end *end;
    void *found[] = {dlsym(RTLD_DEFAULT, "notify_register_check"),
                     dlsym(RTLD_DEFAULT, "notify_get_state"), dlsym(RTLD_DEFAULT, "notify_cancel")};
    int token;
    memcpy(&begin, &found[0], sizeof begin);
    memcpy(&state, &found[1], sizeof state);
    memcpy(&end, &found[2], sizeof end);
    if (!begin || !state || !end || begin(name, &token)) return false;
    const bool told = state(token, out) == 0;
    end(token);
    return told;
}

static void thermal_put(eg_sensors *s) {
    static const char name[] = "com.apple.system.thermalpressurelevel";
    uint64_t level = 0;
    if (notified(name, &level)) /* the kernel's own scale goes to 4, sleeping */
        eg__sensing_put(s, EG_SENSOR_thermal_level, "", level > 3 ? 3 : (double)level, EG_COUNTED,
                        name);
    else eg__sensing_missing(s, EG_SENSOR_thermal_level, "%s cannot be read", name);
    eg__sensing_missing(s, EG_SENSOR_throttling, "macOS reports levels, not events");
}

void eg__source_host(eg_sensors *s) {
    if (s->root) return;
    load_put(s);
    memory_put(s);
    swap_put(s);
    thermal_put(s);
}
