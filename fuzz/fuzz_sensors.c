/* Arbitrary bytes as what the system reports of itself: a file per part, the parts after a byte 0, read twice as counters are. */
#include "fuzz.h"
#include "elegans/elegans.h"

#include <ftw.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/elegans-fuzz-XXXXXX";
static const char *const files[] = {"ioreport.txt",
                                    "proc/stat",
                                    "proc/meminfo",
                                    "proc/cpuinfo",
                                    "proc/pressure/cpu",
                                    "proc/7/fdinfo/3",
                                    "sys/class/drm/card0/dev",
                                    "sys/class/powercap/intel-rapl:0/name",
                                    "sys/class/powercap/intel-rapl:0/energy_uj",
                                    "sys/class/thermal/thermal_zone0/temp",
                                    "sys/class/hwmon/hwmon0/power1_input",
                                    "sys/devices/cpu_atom/cpus"};
enum { FILES = sizeof files / sizeof *files };

static int discard(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info, (void)kind, (void)at;
    return remove(path);
}
static void remove_root(void) { nftw(root, discard, 8, FTW_DEPTH | FTW_PHYS); }

static void put(const char *name, const uint8_t *bytes, size_t length) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + sizeof root; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    fuzz_write(path, bytes, length);
}

static void files_put(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < FILES; i++) {
        const uint8_t *end = memchr(bytes, 0, length);
        const size_t part = end ? (size_t)(end - bytes) : length;
        put(files[i], bytes, part);
        bytes += part + (end != NULL);
        length -= part + (end != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 26};
    static eg_context *context;
    if (!context) {
        require(mkdtemp(root) != NULL);
        atexit(remove_root);
        require(eg_context_create(&options, &context, NULL) == EG_OK);
    }
    const eg_sensors_options sensing = {.size = sizeof sensing, .root = root};
    eg_sensors *sensors;
    eg_sensor_sample sample = {.size = sizeof sample};
    files_put(bytes, length / 2);
    require(eg_sensors_open(context, &sensing, &sensors, NULL) == EG_OK);
    files_put(bytes + length / 2, length - length / 2);
    require(eg_sensors_read(sensors, &sample, NULL) == EG_OK);
    unsigned seen = 0;
    for (size_t i = 0; i < sample.count; i++) {
        const eg_reading *r = &sample.readings[i];
        require(isfinite(r->metric.value) && r->source[0]);
        seen |= 1u << r->sensor;
    }
    require(seen == (1u << EG_SENSOR_COUNT) - 1);
    eg_sensors_close(sensors);
    return 0;
}
