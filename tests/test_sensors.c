/* Readings of Apple's IOReport from samples whose results can be computed by hand; what was renamed is said by name. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(sensors, "readings of recorded machines as computed by hand; what is missing says why")

static eg_context *open_context(const eg_allocator *allocator) {
    eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    if (allocator) options.allocator = *allocator;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

typedef struct expected {
    const char *machine;
    eg_sensor sensor;
    const char *label;
    double value;
    eg_provenance provenance;
} expected;

static const expected apple[] = {
    {"m1", EG_SENSOR_power, "CPU", 5, EG_MEASURED},
    {"m1", EG_SENSOR_energy, "CPU", 10.04, EG_MEASURED}, /* two samples */
    {"m1", EG_SENSOR_power, "GPU", 0.5, EG_MEASURED},
    {"m1", EG_SENSOR_power, "DRAM", 0.25, EG_MEASURED}, /* not that of the PMP besides */
    {"m1", EG_SENSOR_power, "ANE", 1, EG_MEASURED},     /* which only the PMP has */
    {"m1", EG_SENSOR_ane_load, "", 12.5, EG_MODELLED},
    {"m1", EG_SENSOR_cpu_load, "PCPU0", 75, EG_COUNTED},
    {"m1", EG_SENSOR_cpu_load, "PCPU1", 0, EG_COUNTED},
    {"m1", EG_SENSOR_cpu_load, "Performance", 18.75, EG_COUNTED},
    {"m1", EG_SENSOR_cpu_load, "Efficiency", 50, EG_COUNTED},
    {"m1", EG_SENSOR_cpu_clock, "Performance", 3204e6, EG_MODELLED},
    {"m1", EG_SENSOR_cpu_clock, "ECPU2", 600e6, EG_MODELLED},
    {"m1", EG_SENSOR_gpu_load, "", 25, EG_COUNTED},
    {"m1", EG_SENSOR_gpu_clock, "", 396e6, EG_MODELLED},
    {"m1", EG_SENSOR_memory_bandwidth, "", 15e9, EG_COUNTED},
    {"m2-max", EG_SENSOR_power, "CPU", 25, EG_MEASURED},
    {"m2-max", EG_SENSOR_power, "ANE", 2, EG_MEASURED},
    {"m2-max", EG_SENSOR_cpu_clock, "PCPU7", 3504e6, EG_MODELLED},
    {"m2-max", EG_SENSOR_memory_bandwidth, "", 300e9, EG_COUNTED},
    {"m4", EG_SENSOR_cpu_clock, "Performance", 4512e6, EG_MODELLED}, /* tables in kHz */
    {"m4", EG_SENSOR_power, "DRAM", 0, EG_MEASURED},
    {"m4", EG_SENSOR_memory_bandwidth, "", 24e9, EG_MODELLED}, /* buckets */
    {"m4", EG_SENSOR_gpu_load, "", 0, EG_COUNTED},
};

static void check_reading(const eg_sensor_sample *sample, const expected *e) {
    const eg_reading *r = eg_sensor_find(sample, e->sensor, e->label);
    CHECK(r, "%s: no %s of '%s'", e->machine, eg_sensor_name(e->sensor), e->label);
    if (!r) return;
    CHECK(fabs(r->metric.value - e->value) <= 1e-6 * fabs(e->value) &&
              r->metric.provenance == e->provenance &&
              strcmp(r->metric.unit, eg_sensor_unit(e->sensor)) == 0,
          "%s: %s of '%s' is %g %s, provenance %d (%s)", e->machine, eg_sensor_name(e->sensor),
          e->label, r->metric.value, r->metric.unit, (int)r->metric.provenance, r->source);
}

/* Every sensor has a reading or a reason, in the order of the list. */
static void check_whole(const char *machine, const eg_sensor_sample *sample) {
    unsigned seen[EG_SENSOR_COUNT] = {0};
    for (size_t i = 0; i < sample->count; i++) {
        const eg_reading *r = &sample->readings[i];
        seen[r->sensor]++;
        CHECK(isfinite(r->metric.value) && r->metric.source == r->source && r->source[0],
              "%s: %s '%s' %g", machine, eg_sensor_name(r->sensor), r->label, r->metric.value);
        CHECK(!i || r[-1].sensor <= r->sensor, "%s: %s out of order", machine,
              eg_sensor_name(r->sensor));
        CHECK(r->metric.provenance != EG_UNAVAILABLE || seen[r->sensor] == 1,
              "%s: %s is unavailable and more", machine, eg_sensor_name(r->sensor));
    }
    for (int i = 0; i < EG_SENSOR_COUNT; i++)
        CHECK(seen[i], "%s: nothing of %s", machine, eg_sensor_name((eg_sensor)i));
}

TEST(sensors, apple) {
    eg_context *context = open_context(NULL);
    eg_error error;
    for (size_t i = 0; i < sizeof apple / sizeof *apple;) {
        char root[1024];
        const char *machine = apple[i].machine;
        eg_sensors *sensors;
        eg_sensor_sample sample = {.size = sizeof sample};
        snprintf(root, sizeof root, "%s/%s", test_path("fixtures/sensors"), machine);
        const eg_sensors_options options = {.size = sizeof options, .root = root};
        CHECK_OK(eg_sensors_open(context, &options, &sensors, &error), error);
        CHECK_OK(eg_sensors_read(sensors, &sample, &error), error);
        check_whole(machine, &sample);
        for (; i < sizeof apple / sizeof *apple && apple[i].machine == machine; i++)
            check_reading(&sample, &apple[i]);
        eg_sensors_close(sensors);
    }
    eg_context_destroy(context);
}

TEST(sensors, renamed_channels_are_named) {
    eg_context *context = open_context(NULL);
    eg_error error;
    char root[1024];
    eg_sensors *sensors;
    eg_sensor_sample sample = {.size = sizeof sample};
    snprintf(root, sizeof root, "%s/renamed", test_path("fixtures/sensors"));
    const eg_sensors_options options = {.size = sizeof options, .root = root};
    CHECK_OK(eg_sensors_open(context, &options, &sensors, &error), error);
    CHECK_OK(eg_sensors_read(sensors, &sample, &error), error);
    check_whole("renamed", &sample);
    static const struct {
        eg_sensor sensor;
        const char *part;
    } reasons[] = {
        {EG_SENSOR_cpu_clock, "no channel 'PCPU' any more, but 'QCPU0'"},
        {EG_SENSOR_gpu_load, ""},
        {EG_SENSOR_memory_bandwidth, "no group 'AMC Stats'"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const eg_reading *r = eg_sensor_find(&sample, reasons[i].sensor, "");
        CHECK(r && r->metric.provenance == EG_UNAVAILABLE && strstr(r->source, reasons[i].part),
              "%s: %s", eg_sensor_name(reasons[i].sensor), r ? r->source : "(none)");
    }
    eg_sensors_close(sensors);
    eg_context_destroy(context);
}

TEST(sensors, this_machine) {
    eg_context *context = open_context(NULL);
    eg_error error;
    eg_sensors *sensors;
    eg_sensor_sample sample = {.size = sizeof sample};
    CHECK_OK(eg_sensors_open(context, NULL, &sensors, &error), error);
    CHECK_OK(eg_sensors_read(sensors, &sample, &error), error);
    check_whole("this machine", &sample);
    CHECK(sample.elapsed > 0 && sample.time_ns > 0, "elapsed %g", sample.elapsed);
    eg_sensors_close(sensors);
    CHECK_FAILS(eg_sensors_open(context, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_sensors_read(NULL, &sample, &error), error, EG_ERR_ARGUMENT, "no sensors");
    CHECK(!eg_sensor_name(EG_SENSOR_COUNT) && strcmp(eg_sensor_unit(EG_SENSOR_power), "W") == 0 &&
              eg_sensor_text(EG_SENSOR_power),
          "names");
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    const eg_sensors_options options = {.size = sizeof options, .root = user};
    eg_sensors *sensors;
    eg_sensor_sample sample = {.size = sizeof sample};
    eg_status status = eg_sensors_open(context, &options, &sensors, error);
    if (!status) status = eg_sensors_read(sensors, &sample, error);
    eg_sensors_close(sensors);
    return status;
}
TEST(sensors, every_allocation_can_fail) {
    char root[1024];
    snprintf(root, sizeof root, "%s/m1", test_path("fixtures/sensors"));
    CHECK(test_every_allocation_within(attempt, root) > 2, "fewer allocations than there are");
}
