/* Machines with Linux as their files are: a laptop on battery, an M1 under Asahi, a Raspberry Pi, a server, a VM. Every figure is
 * computed by hand from two samples; files that vanish, hold garbage or counters that wrap around are no figures. */
#include "test_chip.h"
#include "elegans/elegans.h"

#include <math.h>
#include <unistd.h>

AREA(sensors_linux, "five kinds of Linux machines, wrapped counters, garbage, files that vanish")

/* A file at the first sample and at the second: NULL = the same; "-" = it is gone. */
typedef struct file {
    const char *path, *first, *second;
} file;
typedef struct expected {
    eg_sensor sensor;
    const char *label;
    double
        value; /* NAN: unavailable, `part` in the reason; INFINITY: any value, for rates over real time */
    const char *part;
} expected;
typedef struct machine {
    const char *name;
    file files[24];
    expected readings[16];
} machine;

#define CPU  "sys/devices/system/cpu/"
#define BAT  "sys/class/power_supply/BAT0/"
#define HW   "sys/class/hwmon/hwmon"
#define RAPL "sys/class/powercap/intel-rapl:0"

static const machine machines[] = {
    {"laptop on battery",
     {{"proc/stat",
       "cpu 100 0 100 800 0 0 0 0\ncpu0 50 0 50 400 0 0 0 0\ncpu1 50 0 50 400 0 0 0 0\nintr 1\n",
       "cpu 150 0 100 850 0 0 0 0\ncpu0 100 0 50 400 0 0 0 0\ncpu1 50 0 50 450 0 0 0 0\nintr 1\n"},
      {"proc/meminfo",
       "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 2000 kB\nSwapFree: 500 kB\n",
       NULL},
      {"proc/pressure/cpu", "some avg10=12.50 avg60=1.00 avg300=0.50 total=1\n", NULL},
      {"proc/pressure/memory", "some avg10=nonsense\n", NULL},
      {CPU "cpu0/cpufreq/scaling_cur_freq", "1800000\n", NULL},
      {CPU "cpu0/thermal_throttle/core_throttle_count", "3\n", NULL},
      {"sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n", NULL},
      {"sys/class/thermal/thermal_zone0/temp", "71500\n", NULL},
      {"sys/class/thermal/thermal_zone1/temp", "-273000\n", NULL},
      {"sys/class/thermal/cooling_device0/type", "Processor\n", NULL},
      {"sys/class/thermal/cooling_device0/cur_state", "5\n", NULL},
      {"sys/class/thermal/cooling_device0/max_state", "10\n", NULL},
      {RAPL "/name", "package-0\n", NULL},
      {RAPL "/energy_uj", "262143000000\n", "1000000\n"},
      {RAPL "/max_energy_range_uj", "262143328850\n", NULL},
      {RAPL ":0/name", "dram\n", NULL},
      {RAPL ":0/energy_uj", "5000000\n", "6000000\n"},
      {BAT "type", "Battery\n", NULL},
      {BAT "status", "Discharging\n", NULL},
      {BAT "capacity", "61\n", NULL},
      {BAT "current_now", "-2000000\n", NULL},
      {BAT "voltage_now", "11500000\n", NULL}},
     {{EG_SENSOR_cpu_load, "", 50, NULL},
      {EG_SENSOR_cpu_load, "cpu0", 100, NULL},
      {EG_SENSOR_cpu_load, "cpu1", 0, NULL},
      {EG_SENSOR_cpu_clock, "cpu0", 1.8e9, NULL},
      {EG_SENSOR_memory_used, "", 2000000 * 1024., NULL},
      {EG_SENSOR_swap_used, "", 1500 * 1024., NULL},
      {EG_SENSOR_cpu_pressure, "", 12.5, NULL},
      {EG_SENSOR_memory_pressure, "", NAN, "no share 'some avg10'"},
      {EG_SENSOR_temperature, "x86_pkg_temp", 71.5, NULL},
      {EG_SENSOR_thermal_level, "", 2, NULL},
      {EG_SENSOR_throttling, "", 0, NULL},
      {EG_SENSOR_energy, "package-0", 1.32885, NULL}, /* around the end of its range */
      {EG_SENSOR_energy, "package-0 dram", 1, NULL},
      {EG_SENSOR_battery, "BAT0", 61, NULL},
      {EG_SENSOR_on_mains, "", 0, NULL},
      {EG_SENSOR_power, "battery BAT0", 23, NULL}}},
    {"M1 under Asahi Linux",
     {{"proc/stat", "cpu 0 0 0 100 0 0 0 0\ncpu0 0 0 0 50 0 0 0 0\ncpu4 0 0 0 50 0 0 0 0\n",
       "cpu 30 0 0 130 0 0 0 0\ncpu0 0 0 0 80 0 0 0 0\ncpu4 30 0 0 50 0 0 0 0\n"},
      {CPU "cpu0/cpu_capacity", "485\n", NULL},
      {CPU "cpu4/cpu_capacity", "1024\n", NULL},
      {CPU "cpu0/cpufreq/scaling_cur_freq", "2064000\n", NULL},
      {CPU "cpu4/cpufreq/scaling_cur_freq", "3204000\n", NULL},
      {HW "0/name", "macsmc_hwmon\n", NULL},
      {HW "0/power1_input", "12500000\n", NULL},
      {HW "0/power1_label", "Total System Power\n", NULL},
      {HW "0/temp1_input", "45250\n", NULL},
      {HW "0/temp1_label", "Heatpipe Temp\n", NULL},
      {"sys/class/power_supply/macsmc-battery/type", "Battery\n", NULL},
      {"sys/class/power_supply/macsmc-battery/status", "Full\n", NULL},
      {"sys/class/power_supply/macsmc-battery/capacity", "100\n", NULL},
      {"sys/class/power_supply/macsmc-battery/power_now", "-5000000\n", NULL},
      {"sys/class/drm/card0/dev", "226:0\n", NULL}},
     {{EG_SENSOR_cpu_load, "fastest cores", 100, NULL},
      {EG_SENSOR_cpu_load, "second cores", 0, NULL},
      {EG_SENSOR_cpu_clock, "fastest cores", 3.204e9, NULL},
      {EG_SENSOR_power, "macsmc_hwmon Total System Power", 12.5, NULL},
      {EG_SENSOR_temperature, "macsmc_hwmon Heatpipe Temp", 45.25, NULL},
      {EG_SENSOR_on_mains, "", 1, NULL},
      {EG_SENSOR_battery, "macsmc-battery", 100, NULL},
      {EG_SENSOR_energy, "", NAN, "no RAPL zone"},
      {EG_SENSOR_gpu_load, "", NAN, "reports no load"},
      {EG_SENSOR_ane_load, "", NAN, "no source"}}},
    {"Raspberry Pi",
     {{"proc/stat", "cpu 0 0 0 100 0 0 0 0\n", "-"},
      {"proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 108.00\n", NULL},
      {"sys/class/thermal/thermal_zone0/type", "cpu-thermal\n", NULL},
      {"sys/class/thermal/thermal_zone0/temp", "48312\n", "-"},
      {"sys/class/thermal/cooling_device0/type", "pwm-fan\n", NULL},
      {"sys/class/thermal/cooling_device0/cur_state", "4\n", NULL},
      {"sys/class/thermal/cooling_device0/max_state", "4\n", NULL}},
     {{EG_SENSOR_cpu_load, "", NAN, "no /proc/stat"},
      {EG_SENSOR_temperature, "", NAN, "no sensor in /sys/class/thermal"}, /* it vanished */
      {EG_SENSOR_thermal_level, "", NAN, "no cooling device"},             /* a fan slows nothing */
      {EG_SENSOR_cpu_clock, "", NAN, "no cpufreq driver"},
      {EG_SENSOR_memory_total, "", NAN, "no MemTotal"},
      {EG_SENSOR_battery, "", NAN, "no battery"}}},
    {"server",
     {{"proc/stat", "cpu 10 0 0 10 0 0 0 0\n", "cpu 5 0 0 10 0 0 0 0\n"}, /* went back */
      {RAPL "/name", "package-0\n", NULL},
      {"sys/class/powercap/intel-rapl:1/name", "package-1\n", NULL},
      {"sys/class/powercap/intel-rapl:1/energy_uj", "7000000\n", "3000000\n"}, /* reset, no range */
      {HW "2/name", "k10temp\n", NULL},
      {HW "2/temp1_input", "garbage\n", NULL},
      {HW "2/temp2_input", "60000\n", NULL},
      {"sys/class/drm/card1/device/gpu_busy_percent", "37\n", NULL},
      {"sys/class/drm/card1/device/mem_info_vram_used", "1073741824\n", NULL},
      {"sys/class/drm/card1/device/hwmon/hwmon3/freq1_input", "1500000000\n", NULL},
      {"sys/class/drm/card1-DP-1/status", "connected\n", NULL}},
     {{EG_SENSOR_cpu_load, "", NAN, ""},
      {EG_SENSOR_energy, "", NAN, "read once only, or were reset"},
      {EG_SENSOR_temperature, "k10temp temp2", 60, NULL},
      {EG_SENSOR_gpu_load, "card1", 37, NULL},
      {EG_SENSOR_gpu_memory, "card1", 1073741824, NULL},
      {EG_SENSOR_gpu_clock, "card1", 1.5e9, NULL}}},
    {"virtual machine",
     {{"proc/stat", "cpu 0 0 0 0 0 0 0 0\ncpu0 x\n", "cpu 40 0 10 30 0 0 0 20\ncpu0 x\n"},
      {"proc/cpuinfo", "processor\t: 0\ncpu MHz\t: 2596.128\nprocessor\t: 1\ncpu MHz\t: 2000\n",
       NULL},
      {"sys/class/drm/card0/dev", "226:0\n", NULL},
      {"proc/77/fdinfo/5",
       "drm-driver:\ti915\ndrm-pdev:\t0\ndrm-client-id:\t7\ndrm-engine-render:\t1000 ns\n",
       "drm-driver:\ti915\ndrm-pdev:\t0\ndrm-client-id:\t7\ndrm-engine-render:\t2000 ns\n"},
      {"proc/77/fdinfo/6",
       "drm-driver:\ti915\ndrm-pdev:\t0\ndrm-client-id:\t7\ndrm-engine-render:\t1000 ns\n", NULL}},
     {{EG_SENSOR_cpu_load, "", 50, NULL},
      {EG_SENSOR_cpu_steal, "", 20, NULL},
      {EG_SENSOR_cpu_clock, "cpu0", 2596.128e6, NULL},
      {EG_SENSOR_cpu_clock, "cpu1", 2e9, NULL},
      {EG_SENSOR_gpu_load, "", INFINITY, NULL}}},
};

static void put(const char *root, const char *path, const char *text) {
    chip_file_write(root, path, text, strlen(text));
}

static void check_reading(const char *name, const eg_sensor_sample *sample, const expected *e) {
    const eg_reading *r = eg_sensor_find(sample, e->sensor, e->label);
    const char *sensor = eg_sensor_name(e->sensor);
    CHECK(r, "%s: no %s of '%s'", name, sensor, e->label);
    if (!r) return;
    if (isnan(e->value))
        CHECK(r->metric.provenance == EG_UNAVAILABLE && strstr(r->source, e->part),
              "%s: %s is %g (%s)", name, sensor, r->metric.value, r->source);
    else
        CHECK(r->metric.provenance != EG_UNAVAILABLE &&
                  (isinf(e->value) || fabs(r->metric.value - e->value) <= 1e-6 * fabs(e->value)),
              "%s: %s of '%s' is %.9g (%s)", name, sensor, e->label, r->metric.value, r->source);
}

TEST(sensors_linux, machines) {
    const eg_context_options context_options = {
        .size = sizeof context_options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&context_options, &context, &error), error);
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        const machine *x = &machines[m];
        char root[1024], path[2048];
        eg_sensors *sensors;
        eg_sensor_sample sample = {.size = sizeof sample};
        snprintf(root, sizeof root, "%s", test_folder());
        for (size_t i = 0; i < 24 && x->files[i].path; i++)
            put(root, x->files[i].path, x->files[i].first);
        const eg_sensors_options options = {.size = sizeof options, .root = root};
        CHECK_OK(eg_sensors_open(context, &options, &sensors, &error), error);
        for (size_t i = 0; i < 24 && x->files[i].path; i++) {
            if (!x->files[i].second) continue;
            snprintf(path, sizeof path, "%s/%s", root, x->files[i].path);
            if (strcmp(x->files[i].second, "-") == 0) CHECK(unlink(path) == 0, "%s", path);
            else put(root, x->files[i].path, x->files[i].second);
        }
        CHECK_OK(eg_sensors_read(sensors, &sample, &error), error);
        for (size_t i = 0; i < 16 && x->readings[i].label; i++)
            check_reading(x->name, &sample, &x->readings[i]);
        eg_sensors_close(sensors);
    }
    eg_context_destroy(context);
}
